"""Parses transforms from SQL text and from PySpark's partition transform functions.

# Spark 4.1, SqlBaseParser.g4, partitionTransform
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from deltaskip.arguments import unicode_text
from deltaskip.engine import engine, is_column
from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.nodes import Call, Cast, Column, Literal, Node
from deltaskip.sparkexpr.types import DATE
from deltaskip.transforms.transform import Bucket, Date, DateHour, Identity, Month, Transform, Truncate, Year

_OF_COLUMN: dict[str, Callable[[Sequence[str]], Transform]] = {
    "identity": Identity,
    "year": Year, "years": Year,
    "month": Month, "months": Month,
    "day": Date, "days": Date, "date": Date,
    "hour": DateHour, "hours": DateHour, "datehour": DateHour, "date_hour": DateHour,
}  # fmt: skip
_WITH_WIDTH: dict[str, Callable[[Sequence[str], int], Transform]] = {"bucket": Bucket, "truncate": Truncate}
# The parser reads `day` as an alias of the function dayofmonth, which is not a transform.
_NAMED_DAY = regex(r"\s*`?day`?\s*\(", re.IGNORECASE)
_FORMS = "a column, years(c), months(c), days(c), hours(c), bucket(n, c) or truncate(w, c)"


def transforms_of(given: object, argument: str = "partition_by") -> tuple[Transform, ...]:
    """Return transforms; the name of a column means its identity transform.

    Args:
        given: Column names as in a schema, Transform values, and PySpark columns such as `F.days("ts")`,
            `F.partitioning.bucket(16, "id")` or `F.col("region")`: a list or a single value; None for no transforms.
        argument: Name of the argument, for messages.

    Raises InvalidArgumentType for other values, and InvalidArgument, with the column, for a PySpark column that is not
    a transform.
    """
    if given is None:
        return ()
    if isinstance(given, str | Transform) or is_column(given):
        given = [given]
    if not isinstance(given, Sequence) or isinstance(given, bytes | bytearray):
        raise InvalidArgumentType.of(argument, "a list of names of columns and transforms, such as ['day']", given)
    found: list[Transform] = []
    for each in given:
        if is_column(each):
            found.append(_of_pyspark(each))
            continue
        if not isinstance(each, str | Transform):
            raise InvalidArgumentType.of(f"An entry of {argument}", "the name of a column, or a transform", each)
        if isinstance(each, str) and not each:
            raise InvalidArgument(f"An entry of {argument} is an empty name: name a column, or give a transform.")
        if isinstance(each, str):
            unicode_text(f"An entry of {argument}", each)
        found.append(Identity((each,)) if isinstance(each, str) else each)
    return tuple(found)


def _of_pyspark(column: object) -> Transform:
    # The string of a PySpark column is Column<'upper(name)'>.
    shown = str(column).removeprefix("Column<").removesuffix(">").strip("'")
    found = _transform(engine("A partition transform of PySpark").column_to_node(column), shown)
    if found is None:
        raise InvalidArgument(f"{shown} is not a partition transform: write {_FORMS}.")
    return found


def parse_transform(text: str) -> Transform:
    """Return the transform of SQL text such as `days(ts)`, `bucket(16, id)` or `region`.

    Raises InvalidArgument, with the expression, if it is not a partition transform.
    """
    try:
        found = _transform(parse_sql(text), text)
    except PredicateError:
        found = None
    if found is None:
        raise InvalidArgument(f"{text} is not a partition transform: write {_FORMS}.")
    return found


def _transform(node: Node, text: str) -> Transform | None:
    match node:
        case Column(parts):
            return Identity(parts)
        case Cast(Column(parts), type_, False) if type_ == DATE:
            return Date(parts)
        case Call(name, (Column(parts),)) if name in _OF_COLUMN:
            return _OF_COLUMN[name](parts)
        case Call("dayofmonth", (Column(parts),)) if _NAMED_DAY.match(text):
            return Date(parts)
        case Call(name, (Literal(int() as width), Column(parts))) | Call(
            name, (Column(parts), Literal(int() as width))
        ) if name in _WITH_WIDTH:
            return _WITH_WIDTH[name](parts, width)
    return None

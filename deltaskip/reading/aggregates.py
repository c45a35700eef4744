"""The aggregates of `TableScan.aggregate`, as a caller writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NoReturn

from deltaskip.errors import PredicateError, SchemaError, UnsupportedFeature
from deltaskip.records import dataclass
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Column, IsNull, Node, Not
from deltaskip.sparkexpr.nodes import Literal as Constant
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_tokens
from deltaskip.sparkexpr.types.lengths import char_type

Kind = Literal["rows", "not_null", "null", "min", "max"]
"""COUNT(*), COUNT(column), the count of NULLs, MIN(column), MAX(column)."""

_KNOWN = "count(*), count(column), min(column), max(column) and count_if(column IS [NOT] NULL)"
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the matching rows.

    Attributes:
        name: Its column in the answer.
        kind: What is computed.
        column: Of which column; None for COUNT(*).
    """

    name: str
    kind: Kind
    column: t.Resolved | None = None

    @property
    def type(self) -> t.DataType:
        """The type of its value."""
        return t.LONG if self.column is None or self.kind not in ("min", "max") else self.column.type


def read_aggregate(
    name: str, text: str, resolve: Callable[[Column], t.Resolved], schema: t.StructType, table: str
) -> Aggregate:
    """Return the aggregate of a text such as `max(ts)`.

    Args:
        name: Its column in the answer.
        text: The text.
        resolve: Returns the column of a name.
        schema: The schema of the table.
        table: The location of the table, for messages.

    Raises:
        PredicateError: The text does not parse, or a column does not exist.
        UnsupportedFeature: It is another aggregate, or one of a type whose values are not compared here.
    """
    function, inside = _call(text, table)
    if function == "COUNT" and (inside == "*" or _parsed(inside) == Constant(1, t.INTEGER)):
        return Aggregate(name, "rows")
    kind: Kind
    match function, _parsed(inside):
        case "COUNT", Column() as column:
            kind = "not_null"
        case "COUNT_IF", IsNull(Column() as column):
            kind = "null"
        case "COUNT_IF", Not(IsNull(Column() as column)):
            kind = "not_null"
        case "MIN" | "MAX", Column() as column:
            kind = "min" if function == "MIN" else "max"
        case _:
            _refuse(text, table, f"only {_KNOWN} are")
    found = resolve(column)
    if kind in ("min", "max"):
        _check_order(text, table, found, schema)
    return Aggregate(name, kind, found)


def _check_order(text: str, table: str, column: t.Resolved, schema: t.StructType) -> None:
    if not t.is_ordered(column.type) and not char_type(schema, column.logical):
        _refuse(text, table, f"the column is {t.simple_string(column.type).upper()}")
    collation = t.collation_of(column)
    if collation is not None:
        _refuse(text, table, f"its strings are compared under the collation {collation}, in which several may be equal")


def _call(text: str, table: str) -> tuple[str, str]:
    """The name of the function in upper case, and the text between its parentheses."""
    try:
        tokens = sql_tokens(text)
    except SchemaError as error:
        raise PredicateError(f"The aggregate {text!r} of {table} does not parse: {error}") from error
    if (
        len(tokens) < 4
        or tokens[0].kind != "word"
        or not tokens[1].is_symbol("(")
        or _closing(tokens) != len(tokens) - 1
    ):
        _refuse(text, table, f"only {_KNOWN} are")
    return tokens[0].text.upper(), text[tokens[2].start : tokens[-2].end]


def _closing(tokens: Sequence[SqlToken]) -> int:
    """The place of the parenthesis that closes the one at place 1; -1 if there is none."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += token.is_symbol("(") - token.is_symbol(")")
        if place and not depth:
            return place
    return -1


def _parsed(inside: str) -> Node | None:
    """The node of an argument; None for what is no expression, such as DISTINCT id."""
    try:
        return parse_sql(inside)
    except PredicateError:
        if _NAME.fullmatch(inside.split()[0] if inside.split() else ""):
            return None
        raise


def _refuse(text: str, table: str, why: str) -> NoReturn:
    raise UnsupportedFeature(
        f"The aggregate {text} of {table} is not computed from the log: {why}. Read its rows with to_polars(lazy=True) "
        f"or to_duckdb(), or compute it with to_spark(spark).agg(…)."
    )

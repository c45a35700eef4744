"""The order of the rows in each data file, which a table remembers in a property."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from deltaskip.arguments import flag
from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError, SchemaError
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import types as t

SORT_ORDER_KEY = TableProperties.sort_order.name
"""The table property with the sort order, a JSON list of strings such as `id ASC NULLS FIRST`."""

_TEXT = regex(
    r"\s*(?P<column>.+?)(?:\s+(?P<direction>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class SortOrder:
    """A column by which rows are sorted.

    # SPIP Spark API for Table Metadata, Atomic Operations; Spark 4.1, SortOrder

    Attributes:
        column: Name of the column, with dots before nested fields, or a tuple of its parts.
        descending: Whether large values come first.
        nulls_first: Whether NULLs come first; None for Spark's default, first in ascending order.
    """

    column: str | Sequence[str]
    descending: bool = False
    nulls_first: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", t.column_path("column", self.column))
        flag("descending", self.descending)
        if self.nulls_first is None:
            object.__setattr__(self, "nulls_first", not self.descending)
        flag("nulls_first", self.nulls_first)

    @property
    def path(self) -> tuple[str, ...]:
        """The parts of the column's name."""
        return tuple(self.column)

    def __str__(self) -> str:
        direction = "DESC" if self.descending else "ASC"
        return f"{t.display_name(tuple(self.column))} {direction} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


def sort_order_of(given: object, argument: str = "sort_order") -> tuple[SortOrder, ...]:
    """Return the sort order that a caller passes: SortOrder values, and strings such as "ts DESC NULLS LAST".

    Raises InvalidArgument for a string that is not a sort order, and InvalidArgumentType for other values.
    """
    if given is None:
        return ()
    if isinstance(given, str | SortOrder) or not isinstance(given, Sequence):
        raise InvalidArgumentType.of(argument, "a list of columns such as ['ts DESC', 'id']", given)
    return tuple(_sort_order(each, argument) for each in given)


def _sort_order(each: object, argument: str) -> SortOrder:
    if isinstance(each, SortOrder):
        return each
    if not isinstance(each, str):
        raise InvalidArgumentType.of(f"Each of {argument}", "a column such as 'ts DESC', or a SortOrder", each)
    found = _TEXT.fullmatch(each)
    if found is None:
        raise InvalidArgument(f"{argument} must be columns such as 'ts DESC NULLS LAST', not {each!r}.")
    descending, nulls = (found["direction"] or "").upper() == "DESC", found["nulls"]
    try:
        [path] = t.parse_names(found["column"], argument, InvalidArgument)
    except (InvalidArgument, ValueError) as error:
        raise InvalidArgument(f"{argument} must be columns such as 'ts DESC NULLS LAST', not {each!r}.") from error
    return SortOrder(path, descending, None if nulls is None else nulls.upper() == "FIRST")


def check_sort_order(order: Sequence[SortOrder], schema: t.StructType, table: str) -> None:
    """Raise InvalidArgument unless rows with these columns can be sorted in this order.

    Strings with a collation are refused, because the versions of a collation order them differently.
    """
    for each in order:
        try:
            found = t.resolve(schema, tuple(each.column))
        except PredicateError as error:
            raise InvalidArgument(f"The rows of {table} cannot be sorted by {each}: {error}") from error
        collation = t.collation_of(found)
        if not t.is_ordered(found.type) or collation is not None:
            raise InvalidArgument(
                f"The rows of {table} cannot be sorted by {t.display_name(found.logical)}, which is "
                f"{t.simple_string(found.type).upper()}{'' if collation is None else f' COLLATE {collation}'}: sort by "
                f"numbers, strings without collation, binaries, dates and timestamps."
            )


def sort_order_text(order: Sequence[SortOrder]) -> str:
    """Return the value of SORT_ORDER_KEY."""
    return json.dumps([str(each) for each in order], ensure_ascii=False)


def table_sort_order(properties: Mapping[str, str], table: str) -> tuple[SortOrder, ...]:
    """Return the sort order that the properties of a table remember; () if there is none.

    Raises SchemaError for a malformed property.
    """
    try:
        return sort_order_of(TableProperties(properties, table).sort_order, SORT_ORDER_KEY)
    except InvalidArgument as error:
        raise SchemaError(
            f'The property {SORT_ORDER_KEY} of {table} must be a JSON list of columns such as "ts DESC", not '
            f"{properties[SORT_ORDER_KEY]!r}: set it to one, or remove it."
        ) from error


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column of data files by which their rows are sorted.

    Attributes:
        logical: Path in logical names.
        physical: Path in physical names.
        descending: Whether large values come first.
        nulls_first: Whether NULLs come first.
    """

    logical: tuple[str, ...]
    physical: tuple[str, ...]
    descending: bool
    nulls_first: bool


def sort_columns(
    properties: Mapping[str, str],
    schema: t.StructType,
    mode: t.MappingMode,
    partition_columns: Sequence[str],
    table: str,
) -> tuple[SortColumn, ...]:
    """Return the columns by which the rows of each data file are sorted, as the properties of the table say.

    Partition columns have one value in each file. The order ends at a column that cannot be sorted.
    """
    found = []
    for each in table_sort_order(properties, table):
        try:
            check_sort_order([each], schema, table)
        except InvalidArgument:
            break
        column = t.resolve(schema, tuple(each.column), mode)
        if len(column.logical) > 1 or column.logical[0] not in partition_columns:
            found.append(SortColumn(column.logical, column.physical, each.descending, bool(each.nulls_first)))
    return tuple(found)

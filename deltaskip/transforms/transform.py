"""The transforms as dataclasses with the names of the SPIP, and the functions that return them.

# SPIP Spark API for Table Metadata, Transform API; Spark 4.1, Expressions
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from deltaskip.doors import door
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import ColumnPath, column_path, display_name

_GREATEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Transform:
    """A function of one column. `str` returns its SQL text, such as `days(ts)`.

    Attributes:
        column: Name of the column, such as "ts" or "event.ts". Put a name that contains a dot in backticks, or give a
            tuple of its parts.
    """

    column: str | Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))

    @property
    def path(self) -> ColumnPath:
        """The parts of the column's name."""
        return tuple(self.column)

    @property
    def source(self) -> str:
        """The column's name as SQL text."""
        return display_name(self.path)

    @property
    def kind(self) -> str:
        """Name of the transform in the property `deltaskip.partitioning`, such as `day` or `bucket[16]`."""
        return _KINDS[type(self)]

    def __str__(self) -> str:
        return f"{_SQL_NAMES[type(self)]}({self.source})"


@dataclass(frozen=True, slots=True)
class Identity(Transform):
    """The unchanged values of the column."""

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True, slots=True)
class Year(Transform):
    """The year of a date or timestamp."""


@dataclass(frozen=True, slots=True)
class Month(Transform):
    """The month of a date or timestamp, with its year."""


@dataclass(frozen=True, slots=True)
class Date(Transform):
    """The date of a date or timestamp."""


@dataclass(frozen=True, slots=True)
class DateHour(Transform):
    """The date and hour of a timestamp."""


@dataclass(frozen=True, slots=True)
class Bucket(Transform):
    """A number from 0 to `buckets - 1`, computed from Spark's hash of the value.

    Attributes:
        column: Name of the column.
        buckets: Number of buckets. It may also be the first argument, as in SQL.
    """

    buckets: int

    def __post_init__(self) -> None:
        _set_column_and_number(self, "buckets")

    @property
    def kind(self) -> str:
        """Name of the transform with the number of buckets."""
        return f"bucket[{self.buckets}]"

    def __str__(self) -> str:
        return f"bucket({self.buckets}, {self.source})"


@dataclass(frozen=True, slots=True)
class Truncate(Transform):
    """The first characters of a string, or an integer rounded down to a multiple of the width.

    Attributes:
        column: Name of the column.
        width: Number of characters (code points), or the divisor of the multiples. It may also be the first argument,
            as in SQL.
    """

    width: int

    def __post_init__(self) -> None:
        _set_column_and_number(self, "width")

    @property
    def kind(self) -> str:
        """Name of the transform with the width."""
        return f"truncate[{self.width}]"

    def __str__(self) -> str:
        return f"truncate({self.width}, {self.source})"


@dataclass(frozen=True, slots=True)
class Expression(Transform):
    """Any other expression of a generated partition column that another writer created.

    Attributes:
        column: Name of the generated column.
        sql: The expression as SQL text.
    """

    sql: str

    @property
    def kind(self) -> str:
        """The name of all expressions: `expression`."""
        return "expression"

    def __str__(self) -> str:
        return self.sql


_KINDS: dict[type[Transform], str] = {Identity: "identity", Year: "year", Month: "month", Date: "day", DateHour: "hour"}
_SQL_NAMES: dict[type[Transform], str] = {Year: "years", Month: "months", Date: "days", DateHour: "hours"}


@door
def identity(column: str | Sequence[str]) -> Identity:
    """Partition by the values of a column.

    Args:
        column: Name of the column.
    """
    return Identity(column)


@overload
def bucket(column: str | Sequence[str], buckets: int) -> Bucket: ...
@overload
def bucket(column: int, buckets: str | Sequence[str]) -> Bucket: ...
@door
def bucket(column: Any, buckets: Any) -> Bucket:
    """Partition by a hash of the column's values.

    Accepts both orders of the arguments: bucket("id", 16) as in the SPIP, and bucket(16, "id") as in SQL.

    Args:
        column: Name of the column.
        buckets: Number of buckets, at least 1.
    """
    return Bucket(column, buckets)


@door
def year(column: str | Sequence[str]) -> Year:
    """Partition by the year.

    Args:
        column: Name of a column of type DATE, TIMESTAMP or TIMESTAMP_NTZ.
    """
    return Year(column)


@door
def month(column: str | Sequence[str]) -> Month:
    """Partition by year and month.

    Args:
        column: Name of a column of type DATE, TIMESTAMP or TIMESTAMP_NTZ.
    """
    return Month(column)


@door
def date(column: str | Sequence[str]) -> Date:
    """Partition by the date.

    Args:
        column: Name of a column of type DATE, TIMESTAMP or TIMESTAMP_NTZ.
    """
    return Date(column)


@door
def datehour(column: str | Sequence[str]) -> DateHour:
    """Partition by the date and hour.

    Args:
        column: Name of a column of type TIMESTAMP or TIMESTAMP_NTZ.
    """
    return DateHour(column)


@overload
def truncate(column: str | Sequence[str], width: int) -> Truncate: ...
@overload
def truncate(column: int, width: str | Sequence[str]) -> Truncate: ...
@door
def truncate(column: Any, width: Any) -> Truncate:
    """Partition by the first characters of strings, or by integers rounded down to multiples of the width.

    Accepts both orders of the arguments, like `bucket`.

    Args:
        column: Name of a column of type STRING, BYTE, SHORT, INT or BIGINT.
        width: Number of characters (code points), or the divisor of the multiples; at least 1.
    """
    return Truncate(column, width)


def _set_column_and_number(transform: Transform, argument: str) -> None:
    """Check and set the two arguments of a transform, which may be in the order of SQL."""
    column, number = transform.column, getattr(transform, argument)
    if isinstance(column, int) and not isinstance(number, int):
        column, number = number, column
    object.__setattr__(transform, "column", column_path("column", column))
    _positive(argument, number)
    object.__setattr__(transform, argument, number)


def _positive(argument: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgumentType.of(argument, "an int", value)
    if not 1 <= value <= _GREATEST:
        raise InvalidArgument(f"{argument} must be from 1 to {_GREATEST:,}, not {value}.")

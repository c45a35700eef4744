"""Functions of dates and timestamps.

# Spark 4.1, DateTimeUtils.scala, datetimeExpressions.scala
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.expr import dates
from deltaskip.expr.coerce import INTEGRAL_BITS, cast_to, type_of
from deltaskip.expr.failures import EvaluationError, Undecided
from deltaskip.expr.functions.function import (
    Function,
    Replaced,
    Row,
    Typed,
    exactly,
    takes,
)
from deltaskip.expr.functions.time_columns import (
    DATES_FROM,
    DATES_TO,
    civil,
    date_column,
    first_of_month,
    local_column,
    truncated_days,
    within_limits,
)
from deltaskip.expr.nodes import Call, Literal, Node
from deltaskip.expr.vectors import (
    NotByColumn,
    Partly,
    Values,
    any_of,
    column,
    constant,
    filled,
    made,
    numbers,
)
from deltaskip.expr.zones import instants, local_times
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.calendar import (
    INSTANT_MAX,
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    Zone,
    days_from_civil,
    days_in_month,
    instant_of,
    local_of,
    zone_of,
)
from deltaskip.schema.types import DATE, INTEGER, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ

__all__ = ["TIMES"]

_DATE_FIELDS: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "year": pc.year,
    "month": pc.month,
    "quarter": pc.quarter,
    "dayofmonth": pc.day,
    "dayofyear": pc.day_of_year,
    "weekofyear": pc.iso_week,
}
_SECONDS = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}
_TIME_UNITS = {"DAY": 86_400, "DD": 86_400, "HOUR": 3600, "MINUTE": 60}
_INSTANT_UNITS = {"SECOND": MICROS_PER_SECOND, "MILLISECOND": 1000, "MICROSECOND": 1}


def _date_field_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """A field of a date."""
    days = numbers(column(args[0]))
    if call.name == "weekday":
        return made((days.astype(np.int64) + 3) % 7, pa.int32(), args[0])
    if call.name == "dayofweek":
        return made((days.astype(np.int64) + 4) % 7 + 1, pa.int32(), args[0])
    if any_of((days < DATES_FROM) | (days > DATES_TO), args[0]):
        raise NotByColumn
    return pc.cast(_DATE_FIELDS[call.name](args[0]), pa.int32())


def _time_field_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """Hour, minute or second of a timestamp."""
    local = local_column(args[0], type_of(call.args[0]) == TIMESTAMP, zone)
    unit, count = _SECONDS[call.name]
    return within_limits(made((local // (unit * MICROS_PER_SECOND)) % count, pa.int32(), args[0]), args[0])


def _last_day_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`last_day(date)`."""
    year, month, _ = civil(numbers(column(args[0])))
    return date_column(first_of_month(year, month + 1) - 1, args[0])


def _add_days_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`date_add(date, days)` and `date_sub`. Java computes in 32 bits, without an error."""
    days, count = np.asarray(numbers(args[0]), np.int32), np.asarray(numbers(args[1]), np.int32)
    with np.errstate(over="ignore"):
        return made(days + count if call.name == "date_add" else days - count, pa.date32(), *args)


def _add_months_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`add_months(date, months)`. A day beyond the end of the month becomes its last day."""
    year, month, day = civil(np.atleast_1d(np.asarray(numbers(args[0]), np.int64)))
    months = month - 1 + np.asarray(numbers(args[1]), np.int64)
    year, month = year + months // 12, months % 12 + 1
    first, after = first_of_month(year, month), first_of_month(year, month + 1)
    found = np.minimum(first + day - 1, after - 1)
    if any_of((found < -(2**31)) | (found >= 2**31), *args):
        raise EvaluationError("The date is out of range.")
    return made(found.astype(np.int32), pa.date32(), *args)


def _datediff_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`datediff(end, start)`. Java subtracts in 32 bits, without an error."""
    with np.errstate(over="ignore"):
        found = np.asarray(numbers(args[0]), np.int32) - np.asarray(numbers(args[1]), np.int32)
    return made(found, pa.int32(), *args)


def _trunc_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`trunc(date, unit)` with a constant unit; NULL for an unknown one."""
    days = np.asarray(numbers(column(args[0])), np.int64)
    found = truncated_days(days, constant(args[1]).upper())
    return pa.nulls(len(days), pa.date32()) if found is None else date_column(found, args[0])


def _date_trunc_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """`date_trunc(unit, timestamp)` with a constant unit; NULL for an unknown one."""
    unit, micros = constant(args[0]).upper(), numbers(column(args[1]))
    if unit in _INSTANT_UNITS:
        return within_limits(made(micros - micros % _INSTANT_UNITS[unit], args[1].type, args[1]), args[1])
    local = local_column(args[1], True, zone)
    if unit in _TIME_UNITS:
        truncated = local - local % (_TIME_UNITS[unit] * MICROS_PER_SECOND)
        # In the repeated hour of a clock change the offset is unchanged.
        kept = truncated - (local - micros)
        found = np.where(local_times(kept, zone) == truncated, kept, instants(truncated, zone))
    else:
        days = truncated_days(local // MICROS_PER_DAY, unit)
        if days is None:
            return pa.nulls(len(micros), args[1].type)
        found = instants(days * MICROS_PER_DAY, zone)
    return within_limits(made(found, args[1].type, args[1]), args[1])


def _time_signature(args: tuple[Node, ...]) -> Typed:
    """A timestamp of either type, not cast; other types become timestamp."""
    if len(args) == 1 and type_of(args[0]) == TIMESTAMP_NTZ:
        return args, INTEGER
    return takes(INTEGER, TIMESTAMP)(args)


def _days_signature(args: tuple[Node, ...]) -> Typed:
    if len(args) == 2 and type_of(args[1]) == LONG:
        return None
    return takes(DATE, DATE, INTEGER)(args)


_FIELD_ALIASES = {"dayofmonth": ("day",), "weekofyear": ("week",)}


def _date_field(name: str) -> Function:
    return Function(
        takes(INTEGER, DATE),
        lambda args, call, zone: dates.date_field(name, args[0]),
        by_column=_date_field_column,
        aliases=_FIELD_ALIASES.get(name, ()),
    )


FIELDS = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), "year"),
    **dict.fromkeys(("QUARTER", "QTR"), "quarter"),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), "month"),
    **dict.fromkeys(("WEEK", "W", "WEEKS"), "weekofyear"),
    **dict.fromkeys(("DAY", "D", "DAYS"), "dayofmonth"),
    **dict.fromkeys(("DAYOFWEEK", "DOW"), "dayofweek"),
    "DOY": "dayofyear",
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), "hour"),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), "minute"),
}
"""Functions of the fields of EXTRACT, date_part and datepart, by the names of the fields."""


def _date_part(field: Node, value: Node) -> Node | None:
    """`date_part(field, value)` with a literal field."""
    name = str(field.value).upper() if isinstance(field, Literal) and type_of(field) == STRING else ""
    return Call(FIELDS[name], (value,)) if name in FIELDS else None


def _compute_time_field(name: str, args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    local = args[0] if type_of(call.args[0]) == TIMESTAMP_NTZ else local_of(args[0], zone)
    return dates.time_field(name, local)


def _units_of(unit: int) -> Function:
    """The units since 1970 of a timestamp, towards less."""

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
        return made(numbers(column(args[0])) // unit, pa.int64(), args[0])

    return Function(exactly(LONG, TIMESTAMP), lambda args, call, zone: args[0] // unit, by_column=by_column)


def _time_of(unit: int) -> Function:
    """The timestamp of a whole number of units since 1970."""

    def signature(args: tuple[Node, ...]) -> Typed:
        if len(args) != 1 or type_of(args[0]) not in INTEGRAL_BITS:
            return None
        return (cast_to(args[0], LONG),), TIMESTAMP

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
        counts = numbers(column(args[0]))
        if any_of((counts > INSTANT_MAX // unit) | (counts < -(INSTANT_MAX // unit)), args[0]):
            raise NotByColumn
        with np.errstate(over="ignore"):
            return made(counts * unit, arrow_type(TIMESTAMP), args[0])

    return Function(signature, lambda args, call, zone: dates.checked_micros(args[0] * unit), by_column=by_column)


def _shifted(to_local: bool) -> Function:
    """`from_utc_timestamp(timestamp, zone)` and `to_utc_timestamp`: the clock of a zone, written as an instant."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        try:
            other = zone_of(args[1])
        except LookupError as error:
            raise Undecided(f"The time zone {shown(args[1])} is left to Spark.") from error
        return dates.checked_micros((local_of if to_local else instant_of)(args[0], other))

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
        try:
            other = zone_of(constant(args[1]))
        except LookupError as error:
            raise NotByColumn from error
        micros = filled(column(args[0]))
        found = local_times(micros, other) if to_local else instants(micros, other)
        return within_limits(made(found, args[0].type, args[0]), args[0])

    return Function(takes(TIMESTAMP, TIMESTAMP, STRING), compute, by_column=by_column)


def _made_date(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    year, month, day = args
    if not (-999_999_999 <= year <= 999_999_999 and 1 <= month <= 12 and 1 <= day <= days_in_month(year, month)):
        raise EvaluationError(f"There is no date {year}-{month}-{day}.")
    days = days_from_civil(year, month, day)
    if not -(2**31) <= days < 2**31:
        raise Undecided("A date beyond the first or last one is left to Spark.")
    return days


TIMES: Mapping[str, Row] = {
    **{name: Replaced(_date_part, 2) for name in ("date_part", "datepart", "extract")},
    "unix_seconds": _units_of(MICROS_PER_SECOND),
    "unix_millis": _units_of(1000),
    "unix_micros": _units_of(1),
    "timestamp_seconds": _time_of(MICROS_PER_SECOND),
    "timestamp_millis": _time_of(1000),
    "timestamp_micros": _time_of(1),
    "unix_date": Function(
        exactly(INTEGER, DATE),
        lambda args, call, zone: args[0],
        by_column=lambda args, call, zone: args[0].view(pa.int32()),
    ),
    "date_from_unix_date": Function(
        takes(DATE, INTEGER),
        lambda args, call, zone: args[0],
        by_column=lambda args, call, zone: args[0].view(pa.date32()),
    ),
    "from_utc_timestamp": _shifted(True),
    "to_utc_timestamp": _shifted(False),
    "make_date": Function(takes(DATE, INTEGER, INTEGER, INTEGER), _made_date),
    **{name: _date_field(name) for name in dates.DATE_FIELDS},
    **{
        name: Function(_time_signature, partial(_compute_time_field, name), by_column=_time_field_column, zoned=True)
        for name in dates.TIME_FIELDS
    },
    "last_day": Function(
        takes(DATE, DATE),
        lambda args, call, zone: dates.checked_date(dates.last_day(args[0])),
        by_column=_last_day_column,
    ),
    "date_add": Function(
        _days_signature,
        lambda args, call, zone: dates.add_days(args[0], args[1]),
        by_column=_add_days_column,
        aliases=("dateadd",),
    ),
    "date_sub": Function(
        _days_signature, lambda args, call, zone: dates.add_days(args[0], -args[1]), by_column=_add_days_column
    ),
    "add_months": Function(
        takes(DATE, DATE, INTEGER),
        lambda args, call, zone: dates.add_months(args[0], args[1]),
        by_column=_add_months_column,
    ),
    "datediff": Function(
        takes(INTEGER, DATE, DATE),
        lambda args, call, zone: dates.days_between(*args),
        by_column=_datediff_column,
        aliases=("date_diff",),
    ),
    "trunc": Function(
        takes(DATE, DATE, STRING),
        lambda args, call, zone: dates.checked_date(dates.truncated_date(args[0], args[1])),
        by_column=_trunc_column,
    ),
    "date_trunc": Function(
        takes(TIMESTAMP, STRING, TIMESTAMP),
        lambda args, call, zone: dates.checked_micros(dates.truncated_timestamp(args[0], args[1], zone)),
        by_column=_date_trunc_column,
        zoned=True,
    ),
}

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

from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages import time_steps as preimages
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import calendar, dates
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values import zones as columns
from deltaskip.sparkexpr.values.numerals import of_unscaled
from deltaskip.sparkexpr.values.zones import instants, local_times

_DATE_FIELDS: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "year": pc.year,
    "month": pc.month,
    "quarter": pc.quarter,
    "dayofmonth": pc.day,
    "dayofyear": pc.day_of_year,
    "weekofyear": pc.iso_week,
}


def _date_field_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values:
    """A field of a date."""
    days, of_arrow = v.numbers(v.column(args[0])), _DATE_FIELDS.get(call.name)
    if of_arrow is None or v.any_set((days < columns.DATES_FROM) | (days > columns.DATES_TO), args[0]):
        return v.made(dates.date_field(call.name, days.astype(np.int64)), pa.int32(), args[0])
    return pc.cast(of_arrow(args[0]), pa.int32())


def _time_field_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    """Hour, minute or second of a timestamp."""
    local = columns.local_column(args[0], type_of(call.args[0]) == t.TIMESTAMP, zone)
    return columns.within_limits(v.made(dates.time_field(call.name, local), pa.int32(), args[0]), args[0])


def _last_day_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values:
    return columns.date_column(dates.last_day(v.numbers(v.column(args[0])).astype(np.int64)), args[0])


def _add_days_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values:
    """`date_add(date, days)` and `date_sub`. Java computes in 32 bits, without an error."""
    days, count = np.asarray(v.numbers(args[0]), np.int32), np.asarray(v.numbers(args[1]), np.int32)
    with np.errstate(over="ignore"):
        return v.made(days + count if call.name == "date_add" else days - count, pa.date32(), *args)


def _datediff_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values:
    """`datediff(end, start)`. Java subtracts in 32 bits, without an error."""
    with np.errstate(over="ignore"):
        found = np.asarray(v.numbers(args[0]), np.int32) - np.asarray(v.numbers(args[1]), np.int32)
    return v.made(found, pa.int32(), *args)


def _of_known_units(
    signature: function.Signature, at: int, truncated: Callable[[str], int | None]
) -> function.Signature:
    """A signature for units. Spark does not evaluate the operand if the unit is unknown."""

    def typed(args: tuple[Node, ...]) -> function.Typed:
        found = signature(args)
        unit = None if found is None else found[0][at]
        if (
            found is None
            or not isinstance(unit, Literal)
            or unit.value is None
            or truncated(str(unit.value)) is not None
        ):
            return found
        nothing = Literal(None, found[1])
        return ((nothing, unit) if at else (unit, nothing)), found[1]

    return typed


def _trunc_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values:
    """`trunc(date, unit)` with a constant unit; NULL for an unknown unit."""
    days = np.asarray(v.numbers(v.column(args[0])), np.int64)
    found = dates.truncated_date(days, v.constant(args[1]))
    return pa.nulls(len(days), pa.date32()) if found is None else columns.date_column(found, args[0])


def _date_trunc_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    """`date_trunc(unit, timestamp)` with a constant unit; NULL for an unknown unit."""
    unit, micros = v.constant(args[0]).upper(), v.numbers(v.column(args[1]))
    if unit in dates.INSTANT_UNITS:
        return columns.within_limits(
            v.made(micros - micros % dates.INSTANT_UNITS[unit], args[1].type, args[1]), args[1]
        )
    local = columns.local_column(args[1], True, zone)
    if unit in dates.TIME_UNITS:
        truncated = local - local % dates.TIME_UNITS[unit]
        # In the repeated hour of a clock change, the offset stays unchanged.
        kept = truncated - (local - micros)
        found = np.where(local_times(kept, zone) == truncated, kept, instants(truncated, zone))
    else:
        days = dates.truncated_date(local // calendar.MICROS_PER_DAY, unit)
        if days is None:
            return pa.nulls(len(micros), args[1].type)
        found = instants(days * calendar.MICROS_PER_DAY, zone)
    return columns.within_limits(v.made(found, args[1].type, args[1]), args[1])


def _time_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept a timestamp with or without time zone; other types are cast to timestamp."""
    if len(args) == 1 and type_of(args[0]) == t.TIMESTAMP_NTZ:
        return args, t.INTEGER
    return function.takes(t.INTEGER, t.TIMESTAMP)(args)


def _days_signature(args: tuple[Node, ...]) -> function.Typed:
    if len(args) == 2 and type_of(args[1]) == t.LONG:
        return None
    return function.takes(t.DATE, t.DATE, t.INTEGER)(args)


_FIELD_ALIASES = {"dayofmonth": ("day",), "weekofyear": ("week",)}


def _date_field(name: str) -> function.Function:
    return function.Function(
        function.takes(t.INTEGER, t.DATE),
        function.by_row(partial(dates.date_field, name)),
        by_column=_date_field_column,
        aliases=_FIELD_ALIASES.get(name, ()),
        preimage=preimages.YEARS if name == "year" else preimages.cyclic_field(name),
        directions=(1,) if name == "year" else (),
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
    **dict.fromkeys(("DAYOFWEEK_ISO", "DOW_ISO"), "DAYOFWEEK_ISO"),
    **dict.fromkeys(("SECOND", "S", "SEC", "SECONDS", "SECS"), "SECOND"),
    "YEAROFWEEK": "YEAROFWEEK",
}
"""The function of each field of EXTRACT, date_part and datepart, by name; and the fields without a function."""

_FRACTIONAL = t.DecimalType(8, 6)


def _date_part(*args: Node) -> Node | None:
    """The function of `date_part(field, value)` for a literal field; None for other fields."""
    match args:
        case (Literal(str() as field), value) if field.upper() in FIELDS:
            name = FIELDS[field.upper()]
            if name == "DAYOFWEEK_ISO":
                return Call("+", (Call("weekday", (value,)), Literal(1, t.INTEGER)))
            return Call(name, (value,)) if name.islower() else Call("date_part", (Literal(name, t.STRING), value))
    return None


def _part_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept `SECOND`, whose result has a fraction, or `YEAROFWEEK`."""
    match args:
        case (Literal("SECOND"), value):
            found = function.takes(_FRACTIONAL, t.TIMESTAMP_NTZ if type_of(value) == t.TIMESTAMP_NTZ else t.TIMESTAMP)(
                (value,)
            )
        case (Literal("YEAROFWEEK"), value):
            found = function.takes(t.INTEGER, t.DATE)((value,))
        case _:
            return None
    return None if found is None else ((args[0], *found[0]), found[1])


def _part(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> object:
    field, value = args
    if field == "YEAROFWEEK":
        return dates.year_of_week(value)
    local = value if type_of(call.args[1]) == t.TIMESTAMP_NTZ else calendar.local_of(value, zone)
    return of_unscaled(local % calendar.MICROS_PER_MINUTE, 6)


def _part_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    field, values = v.constant(args[0]), v.column(args[1])
    if field == "YEAROFWEEK":
        return v.made(dates.year_of_week(v.numbers(values).astype(np.int64)), pa.int32(), values)
    local = columns.local_column(values, type_of(call.args[1]) == t.TIMESTAMP, zone)
    words = np.zeros((len(local), 2), np.int64)
    words[:, 0] = local % calendar.MICROS_PER_MINUTE
    found = pa.Array.from_buffers(pa.decimal128(8, 6), len(local), [None, pa.py_buffer(words)])
    if values.null_count:
        found = pc.if_else(values.is_valid(), found, v.none_of(found.type))
    return columns.within_limits(found, values)


def _compute_time_field(name: str, args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> object:
    local = args[0] if type_of(call.args[0]) == t.TIMESTAMP_NTZ else calendar.local_of(args[0], zone)
    return dates.time_field(name, local)


def _units_of(unit: int) -> function.Function:
    """A function that returns the units from 1970 to a timestamp, rounded down."""

    def by_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values:
        return v.made(v.numbers(v.column(args[0])) // unit, pa.int64(), args[0])

    return function.Function(
        function.exactly(t.LONG, t.TIMESTAMP),
        function.by_row(lambda micros: micros // unit),
        by_column=by_column,
        preimage=preimages.units_since_1970(unit),
        directions=(1,),
    )


TIMES: Mapping[str, function.FunctionRow] = {
    "current_date": function.Present(t.DATE),
    "curdate": function.Present(t.DATE),
    "now": function.Present(t.TIMESTAMP),
    "current_timestamp": function.Present(t.TIMESTAMP),
    "localtimestamp": function.Present(t.TIMESTAMP_NTZ),
    # The name has parentheses, because unix_timestamp(time) is a different function.
    "unix_timestamp()": function.Present(t.LONG),
    "date_part": function.Function(
        _part_signature,
        _part,
        by_column=_part_column,
        zoned=True,
        instead=_date_part,
        preimage=preimages.year_of_week,
        aliases=("datepart", "extract"),
    ),
    "unix_seconds": _units_of(calendar.MICROS_PER_SECOND),
    "unix_millis": _units_of(1000),
    "unix_micros": _units_of(1),
    "unix_date": function.Function(
        function.exactly(t.INTEGER, t.DATE),
        function.by_row(lambda days: days),
        by_column=lambda args, call, zone: args[0].view(pa.int32()),
        preimage=preimages.same_number,
    ),
    "date_from_unix_date": function.Function(
        function.takes(t.DATE, t.INTEGER),
        function.by_row(lambda days: days),
        by_column=lambda args, call, zone: args[0].view(pa.date32()),
        preimage=preimages.same_number,
    ),
    **{name: _date_field(name) for name in dates.DATE_FIELDS},
    **{
        name: function.Function(
            _time_signature,
            partial(_compute_time_field, name),
            by_column=_time_field_column,
            zoned=True,
            preimage=preimages.time_field_steps,
        )
        for name in dates.TIME_FIELDS
    },
    "last_day": function.Function(
        function.takes(t.DATE, t.DATE),
        function.by_row(lambda date: dates.checked_date(dates.last_day(date))),
        by_column=_last_day_column,
        preimage=preimages.LAST_DAYS,
        directions=(1,),
    ),
    "date_add": function.Function(
        _days_signature,
        function.by_row(dates.add_days),
        by_column=_add_days_column,
        aliases=("dateadd",),
        preimage=preimages.days_added(1),
        wraps=True,
        directions=(1, 1),
    ),
    "date_sub": function.Function(
        _days_signature,
        function.by_row(lambda date, days: dates.add_days(date, -days)),
        by_column=_add_days_column,
        preimage=preimages.days_added(-1),
        wraps=True,
        directions=(1, -1),
    ),
    "datediff": function.Function(
        function.takes(t.INTEGER, t.DATE, t.DATE),
        function.by_row(dates.days_between),
        by_column=_datediff_column,
        aliases=("date_diff",),
        preimage=preimages.days_between_steps,
        wraps=True,
        directions=(1, -1),
    ),
    "trunc": function.Function(
        _of_known_units(function.takes(t.DATE, t.DATE, t.STRING), 1, lambda unit: dates.truncated_date(0, unit)),
        function.by_row(lambda date, unit: dates.checked_date(dates.truncated_date(date, unit))),
        by_column=_trunc_column,
        preimage=preimages.date_truncated,
        directions=(1, 0),
        order=function.constant_null_first,
    ),
    "date_trunc": function.Function(
        _of_known_units(
            function.takes(t.TIMESTAMP, t.STRING, t.TIMESTAMP),
            0,
            lambda unit: dates.truncated_timestamp(unit, 0, calendar.zone_of("UTC")),
        ),
        lambda args, call, zone: dates.checked_micros(dates.truncated_timestamp(args[0], args[1], zone)),
        by_column=_date_trunc_column,
        zoned=True,
        preimage=preimages.time_truncated,
        directions=(0, 1),
    ),
}

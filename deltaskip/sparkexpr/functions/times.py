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
from deltaskip.sparkexpr.functions.function import (
    Function,
    FunctionRow,
    Present,
    Signature,
    Typed,
    constant_null_first,
    exactly,
    takes,
)
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages import time_steps as preimages
from deltaskip.sparkexpr.types.data_types import DATE, INTEGER, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ, DecimalType
from deltaskip.sparkexpr.values import dates
from deltaskip.sparkexpr.values.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_MINUTE,
    MICROS_PER_SECOND,
    Zone,
    civil_from_days,
    local_of,
    zone_of,
)
from deltaskip.sparkexpr.values.numerals import of_unscaled
from deltaskip.sparkexpr.values.time_columns import (
    DATES_FROM,
    DATES_TO,
    civil,
    date_column,
    first_of_month,
    local_column,
    truncated_days,
    within_limits,
)
from deltaskip.sparkexpr.values.vectors import (
    NotByColumn,
    Partly,
    Values,
    any_set,
    column,
    constant,
    made,
    none_of,
    numbers,
)
from deltaskip.sparkexpr.values.zones import instants, local_times

_DATE_FIELDS: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "year": pc.year,
    "month": pc.month,
    "quarter": pc.quarter,
    "dayofmonth": pc.day,
    "dayofyear": pc.day_of_year,
    "weekofyear": pc.iso_week,
}
_SECONDS = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}


def _date_field_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """A field of a date."""
    days = numbers(column(args[0]))
    if call.name == "weekday":
        return made((days.astype(np.int64) + 3) % 7, pa.int32(), args[0])
    if call.name == "dayofweek":
        return made((days.astype(np.int64) + 4) % 7 + 1, pa.int32(), args[0])
    if any_set((days < DATES_FROM) | (days > DATES_TO), args[0]):
        raise NotByColumn
    return pc.cast(_DATE_FIELDS[call.name](args[0]), pa.int32())


def _time_field_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """Hour, minute or second of a timestamp."""
    local = local_column(args[0], type_of(call.args[0]) == TIMESTAMP, zone)
    unit, count = _SECONDS[call.name]
    return within_limits(made((local // (unit * MICROS_PER_SECOND)) % count, pa.int32(), args[0]), args[0])


def _last_day_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    year, month, _ = civil(numbers(column(args[0])))
    return date_column(first_of_month(year, month + 1) - 1, args[0])


def _add_days_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`date_add(date, days)` and `date_sub`. Java computes in 32 bits, without an error."""
    days, count = np.asarray(numbers(args[0]), np.int32), np.asarray(numbers(args[1]), np.int32)
    with np.errstate(over="ignore"):
        return made(days + count if call.name == "date_add" else days - count, pa.date32(), *args)


def _datediff_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`datediff(end, start)`. Java subtracts in 32 bits, without an error."""
    with np.errstate(over="ignore"):
        found = np.asarray(numbers(args[0]), np.int32) - np.asarray(numbers(args[1]), np.int32)
    return made(found, pa.int32(), *args)


def _of_known_units(signature: Signature, at: int, truncated: Callable[[str], int | None]) -> Signature:
    """A signature for units. Spark does not evaluate the operand if the unit is unknown."""

    def typed(args: tuple[Node, ...]) -> Typed:
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


def _trunc_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`trunc(date, unit)` with a constant unit; NULL for an unknown unit."""
    days = np.asarray(numbers(column(args[0])), np.int64)
    found = truncated_days(days, constant(args[1]).upper())
    return pa.nulls(len(days), pa.date32()) if found is None else date_column(found, args[0])


def _date_trunc_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """`date_trunc(unit, timestamp)` with a constant unit; NULL for an unknown unit."""
    unit, micros = constant(args[0]).upper(), numbers(column(args[1]))
    if unit in dates.INSTANT_UNITS:
        return within_limits(made(micros - micros % dates.INSTANT_UNITS[unit], args[1].type, args[1]), args[1])
    local = local_column(args[1], True, zone)
    if unit in dates.TIME_UNITS:
        truncated = local - local % dates.TIME_UNITS[unit]
        # In the repeated hour of a clock change, the offset stays unchanged.
        kept = truncated - (local - micros)
        found = np.where(local_times(kept, zone) == truncated, kept, instants(truncated, zone))
    else:
        days = truncated_days(local // MICROS_PER_DAY, unit)
        if days is None:
            return pa.nulls(len(micros), args[1].type)
        found = instants(days * MICROS_PER_DAY, zone)
    return within_limits(made(found, args[1].type, args[1]), args[1])


def _time_signature(args: tuple[Node, ...]) -> Typed:
    """Accept a timestamp with or without time zone; other types are cast to timestamp."""
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

_FRACTIONAL = DecimalType(8, 6)


def _date_part(*args: Node) -> Node | None:
    """The function of `date_part(field, value)` for a literal field; None for other fields."""
    match args:
        case (Literal(str() as field), value) if field.upper() in FIELDS:
            name = FIELDS[field.upper()]
            if name == "DAYOFWEEK_ISO":
                return Call("+", (Call("weekday", (value,)), Literal(1, INTEGER)))
            return Call(name, (value,)) if name.islower() else Call("date_part", (Literal(name, STRING), value))
    return None


def _part_signature(args: tuple[Node, ...]) -> Typed:
    """Accept `SECOND`, whose result has a fraction, or `YEAROFWEEK`."""
    match args:
        case (Literal("SECOND"), value):
            found = takes(_FRACTIONAL, TIMESTAMP_NTZ if type_of(value) == TIMESTAMP_NTZ else TIMESTAMP)((value,))
        case (Literal("YEAROFWEEK"), value):
            found = takes(INTEGER, DATE)((value,))
        case _:
            return None
    return None if found is None else ((args[0], *found[0]), found[1])


def _part(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    field, value = args
    if field == "YEAROFWEEK":
        year, _, _ = civil_from_days(value - (value + 3) % 7 + 3)
        return year
    local = value if type_of(call.args[1]) == TIMESTAMP_NTZ else local_of(value, zone)
    return of_unscaled(local % MICROS_PER_MINUTE, 6)


def _part_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    field, values = constant(args[0]), column(args[1])
    if field == "YEAROFWEEK":
        days = numbers(values).astype(np.int64)
        return made(civil(days - (days + 3) % 7 + 3)[0], pa.int32(), values)
    local = local_column(values, type_of(call.args[1]) == TIMESTAMP, zone)
    words = np.zeros((len(local), 2), np.int64)
    words[:, 0] = local % MICROS_PER_MINUTE
    found = pa.Array.from_buffers(pa.decimal128(8, 6), len(local), [None, pa.py_buffer(words)])
    if values.null_count:
        found = pc.if_else(values.is_valid(), found, none_of(found.type))
    return within_limits(found, values)


def _compute_time_field(name: str, args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    local = args[0] if type_of(call.args[0]) == TIMESTAMP_NTZ else local_of(args[0], zone)
    return dates.time_field(name, local)


def _units_of(unit: int) -> Function:
    """A function that returns the units from 1970 to a timestamp, rounded down."""

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
        return made(numbers(column(args[0])) // unit, pa.int64(), args[0])

    return Function(
        exactly(LONG, TIMESTAMP),
        lambda args, call, zone: args[0] // unit,
        by_column=by_column,
        preimage=preimages.units_since_1970(unit),
        directions=(1,),
    )


TIMES: Mapping[str, FunctionRow] = {
    "current_date": Present(DATE),
    "curdate": Present(DATE),
    "now": Present(TIMESTAMP),
    "current_timestamp": Present(TIMESTAMP),
    "localtimestamp": Present(TIMESTAMP_NTZ),
    # The name has parentheses, because unix_timestamp(time) is a different function.
    "unix_timestamp()": Present(LONG),
    "date_part": Function(
        _part_signature,
        _part,
        by_column=_part_column,
        zoned=True,
        instead=_date_part,
        preimage=preimages.year_of_week,
        aliases=("datepart", "extract"),
    ),
    "unix_seconds": _units_of(MICROS_PER_SECOND),
    "unix_millis": _units_of(1000),
    "unix_micros": _units_of(1),
    "unix_date": Function(
        exactly(INTEGER, DATE),
        lambda args, call, zone: args[0],
        by_column=lambda args, call, zone: args[0].view(pa.int32()),
        preimage=preimages.same_number,
    ),
    "date_from_unix_date": Function(
        takes(DATE, INTEGER),
        lambda args, call, zone: args[0],
        by_column=lambda args, call, zone: args[0].view(pa.date32()),
        preimage=preimages.same_number,
    ),
    **{name: _date_field(name) for name in dates.DATE_FIELDS},
    **{
        name: Function(
            _time_signature,
            partial(_compute_time_field, name),
            by_column=_time_field_column,
            zoned=True,
            preimage=preimages.time_field_steps,
        )
        for name in dates.TIME_FIELDS
    },
    "last_day": Function(
        takes(DATE, DATE),
        lambda args, call, zone: dates.checked_date(dates.last_day(args[0])),
        by_column=_last_day_column,
        preimage=preimages.LAST_DAYS,
        directions=(1,),
    ),
    "date_add": Function(
        _days_signature,
        lambda args, call, zone: dates.add_days(args[0], args[1]),
        by_column=_add_days_column,
        aliases=("dateadd",),
        preimage=preimages.days_added(1),
        wraps=True,
        directions=(1, 1),
    ),
    "date_sub": Function(
        _days_signature,
        lambda args, call, zone: dates.add_days(args[0], -args[1]),
        by_column=_add_days_column,
        preimage=preimages.days_added(-1),
        wraps=True,
        directions=(1, -1),
    ),
    "datediff": Function(
        takes(INTEGER, DATE, DATE),
        lambda args, call, zone: dates.days_between(*args),
        by_column=_datediff_column,
        aliases=("date_diff",),
        preimage=preimages.days_between_steps,
        wraps=True,
        directions=(1, -1),
    ),
    "trunc": Function(
        _of_known_units(takes(DATE, DATE, STRING), 1, lambda unit: dates.truncated_date(0, unit)),
        lambda args, call, zone: dates.checked_date(dates.truncated_date(args[0], args[1])),
        by_column=_trunc_column,
        preimage=preimages.date_truncated,
        directions=(1, 0),
        order=constant_null_first,
    ),
    "date_trunc": Function(
        _of_known_units(
            takes(TIMESTAMP, STRING, TIMESTAMP), 0, lambda unit: dates.truncated_timestamp(unit, 0, zone_of("UTC"))
        ),
        lambda args, call, zone: dates.checked_micros(dates.truncated_timestamp(args[0], args[1], zone)),
        by_column=_date_trunc_column,
        zoned=True,
        preimage=preimages.time_truncated,
        directions=(0, 1),
    ),
}

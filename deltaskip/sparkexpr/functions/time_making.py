"""Functions that make dates and timestamps of numbers, and that convert timestamps between time zones.

# Spark 4.1, datetimeExpressions.scala: MakeDate, MakeTimestamp, SecondsToTimestamp, UTCTimestamp, ConvertTimezone
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.sparkexpr.coerce import cast_to, is_numeric, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided, value_or_null
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.nodes import Call, Node
from deltaskip.sparkexpr.preimages import time_steps as preimages
from deltaskip.sparkexpr.preimages.monotone import monotone
from deltaskip.sparkexpr.preimages.steps import Inverted
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import calendar, dates
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.numerals import EXACT
from deltaskip.sparkexpr.values.zones import first_of_month, instants, local_times, within_limits

_SECONDS = t.DecimalType(16, 6)
# 64-bit timestamps lie between these years.
_LEAST_YEAR, _GREATEST_YEAR = -290_000, 294_000
_LONG_LIMIT = 2.0**63


def _made_date(year: int, month: int, day: int) -> int:
    if not (
        -999_999_999 <= year <= 999_999_999 and 1 <= month <= 12 and 1 <= day <= calendar.days_in_month(year, month)
    ):
        raise EvaluationError(f"There is no date {year}-{month}-{day} (DATETIME_FIELD_OUT_OF_BOUNDS).")
    days = calendar.days_from_civil(year, month, day)
    if not -(2**31) <= days < 2**31:
        raise Undecided("A date beyond the first or last one is left to Spark.")
    return days


def _made_date_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    """`make_date(year, month, day)`."""
    days, odd = _days_of(args)
    return v.partly(v.made(days.astype(np.int32), pa.date32(), *args), odd, *args)


def _days_of(args: Sequence[v.Values]) -> tuple[np.ndarray, np.ndarray]:
    """The days of dates, and a mask of the dates that do not exist or are out of range and left over."""
    rows = v.rows_of(args)
    year, month, day = (np.broadcast_to(np.asarray(v.numbers(each), np.int64), rows) for each in args[:3])
    odd = (year < _LEAST_YEAR) | (year > _GREATEST_YEAR) | (month < 1) | (month > 12) | (day < 1) | (day > 31)
    year, month = np.where(odd, 2000, year), np.where(odd, 1, month)
    first = first_of_month(year, month)
    odd |= day > first_of_month(year, month + 1) - first
    return np.where(odd, 0, first + day - 1), odd


def _made_time(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> int:
    """The timestamp of year, month, day, hour, minute and seconds, and an optional time zone."""
    year, month, day, hour, minute, seconds, *named = args
    in_zone = _zone(named[0]) if named else zone
    # A minute may have 60 seconds, but not more.
    micros = int(seconds.scaleb(6, EXACT))
    if not -(2**31) <= micros < 2**31:
        raise Undecided("Spark's generated code and its interpreter disagree about this number of seconds.")
    fits = -999_999_999 <= year <= 999_999_999 and 1 <= month <= 12 and 1 <= day <= calendar.days_in_month(year, month)
    if not (fits and 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= micros <= calendar.MICROS_PER_MINUTE):
        raise EvaluationError(
            f"There is no time {year}-{month}-{day} {hour}:{minute}:{seconds} (DATETIME_FIELD_OUT_OF_BOUNDS)."
        )
    if not _LEAST_YEAR <= year <= _GREATEST_YEAR:
        raise Undecided("A time near the limits of timestamps is left to Spark.")
    local = (
        calendar.days_from_civil(year, month, day) * calendar.MICROS_PER_DAY
        + (hour * 60 + minute) * calendar.MICROS_PER_MINUTE
        + micros
    )
    return local if call.type == t.TIMESTAMP_NTZ else calendar.instant_of(local, in_zone)


def _made_time_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    """Timestamps of numbers; rows with times that do not exist are left over."""
    in_zone = _zone_by_column(args[6]) if len(args) > 6 else zone
    rows = v.rows_of(args)
    days, odd = _days_of(args)
    hour, minute = (np.broadcast_to(np.asarray(v.numbers(each), np.int64), rows) for each in args[3:5])
    micros = np.broadcast_to(_unscaled(args[5]), rows)
    odd |= (
        (hour < 0) | (hour > 23) | (minute < 0) | (minute > 59) | (micros < 0) | (micros > calendar.MICROS_PER_MINUTE)
    )
    local = np.where(
        odd, 0, days * calendar.MICROS_PER_DAY + (hour * 60 + minute) * calendar.MICROS_PER_MINUTE + micros
    )
    found = local if call.type == t.TIMESTAMP_NTZ else instants(local, in_zone)
    return v.partly(v.made(found, arrow_type(call.type or t.TIMESTAMP), *args), odd, *args)


def _unscaled(values: v.Values) -> Any:
    """The unscaled integers of decimals of at most 18 digits."""
    if isinstance(values, pa.Scalar):
        value = values.as_py()
        return int(value.scaleb(-value.as_tuple().exponent, EXACT))
    words = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset : 2 * (values.offset + len(values))]
    return words[::2]


def _making(result: t.DataType) -> function.Signature:
    """Accept five integers, the seconds, and, for instants, an optional time zone."""

    def signature(args: tuple[Node, ...]) -> function.Typed:
        seconds = type_of(args[5]) if len(args) > 5 else None
        if seconds is None or not (is_numeric(seconds) or seconds == t.STRING):
            return None
        given = (*args[:5], cast_to(args[5], _SECONDS), *args[6:])
        zone = () if result == t.TIMESTAMP_NTZ else (t.STRING,)
        return function.takes(result, *[t.INTEGER] * 5, _SECONDS, *zone, optional=len(zone))(given)

    return signature


def _made_times(name: str, result: t.DataType, aliases: tuple[str, ...] = ()) -> dict[str, function.FunctionRow]:
    zoned = result == t.TIMESTAMP
    plain = function.Function(_making(result), _made_time, by_column=_made_time_column, zoned=zoned, aliases=aliases)
    tried = tuple(f"try_{alias}" for alias in aliases)
    return {name: plain, f"try_{name}": replace(plain, compute=partial(value_or_null, _made_time), aliases=tried)}


def _time_of(unit: int) -> function.Function:
    """A function that makes the timestamp a whole number of units after 1970."""

    def signature(args: tuple[Node, ...]) -> function.Typed:
        if len(args) != 1 or type_of(args[0]) not in t.INTEGRAL_BITS:
            return None
        return (cast_to(args[0], t.LONG),), t.TIMESTAMP

    def by_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values:
        counts = v.numbers(v.column(args[0]))
        if v.any_set((counts > calendar.INSTANT_MAX // unit) | (counts < -(calendar.INSTANT_MAX // unit)), args[0]):
            raise v.NotByColumn
        with np.errstate(over="ignore"):
            return v.made(counts * unit, arrow_type(t.TIMESTAMP), args[0])

    return function.Function(
        signature,
        function.by_row(lambda count: dates.checked_micros(count * unit)),
        by_column=by_column,
        preimage=preimages.same_number if unit == 1 else preimages.instant_of_units(unit),
    )


def _of_seconds_signature(args: tuple[Node, ...]) -> function.Typed:
    type_ = type_of(args[0]) if len(args) == 1 else None
    if type_ in t.FLOATING or isinstance(type_, t.DecimalType):
        return args, t.TIMESTAMP
    return _OF_WHOLE_SECONDS.signature(args)


def _of_seconds(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> object:
    """`timestamp_seconds(number)`. A double is truncated to microseconds; a decimal must not have more digits."""
    match args[0]:
        case Decimal() as seconds:
            micros = seconds.scaleb(6, EXACT)
            if micros != int(micros):
                raise EvaluationError(f"{seconds} has more digits than microseconds.")
            return dates.checked_micros(int(micros))
        case float() as seconds:
            if not math.isfinite(seconds):
                return None
            product = seconds * calendar.MICROS_PER_SECOND
            return int(max(min(product, _LONG_LIMIT), -_LONG_LIMIT)) - (product >= _LONG_LIMIT)
    return _OF_WHOLE_SECONDS.compute(args, call, zone)


def _of_seconds_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    given, type_ = v.column(args[0]), type_of(call.args[0])
    if isinstance(type_, t.DecimalType):
        if type_.precision > 18 or type_.scale > 6:
            raise v.NotByColumn
        factor = 10 ** (6 - type_.scale)
        units = _unscaled(given)
        odd = (units > calendar.INSTANT_MAX // factor) | (units < -(calendar.INSTANT_MAX // factor))
        with np.errstate(over="ignore"):
            return v.partly(v.made(units * factor, arrow_type(t.TIMESTAMP), given), odd, given)
    if type_ not in t.FLOATING:
        assert _OF_WHOLE_SECONDS.by_column is not None
        return _OF_WHOLE_SECONDS.by_column(args, call, zone)
    seconds = v.numbers(given)
    with np.errstate(over="ignore", invalid="ignore"):
        product = seconds.astype(np.float64) * calendar.MICROS_PER_SECOND
    odd = ~(np.abs(product) < _LONG_LIMIT) & np.isfinite(seconds)
    whole = np.where(np.isfinite(seconds) & ~odd, product, 0).astype(np.int64)
    found = v.made(whole, arrow_type(t.TIMESTAMP), given)
    if not np.isfinite(seconds).all():
        found = pc.if_else(arrow_array(np.isfinite(seconds)), found, v.none_of(found.type))
    return v.partly(found, odd, given)


def _zone(name: str) -> calendar.Zone:
    try:
        return calendar.zone_of(name)
    except LookupError as error:
        raise Undecided(f"The time zone {shown(name)} is left to Spark.") from error


def _zone_by_column(name: v.Values) -> calendar.Zone:
    try:
        return calendar.zone_of(v.constant(name))
    except LookupError as error:
        raise v.NotByColumn from error


def _shifted(to_local: bool) -> function.Function:
    """`from_utc_timestamp(timestamp, zone)` if `to_local`, else `to_utc_timestamp`."""

    def compute(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> object:
        return dates.checked_micros((calendar.local_of if to_local else calendar.instant_of)(args[0], _zone(args[1])))

    def by_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
        other = _zone_by_column(args[1])
        micros = v.filled(v.column(args[0]))
        found = local_times(micros, other) if to_local else instants(micros, other)
        return within_limits(v.made(found, args[0].type, args[0]), args[0])

    return function.Function(
        function.takes(t.TIMESTAMP, t.TIMESTAMP, t.STRING),
        compute,
        by_column=by_column,
        preimage=preimages.between_zones,
        order=function.constant_null_first,
    )


def _converting(args: tuple[Node, ...]) -> function.Typed:
    """Accept one or two time zones and a local time. The default source zone is the session's time zone."""
    texts = (t.STRING,) * (len(args) - 1)
    return function.takes(t.TIMESTAMP_NTZ, *texts, t.TIMESTAMP_NTZ)(args) if len(args) in (2, 3) else None


def _converted(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> object:
    *before, target, local = args
    return dates.checked_micros(
        calendar.local_of(calendar.instant_of(local, _zone(before[0]) if before else zone), _zone(target))
    )


def _converted_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    *before, target, local = args
    source = _zone_by_column(before[0]) if before else zone
    found = local_times(instants(v.filled(v.column(local)), source), _zone_by_column(target))
    return within_limits(v.made(found, local.type, local), local)


_OF_WHOLE_SECONDS = _time_of(calendar.MICROS_PER_SECOND)


def _of_seconds_preimage(call: Call, compute: Callable[..., object], time_zone: str) -> Inverted:
    if type_of(call.args[0]) == t.LONG:
        return preimages.instant_of_units(calendar.MICROS_PER_SECOND)(call, compute, time_zone)
    if type_of(call.args[0]) != t.DOUBLE:
        return None
    # The result is NULL for NaN and the infinities; a cast to bigint saturates.
    greatest = math.nextafter(math.inf, 0)
    return monotone(1, 1, 1, cuts=(-greatest, math.inf), inside=0.0)(call, compute, time_zone)


TIME_MAKING: Mapping[str, function.FunctionRow] = {
    "timestamp_seconds": function.Function(
        _of_seconds_signature, _of_seconds, by_column=_of_seconds_column, preimage=_of_seconds_preimage
    ),
    "timestamp_millis": _time_of(1000),
    "timestamp_micros": _time_of(1),
    "from_utc_timestamp": _shifted(True),
    "to_utc_timestamp": _shifted(False),
    "convert_timezone": function.Function(
        _converting, _converted, by_column=_converted_column, zoned=True, preimage=preimages.between_zones
    ),
    "make_date": function.Function(
        function.takes(t.DATE, t.INTEGER, t.INTEGER, t.INTEGER),
        function.by_row(_made_date),
        by_column=_made_date_column,
        preimage=preimages.date_made,
    ),
    **_made_times("make_timestamp", t.TIMESTAMP, ("make_timestamp_ltz",)),
    **_made_times("make_timestamp_ntz", t.TIMESTAMP_NTZ),
}

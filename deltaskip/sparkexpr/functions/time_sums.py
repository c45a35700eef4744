"""Functions that add to dates and timestamps, and that count units between them.

# Spark 4.1, DateTimeUtils.scala: timestampAddMonths, timestampAddDayTime, timestampDiff, monthsBetween, getNextDate...
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.errors import shown
from deltaskip.sparkexpr.coerce import implicit_cast, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Typed, by_row, takes, value_function
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages import time_steps as preimages
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import calendar, dates
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.interval_types import DAYS
from deltaskip.sparkexpr.values.intervals import added_interval, amount_of, moved
from deltaskip.sparkexpr.values.zones import civil, first_of_month, instants, local_column, local_times

_SECONDS_OF_MONTH = 31 * 86_400
# Larger counts exceed the range of timestamps, or nearly.
_MOST_MONTHS, _MOST_MICROS = 12 * 500_000, 1 << 62
_NEAR = 1 << 61


def _add_months_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values:
    """`add_months(date, months)`."""
    days = np.atleast_1d(np.asarray(v.numbers(args[0]), np.int64))
    found = dates.months_later(days, np.asarray(v.numbers(args[1]), np.int64))
    if v.any_set((found < -(2**31)) | (found >= 2**31), *args):
        raise EvaluationError("The date is out of range.")
    return v.made(found.astype(np.int32), pa.date32(), *args)


def _sum_signature(args: tuple[Node, ...]) -> Typed:
    """None: Spark has no function of this name. `bind` makes the call for a sum."""
    return None


def interval_sum(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> object:
    """Return a date or timestamp plus the interval of the call. Raises EvaluationError if the sum is out of range."""
    time, interval = call.args
    assert isinstance(interval, Literal)
    return moved(args[0], type_of(time) or t.TIMESTAMP, interval, zone)


def interval_sum_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    """Return dates or timestamps plus an interval, like `interval_sum`; rows near the limits are left over."""
    interval, type_ = call.args[1], type_of(call.args[0])
    assert isinstance(interval, Literal)
    months, days, micros = amount_of(interval)
    given = v.column(args[0])
    if type_ != t.DATE:
        return _moved_column(given, months, days, micros, type_ == t.TIMESTAMP, zone, given)
    if micros:
        raise v.NotByColumn
    found = v.numbers(given).astype(np.int64)
    if interval.type == DAYS:
        with np.errstate(over="ignore"):
            return v.made((found + days).astype(np.int32), pa.date32(), given)
    found = dates.months_later(found, months) + days if months else found + days
    odd = (found < -(2**31)) | (found >= 2**31)
    return v.partly(v.made(found.astype(np.int32), pa.date32(), given), odd, given)


def _moved_column(
    given: pa.Array, months: Any, days: Any, micros: Any, zoned: bool, zone: calendar.Zone, *args: v.Values
) -> v.Values | v.Partly:
    """Timestamps some months, then days, then microseconds later. Each count is a number or an array.

    The result is NULL where one of `args` is NULL.
    """
    times = v.filled(given)
    for count, unit in ((months, "months"), (days, "days")):
        if isinstance(count, int) and not count:
            continue
        local = local_times(times, zone) if zoned else times
        day, clock = local // calendar.MICROS_PER_DAY, local % calendar.MICROS_PER_DAY
        found = (dates.months_later(day, count) if unit == "months" else day + count) * calendar.MICROS_PER_DAY + clock
        if not zoned:
            times = found
            continue
        # In a repeated hour, the offset stays unchanged.
        kept = found - (local - times)
        times = np.where(local_times(kept, zone) == found, kept, instants(found, zone))
    with np.errstate(over="ignore"):
        later = v.made(times + micros, given.type, *args)
    return v.partly(later, _far(v.filled(given)) | _far(times), *args)


def _far(micros: np.ndarray) -> np.ndarray:
    """A mask of the times for which arithmetic may exceed 64 bits."""
    found: np.ndarray = (micros > _NEAR) | (micros < -_NEAR)
    return found


def _adding(args: tuple[Node, ...]) -> Typed:
    """Accept a unit, a count and a timestamp; a date becomes a timestamp."""
    found = _with_unit(args, (*calendar.UNIT_MONTHS, *calendar.UNIT_MICROS, "DAYOFYEAR"))
    if found is None:
        return None
    unit, count, time = found
    quantity = implicit_cast(count, t.LONG)
    type_ = t.TIMESTAMP_NTZ if type_of(time) == t.TIMESTAMP_NTZ else t.TIMESTAMP
    of = implicit_cast(time, type_)
    return None if quantity is None or of is None else ((unit, quantity, of), type_)


def _counting(args: tuple[Node, ...]) -> Typed:
    """Accept a unit and two timestamps."""
    found = _with_unit(args, (*calendar.UNIT_MONTHS, *calendar.UNIT_MICROS))
    cast = None if found is None else takes(t.LONG, t.TIMESTAMP, t.TIMESTAMP)(found[1:])
    return None if found is None or cast is None else ((found[0], *cast[0]), t.LONG)


def _with_unit(args: tuple[Node, ...], units: Sequence[str]) -> tuple[Node, ...] | None:
    """The arguments with the unit in upper case; None for an unknown unit."""
    match args:
        case (Literal(str() as unit), _, _) if unit.upper() in units:
            return Literal(unit.upper(), t.STRING), *args[1:]
    return None


def _added(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> object:
    """`timestampadd(unit, count, timestamp)`."""
    unit, count, time = args
    interval = added_interval(count, unit)
    if interval is None:
        raise EvaluationError(f"{count} times {unit} is out of range (DATETIME_OVERFLOW).")
    return moved(time, call.type or t.TIMESTAMP, interval, zone)


def _added_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    unit, given = v.constant(args[0]), v.column(args[2])
    count = v.numbers(args[1])
    if unit in calendar.UNIT_MONTHS:
        amount, most = calendar.UNIT_MONTHS[unit], _MOST_MONTHS
    else:
        amount, most = calendar.UNIT_MICROS["DAY" if unit == "DAYOFYEAR" else unit], _MOST_MICROS
    size = np.atleast_1d(np.asarray(count, np.int64))
    if v.any_set((size > most // amount) | (size < -(most // amount)), *args[1:]):
        raise v.NotByColumn
    zoned = call.type == t.TIMESTAMP
    if unit in calendar.UNIT_MONTHS:
        return _moved_column(given, count * amount, 0, 0, zoned, zone, *args[1:])
    total = np.asarray(count, np.int64) * amount
    if amount < calendar.MICROS_PER_DAY:
        # Hours and shorter units are added to the instant, even if the sum is more than a day.
        return _moved_column(given, 0, 0, total, zoned, zone, *args[1:])
    return _moved_column(given, 0, total // calendar.MICROS_PER_DAY, 0, zoned, zone, *args[1:])


def _counted(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> object:
    """`timestampdiff(unit, start, end)`: whole units between local times, rounded towards zero."""
    unit, start, end = args[0], calendar.local_of(args[1], zone), calendar.local_of(args[2], zone)
    if unit in calendar.UNIT_MICROS:
        found = dates.towards_zero(end - start, calendar.UNIT_MICROS[unit])
    else:
        (day, clock), (last, until) = divmod(start, calendar.MICROS_PER_DAY), divmod(end, calendar.MICROS_PER_DAY)
        last += (day > last and until > clock) - (day < last and until < clock)
        found = dates.towards_zero(_packed(last) - _packed(day), 32 * calendar.UNIT_MONTHS[unit])
    if not -(2**63) <= found < 2**63:
        raise EvaluationError(f"The number of {unit}s is out of range.")
    return found


def _packed(days: calendar.Whole) -> calendar.Whole:
    """Months and the day of the month in one integer, whose differences are as in java.time."""
    year, month, day = calendar.civil_from_days(days)
    return (year * 12 + month) * 32 + day


def _counted_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    unit = v.constant(args[0])
    start, end = (_local_either(each, zone) for each in args[1:])
    far = _far(start) | _far(end)
    with np.errstate(over="ignore"):
        if unit in calendar.UNIT_MICROS:
            size, by = np.asarray(end - start), calendar.UNIT_MICROS[unit]
        else:
            day, clock = start // calendar.MICROS_PER_DAY, start % calendar.MICROS_PER_DAY
            last, until = end // calendar.MICROS_PER_DAY, end % calendar.MICROS_PER_DAY
            last = last + ((day > last) & (until > clock)) - ((day < last) & (until < clock))
            size, by = _packed(last) - _packed(day), 32 * calendar.UNIT_MONTHS[unit]
        found = dates.towards_zero(size, by)
    return v.partly(v.made(found.astype(np.int64), pa.int64(), *args[1:]), far, *args[1:])


def _local_either(values: v.Values, zone: calendar.Zone) -> np.ndarray:
    """Local microseconds of a column of timestamps, or of a constant as an array of one element."""
    if isinstance(values, pa.Scalar):
        return np.array([calendar.local_of(v.constant(values), zone)], np.int64)
    return local_column(values, True, zone)


def _between_signature(args: tuple[Node, ...]) -> Typed:
    """Accept two timestamps, and optionally whether the result is rounded."""
    rounded = (*args, Literal(True, t.BOOLEAN))[:3] if len(args) > 1 else args
    return takes(t.DOUBLE, t.TIMESTAMP, t.TIMESTAMP, t.BOOLEAN)(rounded) if len(args) < 4 else None


def _months_between(args: tuple[Any, ...], call: Call, zone: calendar.Zone) -> float:
    """`months_between(one, other, rounded)`: a month has 31 days, but the ends of two months are whole months apart."""
    first, second, rounded = args
    parts = []
    if max(abs(first), abs(second)) > calendar.INSTANT_MAX - 2 * calendar.MICROS_PER_DAY:
        raise Undecided("Months between the limits of timestamps are left to Spark.")
    for micros in (first, second):
        day = calendar.local_of(micros, zone) // calendar.MICROS_PER_DAY
        year, month, of_month = calendar.civil_from_days(day)
        since = micros - calendar.instant_of(day * calendar.MICROS_PER_DAY, zone)
        parts.append((year * 12 + month, of_month, of_month == calendar.days_in_month(year, month), since))
    (months, day, last, since), (other_months, other_day, other_last, other_since) = parts
    whole = float(months - other_months)
    if day == other_day or (last and other_last):
        return whole
    seconds = (day - other_day) * 86_400
    seconds += dates.whole_seconds(since) - dates.whole_seconds(other_since)
    found: float = whole + seconds / _SECONDS_OF_MONTH
    return math.floor(found * 1e8 + 0.5) / 1e8 if rounded else found


def _months_between_column(args: Sequence[v.Values], call: Call, zone: calendar.Zone) -> v.Values | v.Partly:
    rounded = v.constant(args[2])
    parts = []
    for values in args[:2]:
        micros = np.array([v.constant(values)]) if isinstance(values, pa.Scalar) else v.filled(values)
        days = local_times(micros, zone) // calendar.MICROS_PER_DAY
        year, month, day = civil(days)
        last = first_of_month(year, month + 1) - first_of_month(year, month) == day
        since = micros - instants(days * calendar.MICROS_PER_DAY, zone)
        parts.append((micros, year * 12 + month, day, last, dates.whole_seconds(since)))
    (one, months, day, last, since), (other, other_months, other_day, other_last, other_since) = parts
    whole = (months - other_months).astype(np.float64)
    seconds = (day - other_day) * 86_400 + since - other_since
    found = whole + seconds / float(_SECONDS_OF_MONTH)
    if rounded:
        found = np.floor(found * 1e8 + 0.5) / 1e8
    found = np.where((day == other_day) | (last & other_last), whole, found)
    return v.partly(v.made(found, pa.float64(), *args[:2]), _far(one) | _far(other), *args[:2])


def _next_day(day: int, name: str) -> int:
    """`next_day(date, day of the week)`: the first such day after the date. Java adds in 32 bits."""
    weekday = dates.WEEKDAYS.get(name.upper())
    if weekday is None:
        raise EvaluationError(f"{shown(name)} is not a day of the week (ILLEGAL_DAY_OF_WEEK).")
    if day < dates.FIRST_WEEK:
        raise Undecided("The next day of a date in the first week is left to Spark.")
    return dates.add_days(dates.next_day(day, weekday), 0)


TIME_SUMS: Mapping[str, FunctionRow] = {
    "add_months": Function(
        takes(t.DATE, t.DATE, t.INTEGER),
        by_row(dates.add_months),
        by_column=_add_months_column,
        preimage=preimages.months_added,
        directions=(1, 0),
    ),
    "add_interval": Function(
        _sum_signature,
        interval_sum,
        by_column=interval_sum_column,
        zoned=True,
        preimage=preimages.interval_added,
        directions=(1, 0),
    ),
    "timestampadd": Function(_adding, _added, by_column=_added_column, zoned=True),
    "timestampdiff": Function(
        _counting, _counted, by_column=_counted_column, zoned=True, preimage=preimages.units_between
    ),
    "months_between": Function(_between_signature, _months_between, by_column=_months_between_column, zoned=True),
    "next_day": value_function(takes(t.DATE, t.DATE, t.STRING), _next_day, preimage=preimages.next_day_steps),
}

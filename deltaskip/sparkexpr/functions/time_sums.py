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
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Typed, takes
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages import time_steps as preimages
from deltaskip.sparkexpr.types.data_types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ
from deltaskip.sparkexpr.values import dates
from deltaskip.sparkexpr.values.calendar import (
    INSTANT_MAX,
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    UNIT_MICROS,
    UNIT_MONTHS,
    Zone,
    civil_from_days,
    days_in_month,
    instant_of,
    local_of,
)
from deltaskip.sparkexpr.values.interval_types import DAYS
from deltaskip.sparkexpr.values.intervals import added_interval, amount_of, moved
from deltaskip.sparkexpr.values.time_columns import civil, first_of_month, local_column
from deltaskip.sparkexpr.values.vectors import (
    NotByColumn,
    Partly,
    Values,
    any_set,
    column,
    constant,
    filled,
    made,
    numbers,
)
from deltaskip.sparkexpr.values.zones import instants, local_times

_SECONDS_OF_MONTH = 31 * 86_400
# Larger counts exceed the range of timestamps, or nearly.
_MOST_MONTHS, _MOST_MICROS = 12 * 500_000, 1 << 62
_NEAR = 1 << 61


def _add_months_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`add_months(date, months)`."""
    days = np.atleast_1d(np.asarray(numbers(args[0]), np.int64))
    found = _months_later(days, np.asarray(numbers(args[1]), np.int64))
    if any_set((found < -(2**31)) | (found >= 2**31), *args):
        raise EvaluationError("The date is out of range.")
    return made(found.astype(np.int32), pa.date32(), *args)


def _months_later(days: np.ndarray, count: Any) -> np.ndarray:
    """Dates `count` months later. A day beyond the end of the month becomes its last day."""
    year, month, day = civil(days)
    months = month - 1 + count
    year, month = year + months // 12, months % 12 + 1
    first, after = first_of_month(year, month), first_of_month(year, month + 1)
    found: np.ndarray = np.minimum(first + day - 1, after - 1)
    return found


def _sum_signature(args: tuple[Node, ...]) -> Typed:
    """None: Spark has no function of this name. `bind` makes the call for a sum."""
    return None


def interval_sum(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """Return a date or timestamp plus the interval of the call. Raises EvaluationError if the sum is out of range."""
    time, interval = call.args
    assert isinstance(interval, Literal)
    return moved(args[0], type_of(time) or TIMESTAMP, interval, zone)


def interval_sum_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """Return dates or timestamps plus an interval, like `interval_sum`; rows near the limits are left over."""
    interval, type_ = call.args[1], type_of(call.args[0])
    assert isinstance(interval, Literal)
    months, days, micros = amount_of(interval)
    given = column(args[0])
    if type_ != DATE:
        return _moved_column(given, months, days, micros, type_ == TIMESTAMP, zone, given)
    if micros:
        raise NotByColumn
    found = numbers(given).astype(np.int64)
    if interval.type == DAYS:
        with np.errstate(over="ignore"):
            return made((found + days).astype(np.int32), pa.date32(), given)
    found = _months_later(found, months) + days if months else found + days
    odd = (found < -(2**31)) | (found >= 2**31)
    moved_dates = made(found.astype(np.int32), pa.date32(), given)
    return Partly(moved_dates, odd) if any_set(odd, given) else moved_dates


def _moved_column(
    given: pa.Array, months: Any, days: Any, micros: Any, zoned: bool, zone: Zone, *args: Values
) -> Values | Partly:
    """Timestamps some months, then days, then microseconds later. Each count is a number or an array.

    The result is NULL where one of `args` is NULL.
    """
    times = filled(given)
    for count, unit in ((months, "months"), (days, "days")):
        if isinstance(count, int) and not count:
            continue
        local = local_times(times, zone) if zoned else times
        day, clock = local // MICROS_PER_DAY, local % MICROS_PER_DAY
        found = (_months_later(day, count) if unit == "months" else day + count) * MICROS_PER_DAY + clock
        if not zoned:
            times = found
            continue
        # In a repeated hour, the offset stays unchanged.
        kept = found - (local - times)
        times = np.where(local_times(kept, zone) == found, kept, instants(found, zone))
    with np.errstate(over="ignore"):
        later = made(times + micros, given.type, *args)
    odd = _far(filled(given)) | _far(times)
    return Partly(later, odd) if any_set(odd, *args) else later


def _far(micros: np.ndarray) -> np.ndarray:
    """A mask of the times for which arithmetic may exceed 64 bits."""
    found: np.ndarray = (micros > _NEAR) | (micros < -_NEAR)
    return found


def _adding(args: tuple[Node, ...]) -> Typed:
    """Accept a unit, a count and a timestamp; a date becomes a timestamp."""
    found = _with_unit(args, (*UNIT_MONTHS, *UNIT_MICROS, "DAYOFYEAR"))
    if found is None:
        return None
    unit, count, time = found
    quantity = implicit_cast(count, LONG)
    type_ = TIMESTAMP_NTZ if type_of(time) == TIMESTAMP_NTZ else TIMESTAMP
    of = implicit_cast(time, type_)
    return None if quantity is None or of is None else ((unit, quantity, of), type_)


def _counting(args: tuple[Node, ...]) -> Typed:
    """Accept a unit and two timestamps."""
    found = _with_unit(args, (*UNIT_MONTHS, *UNIT_MICROS))
    cast = None if found is None else takes(LONG, TIMESTAMP, TIMESTAMP)(found[1:])
    return None if found is None or cast is None else ((found[0], *cast[0]), LONG)


def _with_unit(args: tuple[Node, ...], units: Sequence[str]) -> tuple[Node, ...] | None:
    """The arguments with the unit in upper case; None for an unknown unit."""
    match args:
        case (Literal(str() as unit), _, _) if unit.upper() in units:
            return Literal(unit.upper(), STRING), *args[1:]
    return None


def _added(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`timestampadd(unit, count, timestamp)`."""
    unit, count, time = args
    interval = added_interval(count, unit)
    if interval is None:
        raise EvaluationError(f"{count} times {unit} is out of range (DATETIME_OVERFLOW).")
    return moved(time, call.type or TIMESTAMP, interval, zone)


def _added_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    unit, given = constant(args[0]), column(args[2])
    count = numbers(args[1])
    if unit in UNIT_MONTHS:
        amount, most = UNIT_MONTHS[unit], _MOST_MONTHS
    else:
        amount, most = UNIT_MICROS["DAY" if unit == "DAYOFYEAR" else unit], _MOST_MICROS
    size = np.atleast_1d(np.asarray(count, np.int64))
    if any_set((size > most // amount) | (size < -(most // amount)), *args[1:]):
        raise NotByColumn
    zoned = call.type == TIMESTAMP
    if unit in UNIT_MONTHS:
        return _moved_column(given, count * amount, 0, 0, zoned, zone, *args[1:])
    total = np.asarray(count, np.int64) * amount
    if amount < MICROS_PER_DAY:
        # Hours and shorter units are added to the instant, even if the sum is more than a day.
        return _moved_column(given, 0, 0, total, zoned, zone, *args[1:])
    return _moved_column(given, 0, total // MICROS_PER_DAY, 0, zoned, zone, *args[1:])


def _counted(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`timestampdiff(unit, start, end)`: whole units between local times, rounded towards zero."""
    unit, start, end = args[0], local_of(args[1], zone), local_of(args[2], zone)
    if unit in UNIT_MICROS:
        found = _towards_zero(end - start, UNIT_MICROS[unit])
    else:
        (day, clock), (last, until) = divmod(start, MICROS_PER_DAY), divmod(end, MICROS_PER_DAY)
        last += (day > last and until > clock) - (day < last and until < clock)
        found = _towards_zero(_packed(last) - _packed(day), 32 * UNIT_MONTHS[unit])
    if not -(2**63) <= found < 2**63:
        raise EvaluationError(f"The number of {unit}s is out of range.")
    return found


def _packed(days: int) -> int:
    """Months and the day of the month in one integer, whose differences are as in java.time."""
    year, month, day = civil_from_days(days)
    return (year * 12 + month) * 32 + day


def _towards_zero(number: Any, by: int) -> Any:
    return number // by if number >= 0 else -(-number // by)


def _counted_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    unit = constant(args[0])
    start, end = (_local_either(each, zone) for each in args[1:])
    far = _far(start) | _far(end)
    with np.errstate(over="ignore"):
        if unit in UNIT_MICROS:
            size, by = np.asarray(end - start), UNIT_MICROS[unit]
        else:
            day, clock = start // MICROS_PER_DAY, start % MICROS_PER_DAY
            last, until = end // MICROS_PER_DAY, end % MICROS_PER_DAY
            last = last + ((day > last) & (until > clock)) - ((day < last) & (until < clock))
            size, by = _packed_column(last) - _packed_column(day), 32 * UNIT_MONTHS[unit]
        found = np.where(size >= 0, size // by, -(-size // by))
    array = made(found.astype(np.int64), pa.int64(), *args[1:])
    return Partly(array, far) if any_set(far, *args[1:]) else array


def _local_either(values: Values, zone: Zone) -> np.ndarray:
    """Local microseconds of a column of timestamps, or of a constant as an array of one element."""
    if isinstance(values, pa.Scalar):
        return np.array([local_of(constant(values), zone)], np.int64)
    return local_column(values, True, zone)


def _packed_column(days: np.ndarray) -> np.ndarray:
    year, month, day = civil(days)
    found: np.ndarray = (year * 12 + month) * 32 + day
    return found


def _between_signature(args: tuple[Node, ...]) -> Typed:
    """Accept two timestamps, and optionally whether the result is rounded."""
    rounded = (*args, Literal(True, BOOLEAN))[:3] if len(args) > 1 else args
    return takes(DOUBLE, TIMESTAMP, TIMESTAMP, BOOLEAN)(rounded) if len(args) < 4 else None


def _months_between(args: tuple[Any, ...], call: Call, zone: Zone) -> float:
    """`months_between(one, other, rounded)`: a month has 31 days, but the ends of two months are whole months apart."""
    first, second, rounded = args
    parts = []
    if max(abs(first), abs(second)) > INSTANT_MAX - 2 * MICROS_PER_DAY:
        raise Undecided("Months between the limits of timestamps are left to Spark.")
    for micros in (first, second):
        day = local_of(micros, zone) // MICROS_PER_DAY
        year, month, of_month = civil_from_days(day)
        since = micros - instant_of(day * MICROS_PER_DAY, zone)
        parts.append((year * 12 + month, of_month, of_month == days_in_month(year, month), since))
    (months, day, last, since), (other_months, other_day, other_last, other_since) = parts
    whole = float(months - other_months)
    if day == other_day or (last and other_last):
        return whole
    seconds = (day - other_day) * 86_400
    seconds += _towards_zero(since, MICROS_PER_SECOND) - _towards_zero(other_since, MICROS_PER_SECOND)
    found: float = whole + seconds / _SECONDS_OF_MONTH
    return math.floor(found * 1e8 + 0.5) / 1e8 if rounded else found


def _months_between_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    rounded = constant(args[2])
    parts = []
    for values in args[:2]:
        micros = np.array([constant(values)]) if isinstance(values, pa.Scalar) else filled(values)
        days = local_times(micros, zone) // MICROS_PER_DAY
        year, month, day = civil(days)
        last = first_of_month(year, month + 1) - first_of_month(year, month) == day
        since = micros - instants(days * MICROS_PER_DAY, zone)
        seconds = np.where(since >= 0, since // MICROS_PER_SECOND, -(-since // MICROS_PER_SECOND))
        parts.append((micros, year * 12 + month, day, last, seconds))
    (one, months, day, last, since), (other, other_months, other_day, other_last, other_since) = parts
    whole = (months - other_months).astype(np.float64)
    seconds = (day - other_day) * 86_400 + since - other_since
    found = whole + seconds / float(_SECONDS_OF_MONTH)
    if rounded:
        found = np.floor(found * 1e8 + 0.5) / 1e8
    found = np.where((day == other_day) | (last & other_last), whole, found)
    array = made(found, pa.float64(), *args[:2])
    far = _far(one) | _far(other)
    return Partly(array, far) if any_set(far, *args[:2]) else array


def _next_day(args: tuple[Any, ...], call: Call, zone: Zone) -> int:
    """`next_day(date, day of the week)`: the first such day after the date. Java adds in 32 bits."""
    weekday = dates.WEEKDAYS.get(args[1].upper())
    if weekday is None:
        raise EvaluationError(f"{shown(args[1])} is not a day of the week (ILLEGAL_DAY_OF_WEEK).")
    if args[0] < dates.FIRST_WEEK:
        raise Undecided("The next day of a date in the first week is left to Spark.")
    return dates.add_days(dates.next_day(args[0], weekday), 0)


def _next_day_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    weekday = dates.WEEKDAYS.get(constant(args[1]).upper())
    if weekday is None:
        raise NotByColumn
    days = numbers(column(args[0])).astype(np.int64)
    found = made((days + (weekday - (days + 3) - 1) % 7 + 1).astype(np.int32), pa.date32(), args[0])
    early = days < dates.FIRST_WEEK
    return Partly(found, early) if any_set(early, args[0]) else found


TIME_SUMS: Mapping[str, FunctionRow] = {
    "add_months": Function(
        takes(DATE, DATE, INTEGER),
        lambda args, call, zone: dates.add_months(args[0], args[1]),
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
    "next_day": Function(
        takes(DATE, DATE, STRING), _next_day, by_column=_next_day_column, preimage=preimages.next_day_steps
    ),
}

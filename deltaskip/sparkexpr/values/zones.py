"""Calendar arithmetic and time zones on whole columns of dates, instants and local times.

The offset of a zone is looked up once for each day that occurs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.values import calendar
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import NOTHING

# Up to this many days from the first to the last day, a table of all days is built.
_TABLE_DAYS = 1 << 21


def local_times(micros: np.ndarray, zone: calendar.Zone) -> np.ndarray:
    """Return local microseconds of instants, like `local_of`. The result wraps around at the limits of 64 bits."""
    with np.errstate(over="ignore"):
        found: np.ndarray = micros + _offsets(micros, zone, _offset_at)
    return found


def instants(local: np.ndarray, zone: calendar.Zone) -> np.ndarray:
    """Return instants of local microseconds, like `instant_of`. The result wraps around at the limits of 64 bits."""
    with np.errstate(over="ignore"):
        found: np.ndarray = local - _offsets(local, zone, _offset_of_local)
    return found


def near_clock_changes(micros: np.ndarray, zone: calendar.Zone) -> np.ndarray:
    """Return a mask of the instants or local times within two days of a change of the zone's offset."""
    if zone.rules is None:
        return np.zeros(len(micros), np.bool_)
    around = 2 * calendar.MICROS_PER_DAY
    with np.errstate(over="ignore"):
        before, after = micros - around, micros + around
    found: np.ndarray = _offsets(before, zone, _offset_at) != _offsets(after, zone, _offset_at)
    return found


def near_limits(micros: np.ndarray) -> np.ndarray | None:
    """Return a mask of the times for which arithmetic may exceed 64 bits; None if no time is so far away."""
    found = (micros > calendar.INSTANT_MAX // 2) | (micros < calendar.INSTANT_MIN // 2)
    return found if found.any() else None


def _offset_at(micros: int, zone: calendar.Zone) -> int:
    return calendar.local_of(micros, zone) - micros


def _offset_of_local(local: int, zone: calendar.Zone) -> int:
    return local - calendar.instant_of(local, zone)


def _offsets(micros: np.ndarray, zone: calendar.Zone, offset: Callable[[int, calendar.Zone], int]) -> np.ndarray:
    """The offset at each time, in microseconds. No zone changes its offset twice in a day."""
    if zone.rules is None:
        return np.full(len(micros), (zone.offset or 0) * calendar.MICROS_PER_SECOND, np.int64)
    if not len(micros):
        return np.zeros(0, np.int64)
    days = micros // calendar.MICROS_PER_DAY
    low, high = int(days.min()), int(days.max())
    if high - low < _TABLE_DAYS:
        seen = np.zeros(high - low + 1, np.bool_)
        of_row = days - low
        seen[of_row] = True
        distinct = np.flatnonzero(seen)
        places = np.zeros(len(seen), np.int64)
        places[distinct] = np.arange(len(distinct))
        of_row = places[of_row]
        distinct = distinct + low
    else:
        distinct, of_row = np.unique(days, return_inverse=True)
        of_row = of_row.reshape(-1)
    known = [_of_day(day, zone, offset) for day in distinct.tolist()]
    first = np.array([each[0] for each in known], np.int64)
    last = np.array([each[1] for each in known], np.int64)
    found = first[of_row]
    if (first != last).any():
        change = np.array([max(each[2], calendar.INSTANT_MIN) for each in known], np.int64)
        found = np.where(micros >= change[of_row], last[of_row], found)
    return found


@lru_cache(maxsize=1 << 16)
def _of_day(day: int, zone: calendar.Zone, offset: Callable[[int, calendar.Zone], int]) -> tuple[int, int, int]:
    """The offsets at the start and the end of a day, and the time at which the second offset begins."""
    start, end = day * calendar.MICROS_PER_DAY, (day + 1) * calendar.MICROS_PER_DAY - 1
    first, last = offset(start, zone), offset(end, zone)
    if first == last:
        return first, last, start
    before, after = start, end
    while after - before > 1:
        middle = (before + after) // 2
        if offset(middle, zone) == first:
            before = middle
        else:
            after = middle
    return first, last, after


DATES_FROM, DATES_TO = -719_162, 2_932_896
"""The days of the years 1 to 9999, for which Arrow's calendar functions are used."""


def time_texts(local: np.ndarray, given: v.Values) -> v.Partly | pa.Array:
    """The strings of CAST(… AS STRING) for local microseconds; years outside 1 to 9999 are left over."""
    seconds, fraction = local // calendar.MICROS_PER_SECOND, local % calendar.MICROS_PER_SECOND
    usual = (local >= DATES_FROM * calendar.MICROS_PER_DAY) & (local < (DATES_TO + 1) * calendar.MICROS_PER_DAY)
    whole = v.made(np.where(usual, seconds, 0), pa.timestamp("s"), given)
    found = pc.cast(whole, pa.string())
    if fraction.any():
        digits = pc.utf8_lpad(pc.cast(v.made(fraction, pa.int64(), given), pa.string()), 6, "0")
        tail = pc.if_else(v.made(fraction != 0, pa.bool_()), pc.utf8_rtrim(digits, "0"), NOTHING)
        point = pc.if_else(pc.equal(tail, NOTHING), NOTHING, v.constant_of(".", pa.string()))
        found = pc.binary_join_element_wise(found, point, tail, NOTHING)
    return found if usual.all() else v.Partly(found, ~usual)


def within_limits(found: pa.Array, times: v.Values) -> v.Values | v.Partly:
    """The results of a function of `times`; rows with times near the limits of 64 bits are left over."""
    rest = near_limits(v.numbers(times))
    return found if rest is None else v.Partly(found, rest)


def local_column(values: v.Values, zoned: bool, zone: calendar.Zone) -> np.ndarray:
    """Local microseconds of an array of timestamps; 0 for null."""
    micros = v.filled(v.column(values))
    return local_times(micros, zone) if zoned else micros


def date_column(days: np.ndarray, *given: v.Values) -> pa.Array:
    """The days as dates. Raises NotByColumn for days out of range: Spark raises for some units and wraps for others."""
    if v.any_set((days < -(2**31)) | (days >= 2**31), *given):
        raise v.NotByColumn
    return v.made(days.astype(np.int32), pa.date32(), *given)


def civil(days: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Year, month and day of days since 1970-01-01."""
    return calendar.civil_from_days(days.astype(np.int64))


def first_of_month(year: np.ndarray, month: np.ndarray) -> np.ndarray:
    """Days from 1970-01-01 to the first day of a month from 1 to 13."""
    return calendar.days_from_civil(year + month // 13, (month - 1) % 12 + 1, 1)

"""Converts columns of instants and local times in a time zone. Looks up the offset once for each day that occurs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from deltaskip.sparkexpr.values import calendar

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

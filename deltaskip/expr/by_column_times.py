"""Local times and texts of whole columns of timestamps: computed once for each day or hour that occurs.

# Spark 4.1, Cast, DateFormatClass
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.by_column_functions import UnsupportedByColumn
from deltaskip.expr.dates import formatted
from deltaskip.schema.arrow_values import arrow_array, arrow_scalar, numpy_values
from deltaskip.schema.calendar import MICROS_PER_DAY, format_timestamp, instant_of, local_of, zone_of

__all__ = ["LONGEST_TEXT", "formatted_times", "local_midnights", "local_times", "time_texts"]

LONGEST_TEXT = 13
"""Characters of "yyyy-MM-dd HH", which all times of an hour have in common."""

_HOUR = MICROS_PER_DAY // 24


def local_times(micros: pa.Array, time_zone: str) -> pa.Array:
    """Local microseconds of instants. No zone changes its offset twice in a day of UTC."""
    zone = zone_of(time_zone)
    values = _filled(micros)
    days, of_row = np.unique(values // MICROS_PER_DAY, return_inverse=True)

    def offset(instant: int) -> int:
        return local_of(instant, zone) - instant

    starts = days * MICROS_PER_DAY
    first = np.array([offset(start) for start in starts.tolist()], np.int64)
    last = np.array([offset(start) for start in (starts + MICROS_PER_DAY - 1).tolist()], np.int64)
    of_row = of_row.reshape(-1)
    found = values + first[of_row]
    changing = np.flatnonzero((first != last)[of_row])
    found[changing] = [local_of(instant, zone) for instant in values[changing].tolist()]
    return _with_nulls(arrow_array(found), micros)


def local_midnights(days: pa.Array, time_zone: str) -> pa.Array:
    """Local microseconds of dates as timestamps: later than midnight where the zone skips that."""
    zone = zone_of(time_zone)
    distinct, of_row = np.unique(_filled(days), return_inverse=True)
    times = [local_of(instant_of(day * MICROS_PER_DAY, zone), zone) for day in distinct.tolist()]
    return _with_nulls(arrow_array(np.array(times, np.int64)[of_row.reshape(-1)]), days)


def formatted_times(local: pa.Array, pattern: str) -> pa.Array:
    """`date_format` of local microseconds. Raises UnsupportedByColumn for patterns with minutes and seconds."""
    if "m" in pattern or "s" in pattern:
        raise UnsupportedByColumn
    return _of_cells(local, _HOUR if "H" in pattern else MICROS_PER_DAY, lambda start: formatted(start, pattern))


def time_texts(local: pa.Array, length: int) -> pa.Array:
    """The first characters, at most LONGEST_TEXT, of local microseconds as text."""
    return _of_cells(local, _HOUR, lambda start: format_timestamp(start)[:length])


def _of_cells(values: pa.Array, cell: int, text: Callable[[int], str]) -> pa.Array:
    cells, of_row = np.unique(_filled(values) // cell, return_inverse=True)
    texts = arrow_array([text(start) for start in (cells * cell).tolist()], pa.string())
    return _with_nulls(texts.take(arrow_array(of_row.reshape(-1).astype(np.int64))), values)


def _filled(values: Any) -> np.ndarray:
    if isinstance(values, pa.Scalar):
        raise UnsupportedByColumn
    return numpy_values(pc.fill_null(values, arrow_scalar(0, pa.int64())))


def _with_nulls(found: pa.Array, values: pa.Array) -> pa.Array:
    return found if not values.null_count else pc.if_else(values.is_valid(), found, arrow_scalar(None, found.type))

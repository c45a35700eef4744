"""Comparison of the bounds of files with many spans, or with a cycle, in one vectorized pass."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.schema.arrow_values import arrow_array, arrow_scalar, numpy_values
from deltaskip.skipping.proofs.preimage.value_sets import Cycle

__all__ = ["any_span", "cycle_hits"]

_FAR = 1 << 61
"""Beyond this, adding the offset of a time zone could overflow 64 bits: such files are kept."""


def any_span(lows: np.ndarray, highs: np.ndarray, mins: pa.Array, maxs: pa.Array) -> pa.BooleanArray:
    """Return whether some span [lows[i], highs[i]] overlaps each [min, max]; True where a bound is null.

    The spans are ascending and disjoint. So of all spans that end at or after min, the first one has the least start: a
    span overlaps only if this one does.
    """
    low, high, known = _numbers(mins, maxs)
    first = np.searchsorted(highs, low, side="left")
    inside = first < len(highs)
    meets = inside & (lows[np.minimum(first, len(lows) - 1)] <= high)
    return arrow_array(meets | ~known)


def cycle_hits(cycle: Cycle, low: int, high: int, mins: pa.Array, maxs: pa.Array) -> pa.BooleanArray:
    """Return whether a hit of the cycle may contain some x of both [min, max] and [low, high]; True for null bounds.

    Such an x is in one of the cells from (max(min, low) + cycle.low) // grain to (min(max, high) + cycle.high) //
    grain. `steps` contains the number of cells from each cell of the cycle to the next hit.
    """
    first, last, known = _numbers(mins, maxs)
    known &= (first > -_FAR) & (first < _FAR) & (last > -_FAR) & (last < _FAR)
    first = np.maximum(np.where(known, first, 0), max(low, -_FAR))
    last = np.minimum(np.where(known, last, 0), min(high, _FAR))
    if abs(cycle.low) >= _FAR or abs(cycle.high) >= _FAR or cycle.grain >= _FAR:
        return arrow_array(np.ones(len(first), dtype=bool))
    from_cell, to_cell = (first + cycle.low) // cycle.grain, (last + cycle.high) // cycle.grain
    steps = _steps_to_hit(np.frombuffer(cycle.hits, dtype=np.uint8) != 0)
    meets = (first <= last) & (from_cell + steps[from_cell % len(steps)] <= to_cell)
    return arrow_array(meets | ~known)


def _steps_to_hit(hits: np.ndarray) -> np.ndarray:
    at = np.flatnonzero(hits)
    cells = np.arange(len(hits))
    following = np.searchsorted(at, cells)
    following_hit: np.ndarray = np.where(following < len(at), at[following % len(at)], at[0] + len(hits))
    return following_hit - cells


def _numbers(mins: pa.Array, maxs: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    known = numpy_values(pc.and_(pc.is_valid(mins), pc.is_valid(maxs)))
    low = numpy_values(pc.fill_null(mins, arrow_scalar(0, pa.int64())))
    high = numpy_values(pc.fill_null(maxs, arrow_scalar(0, pa.int64())))
    return low, high, known.copy()

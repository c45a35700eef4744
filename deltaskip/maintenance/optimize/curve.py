"""The order of rows along a curve: a cell of a grid for each row, and the position of each cell on the curve.

The values of each column are divided at their quantiles, so that every side of the grid has about the same number of
rows, whatever the distribution. NULL comes first, as in Spark. Rows of one cell are in any order: the order decides
how well files are skipped, and never whether a row is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from deltaskip.errors import InvalidArgument
from deltaskip.maintenance.optimize.strategy import CurveName
from deltaskip.records import dataclass

SAMPLE_ROWS = 1 << 16
"""Number of values from which quantiles are computed."""

_GRID_BITS = 20
_Cells = npt.NDArray[np.int32]
"""Indexes of parts or of cells, which have at most 24 bits."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """The values at which a column is divided into parts.

    Attributes:
        values: Ascending values; the index of a value's part is the number of cuts that are not greater. A frequent
            value repeats, so that its part is as wide as its share of the rows.
        nulls: Number of parts for NULL, before the parts of values.
    """

    values: npt.NDArray[Any]
    nulls: int


def side_bits(columns: int, most: int = _GRID_BITS) -> int:
    """Return the number of bits for the parts of a column in a grid of this many columns."""
    return max(1, min(16, most // columns))


def cuts_of(sample: npt.NDArray[Any], nulls: int, bits: int) -> Cuts:
    """Return the cuts of a column from a sample of its values.

    Args:
        sample: The values of the sample that are not null.
        nulls: Number of null values of the sample.
        bits: Number of bits in the index of a part.
    """
    places, before = cut_places(len(sample), nulls, bits)
    return Cuts(np.sort(sample)[places], before)


def cut_places(values: int, nulls: int, bits: int) -> tuple[npt.NDArray[np.int64], int]:
    """Return the positions of the cuts among this many sorted values, and the number of parts for NULL before them.

    Args:
        values: Number of values that are not null.
        nulls: Number of nulls.
        bits: Number of bits in the index of a part.
    """
    parts = 1 << bits
    before = min(parts - 1, max(1, round(parts * nulls / (values + nulls)))) if nulls else 0
    inside = parts - before
    if not values or inside < 2:
        return np.zeros(0, np.int64), before
    return (np.arange(1, inside) * values) // inside, before


def cells_of(values: npt.NDArray[Any], is_null: npt.NDArray[Any] | None, cuts: Cuts) -> _Cells:
    """Return the part of each value; nulls are in part 0."""
    found = np.searchsorted(cuts.values, values, side="right").astype(np.int32)
    found += cuts.nulls
    if is_null is not None:
        found[is_null] = 0
    return found


def places_on(curve: CurveName, cells: Sequence[npt.NDArray[Any]], bits: int) -> npt.NDArray[Any]:
    """Return the position of each row on the curve through the grid.

    Args:
        curve: "range" takes one column; the others any number.
        cells: For each column the part of each row.
        bits: Number of bits in the index of a part.
    """
    if curve == "range" or len(cells) == 1:
        return cells[0]
    grid = cells[0].copy()
    for each in cells[1:]:
        grid <<= bits
        grid |= each
    places: _Cells = _table(curve, len(cells), bits)[grid]
    return places


@lru_cache(maxsize=8)
def _table(curve: CurveName, columns: int, bits: int) -> _Cells:
    """The position of each cell; cells are numbered column by column."""
    if columns * bits > 24:
        raise InvalidArgument(f"A curve through {columns} columns of {1 << bits} parts has too many cells.")
    grid = np.arange(1 << (columns * bits), dtype=np.int32)
    mask = (1 << bits) - 1
    axes = [(grid >> (bits * (columns - 1 - i))) & mask for i in range(columns)]
    if curve == "hilbert":
        axes = _hilbert_axes(axes, bits)
    return _interleaved(axes, bits)


def _interleaved(axes: Sequence[_Cells], bits: int) -> _Cells:
    """The bits of all axes in turn, the highest first."""
    places = np.zeros(len(axes[0]), np.int32)
    for bit in reversed(range(bits)):
        for axis in axes:
            places = (places << 1) | ((axis >> bit) & 1)
    return places


def _hilbert_axes(axes: Sequence[_Cells], bits: int) -> list[_Cells]:
    """The axes such that their interleaved bits are the position on the Hilbert curve.

    # J. Skilling, Programming the Hilbert curve, AIP Conference Proceedings 707 (2004)
    """
    found = [axis.copy() for axis in axes]
    bit = 1 << (bits - 1)
    while bit > 1:
        low = bit - 1
        for i, axis in enumerate(found):
            is_set = (axis & bit) != 0
            if i == 0:
                found[0] = np.where(is_set, axis ^ low, axis)
                continue
            swapped = (found[0] ^ axis) & low
            first = np.where(is_set, found[0] ^ low, found[0] ^ swapped)
            found[i] = np.where(is_set, axis, axis ^ swapped)
            found[0] = first
        bit >>= 1
    for i in range(1, len(found)):
        found[i] = found[i] ^ found[i - 1]
    flips = np.zeros(len(found[0]), np.int32)
    bit = 1 << (bits - 1)
    while bit > 1:
        flips ^= np.where((found[-1] & bit) != 0, bit - 1, 0)
        bit >>= 1
    return [axis ^ flips for axis in found]

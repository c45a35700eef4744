"""The order of texts: the part of a grid's side that contains each of them, and their ranks.

Texts are compared eight bytes at a time, as numbers, and further bytes are read only of those that are still equal to a
cut, so that texts with long beginnings in common are divided as well as others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.maintenance.optimize.curve import cut_places
from deltaskip.schema.arrow_values import arrow_array, numpy_values

__all__ = ["Texts"]

_KEY_BYTES = 8
_MOST_LEVELS = 16
# So that what is computed on the way takes little memory.
_ROWS_AT_ONCE = 1 << 20
_Numbers = npt.NDArray[np.int64]


class Texts:
    """Binary values of a column, nulls included.

    Args:
        arrays: The values in chunks, in binary order under the column's collation.
    """

    def __init__(self, arrays: Sequence[pa.Array]) -> None:
        self._array = pa.concat_arrays([array.cast(pa.large_binary()) for array in arrays])
        self._null = numpy_values(pc.is_null(self._array).cast(pa.uint8())).astype(np.bool_)
        bounds = pc.min_max(self._array).as_py()
        least, greatest = bounds["min"] or b"", bounds["max"] or b""
        self._skip = _common_prefix(least, greatest)

    def cells(self, sample: _Numbers, bits: int) -> npt.NDArray[np.int32]:
        """Return the part of each text between the quantiles of a sample; nulls are in part 0.

        Args:
            sample: Numbers of the rows of the sample.
            bits: The parts are numbered with so many bits.
        """
        values = [value for value in self._array.take(arrow_array(sample)).to_pylist() if value is not None]
        places, before = cut_places(len(values), len(sample) - len(values), bits)
        ordered = sorted(values)
        cuts = [ordered[place] for place in places]
        found = np.zeros(len(self._array), np.int32)
        for start in range(0, len(found), _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(found)))
            found[rows] = self._between(cuts, rows) + before
        found[self._null] = 0
        return found

    def ranks(self) -> _Numbers:
        """Return the numbers of the texts in their order, nulls first."""
        order = pc.array_sort_indices(self._array, order="ascending", null_placement="at_start")
        found = np.empty(len(self._array), np.int64)
        found[numpy_values(order).astype(np.int64)] = np.arange(len(found))
        return found

    def _between(self, cuts: Sequence[bytes], texts: _Numbers) -> _Numbers:
        """The number of cuts that are not greater than each of these texts. texts: numbers of their rows."""
        if not cuts:
            return np.zeros(len(texts), np.int64)
        ends = pa.array(cuts, pa.large_binary())
        longest = max(map(len, cuts)) - self._skip
        levels = max(1, min(_MOST_LEVELS, -(-longest // _KEY_BYTES)))
        every = np.arange(len(cuts))
        cut_keys, own = _keys(ends, self._skip, every), _keys(self._array, self._skip, texts)
        low = np.searchsorted(cut_keys, own, side="left").astype(np.int64)
        high = np.searchsorted(cut_keys, own, side="right").astype(np.int64)
        for level in range(1, levels):
            rows = np.flatnonzero(low < high)
            if not len(rows):
                break
            at = self._skip + level * _KEY_BYTES
            cut_keys, own = _keys(ends, at, every), _keys(self._array, at, texts[rows])
            rows_by_cut = np.argsort(low[rows], kind="stable")
            firsts = low[rows][rows_by_cut]
            starts = np.flatnonzero(np.diff(firsts, prepend=-1))
            for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
                # Texts that begin alike are between the same cuts.
                part = rows_by_cut[start:end]
                first, last = int(firsts[start]), int(high[rows[part[0]]])
                among = cut_keys[first:last]
                low[rows[part]] = first + np.searchsorted(among, own[part], side="left")
                high[rows[part]] = first + np.searchsorted(among, own[part], side="right")
        return high


def _keys(array: pa.Array, at: int, rows: _Numbers) -> npt.NDArray[np.uint64]:
    """Eight bytes of each of these texts, from `at` on, as a number in their order; missing bytes are the least."""
    _, offsets_buffer, data_buffer = array.buffers()
    found = np.zeros(len(rows), np.uint64)
    if data_buffer is None or offsets_buffer is None or not len(rows):
        return found
    offsets = np.frombuffer(offsets_buffer, np.int64)[array.offset :]
    data = np.frombuffer(data_buffer, np.uint8)
    if not len(data):
        return found
    places, ends = offsets[rows] + at, offsets[rows + 1]
    for _ in range(_KEY_BYTES):
        found <<= np.uint64(8)
        found |= np.where(places < ends, data[np.minimum(places, len(data) - 1)], 0).astype(np.uint64)
        places += 1
    return found


def _common_prefix(one: bytes, other: bytes) -> int:
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)

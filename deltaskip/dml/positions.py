"""Positions of rows in files as bitmaps: a row takes one bit of memory instead of eight bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
import pyarrow as pa

from deltaskip.kernels.deletion_vector import decode
from deltaskip.kernels.roaring_encode import encode
from deltaskip.reading.marked_rows import with_chosen_rows
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values


class RowPositions(Sequence[pa.Int64Array]):
    """For each file the positions of some of its rows, ascending from 0.

    Args:
        arrays: The positions in each file. One array is held at a time.
    """

    def __init__(self, arrays: Iterable[pa.Int64Array]) -> None:
        self._bitmaps: list[bytes] = []
        self._counts: list[int] = []
        for array in arrays:
            self._bitmaps.append(encode(array))
            self._counts.append(len(array))

    @property
    def counts(self) -> Sequence[int]:
        """Number of positions in each file."""
        return self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[pa.Int64Array]:
        return (decode(bitmap, count) for bitmap, count in zip(self._bitmaps, self._counts, strict=True))

    @overload
    def __getitem__(self, at: int) -> pa.Int64Array: ...

    @overload
    def __getitem__(self, at: slice) -> RowPositions: ...

    def __getitem__(self, at: int | slice) -> pa.Int64Array | RowPositions:
        if isinstance(at, slice):
            return self.take(range(len(self))[at])
        return decode(self._bitmaps[at], self._counts[at])

    def beside(self, files: pa.Table) -> pa.Table:
        """Return the files, one for each of these positions, with the rows to read, see `with_chosen_rows`."""
        return with_chosen_rows(files, self._bitmaps, self._counts)

    def take(self, files: Iterable[int]) -> RowPositions:
        """Return the positions in some of the files."""
        found = RowPositions(())
        for file in files:
            found._bitmaps.append(self._bitmaps[file])
            found._counts.append(self._counts[file])
        return found


def union_of_positions(arrays: Sequence[pa.Int64Array]) -> pa.Int64Array:
    """Return the positions that are in any of the arrays, ascending, each once."""
    some = [each for each in arrays if len(each)]
    if len(some) == 1:
        return some[0]
    # Each array is sorted. This sort profits from that; `np.unique` does not, and takes a hundred times as long.
    positions = np.sort(np.concatenate([np.zeros(0, np.int64), *map(numpy_values, some)]), kind="stable")
    return arrow_array(positions[np.diff(positions, prepend=-1) != 0])

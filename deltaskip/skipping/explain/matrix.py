"""Counts of kept files for a plot: a row for each part of a predicate, a column for each bin of files."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deltaskip.records import dataclass

LINES = 1024
"""Maximum number of lines."""

_Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Counts of kept files: a row for each part of the predicate and one for the whole, a column for each bin of files.

    files_per_bin: files in a bin, in the order of the log; the last bin may contain fewer.
    """

    kept: npt.NDArray[np.int64]
    files_per_bin: int
    files: int

    def shares(self) -> _Shares:
        """Return the share of each bin's files that is kept, in the shape of `kept`."""
        bins = self.kept.shape[1]
        sizes = np.full(bins, self.files_per_bin, np.float64)
        if bins:
            sizes[-1] = self.files - (bins - 1) * self.files_per_bin
        return self.kept / sizes


class Bins:
    """Counts kept files bin by bin, in one pass over any number of them.

    A bin starts as one file; whenever the files outgrow LINES bins, neighbours are merged.
    """

    def __init__(self, rows: int, capacity: int = LINES) -> None:
        self._kept = np.zeros((rows, capacity), np.int64)
        self._capacity = capacity
        self._width = 1
        self._files = 0

    def reserve(self, files: int) -> npt.NDArray[np.int64]:
        """Reserve bins for the next `files` files of the log, and return the bin of each."""
        end = self._files + files
        while end > self._capacity * self._width:
            self._kept = np.pad(
                self._kept.reshape(len(self._kept), -1, 2).sum(axis=2), ((0, 0), (0, self._capacity // 2))
            )
            self._width *= 2
        bins = np.arange(self._files, end, dtype=np.int64) // self._width
        self._files = end
        return bins

    def count(self, row: int, bins: npt.NDArray[np.int64]) -> None:
        """Add one kept file to row `row` for each element of `bins`."""
        self._kept[row] += np.bincount(bins, minlength=self._capacity)

    def matrix(self) -> Matrix:
        """Return the counts."""
        used = -(-self._files // self._width)
        return Matrix(self._kept[:, :used].copy(), self._width, self._files)

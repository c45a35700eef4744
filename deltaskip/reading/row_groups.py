"""Row groups of a data file to read: in consecutive runs, or in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from deltaskip.records import dataclass

# Of a row group, only the rows from the first wanted one to the last are decoded if they are at most this share of it.
_NARROW_SHARE = 0.75


def is_narrow(span: int, rows: int) -> bool:
    """Whether to decode only the pages with a range of rows, instead of all of so many rows."""
    return span <= rows * _NARROW_SHARE


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of a file.

    Attributes:
        footer: The footer of the file.
        numbers: Indexes of the row groups, ascending.
        starts: Position in the file of the first row of each.
        rows: Positions in the file, ascending, of the rows to read; None for all.
    """

    footer: pq.FileMetaData
    numbers: list[int]
    starts: list[int]
    rows: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, footer: pq.FileMetaData, numbers: Sequence[int] | None = None) -> RowGroups:
        """Return the row groups with these indexes, ascending; None for all of the file."""
        rows = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
        starts = [0, *accumulate(rows)]
        chosen = list(range(footer.num_row_groups)) if numbers is None else list(numbers)
        return cls(footer, chosen, [starts[number] for number in chosen])

    @property
    def num_rows(self) -> int:
        """Number of rows in the row groups."""
        return sum(self.footer.row_group(number).num_rows for number in self.numbers)

    def with_rows(self, positions: npt.NDArray[Any]) -> RowGroups:
        """Return the row groups that contain some of these rows, which are ascending positions in the file."""
        ends = [start + self.footer.row_group(n).num_rows for n, start in zip(self.numbers, self.starts, strict=True)]
        some = np.searchsorted(positions, ends) > np.searchsorted(positions, self.starts)
        chosen = np.flatnonzero(some).tolist()
        return RowGroups(self.footer, [self.numbers[i] for i in chosen], [self.starts[i] for i in chosen])

    def only(self, rows: npt.NDArray[np.int64]) -> RowGroups:
        """Return the same row groups, restricted to rows at these positions in the file, which are ascending."""
        return replace(self.with_rows(rows), rows=rows)

    def first(self, rows: int) -> RowGroups:
        """Return the row groups with at most the first so many rows of them."""
        found, left = [np.zeros(0, np.int64)], rows
        for number, start in zip(self.numbers, self.starts, strict=True):
            found.append(np.arange(start, start + min(left, self.footer.row_group(number).num_rows), dtype=np.int64))
            left -= len(found[-1])
        return self if left > 0 else self.only(np.concatenate(found))

    def runs(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yield runs of consecutive row groups: position of the first row, number of rows, and their indexes."""
        run: list[int] = []
        first = rows = 0
        for number, start in zip(self.numbers, self.starts, strict=True):
            if run and number != run[-1] + 1:
                yield first, rows, run
                run = []
            if not run:
                first, rows = start, 0
            run.append(number)
            rows += self.footer.row_group(number).num_rows
        if run:
            yield first, rows, run

    def pieces(self, sizes: Sequence[int], most_bytes: int) -> Iterator[tuple[int, RowGroups]]:
        """Yield sizes and row groups in order: as many at a time as fit into `most_bytes`, but at least one.

        sizes: Bytes of each row group of the file.
        """
        start = 0
        while start < len(self.numbers):
            end, total = start, 0
            while end < len(self.numbers):
                size = sizes[self.numbers[end]]
                if end > start and total + size > most_bytes:
                    break
                total, end = total + size, end + 1
            rows = self.rows
            if rows is not None:
                after = self.starts[end] if end < len(self.starts) else self.footer.num_rows
                rows = rows[slice(*np.searchsorted(rows, (self.starts[start], after)).tolist())]
            yield total, RowGroups(self.footer, self.numbers[start:end], self.starts[start:end], rows)
            start = end

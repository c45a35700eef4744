"""Page indexes of Parquet files: the locations of a column chunk's pages, and the statistics of each page.

An index that does not fit its column chunk is ignored: the column chunk is then read completely.
# Apache Parquet, Page Index; parquet.thrift, OffsetIndex, ColumnIndex
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.kernels.thrift_compact import read_struct
from deltaskip.records import dataclass
from deltaskip.stats import footer as f
from deltaskip.storage.range_file import Range, read_ranges

# parquet.thrift: ColumnChunk, OffsetIndex, PageLocation, ColumnIndex
_OFFSET_INDEX, _COLUMN_INDEX = (4, 5), (6, 7)
_LOCATIONS = 1
_OFFSET, _SIZE, _FIRST_ROW = 1, 2, 3
_NULL_PAGES, _MINS, _MAXS, _NULL_COUNTS, _NAN_COUNTS = 1, 2, 3, 5, 8
# A larger index, in bytes, is not read.
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Pages:
    """The data pages of a column chunk.

    Attributes:
        offsets: Where each page begins in the file; the last element is the end of the last page.
        rows: Position in the row group of the first row of each page; the last element is the number of all rows.
    """

    offsets: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Number of pages."""
        return len(self.offsets) - 1

    def runs(self, positions: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return the pages with some of these ascending rows as runs: the first page, and the page after the last."""
        with_rows = np.diff(np.searchsorted(positions, self.rows)) > 0
        edges = np.flatnonzero(np.diff(np.concatenate([[False], with_rows, [False]])))
        return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def pages_of(source: pa.NativeFile, footer: f.Footer, group: int, leaves: Iterable[int]) -> dict[int, Pages]:
    """Return the pages of column chunks of a row group, for chunks with an offset index that fits.

    Args:
        source: The file, open for reading.
        footer: Its footer.
        group: Index of the row group.
        leaves: Indexes of the Parquet columns.
    """
    rows = footer.group_rows(group)
    found: dict[int, Pages] = {}
    for leaf, data in _indexes(source, footer, group, leaves, _OFFSET_INDEX).items():
        try:
            pages = _pages(read_struct(data), rows, *footer.chunk_range(group, leaf))
        except f.DAMAGE:
            continue
        if pages is not None:
            found[leaf] = pages
    return found


def page_statistics(
    source: pa.NativeFile, footer: f.Footer, group: int, pages: Mapping[int, Pages]
) -> dict[int, list[dict[int, Any]]]:
    """Return the statistics of each page (parquet.thrift, Statistics), by the index of the Parquet column.

    Args:
        source: The file, open for reading.
        footer: Its footer.
        group: Index of the row group.
        pages: Indexes of the Parquet columns, which are not repeated, and their pages.
    """
    found = {}
    for leaf, data in _indexes(source, footer, group, pages, _COLUMN_INDEX).items():
        try:
            whole = footer.column_chunk(group, leaf).get(f.STATISTICS, {}).get(f.NULL_COUNT)
            statistics = _statistics(read_struct(data), np.diff(pages[leaf].rows).tolist(), whole)
        except f.DAMAGE:
            continue
        if statistics is not None:
            found[leaf] = statistics
    return found


def _indexes(
    source: pa.NativeFile, footer: f.Footer, group: int, leaves: Iterable[int], place: tuple[int, int]
) -> dict[int, bytes]:
    """The bytes of indexes, by the index of the Parquet column, for column chunks that have one."""
    wanted: dict[int, Range] = {}
    end = source.size()
    for leaf in leaves:
        try:
            offset, length = (footer.row_groups[group][f.COLUMNS][leaf].get(number, 0) for number in place)
            if 0 < offset < offset + length <= end and length <= _MOST_BYTES:
                wanted[leaf] = offset, length
        except f.DAMAGE:
            continue
    found = read_ranges(source, list(wanted.values())) if wanted else ()
    return {leaf: bytes(data) for leaf, data in zip(wanted, found, strict=True)}


def _pages(index: Mapping[int, Any], rows: int, start: int, end: int) -> Pages | None:
    """The pages; None unless they are contiguous and fill the column chunk after its dictionary."""
    locations = index[_LOCATIONS]
    if not locations:
        return None
    offsets = np.array([each[_OFFSET] for each in locations], np.int64)
    ends = offsets + np.array([each[_SIZE] for each in locations], np.int64)
    first_rows = np.array([*(each[_FIRST_ROW] for each in locations), rows], np.int64)
    contiguous = bool((ends[:-1] == offsets[1:]).all()) and start <= offsets[0] and ends[-1] == end
    # pyarrow may write a page without rows before the last one of a column of lists.
    ascending = first_rows[0] == 0 and bool((np.diff(first_rows) >= 0).all()) and bool((ends > offsets).all())
    return Pages(np.append(offsets, end), first_rows) if contiguous and ascending else None


def _statistics(
    index: Mapping[int, Any], rows: Sequence[int], nulls_of_chunk: int | None
) -> list[dict[int, Any]] | None:
    """The statistics of each page; None if they contradict each other, or the pages, or the column chunk."""
    lists = [index[_NULL_PAGES], index[_MINS], index[_MAXS]]
    counts = index.get(_NULL_COUNTS)
    nans = index.get(_NAN_COUNTS) or [0] * len(rows)
    if any(len(each) != len(rows) for each in (*lists, counts or rows, nans)):
        return None
    found: list[dict[int, Any]] = []
    for empty, low, high, page_rows, nulls, nan in zip(*lists, rows, counts or [None] * len(rows), nans, strict=True):
        if nulls is not None and (not 0 <= nulls <= page_rows or (nulls == page_rows) != empty):
            return None
        if empty:
            found.append({f.NULL_COUNT: page_rows})
            continue
        # Bounds of a page need not be values of the page, but they enclose them.
        each = {f.MIN: low, f.MAX: high, f.MIN_EXACT: True, f.MAX_EXACT: True, f.NAN_COUNT: nan}
        found.append(each if nulls is None else {**each, f.NULL_COUNT: nulls})
    if counts is not None and nulls_of_chunk is not None and sum(counts) != nulls_of_chunk:
        return None
    return found

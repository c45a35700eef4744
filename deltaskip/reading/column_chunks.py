"""Columns of row groups decoded from the pages of their column chunks: all rows, or a few without decoding the others.

pyarrow decodes whole row groups, and takes up to three times as long for common columns. Where only a few rows
are wanted and the file has a page index, pages without a wanted row are not even read. pyarrow reads columns with lists
in lists, uncommon types and encodings, and columns that seem damaged, so that pyarrow
raises the error.
# Parquet, Column Chunks and Data Pages; parquet.thrift, PageHeader
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.kernels.parquet_metadata import footer_fits
from deltaskip.kernels.parquet_pages import CODECS, RowTaker, values_in
from deltaskip.reading.nested_columns import Entries, NestedColumn, NestedLeaf
from deltaskip.reading.plain_columns import (
    PHYSICAL_TYPES,
    PlainColumn,
    dictionary_of,
    from_buffers,
    leaves_of,
    some_rows,
)
from deltaskip.records import dataclass
from deltaskip.stats.footer import DAMAGE, NUM_VALUES, Footer, OpenSource, read_footer
from deltaskip.stats.page_index import Pages, pages_of
from deltaskip.storage.range_file import Range, read_ranges

ROWS_PER_MATCH = 8
"""Single rows are taken if at most one in this many rows is wanted; otherwise it is faster to decode all of them."""

# Bytes of column chunks that are read at once.
_AT_ONCE_BYTES = 16 << 20
# Bytes of strings of a column that are decoded at once; a dictionary may have a long one for many rows.
_MOST_STRING_BYTES = 128 << 20
# In larger chunks, pages are skipped by the page index. Of nested columns, each value takes time.
_WHOLE_BYTES, _WHOLE_VALUES = 1 << 15, 1 << 14

# parquet.thrift, ColumnMetaData
_TYPE, _CODEC = 1, 4

# Bytes to read, the codec, the number of values in them, and the number of the first row; -1 for a whole column chunk.
_Part: TypeAlias = tuple[Range, int, int, int]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of row groups that follow each other: how it is stored, the number of its values, and what to read.

    leaf: Its levels, if it is a leaf of a nested column.
    encoded: Whether its strings are returned as a dictionary.
    views: Whether they are returned as views.
    """

    name: str
    column: PlainColumn
    num_values: int
    parts: Sequence[_Part]
    leaf: NestedLeaf | None
    encoded: bool
    views: bool

    @property
    def size(self) -> int:
        """Bytes to read."""
        return sum([length for (_, length), *_ in self.parts])

    @property
    def is_large(self) -> bool:
        """Whether it pays to find the pages of a few rows."""
        return self.size > _WHOLE_BYTES or (self.leaf is not None and self.num_values > _WHOLE_VALUES)

    def with_pages(self, pages: Pages, runs: Iterable[tuple[int, int]], first_row: int = 0) -> _Column:
        """Return the column of one row group with only its dictionary and some of its pages to read.

        Args:
            pages: All of its pages.
            runs: The pages as runs: the first page, and the page after the last.
            first_row: The row from which rows are counted.
        """
        [((start, _), codec, _, _)] = self.parts
        parts: list[_Part] = []
        first = int(pages.offsets[0])
        if first > start:
            # The dictionary has no rows.
            parts.append(((start, first - start), codec, 0, 0))
        for page, end in runs:
            offset, stop = pages.offsets[[page, end]].tolist()
            row, end_row = pages.rows[[page, end]].tolist()
            parts.append(((offset, stop - offset), codec, end_row - row, row - first_row))
        return replace(self, parts=parts)

    def with_rows(self, pages: Pages, start: int, end: int) -> _Column | None:
        """Return the column with only the pages to read that begin at one of these rows; None for no page.

        The number of its values stays that of all rows if rows may have several.
        """
        first, last = np.searchsorted(pages.rows[:-1], (start, end)).tolist()
        first_row, end_row = pages.rows[[first, last]].tolist()
        some = self.with_pages(pages, [(first, last)], first_row)
        values = self.num_values if self.leaf is not None and self.leaf.slot else end_row - first_row
        return replace(some, num_values=values) if first < last else None

    def around(self, pages: Pages, rows: range) -> tuple[_Column, int]:
        """Return the column with only the pages to read that contain these rows, and the row where they begin."""
        begin = int(pages.rows[np.searchsorted(pages.rows, rows.start, "right") - 1])
        some = self.with_rows(pages, begin, rows.stop)
        return (self, 0) if some is None else (some, begin)

    def taken(self, positions: npt.NDArray[np.int64] | None, data: Sequence[memoryview]) -> pa.Array | Entries | None:
        """Return the values of rows from the bytes of the parts; None for invalid bytes, of which pyarrow raises.

        Of a nested column they are those of all slots, with their levels.
        """
        if self.leaf is not None:
            positions = None
        try:
            forms: dict[str, Any] = {"codes": self.encoded, "views": self.views}
            forms |= {} if self.leaf is None else self.leaf.levels
            counts, num_values = [values for _, _, values, _ in self.parts], self.num_values
            begun = None
            if self.leaf is not None and self.leaf.slot and self.parts[-1][-1] >= 0:
                # Only their headers say how many values pages have whose rows may have several.
                begun, counts = sum(counts), [values_in(pages) for pages in data]
                num_values = min(sum(counts), num_values)
            rows = num_values if positions is None else len(positions)
            taker = RowTaker(positions, num_values, *self.column.stored_as, _MOST_STRING_BYTES, **forms)
            for (_, codec, _, first_row), values, pages in zip(self.parts, counts, data, strict=True):
                taker.take_chunk(pages, values, codec, first_row)
            buffers = taker.finish()
            if self.encoded:
                return dictionary_of(rows, *buffers, *taker.entries_taken())
            if self.leaf is not None:
                slots, *levels = taker.levels()
                array = from_buffers(self.column.arrow, slots, buffers, self.views)
                entries = Entries(array, *(np.frombuffer(each, np.uint8) for each in levels))
                # Pages with an offset index begin with a row.
                return entries if begun is None or entries.begins_rows(begun) else None
            return from_buffers(self.column.arrow, rows, buffers, self.views)
        except ValueError:
            return None


def decode_columns(
    source: pa.NativeFile,
    footer: pq.FileMetaData,
    schema: pa.Schema,
    groups: Sequence[int],
    leaves: Mapping[str, int],
    positions: npt.NDArray[np.int64] | range | None,
    own: Footer | None = None,
    *,
    threads: bool = False,
    encoded: Collection[str] = (),
    views: Collection[str] = (),
    nested: Mapping[str, Collection[str]] = {},
) -> dict[str, pa.Array]:
    """Return the values of some rows, by name of the column; columns that pyarrow must read are missing.

    Args:
        source: The file, open for reading.
        footer: Its footer.
        schema: Its Arrow schema, as pyarrow reads it.
        groups: Indexes of the row groups, ascending; one if not all rows are read.
        leaves: The columns to read and their indexes among the Parquet columns, of `leaf_numbers`.
        positions: Positions of the rows within the row group, ascending; a range for rows that follow each other,
            whose pages are decoded whole; None for all rows.
        own: The footer as `stats.footer` reads it; None if it has not been read.
        threads: Whether columns are decoded side by side.
        encoded: The string columns that are returned as dictionaries, if one row group is read.
        views: The columns whose strings are returned as views, unless single rows are taken.
        nested: Columns that are nested, and the paths to read of each. All rows from the first to the last are decoded.
    """
    single = None if isinstance(positions, range | None) else np.ascontiguousarray(positions, np.int64)
    try:
        # pyarrow aborts the process if it is asked for the metadata of a column chunk and the footer is damaged.
        own = own or read_footer(OpenSource(source), "")
        if not footer_fits(own.data):
            return {}
        size = source.size()
        column_of = partial(_column, own, footer, schema, groups, file_bytes=size)
        found = [
            column_of(name, number, encoded=name in encoded, views=single is None and name in views)
            for name, number in leaves.items()
            if name not in encoded or len(groups) == 1
        ]
        wholes = _nested_columns(footer, schema, nested)
        for name, whole in wholes.items():
            parts = [column_of(name, leaf.column.number, views=name in views, leaf=leaf) for leaf in whole.leaves]
            found += parts if None not in parts else ()
    except (StorageError, UnsupportedFeature, *DAMAGE):
        return {}
    columns = [column for column in found if column is not None]
    begins: dict[int, int] = {}
    rows = sum(own.group_rows(group) for group in groups)
    span = positions if isinstance(positions, range) else range(rows)
    if positions is not None:
        if single is not None and len(single):
            span = range(int(single[0]), int(single[-1]) + 1)
        large = [each.column.number for each in columns if each.is_large]
        pages = pages_of(source, own, groups[0], large)
        for place, each in enumerate(columns):
            number = each.column.number
            if number in pages and single is not None and each.leaf is None:
                columns[place] = each.with_pages(pages[number], pages[number].runs(single))
            elif number in pages:
                columns[place], begins[number] = each.around(pages[number], span)
    arrays = _arrays(source, columns, single, threads)
    flat = {name: arrays.get((name, number)) for name, number in leaves.items()}
    if isinstance(positions, range):
        for name, number in leaves.items():
            if isinstance(array := flat[name], pa.Array):
                flat[name] = array.slice(positions.start - begins.get(number, 0), len(positions))
    for name, whole in wholes.items():
        entries: dict[int, Entries] = {}
        for leaf in whole.leaves:
            number = leaf.column.number
            some = arrays.get((name, number))
            if isinstance(some, Entries) and positions is not None:
                some = some.rows(span.start - begins.get(number, 0), len(span), leaf.slot)
            if isinstance(some, Entries):
                entries[number] = some
        array = whole.array(entries, len(span)) if all(leaf.column.number in entries for leaf in whole.leaves) else None
        flat[name] = array if array is None or single is None else some_rows(array, single - span.start)
    return {name: array for name, array in flat.items() if array is not None}


def decode_parts(
    source: pa.NativeFile,
    footer: pq.FileMetaData,
    schema: pa.Schema,
    group: int,
    leaves: Mapping[str, int],
    own: Footer,
    most_rows: int,
    *,
    threads: bool = False,
    encoded: Collection[str] = (),
    views: Collection[str] = (),
) -> Iterator[pa.Table]:
    """Yield the rows of a large row group in order: of each column, the pages that begin in the next `most_rows` rows.

    It ends before the last row where pyarrow must read the rest: without an offset index, before the first row. The
    other arguments are those of `decode_columns`.
    """
    try:
        column_of = partial(_column, own, footer, schema, [group], file_bytes=source.size())
        found = [column_of(name, leaf, encoded=name in encoded, views=name in views) for name, leaf in leaves.items()]
        pages = pages_of(source, own, group, leaves.values()) if footer_fits(own.data) else {}
    except (StorageError, UnsupportedFeature, *DAMAGE):
        return
    columns = [column for column in found if column is not None and column.column.number in pages]
    left: dict[str, list[pa.Array]] = {name: [] for name in leaves}
    rows = own.group_rows(group) if 0 < len(columns) == len(leaves) else 0
    for start in range(0, rows, most_rows):
        some = [each.with_rows(pages[each.column.number], start, start + most_rows) for each in columns]
        for (name, _), array in _arrays(source, [each for each in some if each is not None], None, threads).items():
            if array is None:
                return
            left[name].append(array)
        # Pages of columns begin at different rows.
        ready = min(sum(map(len, arrays)) for arrays in left.values())
        if ready:
            chunked = {name: pa.chunked_array(arrays) for name, arrays in left.items()}
            yield pa.table({name: each.slice(0, ready) for name, each in chunked.items()})
            left = {name: each.slice(ready).chunks for name, each in chunked.items()}


def _arrays(
    source: pa.NativeFile, columns: Sequence[_Column], positions: npt.NDArray[np.int64] | None, threads: bool
) -> dict[tuple[str, int], pa.Array | Entries | None]:
    """What `_Column.taken` returns, by the name and number of the column."""

    def taken(read: tuple[_Column, Sequence[memoryview]]) -> tuple[tuple[str, int], pa.Array | Entries | None]:
        column, data = read
        return (column.name, column.column.number), column.taken(positions, data)

    if threads and len(columns) > 1:
        with ThreadPoolExecutor(pa.cpu_count(), "deltaskip") as pool:
            return dict(pool.map(taken, _read(source, columns)))
    return dict(map(taken, _read(source, columns)))


def _column(
    own: Footer,
    footer: pq.FileMetaData,
    schema: pa.Schema,
    groups: Sequence[int],
    name: str,
    number: int,
    *,
    file_bytes: int,
    encoded: bool = False,
    views: bool = False,
    leaf: NestedLeaf | None = None,
) -> _Column | None:
    """The column; None if pyarrow must read it."""
    column = PlainColumn.of(footer.schema, schema, name, number) if leaf is None else leaf.column
    kind = PHYSICAL_TYPES.get(footer.schema.column(number).physical_type)
    parts: list[_Part] = []
    for group in groups if column is not None else ():
        meta = own.column_chunk(group, number)
        start, end = own.chunk_range(group, number)
        values, codec = meta[NUM_VALUES], meta[_CODEC]
        # A list may have many elements, but each row has an entry.
        rows = own.group_rows(group)
        fits = 0 <= start <= end <= file_bytes and (
            values == rows or (leaf is not None and leaf.slot and values > rows)
        )
        if not fits or kind != meta[_TYPE] or codec not in CODECS.values():
            return None
        parts.append(((start, end - start), codec, values, -1))
    if column is None:
        return None
    views = views and not encoded and column.has_bytes
    return _Column(name, column, sum([values for _, _, values, _ in parts]), parts, leaf, encoded, views)


def _nested_columns(
    footer: pq.FileMetaData, schema: pa.Schema, nested: Mapping[str, Collection[str]]
) -> dict[str, NestedColumn]:
    """The nested columns that the kernels decode, of some with the paths to read of each."""
    found: dict[str, NestedColumn] = {}
    number = 0
    for each in schema if nested else ():
        column = NestedColumn.of(footer.schema, each, number, nested[each.name]) if each.name in nested else None
        if column is not None:
            found[each.name] = column
        number += leaves_of(each.type)
    return found


def _read(source: pa.NativeFile, columns: Sequence[_Column]) -> Iterator[tuple[_Column, Sequence[memoryview]]]:
    """Yield each column, and the bytes of its parts."""
    waiting: list[_Column] = []
    size = 0
    for column in sorted(columns, key=lambda column: column.parts[0][0]):
        own = column.size
        if waiting and size + own > _AT_ONCE_BYTES:
            yield from _read_together(source, waiting)
            waiting, size = [], 0
        waiting.append(column)
        size += own
    yield from _read_together(source, waiting)


def _read_together(source: pa.NativeFile, columns: Sequence[_Column]) -> Iterator[tuple[_Column, Sequence[memoryview]]]:
    data = iter(read_ranges(source, [each for column in columns for each, *_ in column.parts]))
    for column in columns:
        yield column, list(islice(data, len(column.parts)))

"""Values of a few rows of a row group, taken from its pages without decoding the others.

pyarrow decodes a row group as a whole. Where few of its rows match, the columns that are not part of the predicate are
read here instead: of pages without a wanted row not even the bytes are read, where the file has an index of its pages,
the others are decompressed, and only the wanted values are copied. What is not a plain column of a common type and
encoding is left to pyarrow, and so is what seems damaged, so that errors are those of pyarrow.
# Parquet, Column Chunks and Data Pages; parquet.thrift, PageHeader
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.kernels.parquet_metadata import footer_fits
from deltaskip.kernels.parquet_pages import CODECS, RowTaker
from deltaskip.reading.plain_columns import PHYSICAL_TYPES, PlainColumn, array_of
from deltaskip.records import dataclass
from deltaskip.stats.footer import DAMAGE, NUM_VALUES, Footer, OpenSource, read_footer
from deltaskip.stats.page_index import Pages, pages_of
from deltaskip.storage.range_file import Range, read_ranges

__all__ = ["ROWS_PER_MATCH", "take_rows"]

ROWS_PER_MATCH = 8
"""Rows of a row group for each one taken, from which taking single rows is faster than decoding all of them."""

# Bytes of column chunks that are read at once.
_AT_ONCE_BYTES = 16 << 20
# An index tells what to leave out of chunks of more bytes.
_WHOLE_BYTES = 1 << 15

# parquet.thrift, ColumnMetaData
_TYPE, _CODEC = 1, 4


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column chunk: name of the column, how it is stored, and where it is."""

    name: str
    column: PlainColumn
    start: int
    end: int
    codec: int
    num_values: int
    # What to read of it: its bytes, and the rows in them, from the first to the one after the last; the dictionary has
    # none. Empty for all of it.
    parts: Sequence[tuple[Range, int, int]] = ()

    @property
    def ranges(self) -> list[Range]:
        """The bytes to read."""
        return [each for each, _, _ in self.parts] or [(self.start, self.end - self.start)]

    def with_pages(self, pages: Pages, positions: npt.NDArray[np.int64]) -> _Chunk:
        """Return this chunk with only its dictionary and the pages that contain these rows to read."""
        parts = []
        first = int(pages.offsets[0])
        if first > self.start:
            parts.append(((self.start, first - self.start), 0, 0))
        for page, end in pages.runs(positions):
            offset, stop = pages.offsets[[page, end]].tolist()
            parts.append(((offset, stop - offset), *pages.rows[[page, end]].tolist()))
        return replace(self, parts=parts)


def take_rows(
    source: pa.NativeFile,
    footer: pq.FileMetaData,
    schema: pa.Schema,
    group: int,
    leaves: Mapping[str, int],
    positions: npt.NDArray[np.int64],
    own: Footer | None = None,
) -> dict[str, pa.Array]:
    """Return the values of some rows, by name of the column; columns that pyarrow has to read are missing.

    Args:
        source: The file, open for reading.
        footer: Its footer.
        schema: Its Arrow schema, as pyarrow reads it.
        group: Number of the row group.
        leaves: The columns to read and their numbers among the Parquet columns, of `leaf_numbers`.
        positions: Numbers of the rows within the row group, ascending.
        own: The footer as `stats.footer` reads it; None to read it.
    """
    wanted = np.ascontiguousarray(positions, np.int64)
    try:
        # pyarrow ends the process where a footer is damaged and it is asked for the metadata of a column chunk.
        own = own or read_footer(OpenSource(source), "")
        if not footer_fits(own.data):
            return {}
        size = source.size()
        chunks = [_chunk(own, footer, schema, group, name, number, size) for name, number in leaves.items()]
        rows = own.group_rows(group)
    except (StorageError, UnsupportedFeature, *DAMAGE):
        return {}
    plain = [chunk for chunk in chunks if chunk is not None and chunk.num_values == rows]
    large = [chunk.column.number for chunk in plain if chunk.end - chunk.start > _WHOLE_BYTES]
    pages = pages_of(source, own, group, large)
    parts = [
        chunk.with_pages(pages[chunk.column.number], wanted) if chunk.column.number in pages else chunk
        for chunk in plain
    ]
    found: dict[str, pa.Array] = {}
    for chunk, data in _read(source, parts):
        try:
            found[chunk.name] = _taken(chunk, data, wanted)
        except ValueError:
            # pyarrow finds out what is wrong, if anything is.
            continue
    return found


def _chunk(
    own: Footer, footer: pq.FileMetaData, schema: pa.Schema, group: int, name: str, number: int, file_bytes: int
) -> _Chunk | None:
    """The column chunk; None if pyarrow has to read it."""
    column = PlainColumn.of(footer.schema, schema, name, number)
    meta = own.column_chunk(group, number)
    codec = meta[_CODEC]
    stored = footer.schema.column(number).physical_type
    if column is None or codec not in CODECS.values() or PHYSICAL_TYPES.get(stored) != meta[_TYPE]:
        return None
    start, end = own.chunk_range(group, number)
    if not 0 <= start <= end <= file_bytes:
        return None
    return _Chunk(name, column, start, end, codec, meta[NUM_VALUES])


def _read(source: pa.NativeFile, chunks: Sequence[_Chunk]) -> Iterator[tuple[_Chunk, Sequence[memoryview]]]:
    """Yield each column chunk, and the bytes of its ranges."""
    waiting: list[_Chunk] = []
    size = 0
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        own = sum(length for _, length in chunk.ranges)
        if waiting and size + own > _AT_ONCE_BYTES:
            yield from _read_together(source, waiting)
            waiting, size = [], 0
        waiting.append(chunk)
        size += own
    yield from _read_together(source, waiting)


def _read_together(source: pa.NativeFile, chunks: Sequence[_Chunk]) -> Iterator[tuple[_Chunk, Sequence[memoryview]]]:
    data = iter(read_ranges(source, [each for chunk in chunks for each in chunk.ranges]))
    for chunk in chunks:
        yield chunk, list(islice(data, len(chunk.ranges)))


def _taken(chunk: _Chunk, data: Sequence[memoryview], positions: npt.NDArray[np.int64]) -> pa.Array:
    """The values of rows of a column chunk. Raises ValueError where pyarrow has to read it."""
    taker = RowTaker(positions, chunk.num_values, *chunk.column.stored_as)
    if chunk.parts:
        for (_, first, end), pages in zip(chunk.parts, data, strict=True):
            taker.take_chunk(pages, end - first, chunk.codec, first)
    else:
        taker.take_chunk(data[0], chunk.num_values, chunk.codec)
    return array_of(chunk.column.arrow, len(positions), taker.finish())

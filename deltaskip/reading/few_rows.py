"""Values of a few rows of a row group, taken from its pages without decoding the others.

pyarrow decodes a row group as a whole. Where few of its rows match, the columns that are not part of the predicate are
read here instead: pages without a wanted row are passed, the others are decompressed, and only the wanted values are
copied. What is not a plain column of a common type and encoding is left to pyarrow, and so is what seems damaged, so
that errors are those of pyarrow.
# Parquet, Column Chunks and Data Pages; parquet.thrift, PageHeader
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.kernels.parquet_metadata import footer_fits
from deltaskip.kernels.parquet_pages import CODECS, RowTaker
from deltaskip.reading.plain_columns import PHYSICAL_TYPES, PlainColumn, array_of
from deltaskip.records import dataclass
from deltaskip.stats.footer import DAMAGE, Footer, OpenSource, read_footer

__all__ = ["ROWS_PER_MATCH", "take_rows"]

ROWS_PER_MATCH = 8
"""Rows of a row group for each one taken, from which taking single rows is faster than decoding all of them."""

# Column chunks with fewer bytes between them are read at once, up to so many bytes.
_GAP_BYTES = 1 << 14
_SPAN_BYTES = 8 << 20

# parquet.thrift, ColumnMetaData
_TYPE, _CODEC, _NUM_VALUES, _COMPRESSED_BYTES, _DATA_PAGE, _DICTIONARY_PAGE = 1, 4, 5, 7, 9, 11


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column chunk: name of the column, how it is stored, and where its pages are."""

    name: str
    column: PlainColumn
    start: int
    size: int
    num_values: int
    codec: int


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
    found: dict[str, pa.Array] = {}
    for chunk, data, start in _read(source, [chunk for chunk in chunks if chunk is not None]):
        if chunk.num_values == rows:
            try:
                found[chunk.name] = _taken(chunk, data, start, wanted)
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
    start, dictionary = meta[_DATA_PAGE], meta.get(_DICTIONARY_PAGE, 0)
    if 0 < dictionary < start:
        start = dictionary
    size = meta[_COMPRESSED_BYTES]
    if not 0 <= start <= start + size <= file_bytes:
        return None
    return _Chunk(name, column, start, size, meta[_NUM_VALUES], codec)


def _read(source: pa.NativeFile, chunks: Sequence[_Chunk]) -> Iterator[tuple[_Chunk, bytes, int]]:
    """Yield each column chunk, bytes that contain it, and where in these it begins."""
    waiting: list[_Chunk] = []
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if waiting:
            gap = chunk.start - waiting[-1].start - waiting[-1].size
            if gap > _GAP_BYTES or chunk.start + chunk.size - waiting[0].start > _SPAN_BYTES:
                yield from _read_span(source, waiting)
                waiting = []
        waiting.append(chunk)
    if waiting:
        yield from _read_span(source, waiting)


def _read_span(source: pa.NativeFile, chunks: Sequence[_Chunk]) -> Iterator[tuple[_Chunk, bytes, int]]:
    first = chunks[0].start
    data: bytes = source.read_at(max(chunk.start + chunk.size for chunk in chunks) - first, first)
    for chunk in chunks:
        yield chunk, data, chunk.start - first


def _taken(chunk: _Chunk, data: bytes, start: int, positions: npt.NDArray[np.int64]) -> pa.Array:
    """The values of rows of a column chunk. Raises ValueError where pyarrow has to read it."""
    taker = RowTaker(positions, chunk.num_values, *chunk.column.stored_as)
    taker.take_chunk(memoryview(data)[start : start + chunk.size], chunk.num_values, chunk.codec)
    return array_of(chunk.column.arrow, len(positions), taker.finish())

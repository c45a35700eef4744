"""Values of a few rows of a row group, taken from its pages without decoding the others.

pyarrow decodes a row group as a whole. Where few of its rows match, the columns that are not part of the predicate are
read here instead: pages without a wanted row are passed, the others are decompressed, and only the wanted values are
copied. What is not a plain column of a common type and encoding is left to pyarrow, and so is what seems damaged, so
that errors are those of pyarrow.
# Parquet, Column Chunks and Data Pages; parquet.thrift, PageHeader
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.kernels.parquet_pages import RowTaker
from deltaskip.kernels.thrift_compact import read_struct_at
from deltaskip.stats.footer import DAMAGE

__all__ = ["ROWS_PER_MATCH", "leaf_numbers", "take_rows"]

ROWS_PER_MATCH = 8
"""Rows of a row group for each one taken, from which taking single rows is faster than decoding all of them."""

_CODECS = {"SNAPPY": "snappy", "ZSTD": "zstd", "GZIP": "gzip", "BROTLI": "brotli"}
# Column chunks with fewer bytes between them are read at once, up to so many bytes.
_GAP_BYTES = 1 << 14
_SPAN_BYTES = 8 << 20

# parquet.thrift, PageHeader: fields of the headers, and in each of those that follow, number of values and encoding.
_TYPE, _UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = 1, 2, 3
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
_DATA_HEADER, _DICTIONARY_HEADER, _DATA_HEADER_V2 = 5, 7, 8
_NUM_VALUES = 1
_ENCODING, _LEVEL_ENCODING = 2, 3
_ENCODING_V2, _DEFINITION_BYTES, _REPETITION_BYTES, _IS_COMPRESSED = 4, 5, 6, 7
_RLE = 3
_PLAIN_ENCODINGS = (0, 2)
# Array of bytes of any length; bits.
_OF_ANY_LENGTH, _BITS = 0, -1


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column chunk and how its values are stored: see kernels.parquet_pages.RowTaker."""

    name: str
    arrow: pa.DataType
    start: int
    size: int
    num_values: int
    codec: str | None
    width: int
    out_width: int
    big_endian: bool
    optional: bool


def leaf_numbers(schema: pa.Schema) -> Mapping[str, int]:
    """Return the numbers of the Parquet columns of all fields that are not nested; their names are unique."""
    found: dict[str, int] = {}
    number = 0
    for field in schema:
        if not pa.types.is_nested(field.type):
            found[field.name] = number
        number += _leaves(field.type)
    return found


def _leaves(arrow: pa.DataType) -> int:
    return sum(_leaves(arrow.field(i).type) for i in range(arrow.num_fields)) if pa.types.is_nested(arrow) else 1


def take_rows(
    source: pa.NativeFile,
    footer: pq.FileMetaData,
    schema: pa.Schema,
    group: int,
    leaves: Mapping[str, int],
    positions: npt.NDArray[np.int64],
) -> dict[str, pa.Array]:
    """Return the values of some rows, by name of the column; columns that pyarrow has to read are missing.

    Args:
        source: The file, open for reading.
        footer: Its footer.
        schema: Its Arrow schema, as pyarrow reads it.
        group: Number of the row group.
        leaves: The columns to read and their numbers among the Parquet columns, of `leaf_numbers`.
        positions: Numbers of the rows within the row group, ascending.
    """
    wanted = np.ascontiguousarray(positions, np.int64)
    chunks = [_chunk(footer, schema, group, name, number) for name, number in leaves.items()]
    found: dict[str, pa.Array] = {}
    rows = footer.row_group(group).num_rows
    for chunk, data, start in _read(source, [chunk for chunk in chunks if chunk is not None]):
        if chunk.num_values == rows:
            try:
                found[chunk.name] = _taken(chunk, data, start, wanted)
            except (*DAMAGE, OSError):
                # pyarrow finds out what is wrong, if anything is.
                continue
    return found


def _chunk(footer: pq.FileMetaData, schema: pa.Schema, group: int, name: str, number: int) -> _Chunk | None:
    """The column chunk; None if pyarrow has to read it."""
    column = footer.schema.column(number)
    if column.path != name or column.max_repetition_level or column.max_definition_level > 1:
        return None
    arrow = schema.field(name).type
    widths = _widths(arrow, column)
    meta = footer.row_group(group).column(number)
    codec = _CODECS.get(meta.compression)
    if widths is None or (codec is None and meta.compression != "UNCOMPRESSED"):
        return None
    start, dictionary = meta.data_page_offset, meta.dictionary_page_offset
    if dictionary is not None and 0 < dictionary < start:
        start = dictionary
    optional = column.max_definition_level == 1
    return _Chunk(name, arrow, start, meta.total_compressed_size, meta.num_values, codec, *widths, optional)


def _widths(arrow: pa.DataType, column: pq.ColumnSchema) -> tuple[int, int, bool] | None:
    """Bytes of a value in pages and in Arrow, and whether the former are big-endian; None for what has other bits."""
    match column.physical_type:
        case "BOOLEAN" if pa.types.is_boolean(arrow):
            return _BITS, 0, False
        case "INT32" if arrow in (pa.int32(), pa.date32(), pa.int16(), pa.int8()):
            return 4, arrow.byte_width, False
        case "INT64" if arrow == pa.int64():
            return 8, 8, False
        case "INT64" if pa.types.is_timestamp(arrow) and arrow.unit == "us":
            return (8, 8, False) if "timeUnit=microseconds" in str(column.logical_type) else None
        case "INT32" | "INT64" if pa.types.is_decimal128(arrow):
            return 4 if column.physical_type == "INT32" else 8, 16, False
        case "FLOAT" if arrow == pa.float32():
            return 4, 4, False
        case "DOUBLE" if arrow == pa.float64():
            return 8, 8, False
        case "BYTE_ARRAY" if arrow in (pa.string(), pa.binary()):
            return _OF_ANY_LENGTH, 0, False
        case "FIXED_LEN_BYTE_ARRAY" if pa.types.is_decimal128(arrow) and 0 < column.length <= 16:
            return column.length, 16, True
        case _:
            return None


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
    """The values of rows of a column chunk. Raises one of DAMAGE or OSError where pyarrow has to read it."""
    taker = RowTaker(positions, chunk.width, chunk.out_width, chunk.big_endian, chunk.optional)
    codec = None if chunk.codec is None else pa.Codec(chunk.codec)
    end, seen, view = start + chunk.size, 0, memoryview(data)
    while seen < chunk.num_values:
        header, at = read_struct_at(data, start)
        kind, start = header[_TYPE], at + header[_COMPRESSED_SIZE]
        if not at <= start <= end:
            raise ValueError("a page ends outside of its column chunk")
        page = view[at:start]
        if kind == _DICTIONARY_PAGE:
            about = header[_DICTIONARY_HEADER]
            if about[_ENCODING] not in _PLAIN_ENCODINGS:
                raise ValueError("the dictionary has an unknown encoding")
            taker.set_dictionary(_plain(codec, page, header[_UNCOMPRESSED_SIZE]), about[_NUM_VALUES])
        elif kind == _DATA_PAGE:
            about = header[_DATA_HEADER]
            seen += about[_NUM_VALUES]
            if taker.wanted(about[_NUM_VALUES]):
                if about[_LEVEL_ENCODING] != _RLE:
                    raise ValueError("the levels have an unknown encoding")
                values = _plain(codec, page, header[_UNCOMPRESSED_SIZE])
                taker.take(None, values, about[_NUM_VALUES], about[_ENCODING])
        elif kind == _DATA_PAGE_V2:
            about = header[_DATA_HEADER_V2]
            seen += about[_NUM_VALUES]
            if taker.wanted(about[_NUM_VALUES]):
                _take_v2(taker, codec, page, header[_UNCOMPRESSED_SIZE], about)
    if seen != chunk.num_values:
        raise ValueError("the pages have more values than their column chunk")
    validity, offsets, values = taker.finish()
    buffers = [validity, values] if offsets is None else [validity, offsets, values]
    return pa.Array.from_buffers(chunk.arrow, len(positions), buffers)


def _take_v2(
    taker: RowTaker, codec: pa.Codec | None, page: memoryview, size: int, about: Mapping[int, Any]
) -> None:
    """Take rows of a page whose levels are not compressed."""
    levels = about[_DEFINITION_BYTES]
    if about.get(_REPETITION_BYTES, 0) or not 0 <= levels <= min(len(page), size):
        raise ValueError("the page has levels of repetition, or is shorter than its levels")
    compressed = codec if about.get(_IS_COMPRESSED, True) else None
    values = _plain(compressed, page[levels:], size - levels)
    taker.take(page[:levels], values, about[_NUM_VALUES], about[_ENCODING_V2])


def _plain(codec: pa.Codec | None, page: memoryview, size: int) -> Any:
    """The bytes of a page, decompressed. Raises ValueError or OSError."""
    if codec is None:
        return page
    return codec.decompress(page, decompressed_size=size) if size > 0 else b""

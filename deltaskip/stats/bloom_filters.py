"""Bloom filters of Parquet files: values that a column chunk certainly does not contain.

A filter has the values as the column chunk stores them, so a value is looked up in the physical type of the file.
Values without a unique form in a file are not looked up: floats, because different ones are equal, and decimals in
bytes of any length. Only the header of a filter and the blocks of the values are read, 32 bytes for each value.
# Apache Parquet, Bloom Filter: split block filters; parquet.thrift, BloomFilterHeader
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.errors import SchemaError
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.kernels import hash_bytes
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats.footer import DAMAGE, NULL_COUNT, NUM_VALUES, STATISTICS, Footer, Planner
from deltaskip.stats.footer_columns import ParquetNode, type_of_leaf
from deltaskip.stats.stats_columns import StatColumn, columns_named, every_column
from deltaskip.storage.range_file import read_ranges

Stored = Callable[[int | bytes], bytes | None]
"""The bytes of a value as a file stores it; None for a value that the file's type cannot represent."""

# parquet.thrift, ColumnMetaData
_OFFSET, _LENGTH = 14, 15
# SchemaElement.type_length
_TYPE_LENGTH = 2
# Bytes of a decimal of 38 digits.
_DECIMAL_BYTES = 16
# BloomFilterHeader in Thrift's compact protocol: the bytes of the blocks, then BLOCK, XXHASH and UNCOMPRESSED.
_HEADER = regex(rb"\x15([\x80-\xff]{0,4}[\x00-\x7f])\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0")
_MOST_HEADER_BYTES = 19
_BLOCK_BYTES = 32
_SALT = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], np.uint32
)


def stored_as(node: ParquetNode, wanted: t.DataType) -> Stored | None:
    """Return the function that converts values of the table's type to bytes of a file; None if these are not certain.

    Values are those of `skipping.program`: integers, days, microseconds, unscaled decimals, and UTF-8 bytes.
    """
    source = type_of_leaf(node)
    factor = 1
    match source.kind if source is not None else "", wanted:
        case "string", _ if wanted == t.STRING:
            return lambda value: value if isinstance(value, bytes) else None
        case "integer", _ if wanted in t.INTEGRAL_BITS:
            pass
        case "integer", t.DecimalType(_, scale):
            factor = 10**scale
        case "decimal", t.DecimalType(_, scale) if source is not None and scale >= source.scale:
            factor = 10 ** (scale - source.scale)
        case "date", _ if wanted == t.DATE:
            pass
        case "timestamp", _ if wanted in (t.TIMESTAMP, t.TIMESTAMP_NTZ) and source is not None and source.unit != "ns":
            factor = {"ms": 1000, "us": 1}[source.unit]
        case _:
            return None
    # INT32, INT64 and FIXED_LEN_BYTE_ARRAY
    match node.physical_type:
        case 1 | 2:
            return partial(_number, factor=factor, length=4 * node.physical_type, big_endian=False)
        case 7 if 0 < node.element.get(_TYPE_LENGTH, 0) <= _DECIMAL_BYTES:
            return partial(_number, factor=factor, length=node.element[_TYPE_LENGTH], big_endian=True)
        case _:
            return None


def has_filter(footer: Footer, group: int, leaf: int) -> bool:
    """Whether a column chunk has a Bloom filter, by the index of its Parquet column."""
    return bool(footer.column_chunk(group, leaf).get(_OFFSET, 0) > 0)


def may_contain(
    source: pa.NativeFile, footer: Footer, asked: Sequence[tuple[int, int, Sequence[bytes]]]
) -> npt.NDArray[np.bool_]:
    """Return whether column chunks may contain one of some values: False only if a filter excludes all of them.

    All filters are read at once. Bytes that are not a valid filter exclude nothing.

    Args:
        source: The file, open for reading.
        footer: Its footer.
        asked: Indexes of a row group and of a Parquet column, and values as the file stores them.
    """
    found = np.ones(len(asked), np.bool_)
    places = _places(source, footer, [(group, leaf) for group, leaf, _ in asked])
    values = [(number, value) for number in places for value in asked[number][2]]
    found[[number for number in places if not asked[number][2]]] = False
    if not values:
        return found
    data = arrow_array([value for _, value in values], pa.binary())
    hashes = numpy_values(hash_bytes(data, arrow_array([0] * len(values), pa.int64()), wide=True)).view(np.uint64)
    owner = np.array([number for number, _ in values])
    starts, sizes = (np.array([places[number][i] for number in owner]) for i in (0, 1))
    number_of_blocks = (sizes // _BLOCK_BYTES).astype(np.uint64)
    blocks = ((hashes >> np.uint64(32)) * number_of_blocks) >> np.uint64(32)
    offsets = starts + sizes % _BLOCK_BYTES + blocks.astype(np.int64) * _BLOCK_BYTES
    headers = [(places[number][0], _MOST_HEADER_BYTES) for number in places]
    read = read_ranges(source, [*headers, *((offset, _BLOCK_BYTES) for offset in offsets.tolist())])
    sound = {number for number, header in zip(places, read, strict=False) if _size(header) == places[number][1]}
    whole = [each if len(each) == _BLOCK_BYTES else b"\xff" * _BLOCK_BYTES for each in read[len(headers) :]]
    words = np.frombuffer(b"".join(whole), "<u4").reshape(-1, 8)
    there = block_has(words, hashes)
    for number in sound:
        found[number] = there[owner == number].any()
    return found


def block_has(words: npt.NDArray[np.uint32], hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return whether each block, a row of eight words, may contain the value with each hash."""
    keys = hashes.astype(np.uint32)[:, None]
    bits = np.uint32(1) << ((keys * _SALT) >> np.uint32(27))
    there: npt.NDArray[np.bool_] = ((words & bits) == bits).all(axis=1)
    return there


def _places(source: pa.NativeFile, footer: Footer, chunks: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Where filters begin in the file, and their bytes with the header, by the index of the column chunk."""
    end = source.size()
    found: dict[int, tuple[int, int]] = {}
    unknown: dict[int, int] = {}
    for number, (group, leaf) in enumerate(chunks):
        try:
            meta = footer.column_chunk(group, leaf)
            offset, length = meta.get(_OFFSET, 0), meta.get(_LENGTH)
            if not 0 < offset < end:
                continue
            if length is None:
                unknown[number] = offset
            else:
                found[number] = offset, length
        except DAMAGE:
            continue
    # Older writers do not record the length of a filter.
    headers = read_ranges(source, [(offset, _MOST_HEADER_BYTES) for offset in unknown.values()]) if unknown else ()
    for (number, offset), header in zip(unknown.items(), headers, strict=True):
        found[number] = offset, _size(header)
    return {number: (offset, size) for number, (offset, size) in found.items() if _BLOCK_BYTES < size <= end - offset}


def _size(header: memoryview) -> int:
    """Bytes of a filter with its header; 0 if it is not a filter."""
    match = _HEADER.match(header)
    if match is None:
        return 0
    # A Thrift varint: seven bits in a byte, the lowest first; the lowest bit of all is the sign.
    number = sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(match[1]))
    blocks, rest = divmod(number >> 1, _BLOCK_BYTES)
    return 0 if number & 1 or rest or not blocks else match.end() + blocks * _BLOCK_BYTES


def _number(value: int | bytes, factor: int, length: int, big_endian: bool) -> bytes | None:
    number, rest = divmod(int(value), factor)
    limit = 1 << (8 * length - 1)
    if rest or not -limit <= number < limit:
        return None
    return number.to_bytes(length, "big" if big_endian else "little", signed=True)


def bloom_columns(
    names: Sequence[tuple[str, ...]],
    schema: t.StructType,
    partition_columns: Sequence[str],
    mapping_mode: t.MappingMode,
    refuse: Callable[[str], str] | None = None,
) -> tuple[StatColumn, ...]:
    """Return the columns of some names, each once. Names are compared in any letter case.

    Args:
        names: The names.
        schema: Schema of the table.
        partition_columns: Its partition columns.
        mapping_mode: Its column mapping mode.
        refuse: Returns the message for a name that is not of a column that can have a filter. If None, such a name is
            left out: another engine may have dropped the column that a property names, and rows must still be written.

    Raises SchemaError with that message.
    """
    if not names:
        return ()
    found = columns_named(names, filter(_has_filter, every_column(schema, partition_columns, mapping_mode)))
    unknown = next((name for name, column in zip(names, found, strict=True) if column is None), None)
    if unknown is not None and refuse is not None:
        raise SchemaError(refuse(t.display_name(unknown)))
    return tuple(dict.fromkeys(each for each in found if each is not None))


def lacks_filters(footer: Footer, planner: Planner) -> bool:
    """Return whether some row group of a file has no filter of a column, though it has values of it.

    Args:
        footer: The footer of the file.
        planner: Plans the columns.

    Raises one of `footer.DAMAGE` for a damaged footer.
    """
    leaves = [plan.nodes[-1].first_leaf for plan in planner.plans(footer) if plan.nodes]
    return any(
        not has_filter(footer, group, leaf) and not _is_all_null(footer, group, leaf)
        for group in range(len(footer.row_groups))
        for leaf in leaves
    )


def _is_all_null(footer: Footer, group: int, leaf: int) -> bool:
    meta = footer.column_chunk(group, leaf)
    return bool(meta.get(STATISTICS, {}).get(NULL_COUNT) == meta[NUM_VALUES])


def _has_filter(column: StatColumn) -> bool:
    """Not booleans, and not floats, of which different bytes are equal."""
    return column.type == t.BINARY or (column.ordered and column.type not in t.FLOATING)

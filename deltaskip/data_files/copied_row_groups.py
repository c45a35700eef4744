"""Copies row groups of a data file into a new file without decoding their pages.

# Apache Parquet, parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, OffsetIndex
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, BinaryIO
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.actions import AddFile, parse_partition_value
from deltaskip.data_files.data_file import add_of_new_file, parquet_schema
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.kernels.thrift_compact import read_fields, write_fields
from deltaskip.path_bytes import encoded
from deltaskip.sparkexpr.types import physical_name
from deltaskip.stats.file_facts import FileReader, stats_json
from deltaskip.stats.footer import DAMAGE, Footer, writer_of
from deltaskip.storage import Storage, join
from deltaskip.storage.range_file import Range, read_ranges
from deltaskip.storage.uploads import publish_growing

_MAGIC = b"PAR1"
# Bytes that are in memory at once.
_PIECE_BYTES = 8 << 20

# Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, OffsetIndex and PageLocation.
_NUM_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 1, 3, 5, 7
_FILE_PATH, _CHUNK_OFFSET, _META = 1, 2, 3
_OFFSET_INDEX, _COLUMN_INDEX = (4, 5), (6, 7)
_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM_FILTER = 9, 10, 11, (14, 15)
_PAGES, _PAGE_OFFSET = 1, 1

_Fields = dict[int, tuple[int, Any]]


def can_copy(footer: Footer, layout: DataFileLayout) -> bool:
    """Whether row groups of a file differ only in encoding from those that this process would write for the table.

    Args:
        footer: The footer of the file.
        layout: The layout of new files of the table.
    """
    # parquet-mr before 1.2.9 left the dictionary's header out of the size of a column chunk (PARQUET-816).
    name, *version = writer_of(footer.created_by)
    if name == b"parquet-mr" and version < [1, 8]:
        return False
    if layout.extra or layout.sort_by:
        return False
    try:
        schema = _stored_schema(footer)
    except pa.ArrowException:
        return False
    stored = {field.name: field for field in schema}
    partitions = [physical_name(field, layout.mapping_mode) for field in layout.partition_fields()]
    if layout.keeps_partition_columns and not stored.keys() >= set(partitions):
        return False
    # Some writers have partition columns in all files.
    columns = range(len(layout.schema.fields))
    wanted = {field.name: field for field in parquet_schema(layout.schema, columns, layout.mapping_mode)[0]}
    by_id = layout.mapping_mode != "none"
    if len(stored) < len(schema) or not stored.keys() <= wanted.keys():
        return False
    return all(_is_written_as(field, wanted[name], by_id) for name, field in stored.items())


def _is_written_as(stored: pa.Field, wanted: pa.Field, by_id: bool) -> bool:
    """Whether a column has the types, names and ids with which it is written now; it may be declared less nullable."""
    if by_id and stored.metadata != wanted.metadata:
        return False
    kind, other = stored.type, wanted.type
    if not pa.types.is_nested(kind):
        return bool(kind == other)
    if kind.id != other.id or kind.num_fields != other.num_fields:
        return False
    if pa.types.is_struct(kind):
        # Readers find elements, keys and values by position, and fields by name.
        pairs = [(kind.field(i), other.field(i)) for i in range(kind.num_fields)]
        return all(one.name == each.name and _is_written_as(one, each, by_id) for one, each in pairs)
    if pa.types.is_map(kind):
        of_keys = _is_written_as(kind.key_field, other.key_field, by_id)
        return of_keys and _is_written_as(kind.item_field, other.item_field, by_id)
    return _is_written_as(kind.value_field, other.value_field, by_id)


def copy_row_groups(
    storage: Storage, source: str, footer: Footer, numbers: Sequence[int], layout: DataFileLayout, add: AddFile
) -> AddFile | None:
    """Write a data file of row groups of another file, with their page indexes and Bloom filters.

    Args:
        storage: The storage of the file.
        source: Its location.
        footer: Its footer.
        numbers: Indexes of the row groups, ascending.
        layout: The layout of new files of the table.
        add: The add action of the file.

    Returns:
        The add action of the new file, with statistics; None, and no file, if the footer or an index is unusual.

    Raises:
        StorageError: The file cannot be read or written.
    """
    fields = layout.partition_fields()
    texts = [add.partition_values[physical_name(field, layout.mapping_mode)] for field in fields]
    values = [
        None if text is None else parse_partition_value(text, field.type)
        for text, field in zip(texts, fields, strict=True)
    ]
    folder = layout.folder(values)
    name = f"part-00000-{uuid4()}.c000.parquet"
    path = f"{folder}/{name}" if folder else name
    location = join(layout.root, path)
    try:
        facts = FileReader(layout.request).facts(storage, source, size=add.size, footer=footer, row_groups=numbers)
        with publish_growing(layout.storage, location) as (local, upload):
            upload()
            with storage.open_input(source, add.size) as opened, open(encoded(local), "wb") as out:
                size = _Copy(opened, source, out).write(footer, numbers)
    except DAMAGE:
        return None
    return add_of_new_file(path, add.partition_values, size, stats_json(facts, layout.request), layout.request)


class _Copy:
    """One new file.

    Args:
        source: The file with the row groups.
        location: Its location, for messages.
        out: The new file.
    """

    def __init__(self, source: pa.NativeFile, location: str, out: BinaryIO) -> None:
        self._source = source
        self._location = location
        self._out = out

    def write(self, footer: Footer, numbers: Sequence[int]) -> int:
        """Write the row groups, their indexes and a footer, and return the size of the file."""
        fields = read_fields(footer.data)
        kind, groups = fields[_ROW_GROUPS][1]
        kept = [groups[number] for number in numbers]
        self._out.write(_MAGIC)
        at = self._out.tell()
        shifts: list[tuple[_Fields, int]] = []
        ranges = []
        for ordinal, (number, group) in enumerate(zip(numbers, kept, strict=True)):
            _set(group, _GROUP_OFFSET, at)
            _set(group, _ORDINAL, ordinal)
            for leaf, chunk in enumerate(group[_COLUMNS][1][1]):
                start, end = footer.chunk_range(number, leaf)
                _move(chunk, at - start)
                shifts.append((chunk, at - start))
                ranges.append((start, end - start))
                at += end - start
        self._copy(ranges)
        self._write_beside([(chunk[_META][1], shift) for chunk, shift in shifts], _BLOOM_FILTER)
        self._write_beside(shifts, _COLUMN_INDEX)
        self._write_beside(shifts, _OFFSET_INDEX, _moved_pages)
        fields[_ROW_GROUPS] = fields[_ROW_GROUPS][0], (kind, kept)
        _set(fields, _NUM_ROWS, sum(group[_GROUP_ROWS][1] for group in kept))
        data = write_fields(fields)
        self._out.write(data + struct.pack("<I", len(data)) + _MAGIC)
        return self._out.tell()

    def _copy(self, ranges: Sequence[Range]) -> None:
        """Copy the ranges, some at once."""
        pieces: list[Range] = []
        waiting = 0
        for start, length in ranges:
            for offset in range(0, length, _PIECE_BYTES):
                size = min(_PIECE_BYTES, length - offset)
                if waiting + size > _PIECE_BYTES:
                    self._copy_at_once(pieces)
                    pieces, waiting = [], 0
                pieces.append((start + offset, size))
                waiting += size
        self._copy_at_once(pieces)

    def _copy_at_once(self, pieces: Sequence[Range]) -> None:
        for data in self._read(pieces):
            self._out.write(data)

    def _write_beside(
        self,
        holders: Sequence[tuple[_Fields, int]],
        place: tuple[int, int],
        moved: Callable[[bytes, int], bytes] = lambda data, _: data,
    ) -> None:
        """Write the structures outside of the row groups.

        Args:
            holders: The fields that refer to the structure, and how far the pages of their column chunk move.
            place: The ids of the fields with its offset and its length; if only one exists, it is left out.
            moved: Returns the bytes to write instead.
        """
        known = [(fields, shift) for fields, shift in holders if set(place) <= fields.keys()]
        for fields, _ in holders:
            if not set(place) <= fields.keys():
                for number in place:
                    fields.pop(number, None)
        offset, length = place
        found = self._read([(fields[offset][1], fields[length][1]) for fields, _ in known])
        for (fields, shift), data in zip(known, found, strict=True):
            new = moved(bytes(data), shift)
            _set(fields, offset, self._out.tell())
            _set(fields, length, len(new))
            self._out.write(new)

    def _read(self, ranges: Sequence[Range]) -> Sequence[memoryview]:
        """The bytes of the ranges. Raises ValueError if the file ends before."""
        try:
            found = read_ranges(self._source, ranges)
        except DeltaSkipError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"Cannot read the data file {self._location}: {first_line(error)}.") from error
        if any(len(data) != length for data, (_, length) in zip(found, ranges, strict=True)):
            raise ValueError("the file ends too early")
        return found


def _set(fields: _Fields, number: int, value: int) -> None:
    """Set a field if it exists."""
    if number in fields:
        fields[number] = fields[number][0], value


def _move(chunk: _Fields, shift: int) -> None:
    """Set the offsets of a column chunk to the positions of its pages in the new file."""
    if _FILE_PATH in chunk:
        raise ValueError("it has column chunks in other files")
    meta = chunk[_META][1]
    places = ((chunk, _CHUNK_OFFSET), (meta, _DATA_PAGE), (meta, _INDEX_PAGE), (meta, _DICTIONARY_PAGE))
    for holder, number in places:
        if number in holder and holder[number][1] > 0:
            _set(holder, number, holder[number][1] + shift)


def _moved_pages(index: bytes, shift: int) -> bytes:
    fields = read_fields(index)
    for page in fields[_PAGES][1][1]:
        _set(page, _PAGE_OFFSET, page[_PAGE_OFFSET][1] + shift)
    return write_fields(fields)


def _stored_schema(footer: Footer) -> pa.Schema:
    """The schema of the file by its Parquet types, ignoring the writer's Arrow schema.

    Raises ArrowException for a type that Arrow does not have.
    """
    data = footer.data
    whole = BytesIO(_MAGIC + data + struct.pack("<I", len(data)) + _MAGIC)
    return pq.read_metadata(whole).schema.to_arrow_schema()

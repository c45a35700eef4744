"""Copies row groups of Parquet files, or columns of them, into new files without decoding their pages.

# Apache Parquet, parquet.thrift: FileMetaData, SchemaElement, RowGroup, ColumnChunk, ColumnMetaData, OffsetIndex
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.kernels.thrift_compact import read_fields, write_fields
from deltaskip.storage.range_file import Range, read_ranges

_MAGIC = b"PAR1"
_END = struct.Struct("<I4s")
# Bytes that are in memory at once.
_PIECE_BYTES = 8 << 20

# Fields of FileMetaData, SchemaElement, RowGroup, ColumnChunk, ColumnMetaData, OffsetIndex and PageLocation.
_SCHEMA, _NUM_ROWS, _ROW_GROUPS = 2, 3, 4
_NAME, _NUM_CHILDREN = 4, 5
_COLUMNS, _GROUP_SIZE, _GROUP_ROWS, _SORTED_BY, _GROUP_OFFSET, _GROUP_BYTES, _ORDINAL = 1, 2, 3, 4, 5, 6, 7
_FILE_PATH, _CHUNK_OFFSET, _META = 1, 2, 3
_OFFSET_INDEX, _COLUMN_INDEX = (4, 5), (6, 7)
_PATH, _CHUNK_SIZE, _CHUNK_BYTES = 3, 6, 7
_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM_FILTER = 9, 10, 11, (14, 15)
_PAGES, _PAGE_OFFSET = 1, 1
# The list of column chunks, each one, its metadata; statistics and the like below are only copied.
_LEVELS_TO_COPY = 4
# Offsets from here on are those of the file of other columns.
_BESIDE = 1 << 60

Fields = dict[int, tuple[int, Any]]
"""A Thrift struct, as `read_fields` returns it."""


def row_groups(footer: Fields) -> list[Any]:
    """The row groups of a footer: as bytes, if `read_footer_fields` has returned it."""
    groups: list[Any] = footer[_ROW_GROUPS][1][1]
    return groups


def row_group(data: bytes, to_copy: bool) -> Fields:
    """A row group that was read as bytes. to_copy: whether to read its column chunks, too, whose offsets change."""
    return read_fields(data, _LEVELS_TO_COPY if to_copy else 1)


class RowGroupCopy:
    """Row groups of one file that are copied to the end of another.

    The methods raise ValueError, LookupError or TypeError for an unusual footer, and StorageError if a file cannot
    be read.

    Args:
        source: The file with the row groups.
        name: What it is and where, for messages.
        out: The new file.
    """

    def __init__(self, source: pa.NativeFile, name: str, out: BinaryIO | pa.NativeFile) -> None:
        self._source = source
        self._name = name
        self._out = out
        self._columns = memoryview(b"")

    def write_file(self, footer: bytes, numbers: Sequence[int], columns: memoryview | None = None) -> int:
        """Write a file of row groups with their page indexes and Bloom filters, and return its size.

        Args:
            footer: The footer of the source.
            numbers: Indexes of the row groups.
            columns: Columns of these rows in the same types, which replace those of the source: a Parquet file without
                Bloom filters, whose row groups have as many rows.
        """
        fields = read_fields(footer)
        groups = row_groups(fields)
        kept = [groups[number] for number in numbers]
        if columns is not None:
            self._columns = columns
            length, _ = _END.unpack(columns[-_END.size :])
            _replace_columns(fields, kept, read_fields(bytes(columns[-_END.size - length : -_END.size])))
        self._out.write(_MAGIC)
        shifts = self._append(kept)
        self._write_beside([(chunk[_META][1], shift) for chunk, shift in shifts], _BLOOM_FILTER)
        self._write_beside(shifts, _COLUMN_INDEX)
        self._write_beside(shifts, _OFFSET_INDEX, _moved_pages)
        self._out.write(footer_of(fields, kept))
        return self._out.tell()

    def append(self, groups: Sequence[Fields]) -> None:
        """Copy row groups, and set their offsets to those in the new file. They have no page index or Bloom filter."""
        beside = {*_OFFSET_INDEX, *_COLUMN_INDEX}
        chunks = [chunk for group in groups for chunk in group[_COLUMNS][1][1]]
        if any(chunk.keys() & beside or chunk[_META][1].keys() & {*_BLOOM_FILTER} for chunk in chunks):
            raise ValueError("it has page indexes or Bloom filters")
        self._append(groups)

    def _append(self, groups: Sequence[Fields]) -> list[tuple[Fields, int]]:
        """The column chunks of the copied row groups, and how far each has moved."""
        at = self._out.tell()
        shifts: list[tuple[Fields, int]] = []
        ranges: list[Range] = []
        for group in groups:
            _set(group, _GROUP_OFFSET, at)
            for chunk in group[_COLUMNS][1][1]:
                start, length = _range(chunk[_META][1])
                _move(chunk, at - start)
                shifts.append((chunk, at - start % _BESIDE))
                if ranges and sum(ranges[-1]) == start:
                    # Most writers leave no gaps between column chunks.
                    ranges[-1] = ranges[-1][0], ranges[-1][1] + length
                else:
                    ranges.append((start, length))
                at += length
        self._copy(ranges)
        return shifts

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
        holders: Sequence[tuple[Fields, int]],
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
        beside = [start >= _BESIDE for start, _ in ranges]
        try:
            own = iter(
                read_ranges(self._source, [each for each, is_new in zip(ranges, beside, strict=True) if not is_new])
            )
        except DeltaSkipError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"Cannot read {self._name}: {first_line(error)}.") from error
        found = [
            self._columns[start - _BESIDE : start - _BESIDE + length] if is_new else next(own)
            for (start, length), is_new in zip(ranges, beside, strict=True)
        ]
        if any(len(data) != length for data, (_, length) in zip(found, ranges, strict=True)):
            raise ValueError("the file ends too early")
        return found


def read_footer_fields(file: BinaryIO | pa.NativeFile) -> tuple[Fields, int]:
    """The footer of an open Parquet file, with schema elements and row groups as bytes, and its offset.

    Raises ValueError for a file that does not end with one.
    """
    size = file.seek(0, 2)
    if size < 2 * _END.size - len(_MAGIC):
        raise ValueError("the file is too short")
    file.seek(size - _END.size)
    length, magic = _END.unpack(bytes(file.read(_END.size)))
    start = size - _END.size - length
    if magic != _MAGIC or start < len(_MAGIC):
        raise ValueError("the file has no Parquet footer")
    file.seek(start)
    return read_fields(bytes(file.read(length)), 2), start


def footer_of(fields: Fields, groups: Sequence[Fields]) -> bytes:
    """The end of a file: the footer with other row groups, its length, and Parquet's magic number.

    Args:
        fields: The footer of a file of the same columns.
        groups: The row groups of the new file, whose ordinals are set.
    """
    for ordinal, group in enumerate(groups):
        _set(group, _ORDINAL, ordinal)
    sort, (kind, _) = fields[_ROW_GROUPS]
    rows = sum(group[_GROUP_ROWS][1] for group in groups)
    whole = {**fields, _NUM_ROWS: (fields[_NUM_ROWS][0], rows), _ROW_GROUPS: (sort, (kind, list(groups)))}
    data = write_fields(whole)
    return data + _END.pack(len(data), _MAGIC)


def is_alike(one: Fields, other: Fields) -> bool:
    """Whether two footers differ in their row groups only, so that one can describe the row groups of both."""
    varying = {_NUM_ROWS, _ROW_GROUPS}
    return {number: one[number] for number in one.keys() - varying} == {
        number: other[number] for number in other.keys() - varying
    }


def _replace_columns(fields: Fields, groups: Sequence[Fields], other: Fields) -> None:
    """Let row groups have the columns of another footer. Raises ValueError or LookupError if the files differ."""
    types = _column_types(fields)
    if any(types.get(name) != of_new for name, of_new in _column_types(other).items()):
        raise ValueError("it has other types than the new columns")
    for group, new in zip(groups, row_groups(other), strict=True):
        if group[_GROUP_ROWS] != new[_GROUP_ROWS]:
            raise ValueError("it has other row groups than the new columns")
        chunks = group[_COLUMNS][1][1]
        places = {tuple(chunk[_META][1][_PATH][1][1]): place for place, chunk in enumerate(chunks)}
        for chunk in new[_COLUMNS][1][1]:
            place = places[tuple(chunk[_META][1][_PATH][1][1])]
            _move(chunk, _BESIDE)
            for offset, length in (_OFFSET_INDEX, _COLUMN_INDEX):
                if not {offset, length} <= chunks[place].keys() or offset not in chunk:
                    # Some readers expect the page indexes of all columns or of none.
                    chunk.pop(offset, None)
                else:
                    _set(chunk, offset, chunk[offset][1] + _BESIDE)
            chunks[place] = chunk
        group.pop(_SORTED_BY, None)
        for total, size in ((_GROUP_SIZE, _CHUNK_SIZE), (_GROUP_BYTES, _CHUNK_BYTES)):
            _set(group, total, sum(chunk[_META][1][size][1] for chunk in chunks))


def _column_types(fields: Fields) -> dict[bytes, list[Fields]]:
    """The schema elements of each top-level column, with those below it, by its name."""
    elements = fields[_SCHEMA][1][1]
    found: dict[bytes, list[Fields]] = {}
    end = 1
    for _ in range(elements[0][_NUM_CHILDREN][1]):
        start, left = end, 1
        while left:
            children = elements[end].get(_NUM_CHILDREN)
            left += (0 if children is None else children[1]) - 1
            end += 1
        found[elements[start][_NAME][1]] = elements[start:end]
    return found


def _range(meta: Fields) -> Range:
    """The pages of a column chunk, by its metadata."""
    start, dictionary = meta[_DATA_PAGE][1], meta[_DICTIONARY_PAGE][1] if _DICTIONARY_PAGE in meta else 0
    length = meta[_CHUNK_BYTES][1]
    if 0 < dictionary < start:
        start = dictionary
    if start < len(_MAGIC) or length < 0:
        raise ValueError("it has column chunks outside of the file")
    return start, length


def _set(fields: Fields, number: int, value: int) -> None:
    """Set a field if it exists."""
    if number in fields:
        fields[number] = fields[number][0], value


def _move(chunk: Fields, shift: int) -> None:
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

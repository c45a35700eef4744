"""Parquet files that pyarrow reads, with timestamps of INT96 as Spark reads them.

pyarrow takes nanoseconds of the day below zero for 584 years, and every time of day 0 for 1970-01-01. Where a program
other than Spark has written INT96, pyarrow reads them as 12 bytes, by a changed footer: both types have the same pages.
# Spark 4.1, DateTimeUtils.fromJulianDay; Arrow, parquet/types.h, DecodeInt96Timestamp
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.fork_safety import cached_property
from deltaskip.kernels.thrift_compact import read_fields, write_fields
from deltaskip.path_bytes import encoded
from deltaskip.stats.believed_bounds import SPARK_VERSION_KEY

_EPOCH_DAY = 2440588
_MICROS_OF_DAY = 86_400_000_000
_INT96 = np.dtype([("nanos", "<i8"), ("day", "<i4")])
# parquet.thrift: fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData; types of Parquet and of Thrift.
_SCHEMA, _ROW_GROUPS, _COLUMNS, _META = 2, 4, 1, 3
_TYPE, _LENGTH, _OF_INT96, _OF_FIXED, _I32 = 1, 2, 3, 7, 5
_CHILDREN, _LOGICAL, _UNKNOWN = 5, 10, 11


class ParquetInput(pq.ParquetFile):  # type: ignore[misc]
    """A Parquet file whose INT96 are microseconds, as Spark reads them.

    Args:
        source: The file.
        metadata: Its footer; None reads it.
        options: Further options of pyarrow.parquet.ParquetFile.
    """

    def __init__(self, source: Any, metadata: pq.FileMetaData | None = None, **options: Any) -> None:
        options_of_int96 = {"coerce_int96_timestamp_unit": "us", **options}
        try:
            super().__init__(source, metadata=metadata, **options_of_int96)
        except OSError:
            found = None if metadata is not None else footer_of_unknown_groups(source)
            if found is None:
                raise
            super().__init__(source, metadata=found, **options_of_int96)
        self._given = source, options

    @cached_property
    def has_foreign_int96(self) -> bool:
        """Whether the file has INT96 that pyarrow may read as others."""
        if not _has_local_time(self.schema_arrow) or SPARK_VERSION_KEY in (self.metadata.metadata or {}):
            return False
        return any(self.schema.column(i).physical_type == "INT96" for i in range(self.metadata.num_columns))

    def read_row_groups(self, row_groups: Any, columns: Any = None, **options: Any) -> pa.Table:
        """Return the rows of row groups. See pyarrow.parquet.ParquetFile."""
        if not self.has_foreign_int96:
            return super().read_row_groups(row_groups, columns, **options)
        found = self._as_bytes.read_row_groups(row_groups, columns, **options)
        batches = [self._instants(batch) for batch in found.to_batches()]
        return pa.Table.from_batches(batches, None if batches else self._schema_of(found.schema))

    def iter_batches(
        self, batch_size: int = 65536, row_groups: Any = None, columns: Any = None, **options: Any
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of row groups. See pyarrow.parquet.ParquetFile."""
        if not self.has_foreign_int96:
            yield from super().iter_batches(batch_size, row_groups, columns, **options)
            return
        for batch in self._as_bytes.iter_batches(batch_size, row_groups, columns, **options):
            yield self._instants(batch)

    def misread(self, names: Iterable[str]) -> Sequence[str]:
        """Return the columns, of some that are INT96, in which pyarrow alone reads other values."""
        groups = list(range(self.num_row_groups))
        found = [name for name in names if self.has_foreign_int96]
        return [
            n for n in found if pq.ParquetFile.read_row_groups(self, groups, [n]) != self.read_row_groups(groups, [n])
        ]

    @cached_property
    def _as_bytes(self) -> pq.ParquetFile:
        source, options = self._given
        return pq.ParquetFile(source, metadata=_with_bytes(self.metadata), **options)

    def _instants(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        schema = self._schema_of(batch.schema)
        columns = [_instants(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _schema_of(self, found: pa.Schema) -> pa.Schema:
        """The schema of columns that are read, in which parts of structs may be left out."""
        own = self.schema_arrow
        names = own.names
        by_place = len(found) == len(own)
        fields = [own.field(at if by_place else names.index(field.name)) for at, field in enumerate(found)]
        return pa.schema(
            [field.with_type(_timed(one.type, field.type)) for one, field in zip(found, fields, strict=True)]
        )


def footer_of_unknown_groups(source: pa.NativeFile | str) -> pq.FileMetaData | None:
    """Return the footer of a file without the logical type UNKNOWN of groups, with which pyarrow opens no file.

    parquet-mr 1.11.0 writes it for the entries of maps. None for files without it, and for damaged files.
    """
    try:
        file = pa.OSFile(encoded(source), "rb") if isinstance(source, str) else source
        size = file.size()
        length = int.from_bytes(file.read_at(4, size - 8), "little")
        fields = read_fields(file.read_at(length, size - 8 - length))
        groups = [element for element in fields[_SCHEMA][1][1] if _CHILDREN in element]
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError):
        return None
    unknown = [group for group in groups if _UNKNOWN in group.get(_LOGICAL, (0, {}))[1]]
    for group in unknown:
        del group[_LOGICAL]
    return _footer_of(fields) if unknown else None


def _with_bytes(footer: pq.FileMetaData) -> pq.FileMetaData:
    """The footer of the same file, whose INT96 are arrays of 12 bytes."""
    written = pa.BufferOutputStream()
    footer.write_metadata_file(written)
    fields = read_fields(written.getvalue().to_pybytes()[4:-8])
    elements = fields[_SCHEMA][1][1]
    for number, element in enumerate(elements):
        if element.get(_TYPE) == (_I32, _OF_INT96):
            elements[number] = {_TYPE: (_I32, _OF_FIXED), _LENGTH: (_I32, _INT96.itemsize), **_after_type(element)}
    for group in fields[_ROW_GROUPS][1][1]:
        for chunk in group[_COLUMNS][1][1]:
            meta = chunk[_META][1]
            if meta[_TYPE] == (_I32, _OF_INT96):
                meta[_TYPE] = (_I32, _OF_FIXED)
    return _footer_of(fields)


def _footer_of(fields: dict[int, Any]) -> pq.FileMetaData:
    data = write_fields(fields)
    return pq.read_metadata(pa.BufferReader(b"PAR1" + data + len(data).to_bytes(4, "little") + b"PAR1"))


def _after_type(element: dict[int, Any]) -> dict[int, Any]:
    return {number: value for number, value in element.items() if number > _LENGTH}


def _timed(found: pa.DataType, own: pa.DataType) -> pa.DataType:
    """The type of values that are read as `found`, with timestamps where the file's own type has them."""
    if pa.types.is_timestamp(own) or not pa.types.is_nested(found):
        return own if pa.types.is_fixed_size_binary(found) else found
    if pa.types.is_struct(found):
        return pa.struct([each.with_type(_timed(each.type, own.field(each.name).type)) for each in found])
    if pa.types.is_map(found):
        key, item = _timed(found.key_type, own.key_type), _timed(found.item_type, own.item_type)
        return pa.map_(own.key_field.with_type(key), own.item_field.with_type(item))
    part = own.value_field.with_type(_timed(found.value_type, own.value_type))
    if pa.types.is_fixed_size_list(found):
        return pa.list_(part, found.list_size)
    return pa.large_list(part) if pa.types.is_large_list(found) else pa.list_(part)


def _instants(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The array with 12 bytes as timestamps, at any depth."""
    kind = array.type
    if kind == wanted:
        return array
    valid = array.buffers()[0]
    if pa.types.is_fixed_size_binary(kind):
        stored = np.frombuffer(array.buffers()[1], _INT96)[array.offset : array.offset + len(array)]
        nanos, days = stored["nanos"], stored["day"].astype(np.int64) - _EPOCH_DAY
        # Java's division is towards zero.
        micros = nanos // 1000 + ((nanos < 0) & (nanos % 1000 != 0)) + days * _MICROS_OF_DAY
        found = pa.Array.from_buffers(pa.int64(), len(array), [None, pa.py_buffer(micros)])
        return pc.if_else(array.is_valid(), found, None).cast(wanted) if array.null_count else found.cast(wanted)
    if pa.types.is_struct(kind):
        parts = [_instants(array.field(i), wanted.field(i).type) for i in range(kind.num_fields)]
        # pyarrow 25 takes any mask for one with nulls, which the entries of a map may not have.
        return pa.StructArray.from_arrays(
            parts, fields=list(wanted), mask=array.is_null() if array.null_count else None
        )
    entries = pa.struct([wanted.key_field, wanted.item_field]) if pa.types.is_map(kind) else wanted.value_type
    own = [valid] if pa.types.is_fixed_size_list(kind) else [valid, array.buffers()[1]]
    inner = _instants(array.values, entries)
    return pa.Array.from_buffers(wanted, len(array), own, array.null_count, array.offset, [inner])


def _has_local_time(kind: pa.DataType | pa.Schema) -> bool:
    """Whether a timestamp, at any depth, has no time zone, as pyarrow reads INT96."""
    if isinstance(kind, pa.Schema):
        return any(_has_local_time(field.type) for field in kind)
    if pa.types.is_nested(kind):
        return any(_has_local_time(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_timestamp(kind) and kind.tz is None)

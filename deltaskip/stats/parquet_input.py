"""Parquet files with the values that Spark reads, where pyarrow reads others or none.

pyarrow takes nanoseconds of the day of INT96 below zero for 584 years, and every time of day 0 for 1970-01-01, if a
program other than Spark has written them. It reads no decimals of more than 16 bytes, no maps whose keys may be NULL,
as Hive declares them, and values of the logical type UNKNOWN as NULL. Such columns are read as bytes, as lists and
without the logical type, by a changed footer: the pages are the same. So are columns with types that only the writer's
Arrow schema gives (ARROW:schema), of which pyarrow cannot read all rows, and others not the types: Parquet's decide.
# Spark 4.1, DateTimeUtils.fromJulianDay, ParquetRowConverter; Arrow, parquet/types.h, DecodeInt96Timestamp
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.fork_safety import cached_property
from deltaskip.kernels.thrift_compact import read_fields, write_fields
from deltaskip.path_bytes import encoded
from deltaskip.sparkexpr.values.arrow_nested import ENTRIES, with_maps
from deltaskip.sparkexpr.values.arrow_values import filled
from deltaskip.stats.believed_bounds import SPARK_VERSION_KEY
from deltaskip.stats.written_types import ARROW_SCHEMA, has_only_written, parquet_type

_EPOCH_DAY = 2440588
_MICROS_OF_DAY = 86_400_000_000
_NULL, _TIMESTAMP, _LIST_TYPE = pa.null().id, pa.timestamp("us").id, pa.list_(pa.null()).id
_LOCAL_TIME = -1
_DECIMALS = {kind(1, 0).id for kind in (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256)}
_INT96 = np.dtype([("nanos", "<i8"), ("day", "<i4")])
# parquet.thrift: fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData; types of Parquet and of Thrift.
_SCHEMA, _ROW_GROUPS, _KEY_VALUES, _COLUMNS, _META, _KEY, _VALUE = 2, 4, 5, 1, 3, 1, 2
_TYPE, _LENGTH, _OF_INT96, _OF_BYTES, _OF_FIXED, _I32, _BINARY = 1, 2, 3, 6, 7, 5, 8
_REPETITION, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _LOGICAL, _UNKNOWN = 3, 4, 5, 6, 7, 8, 10, 11
_REQUIRED, _REPEATED = 0, 2
_MAP_KEY_VALUE, _MAPS, _LIST, _DECIMAL = 2, (1, 2), 3, 5
_LOGICAL_MAP, _LOGICAL_DECIMAL = 2, 5
_DECIMAL_BYTES = 16


class ParquetInput(pq.ParquetFile):  # type: ignore[misc]
    """A Parquet file whose INT96 are microseconds, and whose long decimals and maps are read as by Spark.

    Args:
        source: The file.
        metadata: Its footer; None reads it.
        as_written: Whether columns have the extension types and layouts that the writer's Arrow schema gives them.
        options: Further options of pyarrow.parquet.ParquetFile.
    """

    def __init__(
        self, source: Any, metadata: pq.FileMetaData | None = None, *, as_written: bool = False, **options: Any
    ) -> None:
        # Whatever extension types other libraries register, shapes are binary.
        options_of_int96 = {"coerce_int96_timestamp_unit": "us", "arrow_extensions_enabled": False, **options}
        try:
            super().__init__(source, metadata=metadata, **options_of_int96)
        except (OSError, pa.ArrowInvalid):
            found = None if metadata is not None else readable_footer(source)
            if found is None:
                raise
            # Names of columns to read as dictionaries are those of the file's own footer.
            options = {**options, "read_dictionary": None}
            super().__init__(source, metadata=found, **{**options_of_int96, **options})
        self._given = source, options
        self._stored_schema = super().schema_arrow
        self._ids = _type_ids(self._stored_schema)
        changed = _with_unknown_values(self.metadata) if _NULL in self._ids else None
        self._has_unknown = changed is not None
        written = None if as_written else (self.metadata.metadata or {}).get(ARROW_SCHEMA)
        if written is not None and has_only_written(written):
            changed = with_parquet_types(changed or self.metadata)
        if changed is not None:
            super().__init__(source, metadata=changed, **{**options_of_int96, **options})
            self._stored_schema = super().schema_arrow
            self._ids = _type_ids(self._stored_schema)

    @cached_property
    def schema_arrow(self) -> pa.Schema:
        """The schema of the rows."""
        return with_maps(self._stored_schema) if _LIST_TYPE in self._ids else self._stored_schema

    @cached_property
    def is_foreign(self) -> bool:
        """Whether columns are read as others, by a changed footer."""
        return self.has_foreign_int96 or self.has_foreign_types

    @cached_property
    def has_foreign_types(self) -> bool:
        """Whether the file has decimals, maps or values of an unknown type that pyarrow does not read."""
        if self._has_unknown or self._stored_schema is not self.schema_arrow:
            return True
        if _DECIMALS.isdisjoint(self._ids):
            return False
        columns = map(self.schema.column, range(self.metadata.num_columns))
        return any(
            each.logical_type.type == "DECIMAL" and (each.physical_type == "BYTE_ARRAY" or each.length > _DECIMAL_BYTES)
            for each in columns
        )

    @cached_property
    def has_foreign_int96(self) -> bool:
        """Whether the file has INT96 that pyarrow may read as others."""
        # pyarrow reads INT96 as timestamps without time zone.
        if _LOCAL_TIME not in self._ids or SPARK_VERSION_KEY in (self.metadata.metadata or {}):
            return False
        return any(self.schema.column(i).physical_type == "INT96" for i in range(self.metadata.num_columns))

    def read_row_groups(self, row_groups: Any, columns: Any = None, **options: Any) -> pa.Table:
        """Return the rows of row groups. See pyarrow.parquet.ParquetFile."""
        if not self.is_foreign:
            return super().read_row_groups(row_groups, columns, **options)
        found = self._as_bytes.read_row_groups(row_groups, columns, **options)
        batches = [self._as_read(batch) for batch in found.to_batches()]
        return pa.Table.from_batches(batches, None if batches else self._schema_of(found.schema))

    def iter_batches(
        self, batch_size: int = 65536, row_groups: Any = None, columns: Any = None, **options: Any
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of row groups. See pyarrow.parquet.ParquetFile."""
        if not self.is_foreign:
            yield from super().iter_batches(batch_size, row_groups, columns, **options)
            return
        for batch in self._as_bytes.iter_batches(batch_size, row_groups, columns, **options):
            yield self._as_read(batch)

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
        without = {"arrow_extensions_enabled": False, **options}
        return pq.ParquetFile(source, metadata=_with_bytes(self.metadata), **without)

    def _as_read(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return as_read(batch, self._schema_of(batch.schema))

    def _schema_of(self, found: pa.Schema) -> pa.Schema:
        """The schema of columns that are read, in which parts of structs may be left out."""
        own = self.schema_arrow
        names = own.names
        # Columns come in the order in which they were asked for. Names may repeat only where all are read.
        by_place = found.names == names
        fields = [own.field(at if by_place else names.index(field.name)) for at, field in enumerate(found)]
        return pa.schema(
            [field.with_type(_typed(one.type, field.type)) for one, field in zip(found, fields, strict=True)]
        )


def readable_footer(source: pa.NativeFile | str) -> pq.FileMetaData | None:
    """Return a footer of a file that pyarrow does not open, with which it opens it; None for damaged files.

    parquet-mr 1.11.0 gives the entries of maps the logical type UNKNOWN, which is left out. Maps with optional keys
    become lists of entries; see `with_maps`.
    """
    try:
        file = pa.OSFile(encoded(source), "rb") if isinstance(source, str) else source
        size = file.size()
        length = int.from_bytes(file.read_at(4, size - 8), "little")
        if length > size:
            # Of other bytes: pyarrow would first reserve as much memory, and keep it.
            return None
        fields = read_fields(file.read_at(length, size - 8 - length))
        elements = fields[_SCHEMA][1][1]
        groups = [element for element in elements if _CHILDREN in element]
        unknown = [group for group in groups if _UNKNOWN in group.get(_LOGICAL, (0, {}))[1]]
        for group in unknown:
            del group[_LOGICAL]
        maps = [at for at in range(len(elements) - 2) if _is_map_of_optional_keys(*elements[at : at + 3])]
        for at in maps:
            elements[at] = _converted(elements[at], _LIST)
            elements[at + 1] = {**_converted(elements[at + 1], None), _NAME: (_BINARY, ENTRIES.encode())}
        return _footer_of(fields) if unknown or maps else None
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError):
        return None


def with_parquet_types(footer: pq.FileMetaData) -> pq.FileMetaData:
    """Return the footer of a file with the types of `parquet_type` in the writer's Arrow schema."""
    fields, schema = _fields_of(footer), footer.schema.to_arrow_schema()
    plain = pa.schema([pa.field(each.name, parquet_type(each.type)) for each in schema], schema.metadata)
    text = base64.b64encode(plain.serialize().to_pybytes())
    for pair in fields[_KEY_VALUES][1][1]:
        if pair[_KEY][1] == ARROW_SCHEMA:
            pair[_VALUE] = (_BINARY, text)
    return _footer_of(fields)


def as_read(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return columns that are read as others with the types of a schema. Raises pyarrow.ArrowException."""
    columns = [_as(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _is_map_of_optional_keys(outer: dict[int, Any], entries: dict[int, Any], key: dict[int, Any]) -> bool:
    is_map = _LOGICAL_MAP in outer.get(_LOGICAL, (0, {}))[1] or outer.get(_CONVERTED, (0, None))[1] in _MAPS
    pairs = entries.get(_REPETITION, (0, None))[1] == _REPEATED and entries.get(_CHILDREN, (0, None))[1] == 2
    return is_map and pairs and key.get(_REPETITION, (0, None))[1] != _REQUIRED


def _converted(element: dict[int, Any], to: int | None) -> dict[int, Any]:
    """The element of a schema with another converted type, and without a logical type."""
    left = {number: value for number, value in element.items() if number not in (_CONVERTED, _LOGICAL)}
    return dict(sorted((left if to is None else {**left, _CONVERTED: (_I32, to)}).items()))


def _with_bytes(footer: pq.FileMetaData) -> pq.FileMetaData:
    """The footer of the same file, whose INT96 are arrays of 12 bytes, and whose long decimals are bytes."""
    fields = _fields_of(footer)
    elements = fields[_SCHEMA][1][1]
    for number, element in enumerate(elements):
        if element.get(_TYPE) == (_I32, _OF_INT96):
            elements[number] = {_TYPE: (_I32, _OF_FIXED), _LENGTH: (_I32, _INT96.itemsize), **_after_type(element)}
        elif _is_long_decimal(element):
            kept = (_TYPE, _LENGTH, _REPETITION, _NAME)
            elements[number] = {each: element[each] for each in kept if each in element}
    for group in fields[_ROW_GROUPS][1][1]:
        for chunk in group[_COLUMNS][1][1]:
            meta = chunk[_META][1]
            if meta[_TYPE] == (_I32, _OF_INT96):
                meta[_TYPE] = (_I32, _OF_FIXED)
    return _footer_of(fields)


def _with_unknown_values(footer: pq.FileMetaData) -> pq.FileMetaData | None:
    """The footer without the logical type UNKNOWN of columns that have values, which pyarrow reads as NULL.

    # Spark 4.1, ParquetToSparkSchemaConverter: their type is that of Parquet
    """
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]

    def has_values(at: int) -> bool:
        chunks = [group.column(at) for group in groups]
        found = [(each.num_values, each.statistics) for each in chunks]
        return any(one is None or not one.has_null_count or one.null_count < count for count, one in found)

    changed = [
        at
        for at in range(footer.num_columns)
        if footer.schema.column(at).logical_type.type == "UNKNOWN" and has_values(at)
    ]
    if not changed:
        return None
    fields = _fields_of(footer)
    leaves = [element for element in fields[_SCHEMA][1][1] if _CHILDREN not in element]
    for at in changed:
        del leaves[at][_LOGICAL]
    return _footer_of(fields)


def _is_long_decimal(element: dict[int, Any]) -> bool:
    is_decimal = _LOGICAL_DECIMAL in element.get(_LOGICAL, (0, {}))[1] or element.get(_CONVERTED) == (_I32, _DECIMAL)
    kind = element.get(_TYPE, (0, None))[1]
    return is_decimal and (kind == _OF_BYTES or (kind == _OF_FIXED and element[_LENGTH][1] > _DECIMAL_BYTES))


def _fields_of(footer: pq.FileMetaData) -> dict[int, Any]:
    written = pa.BufferOutputStream()
    footer.write_metadata_file(written)
    return read_fields(written.getvalue().to_pybytes()[4:-8])


def _footer_of(fields: dict[int, Any]) -> pq.FileMetaData:
    data = write_fields(fields)
    return pq.read_metadata(pa.BufferReader(b"PAR1" + data + len(data).to_bytes(4, "little") + b"PAR1"))


def _after_type(element: dict[int, Any]) -> dict[int, Any]:
    return {number: value for number, value in element.items() if number > _LENGTH}


def _typed(found: pa.DataType, own: pa.DataType) -> pa.DataType:
    """The type of values that are read as `found`, with the file's own types where they are read as others."""
    if pa.types.is_map(own) and pa.types.is_list(found):
        return own
    if pa.types.is_timestamp(own) or pa.types.is_decimal(own) or not pa.types.is_nested(found):
        return own if _is_bytes(found) else found
    if pa.types.is_struct(found):
        return pa.struct([each.with_type(_typed(each.type, own.field(each.name).type)) for each in found])
    if pa.types.is_map(found):
        key, item = _typed(found.key_type, own.key_type), _typed(found.item_type, own.item_type)
        return pa.map_(own.key_field.with_type(key), own.item_field.with_type(item))
    part = own.value_field.with_type(_typed(found.value_type, own.value_type))
    if pa.types.is_fixed_size_list(found):
        return pa.list_(part, found.list_size)
    return pa.large_list(part) if pa.types.is_large_list(found) else pa.list_(part)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_binary(kind) or pa.types.is_binary(kind))


def _as(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The array with another type, at any depth: bytes as timestamps and decimals, and lists of entries as maps."""
    kind = array.type
    if kind == wanted:
        return array
    valid = array.buffers()[0]
    if _is_bytes(kind):
        return _instants(array, wanted) if pa.types.is_timestamp(wanted) else _decimals(array, wanted)
    if pa.types.is_struct(kind):
        parts = [_as(array.field(i), wanted.field(i).type) for i in range(kind.num_fields)]
        # pyarrow 25 takes any mask for one with nulls, which the entries of a map may not have.
        return pa.StructArray.from_arrays(
            parts, fields=list(wanted), mask=array.is_null() if array.null_count else None
        )
    entries = pa.struct([wanted.key_field, wanted.item_field]) if pa.types.is_map(wanted) else wanted.value_type
    own = [valid] if pa.types.is_fixed_size_list(kind) else [valid, array.buffers()[1]]
    if pa.types.is_map(wanted) and not pa.types.is_map(kind) and array.values.field(0).null_count:
        raise pa.ArrowInvalid("a map has NULL as a key, which Spark does not read")
    inner = _as(array.values, entries)
    return pa.Array.from_buffers(wanted, len(array), own, array.null_count, array.offset, [inner])


def _instants(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    stored = np.frombuffer(array.buffers()[1], _INT96)[array.offset : array.offset + len(array)]
    nanos, days = stored["nanos"], stored["day"].astype(np.int64) - _EPOCH_DAY
    # Java's division is towards zero.
    micros = nanos // 1000 + ((nanos < 0) & (nanos % 1000 != 0)) + days * _MICROS_OF_DAY
    found = pa.Array.from_buffers(pa.int64(), len(array), [None, pa.py_buffer(micros)])
    return pc.if_else(array.is_valid(), found, None).cast(wanted) if array.null_count else found.cast(wanted)


def _decimals(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Unscaled values in two's complement, the highest byte first, as decimals."""
    found = np.zeros((len(array), _DECIMAL_BYTES), np.uint8)
    sizes = filled(pc.binary_length(array), -1).to_numpy(zero_copy_only=False)
    for size in np.unique(sizes[sizes >= 0]).tolist():
        places = np.flatnonzero(sizes == size)
        if not size:
            raise pa.ArrowInvalid("a decimal has no bytes")
        chosen = array.take(pa.array(places)).cast(pa.binary(size))
        stored = np.frombuffer(chosen.buffers()[1], np.uint8)[chosen.offset * size :].reshape(-1, size)
        signs = np.where(stored[:, :1] >> 7, np.uint8(255), np.uint8(0))
        low = stored[:, -_DECIMAL_BYTES:]
        if (stored[:, :-_DECIMAL_BYTES] != signs).any() or (
            size > _DECIMAL_BYTES and ((low[:, 0] ^ signs[:, 0]) >> 7).any()
        ):
            raise pa.ArrowInvalid(f"a decimal has more digits than {wanted}")
        found[places] = signs
        found[places[:, None], np.arange(_DECIMAL_BYTES - low.shape[1], _DECIMAL_BYTES)] = low
    data = pa.py_buffer(np.ascontiguousarray(found[:, ::-1]))
    values = pa.Array.from_buffers(wanted, len(array), [None, data])
    values.validate(full=True)
    return pc.if_else(array.is_valid(), values, None) if array.null_count else values


def _type_ids(schema: pa.Schema) -> set[int]:
    """The ids of the types of columns, and of the types inside of them; _LOCAL_TIME for times without time zone."""
    found, pending = set[int](), [field.type for field in schema]
    while pending:
        kind = pending.pop()
        found.add(_LOCAL_TIME if kind.id == _TIMESTAMP and kind.tz is None else kind.id)
        pending += [kind.field(i).type for i in range(kind.num_fields)]
    return found

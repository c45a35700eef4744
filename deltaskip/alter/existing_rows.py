"""The rows that a table has already: whether each satisfies a new constraint, and the extreme value of a column.

Statistics decide first. Files that they do not decide are read with pyarrow, and through the active Spark session where
an expression, a type or a file needs it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.actions import hadoop_path
from deltaskip.alter.state import TableState
from deltaskip.engine import engine, session_ansi
from deltaskip.errors import DataFileMissing, NotProvable, PredicateError, StorageError, UnsupportedFeature
from deltaskip.expr import columns_in
from deltaskip.features.deletion_vectors import read_deletion_vectors
from deltaskip.kernels.deletion_vector import live_rows
from deltaskip.log import Snapshot
from deltaskip.rows.arrow import ArrowRows
from deltaskip.rows.arrow_store import ArrowTarget, needs_session, store_array, stored_type
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.rules import Rule, violation
from deltaskip.schema import physical_name
from deltaskip.schema.arrow_values import one_chunk
from deltaskip.schema.calendar import zone_of
from deltaskip.schema.resolve import display_name, fold_name
from deltaskip.schema.types import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    nested_types,
)
from deltaskip.skipping.scan import Scan
from deltaskip.stats.footer import calendar_of, read_footer
from deltaskip.storage import storage_for

__all__ = ["check_existing_rows", "extreme_value"]

_BATCH_ROWS = 1 << 16
_FILES = 256
_FILE_COLUMNS = ["uri", "size", "partition_values", "deletion_vector"]
_DATED = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def check_existing_rows(state: TableState, name: str, expression: str) -> None:
    """Raise RowViolation if a row of the table violates the constraint, with the first such row that is found.

    Raises UnsupportedFeature if only Spark can evaluate the constraint, and there is no session.
    """
    snapshot = _as_of(state)
    rule = Rule(name, "check", expression, f"({expression}\n)")
    try:
        files = Scan(snapshot, rule.sql).unproved().files(columns=_FILE_COLUMNS)
    except PredicateError:
        # Spark may know what deltaskip does not.
        files = Scan(snapshot, None).files(columns=_FILE_COLUMNS)
    fields = _used(state.schema, expression)
    try:
        for batch in _rows(snapshot, files, fields):
            _checker(rule, fields, state.table).convert(batch)
    except UnsupportedFeature as error:
        _check_with_spark(snapshot, rule, state.table, error)


def extreme_value(state: TableState, field: StructField, side: Literal["min", "max"]) -> int | None:
    """Return the least or greatest value of a BIGINT column; None if it has none."""
    snapshot = _as_of(state)
    scan = Scan(snapshot, None)
    try:
        found = scan.max(display_name([field.name])) if side == "max" else scan.min(display_name([field.name]))
    except NotProvable:
        found = None
        files = scan.files(columns=_FILE_COLUMNS)
        for batch in _rows(snapshot, files, [StructField(field.name, field.type, True, field.metadata)]):
            values = pc.min_max(batch.column(field.name))[side].as_py()
            if values is not None:
                found = values if found is None else (max if side == "max" else min)(found, values)
    return None if found is None else int(found)


def _as_of(state: TableState) -> Snapshot:
    """The files of the table with the columns of the state."""
    return state.snapshot.with_state(state.protocol_with_mapping, state.written_metadata)


def _used(schema: StructType, expression: str) -> list[StructField]:
    """The columns that an expression uses, nullable, and one at least, which shows how many rows there are."""
    names = {fold_name(parts[0]) for parts in columns_in(expression)}
    found = [field for field in schema.fields if fold_name(field.name) in names]
    return [StructField(f.name, f.type, True, f.metadata) for f in found or schema.fields[:1]]


def _checker(rule: Rule, fields: Sequence[StructField], table: str) -> ArrowRows:
    schema = StructType(tuple(fields))
    columns = tuple(PlannedColumn(field, "given", "", field) for field in fields)
    return ArrowRows(RowPlan(table, schema, False, {}, (), columns, (rule,)))


def _check_with_spark(snapshot: Snapshot, rule: Rule, table: str, why: UnsupportedFeature) -> None:
    if session_ansi() is None:
        raise why
    spark_engine = engine(f"Checking the constraint {rule.name} on rows of {table}")
    with tempfile.TemporaryDirectory() as scratch, spark_engine.local_session(Path(scratch)) as session:
        frame = spark_engine.scan_to_dataframe(session, Scan(snapshot, None))
        found = frame.where(f"NOT (({rule.sql}) <=> TRUE)").limit(1).collect()
    if found:
        raise violation(rule, found[0].asDict(recursive=True), table)


@dataclass(frozen=True, slots=True)
class _File:
    """A data file to read: its location, size, the typed partition values, and the deleted rows."""

    location: str
    size: int
    partition: pa.StructScalar | None
    deleted: pa.Int64Array | None


def _rows(snapshot: Snapshot, files: pa.Table, fields: Sequence[StructField]) -> Iterator[pa.RecordBatch]:
    """The rows of the files that are not deleted, with these columns by their logical names and types.

    Raises UnsupportedFeature for what only Spark reads.
    """
    if not len(files):
        return
    _check_readable(snapshot, fields)
    for start in range(0, len(files), _FILES):
        some = files.slice(start, _FILES).combine_chunks()
        vectors = read_deletion_vectors(snapshot.storage, snapshot.table_root, one_chunk(some["deletion_vector"]))
        values = one_chunk(some["partition_values"])
        for i, deleted in enumerate(vectors):
            partition = values[i] if snapshot.partition_columns else None
            location = hadoop_path(snapshot.table_root, some["uri"][i].as_py())
            file = _File(location, some["size"][i].as_py(), partition, deleted)
            yield from _file_rows(snapshot, file, fields)


def _check_readable(snapshot: Snapshot, fields: Sequence[StructField]) -> None:
    if snapshot.mapping_mode == "id":
        raise needs_session("Checking rows", snapshot.root, "its files name columns by ids.")
    for field in fields:
        for data_type in nested_types(field.type):
            if isinstance(data_type, ArrayType | MapType) or data_type == VARIANT:
                raise needs_session("Checking rows", snapshot.root, f"the column {field.name} has a nested type.")


def _file_rows(snapshot: Snapshot, file: _File, fields: Sequence[StructField]) -> Iterator[pa.RecordBatch]:
    storage = storage_for(file.location, near=snapshot.storage)
    partitions = {fold_name(name) for name in snapshot.partition_columns}
    stored = {f.name: physical_name(f, snapshot.mapping_mode) for f in fields if fold_name(f.name) not in partitions}
    try:
        has_dates = any(t in _DATED for f in fields if f.name in stored for t in nested_types(f.type))
        if has_dates and any(calendar_of(read_footer(storage, file.location, file.size))):
            raise needs_session("Checking rows", snapshot.root, f"dates in {file.location} may be in an old calendar.")
        with storage.open_input(file.location) as source:
            parquet = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            present = {*parquet.schema_arrow.names}
            names = [name for name in stored.values() if name in present] or parquet.schema_arrow.names[:1]
            start = 0
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=names, use_threads=False):
                rows = batch.num_rows
                if file.deleted is not None and len(file.deleted):
                    batch = batch.filter(live_rows(file.deleted, start, rows).to_arrow())
                start += rows
                columns = [_column(snapshot, file, batch, field, stored.get(field.name)) for field in fields]
                yield pa.RecordBatch.from_arrays(columns, names=[field.name for field in fields])
    except FileNotFoundError as error:
        raise DataFileMissing(
            f"The log of {snapshot.root} references the data file {file.location}, which does not exist; restore it, "
            f"or remove it from the table."
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"The data file {file.location} of {snapshot.root} cannot be read: {error}.") from error


def _column(
    snapshot: Snapshot, file: _File, batch: pa.RecordBatch, field: StructField, stored: str | None
) -> pa.Array:
    if stored is None:
        partition = file.partition
        assert partition is not None
        name = next(n for n in snapshot.partition_columns if fold_name(n) == fold_name(field.name))
        one = pa.array([partition[name].as_py()], stored_type(field.type))
        return one.take(pa.array(np.zeros(batch.num_rows, np.int64)))
    if stored not in batch.schema.names:
        return pa.nulls(batch.num_rows, stored_type(field.type))
    found = _logical(one_chunk(batch.column(stored)), field.type, snapshot)
    return store_array(found, field.type, (field.name,), ArrowTarget(snapshot.root, zone_of("UTC")))


def _logical(array: pa.Array, data_type: DataType, snapshot: Snapshot) -> pa.Array:
    """The array with the logical names of nested fields, and instants where files have INT96."""
    if isinstance(data_type, StructType) and pa.types.is_struct(array.type):
        given = dict(zip((f.name for f in array.type), array.flatten(), strict=True))
        fields = [(f, given.get(physical_name(f, snapshot.mapping_mode))) for f in data_type.fields]
        known = [(f.name, _logical(values, f.type, snapshot)) for f, values in fields if values is not None]
        if not known:
            return pa.nulls(len(array), stored_type(data_type))
        names, arrays = [name for name, _ in known], [values for _, values in known]
        return pa.StructArray.from_arrays(arrays, names=names, mask=array.is_null())
    if data_type == TIMESTAMP and pa.types.is_timestamp(array.type) and array.type.tz is None:
        return array.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    return array

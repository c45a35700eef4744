"""Rows of data files as Arrow: columns under the table's names and in its types, read by pyarrow in this process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.actions import hadoop_path
from deltaskip.errors import DataFileMissing, DeltaSkipError, StorageError, UnsupportedFeature
from deltaskip.features.deletion_vectors import read_deletion_vectors
from deltaskip.kernels.deletion_vector import live_rows
from deltaskip.log import Snapshot
from deltaskip.rows.arrow_store import ArrowTarget, store_array, stored_type
from deltaskip.rows.store import written_type
from deltaskip.schema.arrow_values import arrow_array, numpy_values, one_chunk
from deltaskip.schema.calendar import zone_of
from deltaskip.schema.mapping import MappingMode, field_id, physical_name
from deltaskip.schema.types import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    nested_types,
)
from deltaskip.storage import Storage, storage_for

__all__ = ["StoredBatch", "StoredRows", "stored_file_rows"]

_ID = b"PARQUET:field_id"
# Files with dates or times of the Julian calendar, which Spark converts and pyarrow does not.
_LEGACY_KEYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_VERSION_KEY = b"org.apache.spark.version"
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Some rows of a file: their positions in it, ascending, and their columns."""

    positions: npt.NDArray[Any]
    columns: Mapping[str, pa.Array]

    def filter(self, mask: npt.NDArray[Any]) -> StoredBatch:
        """Return the rows where the mask is true."""
        if mask.all():
            return self
        chosen = arrow_array(np.flatnonzero(mask), pa.int64())
        return StoredBatch(self.positions[mask], {name: each.take(chosen) for name, each in self.columns.items()})


class StoredRows:
    """Reads rows of the files of a table.

    Args:
        snapshot: The table.
        schema: The schema to read the rows with; a column that a file lacks is null.
        mode: The column mapping mode of the schema.
        columns: Top-level columns to read.
        extra: Further columns of files, by the names that files have; null where a file lacks one.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        schema: StructType,
        mode: MappingMode,
        columns: Collection[str] | None = None,
        extra: Sequence[StructField] = (),
    ) -> None:
        self._snapshot = snapshot
        self._mode = mode
        self._fields = [field for field in schema.fields if columns is None or field.name in columns]
        self._types = {
            field.name: field.type if field.type == VOID else written_type(field.type, (field.name,), snapshot.root)
            for field in self._fields
        }
        self._partitions = frozenset(snapshot.partition_columns)
        self._extra = extra
        self._target = ArrowTarget(snapshot.root, zone_of("UTC"))

    def live(self, files: pa.Table) -> Iterator[tuple[int, StoredBatch]]:
        """Yield the number of a file and a batch of its rows that are not deleted. files: `DataFiles.listed`."""
        snapshot = self._snapshot
        vectors = one_chunk(files["deletion_vector"])
        for number in range(len(files)):
            [deleted] = read_deletion_vectors(snapshot.storage, snapshot.table_root, vectors.slice(number, 1))
            for batch in self._batches(files.slice(number, 1)):
                if deleted is not None and len(batch.positions):
                    keep = live_rows(deleted, int(batch.positions[0]), len(batch.positions))
                    batch = batch.filter(numpy_values(keep.to_arrow()))
                if len(batch.positions):
                    yield number, batch

    def _batches(self, file: pa.Table) -> Iterator[StoredBatch]:
        """All rows of one file."""
        location = hadoop_path(self._snapshot.table_root, file["uri"][0].as_py())
        partition = one_chunk(file["partition_values"])
        constants = {
            field.name: one_chunk(pc.struct_field(partition, [field.name]))
            for field in self._fields
            if field.name in self._partitions
        }
        try:
            with storage_for(location, near=self._snapshot.storage).open_input(location) as source:
                parquet = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
                self._check_calendar(parquet, location)
                yield from self._read(parquet, location, constants)
        except FileNotFoundError as error:
            raise DataFileMissing(
                f"The log of {self._snapshot.root} lists the data file {location}, which does not exist; it may have "
                f"been vacuumed: open a newer version or restore the file."
            ) from error
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, DeltaSkipError):
                raise
            raise StorageError(f"The data file {location} cannot be read: {error}; restore the file.") from error

    def _read(
        self, parquet: pq.ParquetFile, location: str, constants: Mapping[str, pa.Array]
    ) -> Iterator[StoredBatch]:
        found = {
            field.name: self._in_file(parquet.schema_arrow, field)
            for field in self._fields
            if field.name not in constants and field.type != VOID
        }
        there = set(parquet.schema_arrow.names)
        names = [name for name in found.values() if name is not None]
        names += [field.name for field in self._extra if field.name in there]
        # pyarrow takes a dot in a name for a path.
        chosen = None if any("." in name for name in names) else names
        start = 0
        if not names:
            total = parquet.metadata.num_rows
            for start in range(0, total, _BATCH_ROWS):
                yield self._batch(None, found, constants, start, min(_BATCH_ROWS, total - start), location)
            return
        for batch in parquet.iter_batches(_BATCH_ROWS, columns=chosen):
            yield self._batch(batch, found, constants, start, batch.num_rows, location)
            start += batch.num_rows

    def _batch(
        self,
        batch: pa.RecordBatch | None,
        found: Mapping[str, str | None],
        constants: Mapping[str, pa.Array],
        start: int,
        rows: int,
        location: str,
    ) -> StoredBatch:
        columns: dict[str, pa.Array] = {}
        for field in self._fields:
            name = found.get(field.name)
            if field.name in constants:
                columns[field.name] = constants[field.name].take(arrow_array(np.zeros(rows, np.int64)))
            elif batch is None or name is None:
                columns[field.name] = pa.nulls(rows, stored_type(self._types[field.name]))
            else:
                columns[field.name] = self._stored(batch.column(name), field, location)
        there = set() if batch is None else set(batch.schema.names)
        for field in self._extra:
            nothing = pa.nulls(rows, stored_type(field.type))
            columns[field.name] = nothing if batch is None or field.name not in there else batch.column(field.name)
        return StoredBatch(np.arange(start, start + rows, dtype=np.int64), columns)

    def _stored(self, array: pa.Array, field: StructField, location: str) -> pa.Array:
        renamed = self._named(array.type, field.type, location)
        array = array if renamed == array.type else array.view(renamed)
        return store_array(array, self._types[field.name], (field.name,), self._target)

    def _in_file(self, schema: pa.Schema, field: StructField) -> str | None:
        """The name of a top-level column in a file; None if the file lacks it."""
        if self._mode == "id":
            wanted = str(field_id(field)).encode()
            return next((each.name for each in schema if (each.metadata or {}).get(_ID) == wanted), None)
        name = physical_name(field, self._mode)
        return name if name in schema.names else None

    def _named(self, stored: pa.DataType, data_type: DataType, location: str) -> pa.DataType:
        """The type of a file's column with the names of the table; fields that the table lacks keep theirs."""
        match data_type:
            case StructType(fields) if pa.types.is_struct(stored):
                by_key = {self._key(f): f for f in fields}
                return pa.struct([self._named_field(each, by_key, location) for each in stored])
            case ArrayType(element) if pa.types.is_list(stored):
                return pa.list_(pa.field("element", self._named(stored.value_type, element, location)))
            case MapType(key, value) if pa.types.is_map(stored):
                return pa.map_(
                    self._named(stored.key_type, key, location), self._named(stored.item_type, value, location)
                )
            case _ if data_type == VARIANT and pa.types.is_struct(stored) and stored.num_fields != 2:
                raise UnsupportedFeature(
                    f"The data file {location} has a shredded variant, which cannot be read without Spark. Write the "
                    f"rows as a DataFrame of a Spark session."
                )
            case _:
                return stored

    def _named_field(self, stored: pa.Field, fields: Mapping[object, StructField], location: str) -> pa.Field:
        key = (stored.metadata or {}).get(_ID, b"").decode() if self._mode == "id" else stored.name
        field = fields.get(key)
        if field is None:
            # A name that no column has, since a dropped field may have had the name of another one.
            return pa.field(f"\0{stored.name}" if self._mode != "none" else stored.name, stored.type)
        return pa.field(field.name, self._named(stored.type, field.type, location))

    def _key(self, field: StructField) -> object:
        return str(field_id(field)) if self._mode == "id" else physical_name(field, self._mode)

    def _check_calendar(self, parquet: pq.ParquetFile, location: str) -> None:
        metadata = parquet.metadata.metadata or {}
        legacy = any(key in metadata for key in _LEGACY_KEYS) or metadata.get(_VERSION_KEY, b"3").startswith(b"2.")
        timed = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
        if legacy and any(each in timed for field in self._fields for each in nested_types(field.type)):
            raise UnsupportedFeature(
                f"The data file {location} has dates of the Julian calendar, which cannot be read without Spark. Write "
                f"the rows as a DataFrame of a Spark session."
            )


def stored_file_rows(storage: Storage, location: str) -> int:
    """Return the number of rows in a data file, from its footer. Raises StorageError."""
    try:
        with storage_for(location, near=storage).open_input(location) as source:
            return int(pq.ParquetFile(source).metadata.num_rows)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DeltaSkipError):
            raise
        raise StorageError(f"The data file {location} cannot be read: {error}; restore the file.") from error

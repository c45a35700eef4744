"""The files of a scan as a pyarrow dataset, where that has exactly the rows of the scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pyarrow.fs as pfs
import pyarrow.parquet as pq

from deltaskip.actions import hadoop_path
from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, StorageError, UnsupportedFeature
from deltaskip.reading.arrow_rows import arrow_schema_of
from deltaskip.reading.julian import may_be_julian
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values.arrow_values import one_chunk
from deltaskip.stats.footer import data_file_missing
from deltaskip.stats.parquet_input import ParquetInput
from deltaskip.storage import Storage, is_local, storage_for

_THREADS = 16
_NARROWER: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int16(): (pa.int8(),),
    pa.int32(): (pa.int8(), pa.int16()),
    pa.int64(): (pa.int8(), pa.int16(), pa.int32()),
    pa.float64(): (pa.float32(),),
    pa.string(): (pa.large_string(),),
    pa.binary(): (pa.large_binary(),),
    pa.timestamp("us", "UTC"): (pa.timestamp("ms", "UTC"),),
}


def arrow_dataset(scan: Scan) -> pds.Dataset:
    """Return a dataset of the files of a scan with the schema `arrow_schema_of`. Reads the footer of every file.

    Raises:
        UnsupportedFeature: The dataset would have other rows than the scan.
        DataFileMissing: A file does not exist.
        StorageError: A file cannot be read.
    """
    root, storage = scan.snapshot.table_root, scan.snapshot.storage
    files = scan.files(columns=["uri", "partition_values", "deletion_vector"])
    why = _inexact(scan, files)
    if why is not None:
        raise _refused(root, why)
    schema = arrow_schema_of(scan)
    partitions = [name for name in scan.snapshot.partition_columns if name in schema.names]
    stored = [field for field in schema if field.name not in partitions]
    locations = [hadoop_path(root, uri) for uri in files["uri"].to_pylist()]
    with ThreadPoolExecutor(_THREADS, "deltaskip") as pool:
        misfits = pool.map(lambda location: _misfit(storage, location, stored), locations)
        for location, misfit in zip(locations, misfits, strict=True):
            if misfit is not None:
                raise _refused(root, f"the file {location} {misfit}")
    system = pfs.LocalFileSystem() if all(map(is_local, locations)) else pfs.PyFileSystem(_DataFiles(storage))
    form = pds.ParquetFileFormat(coerce_int96_timestamp_unit="us", arrow_extensions_enabled=False)
    values = one_chunk(files["partition_values"])
    columns = [one_chunk(pc.struct_field(values, [name])) for name in partitions]
    fragments = []
    for number, location in enumerate(locations):
        expression = pc.scalar(True)
        for name, column in zip(partitions, columns, strict=True):
            value = column[number]
            expression &= (pc.field(name) == value) if value.is_valid else pc.field(name).is_null()
        fragments.append(form.make_fragment(location, system, expression))
    return pds.FileSystemDataset(fragments, schema, form, system)


def _refused(root: str, why: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"A dataset of pyarrow would not have the rows of this scan of {root}: {why}. Read them with to_arrow or "
        f"to_batches instead."
    )


def _inexact(scan: Scan, files: pa.Table) -> str | None:
    """Why the files of a scan do not have exactly its rows, as far as the log shows; None if they do."""
    snapshot = scan.snapshot
    if scan.limit is not None:
        return "it has a limit"
    if files["deletion_vector"].null_count < len(files):
        return "a file has a deletion vector"
    mode = snapshot.mapping_mode
    if mode == "id":
        return "its columns are found by field id (delta.columnMapping.mode = id)"
    names = set(arrow_schema_of(scan).names)
    renamed = next((name for f in snapshot.schema.fields if f.name in names for name in _renamed(f, mode)), None)
    if renamed is not None:
        return f"its column {renamed} has another name in files (delta.columnMapping.mode = name)"
    padded = next((f.name for f in snapshot.schema.fields if f.name in names and declares_char(f)), None)
    if padded is not None:
        return f"strings of its column {padded}, of type CHAR, are padded when they are read"
    if scan.where is not None:
        others = scan.negated().files(columns=["uri"])["uri"]
        if pc.any(pc.is_in(files["uri"], value_set=one_chunk(others))).as_py():
            return "its predicate must be evaluated for the rows of a file: scan without it, and filter the dataset"
    return None


def _renamed(field: t.StructField, mode: t.MappingMode) -> Iterator[str]:
    """The columns at or below a field that have another name in files."""
    if t.physical_name(field, mode) != field.name:
        yield field.name
    for each in t.nested_types(field.type, into_structs=False):
        if isinstance(each, t.StructType):
            yield from (name for below in each.fields for name in _renamed(below, mode))


def _misfit(storage: Storage, location: str, fields: Sequence[pa.Field]) -> str | None:
    """Why pyarrow reads other values from a file than the table has; None if it reads the same."""
    try:
        with storage_for(location, near=storage).open_input(location) as source:
            parquet = ParquetInput(source, as_written=True)
            if parquet.has_foreign_types:
                return "has decimals or maps in a form that pyarrow does not read"
            schema, metadata = parquet.schema_arrow, parquet.metadata
            misread = parquet.misread(field.name for field in fields if _is_int96(metadata, field))
    except FileNotFoundError as error:
        raise data_file_missing(location) from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DeltaSkipError):
            raise
        raise StorageError(f"The data file {location} cannot be read: {first_line(error)}; restore it.") from error
    folded: dict[str, list[str]] = {}
    for name in schema.names:
        folded.setdefault(t.fold_name(name), []).append(name)
    for field in fields:
        there = folded.get(t.fold_name(field.name), [])
        if there and there != [field.name]:
            return f"has columns named {', '.join(there)}"
        if not there:
            continue
        stored = schema.field(field.name).type
        if stored != field.type and not _is_widened(stored, field.type) and not _is_int96(metadata, field):
            return f"stores {field.name} as {stored}, which the table has as {field.type}"
        if may_be_julian(metadata) and _has_time(stored):
            return "may have dates of the Julian calendar"
        if field.name in misread:
            return f"has values of INT96 in {field.name} that pyarrow reads as others"
    return None


def _is_widened(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether pyarrow casts every stored value to the table's type as Spark does."""
    if pa.types.is_decimal(stored) and pa.types.is_decimal(wanted):
        return bool(stored.scale == wanted.scale and stored.precision <= wanted.precision)
    return stored in _NARROWER.get(wanted, ())


def _is_int96(footer: pq.FileMetaData, field: pa.Field) -> bool:
    """Whether a timestamp is stored as INT96, which is an instant although pyarrow reads it without a time zone."""
    columns = map(footer.schema.column, range(footer.num_columns))
    return field.type == pa.timestamp("us", "UTC") and any(
        column.path == field.name and column.physical_type == "INT96" for column in columns
    )


def _has_time(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_time(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


class _DataFiles(pfs.FileSystemHandler):  # type: ignore[misc]
    """Data files in a storage, for reading only."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open a file for random access."""
        return storage_for(path, near=self._storage).open_input(path)

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open a file for reading."""
        return self.open_input_file(path)

    def get_file_info(self, paths: Sequence[str]) -> list[pfs.FileInfo]:
        """Return the known facts about files."""
        return [pfs.FileInfo(path, pfs.FileType.File) for path in paths]

    def get_type_name(self) -> str:
        """Return the name of the file system."""
        return "deltaskip"

    def normalize_path(self, path: str) -> str:
        """Return the path as it is."""
        return path

    def _refuse(self, *_: object) -> Any:
        raise UnsupportedFeature("The files of a dataset of a scan are opened by their names, for reading only.")

    get_file_info_selector = create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse

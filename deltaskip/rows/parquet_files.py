"""Data files that this process writes from Arrow record batches, with their statistics, without Spark."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.actions import AddFile
from deltaskip.actions.partition_folders import encode_path, partition_folder, partition_texts, random_folder
from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.rows.parquet_schema import leaf_paths, parquet_schema
from deltaskip.rows.written import WrittenRows, delete_data_files
from deltaskip.schema.arrow import VARIANT_STORAGE, arrow_type
from deltaskip.schema.arrow_values import domain_values, numpy_values
from deltaskip.schema.mapping import MappingMode, physical_name
from deltaskip.schema.types import StructField, StructType
from deltaskip.stats.file_facts import FileReader, StatisticsRequest, stats_json
from deltaskip.storage import LocalStorage, Storage, join

__all__ = ["CHANGE_FOLDER", "DEFAULT_CODEC", "DEFAULT_FILE_BYTES", "DataFileLayout", "write_data_files"]

# As delta-spark 4.4, although the protocol's default is zstd, which not every reader of Parquet has.
DEFAULT_CODEC = "snappy"
DEFAULT_FILE_BYTES = 128 << 20

CHANGE_FOLDER = "_change_data"
"""The folder of the files of the change data feed.

# PROTOCOL, Change Data Files
"""

# A row group holds about this many bytes in memory; what waits for its row group takes at most the second figure.
_ROW_GROUP_BYTES = 128 << 20
_WAITING_BYTES = 512 << 20
# Each file that is being written holds a file descriptor.
_OPEN_FILES = 200
_CLOSING_THREADS = 16
_SAMPLE_ROWS = 4096
# A dictionary pays if it is well below the number of values.
_MOST_DISTINCT = 0.5

_EXTENSIONS = {"none": "", "uncompressed": "", "gzip": ".gz", "lz4": ".lz4_raw"}
_CODECS = {"none": None, "uncompressed": None, "lz4": "lz4_raw"}


@dataclass(frozen=True, slots=True)
class DataFileLayout:
    """Where the data files of a table go, and what they contain.

    Args:
        storage: The storage of the table.
        root: Location of the table.
        schema: Schema of the table.
        partition_columns: The partition columns by logical name, in order.
        mapping_mode: Column mapping mode of the table.
        request: The statistics of each file.
        codec: Compression codec, as Parquet names it: snappy, zstd, gzip, lz4_raw, brotli or none.
        target_bytes: Size at which the next file begins.
        keeps_partition_columns: Whether files also contain the partition columns.
        random_prefix: Number of letters of the random folder that replaces the folders of partitions; None for those.
        time_zone: Time zone of timestamps in the names of folders.
        extra: Columns of the rows that files contain beside the table's, without statistics: row ids, kind of change.
        change_data: Whether the files are those of the change data feed, which have a folder of their own.
        balanced: Whether Spark redistributes rows that are not partitioned, too, for files near the target size.
    """

    storage: Storage
    root: str
    schema: StructType
    partition_columns: tuple[str, ...]
    mapping_mode: MappingMode
    request: StatisticsRequest
    codec: str = DEFAULT_CODEC
    target_bytes: int = DEFAULT_FILE_BYTES
    keeps_partition_columns: bool = False
    random_prefix: int | None = None
    time_zone: str = "UTC"
    extra: tuple[StructField, ...] = ()
    change_data: bool = False
    balanced: bool = False

    def partition_fields(self) -> list[StructField]:
        """The partition columns, in order."""
        fields = {field.name: field for field in self.schema.fields}
        return [fields[name] for name in self.partition_columns]

    def folder(self, values: Sequence[Any]) -> str:
        """Return the folder of a partition, or the random one, as a path below the table's root; "" for the root."""
        if self.random_prefix is not None:
            folder = random_folder(self.random_prefix)
        else:
            names = [physical_name(field, self.mapping_mode) for field in self.partition_fields()]
            fields = [
                StructField(name, field.type) for name, field in zip(names, self.partition_fields(), strict=True)
            ]
            folder = partition_folder(fields, values, self.time_zone)
        return "/".join(filter(None, (CHANGE_FOLDER if self.change_data else "", folder)))


def write_data_files(batches: Iterable[pa.RecordBatch], layout: DataFileLayout) -> WrittenRows:
    """Write the rows as Parquet files of about the target size, each of one partition.

    Memory is bounded by the row groups that wait to be written, not by the number of rows. After an error the files
    that were written are deleted, where the storage allows it.

    Args:
        batches: Rows with the columns of the table's schema but for void ones, of the types of `schema.arrow_schema`,
            and the extra columns of the layout.
        layout: Where the files go, and what they contain.

    Returns:
        An add action for each file, with statistics, in the order of their paths. No file is without rows.

    Raises:
        PartitionValueError: A partition value has no text.
        StorageError: A file cannot be written.
    """
    writer = _Writer(layout)
    rows = 0
    try:
        for batch in batches:
            writer.put(batch)
            rows += batch.num_rows
        return WrittenRows(tuple(writer.finish()), rows)
    except BaseException:
        writer.abandon()
        raise


class _Writer:
    """Rows by partition until they fill a row group, and the open file of each partition."""

    def __init__(self, layout: DataFileLayout) -> None:
        self._layout = layout
        schema = layout.schema
        partitions = set(layout.partition_columns)
        self._partition_fields = layout.partition_fields()
        kept = [i for i, field in enumerate(schema.fields) if field.name not in partitions]
        if layout.keeps_partition_columns:
            # PROTOCOL, IcebergCompatV1: after the data columns.
            kept += [schema.names.index(name) for name in layout.partition_columns]
        parquet, indexes = parquet_schema(schema, kept, layout.mapping_mode)
        self._parquet = pa.schema([*parquet, *(pa.field(f.name, arrow_type(f.type)) for f in layout.extra)])
        self._names = [*(schema.fields[i].name for i in indexes), *(field.name for field in layout.extra)]
        self._waiting: dict[_Partition, _Waiting] = {}
        self._waiting_bytes = 0
        self._open: dict[_Partition, _OpenFile] = {}
        self._done: list[AddFile] = []
        self._written: list[str] = []
        self._job = str(uuid4())
        self._numbers = count()
        self._dictionary: list[str] | None = None
        self._reader = FileReader(layout.request, exact_floats=True)

    def put(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        for partition, rows in self._by_partition(batch):
            waiting = self._waiting.setdefault(partition, _Waiting())
            waiting.put(rows)
            self._waiting_bytes += rows.nbytes
            if waiting.nbytes >= _ROW_GROUP_BYTES:
                self._flush(partition)
        while self._waiting_bytes > _WAITING_BYTES:
            self._flush(max(self._waiting, key=lambda each: self._waiting[each].nbytes))

    def finish(self) -> list[AddFile]:
        partitions = list(self._waiting)
        if len(partitions) > 1:
            # pyarrow encodes without the GIL, and partitions share no file.
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                for group in _chunks(partitions, _OPEN_FILES):
                    self._make_room(len(group))
                    list(pool.map(self._flush, group))
        else:
            for partition in partitions:
                self._flush(partition)
        # Closing waits for the disk, and what several threads wait for is synced together.
        with ThreadPoolExecutor(_CLOSING_THREADS) as pool:
            list(pool.map(self._close, list(self._open)))
        return sorted(self._done, key=lambda file: file.path)

    def abandon(self) -> None:
        for each in self._open.values():
            each.abandon()
        delete_data_files(self._layout.storage, self._layout.root, self._written)

    def _by_partition(self, batch: pa.RecordBatch) -> Iterator[tuple[_Partition, pa.RecordBatch]]:
        """The rows of each partition, with the data columns under their physical names."""
        data = self._data(batch)
        if not self._partition_fields:
            yield _Partition((), ()), data
            return
        columns = [batch.column(field.name) for field in self._partition_fields]
        texts = [
            partition_texts(column, field.type) for column, field in zip(columns, self._partition_fields, strict=True)
        ]
        codes = _codes(texts)
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        data = data if len(starts) == 1 else data.take(pa.array(order))
        for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
            row = int(order[start])
            values = tuple(domain_values(column.slice(row, 1))[0] for column in columns)
            key = tuple(text[row].as_py() for text in texts)
            yield _Partition(key, values), data.slice(start, end - start)

    def _data(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [
            _viewed(batch.column(name), field.type) for name, field in zip(self._names, self._parquet, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._parquet)

    def _flush(self, partition: _Partition) -> None:
        """Write what waits of the partition as a row group."""
        waiting = self._waiting.pop(partition)
        self._waiting_bytes -= waiting.nbytes
        table = pa.Table.from_batches(waiting.batches, self._parquet)
        nan = frozenset(_leaves_with_nan(table))
        file = self._open.get(partition)
        if file is not None and not nan <= file.without_statistics:
            self._close(partition)
            file = None
        if file is None:
            self._make_room(1)
            file = self._open[partition] = self._begin(partition, table, nan)
        file.write(table)
        if file.size >= self._layout.target_bytes:
            self._close(partition)

    def _make_room(self, files: int) -> None:
        while self._open and len(self._open) + files > _OPEN_FILES:
            self._close(next(iter(self._open)))

    def _begin(self, partition: _Partition, first: pa.Table, nan: frozenset[str]) -> _OpenFile:
        layout = self._layout
        codec = layout.codec
        extension = _EXTENSIONS.get(codec, f".{codec}")
        kind = "cdc" if layout.change_data else "part"
        name = f"{kind}-{next(self._numbers):05}-{self._job}.c000{extension}.parquet"
        folder = layout.folder(partition.values)
        path = f"{folder}/{name}" if folder else name
        self._written.append(path)
        if self._dictionary is None:
            self._dictionary = _dictionary_columns(first)
        location = join(layout.root, path)
        return _OpenFile(layout.storage, location, path, self._parquet, codec, self._dictionary, nan)

    def _close(self, partition: _Partition) -> None:
        file = self._open.pop(partition)
        names = [physical_name(field, self._layout.mapping_mode) for field in self._partition_fields]
        self._done.append(file.close(self._reader, self._layout.request, dict(zip(names, partition.key, strict=True))))


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition by its texts in the log; `values` are those of the first row, which has the same texts."""

    key: tuple[str | None, ...]
    values: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Partition) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _codes(texts: Sequence[pa.StringArray]) -> np.ndarray[Any, Any]:
    """A number for each row, equal for rows with equal texts in all columns."""
    codes, distinct = np.zeros(len(texts[0]), np.int64), 1
    for text in texts:
        encoded = text.dictionary_encode(null_encoding="encode")
        codes = codes * len(encoded.dictionary) + numpy_values(encoded.indices)
        if distinct > 1:
            # Renumbered, the codes of any number of columns stay small.
            encoded = pa.array(codes).dictionary_encode()
            codes = numpy_values(encoded.indices).astype(np.int64)
        distinct = len(encoded.dictionary)
    # numpy sorts short integers by radix.
    return codes.astype(np.uint16) if distinct <= 1 << 16 else codes


class _Waiting:
    """Rows of one partition that wait for their row group."""

    __slots__ = ("batches", "nbytes")

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []
        self.nbytes = 0

    def put(self, rows: pa.RecordBatch) -> None:
        self.batches.append(rows)
        self.nbytes += rows.nbytes


class _OpenFile:
    """A data file that is being written: a local file, which its storage publishes when it is closed.

    Attributes:
        without_statistics: Leaves that have no statistics in the footer. Those of Arrow leave NaN out, which readers
            that order it last, as Spark does, would then not find.
    """

    def __init__(
        self,
        storage: Storage,
        location: str,
        path: str,
        schema: pa.Schema,
        codec: str,
        dictionary: list[str],
        without_statistics: frozenset[str],
    ) -> None:
        self.without_statistics = without_statistics
        counted = [leaf for f in schema for leaf in leaf_paths(f.name, f.type) if leaf not in without_statistics]
        self._path = path
        self._location = location
        self._stack = ExitStack()
        self._local = self._stack.enter_context(storage.publish(location))
        try:
            with self._naming():
                # A writer that opens a path keeps it open after an error, and so the space that the file takes.
                sink = self._stack.enter_context(pa.OSFile(self._local, "wb"))
                self._parquet = pq.ParquetWriter(
                    sink,
                    schema,
                    compression=_CODECS.get(codec, codec),
                    use_dictionary=dictionary or False,
                    write_statistics=not without_statistics or counted or False,
                    store_schema=False,
                    store_decimal_as_integer=True,
                )
        except BaseException as error:
            self._stack.__exit__(type(error), error, error.__traceback__)
            raise

    @property
    def size(self) -> int:
        """Bytes so far."""
        return os.stat(self._local).st_size

    def write(self, rows: pa.Table) -> None:
        with self._naming():
            self._parquet.write_table(rows, row_group_size=max(1, len(rows)))

    def close(
        self, reader: FileReader, request: StatisticsRequest, partition_values: Mapping[str, str | None]
    ) -> AddFile:
        with self._naming(), self._stack:
            self._parquet.close()
            size = self.size
            stats = stats_json(reader.facts(LocalStorage(), os.path.abspath(self._local), size=size), request)
        now = time.time_ns() // 1_000_000
        return AddFile(encode_path(self._path), partition_values, size, now, True, stats=stats)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except DeltaSkipError:
            raise
        except (OSError, pa.ArrowException) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise StorageError(f"Cannot write the data file {self._location}: {reason}.") from error

    def abandon(self) -> None:
        """Publish nothing, and delete the local file."""
        error = StorageError("The file was abandoned.")
        with suppress(Exception):
            self._parquet.close()
        with suppress(StorageError):
            self._stack.__exit__(StorageError, error, None)


def _dictionary_columns(table: pa.Table) -> list[str]:
    """Leaves that repeat enough of their values for a dictionary; nested ones always try."""
    found: list[str] = []
    step = max(1, len(table) // _SAMPLE_ROWS)
    sample = pa.array(np.arange(0, len(table), step)[:_SAMPLE_ROWS])
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type):
            found.extend(leaf_paths(name, column.type))
        elif not pa.types.is_boolean(column.type):
            values = column.take(sample)
            if len(values.unique()) <= max(16, _MOST_DISTINCT * len(values)):
                found.append(name)
    return found


def _leaves_with_nan(table: pa.Table) -> Iterator[str]:
    """Paths of the floating-point columns and fields that have a NaN."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if _has_floats(column.type):
            for chunk in column.chunks:
                yield from _nan_below(name, chunk)


def _nan_below(path: str, array: pa.Array) -> Iterator[str]:
    if pa.types.is_floating(array.type):
        if pc.any(pc.is_nan(array)).as_py():
            yield path
    elif pa.types.is_struct(array.type) and _has_floats(array.type):
        for field, child in zip(array.type, array.flatten(), strict=True):
            yield from _nan_below(f"{path}.{field.name}", child)


def _has_floats(kind: pa.DataType) -> bool:
    """Whether values are floating-point numbers, or structs of them; of arrays and maps readers use no bounds."""
    return pa.types.is_floating(kind) or (pa.types.is_struct(kind) and any(_has_floats(f.type) for f in kind))


def _viewed(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The array under a type that differs in names, ids, nullability, and void fields of structs, which it lacks."""
    if data_type == VARIANT_STORAGE and array.null_count:
        # Both members are required, also below a null.
        members = [pc.fill_null(member, b"") for member in array.flatten()]
        return pa.StructArray.from_arrays(members, fields=list(VARIANT_STORAGE), mask=array.is_null())
    if array.type == data_type:
        return array
    if not pa.types.is_struct(data_type):
        return array.view(data_type)
    # Unlike `field`, `flatten` applies the offset of a slice.
    kept = [field for field in array.flatten() if not pa.types.is_null(field.type)]
    fields = [data_type.field(i) for i in range(data_type.num_fields)]
    arrays = [_viewed(each, field.type) for each, field in zip(kept, fields, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=array.is_null() if array.null_count else None)


def _chunks(values: Sequence[_Partition], size: int) -> Iterator[Sequence[_Partition]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]

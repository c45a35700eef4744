"""Writes data files with statistics from Arrow record batches in this process, without Spark."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import AddFile
from deltaskip.actions.partition_folders import partition_folder, random_folder
from deltaskip.actions.partition_values import partition_texts
from deltaskip.data_files.data_file import OpenDataFile, dictionary_columns, leaves_with_nan, parquet_schema, viewed
from deltaskip.data_files.encoding import Encoders, FileSequence, processors
from deltaskip.data_files.sort_order import SortColumn
from deltaskip.data_files.written_rows import WrittenRows, delete_data_files
from deltaskip.features.change_data_feed import CHANGE_FOLDER
from deltaskip.progress import Progress, table_name
from deltaskip.records import dataclass
from deltaskip.rows.rules import partition_values_named
from deltaskip.schema.mapping import field_id, parquet_id
from deltaskip.schema.properties import DEFAULT_CODEC
from deltaskip.settings import options
from deltaskip.sparkexpr.functions import shredded, shredded_type, shredding_of
from deltaskip.sparkexpr.types import VARIANT_STORAGE, MappingMode, StructField, StructType, arrow_type, physical_name
from deltaskip.sparkexpr.values.arrow_values import (
    domain_values,
    is_true,
    nested_value,
    numpy_values,
    one_chunk,
    tuple_codes,
)
from deltaskip.stats.facts import FileFacts
from deltaskip.stats.file_facts import FileReader, StatisticsRequest
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.storage import Storage, join
from deltaskip.storage.unsynced import Unsynced

DEFAULT_FILE_BYTES = 128 << 20

# For one file of fewer rows it is not worth starting a thread.
_LITTLE_BYTES = 1 << 20
IN_MEMORY_BYTES = 8 << 20
"""A smaller file stays in memory until it is complete, if the commit makes it durable."""

# Each file that is being written holds a file descriptor.
_OPEN_FILES = 200

_EXTENSIONS = {"none": "", "gzip": ".gz"}


def sorted_rows(rows: pa.Table, columns: Sequence[SortColumn]) -> pa.Table:
    """Return the rows in the order of the columns; equal ones stay in their order.

    NaN is greater than all other numbers, as in Spark.

    Args:
        rows: Rows with columns by physical name.
        columns: The columns, the most significant one first.
    """
    keys: dict[str, pa.ChunkedArray] = {}
    order: list[tuple[str, str]] = []

    def add(values: pa.ChunkedArray, descending: bool) -> None:
        name = f"k{len(keys)}"
        keys[name] = values
        order.append((name, "descending" if descending else "ascending"))

    for column in columns:
        values = nested_value(rows.column(column.physical[0]), column.physical[1:])
        if values.null_count:
            add(pc.is_null(values), column.nulls_first)
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            # Arrow puts NaN at the end in both directions.
            add(is_true(pc.is_nan(values)), column.descending)
        add(values, column.descending)
    if not keys or rows.num_rows < 2:
        return rows
    # Arrow's sort is not stable.
    add(pa.chunked_array([pa.array(range(rows.num_rows), pa.int64())]), False)
    return rows.take(pc.sort_indices(pa.table(keys), sort_keys=order))


@dataclass(frozen=True, slots=True)
class DataFileLayout:
    """The layout of a table's data files: their locations and their contents.

    Args:
        storage: The storage of the table.
        root: Location of the table.
        schema: Schema of the table.
        partition_columns: The partition columns by logical name, in order.
        mapping_mode: Column mapping mode of the table.
        request: The statistics of each file.
        codec: Compression codec, as Parquet names it: snappy, zstd, gzip, lz4_raw, brotli or none; None for that which
            the Spark session that writes sets, or DEFAULT_CODEC.
        page_version: Version of the pages of Parquet, 1.0 or 2.0.
        target_bytes: Size at which the next file begins.
        max_rows: The most rows of a file; 0 for no limit, None also for the limit of the Spark session that writes.
        keeps_partition_columns: Whether files also contain the partition columns.
        random_prefix: Number of letters of the random folder that replaces partition folders; None for partition
            folders.
        time_zone: Time zone of casts between instants and local times.
        extra: Columns that files contain in addition to the table's, without statistics: row ids, kind of change.
        change_data: Whether the files are change data files, which have a separate folder.
        balanced: Whether Spark also redistributes rows that are not partitioned, for files near the target size.
        arranged: Whether each Spark task has the rows of one file, so that it must not redistribute them.
        sort_by: Columns by which the rows of each file are sorted.
        may_shred: Whether files may have shredded variants.
        bloom: The columns with Bloom filters, which change data files do not have.
        unsynced: Receives small files, which the commit makes durable; None to make every file durable at once.
    """

    storage: Storage
    root: str
    schema: StructType
    partition_columns: tuple[str, ...]
    mapping_mode: MappingMode
    request: StatisticsRequest
    codec: str | None = None
    page_version: str = "1.0"
    target_bytes: int = DEFAULT_FILE_BYTES
    max_rows: int | None = None
    keeps_partition_columns: bool = False
    random_prefix: int | None = None
    time_zone: str = "UTC"
    extra: tuple[StructField, ...] = ()
    change_data: bool = False
    balanced: bool = False
    arranged: bool = False
    sort_by: tuple[SortColumn, ...] = ()
    may_shred: bool = False
    bloom: tuple[StatColumn, ...] = ()
    unsynced: Unsynced | None = dataclasses.field(default=None, compare=False)

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
            fields = [StructField(name, field.type) for name, field in zip(names, self.partition_fields(), strict=True)]
            folder = partition_folder(fields, values)
        return "/".join(filter(None, (CHANGE_FOLDER if self.change_data else "", folder)))


def write_data_files(
    batches: Iterable[pa.RecordBatch], layout: DataFileLayout, *, divided: bool = False, replaced: int = 1
) -> WrittenRows:
    """Write the rows as Parquet files of about the target size, each of one partition.

    Memory is bounded by the row groups that wait to be written, not by the number of rows. After an error the files
    that were written are deleted, where the storage allows it. A bar shows the progress of longer writes.

    Args:
        batches: Rows with the columns of the table's schema except void ones, of the types of `schema.arrow_schema`,
            and the extra columns of the layout.
        layout: The place and the contents of the files.
        divided: Whether rows of one partition are divided among several files, which are encoded side by side, if
            there are enough of them.
        replaced: The number of files that the new ones replace: as many may be written for a fourth of the rows.

    Returns:
        An add action for each file, with statistics, in the order of their paths. No file is without rows.

    Raises:
        RowViolation: A partition value cannot be serialized.
        StorageError: A file cannot be written.
    """
    writer = _Writer(layout, divided, replaced)
    rows = 0
    try:
        with Progress(f"Writing {table_name(layout.root)}", unit="rows", blocks=True) as progress:
            for batch in batches:
                writer.put(batch)
                rows += batch.num_rows
                progress.advance(batch.num_rows)
            return WrittenRows(tuple(writer.finish()), rows)
    except BaseException:
        writer.abandon()
        raise


class _Writer:
    """Rows by partition until they fill a row group, and the files of each partition."""

    def __init__(self, layout: DataFileLayout, divided: bool, replaced: int) -> None:
        self._layout = layout
        self._divided = divided
        self._replaced = replaced
        schema = layout.schema
        partitions = set(layout.partition_columns)
        self._partition_fields = layout.partition_fields()
        kept = [i for i, field in enumerate(schema.fields) if field.name not in partitions]
        if layout.keeps_partition_columns:
            # PROTOCOL, IcebergCompatV1: after the data columns.
            kept += [schema.names.index(name) for name in layout.partition_columns]
        parquet, indexes = parquet_schema(schema, kept, layout.mapping_mode)
        self._parquet = pa.schema([*parquet, *map(_extra_field, layout.extra)])
        self._names = [*(schema.fields[i].name for i in indexes), *(field.name for field in layout.extra)]
        self._waiting: dict[_Partition, _Waiting] = {}
        self._waiting_bytes = 0
        self._encoders = Encoders()
        self._open: dict[_Partition, FileSequence] = {}
        self._rows_in_open = Counter[_Partition]()
        self._begun: list[FileSequence] = []
        self._written: list[str] = []
        self._job = str(uuid4())
        self._numbers = count()
        self._dictionary: list[str] | None = None
        self._shredding: dict[str, Any] | None = None if layout.may_shred and not layout.change_data else {}
        self._file_schema = self._parquet
        self._reader = FileReader(layout.request, exact_floats=True)

    def put(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        for partition, rows in self._by_partition(batch):
            waiting = self._waiting.setdefault(partition, _Waiting())
            self._waiting_bytes += waiting.put(rows)
            # The rest waits, so that the last rows are enough for several files.
            while waiting.nbytes >= 2 * options.row_group_bytes:
                if self._layout.sort_by:
                    self._put_sorted(partition)
                else:
                    self._put(partition, self._take(partition, options.row_group_bytes), options.row_group_bytes)
                waiting = self._waiting.get(partition, _Waiting())
        while self._waiting_bytes > options.write_waiting_bytes * 3 // 4:
            largest = max(self._waiting, key=lambda each: self._waiting[each].nbytes)
            if self._layout.sort_by:
                self._put_sorted(largest)
            else:
                n_bytes = self._waiting[largest].nbytes
                self._put(largest, self._take(largest), n_bytes)
        self._encoders.wait(options.write_waiting_bytes - self._waiting_bytes)

    def finish(self) -> list[AddFile]:
        divided = self._divided and len(self._waiting) == 1
        self._encoders.alone = not self._begun and len(self._waiting) == 1 and self._waiting_bytes < _LITTLE_BYTES
        for partition in list(self._waiting):
            n_bytes = self._waiting[partition].nbytes
            # Consecutive rows go into one file, so that files of ordered rows have narrow bounds.
            most = options.parallel_file_bytes
            enough = max(round(n_bytes / most), min(self._replaced, 4 * n_bytes // most))
            files = min(processors(), enough) if divided else 1
            if files > 1:
                self._end(partition)
            waits = self._layout.unsynced is None or n_bytes >= IN_MEMORY_BYTES
            in_memory = not self._layout.storage.remote and (self._encoders.alone or not waits)
            of_partition = sorted_rows(self._take(partition), self._layout.sort_by)
            for rows, of_file in _parts(of_partition, n_bytes, files):
                for group, of_group in _parts(rows, of_file, round(of_file / options.row_group_bytes)):
                    self._put(partition, group, of_group, in_memory)
                self._end(partition)
        for partition in list(self._open):
            self._end(partition)
        return sorted(self._encoders.finish(), key=lambda file: file.path)

    def abandon(self) -> None:
        self._encoders.stop()
        for each in self._begun:
            each.abandon()
        delete_data_files(self._layout.storage, self._layout.root, self._written)

    def _by_partition(self, batch: pa.RecordBatch) -> Iterator[tuple[_Partition, pa.RecordBatch]]:
        """The rows of each partition, with the data columns under their physical names."""
        data = self._data(batch)
        if not self._partition_fields:
            yield _Partition((), ()), data
            return
        columns = [batch.column(field.name) for field in self._partition_fields]
        texts = []
        for column, field in zip(columns, self._partition_fields, strict=True):
            with partition_values_named(field, self._layout.root):
                texts.append(_Texts(column, field))
        if all(text.is_constant for text in texts):
            # As in each file that is rewritten.
            at = np.zeros(1, np.int64)
            of_all = tuple(domain_values(column.slice(0, 1))[0] for column in columns)
            yield _Partition(tuple(text.of_rows(at)[0] for text in texts), of_all), data
            return
        codes = tuple_codes([text.codes() for text in texts], batch.num_rows)
        if codes.max(initial=0) < 1 << 16:
            # numpy sorts short integers by radix.
            codes = codes.astype(np.uint16)
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        if len(starts) > 1:
            rows = pa.array(order)
            gathered = self._encoders.each(lambda column: pc.take(column, rows, boundscheck=False), data.columns)
            data = pa.RecordBatch.from_arrays(gathered, schema=data.schema)
        firsts = order[starts]
        keys = zip(*(text.of_rows(firsts) for text in texts), strict=True)
        values = zip(*(domain_values(column.take(pa.array(firsts))) for column in columns), strict=True)
        ends = [*starts[1:], batch.num_rows]
        for key, first, start, end in zip(keys, values, starts, ends, strict=True):
            yield _Partition(key, first), data.slice(start, end - start)

    def _data(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [
            viewed(batch.column(name), field.type) for name, field in zip(self._names, self._parquet, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._parquet)

    def _take(self, partition: _Partition, n_bytes: int | None = None) -> pa.Table:
        """The first waiting rows of the partition, of about this size in memory; None takes all."""
        waiting = self._waiting.pop(partition)
        self._waiting_bytes -= waiting.nbytes
        rows = pa.Table.from_batches(waiting.batches, self._parquet)
        first = len(rows) if n_bytes is None else max(1, len(rows) * n_bytes // waiting.nbytes)
        if first < len(rows):
            rest = self._waiting[partition] = _Waiting()
            for batch in rows.slice(first).to_batches():
                rest.put(batch)
            self._waiting_bytes += rest.nbytes
        return rows.slice(0, first)

    def _put(self, partition: _Partition, rows: pa.Table, n_bytes: int, in_memory: bool = False) -> None:
        """Write rows of the partition as a row group.

        n_bytes: About their size in memory. in_memory: Whether a new file is in memory until it is closed.
        """
        limit = self._layout.max_rows or None
        while limit is not None and len(rows) > (room := limit - self._rows_in_open[partition]):
            share = n_bytes * room // len(rows)
            self._put(partition, rows.slice(0, room), share, in_memory)
            rows, n_bytes = rows.slice(room), n_bytes - share
        rows = self._shredded(rows)
        if self._dictionary is None:
            self._dictionary = dictionary_columns(rows)
        files = self._open.get(partition)
        if files is None:
            while len(self._open) >= _OPEN_FILES:
                self._end(next(iter(self._open)))
            files = self._open[partition] = self._files(partition, self._dictionary, self._filters(rows), in_memory)
        files.put(rows, n_bytes)
        self._rows_in_open[partition] += len(rows)
        if files.expected_bytes >= self._layout.target_bytes or self._rows_in_open[partition] == limit:
            self._end(partition)

    def _shredded(self, rows: pa.Table) -> pa.Table:
        """The rows with shredded variants, in all files as in the first that has some."""
        if self._shredding is None:
            self._shredding = {}
            variants = (field.name for field in self._parquet if field.type == VARIANT_STORAGE)
            for name in variants:
                plan = shredding_of(one_chunk(rows.column(name)))
                if plan is not None:
                    self._shredding[name] = plan
                    at = self._file_schema.get_field_index(name)
                    kind = self._file_schema.field(at).with_type(shredded_type(plan))
                    self._file_schema = self._file_schema.set(at, kind)
        for name, plan in self._shredding.items():
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, self._file_schema.field(name), shredded(one_chunk(rows.column(name)), plan))
        return rows

    def _put_durable(self, path: str, data: memoryview) -> None:
        self._layout.storage.put_if_absent(path, bytes(data))

    def _put_sorted(self, partition: _Partition) -> None:
        """Sort the buffered rows of the partition and write them as one or more files."""
        n_bytes = self._waiting[partition].nbytes
        rows = sorted_rows(self._take(partition), self._layout.sort_by)
        for group, of_group in _parts(rows, n_bytes, round(n_bytes / options.row_group_bytes)):
            self._put(partition, group, of_group)
        self._end(partition)

    def _end(self, partition: _Partition) -> None:
        files = self._open.pop(partition, None)
        self._rows_in_open.pop(partition, None)
        if files is not None:
            files.end()

    def _filters(self, rows: pa.Table) -> dict[str, int]:
        """The leaves with Bloom filters, with the distinct values of the first row group, as which others are taken."""
        if self._layout.change_data:
            return {}
        found = {}
        for path in [column.physical for column in self._layout.bloom]:
            values = nested_value(rows.column(path[0]), path[1:])
            found[".".join(path)] = int(pc.count_distinct(values).as_py())
        return found

    def _files(
        self, partition: _Partition, dictionary: list[str], filters: dict[str, int], in_memory: bool
    ) -> FileSequence:
        """A sequence of new files of a partition."""
        layout = self._layout
        codec = layout.codec or DEFAULT_CODEC
        extension = _EXTENSIONS.get(codec, f".{codec}")
        kind = "cdc" if layout.change_data else "part"
        names = [physical_name(field, layout.mapping_mode) for field in self._partition_fields]
        values = dict(zip(names, partition.key, strict=True))
        numbers = chain([next(self._numbers)], self._numbers)

        def begin(without_statistics: frozenset[str]) -> OpenDataFile:
            name = f"{kind}-{next(numbers):05}-{self._job}.c000{extension}.parquet"
            folder = layout.folder(partition.values)
            path = f"{folder}/{name}" if folder else name
            self._written.append(path)
            location = join(layout.root, path)
            put = None
            if in_memory:
                put = self._put_durable if layout.unsynced is None else layout.unsynced.put
            where = layout.storage, location, path
            encoded = codec, dictionary, without_statistics
            more: dict[str, Any] = {"page_version": layout.page_version, "filters": filters, "put": put}
            return OpenDataFile(*where, self._file_schema, *encoded, **more)

        def close(file: OpenDataFile) -> AddFile:
            return file.close(self._reader, layout.request, values)

        files = FileSequence(self._encoders, begin, close, layout.target_bytes, in_memory)
        self._begun.append(files)
        return files


def encoded_columns(
    rows: pa.Table, groups: Sequence[int], layout: DataFileLayout, request: StatisticsRequest
) -> tuple[memoryview, FileFacts]:
    """Return a Parquet file of some columns of a data file, without Bloom filters, and its facts.

    Args:
        rows: The columns, of the types of `parquet_schema`.
        groups: The number of rows of each row group.
        layout: The layout of the data file.
        request: The facts to return.
    """
    found: list[memoryview] = []
    columns = rows.schema, layout.codec or DEFAULT_CODEC, dictionary_columns(rows), frozenset(leaves_with_nan(rows))
    more: dict[str, Any] = {"page_version": layout.page_version, "put": lambda _, data: found.append(data)}
    file = OpenDataFile(layout.storage, layout.root, "", *columns, **more)
    start = 0
    for count_of_group in groups:
        file.write(rows.slice(start, count_of_group))
        start += count_of_group
    _, facts = file.finish(FileReader(request, exact_floats=True))
    return found[0], facts


def _extra_field(field: StructField) -> pa.Field:
    return pa.field(field.name, arrow_type(field.type), metadata=parquet_id(field_id(field)))


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition by its serialized values; `values` come from its first row."""

    key: tuple[str | None, ...]
    values: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Partition) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class _Texts:
    """The serialized values of a partition column, each distinct value converted once."""

    def __init__(self, values: pa.Array, field: StructField) -> None:
        encoded = values.dictionary_encode(null_encoding="encode")
        self._texts = partition_texts(encoded.dictionary, field.type)
        self._indices = numpy_values(encoded.indices)
        self.is_constant = len(encoded.dictionary) == 1

    def codes(self) -> pa.Array:
        """A code for each row, equal for equal strings."""
        of_values = self._texts.dictionary_encode(null_encoding="encode").indices
        return pa.array(numpy_values(of_values)[self._indices])

    def of_rows(self, rows: np.ndarray[Any, Any]) -> list[str | None]:
        """The serialized values of some rows."""
        found: list[str | None] = self._texts.take(pa.array(self._indices[rows])).to_pylist()
        return found


class _Waiting:
    """Rows of one partition that wait for their row group."""

    __slots__ = ("batches", "nbytes")

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []
        self.nbytes = 0

    def put(self, rows: pa.RecordBatch) -> int:
        """Add rows, and return their size in memory."""
        n_bytes = int(rows.nbytes)
        self.batches.append(rows)
        self.nbytes += n_bytes
        return n_bytes


def _parts(rows: pa.Table, n_bytes: int, number: int) -> Iterator[tuple[pa.Table, int]]:
    """The rows in this many parts of about the same number of rows, none of them empty, and the size of each."""
    if number < 2:
        return iter([(rows, n_bytes)])
    size = -(-len(rows) // number)
    starts = range(0, len(rows), size)
    return ((rows.slice(start, size), n_bytes * min(size, len(rows) - start) // len(rows)) for start in starts)

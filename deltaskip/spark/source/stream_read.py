"""Streams of the data source: the files of a version first, then those that later versions add, or their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSourceStreamReader

from deltaskip.change_feed.added_and_removed_files import AddedFiles, OnDeletedRows, added_files, files_of_snapshot
from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.errors import DataFileMissing, DeltaSkipError, InvalidArgument, SchemaError, TableNotFound
from deltaskip.log import Snapshot
from deltaskip.reading.arrow_rows import row_reads
from deltaskip.reading.read_ahead import Reads
from deltaskip.records import dataclass
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.spark.columns.spark_types import spark_schema
from deltaskip.spark.source.batch_read import FilePartition, partitions_of
from deltaskip.spark.source.options import SourceOptions
from deltaskip.spark.source.workers import SentToWorkers
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression, bound
from deltaskip.sparkexpr.text.sql_text import quoted_text
from deltaskip.sparkexpr.types import STRING, StructField, StructType
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk
from deltaskip.table.table import DeltaTable

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
except ImportError:
    # Before Spark 4.2 a stream with the trigger availableNow has one batch.
    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """This Spark does not pass the trigger to streams."""


Offset = dict[str, Any]

_LATEST = -1


class StreamReader(SentToWorkers, DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Follows a table.

    An offset names the file that is read next: the version that adds the file, the index of the file in the version,
    whether the version is the initial version, whose files are all read, and the id of the table.

    A restarted stream plans a batch again that was planned but not committed, and Spark asks for the initial offset
    anew. The initial offset must therefore not depend on the version of the table at that time. A stream that begins
    with the latest version begins at an offset without a version. The end of its first batch, which Spark has
    recorded, contains the version.
    """

    def __init__(self, options: SourceOptions, schema: spark_types.StructType) -> None:
        self._options = options
        self._schema = schema
        skips = options.flag("ignoreDeletes"), options.flag("skipChangeCommits")
        self._deleted = OnDeletedRows(*skips, options.flag("failOnDataLoss", "true"))
        self._limits = options.number("maxFilesPerTrigger"), options.number("maxBytesPerTrigger")
        self._excluded = excluded_paths(options.given.get("excluderegex"))
        self._initial: Offset | None = None
        # The latest version when Spark asked for the first offset of a stream that begins with it.
        self._begun: int | None = None
        # The start of the next batch. A restarted stream first asks for an empty batch at this offset.
        self._position: Offset | None = None
        # The last version to read with the trigger availableNow.
        self._last: int | None = None

    def initialOffset(self) -> Offset:
        """The first file of a new stream."""
        if self._initial is None:
            start = self._options.first_version()
            if start is None:
                self._begun = self._options.table().version
                self._initial = _offset(_LATEST, 0, initial=not self._options.starts_later)
            else:
                self._initial = _offset(start, 0, initial=self._options.flag("snapshotFirst"))
        return self._initial

    def latestOffset(self, start: Offset | None = None, limit: ReadLimit | None = None) -> Offset:
        """The end of the next batch: after as many files or bytes as the options allow, or after the latest version.

        In Spark 4.2, `limit` says whether the options apply. They do not apply with the trigger once.
        """
        snapshot = self._options.table().snapshot
        table, latest = snapshot.metadata.id, snapshot.version if self._last is None else self._last
        given = start or self._position or self.initialOffset()
        first = latest if self._begun is None else self._begun
        begin = _from_version(given, first)
        # Batches that are planned again begin where this one does, whatever the latest version is then.
        begun = first if given["version"] == _LATEST else None
        self._check_table(snapshot, begin)
        end = _offset(max(latest + 1, begin["version"]), 0, table=table, begun=begun)
        if not any(self._limits) or (limit is not None and isinstance(limit, ReadAllAvailable)):
            return end
        units = self._units(snapshot, begin, end)
        taken = self._within_limits(units)
        if taken >= len(units.versions):
            return end
        version, number = (each[taken].as_py() for each in (units.versions, units.numbers))
        return _offset(version, number, begin["initial"] and version == begin["version"], table, begun)

    def _within_limits(self, units: _Units) -> int:
        """The number of units of the next batch, at least one."""
        taken = len(units.versions)
        for most, sizes in zip(self._limits, (units.files, units.bytes), strict=True):
            if most is not None and len(sizes):
                taken = min(taken, max(1, int(np.searchsorted(np.cumsum(sizes), most, "right"))))
        return taken

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit of a batch: the options maxFilesPerTrigger and maxBytesPerTrigger, or none."""
        return ReadMaxFiles(self._limits[0] or 1 << 30) if any(self._limits) else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Read up to the version that is now the latest, in as many batches as needed."""
        self._last = self._options.table().version

    def partitions(self, start: Offset, end: Offset) -> list[FilePartition]:
        """The files between two offsets, by tasks."""
        snapshot = self._options.table().snapshot
        begun = end.get("begun", end["version"] - (not end["initial"]))
        start = _from_version(start, begun)
        self._check_table(snapshot, start)
        self._check_table(snapshot, end)
        self._position = end
        versions = start["version"], end["version"]
        found = partitions_of(self._reads(snapshot, start, end), self._options.partition_bytes)
        checks = self._options.session_checks(snapshot)
        path, storage = self._options.path, self._options.storage_options
        return [StreamPartition(each.reads, checks, path, storage, versions) for each in found]

    def _reads(self, snapshot: Snapshot, start: Offset, end: Offset) -> Reads:
        """The functions that read the rows between two offsets."""
        files = self._files(snapshot, start, end)
        found = Snapshot.of_files(snapshot, snapshot.metadata, files.adds)
        given = self._options.given.get("where"), self._options.columns()
        scan = Scan(found, ReadOptions(*given, time_zone=self._options.time_zone, ansi=self._options.ansi))
        self._check_schema(scan)
        return row_reads(scan, self._options.partition_bytes)

    def _units(self, snapshot: Snapshot, start: Offset, end: Offset) -> _Units:
        """The parts that a batch has whole, between two offsets."""
        files = self._files(snapshot, start, end)
        sizes = numpy_values(one_chunk(files.adds["size"]))
        return _Units(files.versions, files.numbers, np.ones(len(sizes), np.int64), sizes)

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        yield from partition.rows()

    def commit(self, end: Offset) -> None:
        """Remember that the batch to an offset has been processed."""

    def stop(self) -> None:
        """Release nothing."""

    def _files(self, snapshot: Snapshot, start: Offset, end: Offset) -> AddedFiles:
        """The files between two offsets."""
        parts = []
        first = start["version"]
        if start["initial"]:
            parts.append(files_of_snapshot(self._options.table_at(first).snapshot))
            first += 1
        parts.append(added_files(snapshot, first, self._deleted))
        adds = pa.concat_tables([part.adds for part in parts])
        versions, numbers = (
            pa.concat_arrays([getattr(part, name) for part in parts]) for name in ("versions", "numbers")
        )
        chosen = pc.and_(_not_before(versions, numbers, start), pc.invert(_not_before(versions, numbers, end)))
        chosen = pc.and_not(chosen, self._excluded(one_chunk(adds["path"])))
        return AddedFiles(adds.filter(chosen), versions.filter(chosen), numbers.filter(chosen))

    def _check_table(self, snapshot: Snapshot, offset: Offset) -> None:
        """Raise TableNotFound for the offset of another table, which was at the path before."""
        table = offset.get("table")
        if snapshot.version < offset["version"] - (offset["number"] == 0) or table not in (None, snapshot.metadata.id):
            raise TableNotFound(
                f"The table {self._options.path} at version {snapshot.version} is not the one that the stream has read "
                f"up to version {offset['version']}: it was created anew or replaced by another table; begin a new "
                f"stream with another checkpoint location."
            )

    def _check_schema(self, scan: Scan | ChangeScan) -> None:
        fields = {field.name: field for field in scan.snapshot.schema.fields}
        names = list(fields) if scan.columns is None else list(scan.columns)
        now = spark_schema(type(scan.snapshot.schema)(tuple(fields[name] for name in names)))
        if now.simpleString() != self._schema.simpleString():
            raise SchemaError(
                f"The columns of {self._options.path} have changed from {self._schema.simpleString()} to "
                f"{now.simpleString()}: start the stream again."
            )


class ChangeStreamReader(StreamReader):
    """Follows the changes of a table.

    A stream first reads the rows of one version as inserts, unless it has a start. A batch has all changes of a
    version, or none of them.
    """

    def _reads(self, snapshot: Snapshot, start: Offset, end: Offset) -> Reads:
        first, options = start["version"], self._options
        scans = []
        if start["initial"]:
            every = options.changes_between(first, first, snapshot, snapshot_first=True)
            adds = files_of_snapshot(options.table_at(first).snapshot).adds["path"]
            last = end["number"] if end["initial"] and end["version"] == first else len(adds)
            scans.append(every._only(pc.is_in(every.entries()[1], one_chunk(adds)[start["number"] : last])))
            first += 1
        if first < end["version"]:
            scans.append(options.changes_between(first, end["version"] - 1, snapshot))
        found: list[Any] = []
        for scan in scans:
            self._check_schema(scan)
            found += scan._only(pc.invert(self._excluded(scan.entries()[1]))).reads()
        return iter(found)

    def _units(self, snapshot: Snapshot, start: Offset, end: Offset) -> _Units:
        first = start["version"]
        columns: list[list[Any]] = [[], [], [], []]
        if start["initial"]:
            initial = files_of_snapshot(self._options.table_at(first).snapshot)
            numbers = numpy_values(initial.numbers)[start["number"] :]
            sizes = numpy_values(one_chunk(initial.adds["size"]))[start["number"] :]
            columns = [[np.full(len(numbers), first)], [numbers], [np.ones(len(numbers), np.int64)], [sizes]]
            first += 1
        if first < end["version"]:
            scan = self._options.changes_between(first, end["version"] - 1, snapshot)
            versions, _, sizes = scan.entries()
            every, at = np.unique(numpy_values(versions), return_inverse=True)
            of_versions = (every, np.zeros(len(every), np.int64), np.bincount(at, minlength=len(every)))
            total = np.bincount(at, numpy_values(pc.fill_null(sizes, arrow_scalar(0, pa.int64()))), len(every))
            for column, each in zip(columns, (*of_versions, total), strict=True):
                column.append(each)
        parts = [np.concatenate([np.zeros(0, np.int64), *each]).astype(np.int64) for each in columns]
        return _Units(arrow_array(parts[0]), arrow_array(parts[1]), parts[2], parts[3])


@dataclass(frozen=True, slots=True)
class _Units:
    """The parts that a batch has whole: a file each, or all changes of a version.

    Attributes:
        versions: The version of each.
        numbers: The number of each in its version.
        files: The files of each.
        bytes: The bytes of each.
    """

    versions: pa.Int64Array
    numbers: pa.Int64Array
    files: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]


@dataclass
class StreamPartition(FilePartition):
    """Files that one task of a stream reads.

    Attributes:
        path: The path of the table.
        storage: The storage options.
        versions: The first version of the batch, and the one after its last.
    """

    path: str = ""
    storage: Mapping[str, str] | None = None
    versions: tuple[int, int] = (0, 0)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files. Raises DataFileMissing with the version that adds a file which is gone."""
        try:
            yield from super().rows()
        except DataFileMissing as error:
            if error.location is None:
                raise
            cure = (
                "restore the file, set excludeRegex to pass over it, or begin a new stream with another checkpoint "
                "location"
            )
            listing = self._listing(error.location)
            raise DataFileMissing.of(listing, self.path, error.location, cure) from error

    def _listing(self, location: str) -> str:
        """The version of the batch that adds a file, or whose snapshot the batch begins with."""
        first, end = self.versions
        try:
            changed = DeltaTable(self.path, max(first, end - 1), storage_options=self.storage).files_since(first - 1)
        except DeltaSkipError:
            return f"Version {first}"
        name = location.rpartition("/")[2]
        adds = changed.filter(pc.equal(changed["action"], arrow_scalar("add", pa.string())))
        found = adds["version"].filter(pc.ends_with(adds["path"], name))
        return f"Version {found[0].as_py() if len(found) else first}"


def excluded_paths(pattern: str | None) -> Callable[[pa.StringArray], pa.BooleanArray]:
    """Return the function that tells which paths a regular expression of Java finds.

    Raises InvalidArgument for a pattern that is not one, or that only Spark evaluates.
    """
    if pattern is None:
        return partial(_none_of, None)
    schema = StructType((StructField("path", STRING),))
    where = f"path RLIKE {quoted_text(pattern)}"
    try:
        node = bound(parse_sql(where), schema, "UTC", None, is_condition=True)
        found = LocalExpression(node, schema, EvaluationPlace("a stream", "Leave it out.", what="excludeRegex"))
        found.mask({"path": arrow_array([""], pa.string())}, 1)
    except DeltaSkipError as error:
        raise InvalidArgument(f"The option excludeRegex is {pattern!r}: {error}") from error
    return partial(_none_of, found)


def _none_of(expression: LocalExpression | None, paths: pa.StringArray) -> pa.BooleanArray:
    if expression is None:
        return arrow_array(np.zeros(len(paths), np.bool_), pa.bool_())
    return arrow_array(expression.mask({"path": paths}, len(paths)), pa.bool_())


def _offset(
    version: int, number: int, initial: bool = False, table: str | None = None, begun: int | None = None
) -> Offset:
    further = {"table": table, "begun": begun}
    found = {"version": version, "number": number, "initial": initial}
    return {**found, **{name: value for name, value in further.items() if value is not None}}


def _from_version(offset: Offset, latest: int) -> Offset:
    """The offset, with the latest version in an offset of a stream that begins with the latest version."""
    if offset["version"] != _LATEST:
        return offset
    return _offset(latest, 0, initial=True) if offset["initial"] else _offset(latest + 1, 0)


def _not_before(versions: pa.Array, numbers: pa.Array, offset: Offset) -> pa.Array:
    version, number = (arrow_scalar(offset[name], pa.int64()) for name in ("version", "number"))
    later = pc.greater(versions, version)
    same = pc.and_(pc.equal(versions, version), pc.greater_equal(numbers, number))
    return pc.or_(later, same)

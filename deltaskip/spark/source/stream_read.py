"""Streams of the data source: the files of a version first, then the files that later versions add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSourceStreamReader

from deltaskip.change_feed.added_and_removed_files import AddedFiles, OnDeletedRows, added_files, files_of_snapshot
from deltaskip.errors import SchemaError, TableNotFound
from deltaskip.log import Snapshot
from deltaskip.reading.arrow_rows import row_reads
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.spark.columns.spark_types import spark_schema
from deltaskip.spark.source.batch_read import FilePartition, partitions_of
from deltaskip.spark.source.options import SourceOptions
from deltaskip.spark.source.workers import SentToWorkers

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
        self._deleted = OnDeletedRows(options.flag("ignoreDeletes"), options.flag("skipChangeCommits"))
        self._most_files = options.number("maxFilesPerTrigger")
        self._initial: Offset | None = None
        # The start of the next batch. A restarted stream first asks for an empty batch at this offset.
        self._position: Offset | None = None
        # The last version to read with the trigger availableNow.
        self._last: int | None = None

    def initialOffset(self) -> Offset:
        """The first file of a new stream."""
        if self._initial is None:
            latest, start = self._options.table().version, self._options.first_version()
            if start is None or start > latest:
                self._initial = _offset(_LATEST, 0, initial=start is None)
            else:
                self._initial = _offset(start, 0)
        return self._initial

    def latestOffset(self, start: Offset | None = None, limit: ReadLimit | None = None) -> Offset:
        """The end of the next batch: after `maxFilesPerTrigger` files, or after the latest version.

        In Spark 4.2, `limit` says whether the option applies. It does not apply with the trigger once.
        """
        snapshot = self._options.table().snapshot
        table, latest = snapshot.metadata.id, snapshot.version if self._last is None else self._last
        begin = _from_version(start or self._position or self.initialOffset(), latest)
        self._check_table(snapshot, begin)
        end = _offset(max(latest + 1, begin["version"]), 0, table=table)
        most = self._most_files
        if most is None or (limit is not None and isinstance(limit, ReadAllAvailable)):
            return end
        files = self._files(snapshot, begin, end)
        if len(files) <= most:
            return end
        version, number = (each[most].as_py() for each in (files.versions, files.numbers))
        return _offset(version, number, begin["initial"] and version == begin["version"], table)

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit of a batch: the option maxFilesPerTrigger, or none."""
        return ReadAllAvailable() if self._most_files is None else ReadMaxFiles(self._most_files)

    def prepareForTriggerAvailableNow(self) -> None:
        """Read up to the version that is now the latest, in as many batches as needed."""
        self._last = self._options.table().version

    def partitions(self, start: Offset, end: Offset) -> list[FilePartition]:
        """The files between two offsets, by tasks."""
        snapshot = self._options.table().snapshot
        start = _from_version(start, end["version"] - (not end["initial"]))
        self._check_table(snapshot, start)
        self._check_table(snapshot, end)
        files = self._files(snapshot, start, end)
        self._position = end
        found = Snapshot.of_files(snapshot, snapshot.metadata, files.adds)
        given = self._options.given.get("where"), self._options.columns()
        checks = self._options.session_checks(found)
        scan = Scan(found, ReadOptions(*given, time_zone=self._options.time_zone, ansi=self._options.ansi))
        self._check_schema(scan)
        most = self._options.partition_bytes
        return partitions_of(row_reads(scan, most), most, checks)

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

    def _check_schema(self, scan: Scan) -> None:
        fields = {field.name: field for field in scan.snapshot.schema.fields}
        names = list(fields) if scan.columns is None else list(scan.columns)
        now = spark_schema(type(scan.snapshot.schema)(tuple(fields[name] for name in names)))
        if now.simpleString() != self._schema.simpleString():
            raise SchemaError(
                f"The columns of {self._options.path} have changed from {self._schema.simpleString()} to "
                f"{now.simpleString()}: start the stream again."
            )


def _offset(version: int, number: int, initial: bool = False, table: str | None = None) -> Offset:
    return {"version": version, "number": number, "initial": initial, **({} if table is None else {"table": table})}


def _from_version(offset: Offset, latest: int) -> Offset:
    """The offset, with the latest version in an offset of a stream that begins with the latest version."""
    if offset["version"] != _LATEST:
        return offset
    return _offset(latest, 0, initial=True) if offset["initial"] else _offset(latest + 1, 0)


def _not_before(versions: pa.Array, numbers: pa.Array, offset: Offset) -> pa.Array:
    version, number = offset["version"], offset["number"]
    later = pc.greater(versions, version)
    same = pc.and_(pc.equal(versions, version), pc.greater_equal(numbers, number))
    return pc.or_(later, same)

"""Statistics of files that only Spark can read: on HDFS and other Hadoop file systems.

Python on an executor has no access to the JVM. The driver reads the footers, and executors compute the statistics that
footers do not prove from whole files: Spark's `binaryFile` source returns a file as one value, which needs several
times the size of the file in executor memory. The driver reads files larger than `options.executor_file_bytes`, and
only the columns whose values are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from deltaskip.actions.paths import escape_globs
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.maintenance.recompute.computed_files import DataFile
from deltaskip.records import dataclass
from deltaskip.settings import options
from deltaskip.spark.read.file_index import listing_by_spark
from deltaskip.spark.read.file_paths import check_not_hidden, needs_own_scan, spark_paths
from deltaskip.spark.read.parquet_scans import READER_OPTIONS
from deltaskip.spark.recompute.file_tasks import RESULT_DDL, contents_runner
from deltaskip.spark.session.checks import collected, running_interpreter
from deltaskip.spark.session.releases import union_of_frames, without_pandas_warning
from deltaskip.spark.session.session_settings import session_settings
from deltaskip.stats.file_facts import FileReader, StatisticsRequest, stats_json
from deltaskip.storage import Storage, storage_for, uri_of

_FOOTER_THREADS = 8
_FIRST_FOOTERS = 64
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


@dataclass(frozen=True, slots=True)
class StatisticsRow:
    """A row of tasks.TASK_RESULT for a whole file."""

    file: int
    num_records: int
    stats: str
    scanned: int
    facts: None = None


def rows_by_way_of_spark(
    spark: SparkSession,
    storage: Storage,
    table_root: str,
    files: Sequence[DataFile],
    vectors: pa.StructArray | None,
    request: StatisticsRequest,
) -> list[Any]:
    """Rows of TASK_RESULT for the files, in any order.

    storage, table_root: The storage and URI of the table. vectors: The deletion vector of each file, null for a file
    without one; None if no file has a deletion vector.

    Raises as FileReader.facts and read_deleted_rows do, and UnsupportedFeature for a file that Spark skips.
    """
    deleted: list[pa.Int64Array | None] = [None] * len(files)
    if vectors is not None:
        located = pa.table({"uri": [file.location for file in files]})
        deleted = [*read_deleted_rows(storage, table_root, located, vectors)]
    remaining = [_File(file.number, file.location, file.size, rows) for file, rows in zip(files, deleted, strict=True)]
    rows: list[Any] = []
    if request.mode != "scan":
        rows, rest = _from_footers(storage, remaining[:_FIRST_FOOTERS], request)
        # If none of these footers proves all statistics, the other footers are not worth reading.
        others, remaining = remaining[_FIRST_FOOTERS:], rest
        if rows or not rest:
            more, others = _from_footers(storage, others, request)
            rows += more
        remaining += others
    for each in remaining:
        if each.is_large:
            holder = storage_for(each.location, near=storage)
            rows.append(_row(FileReader(request), holder, each, request))
    remaining = [each for each in remaining if not each.is_large]
    if not remaining:
        return rows
    paths = spark_paths(spark, [uri_of(each.location) for each in remaining], getattr(storage, "options", None))
    return rows + _from_bytes(spark, table_root, dict(zip(paths, remaining, strict=True)), request)


@dataclass(frozen=True, slots=True)
class _File:
    """A file with its index in the job and its deleted rows."""

    number: int
    location: str
    size: int
    deleted: pa.Int64Array | None

    @property
    def is_large(self) -> bool:
        return self.size > options.executor_file_bytes


def _row(reader: FileReader, storage: Any, file: _File, request: StatisticsRequest) -> StatisticsRow:
    facts = reader.facts(storage, file.location, size=file.size, deleted=file.deleted)
    return StatisticsRow(file.number, facts.num_records, stats_json(facts, request), facts.scanned)


class _ValuesNeeded(Exception):
    """The footer of a file does not prove all statistics."""


class _FooterStorage:
    """A storage that refuses to read beyond footers."""

    def __init__(self, storage: Storage) -> None:
        self.read_range = storage.read_range
        self.size = storage.size

    def open_input(self, path: str) -> pa.NativeFile:
        raise _ValuesNeeded(path)


def _from_footers(
    storage: Storage, files: Sequence[_File], request: StatisticsRequest
) -> tuple[list[Any], list[_File]]:
    """Result rows of the files whose footers prove all statistics, and the other files."""

    def read(share: Sequence[_File]) -> list[StatisticsRow | None]:
        reader = FileReader(request)
        rows: list[StatisticsRow | None] = []
        near = storage
        for each in share:
            near = storage_for(each.location, near=near)
            try:
                rows.append(_row(reader, _FooterStorage(near), each, request))
            except _ValuesNeeded:
                rows.append(None)
        return rows

    shares = [files[i::_FOOTER_THREADS] for i in range(min(_FOOTER_THREADS, len(files)))]
    rows: list[Any] = []
    rest: list[_File] = []
    with ThreadPoolExecutor(max(1, len(shares))) as pool:
        for share, found in zip(shares, pool.map(read, shares), strict=True):
            rows += [row for row in found if row is not None]
            rest += [each for each, row in zip(share, found, strict=True) if row is None]
    return rows, rest


def _from_bytes(
    spark: SparkSession, table_root: str, by_path: Mapping[str, _File], request: StatisticsRequest
) -> list[Any]:
    check_not_hidden(by_path, table_root)
    paths = list(by_path)
    runner = contents_runner({path: (each.number, each.deleted) for path, each in by_path.items()}, request)
    # By default, batches for Python have up to 10,000 rows. Each row is a whole file.
    one_file = session_settings(spark, {_BATCH_ROWS: "1"})
    with one_file, listing_by_spark(spark, paths, table_root):
        with running_interpreter(spark), without_pandas_warning():
            results = _contents(spark, paths).mapInArrow(runner, RESULT_DDL)
        return collected(results)


def _contents(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """A DataFrame with `path` and `content` of each file."""
    reader = spark.read.format("binaryFile").options(**READER_OPTIONS)
    alone = set(paths if len(paths) == 1 else filter(needs_own_scan, paths))
    together = [escape_globs(path) for path in paths if path not in alone]
    frames = [reader.load(together)] if together else []
    frames += [reader.option("__globPaths__", "false").load(path) for path in alone]
    return union_of_frames(frames).select("path", "content")

"""Computing the statistics of a table's files in Spark jobs, without committing them."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heapreplace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from deltaskip.errors import StorageError
from deltaskip.log import Snapshot
from deltaskip.maintenance.recompute.computed_files import ComputedFile, DataFile, computed_tables
from deltaskip.spark.recompute.file_tasks import RESULT_DDL, packed_files, task_runner
from deltaskip.spark.recompute.hadoop_files import rows_by_way_of_spark
from deltaskip.spark.session.checks import collected, cores, running_interpreter
from deltaskip.spark.session.releases import without_pandas_warning
from deltaskip.spark.session.session_settings import described_jobs
from deltaskip.stats.facts import FileFacts, joined_files
from deltaskip.stats.file_facts import StatisticsRequest, stats_json
from deltaskip.storage import Storage, storage_below
from deltaskip.storage.hadoop import HadoopStorage

_JOB_FILES = 50_000


TASK_BYTES = 1 << 30
"""Upper limit of data file bytes for one task: some seconds of reading all values."""

# Cost of opening a file, as the number of bytes that could be scanned in the same time.
_OPEN_BYTES = 64 << 10
# PySpark takes 0.1 s to start a task. More tasks than cores run only if the size of the files requires them.
_LEAST_TASK_BYTES = 4 << 20
# Writers write row groups of about 128 MiB: with smaller pieces, most would be empty.
_LEAST_PIECE_BYTES = 32 << 20


def balanced_tasks(
    files: Sequence[DataFile], task_bytes: int, cores: int, footers_only: bool = False
) -> list[list[DataFile]]:
    """Distribute files over tasks of about the same size, large files in pieces; enough tasks to keep all cores busy.

    footers_only: No values are read, so a file costs only the opening of the file, whatever its size.
    """
    total = sum(_cost(file, footers_only) for file in files)
    target = min(task_bytes, max(_LEAST_TASK_BYTES, -(-total // cores)))
    pieces = [piece for file in files for piece in _pieces(file, target, task_bytes, footers_only)]
    pieces.sort(key=lambda piece: _cost(piece, footers_only), reverse=True)
    count = max(1, -(-total // target))
    if count > cores:
        # Whole rounds, so that no core is idle in the last round.
        count = -(-count // cores) * cores
    # Pieces go in descending order of cost to the task with the lowest cost so far.
    tasks: list[list[DataFile]] = [[] for _ in range(min(len(pieces), count))]
    loads = [(0, i) for i in range(len(tasks))]
    heapify(loads)
    for piece in pieces:
        load, i = loads[0]
        tasks[i].append(piece)
        heapreplace(loads, (load + _cost(piece, footers_only), i))
    return tasks


def _pieces(file: DataFile, target: int, task_bytes: int, footers_only: bool) -> list[DataFile]:
    size = max(target, min(_LEAST_PIECE_BYTES, task_bytes))
    count = 1 if footers_only else max(1, -(-file.size // size))
    return [replace(file, piece=(i, count)) for i in range(count)] if count > 1 else [file]


def _cost(file: DataFile, footers_only: bool) -> int:
    return _OPEN_BYTES + (0 if footers_only else file.size // file.piece[1])


def recompute_statistics(
    spark: SparkSession,
    snapshot: Snapshot,
    files: Iterable[pa.RecordBatch],
    request: StatisticsRequest,
    *,
    merge: bool = False,
    task_bytes: int = TASK_BYTES,
    job_files: int = _JOB_FILES,
) -> Iterator[pa.Table]:
    """Compute the statistics of `files` as `add` actions contain them: RESULT_SCHEMA, one table for each Spark job.

    The columns of the results: path, as logged (with dv_id the key of the logical file); num_records, the physical rows
    of the file; scanned, the number of columns whose values were read; logged_stats and everything after it, as logged.
    Rows that a deletion vector deletes count in no bound and no null count, and `tightBounds` is true if the table's
    protocol has deletion vectors.

    Args:
        spark: A session, classic or Connect, whose executors reach the files and have this package. The files of a
            table on HDFS are read by Spark itself, see rows_by_way_of_spark.
        snapshot: The version of the table that the files are part of.
        files: Rows of FILE_SCHEMA. The iterable is consumed while the jobs run.
        request: The statistics to compute for each file.
        merge: Keep the logged statistics of columns that are not part of the request.
        task_bytes: Bytes of data files for one task. Several tasks read a larger file, each some of its row groups.
        job_files: Files for one job, whose results are in the driver's memory at the same time.

    Raises:
        DeltaSkipError: stats.compute raises it for a file when its job runs.
        SparkUnavailable: The executors lack this package.
    """

    def compute(data_files: Sequence[DataFile], vectors: pa.StructArray) -> list[ComputedFile]:
        storage, root = snapshot.storage, snapshot.table_root
        return file_statistics(spark, storage, root, data_files, request, vectors, task_bytes=task_bytes)

    yield from computed_tables(snapshot, files, request, compute, merge=merge, job_files=job_files)


def file_statistics(
    spark: SparkSession,
    storage: Storage,
    table_root: str,
    files: Sequence[DataFile],
    request: StatisticsRequest,
    vectors: pa.StructArray | None = None,
    *,
    task_bytes: int = TASK_BYTES,
) -> list[ComputedFile]:
    """Compute the statistics of files in one Spark job, and return them in the order of the files.

    Args:
        spark: A session whose executors reach the files and have this package.
        storage: Storage of the table.
        table_root: URI of the table.
        files: The files, numbered by their position.
        request: The statistics to compute for each file.
        vectors: The deletion vector of each file; None if no file has one.
        task_bytes: Bytes of data files for one task.

    Raises:
        DeltaSkipError: stats.compute raises it for a file.
        SparkUnavailable: The executors lack this package.
    """
    storage = storage_below(storage)
    with described_jobs(spark, f"compute statistics of {table_root}"):
        rows = _rows(spark, storage, table_root, files, request, vectors, task_bytes)
    return _whole_files(files, rows, request)


def _rows(
    spark: SparkSession,
    storage: Storage,
    table_root: str,
    files: Sequence[DataFile],
    request: StatisticsRequest,
    vectors: pa.StructArray | None,
    task_bytes: int,
) -> list[Any]:
    """Rows of TASK_RESULT for files and pieces of files. Arguments as for file_statistics."""
    if isinstance(storage, HadoopStorage):
        return rows_by_way_of_spark(spark, storage, table_root, files, vectors, request)
    tasks = balanced_tasks(files, task_bytes, cores(spark), footers_only=request.mode == "footer")
    runner = task_runner([packed_files(task) for task in tasks], request, table_root, getattr(storage, "options", None))
    # The tasks are part of the function, which Spark broadcasts if it is large. Rows of a DataFrame would need a
    # shuffle, and a job before the shuffle, to get into one partition each.
    with running_interpreter(spark), without_pandas_warning():
        results = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(runner, RESULT_DDL)
    return collected(results)


def _whole_files(files: Sequence[DataFile], rows: Sequence[Any], request: StatisticsRequest) -> list[ComputedFile]:
    """The results in the order of the files, with results of pieces merged."""
    stats: list[str | None] = [None] * len(files)
    records, scanned = [0] * len(files), [0] * len(files)
    pieces: dict[int, list[FileFacts]] = {}
    for row in rows:
        records[row.file] += row.num_records
        scanned[row.file] = max(scanned[row.file], row.scanned)
        if row.facts is None:
            stats[row.file] = row.stats
        else:
            pieces.setdefault(row.file, []).append(pickle.loads(row.facts))
    for number, parts in pieces.items():
        stats[number] = stats_json(joined_files(parts, request.orders), request)
    missing = stats.count(None)
    if missing:
        first = files[stats.index(None)].location
        raise StorageError(f"Spark returned no statistics for {missing} files, such as {first}: run it again.")
    return [ComputedFile(text or "", n, read) for text, n, read in zip(stats, records, scanned, strict=True)]

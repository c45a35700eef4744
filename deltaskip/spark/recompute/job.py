"""Statistics of a table's files computed by a Spark job; nothing is committed here."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from deltaskip.actions import FILE_SCHEMA, DeletionVectorDescriptor, canonical_paths, decode_paths, hadoop_path
from deltaskip.collations.write_versions import DOMAIN, write_versions
from deltaskip.errors import StorageError
from deltaskip.log import Snapshot
from deltaskip.log.live_adds import live_adds
from deltaskip.schema.arrow_values import arrow_array, empty_table
from deltaskip.spark.recompute.balance import TASK_BYTES, balanced_tasks
from deltaskip.spark.recompute.collect import RESULT_DDL, collected
from deltaskip.spark.recompute.hadoop import rows_by_way_of_spark
from deltaskip.spark.recompute.tasks import DataFile, pack, task_runner
from deltaskip.stats.columns import StatColumn, declared_collations, indexed_columns
from deltaskip.stats.computation import Collations, statistics_request
from deltaskip.stats.facts import FileFacts, joined_files
from deltaskip.stats.file_facts import Mode, StatisticsRequest, stats_json
from deltaskip.stats.merge import has_statistics, merged_stats
from deltaskip.storage import HadoopStorage
from deltaskip.table.table import DeltaTable
from deltaskip.txn.recompute.commit import RESULT_SCHEMA

__all__ = ["chosen_files", "not_done", "recompute_request", "recompute_statistics"]

_JOB_FILES = 50_000
_LOG_ROWS = 8192
_UNKNOWN_CORES = 16


def recompute_statistics(
    spark: SparkSession,
    table: DeltaTable,
    where: object = None,
    columns: Sequence[str] | None = None,
    collations: Collations | Sequence[str] | None = None,
    mode: Mode = "auto",
    only_missing: bool = False,
    *,
    done: pa.Array | None = None,
    kernel_spelling: bool = False,
    task_bytes: int = TASK_BYTES,
    job_files: int = _JOB_FILES,
) -> Iterator[pa.Table]:
    """The statistics of the table's files as `add` actions hold them, RESULT_SCHEMA, a table for each Spark job.

    spark: a session, classic or Connect, whose executors reach the files and have this package; those of a table on
    HDFS are read by Spark itself, see recompute_bytes. where: as in
    table.scan; files that cannot hold a matching row are left alone. columns: only these are computed, and the file's
    other statistics stay as the log has them. collations: as in stats.compute; None: the versions that the domain
    metadata `collations` asks for and this process can evaluate. only_missing: only files that lack some of what would
    be computed. done: canonical paths of files to leave alone. task_bytes: of data files to a task; a larger file is
    read by several, each some of its row groups. job_files: files to a job, of which the results are in the driver's
    memory at once.

    path: as logged; with dv_id it is the key of the logical file. num_records: physical rows. scanned: columns of which
    values were read. logged_stats, and what follows it: as the log has them. The log is read once, a few thousand files
    at a time. Rows that a deletion vector deletes count in no bound and no null count, and `tightBounds` is true
    where the table's protocol has deletion vectors.
    Raises what stats.compute raises, for files when a job runs, and SparkUnavailable where executors lack the package.
    """
    request = recompute_request(table.snapshot, columns, collations, mode, kernel_spelling=kernel_spelling)
    batches = (not_done(batch, done) for batch in chosen_files(table, where))
    if only_missing:
        batches = (_lacking(batch, request) for batch in batches)
    return _jobs(spark, table.snapshot, batches, request, columns is not None, _Sizes(task_bytes, job_files))


def recompute_request(
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    collations: Collations | Sequence[str] | None = None,
    mode: Mode = "auto",
    *,
    kernel_spelling: bool = False,
) -> StatisticsRequest:
    """What recompute_statistics computes of every file of this version of a table. Raises as it does."""
    chosen = indexed_columns(
        snapshot.schema,
        partition_columns=snapshot.partition_columns,
        mapping_mode=snapshot.mapping_mode,
        properties=snapshot.properties,
        columns=columns,
    )
    features = {*(snapshot.protocol.reader_features or ()), *(snapshot.protocol.writer_features or ())}
    return statistics_request(
        chosen,
        _versions_of_domain(snapshot, chosen) if collations is None else collations,
        mapping_mode=snapshot.mapping_mode,
        mode=mode,
        tight_bounds="deletionVectors" in features,
        kernel_spelling=kernel_spelling,
    )


def chosen_files(
    table: DeltaTable, where: object, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The files that may hold rows matching `where`, all where it is None; columns: of FILE_SCHEMA, None for all."""
    kept = None if where is None else table.scan(where).files(columns=["path"])["path"].combine_chunks()
    for batch in live_adds(table.snapshot, _LOG_ROWS, columns):
        yield batch if kept is None else batch.filter(pc.is_in(decode_paths(batch["path"]), value_set=kept))


def not_done(files: pa.RecordBatch, done: pa.Array | None) -> pa.RecordBatch:
    """The files whose path is none of the canonical paths `done`."""
    if done is None or not len(done):
        return files
    return files.filter(pc.invert(pc.is_in(canonical_paths(files["path"]), value_set=done)))


def _lacking(files: pa.RecordBatch, request: StatisticsRequest) -> pa.RecordBatch:
    """Those whose statistics lack something that the request asks for."""
    lacking = [not has_statistics(text, request) for text in files["stats"].to_pylist()]
    return files.filter(arrow_array(lacking, pa.bool_()))


@dataclass(frozen=True, slots=True)
class _Sizes:
    task_bytes: int
    job_files: int


def _versions_of_domain(snapshot: Snapshot, columns: Sequence[StatColumn]) -> dict[str, list[str]]:
    domain = snapshot.domains.get(DOMAIN)
    listed = write_versions(None if domain is None else domain.configuration)
    if not listed:
        return {}
    usable = {name: [str(version) for version in versions] for name, versions in listed.items()}
    return declared_collations(columns, usable)


def _jobs(
    spark: SparkSession,
    snapshot: Snapshot,
    batches: Iterable[pa.RecordBatch],
    request: StatisticsRequest,
    merge: bool,
    sizes: _Sizes,
) -> Iterator[pa.Table]:
    options = getattr(snapshot.storage, "options", None)
    cores = _cores(spark)
    for chosen in _gathered(batches, sizes.job_files):
        data_files = _data_files(snapshot, chosen)
        if isinstance(snapshot.storage, HadoopStorage):
            vectors = chosen["deletion_vector"].combine_chunks()
            rows = rows_by_way_of_spark(spark, snapshot, data_files, vectors, request)
        else:
            tasks = balanced_tasks(data_files, sizes.task_bytes, cores, footers_only=request.mode == "footer")
            runner = task_runner([pack(task) for task in tasks], request, snapshot.table_root, options)
            # The tasks travel within the function, which Spark broadcasts where it is large: rows of a DataFrame would
            # need a shuffle, and a job before it, to come to one partition each.
            rows = collected(spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(runner, RESULT_DDL))
        yield _result(chosen, data_files, rows, request, merge)


def _gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The batches as tables of so many rows, but for the last; texts stay in chunks, as one holds 2 GiB at most."""
    held = empty_table(FILE_SCHEMA)
    for batch in batches:
        held = pa.concat_tables([held, pa.Table.from_batches([batch], FILE_SCHEMA)])
        while len(held) >= rows:
            yield held.slice(0, rows)
            held = held.slice(rows)
    if len(held):
        yield held


def _data_files(snapshot: Snapshot, files: pa.Table) -> list[DataFile]:
    found = []
    rows = zip(files["path"].to_pylist(), files["size"].to_pylist(), files["deletion_vector"].to_pylist(), strict=True)
    for number, (path, size, vector) in enumerate(rows):
        descriptor = None if vector is None else DeletionVectorDescriptor(**vector)
        found.append(DataFile(number, hadoop_path(snapshot.table_root, path), size, descriptor))
    return found


def _cores(spark: SparkSession) -> int:
    """What classic Spark says; Connect does not tell."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "builtins"):
            raise
        return _UNKNOWN_CORES


def _result(
    files: pa.Table, data_files: Sequence[DataFile], rows: Sequence[Any], request: StatisticsRequest, merge: bool
) -> pa.Table:
    """The results in the order of the files, those of pieces joined."""
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
    if merge:
        both = zip(files["stats"].to_pylist(), stats, strict=True)
        stats = [None if new is None else merged_stats(old, new, request) for old, new in both]
    missing = stats.count(None)
    if missing:
        raise StorageError(f"Spark gave no statistics for {missing} of {len(files)} files; run it again.")
    vectors = [file.deletion_vector for file in data_files]
    ids = [None if vector is None else vector.unique_id for vector in vectors]
    new = {
        "dv_id": arrow_array(ids, pa.string()),
        "num_records": arrow_array(records, pa.int64()),
        "stats": arrow_array(stats, pa.string()),
        "scanned": arrow_array(scanned, pa.int64()),
        "logged_stats": files["stats"],
    }
    columns = [new[name] if name in new else files[name] for name in RESULT_SCHEMA.names]
    return pa.Table.from_arrays(columns, schema=RESULT_SCHEMA)

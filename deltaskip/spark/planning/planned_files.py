"""The files that a scan keeps, as a DataFrame that executors compute from the log: nothing is collected.

The driver names the parts of the log (row groups of the checkpoint that its footers do not rule out, and commits after
it), and Spark's tasks read them, see `planning.tasks`. An anti join on the path drops the files of older parts that
newer parts have ended: partitioned by hash, or with a broadcast of the newer actions if they are few. Spark does not
know the size of a Python function's result, so the sizes of the commits decide between the two joins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.errors import UnsupportedFeature
from deltaskip.log import Kind, LogFile, Snapshot
from deltaskip.log.checkpoint.manifests import ManifestPart
from deltaskip.log.portable import PortableSnapshot
from deltaskip.records import dataclass
from deltaskip.skipping.checkpoint_row_groups import row_groups_to_read
from deltaskip.skipping.file_list import files_schema
from deltaskip.skipping.file_predicates import reads_provenance
from deltaskip.skipping.log_scan import LogScan
from deltaskip.spark.columns.spark_types import spark_schema
from deltaskip.spark.planning.tasks import (
    ENDED_SCHEMA,
    KEY_FIELDS,
    CommitsTask,
    GroupsTask,
    InlineTask,
    PlanRequest,
    Task,
    ended_runner,
    files_runner,
    packed_tasks,
)
from deltaskip.spark.session.checks import cores, running_interpreter
from deltaskip.spark.session.releases import without_pandas_warning
from deltaskip.sparkexpr.types import from_arrow

COMMIT_BYTES = 16 << 20
"""Bytes of commits that one task reads; a larger commit is a separate task."""

BROADCAST_BYTES = 32 << 20
"""Up to this number of bytes of commits, the files that they end are broadcast."""

# PySpark takes 0.1 s to start a task; evaluating this number of files takes as long.
_TASK_FILES = 100_000
_MOST_TASK_FILES = 1_000_000


@dataclass(frozen=True, slots=True)
class FilesPlan:
    """The plan by which the files of a scan are found.

    Attributes:
        request: The part of the plan that every task needs.
        tasks: Parts of the log for each task that returns files, packed.
        newer: Commits for each task that returns the files that they end, packed; empty if no part is older.
        newer_bytes: Bytes of the commits.
        schema: Columns of the file list, in Spark's types.
    """

    request: PlanRequest
    tasks: list[bytes]
    newer: list[bytes]
    newer_bytes: int
    schema: pa.Schema

    @classmethod
    def of(cls, scan: LogScan, names: Sequence[str], cores: int) -> FilesPlan:
        """Return the plan of a scan. Only the open parts of the log and the provenance of statistics are read.

        Args:
            scan: The scan; its limit is ignored.
            names: Columns of the file list.
            cores: Number of tasks that run at the same time.

        Raises:
            UnsupportedFeature: Another process cannot read the log.
        """
        snapshot = scan.snapshot.whole
        portable = PortableSnapshot.of(snapshot, reads_provenance(scan.compiled.program))
        commits = list(_commit_tasks(snapshot.segment.commits))
        older: list[Sequence[Task]] = [*_group_tasks(scan, snapshot, cores), *_inline_tasks(snapshot)]
        keyed = len(commits) > 1 or bool(commits and older)
        request = PlanRequest(uuid4().hex, portable, scan.compiled.portable, tuple(names), keyed)
        return cls(
            request,
            [packed_tasks(task) for task in (*older, *([commit] for commit in commits))],
            [packed_tasks([commit]) for commit in commits] if keyed else [],
            sum(file.file.size for file in snapshot.segment.commits),
            _with_micros(files_schema(snapshot, names)),
        )


def planned_files(spark: SparkSession, scan: LogScan, names: Sequence[str]) -> DataFrame:
    """Return a DataFrame of the rows of `scan.files(columns=names)`, in no defined order.

    The driver holds the footers of the checkpoint and the names of its row groups; only their size grows with the
    table.

    Args:
        spark: A session, classic or Connect, whose executors reach the log and have this package.
        scan: The scan; its limit is ignored.
        names: Columns of the file list. Partition values without a time zone are in the scan's time zone.

    Raises:
        UnsupportedFeature: Executors cannot read the log.
        CorruptLog: The footer of a checkpoint is damaged. Spark raises the errors of tasks when the job runs.
    """
    plan = FilesPlan.of(scan, names, cores(spark))
    if not plan.tasks:
        return spark.createDataFrame([], spark_schema(from_arrow(plan.schema)))
    whole = pa.schema([*plan.schema, *(KEY_FIELDS if plan.request.keyed else ())])
    files = _mapped(spark, len(plan.tasks), files_runner(plan.tasks, plan.request), whole)
    if not plan.newer:
        return files
    ended = _mapped(spark, len(plan.newer), ended_runner(plan.newer, plan.request), ENDED_SCHEMA)
    ended = F.broadcast(ended) if plan.newer_bytes <= BROADCAST_BYTES else ended.hint("merge")
    path, dv, order = (field.name for field in KEY_FIELDS)
    dead = (F.col(path) == F.col("ended_path")) & (F.col("ended_order") > F.col(order))
    dead &= F.col("ended_by_add") | F.col(dv).eqNullSafe(F.col("ended_dv"))
    return files.join(ended, dead, "left_anti").select(*names)


def _commit_tasks(commits: Sequence[LogFile]) -> Iterator[CommitsTask]:
    held: list[LogFile] = []
    order = size = 0
    for commit in commits:
        if held and size + commit.file.size > COMMIT_BYTES:
            yield CommitsTask(tuple(held), order)
            held, size, order = [], 0, order + 1
        held.append(commit)
        size += commit.file.size
    if held:
        yield CommitsTask(tuple(held), order)


def _group_tasks(scan: LogScan, snapshot: Snapshot, cores: int) -> list[list[GroupsTask]]:
    """The row groups of the checkpoint that may contain a file to keep, in tasks that keep all cores busy."""
    found = []
    total = 0
    for part in snapshot.checkpoint_parts:
        for group in row_groups_to_read(scan.compiled.program, part, snapshot.cache):
            rows = part.add_rows(group)
            found.append((part, group, rows))
            total += rows
    most = max(_TASK_FILES, min(_MOST_TASK_FILES, total // (4 * cores)))
    tasks: list[list[GroupsTask]] = []
    rows_held = most
    for part, group, rows in found:
        if rows_held >= most:
            tasks.append([])
            rows_held = 0
        rows_held += rows
        last = tasks[-1][-1] if tasks[-1] else None
        manifest = replace(part.manifest, bounds={}) if isinstance(part, ManifestPart) else None
        if last is not None and last.path == part.path:
            tasks[-1][-1] = GroupsTask(part.path, part.version, (*last.groups, group), manifest)
        else:
            tasks[-1].append(GroupsTask(part.path, part.version, (group,), manifest))
    return tasks


def _inline_tasks(snapshot: Snapshot) -> list[list[InlineTask]]:
    ref, checkpoint = snapshot.segment.checkpoint, snapshot.checkpoint
    if ref is None or checkpoint is None:
        return []
    if ref.kind is not Kind.UUID_JSON_CHECKPOINT:
        if not checkpoint.inline.superseded:
            return []
        raise UnsupportedFeature(
            f"Version {snapshot.version} of {snapshot.table_root} cannot be planned by the executors of Spark: its "
            f"checkpoint has actions on files beside an adaptive metadata tree. Leave out engine='spark'."
        )
    return [[InlineTask(ref.files[0])]] if len(checkpoint.inline.adds) else []


def _mapped(spark: SparkSession, tasks: int, run: Any, schema: pa.Schema) -> DataFrame:
    """The rows that a function returns for the index of each task, in one Spark task each."""
    with running_interpreter(spark), without_pandas_warning():
        return spark.range(0, tasks, 1, tasks).mapInArrow(run, spark_schema(from_arrow(schema)))


def _with_micros(schema: pa.Schema) -> pa.Schema:
    """The schema with timestamps in microseconds, as in Spark."""
    fields = (
        field.with_type(pa.timestamp("us", field.type.tz)) if pa.types.is_timestamp(field.type) else field
        for field in schema
    )
    return pa.schema(list(fields))

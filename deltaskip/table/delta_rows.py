"""The result rows of delta-spark's statements and methods: history, detail, merge, optimize, restore and clone.

Each result has a schema as SQL text and a function that returns its rows, for DataFrames and Arrow tables.

# delta-spark 4.4: DescribeDeltaHistory, TableDetail, MergeIntoCommand, OptimizeMetrics, RestoreTableCommand
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from deltaskip.log import Snapshot
from deltaskip.log.history import HistoryEntry
from deltaskip.maintenance.optimize.optimize_result import FileSizes, OptimizeResult
from deltaskip.table.detail import TableDetail
from deltaskip.txn.result import WriteResult

HISTORY = """version BIGINT, timestamp TIMESTAMP, userId STRING, userName STRING, operation STRING,
    operationParameters MAP<STRING, STRING>,
    job STRUCT<jobId: STRING, jobName: STRING, jobRunId: STRING, runId: STRING, jobOwnerId: STRING,
        triggerType: STRING>,
    notebook STRUCT<notebookId: STRING>, clusterId STRING, readVersion BIGINT, isolationLevel STRING,
    isBlindAppend BOOLEAN, operationMetrics MAP<STRING, STRING>, userMetadata STRING, engineInfo STRING"""
_JOB = ("jobId", "jobName", "jobRunId", "runId", "jobOwnerId", "triggerType")
_NOTEBOOK = ("notebookId",)

DETAIL = """format STRING, id STRING, name STRING, description STRING, location STRING, createdAt TIMESTAMP,
    lastModified TIMESTAMP, partitionColumns ARRAY<STRING>, clusteringColumns ARRAY<STRING>, numFiles BIGINT,
    sizeInBytes BIGINT, properties MAP<STRING, STRING>, minReaderVersion INT, minWriterVersion INT,
    tableFeatures ARRAY<STRING>"""

AFFECTED = "num_affected_rows BIGINT"

MERGED = "num_affected_rows BIGINT, num_updated_rows BIGINT, num_deleted_rows BIGINT, num_inserted_rows BIGINT"

_SIZES = "STRUCT<min: BIGINT, max: BIGINT, avg: DOUBLE, totalFiles: BIGINT, totalSize: BIGINT>"
_CUBE_FILES = "STRUCT<num: BIGINT, size: BIGINT>"
_CLUSTERED_FILES = "STRUCT<numFiles: BIGINT, size: BIGINT>"
OPTIMIZED = f"""path STRING, metrics STRUCT<numFilesAdded: BIGINT, numFilesRemoved: BIGINT, filesAdded: {_SIZES},
    filesRemoved: {_SIZES}, partitionsOptimized: BIGINT,
    zOrderStats: STRUCT<strategyName: STRING, inputCubeFiles: {_CUBE_FILES}, inputOtherFiles: {_CUBE_FILES},
        inputNumCubes: BIGINT, mergedFiles: {_CUBE_FILES}, numOutputCubes: BIGINT, mergedNumCubes: BIGINT>,
    clusteringStats: STRUCT<inputZCubeFiles: {_CLUSTERED_FILES}, inputOtherFiles: {_CLUSTERED_FILES},
        inputNumZCubes: BIGINT, mergedFiles: {_CLUSTERED_FILES}, numOutputZCubes: BIGINT>,
    numBins: BIGINT, numBatches: BIGINT, totalConsideredFiles: BIGINT, totalFilesSkipped: BIGINT,
    preserveInsertionOrder: BOOLEAN, numFilesSkippedToReduceWriteAmplification: BIGINT,
    numBytesSkippedToReduceWriteAmplification: BIGINT, startTimeMs: BIGINT, endTimeMs: BIGINT,
    totalClusterParallelism: BIGINT, totalScheduledTasks: BIGINT,
    autoCompactParallelismStats: STRUCT<maxClusterActiveParallelism: BIGINT, minClusterActiveParallelism: BIGINT,
        maxSessionActiveParallelism: BIGINT, minSessionActiveParallelism: BIGINT>,
    deletionVectorStats: STRUCT<numDeletionVectorsRemoved: BIGINT, numDeletionVectorRowsRemoved: BIGINT>,
    numTableColumns: BIGINT, numTableColumnsWithStats: BIGINT>"""

# Delta's metrics by the columns of RESTORE.
_RESTORED = {
    "table_size_after_restore": "tableSizeAfterRestore",
    "num_of_files_after_restore": "numOfFilesAfterRestore",
    "num_removed_files": "numRemovedFiles",
    "num_restored_files": "numRestoredFiles",
    "removed_files_size": "removedFilesSize",
    "restored_files_size": "restoredFilesSize",
}
RESTORED = ", ".join(f"{name} BIGINT" for name in _RESTORED)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def history_rows(entries: Iterable[HistoryEntry]) -> list[tuple[Any, ...]]:
    """Return commits as rows of HISTORY, in the given order."""
    return [_commit(entry) for entry in entries]


def merged_row(metrics: Mapping[str, int]) -> tuple[int, ...]:
    """Return the numbers of rows that a merge changed as a row of MERGED."""
    numbers = [metrics.get(f"numTargetRows{name}", 0) for name in ("Updated", "Deleted", "Inserted")]
    return sum(numbers), *numbers


def detail_row(detail: TableDetail, name: str | None) -> tuple[Any, ...]:
    """Return the facts about a table as a row of DETAIL.

    Args:
        detail: The facts.
        name: Name of the table in its catalog, if it has one.
    """
    return (
        detail.format,
        detail.id,
        detail.name if name is None else name,
        detail.description,
        detail.location,
        detail.created_at,
        detail.last_modified,
        list(detail.partition_columns),
        list(detail.clustering_columns),
        detail.num_files,
        detail.size_in_bytes,
        dict(detail.properties),
        detail.min_reader_version,
        detail.min_writer_version,
        list(detail.table_features),
    )


def restored_row(result: WriteResult) -> tuple[int, ...] | None:
    """Return the metrics of a RESTORE as a row of RESTORED; None if the table was already at the version."""
    return tuple(result.metrics[name] for name in _RESTORED.values()) if result.metrics else None


def optimized_row(snapshot: Snapshot, result: OptimizeResult, parallelism: int = 0) -> tuple[str, dict[str, Any]]:
    """Return the result of an OPTIMIZE as a row of OPTIMIZED.

    Args:
        snapshot: The table after the OPTIMIZE.
        result: The result.
        parallelism: Number of tasks that the session runs at once.
    """
    removed = result.removed
    with_stats = snapshot.indexed_columns()
    columns = len(snapshot.schema.fields)
    vectors = {"numDeletionVectorsRemoved": result.vectors_removed, "numDeletionVectorRowsRemoved": result.deleted_rows}
    metrics = {
        "numFilesAdded": result.added.files,
        "numFilesRemoved": removed.files,
        "filesAdded": _sizes(result.added),
        "filesRemoved": _sizes(removed),
        "partitionsOptimized": result.partitions,
        "zOrderStats": _zorder(result) if result.kind == "zorder" else None,
        "clusteringStats": _clustering(result) if result.kind == "clustering" else None,
        "numBins": result.bins,
        "numBatches": max(1, len(result.versions)),
        "totalConsideredFiles": result.considered,
        "totalFilesSkipped": result.considered - removed.files,
        "preserveInsertionOrder": False,
        "numFilesSkippedToReduceWriteAmplification": 0,
        "numBytesSkippedToReduceWriteAmplification": 0,
        "startTimeMs": result.started_ms,
        "endTimeMs": result.ended_ms,
        "totalClusterParallelism": parallelism,
        "totalScheduledTasks": 0,
        "autoCompactParallelismStats": None,
        "deletionVectorStats": vectors if result.vectors_removed else None,
        "numTableColumns": columns,
        "numTableColumnsWithStats": min(columns, len(with_stats)),
    }
    return _location(snapshot.table_root), metrics


def _commit(entry: HistoryEntry) -> tuple[Any, ...]:
    info = entry.info.members
    return (
        entry.version,
        _EPOCH + timedelta(milliseconds=entry.timestamp_ms),
        entry.user_id,
        entry.user_name,
        entry.operation,
        _texts(entry.operation_parameters),
        _struct(info.get("job"), _JOB),
        _struct(info.get("notebook"), _NOTEBOOK),
        _text(info.get("clusterId")),
        _typed(info.get("readVersion"), int),
        _text(info.get("isolationLevel")),
        _typed(info.get("isBlindAppend"), bool),
        _texts(entry.operation_metrics),
        _text(info.get("userMetadata")),
        entry.engine_info,
    )


def _texts(values: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: _text(value) for name, value in values.items()}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _typed(value: Any, kind: type) -> Any:
    return value if type(value) is kind else None


def _struct(value: Any, names: tuple[str, ...]) -> tuple[str | None, ...] | None:
    return tuple(_text(value.get(name)) for name in names) if isinstance(value, Mapping) else None


def _location(uri: str) -> str:
    """The location as Hadoop writes it, with one slash after `file:`."""
    return f"file:/{uri.removeprefix('file:///')}" if uri.startswith("file:///") else uri


def _sizes(sizes: FileSizes) -> dict[str, Any]:
    return {
        "min": sizes.least,
        "max": sizes.greatest,
        "avg": float(sizes.average),
        "totalFiles": sizes.files,
        "totalSize": sizes.bytes,
    }


def _zorder(result: OptimizeResult) -> dict[str, Any]:
    """# delta-spark, ZOrderStrategy.updateOptimizeStats"""
    files = {"num": result.removed.files, "size": result.removed.bytes}
    return {
        "strategyName": "all",
        "inputCubeFiles": {"num": 0, "size": 0},
        "inputOtherFiles": files,
        "inputNumCubes": 0,
        "mergedFiles": files,
        "numOutputCubes": result.partitions,
        "mergedNumCubes": None,
    }


def _clustering(result: OptimizeResult) -> dict[str, Any]:
    """# delta-spark, ClusteringStatsCollector"""
    files, size, cubes = result.clustered_before
    return {
        "inputZCubeFiles": {"numFiles": files, "size": size},
        "inputOtherFiles": {"numFiles": result.considered - files, "size": result.considered_bytes - size},
        "inputNumZCubes": cubes,
        "mergedFiles": {"numFiles": result.removed.files, "size": result.removed.bytes},
        "numOutputZCubes": result.bins,
    }

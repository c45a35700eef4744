"""The DataFrames of delta-spark's history and detail."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from deltaskip.log.history import HistoryEntry
from deltaskip.table.detail import TableDetail

__all__ = ["detail_frame", "history_frame"]

_HISTORY = """version BIGINT, timestamp TIMESTAMP, userId STRING, userName STRING, operation STRING,
    operationParameters MAP<STRING, STRING>,
    job STRUCT<jobId: STRING, jobName: STRING, jobRunId: STRING, runId: STRING, jobOwnerId: STRING,
        triggerType: STRING>,
    notebook STRUCT<notebookId: STRING>, clusterId STRING, readVersion BIGINT, isolationLevel STRING,
    isBlindAppend BOOLEAN, operationMetrics MAP<STRING, STRING>, userMetadata STRING, engineInfo STRING"""
_JOB = ("jobId", "jobName", "jobRunId", "runId", "jobOwnerId", "triggerType")
_NOTEBOOK = ("notebookId",)

_DETAIL = """format STRING, id STRING, name STRING, description STRING, location STRING, createdAt TIMESTAMP,
    lastModified TIMESTAMP, partitionColumns ARRAY<STRING>, clusteringColumns ARRAY<STRING>, numFiles BIGINT,
    sizeInBytes BIGINT, properties MAP<STRING, STRING>, minReaderVersion INT, minWriterVersion INT,
    tableFeatures ARRAY<STRING>"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def history_frame(spark: SparkSession, entries: Iterable[HistoryEntry]) -> DataFrame:
    """Return commits as delta-spark's history does: one row each, in the given order."""
    return spark.createDataFrame([_commit(entry) for entry in entries], _HISTORY)


def detail_frame(spark: SparkSession, detail: TableDetail, name: str | None) -> DataFrame:
    """Return the facts about a table as delta-spark's detail does: one row.

    Args:
        spark: The session.
        detail: The facts.
        name: Name of the table in the session's catalog, if it has one.
    """
    row = (
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
    return spark.createDataFrame([row], _DETAIL)


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

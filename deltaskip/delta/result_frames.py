"""The DataFrames of delta-spark's history, detail and merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession

from deltaskip.log.history import HistoryEntry
from deltaskip.spark.catalog.session_tables import is_classic
from deltaskip.table.delta_rows import AFFECTED, DETAIL, HISTORY, MERGED, detail_row, history_rows, merged_row
from deltaskip.table.detail import TableDetail


def history_frame(spark: SparkSession, entries: Iterable[HistoryEntry]) -> DataFrame:
    """Return commits as delta-spark's history does: one row each, in the given order."""
    return spark.createDataFrame(history_rows(entries), HISTORY)


def affected_frame(spark: SparkSession, rows: int) -> DataFrame | None:
    """Return the number of rows that were deleted or updated as delta-spark does: only through Spark Connect.

    Args:
        spark: The session.
        rows: The number; -1 if it is not known.
    """
    return None if is_classic(spark) else spark.createDataFrame([(rows,)], AFFECTED)


def merge_frame(spark: SparkSession, metrics: Mapping[str, int]) -> DataFrame:
    """Return the numbers of rows that a merge changed as delta-spark's execute does: one row."""
    return spark.createDataFrame([merged_row(metrics)], MERGED)


def detail_frame(spark: SparkSession, detail: TableDetail, name: str | None) -> DataFrame:
    """Return the facts about a table as delta-spark's detail does: one row.

    Args:
        spark: The session.
        detail: The facts.
        name: Name of the table in the session's catalog, if it has one.
    """
    return spark.createDataFrame([detail_row(detail, name)], DETAIL)

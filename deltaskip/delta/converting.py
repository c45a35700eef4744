"""delta-spark's convertToDelta: folders of Parquet files that become tables."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from deltaskip.delta.errors import not_available
from deltaskip.table.table import DeltaTable

__all__ = ["converted"]


def converted(
    spark: SparkSession, identifier: str, partition_schema: str | StructType | None
) -> tuple[DeltaTable, str | None]:
    """Return the table that a Parquet table becomes, and its name in the session's catalog if it has one."""
    raise not_available("convertToDelta", f"run CONVERT TO DELTA {identifier} in a session with delta-spark")

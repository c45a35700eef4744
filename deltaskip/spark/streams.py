"""Streaming DataFrames of tables, through the data source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from deltaskip.errors import UnsupportedFeature

__all__ = ["stream_to_dataframe"]


def stream_to_dataframe(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """Return a streaming DataFrame of the rows that a table has and gets.

    Args:
        spark: A session of Spark 4.0 or newer, classic or Connect.
        options: Options of the format deltaskip. The time zone is the session's unless they say otherwise.

    Raises UnsupportedFeature for Spark 3.5.
    """
    if spark.version.startswith("3."):
        raise UnsupportedFeature(
            f"Spark {spark.version} has no Python data sources, so it cannot follow {options['path']}: use Spark 4, or "
            f'spark.readStream.format("delta") of delta-spark, or read the versions since the last run with '
            f"DeltaTable.changes."
        )
    from deltaskip.spark.data_source.source import DeltaSkipDataSource

    registry: Any = spark.dataSource
    try:
        registry.register(DeltaSkipDataSource)
    except AnalysisException as error:
        # Spark 4.0 refuses what it has found by itself, through the package pyspark_deltaskip.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    return spark.readStream.format(DeltaSkipDataSource.name()).options(**{"timeZone": zone, **options}).load()

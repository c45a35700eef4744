"""The format deltaskip in a session, and streaming DataFrames of tables through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from deltaskip.errors import UnsupportedFeature
from deltaskip.spark.session.active import in_ansi
from deltaskip.spark.session.checks import running_interpreter

__all__ = ["register_format", "stream_to_dataframe"]


def stream_to_dataframe(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """Return a streaming DataFrame of a table's rows, then of the rows appended to it.

    Args:
        spark: A session of Spark 4.0 or newer, classic or Connect.
        options: Options of the format deltaskip. Time zone and ANSI mode are the session's unless they say otherwise.

    Raises UnsupportedFeature for Spark 3.5.
    """
    register_format(spark, options["path"])
    given = {"timeZone": str(spark.conf.get("spark.sql.session.timeZone")), "ansi": str(in_ansi(spark)).lower()}
    return spark.readStream.format("deltaskip").options(**{**given, **options}).load()


def register_format(spark: SparkSession, path: str | None = None) -> None:
    """Let a session find the format deltaskip, also where its workers would run another interpreter.

    Args:
        spark: A session, classic or Connect.
        path: The table, for messages.

    Raises UnsupportedFeature for Spark 3.5.
    """
    if spark.version.startswith("3."):
        followed = "" if path is None else f", so it cannot follow {path}"
        raise UnsupportedFeature(
            f"Spark {spark.version} has no Python data sources{followed}: use Spark 4, or "
            f'spark.readStream.format("delta") of delta-spark, or read the versions since the last run with '
            f"DeltaTable.changes."
        )
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    registry: Any = spark.dataSource
    try:
        with running_interpreter(spark):
            registry.register(DeltaSkipDataSource)
    except AnalysisException as error:
        # Spark 4.0 refuses what it has found by itself, through the package pyspark_deltaskip.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise

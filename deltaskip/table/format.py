"""The format `deltaskip` of Spark's readers and writers."""

from __future__ import annotations

from typing import Any

from deltaskip.doors import door
from deltaskip.engine import engine


@door
def register_format(spark: Any) -> None:
    """Let a session find the format `deltaskip` of `spark.read`, `spark.readStream`, and `df.write`.

    Spark finds it by itself if deltaskip is installed for the interpreter of its Python workers, which is that of
    `PYSPARK_PYTHON`, or else `python3`. After this call a local classic session runs the interpreter of this process
    for it, unless `PYSPARK_PYTHON` or `spark.pyspark.python` names another.

    Args:
        spark: A session of Spark 4.0 or newer, classic or Connect.

    Raises:
        SparkUnavailable: PySpark is not installed.
        UnsupportedFeature: Spark 3.5 has no data sources in Python.
        InvalidArgument: The session was stopped.
        InvalidArgumentType: `spark` is not a session.
    """
    engine("The format deltaskip").register_format(spark)

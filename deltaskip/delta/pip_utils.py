"""configure_spark_with_delta_pip, as in the module pip_utils of delta-spark, and the version of deltaskip."""

from __future__ import annotations

from pyspark.sql import SparkSession

from deltaskip.delta.argument_checks import found
from deltaskip.errors import InvalidArgumentType
from deltaskip.version import engine_info

__version__ = engine_info().rpartition("/")[2]
"""The version of deltaskip."""

_PACKAGES = "spark.jars.packages"


def configure_spark_with_delta_pip(
    spark_session_builder: SparkSession.Builder, extra_packages: list[str] | None = None
) -> SparkSession.Builder:
    """Return the builder of a session. deltaskip needs no jar in the session.

    Args:
        spark_session_builder: The builder.
        extra_packages: Maven coordinates of other packages for the session.

    Raises:
        TypeError: `spark_session_builder` is not a builder.
    """
    if type(spark_session_builder) is not SparkSession.Builder:
        raise InvalidArgumentType(
            f"spark_session_builder must be a builder of sessions, such as SparkSession.builder. "
            f"{found(spark_session_builder)}"
        )
    if not extra_packages:
        return spark_session_builder
    return spark_session_builder.config(_PACKAGES, ",".join(extra_packages))

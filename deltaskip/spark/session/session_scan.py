"""A scan as a session evaluates its predicate."""

from __future__ import annotations

from typing import TypeVar

from pyspark.sql import SparkSession

from deltaskip.engine import PlannedScan
from deltaskip.errors import UnsupportedFeature
from deltaskip.reading.session_needs import SessionNeeds
from deltaskip.spark.columns.spark_collations import check_compared, warn_of_unknown
from deltaskip.spark.session.active import in_ansi
from deltaskip.spark.session.session_collation import session_collation_version, warn_if_unused

Planned = TypeVar("Planned", bound=PlannedScan)


def planned_for(spark: SparkSession, scan: Planned) -> Planned:
    """Return the scan as `in_session` does, with warnings about the table's collations."""
    needs = SessionNeeds.of(scan)
    planned = in_session(spark, scan, needs)
    warn_of_unknown(planned.snapshot, spark.version)
    warn_if_unused(planned, needs.compared, planned.collation_version)
    return planned


def in_session(spark: SparkSession, scan: Planned, needs: SessionNeeds) -> Planned:
    """Return the scan in the session's time zone and mode, and for its version of the collations that it compares.

    Raises UnsupportedFeature if the session evaluates the predicate in another way than deltaskip.
    """
    if needs.has_base64 and not base64_has_lines(spark):
        raise UnsupportedFeature(
            f"The predicate of {needs.table} has base64, whose text has lines here and none in this session: set "
            f"spark.sql.chunkBase64String.enabled to true, or compare binary, as in b = unbase64('…')."
        )
    check_compared(needs, spark.version)
    version = session_collation_version(spark) if needs.compared else scan.collation_version
    return scan.replanned(str(spark.conf.get("spark.sql.session.timeZone")), version, in_ansi(spark))


def base64_has_lines(spark: SparkSession) -> bool:
    """Whether base64 divides its text into lines in a session: always in versions without the setting."""
    return str(spark.conf.get("spark.sql.chunkBase64String.enabled", "true")).lower() != "false"

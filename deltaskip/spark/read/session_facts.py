"""The facts of a Spark session, which is asked once for each read."""

from __future__ import annotations

from pyspark.sql import SparkSession

from deltaskip.engine import PlannedScan
from deltaskip.reading.session_scan import SessionFacts, SessionNeeds
from deltaskip.spark.columns.spark_types import HAS_COLLATIONS, has_type
from deltaskip.spark.read.file_index import listing_of
from deltaskip.spark.session.active import in_ansi
from deltaskip.spark.session.session_collation import session_collation_version


def session_facts(spark: SparkSession, scan: PlannedScan, listing: bool = True) -> SessionFacts:
    """Return the facts of a session for a scan. The session is not asked for facts that the scan does not need.

    listing: As of `listing_of`, and raises as it does.
    """
    needs, snapshot = SessionNeeds.of(scan), scan.snapshot
    return SessionFacts(
        needs=needs,
        version=str(spark.version),
        time_zone=str(spark.conf.get("spark.sql.session.timeZone")),
        ansi=in_ansi(spark),
        # Versions without the setting have lines.
        has_lines=not needs.has_base64
        or str(spark.conf.get("spark.sql.chunkBase64String.enabled", "true")).lower() != "false",
        has_collations=HAS_COLLATIONS,
        collation_version=session_collation_version(spark) if needs.compared else None,
        unreadable=tuple(f.name for f in snapshot.schema.fields if scan.columns is not None and not has_type(f)),
        listing=listing_of(spark, snapshot.table_root, listing),
    )

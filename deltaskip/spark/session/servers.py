"""Servers of Spark Connect other than Spark's, such as Sail: rows that are sent to them, and calls that are refused.

Such a server may ignore options of Spark's Parquet reader without an error, and return other rows for it.
"""

from __future__ import annotations

import re
import threading
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from deltaskip.engine import PlannedScan
from deltaskip.errors import UnsupportedFeature
from deltaskip.spark.session.checks import session_id
from deltaskip.spark.session.releases import broadcast_rows

# Spark's function version() returns the release and the revision.
_SPARKS = re.compile(r"\S+ [0-9a-f]{7,}\S*")

_lock = threading.Lock()
_of_sessions: dict[str, str | None] = {}


def other_server(spark: SparkSession) -> str | None:
    """Return the version that a server of Spark Connect other than Spark's reports; None for Spark.

    A server is queried once for each session.
    """
    if getattr(spark, "_jsparkSession", None) is not None:
        return None
    key = session_id(spark)
    with _lock:
        if key not in _of_sessions:
            found = str(spark.sql("SELECT version()").collect()[0][0])
            _of_sessions[key] = None if _SPARKS.fullmatch(found) else found
        return _of_sessions[key]


def refuse_other_server(spark: SparkSession, doing: str) -> None:
    """Raise UnsupportedFeature for a session whose server is not Spark's.

    doing: the operation that needs Spark, such as `Reading t`.
    """
    version = other_server(spark)
    if version is not None:
        raise UnsupportedFeature(
            f"{doing} needs Spark, but this session runs on another server, whose version() is {version}. "
            f"It does not report _metadata.file_path: leave out spark=, and pass rows as Arrow data, such as "
            f"df.toArrow(), to do it in this process."
        )


def rows_for_other_server(spark: SparkSession, scan: PlannedScan, metadata: bool) -> DataFrame | None:
    """Return the rows of a scan as a DataFrame of a server other than Spark's; None for Spark.

    The rows are read in this process and sent to the server.
    """
    version = other_server(spark)
    if version is None:
        return None
    if metadata:
        refuse_other_server(spark, f"Reading {scan.snapshot.table_root} with the positions of its rows")
    here: Any = scan.replanned(spark.conf.get("spark.sql.session.timeZone"), scan.collation_version)
    return broadcast_rows(spark, here.to_arrow())

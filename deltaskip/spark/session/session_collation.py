"""The collation version of a session."""

from __future__ import annotations

import threading
from typing import Any

from pyspark.sql import SparkSession

from deltaskip.collations.versions import UNKNOWN_VERSION
from deltaskip.spark.session.active import running_session

_lock = threading.Lock()
_of_sessions: dict[str, str] = {}


def active_collation_version() -> str | None:
    """The version of this process's active session, classic or Connect; None if no session reports one."""
    session = running_session()
    version = UNKNOWN_VERSION if session is None else session_collation_version(session)
    return None if version == UNKNOWN_VERSION else version


def session_collation_version(spark: Any) -> str:
    """Version major.minor of the ICU library of the session; "unknown" if Spark does not report it.

    A server is queried once for each session.
    """
    jvm = getattr(spark, "_jvm", None) if isinstance(spark, SparkSession) else None
    if jvm is not None:
        return _version_in(jvm)
    key = str(getattr(spark, "session_id", id(spark)))
    with _lock:
        if key not in _of_sessions:
            _of_sessions[key] = _queried(spark)
        return _of_sessions[key]


def _version_in(jvm: Any) -> str:
    try:
        version = jvm.com.ibm.icu.util.VersionInfo.ICU_VERSION
        return f"{version.getMajor()}.{version.getMinor()}"
    except Exception:  # Spark 3.5 has no ICU; py4j raises several kinds of errors
        return UNKNOWN_VERSION


def _queried(spark: Any) -> str:
    try:
        rows = spark.sql("SELECT icu_version FROM collations() WHERE name = 'UNICODE'").collect()
    except Exception:  # older releases lack the function, and Connect wraps every error
        return UNKNOWN_VERSION
    return ".".join(rows[0][0].split(".")[:2]) if rows and rows[0][0] else UNKNOWN_VERSION

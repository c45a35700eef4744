"""The collation version of a session, and a warning if a table's statistics have another version."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from deltaskip.collations.collation_id import CollationId
from deltaskip.collations.lookup import find
from deltaskip.collations.versions import how_to_get, kept_versions
from deltaskip.engine import PlannedScan
from deltaskip.errors import InvalidCollation, StatisticsWarning
from deltaskip.log import Snapshot
from deltaskip.skipping.explain.reasons import logged_collations
from deltaskip.spark.session.active import running_session
from deltaskip.warning import warn

UNKNOWN_COLLATION = "unknown"

_lock = threading.Lock()
_of_sessions: dict[str, str] = {}
_warned: set[tuple[str, str]] = set()


def active_collation_version() -> str | None:
    """The version of this process's active session, classic or Connect; None if no session reports one."""
    session = running_session()
    version = UNKNOWN_COLLATION if session is None else session_collation_version(session)
    return None if version == UNKNOWN_COLLATION else version


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


def warn_if_unused(scan: PlannedScan, collations: Iterable[str], session: str) -> None:
    """Warn, once for each pair of versions, if the table's collated statistics cannot serve comparisons of a session.

    collations: those that the predicate compares under. session: the session's version.
    """
    listed = _listed(scan.snapshot)
    for collation in collations:
        wanted = _parsed(collation)
        if wanted is None or wanted.version is not None:
            continue
        available = find(wanted.canonical.with_version(session)) is not None
        versions = listed.get(wanted.canonical, ())
        if available and session in versions:
            continue
        versions = tuple({*versions, *_logged(scan.snapshot, wanted)})
        if versions and not (available and session in versions):
            _warn(scan.snapshot, wanted, session, versions, available)


def _warn(snapshot: Snapshot, collation: CollationId, session: str, versions: Iterable[str], available: bool) -> None:
    others = sorted(versions, key=_numbers)
    with _lock:
        pair = session, session if session in others else others[-1]
        if pair in _warned:
            return
        _warned.add(pair)
    install = "" if available else f"install ICU {session} ({how_to_get(session)})"
    recompute = "" if session in others else f"run recompute_stats(spark, collation_versions=[{session!r}])"
    if session == UNKNOWN_COLLATION:
        install, recompute = "", "filter with a Spark that lists its version in collations()"
    warn(
        f"This Spark session compares strings by ICU {session}, and the statistics of {collation.canonical} in "
        f"{snapshot.table_root} (version {snapshot.version}) are of ICU {', '.join(others)}, so they cannot be used to "
        f"skip files here: {' and '.join(filter(None, (install, recompute)))}.",
        StatisticsWarning,
    )


def _version_in(jvm: Any) -> str:
    try:
        version = jvm.com.ibm.icu.util.VersionInfo.ICU_VERSION
        return f"{version.getMajor()}.{version.getMinor()}"
    except Exception:  # Spark 3.5 has no ICU; py4j raises several kinds of errors
        return UNKNOWN_COLLATION


def _queried(spark: Any) -> str:
    try:
        rows = spark.sql("SELECT icu_version FROM collations() WHERE name = 'UNICODE'").collect()
    except Exception:  # older releases lack the function, and Connect wraps every error
        return UNKNOWN_COLLATION
    return ".".join(rows[0][0].split(".")[:2]) if rows and rows[0][0] else UNKNOWN_COLLATION


def _listed(snapshot: Snapshot) -> dict[CollationId, tuple[str, ...]]:
    """The versions in the table's metadata domain, by canonical collation."""
    listed = kept_versions(snapshot.domains)
    return {known.canonical: versions for name, versions in listed.items() if (known := _parsed(name)) is not None}


def _logged(snapshot: Snapshot, collation: CollationId) -> set[str]:
    """The versions in which the log has statistics of the collation."""
    found = filter(None, map(_parsed, logged_collations(snapshot)))
    return {
        each.version
        for each in found
        if each.version is not None and each.without_version.canonical == collation.canonical
    }


def _parsed(text: str) -> CollationId | None:
    try:
        return CollationId.named(text)
    except InvalidCollation:
        return None


def _numbers(version: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else 0, part) for part in version.split(".")]

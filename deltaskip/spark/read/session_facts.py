"""The facts of a Spark session on which a read depends. The session is asked once for each read.

A server of Spark Connect other than Spark's, such as Sail, may ignore options of Spark's Parquet reader without an
error, and return wrong rows. For such a server, this process reads the rows and sends them; other calls are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from deltaskip.engine import PlannedScan
from deltaskip.errors import UnsupportedFeature
from deltaskip.fork_safety import new_lock
from deltaskip.lazy_regex import regex
from deltaskip.reading.session_scan import Listing, SessionFacts, SessionNeeds
from deltaskip.schema.spark_collations import unknown_collations
from deltaskip.spark.columns.spark_types import HAS_COLLATIONS, has_type
from deltaskip.spark.read.session_meaning import meaning_in_flight
from deltaskip.spark.session.active import running_session
from deltaskip.spark.session.session_settings import is_classic, java_state
from deltaskip.sparkexpr.collations import UNKNOWN_VERSION

Answer = TypeVar("Answer")

# Spark's function version() returns the release and the revision.
_SPARKS = regex(r"\S+ [0-9a-f]{7,}\S*")

# The answers of servers, by question and session.
_answers: dict[tuple[object, str], Any] = {}
_lock = new_lock()


def session_facts(spark: SparkSession, scan: PlannedScan) -> SessionFacts:
    """Return the facts of a session for a scan. The session is not asked for facts that the scan does not need."""
    return facts_in_flight(spark, scan)[1]()


def facts_in_flight(
    spark: SparkSession, scan: PlannedScan, listing: bool = True
) -> tuple[SessionFacts, Callable[[], SessionFacts]]:
    """Return `session_facts` before a server has said which functions it has, and the function that waits for it.

    The first are right unless functions of the session hide Spark's; then the second have another meaning.

    listing: `by_spark` of `listing_of`. Raises as `listing_of` does.
    """
    needs, snapshot = SessionNeeds.of(scan), scan.snapshot
    meaning, meaning_then = meaning_in_flight(spark, [scan.given], snapshot.schema)
    facts = SessionFacts(
        needs=needs,
        meaning=meaning,
        version=str(spark.version),
        has_collations=HAS_COLLATIONS,
        collation_version=session_collation_version(spark) if needs.compared else None,
        unknown_collations=unknown_collations(snapshot.schema, HAS_COLLATIONS),
        unreadable=tuple(f.name for f in snapshot.schema.fields if scan.columns is not None and not has_type(f)),
        listing=listing_of(spark, snapshot.table_root, listing),
        estimates=uses_estimates(spark),
    )
    return facts, lambda: replace(facts, meaning=meaning_then())


def listing_of(spark: SparkSession, table_root: str, by_spark: bool = True) -> Listing:
    """The source of the sizes and times of files that a session reads. by_spark: if False, the log.

    Raises UnsupportedFeature for the log in a session of Spark Connect, because a client cannot reach the JVM.
    """
    if is_classic(spark):
        return "here" if by_spark else "log"
    if not by_spark:
        raise UnsupportedFeature(
            f"A session of Spark Connect lists the files of {table_root} itself: leave out listing=False, or use a "
            "classic session."
        )
    return "engine"


def active_collation_version() -> str | None:
    """The collation version of this process's active session, classic or Connect; None if no session reports it."""
    session = running_session()
    version = UNKNOWN_VERSION if session is None else session_collation_version(session)
    return None if version == UNKNOWN_VERSION else version


def uses_estimates(spark: SparkSession) -> bool:
    """Whether the optimizer of a session uses numbers of rows and statistics of columns; False through Spark Connect.

    # Spark 4.1, LogicalRelation.computeStats, LogicalPlanStats
    """
    conf = java_state(spark).conf() if is_classic(spark) else None
    return conf is not None and bool(conf.cboEnabled() or conf.planStatsEnabled())


def session_collation_version(spark: Any) -> str:
    """Version major.minor of the ICU library of the session; "unknown" if Spark does not report it.

    A server is queried once for each session.
    """
    jvm = getattr(spark, "_jvm", None) if isinstance(spark, SparkSession) else None
    if jvm is not None:
        return _version_in(jvm)
    return _answered_once(spark, _queried_collation_version)


def other_server(spark: SparkSession) -> str | None:
    """Return the version that a server of Spark Connect other than Spark's reports; None for Spark.

    A server is queried once for each session.
    """
    return None if is_classic(spark) else _answered_once(spark, _queried_other_server)


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


def _version_in(jvm: Any) -> str:
    try:
        version = jvm.com.ibm.icu.util.VersionInfo.ICU_VERSION
        return f"{version.getMajor()}.{version.getMinor()}"
    except Exception:  # Spark 3.5 has no ICU; py4j raises several kinds of errors
        return UNKNOWN_VERSION


def _queried_collation_version(spark: Any) -> str:
    try:
        rows = spark.sql("SELECT icu_version FROM collations() WHERE name = 'UNICODE'").collect()
    except Exception:  # older releases lack the function, and Connect wraps every error
        return UNKNOWN_VERSION
    return ".".join(rows[0][0].split(".")[:2]) if rows and rows[0][0] else UNKNOWN_VERSION


def _queried_other_server(spark: SparkSession) -> str | None:
    found = str(spark.sql("SELECT version()").collect()[0][0])
    return None if _SPARKS.fullmatch(found) else found


def _answered_once(spark: Any, question: Callable[[Any], Answer]) -> Answer:
    """The answer of a session's server to a question. Each session is asked once."""
    key = question, str(getattr(spark, "session_id", id(spark)))
    with _lock:
        if key not in _answers:
            _answers[key] = question(spark)
        found: Answer = _answers[key]
    return found

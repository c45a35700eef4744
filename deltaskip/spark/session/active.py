"""The active Spark session of the process, or a small local one for the command line and the demo."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from deltaskip.spark.session.java_rules import use_session_rules

_TIME_ZONE = "spark.sql.session.timeZone"
_CONNECT = "pyspark.sql.connect.session"
_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    _TIME_ZONE: "UTC",
    "spark.sql.shuffle.partitions": "2",
}


def active_session() -> SparkSession | None:
    """The active session of this process; None if no session runs."""
    try:
        active = SparkSession.getActiveSession()
        return None if active is None or not active.version else active
    except Exception:  # a session that was stopped, or whose server is gone
        return None


def running_session() -> Any:
    """The active session of this thread, classic or Connect, or else of the process; None without a session."""
    for each in (getattr(sys.modules.get(_CONNECT), "SparkSession", None), SparkSession):
        # Spark 3.5 does not report the active session of Connect.
        active = getattr(each, "getActiveSession", None)
        session = None if active is None else active()
        if session is not None:
            return session
    return getattr(SparkSession, "_instantiatedSession", None)


@contextmanager
def local_session(scratch: Path) -> Iterator[SparkSession]:
    """The active session of this process if there is one, otherwise a local one that is stopped after the block.

    A new session keeps its files in the folder `scratch`, including spark.log with the output of its JVM. Raises
    RuntimeError if the JVM does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    threads = min(4, os.cpu_count() or 1)
    builder = SparkSession.builder.master(f"local[{threads}]").appName("deltaskip")
    for key, value in _CONF.items():
        builder = builder.config(key, value)
    with _stderr_to(scratch / "spark.log"):
        session = builder.config("spark.sql.warehouse.dir", (scratch / "warehouse").as_uri()).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def in_ansi(spark: SparkSession) -> bool:
    """Whether the session evaluates in ANSI mode."""
    return str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"


def time_zone_of(spark: SparkSession) -> str:
    """The time zone of the session, whose rules are used in this process from now on."""
    use_session_rules(spark)
    return str(spark.conf.get(_TIME_ZONE))


def session_time_zone() -> str | None:
    """The time zone of the active session of this process, classic or Connect; None if no session answers.

    A thread without a session uses the session of the process.
    """
    try:
        active = running_session()
        return None if active is None else time_zone_of(active)
    except Exception:  # a session that was stopped, or whose server is gone
        return None


def active_session_ansi() -> bool | None:
    """Whether the active session of this process evaluates in ANSI mode; None if no session answers."""
    try:
        active = SparkSession.getActiveSession()
        return None if active is None else in_ansi(active)
    except Exception:  # a session that was stopped, or whose server is gone
        return None


def session_reads_as_before() -> bool:
    """Whether the active session interprets datetime patterns as Spark 2 did."""
    try:
        active = SparkSession.getActiveSession()
        policy = "" if active is None else str(active.conf.get("spark.sql.legacy.timeParserPolicy", ""))
    except Exception:  # a session that was stopped, or whose server is gone
        return False
    return policy.upper() == "LEGACY"


def active_session_function(name: str) -> bool:
    """Whether the active session of this process has a function of this name, such as a user-defined one."""
    try:
        active = SparkSession.getActiveSession()
        return active is not None and active.catalog.functionExists(name)
    except Exception:  # a session that was stopped, or whose server is gone
        return False


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Redirect file descriptor 2 to the file; processes that are started in the block inherit it."""
    sys.stderr.flush()
    before = os.dup(2)
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)
        os.close(target)

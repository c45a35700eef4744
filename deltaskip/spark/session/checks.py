"""Sessions that users pass: whether they can be used, and the interpreter of their Python workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from pyspark.sql import SparkSession

from deltaskip import arguments
from deltaskip.errors import InvalidArgument
from deltaskip.spark.session.overlapping import holding
from deltaskip.spark.session.secrets import keep_settings_secret_once

__all__ = ["checked", "cores", "running_interpreter", "session_id"]

_UNKNOWN_CORES = 16


def checked(session: object) -> SparkSession:
    """The session, if it is a classic or a Connect one that runs.

    Raises InvalidArgumentType for another type, InvalidArgument for a session that was stopped.
    """
    # The class of Connect sessions is imported only where it is installed, and both have these.
    if isinstance(session, type) or not callable(getattr(session, "createDataFrame", None)):
        arguments.instance("spark", session, SparkSession, "a SparkSession")
    if _is_stopped(session):
        raise InvalidArgument("spark is a session that was stopped; create a new one, and pass that.")
    keep_settings_secret_once(session)
    return cast(SparkSession, session)


def cores(spark: SparkSession) -> int:
    """Default parallelism of a classic session; Connect does not report it."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "builtins"):
            raise
        return _UNKNOWN_CORES


def session_id(spark: SparkSession) -> str:
    """The id of a session, which all objects for it have in common."""
    java = getattr(spark, "_jsparkSession", None)
    return str(getattr(spark, "_session_id", None) if java is None else java.sessionUUID())


@contextmanager
def running_interpreter(spark: SparkSession) -> Iterator[None]:
    """Within the block, Python functions are prepared for the running interpreter, if the workers are on this machine.

    By default the workers of a local session run `python3` of PATH, which need not be that of the environment in use.
    What the user has configured stays: PYSPARK_PYTHON, spark.pyspark.python.
    """
    context: Any = getattr(spark, "_sc", None) if isinstance(spark, SparkSession) else None
    if context is None or not str(context.master).startswith("local") or _is_configured(context):
        yield
        return
    with holding(
        "pythonExec", sys.executable, lambda: context.pythonExec, lambda value: setattr(context, "pythonExec", value)
    ):
        yield


def _is_configured(context: Any) -> bool:
    return "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")


def _is_stopped(session: Any) -> bool:
    if isinstance(session, SparkSession):
        context = getattr(session, "_sc", None)
        return context is not None and getattr(context, "_jsc", None) is None
    return bool(getattr(session, "is_stopped", False))

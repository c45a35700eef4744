"""Settings of a session, and descriptions of its jobs, that hold while an operation runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from deltaskip.spark.session.checks import session_id
from deltaskip.spark.session.overlapping import holding

_DESCRIPTION = "spark.job.description"


@contextmanager
def session_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set runtime settings of the session within the block, and restore them at the end, see `holding`."""
    session = session_id(spark)
    with ExitStack() as held:
        for key, value in settings.items():
            get = partial(spark.conf.get, key, None)
            held.enter_context(holding((session, key), value, get, partial(_put, spark, key)))
        yield


def _put(spark: SparkSession, key: str, value: str | None) -> None:
    if value is None:
        spark.conf.unset(key)
    else:
        spark.conf.set(key, value)


@contextmanager
def described_jobs(spark: SparkSession, act: str) -> Iterator[None]:
    """Within the block, jobs that this thread starts have a description, after that of the user if there is one.

    The description belongs to the thread and stays until it is changed, so the former one is restored at the end. A
    client of Spark Connect cannot set it; there the block changes nothing.

    Args:
        spark: The session.
        act: The operation of the jobs, such as "write to /data/sales".
    """
    context: Any = getattr(spark, "_sc", None) if isinstance(spark, SparkSession) else None
    if context is None:
        yield
        return
    before = context.getLocalProperty(_DESCRIPTION)
    context.setJobDescription(": ".join(filter(None, (before, "deltaskip", act))))
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)

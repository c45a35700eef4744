"""Descriptions of the jobs that deltaskip runs, for the Spark UI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

_DESCRIPTION = "spark.job.description"


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

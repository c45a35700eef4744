"""Settings of a session that hold while an operation runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

__all__ = ["session_settings"]


@contextmanager
def session_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set runtime settings of the session within the block, and restore those that it changed at the end."""
    before = {key: spark.conf.get(key, None) for key in settings}
    changed = {key: value for key, value in settings.items() if before[key] != value}
    try:
        for key, value in changed.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key in changed:
            old = before[key]
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)

"""Settings of a session that hold while an operation runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

from pyspark.sql import SparkSession

from deltaskip.spark.session.checks import session_id
from deltaskip.spark.session.overlapping import holding


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

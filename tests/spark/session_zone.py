"""The time zone of a session, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ZONE = "spark.sql.session.timeZone"


@contextmanager
def session_zone(spark: Any, zone: str) -> Iterator[None]:
    """Within the block, the session has another time zone."""
    before = spark.conf.get(_ZONE)
    spark.conf.set(_ZONE, zone)
    try:
        yield
    finally:
        spark.conf.set(_ZONE, before)

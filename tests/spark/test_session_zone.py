"""Without a time zone, scans and writes take that of the active Spark session, and say which."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.sparkexpr.meaning import SessionMeaning
from tests.each import refuses
from tests.spark.session_zone import session_zone

pytestmark = pytest.mark.spark

ZONE = "America/New_York"
# Midnight of the session's zone.
MIDNIGHT = datetime(2026, 1, 1, 5, tzinfo=UTC)


@pytest.fixture
def zoned(spark: Any) -> Iterator[Any]:
    """A session in another time zone than UTC."""
    with session_zone(spark, ZONE):
        yield spark


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Two instants, midnight in UTC and in the session's zone."""
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, ts TIMESTAMP")
    instants = pa.array([datetime(2026, 1, 1, tzinfo=UTC), MIDNIGHT], pa.timestamp("us", "UTC"))
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "ts": instants}))
    return table


AT = "ts = '2026-01-01 00:00:00'"


def test_a_scan_has_the_rows_of_the_session(zoned: Any, table: ds.DeltaTable) -> None:
    scan = table.scan(AT)
    assert scan.to_arrow()["id"].to_pylist() == [2]
    assert [row.id for row in scan.to_spark(zoned).collect()] == [2]
    assert scan.time_zone == ZONE
    assert f"time_zone='{ZONE}'" in repr(scan)


def test_a_given_zone_wins(zoned: Any, table: ds.DeltaTable) -> None:
    scan = table.scan(AT, time_zone="UTC")
    assert (scan.to_arrow()["id"].to_pylist(), scan.time_zone) == ([1], "UTC")
    assert "time_zone" not in repr(scan)


def test_threads_take_the_session_of_the_process(zoned: Any, table: ds.DeltaTable) -> None:
    found: list[str | None] = []
    thread = Thread(target=lambda: found.append(table.scan(AT).time_zone))
    thread.start()
    thread.join()
    assert found == [ZONE]


def test_writes_take_the_zone_and_say_which(zoned: Any, table: ds.DeltaTable, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "deltaskip"):
        assert table.delete(AT).metrics["numDeletedRows"] == 1
    assert ZONE in caplog.text
    assert table.scan().to_arrow()["id"].to_pylist() == [1]
    local = pa.table({"id": pa.array([3], pa.int32()), "ts": pa.array([datetime(2026, 1, 1)], pa.timestamp("us"))})
    table.append(local)
    table.update({"ts": "ts + INTERVAL 1 HOUR"}, "id = 3 AND " + AT)
    new = table.scan("id = 3").to_arrow()["ts"].to_pylist()
    assert new == [MIDNIGHT.replace(hour=6)]
    with table.transaction() as transaction:
        assert transaction.read(AT).time_zone == ZONE
        transaction.discard()


def test_without_a_session_zone_of_this_process_what_needs_it_is_refused(
    spark: Any, table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deltaskip.spark.spark_engine import ENGINE

    monkeypatch.setattr(type(ENGINE), "session_time_zone", lambda self: "No/Where")
    monkeypatch.setattr(type(ENGINE), "meaning", lambda self, *_: SessionMeaning("No/Where"))
    assert table.scan().to_arrow().num_rows == 2
    refuses(ds.InvalidArgument, "No/Where", table.scan, AT)
    refuses(ds.InvalidArgument, "that of the active Spark session", table.delete, AT)
    assert table.scan(AT, time_zone="UTC").to_arrow().num_rows == 1

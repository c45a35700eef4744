"""Settings of a session that another thread sets while a call is planned: files and rows have one time zone."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import deltaskip as ds
from deltaskip.spark.read import session_facts
from deltaskip.spark.session.session_settings import described_jobs, session_settings
from deltaskip.spark.write import parquet_writes

pytestmark = pytest.mark.spark
ZONE = "spark.sql.session.timeZone"
TYPE = "spark.sql.parquet.outputTimestampType"
WHERE = "hour(ts) < 3"  # 0 in UTC, and 2 in Tokyo
READS: dict[str, Callable[[Any, ds.DeltaTable], Any]] = {
    "to_spark": lambda spark, table: table.scan(WHERE).to_spark(spark),
    "sql": lambda spark, table: ds.sql(spark, f"SELECT * FROM delta.`{table.uri}` WHERE {WHERE}"),
}
CHANGES: dict[str, tuple[Callable[[Any, ds.DeltaTable], Any], list[int]]] = {
    "delete": (lambda spark, table: table.delete(WHERE, spark=spark), [0, 1]),
    "update": (lambda spark, table: table.update({"id": "id + 10"}, WHERE, spark=spark), [0, 1, 12]),
    "merge": (lambda spark, table: (table.merge(spark.createDataFrame([(0,), (1,), (2,)], "id LONG"),
        f"t.id = s.id AND {WHERE}", source_alias="s", target_alias="t") .when_matched_delete() .execute()), [0, 1]),
}  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    found = ds.DeltaTable.create(str(tmp_path / "t"), "id BIGINT, ts TIMESTAMP")
    for number, hour in enumerate((0, 8, 16)):
        found.append(pa.table({"id": [number], "ts": [datetime(2024, 1, 1, hour, 30, tzinfo=UTC)]}))
    return found


@pytest.fixture
def changing(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The time zones that another thread sets, one for each time that the session has been asked for its settings."""
    zones: list[str] = []
    asked = session_facts.listing_of

    def then_changed(*args: Any) -> Any:
        if zones:
            spark.conf.set(ZONE, zones.pop(0))
        return asked(*args)

    spark.conf.set(ZONE, "UTC")
    monkeypatch.setattr(session_facts, "listing_of", then_changed)
    yield zones
    spark.conf.unset(ZONE)


@pytest.mark.parametrize("door", READS)
def test_reads_are_planned_again(spark: Any, table: ds.DeltaTable, changing: list[str], door: str) -> None:
    changing.append("Asia/Tokyo")
    assert [row["id"] for row in READS[door](spark, table).collect()] == [2]
    assert not changing


@pytest.mark.parametrize("door", READS)
def test_reads_are_refused_if_settings_change(spark: Any, table: ds.DeltaTable, changing: list[str], door: str) -> None:
    changing += ["Asia/Tokyo", "UTC"] * 10
    with pytest.raises(ds.InvalidArgument, match="changed each time while a read was planned: give each thread"):
        READS[door](spark, table)


@pytest.mark.parametrize("door", CHANGES)
def test_changes_are_planned_again(spark: Any, table: ds.DeltaTable, changing: list[str], door: str) -> None:
    changing.append("Asia/Tokyo")
    change, left = CHANGES[door]
    change(spark, table)
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == left
    assert not changing


def test_jobs_do_not_change_others_settings(spark: Any, table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    write = described_jobs

    def looking(*args: Any) -> Any:
        seen.append(spark.conf.get(TYPE))
        return write(*args)

    monkeypatch.setattr(parquet_writes, "described_jobs", looking)
    with session_settings(spark, {TYPE: "INT96"}):
        table.append(spark.sql("SELECT 7L AS id, timestamp_seconds(7) AS ts"))
        table.optimize(spark=spark)
    assert set(seen) == {"INT96"}
    [path] = table.refresh().scan().paths()
    assert pq.read_metadata(path).row_group(0).column(1).physical_type == "INT64"


def test_a_session_that_another_thread_stops_is_told(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = SparkSession.__new__(SparkSession)
    stopped._sc = SparkContext.__new__(SparkContext)
    stopped._sc._jsc = None
    with pytest.raises(ds.SparkUnavailable, match="Spark cannot write to t: its session was stopped"), \
            described_jobs(stopped, "write to t"):  # fmt: skip
        raise AssertionError
    context = spark._sc

    with described_jobs(spark, "write to t"):
        monkeypatch.setattr(context, "_jsc", None)
    monkeypatch.undo()

"""Hidden partition columns through Spark: what is read, and that every write computes them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deltaskip import DeltaTable, transforms

pytestmark = pytest.mark.spark

DDL = "id BIGINT, ts TIMESTAMP, name STRING"
SHOWN = ["id", "ts", "name"]


def frame(spark: Any, ids: list[int], day: int) -> Any:
    rows = [(i, datetime(2024, 1, day, 23, 30, tzinfo=UTC), f"n{i}") for i in ids]
    return spark.createDataFrame(rows, "id BIGINT, ts TIMESTAMP, name STRING")


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> DeltaTable:
    by = [transforms.bucket("id", 4), transforms.date("ts")]
    made = DeltaTable.create(tmp_path / "t", DDL, by, properties={"delta.enableChangeDataFeed": "true"})
    made.append(frame(spark, list(range(8)), 1))
    return made.refresh()


def checked(table: DeltaTable, spark: Any) -> list[Any]:
    """Every row, with hidden columns that have the values of their transforms."""
    found = table.refresh().scan(hidden=True).to_spark(spark)
    wrong = found.where("NOT (id_bucket <=> pmod(hash(id), 4) AND ts_day <=> CAST(ts AS DATE))")
    assert wrong.count() == 0
    rows: list[Any] = sorted(found.select("id", "ts_day").collect())
    return [(row.id, row.ts_day.day) for row in rows]


def test_rows_are_read_without_them(table: DeltaTable, spark: Any) -> None:
    assert table.scan().to_spark(spark).columns == SHOWN
    assert table.scan(hidden=True).to_spark(spark).columns == [*SHOWN, "id_bucket", "ts_day"]
    assert table.scan(columns=["ts_day"]).to_spark(spark).columns == ["ts_day"]
    assert table.scan("ts_day = '2024-01-01' AND id < 3").to_spark(spark).count() == 3
    assert table.scan().to_spark(spark, metadata=True).columns == [*SHOWN, "_metadata"]
    assert table.changes(1).to_spark(spark).columns[:4] == [*SHOWN, "_change_type"]
    assert table.changes(1, hidden=True).to_spark(spark).columns[3:5] == ["id_bucket", "ts_day"]


@pytest.mark.long
def test_every_write_through_spark_computes_them(table: DeltaTable, spark: Any) -> None:
    table.append(table.scan("id < 2").to_spark(spark).selectExpr("id + 20 AS id", "ts", "name"))
    table.update({"ts": "ts + INTERVAL 1 DAY"}, "id = 1", spark=spark)
    source = frame(spark, [2, 90], 5)
    merge = table.refresh().merge(source, on="t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    table.refresh().overwrite(frame(spark, [3, 4], 7), where="id IN (3, 4)")
    expected = [(i, {1: 2, 2: 5, 3: 7, 4: 7}.get(i, 1)) for i in range(8)]
    assert checked(table, spark) == [*expected, (20, 1), (21, 1), (90, 5)]


@pytest.mark.long
def test_delta_s_python_names_leave_them_out_too(table: DeltaTable, spark: Any) -> None:
    from deltaskip.delta import DeltaTable as Delta

    named = Delta.forPath(spark, table.uri)
    assert named.toDF().columns == SHOWN
    merge = named.alias("t").merge(frame(spark, [5, 91], 9).alias("s"), "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert checked(table, spark)[-1] == (91, 9)

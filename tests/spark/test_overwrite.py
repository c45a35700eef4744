"""Overwriting with DataFrames: one job finds the rows that match, and rows that stay are marked around or rewritten."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError, PredicateError, RowViolation
from tests.dml.tables import actions_of, files_below, info_of
from tests.each import refuses
from tests.spark.session_zone import session_zone

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("found_by_a_job")]

DDL = "id BIGINT, p STRING, x INT, st STRUCT<a: INT, tags: ARRAY<STRING>>"
VECTORS = {"delta.enableDeletionVectors": "true"}
FEED: dict[str, Any] = {"delta.enableChangeDataFeed": "true"}
TRACKED = {"delta.enableRowTracking": "true"}


def rows(spark: Any, start: int, end: int, tasks: int = 3) -> Any:
    return spark.range(start, end, 1, tasks).selectExpr(
        "id",
        "elt(CAST(id % 3 AS INT) + 1, 'a', 'b', NULL) AS p",
        "IF(id % 4 = 0, NULL, CAST(id AS INT)) AS x",
        "named_struct('a', CAST(id AS INT), 'tags', array(CAST(id AS STRING))) AS st",
    )


def made(spark: Any, folder: Path, partition_by: tuple[str, ...] = (), **properties: str) -> DeltaTable:
    table = DeltaTable.create(folder / "t", DDL, partition_by, properties=properties)
    table.append(rows(spark, 0, 60))
    return table


def found(table: DeltaTable, spark: Any) -> list[dict[str, Any]]:
    return sorted((row.asDict(True) for row in table.scan().to_spark(spark).collect()), key=lambda row: row["id"])


def ids(table: DeltaTable, spark: Any) -> list[int]:
    return [row["id"] for row in found(table, spark)]


def test_a_frame_of_the_table_itself_can_replace_its_rows(spark: Any, tmp_path: Path) -> None:
    table = made(spark, tmp_path)
    frame = table.scan("id < 30").to_spark(spark)
    table.overwrite(frame.selectExpr("id + 1000 AS id", "p", "x", "st"))
    assert ids(table, spark) == list(range(1000, 1030))


def test_files_of_many_rows_are_marked_at_their_positions(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, y INT", properties=VECTORS)
    table.append(spark.range(0, 200_000, 1, 1).selectExpr("id", "CAST(id % 10 AS INT) AS y"))
    result = table.overwrite(spark.range(0).selectExpr("id", "1 AS y"), where="id % 32768 IN (0, 32767) OR id > 150000")
    gone = [i for i in range(200_000) if i % 32768 in (0, 32767) or i > 150_000]
    assert result.metrics["numDeletedRows"] == len(gone)
    assert info_of(table)["operationMetrics"]["numOutputBytes"] == "0"
    left = table.scan().to_spark(spark).selectExpr("count(*)", "sum(id)").collect()[0]
    assert tuple(left) == (200_000 - len(gone), sum(range(200_000)) - sum(gone))
    table.overwrite(spark.range(3).selectExpr("id", "1 AS y"), where="y = 1 OR id < 5")
    assert table.scan().to_spark(spark).where("y = 1").count() == 3


def test_rows_are_found_by_marks_sent_as_numbers(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.settings.options.deleted_rows", "positions")
    table = made(spark, tmp_path, **FEED)
    table.overwrite(rows(spark, 200, 201), where="id BETWEEN 20 AND 29 OR id > 100")
    assert ids(table, spark) == [*range(20), *range(30, 60), 200]
    paths = [str(Path(table.snapshot.root) / each["path"]) for each in actions_of(table)["cdc"]]
    deleted = spark.read.parquet(*paths).where("_change_type = 'delete'").collect()
    assert sorted(row.id for row in deleted) == list(range(20, 30))


def test_the_predicate_is_spark_s_own(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    table = made(spark, tmp_path)
    table.overwrite(rows(spark, 0, 0), where="crc32(CAST(id AS STRING)) % 2 = 0")
    left = spark.range(60).where("crc32(CAST(id AS STRING)) % 2 <> 0").collect()
    assert ids(table, spark) == sorted(row.id for row in left)
    table.overwrite(rows(spark, 0, 0), where=F.col("id") < 30)
    assert min(ids(table, spark)) >= 30
    refuses(DeltaSkipError, None, table.overwrite, rows(spark, 0, 0), where="no_such_function(id)")
    refuses(PredicateError, None, table.overwrite, rows(spark, 0, 0), where="nope = 1")


def test_the_predicate_is_evaluated_in_the_zone_of_the_session(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, ts TIMESTAMP")
    with session_zone(spark, "America/New_York"):
        table.append(
            spark.sql(
                "SELECT id, TIMESTAMP '2024-01-01 00:00:00' + make_interval(0,0,0,0,id) AS ts FROM range(10) AS r(id)"
            ).selectExpr("CAST(id AS INT) AS id", "ts")
        )
        new = spark.sql("SELECT 50 AS id, TIMESTAMP '2024-01-01 00:30:00' AS ts")
        table.overwrite(new, where="ts < TIMESTAMP '2024-01-01 02:00:00'")
    assert [row["id"] for row in found(table, spark)] == [2, 3, 4, 5, 6, 7, 8, 9, 50]
    first = next(row["ts"] for row in found(table, spark) if row["id"] == 50)
    assert first == datetime.datetime(2024, 1, 1, 5, 30)


def test_char_columns_compare_padded_and_stay_as_they_are_stored(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, c CHAR(4), v VOID")
    table.append(spark.sql("SELECT id, c FROM VALUES (1, 'a'), (2, 'b'), (3, 'ab') AS t(id, c)").coalesce(1))
    table.overwrite(spark.sql("SELECT 9 AS id, 'a' AS c"), where="c = 'a'")
    read = {row["id"]: row["c"] for row in found(table, spark)}
    assert read == {2: "b   ", 3: "ab  ", 9: "a   "}
    paths = [str(Path(table.snapshot.root) / each["path"]) for each in actions_of(table)["add"]]
    assert sorted(row.c for row in spark.read.parquet(*paths).collect()) == ["a", "ab", "b"]


def test_rule_71_a_failure_deletes_what_it_wrote(spark: Any, tmp_path: Path) -> None:
    for number, properties in enumerate([VECTORS, {**FEED, **TRACKED}]):
        table = made(spark, tmp_path / str(number), **properties)
        before = files_below(tmp_path / str(number) / "t")
        with pytest.raises(RowViolation, match=r"does not match the predicate of the overwrite.*id=70"):
            table.overwrite(rows(spark, 70, 71), where="id < 5")
        refuses(DeltaSkipError, None, table.overwrite, rows(spark, 0, 0), where="raise_error('broken') IS NOT NULL")
        after = {file for file in files_below(tmp_path / str(number) / "t") if not file.endswith(".crc")}
        assert after == {file for file in before if not file.endswith(".crc")}
        assert table.refresh().version == 1

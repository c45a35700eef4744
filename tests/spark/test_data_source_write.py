"""Writes of the data source: rows as Spark reads them back, rules of the table, one commit, nothing after errors."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest

import deltaskip as ds
from tests.spark.session_zone import session_zone

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 has no Python data sources"),
]


@pytest.fixture
def path(spark: Any, tmp_path: Path) -> str:
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    spark.dataSource.register(DeltaSkipDataSource)
    return str(tmp_path / "t")


def write(frame: Any, path: str, mode: str = "append", **options: str) -> ds.DeltaTable:
    frame.write.format("deltaskip").mode(mode).options(**options).save(path)
    return ds.DeltaTable(path)


def rows(spark: Any, table: ds.DeltaTable) -> list[tuple[Any, ...]]:
    """The rows as Spark's own reader has them."""
    return sorted((tuple(row) for row in table.scan().to_spark(spark).collect()), key=repr)


@pytest.mark.long
def test_a_new_table_gets_the_columns_and_rows_of_every_type(spark: Any, path: str) -> None:
    columns = (
        "CAST(id AS BYTE) i8, CAST(id AS SHORT) i16, CAST(id AS INT) i32, id i64, CAST(id / 3 AS FLOAT) f, id / 3 d",
        "CAST(id / 7 AS DECIMAL(20, 6)) m, DATE'1500-01-01' + CAST(id AS INT) day, concat('é', id) s, X'00FF' b",
        "TIMESTAMP'1500-01-01 01:02:03.456789' ts, TIMESTAMP_NTZ'2026-03-29 02:30:00' ntz, id % 2 = 0 ok, p",
        "array(id, NULL) a, map('k', struct(id x, array(TIMESTAMP'2026-01-01') y)) mp, parse_json('[1]') v",
    )
    source = spark.range(0, 9, 1, 3).selectExpr("id", "IF(id = 4, NULL, string(id % 2)) p")
    frame = spark.sql(f"SELECT {', '.join(columns)} FROM {{source}}", source=source)
    table = write(frame, path, partitionBy="p", userMetadata="first")
    assert (table.version, table.partition_columns) == (0, ("p",))
    expected = sorted((tuple(row) for row in frame.collect()), key=repr)
    assert [str(row) for row in rows(spark, table)] == [str(row) for row in expected]
    [entry] = table.history(1)
    assert (entry.operation, entry.info.members["userMetadata"]) == ("WRITE", "first")
    assert len(table.scan("i64 < 3").paths()) < len(table.scan().paths())
    assert write(frame.where("p = '1'"), path).scan().count() == 13


@pytest.mark.long
def test_variants_may_be_null_at_every_depth(spark: Any, path: str) -> None:
    nothing = "CAST(NULL AS VARIANT)"
    inside = f"named_struct('v', {nothing}) s, array({nothing}, parse_json('[1]')) a, map('k', {nothing}) m"
    found = write(spark.sql(f"SELECT {nothing} v, {inside}"), path).scan().to_spark(spark)
    [row] = found.selectExpr("v", "s", "string(a[0])", "string(a[1])", "m").collect()
    assert tuple(row) == (None, (None,), None, "[1]", {"k": None})


@pytest.fixture
def ruled(path: str) -> ds.DeltaTable:
    """A table with every kind of rule."""
    schema = (
        "k BIGINT GENERATED ALWAYS AS IDENTITY, Id BIGINT NOT NULL, twice BIGINT GENERATED ALWAYS AS (Id * 2), "
        "c STRING DEFAULT 'new', p STRING, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), ts TIMESTAMP"
    )
    properties = {"delta.columnMapping.mode": "name", "delta.constraints.positive": "Id > 0",
                  "delta.feature.allowColumnDefaults": "supported"}  # fmt: skip
    return ds.DeltaTable.create(path, schema, ["p"], properties=properties)


def test_rows_follow_the_rules_of_the_table(spark: Any, path: str, ruled: ds.DeltaTable) -> None:
    with session_zone(spark, "Europe/Berlin"):
        times = "TIMESTAMP'2026-01-04 00:30:00' AS TS"
        table = write(spark.range(1, 5, 1, 2).selectExpr(times, "id AS ID", "IF(id > 2, '', 'a') AS P"), path)
        table = write(spark.sql(f"SELECT 'x' AS c, 9 AS id, 'a' AS p, {times}"), path)
    found = table.scan().to_arrow().sort_by("Id").to_pylist()
    assert [row["Id"] for row in found] == [1, 2, 3, 4, 9]
    assert [row["twice"] for row in found] == [2, 4, 6, 8, 18]
    assert [row["c"] for row in found] == ["new"] * 4 + ["x"]
    assert [row["p"] for row in found] == ["a", "a", None, None, "a"]
    assert {row["day"] for row in found} == {date(2026, 1, 4)}
    assert {row["ts"].replace(tzinfo=None) for row in found} == {datetime(2026, 1, 3, 23, 30)}
    numbers = [row["k"] for row in found]
    assert len(set(numbers)) == 5 and min(numbers) == 1
    table.append(pa.table({"id": pa.array([10], pa.int64()), "p": ["b"], "ts": pa.array([None], pa.timestamp("us"))}))
    assert table.scan("p = 'b'").to_arrow()["k"][0].as_py() > max(numbers)
    assert [entry.operation_metrics.get("numOutputRows") for entry in table.history()][1:3] == ["1", "4"]


def test_rows_that_break_a_rule_are_not_committed(spark: Any, path: str, ruled: ds.DeltaTable) -> None:
    for rows, message in (("id - 5 AS id", "positive"), ("id; 1 AS other", "has no column other")):
        with pytest.raises(Exception, match=message):
            write(spark.range(1, 12, 1, 2).selectExpr(*rows.split("; ")), path)
    assert ruled.refresh().version == 0


@pytest.mark.long
def test_modes_and_options_of_an_overwrite(spark: Any, path: str) -> None:
    write(spark.range(0, 6).selectExpr("id", "string(id % 2) AS p"), path, "overwrite", partitionBy="p")
    kept = write(spark.sql("SELECT 7L AS id, '1' AS p"), path, "overwrite", partitionOverwriteMode="dynamic")
    assert rows(spark, kept) == [(0, "0"), (2, "0"), (4, "0"), (7, "1")]
    assert rows(spark, write(kept.scan().to_spark(spark).where("false"), path, "overwrite")) == []
    for mode, options in (("errorifexists", {}), ("append", {"replaceWhere": "id = 1"})):
        with pytest.raises(Exception, match=r"(?i)append"):
            write(spark.range(3), path, mode, **options)
    assert ds.DeltaTable(path).version == 2

"""The data source: `spark.read.format("deltaskip")` returns the rows that `to_spark` returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest

import deltaskip as ds

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 has no Python data sources"),
]


@pytest.fixture
def source(spark: Any) -> Any:
    from deltaskip.spark.data_source.source import DeltaSkipDataSource

    spark.dataSource.register(DeltaSkipDataSource)
    return spark.read.format("deltaskip")


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Ten versions of 100 rows in two partitions, and one that deletes some."""
    properties = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true",
                  "delta.columnMapping.mode": "name"}  # fmt: skip
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING, `a,b` INT", ["p"], properties=properties)
    for first in range(0, 1_000, 100):
        ids = range(first, first + 100)
        parts = pa.array(["ab"[first // 100 % 2]] * 100)
        table.append(pa.table({"id": pa.array(ids, pa.int64()), "p": parts, "a,b": pa.array(ids, pa.int32())}))
    table.delete("id % 10 = 0")
    return table


def test_options_choose_rows_columns_and_versions(spark: Any, source: Any, table: ds.DeltaTable) -> None:
    frame = source.option("where", "p = 'b' AND id < 350").option("columns", "id, `a,b`").load(table.uri)
    assert frame.columns == ["id", "a,b"]
    assert sorted(row[0] for row in frame.collect()) == [i for i in range(100, 350) if i // 100 % 2 and i % 10]
    old = spark.read.format("deltaskip").option("VERSIONASOF", "3").load(table.uri)
    assert old.count() == 300


def test_partitions_have_about_the_same_number_of_bytes(source: Any, table: ds.DeltaTable) -> None:
    frame = source.option("maxPartitionBytes", "5000000").load(table.uri)
    assert 1 < frame.rdd.getNumPartitions() <= 10
    assert frame.count() == 900


def test_the_change_data_feed(source: Any, table: ds.DeltaTable) -> None:
    feed = source.option("readChangeFeed", "true").option("startingVersion", "10").load(table.uri)
    found = {(row["_change_type"], row["_commit_version"], row["id"]) for row in feed.collect()}
    deleted = {("delete", 11, i) for i in range(0, 1_000, 10)}
    assert found == deleted | {("insert", 10, i) for i in range(900, 1_000)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wher": "id = 1"}, "no option wher"),
        ({"where": "ix = 1"}, "There is no column ix"),
        ({"versionAsOf": "99"}, "versions 0 to 11"),
        ({"versionAsOf": "x"}, "versionAsOf must be a number"),
        ({"columns": "id,"}, "column name is missing"),
        ({"readChangeFeed": "true"}, "startingVersion"),
        ({"readChangeFeed": "perhaps"}, "true or false"),
    ],
)
def test_wrong_options_are_named(source: Any, table: ds.DeltaTable, options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        source.options(**options).load(table.uri).collect()


def test_another_schema_is_refused(source: Any, table: ds.DeltaTable) -> None:
    with pytest.raises(Exception, match="leave out schema"):
        source.schema("id BIGINT").load(table.uri).collect()

"""The data source: `spark.read.format("deltaskip")` returns the rows that `to_spark` returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import deltaskip as ds
from deltaskip.spark.session.session_settings import session_settings
from tests.each import refuses

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 has no Python data sources"),
]


@pytest.fixture
def source(spark: Any) -> Any:
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

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


@pytest.mark.long
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


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wher": "id = 1"}, "no option wher. Did you mean where?"),
        ({"ansi": "perhaps"}, "true or false"),
        ({"startingVersion": "1", "startingTimestamp": "2026-01-01"}, "either startingVersion or startingTimestamp"),
        ({"where": "ix = 1"}, "There is no column ix"),
        ({"versionAsOf": "99"}, "versions 0 to 11"),
        ({"versionAsOf": "x"}, "versionAsOf must be a number"),
        ({"columns": "id,"}, "column name is missing"),
        ({"readChangeFeed": "true"}, "startingVersion"),
        ({"readChangeFeed": "perhaps"}, "true or false"),
    ],
)
def test_wrong_options_are_named(source: Any, table: ds.DeltaTable, options: dict[str, str], message: str) -> None:
    refuses(Exception, message, lambda: source.options(**options).load(table.uri).collect())


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxFilesPerTrigger": "x"}, "maxFilesPerTrigger must be a number"),
        ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger must be 1 or more"),
        ({"startingVersion": "x"}, "startingVersion must be a number"),
    ],
)
def test_wrong_options_of_streams_are_named_before_the_stream_starts(
    spark: Any, source: Any, table: ds.DeltaTable, options: dict[str, str], message: str
) -> None:
    refuses(Exception, message, lambda: spark.readStream.format("deltaskip").options(**options).load(table.uri))


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    "make",
    [
        lambda spark, path: spark.sql("CREATE TABLE named USING deltaskip"),
        lambda spark, path: spark.sql(f"CREATE TABLE named USING deltaskip OPTIONS (path '{path}')"),
        lambda spark, path: spark.sql("CREATE TABLE named USING deltaskip AS SELECT 1 AS id"),
        lambda spark, path: spark.range(1).write.format("deltaskip").saveAsTable("named"),
        lambda spark, path: spark.range(1).writeTo("named").using("deltaskip").create(),
    ],
)
def test_tables_of_the_session_say_what_to_write(spark: Any, source: Any, table: ds.DeltaTable, make: Any) -> None:
    with pytest.raises(
        Exception, match=r"ds\.register_view\(spark, 'name'.*ds\.install_catalog\(spark, 'lake', "
    ) as raised:
        make(spark, table.uri)
    assert "Traceback" not in str(raised.value)
    assert not spark.catalog.tableExists("named")


def test_another_schema_is_refused(source: Any, table: ds.DeltaTable) -> None:
    refuses(Exception, "leave out schema", lambda: source.schema("id BIGINT").load(table.uri).collect())


@pytest.fixture
def zoned(spark: Any, tmp_path: Path) -> Any:
    """A session in New York, and a table with instants around a change of its clocks, partitioned by some."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    table = ds.DeltaTable.create(tmp_path / "zoned", "id BIGINT, ts TIMESTAMP")
    table.append(spark.range(48).selectExpr("id", "timestamp_seconds(1741478400 + id * 3600) AS ts"))
    yield table
    spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    "where",
    [
        "ts = '2025-03-08 19:00:00'",  # in UTC no file can match
        "ts = '2025-03-09 03:00:00'",
        "ts <= '2025-03-09 03:00:00'",
        "hour(ts) = 3",
        "NOT (ts > '2025-03-09')",
    ],
)
def test_predicates_of_the_time_zone_need_it(spark: Any, source: Any, zoned: ds.DeltaTable, where: str) -> None:
    with pytest.raises(Exception, match=r"may depend on the time zone of the session.*add option\(.*timeZone"):
        source.option("where", where).load(zoned.uri).collect()
    expected = sorted(row.id for row in zoned.scan().to_spark(spark).where(where).collect())
    zone = spark.conf.get("spark.sql.session.timeZone")
    found = spark.read.format("deltaskip").option("where", where).option("timeZone", zone).load(zoned.uri)
    assert sorted(row.id for row in found.collect()) == expected
    assert 0 < len(expected) < 48
    assert sorted(row.id for row in zoned.scan(where).to_spark(spark).collect()) == expected


def test_sessions_in_utc_need_no_option(spark: Any, source: Any, zoned: ds.DeltaTable) -> None:
    where = "ts < '2025-03-09 03:00:00'"
    spark.conf.set("spark.sql.session.timeZone", "Etc/UTC")
    assert [row.id for row in source.option("where", where).load(zoned.uri).orderBy("id").collect()] == [0, 1, 2]


def test_a_predicate_on_instants_with_a_zone_needs_no_option(spark: Any, source: Any, zoned: ds.DeltaTable) -> None:
    where = "ts < '2025-03-09T03:00:00Z'"
    expected = sorted(row.id for row in zoned.scan().to_spark(spark).where(where).collect())
    assert sorted(row.id for row in source.option("where", where).load(zoned.uri).collect()) == expected


@pytest.mark.long
def test_partition_values_without_a_zone_need_it(spark: Any, source: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "p", "id BIGINT, ts TIMESTAMP", ["ts"])
    for number, text in enumerate(("2025-03-09 03%3A00%3A00", "2025-03-10T03%3A00%3A00.000000Z")):
        folder = tmp_path / "p" / f"ts={text}"
        folder.mkdir()
        pq.write_table(pa.table({"id": [number]}), folder / "f.parquet")
        if number:
            table.add_files([f"ts={text}/f.parquet"])
    assert source.load(table.uri).count() == 1
    values = {"ts": "2025-03-09 03:00:00"}
    log = tmp_path / "p" / "_delta_log" / f"{table.refresh().version + 1:020}.json"
    size = (tmp_path / "p" / "ts=2025-03-09 03%3A00%3A00" / "f.parquet").stat().st_size
    add = {"path": "ts=2025-03-09%2003%253A00%253A00/f.parquet", "partitionValues": values, "size": size,
           "modificationTime": 1, "dataChange": True}  # fmt: skip
    log.write_text(json.dumps({"add": add}), encoding="utf-8")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with pytest.raises(Exception, match=r"values of the partition column ts .* may depend on the time zone"):
        source.load(table.uri).collect()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert source.load(table.uri).count() == 2
    rows = spark.read.format("deltaskip").option("timeZone", "America/New_York").load(table.uri).collect()
    expected = ds.DeltaTable(table.uri).scan(time_zone="America/New_York").to_arrow().to_pylist()
    assert {row.id: row.ts.timestamp() for row in rows} == {row["id"]: row["ts"].timestamp() for row in expected}


def test_sessions_without_ansi_mode_say_so(spark: Any, source: Any, table: ds.DeltaTable) -> None:
    with session_settings(spark, {"spark.sql.ansi.enabled": "false"}):
        with pytest.raises(Exception, match=r"evaluates without ANSI mode.*add option\(.*ansi"):
            source.option("where", "id < 10").load(table.uri).collect()
        told = spark.read.format("deltaskip").option("where", "id < 10").option("ANSI", "false").load(table.uri)
        assert told.count() == 9


@pytest.mark.long
def test_the_format_is_found_with_the_interpreter_of_this_process(tmp_path: Path) -> None:
    """In a process of its own, whose PATH has another python3."""
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    table.append(pa.table({"id": [1, 2]}))
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python3"
    python.write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    python.chmod(0o755)
    program = (
        "import sys, deltaskip as ds\nfrom pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()\n"
        "ds.register_format(spark)\nprint(spark.read.format('deltaskip').load(sys.argv[1]).count())\n"
        "spark.range(3).write.format('deltaskip').mode('append').save(sys.argv[1])\n"
        "print(ds.DeltaTable(sys.argv[1]).scan().count())"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    environment["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{environment['PATH']}"
    finished = subprocess.run(
        [sys.executable, "-c", program, table.uri], capture_output=True, text=True, env=environment, check=False
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert finished.stdout.split() == ["2", "5"]

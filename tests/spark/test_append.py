"""Appending DataFrames: rows checked, stored and committed by one Spark job, and what a failure leaves."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset
from pyspark.sql import functions as F

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.errors import InvalidArgument, RowViolation, SchemaError, SparkUnavailable, StorageError
from tests.each import refuses
from tests.noted import raising

pytestmark = pytest.mark.spark

DDL = """id BIGINT GENERATED ALWAYS AS IDENTITY, ts TIMESTAMP NOT NULL, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)),
         x DECIMAL(5,2) DEFAULT 1.5, s STRING, b BINARY, st STRUCT<n: INT, tags: ARRAY<STRING>>"""
PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.constraints.short": "length(s) < 9",
}
ROWS = (
    "timestamp_micros((id - 50) * 3600 * 1000000) AS TS",
    "concat('s', id) AS s",
    "if(id % 2 = 0, X'6162', NULL) AS b",
    "named_struct('TAGS', array('a'), 'n', cast(id AS INT)) AS st",
)


def _files(folder: Path) -> list[str]:
    every = (os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)
    return [path for path in every if "/_delta_log/" not in path and path.endswith(".parquet")]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("mode", ["none", "name", "id"])
@pytest.mark.parametrize("partition_by", [(), ("day", "b")])
def test_rows_come_back_as_given(spark: Any, tmp_path: Path, mode: str, partition_by: tuple[str, ...]) -> None:
    folder = tmp_path / "t"
    properties = {**PROPERTIES, "delta.columnMapping.mode": mode}
    table = DeltaTable.create(folder, DDL, partition_by, properties=properties)
    result = table.append(spark.range(0, 100, 1, 4).selectExpr(*ROWS))
    assert (result.version, result.metrics["numOutputRows"], table.version) == (1, 100, 1)
    rows = sorted(table.scan().to_spark(spark).collect(), key=lambda row: row.ts)
    assert [row.s for row in rows] == [f"s{i}" for i in range(100)]
    assert all(row.day == row.ts.date() and str(row.x) == "1.50" for row in rows)
    assert [bytes(row.b) if row.b else None for row in rows[:2]] == [b"ab", None]
    assert [(row.st.n, row.st.tags) for row in rows[:2]] == [(0, ["a"]), (1, ["a"])]
    ids = {row.id for row in rows}
    assert len(ids) == 100
    field = next(each for each in table.schema.fields if each.name == "id")
    assert field.metadata["delta.identity.highWaterMark"] == max(ids)
    stats = [json.loads(text) for text in table.snapshot.adds(["stats"])["stats"].to_pylist()]
    assert sum(each["numRecords"] for each in stats) == 100
    assert all(each["nullCount"] and each["minValues"] for each in stats)
    assert len(table.scan("ts < TIMESTAMP '1960-01-01 00:00:00'").paths()) == 0


def test_a_violated_rule_names_a_row_and_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, ["day"], properties=PROPERTIES)
    frame = spark.range(0, 100, 1, 4).selectExpr(*ROWS)
    with pytest.raises(RowViolation, match=r"CHECK constraint short \(length\(s\) < 9\).*s='s99s99s99'") as caught:
        table.append(frame.selectExpr("ts", "if(s = 's99', 's99s99s99', s) AS s"))
    assert caught.value.row is not None
    with pytest.raises(RowViolation, match=r"1234.* does not fit the column x.*DECIMAL\(5,2\)"):
        table.append(frame.selectExpr("ts", "s", "1234.5 AS x"))
    with pytest.raises(RowViolation, match=r"column ts .*NOT NULL"):
        table.append(frame.selectExpr("if(s = 's7', NULL, ts) AS ts", "s"))
    refuses(SchemaError, "no column other", lambda: table.append(frame.selectExpr("ts", "s", "1 AS other")))
    assert (DeltaTable(tmp_path / "t").version, _files(tmp_path / "t")) == (0, [])


def test_a_merged_schema_and_an_empty_frame(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    table.append(spark.range(3).selectExpr("id", "timestamp_ntz'2024-01-01 00:00:00' AS n"), schema_mode="merge")
    assert table.protocol.reader_features == ("timestampNtz",)
    result = table.append(spark.range(0))
    assert (result.version, result.metrics["numFiles"]) == (None, 0)
    assert len(_files(tmp_path / "t")) == len(table.snapshot.adds(["path"]))
    assert table.scan().to_spark(spark).count() == 3


def test_a_text_that_folders_use_for_null_is_not_null(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"])
    given = {"__HIVE_DEFAULT_PARTITION__", None, "v", "vv", "a/b=%", "\u00e9\n\"'\\"}
    table.append(spark.createDataFrame([(1, text) for text in given], "id BIGINT, p STRING"))
    assert {row.p for row in table.scan().to_spark(spark).collect()} == given
    values = table.snapshot.adds(["partition_values"])["partition_values"].to_pylist()
    assert {dict(each)["p"] for each in values} == given


PARTITIONED = "id INT, s STRING, `d.x` DATE, ts TIMESTAMP, nt TIMESTAMP_NTZ, n DECIMAL(5,2), t BOOLEAN"
PARTITIONS = ["s", "d.x", "ts", "nt", "n", "t"]
PARTITION_ROWS = """
    SELECT CAST(col1 AS INT) AS id, col2 AS s, col3 AS `d.x`, col4 AS ts, col5 AS nt, CAST(col6 AS DECIMAL(5,2)) AS n,
        col7 AS t
    FROM VALUES
    (1, 'a b%=+', DATE'2024-01-01', TIMESTAMP'1883-11-18 12:03:57', TIMESTAMP_NTZ'2024-03-10 02:30:00.5', 1.5, true),
    (2, ' ', DATE'1582-10-14', TIMESTAMP'2024-11-03 01:30:00.000001', TIMESTAMP_NTZ'1700-01-01', -0.05, false),
    (3, '"é"', DATE'9999-12-31', TIMESTAMP'1969-12-31 18:59:59.999999', TIMESTAMP_NTZ'1969-12-31', 0, NULL),
    (4, NULL, NULL, NULL, NULL, NULL, NULL)
"""


@pytest.mark.usefixtures("found_by_a_job")
@pytest.mark.parametrize("door", ["append", "arrow", "overwrite", "statement", "update", "format"])
def test_folders_have_the_values_of_partitions_which_polars_believes(spark: Any, tmp_path: Path, door: str) -> None:
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "America/New_York")
    rows = own.sql(PARTITION_ROWS)
    table = DeltaTable.create(tmp_path / "db/t", PARTITIONED, PARTITIONS)
    match door:
        case "append":
            table.append(rows)
        case "arrow":
            table.append(rows.toArrow())
        case "overwrite":
            table.overwrite(rows)
        case "statement":
            rows.createOrReplaceTempView("rows_by_partition")
            ds.catalog(f"warehouse:{tmp_path}").sql(own, "INSERT INTO db.t SELECT * FROM rows_by_partition")
        case "update":
            table.append(rows.withColumn("s", F.lit("before")))
            table.merge(rows, "t.id = s.id", "s", "t").when_matched_update({"s": "s.s"}).execute()
        case "format":
            ds.register_format(own)
            rows.write.format("deltaskip").mode("append").save(str(tmp_path / "db/t"))
    table.refresh()
    found = polars.scan_delta(str(tmp_path / "db/t")).sort("id").collect()
    expected = polars.from_arrow(table.scan().to_arrow()).sort("id")
    assert found["ts"].to_list() == [
        datetime(1883, 11, 18, 16, 59, 59, tzinfo=UTC),
        datetime(2024, 11, 3, 5, 30, 0, 1, UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        None,
    ]
    assert found.rows() == expected.select(found.columns).rows()
    # Those that know no log take the values from the folders, and find the others in the files.
    paths = [path.removeprefix("file:") for path in table.scan().paths()]
    names = dict(zip(expected["id"], expected["s"], strict=True))
    hive = dataset.dataset(paths, format="parquet", partitioning="hive", partition_base_dir=str(tmp_path / "db/t"))
    assert {row["id"]: row["s"] for row in hive.to_table(columns=["id", "s"]).to_pylist()} == names
    relation = duckdb.read_parquet(paths, hive_partitioning=True)
    assert dict(relation.select("id, s").fetchall()) == names


def test_a_row_that_spark_cannot_compute_is_an_error_by_name_and_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    @F.udf(returnType="long")
    def broken(number: int) -> int:
        if number == 77:
            raise ValueError("no such number")
        return number

    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"])
    rows = spark.range(0, 100, 1, 4)
    with pytest.raises(InvalidArgument, match=r"cannot compute the rows for .*: ValueError: no such number"):
        table.append(rows.select(broken("id").alias("id"), F.lit("x").alias("p")))
    with pytest.raises(InvalidArgument, match=r"cannot compute the rows for .*: .*boo"):
        table.append(rows.selectExpr("IF(id = 77, raise_error('boo'), id) AS id"))
    assert (DeltaTable(tmp_path / "t").version, os.listdir(tmp_path / "t")) == (0, ["_delta_log"])


def test_a_source_that_cannot_be_read_is_an_error_by_name_with_its_cause(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    spark.range(10).write.parquet(str(tmp_path / "source"))
    rows = spark.read.parquet(str(tmp_path / "source"))
    for path in (tmp_path / "source").glob("part-*"):
        path.unlink()
    refuses(StorageError, r"cannot write to .*(does not exist|FILE_NOT_EXIST)", table.append, rows)
    assert os.listdir(tmp_path / "t") == ["_delta_log"]


def test_a_large_partition_is_divided_among_tasks(spark: Any, tmp_path: Path) -> None:
    properties = {"delta.targetFileSize": "262144"}
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, h STRING, p STRING", ["p"], properties=properties)
    part = "IF(id % 100 < 98, 'large', cast(id % 100 AS string)) AS p"
    table.append(spark.range(0, 100_000, 1, 4).selectExpr("id", "md5(cast(id AS string)) AS h", part))
    files = table.snapshot.adds(["partition_values", "size"]).to_pylist()
    sizes = [file["size"] for file in files if dict(file["partition_values"])["p"] == "large"]
    assert 10 <= len(sizes) <= 60, sizes
    assert max(sizes) < 2 * 262144, sizes
    # Small partitions that Spark shuffles together with the large one are divided along with it, once a task at most.
    assert len(files) <= len(sizes) + 2 * 4
    assert table.scan().to_spark(spark).count() == 100_000


def test_optimized_writes_gather_small_tasks(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    frame = spark.range(0, 1000, 1, 8)
    table.append(frame)
    assert table.snapshot.num_files == 8
    table = DeltaTable.create(tmp_path / "u", "id BIGINT", properties={"delta.autoOptimize.optimizeWrite": "true"})
    table.append(frame)
    assert table.snapshot.num_files <= 2
    assert table.scan().to_spark(spark).count() == 1000


def test_a_task_begins_another_file_at_the_target_size(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.targetFileSize": "160000"})
    table.append(spark.range(0, 100_000, 1, 1))
    assert table.snapshot.num_files == 10


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("partition_by", [(), ("part",)])
def test_executors_compute_the_statistics_that_footers_do_not_prove(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partition_by: tuple[str, ...]
) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        "id BIGINT, part INT, name STRING COLLATE UNICODE_CI, x DOUBLE, tags ARRAY<STRING>",
        partition_by,
    )
    select = (
        "id",
        "CAST(id % 2 AS INT) AS part",
        "concat(if(id % 3 = 0, 'Ä', 'a'), repeat(chr(97 + CAST(id % 26 AS INT)), 40)) AS name",
        "if(id % 50 = 0, double('NaN'), id / 2) AS x",
        "if(id % 5 = 0, NULL, array('t')) AS tags",
    )
    rows = spark.range(0, 400, 1, 3).selectExpr(*select)
    # The domain lists the version for which writers compute collated bounds.
    table.append(rows.limit(10))
    table.recompute_stats(spark, collation_versions=["77.1"])

    monkeypatch.setattr("deltaskip.settings.options.footer_bytes", 1)
    monkeypatch.setattr("deltaskip.stats.file_facts.scan_file", raising(AssertionError("the driver read values")))
    before = set(table.snapshot.adds()["path"].to_pylist())
    table.append(rows)
    monkeypatch.undo()
    stats = {add["path"]: add["stats"] for add in table.snapshot.adds().to_pylist() if add["path"] not in before}
    assert len(stats) >= 2
    for text in stats.values():
        found = json.loads(text)
        assert "icu.UNICODE_CI.77.1" in found["statsWithCollation"]
        assert found["nullCount"]["tags"] < found["numRecords"]
    # They are those of a recomputation, which commits nothing else.
    result = table.recompute_stats(spark, resume=False)
    assert result.unchanged == table.snapshot.num_files
    assert {add["path"]: add["stats"] for add in table.snapshot.adds().to_pylist() if add["path"] in stats} == stats


def test_the_driver_reads_if_executors_lack_it(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = DeltaTable.create(tmp_path / "t", "x DOUBLE, tags ARRAY<STRING>")
    monkeypatch.setattr("deltaskip.settings.options.footer_bytes", 1)
    monkeypatch.setattr(
        "deltaskip.spark.write.write_dataframe.file_statistics",
        raising(SparkUnavailable("deltaskip is not installed in the Python environment of the Spark executors.")),
    )
    table.append(spark.sql("SELECT double(id) AS x, if(id = 1, NULL, array('t')) AS tags FROM range(4)").coalesce(1))
    [add] = table.snapshot.adds().to_pylist()
    assert json.loads(add["stats"])["nullCount"] == {"x": 0, "tags": 1}

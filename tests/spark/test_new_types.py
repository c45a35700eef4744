"""Columns of intervals and nanoseconds, and variants that were shredded without Spark, in sessions of Spark."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError
from deltaskip.sparkexpr.over_data import evaluate
from tests.each import refuses

pytestmark = pytest.mark.spark
INTERVALS = "id BIGINT, d INTERVAL DAY TO SECOND, m INTERVAL YEAR TO MONTH"


def test_intervals_are_read_written_and_compared_by_a_session(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(str(tmp_path / "t"), INTERVALS)
    days = pa.array([90_000_000, None, -5], pa.duration("us"))
    table.append(pa.table({"id": [1, 2, 3], "d": days, "m": pa.array([18, None, -1], pa.int32())}))
    table.append(spark.sql("SELECT 4L AS id, INTERVAL '2 03:04:05.5' DAY TO SECOND AS d, INTERVAL '3' YEAR AS m"))
    texts = table.scan().to_spark(spark).selectExpr("id", "CAST(d AS STRING)", "CAST(m AS STRING)").orderBy("id")
    assert [tuple(row) for row in texts.collect()] == [
        (1, "INTERVAL '0 00:01:30' DAY TO SECOND", "INTERVAL '1-6' YEAR TO MONTH"),
        (2, None, None),
        (3, "INTERVAL '-0 00:00:00.000005' DAY TO SECOND", "INTERVAL '-0-1' YEAR TO MONTH"),
        (4, "INTERVAL '2 03:04:05.5' DAY TO SECOND", "INTERVAL '3-0' YEAR TO MONTH"),
    ]
    found = table.scan(where="d > INTERVAL '1' MINUTE AND m >= INTERVAL '18' MONTH").to_spark(spark)
    assert sorted(row.id for row in found.select("id").collect()) == [1, 4]
    table.update({"d": "INTERVAL '1' HOUR"}, where="id = 2", spark=spark)
    table.delete("d < INTERVAL '0' SECOND", spark=spark)
    rows = table.scan().to_arrow().sort_by("id")
    assert rows["d"].cast(pa.int64()).to_pylist() == [90_000_000, 3_600_000_000, 183_845_500_000]
    assert rows["m"].to_pylist() == [18, None, 36]


def test_intervals_of_months_are_refused_where_rows_pass_through_python(spark: Any, tmp_path: Path) -> None:
    ds.register_format(spark)
    table = ds.DeltaTable.create(str(tmp_path / "t"), INTERVALS)
    rows = spark.sql("SELECT 4L AS id, INTERVAL '2' DAY AS d, INTERVAL '3' YEAR AS m")
    table.append(rows)
    for door in (
        lambda: table.scan(engine="spark").to_spark(spark),
        lambda: spark.read.format("deltaskip").load(table.uri),
        lambda: table.read_stream(spark),
        lambda: rows.write.format("deltaskip").mode("append").save(table.uri),
    ):
        refuses(Exception, r"'m' .* is INTERVAL YEAR.*which tasks do not (read|write)", door)
    assert table.version == 1
    assert spark.read.format("deltaskip").option("columns", "id").load(table.uri).collect()[0].id == 4


def test_nanoseconds_are_refused_by_name_where_a_session_reads_them(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(str(tmp_path / "t"), "id BIGINT, n TIMESTAMP_NANOS")
    table.append(pa.table({"id": [1], "n": pa.array([5], pa.timestamp("ns", "UTC"))}))
    refuses(DeltaSkipError, r"'n'.*timestamp_nanos", lambda: table.scan().to_spark(spark).collect())
    assert [row.id for row in table.scan(columns=["id"]).to_spark(spark).collect()] == [1]


def test_files_that_were_shredded_without_spark_are_read_by_it(spark: Any, tmp_path: Path) -> None:
    if not hasattr(spark, "_jvm") or tuple(map(int, spark.version.split(".")[:2])) < (4, 1):
        pytest.skip("Spark reads shredded variants since 4.1")
    properties = {"delta.feature.variantType": "supported", "delta.enableVariantShredding": "true"}
    table = ds.DeltaTable.create(str(tmp_path / "t"), "id BIGINT, v VARIANT", properties=properties)
    rows = [{"u": f"u{i}", "n": i, "o": {"y": {"z": "é" * i}}, "l": [1, i], "mix": i if i % 3 else "s", "no": None}
            for i in range(40)]  # fmt: skip
    texts = [json.dumps(each) for each in [*rows, None, 5, "x", [1], {}]]
    variants = evaluate("parse_json(j)", pa.table({"j": texts}))
    table.append(pa.table({"id": list(range(len(texts))), "v": variants}))
    given = spark.createDataFrame(list(enumerate(texts)), "id BIGINT, t STRING").selectExpr("id", "parse_json(t) AS v")
    wanted, found = (
        {row.id: row.j for row in each.selectExpr("id", "to_json(v) AS j").collect()}
        for each in (given, table.scan().to_spark(spark))
    )
    assert found == wanted

"""Updating rows through Spark: one pass finds and computes them; what is written, copied and imaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from deltaskip import AddConstraint, DeltaTable
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import InvalidArgument, PredicateError, RowViolation, SchemaError, StorageError
from tests.dml.tables import DDL, actions_of, files_below, rows, rows_of
from tests.dml.test_sequences import Row
from tests.each import refuses
from tests.spark.session_zone import session_zone

pytestmark = pytest.mark.spark

MATCHING_HERE = "deltaskip.spark.dml.spark_execution.SparkExecution.matching_here"
VECTORS: dict[str, Any] = {"delta.enableDeletionVectors": "true"}
FEED: dict[str, Any] = {"delta.enableChangeDataFeed": "true"}
IDS = {"delta.enableRowTracking": "true"}


def made(folder: Path, ddl: str, data: pa.Table, partition_by: tuple[str, ...] = (), **properties: str) -> DeltaTable:
    table = DeltaTable.create(folder / "t", ddl, partition_by, properties=properties)
    table.append(data)
    return table


def found(table: DeltaTable, spark: Any) -> list[Row]:
    return [row.asDict(recursive=True) for row in table.scan().to_spark(spark).collect()]


def test_columns_of_pyspark_and_functions_of_spark_are_values(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    table = made(tmp_path, DDL, rows(range(6)), **VECTORS)
    table.update({"p": "sha2(cast(id AS STRING), 256)", "x": F.col("x") + 1, "st.a": F.lit(9)}, F.col("id") == 5, spark)
    row = rows_of(table)[5]
    assert (len(row["p"]), row["x"], row["st"]) == (64, 6, {"a": 9, "tags": ["5"]})
    table.update({"st.tags": "transform(st.tags, t -> concat(t, '!'))"}, "exists(st.tags, t -> t = '5')", spark)
    assert rows_of(table)[5]["st"] == {"a": 9, "tags": ["5!"]}


def test_an_expression_has_one_value_in_the_table_and_in_the_feed(spark: Any, tmp_path: Path) -> None:
    ddl = "id BIGINT, x STRING, d STRING DEFAULT 'uuid'"
    features = {"delta.feature.allowColumnDefaults": "supported"}
    table = DeltaTable.create(tmp_path / "t", ddl, properties={**FEED, **features})
    # As of another writer: Spark and this package refuse such a default.
    commit = tmp_path / "t/_delta_log" / f"{0:020}.json"
    commit.write_text(commit.read_text().replace("'uuid'", "uuid()"))
    commit.with_suffix(".crc").unlink()
    table = DeltaTable(tmp_path / "t")
    assert table.schema.fields[2].metadata["CURRENT_DEFAULT"] == "uuid()"
    table.append(pa.table({"id": range(50), "x": ["a"] * 50, "d": ["a"] * 50}))
    table.update({"x": "uuid()", "d": "DEFAULT"}, "id % 5 = 0", spark)
    after = {row["id"]: (row["x"], row["d"]) for row in rows_of(table) if row["x"] != "a"}
    files = [Path(table.snapshot.root) / cdc["path"] for cdc in actions_of(table)["cdc"]]
    images = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    assert {r["id"]: (r["x"], r["d"]) for r in images if r["_change_type"] == "update_postimage"} == after
    assert len(set(after.values())) == 10


def test_rule_29_char_is_compared_padded_and_kept_as_stored(spark: Any, tmp_path: Path) -> None:
    data = pa.table({"id": [1, 2], "c": ["a", "bcd"], "v": ["x", "y"]})
    table = made(tmp_path, "id BIGINT, c CHAR(3), v VARCHAR(4)", data, **FEED)
    table.update({"v": "concat(c, '|')"}, "c = 'a'", spark)
    assert [(row["c"], row["v"]) for row in rows_of(table)] == [("a", "a  |"), ("bcd", "y")]
    assert {(kind, i) for kind, i, _ in images_without_x(table)} == {("update_postimage", 1), ("update_preimage", 1)}
    refuses(RowViolation, r"varchar\(4\)", table.update, {"v": "'12345'"}, "id = 2", spark)


def images_without_x(table: DeltaTable) -> list[tuple[str, int, str]]:
    files = [Path(table.snapshot.root) / cdc["path"] for cdc in actions_of(table).get("cdc", [])]
    return [(r["_change_type"], r["id"], r["c"]) for f in files for r in pq.ParquetFile(f).read().to_pylist()]


def test_rule_46_structs_with_fields_of_type_void(spark: Any, tmp_path: Path) -> None:
    ddl = "id BIGINT, st STRUCT<a: INT, nothing: VOID, in: STRUCT<b: INT, c: STRING>>, v VOID"
    data = pa.table({"id": [1, 2], "st": [{"a": 1, "in": {"b": 1, "c": "x"}}, None]})
    table = made(tmp_path, ddl, data)
    table.update({"st.in.b": "id * 10"}, None, spark)
    table.update({"st.a": "5"}, "id = 2", spark)
    assert sorted((row["st"]["a"], row["st"]["in"]) for row in found(table, spark)) == [
        (1, {"b": 10, "c": "x"}), (5, {"b": 20, "c": None}),
    ]  # fmt: skip
    table.delete("id = 1", spark)
    assert [row["id"] for row in found(table, spark)] == [2]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI_AI", "de_CI", "UNICODE_RTRIM"])
@pytest.mark.parametrize(
    "where",
    ["s = 'ÄB'", "s < 'b'", "s >= 'ab' AND id > 2", "s IN ('ab', 'Z ')", "NOT (s <=> 'äb')", "s > 'A' AND s <= 'ß'"],
)
def test_collated_conditions_have_the_rows_of_spark(spark: Any, tmp_path: Path, collation: str, where: str) -> None:
    strings = ["ab", "AB", "äb", "ÄB", "a\u0308B", "b", "B ", "ss", "ß", "z", "Z ", "", None, "ab "]
    data = pa.table({"id": range(len(strings)), "s": strings})
    ddl = f"id BIGINT, s STRING COLLATE {collation}"
    matching = {row.id for row in spark.createDataFrame(data.to_pylist(), ddl).where(where).collect()}
    table = made(tmp_path, ddl, data, **VECTORS)
    assert 0 < len(matching) < len(strings)
    assert table.update({"id": "id + 100"}, where).metrics["numUpdatedRows"] == len(matching)
    assert {row["id"] - 100 for row in found(table, spark) if row["id"] >= 100} == matching
    assert table.delete(where.replace("id > 2", "id > 102")).metrics["numDeletedRows"] == len(matching)
    assert {row["id"] for row in found(table, spark)} == set(range(len(strings))) - matching


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI"])
def test_rules_and_new_values_compare_by_collation_without_one(spark: Any, tmp_path: Path, collation: str) -> None:
    data = pa.table({"id": [1, 2, 3], "s": ["a", "B", "b"]})
    ddl = f"id BIGINT, s STRING COLLATE {collation}, b BOOLEAN"
    table = made(tmp_path, ddl, data, **{"delta.constraints.few": "s IN ('A', 'b', 'ä')"})
    table.overwrite(pa.table({"id": [9, 10], "s": ["b", "B"]}), where="s = 'B'")
    assert {(row["id"], row["s"]) for row in found(table, spark)} == {(1, "a"), (9, "b"), (10, "B")}
    for wrong, where in ((["c"], None), (["a"], "s = 'B'")):
        refuses(RowViolation, None, table.overwrite, pa.table({"id": [1], "s": wrong}), where=where)
    assert table.update({"b": "s = 'b'"}).metrics["numUpdatedRows"] == 3
    assert {row["id"]: row["b"] for row in found(table, spark)} == {1: False, 9: True, 10: True}


def test_a_small_file_that_is_rewritten_stays_one_file(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, DDL, rows(range(1000)))
    for _ in range(3):
        table.update({"x": "x + 1"}, "id % 10 = 3", spark)
    assert table.detail().num_files == 1


@pytest.mark.usefixtures("nothing_stays_persisted")
def test_refusals_leave_no_file_and_nothing_persisted(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, DDL, rows(range(12)), **VECTORS, **FEED)
    table.alter(AddConstraint("small", "x IS NULL OR x < 1000"))
    before = files_below(tmp_path / "t")
    for error, given, where in (
        (PredicateError, {"x": "nope"}, "id = 3"),
        (PredicateError, {"x": "1 +"}, "id = 3"),
        (PredicateError, {"x": "1"}, "nope = 3"),
        (InvalidArgument, {"x": "1 DIV (x - 3)"}, "id > 0"),
        (InvalidArgument, {"x": "1"}, "1 DIV (x - 3) = 1"),
        (RowViolation, {"x": "x + 990"}, "id > 4"),
        (RowViolation, {"x": "5000000000"}, "id > 4"),
        (SchemaError, {"st": "1"}, "id > 4"),
    ):
        refuses(error, None, table.update, given, where, spark)
        assert files_below(tmp_path / "t") == before, given
    assert table.refresh().version == 2


def test_rows_written_differently_are_refused(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, DDL, rows(range(12)), **VECTORS)
    before = files_below(tmp_path / "t")
    one = RowPositions([pa.array([3], pa.int64())])
    monkeypatch.setattr(MATCHING_HERE, lambda *_: one)
    refuses(StorageError, "2 rows were written instead of 1", table.update, {"x": "1"}, "id IN (3, 4)", spark)
    assert files_below(tmp_path / "t") == before


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("properties", [{}, VECTORS, {**IDS, **FEED, "delta.columnMapping.mode": "name"}])
def test_values_of_every_type_pass_through_this_process_unchanged(
    spark: Any, tmp_path: Path, properties: dict[str, str]
) -> None:
    ddl = (
        "id BIGINT, ts TIMESTAMP, n TIMESTAMP_NTZ, d DATE, dec DECIMAL(38,10), b BINARY, f FLOAT, v DOUBLE, t BOOLEAN, "
        "y TINYINT, s SMALLINT, c CHAR(4), w VARCHAR(5), a ARRAY<TIMESTAMP>, "
        "m MAP<STRING, STRUCT<x: DATE, z: DOUBLE>>, st STRUCT<ab: STRING, deep: ARRAY<STRUCT<k: TIMESTAMP>>>, "
        "p TIMESTAMP"
    )
    values = [
        "id", "TIMESTAMP'2024-03-10 02:30:00.123456' - make_dt_interval(700 * CAST(id AS INT))",
        "TIMESTAMP_NTZ'0001-01-01 00:00:00' + make_dt_interval(CAST(id AS INT))",
        "date_add(DATE'0001-01-01', CAST(id AS INT))",
        "CAST(id / 7 AS DECIMAL(38,10))", "encode(concat('é', id), 'UTF-8')",
        "IF(id % 5 = 0, FLOAT('NaN'), FLOAT('-0.0'))",
        "IF(id % 3 = 0, DOUBLE('-Infinity'), id / 7)", "IF(id % 4 = 0, NULL, id % 2 = 0)", "CAST(id AS TINYINT)",
        "CAST(-id AS SMALLINT)", "'ab'", "concat('é', id)", "array(TIMESTAMP'1969-12-31 23:59:59.999999', NULL)",
        "map('k', named_struct('x', DATE'1582-10-04', 'z', DOUBLE('NaN')), '', NULL)",
        "IF(id % 6 = 0, NULL, named_struct('ab', '', 'deep', array(named_struct('k', TIMESTAMP'2024-11-03 01:30'))))",
        "TIMESTAMP'2024-03-10 02:30:00' + make_dt_interval(0, CAST(id % 3 AS INT))",
    ]  # fmt: skip
    table = DeltaTable.create(tmp_path / "t", ddl, ["p"], properties=properties)
    table.append(spark.range(0, 40, 1, 2).selectExpr(*values).toDF(*table.snapshot.schema.names))

    def texts() -> list[str]:
        rows = DeltaTable(table.uri).scan().to_spark(spark).withColumn("id", F.expr("id % 1000"))
        return sorted(str(row) for row in rows.collect())

    before = texts()
    with session_zone(spark, "America/Los_Angeles"):
        changed = DeltaTable(table.uri).update({"id": "id + 1000"}, "id % 4 = 1 OR hash(id) = 0", spark)
    assert changed.metrics["numUpdatedRows"] == 10
    assert texts() == before
    assert DeltaTable(table.uri).scan("id >= 1000").to_spark(spark).count() == 10

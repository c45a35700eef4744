"""Rows that are written and changed, and the change data feed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.rows import plan_rows
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import numbers


@case("rows to be written are cast, computed and checked, and a violation names its row")
def rows_to_write(session: Session) -> None:
    from deltaskip.spark.write.checked_rows import rows_to_write, violation_of

    schema = parse_columns(
        "id BIGINT GENERATED ALWAYS AS IDENTITY (INCREMENT BY 5), n TINYINT NOT NULL, s VARCHAR(3) DEFAULT 'x', "
        "twice INT GENERATED ALWAYS AS (abs(n * 2)), tags ARRAY<STRUCT<k: SMALLINT>>"
    )
    properties = TableProperties({"delta.constraints.small": "abs(n) < 100"}, "/data/t")
    plan = plan_rows(schema, properties, parse_columns("N BIGINT, tags ARRAY<STRUCT<K: INT>>"))

    def stored(number: int) -> Any:
        given = session.spark.range(1).selectExpr(f"{number}L AS N", "array(named_struct('K', 7), NULL) AS tags")
        return rows_to_write(given.coalesce(1), plan, 1).collect()

    equal([row.asDict(True) for row in stored(9)], [{"id": 1, "n": 9, "s": "x", "twice": 18, "tags": [{"k": 7}, None]}])
    for number, rule, row in (
        (100, "small", {"id": 1, "n": 100, "s": "x", "twice": 200, "tags": [{"k": 7}, None]}),
        (200, "type of n", None),
    ):
        try:
            stored(number)
        except Exception as error:
            found = violation_of(error, plan)
            equal(found and (found.rule, found.row), (rule, row))
        else:
            raise AssertionError(f"{number} was stored")


@case("updates mark or rewrite the rows that match, with row ids and a change data feed")
def updates(session: Session) -> None:
    import pyspark

    spark = session.spark
    for vectors in ("true", "false"):
        folder = session.folder / vectors
        options = {"delta.enableDeletionVectors": vectors, "delta.enableRowTracking": "true",
                   "delta.enableChangeDataFeed": "true"}  # fmt: skip
        ddl = "id BIGINT, p STRING, st STRUCT<a: INT, b: STRING>, y BIGINT GENERATED ALWAYS AS (id * 2)"
        table = ds.DeltaTable.create(folder, ddl, ["p"], properties=options)
        columns = "id", "IF(id % 2 = 0, 'a', NULL) AS p", "named_struct('a', 1, 'b', 'x') AS st"
        table.append(spark.range(0, 40, 1, 2).selectExpr(*columns))
        text = "uuid()"
        if session.kind == "connect" and pyspark.__version__.startswith("3."):
            try:
                table.update({"ST.B": text}, "id % 5 = 1 OR p <=> 'c'", spark)
            except ds.UnsupportedFeature as error:
                assert "uuid()" in str(error), error
            else:
                raise AssertionError("values that the client cannot keep are not refused")
            text = "concat('x', id)"
        table.update({"id": "id + 100", "ST.B": text}, "id % 5 = 1 OR p <=> 'c'", spark)
        files = (folder / "_change_data").rglob("*.parquet")
        images = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
        posted = {row["id"]: row["st"]["b"] for row in images if row["_change_type"] == "update_postimage"}
        found = table.scan("id >= 100").to_spark(spark).select("id", "st.b").collect()
        equal(posted, {row["id"]: row["b"] for row in found})
        table.update({"p": "'c'"}, "p IS NULL", spark)
        kept = [i + 100 if i % 5 == 1 else i for i in range(40)]
        equal(numbers(table.scan().to_spark(spark)), sorted(kept))
        equal(table.scan("p = 'c'").count(), 20)
        equal(table.scan().to_spark(spark).where("y <=> id * 2 AND st.a = 1").count(), 40)


@case("overwrites mark or rewrite the rows that match, with row ids and a change data feed")
def overwrites(session: Session) -> None:
    spark = session.spark
    options = {"delta.enableDeletionVectors": {}, "delta.enableChangeDataFeed": {"delta.enableRowTracking": "true"}}
    for name, more in options.items():
        folder = session.folder / name
        table = ds.DeltaTable.create(folder, "id BIGINT, p STRING", ["p"], properties={name: "true", **more})
        table.append(spark.range(0, 40, 1, 2).selectExpr("id", "IF(id % 2 = 0, 'a', NULL) AS p"))
        for start in (100, 200):
            new = spark.range(start, start + 3).selectExpr("id", "'b' AS p")
            table.overwrite(new, where="id % 5 = 1 OR id >= 100")
        equal(numbers(table.scan().to_spark(spark)), [i for i in range(40) if i % 5 != 1] + [200, 201, 202])
        table.overwrite(spark.range(50, 51).selectExpr("id", "CAST(NULL AS STRING) AS p"), partitions="dynamic")
        equal(numbers(table.scan().to_spark(spark)), [i for i in range(0, 40, 2) if i % 5 != 1] + [50, 200, 201, 202])
        table.overwrite(spark.range(2).selectExpr("id", "'c' AS p"))
        equal(numbers(table.scan().to_spark(spark)), [0, 1])


@case("the change data feed")
def change_feed(session: Session) -> None:
    tables = [("none", "true", "positions", None), ("id", "true", "bits", None)]
    tables += [("name", "false", "auto", "x > 40 AND _commit_version > 1")]
    for number, (mode, vectors, form, where) in enumerate(tables):
        properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": vectors}
        properties["delta.columnMapping.mode"] = mode
        table = ds.DeltaTable.create(
            session.folder / str(number), "id BIGINT, p STRING, x INT", ["p"], properties=properties
        )
        for first in (0, 30):
            many = range(first, first + 30)
            columns = {"id": pa.array(many, pa.int64()), "p": [str(i % 2) for i in many]}
            table.append(pa.table({**columns, "x": pa.array(many, pa.int32())}))
        table.delete("id % 3 = 0")
        table.delete("id % 5 = 0")
        table.update({"x": "-1"}, "id = 7")
        table.delete("p = '1'")
        table.restore(version=3)
        with ds.options.changed(deleted_rows=form):
            check_feed(session, table.changes(0, where=where))


def check_feed(session: Session, feed: ds.ChangeScan) -> None:
    rows = feed.to_arrow()
    rows = rows.set_column(rows.num_columns - 1, "time", rows["_commit_timestamp"].cast(pa.int64()))
    found = feed.to_spark(session.spark)
    equal(found.columns[-3:], ["_change_type", "_commit_version", "_commit_timestamp"])
    plain = found.selectExpr(*found.columns[:-1], "unix_micros(_commit_timestamp)").collect()
    equal(sorted(str(tuple(row)) for row in plain), sorted(str(tuple(row.values())) for row in rows.to_pylist()))
    chosen = found.where("_commit_version IN (3, 4) AND _change_type != 'insert'").select("_commit_version").collect()
    expected = (row for row in rows.to_pylist() if row["_commit_version"] in (3, 4) and row["_change_type"] != "insert")
    equal(sorted(version for (version,) in chosen), sorted(row["_commit_version"] for row in expected))


@case("OPTIMIZE joins files and orders rows by columns of every type, without losing or doubling one")
def optimized(session: Session) -> None:
    rows = pa.table(
        {
            "id": pa.array(range(400), pa.int64()),
            "p": ["ab"[i % 2] for i in range(400)],
            "d": pa.array([i % 97 for i in range(400)], pa.int32()).cast(pa.date32()),
            "t": pa.array([i * 10**9 for i in range(400)], pa.timestamp("us", "UTC")),
            "m": pa.array([i - 200 for i in range(400)]).cast(pa.decimal128(21, 2)).cast(pa.decimal128(18, 2)),
            "f": [float("nan") if i % 11 == 0 else i / 7 - 20 for i in range(400)],
            "s": [None if i % 13 == 0 else f"it's \\ {i:04}" for i in range(400)],
            "b": [i % 2 == 0 for i in range(400)],
        }
    )
    # The sizes of files decide how many there are.
    codec = {"delta.parquet.compression.codec": "snappy"}
    properties = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true", **codec}
    plain: list[str] = []
    for partition_by, orders in ((plain, (["id"], ["s", "m", "f"])), (["p"], (["d", "t"], ["id", "b", "f", "s"]))):
        folder = session.folder / f"by {len(partition_by)}"
        table = ds.DeltaTable.create(folder, rows.schema, partition_by, properties=properties)
        for start in range(0, 400, 100):
            table.append(rows.slice(start, 100))
        table.delete("id % 10 = 7")
        small = table.detail().size_in_bytes // 6
        with ds.options.changed(spark_jobs="always"):
            table.optimize(spark=session.spark)
            equal(table.snapshot.num_files, 1 + len(partition_by))
            for columns in orders:
                table.optimize(zorder_by=columns, spark=session.spark, target_file_bytes=small)
                found = sorted(row[0] for row in table.scan().to_spark(session.spark).select("id").collect())
                equal(found, [i for i in range(400) if i % 10 != 7])
                assert table.snapshot.num_files > 2

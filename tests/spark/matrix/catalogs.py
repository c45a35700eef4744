"""The catalog of the session."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyspark

import deltaskip as ds
from tests.spark.matrix.cases import Session, case, equal


@case("the catalog of the session")
def session_catalog(session: Session) -> None:
    catalog = ds.catalog("spark:", spark=session.spark)
    for name in ("db", "other"):
        catalog.create_namespace(name, {"comment": "it's", "k": "v"})
    equal({each: catalog.load_namespace("db")[each] for each in ("comment", "k")}, {"comment": "it's", "k": "v"})
    with catalog.stage_create("db.t", "id BIGINT, day DATE", ["day"]) as staged:  # type: ignore[attr-defined]
        staged.append(pa.table({"id": [1, 2]}))
    equal(catalog.load_table("db.t").scan().to_spark(session.spark).count(), 2)
    catalog.create_table("db.u", "id BIGINT", (), {"location": str(session.folder / "it's %41")})
    for again in ("db.T", "db.u"):
        try:
            catalog.create_table(again, "id BIGINT")
        except ds.TableAlreadyExists:
            continue
        raise AssertionError(f"{again} was created twice")
    catalog.rename_table("db.t", "db.renamed")
    catalog.rename_table("db.renamed", "other.moved")
    equal([str(each) for each in (*catalog.list_tables("db"), *catalog.list_tables("other"))], ["db.u", "other.moved"])
    with catalog.stage_replace("other.moved", "x INT") as staged:  # type: ignore[attr-defined]
        staged.append(pa.table({"x": pa.array([7], pa.int32())}))
    equal(catalog.load_table("other.moved").version, 1)
    catalog.alter_namespace("db", ds.SetProperty("k", "w"), ds.SetProperty("comment", "new"))
    equal({each: catalog.load_namespace("db")[each] for each in ("comment", "k")}, {"comment": "new", "k": "w"})
    equal([catalog.drop_namespace(name, cascade=True) for name in ("db", "other", "none")], [True, True, False])
    equal(ds.DeltaTable(session.folder / "it's %41").version, 0)
    equal(catalog.list_namespaces(), [("default",)])


@case("a catalog that is installed in the session", since=(4, 0))
def installed_catalog(session: Session) -> None:
    catalog = ds.catalog(f"warehouse:{session.folder / 'warehouse'}")
    if session.kind == "connect" and not pyspark.__version__.startswith("3."):
        try:
            ds.install_catalog(session.spark, "lake", catalog)
        except ds.UnsupportedFeature:
            return
        raise AssertionError("it is not refused")
    with ds.install_catalog(session.spark, "lake", catalog):

        def rows(text: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in session.spark.sql(text).collect()]

        rows("CREATE NAMESPACE lake.db")
        rows(
            "CREATE TABLE lake.db.t (a INT, p STRING, ts TIMESTAMP, q INT DEFAULT 7, "
            "g INT GENERATED ALWAYS AS (a + 1)) USING delta PARTITIONED BY (p, days(ts)) "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )
        rows(
            "INSERT INTO lake.db.t (p, a, q, ts, g) "
            "VALUES ('b', 2, 7, NULL, NULL), ('a', 1, 7, NULL, NULL), ('a', 3, 7, NULL, NULL)"
        )
        equal(rows("SELECT * FROM lake.db.t WHERE a < 3 ORDER BY a"), [(1, "a", None, 7, 2), (2, "b", None, 7, 3)])
        rows("UPDATE lake.db.t SET q = a + 10 WHERE a % 2 = 1 AND p RLIKE '^a'")
        merge = "MERGE INTO lake.db.t USING (SELECT 3 AS k) n ON t.a = n.k WHEN MATCHED THEN UPDATE SET q = t.q + 1"
        rows(f"{merge} WHEN NOT MATCHED BY SOURCE AND a = 99 THEN DELETE")
        equal(rows("SELECT a, q, g FROM lake.db.t ORDER BY a"), [(1, 11, 2), (2, 7, 3), (3, 14, 4)])
        rows("DELETE FROM lake.db.t WHERE a = 1")
        equal(rows("SELECT g, p FROM lake.db.t ORDER BY a"), [(3, "b"), (4, "a")])
        equal(rows("SELECT count(*) FROM lake.db.t VERSION AS OF 1"), [(3,)])
        frame = session.spark.sql("SELECT 9 AS a, 'b' AS p, CAST(NULL AS TIMESTAMP) AS ts, 1 AS q, 10 AS g")
        frame.writeTo("lake.db.t").overwritePartitions()
        equal(rows("SELECT a FROM lake.db.t ORDER BY a"), [(3,), (9,)])
        rows("INSERT OVERWRITE lake.db.t SELECT a + 1, p, ts, q, a + 2 FROM lake.db.t")
        rows("ALTER TABLE lake.db.t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
        for change in ("ADD COLUMN z STRING", "RENAME COLUMN q TO r", "ALTER COLUMN z FIRST", "DROP COLUMN z"):
            rows(f"ALTER TABLE lake.db.t {change}")
        rows("CREATE OR REPLACE TABLE lake.db.u AS SELECT a, r FROM lake.db.t")
        equal(rows("SELECT * FROM lake.db.u ORDER BY a"), [(4, 14), (10, 1)])
        rows("ALTER TABLE lake.db.u RENAME TO db.v")
        equal([row[1] for row in rows("SHOW TABLES IN lake.db")], ["t", "v"])
        for statement, message in (
            ("SELECT * FROM lake.db.u", "TABLE_OR_VIEW_NOT_FOUND"),
            ("DROP NAMESPACE lake.db", "SCHEMA_NOT_EMPTY"),
        ):
            try:
                rows(statement)
            except Exception as error:
                equal(message in str(error), True)
                continue
            raise AssertionError(f"{statement} is not refused")
        rows("DROP NAMESPACE lake.db CASCADE")


@case("changes in Spark's own SQL")
def installed_changes(session: Session) -> None:
    # Older releases have no grammar for them, and no catalog can be installed in a session of Connect.
    if session.kind == "connect" or tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 2):
        return
    catalog = ds.catalog(f"warehouse:{session.folder / 'changes'}")
    with ds.install_catalog(session.spark, "changed", catalog):

        def rows(text: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in session.spark.sql(text).collect()]

        rows("CREATE NAMESPACE changed.db")
        rows(
            "CREATE TABLE changed.db.t (a INT, c CHAR(2)) USING delta TBLPROPERTIES "
            "('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true')"
        )
        table = catalog.load_table("db.t")
        table.append(pa.table({"a": pa.array([1, 2, 3], pa.int32()), "c": ["x", "y", "z"]}))
        table.update({"c": "'w'"}, "a = 2")
        table.delete("a = 3")
        by_type = "SELECT _change_type, a, c FROM changed.db.t CHANGES FROM VERSION"
        equal(
            rows(f"{by_type} 2 TO VERSION 2 WITH (computeUpdates = true) ORDER BY 1"),
            [("update_postimage", 2, "w "), ("update_preimage", 2, "y ")],
        )
        equal(rows(f"{by_type} 1 EXCLUSIVE WHERE a = 2 ORDER BY 1"), [("delete", 2, "y "), ("insert", 2, "w ")])
        net = "WITH (deduplicationMode = 'netChanges')"
        equal(rows(f"{by_type} 1 {net} ORDER BY a"), [("insert", 1, "x "), ("insert", 2, "w ")])
        equal(rows("SELECT count(*) FROM changed.db.t CHANGES FROM TIMESTAMP '2020-01-01'"), [(6,)])
        equal(session.spark.read.option("startingVersion", 3).changes("changed.db.t").count(), 1)
        rows("DROP NAMESPACE changed.db CASCADE")

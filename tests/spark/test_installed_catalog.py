"""A catalog installed in a Spark session: Spark's own SQL and `df.writeTo` over its tables."""

from __future__ import annotations

import base64
import hmac
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest

import deltaskip as ds
from deltaskip.spark.session.session_settings import session_settings
from tests import corpus
from tests.corpus_digests import expected_rows
from tests.each import each, refuses
from tests.extent import TIME_LIMIT_SECONDS
from tests.spark.test_corpus_rows import rows_and_digest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="refused with Spark 3.5"),
]

# Partition values and paths of every kind, column mapping, widened types, collations, void columns, deletion vectors.
TABLES = (
    "craft__part_value_spellings", "gen__collations_part", "gen__nested", "gen__part_path_chars", "gen__part_types",
    "gen__type_widening", "gen__types", "gen__types_cm_id_part", "golden__data-reader-partition-values",
    "golden__dv-with-columnmapping", "golden__table-with-columnmapping-mode-name", "golden__type-widening-nested",
    "kernelrs__partitioned_with_materialize_feature", "kernelrs__void-column",
)  # fmt: skip


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A warehouse with a namespace `db`."""
    found = ds.catalog(f"warehouse:{tmp_path_factory.mktemp('warehouse')}")
    found.create_namespace("db")
    return found


@pytest.fixture(scope="module")
def lake(spark: Any, catalog: ds.TableCatalog) -> Iterator[Any]:
    """Runs a statement in a session that has the catalog as `lake`, and returns the rows."""
    with ds.install_catalog(spark, "lake", catalog):
        yield lambda text: [tuple(row) for row in spark.sql(text).collect()]


def files_read(frame: Any) -> int:
    """The number of files that the scan of a DataFrame reads."""
    scan = frame._jdf.queryExecution().sparkPlan().collectLeaves().apply(0)
    parts = scan.inputPartitions()
    return sum(len(parts.apply(i).files()) for i in range(parts.size()))


@pytest.mark.long(gate=1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TABLES)
def test_rows_are_those_of_the_reference(spark: Any, catalog: Any, lake: Any, name: str) -> None:
    table = corpus.table(name)
    version = table.versions[0]
    catalog.register_table(("db", name), str(table.path))
    frame = spark.sql(f"SELECT * FROM lake.db.`{name}` VERSION AS OF {version['version']}")
    assert frame.dtypes == [tuple(column) for column in version["columns"]]
    [expected] = expected_rows(version)
    schema = ds.DeltaTable(table.path, version["version"]).schema
    assert rows_and_digest(frame, schema) == (expected["count"], expected["digest"])
    assert frame.groupBy().count().collect()[0][0] == expected["count"]


@pytest.mark.long
def test_queries_skip_files_and_read_the_columns_that_they_name(spark: Any, lake: Any) -> None:
    lake("CREATE TABLE lake.db.skipped (id BIGINT, st STRUCT<x: INT>, s STRING, ts TIMESTAMP) "
         "PARTITIONED BY (days(ts))")  # fmt: skip
    for day in (1, 2, 3):
        lake(f"INSERT INTO lake.db.skipped SELECT id + {day}00, struct(CAST(id + {day}00 AS INT)), concat('s', id), "
             f"TIMESTAMP '2026-01-0{day} 05:00:00' FROM range(10)")  # fmt: skip
    cases = {
        "id = 205": (1, 1),
        "id IN (101, 102, 303)": (3, 2),
        "st.x > 299": (10, 1),
        "ts < TIMESTAMP '2026-01-02 00:00:00'": (10, 1),
        "id = 205 OR s = 's3'": (4, 3),
        "year(ts) = 2025": (0, 0),
        "length(s) = 2 AND id < 105": (5, 1),
        "NOT (id > 105) AND id IS NOT NULL": (6, 1),
    }
    for where, expected in cases.items():
        frame = spark.sql(f"SELECT id FROM lake.db.skipped WHERE {where}")
        assert (len(frame.collect()), files_read(frame)) == expected, where
    plan = spark.sql("SELECT st.x FROM lake.db.skipped WHERE id > 0")._jdf.queryExecution().optimizedPlan()
    assert [each.name() for each in plan.collectLeaves().apply(0).scan().readSchema().fields()] == ["id", "st"]


def test_tables_are_created_described_altered_renamed_and_dropped(lake: Any, catalog: Any, tmp_path: Path) -> None:
    lake("CREATE TABLE lake.db.made (id BIGINT COMMENT 'key', ts TIMESTAMP, n INT DEFAULT 7) USING delta "
         "PARTITIONED BY (days(ts), bucket(4, id)) COMMENT 'it''s' "
         "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')")  # fmt: skip
    table = catalog.load_table("db.made")
    assert [str(each) for each in table.partitioning] == ["days(ts)", "bucket(4, id)"]
    assert table.metadata.description == "it's"
    assert lake("DESCRIBE lake.db.made")[0] == ("id", "bigint", "key")
    assert ("db", "made", False) in lake("SHOW TABLES IN lake.db")
    for change in ("ADD COLUMN z STRING COMMENT 'last' AFTER id", "RENAME COLUMN n TO m", "ALTER COLUMN m TYPE BIGINT",
                   "ALTER COLUMN m COMMENT 'number'", "ALTER COLUMN m FIRST", "ALTER COLUMN m SET DEFAULT 8",
                   "SET TBLPROPERTIES ('a' = 'b')", "UNSET TBLPROPERTIES ('a')", "DROP COLUMN z"):  # fmt: skip
        lake(f"ALTER TABLE lake.db.made {change}")
    table = catalog.load_table("db.made")
    assert [(f.name, f.metadata.get("comment")) for f in table.schema.fields if f.name not in table.hidden_columns] == [
        ("m", "number"), ("id", "key"), ("ts", None)
    ]  # fmt: skip
    lake("INSERT INTO lake.db.made (id) VALUES (1)")
    assert lake("SELECT * FROM lake.db.made") == [(8, 1, None)]
    ds.DeltaTable.create(tmp_path / "there", "m INT").append([{"m": 5}])
    there = f"LOCATION '{tmp_path / 'there'}'"
    for layout in ("PARTITIONED BY (m)", "CLUSTER BY (m)"):
        with pytest.raises(Exception, match="when the table schema is not defined"):
            lake(f"CREATE TABLE lake.db.there USING delta {layout} {there}")
    assert not catalog.table_exists("db.there")
    lake(f"CREATE TABLE lake.db.there USING delta {there}")
    assert lake("SELECT m FROM lake.db.there") == [(5,)]
    lake("DROP TABLE lake.db.there")
    lake("ALTER TABLE lake.db.made RENAME TO lake.db.renamed")
    lake("DROP TABLE lake.db.renamed")
    assert not catalog.table_exists("db.renamed")


def test_a_default_collation_is_that_of_columns_that_are_added_later(spark: Any, lake: Any) -> None:
    create = "CREATE OR REPLACE TABLE lake.db.collated"
    for statement in (
        f"{create} (id INT) DEFAULT COLLATION UTF8_LCASE",
        f"{create} DEFAULT COLLATION UTF8_LCASE AS SELECT 0 AS id",
    ):
        lake(statement)
        lake("ALTER TABLE lake.db.collated ADD COLUMN s STRING")
        lake("INSERT INTO lake.db.collated VALUES (1, 'ABC'), (2, 'abc')")
        assert lake("SELECT id FROM lake.db.collated WHERE s = 'abc' ORDER BY id") == [(1,), (2,)]
        described = {row[0]: row[1] for row in lake("DESCRIBE EXTENDED lake.db.collated")}
        assert described["Collation"] == "UTF8_LCASE"
    lake("DROP TABLE lake.db.collated")


def test_namespaces(lake: Any, catalog: Any) -> None:
    lake("CREATE NAMESPACE lake.other COMMENT 'c'")
    lake("ALTER NAMESPACE lake.other SET PROPERTIES ('k' = 'v')")
    assert catalog.load_namespace("other") == {"comment": "c", "k": "v"}
    assert ("other",) in lake("SHOW NAMESPACES IN lake")
    catalog.create_table("other.t", "id INT")
    refuses(Exception, "SCHEMA_NOT_EMPTY", lake, "DROP NAMESPACE lake.other")
    lake("DROP NAMESPACE lake.other CASCADE")
    assert not catalog.namespace_exists("other")


def test_rows_are_inserted_overwritten_and_deleted(spark: Any, lake: Any) -> None:
    lake("CREATE TABLE lake.db.rows (a INT, p STRING, q INT DEFAULT 7) PARTITIONED BY (p)")
    lake("INSERT INTO lake.db.rows VALUES (1, 'a', 1), (2, 'b', 2)")
    lake("INSERT INTO lake.db.rows (p, a) VALUES ('a', 3)")
    whole = "SELECT * FROM lake.db.rows ORDER BY a"
    assert lake(whole) == [(1, "a", 1), (2, "b", 2), (3, "a", 7)]
    assert lake("SELECT * FROM lake.db.rows VERSION AS OF 1 ORDER BY a") == [(1, "a", 1), (2, "b", 2)]
    lake("INSERT OVERWRITE lake.db.rows PARTITION (p = 'b') VALUES (5, 5)")
    lake("INSERT INTO lake.db.rows REPLACE WHERE a = 3 SELECT 3, 'z', 3")
    assert lake(whole) == [(1, "a", 1), (3, "z", 3), (5, "b", 5)]
    lake("DELETE FROM lake.db.rows WHERE a > 4 OR q IN (1, 100)")
    assert lake(whole) == [(3, "z", 3)]
    lake("INSERT OVERWRITE lake.db.rows SELECT a + 1, p, q FROM lake.db.rows")
    assert lake(whole) == [(4, "z", 3)]
    lake("TRUNCATE TABLE lake.db.rows")
    assert lake(whole) == []


def test_dynamic_overwrites_replace_partitions_and_leave_no_files(spark: Any, lake: Any, catalog: Any) -> None:
    lake("CREATE TABLE lake.db.dynamic (a INT, p STRING) PARTITIONED BY (p)")
    lake("INSERT INTO lake.db.dynamic VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    spark.sql("SELECT 9 AS a, 'b' AS p").writeTo("lake.db.dynamic").overwritePartitions()
    own = spark.sql("SELECT a + 10 AS a, p FROM lake.db.dynamic WHERE p = 'a'")
    own.writeTo("lake.db.dynamic").overwritePartitions()
    assert sorted(lake("SELECT a FROM lake.db.dynamic")) == [(3,), (9,), (11,)]
    table = catalog.load_table("db.dynamic")
    versions = [catalog.load_table("db.dynamic", version=number) for number in range(table.version + 1)]
    known = {path for each in versions for path in each.scan().files()["path"].to_pylist()}
    root = Path(table.uri.removeprefix("file://"))
    assert {str(path.relative_to(root)) for path in root.rglob("*.parquet") if "_delta_log" not in path.parts} == known


def test_floats_are_compared_with_the_floats_of_a_predicate(spark: Any, lake: Any, catalog: Any) -> None:
    from pyspark.sql import functions as F

    # py4j brings a Float of Java as the double of its digits: 0.1, which is not the value 0.10000000149011612.
    def made(name: str, partitioned: str = "") -> str:
        lake(f"CREATE TABLE lake.db.{name} (id BIGINT, f FLOAT) {partitioned}")
        lake(f"INSERT INTO lake.db.{name} VALUES (1, 0.1F), (2, 0.2F), (3, 0.05F)")
        return f"lake.db.{name}"

    forms = (
        "f = 0.1F", "f <= 0.1F", "f < 0.1F", "f >= 0.1F", "f > 0.1F", "f IN (0.1F, 9F)", "f <=> 0.1F", "NOT f = 0.1F",
        "abs(f) = 0.1F", "coalesce(f, 0F) = 0.1F", "-f = -0.1F", "f = CAST(0.1D AS FLOAT)", "f = 0.1D", "f > 0.1D",
        "f = 0.1F OR id = 3", "f IN (SELECT CAST('0.1' AS FLOAT))",
    )  # fmt: skip
    spark.sql("SELECT * FROM VALUES (1L, 0.1F), (2L, 0.2F), (3L, 0.05F) AS t(id, f)").createOrReplaceTempView("plain")
    for name in (made("flat"), made("parts", "PARTITIONED BY (f)")):
        for form in forms:
            wanted = sorted(lake(f"SELECT id FROM plain WHERE {form}"))
            assert sorted(lake(f"SELECT id FROM {name} WHERE {form}")) == wanted, form
        key = F.lit(0.1).cast("float")
        assert [row.id for row in spark.table(name).where(F.col("f") == key).collect()] == [1]
        scan = catalog.load_table(name.removeprefix("lake.")).scan(F.expr("f = 0.1F"))
        assert scan.to_arrow()["id"].to_pylist() == [1]
        lake(f"INSERT INTO {name} REPLACE WHERE f > 0.1F SELECT 9L, 0.3F")
        assert sorted(lake(f"SELECT id FROM {name}")) == [(1,), (3,), (9,)]
        lake(f"INSERT INTO {name} REPLACE WHERE f = 0.1F SELECT 8L, 0.1F")
        spark.range(7, 8).select("id", F.lit(0.01).cast("float").alias("f")).writeTo(name).overwrite(F.col("f") < key)
        assert sorted(lake(f"SELECT id FROM {name}")) == [(7,), (8,), (9,)]
    lake("INSERT OVERWRITE lake.db.parts PARTITION (f = 0.1F) SELECT 6L")
    assert sorted(lake("SELECT id FROM lake.db.parts")) == [(6,), (7,), (9,)]


def test_data_frames_are_written_by_name(spark: Any, lake: Any, catalog: Any) -> None:
    from pyspark.sql import functions as F

    frame = spark.range(4).selectExpr("id", "CAST(id % 2 AS STRING) AS p")
    frame.writeTo("lake.db.written").partitionedBy("p").tableProperty("k", "v").create()
    frame.selectExpr("p", "id + 10 AS id").writeTo("lake.db.written").append()
    assert catalog.load_table("db.written").properties["k"] == "v"
    spark.sql("SELECT 7L AS id, '0' AS p").writeTo("lake.db.written").overwrite(F.col("p") == "0")
    assert sorted(lake("SELECT id FROM lake.db.written")) == [(1,), (3,), (7,), (11,), (13,)]
    frame.write.format("deltaskip").saveAsTable("lake.db.saved")
    assert catalog.load_table("db.saved").scan().count() == 4
    spark.range(2).writeTo("lake.db.written").using("deltaskip").createOrReplace()
    assert sorted(lake("SELECT * FROM lake.db.written")) == [(0,), (1,)]


def test_options_of_writes_are_followed_or_refused(spark: Any, lake: Any, catalog: Any) -> None:
    from pyspark.sql import functions as F

    lake("CREATE TABLE lake.db.options (a INT, p STRING) PARTITIONED BY (p)")
    lake("INSERT INTO lake.db.options VALUES (1, 'a'), (2, 'a'), (3, 'b')")

    def insert(mode: str, **options: str) -> list[tuple[Any, ...]]:
        frame = spark.createDataFrame([(1, "n"), (9, "n")], "a INT, p STRING").alias("s")
        frame.write.mode(mode).options(**options).insertInto("lake.db.options")
        return sorted(lake("SELECT * FROM lake.db.options"))

    replaced = [(1, "n"), (2, "a"), (3, "b"), (9, "n")]
    assert (
        insert("overwrite", replaceUsing="a", compression="gzip", userMetadata="m", txnAppId="x", txnVersion="1")
        == replaced
    )
    assert insert("overwrite", replaceUsing="a", txnAppId="x", txnVersion="1") == replaced
    table = catalog.load_table("db.options")
    assert table.history(1)[0].info.members["userMetadata"] == "m" and table.app_versions == {"x": 1}
    assert {path.endswith(".gz.parquet") for path in table.scan("p = 'n'").paths()} == {True}
    on = {"replaceOn": "t.a = s.a AND t.p = 'n'", "targetAlias": "t"}
    assert insert("overwrite", **on, maxRecordsPerFile="1") == replaced
    assert len(catalog.load_table("db.options").scan("p = 'n'").paths()) == 2
    assert insert("overwrite", replaceWhere="p = 'n'", dataChange="false") == replaced
    assert insert("overwrite", partitionOverwriteMode="dynamic") == replaced
    # The rows come from the table itself.
    lake_rows = spark.table("lake.db.options").where("a = 1")
    lake_rows.write.mode("overwrite").option("replaceUsing", "a").insertInto("lake.db.options")
    assert sorted(lake("SELECT * FROM lake.db.options")) == replaced
    for mode, options, message in (
        ("append", {"replaceUsing": "a"}, "goes with mode"),
        ("append", {"where": "a = 1"}, "option of reads"),
        ("overwrite", {"replaceUsing": "x"}, "which the table lacks"),
        ("overwrite", {"replaceUsing": "a", "dataChange": "false"}, "exclude each other"),
    ):
        refuses(Exception, message, insert, mode, **options)
    frame, name = spark.range(1).selectExpr("CAST(id AS INT) AS a", "'n' AS p"), "lake.db.options"
    for write in (
        lambda: frame.write.format("deltaskip").mode("overwrite").option("replaceUsing", "a").saveAsTable(name),
        lambda: frame.writeTo(name).option("replaceUsing", "a").createOrReplace(),
        lambda: frame.writeTo(name).option("replaceUsing", "a").overwrite(F.col("a") > 0),
    ):
        refuses(Exception, "replaceUsing", write)
    assert sorted(lake("SELECT * FROM lake.db.options")) == replaced


def test_tables_are_created_and_replaced_with_their_rows_or_not_at_all(lake: Any, catalog: Any) -> None:
    lake("CREATE TABLE lake.db.staged PARTITIONED BY (day) AS SELECT id, DATE '2026-01-01' AS day FROM range(2)")
    failing = "AS SELECT IF(id = 1, CAST(raise_error('no') AS BIGINT), id) AS id FROM range(3)"
    for statement in ("CREATE OR REPLACE TABLE lake.db.staged", "CREATE TABLE lake.db.no"):
        refuses(Exception, "USER_RAISED_EXCEPTION", lake, f"{statement} {failing}")
    assert not catalog.table_exists("db.no")
    assert sorted(lake("SELECT * FROM lake.db.staged")) == [(0, date(2026, 1, 1)), (1, date(2026, 1, 1))]
    lake("REPLACE TABLE lake.db.staged AS SELECT id + 5 AS x FROM lake.db.staged")
    assert sorted(lake("SELECT * FROM lake.db.staged")) == [(5,), (6,)]
    assert catalog.load_table("db.staged").version == 1


def test_rules_of_rows_hold(lake: Any) -> None:
    lake("CREATE TABLE lake.db.rules (a INT, b INT GENERATED ALWAYS AS (a * 2), v VARCHAR(3)) USING delta "
         "TBLPROPERTIES ('delta.constraints.small' = 'a < 100')")  # fmt: skip
    lake("INSERT INTO lake.db.rules (a, v) VALUES (4, 'abc')")
    assert lake("SELECT * FROM lake.db.rules") == [(4, 8, "abc")]
    refuses(Exception, "CHECK constraint small", lake, "INSERT INTO lake.db.rules (a) VALUES (100)")
    refuses(Exception, "violates a generated column", lake, "INSERT INTO lake.db.rules VALUES (1, 5, 'x')")
    lake("CREATE TABLE lake.db.numbered (i BIGINT GENERATED ALWAYS AS IDENTITY, a INT) USING delta")
    refuses(Exception, "identity column i", lake, "INSERT INTO lake.db.numbered (a) VALUES (1)")


def test_rows_of_tables_with_deletion_vectors_collations_and_char(lake: Any) -> None:
    lake("CREATE TABLE lake.db.odd (s STRING COLLATE UNICODE_CI, v CHAR(3), n INT) USING delta "
         "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")  # fmt: skip
    lake("INSERT INTO lake.db.odd VALUES ('Ab', 'x', 1), ('aB', 'yy', 2), ('c', 'z', 3)")
    lake("DELETE FROM lake.db.odd WHERE n = 3")
    assert lake("SELECT * FROM lake.db.odd WHERE s = 'AB' AND v = 'x'") == [("Ab", "x  ", 1)]
    assert lake("SELECT count(*) FROM lake.db.odd") == [(2,)]
    assert lake("SELECT n FROM lake.db.odd WHERE s COLLATE UTF8_BINARY = 'aB'") == [(2,)]


def test_strings_of_type_char_are_stored_as_they_are_given(lake: Any, catalog: Any) -> None:
    lake("CREATE TABLE lake.db.fixed (c CHAR(3), v VARCHAR(3), h STRING GENERATED ALWAYS AS (concat(c, '|')))")
    lake("INSERT INTO lake.db.fixed (c, v) VALUES ('x', 'x ')")
    lake("INSERT INTO lake.db.fixed REPLACE WHERE c = 'x' SELECT 'x', 'y', 'x|'")
    assert lake("SELECT c, v, h FROM lake.db.fixed WHERE c = 'x'") == [("x  ", "y", "x|")]
    for name in ("c", "v"):
        with pytest.raises(Exception, match=r"char\(3\), and a row has a longer string"):
            lake(f"INSERT INTO lake.db.fixed ({name}) VALUES ('x   ')")
    lake("DELETE FROM lake.db.fixed WHERE c = 'x'")
    assert lake("SELECT count(*) FROM lake.db.fixed") == [(0,)]
    lake("CREATE TABLE lake.db.copied USING delta AS SELECT * FROM lake.db.fixed")
    lengths = [
        field.metadata.get("__CHAR_VARCHAR_TYPE_STRING") for field in catalog.load_table("db.copied").schema.fields
    ]
    assert lengths == ["char(3)", "varchar(3)", None]


def test_options_in_sql_are_never_unpickled(spark: Any, lake: Any, tmp_path: Path) -> None:
    lake("CREATE TABLE lake.db.signed (id BIGINT) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake("INSERT INTO lake.db.signed VALUES (1), (2), (3)")
    lake("DELETE FROM lake.db.signed WHERE id = 2")
    # The read registers the format.
    assert lake("SELECT id FROM lake.db.signed ORDER BY id") == [(1,), (3,)]

    class Making:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.mkdir, (str(tmp_path / "made"),)

    packed = pickle.dumps(Making())
    for data in (packed, bytes(32) + packed, hmac.digest(b"", packed, "sha256") + packed, b""):
        text = base64.b85encode(data).decode()
        read = spark.read.format("deltaskip_planned_rows").schema("id BIGINT").option("partitions", text)
        with pytest.raises(Exception, match="reads only what deltaskip has planned"):
            read.load().collect()
    name = "`deltaskip_planned_rows`"
    with pytest.raises(Exception, match="reads only what deltaskip has planned"):
        spark.sql(f"CREATE TEMPORARY VIEW planned (id BIGINT) USING {name} OPTIONS ('partitions' 'A~')")
        spark.table("planned").collect()
    assert not (tmp_path / "made").exists()
    assert lake("SELECT id FROM lake.db.signed ORDER BY id") == [(1,), (3,)]


MERGE = "MERGE INTO {0}db.changed t USING {0}db.source n ON t.id = n.id\nWHEN MATCHED THEN "
ADDED = "USING (SELECT 9L AS id, 'n' AS s{}) n ON t.id = n.id WHEN NOT MATCHED THEN INSERT *"
CHANGES = [
    "UPDATE {0}db.changed SET s = 'it\\'s'",
    "UPDATE {0}db.changed SET s = concat(changed.s, db.changed.s) WHERE id + 1 > 1",
    MERGE + "UPDATE SET s = 'm'",
    MERGE + "DELETE",
    MERGE + "UPDATE SET * WHEN NOT MATCHED THEN INSERT (id) VALUES (n.id) WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "DELETE FROM {0}db.changed",
    "DELETE FROM {0}db.changed WHERE id IN (SELECT id FROM {0}db.source)",
    "DELETE FROM {0}db.changed c WHERE c.id + 1 = 2;",
    "DELETE FROM {0}db.changed WHERE s LIKE '%x_' OR id = 1",
    "DELETE FROM {0}db.changed WHERE id = 1 AND s RLIKE '[x-z]'",
    "/* 😀 */ DELETE FROM {0}db.changed WHERE CAST(id AS STRING) = '1' OR s = '😀' -- one",
    "MERGE INTO {0}db.changed t " + ADDED.format(""),
    "/* one */ MERGE WITH SCHEMA EVOLUTION INTO {0}db.changed t " + ADDED.format(", 1 AS more"),
]


@pytest.fixture
def changed(catalog: Any, lake: Any) -> Iterator[Any]:
    """Makes a table of three rows, and returns its rows, after each change."""
    lake("CREATE OR REPLACE TABLE lake.db.source AS SELECT 1L AS id, 'n' AS s")
    table = catalog.create_table("db.changed", "id BIGINT, s STRING")
    rows = [{"id": i, "s": "x"} for i in range(3)]

    def after(change: Callable[[], object]) -> list[dict[str, Any]]:
        table.refresh().overwrite(pa.Table.from_pylist(rows), schema_mode="replace")
        change()
        return sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda row: row["id"])

    yield after
    lake("DROP TABLE lake.db.changed")


def test_rows_are_changed_by_statements_as_by_the_catalog(spark: Any, lake: Any, catalog: Any, changed: Any) -> None:
    before = changed(lambda: None)

    def check(statement: str) -> None:
        expected = changed(lambda: catalog.sql(spark, statement.format("")))
        assert changed(lambda: lake(statement.format("lake."))) == expected != before

    each(CHANGES, check)
    # Two catalogs of one session, and of two.
    other = spark.newSession()
    for session in (spark, other):
        with ds.install_catalog(session, "lake2", catalog):
            update = "UPDATE lake2.db.changed SET s = 'two'"
            assert {row["s"] for row in changed(lambda own=session, text=update: own.sql(text))} == {"two"}
    spark.sql("SELECT 1").collect()
    assert changed(lambda: lake("EXPLAIN UPDATE lake.db.changed SET s = 'y'")) == before
    assert changed(lambda: lake("UPDATE IDENTIFIER('lake.db.' || 'changed') SET s = 'y'"))[2]["s"] == "y"


def test_names_of_statements_mean_what_spark_resolves(spark: Any, lake: Any, catalog: Any, changed: Any) -> None:
    """A temporary view hides the table of the catalog that `catalog.sql` would read."""
    lake("CREATE TABLE lake.src AS SELECT 0L AS id")
    spark.range(1, 2).createOrReplaceTempView("src")
    spark.sql("USE lake.db")
    try:
        left = changed(lambda: lake("DELETE FROM changed WHERE id IN (SELECT id FROM src)"))
        assert [row["id"] for row in left] == [0, 2]
        merge = "MERGE INTO changed USING src ON lake.db.changed.id = src.id WHEN MATCHED THEN DELETE"
        assert changed(lambda: lake(merge)) == left
        lake("CACHE TABLE changed")
        assert changed(lambda: lake(merge)) == left
        assert sorted(lake("SELECT id FROM changed")) == [(0,), (2,)]
        lake("UNCACHE TABLE changed")
    finally:
        spark.sql("USE spark_catalog.default")
        spark.catalog.dropTempView("src")
        lake("DROP TABLE lake.src")


def test_dates_of_a_query_that_python_does_not_have_are_refused(spark: Any, catalog: Any) -> None:
    table = catalog.create_table("db.far", "id BIGINT, k DATE")
    for text in ("DATE'+10000-01-01'", "DATE'-0044-03-15'"):
        spark.sql(f"SELECT {text} AS k").createOrReplaceTempView("far")
        with pytest.raises(ds.InvalidArgument, match="a date outside of the years 1 to 9999, which cannot be written"):
            catalog.sql(spark, "DELETE FROM db.far WHERE k IN (SELECT k FROM far)")
    assert table.refresh().version == 0
    catalog.drop_table("db.far")


def test_queries_in_a_statement_read_the_version_that_it_changes(lake: Any, catalog: Any, changed: Any) -> None:
    """Not an older one that Spark has cached: rows that another program has added would be deleted."""
    statements = {
        "DELETE FROM lake.db.changed WHERE id NOT IN (SELECT id FROM lake.db.changed)": ["x", "x", "x", "new"],
        "MERGE INTO lake.db.changed t USING (SELECT * FROM lake.db.changed) s ON t.id = s.id "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE": ["x", "x", "x", "new"],
        "UPDATE lake.db.changed SET s = 'most' WHERE id = (SELECT max(id) FROM lake.db.changed)": [
            "x",
            "x",
            "x",
            "most",
        ],
    }

    def check(statement: str) -> None:
        def change() -> None:
            lake("CACHE TABLE lake.db.changed")
            catalog.load_table("db.changed").append([{"id": 9, "s": "new"}])
            lake(statement)
            lake("UNCACHE TABLE lake.db.changed")

        assert [row["s"] for row in changed(change)] == statements[statement]

    each(statements, check)


def test_statements_whose_text_is_not_all_are_refused(spark: Any, lake: Any, changed: Any) -> None:
    from pyspark.sql import functions as F

    before = changed(lambda: None)
    for value in ("", "a longer value than the reference"):
        spark.conf.set("short", value)
        left = changed(lambda: lake("DELETE FROM lake.db.changed WHERE s <> '${short}' AND id + 10 >= 11 AND id < 20"))
        assert [row["id"] for row in left] == [0]
    spark.conf.unset("short")
    spark.sql("CREATE OR REPLACE TEMP VIEW whole AS SELECT * FROM lake.db.changed")
    of_table = F.udf(lambda text: text + "!")(F.col("changed.s"))
    source = spark.sql("SELECT 1L id, 'n' s").alias("n")
    matched, queried = (source.mergeInto("lake.db.changed", F.expr("changed.id = n.id")) for _ in range(2))
    on_more = (
        spark.sql("SELECT 1L id, 'n' s, 2 more").mergeInto("lake.db.changed", F.lit(True)).whenNotMatched().insertAll()
    )
    with_n = "WITH n AS (SELECT 1L AS id)"
    refused: dict[str, Callable[[], object]] = {
        r"beginning of a comment": lambda: spark.sql("DELETE FROM lake.db.changed WHERE id = 1 -:n", args={"n": -1}),
        r"move the query of WITH": lambda: lake(
            f"{with_n} MERGE INTO lake.db.changed t USING n ON t.id = n.id WHEN MATCHED THEN DELETE"
        ),
        r"into USING": lambda: lake(f"{with_n} DELETE FROM lake.db.changed WHERE id IN (SELECT id FROM n)"),
        r"mergeInto with a function of Python": matched.whenMatched().update({"s": of_table}).merge,
        r"mergeInto with .*compute the value": queried.whenMatched(F.expr("n.id IN (SELECT 1L)")).delete().merge,
        r"mergeInto with withSchemaEvolution": on_more.withSchemaEvolution().merge,
        r"whole|does not support": lambda: lake("DELETE FROM whole WHERE id = 1"),
    }
    for message, statement in refused.items():
        refuses(Exception, message, statement)
    spark.catalog.dropTempView("whole")
    assert changed(lambda: None) == before


def test_frames_are_merged_as_statements_are(spark: Any, lake: Any, changed: Any) -> None:
    from pyspark.sql import functions as F

    rows = "SELECT * FROM VALUES (1L, 'n', 5), (9L, 'i', 6) AS v(id, s, k)"
    spark.sql(rows).createOrReplaceTempView("rows")
    on = "changed.id = n.id"
    known, new = F.col("n.s"), F.concat(F.col("n.s"), F.col("changed.s"), F.lit("é '"))
    twice = F.udf(lambda text: text * 2)(known)
    cases: dict[str, Callable[[Any], Any]] = {
        "WHEN MATCHED THEN DELETE": lambda of: of.whenMatched().delete(),
        "WHEN MATCHED AND k > 5 OR n.s LIKE 'n%' THEN UPDATE SET s = concat(n.s, changed.s, 'é \\'')": (
            lambda of: of.whenMatched(F.expr("k > 5 OR n.s LIKE 'n%'")).update({"s": new})
        ),
        "WHEN NOT MATCHED AND n.id % 2 = 1 THEN INSERT (id, s) VALUES (n.id + 1, repeat(n.s, 2))": (
            lambda of: of.whenNotMatched(F.expr("n.id % 2 = 1")).insert({"id": F.col("n.id") + 1, "s": twice})
        ),
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *": (
            lambda of: of.whenMatched().updateAll().whenNotMatched().insertAll()
        ),
        "WHEN NOT MATCHED BY SOURCE AND changed.id = 0 THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = date_format(DATE'2024-02-03', 'yyyy')": (
            lambda of: (
                of.whenNotMatchedBySource(F.expr("changed.id = 0"))
                .delete()
                .whenNotMatchedBySource()
                .update({"s": F.date_format(F.lit(date(2024, 2, 3)), "yyyy")})
            )
        ),
    }

    def check(clauses: str) -> None:
        statement = f"MERGE INTO lake.db.changed USING rows n ON {on} {clauses}"
        expected = changed(lambda: lake(statement))
        frame = spark.table("rows").alias("n")
        assert changed(cases[clauses](frame.mergeInto("lake.db.changed", F.expr(on))).merge) == expected, clauses

    each(cases, check)

    def merge_own() -> None:
        own = spark.table("lake.db.changed").where("id < 2").withColumn("s", F.lit("own")).alias("n")
        own.mergeInto("lake.db.changed", F.expr(on)).whenMatched().updateAll().merge()

    assert [row["s"] for row in changed(merge_own)] == ["own", "own", "x"]
    spark.catalog.dropTempView("rows")


# Values of parameters, which Spark writes into the text of a statement.
GIVEN: list[Any] = [
    *('it\'s \\ "😀" `b`', ":v ? /* -- \n", "${short} ${env:HOME}", "", -5, 1 << 40, 0.1, float("nan"), float("-inf"),
        True),
    *(None, Decimal("-1.50"), date(1582, 10, 4), datetime(2020, 11, 1, 1, 30, 0, 5), timedelta(1, 2, 3),
        bytearray(b"\0'\\")),
]  # fmt: skip
WITH_VALUES = [
    "/* 😀 :v ? */ UPDATE lake.db.changed SET s = CAST({0} AS STRING) WHERE id = {1} AND s <> ':v ?' -- ? :v",
    "UPDATE lake.db.changed SET s = CAST({0} AS STRING) WHERE s <> '${{short}}' AND id IN ({1}, 7)",
    "MERGE INTO lake.db.changed t USING (SELECT CAST({0} AS STRING) v, 1 k) ON id = k AND k = {1} "
    "WHEN MATCHED THEN UPDATE SET s = v",
    # Spark refuses `?` in scripts.
    "BEGIN UPDATE lake.db.changed SET s = CAST(:v AS STRING) WHERE id = :id; SELECT 1; END",
]


@pytest.mark.skipif(pyspark.__version__.startswith("4.0"), reason="refused with Spark 4.0")
def test_parameters_of_statements_have_the_values_that_spark_gives_them(spark: Any, changed: Any) -> None:
    """Spark's own SELECT says what the value of a parameter is."""
    spark.conf.set("short", "a longer value :v")

    def check(case: tuple[str, Any]) -> None:
        statement, value = case
        forms: list[Any] = [((":v", ":id"), {"v": value, "id": 1}, {"v": value}), (("?", "?"), [value, 1], [value])]
        for names, args, one in forms[: 1 + ("{" in statement)]:
            [expected] = spark.sql(f"SELECT CAST({names[0]} AS STRING)", one).head()
            rows = changed(partial(spark.sql, statement.format(*names), args))
            assert [row["s"] for row in rows] == ["x", expected, "x"]

    try:
        each([*((text, "it's") for text in WITH_VALUES), *((WITH_VALUES[0], value) for value in GIVEN)], check)
        each([(WITH_VALUES[2], value) for value in GIVEN[:4]], check)
        dynamic = (
            "EXECUTE IMMEDIATE 'DELETE FROM lake.db.changed WHERE id = :a OR s = :b' USING 2 AS a, '${short}' AS b"
        )
        assert len(changed(lambda: spark.sql(dynamic))) == 2
        named = ("UPDATE IDENTIFIER(:t) SET s = :v", {"t": "lake.db.changed", "v": "y"})
        assert {row["s"] for row in changed(lambda: spark.sql(*named))} == {"y"}
        assert {row["s"] for row in changed(lambda: spark.sql("EXPLAIN " + named[0], named[1]))} == {"x"}
    finally:
        spark.conf.unset("short")


@pytest.mark.parametrize("args", [{"v": 1}, [1]], ids=["named", "by position"])
def test_parameters_that_spark_binds_in_the_plan_are_refused(spark: Any, changed: Any, args: Any) -> None:
    setting = "spark.sql.legacy.parameterSubstitution.constantsOnly"
    before = changed(lambda: None)
    with (
        session_settings(spark, {setting: "true"}),
        pytest.raises(Exception, match=rf"(?s)has parameters.*{setting}.*params=args"),
    ):
        spark.sql(f"DELETE FROM lake.db.changed WHERE id = {':v' if isinstance(args, dict) else '?'}", args)
    assert changed(lambda: None) == before


def test_an_overwrite_by_rows_of_an_older_version_is_a_conflict(spark: Any, lake: Any, catalog: Any) -> None:
    from pyspark.sql import functions as F

    lake("CREATE TABLE lake.db.raced AS SELECT id FROM range(2)")
    read = spark.table("lake.db.raced").selectExpr("id + 10 AS id")
    catalog.load_table("db.raced").append(pa.table({"id": [99]}))
    refuses(Exception, "ConcurrentModificationException", lambda: read.writeTo("lake.db.raced").overwrite(F.lit(True)))
    with pytest.raises(Exception, match=r"ConcurrentModificationException|Another writer"):
        read.writeTo("lake.db.raced").replace()
    assert (99,) in lake("SELECT * FROM lake.db.raced")


def test_errors_are_those_of_spark(lake: Any, catalog: Any) -> None:
    catalog.create_table("db.taken", "id INT")
    cases = {
        "SELECT * FROM lake.db.nothing": "TABLE_OR_VIEW_NOT_FOUND",
        "SELECT * FROM lake.nowhere.t": "TABLE_OR_VIEW_NOT_FOUND",
        "CREATE TABLE lake.db.taken (id INT)": "TABLE_OR_VIEW_ALREADY_EXISTS",
        "CREATE TABLE lake.nowhere.t (id INT)": "SCHEMA_NOT_FOUND",
        "CREATE NAMESPACE lake.db": "SCHEMA_ALREADY_EXISTS",
        "REPLACE TABLE lake.db.nothing AS SELECT 1 AS a": "TABLE_OR_VIEW_NOT_FOUND",
        "DROP TABLE lake.db.nothing": "TABLE_OR_VIEW_NOT_FOUND",
        "SELECT * FROM lake.db.taken VERSION AS OF 9": "versions? 0",
        "CREATE TABLE lake.db.other (id INT) USING parquet": "only be 'delta', not 'parquet': omit it",
        "DELETE FROM lake.db.taken t WHERE EXISTS (SELECT 1 FROM range(3) u WHERE u.id = t.id)": "use MERGE INTO",
    }
    for statement, message in cases.items():
        refuses(Exception, message, lake, statement)
    lake("DROP TABLE IF EXISTS lake.db.nothing")
    lake("CREATE TABLE IF NOT EXISTS lake.db.taken (id INT)")


@pytest.mark.long
def test_the_hidden_column_metadata_has_the_values_of_a_scan(spark: Any, lake: Any, catalog: Any) -> None:
    tables = {
        "parts": {"a": "b"},
        "mapped": {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"},
        "tracked": {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"},
    }
    for name, properties in tables.items():
        text = "CHAR(3)" if name == "mapped" else "STRING"
        lake(f"CREATE TABLE lake.db.{name} (id BIGINT, s {text}, p STRING) PARTITIONED BY (p) "
             f"TBLPROPERTIES ({', '.join(f'{key!r} = {value!r}' for key, value in properties.items())})")  # fmt: skip
        lake(f"INSERT INTO lake.db.{name} SELECT id, 'x', concat('a %é', id % 2) FROM range(10)")
        catalog.load_table(f"db.{name}").update({"s": "'y'"}, "id IN (2, 5)", spark=spark)
        table = catalog.load_table(f"db.{name}")
        table.delete("id IN (0, 4)", spark)
        table.refresh().scan().to_spark(spark, metadata=True).createOrReplaceTempView("expected")
        fields = [field.name for field in spark.table("expected").schema["_metadata"].dataType]
        assert ("row_id" in fields) == (name == "tracked")
        every = ", ".join(f"_metadata.{field}" for field in fields)
        for query in (
            f"SELECT id, s, p, {every} FROM t",
            "SELECT id, _metadata.file_path FROM t WHERE id > 3 AND p LIKE '%1'",
            *(f"SELECT _metadata.{field} FROM t" for field in fields if name == "tracked" or field == "row_index"),
            "SELECT p, max(_metadata.row_index), count(DISTINCT _metadata.file_name), count(*) FROM t GROUP BY p",
            "SELECT id FROM t WHERE _metadata.row_index = 1 OR id = 9",
            "SELECT count(*) FROM t WHERE _metadata.file_size > 0",
            "SELECT l.id, r._metadata.row_index n FROM t l LEFT JOIN t r ON l.id = r.id AND r._metadata.row_index > 1",
        ):
            found, expected = (
                spark.sql(query.replace(" t", f" {rows}", 1).replace("JOIN t", f"JOIN {rows}"))
                for rows in (f"lake.db.{name}", "expected")
            )
            assert sorted(map(str, found.collect())) == sorted(map(str, expected.collect())), (name, query)
            assert found.dtypes == expected.dtypes, (name, query)
        assert spark.sql(f"SELECT * FROM lake.db.{name}").columns == ["id", "s", "p"]
        if name != "mapped":
            # Spark pads the strings of `spark.table` in a projection, which hides the column.
            whole = spark.table(f"lake.db.{name}").select("_metadata")
            assert sorted(whole.select("_metadata.*").collect()) == sorted(lake(f"SELECT {every} FROM expected"))
            assert whole.schema["_metadata"].dataType == spark.table("expected").schema["_metadata"].dataType


def test_a_table_s_own_column_metadata_is_not_hidden(lake: Any) -> None:
    lake("CREATE TABLE lake.db.own_metadata (id BIGINT, _Metadata STRUCT<file_path: STRING>)")
    lake("INSERT INTO lake.db.own_metadata VALUES (1, struct('mine'))")
    assert lake("SELECT _metadata.file_path FROM lake.db.own_metadata") == [("mine",)]
    assert len(lake("SELECT * FROM lake.db.own_metadata")[0]) == 2


def test_threads_query_side_by_side(spark: Any, lake: Any, catalog: Any) -> None:
    catalog.create_table("db.threads", "id BIGINT").append(pa.table({"id": range(5)}))
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda i: lake(f"SELECT count(*) FROM lake.db.threads WHERE id > {i}"), range(4)))
    assert found == [[(4,)], [(3,)], [(2,)], [(1,)]]


def test_a_catalog_belongs_to_its_session_until_it_is_closed(spark: Any, catalog: Any) -> None:
    catalog.create_table("db.own", "id INT")
    installed = ds.install_catalog(spark, "closing", catalog)
    refuses(ds.InvalidArgument, "has a catalog closing already", ds.install_catalog, spark, "closing", catalog)
    other = spark.newSession()
    assert "closing" not in [each.name for each in other.catalog.listCatalogs()]
    with ds.install_catalog(other, "closing", catalog):
        assert other.sql("SELECT * FROM closing.db.own").collect() == []
    spark.sql("USE closing.db")
    assert spark.sql("SELECT * FROM own").collect() == []
    installed.close()
    installed.close()
    assert installed.closed
    assert spark.catalog.currentCatalog() == "spark_catalog"
    refuses(Exception, "closing", spark.sql, "SELECT * FROM closing.db.own")


@pytest.mark.parametrize(("name", "message"), [("", "not ''"), ("spark_catalog", "has a catalog spark_catalog")])
def test_names_that_cannot_be_installed(spark: Any, catalog: Any, name: str, message: str) -> None:
    refuses(ds.InvalidArgument, message, ds.install_catalog, spark, name, catalog)


def test_only_a_catalog_is_installed(spark: Any) -> None:
    refuses(ds.InvalidArgumentType, "a TableCatalog", ds.install_catalog, spark, "x", "warehouse:/tmp")


SCRIPT = """
import sys
import deltaskip as ds
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
ds.install_catalog(spark, "lake", ds.catalog("warehouse:" + sys.argv[1]))
print(spark.sql("SHOW NAMESPACES IN lake").count())
"""


@pytest.mark.long
def test_a_process_ends_that_has_neither_closed_its_catalog_nor_stopped_its_session(tmp_path: Path) -> None:
    ds.catalog(f"warehouse:{tmp_path}").create_namespace("db")
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=True)
    assert found.stdout.split() == ["1"]


@pytest.mark.long(gate=1)
def test_tables_by_path_under_the_name_of_the_format(spark: Any, catalog: ds.TableCatalog, tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    one, other = (f"{tmp_path}/{name}" for name in ("one", "other"))
    for path in (one, other):
        ds.DeltaTable.create(path, rows.schema)
    ds.DeltaTable(one).append(rows)
    with ds.install_catalog(spark, "deltaskip", catalog):
        named, from_other = f"deltaskip.`{one}`", f"deltaskip.`{other}`"
        for text, expected in (
            (f"SELECT name FROM {named} WHERE id > 1 ORDER BY id", [("b",), ("c",)]),
            (f"SELECT count(*) FROM deltaskip.`file://{one}` VERSION AS OF 0", [(0,)]),
            (f"INSERT INTO {from_other} SELECT * FROM {named}", []),
            (f"DELETE FROM {from_other} WHERE id = 3", []),
            (f"ALTER TABLE {from_other} ADD COLUMN more INT", []),
            (f"SELECT * FROM {from_other} ORDER BY id", [(1, "a", None), (2, "b", None)]),
        ):
            assert [tuple(row) for row in spark.sql(text).collect()] == expected, text
        merge = f"MERGE INTO {named} t USING {from_other} s ON t.id = s.id WHEN MATCHED THEN DELETE"
        spark.sql(merge)
        assert ds.DeltaTable(one).scan().to_arrow()["id"].to_pylist() == [3]
        for text, message in (
            (f"CREATE TABLE deltaskip.`{tmp_path}/new` (id INT)", "is a path"),
            (f"CREATE TABLE deltaskip.`{tmp_path}/new` AS SELECT 1 AS id", "is a path"),
            (f"DROP TABLE {named}", "is a path"),
            (f"ALTER TABLE {named} RENAME TO db.moved", "is a path"),
            (f"SELECT * FROM deltaskip.`{tmp_path}/nowhere`", "There is no table at"),
        ):
            refuses(Exception, message, spark.sql, text)
    assert not (tmp_path / "new").exists()
    assert not catalog.list_tables(())


def test_keys_of_joins_skip_files_late(spark: Any, lake: Any, catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.spark.installed_catalog import scans

    facts = catalog.create_table("db.facts", "k INT, day DATE, s STRING, d DOUBLE, v STRING")
    for number in range(12):
        keys = list(range(number * 20, number * 20 + 20))
        days = pa.array(keys, pa.int32()).cast(pa.date32())
        values = {"s": [f"s{key:03}" for key in keys], "d": [key / 2 for key in keys], "v": [f"{number}" * 50] * 20}
        facts.append(pa.table({"k": pa.array(keys, pa.int32()), "day": days, **values}))
    names = catalog.create_table("db.names", "k INT, day DATE, s STRING, d DOUBLE, name STRING")
    rows = catalog.load_table("db.facts").scan(columns=["k", "day", "s", "d"]).to_arrow()
    names.append(rows.append_column("name", pa.array([f"n{key}" for key in range(240)])))
    kept: list[int] = []
    made = scans._narrowed

    def narrowed(scan: Any, keys: Any) -> Any:
        found = made(scan, keys)
        kept.append(len(found.files()))
        return found

    monkeypatch.setattr(scans, "_narrowed", narrowed)
    for column, files in (("k", [2]), ("day", [2]), ("s", [2]), ("d", [])):
        kept.clear()
        found = lake(
            f"SELECT f.k FROM lake.db.facts f JOIN lake.db.names n ON f.{column} = n.{column} "
            f"WHERE n.name IN ('n5', 'n210') ORDER BY f.k"
        )
        assert (found, kept) == ([(5,), (210,)], files), column
    kept.clear()
    # The result has every row of the left side.
    query = "SELECT count(*), count(n.k) FROM lake.db.facts f LEFT JOIN lake.db.names n ON f.k = n.k AND n.name = 'n5'"
    assert (lake(query), kept) == ([(240, 1)], [])


ZONE = "spark.sql.session.timeZone"
OF_ZONES = (
    "hour(ts) < 3", "CAST(ts AS DATE) = DATE'2024-01-01'", "date_format(ts, 'HH') = '12'", "ts < n",
    "date_trunc('DAY', ts) = TIMESTAMP'2024-01-01 00:00:00Z'", "CAST(ts AS STRING) LIKE '2024-01-01 0%'",
)  # fmt: skip


@pytest.fixture(scope="module")
def zones(catalog: ds.TableCatalog) -> None:
    """A table of which each hour is in a file of its own."""
    table = catalog.create_table("db.zones", "id INT, ts TIMESTAMP, n TIMESTAMP_NTZ", ["id"])
    hours = [datetime(2024, 1, 1, hour, 30) for hour in (0, 2, 6, 12, 20, 23)]
    table.append([{"id": i, "ts": at.replace(tzinfo=UTC), "n": at} for i, at in enumerate(hours)])


@pytest.mark.usefixtures("zones")
@pytest.mark.parametrize("where", OF_ZONES)
@pytest.mark.parametrize("before_and_after", [("UTC", "America/New_York"), ("America/New_York", "UTC")])
def test_expressions_keep_their_time_zone(spark: Any, lake: Any, where: str, before_and_after: tuple[str, str]) -> None:
    """A DataFrame, a view and an SQL function do, whatever the zone of the session when it plans. # ResolveTimeZone"""
    of_rows = spark.createDataFrame(spark.table("lake.db.zones").collect(), spark.table("lake.db.zones").schema)
    of_rows.createOrReplaceTempView("rows_of_zones")
    made = {}
    try:
        spark.conf.set(ZONE, before_and_after[0])
        for name in ("lake.db.zones", "rows_of_zones"):
            view = f"early_{name.replace('.', '_')}"
            spark.sql(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM {name} WHERE {where}")
            made[name] = [spark.sql(f"SELECT * FROM {name} WHERE {where}"), spark.table(name).where(where)]
        spark.sql(
            f"CREATE OR REPLACE TEMPORARY FUNCTION early(ts TIMESTAMP, n TIMESTAMP_NTZ) RETURNS BOOLEAN RETURN {where}"
        )
        spark.conf.set(ZONE, before_and_after[1])
        for name, frames in made.items():
            frames.append(spark.table(f"early_{name.replace('.', '_')}"))
            frames.append(spark.sql(f"SELECT * FROM {name} WHERE early(ts, n)"))
        found, expected = ([sorted(row.id for row in each.collect()) for each in made[name]] for name in made)
    finally:
        spark.conf.set(ZONE, "UTC")
        spark.sql("DROP TEMPORARY FUNCTION IF EXISTS early")
    assert found == expected


def test_expressions_of_the_time_zone_of_the_session_skip_files(spark: Any, catalog: Any, lake: Any) -> None:
    table = catalog.create_table("db.in_zone", "id INT, ts TIMESTAMP")
    for day in range(1, 5):
        table.append([{"id": day, "ts": datetime(2024, 1, day, 12, tzinfo=UTC)}])
    assert files_read(spark.sql("SELECT * FROM lake.db.in_zone WHERE CAST(ts AS DATE) = DATE'2024-01-02'")) == 1


def test_a_micro_batch_has_its_own_catalog(spark: Any, catalog: ds.TableCatalog, lake: Any, tmp_path: Path) -> None:
    """Spark runs a query in a copy of the session, without catalogs that are no classes of the JVM."""
    source = catalog.create_table("db.to_follow", "id BIGINT")
    copy = catalog.create_table("db.followed", "id BIGINT")

    def upsert(batch: Any, _: int) -> None:
        with ds.install_catalog(batch.sparkSession, "lake", catalog):
            batch.createOrReplaceTempView("batch")
            batch.sparkSession.sql(
                "MERGE INTO lake.db.followed t USING batch s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
            )

    for i in range(2):
        source.append([{"id": i}])
        stream = source.read_stream(spark).writeStream.foreachBatch(upsert)
        stream.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert sorted(copy.refresh().scan().to_arrow()["id"].to_pylist()) == [0, 1]

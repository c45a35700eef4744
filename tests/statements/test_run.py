"""Statements that need no Spark, on a catalog of names in this process: what they do and what they answer."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import errors
from deltaskip.statements.from_the_log import Query
from deltaskip.statements.statement import StatementSession
from tests.catalogs.memory_catalog import MemoryCatalog
from tests.each import refuses
from tests.looped import looped
from tests.statements.texts import STATEMENTS


@pytest.fixture
def catalog(tmp_path: Path) -> MemoryCatalog:
    """A catalog with the namespace db and the table db.t of three rows in two partitions."""
    found = MemoryCatalog(str(tmp_path), name="cat")
    found.sql(None, "CREATE NAMESPACE db")
    found.sql(None, "CREATE TABLE db.t (id BIGINT, s STRING COMMENT 'text', p INT) PARTITIONED BY (p)")
    found.load_table("db.t").append(pa.table({"id": [1, 2, 3], "s": ["a", "b", None], "p": [1, 1, None]}))
    return found


def answer(catalog: MemoryCatalog, text: str, params: Any = None) -> list[tuple[Any, ...]]:
    """The rows that a statement returns without a session."""
    found = catalog.sql(None, text, params)
    assert isinstance(found, pa.Table)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def test_create_table_with_transforms_makes_hidden_columns(catalog: MemoryCatalog) -> None:
    assert answer(catalog, "CREATE TABLE db.h (id BIGINT, ts TIMESTAMP) PARTITIONED BY (days(ts), bucket(4, id))") == []
    table = catalog.load_table("db.h")
    assert table.partitioning == (ds.transforms.date("ts"), ds.transforms.bucket("id", 4))
    assert answer(catalog, "SHOW COLUMNS IN db.h") == [("id",), ("ts",)]
    described = answer(catalog, "DESCRIBE db.h")
    assert described[2:] == [
        ("# Partitioning", "", ""), ("Part 0", "days(ts)", ""), ("Part 1", "bucket(4, id)", ""),
    ]  # fmt: skip


def test_create_table_with_every_clause(catalog: MemoryCatalog, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    answer(
        catalog,
        f"CREATE TABLE db.c (a INT, b STRING) USING delta CLUSTER BY (a) COMMENT 'it''s' LOCATION '{place}' "
        f"TBLPROPERTIES ('delta.appendOnly' = 'true')",
    )
    table = catalog.load_table("db.c")
    assert table.uri == place.as_uri()
    assert table.metadata.description == "it's"
    assert table.properties["delta.appendOnly"] == "true"
    assert table.detail().clustering_columns == ("a",)


def test_a_table_that_exists_gets_a_name(catalog: MemoryCatalog, tmp_path: Path) -> None:
    place = tmp_path / "made elsewhere"
    ds.DeltaTable.create(place, "id BIGINT").append(pa.table({"id": [1]}))
    for provider in ("", "USING delta", "USING deltaskip"):
        answer(catalog, f"CREATE TABLE db.found {provider} LOCATION '{place}'")
        assert catalog.load_table("db.found").scan().count() == 1
        answer(catalog, "DROP TABLE db.found")
    refuses(errors.TableNotFound, None, answer, catalog, f"CREATE TABLE db.lost LOCATION '{tmp_path / 'nowhere'}'")
    for text in (
        f"CREATE OR REPLACE TABLE db.t LOCATION '{place}'",
        f"CREATE TABLE db.x LOCATION '{place}' COMMENT 'x'",
    ):
        refuses(errors.PredicateError, "a table needs columns", answer, catalog, text)


def test_create_replace_and_if_not_exists(catalog: MemoryCatalog) -> None:
    refuses(errors.TableAlreadyExists, "CREATE TABLE IF NOT EXISTS", answer, catalog, "CREATE TABLE db.t (x INT)")
    answer(catalog, "CREATE TABLE IF NOT EXISTS db.t (x INT)")
    assert catalog.load_table("db.t").schema.names == ("id", "s", "p")
    refuses(errors.TableNotFound, None, answer, catalog, "REPLACE TABLE db.none (x INT)")
    answer(catalog, "CREATE OR REPLACE TABLE db.t (x INT)")
    table = catalog.load_table("db.t")
    assert (table.schema.names, table.version, table.snapshot.num_files) == (("x",), 2, 0)
    refuses(errors.NamespaceNotFound, None, answer, catalog, "CREATE TABLE other.t (x INT)")
    refuses(errors.InvalidArgument, "USING delta", answer, catalog, "CREATE TABLE db.x (x INT) USING iceberg")


def test_names_may_begin_with_the_catalog_s(catalog: MemoryCatalog) -> None:
    assert len(answer(catalog, "SHOW COLUMNS IN cat.db.t")) == 3
    assert answer(catalog, "SHOW TABLES IN cat.db") == [("db", "t", False)]


def test_alter_rename_drop(catalog: MemoryCatalog) -> None:
    answer(catalog, "ALTER TABLE db.t ADD COLUMNS (z DOUBLE COMMENT 'new' AFTER id)")
    assert catalog.load_table("db.t").schema.names == ("id", "z", "s", "p")
    answer(catalog, "ALTER TABLE db.t RENAME TO u")
    assert answer(catalog, "SHOW TABLES IN db") == [("db", "u", False)]
    refuses(errors.TableNotFound, "IF EXISTS", answer, catalog, "DROP TABLE db.t")
    answer(catalog, "DROP TABLE IF EXISTS db.t")
    answer(catalog, "DROP TABLE db.u")
    assert answer(catalog, "SHOW TABLES IN db") == []


def test_namespaces(catalog: MemoryCatalog) -> None:
    refuses(errors.NamespaceAlreadyExists, None, answer, catalog, "CREATE SCHEMA db")
    answer(catalog, "CREATE SCHEMA IF NOT EXISTS db")
    answer(catalog, "CREATE DATABASE db.inner COMMENT 'x' WITH PROPERTIES (k = 'v')")
    answer(catalog, "ALTER NAMESPACE db.inner SET PROPERTIES (l = 'w')")
    assert answer(catalog, "DESCRIBE NAMESPACE EXTENDED db.inner") == [
        ("Catalog Name", "cat"), ("Namespace Name", "db.inner"), ("Comment", "x"), ("Properties", "((k,v), (l,w))"),
    ]  # fmt: skip
    assert answer(catalog, "SHOW NAMESPACES") == [("db",)]
    assert answer(catalog, "SHOW NAMESPACES IN db LIKE '*in*'") == [("db.inner",)]
    refuses(errors.NamespaceNotEmpty, None, answer, catalog, "DROP NAMESPACE db")
    answer(catalog, "DROP NAMESPACE db CASCADE")
    refuses(errors.NamespaceNotFound, None, answer, catalog, "DROP NAMESPACE db")
    answer(catalog, "DROP NAMESPACE IF EXISTS db")


def test_rows_change_without_spark(catalog: MemoryCatalog) -> None:
    assert answer(catalog, "DELETE FROM db.t AS x WHERE x.id = :id", {"id": 2}) == [(1,)]
    assert answer(catalog, "UPDATE db.t SET t.s = upper(db.t.s) WHERE t.id < 3") == [(1,)]
    table = catalog.load_table("db.t")
    assert table.scan().count() == 2
    assert table.scan("s = 'A'").count() == 1
    answer(catalog, "TRUNCATE TABLE db.t PARTITION (p = 1)")
    assert catalog.load_table("db.t").scan().count() == 1
    answer(catalog, "TRUNCATE TABLE db.t")
    assert catalog.load_table("db.t").scan().count() == 0


def test_values_are_inserted_without_spark(catalog: MemoryCatalog) -> None:
    answer(
        catalog,
        "CREATE TABLE db.v (i BIGINT GENERATED ALWAYS AS IDENTITY, a BIGINT, d DATE, t TIMESTAMP, n DECIMAL(10,2), "
        "s STRING DEFAULT 'none', p INT) PARTITIONED BY (p)",
    )
    answer(
        catalog,
        "INSERT INTO db.v VALUES (DEFAULT, 1, DATE '2026-01-31', TIMESTAMP '2026-01-31 12:00:00Z', 1.5, DEFAULT, 1), "
        "(DEFAULT, 3000000000, NULL, current_timestamp(), NULL, upper('x'), 1 + 1)",
    )
    answer(catalog, "INSERT INTO db.v (a) VALUES (:x)", {"x": 7})
    answer(catalog, "INSERT OVERWRITE db.v PARTITION (p = '2') (a, s) VALUES (9, 'o')")
    rows = catalog.load_table("db.v").scan().to_arrow().select(["a", "n", "s", "p"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [
        (1, Decimal("1.50"), "none", 1), (7, None, "none", None), (9, None, "o", 2),
    ]  # fmt: skip
    refuses(errors.SchemaError, "1 values for 7 columns", answer, catalog, "INSERT INTO db.v VALUES (1)")
    refuses(errors.PredicateError, None, answer, catalog, "INSERT INTO db.v (a) VALUES (1 / 0)")
    with pytest.raises(errors.SparkUnavailable, match="Only Spark can evaluate"):
        answer(catalog, "INSERT INTO db.v (a) VALUES (size(sentences('a')))")


def test_names_of_with_before_an_insert_are_those_of_its_query(catalog: MemoryCatalog) -> None:
    answer(catalog, "CREATE TABLE db.copy (id BIGINT)")
    answer(catalog, "WITH q AS (SELECT id + 1 AS id FROM db.t WHERE id < 3) INSERT INTO db.copy SELECT id FROM q")
    answer(catalog, "FROM db.t INSERT INTO db.copy SELECT id WHERE id = 3")
    assert sorted(answer(catalog, "SELECT id FROM db.copy")) == [(2,), (3,), (3,)]
    # A session would run the text of such a query in its own tables.
    for query in ("WITH q AS (SELECT 1) INSERT INTO t TABLE q", "FROM db.t SELECT id INSERT INTO t SELECT id"):
        for text in (f"INSERT INTO db.copy {query}", f"CREATE TABLE db.more AS {query}"):
            with pytest.raises(errors.DeltaSkipError, match=r"a query is expected here|names no table"):
                answer(catalog, text)


def test_show_and_describe(catalog: MemoryCatalog) -> None:
    assert answer(catalog, "SHOW PARTITIONS db.t") == [(None,), (1,)]
    assert catalog.sql("SHOW PARTITIONS db.t PARTITION (p = 1)").to_pylist() == [{"p": 1}]
    assert answer(catalog, "DESCRIBE db.t") == [
        ("id", "bigint", None), ("s", "string", "text"), ("p", "int", None),
        ("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), ("p", "int", None),
    ]  # fmt: skip
    assert answer(catalog, "DESCRIBE db.t s") == [("col_name", "s"), ("data_type", "string"), ("comment", "text")]
    extended = answer(catalog, "DESCRIBE TABLE EXTENDED db.t")
    assert ("Location", catalog.load_table("db.t").snapshot.root, "") in extended
    assert answer(catalog, "SHOW TBLPROPERTIES db.t ('none')") == [("none", "Table db.t does not have property: none")]
    detail = catalog.sql(None, "DESCRIBE DETAIL db.t").to_pylist()[0]
    assert (detail["name"], detail["numFiles"], detail["partitionColumns"]) == ("cat.db.t", 2, ["p"])
    history = catalog.sql(None, "DESCRIBE HISTORY db.t LIMIT 1").to_pylist()
    assert [(each["version"], each["operation"]) for each in history] == [(1, "WRITE")]
    refuses(errors.SchemaError, "none", answer, catalog, "DESCRIBE db.t none")


@pytest.mark.parametrize(
    "ddl",
    [
        "(i BIGINT GENERATED ALWAYS AS IDENTITY, `o-d` VARCHAR(5) COMMENT 'it''s \\\\', ts TIMESTAMP NOT NULL, "
        "d DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), n INT DEFAULT 5) "
        "PARTITIONED BY (months(ts), d) TBLPROPERTIES ('k' = 'v')",
        "(s STRUCT<`a b`: INT NOT NULL COMMENT 'c;x', `d``e`: ARRAY<STRUCT<`f.g`: CHAR(3)>>> NOT NULL, "
        "m MAP<STRING, STRUCT<v: VARCHAR(5), c: STRING COLLATE UNICODE_CI>>, l ARRAY<STRING COLLATE UTF8_LCASE>) "
        "CLUSTER BY (s.`a b`) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    ],
    ids=["columns", "fields of structs"],
)
def test_show_create_table_makes_such_a_table(catalog: MemoryCatalog, tmp_path: Path, ddl: str) -> None:
    answer(catalog, f"CREATE TABLE db.a {ddl}")
    text = answer(catalog, "SHOW CREATE TABLE db.a")[0][0]
    first = catalog.load_table("db.a")
    answer(catalog, text.replace("db.a", "db.b", 1).replace(first.snapshot.root, str(tmp_path / "again")))
    answer(catalog, "CREATE TABLE db.c LIKE db.a USING delta")
    answer(catalog, "CREATE TABLE IF NOT EXISTS db.c LIKE db.a TBLPROPERTIES ('k' = 'other')")
    for second in map(catalog.load_table, ("db.b", "db.c")):
        if "delta.columnMapping.mode" in first.properties:
            texts = (each.metadata.schema_string for each in (first, second))
            declared, again = (_declared(json.loads(text)) for text in texts)
            assert again == declared
        else:
            assert second.schema == first.schema
        assert second.partitioning == first.partitioning
        assert second.properties == first.properties
    answer(catalog, "CREATE TABLE db.d LIKE db.a TBLPROPERTIES ('k' = 'other')")
    assert catalog.load_table("db.d").properties == {**first.properties, "k": "other"}


def test_show_create_table_leaves_out_the_place_that_a_catalog_chooses(tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    answer(catalog, "CREATE TABLE db.a (id INT)")
    text = answer(catalog, "SHOW CREATE TABLE db.a")[0][0]
    answer(catalog, "DROP TABLE db.a")
    answer(catalog, text)
    assert catalog.load_table("db.a").schema.names == ("id",)


def _declared(value: Any) -> Any:
    """A schema as JSON without its physical names, which differ."""
    if isinstance(value, list):
        return [_declared(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _declared(each) for key, each in value.items() if key != "delta.columnMapping.physicalName"}


def test_maintenance(catalog: MemoryCatalog) -> None:
    assert catalog.sql(None, "OPTIMIZE db.t WHERE p = 1").column_names == ["path", "metrics"]
    root = catalog.load_table("db.t").uri
    assert answer(catalog, "VACUUM db.t") == [(root,)]
    assert answer(catalog, "VACUUM db.t RETAIN 200 HOURS DRY RUN") == []
    listed = f"SELECT '{root}/x' AS path, id AS length, false AS isDir, id AS modificationTime FROM db.t"
    assert answer(catalog, f"VACUUM db.t USING INVENTORY ({listed}) DRY RUN") == []
    catalog.load_table("db.t").alter(ds.SetProperty("delta.enableDeletionVectors", "true"))
    answer(catalog, "DELETE FROM db.t WHERE id = 1")
    [(_, reorganized)] = answer(catalog, "REORG TABLE db.t APPLY (PURGE)")
    assert (reorganized["numFilesAdded"], catalog.load_table("db.t").history(1)[0].operation) == (1, "REORG")
    answer(catalog, "DELETE FROM db.t")
    restored = catalog.sql(None, "RESTORE TABLE db.t TO VERSION AS OF 1").to_pylist()
    assert restored[0]["num_restored_files"] == 2
    answer(catalog, "GENERATE symlink_format_manifest FOR TABLE db.t")
    assert answer(catalog, "REFRESH TABLE db.t") == []


def test_clones(catalog: MemoryCatalog) -> None:
    answer(catalog, "CREATE TABLE db.k SHALLOW CLONE db.t")
    assert catalog.load_table("db.k").scan().count() == 3
    answer(catalog, "CREATE TABLE IF NOT EXISTS db.k SHALLOW CLONE db.t VERSION AS OF 0")
    assert catalog.load_table("db.k").scan().count() == 3
    answer(catalog, "CREATE OR REPLACE TABLE db.k SHALLOW CLONE db.t@v0")
    assert catalog.load_table("db.k").scan().count() == 0


def test_comments(catalog: MemoryCatalog) -> None:
    answer(catalog, "COMMENT ON TABLE db.t IS 'one'")
    answer(catalog, "COMMENT ON COLUMN db.t.id IS 'two'")
    answer(catalog, "COMMENT ON NAMESPACE db IS 'three'")
    assert catalog.load_table("db.t").metadata.description == "one"
    assert answer(catalog, "DESCRIBE db.t")[0] == ("id", "bigint", "two")
    assert catalog.load_namespace("db") == {"comment": "three"}


def test_time_travel(catalog: MemoryCatalog) -> None:
    assert len(answer(catalog, "DESCRIBE db.t VERSION AS OF 0")) == 6
    refuses(errors.PredicateError, "not a time", answer, catalog, "DESCRIBE db.t TIMESTAMP AS OF 'yesterday'")
    with pytest.raises(errors.VersionNotFound):
        answer(catalog, "DESCRIBE db.t TIMESTAMP AS OF current_timestamp() - INTERVAL 400 DAYS")
    with pytest.raises(errors.SparkUnavailable, match="the first argument"):
        answer(catalog, "DESCRIBE db.t TIMESTAMP AS OF to_csv(struct(1))")


def test_tables_by_path(catalog: MemoryCatalog) -> None:
    path = catalog.load_table("db.t").uri.removeprefix("file://")
    assert len(answer(catalog, f"SHOW COLUMNS IN delta.`{path}`")) == 3
    assert catalog.sql(None, f"DESCRIBE DETAIL '{path}'").to_pylist()[0]["name"] is None
    refuses(errors.InvalidArgument, "is a path", answer, catalog, f"DROP TABLE delta.`{path}`")


def test_random_damage_changes_the_catalog_by_statements_or_raises_errors_of_ours(tmp_path: Path) -> None:
    rng = random.Random(20261122)
    texts = [text for text in STATEMENTS if "/" not in text and "VACUUM" not in text]
    pieces = sorted({word for text in texts for word in text.split()})
    for round_ in range(12):
        catalog = MemoryCatalog(str(tmp_path / str(round_)), name="cat")
        catalog.sql(None, "CREATE NAMESPACE db")
        for table in ("t", "db.t"):
            catalog.sql(None, f"CREATE TABLE {table} (id BIGINT, a INT, b STRING, p INT) PARTITIONED BY (p)")
            catalog.load_table(table).append(pa.table({"id": [1, 2], "a": pa.array([3, 4], pa.int32())}))
        for _ in range(60):
            words = rng.choice(texts).split(" ")
            if rng.random() < 0.6:
                words[rng.randrange(len(words))] = rng.choice(pieces)
            try:
                found = catalog.sql(None, " ".join(words), {} if rng.random() < 0.2 else None)
                assert isinstance(found, pa.Table)
            except ds.DeltaSkipError as error:
                assert str(error)


@looped(
    "text, expected",
    [
        ("SELECT count(*) FROM db.t", {"count(1)": [3]}),
        ("SELECT COUNT(1) AS n, min(id), max(t.p) m FROM db.t", {"n": [3], "min(id)": [1], "m": [1]}),
        ("SELECT count(*) FROM db.t AS x WHERE x.p = 1", {"count(1)": [2]}),
        ("SELECT max(db.t.id) FROM cat.db.t WHERE p IS NULL", {"max(id)": [3]}),
        ("SELECT count(*) FROM db.t@v0", {"count(1)": [0]}),
        ("SELECT DISTINCT p FROM db.t", {"p": [1, None]}),
        ("SELECT DISTINCT t.p AS q FROM db.t VERSION AS OF 1", {"q": [1, None]}),
        ("SELECT DISTINCT p, p AS q FROM db.t WHERE p = 1", {"p": [1], "q": [1]}),
        ("SELECT count(*) FROM db.t WHERE id + 1 = 2", {"count(1)": [1]}),
        ("SELECT count(id), count_if(p IS NULL) AS none FROM db.t", {"count(id)": [3], "none": [1]}),
        ("SELECT max(id), t.p FROM db.t WHERE id < 3 GROUP BY p;", {"max(id)": [2], "p": [1]}),
        ("SELECT id, p FROM db.t AS t ORDER BY t.id DESC NULLS FIRST LIMIT 1", {"id": [3], "p": [None]}),
        ("SELECT * FROM db.t WHERE id > 1 ORDER BY p NULLS LAST LIMIT 1", {"id": [2], "s": ["b"], "p": [1]}),
    ],
)
def test_the_log_answers_totals_distinct_partitions_and_first_rows(
    catalog: MemoryCatalog, text: str, expected: dict[str, list[Any]]
) -> None:
    found = catalog.sql(None, text)
    assert {name: sorted(found[name].to_pylist(), key=str) for name in found.column_names} == expected


@looped(
    "text",
    [
        "SELECT sum(id) FROM db.t", "SELECT count(DISTINCT id) FROM db.t", "SELECT DISTINCT id FROM db.t",
        "SELECT count(*) FROM db.t GROUP BY s", "SELECT count(*) FROM db.t, db.t AS u", "SELECT min(s), 1 FROM db.t",
        "SELECT id FROM db.t ORDER BY 1 LIMIT 1", "SELECT id AS p FROM db.t ORDER BY p LIMIT 1",
        "SELECT id FROM db.t ORDER BY id", "SELECT s FROM db.t ORDER BY id LIMIT 1 OFFSET 1",
        "SELECT p, count(*) FROM db.t GROUP BY p, id", "SELECT id, count(*) FROM db.t GROUP BY p",
        "SELECT DISTINCT p FROM db.t WHERE id = 1", "SELECT count(*) FROM db.t LIMIT 0", "SELECT max(p) + 1 FROM db.t",
        "SELECT count(*) FROM db.t WHERE p = 1 LIMIT 0", "SELECT DISTINCT upper(s) FROM db.t",
        "SELECT max(x) FROM db.t",
        "SELECT count(*) FROM db.t WHERE p IN (SELECT 1)", "SELECT count(*) FROM db.t HAVING 1 = 0",
    ],
)  # fmt: skip
def test_the_log_does_not_answer_other_queries(catalog: MemoryCatalog, text: str) -> None:
    assert Query(text).from_log(StatementSession(None, catalog)) is None


def test_partitions_whose_rows_are_all_deleted_are_no_values(catalog: MemoryCatalog) -> None:
    answer(catalog, "ALTER TABLE db.t SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    answer(catalog, "DELETE FROM db.t WHERE id = 1")
    assert answer(catalog, "SELECT count(*), min(p) FROM db.t WHERE p = 1") == [(1, 1)]
    answer(catalog, "DELETE FROM db.t WHERE id < 3")
    assert answer(catalog, "SELECT DISTINCT p FROM db.t") == [(None,)]


@looped("text", [
    "DELETE FROM db.t WHERE to_csv(struct(s)) = 'x'",
    "UPDATE db.t SET s = to_csv(struct(s))", "INSERT INTO db.t VALUES (1, to_csv(struct('x')), 1)",
])  # fmt: skip
def test_what_needs_a_session_says_so(catalog: MemoryCatalog, text: str) -> None:
    refuses(errors.SparkUnavailable, "the first argument", answer, catalog, text)
    assert not catalog.table_exists("db.x")


@pytest.mark.parametrize("alias", [None, "t"])
def test_the_name_of_a_table_goes_before_a_struct_of_that_name(catalog: MemoryCatalog, alias: str | None) -> None:
    answer(catalog, "CREATE TABLE db.t2 (id BIGINT, t STRUCT<id: BIGINT, w: BIGINT>, t2 STRUCT<id: BIGINT>)")
    rows = pa.table({"id": [1, 2], "t": [{"id": 2, "w": 5}, {"id": 1, "w": 6}], "t2": [{"id": 2}, {"id": 1}]})
    catalog.load_table("db.t2").append(rows)
    name = "t2" if alias is None else alias
    table = "db.t2" if alias is None else "db.t2 AS t"
    assert answer(catalog, f"UPDATE {table} SET {name}.{name}.id = 9 WHERE {name}.id = 1") == [(1,)]
    found = {row["id"]: row[name]["id"] for row in catalog.load_table("db.t2").scan().to_arrow().to_pylist()}
    assert found == {1: 9, 2: 1}
    assert answer(catalog, f"UPDATE {table} SET id = {name}.id + 10 WHERE t.w = 5 AND {name}.id = 1") == [(1,)]
    assert answer(catalog, f"DELETE FROM {table} WHERE {name}.id = 11") == [(1,)]
    assert answer(catalog, "SELECT count(*) FROM db.t2") == [(1,)]


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE db.t SET s = u.s FROM db.u WHERE t.id = u.id", "UPDATE db.t SET s = u.s FROM db.u",
        "UPDATE db.t SET s = u.s", "UPDATE db.t SET s = 'x' WHERE u.id = 1", "UPDATE db.t SET u.s = 'x'",
        "UPDATE db.t AS x SET s = 'x' WHERE t.id = 1", "UPDATE db.t AS x SET t.s = 'x'",
        "DELETE FROM db.t WHERE u.id = 1", "DELETE FROM db.t AS x WHERE t.id = 1",
        "DELETE FROM db.t USING db.u WHERE t.id = u.id", "DELETE FROM db.t WHERE other.t.id = 1",
    ],
)  # fmt: skip
def test_a_name_that_the_table_does_not_have_is_refused(catalog: MemoryCatalog, text: str) -> None:
    for empty in (False, True):
        if empty:
            catalog.load_table("db.t").delete()
        version = catalog.load_table("db.t").version
        refuses((errors.PredicateError, errors.SchemaError), None, answer, catalog, text)
        assert catalog.load_table("db.t").version == version

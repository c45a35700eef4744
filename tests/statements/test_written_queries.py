"""Statements that write the rows of a query, without a session and beside Spark."""

from __future__ import annotations

import threading
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from tests.catalogs.memory_catalog import MemoryCatalog
from tests.each import refuses

STATEMENTS = [
    "CREATE TABLE db.copy AS SELECT id, day, amount * 2 AS twice, upper(name) AS u FROM db.orders WHERE id < 4",
    "CREATE TABLE db.months PARTITIONED BY (m) AS SELECT id, month(day) AS m, 'x' AS c FROM db.orders o WHERE o.id > 1",
    "CREATE OR REPLACE TABLE db.totals AS SELECT day, count(*) AS n, sum(id) AS s FROM db.orders GROUP BY day",
    "INSERT INTO db.orders (id, day) SELECT id + 10, day FROM db.orders WHERE dayofweek(day) <> 1",
    "INSERT INTO db.orders PARTITION (day = DATE '2027-01-01') (id) SELECT max(id) + 100 FROM db.orders",
    "INSERT INTO db.orders BY NAME SELECT 'new' AS name, 77 AS id",
    "INSERT OVERWRITE db.copy SELECT id, day, amount, name FROM db.orders WHERE id < 12",
    "INSERT INTO db.totals REPLACE WHERE n < 2 SELECT day, 1, 7 FROM db.copy WHERE id = 3",
    "MERGE INTO db.orders t USING (SELECT id, 9.5D AS amount FROM db.copy WHERE id < 3) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET amount = s.amount WHEN NOT MATCHED BY SOURCE AND t.id > 110 THEN DELETE",
    "MERGE INTO db.orders USING db.copy ON orders.id = copy.id WHEN MATCHED THEN UPDATE SET name = copy.u",
    "DELETE FROM db.orders WHERE id IN (SELECT id FROM db.copy WHERE id = 2)",
    "DELETE FROM db.orders WHERE id NOT IN (SELECT id FROM db.orders WHERE id < 12) AND EXISTS (SELECT * FROM db.copy)",
    "UPDATE db.orders SET amount = (SELECT max(id) FROM db.copy) WHERE day = (SELECT min(day) FROM db.orders)",
    "INSERT INTO db.totals SELECT DATE '2030-01-01', 1 + 1, 5",
    "INSERT INTO db.totals VALUES (DATE '2031-01-01', 2.0, 3), (NULL, 1, 4.0)",
]
TABLES = ("orders", "copy", "months", "totals")


def _catalog(folder: Path) -> MemoryCatalog:
    catalog = MemoryCatalog(str(folder), name="cat")
    catalog.sql("CREATE NAMESPACE db")
    catalog.sql("CREATE TABLE db.orders (id BIGINT, day DATE, amount DOUBLE, name STRING) PARTITIONED BY (day)")
    catalog.sql(
        "INSERT INTO db.orders VALUES (1, DATE '2026-01-01', 2.5, 'a'), (2, DATE '2026-01-04', 3, NULL), "
        "(3, DATE '2026-02-01', NULL, 'ß')"
    )
    return catalog


def _rows(catalog: MemoryCatalog) -> dict[str, Any]:
    found = {}
    for name in TABLES:
        if catalog.table_exists(f"db.{name}"):
            table = catalog.load_table(f"db.{name}")
            types = [(field.name, field.type) for field in table.schema.fields]
            found[name] = types, table.partition_columns, sorted(map(str, table.scan().to_arrow().to_pylist()))
    return found


@pytest.mark.spark
def test_statements_write_the_rows_that_they_write_through_spark(tmp_path: Path, spark: Any) -> None:
    here, there = _catalog(tmp_path / "here"), _catalog(tmp_path / "there")
    for text in STATEMENTS:
        own, other = here.sql(text), there.sql(spark, text)
        assert own.to_pylist() == [row.asDict() for row in other.collect()], text
        assert _rows(here) == _rows(there), text


def test_rows_that_duckdb_computes_otherwise_are_not_written(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path)
    for text in ([
        "INSERT INTO db.orders (id) SELECT max(dayofweek(day)) FROM db.orders",
        "CREATE TABLE db.copy AS SELECT day, sum(amount) / count(*) AS mean FROM db.orders GROUP BY day",
        "DELETE FROM db.orders WHERE id IN (SELECT max(weekday(day)) FROM db.orders GROUP BY name)",
        "MERGE INTO db.orders t USING (SELECT max(upper(name)) AS n FROM db.orders) s ON t.name = s.n "
        "WHEN MATCHED THEN DELETE",
    ]):  # fmt: skip
        with pytest.raises(ds.PredicateError, match=r"meaning of DuckDB.*Such rows are not written unasked"):
            catalog.sql(text)
    for text, said in ([
        ("INSERT INTO db.orders (name) SELECT max(\"name\") FROM db.orders", "'name' in double quotes is a name"),
        ("DELETE FROM db.orders WHERE id IN (SELECT max(id) FROM db.orders GROUP BY name HAVING \"name\" = 'name')",
         "'name' in double quotes is a name"),
        ("INSERT INTO db.orders SELECT * FROM db.orders JOIN (SELECT 'a' AS name) s USING (name)", "after USING"),
        ("CREATE TABLE db.copy AS SELECT max(day) + INTERVAL 1 DAY AS day FROM db.orders", r"DATE \+ INTERVAL is"),
        ("CREATE TABLE db.copy AS SELECT max(id) AS id, TIMESTAMP '2026-01-01 00:00:00' AS t FROM db.orders",
         "create the table with its columns"),
    ]):  # fmt: skip
        with pytest.raises(ds.PredicateError, match=said):
            catalog.sql(text)
    assert catalog.load_table("db.orders").version == 1
    assert not catalog.table_exists("db.copy")
    made = "CREATE TABLE db.copy AS SELECT day, sum(amount) / nullif(count(*), 0) AS mean FROM db.orders GROUP BY day"
    catalog.sql(made)
    assert {(row["day"], row["mean"]) for row in catalog.load_table("db.copy").scan().to_arrow().to_pylist()} == {
        (date(2026, 1, 1), 2.5), (date(2026, 1, 4), 3.0), (date(2026, 2, 1), None),
    }  # fmt: skip


def test_an_overwrite_by_rows_of_the_table_conflicts_with_rows_that_it_has_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = _catalog(tmp_path)
    original = ds.TableScan.row_batches

    def late(scan: ds.TableScan, *given: Any, **named: Any) -> Any:
        monkeypatch.setattr(ds.TableScan, "row_batches", original)
        writer = threading.Thread(target=lambda: ds.DeltaTable(scan.snapshot.root).append([{"id": 50}]))
        writer.start()
        writer.join()
        return original(scan, *given, **named)

    monkeypatch.setattr(ds.TableScan, "row_batches", late)
    with pytest.raises(ds.CommitConflict):
        catalog.sql("INSERT OVERWRITE db.orders SELECT id + 1, day, amount, name FROM db.orders")
    assert 50 in catalog.load_table("db.orders").scan().to_arrow()["id"].to_pylist()


def test_structs_by_position_under_other_names_are_refused(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path)
    catalog.sql("CREATE TABLE db.s (id BIGINT, s STRUCT<x: INT, y: INT>)")
    catalog.sql("INSERT INTO db.s SELECT 1, named_struct('x', 1, 'y', 2)")
    with pytest.raises(ds.SchemaError, match=r"structs for s of db\.s have other names"):
        catalog.sql("INSERT INTO db.s SELECT 2, named_struct('a', 3, 'b', 4)")
    assert catalog.sql("SELECT s.y AS y, id FROM db.s").to_pylist() == [{"y": 2, "id": 1}]


def test_constants_of_values_have_the_common_type_of_spark(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path)
    catalog.sql("CREATE TABLE db.v (d DECIMAL(11, 1), t TIMESTAMP, f FLOAT)")
    catalog.sql(
        "INSERT INTO db.v VALUES (2.5, DATE '2026-01-01', 1), (3, TIMESTAMP '2026-01-02 03:00:00', CAST(2 AS FLOAT))"
    )
    found = catalog.sql("SELECT cast(d AS STRING) AS d, cast(t AS STRING) AS t, f FROM db.v").to_pylist()
    assert found == [
        {"d": "2.5", "t": "2026-01-01 00:00:00", "f": 1.0}, {"d": "3.0", "t": "2026-01-02 03:00:00", "f": 2.0},
    ]  # fmt: skip
    for text in ["(1), ('a')", "(TRUE), (1)", "(DATE '2026-01-01'), ('2026-01-02')"]:
        with pytest.raises(ds.SchemaError, match="in one column, which have no common type: write CAST"):
            catalog.sql(f"INSERT INTO db.v (d) VALUES {text}")


THIRD = Decimal("0.6666666666667")
# What stands in place of a query has the type of its column and is a whole: a literal of a number has the type of its
# digits, NULL has none, and a sign before a number less than 0 would begin a comment.
CONSTANTS: dict[str, str | list[tuple[Any, ...]]] = {
    "DELETE FROM db.t WHERE id = 5 -(SELECT min(id) FROM db.z)": [(5, None, None)],
    "DELETE FROM db.t WHERE id = 5 -(SELECT min(id) FROM db.z) AND b": [(5, None, None), (6, None, None)],
    "DELETE FROM db.t WHERE id = 5 AND(SELECT id < 0 FROM db.z)AND NOT EXISTS(SELECT id FROM db.z WHERE id > 0)AND b": [
        (6, None, None)
    ],
    "UPDATE db.t SET w = d / (SELECT max(d) FROM db.z) WHERE b": [(5, THIRD, None), (6, None, None)],
    "UPDATE db.t SET w = d / (SELECT max(k) FROM db.z) WHERE b": [
        (5, Decimal("0.66666666666666666666667").quantize(Decimal("1e-18")), None), (6, None, None)
    ],
    "UPDATE db.t SET w = y + (SELECT max(y) FROM db.z)": "200 is out of the range|BINARY_ARITHMETIC",
    "UPDATE db.t SET s = typeof((SELECT k FROM db.z)) WHERE b": [(5, None, "bigint"), (6, None, None)],
    "UPDATE db.t SET s = 'v' || (SELECT max(day) FROM db.z)": [(5, None, None), (6, None, None)],
    "DELETE FROM db.t WHERE id IN (SELECT k + 2 FROM db.z)": [(6, None, None)],
    "DELETE FROM db.t WHERE b NOT IN (SELECT day FROM db.z WHERE id = 7)": "BOOLEAN <=> DATE is not|MISMATCH",
    "DELETE FROM db.t WHERE b <=> (SELECT max(day) FROM db.z)": "BOOLEAN <=> DATE is not|MISMATCH",
    "DELETE FROM db.t WHERE b NOT IN (SELECT id, k FROM db.z WHERE id = 7)": "must have one column, but has 2",
    "DELETE FROM db.t WHERE id NOT IN (SELECT k FROM db.z WHERE id = 7)": [],
    "DELETE FROM db.t WHERE (id IN (SELECT k FROM db.z)) IS NULL": "is a value",
    "DELETE FROM db.t WHERE b OR NOT (b AND id IN (SELECT k + 2 FROM db.z))": "is a value",
    "UPDATE db.t SET b = id IN (SELECT k FROM db.z)": "is a value",
    "DELETE FROM db.t WHERE (b OR id NOT IN (SELECT k + 2 FROM db.z)) AND id IN (SELECT k + 3 FROM db.z)": [
        (5, None, None)
    ],
    "DELETE FROM db.t WHERE c = (SELECT 'ab' FROM db.z)": "c of .* has the type CHAR",
    "UPDATE db.t SET s = 'v' WHERE id = 5 AND C IN (SELECT 'ab' FROM db.z)": "c of .* has the type CHAR",
    "DELETE FROM db.t WHERE l = (SELECT 'ab' FROM db.z)": "l of .* has a collation|INDETERMINATE_COLLATION",
    "UPDATE db.t SET c = (SELECT 'ab' FROM db.z) WHERE c IS NULL AND id = (SELECT k + 2 FROM db.z)": [
        (5, None, None), (6, None, None)
    ],
}  # fmt: skip


def _check_constants(catalog: MemoryCatalog, *session: Any) -> None:
    run: Any = catalog.sql
    catalog.sql("CREATE TABLE db.z (id INT, k BIGINT, y TINYINT, d DECIMAL(10, 2), day DATE)")
    catalog.sql("INSERT INTO db.z VALUES (-1, 3, 100, 3, NULL)")
    for text, expected in CONSTANTS.items():
        texts = "s STRING, c CHAR(3), l STRING COLLATE UTF8_LCASE"
        columns = f"id INT, b BOOLEAN, d DECIMAL(10, 2), y TINYINT, w DECIMAL(38, 18), {texts}"
        catalog.sql(f"CREATE OR REPLACE TABLE db.t ({columns})")
        catalog.sql("INSERT INTO db.t (id, b, d, y) VALUES (5, TRUE, 2, 100), (6, NULL, 1, 1)")
        if isinstance(expected, str):
            refuses(ds.DeltaSkipError, expected, run, *session, text)
        else:
            run(*session, text)
            found = catalog.sql("SELECT id, w, s FROM db.t").to_pylist()
            assert sorted(tuple(row.values()) for row in found) == expected, text


def test_constants_of_queries_have_their_types_without_a_session(tmp_path: Path) -> None:
    _check_constants(_catalog(tmp_path))


@pytest.mark.spark
def test_constants_of_queries_have_their_types_through_spark(tmp_path: Path, spark: Any) -> None:
    _check_constants(_catalog(tmp_path), spark)


INDETERMINATE = "mixes the collations|INDETERMINATE_COLLATION"
# Strings of a query keep the collation of their column: rows of db.p, an error, or the types of db.n.
COLLATED: dict[str, str | list[str]] = {
    "DELETE FROM db.p WHERE s IN (SELECT v FROM db.z)": "string collate UTF8_LCASE",
    "DELETE FROM db.p WHERE s = (SELECT st.v FROM db.z WHERE id = 1)": "string collate UTF8_LCASE",
    "MERGE INTO db.p USING (SELECT v FROM db.z) z ON p.s = z.v WHEN MATCHED THEN DELETE": INDETERMINATE,
    "MERGE INTO db.p USING db.z ON p.s = z.st.v WHEN MATCHED THEN DELETE": INDETERMINATE,
    "MERGE INTO db.p USING db.z ON p.l = z.v WHEN MATCHED THEN DELETE": ["c"],
    "MERGE INTO db.p USING db.z ON p.s = z.w AND z.v = 'A' WHEN MATCHED THEN DELETE": ["B", "c"],
    "MERGE INTO db.p USING db.z ON p.s = z.w WHEN MATCHED THEN UPDATE SET s = z.v": ["A", "B", "c"],
    "INSERT INTO db.p SELECT w, v FROM db.z WHERE v = 'B'": ["B", "a", "b", "c"],
    "CREATE TABLE db.n AS SELECT v AS x, a, m, st AS t, st.v AS u, w FROM db.z": [
        "string collate UTF8_LCASE", "array<string collate UTF8_LCASE>", "map<int,string collate UTF8_LCASE>",
        "struct<v:string collate UTF8_LCASE>", "string collate UTF8_LCASE", "string",
    ],
}  # fmt: skip


def _check_collated(catalog: MemoryCatalog, *session: Any) -> None:
    run: Any = catalog.sql
    lcase = "STRING COLLATE UTF8_LCASE"
    catalog.sql(
        f"CREATE TABLE db.z (id INT, v {lcase}, w STRING, a ARRAY<{lcase}>, m MAP<INT, {lcase}>, st STRUCT<v: {lcase}>)"
    )
    catalog.sql("INSERT INTO db.z (id, v, w) VALUES (1, 'A', 'a'), (2, 'b', 'b')")
    for text, expected in COLLATED.items():
        catalog.sql(f"CREATE OR REPLACE TABLE db.p (s STRING, l {lcase})")
        catalog.sql("INSERT INTO db.p VALUES ('a', 'a'), ('B', 'B'), ('c', 'c')")
        if isinstance(expected, str):
            refuses(ds.DeltaSkipError, expected, run, *session, text)
            continue
        run(*session, text)
        if "db.n" in text:
            assert catalog.sql("DESCRIBE db.n")["data_type"].to_pylist() == expected
        else:
            assert sorted(catalog.sql("SELECT s FROM db.p")["s"].to_pylist()) == expected, text


def test_strings_of_queries_keep_their_collations_without_a_session(tmp_path: Path) -> None:
    _check_collated(_catalog(tmp_path))


@pytest.mark.spark
def test_strings_of_queries_keep_their_collations_through_spark(tmp_path: Path, spark: Any) -> None:
    _check_collated(_catalog(tmp_path), spark)


def test_rows_of_types_that_spark_does_not_compare_are_not_written(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path)
    catalog.sql("CREATE TABLE db.m (id INT, b BOOLEAN, m MAP<STRING, INT>)")
    for text in ([
        "INSERT INTO db.m (m) SELECT max(m) FROM db.m GROUP BY b",
        "INSERT INTO db.m (id) SELECT max(coalesce(b, id)) FROM db.m GROUP BY b",
        "DELETE FROM db.orders WHERE id IN (SELECT x.id FROM db.m x JOIN db.m y ON x.b = y.id)",
        "UPDATE db.orders SET amount = (SELECT sum(b) FROM db.m)",
        "MERGE INTO db.orders t USING (SELECT avg(day) AS d FROM db.orders) s ON t.day = s.d WHEN MATCHED THEN DELETE",
    ]):  # fmt: skip
        refuses(ds.PredicateError, "Such rows are not written unasked", catalog.sql, text)

"""Registered views: the latest rows, files that are skipped by the view and by the query, and what Spark keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.spark.spark_engine import files_read
from tests.contracts.doors import connect_session
from tests.each import each, refuses

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Ten files of ten rows in two partitions."""
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"])
    for first in range(0, 100, 10):
        append(table, first)
    return table


def append(table: ds.DeltaTable, first: int) -> None:
    parts = ["ab"[first // 10 % 2]] * 10
    table.append(pa.table({"id": pa.array(range(first, first + 10), pa.int64()), "p": parts}))


def ids(frame: Any) -> list[int]:
    return sorted(row["id"] for row in frame.collect())


def test_a_view_has_the_rows_of_its_predicate_and_moves_when_refreshed(spark: Any, table: ds.DeltaTable) -> None:
    view = ds.register_view(spark, "orders", table, ds.col("p") == "a")
    assert ids(spark.sql("SELECT id FROM orders")) == [i for i in range(100) if i // 10 % 2 == 0]
    assert not view.refresh()
    append(table, 100)
    assert len(ids(spark.sql("SELECT id FROM orders"))) == 50
    assert len(ids(ds.sql(spark, "SELECT id FROM orders"))) == 60
    assert view.refresh()
    assert (view.version, len(ids(spark.sql("SELECT id FROM orders")))) == (11, 60)
    view.drop()
    assert not spark.catalog.tableExists("orders")


def test_conditions_of_a_query_skip_files(spark: Any, table: ds.DeltaTable) -> None:
    view = ds.register_view(spark, "orders", table.uri, "p = 'a'")
    found = ds.sql(spark, "SELECT o.id FROM Orders AS o WHERE o.id >= :low", {"low": 75})
    assert ids(found) == list(range(80, 90))
    assert files_read(found) == 1
    joined = ds.sql(
        spark, "SELECT a.id FROM orders a JOIN orders b ON a.id = b.id WHERE a.id < 15 AND b.id < 5 ORDER BY 1"
    )
    assert ids(joined) == [0, 1, 2, 3, 4]
    assert files_read(joined) == 2
    old = ds.sql(spark, "SELECT count(*) AS n FROM orders VERSION AS OF 2")
    assert old.collect()[0]["n"] == 10
    view.drop()


def test_other_names_are_those_of_the_session(spark: Any, table: ds.DeltaTable) -> None:
    view = ds.register_view(spark, "orders", table)
    spark.range(3).createOrReplaceTempView("wanted")
    found = ds.sql(spark, "WITH few AS (SELECT id FROM wanted) SELECT id FROM orders WHERE id IN (SELECT id FROM few)")
    assert ids(found) == [0, 1, 2]
    view.drop()
    spark.catalog.dropTempView("wanted")
    refuses(ds.PredicateError, "orders", ds.sql, spark, "SELECT * FROM orders")


def test_a_view_is_planned_as_its_own_session_understands_it(spark: Any, table: ds.DeltaTable) -> None:
    own = spark.newSession()
    own.sql("DECLARE VARIABLE chosen_id INT DEFAULT 3")
    spark.sql("SELECT 1").collect()
    ds.register_view(own, "chosen", table, where="id = chosen_id")
    assert own.table("chosen").count() == table.scan("id = 3").count()


def test_a_view_takes_the_place_of_another_one(spark: Any, table: ds.DeltaTable) -> None:
    before = ds.register_view(spark, "orders", table, "id < 3")
    after = ds.register_view(spark, "ORDERS", table, "id < 5")
    before.drop()
    assert len(ids(ds.sql(spark, "TABLE orders"))) == 5
    assert "id < 5" in repr(after)
    after.drop()


def test_a_query_takes_tables_by_path(spark: Any, table: ds.DeltaTable, tmp_path: Path) -> None:
    view = ds.register_view(spark, "orders", table, "p = 'a'")
    path = f"deltaskip.`{tmp_path / 't'}`"
    found = ds.sql(spark, f"SELECT id FROM {path} WHERE id >= 85")
    assert (ids(found), files_read(found)) == (list(range(85, 100)), 2)
    joined = f"SELECT t.id FROM delta.`{table.uri}` t JOIN orders o ON t.id = o.id WHERE t.id < 15"
    assert ids(ds.sql(spark, joined)) == list(range(10))
    assert ids(ds.sql(spark, f"SELECT id FROM {path} VERSION AS OF 1")) == list(range(10))
    view.drop()
    refuses(ds.TableNotFound, "no such path", ds.sql, spark, f"SELECT * FROM deltaskip.`{tmp_path / 'nowhere'}`")
    refuses(ds.PredicateError, "Write the whole path", ds.sql, spark, "SELECT * FROM deltaskip.`orders`")


@pytest.mark.parametrize(
    ("name", "where", "text", "error", "message"),
    [
        ("a.b", None, "", ds.SchemaError, "not the name of a temporary view"),
        ("v", "ix = 1", "", ds.PredicateError, "There is no column ix"),
        ("v", None, "DELETE FROM v", ds.InvalidArgument, "queries only"),
    ],
)
def test_what_is_no_view_or_query_is_refused(
    spark: Any, table: ds.DeltaTable, name: str, where: str | None, text: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ds.register_view(spark, name, table, where)
        ds.sql(spark, text)


# Characters and words that stand for something in a template, in Spark's text or in another way of naming tables.
TEXTS = (
    "SELECT id, split(s, '\x01') AS x FROM lines",
    "SELECT '\0' AS a, '\x01' AS b, '\0__deltaskip_0\1' AS c, '__deltaskip_0' AS d FROM lines WHERE s != '\0'",
    "SELECT '{lines} {} {0} {{x}} {' AS a, '}' AS b, id FROM lines -- {c",
    "SELECT s AS `{__deltaskip_0}`, 'lines' AS `a{}b` FROM lines /* {lines} \0 */ WHERE s = '{}' OR s = '{{}}'",
    "SELECT `{x}`.id, 'it''s \"$1\" %s %(a)s \\\\ \\'' AS a FROM lines AS `{x}`",
    "WITH __deltaskip_0 AS (SELECT 7 AS id) SELECT l.id FROM lines l, __deltaskip_0 WHERE l.id = __deltaskip_0.id - 4",
    "SELECT `__deltaskip_0`.id FROM lines AS `__deltaskip_0` WHERE id > 2",
    "SELECT s, map('{', '}') AS m, regexp_replace(s, '[{}]{1,2}', '\0') AS r FROM lines ORDER BY id",
    "SELECT '{lines}' AS a, '\0' AS b",
)


def test_a_query_has_the_metadata_column_of_its_tables(spark: Any, tmp_path: Path) -> None:
    properties = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT NOT NULL, p STRING", ["p"], properties=properties)
    table.append({"id": [0, 1, 2], "p": ["a", "a", "b"]})
    table.refresh().delete("id = 0")
    own = ds.DeltaTable.create(tmp_path / "own", "id BIGINT, _metadata STRING")
    own.append({"id": [1], "_metadata": ["own"]})
    views = [ds.register_view(spark, name, of) for name, of in (("t", table), ("own", own))]
    listed = table.scan().files(columns=["path", "size"]).to_pylist()
    files = {file["path"].rpartition("/")[2]: file for file in listed}
    where = "_metadata.file_block_start = 0 AND _metadata.file_modification_time > '2026-01-01'"
    found = ds.sql(spark, f"SELECT *, _metadata.* FROM t WHERE {where} ORDER BY id")
    assert found.columns[:2] == ["id", "p"] and "_metadata" not in found.columns
    for row in found.collect():
        file = files[row.file_name]
        assert row.file_path.endswith(f"/t/{file['path']}")
        assert row.file_size == row.file_block_length == file["size"]
        assert (row.row_index, row.row_commit_version) == (row.id % 2, 1)
    assert found.count() == 2
    queries = {
        "SELECT x.*, own.* FROM t x JOIN own USING (id) WHERE x._metadata.row_index = 1": [(1, "a", 1, "own")],
        "SELECT id, to_json(struct(*)) FROM t WHERE _metadata.row_index = 0": [(2, '{"id":2,"p":"b"}')],
        "SELECT * FROM (SELECT * EXCEPT (p), _metadata.row_index AS i FROM t) ORDER BY id": [(1, 1), (2, 0)],
    }
    for text, rows in queries.items():
        assert list(map(tuple, ds.sql(spark, text).collect())) == rows
    for view in views:
        view.drop()


def test_the_text_of_a_query_arrives_as_it_is(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING")
    for i, text in enumerate(("a\x01b", "\0", "{}", "{lines}", "__deltaskip_0")):
        table.append({"id": [i], "s": [text]})
    catalog = ds.catalog(f"warehouse:{tmp_path / 'warehouse'}")
    catalog.create_namespace("db")
    catalog.create_table("db.lines", "id BIGINT, s STRING").append(table.scan().to_arrow())
    expected = {}
    table.scan().to_spark(spark).createOrReplaceTempView("lines")
    for text in TEXTS:
        frame = spark.sql(text)
        expected[text] = frame.columns, sorted(map(repr, frame.collect()))
    spark.catalog.dropTempView("lines")

    def check(case: tuple[Any, str]) -> None:
        session, text = case
        if session is not spark:
            monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        frames = [ds.sql(session, text)]
        if session is spark:
            frames.append(catalog.sql(session, text.replace("FROM lines", "FROM db.lines")))
        for frame in frames:
            assert (frame.columns, sorted(map(repr, frame.collect()))) == expected[text]

    for session in (spark, connect_session(spark)):
        view = ds.register_view(session, "lines", table)
        each([(session, text) for text in TEXTS], check)
        view.drop()


def test_a_view_that_replaced_a_registered_one_is_not_dropped(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    table.append([{"id": 1}])
    view = ds.register_view(spark, "recent", table)
    table.append([{"id": 2}])
    view.refresh()
    spark.range(9, 10).createOrReplaceTempView("recent")
    view.drop()
    assert [row.id for row in spark.table("recent").collect()] == [9]
    gone = ds.register_view(spark, "recent", table, where="id > 1")
    assert spark.catalog.dropTempView("recent")
    gone.drop()
    last = ds.register_view(spark, "recent", table)
    last.drop()
    assert not spark.catalog.tableExists("recent")

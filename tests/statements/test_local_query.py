"""`sql` without a session: DuckDB and scans answer, over paths, registered views and names of a catalog."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.reading import arrow_rows
from deltaskip.reading.metrics import ScanMetrics
from deltaskip.statements import local_query
from deltaskip.statements import views as views_module
from tests.each import refuses

duckdb = pytest.importorskip("duckdb")

ROWS = [{"id": i, "day": date(2026, 1, 1 + i % 3), "name": f"n{i}", "price": Decimal(i) / 4} for i in range(12)]
SCHEMA = "id BIGINT, day DATE, name STRING, price DECIMAL(9, 2)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    orders = ds.DeltaTable.create("data/orders", SCHEMA, partition_by=["day"])
    for start in (0, 6):
        orders.append(ROWS[start : start + 6])
    ds.write("names", [{"id": 1, "label": "one"}])
    catalog = ds.catalog("warehouse:wh")
    catalog.create_namespace("sales")
    catalog.create_table("sales.orders", SCHEMA, ["day"]).append(ROWS)
    return tmp_path


@pytest.fixture(autouse=True)
def no_views() -> Iterator[None]:
    yield
    views_module._VIEWS.clear()


DOORS: dict[str, tuple[str, Callable[..., pa.Table]]] = {
    "path": ("'data/orders'", lambda text, *more: ds.sql(text, *more)),
    "path in double quotes": ('"data/orders"', lambda text, *more: ds.sql(text, *more)),
    "delta": ("delta.`data/orders`", lambda text, *more: ds.sql(None, text, *more)),
    "view": ("Seen", lambda text, *more: ds.sql(text, *more)),
    "catalog": ("sales.orders", lambda text, *more: ds.catalog("warehouse:wh").sql(text, *more)),
    "catalog, quoted": ('"sales"."orders"', lambda text, *more: ds.catalog("warehouse:wh").sql(None, text, *more)),
}
QUERIES: list[tuple[str, tuple[object, ...], list[tuple[Any, ...]]]] = [
    ("SELECT id FROM {t} WHERE id >= 10", (), [(10,), (11,)]),
    ("SELECT id, name FROM {t} WHERE name = 'n3' LIMIT 5", (), [(3, "n3")]),
    ("SELECT day, count(*) AS n FROM {t} GROUP BY day ORDER BY day", (), [(date(2026, 1, i), 4) for i in (1, 2, 3)]),
    ("SELECT count(*) FROM {t} a JOIN {t} b ON a.id = b.id + 1", (), [(11,)]),
    ("SELECT sum(price) FROM {t} WHERE day = DATE '2026-01-02'", (), [(Decimal("5.50"),)]),
    ("WITH x AS (SELECT max(id) AS m FROM {t}) SELECT m FROM x", (), [(11,)]),
    ("FROM {t} SELECT min(id)", (), [(0,)]),
    ("SELECT max(id) FROM {t} WHERE id < :top AND name IN (:names)", ({"top": 9, "names": ["n2", "n7"]},), [(7,)]),
    ("SELECT max(id) FROM {t} WHERE day = ?", ([date(2026, 1, 1)],), [(9,)]),
    ("SELECT id FROM {t} WHERE name = :n", ({"n": "n5' OR '1' = '1"},), []),
    ("SELECT count(*) FROM {t} WHERE name || '' = :n", ({"n": "\\' OR true --"},), [(0,)]),
    ("SELECT orders.id FROM {t} orders WHERE orders.id = 4 OR id + 1 = 1 ORDER BY 1;", (), [(0,), (4,)]),
]


def test_every_door_answers_every_query_by_itself(folder: Path) -> None:
    ds.register_view(None, "seen", "data/orders")
    for name, (table, run) in DOORS.items():
        for text, more, expected in QUERIES:
            found = run(text.format(t=table), *more)
            rows = [tuple(row.values()) for row in found.to_pylist()]
            assert rows == expected, (name, text)


def test_the_name_of_a_table_qualifies_its_columns(folder: Path) -> None:
    catalog = ds.catalog("warehouse:wh")
    for text in (
        "SELECT sales.orders.id + 0 AS i FROM sales.orders WHERE orders.id = 4",
        "SELECT orders.id * 1 AS i FROM `sales`.`orders` WHERE sales.orders.name = 'n4'",
    ):
        assert catalog.sql(text).to_pylist() == [{"i": 4}]


def test_names_in_backquotes_are_names_in_every_query(folder: Path) -> None:
    query = (
        "WITH `a \"b` AS (SELECT id, id * 2 AS `the ``double``` FROM 'data/orders') "
        "SELECT max(`a \"b`.`the ``double```) AS `rows` FROM `a \"b` WHERE `id` < 7 /* `no name` */ AND '`' <> 'x'"
    )
    assert ds.sql(None, query).to_pylist() == [{"rows": 12}]


def test_a_query_reads_only_its_files_row_groups_and_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ScanMetrics] = []
    monkeypatch.setattr(ds.TableScan, "note_metrics", lambda self, metrics, *_: read.append(metrics))
    for text in (
        "SELECT id FROM 'data/orders' WHERE day = '2026-01-02' AND id > 6",
        "SELECT sum(id) FROM 'data/orders' WHERE day = DATE '2026-01-02' AND id > 6",
        "SELECT count(id + 0) FROM 'data/orders' WHERE id > 6 AND day IN (DATE '2026-01-02')",
    ):
        read.clear()
        ds.sql(text)
        [one] = read
        assert one.files == 1, (text, one)


def test_totals_first_rows_and_partitions_are_as_of_a_catalog(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(ds.TableScan, "note_metrics", lambda self, metrics, *_: read.append(metrics.files))
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    # Else small tables are read whole.
    monkeypatch.setattr(arrow_rows, "LITTLE_BYTES", 0)
    for text, names, files in (
        ("SELECT count(*) FROM {t} WHERE day = DATE '2026-01-02'", ["count(1)"], [0]),
        ("SELECT day, count(*) AS n, max(id) AS last FROM {t} GROUP BY day", ["day", "n", "last"], [0]),
        ("SELECT DISTINCT day FROM {t} o", ["day"], []),
        ("SELECT id FROM {t} ORDER BY id DESC LIMIT 1", ["id"], [1]),
    ):
        read.clear()
        found = ds.sql(text.format(t="'data/orders'"))
        assert (found.column_names, read) == (names, files), text
        assert found.equals(ds.catalog("warehouse:wh").sql(text.format(t="sales.orders"))), text


TYPES = "id BIGINT, d DOUBLE, f FLOAT, s STRING, c STRING COLLATE UTF8_LCASE, ts TIMESTAMP, t TIMESTAMP_NTZ, day DATE"
PUSHED = [
    "d > 9", "d <> 0", "9.5 < d", "s LIKE 'n1%'", "starts_with(s, 'n1')", "CAST(ts AS DATE) = DATE '2026-01-04'",
    "t::DATE >= DATE '2026-01-10'", "year(day) = 2027", "year(ts) > 2026", "s IS NOT DISTINCT FROM 'n3'",
    "id IS NOT DISTINCT FROM 4", "x.d > 9.5 AND x.f > 0", "d BETWEEN 9 AND 10.5", "d > 9 AND CAST(f AS INT) = 9",
    "CAST(f AS INT) = 9 AND s LIKE 'n9%'",
]  # fmt: skip
LEFT = [
    "f > 9.1", "c LIKE 'n1%'", "c IS NOT DISTINCT FROM 'N3'", "s LIKE 'n_'", "d > 9 OR s LIKE 'n1%'", "NOT d > 3",
    "CAST(f AS INT) = 9", "s LIKE 'n1%' COLLATE NOCASE", "NOT s LIKE 'n1%'", "s ILIKE 'N1%'", "d > '9'", "s > 'n5'",
]  # fmt: skip


def test_filters_that_duckdb_keeps_skip_files_and_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    monkeypatch.chdir(tmp_path)
    table = ds.DeltaTable.create("x", TYPES)
    for i in range(12):
        day = date(2026 + i % 2, 1, 1 + i)
        time = datetime(day.year, 1, 1 + i, 12)
        numbers = {"id": i, "d": [float(i), float("nan")][i == 11], "f": i + 0.1}
        table.append([{**numbers, "s": f"n{i}", "c": f"N{i}", "ts": time.replace(tzinfo=UTC), "t": time, "day": day}])
    model, read = duckdb.connect(), []
    model.execute("SET TimeZone = 'UTC'")
    model.register("rows", table.scan().to_arrow())
    model.execute("CREATE TABLE x AS FROM rows")
    monkeypatch.setattr(ds.TableScan, "note_metrics", lambda self, metrics, *_: read.append(metrics.files))
    shapes = (
        "SELECT count(id + 0) FROM {t} x WHERE {p}",
        "SELECT sum(id) AS n FROM (FROM {t} AS x WHERE {p} ORDER BY 1)",
        "WITH y AS (SELECT * FROM {t} x WHERE {p}) SELECT max(a.id) FROM y a, y b WHERE a.id = b.id + 0",
    )
    for number, predicate in enumerate((*PUSHED, *LEFT)):
        rows, where = f"rows_{number}", "true"
        try:
            alone = table.scan(predicate.replace("x.", "")).to_arrow()
        except ds.DeltaSkipError:
            # DuckDB alone has the predicate.
            rows, where = "x", predicate
        else:
            model.register(rows, alone)
        for shape in shapes:
            read.clear()
            expected = model.sql(shape.format(t=rows, p=where)).fetchall()
            found = ds.sql(shape.format(t="'x'", p=predicate)).to_pylist()
            assert [tuple(row.values()) for row in found] == expected, (predicate, shape)
            if predicate in PUSHED:
                assert read and max(read) < 12, (predicate, shape, read)
    for text in (
        "SELECT count(*) FROM 'x' a POSITIONAL JOIN 'x' b WHERE b.d > 9",
        "SELECT count(*) FROM 'x' a LEFT JOIN (FROM 'x') b ON a.id = b.id + 100 WHERE a.d > 9",
        "SELECT count(*) FROM 'x' a ASOF JOIN 'x' b ON a.id >= b.id WHERE b.s LIKE 'n1%'",
        "SELECT count(*) FROM 'x' a WHERE EXISTS (FROM 'x' WHERE d > a.d AND s LIKE 'n1%')",
    ):
        found = ds.sql(text).to_pylist()
        assert [tuple(row.values()) for row in found] == model.sql(text.replace("'x'", "x")).fetchall(), text


def test_one_predicate_has_the_same_rows_whatever_is_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB counts days of the week from 0, takes ^ for a power, and compares a FLOAT with 0.1 as FLOAT."""
    monkeypatch.chdir(tmp_path)
    columns = "id BIGINT, day DATE, f FLOAT, s STRING, tags ARRAY<STRING>, c STRING COLLATE UTF8_LCASE"
    table = ds.DeltaTable.create("x", columns)
    for i in range(12):
        text = f"n{i}" if i % 3 else None
        table.append(
            [{"id": i, "day": date(2026, 1, 1 + i), "f": i / 10, "s": text, "tags": [f"t{i}"], "c": "aB"[i % 2]}]
        )
    values: Any
    for predicate, values in (
        ("dayofweek(day) = 1", None), ("f > 0.1", None), ("id ^ 2 > 9", None), ("tags[0] = 't3'", None),
        ("c = 'A'", None), ("substring(s, 0, 2) = 'n1'", None), ("coalesce(s, 'x') <> :s", {"s": "n4"}),
        ("x.id IN (?, ?)", [3, 5]),
    ):  # fmt: skip
        expected = table.scan(predicate.replace("x.", ""), params=values).to_arrow()["id"].to_pylist()
        assert 0 < len(expected) < 12, predicate
        for shape in (
            "SELECT id FROM 'x' AS x WHERE {}", "SELECT id + 0 AS id, upper(s) AS u FROM 'x' x WHERE {}",
            "SELECT id, row_number() OVER (ORDER BY id) AS r FROM 'x' x WHERE {} ORDER BY r",
            "SELECT unnest(list(id ORDER BY id)) AS id FROM 'x' x WHERE {} HAVING count(*) > 0",
            "SELECT b.id FROM (SELECT * FROM 'x' x WHERE {}) b JOIN 'x' o ON b.id = o.id ORDER BY 1",
        ):  # fmt: skip
            assert ds.sql(shape.format(predicate), values)["id"].to_pylist() == expected, (shape, predicate)


def test_views_have_their_predicate_and_the_latest_version(folder: Path) -> None:
    view = ds.register_view(None, "late", "data/orders", "id > 7")
    assert ds.sql("SELECT count(*) AS n FROM late").to_pylist() == [{"n": 4}]
    assert ds.sql("SELECT id FROM late WHERE id < 9").to_pylist() == [{"id": 8}]
    ds.DeltaTable("data/orders").append([{"id": 20}])
    assert ds.sql("SELECT max(id) AS m FROM late").to_pylist() == [{"m": 20}]
    assert ds.sql("SELECT max(id) AS m FROM late VERSION AS OF 2").to_pylist() == [{"m": 11}]
    assert view.refresh() and "RegisteredView('late'" in repr(view)
    view.drop()
    refuses(ds.TableNotFound, "no registered view late", ds.sql, "SELECT * FROM late")
    refuses(ds.PredicateError, None, ds.register_view, None, "wrong", "data/orders", "nope > 7")


def test_counts_have_the_name_of_spark_from_the_log_and_from_duckdb(folder: Path) -> None:
    catalog = ds.catalog("warehouse:wh")
    names = {
        text: catalog.sql(f"SELECT count(*) FROM sales.orders {text}").column_names
        for text in ("", "WHERE id + 1 > 3", "GROUP BY day")
    }
    assert set(map(tuple, names.values())) == {("count(1)",)}


def test_nothing_but_a_select_over_the_named_tables_is_run(folder: Path) -> None:
    (folder / "secret.csv").write_text("a\n1\n")
    written = folder / "written.csv"
    for text, error, said in (
        ("DELETE FROM 'data/orders'", ds.InvalidArgument, "queries only|begins with SELECT|not supported"),
        ("SELECT id FROM 'data/orders'; SELECT 1", ds.PredicateError, "one statement"),
        (f"SELECT 1 FROM 'data/orders' WHERE 'a' <> '\\'; COPY (SELECT 1) TO '{written}' --'", ds.InvalidArgument,
         "one SELECT"),
        ("SELECT count(*) FROM 'data/orders' WHERE name = 'a\\' --'", ds.InvalidArgument, "backslash before a quote"),
        ("SELECT * FROM 'data/orders', read_csv('secret.csv')", ds.PredicateError, "disabled by configuration"),
        ("SELECT * FROM 'data/orders', 'secret.csv'", ds.TableNotFound, "not a Delta table"),
        ("SELECT max(content) FROM read_text('secret.csv') JOIN 'names' ON true", ds.PredicateError, "disabled"),
        ("SELECT * FROM 'names', no_views", ds.TableNotFound, "no registered view no_views"),
        ("SELECT * FROM 'nowhere' LIMIT 1", ds.TableNotFound, "nowhere"),
        ("SELECT id FROM (VALUES (1)) t(id)", ds.InvalidArgument, "names no table: put its path in quotes"),
        ("SELECT n FROM delta_scan('x/y') GROUP BY n", ds.InvalidArgument, "SELECT n FROM 'x/y' GROUP BY n$"),
        ("SELECT * FROM delta.`names`", ds.TableNotFound, "or put the path of a table in quotes, as in FROM 'names'"),
        ("SELECT nope(id) FROM 'names'", ds.PredicateError, "DuckDB refuses the query: .*nope"),
        ("SELECT lable FROM 'names' ORDER BY 1", ds.PredicateError, "DuckDB refuses the query: .*lable"),
        ("SELECT id FROM 'names' WHERE id = :x", ds.PredicateError, ":x|parse"),
        ("EXPLAIN DELETE FROM 'names'", ds.DeltaSkipError, "."),
    ):  # fmt: skip
        refuses(error, said, ds.sql, text)
    assert not written.exists()


def test_functions_with_the_meaning_of_duckdb_are_named(folder: Path) -> None:
    with pytest.warns(ds.PredicateWarning, match="so that upper has the meaning of DuckDB"):
        ds.sql("SELECT max(upper(name)) FROM 'data/orders'")
    ds.DeltaTable.create("collated", "id INT, name STRING COLLATE UTF8_LCASE").append([{"id": 1, "name": "A"}])
    assert ds.sql("SELECT id FROM 'collated' WHERE name = 'a'").num_rows == 1
    with pytest.warns(ds.PredicateWarning, match="^DuckDB compares strings of name by their bytes"):
        assert ds.sql("SELECT sum(id) AS n FROM 'collated' GROUP BY name HAVING name = 'a'").num_rows == 0
    for text in (
        "SELECT DISTINCT * FROM 'collated'", "SELECT c.* FROM 'collated' c UNION SELECT * FROM 'collated'",
        "SELECT DISTINCT id, COLUMNS(*) FROM 'collated'", "SELECT *, id + 1 AS n FROM 'collated' c ORDER BY 2, id + 1",
        "WITH c(i, n) AS (SELECT * FROM 'collated') SELECT i FROM c WHERE n = 'a'",
        "SELECT a.id FROM 'collated' a NATURAL JOIN 'collated' b",
    ):  # fmt: skip
        with pytest.warns(ds.PredicateWarning, match="DuckDB compares strings of name by their bytes"):
            ds.sql(text)
    ds.DeltaTable.create("padded", "id INT, c CHAR(3)").append([{"id": 1, "c": "a"}])
    with pytest.warns(ds.PredicateWarning, match="DuckDB does not pad what c of type CHAR"):
        ds.sql("WITH x(i, k) AS (SELECT * FROM 'padded') SELECT i FROM x WHERE k = 'a'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.sql("SELECT sum(id) FROM 'collated' WHERE id = 1")
        assert ds.sql("SELECT sum(id) AS n FROM 'collated' WHERE name = 'a'").to_pylist() == [{"n": 1}]
        # No engine but this one is needed.
        assert ds.sql("SELECT count(*) AS n FROM 'collated' WHERE name = 'a'").to_pylist() == [{"n": 1}]


FLOATS = "DuckDB compares f of type FLOAT with numbers as FLOAT, and Spark as DOUBLE: write CAST(f AS DOUBLE)."
QUOTED = (
    '"m" is a text where a scan answers, as in Spark, and a column where DuckDB does: '
    "write 'm' for the text, and m without quotes for the column."
)
AGGREGATES = "DuckDB runs this query, so that {} has the meaning of DuckDB and not that of Spark."


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT id + 0 FROM t WHERE f > 0.1 ORDER BY id + 0", ""),
        ("SELECT sum(id) / 1.5 FROM t", AGGREGATES.format("/ of DECIMAL (write x / 3e0)")),
        ("SELECT sum(id) / 1.5e0 FROM t", ""), ("SELECT sum(id) / nullif(count(*), 0) FROM t", ""),
        ("SELECT sum(id) / 0e0 FROM t", AGGREGATES.format("/ by zero (write x / nullif(y, 0))")),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING f = 0.1", FLOATS),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING 0.1 < f", FLOATS),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING F IN (0.1, 0.2)", FLOATS),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING abs(f) BETWEEN 0 AND 0.1", FLOATS),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING f = 16777217", FLOATS),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING f > :v", FLOATS),
        ("SELECT x.id FROM t x JOIN t y ON x.f = y.id", FLOATS),
        ("SELECT count(*) AS n FROM t x JOIN t y USING (f)", ""),
        ("SELECT CASE WHEN id > 0 THEN f ELSE id END AS x FROM t ORDER BY x", FLOATS),
        ("SELECT sum(f * 3) FROM t", FLOATS),
        ("SELECT f FROM t UNION ALL SELECT 1", FLOATS),
        ("SELECT avg(id + 0.5) FROM t", AGGREGATES.format("avg of DECIMAL")),
        ("SELECT sum(id > 0) FROM t", AGGREGATES.format("sum of BOOLEAN")),
        ("SELECT sum(NULL) FROM t", ""),
        ("SELECT max(coalesce(id > 0, id)) FROM t", AGGREGATES.format("BOOLEAN as BIGINT")),
        ("SELECT id > 0 AS b FROM t UNION ALL SELECT 1.5", AGGREGATES.format("BOOLEAN as DECIMAL")),
        ("SELECT max(id) FROM t GROUP BY n HAVING max(id)", AGGREGATES.format("BIGINT as BOOLEAN")),
        ("SELECT max(id > 0) FROM t GROUP BY n HAVING max(id > 0) = 'true'", ""),
        ("SELECT x.id FROM t x JOIN t y ON x.p = y.p", AGGREGATES.format("a comparison of MAP")),
        ("SELECT count(*) AS k FROM t GROUP BY p IN (p)", AGGREGATES.format("a comparison of MAP")),
        ("SELECT DISTINCT p FROM t", AGGREGATES.format("a comparison of MAP")),
        ("SELECT p FROM t EXCEPT SELECT NULL", AGGREGATES.format("a comparison of MAP")),
        ("SELECT p FROM t UNION ALL SELECT NULL", ""),
        ("SELECT max(id) OVER (PARTITION BY p) FROM t", AGGREGATES.format("a comparison of MAP")),
        ("SELECT lag(p) OVER (PARTITION BY id ORDER BY id) FROM t", ""),
        ("SELECT max(coalesce(p, p)) FROM t", AGGREGATES.format("max of MAP")),
        ("SELECT max(p) FROM t", AGGREGATES.format("max of MAP")),
        ("SELECT max(length(a)) FROM t", AGGREGATES.format("length of LIST")),
        ("SELECT max(floor(f)) FROM t", AGGREGATES.format("floor of FLOAT")),
        ("SELECT max(n || f) FROM t", AGGREGATES.format("FLOAT as a string")),
        ("SELECT max(n || id) FROM t", ""),
        ("SELECT n FROM t UNION ALL SELECT 1", AGGREGATES.format("INTEGER as a string")),
        ("SELECT max(id) FROM t GROUP BY n HAVING max(id) = '1.5'", AGGREGATES.format("'1.5' as BIGINT")),
        ("SELECT max(id) FROM t GROUP BY n HAVING max(id) = '1_5'", AGGREGATES.format("'1_5' as BIGINT")),
        ("SELECT max(id) FROM t GROUP BY n HAVING max(id) = '15'", ""),
        ("SELECT max(id) FROM t GROUP BY n HAVING max(id + 0.5) > '1.25'", AGGREGATES.format("'1.25' as DECIMAL")),
        ("SELECT count(*) AS k FROM t GROUP BY n, m HAVING n LIKE m",
         AGGREGATES.format("LIKE with a pattern that is not a constant")),
        ("SELECT count(*) AS k FROM t GROUP BY n HAVING n ILIKE 'A%'", AGGREGATES.format("ILIKE")),
        ("SELECT count(*) AS k FROM t GROUP BY ROLLUP(id)", AGGREGATES.format("ROLLUP of no rows")),
        ("SELECT sum(id) FROM t GROUP BY n HAVING count_if(id > 0) > 0", AGGREGATES.format("count_if")),
        ("SELECT max(x.id) FROM t x, (SELECT 1 AS k) y FULL JOIN (SELECT 2 AS k) z ON y.k = z.k",
         AGGREGATES.format("FULL JOIN after a comma")),
        ("SELECT max(x.id) FROM t x FULL JOIN (SELECT 2 AS k) z ON x.id = z.k", ""),
        ("SELECT max(id | 2 & 4) FROM t", AGGREGATES.format("| beside &")),
        ("SELECT max(id | (2 & 4)) FROM t", ""),
        ("SELECT max(n || id + 2) FROM t", AGGREGATES.format("|| beside +")),
        ("SELECT max(id + 2 || n) FROM t", ""),
        ("SELECT - id AS id FROM t ORDER BY id + 0 LIMIT 1", AGGREGATES.format("id in ORDER BY")),
        ("SELECT - id AS id FROM t ORDER BY id DESC LIMIT 1", ""),
        ("SELECT - x.id AS id FROM t x ORDER BY x.id + 0 LIMIT 1", ""),
        ("SELECT * FROM t x JOIN (SELECT 'x' AS n) y USING (n)", AGGREGATES.format("* after USING")),
        ("SELECT * FROM t x JOIN (SELECT 1 AS id) y USING (id)", ""),
        ("SELECT sum(id) FROM t GROUP BY s HAVING max(f) > 0.1", FLOATS),
        ("SELECT sum(f * id) FROM t", FLOATS),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING CAST(f AS DOUBLE) = 0.1", ""),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING f <= 0.5 OR 16777216 = f", ""),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING f IS NOT NULL", ""),
        ("SELECT id + 0, f AS x, sum(f) OVER (ORDER BY f) FROM t ORDER BY f", ""),
        ("SELECT sum(id) FROM t GROUP BY id, f HAVING id > 0.1", ""),
        ("SELECT a AS k FROM t ORDER BY k", AGGREGATES.format("an order of LIST")),
        ("WITH q(i, k) AS (SELECT id, s FROM t) SELECT i FROM q ORDER BY k LIMIT 1",
         AGGREGATES.format("an order of STRUCT")),
        ("SELECT rank() OVER (ORDER BY a) AS k FROM t", AGGREGATES.format("an order of LIST")),
        ("SELECT max(s) FROM t", AGGREGATES.format("max of STRUCT")),
        ("SELECT max(a) OVER (PARTITION BY id) AS k FROM t", AGGREGATES.format("max of LIST")),
        ("SELECT count(*) AS k FROM t GROUP BY least(s, s)", AGGREGATES.format("least of STRUCT")),
        ("SELECT x.id FROM t x JOIN t y ON NOT (x.a < y.a)", AGGREGATES.format("an order of LIST")),
        ("SELECT x.id FROM t x JOIN t y ON x.a BETWEEN y.a AND y.a", AGGREGATES.format("an order of LIST")),
        ("SELECT x.id FROM t x JOIN t y ON (x.id, x.n) < (y.id, y.n)", AGGREGATES.format("an order of STRUCT")),
        ("SELECT x.id FROM t x JOIN t y ON x.a = y.a AND x.s IS NOT DISTINCT FROM y.s", ""),
        ("SELECT count(*) AS k FROM t GROUP BY p", AGGREGATES.format("a comparison of MAP")),
        ("SELECT count(*) AS k FROM t GROUP BY a, s", ""),
        ("SELECT max(id) FROM t GROUP BY n HAVING (max(id), 1) NOT IN (SELECT 2 AS x, NULL AS y)",
         AGGREGATES.format("IN of several columns")),
        ("SELECT id IN (SELECT 1 AS k) AS b FROM t", AGGREGATES.format("IN (SELECT …) as a value")),
        ("SELECT max(id) FROM t GROUP BY n HAVING coalesce(max(id) IN (SELECT 1 AS k), TRUE)",
         AGGREGATES.format("IN (SELECT …) as a value")),
        ("SELECT max(id) FROM t GROUP BY n HAVING max(id) NOT IN (SELECT 1 AS k) OR max(id) IN (SELECT 2 AS k)", ""),
        ("SELECT max(id) FROM t GROUP BY n HAVING max(id) IN (SELECT 1 AS k) AND max(n) = 'x'", ""),
        ("SELECT max(id) FROM t x GROUP BY n HAVING EXISTS (SELECT 1 AS k)", ""),
        ("SELECT max(id * 1.123456789012345678) FROM t", AGGREGATES.format("* of DECIMAL beyond 38 digits")),
        ("SELECT max(id * 1.5 + 0.25) FROM t", ""),
        ("SELECT max(d - DATE '2026-01-01') FROM t", AGGREGATES.format("the difference of dates")),
        ("SELECT count(a), s.x FROM t GROUP BY s ORDER BY id", ""),
        ("SELECT id FROM t WHERE n = \"m\"", QUOTED),
        ("SELECT id + 0 FROM t WHERE n IN (\"m\")", QUOTED),
        ("SELECT \"n\" FROM t WHERE n = \"N1\" ORDER BY \"n\"", ""),
        ("SELECT mode(id) FROM t", AGGREGATES.format("mode")),
        ("SELECT max_by(f, id) FROM t", AGGREGATES.format("max_by")),
    ],
)  # fmt: skip
def test_other_rows_than_those_of_spark_are_said(tmp_path: Path, query: str, said: str) -> None:
    """Of what a scan and DuckDB see differently, each query says so. In Spark, a FLOAT beside a DECIMAL is DOUBLE."""
    path = str(tmp_path / "t")
    columns = "id BIGINT, f FLOAT, a ARRAY<INT>, s STRUCT<x: INT>, n STRING, m STRING, p MAP<STRING, INT>, d DATE"
    ds.DeltaTable.create(path, columns).append([{"id": 1, "f": 0.1}])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with suppress(ds.PredicateError):  # a name that is not grouped
            ds.sql(
                query.replace(" t", f" '{path}'", 1).replace("JOIN t", f"JOIN '{path}'"),
                {"v": Decimal("0.1")} if ":v" in query else None,
            )
    assert [str(each.message) for each in found] == [said] * bool(said)


def test_the_time_zone_is_that_of_the_call(folder: Path) -> None:
    midnight = datetime(2025, 12, 31, 15, tzinfo=UTC)
    ds.write("times", {"t": [midnight]})
    for text in ("SELECT t FROM 'times' WHERE t = '2026-01-01 00:00:00'",
                 "SELECT max(t) AS t FROM 'times' WHERE t = TIMESTAMPTZ '2026-01-01 00:00:00'"):  # fmt: skip
        [row] = ds.sql(text, time_zone="Asia/Tokyo").to_pylist()
        assert (row["t"] is not None and row["t"].isoformat() == "2025-12-31T15:00:00+00:00") or row["t"].hour == 0
        assert [each for each in ds.sql(text).to_pylist() if each["t"] is not None] == []
    refuses(ds.InvalidArgument, "Nowhere", ds.sql, "SELECT 1 FROM 'times'", time_zone="Nowhere/Land")


def test_a_missing_duckdb_says_what_to_install_and_what_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    assert ds.sql("SELECT id FROM 'names'").to_pylist() == [{"id": 1}]
    refuses(ds.InvalidArgument, "pip install duckdb", ds.sql, "SELECT sum(id) FROM 'names'")


def test_explain_names_each_table_s_files_and_what_joins_save(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.statements.local_query._LEAST_BYTES", 0)
    ds.write("keys", [{"id": number, "label": f"l{number}"} for number in range(12)])
    text = "EXPLAIN SELECT o.id FROM {t} o JOIN 'keys' k ON o.id = k.id WHERE k.label = 'l7'"
    [plan] = ds.sql(text.format(t="'data/orders'"))["plan"].to_pylist()
    assert "The join on o.id = k.id with 1 key saves 4 files." in plan
    assert "2 of 6 files kept" in plan
    assert "label = 'l7'" in plan
    conditions = {"k.id BETWEEN 7 AND 8": 3, "k.id IN (7, 8)": 3, "k.id = 7": 4}
    conditions["7 <= k.id AND k.id < 9 AND k.label IS NOT NULL"] = 3
    for where, saved in conditions.items():
        [plan] = ds.sql(text.replace("k.label = 'l7'", where).format(t="'data/orders'"))["plan"].to_pylist()
        assert f"The join on o.id = k.id with conditions of both sides saves {saved} files." in plan, (where, plan)
    assert "files kept" in ds.catalog("warehouse:wh").sql("EXPLAIN SELECT id FROM sales.orders")["plan"][0].as_py()
    assert "id > 7" in ds.sql("EXPLAIN SELECT id FROM 'data/orders' WHERE id > 7 LIMIT 1")["plan"][0].as_py()


def test_duckdb_is_said_not_to_pad_strings(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id INT, ch CHAR(4), s STRING")
    made.append([{"id": 1, "ch": "ab", "s": "ab"}, {"id": 2, "ch": "zz", "s": "zz"}])
    table = f"'{tmp_path / 't'}'"
    assert ds.sql(f"SELECT id FROM {table} WHERE ch = 'ab'").to_pylist() == [{"id": 1}]
    with pytest.warns(ds.PredicateWarning, match=r"^DuckDB does not pad what ch .*: write trim\(ch\) = 'text'"):
        ds.sql(f"SELECT max(id) FROM {table} GROUP BY ch HAVING ch = 'ab'")
    with pytest.warns(ds.PredicateWarning, match="pad"):
        found = ds.sql(f"SELECT max(id) AS id FROM {table} GROUP BY ch HAVING trim(ch) = 'ab'")
    assert found.to_pylist() == [{"id": 1}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for order in ("ORDER BY id", "ORDER BY id + 0"):
            assert ds.sql(f"SELECT id FROM {table} WHERE ch = 'ab' {order}").to_pylist() == [{"id": 1}]
        ds.sql(f"SELECT id FROM {table} WHERE s = 'ab' ORDER BY id")


def test_parameters_have_their_values_wherever_they_stand(tmp_path: Path) -> None:
    class Money(Decimal):
        def __format__(self, form: str, /, *_: Any) -> str:
            return "EUR"

    ds.write(tmp_path / "t", pa.table({"de": pa.array([1, 2, 5000], pa.decimal128(10, 2))}))
    for value, wanted in (
        (Decimal("1E+3"), [5000]), (Decimal("-2E+2"), [1, 2, 5000]), (Decimal("1.5E+10"), []), (Money("2"), [2, 5000]),
    ):  # fmt: skip
        for query in (
            f"SELECT de FROM '{tmp_path}/t' WHERE :v <= de ORDER BY 1",
            f"SELECT de FROM '{tmp_path}/t' WHERE de >= :v",
        ):
            assert ds.sql(query, {"v": value})["de"].to_pylist() == wanted
        assert ds.DeltaTable(tmp_path / "t").scan("de >= ?", params=[value]).to_arrow()["de"].to_pylist() == wanted
    found = ds.sql(f"SELECT :v AS v, count(*) AS n FROM '{tmp_path}/t'", {"v": 7})
    assert found.to_pylist() == [{"v": 7, "n": 3}]


def test_values_of_duckdb_that_arrow_lacks_are_refused_by_name(tmp_path: Path) -> None:
    days = [1, 106_000, 106_752, -106_753, 200_000]
    times = pa.array([each * 86_400_000_000 for each in days], pa.duration("us"))
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, c INTERVAL DAY TO SECOND, s STRING")
    table.append(pa.table({"id": range(5), "c": times, "s": list("abcde")}))
    rows = f"FROM '{tmp_path}/t' WHERE id + 0 < 2 ORDER BY id + 0"
    assert [each.nanoseconds for each in ds.sql(f"SELECT c, id {rows}")["c"].to_pylist()] == [
        each * 86_400 * 10**9 for each in days[:2]
    ]
    assert ds.sql(f"SELECT id FROM '{tmp_path}/t' ORDER BY c")["id"].to_pylist() == [3, 0, 1, 2, 4]
    for asked, kind in (
        ("md5_number(s)", "UHUGEINT"), ("TIMETZ '12:00:00+05'", "TIME WITH TIME ZONE"), ("'01'::BIT", "BIT"),
        ("[c]", "INTERVAL"), ("{'a': [id::VARIANT]}", "VARIANT"),
    ):  # fmt: skip
        with pytest.raises(
            ds.PredicateError, match=f"The column x of the query has values of DuckDB's type {kind}, which"
        ):
            ds.sql(f"SELECT id, {asked} AS x {rows}")
    assert ds.sql(f'SELECT id, c AS "it\'s" {rows}').column_names == ["id", "it's"]
    for asked in ("max(c)", "max(c - INTERVAL 200000 DAYS)"):
        with pytest.raises(ds.PredicateError, match="The column x has an interval of more than 292 years"):
            ds.sql(f"SELECT {asked} AS x FROM '{tmp_path}/t' WHERE id + 0 >= 0 HAVING count(*) > 0")
    assert ds.sql(f"SELECT c AS x FROM '{tmp_path}/t' WHERE id + 0 >= 0")["x"].cast("int64").to_pylist() == [
        each * 86_400_000_000 for each in days
    ]


def test_nulls_have_the_order_of_spark_whatever_runs_the_query(tmp_path: Path) -> None:
    ds.write(tmp_path / "t", [{"id": 1, "v": 10}, {"id": 2, "v": 20}, {"id": 3, "v": 30}, {"id": 4, "v": None}])
    for direction, wanted in (("", [4, 1, 2, 3]), (" DESC", [3, 2, 1, 4])):
        for end, rows in (("", wanted), (" LIMIT 2", wanted[:2]), (" LIMIT 2 OFFSET 2", wanted[2:])):
            for asked in ("id", "id AS x", "id + 0"):
                found = ds.sql(f"SELECT {asked} FROM '{tmp_path}/t' ORDER BY v{direction}{end}")
                assert found.column(0).to_pylist() == rows, (asked, direction, end)
        window = f"row_number() OVER (ORDER BY v{direction})"
        found = ds.sql(f"SELECT id FROM (SELECT id, {window} AS n FROM '{tmp_path}/t') ORDER BY n")
        assert found["id"].to_pylist() == wanted


@pytest.mark.parametrize(
    ("where", "named"),
    [
        (r"s = 'a\nb'", "texts with backslashes"),
        (r"s LIKE 'a\%'", "texts with backslashes"),
        ("b = X'61'", r"X'…'"),
        ("t > TIMESTAMP '2023-12-31 23:30:00+02'", "TIMESTAMP with a time zone"),
        ("t > TIMESTAMP '2023-12-31 23:30:00'", ""),
        ("s = 'a'", ""),
    ],
)
def test_constants_of_another_meaning_in_duckdb_are_warned_of(tmp_path: Path, where: str, named: str) -> None:
    ds.DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING, b BINARY, t TIMESTAMP")
    ds.sql(f"SELECT id FROM '{tmp_path}/t' WHERE {where}")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with suppress(ds.PredicateError):
            ds.sql(f"SELECT max(id) FROM '{tmp_path}/t' GROUP BY s, b, t HAVING {where}")
    told = [str(each.message) for each in found if issubclass(each.category, ds.PredicateWarning)]
    assert [named in each for each in told] == ([True] if named else [])


def test_a_database_in_which_duckdb_fails_is_not_used_again(folder: Path) -> None:
    text = "SELECT count(*) + 0 AS n FROM 'data/orders'"
    [known] = ds.sql(text).to_pylist()
    before = dict(local_query._databases)

    def fails(*_: object) -> object:
        raise duckdb.InternalException("INTERNAL Error: no such thing\n\nStack Trace:\n\n0 x")

    patched = pytest.MonkeyPatch()
    patched.setattr(local_query, "arrow_answer", fails)
    with pytest.raises(ds.PredicateError, match=r"no such thing\. This is an error inside of DuckDB: .*c\.$") as raised:
        ds.sql(text)
    assert "Stack" not in str(raised.value) and before and not local_query._databases
    patched.undo()
    assert ds.sql(text).to_pylist() == [known]

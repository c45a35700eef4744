"""deltaskip head, query, merge and diff: rows that are shown, written, merged and compared."""

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from tests.cli.conftest import Run
from tests.each import each

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "name": ["a\tb", "", None],
        "price": pa.array([Decimal("1.50"), None, Decimal("3.00")], pa.decimal128(9, 2)),
        "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None, None], pa.timestamp("us", "UTC")),
        "tags": pa.array([["x"], [], None], pa.list_(pa.string())),
        "raw": pa.array([b"\xff", None, b""], pa.binary()),
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "my orders"
    ds.DeltaTable.create(path, ROWS.schema).append(ROWS)
    return path


def test_head_shows_rows_with_tabs_in_a_pipe(run: Run, table: Path) -> None:
    ran = run("head", table, "-n", 2)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "id\tname\tprice\tat\ttags\traw",
        '1\ta\\tb\t1.50\t2024-01-01T00:00:00.000000Z\t["x"]\t/w==',
        "2\t\t\t\t[]\t",
    ]
    assert run("head", table, "--where", "id > 2", "--column", "id").out == "id\n3\n"
    assert run("head", table, "-n", 0, "--column", "id").out == "id\n"


def test_head_shows_the_same_first_rows_for_every_number(run: Run, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "uneven", "id BIGINT")
    for start, stop in ((0, 1), (1, 3), (3, 20)):
        table.append(pa.table({"id": range(start, stop)}))
    every = run("head", table.uri, "-n", 100).out.splitlines()
    assert sorted(every[1:], key=int) == [str(i) for i in range(20)]
    for n in (0, 1, 2, 10, 19):
        assert run("head", table.uri, "-n", n).out.splitlines() == every[: n + 1]


def test_rows_are_written_in_every_format(run: Run, table: Path, tmp_path: Path) -> None:
    records = [json.loads(line) for line in run("head", table, "--format", "json").out.splitlines()]
    assert [each["id"] for each in records] == [1, 2, 3]
    assert records[0]["tags"] == ["x"] and records[1]["name"] == "" and records[2]["name"] is None
    for given in (["--json"], ["--format", "jsonl"], ["--format", "ndjson"]):
        assert run("head", table, *given).out == run("head", table, "--format", "json").out
    text = run("head", table, "--format", "csv").out
    assert text.splitlines()[2] == '2,"",,,"[]",'
    read = list(csv.DictReader(io.StringIO(text)))
    assert [each["price"] for each in read] == ["1.50", "", "3.00"] and read[0]["tags"] == '["x"]'
    for ending in ("parquet", "csv", "jsonl"):
        ran = run("query", f"SELECT * FROM '{table}'", "--output", tmp_path / f"rows.{ending}")
        assert (ran.status, ran.out) == (0, "") and "wrote 3 rows to" in ran.err
    assert pq.read_table(tmp_path / "rows.parquet").equals(ds.DeltaTable(table).scan().to_arrow())
    again = tmp_path / "again"
    ds.DeltaTable.create(again, ROWS.schema)
    assert run("append", again, tmp_path / "rows.parquet").status == 0
    assert run("append", again, tmp_path / "rows.jsonl", "--format", "jsonl").status == 0
    assert ds.DeltaTable(again).scan().count() == 6
    ds.DeltaTable(again).restore(1)
    assert ds.DeltaTable(again).scan().to_arrow().equals(ds.DeltaTable(table).scan().to_arrow())


def test_a_format_that_cannot_be_is_refused(run: Run, table: Path, tmp_path: Path) -> None:
    def check(more: tuple[Any, ...]) -> None:
        ran = run("head", table, *more)
        assert ran.status == 2 and ran.err.count("\n") == 1 and not ran.out

    each([("--output", tmp_path / "x.txt"), ("--output", tmp_path / "x", "--format", "table"),
          ("--json", "--format", "csv")], check)  # fmt: skip
    assert not list(tmp_path.glob("x*"))


def test_columns_with_a_condition_are_read_by_a_scan(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)

    def check(case: tuple[str, str]) -> None:
        text, out = case
        ran = run("query", text.format(t=f"'{table}'"))
        assert (ran.status, ran.err, ran.out) == (0, "", out)

    each(
        [
            ("SELECT id FROM {t}", "id\n1\n2\n3\n"),
            ("select `id`, price from {t} where id BETWEEN 2 AND 3 limit 1;", "id\tprice\n2\t\n"),
            ("SELECT id FROM {t} WHERE name <=> '' OR at >= '2024-01-01'", "id\n1\n2\n"),
            ("SELECT id FROM {t} LIMIT 0", "id\n"),
        ],
        check,
    )
    ran = run("query", f"SELECT count(*) FROM '{table}'")
    assert ran.status == 2 and "pip install duckdb" in ran.err


def test_a_path_without_quotes_gets_the_query_with_them(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(table.parent)
    table.rename(table.parent / "orders")
    for text, said in (
        ("SELECT * FROM orders WHERE id > 1;", "in quotes, as in: SELECT * FROM 'orders' WHERE id > 1"),
        ("SELECT id FROM (FROM ./data/orders)", "as in: SELECT id FROM (FROM './data/orders')"),
        ("SELECT * FROM (VALUES (1)) t", "as in: SELECT * FROM 'data/orders'"),
    ):
        ran = run("query", text)
        assert ran.status == 2 and f"{said}\n" in ran.err, text
    pytest.importorskip("duckdb")
    ran = run("query", "SELECT a.id FROM 'orders' a JOIN orders b ON a.id = b.id")
    assert "in quotes: SELECT a.id FROM 'orders' a JOIN 'orders' b ON" in ran.err


def test_every_other_query_is_run_by_duckdb(run: Run, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    ds.DeltaTable(table).append(ROWS)
    other = tmp_path / "other"
    ds.DeltaTable.create(other, "id BIGINT, label STRING").append(
        pa.table({"id": pa.array([1], pa.int64()), "label": ["one"]})
    )

    def check(case: tuple[str, str]) -> None:
        text, out = case
        ran = run("query", text.format(t=f"'{table}'", o=f"'{other}'"))
        assert (ran.status, ran.err, ran.out) == (0, "", out)

    each(
        [
            ("SELECT count(*) AS n, sum(price) AS s FROM {t}", "n\ts\n6\t9.00\n"),
            ("SELECT id, label FROM {t} JOIN {o} USING (id) LIMIT 1", "id\tlabel\n1\tone\n"),
            ("WITH x AS (SELECT id FROM {t} WHERE id > 1) SELECT max(id) AS m FROM x", "m\n3\n"),
            ("SELECT id FROM {t} WHERE id IN (SELECT id FROM {o}) ORDER BY id DESC LIMIT 1", "id\n1\n"),
            ("SELECT count(*) AS n FROM {t} VERSION AS OF 1 a, {o} b", "n\n3\n"),
        ],
        check,
    )
    missing = tmp_path / "written.csv"
    (tmp_path / "secret.csv").write_text("a\n1\n")
    secret = tmp_path / "secret.csv"
    for text, said in (
        ("SELECT id FROM {t}; COPY (SELECT 1) TO '{missing}'", "A query is one statement"),
        ("SELECT id FROM {t}; SELECT 1", "A query is one statement"),
        ("SELECT count(*) FROM {t} WHERE 'a' <> '\\'; COPY (SELECT 1) TO '{missing}' --'", "A query is one SELECT"),
        ("WITH x AS (SELECT 1 AS i) INSERT INTO y SELECT i FROM x JOIN {t} ON true", "A query is one SELECT"),
        ("SELECT count(*) FROM {t}, read_csv('{secret}')", "disabled by configuration"),
        ("SELECT count(*) FROM {t} a, '{secret}' b", "is a file, not a Delta table"),
        ("SELECT max(content) FROM read_text('{secret}') JOIN {t} ON true", "disabled by configuration"),
        ("SELECT count(*) FROM {t} JOIN glob('{secret}') ON true", "disabled by configuration"),
        ("SELECT count(*) FROM {t} a, tables b", "does not exist"),
    ):
        ran = run("query", text.format(t=f"'{table}'", missing=missing, secret=secret))
        assert ran.status in (1, 2) and said in ran.err and not ran.out, (text, ran)
        assert not missing.exists()
    ran = run("query", f"SELECT nope(id) FROM '{table}'")
    assert ran.status == 1 and "DuckDB refuses the query" in ran.err and ran.err.count("\n") == 1
    ran = run("query", f"SELECT id FROM '{table}' WHERE id > 1 && id < 3")
    assert ran.status == 1 and ran.err.endswith("Write AND for &&.\n")


def test_a_query_that_is_none_is_refused(run: Run, table: Path) -> None:
    for text, says in (
        ("DELETE FROM 'x'", "begins with SELECT"), ("SELECT * FROM (VALUES (1)) t", "names no table"),
        ("SELECT * FROM orders", "path in quotes"), ("SELECT 'x", "cannot be read"),
    ):  # fmt: skip
        ran = run("query", text)
        assert ran.status == 2 and says in ran.err
    assert run("query", "SELECT * FROM 'nowhere'").status == 1


def test_a_query_of_tables_in_a_catalog(run: Run, tmp_path: Path) -> None:
    cat = ds.catalog(f"warehouse:{tmp_path / 'wh'}")
    cat.create_namespace("db")
    cat.create_table("db.t", "id BIGINT").append(pa.table({"id": pa.array([7], pa.int64())}))
    ran = run("--catalog", f"warehouse:{tmp_path / 'wh'}", "query", "SELECT id FROM db.t WHERE id > 1")
    assert (ran.status, ran.out) == (0, "id\n7\n")


def test_files_are_merged(run: Run, table: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("id,name\n2,two\n9,nine\n")
    evolve = ("--schema-mode", "merge")
    planned = json.loads(run("merge", table, tmp_path / "new.csv", "--on", "id", *evolve, "--dry-run", "--json").out)
    assert (planned["operation"], planned["dry_run"], planned["version"], planned["read"]["files"]) == (
        "MERGE",
        True,
        1,
        1,
    )
    assert "some rows may match" in run("merge", table, tmp_path / "new.csv", "--on", "id", *evolve, "--dry-run").out
    ran = run("merge", table, tmp_path / "new.csv", "--on", "id", *evolve)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "version 2: updated 1 row, deleted 0 rows, inserted 1 row\n"
    found = ds.DeltaTable(table).scan(columns=["id", "name"]).to_arrow().sort_by("id").to_pydict()
    assert found == {"id": [1, 2, 3, 9], "name": ["a\tb", "two", None, "nine"]}
    options = ("--matched", "delete", "--not-matched", "ignore", "--json")
    done = json.loads(
        run("merge", table, tmp_path / "new.csv", "--on", "target.id = source.id AND target.id < 5", *options).out
    )
    assert (done["version"], done["metrics"]["numTargetRowsDeleted"]) == (3, 1)
    more = ("--not-matched", "ignore", "--not-matched-by-source", "delete", "--schema-mode", "merge")
    assert run("merge", table, tmp_path / "new.csv", "--on", "id", *more).status == 0
    assert ds.DeltaTable(table).scan(columns=["id"]).to_arrow()["id"].to_pylist() == [9]
    ran = run("merge", table, tmp_path / "new.csv", "--on", "nope", *evolve)
    assert ran.status == 1 and "nope" in ran.err and ran.err.count("\n") == 1
    nothing = run("merge", table, tmp_path / "new.csv", "--on", "id", "--matched", "keep", "--not-matched", "ignore")
    assert nothing.status in (0, 2) and nothing.err.count("\n") <= 1


def test_versions_are_compared(run: Run, table: Path) -> None:
    opened = ds.DeltaTable(table)
    opened.update({"name": "'x'"}, "id = 2")
    opened.append(ROWS.slice(0, 1))
    opened.optimize()
    opened.delete("id = 3")

    def rows(first: int, second: int) -> list[tuple[str, int, str | None]]:
        lines = run("diff", table, first, second, "--format", "json").out.splitlines()
        return [(each["_change"], each["id"], each["name"]) for each in map(json.loads, lines)]

    last = opened.version
    assert sorted(rows(1, 2)) == [("delete", 2, ""), ("insert", 2, "x")]
    assert rows(2, 3) == [("insert", 1, "a\tb")]
    assert rows(3, last - 1) == []
    assert rows(last, last) == []
    assert rows(last - 1, last) == [("delete", 3, None)]
    assert rows(last, last - 1) == [("insert", 3, None)]
    assert len(rows(0, last)) == 3
    opened.alter(ds.AddColumn("more", "INT"))
    assert rows(last, opened.version) == []
    assert run("diff", table, 0, 99).status == 1


def test_a_struct_that_is_null_is_no_struct_of_nulls(run: Run, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, at STRUCT<city: STRING>")
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "at": [None, {"city": None}]}))
    records = [json.loads(line) for line in run("head", table.uri, "--format", "json").out.splitlines()]
    assert [each["at"] for each in records] == [None, {"city": None}]
    assert run("head", table.uri).out.splitlines()[1:] == ["1\t", '2\t{"city": null}']
    assert run("head", table.uri, "--format", "csv").out.splitlines()[1:] == ["1,", '2,"{""city"": null}"']
    table.update({"at": "NULL"}, "id = 2")
    lines = run("diff", table.uri, 1, 2, "--format", "json").out.splitlines()
    assert [(each["_change"], each["at"]) for each in map(json.loads, lines)] == [
        ("delete", {"city": None}),
        ("insert", None),
    ]


def test_a_message_names_options_as_a_command_has_them(run: Run, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, name STRING")
    (tmp_path / "new.csv").write_text("id,more\n1,2\n")
    (tmp_path / "few.csv").write_text("id\n1\n")
    ran = run("append", table.uri, tmp_path / "new.csv")
    assert ran.status == 1 and "add it with --schema-mode merge." in ran.err
    assert run("append", table.uri, tmp_path / "new.csv", "--schema-mode", "merge").status == 0
    assert "--schema-mode merge" in run("merge", table.uri, tmp_path / "few.csv", "--on", "id").err
    assert "replace it with its rows by --mode replace" in run("create", table.uri, "id INT").err


@pytest.mark.parametrize("txn", [(), ("--txn", "job:1")])
def test_what_changes_nothing_says_why(run: Run, tmp_path: Path, txn: tuple[str, ...]) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT")
    table.append(pa.table({"id": pa.array([1], pa.int32())}), txn=("job", 1))
    (tmp_path / "none.csv").write_text("id\n")
    for command in (
        ("delete", table.uri, "--where", "id = 7"),
        ("update", table.uri, "id = 8", "--where", "id = 7"),
        ("append", table.uri, tmp_path / "none.csv"),
        ("merge", table.uri, tmp_path / "none.csv", "--on", "id"),
    ):
        ran = run(*command, *txn)
        said = " nothing, because version 1 of the application 'job' is committed already\n" if txn else " nothing: "
        assert ran.status == 0 and said in ran.out


def test_a_plot_says_what_it_wrote(run: Run, table: Path, tmp_path: Path) -> None:
    ran = run("explain", table, "--where", "id > 1", "--plot", tmp_path / "plot.svg")
    assert ran.status == 0 and ran.err == f"wrote the plot to {tmp_path / 'plot.svg'}\n"


def test_numbers_that_are_none_and_bytes_survive_json_lines(run: Run, tmp_path: Path) -> None:
    columns = "x DOUBLE, f FLOAT, s STRING, raw BINARY, st STRUCT<y: FLOAT>, xs ARRAY<DOUBLE>"
    nan, inf = float("nan"), float("inf")
    rows = [
        {"x": nan, "f": -inf, "s": "NaN", "raw": b"\xff", "st": {"y": inf}, "xs": [1.0, nan, None, -inf]},
        {"x": 1.5, "f": nan, "s": '"x": "NaN"', "raw": None, "st": {"y": 1.0}, "xs": []},
    ]
    for name in ("one", "two"):
        ds.DeltaTable.create(tmp_path / name, columns)
    ds.DeltaTable(tmp_path / "one").append(pa.Table.from_pylist(rows))
    assert run("head", tmp_path / "one", "--output", tmp_path / "o.jsonl").status == 0
    first = json.loads((tmp_path / "o.jsonl").read_text().splitlines()[0])
    assert (first["x"], first["f"], first["st"], first["s"]) == ("NaN", "-Infinity", {"y": "Infinity"}, "NaN")
    assert run("append", tmp_path / "two", tmp_path / "o.jsonl").status == 0
    # As text, since NaN is not equal to itself.
    assert str(ds.DeltaTable(tmp_path / "two").scan().to_arrow().to_pylist()) == str(rows)


def test_functions_that_have_the_meaning_of_duckdb_are_named(run: Run, table: Path) -> None:
    pytest.importorskip("duckdb")
    for query, names in (
        ("SELECT id FROM '{}' WHERE dayofweek(at) = 2", ""),
        ("SELECT id FROM '{}' WHERE dayofweek(DATE '2024-01-01') = 2 ORDER BY id", ""),
        ("SELECT id FROM '{}' ORDER BY dayofweek(DATE '2024-01-01')", "dayofweek has"),
        ("SELECT log(id) AS a, CAST(price AS DECIMAL(5, 1)) AS b FROM '{}'", ""),
        ("SELECT max(log(id)) AS a, max(CAST(price AS DECIMAL(5, 1))) AS b FROM '{}'", "log and cast have"),
        (
            "SELECT max(id ^ 2) AS a, count(tags[1]) AS b, sum(price::INT) AS c, max(LOG(id)) AS d FROM '{}'",
            "^, [], cast and log have",
        ),
        ("SELECT count(*) AS n, max(abs(id)) AS m, coalesce(name, '') AS c FROM '{}' GROUP BY name", ""),
        ("SELECT count(*) FILTER (WHERE id IN (1, 2)) AS log, [1] AS l FROM '{}' WHERE EXISTS (SELECT 1)", ""),
    ):
        ran = run("query", query.format(table))
        assert ran.status == 0, ran
        said = f"DuckDB runs this query, so that {names} the meaning of DuckDB and not that of Spark.\n"
        assert ran.err == (said if names else "")

"""Commands on the tables of a catalog, and commands on tables that a catalog names."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import deltaskip as ds
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("DELTASKIP_CATALOG", raising=False)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A warehouse with a namespace `sales` and a table `sales.orders` with two rows."""
    catalog = ds.catalog(f"warehouse:{tmp_path / 'wh'}")
    catalog.create_namespace("sales")
    parts = [ds.transforms.date("ts")]
    catalog.create_table("sales.orders", "id BIGINT, ts TIMESTAMP", parts, {"comment": "all orders", "k": "v"})
    return f"warehouse:{tmp_path / 'wh'}"


def test_tables_and_namespaces_are_listed(run: Run, url: str) -> None:
    assert run("--catalog", url, "namespaces").out == "sales\n"
    assert run("--catalog", url, "tables", "sales").out == "sales.orders\n"
    assert json.loads(run("--catalog", url, "tables", "sales", "--json").out) == ["sales.orders"]
    ran = run("--catalog", url, "tables")
    assert (ran.status, ran.out) == (0, "") and "It has the namespaces sales.\n" in ran.err
    ran = run("--catalog", url, "tables", "nowhere")
    assert (ran.status, "nowhere" in ran.err) == (1, True)


def test_namespaces_are_created_and_dropped(run: Run, url: str) -> None:
    assert run("--catalog", url, "namespaces", "--create", "new", "--property", "comment=c").out == "new\nsales\n"
    assert ds.catalog(url).load_namespace("new") == {"comment": "c"}
    assert run("--catalog", url, "namespaces", "--drop", "new").out == "sales\n"
    assert run("--catalog", url, "namespaces", "--drop", "new").status == 1
    assert "cascade" in run("--catalog", url, "namespaces", "--drop", "sales").err
    assert run("--catalog", url, "namespaces", "--drop", "sales", "--cascade").out == ""
    assert run("--catalog", url, "namespaces", "--create", "a", "--drop", "b").status == 2


def test_a_namespace_that_is_not_there_is_created_by_the_command_that_is_named(run: Run, url: str) -> None:
    for words in (["create", "no.t", "id BIGINT"], ["tables", "no"]):
        ran = run("--catalog", url, *words)
        assert ran.status == 1
        assert "has no namespace no: create it with the command namespaces --create NAME." in ran.err


def test_a_table_is_created_described_renamed_and_dropped(run: Run, url: str) -> None:
    columns = "id BIGINT NOT NULL, day DATE COMMENT 'when'"
    options = ["--partition-by", "day", "--comment", "c"]
    assert run("--catalog", url, "create", "sales.visits", columns, *options).status == 0
    assert run("--catalog", url, "create", "sales.visits", columns).status == 1
    assert run("--catalog", url, "create", "sales.visits", columns, "--if-not-exists").status == 0
    shown = json.loads(run("--catalog", url, "describe", "sales.visits", "--json").out)
    assert [(each["name"], each["nullable"], each["comment"]) for each in shown["columns"]] == [
        ("id", False, None), ("day", True, "when"),
    ]  # fmt: skip
    assert (shown["comment"], shown["partitioning"], shown["version"]) == ("c", ["day"], 0)
    assert "all orders" in run("--catalog", url, "describe", "sales.orders").out
    assert run("--catalog", url, "create", "sales.visits", "x INT", "--mode", "replace").status == 0
    assert ds.catalog(url).load_table("sales.visits").version == 1
    assert run("--catalog", url, "rename", "sales.visits", "seen").out == "renamed sales.visits to sales.seen\n"
    assert run("--catalog", url, "rename", "sales.visits", "seen").status == 1
    assert run("--catalog", url, "drop", "sales.seen").out == "dropped sales.seen\n"
    assert run("--catalog", url, "drop", "sales.seen").status == 1
    assert run("--catalog", url, "drop", "sales.seen", "--if-exists").status == 0


def test_other_commands_take_names(run: Run, url: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,ts\n1,2024-01-01T00:00:00\n2,2024-01-02T00:00:00\n")
    assert run("--catalog", url, "append", "sales.orders", rows).status == 0
    assert run("--catalog", url, "alter", "sales.orders", "ADD COLUMN x INT").status == 0
    assert run("--catalog", url, "delete", "sales.orders", "--where", "id = 1").status == 0
    assert run("--catalog", url, "files", "sales.orders", "--where", "ts >= '2024-01-02'").out.count("part-") == 1
    for command in ("inspect", "history", "stats", "vacuum", "optimize", "checkpoint"):
        assert run("--catalog", url, command, "sales.orders").status == 0, command
    assert run("--catalog", url, "inspect", "sales.orders", "--version", "0").status == 0
    ran = run("--catalog", url, "inspect", "sales.nothing")
    assert (ran.status, "sales.nothing" in ran.err) == (1, True)


def test_statements_run_without_spark_where_they_can(run: Run, url: str) -> None:
    assert "orders" in run("--catalog", url, "sql", "SHOW TABLES IN sales").out
    found = json.loads(run("--catalog", url, "sql", "DESCRIBE sales.orders", "--json").out)
    assert found[0]["col_name"] == "id"
    lines = run("--catalog", url, "sql", "DESCRIBE sales.orders").out.splitlines()
    assert lines[0].split("\t") == list(found[0])
    assert lines[1].split("\t") == [value or "" for value in found[0].values()]
    assert run("--catalog", url, "sql", "CREATE TABLE sales.more (id INT)").status == 0
    assert run("--catalog", url, "tables", "sales").out == "sales.more\nsales.orders\n"
    assert run("--catalog", url, "sql", "NONSENSE").status in (1, 2)


def test_the_catalog_may_be_configured(run: Run, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = run("tables", "sales")
    assert (ran.status, "--catalog" in ran.err) == (2, True)
    monkeypatch.setenv("DELTASKIP_CATALOG__PROD__URI", url)
    assert run("--catalog", "prod", "tables", "sales").out == "sales.orders\n"
    monkeypatch.setenv("DELTASKIP_CATALOG", "prod")
    assert run("tables", "sales").out == "sales.orders\n"
    # A table of a command without --catalog is a path.
    assert run("inspect", tmp_path / "wh" / "sales" / "orders").status == 0
    assert run("inspect", "sales.orders").status == 1


def test_what_is_no_catalog_is_refused(run: Run) -> None:
    for url in ("nothing", "nothing:x", "sql:postgres://me:secret@nowhere:1/x"):
        ran = run("--catalog", url, "tables")
        assert ran.status in (1, 2) and "secret" not in ran.err


def test_help_imports_no_catalog() -> None:
    code = (
        "import sys; from deltaskip.cli import main; main(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('deltaskip.catalogs', 'pyspark', 'sqlalchemy', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0

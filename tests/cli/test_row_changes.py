"""deltaskip delete and update: what they change, what they refuse, and what a dry run shows."""

import json
from pathlib import Path

import pytest

import deltaskip as ds
from tests.cli.conftest import Run
from tests.dml.tables import DDL, ids_of, rows, rows_of
from tests.looped import looped


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Twelve rows in a file for each of three partitions."""
    ds.DeltaTable.create(tmp_path / "t", DDL, ["p"]).append(rows(range(12)))
    return tmp_path / "t"


def test_rows_are_deleted(run: Run, table: Path) -> None:
    ran = run("delete", table, "--where", "x > 4", "--where", "x < 10")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("version 2: deleted 4 rows in ")
    assert ids_of(ds.DeltaTable(table)) == [0, 1, 2, 3, 4, 8, 10, 11]
    done = json.loads(run("delete", table, "--where", "id = :id", "--param", "id=3", "--json").out)
    assert (done["version"], done["metrics"]["numDeletedRows"], done["dry_run"]) == (3, 1, False)
    assert run("delete", table, "--where", "id = 3").out.startswith("deleted nothing")
    assert run("delete", table, "--all").status == 0
    assert ids_of(ds.DeltaTable(table)) == []


def test_the_cost_is_shown(run: Run, table: Path) -> None:
    out = run("delete", table, "--where", "id = 4").out
    assert "read 3 files (" in out and "rewritten 1 file (" in out
    assert "plan " in out and "commit " in out
    cost = json.loads(run("update", table, "x = 1", "--where", "p = 'a'", "--json").out)["cost"]
    assert (cost["removed"]["files"], cost["skipped"]["files"], cost["attempts"]) == (1, 2, 1)


def test_all_rows_go_only_if_the_command_names_them(run: Run, table: Path) -> None:
    for command, *more in (["delete"], ["update", "x = 1"]):
        for where in ([], ["--all", "--where", "id = 1"]):
            ran = run(command, table, *more, *where)
            assert (ran.status, ran.err.count("\n")) == (2, 1)
            assert "either --where or --all" in ran.err
    assert ds.DeltaTable(table).version == 1


def test_columns_are_set(run: Run, table: Path) -> None:
    ran = run("update", table, "X = x * 10", "`st`.a=NULL", "p = CASE WHEN x = 5 THEN 'z' END", "--where", "id > 4",
              "--where", "id < 7")  # fmt: skip
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("version 2: updated 2 rows in ")
    assert rows_of(ds.DeltaTable(table))[5:7] == [
        {"id": 5, "p": "z", "x": 50, "st": {"a": None, "tags": ["5"]}},
        {"id": 6, "p": None, "x": 60, "st": {"a": None, "tags": ["6"]}},
    ]
    done = json.loads(run("update", table, "x = 1", "--all", "--json", "--txn", "job:7").out)
    assert (done["version"], done["metrics"]["numUpdatedRows"]) == (3, 12)
    again = run("update", table, "x = 2", "--all", "--txn", "job:7")
    assert again.out.startswith("updated nothing")


def test_a_dry_run_shows_the_files_and_changes_nothing(run: Run, table: Path) -> None:
    ran = run("update", table, "x = 1", "--where", "p = 'a' OR p = 'b' AND id = 1", "--dry-run")
    assert ran.status == 0
    assert "all rows match in 1 file (" in ran.out
    assert "some rows may match in 1 file (" in ran.out and "would be rewritten" in ran.out
    assert "1 file (" in ran.out and "cannot contain rows that match" in ran.out
    assert "every row matches" in ran.out and "id = 1" in ran.out
    plan = json.loads(run("delete", table, "--where", "p IS NULL", "--dry-run", "--json").out)
    assert [each["reason"] for each in plan["files"]] == ["every row matches"]
    assert (plan["whole"]["files"], plan["read"]["files"], plan["skipped"]["files"], plan["version"]) == (1, 0, 2, 1)
    assert ds.DeltaTable(table).version == 1


@looped("given", ["x", "= 1", "x =", "x = 'open", "nope = 1", "x = nope", "x = 'text'"])
def test_update_names_what_is_wrong(run: Run, table: Path, given: str) -> None:
    ran = run("update", table, given, "--all")
    assert ran.status in (1, 2)
    assert ran.err.count("\n") == 1
    assert ds.DeltaTable(table).version == 1


def test_an_expression_that_only_spark_evaluates_names_the_option(run: Run, table: Path) -> None:
    for command, *more in (["delete"], ["update", "x = 1"]):
        ran = run(command, table, *more, "--where", "(select 1) = 1")
        assert (ran.status, ran.err.rstrip().endswith("Give --spark.")) == (1, True)
    ran = run("update", table, "x = (select 1)", "--all")
    assert (ran.status, "--spark" in ran.err, "session as spark" in ran.err) == (1, True, False)
    assert ds.DeltaTable(table).version == 1


def test_a_column_is_set_once(run: Run, table: Path) -> None:
    assert "set twice" in run("update", table, "x = 1", "x = 2", "--all").err
    assert "set twice" in run("update", table, "x = 1", "X = 2", "--all").err


def test_an_option_for_assignments_gets_their_form(run: Run, table: Path) -> None:
    for words in (["--set", "n = 2"], ["--set=n = 2"]):
        ran = run("update", table, *words, "--where", "id = 1")
        assert ran.status == 2
        assert "Assignments stand without an option: deltaskip update TABLE 'price = 2'." in ran.err

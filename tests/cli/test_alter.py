"""deltaskip alter: what it changes, what it refuses, and what a dry run shows."""

import json
from pathlib import Path

import pytest

import deltaskip as ds
from tests.cli.conftest import Run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table without rows."""
    ds.DeltaTable.create(tmp_path / "t", "id BIGINT, code STRING")
    return tmp_path / "t"


def test_alter_makes_several_changes_in_one_commit(run: Run, table: Path) -> None:
    ran = run("alter", table, "ADD COLUMN c INT AFTER id", "SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    assert (ran.status, ran.err) == (0, ""), ran
    assert ran.out.splitlines()[0] == f"version 1 of {table.as_uri()}"
    altered = ds.DeltaTable(table)
    assert (altered.version, altered.schema.names[:2]) == (1, ("id", "c"))
    assert altered.properties["delta.appendOnly"] == "true"


def test_a_dry_run_of_alter_shows_before_and_after(run: Run, table: Path) -> None:
    found = json.loads(run("alter", table, "ADD COLUMN v VARIANT", "--dry-run", "--json").out)
    assert found["version"] is None
    assert "v" not in [each["name"] for each in found["before"]["schema"]]
    assert "v" in [each["name"] for each in found["after"]["schema"]]
    assert "variantType" in found["after"]["writer_features"]
    text = run("alter", table, "ADD COLUMN v VARIANT", "--dry-run").out
    assert text.startswith("would alter ")
    assert "variantType" in text
    assert ds.DeltaTable(table).version == 0


@pytest.mark.parametrize("statement", ["ADD COLUMN id INT", "NONSENSE", "DROP COLUMN nope", ""])
def test_alter_names_what_is_wrong(run: Run, table: Path, statement: str) -> None:
    for more in ((), ("--dry-run",)):
        ran = run("alter", table, "ADD COLUMN fine INT", statement, *more)
        assert ran.status in (1, 2), ran
        assert ran.err.count("\n") == 1
    assert "in quotes: 'ADD COLUMN y INT'" in run("alter", table, "ADD", "COLUMN", "y", "INT").err
    assert ds.DeltaTable(table).version == 0

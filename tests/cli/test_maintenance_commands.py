"""deltaskip vacuum, restore, clone and generate: what they do, print and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deltaskip as ds
from tests.cli.conftest import Run
from tests.dml.tables import DDL, rows, rows_of
from tests.maintenance.test_vacuum import put


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table that lost its rows in version 2, with an orphan."""
    made = ds.DeltaTable.create(tmp_path / "t", DDL)
    made.append(rows(range(9)))
    made.delete()
    put(tmp_path / "t" / "orphan", "x" * 2048)
    return tmp_path / "t"


def test_vacuum_deletes_and_a_dry_run_shows(run: Run, table: Path) -> None:
    ran = run("vacuum", table, "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would delete 1 file (2.0 KiB) in ") and "\n  orphan\n" in ran.out
    assert (table / "orphan").exists()
    ran = run("vacuum", table)
    assert ran.status == 0 and ran.out.startswith("version 4: deleted 1 file (2.0 KiB) in ")
    assert not (table / "orphan").exists()


def test_vacuum_as_json(run: Run, table: Path) -> None:
    done = json.loads(run("vacuum", table, "--retention", "8 days", "--json").out)
    assert done["files"] == ["orphan"] and done["bytes"] == 2048 and done["version"] == 4 and not done["dry_run"]
    assert set(done["seconds"]) == {"find", "delete"} and done["metrics"]["numDeletedFiles"] == 1


def test_a_short_retention_needs_an_option(run: Run, table: Path) -> None:
    ran = run("vacuum", table, "--retention", "0")
    assert ran.status == 2 and "too short" in ran.err and "vacuum with --no-enforce-retention if" in ran.err
    ran = run("vacuum", table, "--retention", "0", "--no-enforce-retention", "--lite")
    assert ran.status == 0 and "deleted 1 file" in ran.out and (table / "orphan").exists()
    ran = run("vacuum", table, "--retention", "soon")
    assert ran.status == 2 and "'7 days'" in ran.err


def test_restore_restores(run: Run, table: Path) -> None:
    ran = run("restore", table, "--version", "1", "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would restore 1 file (") and "and remove " in ran.out
    ran = run("restore", table, "--version", "1")
    assert ran.status == 0 and ran.out.startswith("version 3: restored 1 file (")
    assert len(rows_of(ds.DeltaTable(table))) == 9
    ran = run("restore", table, "--version", "3")
    assert ran.out == "restored nothing: the table is at that version\n"
    done = json.loads(run("restore", table, "--version", "2", "--json").out)
    assert done["version"] == 4 and done["metrics"]["numRemovedFiles"] == 1
    for wrong in ((), ("--version", "1", "--timestamp", "2026-01-01")):
        assert run("restore", table, *wrong).status == 2
    (missing,) = (table / path for path in table.glob("part-*"))
    missing.unlink()
    ran = run("restore", table, "--version", "1")
    assert ran.status == 1 and "no longer exist" in ran.err
    assert run("restore", table, "--version", "1", "--no-check-files").status == 0


def test_clone_clones(run: Run, table: Path, tmp_path: Path) -> None:
    target = tmp_path / "c"
    ran = run("clone", table, target, "--version", "1", "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would clone version 1 of ") and not target.exists()
    ran = run("clone", table, target, "--version", "1", "--property", "mine=1")
    assert ran.status == 0 and "cloned version 1 of" in ran.out
    assert len(rows_of(ds.DeltaTable(target))) == 9 and ds.DeltaTable(target).properties == {"mine": "1"}
    ran = run("clone", table, target)
    assert ran.status == 1 and "There is a table at" in ran.err
    done = json.loads(run("clone", table, target, "--replace", "--json").out)
    assert done["version"] == 1 and done["metrics"]["numRemovedFiles"] == 1 and done["source_version"] == 2


def test_generate_writes_manifests(run: Run, table: Path) -> None:
    ran = run("generate", table)
    assert ran.status == 0 and ran.out == "version 2: wrote 1 manifest\n"
    assert json.loads(run("generate", table, "--json").out)["written"] == ["_symlink_format_manifest/manifest"]
    assert run("generate", table, "other").status == 2

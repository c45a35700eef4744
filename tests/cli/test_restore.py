"""deltaskip restore: what it restores, prints and refuses."""

import json
from pathlib import Path

import deltaskip as ds
from tests.cli.conftest import Run
from tests.dml.tables import rows_of


def test_restore_restores(run: Run, emptied: Path) -> None:
    ran = run("restore", emptied, "--version", "1", "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would restore 1 file (") and "and remove " in ran.out
    ran = run("restore", emptied, "--version", "1")
    assert ran.status == 0 and ran.out.startswith("version 3: restored 1 file (")
    assert len(rows_of(ds.DeltaTable(emptied))) == 9
    ran = run("restore", emptied, "--version", "3")
    assert ran.out == "restored nothing: the table is at that version\n"
    done = json.loads(run("restore", emptied, "--version", "2", "--json").out)
    assert done["version"] == 4 and done["metrics"]["numRemovedFiles"] == 1
    for wrong in ((), ("--version", "1", "--timestamp", "2026-01-01")):
        assert run("restore", emptied, *wrong).status == 2
    (missing,) = (emptied / path for path in emptied.glob("part-*"))
    missing.unlink()
    ran = run("restore", emptied, "--version", "1")
    assert ran.status == 1 and "no longer exist" in ran.err
    assert run("restore", emptied, "--version", "1", "--no-check-files").status == 0

"""deltaskip vacuum: what it deletes, prints and refuses."""

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_vacuum_deletes_and_a_dry_run_shows(run: Run, emptied: Path) -> None:
    ran = run("vacuum", emptied, "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would delete 1 file (2.0 KiB) in ") and "\n  orphan\n" in ran.out
    assert (emptied / "orphan").exists()
    ran = run("vacuum", emptied)
    assert ran.status == 0 and ran.out.startswith("version 4: deleted 1 file (2.0 KiB) in ")
    assert not (emptied / "orphan").exists()


def test_vacuum_as_json(run: Run, emptied: Path) -> None:
    done = json.loads(run("vacuum", emptied, "--retention", "8 days", "--json").out)
    assert done["files"] == ["orphan"] and done["bytes"] == 2048 and done["version"] == 4 and not done["dry_run"]
    assert set(done["seconds"]) == {"find", "delete"} and done["metrics"]["numDeletedFiles"] == 1


def test_a_short_retention_needs_an_option(run: Run, emptied: Path) -> None:
    ran = run("vacuum", emptied, "--retention", "0")
    assert ran.status == 2 and "too short" in ran.err and "vacuum with --no-enforce-retention if" in ran.err
    ran = run("vacuum", emptied, "--retention", "0", "--no-enforce-retention", "--lite")
    assert ran.status == 0 and "deleted 1 file" in ran.out and (emptied / "orphan").exists()
    ran = run("vacuum", emptied, "--retention", "soon")
    assert ran.status == 2 and "'7 days'" in ran.err

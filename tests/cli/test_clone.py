"""deltaskip clone: what it makes, prints and refuses."""

import json
from pathlib import Path

import deltaskip as ds
from tests.cli.conftest import Run
from tests.dml.tables import rows_of


def test_clone_clones(run: Run, emptied: Path, tmp_path: Path) -> None:
    target = tmp_path / "c"
    ran = run("clone", emptied, target, "--version", "1", "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would clone version 1 of ") and not target.exists()
    ran = run("clone", emptied, target, "--version", "1", "--property", "mine=1")
    assert ran.status == 0 and "cloned version 1 of" in ran.out
    assert len(rows_of(ds.DeltaTable(target))) == 9 and ds.DeltaTable(target).properties == {"mine": "1"}
    ran = run("clone", emptied, target)
    assert ran.status == 1 and "A table already exists at" in ran.err
    done = json.loads(run("clone", emptied, target, "--replace", "--json").out)
    assert done["version"] == 1 and done["metrics"]["numRemovedFiles"] == 1 and done["source_version"] == 2

"""kill -9 at every step of a commit leaves a table that opens with the old or the new version."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import deltaskip as ds
from tests.txn.tables import append, file, gone, make_table, paths

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW = ["a", "b"], ["b", "new"]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder of the copies, and at which step the writer of each was killed."""
    folder = tmp_path_factory.mktemp("killed")
    make_table(folder / "table")
    append(ds.DeltaTable(folder / "table"), file("a"), file("b"))
    (folder / "copies").mkdir()
    command = [sys.executable, "-m", "tests.txn.killed", str(folder / "copies"), str(folder / "table")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return folder / "copies", run.stdout.splitlines()


def test_every_step_is_tried(killed: tuple[Path, list[str]]) -> None:
    steps = killed[1]
    assert steps[:2] == ["prepared", "opened"]
    assert {"written", "synced", "linked", "tidied", "named", "committed"} <= set(steps)
    assert steps[-1] == "done"


def test_the_table_opens_with_the_old_or_the_new_version(killed: tuple[Path, list[str]]) -> None:
    folder, steps = killed
    linked = steps.index("linked")
    for stop in range(len(steps)):
        copy = folder / str(stop)
        expected = (1, OLD) if stop < linked else (2, NEW)
        assert (ds.DeltaTable(copy).version, paths(copy)) == expected, steps[stop]


def test_the_next_writer_goes_on_as_if_nothing_had_happened(killed: tuple[Path, list[str]]) -> None:
    folder, steps = killed
    for stop in range(len(steps)):
        copy = folder / str(stop)
        table = ds.DeltaTable(copy)
        txn = table.transaction(read="true")
        txn.remove(gone("b"))
        txn.add(file(f"next-{stop}"))
        assert txn.commit() == table.version + 1
        assert f"next-{stop}" in paths(copy)
        assert "b" not in paths(copy)

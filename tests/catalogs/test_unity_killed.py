"""Clients of Unity Catalog that are killed at each of their steps: all of their work is there, or nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from deltaskip.catalogs.unity import UnityCatalog
from tests.catalogs.killed_unity import COLUMNS, rows
from tests.catalogs.unity_server import unity_server
from tests.dml.tables import ids_of
from tests.extent import some


def steps_of(url: str, what: str) -> list[str]:
    program = [sys.executable, "-m", "tests.catalogs.killed_unity", url, what]
    done = subprocess.run(program, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.long
def test_a_creation_that_is_killed_leaves_a_whole_table_or_none(tmp_path: Path) -> None:
    with unity_server(tmp_path) as server:
        steps = steps_of(server.url, "ctas")
        assert {"staging table", "prepared", "registered"} <= set(steps)
        cat = UnityCatalog(server.url, "main")
        for number, step in enumerate(steps):
            name = f"db.t{number}"
            assert cat.table_exists(name) == (step in ("registered", "done")), step
            if cat.table_exists(name):
                assert ids_of(cat.load_table(name)) == [1, 2]
            else:
                cat.create_table(name, COLUMNS)
            cat.load_table(name).append(rows(5))
            assert ids_of(cat.load_table(name))[-1] == 5


@pytest.mark.long
@pytest.mark.parametrize(("what", "new"), some([("append", [0, 1, 2]), ("rtas", [1, 2])], 1))
def test_a_commit_that_is_killed_is_whole_or_not_there(tmp_path: Path, what: str, new: list[int]) -> None:
    with unity_server(tmp_path) as server:
        steps = steps_of(server.url, what)
        assert {"prepared", "staged", "ratified", "published", "checkpoint written"} <= set(steps)
        cat = UnityCatalog(server.url, "main")
        for number, step in enumerate(steps):
            name = f"db.t{number}"
            entry, table = server.table(f"main.{name}"), cat.load_table(name)
            is_there = number >= steps.index("ratified")
            assert (table.version, ids_of(table)) == ((2, new) if is_there else (1, [0])), step
            assert bool(entry.commits) == (step in ("ratified", "committed", "published")), step
            with cat.stage_replace(name, COLUMNS) as staged:
                staged.append(rows(5))
            assert ids_of(cat.load_table(name)) == [5]
            assert entry.commits == []
            log = Path(table.snapshot.root) / "_delta_log"
            assert len(list(log.glob("*.json"))) - len(list(log.glob("*.checkpoint.*.json"))) == entry.latest + 1

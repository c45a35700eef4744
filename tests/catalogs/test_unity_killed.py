"""Clients of Unity Catalog that are killed at each of their steps: all of their work is there, or nothing."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from deltaskip.catalogs.unity import UnityCatalog
from tests.catalogs.unity_server import COLUMNS, rows, unity_server
from tests.dml.tables import ids_of
from tests.extent import some
from tests.txn.killed import steps_of

OF_ONE_FILE = ("opened", "written", "synced", "unchecked", "linked", "renamed", "tidied", "named")
"""Steps of writing one file, at which tests.txn.killed kills a writer."""


def ctas(cat: UnityCatalog, name: str) -> None:
    """Create a table with rows."""
    with cat.stage_create(name, COLUMNS) as staged:
        staged.append(rows(1, 2))


def append(cat: UnityCatalog, name: str) -> None:
    """Add rows to a table that has one."""
    cat.load_table(name).append(rows(1, 2))


def rtas(cat: UnityCatalog, name: str) -> None:
    """Replace a table that has one row."""
    with cat.stage_replace(name, "id BIGINT, more INT") as staged:
        staged.append(pa.table({"id": pa.array([1, 2], pa.int64()), "more": pa.array([1, 2], pa.int32())}))


WORK: dict[str, Callable[[UnityCatalog, str], None]] = {"ctas": ctas, "append": append, "rtas": rtas}


def working(stop: int, url: str, what: str) -> Callable[[], object]:
    """A client that does `what` to a table of its own, which has one row where that needs one."""
    cat, name = UnityCatalog(url, "main"), f"db.t{stop}"
    if what in ("append", "rtas"):
        cat.create_table(name, COLUMNS, properties={"delta.checkpointInterval": "2"}).append(rows(0))
        cat = UnityCatalog(url, "main")
    return lambda: WORK[what](cat, name)


def killed(url: str, what: str) -> list[str]:
    return steps_of(working, url, what, passed_over=OF_ONE_FILE, too_many=100)


@pytest.mark.long
def test_a_creation_that_is_killed_leaves_a_whole_table_or_none(tmp_path: Path) -> None:
    with unity_server(tmp_path) as server:
        steps = killed(server.url, "ctas")
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
        steps = killed(server.url, what)
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

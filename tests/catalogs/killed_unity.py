"""A client of Unity Catalog that is killed at each of its steps: python -m tests.catalogs.killed_unity URL WHAT.

WHAT is "ctas", "append" or "rtas". Each time a child works on a table of its own, `db.t0`, `db.t1` …, and the
last one is not killed. Prints the step at which each was killed, then "done".
"""

import sys
from collections.abc import Callable

import pyarrow as pa

from deltaskip.catalogs.unity import UnityCatalog
from tests.extent import extent
from tests.rows.killed import Committing
from tests.txn.killed import kill_at_each_step

COLUMNS = "id BIGINT, name STRING"
TOO_MANY = 100
OF_ONE_FILE = ("opened", "written", "synced", "unchecked", "linked", "renamed", "tidied", "named")
"""Steps of writing one file, at which tests.txn.killed kills a writer."""


def rows(*ids: int) -> pa.Table:
    """Rows of COLUMNS."""
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{each}" for each in ids]})


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


def working(url: str, what: str, name: str) -> Committing:
    """A client that does `what`, with a table of one row where that needs one."""
    cat = UnityCatalog(url, "main")
    if what in ("append", "rtas"):
        cat.create_table(name, COLUMNS, properties={"delta.checkpointInterval": "2"}).append(rows(0))
        cat = UnityCatalog(url, "main")
    return Committing(lambda: WORK[what](cat, name))


if __name__ == "__main__":
    address, wanted = sys.argv[1:]
    kill_at_each_step(lambda stop: working(address, wanted, f"db.t{stop}"), TOO_MANY, OF_ONE_FILE, extent(1, None))

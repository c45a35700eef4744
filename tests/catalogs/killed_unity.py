"""A client of Unity Catalog that is killed at each of its steps: python -m tests.catalogs.killed_unity URL WHAT.

WHAT is "ctas", "append" or "rtas". Each time a child works on a table of its own, `db.t0`, `db.t1` …, and the
last one is not killed. Prints the step at which each was killed, then "done".
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import pyarrow as pa

from deltaskip.catalogs.unity import UnityCatalog
from deltaskip.storage.kill_points import observe_kill_points

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


def main(url: str, what: str) -> None:
    """Kill a child at its first step, the next at its second, and so on, until one gets through."""
    for stop in range(TOO_MANY):
        name = f"db.t{stop}"
        if what in ("append", "rtas"):
            properties = {"delta.checkpointInterval": "2"}
            UnityCatalog(url, "main").create_table(name, COLUMNS, properties=properties).append(rows(0))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _work(url, name, WORK[what], stop, writer)
        os.close(writer)
        with os.fdopen(reader) as said:
            step = said.read()
        status = os.waitpid(child, 0)[1]
        if status == 0:
            print("done")
            return
        if not os.WIFSIGNALED(status):
            sys.exit(f"the client failed after {step!r}")
        print(step, flush=True)
    sys.exit("the client never came to an end")


def _work(url: str, name: str, work: Callable[[UnityCatalog, str], None], stop: int, writer: int) -> None:
    seen = 0

    def kill(step: str) -> None:
        nonlocal seen
        if step in OF_ONE_FILE:
            return
        if seen == stop:
            os.write(writer, step.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    cat = UnityCatalog(url, "main")
    observe_kill_points(kill)
    work(cat, name)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

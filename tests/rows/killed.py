"""Writers that are killed at each of their steps: python -m tests.rows.killed WHAT FOLDER [TABLE].

WHAT is `create`, which makes the tables FOLDER/0, FOLDER/1 …, or `append`, which appends to copies of TABLE there. The
last writer is not killed. Prints the step at which each was killed, or "done".
"""

import shutil
import sys
from collections.abc import Callable

import pyarrow as pa

from deltaskip import DeltaTable
from deltaskip.data_files import encoding
from tests.extent import extent
from tests.txn.killed import kill_at_each_step

COLUMNS = "id BIGINT, p STRING, n BIGINT GENERATED ALWAYS AS IDENTITY"
ROWS = pa.table({"id": [1, 2, 3], "p": ["a", "b/c", None]})


class Committing:
    """What a writer does when it is told to commit."""

    def __init__(self, commit: Callable[[], object]) -> None:
        self.commit = commit


def creating(folder: str) -> Committing:
    """A writer that creates a table."""
    return Committing(lambda: DeltaTable.create(folder, COLUMNS, ["p"]))


def appending(folder: str) -> Committing:
    """A writer that appends three rows of three partitions, one file after the other: its steps have an order."""
    encoding._THREADS = 1
    table = DeltaTable(folder)
    return Committing(lambda: table.append(ROWS))


if __name__ == "__main__":
    what, place, *table = sys.argv[1:]
    if what == "create":
        kill_at_each_step(lambda stop: creating(f"{place}/{stop}"), most=extent(1, None))
    else:
        passed_over = extent(("tidied", "named"), ())
        kill_at_each_step(lambda stop: appending(shutil.copytree(table[0], f"{place}/{stop}")), passed_over=passed_over)

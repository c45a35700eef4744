"""Changes of rows that are killed at each of their steps: python -m tests.dml.killed WHAT FOLDER TABLE.

WHAT is `delete`, `update` or `merge`. Each works on a copy of TABLE, FOLDER/0, FOLDER/1 …; the last one is not killed.
Prints the step at which each was killed, or "done".
"""

import shutil
import sys

import pyarrow as pa

from deltaskip import DeltaTable
from deltaskip.data_files import encoding
from tests.extent import extent
from tests.rows.killed import Committing
from tests.txn.killed import kill_at_each_step

WHERE = "id % 2 = 0"
SOURCE = pa.table({"id": [0, 2, 4, 6, 100]})


def merged(table: DeltaTable) -> object:
    """Delete row 4, update the other even ones, and add row 100; doing it again changes nothing more."""
    merge = table.merge(SOURCE, "t.id = s.id", "s", "t").when_matched_delete("s.id = 4")
    merge = merge.when_matched_update({"x": "-1", "p": "'z'"})
    return merge.when_not_matched_insert({"id": "s.id", "x": "-1", "p": "'z'"}, where="s.id = 100").execute()


def changing(what: str, folder: str) -> Committing:
    """A writer that changes rows, one file after the other: its steps have an order."""
    encoding._THREADS = 1
    table = DeltaTable(folder)
    if what == "delete":
        return Committing(lambda: table.delete(WHERE))
    if what == "merge":
        return Committing(lambda: merged(table))
    return Committing(lambda: table.update({"x": "-1", "p": "'z'"}, WHERE))


if __name__ == "__main__":
    change, place, original = sys.argv[1:]
    kill_at_each_step(lambda stop: changing(change, shutil.copytree(original, f"{place}/{stop}")), most=extent(1, None))

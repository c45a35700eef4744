"""A deletion that unites its vectors with those of another writer, killed at each of its steps.

    python -m tests.txn.killed_uniting FOLDER TABLE

Each works on a copy of TABLE, FOLDER/0, FOLDER/1 …; the last one is not killed. Prints the step at which each was
killed, or "done".
"""

import shutil
import sys

from deltaskip import DeltaTable
from deltaskip.table.table_transaction import TableTransaction
from tests.extent import extent
from tests.txn.killed import kill_at_each_step

MINE, OTHER = "id IN (3, 13)", "id IN (5, 15)"


def uniting(folder: str) -> TableTransaction:
    """A deletion before whose commit another writer has marked other rows of its files."""
    transaction = DeltaTable(folder).transaction(operation="DELETE")
    assert isinstance(transaction, TableTransaction)
    transaction.delete(MINE)
    DeltaTable(folder).delete(OTHER)
    return transaction


if __name__ == "__main__":
    place, original = sys.argv[1:]
    kill_at_each_step(lambda stop: uniting(shutil.copytree(original, f"{place}/{stop}")), most=extent(1, None))

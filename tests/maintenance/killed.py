"""Operations that are killed at each of their steps: python -m tests.maintenance.killed WHAT FOLDER TABLE.

WHAT is `vacuum`, `restore`, `replace partitioning` or `clone`. Each time it works on a fresh copy of TABLE, FOLDER/0,
FOLDER/1 …; a clone of TABLE itself is made there. The last one is not killed. Prints the step at which each was killed,
or "done".
"""

import shutil
import sys
from collections.abc import Callable

from deltaskip import DeltaTable, transforms
from deltaskip.data_files import encoding
from deltaskip.maintenance import vacuum
from deltaskip.storage import local
from tests.extent import extent
from tests.rows.killed import Committing
from tests.txn.killed import kill_at_each_step


def vacuuming(folder: str) -> Committing:
    """A vacuum that deletes one file after the other."""
    vacuum._DELETED_AT_ONCE = local._DELETING_THREADS = 1
    table = DeltaTable(folder)
    return Committing(lambda: table.vacuum(0, enforce_retention=False))


def restoring(folder: str) -> Committing:
    """A restore of version 1."""
    table = DeltaTable(folder)
    return Committing(lambda: table.restore(1))


def repartitioning(folder: str) -> Committing:
    """Rows written anew in three partitions by id, one file after the other."""
    encoding._THREADS = 1
    table = DeltaTable(folder)
    return Committing(lambda: table.replace_partitioning(transforms.bucket("id", 3)))


ACTS: dict[str, Callable[[str], Committing]] = {
    "vacuum": vacuuming,
    "restore": restoring,
    "replace partitioning": repartitioning,
}

if __name__ == "__main__":
    what, place, source = sys.argv[1:]
    if what == "clone":
        opened = DeltaTable(source)
        kill_at_each_step(lambda stop: Committing(lambda: opened.clone(f"{place}/{stop}")))
    else:
        most = 3 if what == "vacuum" else 1
        kill_at_each_step(lambda stop: ACTS[what](shutil.copytree(source, f"{place}/{stop}")), most=extent(most, None))

"""An OPTIMIZE that is killed at each of its steps: python -m tests.maintenance.optimize.killed FOLDER TABLE.

It works on copies of TABLE, FOLDER/0, FOLDER/1 …; the last one is not killed. Prints the step at which each was killed,
or "done".
"""

import shutil
import sys

from deltaskip import DeltaTable
from deltaskip.data_files import encoding
from deltaskip.settings import options
from tests.extent import extent
from tests.rows.killed import Committing
from tests.txn.killed import kill_at_each_step


def optimizing(folder: str) -> Committing:
    """A writer that joins the files of three partitions, each in a commit of its own."""
    encoding._THREADS = 1
    options.optimize_job_bytes = 1
    table = DeltaTable(folder)
    return Committing(table.optimize)


if __name__ == "__main__":
    place, source = sys.argv[1:]
    kill_at_each_step(lambda stop: optimizing(shutil.copytree(source, f"{place}/{stop}")), most=extent(2, None))

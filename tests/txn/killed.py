"""A writer that is killed at each of its steps in turn: python -m tests.txn.killed FOLDER TABLE.

Each time it works on a fresh copy of TABLE, FOLDER/0, FOLDER/1 …; the last one is not killed. Prints a line for each:
the step at which it was killed, or "done".
"""

import os
import shutil
import signal
import sys

import deltaskip as ds
from deltaskip.storage.steps import observe
from tests.txn.tables import file, gone

TOO_MANY = 500


def main(folder: str, table: str) -> None:
    """Kill a child at its first step, the next at its second, and so on, until one gets through."""
    for stop in range(TOO_MANY):
        copy = f"{folder}/{stop}"
        shutil.copytree(table, copy)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _commit(copy, stop, writer)
        os.close(writer)
        with os.fdopen(reader) as said:
            step = said.read()
        status = os.waitpid(child, 0)[1]
        if status == 0:
            print("done")
            return
        if not os.WIFSIGNALED(status):
            sys.exit(f"the writer failed after {step!r}")
        print(step, flush=True)
    sys.exit("the writer never came to an end")


def _commit(copy: str, stop: int, writer: int) -> None:
    seen = 0

    def kill(step: str) -> None:
        nonlocal seen
        if seen == stop:
            os.write(writer, step.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    try:
        txn = ds.DeltaTable(copy).transaction(read="id = 5")
        txn.remove(gone("a"))
        txn.add(file("new"))
        observe(kill)
        txn.commit()
    except BaseException as error:
        os.write(writer, repr(error).encode())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

"""A writer that is killed at each of its steps in turn: python -m tests.txn.killed FOLDER TABLE.

Each time it works on a fresh copy of TABLE, FOLDER/0, FOLDER/1 …; the last one is not killed. Prints a line for each:
the step at which it was killed, or "done".
"""

import importlib
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from threading import Lock
from typing import Protocol

import deltaskip as ds
from deltaskip.storage.kill_points import observe_kill_points
from deltaskip.txn.transaction import Transaction
from tests.extent import extent
from tests.txn.tables import file, gone

TOO_MANY = 500


class Commits(Protocol):
    """A transaction, or what else has a method with its steps."""

    def commit(self) -> object:
        """Go through the steps."""


def kill_at_each_step(
    begin: Callable[[int], Commits],
    too_many: int = TOO_MANY,
    passed_over: Collection[str] = (),
    most: int | None = None,
) -> None:
    """Kill a child at its first step, the next at its second, and so on, until one gets through.

    begin: called in each child with its number; makes the transaction that the child commits. passed_over: steps at
    which none is killed. most: how many are killed at the first steps of one name, None for no limit.
    """
    place, killed = 0, Counter[str]()
    for stop in range(too_many):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            done = {step for step, times in killed.items() if times == most}
            _commit(lambda: begin(stop), place, writer, {*passed_over, *done})  # noqa: B023
        os.close(writer)
        with os.fdopen(reader) as said:
            step, *more = said.read().split("\n")
        status = os.waitpid(child, 0)[1]
        if status == 0:
            print("done")
            return
        if not os.WIFSIGNALED(status):
            sys.exit(f"the writer failed after {step!r}")
        place, killed = int(more[0]) + 1, killed + Counter([step])
        # Imported once, and not by each child again; parts of an extension module cannot be imported by their names.
        for module in more[1:]:
            with suppress(ImportError):
                importlib.import_module(module)
        print(step, flush=True)
    sys.exit("the writer never came to an end")


def replacing(table: str) -> Transaction:
    """A transaction that puts the file `new` in the place of `a`."""
    txn = ds.DeltaTable(table).transaction(read="id = 5", look_up_files=False)
    txn.remove(gone("a"))
    txn.add(file("new"))
    return txn


def _commit(begin: Callable[[], Commits], place: int, writer: int, passed_over: Collection[str]) -> None:
    """Commit, and be killed at the step of that place or the first one after it that is not passed over."""
    seen = 0
    before = set(sys.modules)
    one_thread = Lock()

    def kill(step: str) -> None:
        nonlocal seen
        with one_thread:
            if seen >= place and step not in passed_over:
                with os.fdopen(writer, "w") as said:
                    said.write("\n".join([step, str(seen), *_modules_to_import(before)]))
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

    try:
        txn = begin()
        observe_kill_points(kill)
        txn.commit()
    except BaseException as error:
        os.write(writer, repr(error).encode())
        os._exit(1)
    os._exit(0)


def _modules_to_import(before: set[str]) -> list[str]:
    """The names of modules that were imported since, of which a package stands before its modules."""
    found = sorted(name for name, module in sys.modules.items() if getattr(module, "__spec__", None) is not None)
    return [name for name in found if name not in before and name != "__main__"]


if __name__ == "__main__":
    kill_at_each_step(
        lambda stop: replacing(shutil.copytree(sys.argv[2], f"{sys.argv[1]}/{stop}")), most=extent(1, None)
    )

"""Writers that are killed at each of their steps in turn, each in a process of its own."""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from threading import Lock

import deltaskip as ds
from deltaskip.storage.kill_points import observe_kill_points
from deltaskip.txn.transaction import Transaction
from tests.extent import TIME_LIMIT_SECONDS, extent
from tests.txn.tables import file, gone

Act = Callable[[], object]
TOO_MANY = 500
ROOT = Path(__file__).resolve().parents[2]


def steps_of(
    begin: Callable[..., Act],
    *arguments: object,
    most: int | None = 1,
    passed_over: Collection[str] = (),
    too_many: int = TOO_MANY,
) -> list[str]:
    """Kill a process at its first step, the next at its second, and so on, until one gets through.

    Args:
        begin: A function of a module. Each process calls it with its number and the arguments as texts, and does what
            it returns.
        arguments: For `begin`.
        most: In the gate, how many are killed at the first steps of one name; None for all, as in the whole run.
        passed_over: Steps at which none is killed.
        too_many: So many steps are an error.

    Returns:
        The step at which each was killed, then "done".
    """
    options = json.dumps({"most": extent(most, None), "passed_over": [*passed_over], "too_many": too_many})
    command = [sys.executable, "-m", "tests.txn.killed", begin.__module__, begin.__name__, options]
    command += map(str, arguments)
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    steps = run.stdout.splitlines()
    assert steps[-1] == "done"
    return steps


def kill_at_each_step(
    begin: Callable[[int], Act], too_many: int, passed_over: Collection[str], most: int | None
) -> None:
    """Do what `steps_of` says, in this process and its children, and print the steps."""
    place, killed = 0, Counter[str]()
    for stop in range(too_many):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            done = {step for step, times in killed.items() if times == most}
            _act(lambda: begin(stop), place, writer, {*passed_over, *done})  # noqa: B023
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


def copied(stop: int, folder: str, table: str) -> str:
    """A copy of a table for the process of a number."""
    return str(shutil.copytree(table, f"{folder}/{stop}"))


def replacing(table: str) -> Transaction:
    """A transaction that puts the file `new` in the place of `a`."""
    txn = ds.DeltaTable(table).transaction(read="id = 5", look_up_files=False)
    txn.remove(gone("a"))
    txn.add(file("new"))
    return txn


def _act(begin: Callable[[], Act], place: int, writer: int, passed_over: Collection[str]) -> None:
    """Act, and be killed at the step of that place or the first one after it that is not passed over."""
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
        act = begin()
        observe_kill_points(kill)
        act()
    except BaseException as error:
        os.write(writer, repr(error).encode())
        os._exit(1)
    os._exit(0)


def _modules_to_import(before: set[str]) -> list[str]:
    """The names of modules that were imported since, of which a package stands before its modules."""
    found = sorted(name for name, module in sys.modules.items() if getattr(module, "__spec__", None) is not None)
    return [name for name in found if name not in before and name != "__main__"]


if __name__ == "__main__":
    _module, _name, _options, *_given = sys.argv[1:]
    _begin: Callable[..., Act] = getattr(importlib.import_module(_module), _name)
    kill_at_each_step(lambda stop: _begin(stop, *_given), **json.loads(_options))

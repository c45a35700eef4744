"""Processes that change one table at the same time, beside deltalake: operations that each of them completes.

    python -m benchmarks.contended [--seconds 10] [--workers 4] [--rounds 1] [--only append update ...]

Every worker repeats one operation through a handle of its own until the time is over: it appends 20 rows, or updates,
deletes or merges rows that no other worker changes. All rows of the table begin in one file, so that the changes of
rows meet. An operation that fails with a conflict is repeated from a new handle, and counted when it succeeds. Both
libraries run one after the other, each with the same number of workers.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import deltalake
import pyarrow as pa

import deltaskip

_ROWS = 16_000

_Handle = Any


def _rows(first: int, count: int) -> pa.Table:
    return pa.table({"id": range(first, first + count), "price": [0.0] * count})


def _new(worker: int, turn: int) -> int:
    """The first key of 20 that no other operation has."""
    return 10**9 * (worker + 1) + turn * 20


def _own(worker: int, turn: int) -> int:
    """The key of a row that no other worker changes."""
    return worker * (_ROWS // 16) + turn % (_ROWS // 16)


def _their_merge(table: _Handle, worker: int, turn: int) -> None:
    merge = table.merge(_rows(_own(worker, turn), 1), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


_Run = Callable[[_Handle, int, int], object]

OPERATIONS: dict[str, tuple[_Run, _Run]] = {
    "append": (
        lambda table, worker, turn: table.append(_rows(_new(worker, turn), 20)),
        lambda table, worker, turn: deltalake.write_deltalake(table, _rows(_new(worker, turn), 20), mode="append"),
    ),
    "update": (
        lambda table, worker, turn: table.update({"price": "price + 1"}, f"id = {_own(worker, turn)}"),
        lambda table, worker, turn: table.update(
            updates={"price": "price + 1"}, predicate=f"id = {_own(worker, turn)}"
        ),
    ),
    "delete": (
        lambda table, worker, turn: table.delete(f"id = {_own(worker, turn)}"),
        lambda table, worker, turn: table.delete(f"id = {_own(worker, turn)}"),
    ),
    "merge": (
        lambda table, worker, turn: (
            table.merge(_rows(_own(worker, turn), 1), "t.id = s.id", "s", "t")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        ),
        _their_merge,
    ),
}
"""The runs of deltaskip and of deltalake by name, each with a handle, the number of the worker and that of the turn."""

_OPEN: tuple[Callable[[Path], _Handle], ...] = (deltaskip.DeltaTable, lambda path: deltalake.DeltaTable(str(path)))
_CONFLICTS = (deltaskip.CommitConflict, deltalake.exceptions.CommitFailedError)


def _work(side: int, operation: str, path: Path, worker: int, seconds: float) -> dict[str, int]:
    """What one worker completes, from the line of standard input that starts all of them."""
    run = OPERATIONS[operation][side]
    # The first operation of a process imports what it needs.
    with tempfile.TemporaryDirectory() as folder:
        deltalake.write_deltalake(folder, _rows(0, _ROWS))
        run(_OPEN[side](Path(folder)), worker, 0)
    handle = _OPEN[side](path)
    print("ready", flush=True)
    sys.stdin.readline()
    end = monotonic() + seconds
    done = failed = 0
    while monotonic() < end:
        try:
            run(handle, worker, done)
            done += monotonic() < end
        except _CONFLICTS:
            failed += 1
            handle = _OPEN[side](path)
    return {"done": done, "failed": failed}


def measured(side: int, operation: str, workers: int, seconds: float) -> list[dict[str, int]]:
    """What each worker completes."""
    folder = Path(tempfile.mkdtemp(prefix="deltaskip-contended-"))
    try:
        table = folder / "table"
        deltalake.write_deltalake(str(table), _rows(0, _ROWS))
        command = [sys.executable, "-m", "benchmarks.contended", "--worker", str(side), operation, str(table)]
        pipe = subprocess.PIPE
        processes = [
            subprocess.Popen([*command, str(each), str(seconds)], stdin=pipe, stdout=pipe, text=True)
            for each in range(workers)
        ]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("start\n")
            process.stdin.flush()
        return [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]
    finally:
        shutil.rmtree(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["--worker"]:
        side, operation, table, worker, seconds = arguments[1:]
        print(json.dumps(_work(int(side), operation, Path(table), int(worker), float(seconds))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args(arguments)
    print("| | deltaskip: completed (failed) | deltalake | deltaskip ÷ deltalake |\n|---|---|---|---|")
    for operation in OPERATIONS:
        if options.only and operation not in options.only:
            continue
        totals = [[0, 0], [0, 0]]
        for turn in range(options.rounds):
            for side in (turn % 2, 1 - turn % 2):
                for found in measured(side, operation, options.workers, options.seconds):
                    totals[side][0] += found["done"]
                    totals[side][1] += found["failed"]
        ours, theirs = totals
        ratio = ours[0] / max(1, theirs[0])
        print(f"| {operation} | {ours[0]} ({ours[1]}) | {theirs[0]} ({theirs[1]}) | {ratio:.2f} × |", flush=True)


if __name__ == "__main__":
    main()

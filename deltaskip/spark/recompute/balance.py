"""Distribution of the files of a recomputation over Spark tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heapreplace

from deltaskip.txn.recompute.computed_files import DataFile

__all__ = ["TASK_BYTES", "balanced_tasks"]

TASK_BYTES = 1 << 30
"""Upper limit of data file bytes for one task: some seconds of reading all values."""

# Cost of opening a file, as the number of bytes that could be scanned in the same time.
_OPEN_BYTES = 64 << 10
# PySpark takes 0.1 s to start a task, so there are at most as many as cores, or as their size requires.
_LEAST_TASK_BYTES = 4 << 20
# Writers write row groups of about 128 MiB: with smaller pieces, most would be empty.
_LEAST_PIECE_BYTES = 32 << 20


def balanced_tasks(
    files: Sequence[DataFile], task_bytes: int, cores: int, footers_only: bool = False
) -> list[list[DataFile]]:
    """Distribute files over tasks of about the same size, large files in pieces; enough tasks to keep all cores busy.

    footers_only: no values are read, so that a file costs only opening it, whatever its size.
    """
    total = sum(_cost(file, footers_only) for file in files)
    target = min(task_bytes, max(_LEAST_TASK_BYTES, -(-total // cores)))
    pieces = [piece for file in files for piece in _pieces(file, target, task_bytes, footers_only)]
    pieces.sort(key=lambda piece: _cost(piece, footers_only), reverse=True)
    count = max(1, -(-total // target))
    if count > cores:
        # Whole rounds, so that no core is idle in the last one.
        count = -(-count // cores) * cores
    # The most expensive first, each to the task with the lowest cost so far.
    tasks: list[list[DataFile]] = [[] for _ in range(min(len(pieces), count))]
    loads = [(0, i) for i in range(len(tasks))]
    heapify(loads)
    for piece in pieces:
        load, i = loads[0]
        tasks[i].append(piece)
        heapreplace(loads, (load + _cost(piece, footers_only), i))
    return tasks


def _pieces(file: DataFile, target: int, task_bytes: int, footers_only: bool) -> list[DataFile]:
    size = max(target, min(_LEAST_PIECE_BYTES, task_bytes))
    count = 1 if footers_only else max(1, -(-file.size // size))
    return [replace(file, piece=(i, count)) for i in range(count)] if count > 1 else [file]


def _cost(file: DataFile, footers_only: bool) -> int:
    return _OPEN_BYTES + (0 if footers_only else file.size // file.piece[1])

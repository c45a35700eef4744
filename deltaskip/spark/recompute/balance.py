"""How the files of a recomputation are dealt out to Spark's tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heapreplace

from deltaskip.spark.recompute.tasks import DataFile

__all__ = ["TASK_BYTES", "balanced_tasks"]

TASK_BYTES = 1 << 30
"""Of data files to a task, at most: some seconds of reading all values."""

# What opening a file costs, in bytes that could be scanned meanwhile.
_OPEN_BYTES = 64 << 10
# PySpark takes 0.1 s to start a task, so there are no more of them than cores, or than their size asks for.
_LEAST_TASK_BYTES = 4 << 20
# Writers make row groups of some 128 MiB: of smaller pieces most would be empty.
_LEAST_PIECE_BYTES = 32 << 20


def balanced_tasks(
    files: Sequence[DataFile], task_bytes: int, cores: int, footers_only: bool = False
) -> list[list[DataFile]]:
    """Files in tasks of about as many bytes each, large files in pieces; enough tasks to keep all cores at work.

    footers_only: no values are read, so that a file costs what opening it does, whatever its size.
    """
    total = sum(_cost(file, footers_only) for file in files)
    target = min(task_bytes, max(_LEAST_TASK_BYTES, -(-total // cores)))
    pieces = [piece for file in files for piece in _pieces(file, target, task_bytes, footers_only)]
    pieces.sort(key=lambda piece: _cost(piece, footers_only), reverse=True)
    count = max(1, -(-total // target))
    if count > cores:
        # Whole rounds, so that no core is idle in the last.
        count = -(-count // cores) * cores
    # The costliest first, each to the task that has least so far.
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

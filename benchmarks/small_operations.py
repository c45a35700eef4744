"""Small operations without Spark, beside deltalake: append, update, delete and merge of 20 rows.

    python -m benchmarks.small_operations [--rounds 30] [--only NAME ...]

Three ways to change a table: a fresh table for each operation, one table that is changed again and again through one
handle, and one through a new handle each time. The runs of both alternate. The table shows medians of the time on the
clock and of the processor time of all threads; the first rounds warm both up and are not counted. Imports are counted
by `startup.py`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import deltalake
import pyarrow as pa

import deltaskip

WAYS = ("fresh", "one handle", "new handles")
_TABLE_ROWS = 200
_ROWS = 20
_WARM = 3

_Handle = Any


def rows(first: int, count: int, name: str = "name") -> pa.Table:
    """Rows of three columns with the keys from `first` on."""
    keys = range(first, first + count)
    return pa.table({"id": keys, "name": [f"{name}-{key}" for key in keys], "price": [key * 0.5 for key in keys]})


def _theirs_merge(table: _Handle, turn: int) -> None:
    merge = table.merge(_source(turn), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _source(turn: int) -> pa.Table:
    """Half of the rows are in the table."""
    return rows(_TABLE_ROWS + turn * _ROWS // 2 - _ROWS // 2, _ROWS, "merged")


def _where(turn: int) -> str:
    return f"id = {turn % _TABLE_ROWS}"


OPERATIONS: dict[str, tuple[Callable[[_Handle, int], object], Callable[[_Handle, int], object]]] = {
    "append 20 rows": (
        lambda table, turn: table.append(rows(_TABLE_ROWS + turn * _ROWS, _ROWS)),
        lambda table, turn: deltalake.write_deltalake(table, rows(_TABLE_ROWS + turn * _ROWS, _ROWS), mode="append"),
    ),
    "update one row": (
        lambda table, turn: table.update({"price": "price + 1"}, _where(turn)),
        lambda table, turn: table.update(updates={"price": "price + 1"}, predicate=_where(turn)),
    ),
    "delete one row": (
        lambda table, turn: table.delete(_where(turn)),
        lambda table, turn: table.delete(_where(turn)),
    ),
    "merge 20 rows": (
        lambda table, turn: (
            table.merge(_source(turn), "t.id = s.id", "s", "t")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        ),
        _theirs_merge,
    ),
}
"""The runs of deltaskip and of deltalake by name, each with a handle and the number of the round."""

_OPEN: tuple[Callable[[Path], _Handle], ...] = (deltaskip.DeltaTable, lambda path: deltalake.DeltaTable(str(path)))


def measured(operation: str, way: str, rounds: int) -> list[tuple[list[float], list[float]]]:
    """Seconds on the clock, and of the processor, of each round of deltaskip and of deltalake."""
    folder = Path(tempfile.mkdtemp(prefix="deltaskip-small-"))
    found: list[tuple[list[float], list[float]]] = [([], []), ([], [])]
    try:
        handles: list[_Handle] = [None, None]
        for turn in range(rounds + _WARM):
            for side in (0, 1) if turn % 2 else (1, 0):
                path = folder / f"{side}-{turn if way == 'fresh' else 0}"
                if not path.exists():
                    deltalake.write_deltalake(str(path), rows(0, _TABLE_ROWS))
                if way == "one handle":
                    handles[side] = handles[side] or _OPEN[side](path)
                run = OPERATIONS[operation][side]
                start, processor = perf_counter(), process_time()
                run(handles[side] or _OPEN[side](path), turn)
                seconds, used = perf_counter() - start, process_time() - processor
                if turn >= _WARM:
                    found[side][0].append(seconds)
                    found[side][1].append(used)
    finally:
        shutil.rmtree(folder)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args(arguments)
    print("| | table | deltaskip | deltalake | deltalake ÷ deltaskip | processor |\n|---|---|---|---|---|---|")
    for operation in OPERATIONS:
        for way in WAYS:
            if options.only and not any(text in f"{operation}, {way}" for text in options.only):
                continue
            sides = measured(operation, way, options.rounds)
            (ours, our_cpu), (theirs, their_cpu) = (
                [statistics.median(times) * 1000 for times in side] for side in sides
            )
            print(
                f"| {operation} | {way} | {ours:.1f} ({our_cpu:.1f}) ms | {theirs:.1f} ({their_cpu:.1f}) ms "
                f"| {theirs / ours:.2f} × | {their_cpu / our_cpu:.2f} × |",
                flush=True,
            )


if __name__ == "__main__":
    main()

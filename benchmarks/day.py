"""A day of a table of 1,000,000 rows that is changed or ordered, beside deltalake: processor time, and on the clock.

    python -m benchmarks.day [--rows 1000000] [--rounds 9] [--only NAME ...]

The table has 30 days, each of which is a partition with one file: keys, numbers, times and texts. Each run changes a
copy of the table through a new handle; the runs of both alternate, and the first two rounds are not counted. The table
shows medians, and how many times longer deltalake takes.
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
import numpy as np
import pyarrow as pa

import deltaskip

DAYS = 30
_WARM = 2


def rows_of(day: int, count: int) -> pa.Table:
    """The rows of a day."""
    chance, index = np.random.default_rng(day), np.arange(day * count, (day + 1) * count)
    few = pa.array([f"customer {i}" for i in range(1000)])
    return pa.table(
        {
            "id": index,
            "k": chance.integers(0, 1000, count).astype("int32"),
            "x": chance.random(count) * 1000,
            "ts": pa.array(1_700_000_000_000_000 + index * 1000, pa.timestamp("us", "UTC")),
            "customer": few.take(pa.array(chance.integers(0, 1000, count))),
            "name": pa.array([f"{i * 2654435761 % 2**32:08x}" for i in index.tolist()]),
            "day": pa.repeat(pa.scalar(18262 + day, pa.int32()).cast(pa.date32()), count),
        }
    )


def create(path: Path, rows: int) -> None:
    """Make the table."""
    many = rows // DAYS
    table = deltaskip.DeltaTable.create(path, rows_of(0, 1).schema, partition_by=["day"])
    for day in range(DAYS):
        table.append(rows_of(day, many))


_DAY = "day = '2020-01-11'"
_KEYS = f"{_DAY} AND k < 100"

CASES: dict[str, tuple[Callable[[Any], object], Callable[[Any], object]]] = {
    "update a tenth of a day": (
        lambda table: table.update({"x": "x * 2"}, _KEYS),
        lambda table: table.update(updates={"x": "x * 2"}, predicate=_KEYS),
    ),
    "update a day": (
        lambda table: table.update({"x": "x * 2"}, _DAY),
        lambda table: table.update(updates={"x": "x * 2"}, predicate=_DAY),
    ),
    "update by a key": (
        lambda table: table.update({"x": "x * 2"}, "id = 400000"),
        lambda table: table.update(updates={"x": "x * 2"}, predicate="id = 400000"),
    ),
    "update a thousandth": (
        lambda table: table.update({"x": "x * 2"}, "k = 7"),
        lambda table: table.update(updates={"x": "x * 2"}, predicate="k = 7"),
    ),
    "delete a tenth of a day": (
        lambda table: table.delete(_KEYS),
        lambda table: table.delete(_KEYS),
    ),
    "z-order a day": (
        lambda table: table.optimize(where=_DAY, zorder_by=["k", "customer"]),
        lambda table: table.optimize.z_order(["k", "customer"], partition_filters=[("day", "=", "2020-01-11")]),
    ),
}
"""What deltaskip and deltalake do, by name."""


def measured(source: Path, case: str, rounds: int) -> list[tuple[float, float]]:
    """Medians of seconds of the processor, and on the clock, of deltaskip and of deltalake."""
    found: list[list[tuple[float, float]]] = [[], []]
    with tempfile.TemporaryDirectory(prefix="deltaskip-day-", dir=source.parent) as folder:
        for turn in range(rounds + _WARM):
            for side in (0, 1) if turn % 2 else (1, 0):
                path = Path(folder) / str(side)
                shutil.copytree(source, path)
                start, processor = perf_counter(), process_time()
                table = deltalake.DeltaTable(str(path)) if side else deltaskip.DeltaTable(path)
                CASES[case][side](table)
                used = process_time() - processor, perf_counter() - start
                shutil.rmtree(path)
                if turn >= _WARM:
                    found[side].append(used)
    return [tuple(map(statistics.median, zip(*each, strict=True))) for each in found]  # type: ignore[misc]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=())
    given = parser.parse_args(arguments)
    print("| | processor | deltalake ÷ deltaskip | on the clock | deltalake ÷ deltaskip |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="deltaskip-day-") as folder:
        source = Path(folder) / "t"
        create(source, given.rows)
        for case in CASES:
            if given.only and not any(text in case for text in given.only):
                continue
            shown = []
            for ours, theirs in zip(*measured(source, case, given.rounds), strict=True):
                shown += [f"{ours * 1000:.0f} beside {theirs * 1000:.0f} ms", f"{theirs / ours:.2f} ×"]
            print(f"| {case} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

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
from collections.abc import Callable, Iterable, Sequence
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


def run(source: Path, case: str, side: int, folder: Path) -> tuple[float, float]:
    """Seconds of the processor, and on the clock, of one run by deltaskip (0) or deltalake (1)."""
    path = folder / str(side)
    shutil.copytree(source, path)
    start, processor = perf_counter(), process_time()
    table = deltalake.DeltaTable(str(path)) if side else deltaskip.DeltaTable(path)
    CASES[case][side](table)
    used = process_time() - processor, perf_counter() - start
    shutil.rmtree(path)
    return used


def beside(names: Iterable[str], rounds: int, run: Callable[[str, int], tuple[float, float]], peer: str) -> None:
    """Print a table with the medians of cases, of which both sides run in turns, after two rounds that do not count.

    Args:
        names: The cases.
        rounds: The rounds that count.
        run: Returns the seconds of the processor, and on the clock, of one run of a case by a side: 0 or 1.
        peer: The name of side 1.
    """
    print(f"| | processor | {peer} ÷ deltaskip | on the clock | {peer} ÷ deltaskip |\n|---|---|---|---|---|")
    for name in names:
        found: list[list[tuple[float, float]]] = [[], []]
        for turn in range(rounds + _WARM):
            for side in (0, 1) if turn % 2 else (1, 0):
                used = run(name, side)
                if turn >= _WARM:
                    found[side].append(used)
        shown: list[str] = []
        for ours, theirs in zip(*(map(statistics.median, zip(*each, strict=True)) for each in found), strict=True):
            shown += [f"{ours * 1000:.0f} beside {theirs * 1000:.0f} ms", f"{theirs / ours:.2f} ×"]
        print(f"| {name} | {' | '.join(shown)} |", flush=True)


def arguments(about: str, rounds: int, cases: Iterable[str], given: Sequence[str] | None) -> argparse.Namespace:
    """The command line of a benchmark: `rows`, `rounds`, and `only`, the cases that it names.

    Args:
        about: The text of --help.
        rounds: The rounds by default.
        cases: All cases.
        given: The command line; None for that of the process.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--only", nargs="*", default=())
    found = parser.parse_args(given)
    found.only = [case for case in cases if not found.only or any(text in case for text in found.only)]
    return found


def main(given: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    chosen = arguments(__doc__ or "", 9, CASES, given)
    with tempfile.TemporaryDirectory(prefix="deltaskip-day-") as folder:
        source = Path(folder) / "t"
        create(source, chosen.rows)
        beside(chosen.only, chosen.rounds, lambda case, side: run(source, case, side, Path(folder)), "deltalake")


if __name__ == "__main__":
    main()

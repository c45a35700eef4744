"""Queries over LazyFrames and relations, beside the libraries' own readers: processor time, and on the clock.

    python -m benchmarks.lazy [--rows 1000000] [--rounds 11] [--only NAME ...]

A table of 20 files in the order of time. Each run opens the table; the runs of both alternate, and the first two rounds
are not counted. The table shows medians, and how many times longer the peer takes: `pl.scan_delta`, and for DuckDB
`read_parquet` of the same files.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

import deltaskip as ds

FILES = 20
DAY = datetime.date(2023, 11, 24)


def rows_of(number: int, rows: int) -> pa.Table:
    """The rows of a file."""
    count, chance = rows // FILES, np.random.default_rng(number)
    index = np.arange(number * count, (number + 1) * count)
    few = pa.array([f"customer {i}" for i in range(1000)])
    prices = pa.array(chance.integers(0, 10**6, count)).cast(pa.decimal128(21, 2)).cast(pa.decimal128(18, 2))
    return pa.table(
        {
            "id": index,
            "k": chance.integers(0, 1000, count).astype("int32"),
            "x": chance.random(count) * 1000,
            "ts": pa.array(1_700_000_000_000_000 + index * 2_592_000, pa.timestamp("us", "UTC")),
            "day": pa.array((19675 + index * 30 // rows).astype("int32"), pa.date32()),
            "price": prices,
            "few": few.take(pa.array(chance.integers(0, 1000, count))),
            "name": pa.array([f"{i * 2654435761 % 2**32:08x}" for i in index.tolist()]),
        }
    )


LAZY: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "top 10 of a number": lambda frame: frame.sort("x", descending=True).head(10),
    "top 10 of a time": lambda frame: frame.sort("ts", descending=True).head(10),
    "all columns": lambda frame: frame,
    "grouped by a text": lambda frame: frame.group_by("few").agg(pl.len(), pl.col("x").sum()),
    "grouped by a number": lambda frame: frame.group_by("k").agg(pl.len(), pl.col("x").sum()),
    "one day": lambda frame: frame.filter(pl.col("day") == DAY),
    "sum of one day": lambda frame: frame.filter(pl.col("day") == DAY).select(pl.col("x").sum()),
    "a hundredth of each file": lambda frame: frame.filter(pl.col("k") < 10),
    "one text": lambda frame: frame.filter(pl.col("few") == "customer 7"),
}
"""The queries over LazyFrames, by name."""

GROUPED = "SELECT few, count(*), sum(x) FROM {} GROUP BY few"


def ours(path: Path, name: str) -> int:
    """Rows of a query."""
    if name in LAZY:
        return int(LAZY[name](ds.scan_polars(path)).collect().height)
    with duckdb.connect() as connection:
        ds.DeltaTable(path).scan().to_duckdb(connection, "t")
        return len(connection.execute(GROUPED.format("t")).fetchall())


def theirs(path: Path, name: str) -> int:
    """Rows of a query."""
    if name in LAZY:
        return int(LAZY[name](pl.scan_delta(str(path))).collect().height)
    with duckdb.connect() as connection:
        return len(connection.execute(GROUPED.format(f"read_parquet('{path}/*.parquet')")).fetchall())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", nargs="*", default=())
    given = parser.parse_args(arguments)
    print("| | processor | peer ÷ deltaskip | on the clock | peer ÷ deltaskip |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="deltaskip-lazy-") as folder:
        path = Path(folder) / "t"
        table = ds.DeltaTable.create(path, rows_of(0, FILES).schema)
        for number in range(FILES):
            table.append(rows_of(number, given.rows))
        for name in (*LAZY, "DuckDB, grouped by a text"):
            if given.only and not any(text in name for text in given.only):
                continue
            found: list[list[tuple[float, float]]] = [[], []]
            for turn in range(given.rounds + 2):
                counts = set()
                for side in (0, 1) if turn % 2 else (1, 0):
                    start, processor = perf_counter(), process_time()
                    counts.add((ours, theirs)[side](path, name))
                    if turn > 1:
                        found[side].append((process_time() - processor, perf_counter() - start))
                assert len(counts) == 1, f"{name}: {counts} rows"
            shown: list[Any] = []
            for mine, peer in zip(*(map(statistics.median, zip(*each, strict=True)) for each in found), strict=True):
                shown += [f"{mine * 1000:.0f} beside {peer * 1000:.0f} ms", f"{peer / mine:.2f} ×"]
            print(f"| {name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

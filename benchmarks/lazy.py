"""Queries over LazyFrames and relations, beside the libraries' own readers: processor time, and on the clock.

    python -m benchmarks.lazy [--rows 1000000] [--rounds 11] [--only NAME ...]

A table of 20 files in the order of time. Each run opens the table; the runs of both alternate, and the first two rounds
are not counted. The table shows medians, and how many times longer the peer takes: `pl.scan_delta`, and for DuckDB
`read_parquet` of the same files.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

import deltaskip as ds
from benchmarks.day import arguments, beside

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


def main(given: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    chosen = arguments(__doc__ or "", 11, (*LAZY, "DuckDB, grouped by a text"), given)
    with tempfile.TemporaryDirectory(prefix="deltaskip-lazy-") as folder:
        path = Path(folder) / "t"
        table = ds.DeltaTable.create(path, rows_of(0, FILES).schema)
        for number in range(FILES):
            table.append(rows_of(number, chosen.rows))
        counts: dict[str, int] = {}

        def run(name: str, side: int) -> tuple[float, float]:
            start, processor = perf_counter(), process_time()
            count = (ours, theirs)[side](path, name)
            used = process_time() - processor, perf_counter() - start
            assert counts.setdefault(name, count) == count, f"{name}: {count} rows"
            return used

        beside(chosen.only, chosen.rounds, run, "peer")


if __name__ == "__main__":
    main()

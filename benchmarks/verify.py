"""Verification of a long log, and of data beside the recomputation of their statistics.

    python -m benchmarks.verify [--files 1000000] [--variant json] [--rows 10000000] [--data-files 50] [--rounds 3]

The log is that of the reference table (see `reference_table`): one checkpoint and a few commits. The data table has
three integers, a double, a timestamp and two strings, in files of pyarrow without statistics in their footers, so that
verification and `recompute_stats` must read every value; the latter commits nothing, since the statistics are the same.
Both are run side by side, best of the rounds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from benchmarks.tables import reference_table


def best(act: Callable[[], object], rounds: int) -> float:
    """The shortest time of a call, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return min(times)


def data_table(path: str, rows: int, files: int) -> ds.DeltaTable:
    """A table of so many rows in so many files."""
    Path(path).mkdir()
    rng = np.random.default_rng(7)
    for start in range(0, rows, rows // files):
        ids = np.arange(start, start + rows // files)
        frame = pa.table(
            {
                "id": ids,
                "k": ids % 1000,
                "r": rng.integers(0, 1 << 40, len(ids)),
                "x": rng.random(len(ids)),
                "ts": pa.array(1_700_000_000_000_000 + ids * 1000, pa.timestamp("us", "UTC")),
                "cust": pa.array([f"cust_{i % 1000}" for i in range(len(ids))]),
                "h": pa.array(rng.integers(0, 1 << 60, len(ids))).cast(pa.string()),
            }
        )
        pq.write_table(frame, f"{path}/{start}.parquet", write_statistics=False, compression="zstd")
    table = ds.convert_to_delta(path)
    table.recompute_stats()
    return table


def main() -> None:
    """Measure, and print the times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--variant", default="json")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--data-files", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.files:
        path = reference_table(options.variant, options.files)
        seconds = best(lambda: ds.verify(path), options.rounds)
        print(f"log of {options.files:,} files: {seconds:.2f} s, {len(ds.verify(path))} findings")
    if options.rows:
        with tempfile.TemporaryDirectory() as folder:
            table = data_table(str(Path(folder, "t")), options.rows, options.data_files)
            size = sum(table.snapshot.adds(["size"])["size"].to_pylist())
            verified, recomputed = [], []
            for _ in range(options.rounds):
                verified.append(best(lambda: table.verify(data=True), 1))
                recomputed.append(best(lambda: table.recompute_stats(resume=False), 1))
            print(
                f"data of {size / 1e6:,.0f} MB: verify {min(verified):.2f} s, recompute_stats {min(recomputed):.2f} s"
            )
            print(f"  {min(recomputed) / min(verified):.2f} times the speed of recompute_stats a byte")


if __name__ == "__main__":
    main()

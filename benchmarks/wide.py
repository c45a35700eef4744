"""Tables with very many columns: reading three files of 5,000 columns, and opening and planning 100,000 columns.

    python -m benchmarks.wide [--columns 5000] [--planned 100000] [--rounds 3]

Rows are read beside pyarrow, which gets the paths of the same files. The table that is planned has a log without data.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from benchmarks.predicates import _stats, _table


def _measured(run: Callable[[], object], rounds: int) -> str:
    clock, processor = [], []
    for _ in range(rounds):
        start, used = perf_counter(), process_time()
        run()
        clock.append(perf_counter() - start)
        processor.append(process_time() - used)
    return f"{statistics.median(clock):.2f} ({statistics.median(processor):.2f}) s"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=5_000)
    parser.add_argument("--planned", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="deltaskip-wide-"))
    try:
        names = [f"c{number}" for number in range(options.columns)]
        table = ds.DeltaTable.create(folder / "t", ", ".join(f"{name} BIGINT" for name in names))
        for number in range(3):
            table.append(pa.table({name: [number, number + 1] for name in names}))
        files = sorted((folder / "t").glob("*.parquet"))
        print("| | deltaskip | pyarrow |\n|---|---|---|")
        ours = _measured(lambda: ds.DeltaTable(folder / "t").scan().to_arrow(), options.rounds)
        theirs = _measured(lambda: pa.concat_tables([pq.read_table(file) for file in files]), options.rounds)
        print(f"| 3 files of {options.columns:,} columns | {ours} | {theirs} |", flush=True)
    finally:
        shutil.rmtree(folder)
    names = [f"c{number}" for number in range(options.planned)]
    wide = _table(dict.fromkeys(names, "long"), [], [
        {"path": f"f{number}", "partitionValues": {}, "stats": _stats(number, names[:32])} for number in range(3)
    ])  # fmt: skip
    try:
        plan = _measured(lambda: ds.DeltaTable(wide).scan(where="c7 = 1").paths(), options.rounds)
        print(f"| open and plan {options.planned:,} columns | {plan} | |", flush=True)
    finally:
        shutil.rmtree(wide)


if __name__ == "__main__":
    main()

"""Peak memory of queries and writes that read all rows of a table, at two sizes, which shows what streams.

    python -m benchmarks.memory [--sizes 500 1500] [--only NAME ...]

Each case runs in a process of its own, on tables of so many megabytes of rows, not compressed, in files of 64 MB.
The table shows how much more memory the process needs than for the same on a table of one row, and the seconds.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

_FILE_ROWS = 1_000_000
_ROW_BYTES = 64
COLUMNS = "id BIGINT, a DOUBLE, b DOUBLE, c DOUBLE, s STRING"


def _create(folder: Path, megabytes: int) -> None:
    """Make a table whose rows take so many megabytes; one row for 0."""
    import numpy as np
    import pyarrow as pa

    import deltaskip as ds

    table = ds.DeltaTable.create(folder, COLUMNS)
    chance = np.random.default_rng(1)
    files = max(1, round(megabytes * 1e6 / _FILE_ROWS / _ROW_BYTES))
    rows = _FILE_ROWS if megabytes else 1
    for number in range(files):
        ids = np.arange(number * rows, (number + 1) * rows)
        # 28 bytes a text, of which no two are equal.
        texts = pa.array(ids).cast(pa.string())
        texts = pa.compute.binary_join_element_wise(pa.compute.utf8_lpad(texts, 28, "0"), "")
        table.append(pa.table({"id": ids, **{name: chance.random(rows) for name in "abc"}, "s": texts}))


def _scan(folder: Path) -> Any:
    import deltaskip as ds

    return ds.DeltaTable(folder / "t").scan()


def _lazy(folder: Path) -> Any:
    import deltaskip as ds

    return ds.scan_polars(folder / "t")


def _relation(folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    return _scan(folder).to_duckdb(connection, "t")


def _copy(folder: Path, ordered: str = "true") -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET preserve_insertion_order = {ordered}")
    _scan(folder).to_duckdb(connection, "t")
    connection.execute(f"COPY (SELECT * FROM t WHERE a >= 0) TO '{folder / 'out.parquet'}'")


def _new(folder: Path) -> Any:
    import deltaskip as ds

    return ds.DeltaTable.create(folder / "new", COLUMNS)


def _table(folder: Path) -> Any:
    import deltaskip as ds

    return ds.DeltaTable(folder / "t")


def _sums(folder: Path) -> None:
    import pyarrow.compute as pc

    for batch in _scan(folder).to_batches():
        pc.sum(batch["a"])


def _merged(table: Any, source: Any) -> None:
    merge = table.merge(source, "target.id = source.id")
    merge.when_matched_update({"a": "source.a"}).when_not_matched_insert_all().execute()


def _replaced(folder: Path) -> None:
    import pyarrow as pa

    row = {"id": [0], "a": [0.0], "b": [0.0], "c": [0.0], "s": ["0"]}
    _table(folder).overwrite(pa.table(row), "id % 2 = 0")


def _one_of_a_thousand(folder: Path) -> Any:
    import polars as pl

    return _lazy(folder).filter(pl.col("id") % 1000 == 0)


CASES: dict[str, Callable[[Path], Any]] = {
    "read batches": _sums,
    "Polars: sink_parquet of to_polars(lazy=True)": lambda f: _scan(f).to_polars(lazy=True).sink_parquet(f / "o"),
    "Polars: sink_parquet of scan_polars": lambda f: _lazy(f).sink_parquet(f / "o"),
    "DuckDB: COPY (SELECT … FROM view) TO": _copy,
    "the same without preserve_insertion_order": lambda f: _copy(f, "false"),
    "append(scan)": lambda f: _new(f).append(_scan(f)),
    "append(LazyFrame)": lambda f: _new(f).append(_lazy(f)),
    "append(relation)": lambda f: _new(f).append(_relation(f)),
    "overwrite(scan)": lambda f: _table(f).overwrite(_scan(f)),
    "overwrite(LazyFrame)": lambda f: _table(f).overwrite(_lazy(f)),
    "overwrite(1 row, where) of half of each file": _replaced,
    "delete half of each file": lambda f: _table(f).delete("id % 2 = 0"),
    "update all": lambda f: _table(f).update({"a": "a + 1"}),
    "optimize": lambda f: _table(f).optimize(),
    "merge(LazyFrame of 1 row of 1,000)": lambda f: _merged(_table(f), _one_of_a_thousand(f)),
    "merge(LazyFrame of all rows)": lambda f: _merged(_table(f), _lazy(f)),
    "merge(scan of all rows into an empty table)": lambda f: _merged(_new(f), _scan(f)),
}
"""What is done with the folder that has the table `t`."""


def _peak() -> int:
    """Bytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _measure(case: str, small: Path, folder: Path) -> None:
    run = CASES[case]
    run(small)
    before = _peak()
    start = perf_counter()
    run(folder)
    print(f"{(_peak() - before) / 1e6:.0f} {perf_counter() - start:.1f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1500], help="megabytes of rows")
    parser.add_argument("--only", nargs="+", default=list(CASES))
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--create", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.create:
        return _create(Path(options.create[0]), int(options.create[1]))
    if options.step:
        return _measure(options.step[0], Path(options.step[1]), Path(options.step[2]))
    # This process stays small: the peak of another one begins with what its parent had.
    folder = Path(tempfile.mkdtemp(prefix="deltaskip-memory-"))
    this = [sys.executable, "-m", "benchmarks.memory"]
    try:
        for size in (0, *options.sizes):
            subprocess.run([*this, "--create", str(folder / f"{size}"), str(size)], check=True)
        print(f"| memory (seconds) | {' | '.join(f'{size:,} MB of rows' for size in options.sizes)} |")
        print(f"|---|{'---|' * len(options.sizes)}")
        for case in options.only:
            found = []
            for size in options.sizes:
                work = Path(tempfile.mkdtemp(dir=folder))
                for name, table in (("small", 0), ("large", size)):
                    shutil.copytree(folder / f"{table}", work / name / "t", copy_function=_link)
                step = [*this, "--step", case, str(work / "small"), str(work / "large")]
                ran = subprocess.run(step, capture_output=True, text=True)
                memory, seconds = ran.stdout.split() if ran.returncode == 0 else (ran.stderr.splitlines()[-1], "")
                found.append(f"{memory} MB ({seconds})" if seconds else memory)
                shutil.rmtree(work)
            print(f"| {case} | {' | '.join(found)} |", flush=True)
    finally:
        shutil.rmtree(folder)


def _link(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


if __name__ == "__main__":
    main()

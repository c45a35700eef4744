"""Rows read as Arrow in this process, beside deltalake and DuckDB.

    python -m benchmarks.reads [--rows 10000000] [--rounds 5] [--folder DIR] [--only NAME ...] [--processor]

Every run opens the table and returns an Arrow table: `DeltaTable(path).scan(where, columns).to_arrow()`,
`to_pyarrow_table` of deltalake, and a query over `delta_scan` of DuckDB. Their runs alternate, the first round warms up
and is not counted, and their rows are counted. `--folder` keeps the tables. The table shows medians, and how many times
longer the peer takes in its best run than deltaskip in its own. `--processor` measures the time of the processor in all
threads instead, which other load on the machine changes less.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip import DeltaTable

Filters = list[tuple[str, str, Any]]


class Case(NamedTuple):
    """What is read: name, folder of the table, predicate as SQL and as filters of deltalake, and columns."""

    name: str
    table: str
    where: str | None = None
    filters: Filters | None = None
    columns: list[str] | None = None


def cases(rows: int) -> tuple[Case, ...]:
    """The cases for tables of so many rows."""
    low, high = rows // 2, rows // 2 + 999
    some: Filters = [("id", ">=", low), ("id", "<=", high)]
    return (
        Case("all rows", "plain"),
        Case("all rows, two columns of eight", "plain", columns=["k", "x"]),
        Case("1,000 rows of one file", "plain", f"id BETWEEN {low} AND {high}", some),
        Case("one row in 1,000 of every file", "plain", "k = 7", [("k", "=", 7)]),
        Case("one row in 100,000 of every file", "plain", "k = 7 AND x < 10", [("k", "=", 7), ("x", "<", 10.0)]),
        Case("1,000 rows of four large files", "large", f"id BETWEEN {low} AND {high}", some),
        Case("all rows of four large files", "large"),
        Case("two columns of twenty", "wide", columns=["c3", "c17"]),
        Case("all rows, deletion vectors", "vectors"),
        Case("one row in 1,000, deletion vectors", "vectors", "k = 8", [("k", "=", 8)]),
        Case("all rows, 100 partitions", "parted"),
        Case("one partition of 100", "parted", "p = 42", [("p", "=", 42)]),
        Case("2,000 small files", "small"),
        Case("strings", "strings"),
        Case("one string in 10,000", "strings", "few = 'word 77' AND h < '04'",
             [("few", "=", "word 77"), ("h", "<", "04")]),
    )  # fmt: skip


def rows_of(first: int, count: int) -> pa.Table:
    """Eight columns: key, integer, few and distinct strings, doubles, timestamps, dates, decimals."""
    random, index = np.random.default_rng(first), np.arange(first, first + count)
    return pa.table(
        {
            "id": index,
            "k": (index * 7919 % 1000).astype("int32"),
            "cust": pa.array(_CUSTOMERS).take(pa.array(index % 1000)),
            "x": random.random(count) * 1000,
            "ts": pa.array(1_700_000_000_000_000 + index * 1000, pa.timestamp("us", "UTC")),
            "d": pa.array((18262 + index % 365).astype("int32"), pa.date32()),
            "price": pa.array(random.integers(0, 10**6, count)).cast(pa.decimal128(21, 2)).cast(pa.decimal128(18, 2)),
            "h": _hex(index),
        }
    )


def strings_of(first: int, count: int) -> pa.Table:
    """Few and distinct strings, long ones, and some that are null."""
    index = np.arange(first, first + count)
    h = _hex(index)
    null = pa.array(index % 3 == 0)
    words = pa.array([f"word {i}" for i in range(100)])
    long = pa.compute.binary_join_element_wise(h, h, h, h, h, h, " ")
    return pa.table(
        {
            "few": words.take(pa.array(index % 100)),
            "h": h,
            "long": long,
            "some": pa.compute.if_else(null, pa.scalar(None, pa.string()), h),
        }
    )


_CUSTOMERS = [f"cust_{i}" for i in range(1000)]


def _hex(index: np.ndarray[Any, Any]) -> pa.Array:
    return pa.array([f"{i * 2654435761 % 2**32:08x}" for i in index.tolist()])


def tables(folder: Path, rows: int) -> dict[str, Callable[[Path], None]]:
    """What makes each table."""

    def plain(path: Path, files: int = 100, properties: dict[str, str] | None = None, groups: int = 1 << 20) -> None:
        many = rows // files
        _written(path, (rows_of(i * many, many) for i in range(files)), properties, groups)

    def wide(path: Path) -> None:
        many = rows // 100
        parts = ({f"c{i}": rows_of(n * many, many)["x"] for i in range(20)} for n in range(20))
        _written(path, map(pa.table, parts))

    def vectors(path: Path) -> None:
        plain(path, properties={"delta.enableDeletionVectors": "true"})
        DeltaTable(path).delete("k = 7")

    def parted(path: Path) -> None:
        many = rows // 100
        table = DeltaTable.create(path, pa.schema([*rows_of(0, 1).schema, ("p", pa.int32())]), ["p"])
        for number in range(100):
            (path / f"p={number}").mkdir()
            pq.write_table(rows_of(number * many, many), path / f"p={number}" / "f.parquet")
        table.add_files([f"p={number}/f.parquet" for number in range(100)])

    return {
        "plain": plain,
        "large": lambda path: plain(path, 4, groups=100_000),
        "wide": wide,
        "vectors": vectors,
        "parted": parted,
        "small": lambda path: _written(path, (rows_of(i * 1_000, 1_000) for i in range(2_000))),
        "strings": lambda path: _written(path, (strings_of(i * rows // 100, rows // 100) for i in range(20))),
    }


def _written(
    path: Path, parts: Iterator[pa.Table], properties: dict[str, str] | None = None, groups: int = 1 << 20
) -> None:
    names, table = [], None
    for number, part in enumerate(parts):
        table = table or DeltaTable.create(path, part.schema, properties=properties)
        names.append(f"{number:05}.parquet")
        pq.write_table(part, path / names[-1], row_group_size=groups)
    assert table is not None
    table.add_files(names)


def deltaskip_rows(path: Path, case: Case) -> pa.Table:
    """Rows by deltaskip."""
    return DeltaTable(path).scan(case.where, columns=case.columns).to_arrow()


def deltalake_rows(path: Path, case: Case) -> pa.Table:
    """Rows by deltalake."""
    import deltalake

    return deltalake.DeltaTable(str(path)).to_pyarrow_table(columns=case.columns, filters=case.filters)


def duckdb_rows(path: Path, case: Case) -> pa.Table:
    """Rows by DuckDB."""
    where = "" if case.where is None else f" WHERE {case.where}"
    columns = "*" if case.columns is None else ", ".join(case.columns)
    return _connection().execute(f"SELECT {columns} FROM delta_scan('{path}'){where}").to_arrow_table()


def _connection() -> Any:
    import duckdb
    import duckdb_extension_delta

    if "delta" not in _CONNECTIONS:
        connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
        extension = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")
        connection.execute("SET TimeZone = 'UTC'")
        _CONNECTIONS["delta"] = connection
    return _CONNECTIONS["delta"]


_CONNECTIONS: dict[str, Any] = {}
READERS = {"deltaskip": deltaskip_rows, "deltalake": deltalake_rows, "DuckDB": duckdb_rows}


def measure(folder: Path, rows: int, rounds: int, only: Sequence[str], clock: Callable[[], float]) -> None:
    """Read every case with every reader, and print a line for each case."""
    makers = tables(folder, rows)
    print("| | rows | deltaskip | deltalake | DuckDB | deltalake ÷ deltaskip | DuckDB ÷ deltaskip |")
    print("|---|---|---|---|---|---|---|")
    for case in cases(rows):
        if only and not any(name in case.name for name in only):
            continue
        path = folder / f"{case.table}-{rows}"
        if not path.exists():
            makers[case.table](path)
        times: dict[str, list[float]] = {name: [] for name in READERS}
        counts = {}
        for turn in range(rounds + 1):
            for name, read in READERS.items():
                start = clock()
                try:
                    counts[name] = read(path, case).num_rows
                except Exception as error:
                    if name == "deltaskip":
                        raise
                    counts[name] = type(error).__name__
                    continue
                if turn:
                    times[name].append(clock() - start)
        numbers = {count for count in counts.values() if isinstance(count, int)}
        assert len(numbers) == 1, f"{case.name}: {counts}"
        ratios = [f"{min(times[peer]) / min(times['deltaskip']):.2f} ×" if times[peer] else "" for peer in READERS][1:]
        medians = [_shown(statistics.median(each)) if each else "refused" for each in times.values()]
        print(f"| {case.name} | {numbers.pop():,} | {' | '.join((*medians, *ratios))} |", flush=True)


def _shown(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--processor", action="store_true")
    given = parser.parse_args()
    clock = time.process_time if given.processor else time.perf_counter
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        measure(given.folder, given.rows, given.rounds, given.only, clock)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), given.rows, given.rounds, given.only, clock)


if __name__ == "__main__":
    main()

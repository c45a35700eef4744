"""Predicates with expressions over rows, beside deltalake and DuckDB.

    python -m benchmarks.expressions [--rows 1000000] [--rounds 5] [--folder DIR] [--only TEXT ...]

Every run opens the table and returns the column `id` of the rows that match, as an Arrow table: a scan of deltaskip
with `where`, DataFusion's SQL through `deltalake.QueryBuilder`, and a query over `delta_scan` of DuckDB. Their runs
alternate, the first round warms up and is not counted, and they must find as many rows. The session's time zone is
UTC, so that all three mean the same. The table shows medians, and how many times longer the peer takes in its best run
than deltaskip in its own; a peer that has no such expression has no figure.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.reads import _connection
from deltaskip import DeltaTable

FILES = 4


class Case(NamedTuple):
    """A predicate in Spark's SQL, and in that of the peers where it differs; "" if one has none."""

    where: str
    datafusion: str | None = None
    duckdb: str | None = None


CASES = (
    Case("price * 2 > 150"),
    Case("q > 0 AND price / q > 20"),
    Case("abs(price - 50) < 0.1"),
    Case("d * 2 > 15000"),
    Case("d + q > 9000"),
    Case("d / 3 > 3000"),
    Case("id % 7 = 3"),
    Case("id + 1 > 500000"),
    Case("CAST(price AS INT) = 70", duckdb="CAST(trunc(price) AS INT) = 70"),
    Case("floor(price) = 70"),
    Case("hour(ts) = 3", "date_part('hour', ts) = 3"),
    Case("year(ts) = 2021", "date_part('year', ts) = 2021"),
    Case("dayofweek(ts) = 2", "date_part('dow', ts) = 1", "dayofweek(ts) = 1"),
    Case("date_trunc('HOUR', ts) = TIMESTAMP'2021-01-01 00:00:00'",
         "date_trunc('hour', ts) = arrow_cast(TIMESTAMP '2021-01-01', 'Timestamp(Microsecond, Some(\"UTC\"))')",
         "date_trunc('hour', ts) = TIMESTAMPTZ '2021-01-01 00:00:00+00'"),
    Case("CAST(ts AS DATE) = DATE'2021-01-01'"),
    Case("date_format(ts, 'yyyy-MM') = '2021-01'", "to_char(ts, '%Y-%m') = '2021-01'",
         "strftime(ts, '%Y-%m') = '2021-01'"),
    Case("CAST(ts AS STRING) > '2022'", duckdb="CAST(ts AS VARCHAR) > '2022'"),
    Case("month(day) = 2", "date_part('month', day) = 2"),
    Case("last_day(day) = day", "", "last_day(day) = day"),
    Case("upper(s) = 'NAME-7'"),
    Case("concat(s, 'x') = 'name-7x'"),
    Case("substring(s, 1, 4) = 'name'"),
    Case("s LIKE '%99'"),
    Case("s LIKE 'n%e-_7%'"),
    Case("length(s) = 8"),
    Case("instr(s, '99') = 6", "strpos(s, '99') = 6"),
    Case("CASE WHEN id > 500000 THEN price ELSE q END > 3"),
    Case("coalesce(some, q) > 5"),
    Case("CAST(id AS STRING) = '77'", duckdb="CAST(id AS VARCHAR) = '77'"),
    Case("price BETWEEN q AND q * 10"),
    Case("(price > 10 AND q < 5) OR (price < 2 AND q > 9)"),
)  # fmt: skip


def rows_of(first: int, count: int) -> pa.Table:
    """Nine columns: key, doubles, a decimal, timestamps, dates, few strings, and doubles of which some are null."""
    random, index = np.random.default_rng(first), np.arange(first, first + count)
    price = random.random(count) * 200
    return pa.table(
        {
            "id": index,
            "price": price,
            "q": random.random(count) * 10,
            "some": pa.array(random.random(count) * 10, mask=index % 3 == 0),
            "d": pa.array((price * 5000).astype(np.int64)).cast(pa.decimal128(21, 2)).cast(pa.decimal128(22, 2)),
            "ts": pa.array(1_600_000_000_000_000 + random.integers(0, 10**14, count), pa.timestamp("us", "UTC")),
            "day": pa.array((18262 + index % 365).astype("int32"), pa.date32()),
            "s": pa.array([f"name-{number}" for number in (index % 5000).tolist()]),
        }
    )


def made(path: Path, rows: int) -> None:
    """The table, in FILES files."""
    table = DeltaTable.create(path, rows_of(0, 1).schema)
    names = [f"{number}.parquet" for number in range(FILES)]
    for number, name in enumerate(names):
        pq.write_table(rows_of(number * rows // FILES, rows // FILES), path / name)
    table.add_files(names)


def deltaskip_rows(path: Path, case: Case) -> pa.Table:
    """Rows by deltaskip."""
    return DeltaTable(path).scan(case.where, columns=["id"], time_zone="UTC").to_arrow()


def deltalake_rows(path: Path, case: Case) -> pa.Table:
    """Rows by DataFusion over deltalake."""
    import deltalake

    where = case.where if case.datafusion is None else case.datafusion
    found = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    return pa.table(found.execute(f"SELECT id FROM t WHERE {where}").read_all())


def duckdb_rows(path: Path, case: Case) -> pa.Table:
    """Rows by DuckDB."""
    where = case.where if case.duckdb is None else case.duckdb
    return _connection().execute(f"SELECT id FROM delta_scan('{path}') WHERE {where}").to_arrow_table()


READERS = {"deltaskip": deltaskip_rows, "deltalake": deltalake_rows, "DuckDB": duckdb_rows}


def measure(path: Path, rounds: int, only: list[str]) -> None:
    """Evaluate every predicate with every reader, and print a line for each."""
    print("| | rows | deltaskip | deltalake | DuckDB | deltalake ÷ deltaskip | DuckDB ÷ deltaskip |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        if only and not any(text in case.where for text in only):
            continue
        readers = {name: read for name, read in READERS.items() if getattr(case, _COLUMN[name]) != ""}
        times: dict[str, list[float]] = {name: [] for name in readers}
        counts: dict[str, Any] = {}
        for number in range(rounds + 1):
            for name, read in list(readers.items()):
                started = time.perf_counter()
                try:
                    counts[name] = read(path, case).num_rows
                except Exception as error:
                    if name == "deltaskip":
                        raise
                    counts[name] = f"{name}: {str(error).splitlines()[0][:60]}"
                    del readers[name], times[name]
                    continue
                if number:
                    times[name].append(time.perf_counter() - started)
        told = {count for count in counts.values() if isinstance(count, int)}
        shown = str(told.pop()) if len(told) == 1 else str(counts)
        cells = [f"{statistics.median(times[name]) * 1000:.0f} ms" if times.get(name) else "–" for name in READERS]
        ratios = [
            f"{min(times[name]) / min(times['deltaskip']):.2f}" if times.get(name) else "–"
            for name in ("deltalake", "DuckDB")
        ]
        print(f"| `{case.where}` | {shown} | {' | '.join(cells)} | {' | '.join(ratios)} |", flush=True)


_COLUMN = {"deltaskip": "where", "deltalake": "datafusion", "DuckDB": "duckdb"}


def main() -> None:
    """Measure, see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="cases that have one of these texts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = (options.folder or Path(temporary)) / f"expressions-{options.rows}"
        if not path.exists():
            made(path, options.rows)
        measure(path, options.rounds, options.only)


if __name__ == "__main__":
    main()

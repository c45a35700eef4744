"""Predicates with expressions over rows, beside deltalake and DuckDB.

    python -m benchmarks.expressions [--rows 1000000] [--rounds 5] [--folder DIR] [--only TEXT ...] [--arrow]

Every run opens the table and returns the column `id` of the rows that match, as an Arrow table: a scan of deltaskip
with `where`, DataFusion's SQL through `deltalake.QueryBuilder`, and a query over `delta_scan` of DuckDB. Their runs
alternate, the first round warms up and is not counted, and they must find as many rows. The session's time zone is
UTC, so that all three mean the same. The table shows medians, and how many times longer the peer takes in its best run
than deltaskip in its own; a peer that has no such expression has no figure. The last column has the same two ratios of
processor time, of which a busy machine takes nothing away. "Berlin" is the zone of local times where a case says so;
the peers then convert the column. With `--arrow` the rows are an Arrow table in memory, which `sparkexpr.filter`,
DataFusion (`pip install datafusion`) and DuckDB filter. By asv, deltaskip alone.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.reads import _connection
from benchmarks.sizes import sized
from deltaskip import DeltaTable, sparkexpr

FILES = 4


class Case(NamedTuple):
    """A predicate in Spark's SQL, and in that of the peers where it differs; "" if one has none."""

    where: str
    datafusion: str | None = None
    duckdb: str | None = None
    zone: str = "UTC"

    @property
    def label(self) -> str:
        """The predicate, and its zone."""
        return f"`{self.where}`" + ("" if self.zone == "UTC" else ", Berlin")


_BERLIN = "Europe/Berlin"
_THERE = "arrow_cast(ts, 'Timestamp(Microsecond, Some(\"Europe/Berlin\"))')"
_CLOCK = "(ts AT TIME ZONE 'Europe/Berlin')"

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
    Case("coalesce(some, q) > 5", duckdb='coalesce("some", q) > 5'),
    Case("CAST(id AS STRING) = '77'", duckdb="CAST(id AS VARCHAR) = '77'"),
    Case("price BETWEEN q AND q * 10"),
    Case("(price > 10 AND q < 5) OR (price < 2 AND q > 9)"),
    # Arithmetic.
    Case("price + q > 100"),
    Case("-price < -150"),
    Case("round(price) = 70"),
    Case("sqrt(price) > 12"),
    Case("exp(q) > 1000"),
    Case("ln(price) > 4"),
    Case("pow(q, 2) > 50"),
    Case("price % 10 < 1"),
    Case("id * id > 1000000"),
    Case("id div 7 = 3", "id / 7 = 3", "id // 7 = 3"),
    Case("id & 7 = 3", "(id & 7) = 3", "(id & 7) = 3"),
    Case("shiftright(id, 3) = 77", "(id >> 3) = 77", "(id >> 3) = 77"),
    Case("greatest(price, q) > 150"),
    Case("ceil(price) = 71"),
    Case("d * d > 1000000"),
    Case("d - d / 2 > 1000"),
    Case("round(d, 0) > 5000"),
    # Comparisons and conditions.
    Case("price > q"),
    Case("id BETWEEN 1000 AND 2000"),
    Case("id IN (1, 5, 77, 1000)"),
    Case("s IN ('name-1', 'name-5', 'name-77')"),
    Case("some IS NULL", duckdb='"some" IS NULL'),
    Case("some <=> q", "some IS NOT DISTINCT FROM q", '"some" IS NOT DISTINCT FROM q'),
    Case("NOT (price > 100 OR q > 5)"),
    Case("t > 'f'"),
    Case("if(price > q, price, q) > 100", "CASE WHEN price > q THEN price ELSE q END > 100"),
    Case("CASE WHEN q < 1 THEN 'a' WHEN q < 5 THEN 'b' ELSE 'c' END = 'b'"),
    Case("nvl(some, 0) > 5", duckdb='ifnull("some", 0) > 5'),
    Case("nullif(id % 5, 0) IS NULL"),
    # Strings, each another one.
    Case("upper(t) < '1'"),
    Case("length(t) = 12"),
    Case("t LIKE '%abc%'"),
    Case("t LIKE 'ab%'"),
    Case("t LIKE '%a%b%c'"),
    Case("substring(t, 3, 2) = 'ab'"),
    Case("left(t, 2) = 'ab'"),
    Case("concat(t, s) < '1'"),
    Case("trim(t) = 'abc'"),
    Case("replace(t, 'a', 'bb') < '1'"),
    Case("reverse(t) < '1'"),
    Case("lpad(t, 16, '0') < '00001'"),
    Case("split_part(t, 'a', 2) = 'b'"),
    Case("instr(t, 'ab') = 3", "strpos(t, 'ab') = 3"),
    Case("t RLIKE '^[0-9]+a'", "regexp_like(t, '^[0-9]+a')", "regexp_matches(t, '^[0-9]+a')"),
    Case("regexp_replace(t, '[0-9]+', '') = 'abc'", "regexp_replace(t, '[0-9]+', '', 'g') = 'abc'",
         "regexp_replace(t, '[0-9]+', '', 'g') = 'abc'"),
    # Hashes.
    Case("md5(t) < '1'"),
    Case("sha2(t, 256) < '1'", "encode(sha256(t), 'hex') < '1'", "sha256(t) < '1'"),
    # Dates and times.
    Case("date_add(day, 7) > DATE'2020-12-01'", "day + INTERVAL '7 days' > DATE'2020-12-01'",
         "day + 7 > DATE'2020-12-01'"),
    Case("datediff(day, DATE'2020-01-01') > 100", "CAST(day AS INT) - CAST(DATE'2020-01-01' AS INT) > 100",
         "datediff('day', DATE'2020-01-01', day) > 100"),
    Case("day + INTERVAL 1 MONTH > DATE'2020-12-01'", "day + INTERVAL '1 month' > DATE'2020-12-01'"),
    Case("quarter(ts) = 2", "date_part('quarter', ts) = 2"),
    Case("ts + INTERVAL 1 HOUR > TIMESTAMP'2022-01-01 00:00:00'",
         "ts + INTERVAL '1 hour' > arrow_cast(TIMESTAMP '2022-01-01', 'Timestamp(Microsecond, Some(\"UTC\"))')",
         "ts + INTERVAL 1 HOUR > TIMESTAMPTZ '2022-01-01 00:00:00+00'"),
    Case("unix_seconds(ts) > 1650000000", "date_part('epoch', ts) > 1650000000",
         "epoch_us(ts) // 1000000 > 1650000000"),
    Case("trunc(day, 'MM') = DATE'2020-02-01'", "date_trunc('month', day) = DATE'2020-02-01'",
         "date_trunc('month', day) = DATE'2020-02-01'"),
    # Times in a zone.
    Case("hour(ts) = 3", f"date_part('hour', {_THERE}) = 3", f"date_part('hour', {_CLOCK}) = 3", _BERLIN),
    Case("CAST(ts AS DATE) = DATE'2021-01-01'", f"CAST({_THERE} AS DATE) = DATE'2021-01-01'",
         f"CAST({_CLOCK} AS DATE) = DATE'2021-01-01'", _BERLIN),
    Case("date_trunc('DAY', ts) = TIMESTAMP'2021-01-01 00:00:00'", "",
         f"date_trunc('day', {_CLOCK}) = TIMESTAMP '2021-01-01 00:00:00'", _BERLIN),
    Case("date_format(ts, 'yyyy-MM-dd HH:mm') = '2021-01-01 00:07'",
         f"to_char({_THERE}, '%Y-%m-%d %H:%M') = '2021-01-01 00:07'",
         f"strftime({_CLOCK}, '%Y-%m-%d %H:%M') = '2021-01-01 00:07'", _BERLIN),
    # Casts.
    Case("CAST(number AS INT) = 77"),
    Case("CAST(number AS DOUBLE) > 500000"),
    Case("CAST(day_text AS DATE) = DATE'2020-02-01'"),
    Case("to_timestamp(ts_text, 'yyyy-MM-dd HH:mm:ss') > TIMESTAMP'2021-01-01 00:00:00'",
         "to_timestamp(ts_text, '%Y-%m-%d %H:%M:%S') > TIMESTAMP '2021-01-01 00:00:00'",
         "strptime(ts_text, '%Y-%m-%d %H:%M:%S') > TIMESTAMP '2021-01-01 00:00:00'"),
    Case("CAST(price AS DECIMAL(10, 2)) > 150"),
    Case("CAST(day AS STRING) = '2020-02-01'", duckdb="CAST(day AS VARCHAR) = '2020-02-01'"),
    # Nested values and JSON.
    Case("st.x > 500000", "get_field(st, 'x') > 500000"),
    Case("st.y = 'y-77'", "get_field(st, 'y') = 'y-77'"),
    Case("array_contains(a, 77)", "array_has(a, 77)", "list_contains(a, 77)"),
    Case("size(a) = 3", "array_length(a) = 3", "len(a) = 3"),
    Case("get(a, 0) = 77", "a[1] = 77", "a[1] = 77"),
    Case("array_max(a) > 950", duckdb="list_max(a) > 950"),
    Case("size(array_distinct(a)) = 4", "array_length(array_distinct(a)) = 4", "len(list_distinct(a)) = 4"),
    Case("array_join(a, '-') = '1-2'", "array_to_string(a, '-') = '1-2'", "array_to_string(a, '-') = '1-2'"),
    Case("exists(a, x -> x > 990)", "", "len(list_filter(a, x -> x > 990)) > 0"),
    Case("m['k'] = 77", duckdb="m['k'] = 77"),
    Case("get_json_object(js, '$.b.c') = '77'", "", "json_extract_string(js, '$.b.c') = '77'"),
)  # fmt: skip


def rows_of(first: int, count: int) -> pa.Table:
    """Columns of each kind: key, doubles, a decimal, times, few strings, strings that differ, and nested values."""
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
            "t": pa.array([f"{number * 2654435761 % 2**44:011x}"[: 6 + number % 8] for number in index.tolist()]),
            "number": pc.cast(pa.array(index), pa.string()),
            "day_text": pc.cast(pa.array((18262 + index % 365).astype("int32"), pa.date32()), pa.string()),
            "ts_text": pc.strftime(
                pa.array(1_600_000_000 + index * 61 % 10**8, pa.timestamp("s")), "%Y-%m-%d %H:%M:%S"
            ),
            "st": pa.array([{"x": number, "y": f"y-{number % 999}"} for number in index.tolist()]),
            "a": pa.ListArray.from_arrays(
                np.concatenate([[0], np.cumsum(index % 5)]).astype(np.int32),
                random.integers(0, 1000, int((index % 5).sum())),
            ),
            "m": pa.MapArray.from_arrays(
                np.arange(count + 1, dtype=np.int32) * 2,
                pa.array(["k", "l"] * count),
                random.integers(0, 1000, 2 * count),
            ),
            "js": pa.array(
                [f'{{"a": {number}, "b": {{"c": "{number % 997}", "d": [1, 2]}}}}' for number in index.tolist()]
            ),
        }
    )


def made(path: Path, rows: int, columns: list[str] | None = None) -> None:
    """The table, in FILES files."""
    columns = columns or rows_of(0, 1).column_names
    table = DeltaTable.create(path, rows_of(0, 1).select(columns).schema)
    names = [f"{number}.parquet" for number in range(FILES)]
    for number, name in enumerate(names):
        pq.write_table(rows_of(number * rows // FILES, rows // FILES).select(columns), path / name)
    table.add_files(names)


def deltaskip_rows(path: Path, case: Case) -> pa.Table:
    """Rows by deltaskip."""
    return DeltaTable(path).scan(case.where, columns=["id"], time_zone=case.zone).to_arrow()


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


def filtered_rows(table: pa.Table, case: Case) -> pa.Table:
    """Rows of an Arrow table by deltaskip, which filters the columns that it needs."""
    used = [name for name in table.column_names if re.search(rf"\b{name}\b", case.where)]
    return sparkexpr.filter(case.where, table.select(dict.fromkeys(["id", *used])), time_zone=case.zone).select(["id"])


def datafusion_rows(table: pa.Table, case: Case) -> pa.Table:
    """Rows of an Arrow table by DataFusion."""
    import datafusion

    context = datafusion.SessionContext()
    context.register_record_batches("t", [table.to_batches()])
    where = case.where if case.datafusion is None else case.datafusion
    return pa.table(context.sql(f"SELECT id FROM t WHERE {where}"))


def duckdb_filtered_rows(table: pa.Table, case: Case) -> pa.Table:
    """Rows of an Arrow table by DuckDB."""
    where = case.where if case.duckdb is None else case.duckdb
    return _connection().register("t", table).execute(f"SELECT id FROM t WHERE {where}").to_arrow_table()


FILTERS = {"deltaskip": filtered_rows, "deltalake": datafusion_rows, "DuckDB": duckdb_filtered_rows}


def measure(rows: Any, rounds: int, only: list[str], given: dict[str, Any]) -> None:
    """Evaluate every predicate with every reader, and print a line for each."""
    peer = "DataFusion" if given is FILTERS else "deltalake"
    print(f"| | rows | deltaskip | {peer} | DuckDB | {peer} ÷ deltaskip | DuckDB ÷ deltaskip | processor time |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        if only and not any(text in case.where for text in only):
            continue
        readers = {name: read for name, read in given.items() if getattr(case, _COLUMN[name]) != ""}
        times: dict[str, list[float]] = {name: [] for name in readers}
        used: dict[str, list[float]] = {name: [] for name in readers}
        counts: dict[str, Any] = {}
        for number in range(rounds + 1):
            for name, read in list(readers.items()):
                started, before = time.perf_counter(), time.process_time()
                try:
                    counts[name] = read(rows, case).num_rows
                except Exception as error:
                    if name == "deltaskip":
                        raise
                    counts[name] = f"{name}: {str(error).splitlines()[0][:60]}"
                    del readers[name], times[name], used[name]
                    continue
                if number:
                    times[name].append(time.perf_counter() - started)
                    used[name].append(time.process_time() - before)
        told = {count for count in counts.values() if isinstance(count, int)}
        shown = str(told.pop()) if len(told) == 1 else str(counts)
        cells = [f"{statistics.median(times[name]) * 1000:.0f} ms" if times.get(name) else "–" for name in READERS]
        ratios = [
            f"{min(each[name]) / min(each['deltaskip']):.2f}" if each.get(name) else "–"
            for each in (times, used)
            for name in ("deltalake", "DuckDB")
        ]
        ratios[2:] = [", ".join(ratios[2:])]
        print(f"| {case.label} | {shown} | {' | '.join(cells)} | {' | '.join(ratios)} |", flush=True)


class Predicates:
    """The rows for which a predicate is TRUE, by deltaskip alone."""

    params = (tuple(case.label for case in CASES),)
    param_names = ("predicate",)

    def setup_cache(self) -> str:
        path = Path("expressions").absolute()
        made(path, sized(1_000_000, 20_000))
        return str(path)

    def setup(self, path: str, label: str) -> None:
        self.case = next(case for case in CASES if case.label == label)

    def time_rows(self, path: str, label: str) -> None:
        deltaskip_rows(Path(path), self.case)


_COLUMN = {"deltaskip": "where", "deltalake": "datafusion", "DuckDB": "duckdb"}


def main() -> None:
    """Measure, see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="cases that have one of these texts")
    parser.add_argument("--arrow", action="store_true", help="filter an Arrow table in memory")
    options = parser.parse_args()
    if options.arrow:
        measure(rows_of(0, options.rows), options.rounds, options.only, FILTERS)
        return
    with tempfile.TemporaryDirectory() as temporary:
        path = (options.folder or Path(temporary)) / f"expressions-{options.rows}"
        if not path.exists():
            made(path, options.rows)
        measure(path, options.rounds, options.only, READERS)


if __name__ == "__main__":
    main()

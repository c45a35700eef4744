"""The first rows of an order, and totals, beside deltalake, DuckDB and delta-spark.

    python -m benchmarks.log_answers [--files 10000] [--rows 2000] [--rounds 5] [--folder DIR] [--only NAME ...]
                                  [--processor] [--pairs]

Two tables of so many files of so many rows, in a hundred partitions each: in `clustered`, a tenth of a file's times
overlap those of the next file; in `mixed`, every file has times of the whole range. Every run opens the table and
returns the answer: `DeltaTable(path).scan(where).top(10, by)` and `.aggregate(by, ...)`, SQL over `delta_scan` of
DuckDB and over the QueryBuilder of deltalake, and the same SQL through delta-spark, which keeps the log that it has
loaded. Their runs alternate, the first round warms up and is not counted, and their answers must be equal. delta-spark
needs Java and DELTASKIP_DELTA_JARS, and is left out otherwise. The report shows medians, how many files deltaskip has
read, and how many times longer each peer takes in its best run than deltaskip in its own. `--processor` measures the
time of the processor in all threads of this process instead, without delta-spark, which other load changes less.

`--pairs` compares deltaskip with itself without these answers: tops, totals, joins and plain queries, by
`deltaskip.sql` and by scans, over small tables and over files that are clustered or all overlap. Scans are compared
with all rows, sorted or added up by pyarrow. Both alternate, and the report shows their processor time and the median
of the ratios. It ends with an error if one is below 0.95.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.reads import _connection
from benchmarks.recompute import JARS, session
from benchmarks.sizes import SMALL, sized
from deltaskip import DeltaTable, sql

_START = datetime(2024, 1, 1, tzinfo=UTC)
# Of a file of the clustered table.
_SPAN = timedelta(minutes=10)
_SHARED = 0.1
_PARTITIONS = 100


class Case(NamedTuple):
    """What is asked: name, table, predicate as SQL, order of the first ten rows, or groups and aggregates."""

    name: str
    table: str
    where: str | None = None
    order: str | None = None
    by: str | None = None
    aggregates: tuple[str, ...] = ()

    def sql(self, source: str) -> str:
        """The question in SQL."""
        where = "" if self.where is None else f" WHERE {self.where}"
        if self.order is not None:
            return f"SELECT id, ts FROM {source}{where} ORDER BY {self.order} LIMIT 10"
        shown = ", ".join([*([self.by] if self.by else []), *(f"{each}" for each in self.aggregates)])
        return f"SELECT {shown} FROM {source}{where}" + (f" GROUP BY {self.by}" if self.by else "")


def cases(files: int) -> tuple[Case, ...]:
    """The cases for tables of so many files."""
    step = _SPAN * (1 - _SHARED)
    low, high = (_START + step * (files * share + 0.5) for share in (0.25, 0.75))
    between = f"ts >= TIMESTAMP '{_text(low)}' AND ts < TIMESTAMP '{_text(high)}'"
    every = ("count(*)", "count(v)", "min(v)", "max(ts)")
    return (
        Case("newest 10 of clustered files", "clustered", order="ts DESC"),
        Case("oldest 10 of a middle range", "clustered", between, "ts"),
        Case("newest 10 of files that all overlap", "mixed", order="ts DESC"),
        Case("rows of a range", "clustered", between, aggregates=("count(*)",)),
        Case("rows, values and extremes of a range", "clustered", between, aggregates=every),
        Case(
            "rows and extremes of 100 partitions", "clustered", by="part", aggregates=("count(*)", "min(v)", "max(v)")
        ),
        Case("extremes of a time", "clustered", aggregates=("min(ts)", "max(ts)")),
    )


def write_table(path: Path, files: int, rows: int, clustered: bool) -> None:
    """Write the table of a benchmark: id, ts, v (some are NULL) and a string, partitioned by part."""
    schema = pa.schema(
        [("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("v", pa.float64()), ("s", pa.string()),
         ("part", pa.int32())]
    )  # fmt: skip
    table = DeltaTable.create(path, schema, ["part"])
    words = pa.array([f"word {number}" for number in range(100)])
    micros = int(_SPAN.total_seconds() * 1e6)
    random = np.random.default_rng(7)
    names = []
    for number in range(files):
        first = int(number * micros * (1 - _SHARED)) if clustered else 0
        span = micros if clustered else micros * files
        times = int(_START.timestamp() * 1e6) + first + random.integers(0, span, rows)
        index = np.arange(number * rows, (number + 1) * rows)
        values = pa.array(random.random(rows), mask=index % 50 == 0)
        part = pa.table(
            [index, pa.array(times, pa.timestamp("us", "UTC")), values, words.take(pa.array(index % 100))],
            ["id", "ts", "v", "s"],
        )
        names.append(f"part={number * _PARTITIONS // files}/{number:05}.parquet")
        (path / names[-1]).parent.mkdir(exist_ok=True)
        pq.write_table(part, path / names[-1])
    table.add_files(names)
    DeltaTable(path).checkpoint()


def deltaskip_answer(path: Path, case: Case) -> tuple[pa.Table, int]:
    """The answer of deltaskip, and how many files it has read."""
    scan = DeltaTable(path).scan(case.where, columns=["id", "ts"] if case.order else None)
    if case.order is not None:
        scan = scan.top(10, case.order)
        found = scan.to_arrow()
    else:
        found = scan.aggregate([case.by] if case.by else (), **{each: each for each in case.aggregates})
    assert scan.metrics is not None
    return found, scan.metrics.files


def _duckdb_answer(path: Path, case: Case) -> pa.Table:
    return _connection().execute(case.sql(f"delta_scan('{path}')")).to_arrow_table()


def _deltalake_answer(path: Path, case: Case) -> pa.Table:
    import deltalake

    builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    return pa.table(builder.execute(case.sql("t")).read_all())


def _spark_answer(spark: Any) -> Callable[[Path, Case], pa.Table]:
    def answer(path: Path, case: Case) -> pa.Table:
        found: pa.Table = spark.sql(case.sql(f"delta.`{path}`")).toArrow()
        return found

    return answer


def measure(
    folder: Path,
    files: int,
    rows: int,
    rounds: int,
    only: Sequence[str],
    peers: dict[str, Any],
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Ask every question of every engine, and print a line for each."""
    print(
        "| | files read | deltaskip | "
        + " | ".join(peers)
        + " | "
        + " | ".join(f"{p} ÷ deltaskip" for p in peers)
        + " |"
    )
    print("|---" * (3 + 2 * len(peers)) + "|")
    for case in cases(files):
        if only and not any(name in case.name for name in only):
            continue
        path = folder / f"{case.table}-{files}-{rows}"
        if not path.exists():
            write_table(path, files, rows, case.table == "clustered")
        seconds: dict[str, list[float]] = {name: [] for name in ("deltaskip", *peers)}
        read = 0
        for turn in range(rounds + 1):
            answers = []
            for name in seconds:
                start = clock()
                if name == "deltaskip":
                    answer, read = deltaskip_answer(path, case)
                else:
                    answer = peers[name](path, case)
                taken = clock() - start
                answers.append(_plain(answer))
                if turn:
                    seconds[name].append(taken)
            assert all(each == answers[0] for each in answers), f"{case.name}: {answers}"
        best = min(seconds["deltaskip"])
        medians = " | ".join(f"{statistics.median(each) * 1000:,.1f} ms" for each in seconds.values())
        ratios = " | ".join(f"{min(seconds[name]) / best:,.1f} ×" for name in peers)
        print(f"| {case.name} | {read:,} | {medians} | {ratios} |", flush=True)


def _without(answer: Callable[[], pa.Table]) -> pa.Table:
    """The answer of deltaskip.sql without what the log answers, and without joins that skip."""
    from deltaskip.statements import from_the_log, local_query

    kept = from_the_log.log_answer, local_query._is_little
    from_the_log.log_answer, local_query._is_little = lambda *_: None, lambda _: True
    try:
        return answer()
    finally:
        from_the_log.log_answer, local_query._is_little = kept


def _sorted_rows(path: Path, where: str | None) -> pa.Table:
    rows = DeltaTable(path).scan(where, columns=["id", "ts"]).to_arrow()
    return rows.take(pc.select_k_unstable(rows, 10, [("ts", "descending")]))


def _totals_of_rows(path: Path, where: str | None) -> pa.Table:
    rows = DeltaTable(path).scan(where, columns=["v", "ts"]).to_arrow()
    least, last = pc.min(rows["v"]), pc.max(rows["ts"])
    return pa.table({"n": [len(rows)], "least": [least.as_py()], "last": pa.array([last.as_py()], rows["ts"].type)})


def pairs_of(
    folder: Path, files: int, rows: int
) -> Iterator[tuple[str, Callable[[], pa.Table], Callable[[], pa.Table]]]:
    """What is asked, with the answer from the log and without."""
    for table, count in (("small", 10), ("clustered", files), ("mixed", files)):
        path = folder / f"{table}-{count}-{rows}"
        if not path.exists():
            write_table(path, count, rows, table != "mixed")
        middle = f"ts >= TIMESTAMP '{_text(_START + _SPAN * (1 - _SHARED) * (count * 0.5))}'"
        at, inside = f"'{path}'", f"'{path}' AS a JOIN '{path}' AS b ON a.id = b.id"
        texts = {
            "top": f"SELECT id, ts FROM {at} ORDER BY ts DESC LIMIT 10",
            "top of a range": f"SELECT id, ts FROM {at} WHERE {middle} ORDER BY ts LIMIT 10",
            "top of any rows": f"SELECT id, ts FROM {at} WHERE v < 0.001 ORDER BY ts LIMIT 10",
            "totals": f"SELECT count(*) AS n, min(v) AS least, max(ts) AS last FROM {at}",
            "totals of a range": f"SELECT count(*) AS n, max(v) AS most FROM {at} WHERE {middle}",
            "totals of any rows": f"SELECT count(*) AS n, max(v) AS most FROM {at} WHERE v < 0.5",
            "totals of partitions": f"SELECT part, count(*) AS n, max(v) AS most FROM {at} GROUP BY part",
            "sum": f"SELECT sum(id) AS s FROM {at} WHERE v < 0.5",
            "groups": f"SELECT id % 10 AS k, count(*) AS n FROM {at} GROUP BY k",
            "rows of a range": f"SELECT id, v FROM {at} WHERE {middle} AND v < 0.001",
            "an expression": f"SELECT id + 1 AS x FROM {at} WHERE v < 0.001",
            "LIMIT": f"SELECT id FROM {at} LIMIT 5",
            "join with a range": f"SELECT count(*) AS n FROM {inside} WHERE b.id BETWEEN 100 AND 300",
            "join with a column without order": f"SELECT count(*) AS n FROM {inside} WHERE b.v < 0.00001",
            "join of keys everywhere": f"SELECT count(*) AS n FROM {inside} WHERE b.id % {rows} = 5",
        }
        for name, text in texts.items():
            ask = partial(sql, text)
            yield f"{table}: {name}", ask, partial(_without, ask)
        for name, where in (("", None), (" of a range", middle)):

            def top(path: Path = path, where: str | None = where) -> pa.Table:
                return DeltaTable(path).scan(where, columns=["id", "ts"]).top(10, "ts DESC").to_arrow()

            def totals(path: Path = path, where: str | None = where) -> pa.Table:
                return DeltaTable(path).scan(where).aggregate(n="count(*)", least="min(v)", last="max(ts)")

            yield f"{table}: scan.top{name}", top, partial(_sorted_rows, path, where)
            yield f"{table}: scan.aggregate{name}", totals, partial(_totals_of_rows, path, where)


def measure_pairs(folder: Path, files: int, rows: int, rounds: int, only: Sequence[str]) -> float:
    """Ask each question with and without the log in turns, print a line for each, and return the least ratio."""
    print("| | with the log | without | without ÷ with |\n|---|---|---|---|")
    least = float("inf")
    for name, ask, ask_without in pairs_of(folder, files, rows):
        if only and not any(each in name for each in only):
            continue
        times: list[tuple[float, float]] = []
        for turn in range(rounds + 1):
            answers, taken = [], []
            # Each is the first one in half of the rounds.
            for run in (ask, ask_without)[:: 1 if turn % 2 else -1]:
                start = time.process_time()
                answers.append(run())
                taken.append(time.process_time() - start)
            assert "LIMIT" in name or _plain(answers[0]) == _plain(answers[1]), name
            times.append((taken[0], taken[1]) if turn % 2 else (taken[1], taken[0]))
        ratio = statistics.median(without / on for on, without in times[1:])
        on, without = (statistics.median(each) * 1000 for each in zip(*times[1:], strict=True))
        least = min(least, ratio)
        print(f"| {name} | {on:,.1f} ms | {without:,.1f} ms | {ratio:,.2f} × |", flush=True)
    return least


def _plain(answer: pa.Table) -> list[tuple[Any, ...]]:
    columns = [answer.column(number).to_pylist() for number in range(answer.num_columns)]
    return sorted(zip(*columns, strict=True))


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")


class LogAnswers:
    """The first rows and totals of a table, without peers: for asv."""

    params = tuple(case.name for case in cases(1))

    def setup_cache(self) -> tuple[str, int]:
        """Write the tables."""
        files = sized(10_000, 40)
        folder = tempfile.mkdtemp(prefix="log-answers-")
        for name in ("clustered", "mixed"):
            write_table(Path(folder) / name, files, sized(2_000, 50), name == "clustered")
        return folder, files

    def setup(self, made: tuple[str, int], name: str) -> None:
        """Choose the case."""
        folder, files = made
        self.case = next(case for case in cases(files) if case.name == name)
        self.path = Path(folder) / self.case.table

    def time_answer(self, made: tuple[str, int], name: str) -> None:
        """Open the table and answer."""
        deltaskip_answer(self.path, self.case)

    def track_files(self, made: tuple[str, int], name: str) -> int:
        """How many files are read."""
        return deltaskip_answer(self.path, self.case)[1]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=sized(10_000, 200))
    parser.add_argument("--rows", type=int, default=sized(2_000, 100))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    given = parser.parse_args()
    if given.pairs:
        with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = given.folder or Path(scratch), given.files, given.rows, given.rounds, given.only
            least = measure_pairs(*asked)
        print(f"The least ratio is {least:.2f}.")
        sys.exit(least < 0.95 and not SMALL)
    peers: dict[str, Any] = {"deltalake": _deltalake_answer, "DuckDB": _duckdb_answer}
    if os.environ.get(JARS) and not given.processor:
        peers["delta-spark"] = _spark_answer(session(Path(os.environ[JARS])))
    with tempfile.TemporaryDirectory() as folder:
        clock = time.process_time if given.processor else time.perf_counter
        measure(given.folder or Path(folder), given.files, given.rows, given.rounds, given.only, peers, clock)


if __name__ == "__main__":
    main()

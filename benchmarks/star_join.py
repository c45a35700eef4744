"""Joins of a large table with a filtered one, beside DuckDB and delta-spark.

    python -m benchmarks.star_join [--files 10000] [--rows 2000] [--rounds 5] [--folder DIR] [--only NAME ...]

A table of facts of so many files of so many rows, clustered by the key of a dimension of ten keys a file. Every run
opens both tables and returns the answer: `deltaskip.sql(text)`, which lets DuckDB run the query, the same text over
`delta_scan` of DuckDB, and through delta-spark, which keeps the log that it has loaded. With delta-spark,
`deltaskip.sql(spark, text)` runs in its session, too. Runs alternate, the first round warms up and is not counted, and
the answers must be equal. delta-spark needs Java and DELTASKIP_DELTA_JARS, and is left out otherwise. The report shows
medians, how many files of the facts deltaskip reads and how many have a key of the join, and how many times longer each
peer takes in its best run than deltaskip in its own; for delta-spark also than deltaskip in its session.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.reads import _connection
from benchmarks.recompute import JARS, session
from benchmarks.sizes import sized
from deltaskip import DeltaTable, sql

_KEYS = 10
"""Keys of the dimension in a file of the facts."""
_SUMMED = "SELECT d.region, count(*) AS n, sum(f.v) AS total FROM {facts} AS f JOIN {keys} AS d ON f.k = d.k"


class Case(NamedTuple):
    """A query: its name and text."""

    name: str
    text: str


def cases(files: int) -> tuple[Case, ...]:
    """The queries for facts of so many files."""
    keys = files * _KEYS
    near = f"d.k BETWEEN {keys // 2} AND {keys // 2 + 199}"
    return (
        Case("200 keys of 200 files", f"{_SUMMED} WHERE d.grp = 0 GROUP BY d.region"),
        Case("200 keys of neighbors", f"{_SUMMED} WHERE {near} GROUP BY d.region"),
        Case(
            "IN (SELECT ...) of 200 keys",
            "SELECT count(*) AS n, sum(v) AS total FROM {facts} AS f WHERE k IN (SELECT k FROM {keys} AS d "
            "WHERE d.grp = 0)",
        ),
        Case("every key", f"{_SUMMED} GROUP BY d.region"),
    )


def write_tables(folder: Path, files: int, rows: int) -> None:
    """Write `facts` (k, v, s) and `keys` (k, grp, region, name)."""
    facts = DeltaTable.create(folder / "facts", "k BIGINT, v BIGINT, s STRING")
    words = pa.array([f"word {number}" for number in range(100)])
    random, names = np.random.default_rng(7), []
    for number in range(files):
        keys = np.sort(random.integers(number * _KEYS, (number + 1) * _KEYS, rows))
        values = random.integers(0, 1000, rows)
        names.append(f"{number:05}.parquet")
        table = pa.table([keys, values, words.take(pa.array(values % 100))], ["k", "v", "s"])
        pq.write_table(table, folder / "facts" / names[-1])
    facts.add_files(names)
    DeltaTable(folder / "facts").checkpoint()
    count = files * _KEYS
    every = np.arange(count)
    step = max(1, count // 200)
    # Of each group, keys are as far from each other as possible.
    columns = {"k": every, "grp": every % step, "region": every % 5, "name": [f"name {number}" for number in every]}
    DeltaTable.create(folder / "keys", "k BIGINT, grp BIGINT, region BIGINT, name STRING").append(pa.table(columns))


def _deltaskip_answer(folder: Path, text: str) -> pa.Table:
    return sql(text.format(facts=f"'{folder / 'facts'}'", keys=f"'{folder / 'keys'}'"))


def _duckdb_answer(folder: Path, text: str) -> pa.Table:
    named = {name: f"delta_scan('{folder / name}')" for name in ("facts", "keys")}
    return _connection().execute(text.format(**named)).to_arrow_table()


def _of_spark(spark: Any, own: bool) -> Callable[[Path, str], pa.Table]:
    def answer(folder: Path, text: str) -> pa.Table:
        named = {name: f"{'deltaskip' if own else 'delta'}.`{folder / name}`" for name in ("facts", "keys")}
        frame = sql(spark, text.format(**named)) if own else spark.sql(text.format(**named))
        found: pa.Table = frame.toArrow()
        return found

    return answer


def _files(folder: Path, text: str) -> tuple[int, int]:
    """How many files of the facts a query without a session reads, and how many have a key of the join."""
    facts, keys = DeltaTable(folder / "facts"), DeltaTable(folder / "keys").scan()
    where = text.partition(" WHERE d.")[2].partition(" GROUP BY")[0].rstrip(")")
    chosen = keys if not where else DeltaTable(folder / "keys").scan(where)
    joined = facts.scan().semi_join(chosen, "k")
    return len(joined.files()), len(np.unique(chosen.to_arrow()["k"].to_numpy() // _KEYS))


def measure(folder: Path, files: int, rounds: int, only: Sequence[str], engines: dict[str, Any]) -> None:
    """Run every query by every engine, and print a line for each."""
    peers = [name for name in engines if not name.startswith("deltaskip")]
    heads = ["files read, with a key", *engines, *(f"{peer} ÷ deltaskip" for peer in peers)]
    print("| | " + " | ".join(heads) + " |")
    print("|---" * (1 + len(heads)) + "|")
    for case in cases(files):
        if only and not any(name in case.name for name in only):
            continue
        seconds: dict[str, list[float]] = {name: [] for name in engines}
        for turn in range(rounds + 1):
            answers = []
            for name, answer in engines.items():
                start = time.perf_counter()
                found = answer(folder, case.text)
                taken = time.perf_counter() - start
                answers.append(sorted(tuple(map(int, row.values())) for row in found.to_pylist()))
                if turn:
                    seconds[name].append(taken)
            assert all(each == answers[0] for each in answers), f"{case.name}: {answers}"
        best = {name: min(taken) for name, taken in seconds.items()}
        own = {peer: best.get("deltaskip in Spark" if peer == "delta-spark" else "", 0.0) for peer in peers}
        ratios = [
            f"{best[peer] / best['deltaskip']:,.1f} ×"
            + (f" ({best[peer] / own[peer]:,.1f} × in Spark)" if own[peer] else "")
            for peer in peers
        ]
        read, having = _files(folder, case.text)
        medians = [f"{statistics.median(taken) * 1000:,.0f} ms" for taken in seconds.values()]
        print(f"| {case.name} | {read:,}, {having:,} | {' | '.join([*medians, *ratios])} |", flush=True)


class StarJoin:
    """Joins without peers: for asv."""

    params = tuple(case.name for case in cases(1))

    def setup_cache(self) -> tuple[str, int]:
        """Write the tables."""
        files = sized(10_000, 40)
        folder = tempfile.mkdtemp(prefix="star-join-")
        write_tables(Path(folder), files, sized(2_000, 50))
        return folder, files

    def time_answer(self, made: tuple[str, int], name: str) -> None:
        """Open the tables and answer."""
        folder, files = made
        _deltaskip_answer(Path(folder), next(case.text for case in cases(files) if case.name == name))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=sized(10_000, 200))
    parser.add_argument("--rows", type=int, default=sized(2_000, 100))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    given = parser.parse_args()
    engines: dict[str, Any] = {"deltaskip": _deltaskip_answer, "DuckDB": _duckdb_answer}
    if os.environ.get(JARS):
        spark = session(Path(os.environ[JARS]))
        engines |= {"deltaskip in Spark": _of_spark(spark, True), "delta-spark": _of_spark(spark, False)}
    with tempfile.TemporaryDirectory() as made:
        folder = (given.folder or Path(made)) / f"star-{given.files}-{given.rows}"
        if not folder.exists():
            write_tables(folder, given.files, given.rows)
        measure(folder, given.files, given.rounds, given.only, engines)


if __name__ == "__main__":
    main()

"""Rows written beside delta-spark and deltalake: appends, partitioned appends, and overwrites of a part of a table.

    python -m benchmarks.writes spark [--rows 8000000] [--rounds 3] [--only NAME ...]
    python -m benchmarks.writes arrow [--rows 1000000] [--commits 10000] [--rounds 5] [--only NAME ...] [--processor]

`spark` needs Java and DELTASKIP_DELTA_JARS, the folder with the jars of delta-spark (`.ci/run` lists them). Both write
the same DataFrame in one session, and each run includes its commit. The first round warms both up and is not counted.
Their runs alternate; the table shows medians and the ratio of the best runs, with --processor of the processor time of
this process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from benchmarks.frames import rows_of
from benchmarks.recompute import JARS, session
from deltaskip import DeltaTable

_COLUMNS = (
    "id",
    "cast(id % 1000 AS int) AS k",
    "concat('cust_', cast(id % 1000 AS string)) AS cust",
    "rand(1) * 1000 AS x",
    "timestamp_micros(1700000000000000 + id * 1000) AS ts",
    "date_add(date'2020-01-01', cast(id % 365 AS int)) AS d",
    "cast(rand(2) * 1000 AS decimal(18, 2)) AS price",
)


class Contest(NamedTuple):
    """One operation of both writers: what prepares a folder, which is not timed, and the two runs."""

    name: str
    rows: int
    prepare: Callable[[Path], None]
    ours: Callable[[Path], object]
    theirs: Callable[[Path], object]


def spark_contests(spark: Any, rows: int) -> Iterator[Contest]:
    """Appends and overwrites of DataFrames, beside delta-spark."""
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "false")
    frame = spark.range(0, rows, 1, 8).selectExpr(*_COLUMNS, "cast(id % 97 AS string) AS s")
    parted = spark.range(0, rows, 1, 8).selectExpr(*_COLUMNS, "cast(id % 100 AS int) AS p")
    empty, empty_parted = spark.createDataFrame([], frame.schema), spark.createDataFrame([], parted.schema)

    def created(path: Path) -> None:
        empty.write.format("delta").save(str(path))

    def created_parted(path: Path) -> None:
        empty_parted.write.format("delta").partitionBy("p").save(str(path))

    def theirs(path: Path) -> None:
        frame.write.format("delta").mode("append").save(str(path))

    def theirs_parted(path: Path) -> None:
        parted.write.format("delta").mode("append").save(str(path))

    yield Contest("append", rows, created, lambda path: DeltaTable(path).append(frame), theirs)
    yield Contest(
        "append to 100 partitions", rows, created_parted, lambda path: DeltaTable(path).append(parted), theirs_parted
    )
    where = f"id < {rows // 100}"
    part = frame.where(where)

    def filled(path: Path) -> None:
        theirs(path / "table")

    def their_overwrite(path: Path) -> None:
        writer = part.write.format("delta").mode("overwrite").option("replaceWhere", where)
        writer.save(str(path / "table"))

    yield Contest(
        "overwrite 1 % by where",
        rows // 100,
        filled,
        lambda path: DeltaTable(path / "table").overwrite(part, where=where),
        their_overwrite,
    )
    with_vectors = "delta.enableDeletionVectors"

    def filled_with_vectors(path: Path) -> None:
        frame.write.format("delta").option(with_vectors, "true").save(str(path / "table"))

    yield Contest(
        "overwrite 1 % by where, with deletion vectors",
        rows // 100,
        filled_with_vectors,
        lambda path: DeltaTable(path / "table").overwrite(part, where=where),
        their_overwrite,
    )


def arrow_contests(rows: int, commits: int) -> Iterator[Contest]:
    """Appends and an overwrite of Arrow tables without Spark, beside deltalake."""
    import deltalake

    table = arrow_rows(rows)
    parted = table.append_column("p", pa.array([i % 100 for i in range(rows)], pa.int32()))
    one = table.slice(0, 1)

    def created(path: Path) -> None:
        DeltaTable.create(path, table.schema)

    def created_parted(path: Path) -> None:
        DeltaTable.create(path, parted.schema, partition_by=["p"])

    def long_log(path: Path) -> None:
        made = DeltaTable.create(path, table.schema, properties={"delta.checkpointInterval": "100000000"})
        made.append(one)
        log = path / "_delta_log"
        text = (log / f"{1:020}.json").read_text()
        for version in range(2, commits):
            (log / f"{version:020}.json").write_text(text.replace("part-", f"part-{version}-"))

    def ours(path: Path, data: pa.Table = table) -> None:
        DeltaTable(path).append(data)

    def theirs(path: Path, data: pa.Table = table) -> None:
        deltalake.write_deltalake(str(path), data, mode="append")

    yield Contest("Arrow append", rows, created, ours, theirs)
    yield Contest(
        "Arrow append to 100 partitions",
        rows,
        created_parted,
        lambda path: ours(path, parted),
        lambda path: theirs(path, parted),
    )
    every = rows_of(0, rows)
    for name, columns in (("a struct", ["id", "s"]), ("a list", ["id", "l"]), ("a map", ["id", "m"])):
        nested = every.select(columns)
        yield Contest(
            f"Arrow append of {name}",
            rows,
            partial(_created, schema=nested.schema),
            partial(ours, data=nested),
            partial(theirs, data=nested),
        )
    double = arrow_rows(2 * rows)
    part, where = double.slice(0, rows // 50), f"id < {rows // 50}"

    def filled(path: Path) -> None:
        deltalake.write_deltalake(str(path / "table"), double)

    yield Contest(
        "Arrow overwrite of 1 % by where",
        rows // 50,
        filled,
        lambda path: DeltaTable(path / "table").overwrite(part, where=where),
        lambda path: deltalake.write_deltalake(str(path / "table"), part, mode="overwrite", predicate=where),
    )
    yield Contest(
        f"append of 1 row, {commits:,} commits",
        1,
        long_log,
        lambda path: ours(path, one),
        lambda path: theirs(path, one),
    )


def _created(path: Path, schema: pa.Schema) -> None:
    DeltaTable.create(path, schema)


def arrow_rows(rows: int) -> pa.Table:
    """Eight columns: key, integer, few and distinct strings, doubles, timestamps, dates, decimals."""
    import numpy as np

    random, index = np.random.default_rng(1), np.arange(rows)
    return pa.table(
        {
            "id": index,
            "k": (index % 1000).astype("int32"),
            "cust": pa.array([f"cust_{i % 1000}" for i in range(rows)]),
            "x": random.random(rows) * 1000,
            "ts": pa.array(1_700_000_000_000_000 + index * 1000, pa.timestamp("us", "UTC")),
            "d": pa.array((18262 + index % 365).astype("int32"), pa.date32()),
            "price": pa.array(random.integers(0, 10**6, rows)).cast(pa.decimal128(21, 2)).cast(pa.decimal128(18, 2)),
            "h": pa.array([f"{i * 2654435761 % 2**32:08x}" for i in range(rows)]),
        }
    )


def measure(contests: Iterator[Contest], rounds: int, only: Sequence[str], clock: Callable[[], float]) -> None:
    """Run the contests and print a line for each."""
    print("| | deltaskip | rows/s | peer | peer ÷ deltaskip |\n|---|---|---|---|---|")
    for contest in contests:
        if only and not any(name in contest.name for name in only):
            continue
        times: dict[str, list[float]] = {"ours": [], "theirs": []}
        for turn in range(rounds + 1):
            for name, run in (("ours", contest.ours), ("theirs", contest.theirs)):
                folder = Path(tempfile.mkdtemp(prefix="deltaskip-writes-"))
                try:
                    contest.prepare(folder)
                    start = clock()
                    run(folder)
                    if turn:
                        times[name].append(clock() - start)
                finally:
                    shutil.rmtree(folder)
        ours, theirs = (statistics.median(times[name]) for name in ("ours", "theirs"))
        ratio = min(times["theirs"]) / min(times["ours"])
        speed = contest.rows / ours
        print(f"| {contest.name} | {ours:.3f} s | {speed:,.0f} | {theirs:.3f} s | {ratio:.2f} × |", flush=True)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("spark", "arrow"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter
    if options.kind == "arrow":
        measure(arrow_contests(options.rows or 1_000_000, options.commits), options.rounds, options.only, clock)
        return
    if JARS not in os.environ:
        raise SystemExit(f"{JARS} must name a folder with the jars of delta-spark.")
    spark = session(Path(os.environ[JARS]))
    try:
        measure(spark_contests(spark, options.rows or 8_000_000), options.rounds, options.only, clock)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()

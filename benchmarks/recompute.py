"""Recomputed statistics beside delta-spark's StatisticsCollection.recompute, one table, one Spark session.

    python -m benchmarks.recompute [--rows 20000000] [--files 100] [--rounds 3]

DELTASKIP_DELTA_JARS names the folder with delta-spark's jars (`.ci/run` says which). The table is written by
delta-spark with Spark's defaults: Snappy, dictionaries, timestamps as INT96. Each run, ours and theirs, computes the
statistics of every file and commits them; before it, not timed, a commit takes the statistics away. The first round
warms the JVM and the Python workers up and is left out of the table that is printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deltaskip import DeltaTable
from deltaskip.actions import AddFile

JARS = "DELTASKIP_DELTA_JARS"
_COLUMNS = (
    "id",
    "cast(id % 1000 AS int) AS k",
    "concat('cust_', cast(hash(id) % 1000 AS string)) AS cust",
    "rand(1) * 1000 AS x",
    "timestamp_micros(1700000000000000 + id * 1000) AS ts",
    "date_add(date'2020-01-01', cast(id % 365 AS int)) AS d",
    "cast(rand(2) * 1000 AS decimal(18, 2)) AS price",
    "md5(cast(id AS string)) AS h",
)


def session(jars: Path) -> Any:
    """A session with delta-spark on two cores, as users set it up."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.jars": ",".join(sorted(str(path) for path in jars.glob("*.jar"))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("deltaskip benchmark")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def write_table(spark: Any, path: str, rows: int, files: int) -> None:
    """Eight columns: key, integer, few strings, doubles, INT96 timestamps, dates, decimals, distinct strings."""
    spark.range(0, rows, 1, files).selectExpr(*_COLUMNS).write.format("delta").save(path)


def forget_statistics(path: str) -> None:
    """A commit of every file again, without statistics."""
    table = DeltaTable(path)
    transaction = table.transaction(operation="FORGET STATS")
    for row in table.snapshot.adds(["path", "size", "modification_time"]).to_pylist():
        transaction.add(
            AddFile(
                path=row["path"],
                partition_values={},
                size=row["size"],
                modification_time=row["modification_time"],
                data_change=False,
            )
        )
    transaction.commit()


def runs(spark: Any, path: str) -> dict[str, Callable[[], object]]:
    """Name → what is timed."""
    # Imported here, since asv imports this module where the tests are not installed.
    from tests.reference.recomputed import recompute

    return {
        "deltaskip, auto": lambda: DeltaTable(path).recompute_stats(spark),
        "deltaskip, every value read": lambda: DeltaTable(path).recompute_stats(spark, mode="scan"),
        "deltaskip, footers only": lambda: DeltaTable(path).recompute_stats(spark, mode="footer"),
        "delta-spark": lambda: recompute(spark, path),
    }


def measured(path: str, tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each task, one a round, side by side."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(rounds + 1):
        for name, task in tasks.items():
            forget_statistics(path)
            start = time.perf_counter()
            task()
            taken = time.perf_counter() - start
            print(f"round {number}: {name}: {taken:.2f} s", file=sys.stderr, flush=True)
            if number:
                seconds[name].append(taken)
    return seconds


def report(seconds: dict[str, list[float]], rows: int) -> str:
    """A Markdown table: median, best, rows a second and how many times faster than delta-spark by the medians."""
    theirs = statistics.median(seconds["delta-spark"])
    lines = ["| | median | best | rows/s | delta-spark ÷ it |", "|---|---|---|---|---|"]
    for name, each in seconds.items():
        median = statistics.median(each)
        lines.append(
            f"| {name} | {median:.2f} s | {min(each):.2f} s | {rows / median / 1e6:.1f} M | {theirs / median:.1f} × |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table, run the rounds, print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recompute", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the table is kept between runs; by default it is deleted")
    options = parser.parse_args(arguments)
    if not os.environ.get(JARS):
        parser.error(f"{JARS} must name the folder with the jars of delta-spark.")
    spark = session(Path(os.environ[JARS]))
    with tempfile.TemporaryDirectory(prefix="deltaskip-bench-") as scratch:
        path = f"{options.folder or scratch}/recompute-{options.rows}-{options.files}"
        if not Path(path).exists():
            write_table(spark, path, options.rows, options.files)
        print(report(measured(path, runs(spark, path), options.rounds), options.rows))
    spark.stop()


if __name__ == "__main__":
    main()

"""Changes of a table read from its feed and from its rows, beside deltalake, polars-deltalake and delta-spark: seconds.

    python -m benchmarks.row_changes [--rows 2000000] [--commits 300] [--rounds 5] [--spark] [--folder FOLDER]

The table has 16 files, a change data feed, row tracking and deletion vectors. One version updates one row in 100,
another one deletes one row in 1,000, a third appends one in 100, and the fourth rewrites every file (OPTIMIZE). The
engines read the changes of the first three, each in turn; the best round counts, by the clock and by processor time.
deltaskip also reads the changes of one key, net changes, and those of a copy without row tracking, whose updates
rewrite files. Another table has many versions, each of which updates one row of 1,000, so that it has a change data
file of two rows: all of them are read, and the last one alone. One has a version that updates every second row, which
is one change data file.

With `--spark`, delta-spark reads `table_changes` in a local session of two cores, and CHANGES in Spark 4.2 and newer;
DELTASKIP_DELTA_JARS names its jars.
polars-deltalake is measured if it is installed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import deltalake
import numpy as np
import polars
import pyarrow as pa

from deltaskip import DeltaTable

FILES = 16
FEED = {"delta.enableChangeDataFeed": "true"}
IDS = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}


def rows_of(first: int, count: int) -> pa.Table:
    """Rows with ascending keys."""
    ids = np.arange(first, first + count)
    chance = np.random.default_rng(first)
    few = pa.array([f"customer {i}" for i in range(1000)])
    return pa.table(
        {
            "id": ids,
            "x": chance.random(count) * 1000,
            "k": chance.integers(0, 1000, count).astype("int32"),
            "ts": pa.array(1_700_000_000_000_000 + ids * 1000, pa.timestamp("us", "UTC")),
            "customer": few.take(pa.array(chance.integers(0, 1000, count))),
            "name": pa.array([f"{i * 2654435761 % 2**32:08x}" for i in ids.tolist()]),
        }
    )


def create(path: Path, rows: int, properties: dict[str, str]) -> tuple[DeltaTable, int]:
    """Make a table if there is none, and return it with the first version that changes it."""
    first = FILES + 1
    if DeltaTable.exists(path):
        return DeltaTable(path), first
    table = DeltaTable.create(path, rows_of(0, 1).schema, properties=properties)
    for number in range(FILES):
        table.append(rows_of(number * (rows // FILES), rows // FILES))
    table.update({"x": "x + 1"}, "id % 100 = 7")
    table.delete("id % 1000 = 11")
    table.append(rows_of(rows, rows // 100))
    table.optimize()
    return table.refresh(), first


def create_small(path: Path, commits: int) -> DeltaTable:
    """Make a table with many small versions if there is none."""
    if DeltaTable.exists(path):
        return DeltaTable(path)
    table = DeltaTable.create(path, rows_of(0, 1).schema, properties={**FEED, **IDS})
    table.append(rows_of(0, 1000))
    for number in range(commits):
        table.update({"x": "x + 1"}, f"id = {number % 1000}")
    return table.refresh()


def create_large(path: Path, rows: int) -> DeltaTable:
    """Make a table whose last version updates every second row, if there is none."""
    if DeltaTable.exists(path):
        return DeltaTable(path)
    table = DeltaTable.create(path, rows_of(0, 1).schema, properties=FEED)
    table.append(rows_of(0, rows))
    table.update({"x": "x + 1"}, "id % 2 = 1")
    return table.refresh()


def _delta_lake(path: Path, first: int, last: int) -> Callable[[], object]:
    return lambda: pa.table(
        deltalake.DeltaTable(str(path)).load_cdf(starting_version=first, ending_version=last).read_all()
    )


def _polars_scan(path: Path, first: int, last: int) -> Callable[[], object] | None:
    try:
        import polars_deltalake
    except ImportError:
        return None
    return lambda: polars_deltalake.scan_cdf(str(path), start_version=first, end_version=last).collect()


def _jars() -> str:
    return ",".join(str(jar) for jar in Path(os.environ["DELTASKIP_DELTA_JARS"]).glob("*.jar"))


def _spark() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars", _jars()).config("spark.driver.memory", "3g")
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    builder = builder.config("spark.databricks.delta.changelogV2.enabled", "true")
    catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    return builder.config("spark.sql.catalog.spark_catalog", catalog).getOrCreate()


def _spark_cases(spark: Any, path: Path, first: int, last: int) -> dict[str, Callable[[], object]]:
    """Changes through Spark: from the feed, and from rows, which delta-spark reads in Spark 4.2 and newer."""

    def read(frame: Any) -> object:
        return frame.write.format("noop").mode("overwrite").save()

    changes = f"SELECT * FROM table_changes_by_path('{path}', {first}, {last})"
    of_rows = (
        f"SELECT * FROM delta.`{path}` CHANGES FROM VERSION {first} TO VERSION {last} WITH (computeUpdates = true)"
    )
    cases: dict[str, Callable[[], object]] = {"delta-spark table_changes": lambda: read(spark.sql(changes))}
    if spark.version >= "4.2":
        cases["delta-spark CHANGES"] = lambda: read(spark.sql(of_rows))
    cases["deltaskip, rows by ids, to_spark"] = lambda: read(
        DeltaTable(path).changes(first, last, source="rows").to_spark(spark)
    )
    return cases


def _processor(spark: Any) -> float:
    """Seconds of the processor that this process and that of Spark have had."""
    if spark is None:
        return process_time()
    stat = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/stat").read_text(encoding="ascii")
    ticks = stat.rpartition(")")[2].split()[11:13]
    return process_time() + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        table, first = create(folder / "fed", given.rows, {**FEED, **IDS})
        plain, _ = create(folder / "plain", given.rows, {})
        small = create_small(folder / "small", given.commits)
        large = create_large(folder / "large", given.rows)
        last, path = first + 2, folder / "fed"

        def changes(of: DeltaTable = table, **chosen: Any) -> pa.Table:
            return DeltaTable(of.uri).changes(first, chosen.pop("end", last), **chosen).to_arrow()

        cases: dict[str, Callable[[], object] | None] = {
            "deltaskip, feed, Arrow": lambda: changes(source="feed"),
            "deltaskip, feed, Polars lazy": lambda: (
                DeltaTable(path).changes(first, last, source="feed").to_polars(lazy=True).collect()
            ),
            "deltaskip, rows by ids": lambda: changes(source="rows"),
            "deltaskip, net by ids": lambda: changes(net=True),
            "deltaskip, rows by ids, one key": lambda: changes(source="rows", where="id = 100007"),
            "deltaskip, rows by ids, with OPTIMIZE": lambda: changes(source="rows", end=last + 1),
            "deltaskip, whole rows": lambda: changes(plain, source="rows"),
            "deltalake load_cdf": _delta_lake(path, first, last),
            "polars-deltalake scan_cdf": _polars_scan(path, first, last),
            "deltaskip, many versions": lambda: DeltaTable(small.uri).changes(2).to_arrow(),
            "deltaskip, many versions, rows": lambda: DeltaTable(small.uri).changes(2, source="rows").to_arrow(),
            "deltalake load_cdf, many versions": _delta_lake(folder / "small", 2, small.version),
            "polars-deltalake scan_cdf, many versions": _polars_scan(folder / "small", 2, small.version),
            "deltaskip, one version": lambda: DeltaTable(small.uri).changes(small.version).to_arrow(),
            "deltaskip, one version, open table": lambda: small.changes(small.version).to_arrow(),
            "deltalake load_cdf, one version": _delta_lake(folder / "small", small.version, small.version),
            "polars-deltalake scan_cdf, one version": _polars_scan(folder / "small", small.version, small.version),
            "deltaskip, a large version": lambda: DeltaTable(large.uri).changes(2).to_arrow(),
            "deltaskip, a large version, Polars lazy": lambda: (
                DeltaTable(large.uri).changes(2).to_polars(lazy=True).collect()
            ),
            "deltalake load_cdf, a large version": _delta_lake(folder / "large", 2, 2),
            "polars-deltalake scan_cdf, a large version": _polars_scan(folder / "large", 2, 2),
        }
        spark = _spark() if given.spark else None
        if spark is not None:
            cases |= _spark_cases(spark, path, first, last)
        best = {name: (float("inf"), float("inf")) for name, run in cases.items() if run is not None}
        for _ in range(given.rounds):
            for name, run in cases.items():
                if run is None:
                    continue
                begun = perf_counter(), _processor(spark)
                run()
                took = perf_counter() - begun[0], _processor(spark) - begun[1]
                best[name] = min(best[name][0], took[0]), min(best[name][1], took[1])
        print(f"{changes().num_rows:,} changes of {given.rows:,} rows, Polars {polars.__version__}")
        for name, (seconds, processor) in best.items():
            print(f"{name:42} {seconds:8.3f} s, of the processor {processor:8.3f} s")


if __name__ == "__main__":
    main()

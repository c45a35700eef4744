"""Rows read by Spark through `scan.to_spark`, beside delta-spark's own reader, in one session.

    python -m benchmarks.spark_reads [--rows 4000000] [--rounds 5] [--folder DIR] [--only NAME ...]
                                  [--unlisted]

It needs Java and DELTASKIP_DELTA_JARS, the folder with the jars of delta-spark (`.ci/run` lists them). Every run plans
a DataFrame and runs one aggregate over its rows: `DeltaTable(path).scan(where).to_spark(spark)`, which opens the table
each time, and `spark.read.format("delta").load(path).where(where)`, which keeps the log that it has loaded. Their runs
alternate; the first round warms up, is not counted, and must give equal answers. `--folder` keeps the tables. With
`--unlisted`, deltaskip reads by `to_spark(spark, listing=False)`. The report shows medians, and how many times longer
delta-spark takes in its best run than deltaskip in its own.
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

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.reads import rows_of
from benchmarks.recompute import JARS, session
from deltaskip import DeltaTable, SetProperty

_FULL = "sum(cast(xxhash64(*) AS DECIMAL(38, 0)))"


class Case(NamedTuple):
    """What is read: name, kind of table, aggregate, and predicate."""

    name: str
    table: str
    aggregate: str = _FULL
    where: str | None = None


CASES = (
    Case("100 files: all columns", "plain"),
    Case("100 files: one column", "plain", "sum(x)"),
    Case("100 files: a range of 1,000 rows", "plain", "sum(x)", "id BETWEEN 1000 AND 1999"),
    Case("100 day partitions: all columns", "days"),
    Case("100 day partitions: one column", "days", "sum(x)"),
    Case("100 day partitions: five days", "days", where="day BETWEEN DATE'2024-01-05' AND DATE'2024-01-09'"),
    Case("100 day partitions of folders with other names: all columns", "other folders"),
    Case("10,000 small files: all columns", "small"),
    Case("10,000 small files: one column", "small", "sum(x)"),
    Case("5,000 partitions: all columns", "many"),
    Case("5,000 partitions: one of them", "many", where="p = 77"),
    Case("5,000 partitions: IN", "many", "sum(x)", "p IN (7, 77, 777)"),
    Case("100 columns: all", "wide"),
    Case("100 columns: one", "wide", "sum(c50)"),
    Case("nested: all columns", "nested"),
    Case("nested: one field", "nested", "sum(st.x)"),
    Case("deletion vectors in half of the files: all columns", "vectors"),
    Case("deletion vectors in half of the files: one column", "vectors", "sum(x)"),
    Case("shallow clone with files of its own: all columns", "clone"),
)


def tables(spark: Any, folder: Path, rows: int) -> dict[str, Callable[[Path], None]]:
    """What makes each table."""
    many = max(rows // 100, 1)

    def plain(path: Path) -> None:
        _written(path, {f"{i:05}.parquet": rows_of(i * many, many) for i in range(100)}, rows_of(0, 1).schema)

    def parted(path: Path, field: pa.Field, values: Sequence[object], prefix: str = "") -> None:
        one = rows_of(0, max(rows // len(values), 1))
        names = {f"{prefix.format(i)}{field.name}={value}/f.parquet": one for i, value in enumerate(values)}
        _written(path, names, pa.schema([*one.schema, field]), [field.name])

    def days(path: Path, prefix: str = "") -> None:
        days = [f"2024-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(100)]
        parted(path, pa.field("day", pa.date32()), days, prefix)

    def small(path: Path) -> None:
        _written(path, dict.fromkeys((f"{i:05}.parquet" for i in range(10_000)), rows_of(0, 100)), rows_of(0, 1).schema)

    def wide(path: Path) -> None:
        part = pa.table({f"c{i}": rows_of(i * many, many)["x"] for i in range(100)})
        _written(path, dict.fromkeys((f"{i}.parquet" for i in range(16)), part), part.schema)

    def nested(path: Path) -> None:
        part = rows_of(0, many)
        columns = [column.combine_chunks() for column in part.columns]
        struct = pa.StructArray.from_arrays(columns, part.column_names)
        lists = pa.ListArray.from_arrays(pa.array(range(0, many + 1, 4), pa.int32()), columns[1])
        part = pa.table({"id": part["id"][: len(lists)], "st": struct[: len(lists)], "l": lists})
        _written(path, dict.fromkeys((f"{i}.parquet" for i in range(100)), part), part.schema)

    def vectors(path: Path) -> None:
        plain(path)
        DeltaTable(path).alter(SetProperty("delta.enableDeletionVectors", "true"))
        DeltaTable(path).delete(f"k = 7 AND id < {rows // 2}")

    def clone(path: Path) -> None:
        origin = folder / f"plain-{rows}"
        if not origin.exists():
            plain(origin)
        spark.sql(f"CREATE TABLE delta.`{path}` SHALLOW CLONE delta.`{origin}`")
        for i in range(10):
            DeltaTable(path).append(rows_of(rows + i * many, many))

    return {
        "plain": plain,
        "days": days,
        "other folders": lambda path: days(path, "part-{}/"),
        "small": small,
        "many": lambda path: parted(path, pa.field("p", pa.int32()), range(5_000)),
        "wide": wide,
        "nested": nested,
        "vectors": vectors,
        "clone": clone,
    }


def _written(path: Path, parts: dict[str, pa.Table], schema: pa.Schema, partition_by: Sequence[str] = ()) -> None:
    """A table of these files; a file that is there already, as the same object, becomes a hard link."""
    table = DeltaTable.create(path, schema, partition_by)
    first: dict[int, Path] = {}
    for name, part in parts.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        if id(part) in first:
            os.link(first[id(part)], path / name)
        else:
            pq.write_table(part, path / name)
            first[id(part)] = path / name
    table.add_files(list(parts))


def measure(spark: Any, folder: Path, rows: int, rounds: int, only: Sequence[str], listing: bool) -> None:
    """Run every case by both readers, and print a line for each case."""
    makers = tables(spark, folder, rows)
    print("| | deltaskip | delta-spark | delta-spark ÷ deltaskip |\n|---|---|---|---|")
    for case in CASES:
        if only and not any(name in case.name for name in only):
            continue
        path = folder / f"{case.table}-{rows}"
        if not path.exists():
            makers[case.table](path)

        def ours(path: Path = path, case: Case = case) -> Any:
            return DeltaTable(path).scan(case.where).to_spark(spark, listing=listing)

        def theirs(path: Path = path, case: Case = case) -> Any:
            frame = spark.read.format("delta").load(str(path))
            return frame if case.where is None else frame.where(case.where)

        seconds: dict[str, list[float]] = {"deltaskip": [], "delta-spark": []}
        for turn in range(rounds + 1):
            answers = []
            for name, frame in (("deltaskip", ours), ("delta-spark", theirs)):
                start = time.perf_counter()
                answers.append(frame().selectExpr("count(*)", case.aggregate).collect())
                if turn:
                    seconds[name].append(time.perf_counter() - start)
            # Sums of doubles depend on the order of the rows.
            assert answers[0][0][0] == answers[1][0][0] > 0, f"{case.name}: {answers}"
            assert case.aggregate != _FULL or answers[0] == answers[1], f"{case.name}: {answers}"
        ratio = min(seconds["delta-spark"]) / min(seconds["deltaskip"])
        medians = " | ".join(f"{statistics.median(each):.2f} s" for each in seconds.values())
        print(f"| {case.name} | {medians} | {ratio:.2f} × |", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--unlisted", action="store_true")
    given = parser.parse_args()
    spark = session(Path(os.environ[JARS]))
    with tempfile.TemporaryDirectory() as folder:
        measure(spark, given.folder or Path(folder), given.rows, given.rounds, given.only, not given.unlisted)


if __name__ == "__main__":
    main()

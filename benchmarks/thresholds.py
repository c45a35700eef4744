"""From which size on a Spark job is faster than this process, for every operation that either can carry out.

    python -m benchmarks.thresholds [--rows 100000 1000000 4000000 16000000] [--runs 2] [--only NAME ...]

The session is that of `benchmarks.cluster`: two executors of one core beside this process. Each cell is the least of
some runs, on a copy of one table: a BIGINT, a DOUBLE, a BIGINT of ten values and a text, in four files. The last
columns have the size at which this process takes as long as the job, and at which it takes as long as the shortest job,
which no number of executors makes shorter: in the unit of the setting of `ds.options`, or else in bytes of files.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import deltaskip as ds
from deltaskip.records import dataclass

_FILES = 4
_COLUMNS = 4
_TEXT_COUNTS_AS = 6
_NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Case:
    """An operation.

    Attributes:
        here: What this process does.
        job: What a job does.
        option: The setting that decides between them; None where the caller does, by what is passed.
        size: How large a table is, in the unit of the setting, given its rows and the bytes of its files.
        vectors: Whether the table has deletion vectors.
    """

    here: Callable[[ds.DeltaTable, Any], object]
    job: Callable[[ds.DeltaTable, Any], object]
    option: str | None
    size: Callable[[int, int], int]
    vectors: bool = True


def _decided(act: Callable[[ds.DeltaTable, Any], object], option: str, size: Any, vectors: bool = True) -> Case:
    return Case(act, act, option, size, vectors)


def _merge(table: ds.DeltaTable, spark: Any) -> object:
    merge = table.merge(_source(table, spark), "t.id = s.id", "s", "t")
    return merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _source(table: ds.DeltaTable, spark: Any) -> Any:
    """As many rows as a tenth of the table, half of which it has."""
    rows = table.scan().count()
    ids = spark.range(rows - rows // 20, rows + rows // 20)
    return ids.selectExpr("id", "id * 0.5D AS v", "id % 10 AS part", "concat('name ', id) AS name")


CASES = {
    "delete, a number": _decided(
        lambda table, spark: table.delete("id % 1000 = 7", spark=spark), "values_found_here", lambda rows, _: rows
    ),
    "delete, a text": _decided(
        lambda table, spark: table.delete("name LIKE '%007'", spark=spark),
        "values_found_here",
        lambda rows, _: rows * _TEXT_COUNTS_AS,
    ),
    "update": _decided(
        lambda table, spark: table.update({"v": "v + 1"}, "id % 1000 = 7", spark=spark),
        "values_found_here",
        lambda rows, _: rows,
    ),
    "delete without deletion vectors": _decided(
        lambda table, spark: table.delete("id % 1000 = 7", spark=spark),
        "values_copied_here",
        lambda rows, _: rows * _COLUMNS,
        vectors=False,
    ),
    "update without deletion vectors": _decided(
        lambda table, spark: table.update({"v": "v + 1"}, "id % 1000 = 7", spark=spark),
        "values_copied_here",
        lambda rows, _: rows * _COLUMNS,
        vectors=False,
    ),
    # Spark estimates 20 bytes for a text and 8 for a row beside its values.
    "merge of a tenth": _decided(_merge, "source_bytes", lambda rows, _: rows // 10 * 52),
    "optimize": _decided(lambda table, spark: table.optimize(spark=spark), "optimize_here_bytes", lambda _, size: size),
    "recompute": Case(
        lambda table, _: table.recompute_stats(resume=False),
        lambda table, spark: table.recompute_stats(spark, resume=False),
        None,
        lambda _, size: size,
    ),
    "append of as many rows": Case(
        lambda table, _: table.append(_rows(0, table.scan().count())),
        lambda table, spark: table.append(_frame(spark, table.scan().count())),
        None,
        lambda _, size: size,
    ),
}


@lru_cache(1)
def _rows(first: int, count: int) -> pa.Table:
    """Rows, which are made before the first run that appends them."""
    ids = pa.array(np.arange(first, first + count))
    name = pc.binary_join_element_wise("name", pc.cast(ids, pa.string()), " ")
    # Doubles without an order, which neither an encoding nor a codec makes small.
    v = pc.divide(pc.cast(pc.bit_wise_and(pc.multiply(ids, 2654435761), 0xFFFFFFFF), pa.float64()), 7.0)
    tens = pc.subtract(ids, pc.multiply(pc.divide(ids, 10), 10))
    return pa.table({"id": ids, "v": v, "part": tens, "name": name})


def _frame(spark: Any, count: int) -> Any:
    return spark.range(count).selectExpr(
        "id", "((id * 2654435761L) & 4294967295L) / 7.0D AS v", "id % 10 AS part", "concat('name ', id) AS name"
    )


def made(path: Path, rows: int, vectors: bool) -> Path:
    """A table of rows in some files."""
    properties = {"delta.enableDeletionVectors": str(vectors).lower()}
    table = ds.DeltaTable.create(path, "id BIGINT, v DOUBLE, part BIGINT, name STRING", properties=properties)
    for number in range(_FILES):
        table.append(_rows(number * (rows // _FILES), rows // _FILES))
    return path


def measured(case: Case, source: Path, spark: Any, in_a_job: bool, runs: int) -> float:
    """The least seconds of some runs, each on a copy of a table."""
    least = float("inf")
    for _ in range(runs):
        with tempfile.TemporaryDirectory(dir=source.parent) as scratch:
            table = ds.DeltaTable(shutil.copytree(source, Path(scratch, "table")))
            gc.collect()
            begun = perf_counter()
            with _jobs() if in_a_job else _this_process():
                (case.job if in_a_job else case.here)(table, spark)
            least = min(least, perf_counter() - begun)
    return least


def _jobs() -> AbstractContextManager[None]:
    return ds.options.changed(spark_jobs="always")


def _this_process() -> AbstractContextManager[None]:
    names = ("values_found_here", "values_copied_here", "values_copied_locally", "source_bytes", "optimize_here_bytes")
    return ds.options.changed(spark_jobs="auto", **dict.fromkeys(names, _NO_LIMIT))


def crossing(sizes: Sequence[int], here: Sequence[float], jobs: Sequence[float]) -> str:
    """The size at which a job becomes as fast as this process, between the sizes that were measured."""
    for i, size in enumerate(sizes):
        if here[i] > jobs[i]:
            if i == 0:
                return f"below {size:,}"
            before, after = jobs[i - 1] - here[i - 1], here[i] - jobs[i]
            return f"{sizes[i - 1] + (size - sizes[i - 1]) * before / (before + after):,.0f}"
    return f"beyond {sizes[-1]:,}"


def main() -> None:
    """Print the table."""
    # Imported here, since asv imports this module where the tests are not installed.
    from tests.spark.cluster import session

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", type=int, default=[100_000, 1_000_000, 4_000_000, 16_000_000])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = session(folder, without=False, memory=1536)
        table = cache(lambda rows, vectors: made(folder / f"{rows}-{vectors}", rows, vectors))
        sizes_named = " | ".join(f"{n:,} rows" for n in given.rows)
        print(f"| this process / job | {sizes_named} | as the job | as the shortest job | `ds.options` |")
        print("|---|" + "---|" * (len(given.rows) + 3), flush=True)
        for what in given.only:
            case = CASES[what]
            sources = [table(n, case.vectors) for n in given.rows]
            for in_a_job in (False, True):
                measured(case, sources[0], spark, in_a_job, 1)
            here = [measured(case, source, spark, False, given.runs) for source in sources]
            jobs = [measured(case, source, spark, True, given.runs) for source in sources]
            files = [sum(each.stat().st_size for each in source.rglob("*.parquet")) for source in sources]
            sizes = [case.size(n, size) for n, size in zip(given.rows, files, strict=True)]
            cells = [f"{a:.2f} / {b:.2f} s" for a, b in zip(here, jobs, strict=True)]
            limit = "" if case.option is None else f"{case.option} = {getattr(ds.options, case.option):,}"
            equal = crossing(sizes, here, jobs), crossing(sizes, here, [min(jobs)] * len(jobs))
            print(f"| {what} | {' | '.join((*cells, *equal))} | {limit} |", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()

"""A predicate on a path inside a variant over clustered files: plan and rows, beside delta-spark.

    python -m benchmarks.variants [FILES [ROWS]]

Each file has its own users. deltaskip appends the files with bounds of the paths; delta-spark reads the same table.
DELTASKIP_DELTA_JARS names the folder with delta-spark's jars; without it, only deltaskip runs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pyarrow as pa

import deltaskip as ds
from deltaskip.sparkexpr.over_data import evaluate

_REPEATED = 7
_PROPERTIES = {"delta.feature.variantType": "supported", "delta.enableVariantShredding": "true"}


def make(root: str, files: int, rows: int) -> ds.DeltaTable:
    """Return a new table with one file of `rows` documents for each of `files` users."""
    table = ds.DeltaTable.create(root, "id BIGINT, v VARIANT", properties=_PROPERTIES)
    for file in range(files):
        texts = [json.dumps({"user": f"user-{file:05}", "n": file * rows + i, "tags": ["a", "b"]}) for i in range(rows)]
        variants = evaluate("parse_json(j)", pa.table({"j": texts}))
        table.append(pa.table({"id": range(file * rows, (file + 1) * rows), "v": variants}))
    table.checkpoint()
    return table


def timed(run: Callable[[], int]) -> tuple[float, int]:
    """Return the median seconds of some runs, after one that is not counted, and their result."""
    found, seconds = run(), []
    for _ in range(_REPEATED):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return median(seconds), found


def main(files: int = 1000, rows: int = 1000) -> None:
    """Print the seconds of the query, and what it returned."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as folder:
        root = str(Path(folder) / "t")
        make(root, files, rows)
        user = f"user-{files // 2:05}"
        where = f"variant_get(v, '$.user', 'string') = '{user}'"
        warm = ds.DeltaTable(root)
        print("files kept", warm.scan(where=where).files().num_rows, "of", files)
        for name, run in {
            "deltaskip, plan, new handle": lambda: ds.DeltaTable(root).scan(where=where).files().num_rows,
            "deltaskip, rows, new handle": lambda: ds.DeltaTable(root).scan(where=where).to_arrow().num_rows,
            "deltaskip, rows, same handle": lambda: warm.scan(where=where).to_arrow().num_rows,
        }.items():
            print(f"{name}: {timed(run)}")
        jars = os.environ.get("DELTASKIP_DELTA_JARS")
        if jars is None:
            return
        from pyspark.sql import SparkSession

        spark = (
            SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
            .config("spark.jars", ",".join(map(str, Path(jars).glob("*.jar"))))
            .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
            .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog").getOrCreate()
        )  # fmt: skip
        spark.sparkContext.setLogLevel("ERROR")
        print(f"delta-spark, rows: {timed(lambda: len(spark.read.format('delta').load(root).where(where).collect()))}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

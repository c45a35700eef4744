"""A box over clustered files of points: rows, beside DuckDB's spatial extension and delta-spark.

    python -m benchmarks.shapes [FILES [ROWS]]

Each file has the points of one cell of a grid. DuckDB reads the same Parquet files, if duckdb-extension-spatial is
installed. delta-spark has no predicates over shapes: it returns all rows, which shapely filters; it needs Spark 4.2,
and DELTASKIP_DELTA_JARS names the folder with its jars. Seconds are medians, of the processor (all threads of this
process) and of the clock.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import shapely

import deltaskip as ds

_REPEATED = 7


def make(root: str, files: int, rows: int) -> ds.DeltaTable:
    """Return a new table with one file of `rows` points for each cell of a grid of about `files` cells."""
    table = ds.DeltaTable.create(root, "id BIGINT, g GEOMETRY(4326)")
    side, chance = math.ceil(math.sqrt(files)), np.random.default_rng(57)
    for file in range(files):
        at = np.array([file % side, file // side]) + chance.random((rows, 2))
        table.append(pa.table({"id": np.arange(rows) + file * rows, "g": shapely.to_wkb(shapely.points(at))}))
    table.checkpoint()
    return table


def timed(run: Callable[[], int]) -> str:
    """Return the median seconds of some runs, after one that is not counted, and their result."""
    found, processor, clock = run(), [], []
    for _ in range(_REPEATED):
        start = time.process_time(), time.perf_counter()
        run()
        processor.append(time.process_time() - start[0])
        clock.append(time.perf_counter() - start[1])
    return f"{median(processor):.4f} s of the processor, {median(clock):.4f} s; {found} rows"


def main(files: int = 1000, rows: int = 1000) -> None:
    """Print the seconds of the query, and what it returned."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as folder:
        root = str(Path(folder) / "t")
        make(root, files, rows)
        middle = math.ceil(math.sqrt(files)) / 2
        box = shapely.box(middle + 0.25, middle + 0.25, middle + 0.75, middle + 0.75)
        where, warm = ds.col("g").intersects(box), ds.DeltaTable(root)
        print("files kept", warm.scan(where).files().num_rows, "of", files)
        for name, run in {
            "deltaskip, plan, new handle": lambda: ds.DeltaTable(root).scan(where).files().num_rows,
            "deltaskip, rows, new handle": lambda: ds.DeltaTable(root).scan(where).to_arrow().num_rows,
            "deltaskip, rows, same handle": lambda: warm.scan(where).to_arrow().num_rows,
        }.items():
            print(f"{name}: {timed(run)}")
        beside_duckdb(root, box)
        jars = os.environ.get("DELTASKIP_DELTA_JARS")
        if jars is not None:
            beside_delta_spark(root, box, jars)


def beside_duckdb(root: str, box: shapely.Geometry) -> None:
    """Print the seconds of DuckDB, if its spatial extension is installed."""
    try:
        import duckdb

        extension = importlib.import_module("duckdb_extension_spatial")
    except ImportError:
        return
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute(f"LOAD '{next(Path(extension.__file__ or '').parent.rglob('spatial.duckdb_extension'))}'")
    text = f"SELECT * FROM read_parquet('{root}/*.parquet') WHERE ST_Intersects(g, ST_GeomFromText('{box.wkt}'))"
    print(f"DuckDB {duckdb.__version__}: {timed(lambda: connection.execute(text).to_arrow_table().num_rows)}")


def beside_delta_spark(root: str, box: shapely.Geometry, jars: str) -> None:
    """Print the seconds of delta-spark, without those of the processor, which are spent in the JVM."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        .config("spark.jars", ",".join(map(str, Path(jars).glob("*.jar"))))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.databricks.delta.geo.preview.enabled", "true").config("spark.sql.geospatial.enabled", "true")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog").getOrCreate()
    )  # fmt: skip
    spark.sparkContext.setLogLevel("ERROR")
    read = spark.read.format("delta").load(root).selectExpr("id", "st_asbinary(g) g")

    def rows() -> int:
        found = read.toArrow()
        return int(shapely.intersects(box, shapely.from_wkb(found["g"].to_numpy())).sum())

    print(f"delta-spark on Spark {spark.version}: {timed(rows)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

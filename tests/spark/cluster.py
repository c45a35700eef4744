"""Every way to a table through a Spark cluster of two executors on this machine: python -m tests.spark.cluster FOLDER.

Executors are processes of their own. With `--without`, their Python has no deltaskip; with `--connect`, the session is
one of Spark Connect, whose server is the driver. Prints a line of JSON for each way: its name, and its answer or error.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from tests.jvm import JAVA_OPTIONS

# What keeps a process of Python from importing deltaskip, wherever it is installed.
_HIDING = """
import importlib.abc, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "deltaskip":
            raise ModuleNotFoundError("No module named 'deltaskip'", name="deltaskip")

sys.meta_path.insert(0, Hidden())
"""
_ROWS = 2_000


def session(folder: Path, without: bool, memory: int = 512) -> Any:
    """A session of a standalone cluster with two executors of one core."""
    from pyspark.sql import SparkSession

    hiding = folder / "hiding"
    hiding.mkdir(parents=True, exist_ok=True)
    if without:
        (hiding / "sitecustomize.py").write_text(_HIDING)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    package = str(Path(ds.__file__).parents[1])
    settings = {
        "spark.executor.memory": f"{memory}m", "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(hiding), *([] if without else [package])]),
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }  # fmt: skip
    builder = SparkSession.builder.master(f"local-cluster[2,1,{memory}]").appName("deltaskip cluster")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _append(table: ds.DeltaTable, spark: Any) -> Any:
    table.append(spark.range(_ROWS, 2 * _ROWS).selectExpr("id", "id % 10 AS part", "id * 0.5 AS v"))
    return table.scan().count()


def _delete(table: ds.DeltaTable, spark: Any) -> Any:
    return table.delete("id % 100 = 7", spark=spark).metrics["numDeletedRows"]


def _update(table: ds.DeltaTable, spark: Any) -> Any:
    return table.update({"v": "v + 1"}, "id % 100 = 8", spark=spark).metrics["numUpdatedRows"]


def _merge(table: ds.DeltaTable, spark: Any) -> Any:
    source = spark.range(_ROWS - 50, _ROWS + 50).selectExpr("id", "id % 10 AS part", "CAST(-1 AS DOUBLE) AS v")
    merge = table.merge(source, "t.id = s.id", "s", "t").when_matched_update_all().when_not_matched_insert_all()
    metrics = merge.execute().metrics
    return [metrics["numTargetRowsUpdated"], metrics["numTargetRowsInserted"]]


def _optimize(table: ds.DeltaTable, spark: Any) -> Any:
    return table.optimize(spark=spark).metrics["numAddedFiles"]


def _recompute(table: ds.DeltaTable, spark: Any) -> Any:
    table.recompute_stats(spark, resume=False)
    return table.scan("id < 10").files().num_rows > 0


def _changes(table: ds.DeltaTable, spark: Any) -> Any:
    table.delete("id = 3")
    table.refresh()
    return table.changes(table.version).to_spark(spark).count()


def _overwrite(table: ds.DeltaTable, spark: Any) -> Any:
    table.overwrite(spark.range(30).selectExpr("id", "1L AS part", "0.5D AS v"), where="id < 100")
    return table.scan().count()


def _found_format(table: ds.DeltaTable, spark: Any) -> Any:
    return spark.read.format("deltaskip").load(table.uri).where("id < 100").count()


def _found_format_write(table: ds.DeltaTable, spark: Any) -> Any:
    spark.range(10).selectExpr("id", "id AS part", "0.5D AS v").write.format("deltaskip").mode("append").save(table.uri)
    return table.refresh().scan().count()


def _format(table: ds.DeltaTable, spark: Any) -> Any:
    ds.register_format(spark)
    return _found_format(table, spark)


def _format_write(table: ds.DeltaTable, spark: Any) -> Any:
    ds.register_format(spark)
    return _found_format_write(table, spark)


def _format_changes(table: ds.DeltaTable, spark: Any) -> Any:
    table.delete("id = 3")
    ds.register_format(spark)
    changes = spark.read.format("deltaskip").option("readChangeFeed", "true").option("startingVersion", table.version)
    return changes.load(table.uri).count()


def _stream(table: ds.DeltaTable, spark: Any) -> Any:
    """A stream from a table by a function to another one, which takes its rows as appends do."""
    copy = ds.DeltaTable.create(f"{table.uri}-copy", "id BIGINT, part BIGINT, v DOUBLE")
    _followed(
        table.read_stream(spark).writeStream.foreachBatch(lambda rows, n: copy.append_batch(rows, n, "copy")), table
    )
    return copy.refresh().scan().count()


def _stream_in(table: ds.DeltaTable, spark: Any) -> Any:
    """A stream of Spark's own rows by a function to a table."""
    folder = f"{table.uri}-rows"
    spark.range(7).selectExpr("id", "id AS part", "0.5D AS v").write.parquet(folder)
    rows = spark.readStream.schema("id BIGINT, part BIGINT, v DOUBLE").parquet(folder)
    _followed(rows.writeStream.foreachBatch(lambda batch, n: table.append_batch(batch, n, "rows")), table)
    return table.refresh().scan().count()


def _stream_format(table: ds.DeltaTable, spark: Any) -> Any:
    """A stream from a table to another one, both by the format."""
    copy = ds.DeltaTable.create(f"{table.uri}-copy", "id BIGINT, part BIGINT, v DOUBLE")
    writing = table.read_stream(spark).writeStream.format("deltaskip").option("txnAppId", "copy")
    _followed(writing.option("path", copy.uri), table)
    return copy.refresh().scan().count()


def _followed(writing: Any, table: ds.DeltaTable) -> None:
    checkpoint = f"{table.uri}-checkpoint"
    writing.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()


def _installed(table: ds.DeltaTable, spark: Any) -> Any:
    """Spark's own SQL over a catalog: files without deletion vectors are read by Spark's reader, others in Python."""
    catalog = ds.catalog(f"warehouse:{Path(table.uri.removeprefix('file://')).parent / 'warehouse'}")
    with ds.install_catalog(spark, "lake", catalog):
        found = [spark.sql(f"SELECT * FROM lake.deltaskip.`{table.uri}` WHERE id < 100").count()]
        table.delete("id = 3")
        return [*found, spark.sql(f"SELECT * FROM lake.deltaskip.`{table.uri}` WHERE id < 100").count()]


def _listed(table: ds.DeltaTable, spark: Any) -> Any:
    return table.scan("id < 100", engine="spark").files_to_spark(spark).count()


def _planned(table: ds.DeltaTable, spark: Any) -> Any:
    return table.scan("id < 100", engine="spark").to_spark(spark).count()


def _read(table: ds.DeltaTable, spark: Any) -> Any:
    return table.scan("id < 100").to_spark(spark).count()


WAYS: dict[str, Callable[[ds.DeltaTable, Any], Any]] = {
    "read": _read, "append": _append, "overwrite": _overwrite, "delete": _delete, "update": _update, "merge": _merge,
    "optimize": _optimize, "recompute": _recompute, "changes": _changes, "stream in": _stream_in,
    "found format": _found_format, "found format write": _found_format_write, "format": _format,
    "format write": _format_write, "format changes": _format_changes, "stream": _stream,
    "stream format": _stream_format, "engine": _planned, "engine files": _listed, "installed catalog": _installed,
}  # fmt: skip


CLASSIC = ("stream in", "stream", "installed catalog")
"""The ways that Spark Connect does not have as they are: functions of foreachBatch run on its server."""


def made(path: Path, rows: int = _ROWS) -> ds.DeltaTable:
    """A table of rows in several files."""
    properties = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    table = ds.DeltaTable.create(path, "id BIGINT, part BIGINT, v DOUBLE", properties=properties)
    for first in range(0, rows, rows // 4):
        ids = pa.array(range(first, first + rows // 4), pa.int64())
        table.append(pa.table({"id": ids, "part": [n.as_py() % 10 for n in ids], "v": [float(n.as_py()) for n in ids]}))
    return table


def main() -> None:
    """Walk the ways, each on a table of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.cluster")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", action="store_true", help="executors have no deltaskip")
    parser.add_argument("--connect", action="store_true", help="by Spark Connect")
    parser.add_argument("--server", help="the address of a server of Spark Connect")
    parser.add_argument("--only", nargs="*", default=tuple(WAYS))
    parser.add_argument("--twice", action="store_true", help="tell about the second time, when workers have started")
    given = parser.parse_args()
    if given.connect:
        # Imported here, where benchmarks do without it.
        from tests.contracts.doors import connect_server

        # A process with sessions of both kinds has only functions of one.
        driver = session(given.folder, given.without)
        command = [sys.executable, "-m", "tests.spark.cluster", *sys.argv[1:], "--server", connect_server(driver)]
        command.remove("--connect")
        subprocess.run(command, check=True)
        driver.stop()
        return
    spark = _client(given.server) if given.server is not None else session(given.folder, given.without)
    ds.options.spark_jobs = "always"
    for name in given.only:
        if given.twice:
            # The second time tells about the same error.
            with suppress(Exception):
                WAYS[name](made(given.folder / f"{name}-first"), spark)
        table = made(given.folder / name)
        begun = time.perf_counter()
        try:
            told: dict[str, Any] = {"answer": WAYS[name](table, spark)}
        except Exception as error:
            told = {"error": type(error).__name__, "message": str(error)}
        seconds = time.perf_counter() - begun
        jobs = None if given.server is not None else _jobs(spark)
        print(json.dumps({"name": name, "seconds": round(seconds, 2), "jobs": jobs, **told}), flush=True)
    spark.stop()


def _client(server: str) -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(server).getOrCreate()


def _jobs(spark: Any) -> int:
    """The number of jobs that have run."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


if __name__ == "__main__":
    main()

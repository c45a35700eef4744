"""A streaming query that may be killed: python -m tests.spark.stream FOLDER BATCH STEP.

It reads the files in FOLDER/in, one in each batch, and appends them to the table FOLDER/t. In batch BATCH the process
kills itself at STEP: a kill point of the commit, `between` after the batch was appended, or `never`. With the step
`connect` it runs in Spark Connect, twice, the second time with another checkpoint.

With `feed` or `rows` as BATCH it appends the changes of FOLDER/t to FOLDER/out, and STEP is the number of kill points
and batches after which the process kills itself, if there are so many.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, Literal, cast

from deltaskip import DeltaTable
from deltaskip.storage.kill_points import observe_kill_points

APP = "orders from files"


def run(spark: Any, folder: Path, batch: int = -1, step: str = "never") -> None:
    """Run the query until it has read all files."""
    table = DeltaTable(folder / "t")

    def die(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(frame: Any, number: int) -> None:
        observe_kill_points(die if number == batch else None)
        try:
            table.append_batch(frame, number, APP)
            if number == batch:
                die("between")
        finally:
            observe_kill_points(None)

    source = spark.readStream.schema("id BIGINT, name STRING").option("maxFilesPerTrigger", 1)
    query = (
        source.parquet(str(folder / "in"))
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def follow(spark: Any, folder: Path, source: Literal["feed", "rows"], left: int) -> None:
    """Append all changes of a table to another one, one file in each batch, or if the process is not killed all."""
    from pyspark.sql import functions as F

    def count(_: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(frame: Any, number: int) -> None:
        count("batch")
        names = [F.col(name).alias(name.strip("_")) for name in ("id", "x", "_change_type", "_commit_version")]
        DeltaTable(folder / "out").append_batch(frame.select(*names), number, APP)
        count("appended")

    observe_kill_points(count)
    changes = DeltaTable(folder / "t").read_stream(
        spark, changes=True, source=source, starting_version=0, max_files_per_trigger=1 if left > 0 else None
    )
    writer = changes.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.start()
    query.processAllAvailable()
    query.stop()


def run_on_connect(folder: Path) -> None:
    """Run the query in Spark Connect, whose server calls the function in a process of its own."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    location = str(folder / "t")

    def write(frame: Any, number: int) -> None:
        from deltaskip import DeltaTable

        DeltaTable(location).append_batch(frame, number, "connect")

    for checkpoint in ("first", "second"):
        source = spark.readStream.schema("id BIGINT, name STRING").option("maxFilesPerTrigger", 1)
        writer = source.parquet(str(folder / "in")).writeStream.foreachBatch(write).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(folder / checkpoint)).start()
        query.awaitTermination()
        failed = query.exception()
        if failed is not None:
            raise failed
    spark.stop()


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    if sys.argv[3] == "connect":
        run_on_connect(Path(sys.argv[1]))
        sys.exit()
    builder = SparkSession.builder.master("local[2]").appName("stream").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.sql.shuffle.partitions", "1").config("spark.driver.memory", "1g").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    if sys.argv[2] in ("feed", "rows"):
        follow(session, Path(sys.argv[1]), cast(Any, sys.argv[2]), int(sys.argv[3]))
    else:
        run(session, Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    session.stop()

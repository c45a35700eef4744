"""A streaming query that may be killed: python -m tests.spark.stream FOLDER BATCH STEP.

It reads the files in FOLDER/in, one in each batch, and appends them to the table FOLDER/t. In batch BATCH the process
kills itself at STEP: a kill point of the commit, `between` after the batch was appended, or `never`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from deltaskip import DeltaTable
from deltaskip.storage.kill_points import observe_kill_points

__all__ = ["APP", "run"]

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


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("stream").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.sql.shuffle.partitions", "1").config("spark.driver.memory", "1g").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    run(session, Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    session.stop()

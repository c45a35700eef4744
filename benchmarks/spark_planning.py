"""Planning in the executors of Spark beside planning in this process, over checkpoints of growing size.

    python -m benchmarks.spark_planning [--sizes 100000 1000000 10000000] [--runs 1] [--master local[2]]

Each cell is a process of its own. It opens the table and counts the kept files and their bytes, for every file and for
a range of ids: `files` in this process (`Scan.files`), `batches` (`Scan.file_batches`), and `spark`
(`files_to_spark` of a scan with engine="spark"). Memory is the largest resident set of the Python process, which is the
driver's part of a plan, and for Spark that of the JVM, whose heap is limited to 512 MB and which holds driver and
executors. Processor time is that of the process, its JVM and the Python workers together.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.cell import answer_of
from benchmarks.reference_table import ROWS_PER_FILE
from benchmarks.tables import reference_table

ENGINES = ("files", "batches", "spark")
QUESTIONS = ("every file", "1 in 1,000")
_HEAP = "512m"


def measured(engine: str, table: str, files: int, question: str, master: str) -> dict[str, Any]:
    """Seconds, processor seconds, peak memory and answer of one plan in this process."""
    import deltaskip as ds

    spark = None if engine != "spark" else _session(master)
    where = None
    if question != "every file":
        low = files // 2 * ROWS_PER_FILE
        where = f"id >= {low} AND id < {low + files // 1000 * ROWS_PER_FILE}"
    before = _processor_seconds(spark)
    start = perf_counter()
    opened = ds.DeltaTable(table)
    opening = perf_counter() - start
    columns = ["path", "size"]
    if spark is not None:
        from pyspark.sql import functions as F

        frame = opened.scan(where, engine="spark").files_to_spark(spark, columns=columns)
        count, size = frame.agg(F.count(F.lit(1)), F.sum("size")).collect()[0]
    elif engine == "files":
        found = opened.scan(where).files(columns=columns)
        count, size = len(found), sum(chunk.sum().as_py() or 0 for chunk in map(_Sum, found["size"].chunks))
    else:
        count = size = 0
        for batch in opened.scan(where).file_batches(columns=columns):
            count, size = count + len(batch), size + _Sum(batch.column("size")).sum().as_py()
    seconds = perf_counter() - start
    result = {
        "seconds": seconds,
        "opening": opening,
        "processor": _processor_seconds(spark) - before,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "jvm_mb": 0.0 if spark is None else _high_water_mb(_jvm(spark)),
        "count": count,
        "size": size,
    }
    if spark is not None:
        spark.stop()
    return result


class _Sum:
    """The sum of an Arrow array."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def sum(self) -> Any:
        import pyarrow.compute as pc

        return pc.sum(self._values)


def _session(master: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("planning")
    for key, value in {"spark.ui.enabled": "false", "spark.driver.memory": _HEAP}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    # The first task of a session starts the processes of its workers.
    session.range(0, 2, 1, 2).mapInArrow(lambda batches: batches, "id bigint").collect()
    return session


def _jvm(spark: Any) -> int:
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())


def _high_water_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _processor_seconds(spark: Any) -> float:
    """Of this process, and of the JVM with everything below it."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    if spark is None:
        return total
    ticks, pending = 0, [_jvm(spark)]
    while pending:
        process = pending.pop()
        try:
            fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            # utime, stime, and those of children that have ended.
            ticks += sum(int(each) for each in fields[11:15])
            for thread in Path(f"/proc/{process}/task").iterdir():
                pending += map(int, (thread / "children").read_text(encoding="ascii").split())
        except FileNotFoundError:
            continue
    return total + ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure all cells, and print them as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--cell", nargs=4, metavar=("ENGINE", "TABLE", "FILES", "QUESTION"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell is not None:
        engine, table, files, question = options.cell
        print(json.dumps(measured(engine, table, int(files), question, options.master)))
        return
    print("| files in the checkpoint | plan | engine | seconds | processor | Python peak | JVM peak | kept |")
    print("|---|---|---|---|---|---|---|---|")
    for files in options.sizes:
        table = str(reference_table("classic", files))
        for question in QUESTIONS:
            answers = set()
            for engine in options.engines:
                cell = ["--cell", engine, table, str(files), question, "--master", options.master]
                command = [sys.executable, "-m", "benchmarks.spark_planning", *cell]
                runs = [answer_of(command) for _ in range(options.runs)]
                middle = {key: median(run[key] for run in runs) for key in runs[0]}
                answers.add((middle["count"], middle["size"]))
                print(
                    f"| {files:,} | {question} | {engine} | {middle['seconds']:.1f} | {middle['processor']:.1f} s "
                    f"| {middle['peak_mb']:.0f} MB | {middle['jvm_mb']:.0f} MB | {middle['count']:,.0f} |",
                    flush=True,
                )
            assert len(answers) == 1, f"the engines disagree: {answers}"


if __name__ == "__main__":
    main()

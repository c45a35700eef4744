"""Planning, reading and appending at a store that is 30 ms away, beside deltalake: seconds, requests, bytes.

    python -m benchmarks.remote [--milliseconds 30] [--megabytes-per-second 100] [--runs 3]

The store is `tests.storage.slow_s3` in a process of its own. Each cell is the median of fresh processes, which import
their engine before the clock starts; its requests and bytes are those of the last one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import deltaskip as ds
from benchmarks.key_index import PROPERTIES, key, keys

PORT = 18_391
OPTIONS = {
    "aws_endpoint": f"http://127.0.0.1:{PORT}", "aws_access_key_id": "key", "aws_secret_access_key": "secret",
    "aws_region": "us-east-1", "aws_allow_http": "true",
}  # fmt: skip
# The name of a case, its table, and what is done: where to plan, which rows to read, or how many to append.
CASES = (
    ("plan, 20 commits", "commits", "plan"),
    ("plan, 200 commits and a checkpoint", "checkpoint", "plan"),
    ("1,000 rows of one of 20 files", "large", "id BETWEEN 100000 AND 100999"),
    ("49 files, 49,000 rows", "small", "id >= 0"),
    ("20 files of 4.5 MB, one row in 10,000", "large", "rare = 7"),
    ("one key of 10 files, by its index", "keyed", f"id = '{key(123_456)}'"),
    ("append of 20 rows to an open table", "appended", "append 20"),
    ("append of 100 MB to an open table", "appended", "append 6000000"),
)
_CODE = {
    "deltaskip": """
import deltaskip, deltaskip.table.table, deltaskip.sparkexpr.text.expressions, deltaskip.reading.arrow_rows
import pyarrow.parquet
import deltaskip.data_files.append, deltaskip.storage.remote, deltaskip.storage.remote_opening, obstore, asyncio
def work(table, options, where):
    found = deltaskip.DeltaTable(table, storage_options=options)
    if where == "plan":
        return found.scan("id = 77").files().num_rows
    return found.scan(where).to_arrow().num_rows
def opened(table, options):
    return deltaskip.DeltaTable(table, storage_options=options)
def append(found, rows, options):
    found.append(rows)
""",
    "deltalake": """
import deltalake, pyarrow
def work(table, options, where):
    found = deltalake.DeltaTable(table, storage_options=options)
    if where == "plan":
        return len(found.file_uris())
    rows = deltalake.QueryBuilder().register("t", found).execute(f"SELECT * FROM t WHERE {where}").read_all()
    return rows.num_rows
def opened(table, options):
    return deltalake.DeltaTable(table, storage_options=options)
def append(found, rows, options):
    deltalake.write_deltalake(found, rows, mode="append", storage_options=options)
""",
}
_RUN = """
import json, sys, time, urllib.request, numpy, pyarrow
table, options, where = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
if where.startswith("append "):
    found, count = opened(table, options), int(where.split()[1])
    numbers = numpy.random.default_rng(1).integers(0, 2**60, count)
    given = pyarrow.table({"id": numbers, "v": pyarrow.array(numbers).cast(pyarrow.string())})
    append(found, given.slice(0, 20), options)
    work = lambda *_: append(found, given, options)
    urllib.request.urlopen(options["aws_endpoint"] + "/-/counts").read()
begun = time.perf_counter()
rows = work(table, options, where)
print(json.dumps([time.perf_counter() - begun, rows]))
"""


@contextmanager
def store(folder: Path, milliseconds: float, megabytes: float) -> Iterator[None]:
    """A running store."""
    command = [
        sys.executable,
        "-m",
        "tests.storage.slow_s3",
        str(PORT),
        str(folder),
        "--milliseconds",
        str(milliseconds),
    ]
    running = subprocess.Popen([*command, "--megabytes-per-second", str(megabytes)])
    try:
        for _ in range(100):
            try:
                counts()
                break
            except OSError:
                time.sleep(0.1)
        yield
    finally:
        running.terminate()
        running.wait()


def counts() -> dict[str, Any]:
    """What the store has counted since the last time."""
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/-/counts") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def make_tables(bucket: Path) -> None:
    """The tables of the cases."""
    for name, commits, interval in (("commits", 20, 1000), ("checkpoint", 200, 100)):
        table = ds.DeltaTable.create(
            str(bucket / name), "id BIGINT, v STRING", properties={"delta.checkpointInterval": str(interval)}
        )
        for number in range(commits - 1):
            ids = np.arange(50 * number, 50 * number + 50)
            table.append(pa.table({"id": ids, "v": ["x"] * 50}))
    # Which append writes a checkpoint would depend on the number of runs.
    ds.DeltaTable.create(
        str(bucket / "appended"), "id BIGINT, v STRING", properties={"delta.checkpointInterval": "1000"}
    )
    keyed = ds.DeltaTable.create(str(bucket / "keyed"), "id STRING, n BIGINT", properties=PROPERTIES)
    for number in range(10):
        index = np.arange(40_000 * number, 40_000 * number + 40_000)
        keyed.append(pa.table({"id": keys(40_000 * number, 40_000), "n": index}))
    keyed.recompute_stats(columns=[], index=True)
    chance = np.random.default_rng(1)
    for name, files, rows in (("small", 49, 1_000), ("large", 20, 200_000)):
        table = ds.DeltaTable.create(str(bucket / name), "id BIGINT, rare INT, a DOUBLE, b DOUBLE, v STRING")
        for number in range(files):
            ids = np.arange(rows * number, rows * number + rows)
            texts = pa.array(chance.integers(0, 10**6, rows)).cast(pa.string())
            rare = pa.array(chance.integers(0, 10_000, rows), pa.int32())
            table.append(
                pa.table({"id": ids, "rare": rare, "a": chance.random(rows), "b": chance.random(rows), "v": texts})
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.remote")
    parser.add_argument("--milliseconds", type=float, default=30)
    parser.add_argument("--megabytes-per-second", type=float, default=100)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        make_tables(Path(scratch, "bucket"))
        with store(Path(scratch), chosen.milliseconds, chosen.megabytes_per_second):
            print("| | deltaskip | requests, MB | deltalake | requests, MB | ratio |\n|---|---|---|---|---|---|")
            for name, table, where in CASES:
                cells, seconds = [], []
                for code in _CODE.values():
                    times = []
                    for _ in range(chosen.runs):
                        counts()
                        arguments = [f"s3://bucket/{table}", json.dumps(OPTIONS), where]
                        told = subprocess.run(
                            [sys.executable, "-c", code + _RUN, *arguments], check=True, capture_output=True, text=True
                        )
                        times.append(json.loads(told.stdout.splitlines()[-1])[0])
                        asked = counts()
                    seconds.append(statistics.median(times))
                    requests = sum(asked["requests"].values())
                    cells += [f"{seconds[-1]:.2f} s", f"{requests}, {asked['bytes'] / 1e6:.1f}"]
                print(f"| {name} | {' | '.join(cells)} | {seconds[1] / seconds[0]:.1f} × |", flush=True)


if __name__ == "__main__":
    main()

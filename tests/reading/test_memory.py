"""Tables larger than memory: other libraries, and readers of Arrow, hold few of the rows at a time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.reading.read_ahead import _HELD_BYTES, read_ahead

FILES, ROWS = 80, 400_000
SIZE = FILES * ROWS * 2 * 8

# How much more memory a process needs for the query than for a query of one row.
PROGRAM = """
import resource, sys
import deltaskip as ds

def polars(scan):
    import polars as pl
    return scan.to_polars(lazy=True).select(pl.col("a").sum() + pl.col("b").sum()).collect(engine="streaming").item()

def duckdb(scan):
    import duckdb
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    scan.to_duckdb(connection, "t")
    return connection.sql("SELECT sum(a) + sum(b) FROM t").fetchall()[0][0]

def batches(scan):
    import pyarrow.compute as pc
    return sum(pc.sum(each["a"]).as_py() + pc.sum(each["b"]).as_py() for each in scan.to_batches())

def limited(scan):
    import duckdb
    connection = duckdb.connect()
    scan.to_duckdb(connection, "t")
    return len(connection.sql("SELECT a FROM t LIMIT 5").fetchall())

table, query = ds.DeltaTable(sys.argv[1]), globals()[sys.argv[2]]
query(table.scan(limit=1))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(query(table.scan()), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of which the rows take 512 MB."""
    path = tmp_path_factory.mktemp("large") / "t"
    table = ds.DeltaTable.create(path, "a DOUBLE, b DOUBLE")
    chance = np.random.default_rng(1)
    table.append(pa.table({"a": chance.random(ROWS), "b": chance.random(ROWS)}))
    [first] = table.scan().files(columns=["path"])["path"].to_pylist()
    names = [f"{number}.parquet" for number in range(1, FILES)]
    for name in names:
        shutil.copyfile(path / first, path / name)
    table.add_files(names)
    return path


@pytest.mark.parametrize("library", ["polars", "duckdb", "batches"])
def test_a_query_over_all_rows_holds_few_of_them(large: Path, library: str) -> None:
    if library != "batches":
        pytest.importorskip(library)
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(large), library], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    total, grown = map(float, ran.stdout.split())
    assert total == pytest.approx(FILES * ROWS, rel=0.01)
    assert grown < SIZE / 5, f"{grown / 1e6:.0f} MB for {SIZE / 1e6:.0f} MB"


def test_a_query_that_ends_early_leaves_no_thread_that_reads(large: Path) -> None:
    pytest.importorskip("duckdb")
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(large), "limited"], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    rows, grown = map(float, ran.stdout.split())
    assert rows == 5 and grown < SIZE / 8


@dataclass
class Rows:
    """A batch of a read."""

    number: int
    nbytes: int = 2 << 20


@pytest.mark.parametrize("remote", [False, True])
def test_reads_that_yield_much_wait_for_their_turn(remote: bool) -> None:
    made = most = 0
    lock = threading.Lock()

    def read(number: int) -> Iterator[Rows]:
        nonlocal made
        for _ in range(50):
            with lock:
                made += 1
            yield Rows(number)

    order = []
    reads = [(1 << 20, partial(read, number)) for number in range(20)]
    for taken, each in enumerate(read_ahead(reads, 1 << 30, remote=remote), 1):
        with lock:
            most = max(most, made - taken)
        order.append(each.number)
    assert order == [number for number in range(20) for _ in range(50)]
    assert 0 < most * Rows.nbytes <= _HELD_BYTES + 34 * Rows.nbytes

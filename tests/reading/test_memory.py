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
import pyarrow.parquet as pq
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

def changes(scan):
    return batches(table.changes(1)) if scan.limit is None else None

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
    table = ds.DeltaTable.create(path, "a DOUBLE, b DOUBLE", properties={"delta.enableChangeDataFeed": "true"})
    chance = np.random.default_rng(1)
    table.append(pa.table({"a": chance.random(ROWS), "b": chance.random(ROWS)}))
    [first] = table.scan().files(columns=["path"])["path"].to_pylist()
    names = [f"{number}.parquet" for number in range(1, FILES)]
    for name in names:
        shutil.copyfile(path / first, path / name)
    table.add_files(names)
    return path


@pytest.mark.parametrize("library", ["polars", "duckdb", "batches", "changes"])
def test_a_query_over_all_rows_holds_few_of_them(large: Path, library: str) -> None:
    if library in ("polars", "duckdb"):
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


FIRST_ROWS = """
import io, re, sys
from contextlib import redirect_stdout
import pandas, polars, duckdb
import deltaskip as ds
from deltaskip.cli.commands import main

def peak():
    # The largest set of getrusage is that of the process that started this one, if that was larger.
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s*(\\d+)", status.read())[1]) * 1024

def command(*arguments):
    try:
        main([*arguments])
    except SystemExit as ended:
        assert not ended.code, ended.code

small, path = sys.argv[1:]
for where in (small, path):
    before = peak()
    table = ds.DeltaTable(where)
    one = table.scan(limit=1)
    assert len(one.to_arrow()) == len(one.to_pandas()) == len(one.to_polars()) == 1
    assert len(next(iter(table.scan().to_batches()))) > 0
    with redirect_stdout(io.StringIO()):
        command("head", where, "-n", "1")
        command("query", f"SELECT * FROM '{where}' LIMIT 1")
print(peak() - before)
"""
# Columns whose values take a hundred times the bytes of their pages, or more: 240 MB, 1 GB and 240 MB.
ENCODED = {
    "BIGINT": lambda: pa.repeat(pa.scalar(7), 30_000_000),
    "STRING": lambda: pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), 500_000), ["x" * 2000]),
    "ARRAY<BIGINT>": lambda: pa.ListArray.from_arrays(
        pa.array(np.arange(20_000_001, dtype=np.int32)), pa.repeat(pa.scalar(7), 20_000_000)
    ),
}


@pytest.mark.parametrize(("declared", "most"), [("BIGINT", 60e6), ("STRING", 400e6), ("ARRAY<BIGINT>", 60e6)])
def test_the_first_rows_take_little_memory_also_of_few_dense_bytes(tmp_path: Path, declared: str, most: float) -> None:
    for library in ("pandas", "polars", "duckdb"):
        pytest.importorskip(library)
    small, path = tmp_path / "small", tmp_path / "t"
    values = ENCODED[declared]()
    for where, rows in ((small, values[:9]), (path, values)):
        table = ds.DeltaTable.create(where, f"c {declared}")
        pq.write_table(pa.table({"c": rows}), where / "f.parquet", row_group_size=len(rows), store_schema=False)
        table.add_files(["f.parquet"])
    program = [sys.executable, "-c", FIRST_ROWS, str(small), str(path)]
    ran = subprocess.run(program, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < most, ran.stdout


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

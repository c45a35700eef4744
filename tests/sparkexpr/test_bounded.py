"""Evaluation and planning of hostile predicates and values take bounded time and memory (tests.sparkexpr.hostile)."""

from __future__ import annotations

import subprocess
import sys
from tempfile import TemporaryDirectory

from tests.extent import some
from tests.sparkexpr.hostile import KINDS


def test_hostile_arguments_take_bounded_time_and_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.sparkexpr.hostile", *some(KINDS, 1)], capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("end\n"), (done.returncode, done.stdout[-300:], done.stderr[-2000:])


def test_results_of_many_rows_are_bounded_together() -> None:
    program = """
import resource, sys
import pyarrow as pa
import deltaskip as ds

table = ds.DeltaTable.create(sys.argv[1], "id INT, s STRING, n INT")
rows = 200
table.append(pa.table({"id": pa.array(range(rows), pa.int32()), "s": [str(i) for i in range(rows)],
                       "n": pa.array([5_000_000] * rows, pa.int32())}))
table.scan(where="length(s) = 1").to_arrow()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for text in ("length(rpad(s, n, 'x')) = 1", "size(array_repeat(id, 200000 + id)) = 1"):
    assert table.scan(where=text).to_arrow().num_rows == 0
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
sys.exit(0 if more < 1 << 20 else f"{more >> 10} MB")
"""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", program, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]

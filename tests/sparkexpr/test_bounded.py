"""Evaluation and planning of hostile predicates and values take bounded time and memory (tests.sparkexpr.hostile)."""

import subprocess
import sys
from tempfile import TemporaryDirectory

from tests.extent import TIME_LIMIT_SECONDS, some
from tests.sparkexpr.hostile import KINDS


def test_hostile_arguments_take_bounded_time_and_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.sparkexpr.hostile", *some(KINDS, 1)], capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("end\n"), (done.returncode, done.stdout[-300:], done.stderr[-2000:])


PROGRAM = """
import resource, sys
import pyarrow as pa
import deltaskip as ds

{before}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{measured}
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
sys.exit(0 if more < 1 << 20 else f"{{more >> 10}} MB")
"""


def bounded(before: str, measured: str) -> None:
    """Check that a program takes less than a GB of memory after what comes before."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", PROGRAM.format(before=before, measured=measured), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]


def test_results_of_many_rows_are_bounded_together() -> None:
    before = """
table = ds.DeltaTable.create(sys.argv[1], "id INT, s STRING, n INT")
rows = 200
table.append(pa.table({"id": pa.array(range(rows), pa.int32()), "s": [str(i) for i in range(rows)],
                       "n": pa.array([5_000_000] * rows, pa.int32())}))
table.scan(where="length(s) = 1").to_arrow()"""
    measured = """
for text in ("length(rpad(s, n, 'x')) = 1", "size(array_repeat(id, 200000 + id)) = 1"):
    assert table.scan(where=text).to_arrow().num_rows == 0"""
    bounded(before, measured)


def test_arrays_inside_arrays_and_long_replacements_are_bounded_before_they_are_made() -> None:
    before = """
table = ds.DeltaTable.create(sys.argv[1], "id INT, n INT, a ARRAY<INT>, b ARRAY<ARRAY<INT>>")
table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "n": pa.array([10000, 40], pa.int32()),
                       "a": pa.array([[1], [2]], pa.list_(pa.int32())),
                       "b": pa.array([[[1]], [[2]]], pa.list_(pa.list_(pa.int32())))}))
table.scan(where="id = 1").to_arrow()"""
    measured = """
many = "array_repeat(array_repeat(1, 10000), 10000)"
for text in (f"array_append({many}, a) IS NULL", f"{many} = b", f"to_json({many}) = 'x'", f"array_contains({many}, a)",
             f"CAST({many} AS STRING) = 'x'", f"hash({many}) = 1", f"size(flatten({many})) = 1",
             f"array_union({many}, b) = b", f"array_sort({many}) = b",
             "regexp_replace(repeat('a', 1000000), 'a', repeat('b', 1000000)) = 'x'"):
    scan = table.scan(where=text)
    assert len(scan.paths()) == 1, text
    try:
        scan.to_arrow()
    except ds.UnsupportedFeature as error:
        assert "left to Spark" in str(error)
    else:
        raise AssertionError(text)"""
    bounded(before, measured)

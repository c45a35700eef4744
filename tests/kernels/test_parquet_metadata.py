"""Footers whose column chunks pyarrow can be asked for: those that the twin lets pass, and none that ends a process."""

import io
import os
import struct
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.kernels.parquet_metadata import footer_fits
from deltaskip.kernels.thrift_compact import read_struct
from tests.extent import extent
from tests.kernels import parquet_metadata_twin as twin
from tests.kernels.extremes_twin import Int32, thrift_struct

EXAMPLES = int(os.environ.get("DELTASKIP_EXAMPLES", extent(12, 100)))


def file_of(seed: int) -> bytes:
    """A file with flat and nested columns of several types, in two row groups."""
    columns = {
        "i": pa.array([seed, None, 3, 4], pa.int32()),
        "b": pa.array([True, None, False, True]),
        "s": pa.array(["a" * seed, None, "", "z"]),
        "l": pa.array([[{"x": 1, "y": ["p", None]}], None, [], [{"x": None, "y": None}]],
                      pa.list_(pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))]))),
        "m": pa.array([[("k", 1.5)], None, [], [("j", None)]], pa.map_(pa.string(), pa.float64())),
        "d": pa.array([b"ab", None, b"cd", b"ef"], pa.binary(2)),
    }  # fmt: skip
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, row_group_size=2)
    return sink.getvalue()


def footer_of(file: bytes) -> bytes:
    (size,) = struct.unpack("<I", file[-8:-4])
    return file[-8 - size : -8]


FILE = file_of(2)
FOOTER = footer_of(FILE)


def rebuilt(path: tuple[int, ...] = (), value: Any = None) -> bytes:
    """The footer with another value at a path of fields and items; None removes it."""
    fields = read_struct(FOOTER)
    if path:
        inside = fields
        for step in path[:-1]:
            inside = inside[step]
        if value is None:
            del inside[path[-1]]
        else:
            inside[path[-1]] = value
    chunks = [chunk.get(3, {}) for group in fields[4] for chunk in group[1]]
    for struct_of, numbers in (*((each, (1, 2, 3, 5)) for each in fields[2]), *((each, (1,)) for each in chunks)):
        struct_of |= {number: Int32(struct_of[number]) for number in numbers if number in struct_of}
    return thrift_struct(fields)


def test_footers_of_writers_fit() -> None:
    assert footer_fits(FOOTER)
    assert footer_fits(rebuilt())
    assert twin.footer_fits(FOOTER)


@pytest.mark.parametrize("path", [(4, 0, 1, 0, 3, 12), (4, 0, 1, 0, 3, 16), (4, 0, 1, 0, 3, 16, 3), (2, 1, 4)])
def test_what_may_be_absent_need_not_be_there(path: tuple[int, ...]) -> None:
    assert footer_fits(rebuilt(path))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((4, 0, 1, 3), None),  # a column chunk less than columns
        ((4, 1, 1), []),
        ((4, 0, 1, 0, 8), {1: {}}),  # encrypted
        ((4, 0, 1, 0, 9), b"x"),
        ((4, 0, 1, 0, 3), None),
        ((4, 0, 1, 0, 3, 1), 2),  # another type
        ((4, 0, 1, 0, 3, 12, 3), 3),  # more nulls than values
        ((4, 0, 1, 0, 3, 12, 5), b"abc"),  # a bound that is too short
        ((2, 15, 2), 3),  # a width that bounds do not have
        ((4, 0, 1, 0, 3, 16, 3), [1, 2, 3]),  # more levels than the column has
        ((4, 0, 1, 0, 3, 16, 1), 5),  # bytes of strings of a column of numbers
        ((2, 1, 3), 0),  # a level less
        ((4, 0, 1, 0, 3, 5), 0),  # fewer values than rows
        ((4, 0, 3), 1),
        ((4, 0, 3), None),
        ((4, 1, 3), 1 << 62),  # more rows than values
        ((3,), 1),  # not the rows of all row groups
    ],
)
def test_column_chunks_that_do_not_fit_are_found(path: tuple[int, ...], value: Any) -> None:
    footer = rebuilt(path, value)
    assert not twin.footer_fits(footer)
    assert not footer_fits(footer)


@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(st.integers(0, len(FOOTER) - 1), st.integers(0, 255)), min_size=1, max_size=3))
def test_damaged_footers_are_judged_as_by_the_twin(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(FOOTER)
    for at, value in changes:
        damaged[at] = value
    try:
        expected = twin.footer_fits(bytes(damaged))
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError):
        footer_fits(bytes(damaged))
        return
    # Of what no footer has, such as a map or numbers of another kind, the kernel lets nothing pass.
    assert footer_fits(bytes(damaged)) == expected or not footer_fits(bytes(damaged))


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=200))
def test_any_bytes_are_judged(data: bytes) -> None:
    assert isinstance(footer_fits(data), bool)


ASKING = """
import random, io, sys
import pyarrow as pa
from deltaskip.log.checkpoint.read import read_metadata
from tests.kernels.test_parquet_metadata import FILE, FOOTER
asked = 0
for seed in range(int(sys.argv[1])):
    random.seed(seed)
    at = len(FILE) - 8 - len(FOOTER) + seed % len(FOOTER)
    damaged = FILE[:at] + bytes([random.choice([0, 255, FILE[at] ^ 1 << random.randrange(8)])]) + FILE[at + 1 :]
    try:
        metadata = read_metadata(pa.BufferReader(damaged))
    except (pa.ArrowException, OSError, ValueError):
        continue
    asked += 1
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for leaf in range(len(metadata.schema)):
            chunk = group.column(leaf)
            statistics = chunk.statistics
            if statistics is not None and statistics.has_min_max:
                statistics.min_raw, statistics.max_raw, chunk.total_compressed_size
print(asked)
"""


def test_pyarrow_can_be_asked_for_the_column_chunks_of_damaged_footers_that_fit() -> None:
    asked = subprocess.run(
        [sys.executable, "-c", ASKING, str(max(EXAMPLES, 2) * 40)], capture_output=True, text=True, check=False
    )
    assert asked.returncode == 0, asked.stderr
    assert int(asked.stdout) > EXAMPLES

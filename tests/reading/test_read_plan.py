"""Choice of scans and forms of deleted rows, without Spark running."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.reading.file_scans import ConstantScan, HiveScan, JoinedScan, scans_of
from deltaskip.reading.marked_rows import MarkedRows
from deltaskip.reading.partition_tuples import PartitionTuples
from deltaskip.settings import options
from deltaskip.sparkexpr import types as t
from tests.looped import looped


def values_table(kind: t.DataType, values: list[Any], arrow: pa.DataType) -> PartitionTuples:
    structs = pa.StructArray.from_arrays([pa.array(values, arrow)], names=["p"])
    return PartitionTuples.of(pa.table({"partition_values": structs}), t.StructType((t.StructField("p", kind),)), ["p"])


DAY = datetime.date(2024, 1, 2)


@looped(
    "kind, arrow, value, directory, believed",
    [
        (t.STRING, pa.string(), "a b", "p=a b", True),
        (t.STRING, pa.string(), "01", "p=01", True),
        (t.STRING, pa.string(), "", "p=", False),
        (t.STRING, pa.string(), "a:b", "p=a%3Ab", False),
        (t.STRING, pa.string(), "a ", "p=a ", False),
        (t.STRING, pa.string(), "__HIVE_DEFAULT_PARTITION__", "p=__HIVE_DEFAULT_PARTITION__", False),
        (t.STRING, pa.string(), None, "p=__HIVE_DEFAULT_PARTITION__", False),
        (t.STRING, pa.string(), "a", "P=a", False),
        (t.INTEGER, pa.int32(), 7, "p=7", True),
        (t.INTEGER, pa.int32(), 7, "p=07", False),
        (t.DATE, pa.date32(), DAY, "p=2024-01-02", True),
        (t.DOUBLE, pa.float64(), 1.0, "p=1.0", False),
        (t.BOOLEAN, pa.bool_(), True, "p=true", False),
    ],
)
def test_directories_are_believed_only_where_there_is_no_doubt(
    kind: t.DataType, arrow: pa.DataType, value: Any, directory: str, believed: bool
) -> None:
    other = {t.STRING: "zz", t.INTEGER: 99, t.DATE: DAY.replace(year=1999), t.DOUBLE: 9.0, t.BOOLEAN: False}[kind]
    table = values_table(kind, [value, other], arrow)
    shapes = scans_of([f"file:/t/{directory}/1", "file:/t/2"], [0, 1], table, "none")
    assert (HiveScan((0,), "file:/t") in shapes) == believed
    assert sorted(row for shape in shapes for row in shape.rows) == [0, 1]


@pytest.mark.parametrize(
    ("megabytes", "expected"),
    [
        (0, [JoinedScan]),
        (1, [JoinedScan]),
        (1000, [HiveScan, *[ConstantScan] * 18]),
        (None, [HiveScan, *[ConstantScan] * 18]),
    ],
)
def test_small_files_of_many_tuples_are_one_joined_scan(megabytes: int | None, expected: list[type]) -> None:
    table = values_table(t.INTEGER, [*range(20)], pa.int32())
    paths = [f"file:/t/p={i}/1" if i < 2 else f"file:/t/{i}" for i in range(20)]
    sizes = None if megabytes is None else [megabytes << 20] * 20
    shapes = scans_of(paths, range(20), table, "none", sizes)
    assert [type(shape) for shape in shapes] == expected
    assert sorted(row for shape in shapes for row in shape.rows) == [*range(20)]


def test_large_files_whose_folders_tell_their_values_are_not_joined() -> None:
    table = values_table(t.INTEGER, [*range(20)], pa.int32())
    paths = [f"file:/t/p={i}/1" if i < 2 else f"file:/t/{i}" for i in range(20)]
    sizes = [1 << 30] * 2 + [1 << 10] * 18
    assert scans_of(paths, range(20), table, "none", sizes) == [
        HiveScan((0, 1), "file:/t"),
        JoinedScan(tuple(range(2, 20))),
    ]


VALUES = st.sampled_from(["a", "b", "é", "", None])
FOLDERS = st.sampled_from(["x", "y/p=a", "y/p=b"])


@given(st.lists(st.tuples(VALUES, FOLDERS), min_size=1))
def test_every_file_is_in_exactly_one_scan(files: list[tuple[str | None, str]]) -> None:
    table = values_table(t.STRING, [value for value, _ in files], pa.string())
    paths = [f"file:/t/{folder}/{i}" for i, (_, folder) in enumerate(files)]
    rows = list(range(len(files)))
    shapes = scans_of(paths, rows, table, "none")
    assert sorted(row for shape in shapes for row in shape.rows) == rows
    for shape in shapes:
        match shape:
            case HiveScan(members, base):
                assert all(paths[row].startswith(f"{base}/p={files[row][0]}/") for row in members)
            case ConstantScan(members, code):
                assert {files[row][0] for row in members} == {table.values[0][table.tuples[code].as_py()].as_py()}
            case JoinedScan():
                raise AssertionError("six tuples need no join")


@given(st.lists(st.sets(st.integers(0, 3000)), min_size=1, max_size=5), st.sampled_from(["bits", "positions"]))
def test_both_forms_hold_exactly_the_deleted_rows(rows: list[set[int]], form: str) -> None:
    positions = [pa.array(sorted(r), pa.int64()) for r in rows]
    with options.changed(deleted_rows=form):
        found = MarkedRows.of(positions)
    assert (found.words is None) == (form == "positions")
    assert found.counts == tuple(map(len, rows))
    if found.words is None:
        assert found.numbers.to_pylist() == [i for r in rows for i in sorted(r)]
        return
    for expected, bits in zip(rows, found.words, strict=True):
        octets = np.array(bits.as_py(), np.int64).view(np.uint8)
        assert set(np.flatnonzero(np.unpackbits(octets, bitorder="little")).tolist()) == expected

"""Rows of arrays in the runs of a mask, beside a filter of their values, and the kernel that copies them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.kernels.row_runs import bits_in, bytes_in, offsets_in, runs_of
from deltaskip.reading.plain_columns import VIEWS, rows_in
from tests.each import refuses

DEEP = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.string())))]))
VALUES = [
    pa.array([None, {"a": 1, "t": "x" * 20}, {"a": None, "t": None}, {"a": 3, "t": "y"}] * 4),
    pa.array([[], None, ["x" * 20, None], ["y"]] * 4),
    pa.array([[("k", 1)], None, [], [("k" * 20, None), ("l", 2)]] * 4, pa.map_(pa.string(), pa.int64())),
    pa.array([[{"m": [("k", ["x", None])]}], None, [None], []] * 4, DEEP),
    pa.array(["x" * 20, None, "", "y"] * 4),
    pa.array([b"x", None, b"", b"y" * 30] * 4),
    pa.array([True, None, False, True] * 4),
    pa.nulls(16),
    pa.array([1, None, 3, 4] * 4, pa.decimal128(5, 1)),
    pa.array([1.5, None, float("inf"), -0.0] * 4, pa.float32()),
    pa.array(["x", None, "y" * 20, "x"] * 4).dictionary_encode(),
    pa.array(["x", None, "y" * 20, "x"] * 4, pa.large_string()),
    pa.array([[1, 2], None, [None, 4], [5, 6]] * 4, pa.list_(pa.int64(), 2)),
]  # fmt: skip


@given(st.lists(st.booleans(), min_size=16, max_size=16), st.integers(0, 15))
def test_rows_where_a_mask_is_true_are_those_of_their_values(chosen: list[bool], start: int) -> None:
    for values in VALUES:
        for array in (values, values.cast(views_of(values.type))):
            array, mask = array.slice(start), np.array(chosen[start:])
            found = rows_in(array, runs_of(mask))
            found.validate(full=True)
            wanted = [value for value, kept in zip(array.to_pylist(), mask, strict=True) if kept]
            assert found.type == array.type and found.to_pylist() == wanted


def views_of(kind: pa.DataType) -> pa.DataType:
    """The type with views for its strings and binary, except for the keys of maps."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(views_of(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, views_of(kind.item_type))
    return pa.list_(views_of(kind.value_type)) if pa.types.is_list(kind) else VIEWS.get(kind, kind)


@given(st.lists(st.booleans(), max_size=100), st.integers(0, 20))
def test_runs_are_those_of_a_mask(chosen: list[bool], first: int) -> None:
    runs = runs_of(np.array(chosen, np.bool_))
    rows = np.flatnonzero(chosen)
    assert runs.rows == len(rows) and np.frombuffer(runs.numbers(), np.int64).tolist() == rows.tolist()
    data = np.arange(first + len(chosen), dtype=np.int32)
    assert np.frombuffer(bytes_in(data, 4, first, runs), np.int32).tolist() == (rows + first).tolist()
    bits = np.packbits(data % 3 == 0, bitorder="little")
    found = np.unpackbits(np.frombuffer(bits_in(bits, first, runs), np.uint8), bitorder="little")[: len(rows)]
    assert found.tolist() == [int((row + first) % 3 == 0) for row in rows]


def test_runs_beyond_the_values_and_offsets_that_do_not_ascend_are_refused() -> None:
    runs = runs_of(np.array([False, True, True]))
    refuses(ValueError, "not within the values", bytes_in, bytes(11), 4, 0, runs)
    refuses(ValueError, "not within the values", bytes_in, bytes(12), 4, 1, runs)
    refuses(ValueError, "not within the bits", bits_in, bytes(1), 6, runs)
    refuses(ValueError, "not within the offsets", lambda: offsets_in(np.arange(3, dtype=np.int32), 0, runs))
    for offsets in ([0, 2, 1, 3], [0, 1, 2, 1], [0, -1, 0, 1]):
        with pytest.raises(ValueError, match="do not ascend"):
            offsets_in(np.array(offsets, np.int32), 0, runs)

"""Rows of arrays that a mask selects, beside Arrow's own filter."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.reading.plain_columns import VIEWS, rows_where

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
]  # fmt: skip


@given(st.lists(st.booleans(), min_size=16, max_size=16), st.integers(0, 15))
def test_rows_where_a_mask_is_true_are_those_of_arrow(chosen: list[bool], start: int) -> None:
    for values in VALUES:
        for array in (values, values.cast(views_of(values.type))):
            array, mask = array.slice(start), np.array(chosen[start:])
            found = rows_where(array, mask)
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

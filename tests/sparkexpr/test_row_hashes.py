"""Hashes of whole rows: equal for equal rows, wherever they stand, and different for all others that are tried."""

import datetime as dt
import decimal
import itertools
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.sparkexpr.values import row_hashes

NAN = float("nan")
COLUMNS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int32(), [None, 0, 1, -1]),
    (pa.bool_(), [None, False, True]),
    (pa.float32(), [None, 0.0, 1.5, NAN]),
    (pa.float64(), [None, 0.0, 1.5, NAN, float("inf")]),
    (pa.string(), [None, "", "a", "ab", "a" * 40]),
    (pa.binary(), [None, b"", b"\0", b"\0\0"]),
    (pa.decimal128(38, 2), [None, decimal.Decimal("0.00"), decimal.Decimal("1e30"), decimal.Decimal("-0.01")]),
    (pa.timestamp("us", "UTC"), [None, dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, tzinfo=dt.UTC)]),
    (pa.list_(pa.int64()), [None, [], [None], [1], [1, 2], [2, 1], [0]]),
    (pa.map_(pa.string(), pa.int32()), [None, [], [("a", None)], [("a", 1)], [("b", 1)]]),
    (pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]), [None, {"a": None, "b": None}, {"a": 1, "b": None},
        {"a": 1, "b": []}, {"a": 1, "b": [None]}, {"a": None, "b": ["x"]}]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values"), COLUMNS, ids=[str(kind) for kind, _ in COLUMNS])
def test_different_values_have_different_hashes_and_equal_ones_the_same(kind: pa.DataType, values: list[Any]) -> None:
    column = pa.array([*values, *values], kind)
    found = row_hashes([column], len(column)).tolist()
    assert found[: len(values)] == found[len(values) :]
    assert len(set(found)) == len(values)
    sliced = pa.array([*values[::-1], *values], kind)[len(values) :]
    assert row_hashes([sliced], len(values)).tolist() == found[: len(values)]
    pairs = list(itertools.product(values, values))
    both = [pa.array([pair[at] for pair in pairs], kind) for at in (0, 1)]
    assert len(set(row_hashes(both, len(pairs)).tolist())) == len(pairs)


def test_both_zeros_and_all_nans_are_equal_and_no_column_is_no_difference() -> None:
    zeros = row_hashes([pa.array([0.0, -0.0, NAN, -NAN])], 4).tolist()
    assert zeros[0] == zeros[1] and zeros[2] == zeros[3] != zeros[0]
    assert len(set(row_hashes([], 3).tolist())) == 1

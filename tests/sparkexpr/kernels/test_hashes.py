"""Hashes of whole arrays by the kernels against the evaluator's of one value, over every offset and place of nulls."""

from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels.hashes import hash_bytes, hash_decimals, hash_numbers
from deltaskip.sparkexpr.types.data_types import BINARY, INTEGER, LONG, DecimalType
from tests.sparkexpr.kernels import hashes_twin as twin
from tests.sparkexpr.kernels.test_texts import sliced

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
SEEDS = st.integers(-(1 << 31), (1 << 31) - 1)


def lists(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, int]]]:
    return st.lists(st.tuples(st.none() | values, SEEDS), max_size=40)


def seeds_of(rows: list[tuple[Any, int]]) -> pa.Array:
    return pa.array([seed for _, seed in rows], pa.int64())


@given(lists(LONGS), st.integers(0, 11), st.booleans())
def test_integers_of_four_and_eight_bytes(rows: list[tuple[Any, int]], start: int, wide: bool) -> None:
    values, seeds = [value for value, _ in rows], [seed for _, seed in rows]
    narrow = [None if v is None else (v & 0xFFFF_FFFF) - ((v & 0x8000_0000) << 1) for v in values]
    found = hash_numbers(sliced(values, pa.int64(), start), seeds_of(rows), 8, wide)
    assert found.to_pylist() == twin.hashes(values, LONG, seeds, wide)
    found = hash_numbers(sliced(narrow, pa.int64(), start), seeds_of(rows), 4, wide)
    assert found.to_pylist() == twin.hashes(narrow, INTEGER, seeds, wide)


@given(
    lists(st.binary(max_size=80)), st.sampled_from([pa.binary(), pa.large_binary()]), st.integers(0, 11), st.booleans()
)
def test_bytes_of_every_length(rows: list[tuple[Any, int]], type_: pa.DataType, start: int, wide: bool) -> None:
    values, seeds = [value for value, _ in rows], [seed for _, seed in rows]
    found = hash_bytes(sliced(values, type_, start), seeds_of(rows), wide)
    assert found.to_pylist() == twin.hashes(values, BINARY, seeds, wide)


@given(
    lists(st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-(1 << 17), 1 << 17)), st.integers(0, 11), st.booleans()
)
def test_decimals_in_the_fewest_bytes(rows: list[tuple[Any, int]], start: int, wide: bool) -> None:
    context = Context(prec=80)
    values = [None if value is None else Decimal(value).scaleb(-5, context) for value, _ in rows]
    found = hash_decimals(sliced(values, pa.decimal128(38, 5), start), seeds_of(rows), wide)
    assert found.to_pylist() == twin.hashes(values, DecimalType(38, 5), [seed for _, seed in rows], wide)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: hash_numbers(pa.array([1], pa.int32()), pa.array([42]), 4)),
        (TypeError, lambda: hash_decimals(pa.array([1]), pa.array([42]))),
        (TypeError, lambda: hash_bytes(pa.array([1]), pa.array([42]))),
        (TypeError, lambda: hash_numbers(pa.array([1]), pa.array([42], pa.int32()), 4)),
        (ValueError, lambda: hash_numbers(pa.array([1]), pa.array([42]), 2)),
        (ValueError, lambda: hash_numbers(pa.array([1]), pa.array([42, 42]), 4)),
        (ValueError, lambda: hash_numbers(pa.array([1]), pa.array([None], pa.int64()), 4)),
    ],
)
def test_another_layout_is_refused(error: type[Exception], call: Any) -> None:
    with pytest.raises(error):
        call()

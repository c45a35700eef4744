"""Least and greatest values by kernels against plain Python, over every layout, offset and place of nulls."""

import math
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.kernels.extremes import binary_extremes, decimal_extremes, float_extremes, integer_extremes, used_entries
from tests.each import refuses
from tests.kernels import extremes_twin as twin

BITS = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}


def optional(values: st.SearchStrategy[Any], max_size: int = 40) -> st.SearchStrategy[list[Any]]:
    """Short lists with nulls; now and then long stretches of one value, so that whole bytes of the bitmap are set."""
    short = st.lists(st.none() | values, max_size=max_size)
    stretches = st.lists(st.tuples(st.none() | values, st.integers(1, 30)), max_size=6)
    return short | stretches.map(lambda runs: [value for value, n in runs for _ in range(n)])


def sliced(values: list[Any], type_: pa.DataType, start: int) -> pa.Array:
    """The values behind an offset."""
    return pa.array([None] * start + values, type_)[start:]


@given(st.data(), st.sampled_from(list(BITS)), st.integers(0, 11))
def test_integers_of_every_width(data: st.DataObject, type_: pa.DataType, start: int) -> None:
    limit = 1 << (BITS[type_] - 1)
    values = data.draw(optional(st.integers(-limit, limit - 1)))
    assert integer_extremes(sliced(values, type_, start)) == twin.number_extremes(values)


@given(st.data(), st.sampled_from(list(BITS)), st.integers(0, 70), st.integers(1000, 1300))
def test_integers_of_long_arrays_count_anywhere(data: st.DataObject, type_: pa.DataType, start: int, n: int) -> None:
    limit = 1 << (BITS[type_] - 1)
    values = [5] * n
    for place, value in data.draw(st.dictionaries(st.integers(0, n - 1), st.integers(-limit, limit - 1))).items():
        values[place] = value
    least, greatest = data.draw(st.permutations(range(0, n, n // 7)))[:2]
    values[least], values[greatest] = -limit, limit - 1
    assert integer_extremes(sliced(values, type_, start)) == (-limit, limit - 1)
    values[least] = values[greatest] = 5
    assert integer_extremes(sliced(values, type_, start)) == twin.number_extremes(values)


@given(optional(st.integers(-(1 << 31), (1 << 31) - 1)), st.integers(0, 11))
def test_dates_and_timestamps_are_integers(values: list[int | None], start: int) -> None:
    expected = twin.number_extremes(values)
    assert integer_extremes(sliced(values, pa.int32(), start).view(pa.date32())) == expected
    assert integer_extremes(sliced(values, pa.int64(), start).view(pa.timestamp("us", "UTC"))) == expected


@given(st.data(), st.sampled_from([pa.float32(), pa.float64()]), st.integers(0, 11))
def test_nan_is_greatest_and_the_first_zero_counts(data: st.DataObject, type_: pa.DataType, start: int) -> None:
    width = 32 if type_ == pa.float32() else 64
    few = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.0])
    values = data.draw(optional(few) | optional(st.floats(width=width)))
    found, expected = float_extremes(sliced(values, type_, start)), twin.float_extremes(values)
    assert str(found) == str(expected)


@given(optional(st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-3, 3)), st.integers(0, 11))
def test_decimals_are_compared_with_all_digits(values: list[int | None], start: int) -> None:
    wide = Context(prec=80)
    decimals = [None if v is None else Decimal(v).scaleb(-5, wide) for v in values]
    assert decimal_extremes(sliced(decimals, pa.decimal128(38, 5), start)) == twin.number_extremes(values)


@given(
    optional(st.binary(max_size=20) | st.sampled_from([b"", b"\0", b"\0\0", b"longer than a word", b"longer than b"])),
    st.sampled_from([pa.binary(), pa.large_binary()]),
    st.integers(0, 11),
)
def test_texts_are_ordered_by_unsigned_bytes(values: list[bytes | None], type_: pa.DataType, start: int) -> None:
    assert binary_extremes(sliced(values, type_, start)) == twin.binary_extremes(values)


@given(st.lists(st.none() | st.integers(0, 19)), st.sampled_from(list(BITS)), st.integers(0, 11))
def test_used_entries_are_those_that_a_code_names(codes: list[int | None], type_: pa.DataType, start: int) -> None:
    lane = used_entries(sliced(codes, type_, start), 20)
    assert lane.to_arrow().to_pylist() == [i in codes for i in range(20)]


def test_a_code_outside_the_dictionary_is_refused() -> None:
    for code in (-1, 3):
        refuses(ValueError, "outside the dictionary of 3 entries", used_entries, pa.array([0, code], pa.int32()), 3)


@pytest.mark.parametrize(
    ("kernel", "array"),
    [
        (integer_extremes, pa.array([1.0])),
        (integer_extremes, pa.array([True])),
        (integer_extremes, pa.array([1], pa.uint8())),
        (float_extremes, pa.array([1])),
        (decimal_extremes, pa.array([b"0123456789abcdef"], pa.binary(16))),
        (binary_extremes, pa.array([1])),
    ],
)
def test_another_layout_is_refused(kernel: Any, array: pa.Array) -> None:
    refuses(TypeError, None, kernel, array)

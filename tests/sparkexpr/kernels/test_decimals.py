"""Decimals of 128 bits against the twin."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels import decimals
from tests.each import refuses
from tests.sparkexpr.kernels import decimals_twin as twin

DIGITS = st.integers(0, 38).flatmap(lambda digits: st.integers(-(10**digits), 10**digits))
INTEGERS = st.one_of(st.none(), DIGITS.map(lambda value: max(min(value, 10**38 - 1), 1 - 10**38)))
PAIRS = st.lists(st.tuples(INTEGERS, INTEGERS), max_size=12)
OPERATORS = ("+", "-", "*", "/", "%", "div")


def array(values: list[int | None]) -> pa.Array:
    data = b"".join((value or 0).to_bytes(16, "little", signed=True) for value in values)
    bits = bytearray((len(values) + 7) // 8)
    for i, value in enumerate(values):
        bits[i >> 3] |= (value is not None) << (i & 7)
    return pa.Array.from_buffers(pa.decimal128(38, 0), len(values), [pa.py_buffer(bytes(bits)), pa.py_buffer(data)])


def repeated(values: list[int | None], rows: int) -> list[int | None]:
    return values * rows if len(values) == 1 else values


def results(found: tuple[pa.Array, pa.Array]) -> list[twin.Result]:
    values, states = found
    data = values.buffers()[1]
    raw = b"" if data is None else data.to_pybytes()
    numbers = [int.from_bytes(raw[16 * i : 16 * i + 16], "little", signed=True) for i in range(len(values))]
    valid = values.is_valid().to_pylist()
    return [
        (number if known else None, state)
        for number, known, state in zip(numbers, valid, states.to_pylist(), strict=True)
    ]


@settings(max_examples=300)
@given(
    PAIRS, st.integers(0, 38), st.integers(0, 38), st.sampled_from(OPERATORS), st.integers(1, 38), st.integers(0, 38)
)
def test_results_are_those_of_the_twin_or_left_over(
    pairs: list[tuple[int | None, int | None]], one: int, other: int, op: str, precision: int, scale: int
) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    scale = 0 if op == "div" else scale
    found = results(decimals.compute(array(left), array(right), one, other, op, precision, scale))
    wanted = twin.compute(left, right, one, other, op, precision, scale)
    for here, there in zip(found, wanted, strict=True):
        assert here == there or here == (None, twin.LEFT_OVER) != (None, there[1]), (here, there)
    # One value stands for as many as the other side has.
    for a, b in ((left, right[:1]), (left[:1], right)):
        found, wide = (
            results(decimals.compute(array(x), array(y), one, other, op, precision, scale))
            for x, y in ((a, b), (repeated(a, len(pairs)), repeated(b, len(pairs))))
        )
        assert found == wide


@pytest.mark.parametrize("op", OPERATORS)
def test_numbers_of_up_to_fifteen_digits_are_never_left_over(op: str) -> None:
    numbers: list[int | None] = [0, 1, -1, 7, -250, 999_999_999_999_999, -123_456_789_012_345, None]
    left, right = [a for a in numbers for _ in numbers], [b for _ in numbers for b in numbers]
    scale = {"*": 4, "/": 6, "div": 0}.get(op, 2)
    found = results(decimals.compute(array(left), array(right), 2, 2, op, 38, scale))
    assert found == twin.compute(left, right, 2, 2, op, 38, scale)
    assert twin.LEFT_OVER not in [state for _, state in found]


@settings(max_examples=300)
@given(
    st.lists(INTEGERS, max_size=12),
    st.integers(0, 38),
    st.integers(1, 38),
    st.integers(0, 38),
    st.sampled_from(["half up", "half even", "floor", "ceiling", "towards zero"]),
)
def test_rescaled_are_those_of_the_twin(
    values: list[int | None], old: int, precision: int, scale: int, rounding: str
) -> None:
    found = results(decimals.rescale(array(values), old, precision, scale, rounding))
    assert found == twin.rescale(values, old, precision, scale, rounding)


@settings(max_examples=300)
@given(
    st.lists(INTEGERS, max_size=12),
    st.integers(0, 38),
    st.integers(1, 38),
    st.sampled_from(["half up", "half even", "floor", "ceiling", "towards zero"]),
    st.data(),
)
def test_digits_before_the_point_become_zero_as_those_of_the_twin(
    values: list[int | None], old: int, precision: int, rounding: str, data: st.DataObject
) -> None:
    zeros = data.draw(st.integers(0, 38 - old))
    found = results(decimals.rescale(array(values), old, precision, 0, rounding, zeros))
    assert found == twin.rescale(values, old, precision, 0, rounding, zeros)


def test_a_slice_is_read_from_its_offset() -> None:
    values = array([1, None, 25, -25, 7]).slice(2)
    assert results(decimals.rescale(values, 1, 38, 0)) == [(3, 0), (-3, 0), (1, 0)]
    assert results(decimals.compute(values, values, 0, 0, "+", 38, 0)) == [(50, 0), (-50, 0), (14, 0)]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((array([1, 2]), array([1, 2, 3]), 0, 0, "+", 38, 0), ValueError),
        ((array([1]), array([1]), 0, 0, "^", 38, 0), ValueError),
        ((array([1]), array([1]), 39, 0, "+", 38, 0), ValueError),
        ((array([1]), array([1]), 0, 0, "+", 0, 0), ValueError),
        ((pa.array([1]), array([1]), 0, 0, "+", 38, 0), TypeError),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    refuses(error, None, decimals.compute, *arguments)


def test_another_rounding_is_refused() -> None:
    refuses(ValueError, "is no rounding", lambda: decimals.rescale(array([1]), 0, 38, 0, "even"))
    refuses(ValueError, "at most 38", lambda: decimals.rescale(array([1]), 20, 38, 0, "floor", 19))

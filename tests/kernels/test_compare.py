"""Prune kernels agree with their plain twins on every format, operator, offset and null."""

import itertools
import math
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.kernels.compare import compare_columns_int64, compare_decimal128, compare_double, compare_int64
from deltaskip.kernels.compare_binary import compare_binary, in_range_binary, max_may_reach
from deltaskip.kernels.in_range import in_range_double, in_range_int64
from tests.kernels import compare_twin
from tests.looped import looped
from tests.skipping.random_tables import as_float32

OPS = st.sampled_from(sorted(compare_twin.OPERATORS))
WIDTHS = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
SKIPS = st.integers(0, 17)


def sliced(values: list[Any], kind: pa.DataType, skip: int) -> pa.Array:
    """The values behind `skip` others, so that the array has an offset; the others are not null and null in turn."""
    filler = pa.nulls(1, kind)
    array = pa.concat_arrays([pa.concat_arrays([filler] * (skip or 1)), pa.array(values, kind)])
    return array[(skip or 1) :] if skip else pa.array(values, kind)


def integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return st.one_of(st.sampled_from([low, low + 1, -1, 0, 1, high - 1, high]), st.integers(low, high))


def given_or_zero(values: list[int | None]) -> st.SearchStrategy[int]:
    return st.sampled_from([v or 0 for v in values] or [0])


def with_nulls(values: st.SearchStrategy[Any], size: int = 60) -> st.SearchStrategy[list[Any]]:
    return st.one_of(st.lists(values, max_size=size), st.lists(st.one_of(st.none(), values), max_size=size))


FLOATS = st.one_of(
    st.sampled_from([math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0]), st.floats()
)
TEXTS = st.one_of(st.binary(max_size=20), st.text("ab\x00\xff", max_size=12).map(lambda s: s.encode("latin-1")))


@given(st.data(), st.sampled_from(list(WIDTHS)), OPS, SKIPS)
def test_integers_of_every_width_compare_like_the_twin(data: st.DataObject, kind, op: str, skip: int) -> None:
    values = data.draw(with_nulls(integers(WIDTHS[kind])))
    literal = data.draw(st.one_of(integers(WIDTHS[kind]), integers(70), given_or_zero(values)))
    assert list(bytes(compare_int64(sliced(values, kind, skip), op, literal))) == compare_twin.compare(
        values, op, literal
    )


@given(with_nulls(integers(64)), OPS, integers(64), SKIPS, st.sampled_from(["s", "ms", "us", "ns"]))
def test_timestamps_compare_as_numbers(values: list[int | None], op: str, literal: int, skip: int, unit: str) -> None:
    expected = compare_twin.compare(values, op, literal)
    for zone in (None, "UTC"):
        array = sliced(values, pa.int64(), skip).view(pa.timestamp(unit, zone))
        assert list(bytes(compare_int64(array, op, literal))) == expected


@given(with_nulls(integers(32)), OPS, integers(33))
def test_dates_compare_by_their_day(values: list[int | None], op: str, literal: int) -> None:
    array = pa.array(values, pa.int32()).view(pa.date32())
    assert list(bytes(compare_int64(array, op, literal))) == compare_twin.compare(values, op, literal)


@given(with_nulls(st.booleans(), 100), OPS, st.integers(-1, 2), SKIPS)
def test_booleans_compare_as_zero_and_one(values: list[bool | None], op: str, literal: int, skip: int) -> None:
    lane = compare_int64(sliced(values, pa.bool_(), skip), op, literal)
    assert list(bytes(lane)) == compare_twin.compare(values, op, literal)


@looped("kind, op, beyond", itertools.product(list(WIDTHS), sorted(compare_twin.OPERATORS), [0, 1, 10**30]))
def test_a_literal_beyond_the_type_compares_like_any_other_number(kind, op: str, beyond: int) -> None:
    high = (1 << (WIDTHS[kind] - 1)) - 1
    values = [-high - 1, 0, None, high]
    for literal in (high + beyond, -high - 1 - beyond):
        assert list(bytes(compare_int64(pa.array(values, kind), op, literal))) == compare_twin.compare(
            values, op, literal
        )


@given(st.data(), st.booleans(), OPS, SKIPS)
def test_doubles_and_floats_compare_in_sparks_order(data: st.DataObject, single: bool, op: str, skip: int) -> None:
    values = data.draw(with_nulls(FLOATS))
    if single:
        values = [None if v is None else as_float32(v) for v in values]
    literal = data.draw(st.one_of(FLOATS, st.sampled_from([0.0 if v is None else v for v in values] or [0.0])))
    array = sliced(values, pa.float32() if single else pa.float64(), skip)
    assert list(bytes(compare_double(array, op, literal))) == compare_twin.compare(
        values, op, literal, compare_twin.spark_order
    )


@given(st.data(), OPS, SKIPS)
def test_decimals_compare_by_their_unscaled_number(data: st.DataObject, op: str, skip: int) -> None:
    limit = 10**38 - 1
    near_words = st.builds(lambda high, low: high * 2**64 + low, st.integers(-3, 3), integers(65))
    unscaled = st.one_of(st.integers(-limit, limit), near_words, st.integers(-5, 5))
    values = data.draw(with_nulls(unscaled, 30))
    literal = data.draw(st.one_of(unscaled, integers(128), integers(140), given_or_zero(values)))
    exact = Context(prec=40)
    array = sliced([None if v is None else exact.scaleb(Decimal(v), -7) for v in values], pa.decimal128(38, 7), skip)
    assert list(bytes(compare_decimal128(array, op, literal))) == compare_twin.compare(values, op, literal)


@given(st.data(), OPS, SKIPS, st.sampled_from([pa.binary(), pa.large_binary()]))
def test_bytes_compare_unsigned_with_prefixes_below(data: st.DataObject, op: str, skip: int, kind) -> None:
    values = data.draw(with_nulls(TEXTS))
    literal = data.draw(st.one_of(TEXTS, st.sampled_from([v or b"" for v in values] or [b""])))
    assert list(bytes(compare_binary(sliced(values, kind, skip), op, literal))) == compare_twin.compare(
        values, op, literal
    )


@given(with_nulls(st.text(max_size=12)), OPS, st.text(max_size=12), st.sampled_from([pa.string(), pa.large_string()]))
def test_strings_compare_by_their_utf8_bytes(values: list[str | None], op: str, literal: str, kind) -> None:
    raw = [None if v is None else v.encode() for v in values]
    lane = compare_binary(pa.array(values, kind), op, literal.encode())
    assert list(bytes(lane)) == compare_twin.compare(raw, op, literal.encode())


@given(st.data(), st.integers(0, 10), st.booleans(), SKIPS)
def test_a_cut_bound_reaches_what_begins_with_it(data: st.DataObject, cut_from: int, strict: bool, skip: int) -> None:
    literal = data.draw(TEXTS)
    prefixes = st.integers(0, len(literal)).map(lambda n: literal[:n])
    values = data.draw(with_nulls(st.one_of(TEXTS, prefixes)))
    lane = max_may_reach(sliced(values, pa.binary(), skip), literal, cut_from, strict)
    assert list(bytes(lane)) == compare_twin.max_may_reach(values, literal, cut_from, strict)


@given(st.data(), st.sampled_from(list(WIDTHS)), OPS, SKIPS)
def test_columns_compare_row_by_row(data: st.DataObject, kind, op: str, skip: int) -> None:
    value = st.one_of(st.integers(-2, 2), integers(WIDTHS[kind]))
    left = data.draw(with_nulls(value))
    right = data.draw(st.lists(st.one_of(st.none(), value), min_size=len(left), max_size=len(left)))
    lane = compare_columns_int64(sliced(left, kind, skip), sliced(right, kind, 3), op)
    assert list(bytes(lane)) == compare_twin.compare_columns(left, right, op)


@given(st.data(), st.sampled_from(list(WIDTHS)), SKIPS)
def test_integer_ranges_keep_where_some_point_lies_within(data: st.DataObject, kind, skip: int) -> None:
    value = st.one_of(st.integers(-20, 20), integers(WIDTHS[kind]))
    mins, maxs = data.draw(bounds(value))
    points = sorted(data.draw(st.lists(st.one_of(value, integers(64)), max_size=30)))
    lane = in_range_int64(sliced(mins, kind, skip), sliced(maxs, kind, 2), sliced(points, pa.int64(), skip))
    assert list(bytes(lane)) == compare_twin.in_range(mins, maxs, points)


@given(st.data(), st.booleans(), SKIPS)
def test_double_ranges_keep_where_some_point_lies_within(data: st.DataObject, single: bool, skip: int) -> None:
    value = FLOATS.map(as_float32) if single else FLOATS
    mins, maxs = data.draw(bounds(value))
    points = sorted(data.draw(st.lists(FLOATS, max_size=30)), key=compare_twin.spark_order)
    kind = pa.float32() if single else pa.float64()
    lane = in_range_double(sliced(mins, kind, skip), sliced(maxs, kind, 2), sliced(points, pa.float64(), skip))
    assert list(bytes(lane)) == compare_twin.in_range(mins, maxs, points, compare_twin.spark_order)


@given(st.data(), SKIPS, st.one_of(st.none(), st.integers(0, 6)))
def test_binary_ranges_keep_where_some_point_lies_within(data: st.DataObject, skip: int, cut_from: int | None) -> None:
    points = sorted(data.draw(st.lists(TEXTS, max_size=30)))
    shared = st.tuples(st.sampled_from(points or [b"a"]), st.integers(0, 20)).map(lambda p: p[0][: p[1]])
    mins, maxs = data.draw(bounds(st.one_of(TEXTS, shared)))
    # A cut maximum below its minimum is no statistic of any file: the kernel may answer either way.
    pairs = [(a, b) for a, b in zip(mins, maxs, strict=True) if a is None or b is None or a <= b]
    mins, maxs = [p[0] for p in pairs], [p[1] for p in pairs]
    lane = in_range_binary(
        sliced(mins, pa.binary(), skip), sliced(maxs, pa.large_binary(), 2), sliced(points, pa.binary(), skip), cut_from
    )
    assert list(bytes(lane)) == compare_twin.in_range(mins, maxs, points, cut_from=cut_from)


def bounds(value: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[list[Any], list[Any]]]:
    pair = st.tuples(st.one_of(st.none(), value), st.one_of(st.none(), value))
    return st.lists(pair, max_size=40).map(lambda pairs: ([p[0] for p in pairs], [p[1] for p in pairs]))


def test_no_points_keep_no_row() -> None:
    none = pa.array([None], pa.int64())
    assert bytes(in_range_int64(none, none, pa.array([], pa.int64()))) == b"\x00"
    text = pa.array([None], pa.string())
    assert bytes(in_range_binary(text, text, pa.array([], pa.string()))) == b"\x00"


INTS, OTHERS, TEXT, REALS = (pa.array([1, 2]), pa.array([1, 2, 3]), pa.array(["a", "b"]), pa.array([1.0, 2.0]))


@looped(
    "call, error",
    [
        (lambda: compare_int64(REALS, "lt", 1), TypeError),
        (lambda: compare_int64(INTS.cast(pa.uint8()), "lt", 1), TypeError),
        (lambda: compare_int64(TEXT, "lt", 1), TypeError),
        (lambda: compare_int64([1, 2], "lt", 1), TypeError),
        (lambda: compare_int64(INTS, "lt", 1.5), TypeError),
        (lambda: compare_int64(INTS, "<", 1), ValueError),
        (lambda: compare_int64(INTS, None, 1), TypeError),
        (lambda: compare_int64(TEXT.dictionary_encode(), "lt", 1), TypeError),
        (lambda: compare_double(INTS, "lt", 1.0), TypeError),
        (lambda: compare_double(REALS, "no", 1.0), ValueError),
        (lambda: compare_decimal128(INTS, "lt", 1), TypeError),
        (lambda: compare_decimal128(INTS.cast(pa.decimal256(40, 0)), "lt", 1), TypeError),
        (lambda: compare_binary(INTS, "lt", b"a"), TypeError),
        (lambda: compare_binary(TEXT, "lt", "a"), TypeError),
        (lambda: compare_binary(TEXT, "lt", None), TypeError),
        (lambda: compare_binary(TEXT, "no", b"a"), ValueError),
        (lambda: max_may_reach(INTS, b"a", 1), TypeError),
        (lambda: compare_columns_int64(INTS, OTHERS, "lt"), ValueError),
        (lambda: compare_columns_int64(INTS, INTS.cast(pa.int32()), "lt"), TypeError),
        (lambda: compare_columns_int64(REALS, REALS, "lt"), TypeError),
        (lambda: in_range_int64(INTS, OTHERS, INTS), ValueError),
        (lambda: in_range_int64(INTS, INTS, INTS.cast(pa.int32())), TypeError),
        (lambda: in_range_int64(INTS, INTS, pa.array([2, 1])), ValueError),
        (lambda: in_range_int64(INTS, INTS, pa.array([1, None])), ValueError),
        (lambda: in_range_double(REALS, REALS, pa.array([math.nan, 1.0])), ValueError),
        (lambda: in_range_double(REALS, REALS.cast(pa.float32()), REALS), TypeError),
        (lambda: in_range_double(REALS, REALS, INTS), TypeError),
        (lambda: in_range_binary(TEXT, TEXT, pa.array(["b", "a"])), ValueError),
        (lambda: in_range_binary(TEXT, TEXT, pa.array(["b", None])), ValueError),
        (lambda: in_range_binary(TEXT, TEXT[:1], TEXT), ValueError),
        (lambda: in_range_binary(TEXT, INTS, TEXT), TypeError),
    ],
    lambda case: f"line {case[0].__code__.co_firstlineno}",
)
def test_wrong_formats_lengths_and_operators_are_refused(call, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()

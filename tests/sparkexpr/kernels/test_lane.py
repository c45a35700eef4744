"""Lanes: counting, indexing, packing and combining agree with plain lists."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels.lane import Lane, and_lanes, constant_lane, or_lanes, take_lane
from tests.each import refuses

BITS = st.lists(st.integers(0, 1), max_size=600)


def lane_of(bits: list[int]) -> Lane:
    lane = constant_lane(len(bits), True)
    memoryview(lane)[:] = bytes(bits)
    return lane


@given(BITS)
def test_a_lane_counts_indexes_and_packs_what_it_keeps(bits: list[int]) -> None:
    lane = lane_of(bits)
    assert len(lane) == len(bits)
    assert bytes(lane) == bytes(bits)
    assert lane.count() == sum(bits)
    assert lane.indices().type == pa.int64()
    assert lane.indices().to_pylist() == [i for i, b in enumerate(bits) if b]
    arrow = lane.to_arrow()
    arrow.validate(full=True)
    assert arrow.to_pylist() == [bool(b) for b in bits]


@given(st.lists(st.integers(0, 255), max_size=600))
def test_any_byte_but_zero_keeps(stray: list[int]) -> None:
    lane, other = lane_of(stray), constant_lane(len(stray), True)
    kept = [b != 0 for b in stray]
    assert lane.count() == sum(kept)
    assert lane.to_arrow().to_pylist() == kept
    and_lanes(other, lane)
    assert bytes(other) == bytes(kept)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=300))
def test_and_and_or_change_the_first_lane_in_place(pairs: list[tuple[int, int]]) -> None:
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    both, either, other = lane_of(a), lane_of(a), lane_of(b)
    and_lanes(both, other)
    or_lanes(either, other)
    assert list(bytes(both)) == [x & y for x, y in pairs]
    assert list(bytes(either)) == [x | y for x, y in pairs]
    assert list(bytes(other)) == b


@given(st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=100), st.integers(0, 9), st.booleans())
def test_a_taken_lane_holds_the_byte_of_each_code(codes: list[int | None], skip: int, keep_null: bool) -> None:
    table = b"\x01\x00\x00\x01\x01"
    array = pa.array([0] * skip + codes, pa.int32())[skip:]
    expected = [keep_null if c is None else table[c] for c in codes]
    assert list(bytes(take_lane(array, table, keep_null))) == expected
    assert list(bytes(take_lane(array, lane_of(list(table)), keep_null))) == expected


@pytest.mark.parametrize("code", [-1, 2, 2**31 - 1, -(2**31)])
def test_a_code_without_a_byte_is_refused(code: int) -> None:
    refuses(ValueError, "keep_per_code", take_lane, pa.array([0, code], pa.int32()), b"\x01\x00", True)


def test_a_wild_code_under_a_null_is_not_read() -> None:
    codes = pa.Array.from_buffers(
        pa.int32(), 2, [pa.py_buffer(b"\x01"), pa.array([0, 10**9], pa.int32()).buffers()[1]], null_count=1
    )
    assert bytes(take_lane(codes, b"\x00", True)) == b"\x00\x01"


def test_codes_must_be_int32() -> None:
    refuses(TypeError, "int32", take_lane, pa.array([0]), b"\x01", True)


@pytest.mark.parametrize("combine", [and_lanes, or_lanes])
def test_lanes_of_unlike_lengths_do_not_combine(combine) -> None:
    refuses(ValueError, "3 and 4 rows", lambda: combine(constant_lane(3, True), constant_lane(4, True)))
    refuses(TypeError, None, lambda: combine(constant_lane(3, True), None))


@pytest.mark.parametrize("keep", [False, True])
def test_a_constant_lane_is_all_one_byte(keep: bool) -> None:
    assert bytes(constant_lane(11, keep)) == bytes([keep]) * 11
    assert len(constant_lane(0, keep)) == 0


def test_a_lane_has_no_negative_length_and_no_constructor() -> None:
    refuses(ValueError, "number of rows must not be negative: -1", constant_lane, -1, True)
    refuses(TypeError, None, Lane)


def test_a_view_keeps_its_lane_alive() -> None:
    view = memoryview(constant_lane(1000, True))
    assert bytes(view) == b"\x01" * 1000

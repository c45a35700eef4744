"""Positions of rows in files, kept as bitmaps."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.dml.positions import RowPositions, union_of_positions


@given(st.lists(st.sets(st.integers(0, 1 << 40), max_size=30), max_size=6), st.data())
def test_positions_come_back_as_they_were_given(files: list[set[int]], data: st.DataObject) -> None:
    arrays = [pa.array(sorted(each), pa.int64()) for each in files]
    kept = RowPositions(iter(arrays))
    assert [each.to_pylist() for each in kept] == [each.to_pylist() for each in arrays]
    assert list(kept.counts) == [len(each) for each in arrays]
    assert [kept[i].to_pylist() for i in range(len(kept))] == [each.to_pylist() for each in arrays]
    chosen = data.draw(st.lists(st.integers(0, len(files) - 1), max_size=4)) if files else []
    assert [each.to_pylist() for each in kept.take(chosen)] == [arrays[i].to_pylist() for i in chosen]
    assert [each.to_pylist() for each in kept[1:]] == [each.to_pylist() for each in arrays[1:]]


def test_many_positions_take_a_bit_each() -> None:
    kept = RowPositions([pa.array(range(0, 2_000_000, 2), pa.int64())])
    assert len(kept._bitmaps[0]) < 2_000_000 / 8 * 1.1


@given(st.lists(st.sets(st.integers(0, 300), max_size=60).map(sorted), max_size=4))
def test_a_union_has_each_position_once_in_order(arrays: list[list[int]]) -> None:
    found = union_of_positions([pa.array(each, pa.int64()) for each in arrays])
    assert found.to_pylist() == sorted(set().union(*arrays))

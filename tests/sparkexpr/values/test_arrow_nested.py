"""What is inside Arrow lists and maps, and arrays with something else inside, against Python's lists."""

from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.types.data_types import LONG, STRING, ArrayType, DataType, MapType, StructField, StructType
from deltaskip.sparkexpr.values.arrow_nested import changed_inside, list_items, list_offsets, map_lists

NUMBERS = st.none() | st.integers(0, 9)
TYPE = StructType(
    (
        StructField("a", ArrayType(LONG)),
        StructField("m", MapType(STRING, ArrayType(LONG))),
        StructField("s", StructType((StructField("x", LONG),))),
    )
)
LISTS = st.none() | st.lists(NUMBERS, max_size=3)
MAPS = st.none() | st.dictionaries(st.sampled_from("abc"), LISTS, max_size=3).map(lambda each: list(each.items()))
STRUCTS = st.none() | st.fixed_dictionaries({"x": NUMBERS})
ROWS = st.none() | st.fixed_dictionaries({"a": LISTS, "m": MAPS, "s": STRUCTS})
ARROW = pa.struct(
    [
        ("a", pa.list_(pa.int64())),
        ("m", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("s", pa.struct([("x", pa.int64())])),
    ]
)


def plus_one(array: pa.Array, data_type: DataType) -> pa.Array:
    return pa.compute.add(array, 1) if data_type == LONG else changed_inside(array, data_type, plus_one)


def plus_one_twin(value: Any) -> Any:
    match value:
        case int():
            return value + 1
        case dict():
            return {name: plus_one_twin(each) for name, each in value.items()}
        case list():
            return [plus_one_twin(each) for each in value]
        case tuple():
            return tuple(plus_one_twin(each) for each in value)
    return value


@given(st.lists(ROWS, max_size=6), st.integers(0, 3), st.integers(0, 6))
def test_changes_inside_are_those_of_python(rows: list[Any], start: int, count: int) -> None:
    array = pa.array(rows, ARROW).slice(min(start, len(rows)), count)
    changed = plus_one(array, TYPE)
    changed.validate(full=True)
    assert changed.type == array.type
    assert changed.to_pylist() == plus_one_twin(rows[start : start + count])


@given(st.lists(MAPS, max_size=6), st.integers(0, 3), st.integers(0, 6))
def test_maps_are_lists_of_their_entries(rows: list[Any], start: int, count: int) -> None:
    lists = map_lists(pa.array(rows, ARROW.field("m").type).slice(min(start, len(rows)), count))
    lists.validate(full=True)
    chosen = rows[start : start + count]
    expected = [None if each is None else [{"key": key, "value": value} for key, value in each] for each in chosen]
    assert lists.to_pylist() == expected
    items, offsets = list_items(lists), list_offsets(lists).to_pylist()
    again = [items.slice(low, high - low).to_pylist() for low, high in pairwise(offsets)]
    assert again == [each or [] for each in expected]

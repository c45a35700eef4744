"""Thrift's compact protocol: what a plain writer wrote is read back, and damaged bytes raise or end, never crash."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.kernels.thrift_compact import read_fields, read_struct, write_fields
from tests.each import refuses
from tests.kernels.extremes_twin import thrift_struct
from tests.looped import looped

INTEGERS = st.integers(-(1 << 63) + 1, (1 << 63) - 1)
SCALARS = st.booleans() | INTEGERS | st.floats(allow_nan=False) | st.binary(max_size=40)


def structs(depth: int) -> st.SearchStrategy[dict[int, Any]]:
    values: st.SearchStrategy[Any] = SCALARS | st.lists(INTEGERS, max_size=20) | st.lists(st.binary(), max_size=20)
    values |= st.lists(st.booleans(), max_size=3)
    if depth:
        values |= structs(depth - 1) | st.lists(structs(depth - 1), max_size=3)
    return st.dictionaries(st.integers(1, 300), values, max_size=6)


@given(structs(2), st.binary(max_size=3))
def test_a_struct_is_read_back_and_what_follows_is_left(fields: dict[int, Any], behind: bytes) -> None:
    assert read_struct(thrift_struct(fields) + behind) == fields


@given(structs(2), st.binary(max_size=3))
def test_fields_with_their_kinds_are_written_as_they_were(fields: dict[int, Any], behind: bytes) -> None:
    written = thrift_struct(fields)
    assert write_fields(read_fields(written + behind)) == written


@given(structs(3), st.integers(1, 5), st.binary(max_size=3))
def test_what_is_nested_deeper_is_bytes_written_as_it_was(fields: dict[int, Any], levels: int, behind: bytes) -> None:
    written = thrift_struct(fields)
    found = read_fields(written + behind, levels)
    assert write_fields(found) == written
    for field, value in fields.items():
        if levels == 1 and isinstance(value, dict):
            assert found[field][1] == thrift_struct(value)
        elif not isinstance(value, dict | list):
            assert found[field][1] == value


@given(structs(2), st.data())
def test_nested_bytes_that_are_cut_off_raise(fields: dict[int, Any], data: st.DataObject) -> None:
    whole = thrift_struct(fields)
    with pytest.raises(ValueError, match="Thrift"):
        read_fields(whole[: data.draw(st.integers(0, len(whole) - 1))], data.draw(st.integers(1, 3)))


@given(st.binary(max_size=200), st.integers(1, 4))
def test_any_bytes_give_fields_or_raise(data: bytes, levels: int) -> None:
    try:
        whole = read_fields(data)
    except ValueError:
        refuses(ValueError, "Thrift", read_fields, data, levels)
        return
    assert write_fields(read_fields(data, levels)) in (write_fields(whole), data[: len(write_fields(whole))])


@given(st.integers(1, 300), INTEGERS, INTEGERS)
def test_a_number_that_was_changed_is_read_back(field: int, before: int, after: int) -> None:
    fields = read_fields(thrift_struct({field: before, field + 1: b"behind"}))
    fields[field] = fields[field][0], after
    assert read_struct(write_fields(fields)) == {field: after, field + 1: b"behind"}


@given(structs(2), st.data())
def test_a_struct_that_is_cut_off_raises(fields: dict[int, Any], data: st.DataObject) -> None:
    whole = thrift_struct(fields)
    refuses(ValueError, "Thrift", lambda: read_struct(whole[: data.draw(st.integers(0, len(whole) - 1))]))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_struct_or_raise(data: bytes) -> None:
    try:
        fields = read_struct(data)
    except ValueError:
        return
    assert isinstance(fields, dict)


@looped(
    "read, data, reason",
    [
        (lambda data: read_fields(data, 1), b"\x1c" * 5000, "too deep"),
        (lambda data: read_fields(data, 1), b"\x1c\x1b\x00\x00\x00", "unknown Thrift type 11"),
        (read_fields, b"\x1b\x00\x00", "unknown Thrift type 11"),
        (read_struct, b"\x1c" * 5000, "too deep"),
        (read_struct, b"\x18\xff\xff\xff\xff\x0f", "exceeds the data"),
        *((read_struct, bytes([0x19, kind, 0]), f"unknown Thrift type {kind}") for kind in range(13, 16)),
    ],
)
def test_what_is_refused_is_named(read: Callable[[bytes], object], data: bytes, reason: str) -> None:
    refuses(ValueError, reason, read, data)


def test_empty_lists_have_any_type() -> None:
    assert all(read_struct(bytes([0x19, kind, 0])) == {1: []} for kind in range(13))

"""Keys with a word of each beside them, against Python's own comparison of bytes."""

import operator
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.kernels.compare_binary import compare_binary
from deltaskip.sparkexpr.kernels.key_column import KeyColumn
from tests.each import refuses
from tests.extent import extent

OPS: dict[Any, Callable[[bytes, bytes], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
ENDS = st.lists(st.sampled_from([b"\x00", b"\x01", b"a", b"b", b"\xff"]), max_size=11).map(b"".join)


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[bytes | None], bytes]:
    """Keys that begin alike, some not, and a key near them."""
    beginning = draw(ENDS)
    near = ENDS.map(lambda end: beginning + end)
    keys = draw(st.lists(st.one_of(st.none(), near, near, near, ENDS), max_size=12))
    key = draw(st.one_of(near, ENDS, *([st.sampled_from([key for key in keys if key])] if any(keys) else [])))
    return keys, key[: draw(st.integers(0, 20))]


@settings(deadline=None, max_examples=extent(60, 400))
@given(made=columns(), wide=st.booleans(), skip=st.integers(0, 2))
def test_keeps_what_python_keeps(made: tuple[list[bytes | None], bytes], wide: bool, skip: int) -> None:
    keys, key = made
    column = KeyColumn(pa.array(keys, pa.large_binary() if wide else pa.binary()).slice(skip))
    rows = keys[skip:]
    assert len(column) == len(rows)
    for op, holds in OPS.items():
        whole = [value is None or holds(value, key) for value in rows]
        assert column.keep(op, key).to_arrow().to_pylist() == whole
        begun = [value is None or holds(value[: len(key)], key) for value in rows]
        assert column.keep(op, key, prefix=True).to_arrow().to_pylist() == begun


@pytest.mark.parametrize("op", OPS)
def test_agrees_with_the_comparison_of_strings(op: Any) -> None:
    keys = pa.array([f"customer-{n % 977:06d}-{n % 7}".encode() for n in range(5000)], pa.large_binary())
    for key in (b"customer-000500-3", b"customer-", b"", b"d", b"customer-000976", b"customer-0004999"):
        found = KeyColumn(keys).keep(op, key).to_arrow()
        assert found == compare_binary(keys, op, key).to_arrow()


def test_the_room_that_it_takes_is_known() -> None:
    keys = pa.array([b"abc"] * 1000, pa.large_binary())
    assert KeyColumn(keys).nbytes == keys.nbytes + 8000


def test_what_it_cannot_do_is_refused() -> None:
    refuses(TypeError, "Expected a string or binary Arrow array", KeyColumn, pa.array([1]))
    refuses(ValueError, "Unknown operator 'like'", lambda: KeyColumn(pa.array([b"a"])).keep("like", b"a"))

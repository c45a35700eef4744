"""Codes of the elements of lists against plain sets."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels.list_codes import codes_among, repeated_codes
from tests.each import refuses

LISTS = st.lists(st.lists(st.integers(0, 6), max_size=6), max_size=8)


def flat(lists: list[list[int]]) -> tuple[pa.Array, pa.Array]:
    return pa.array(map(len, lists), pa.int64()), pa.array([each for part in lists for each in part], pa.int64())


@given(LISTS)
def test_elements_that_repeat(lists: list[list[int]]) -> None:
    found = repeated_codes(*flat(lists), 7)
    found.validate(full=True)
    assert found.to_pylist() == [each in part[:at] for part in lists for at, each in enumerate(part)]


@given(LISTS, LISTS)
def test_elements_among_those_of_another_list(lists: list[list[int]], others: list[list[int]]) -> None:
    rows = min(len(lists), len(others))
    found = codes_among(*flat(lists[:rows]), *flat(others[:rows]), 7)
    found.validate(full=True)
    pairs = zip(lists[:rows], others[:rows], strict=True)
    assert found.to_pylist() == [each in other for part, other in pairs for each in part]


def test_what_does_not_fit_is_refused() -> None:
    one = pa.array([1], pa.int64())
    for lengths, codes, count in ((one, one, 1), (one, pa.array([], pa.int64()), 5), (pa.array([-1]), one, 5)):
        refuses(ValueError, "do not fit", repeated_codes, lengths, codes, count)
    refuses(ValueError, "length", codes_among, one, one, pa.array([1, 1]), pa.array([0, 0]), 2)
    refuses(TypeError, None, repeated_codes, pa.array([1], pa.int32()), one, 2)
    refuses(ValueError, "null", repeated_codes, pa.array([None], pa.int64()), one, 2)

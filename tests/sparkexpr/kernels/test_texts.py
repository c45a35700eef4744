"""Kernels of strings and bytes against Python's own functions, over every offset and place of nulls."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels import text_parts
from deltaskip.sparkexpr.values import strings
from tests.sparkexpr.kernels import text_twin as twin

LETTERS = "abA,.7 \0\u00e9\u0301\uffff\U0001f600"
TEXT = st.text(LETTERS, max_size=12)
PART = st.text(LETTERS, max_size=2)
ANY_TEXT = st.text(max_size=12)
NUMBER = st.integers(-4, 4) | st.sampled_from([-(1 << 31), (1 << 31) - 1])
START = st.integers(0, 11)


def rows(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | values, max_size=20)


def sliced(values: list[Any], type_: pa.DataType, start: int) -> pa.Array:
    return pa.array([None] * start + values, type_)[start:]


def each(values: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else function(value) for value in values]


def checked(found: pa.Array) -> list[Any]:
    found.validate(full=True)
    listed: list[Any] = found.to_pylist()
    return listed


STRINGS = st.sampled_from([pa.string(), pa.large_string()])


@given(rows(TEXT), STRINGS, START, PART, NUMBER)
def test_parts_by_a_delimiter(values: list[Any], type_: pa.DataType, start: int, part: str, number: int) -> None:
    texts = sliced(values, type_, start)
    found = checked(text_parts.before_delimiter(texts, part.encode(), number))
    assert found == each(values, lambda text: strings.before_delimiter(text, part, max(-100, min(number, 100))))
    if number != -(1 << 31):
        found = checked(text_parts.part_between(texts, part.encode(), number))
        assert found == each(values, lambda text: twin.part_between(text, part, number))


@given(st.lists(st.tuples(st.none() | TEXT, st.none() | PART), max_size=20), STRINGS, START)
def test_parts_of_each_row(pairs: list[tuple[str | None, str | None]], type_: pa.DataType, start: int) -> None:
    texts, parts = (sliced([pair[at] for pair in pairs], type_, start) for at in range(2))
    for place, has in enumerate((str.startswith, str.__contains__, str.endswith)):
        wanted = [None if text is None or part is None else has(text, part) for text, part in pairs]
        assert checked(text_parts.has_parts(texts, parts, place)) == wanted


@given(rows(TEXT), STRINGS, START, PART, NUMBER)
def test_places_of_a_part(values: list[Any], type_: pa.DataType, start: int, part: str, number: int) -> None:
    found = checked(text_parts.located(sliced(values, type_, start), part.encode(), number))
    assert found == each(values, lambda text: strings.locate(part, text, number))


@given(rows(st.text(st.characters(max_codepoint=127), max_size=10)), START)
def test_capital_letters_of_ascii(values: list[Any], start: int) -> None:
    assert checked(text_parts.capitalized(sliced(values, pa.string(), start))) == each(values, strings.capitalized)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: text_parts.before_delimiter(pa.array([1]), b"a", 1)),
        (TypeError, lambda: text_parts.located(pa.array(["a"]), "a", 1)),
    ],
)
def test_another_layout_is_refused(error: type[Exception], call: Any) -> None:
    with pytest.raises(error):
        call()

"""Texts beside patterns and lists of their own rows, and numbers of other bases, against the evaluator of one row."""

from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.kernels import text_matches
from deltaskip.sparkexpr.values import strings
from tests.each import refuses
from tests.sparkexpr.kernels.test_texts import START, STRINGS, checked, sliced

PIECE = st.text("ab%_\\\u00e9\U0001f600%_", max_size=8)
WORDS = st.text("ab,\u00e9", max_size=6)


@given(
    st.lists(st.tuples(st.none() | PIECE, st.none() | PIECE), max_size=20),
    STRINGS,
    START,
    st.sampled_from(["\\", "a", "_", "%", "\u00e9"]),
)
@example([("\u00e9", "%_"), ("\u00e9", "%__"), ("ab" * 3, "%a_a%b"), ("", "%%"), ("", "")], pa.string(), 1, "\\")
def test_patterns_of_rows(rows: list[tuple[Any, Any]], type_: pa.DataType, start: int, escape: str) -> None:
    texts, patterns = (sliced([row[at] for row in rows], type_, start) for at in range(2))
    found = checked(text_matches.likes(texts, patterns, escape))

    def wanted(text: str, pattern: str) -> int:
        try:
            return int(strings.like(text, pattern, escape))
        except EvaluationError:
            return 2

    for (text, pattern), value in zip(rows, found, strict=True):
        if text is None:
            assert value is None
        elif pattern is not None:
            assert value == wanted(text, pattern)


@given(st.lists(st.tuples(st.none() | WORDS, st.none() | WORDS), max_size=20), STRINGS, START)
def test_places_in_lists_of_rows(rows: list[tuple[Any, Any]], type_: pa.DataType, start: int) -> None:
    words, lists = (sliced([row[at] for row in rows], type_, start) for at in range(2))
    for (word, listed), value in zip(rows, checked(text_matches.places_in_lists(words, lists)), strict=True):
        if word is None:
            assert value is None
        elif listed is not None:
            assert value == (0 if word not in listed.split(",") else listed.split(",").index(word) + 1)


def test_other_types_and_lengths_are_refused() -> None:
    one, two = pa.array(["a"]), pa.array(["a", "b"])
    for call in (
        lambda: text_matches.likes(one, two, "\\"),
        lambda: text_matches.likes(one, one, ""),
        lambda: text_matches.places_in_lists(one, two),
    ):
        refuses(ValueError, r"length|escape", call)
    refuses(TypeError, None, text_matches.likes, one, pa.array([1]), "\\")

"""Texts beside patterns of their own rows against the evaluator of one row."""

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


def test_other_types_and_lengths_are_refused() -> None:
    one, two = pa.array(["a"]), pa.array(["a", "b"])
    for call in (
        lambda: text_matches.likes(one, two, "\\"),
        lambda: text_matches.likes(one, one, ""),
    ):
        refuses(ValueError, r"length|escape", call)
    refuses(TypeError, None, text_matches.likes, one, pa.array([1]), "\\")

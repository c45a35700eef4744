"""Kernels of texts that change by numbers of their own rows, against Python's own functions."""

import re

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels import text_rows
from deltaskip.sparkexpr.values import strings
from tests.each import refuses
from tests.sparkexpr.kernels.test_texts import NUMBER, PART, START, STRINGS, TEXT, checked, sliced

COUNT = st.integers(-3, 6)


@given(st.lists(st.tuples(st.none() | TEXT, NUMBER, NUMBER), max_size=20), STRINGS, START)
def test_slices_of_each_row(rows: list[tuple[str | None, int, int]], type_: pa.DataType, start: int) -> None:
    texts, *numbers = (
        sliced([row[at] for row in rows], of, start) for at, of in enumerate((type_, pa.int32(), pa.int32()))
    )
    found = checked(text_rows.slices(texts, *numbers))
    assert found == [None if text is None else strings.substring(text, at, length) for text, at, length in rows]
    data = [None if text is None else text.encode() for text, _, _ in rows]
    found = checked(text_rows.slices(sliced(data, pa.binary(), start), *numbers))
    assert found == [
        None if each is None else strings.substring(each, at, length)
        for each, (_, at, length) in zip(data, rows, strict=True)
    ]


@given(st.lists(st.tuples(st.none() | TEXT, st.none() | TEXT), max_size=20), STRINGS, START)
def test_texts_one_after_the_other(rows: list[tuple[str | None, str | None]], type_: pa.DataType, start: int) -> None:
    first, second = (sliced([row[at] for row in rows], type_, start) for at in range(2))
    expected = [None if None in (one, other) else one + other for one, other in rows]
    assert checked(text_rows.joined(first, second)) == expected
    refuses(ValueError, "length", lambda: text_rows.joined(first, pa.array(["x"] * (len(rows) + 1))))


WHOLE = st.from_regex(r"[+-]?[0-9]{0,20}", fullmatch=True) | st.sampled_from(["-", "", "--1", "1-", " 1", "１", "1.0"])


@given(st.lists(st.none() | WHOLE, max_size=20), STRINGS, START)
def test_texts_as_whole_numbers(texts: list[str | None], type_: pa.DataType, start: int) -> None:
    numbers, read = text_rows.whole_numbers(sliced(texts, type_, start))
    taken = [text is not None and re.fullmatch("-?[0-9]{1,18}", text, re.ASCII) is not None for text in texts]
    assert list(map(bool, read)) == [each or text is None for each, text in zip(taken, texts, strict=True)]
    assert checked(numbers) == [
        None if text is None else int(text) if each else 0 for each, text in zip(taken, texts, strict=True)
    ]


@given(st.lists(st.tuples(st.none() | TEXT, COUNT, st.none() | PART), max_size=20), START, st.booleans())
def test_texts_of_a_width(rows: list[tuple[str | None, int, str | None]], start: int, left: bool) -> None:
    texts, widths, pads = (
        sliced([row[at] for row in rows], of, start) for at, of in enumerate((pa.string(), pa.int32(), pa.string()))
    )
    found = checked(text_rows.padded(texts, widths, pads, left))
    assert found == [
        None if text is None else strings.padded(text, width, pad or "", left) for text, width, pad in rows
    ]


def test_bytes_that_are_no_text_fill_up_nothing() -> None:
    odd = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\x80\x80"], pa.binary()).buffers())
    assert checked(text_rows.padded(pa.array(["a"]), pa.array([3], pa.int32()), odd, True)) == ["a"]


@given(st.lists(st.tuples(st.none() | TEXT, COUNT), max_size=20), STRINGS, START)
def test_repetitions(rows: list[tuple[str | None, int]], type_: pa.DataType, start: int) -> None:
    texts, counts = (sliced([row[at] for row in rows], of, start) for at, of in enumerate((type_, pa.int32())))
    found = checked(text_rows.repeated(texts, counts))
    assert found == [None if text is None else text * max(count, 0) for text, count in rows]


def test_other_types_and_lengths_are_refused() -> None:
    one, two = pa.array(["a"]), pa.array([1, 2], pa.int32())
    for call in (
        lambda: text_rows.slices(one, two, two),
        lambda: text_rows.padded(one, two, one, True),
        lambda: text_rows.padded(one, two[:1], pa.array(["a", "b"]), True),
        lambda: text_rows.repeated(one, two),
    ):
        refuses(ValueError, "length", call)
    for call in (
        lambda: text_rows.slices(one, pa.array([1]), pa.array([1])),
        lambda: text_rows.repeated(one, pa.array([1])),
    ):
        refuses(TypeError, None, call)

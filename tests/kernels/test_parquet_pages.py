"""Rows taken from pages that a plain writer made: runs and packed groups in every order, and every width."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.kernels.parquet_pages import RowTaker
from tests.kernels.parquet_pages_twin import data_page, hybrid, plain_bytes

PLAIN, RLE_DICTIONARY = 0, 8
RUNS = st.lists(st.booleans(), max_size=30)
LEVELS = st.lists(st.sampled_from([[True], [False], [True] * 9, [False] * 20, [True, False] * 6]), max_size=12).map(
    lambda parts: [level for part in parts for level in part]
)


def rows_of(count: int, data: st.DataObject) -> np.ndarray[Any, Any]:
    chosen = data.draw(st.sets(st.integers(0, count - 1), max_size=20)) if count else set()
    return np.array(sorted(chosen), np.int64)


def int64s(taker: RowTaker, count: int) -> list[int | None]:
    validity, offsets, values = taker.finish()
    assert offsets is None
    found: list[int | None] = pa.Array.from_buffers(pa.int64(), count, [validity, values]).to_pylist()
    return found


@given(LEVELS, RUNS, st.data())
def test_plain_numbers_among_nulls(levels: list[bool], runs: list[bool], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=sum(levels), max_size=sum(levels)))
    left = iter(numbers)
    expected = [next(left) if there else None for there in levels]
    page = data_page(hybrid(list(map(int, levels)), 1, runs), struct.pack(f"<{len(numbers)}q", *numbers))
    rows = rows_of(len(levels), data)
    taker = RowTaker(rows, 8, 8, False, True)
    taker.take(None, page, len(levels), PLAIN)
    assert int64s(taker, len(rows)) == [expected[row] for row in rows]


@given(st.integers(0, 32), st.lists(st.integers(0, 5), min_size=1, max_size=90), RUNS, st.data())
def test_indexes_of_every_width(width: int, indexes: list[int], runs: list[bool], data: st.DataObject) -> None:
    indexes = [index % (1 << min(width, 3)) for index in indexes]
    words = [b"", b"a", b"bc", b"\xff" * 40, b"ef", b"g", b"", b"h"]
    page = data_page(None, bytes([width]) + hybrid(indexes, width, runs))
    rows = rows_of(len(indexes), data)
    taker = RowTaker(rows, 0, 0, False, False)
    taker.set_dictionary(plain_bytes(words), len(words))
    taker.take(None, page, len(indexes), RLE_DICTIONARY)
    validity, offsets, values = taker.finish()
    found = pa.Array.from_buffers(pa.binary(), len(rows), [validity, offsets, values])
    found.validate(full=True)
    assert found.to_pylist() == [words[indexes[row]] for row in rows]


@given(st.lists(st.lists(st.binary(max_size=9), max_size=12), max_size=6), st.data())
def test_rows_of_several_pages(pages: list[list[bytes]], data: st.DataObject) -> None:
    every = [value for page in pages for value in page]
    rows = rows_of(len(every), data)
    taker = RowTaker(rows, 0, 0, False, False)
    passed = 0
    for page in pages:
        if taker.wanted(len(page)):
            assert any(passed <= row < passed + len(page) for row in rows)
            taker.take(None, plain_bytes(page), len(page), PLAIN)
        passed += len(page)
    validity, offsets, values = taker.finish()
    assert pa.Array.from_buffers(pa.binary(), len(rows), [validity, offsets, values]).to_pylist() == [
        every[row] for row in rows
    ]


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.data())
def test_booleans(values: list[bool], data: st.DataObject) -> None:
    rows = rows_of(len(values), data)
    taker = RowTaker(rows, -1, 0, False, False)
    taker.take(None, np.packbits(values, bitorder="little").tobytes(), len(values), PLAIN)
    _, _, found = taker.finish()
    assert pa.Array.from_buffers(pa.bool_(), len(rows), [None, found]).to_pylist() == [values[row] for row in rows]


@pytest.mark.parametrize("big_endian", [True, False])
@pytest.mark.parametrize("width", [1, 4, 7, 8, 16])
@pytest.mark.parametrize("out_width", [1, 2, 8, 16])
def test_numbers_of_other_widths(width: int, out_width: int, big_endian: bool) -> None:
    size = min(width, out_width) * 8
    numbers = [0, 1, -1, 2 ** (size - 1) - 1, -(2 ** (size - 1))]
    order = "big" if big_endian else "little"
    page = b"".join(number.to_bytes(width, order, signed=True) for number in numbers)  # type: ignore[arg-type]
    taker = RowTaker(np.arange(5, dtype=np.int64), width, out_width, big_endian, False)
    taker.take(None, page, 5, PLAIN)
    values = taker.finish()[2].to_pybytes()
    parts = [values[i * out_width : (i + 1) * out_width] for i in range(5)]
    assert [int.from_bytes(part, "little", signed=True) for part in parts] == numbers


@pytest.mark.parametrize(
    ("rows", "page", "values", "encoding"),
    [
        ([3], struct.pack("<3q", 1, 2, 3), 4, PLAIN),
        ([1, 0], struct.pack("<3q", 1, 2, 3), 3, PLAIN),
        ([-1], struct.pack("<3q", 1, 2, 3), 3, PLAIN),
        ([0], b"\x21\x02\x00", 1, RLE_DICTIONARY),
        ([0], b"\x02\x02\x03", 1, RLE_DICTIONARY),
        ([0], b"\x02", 1, RLE_DICTIONARY),
        ([0], b"\x02" + b"\xff" * 11, 1, RLE_DICTIONARY),
        ([0], struct.pack("<3q", 1, 2, 3), 3, 5),
    ],
)
def test_damage_raises(rows: list[int], page: bytes, values: int, encoding: int) -> None:
    taker = RowTaker(np.array(rows, np.int64), 8, 8, False, False)
    taker.set_dictionary(struct.pack("<3q", 1, 2, 3), 3)
    with pytest.raises(ValueError, match=r"page|encoding"):
        taker.take(None, page, values, encoding)


def test_rows_after_the_last_page_raise() -> None:
    taker = RowTaker(np.array([0, 7], np.int64), 8, 8, False, False)
    taker.take(None, struct.pack("<q", 1), 1, PLAIN)
    with pytest.raises(ValueError, match="missing"):
        taker.finish()


def test_without_a_dictionary_indexes_raise() -> None:
    with pytest.raises(ValueError, match="encoding"):
        RowTaker(np.array([0], np.int64), 8, 8, False, False).take(None, b"\x00", 1, RLE_DICTIONARY)
    with pytest.raises(ValueError, match="ends before"):
        RowTaker(np.array([0], np.int64), 0, 0, False, False).set_dictionary(b"\x09\x00\x00\x00a", 1)
    with pytest.raises(ValueError, match="ends before"):
        RowTaker(np.array([0], np.int64), 8, 8, False, False).set_dictionary(bytes(15), 2)
    with pytest.raises(ValueError, match="no dictionary"):
        RowTaker(np.array([0], np.int64), -1, 0, False, False).set_dictionary(b"", 0)

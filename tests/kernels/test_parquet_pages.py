"""Rows taken from column chunks that a plain writer made: runs and packed groups in every order, and every width."""

import itertools
import struct
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.kernels.parquet_pages import RowTaker
from tests.each import refuses
from tests.int96_files import STORED, micros_of
from tests.kernels.parquet_pages_twin import (
    data_page,
    data_page_v2,
    dictionary_page,
    hybrid,
    plain_bytes,
    struct_bytes,
    varint,
)
from tests.looped import looped
from tests.sparkexpr.kernels.test_utf8_check import is_utf8

PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
UNCOMPRESSED, SNAPPY, GZIP, LZO, BROTLI, ZSTD = 0, 1, 2, 3, 4, 6
RUNS = st.lists(st.booleans(), max_size=30)
LEVELS = st.lists(st.sampled_from([[True], [False], [True] * 9, [False] * 20, [True, False] * 6]), max_size=12).map(
    lambda parts: [level for part in parts for level in part]
)


def rows_of(count: int, data: st.DataObject) -> np.ndarray[Any, Any] | None:
    """Some rows; None for all."""
    if data.draw(st.booleans()):
        return None
    chosen = data.draw(st.sets(st.integers(0, count - 1), max_size=20)) if count else set()
    return np.array(sorted(chosen), np.int64)


def some(values: list[Any], rows: np.ndarray[Any, Any] | None) -> list[Any]:
    return values if rows is None else [values[row] for row in rows]


def taken(taker: RowTaker, kind: pa.DataType, count: int) -> list[Any]:
    validity, offsets, values = taker.finish()
    buffers = [validity, values] if offsets is None else [validity, offsets, values]
    found = pa.Array.from_buffers(kind, count, buffers)
    found.validate(full=True)
    values_of: list[Any] = found.to_pylist()
    return values_of


@given(LEVELS, RUNS, st.booleans(), st.data())
def test_plain_numbers_among_nulls(levels: list[bool], runs: list[bool], apart: bool, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=sum(levels), max_size=sum(levels)))
    left = iter(numbers)
    expected = [next(left) if there else None for there in levels]
    page = partial(data_page_v2, nulls=levels.count(False)) if apart else data_page
    values = struct.pack(f"<{len(numbers)}q", *numbers)
    chunk = page(hybrid(list(map(int, levels)), 1, runs), values, len(levels), PLAIN)
    rows = rows_of(len(levels), data)
    taker = RowTaker(rows, len(levels), 8, 8, False, True)
    taker.take_chunk(chunk, len(levels), UNCOMPRESSED)
    assert taken(taker, pa.int64(), len(some(expected, rows))) == some(expected, rows)


@given(LEVELS, RUNS, st.data())
def test_strings_among_nulls(levels: list[bool], runs: list[bool], data: st.DataObject) -> None:
    words = data.draw(st.lists(st.binary(max_size=3), min_size=sum(levels), max_size=sum(levels)))
    left = iter(words)
    expected = [next(left) if there else None for there in levels]
    packed = hybrid(list(map(int, levels)), 1, runs)
    rows = rows_of(len(levels), data)
    taker = RowTaker(rows, len(levels), 0, 0, False, True)
    taker.take_chunk(data_page(packed, plain_bytes(words), len(levels), PLAIN), len(levels), UNCOMPRESSED)
    assert taken(taker, pa.binary(), len(some(expected, rows))) == some(expected, rows)


@given(st.integers(0, 32), st.lists(st.integers(0, 5), min_size=1, max_size=90), RUNS, st.data())
def test_indexes_of_every_width(width: int, indexes: list[int], runs: list[bool], data: st.DataObject) -> None:
    indexes = [index % (1 << min(width, 3)) for index in indexes]
    words = [b"", b"a", b"bc", b"\xff" * 40, b"ef", b"g", b"", b"h"]
    page = data_page(None, bytes([width]) + hybrid(indexes, width, runs), len(indexes), RLE_DICTIONARY)
    rows = rows_of(len(indexes), data)
    expected = some([words[index] for index in indexes], rows)
    taker = RowTaker(rows, len(indexes), 0, 0, False, False)
    taker.take_chunk(dictionary_page(plain_bytes(words), len(words)) + page, len(indexes), UNCOMPRESSED)
    assert taken(taker, pa.binary(), len(expected)) == expected


@given(st.integers(3, 32), LEVELS, RUNS, st.data())
def test_codes_of_strings(width: int, levels: list[bool], runs: list[bool], data: st.DataObject) -> None:
    words = [b"", b"a", b"bc", b"\xff" * 40, b"bc"]
    codes = data.draw(st.lists(st.integers(0, 4), min_size=sum(levels), max_size=sum(levels)))
    left = iter(codes)
    expected = [next(left) if there else None for there in levels]
    body = bytes([width]) + hybrid(codes, width, runs)
    page = data_page(hybrid(list(map(int, levels)), 1, runs), body, len(levels), RLE_DICTIONARY)
    taker = RowTaker(None, len(levels), 0, 0, False, True, codes=True)
    taker.take_chunk(dictionary_page(plain_bytes(words), len(words)) + page, len(levels), UNCOMPRESSED)
    offsets, texts = taker.entries_taken()
    assert pa.Array.from_buffers(pa.binary(), len(words), [None, offsets, texts]).to_pylist() == words
    assert taken(taker, pa.int32(), len(levels)) == expected


WORDS = st.lists(
    st.one_of(
        st.text(max_size=4).map(str.encode),
        st.sampled_from([b"", b"a" * 127, b"a" * 200, "\xe4".encode() * 64, "\u6f22".encode() * 60]),
        st.sampled_from([b"\xff", b"\xc3", b"\xa4", b"x" * 194 + b"\xc3", b"\xa4" + b"x" * 127, b"\xf0\x9f\x98"]),
    ),
    min_size=1,
    max_size=9,
)


@given(
    st.lists(
        st.tuples(
            st.lists(
                st.one_of(
                    st.binary(max_size=14), st.sampled_from([b"a" * 12, b"b" * 13, b"c" * 16, b"d" * 17, b"e" * 400])
                ),
                min_size=1,
                max_size=9,
            ),
            st.lists(st.tuples(LEVELS, RUNS, st.booleans(), st.booleans()), max_size=3),
        ),
        max_size=4,
    ),
    st.data(),
)
def test_views_of_strings_among_nulls(chunks: list[Any], data: st.DataObject) -> None:
    """Column chunks of pages with a dictionary, or without: a view has its own bytes, or those of a buffer."""
    made: list[tuple[bytes, int]] = []
    expected: list[bytes | None] = []
    for words, pages in chunks:
        chunk, rows = dictionary_page(plain_bytes(words), len(words)), 0
        for levels, runs, plain, apart in pages:
            numbers = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=sum(levels), max_size=sum(levels)))
            left = iter(numbers)
            expected += [words[next(left)] if there else None for there in levels]
            body = plain_bytes([words[i] for i in numbers]) if plain else bytes([4]) + hybrid(numbers, 4, runs)
            page = partial(data_page_v2, nulls=levels.count(False)) if apart else data_page
            packed = hybrid(list(map(int, levels)), 1, runs)
            chunk += page(packed, body, len(levels), PLAIN if plain else RLE_DICTIONARY)
            rows += len(levels)
        made.append((chunk, rows))
    taker = RowTaker(None, len(expected), 0, 0, False, True, views=True)
    for chunk, rows in made:
        taker.take_chunk(chunk, rows, UNCOMPRESSED)
    found = pa.Array.from_buffers(pa.binary_view(), len(expected), list(taker.finish()))
    found.validate(full=True)
    assert found.to_pylist() == expected
    # Whatever is behind the bytes of a short text is zero, and so is a view that is null.
    views = np.frombuffer(found.buffers()[1], np.uint8)[: 16 * len(expected)].reshape(-1, 16)
    for view, word in zip(views, expected, strict=True):
        text = word or b""
        assert not view[4 + len(text) :].any() if len(text) <= 12 else view[4:8].tobytes() == text[:4]


def test_views_use_as_much_memory_as_their_strings() -> None:
    words = [b"x" * 600_000, b"short", b"y" * 600_000, b"z" * 13]
    pages = [data_page(None, plain_bytes([word]), 1, PLAIN) for word in words]
    taker = RowTaker(None, 4, 0, 0, False, False, views=True)
    taker.take_chunk(b"".join(pages), 4, UNCOMPRESSED)
    _, views, *pieces = taker.finish()
    found = pa.Array.from_buffers(pa.binary_view(), 4, [None, views, *pieces])
    assert found.to_pylist() == words
    assert sum(piece.size for piece in pieces) == 1_200_013
    refused: list[dict[str, Any]] = [{"positions": np.array([0], np.int64)}, {"width": 8}, {"codes": True}]
    for arguments in refused:
        own: dict[str, Any] = {"positions": None, "width": 0, "codes": False, **arguments}
        with pytest.raises(ValueError, match="views"):
            RowTaker(own["positions"], 1, own["width"], 8, False, False, codes=own["codes"], views=True)
    taker = RowTaker(None, 4, 0, 0, False, False, 1_200_012, views=True)
    refuses(ValueError, "more bytes", lambda: taker.take_chunk(b"".join(pages), 4, UNCOMPRESSED))
    for damaged in (b"\1\0\0", b"\4\0\0\0abc", b"\xff\xff\xff\xffabc"):
        for page in (data_page(None, damaged, 1, PLAIN), dictionary_page(damaged, 1), dictionary_page(b"\0" * 5, 1)):
            with pytest.raises(ValueError, match="page is damaged"):
                RowTaker(None, 1, 0, 0, False, False, views=True).take_chunk(page, 1, UNCOMPRESSED)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=900), st.integers(3, 12), st.booleans(), st.data())
def test_many_strings_by_index(indexes: list[int], width: int, long: bool, data: st.DataObject) -> None:
    """Short strings are copied a fixed number of bytes at a time, up to the last bytes of the dictionary."""
    words = [b"", b"a", b"bc" * 8, b"d" * 17, b"\xff" * 256, b"e" * 257 if long else b"e", b"last"]
    page = data_page(None, bytes([width]) + varint((len(indexes) + 7) // 8 << 1 | 1) + _packed(indexes, width),
                     len(indexes), RLE_DICTIONARY)  # fmt: skip
    taker = RowTaker(None, len(indexes), 0, 0, False, False)
    taker.take_chunk(dictionary_page(plain_bytes(words), len(words)) + page, len(indexes), UNCOMPRESSED)
    assert taken(taker, pa.binary(), len(indexes)) == [words[index] for index in indexes]
    if max(indexes) > 2:
        taker = RowTaker(None, len(indexes), 0, 0, False, False)
        few = dictionary_page(plain_bytes(words[:3]), 3) + page
        refuses(ValueError, "not one of the dictionary", taker.take_chunk, few, len(indexes), UNCOMPRESSED)


def _packed(numbers: list[int], width: int) -> bytes:
    """Numbers in one packed run."""
    count = (len(numbers) + 7) // 8 * 8
    return sum(number << (width * i) for i, number in enumerate(numbers)).to_bytes(count * width // 8, "little")


@pytest.mark.parametrize("big_endian", [True, False])
@pytest.mark.parametrize("width, out_width", [(1, 2), (4, 1), (4, 2), (4, 16), (8, 16), (7, 16), (16, 16), (9, 8)])
@pytest.mark.parametrize("every", [True, False])
def test_numbers_of_other_widths_by_index(big_endian: bool, width: int, out_width: int, every: bool) -> None:
    size = min(width, out_width) * 8
    numbers = [0, 1, -1, 2 ** (size - 1) - 1, -(2 ** (size - 1))]
    indexes = [4, 3, 0, 1, 2, 2, 1] * 9
    entries = b"".join(number.to_bytes(width, "big" if big_endian else "little", signed=True) for number in numbers)
    packed = hybrid([0] + [1] * len(indexes), 1, [])
    page = data_page(packed, bytes([3]) + hybrid(indexes, 3, []), len(indexes) + 1, RLE_DICTIONARY)
    rows = None if every else np.arange(len(indexes) + 1, dtype=np.int64)
    taker = RowTaker(rows, len(indexes) + 1, width, out_width, big_endian, True)
    taker.take_chunk(dictionary_page(entries, 5) + page, len(indexes) + 1, UNCOMPRESSED)
    values = taker.finish()[2].to_pybytes()
    found = [values[i * out_width : (i + 1) * out_width] for i in range(len(indexes) + 1)]
    assert [int.from_bytes(each, "little", signed=True) for each in found] == [0, *(numbers[i] for i in indexes)]


@given(WORDS, st.booleans(), st.sampled_from(["plain", "dictionary", "codes", "views", "views of a dictionary"]))
def test_strings_are_refused_that_are_not_utf8(words: list[bytes], some_rows: bool, form: str) -> None:
    """Each by itself: the bytes of several may be UTF-8 together, also with the lengths that are among them."""
    rows = np.arange(len(words), dtype=np.int64) if some_rows and form in ("plain", "dictionary") else None
    pages = data_page(None, plain_bytes(words), len(words), PLAIN)
    if form not in ("plain", "views"):
        body = bytes([4]) + hybrid(list(range(len(words))), 4, [])
        pages = dictionary_page(plain_bytes(words), len(words)) + data_page(None, body, len(words), RLE_DICTIONARY)
    taker = RowTaker(rows, len(words), -3, 0, False, False, codes=form == "codes", views=form.startswith("views"))
    if not all(map(is_utf8, words)):
        refuses(ValueError, "not UTF-8", taker.take_chunk, pages, len(words), UNCOMPRESSED)
        return
    taker.take_chunk(pages, len(words), UNCOMPRESSED)
    if form.startswith("views"):
        found = pa.Array.from_buffers(pa.string_view(), len(words), list(taker.finish()))
        assert found.cast(pa.binary_view()).to_pylist() == words
    elif form != "codes":
        assert taken(taker, pa.binary(), len(words)) == words


def test_codes_that_no_dictionary_has_are_refused() -> None:
    index = bytes([3]) + hybrid([5], 3, [])
    entries = dictionary_page(plain_bytes([b"a", b"b"]), 2)
    plain = data_page(None, plain_bytes([b"x"]), 1, PLAIN)
    for pages in (entries + data_page(None, index, 1, RLE_DICTIONARY), entries + plain, plain):
        with pytest.raises(ValueError, match="page"):
            RowTaker(None, 1, 0, 0, False, False, codes=True).take_chunk(pages, 1, UNCOMPRESSED)
    # The entries of a further dictionary follow.
    taker = RowTaker(None, 2, 0, 0, False, False, codes=True)
    good = entries + data_page(None, bytes([1]) + hybrid([1], 1, []), 1, RLE_DICTIONARY)
    taker.take_chunk(good, 1, UNCOMPRESSED)
    taker.take_chunk(good, 1, UNCOMPRESSED)
    offsets, texts = taker.entries_taken()
    assert pa.Array.from_buffers(pa.binary(), 4, [None, offsets, texts]).to_pylist() == [b"a", b"b"] * 2
    assert pa.Array.from_buffers(pa.int32(), 2, [None, taker.finish()[2]]).to_pylist() == [1, 3]
    refuses(ValueError, "dictionary", lambda: RowTaker(None, 0, 0, 0, False, False, codes=True).entries_taken())
    refuses(ValueError, "byte arrays", RowTaker, None, 0, 8, 8, False, False, codes=True)


@given(st.sampled_from([4, 8]), st.integers(0, 32), st.lists(st.integers(0, 5), min_size=1), RUNS, st.data())
def test_numbers_by_index(size: int, width: int, indexes: list[int], runs: list[bool], data: st.DataObject) -> None:
    indexes = [index % (1 << min(width, 3)) for index in indexes]
    numbers = [7, -1, 2 ** (size * 8 - 1) - 1, 0, 12, -(2 ** (size * 8 - 1))]
    page = data_page(None, bytes([width]) + hybrid(indexes, width, runs), len(indexes), RLE_DICTIONARY)
    words = struct.pack(f"<6{'q' if size == 8 else 'i'}", *numbers)
    rows = rows_of(len(indexes), data)
    expected = some([numbers[index] for index in indexes], rows)
    taker = RowTaker(rows, len(indexes), size, size, False, False)
    taker.take_chunk(dictionary_page(words, 6) + page, len(indexes), UNCOMPRESSED)
    assert taken(taker, pa.int64() if size == 8 else pa.int32(), len(expected)) == expected


@given(st.lists(st.lists(st.lists(st.binary(max_size=9), max_size=12), max_size=4), max_size=4), st.data())
def test_rows_of_several_chunks_and_pages(chunks: list[list[list[bytes]]], data: st.DataObject) -> None:
    every = [value for chunk in chunks for page in chunk for value in page]
    rows = rows_of(len(every), data)
    taker = RowTaker(rows, len(every), 0, 0, False, False)
    for chunk in chunks:
        pages = b"".join(data_page(None, plain_bytes(page), len(page), PLAIN) for page in chunk)
        taker.take_chunk(pages, sum(map(len, chunk)), UNCOMPRESSED)
    assert taken(taker, pa.binary(), len(some(every, rows))) == some(every, rows)


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=9), min_size=1, max_size=9), st.data())
def test_pages_of_a_chunk_that_have_wanted_rows(pages: list[list[int]], data: st.DataObject) -> None:
    every = [10 * index for page in pages for index in page]
    rows = rows_of(len(every), data)
    taker = RowTaker(rows, len(every), 8, 8, False, False)
    taker.take_chunk(dictionary_page(struct.pack("<6q", 0, 10, 20, 30, 40, 50), 6), 0, UNCOMPRESSED, 0)
    first = 0
    for page in pages:
        end = first + len(page)
        if rows is None or ((rows >= first) & (rows < end)).any():
            bytes_of_page = data_page(None, bytes([3]) + hybrid(page, 3, []), len(page), RLE_DICTIONARY)
            taker.take_chunk(bytes_of_page, len(page), UNCOMPRESSED, first)
        first = end
    assert taken(taker, pa.int64(), len(some(every, rows))) == some(every, rows)


def test_pages_out_of_order_or_with_other_numbers_of_rows_are_refused() -> None:
    page = data_page(None, struct.pack("<2q", 1, 2), 2, PLAIN)
    for rows, first, values in ((None, 2, 2), ([1], 2, 2), ([3], 0, 2), ([3], 2, 1), ([3], 2, 3), ([3], 9, 2)):
        taker = RowTaker(None if rows is None else np.array(rows, np.int64), 4, 8, 8, False, False)
        with pytest.raises(ValueError):
            taker.take_chunk(page, values, UNCOMPRESSED, first)
            taker.finish()
    taker = RowTaker(None, 4, 8, 8, False, False)
    for first in (0, 2):
        taker.take_chunk(page, 2, UNCOMPRESSED, first)
    refuses(ValueError, None, taker.take_chunk, page, 2, UNCOMPRESSED, 0)


def test_pages_without_a_wanted_row_are_passed() -> None:
    damaged = data_page(None, b"", 5, PLAIN)
    taker = RowTaker(np.array([6], np.int64), 7, 8, 8, False, False)
    taker.take_chunk(damaged + data_page(None, struct.pack("<2q", 1, 2), 2, PLAIN), 7, UNCOMPRESSED)
    assert taken(taker, pa.int64(), 1) == [2]


@given(st.lists(st.booleans(), min_size=1, max_size=40), RUNS, st.booleans(), st.data())
def test_booleans(values: list[bool], runs: list[bool], in_runs: bool, data: st.DataObject) -> None:
    if in_runs:
        packed = hybrid(list(map(int, values)), 1, runs)
        page = data_page(None, struct.pack("<I", len(packed)) + packed, len(values), RLE)
    else:
        page = data_page(None, np.packbits(values, bitorder="little").tobytes(), len(values), PLAIN)
    rows = rows_of(len(values), data)
    taker = RowTaker(rows, len(values), -1, 0, False, False)
    taker.take_chunk(page, len(values), UNCOMPRESSED)
    assert taken(taker, pa.bool_(), len(some(values, rows))) == some(values, rows)


@looped(
    "every, big_endian, width, out_width",
    itertools.product([True, False], [True, False], [1, 4, 7, 8, 16], [1, 2, 8, 16]),
)
def test_numbers_of_other_widths(every: bool, big_endian: bool, width: int, out_width: int) -> None:
    size = min(width, out_width) * 8
    numbers = [0, 1, -1, 2 ** (size - 1) - 1, -(2 ** (size - 1))]
    order = "big" if big_endian else "little"
    page = b"".join(number.to_bytes(width, order, signed=True) for number in numbers)
    rows = None if every else np.arange(5, dtype=np.int64)
    taker = RowTaker(rows, 5, width, out_width, big_endian, False)
    taker.take_chunk(data_page(None, page, 5, PLAIN), 5, UNCOMPRESSED)
    values = taker.finish()[2].to_pybytes()
    parts = [values[i * out_width : (i + 1) * out_width] for i in range(5)]
    assert [int.from_bytes(part, "little", signed=True) for part in parts] == numbers


@given(st.lists(st.sampled_from([b"a", b"abcdefgh" * 9, b"\0" * 70, bytes(range(256))]), max_size=40), st.data())
def test_what_snappy_has_compressed(parts: list[bytes], data: st.DataObject) -> None:
    body = plain_bytes([b"".join(parts) + data.draw(st.binary(max_size=200))])
    packed = pa.compress(body, codec="snappy", asbytes=True)
    header = struct_bytes({1: 0, 2: len(body), 3: len(packed), 5: {1: 1, 2: PLAIN, 3: RLE, 4: RLE}})
    taker = RowTaker(None, 1, 0, 0, False, False)
    taker.take_chunk(header + packed, 1, SNAPPY)
    assert taken(taker, pa.binary(), 1) == [body[4:]]


@given(st.binary(min_size=1, max_size=70), st.lists(st.tuples(st.integers(1, 40), st.integers(1, 64)), max_size=30))
def test_copies_of_snappy_at_every_distance(start: bytes, copies: list[tuple[int, int]]) -> None:
    """Each copy has a distance and a length; pyarrow decompresses the same bytes."""
    parts, size = [bytes([60 << 2, len(start) - 1]), start], len(start)
    for distance, length in copies:
        if distance <= size:
            if 4 <= length <= 11:
                parts.append(bytes([(length - 4) << 2 | 1, distance]))
            elif distance % 2:
                parts.append(struct.pack("<BH", (length - 1) << 2 | 2, distance))
            else:
                parts.append(struct.pack("<BI", (length - 1) << 2 | 3, distance))
            size += length
    packed = varint(size) + b"".join(parts)
    header = struct_bytes({1: 0, 2: size, 3: len(packed), 5: {1: size, 2: PLAIN, 3: RLE, 4: RLE}})
    taker = RowTaker(None, size, 1, 1, False, False)
    taker.take_chunk(header + packed, size, SNAPPY)
    assert taker.finish()[2].to_pybytes() == pa.decompress(packed, size, codec="snappy", asbytes=True)


@given(
    st.binary(min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(4, 11), st.integers(1, 12), st.integers(0, 9), st.integers(1, 9)), max_size=12),
    st.integers(0, 40),
)
def test_integers_in_sequence_in_snappy(start: bytes, runs: list[tuple[int, int, int, int]], left_out: int) -> None:
    """Each run repeats a copy and a listed text, as of numbers of eight bytes; a body that is cut short is refused."""
    parts, size = [bytes([len(start) - 1 << 2]), start], len(start)
    for copied, listed, times, distance in runs:
        distance = 8 if distance > 4 and size >= 8 else min(distance, size)
        for number in range(times):
            parts.append(
                bytes([(copied - 4) << 2 | 1, distance, listed - 1 << 2]) + bytes(range(number, number + listed))
            )
            size += copied + listed
    packed = varint(size) + b"".join(parts)
    for body in (packed, packed[: len(packed) - left_out]):
        header = struct_bytes({1: 0, 2: size, 3: len(body), 5: {1: size, 2: PLAIN, 3: RLE, 4: RLE}})
        taker = RowTaker(None, size, 1, 1, False, False)
        if len(body) < len(packed):
            refuses(ValueError, None, taker.take_chunk, header + body, size, SNAPPY)
        else:
            taker.take_chunk(header + body, size, SNAPPY)
            assert taker.finish()[2].to_pybytes() == pa.decompress(packed, size, codec="snappy", asbytes=True)


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
    known = dictionary_page(struct.pack("<3q", 1, 2, 3), 3)
    wrong_rows = rows in ([1, 0], [-1])
    for wanted in [np.array(rows, np.int64)] if wrong_rows else [np.array(rows, np.int64), None]:
        taker = RowTaker(wanted, values, 8, 8, False, False)
        with pytest.raises(ValueError, match=r"page|encoding"):
            taker.take_chunk(known + data_page(None, page, values, encoding), values, UNCOMPRESSED)


def test_rows_after_the_last_page_raise() -> None:
    page = data_page(None, struct.pack("<q", 1), 1, PLAIN)
    taker = RowTaker(np.array([0, 7], np.int64), 8, 8, 8, False, False)
    taker.take_chunk(page, 1, UNCOMPRESSED)
    refuses(ValueError, "missing", taker.finish)
    refuses(ValueError, "other numbers of values", taker.take_chunk, page * 9, 9, UNCOMPRESSED)
    with pytest.raises(ValueError, match="other numbers of values"):
        RowTaker(None, 3, 8, 8, False, False).take_chunk(data_page(None, bytes(16), 2, PLAIN), 1, UNCOMPRESSED)


def test_dictionaries_that_are_not_there_or_damaged_raise() -> None:
    page = data_page(None, b"\x00", 1, RLE_DICTIONARY)
    for width, known, reason in [
        (8, b"", "encoding"),
        (0, dictionary_page(b"\x09\x00\x00\x00a", 1), "ends before"),
        (8, dictionary_page(bytes(15), 2), "ends before"),
        (-1, dictionary_page(b"", 0), "encoding"),
    ]:
        with pytest.raises(ValueError, match=reason):
            RowTaker(None, 1, width, 8, False, False).take_chunk(known + page, 1, UNCOMPRESSED)


def test_strings_of_more_bytes_than_asked_for_raise() -> None:
    page = data_page(None, plain_bytes([b"abc", b"de"]), 2, PLAIN)
    RowTaker(None, 2, 0, 0, False, False, 14).take_chunk(page, 2, UNCOMPRESSED)
    with pytest.raises(ValueError, match="more bytes"):
        RowTaker(None, 2, 0, 0, False, False, 4).take_chunk(page, 2, UNCOMPRESSED)


@pytest.mark.parametrize("codec", [SNAPPY, GZIP, LZO, ZSTD])
def test_what_is_not_compressed_as_stated_raises(codec: int) -> None:
    page = data_page(None, struct.pack("<3q", 1, 2, 3), 3, PLAIN)
    with pytest.raises(ValueError, match=r"decompressed|ends before"):
        RowTaker(None, 3, 8, 8, False, False).take_chunk(page, 3, codec)


@pytest.mark.parametrize("codec", [SNAPPY, GZIP, BROTLI, ZSTD])
def test_fewer_bytes_than_stated_are_not_filled_with_others(codec: int) -> None:
    names = {SNAPPY: "snappy", GZIP: "gzip", BROTLI: "brotli", ZSTD: "zstd"}
    short = pa.Codec(names[codec]).compress(struct.pack("<q", 7)).to_pybytes()
    page = struct_bytes({1: 0, 2: 8000, 3: len(short), 5: {1: 1000, 2: PLAIN, 3: 3, 4: 3}}) + short
    for rows in (None, np.array([5], np.int64)):
        with pytest.raises(ValueError, match=r"decompressed|other numbers|ends before"):
            RowTaker(rows, 1000, 8, 8, False, False).take_chunk(page, 1000, codec)


def zstd_page(values: list[int], stated: int, streamed: bool) -> bytes:
    """A page of Zstandard; streamed: whether its frame does not say how many bytes it has."""
    plain = struct.pack(f"<{len(values)}q", *values)
    packed = pa.Codec("zstd").compress(plain, asbytes=True)
    if streamed:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as out:
            out.write(plain)
        packed = sink.getvalue().to_pybytes()
    return struct_bytes({1: 0, 2: 8 * stated, 3: len(packed), 5: {1: stated, 2: PLAIN, 3: 3, 4: 3}}) + packed


@given(st.lists(st.tuples(st.integers(1, 3000), st.booleans()), min_size=1, max_size=40), st.data())
def test_pages_of_zstandard_that_are_decompressed_together(pages: list[tuple[int, bool]], data: st.DataObject) -> None:
    values = list(range(sum(count for count, _ in pages)))
    left = iter(values)
    chunk = b"".join(zstd_page(list(islice(left, count)), count, streamed) for count, streamed in pages)
    rows = rows_of(len(values), data)
    taker = RowTaker(rows, len(values), 8, 8, False, False)
    taker.take_chunk(chunk, len(values), ZSTD)
    assert taken(taker, pa.int64(), len(some(values, rows))) == some(values, rows)


@pytest.mark.parametrize("streamed", [(False, False), (True, False), (False, True), (True, True)])
def test_bytes_that_one_page_lacks_are_not_taken_from_the_next(streamed: tuple[bool, bool]) -> None:
    chunk = zstd_page([1, 2, 3], 2, streamed[0]) + zstd_page([4], 2, streamed[1])
    with pytest.raises(ValueError, match=r"decompressed|other numbers|ends before"):
        RowTaker(None, 4, 8, 8, False, False).take_chunk(chunk, 4, ZSTD)
    page = zstd_page([1, 2, 3], 3, False)
    longer = zstd_page([1, 2], 2, False)
    cut = struct_bytes({1: 0, 2: 24, 3: len(longer), 5: {1: 3, 2: PLAIN, 3: 3, 4: 3}}) + page[-len(longer) :]
    with pytest.raises(ValueError, match=r"decompressed|other numbers|ends before"):
        RowTaker(None, 6, 8, 8, False, False).take_chunk(cut + page, 6, ZSTD)


@pytest.mark.parametrize("level", [2, 3, 128, 255])
def test_levels_of_more_than_one_bit_raise(level: int) -> None:
    page = data_page(bytes([3 << 1, level]), struct.pack("<3q", 1, 2, 3), 3, PLAIN)
    for rows in (None, np.array([1], np.int64)):
        with pytest.raises(ValueError, match="too many bits"):
            RowTaker(rows, 3, 8, 8, False, True).take_chunk(page, 3, UNCOMPRESSED)


@pytest.mark.parametrize("repetition", [1, -1])
def test_levels_of_repetition_raise(repetition: int) -> None:
    about = {1: 1, 2: 0, 3: 1, 4: PLAIN, 5: 2, 6: repetition, 7: False}
    page = struct_bytes({1: 3, 2: 10, 3: 10, 8: about}) + b"\2\1" + struct.pack("<q", 1)
    with pytest.raises(ValueError, match=r"header|other numbers"):
        RowTaker(None, 1, 8, 8, False, True).take_chunk(page, 1, UNCOMPRESSED)


WORDS = dictionary_page(plain_bytes([b"a", b"b", b"c"]), 3)
LEVELS_OF_8 = hybrid([1, 0] * 4, 1, [])
WHOLE = {
    "more bytes than strings": (0, False, b"", data_page(None, plain_bytes([b"a"] * 8) + b"\0", 8, PLAIN)),
    "fewer strings": (0, False, b"", data_page(None, plain_bytes([b"a"] * 7), 8, PLAIN)),
    "a longer last string": (0, False, b"", data_page(None, plain_bytes([b"a"] * 8)[:-5] + b"\2\0\0\0a", 8, PLAIN)),
    "fewer numbers": (8, False, b"", data_page(None, bytes(56), 8, PLAIN)),
    "more numbers": (8, False, b"", data_page(None, bytes(72), 8, PLAIN)),
    "more numbers than levels have": (8, True, b"", data_page(LEVELS_OF_8, bytes(40), 8, PLAIN)),
    "fewer numbers than levels have": (8, True, b"", data_page(LEVELS_OF_8, bytes(24), 8, PLAIN)),
    "fewer levels": (8, True, b"", data_page(hybrid([1] * 7, 1, [True]), bytes(56), 8, PLAIN)),
    "more levels": (8, True, b"", data_page(hybrid([1] * 9, 1, [True]), bytes(64), 8, PLAIN)),
    "bytes after the levels": (8, True, b"", data_page(hybrid([1] * 8, 1, [True]) + b"\0", bytes(64), 8, PLAIN)),
    "a run of nothing": (8, True, b"", data_page(b"\0\1" + hybrid([1] * 8, 1, [True]), bytes(64), 8, PLAIN)),
    "another number of nulls": (8, True, b"", data_page_v2(LEVELS_OF_8, bytes(32), 8, PLAIN, 3)),
    "a last index too large": (0, False, WORDS, data_page(None, b"\2" + hybrid([0] * 7 + [3], 2, []), 8,
        RLE_DICTIONARY)),
    "a last run too large": (0, False, WORDS, data_page(None, b"\2" + hybrid([0] * 6 + [3] * 2, 2, [True, True]), 8,
        RLE_DICTIONARY)),
    "fewer indexes": (0, False, WORDS, data_page(None, b"\2" + hybrid([0] * 7, 2, [True]), 8, RLE_DICTIONARY)),
    "a header of run in six bytes": (0, False, WORDS, data_page(None, b"\2" + b"\x90\x80\x80\x80\x80\x00" + b"\1", 8,
        RLE_DICTIONARY)),
    "a dictionary of more bytes": (0, False, dictionary_page(plain_bytes([b"a", b"b"]) + b"\0", 2), data_page(
        None, b"\1" + hybrid([0] * 8, 1, [True]), 8, RLE_DICTIONARY)),
    "two dictionaries": (0, False, WORDS + WORDS, data_page(None, b"\2" + hybrid([0] * 8, 2, [True]), 8,
        RLE_DICTIONARY)),
    "booleans of fewer bytes than stated": (-1, False, b"", data_page(None, struct.pack("<I", 9) + hybrid([1] * 8, 1,
        [True]), 8, RLE)),
    "fewer booleans": (-1, False, b"", data_page(None, b"", 8, PLAIN)),
    "more booleans": (-1, False, b"", data_page(None, b"\0\0", 8, PLAIN)),
}  # fmt: skip


@looped("damage", WHOLE)
def test_a_page_is_checked_as_a_whole_for_each_of_its_rows(damage: str) -> None:
    width, optional, dictionary, page = WHOLE[damage]
    for wanted in (None, np.array([0], np.int64), np.array([0, 3], np.int64)):
        taker = RowTaker(wanted, 8, width, max(width, 0), False, optional)
        refuses(ValueError, "the page is damaged", taker.take_chunk, dictionary + page, 8, UNCOMPRESSED)


ABOUT = {1: 1, 2: PLAIN, 3: 3, 4: 3}
HEADERS: list[dict[int, Any]] = [
    {1: 0, 2: 8, 3: 8, 5: {1: 1, 2: PLAIN, 3: 3}},
    {1: 0, 2: 8, 3: 8, 7: ABOUT},
    {1: 0, 2: 8, 3: 8, 8: ABOUT},
    {1: 3, 2: 8, 3: 8, 5: ABOUT},
    {1: 1, 2: 8, 3: 8, 5: ABOUT},
    {1: 0, 2: 9, 3: 8, 5: ABOUT},
    {1: 0, 2: 8, 3: 8, 5: {**ABOUT, 1: True}},
    {1: 0, 2: 8, 3: 8, 5: ABOUT, 7: ABOUT},
    {1: 0, 3: 8, 5: ABOUT},
]


@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_headers_that_other_readers_refuse_or_read_otherwise_raise(header: dict[int, Any]) -> None:
    page = struct_bytes(header) + bytes(8)
    good = struct_bytes({1: 0, 2: 8, 3: 8, 5: ABOUT}) + bytes(8)
    RowTaker(None, 1, 8, 8, False, False).take_chunk(good, 1, UNCOMPRESSED)
    with pytest.raises(ValueError, match="the page is damaged"):
        RowTaker(None, 1, 8, 8, False, False).take_chunk(page, 1, UNCOMPRESSED)
    refuses(ValueError, "decompressed", lambda: RowTaker(None, 1, 8, 8, False, False).take_chunk(good, 1, 50))


def test_any_bytes_of_int96_are_the_instants_of_spark() -> None:
    values = b"".join(struct.pack("<qi", *each) for each in STORED if each is not None)
    rows = len(values) // 12
    page = data_page(None, values, rows, PLAIN)
    for wanted in (None, np.arange(rows, dtype=np.int64)):
        taker = RowTaker(wanted, rows, -2, 0, False, False)
        taker.take_chunk(page, rows, UNCOMPRESSED)
        found = struct.unpack(f"<{rows}q", taker.finish()[2].to_pybytes()[: 8 * rows])
        assert list(found) == [micros_of(each) for each in STORED if each is not None]

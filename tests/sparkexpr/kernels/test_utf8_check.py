"""The kernel finds strings that are not UTF-8, as Python's decoder does."""

import itertools

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels.utf8_check import are_utf8
from tests.each import each
from tests.sparkexpr.kernels.test_lowercase import TYPES, VALUES, arrow

LEADS = (0x7F, 0x80, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5)
SECONDS = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(VALUES, st.sampled_from(TYPES), st.integers(0, 9), st.integers(0, 70))
def test_arrays_are_checked_as_python_decodes(values, type_, skip, before):
    given = [None if value is None else b"x" * before + value for value in values]
    assert are_utf8(arrow(given, type_, skip)) == all(is_utf8(value) for value in given if value is not None)


def test_every_start_of_a_sequence_is_decided_at_every_place_of_a_block() -> None:
    cases = itertools.product(
        LEADS, SECONDS, (b"", b"\x80", b"\xbf", b"a"), (b"", b"\x80", b"\xc0"), (0, 61, 62, 63, 94, 125, 189)
    )

    def check(case: tuple[int, int, bytes, bytes, int]) -> None:
        lead, second, third, fourth, before = case
        value = b"x" * before + bytes([lead, second]) + third + fourth
        for after in (b"", b"y" * 70):
            assert are_utf8(pa.array([value + after])) == is_utf8(value + after)

    each(cases, check)


def test_a_character_that_two_strings_share_is_in_neither() -> None:
    offsets = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    assert not are_utf8(pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer("\xe9".encode())]))


def test_the_bytes_of_nulls_do_not_count() -> None:
    broken = arrow([b"a", b"\xff"], pa.string(), 0)
    valid = pa.array([True, None]).buffers()[0]
    assert are_utf8(pa.Array.from_buffers(pa.string(), 2, [valid, *broken.buffers()[1:]]))


def test_a_byte_changed_anywhere_in_much_text_is_decided_as_python_does() -> None:
    text = "Stra\xdfe \u6f22\u5b57 \U0001f600 na\xefve ".encode() * 12

    def check(place: int) -> None:
        for byte in (*LEADS, *SECONDS, 0x00, 0x41):
            value = text[:place] + bytes([byte]) + text[place + 1 :]
            assert are_utf8(pa.array([b"x", value], pa.binary())) == is_utf8(value), (place, byte)

    each(range(len(text)), check)

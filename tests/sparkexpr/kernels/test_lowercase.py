"""The lower-case kernel agrees with its plain twin on every layout of Arrow and on bytes that are no UTF-8."""

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels.lowercase import LowercaseTable, compare_lower, extremes_lower, lower_key, lower_keys
from tests.each import refuses
from tests.sparkexpr.kernels import lowercase_twin as twin

# Every change of length: two bytes to three (Ⱥ), three to one (K), three to two (Ω, ẞ), three to four and four to four.
LOWER = {
    **{c: c + 32 for c in range(0x41, 0x5B)},
    **{c: c + 32 for c in range(0x410, 0x430)},
    0xC9: 0xE9,
    0x130: 0x69,
    0x23A: 0x2C65,
    0x3A3: 0x3C3,
    0x3C2: 0x3C3,
    0x1E9E: 0xDF,
    0x2126: 0x3C9,
    0x212A: 0x6B,
    0xA7AE: 0x1D7F6,
    0x10400: 0x10428,
}
TABLE = LowercaseTable(LOWER)
TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]

ASCII = ["", " ", "  ", "a", "A", "Zz", "@[`{", "\0", "\x7f", "abcdefgh", "ABCDEFGHIJKLMNOP", "0123456", "\t"]
LETTERS = [chr(c) for c in LOWER if c > 0x7F] + ["Яя", "ЯÉ", "i\u0307", "ß", "中", "中文", "ก", "Ａ", "😀"]
LIMITS = ["\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\ufffd", "\uffff", "\U00010000", "\U0010ffff"]
BROKEN = [
    *(bytes([byte]) for byte in (0x80, 0xBF, 0xC1, 0xC3, 0xD0, 0xEF, 0xF5, 0xFF)),
    *map(
        bytes.fromhex, ("c0af", "e09fbf", "e0a0", "eda080", "edbfbf", "e4b8", "f08fbfbf", "f09090", "f4908080", "f48f")
    ),
]
FRAGMENTS = st.sampled_from([text.encode() for text in (*ASCII, *LETTERS, *LIMITS)] + BROKEN)
TEXTS = st.lists(FRAGMENTS, max_size=6).map(b"".join) | st.binary(max_size=20)
VALUES = st.lists(TEXTS | st.none(), max_size=12)
TABLES = st.sampled_from([(TABLE, LOWER), (None, None)])


def arrow(values: list[bytes | None], type_: pa.DataType, skip: int) -> pa.Array:
    """The values behind `skip` others, as an array of that type whose bytes nobody checked."""
    stored = pa.array([b"\xffskipped"] * skip + values, pa.large_binary() if "large" in str(type_) else pa.binary())
    return pa.Array.from_buffers(type_, len(stored), stored.buffers())[skip:]


@given(VALUES, st.sampled_from(TYPES), st.integers(0, 9), TABLES, st.booleans())
def test_keys_are_those_of_the_twin(values, type_, skip, tables, trim):
    table, lower = tables
    keys = lower_keys(arrow(values, type_, skip), table, trim)
    keys.validate(full=True)
    assert keys.type == pa.large_binary()
    assert keys.to_pylist() == [None if v is None else twin.key(v, lower, trim) for v in values]
    assert [lower_key(v, table, trim) for v in values if v is not None] == keys.drop_null().to_pylist()


@given(VALUES, TEXTS, st.sampled_from(TYPES), st.integers(0, 9), TABLES, st.booleans())
@example([b"a\x00", b"a", b"A  ", "É".encode()], b"a", pa.string(), 0, (TABLE, LOWER), True)
def test_comparison_with_a_literal_is_that_of_the_twin(values, literal, type_, skip, tables, trim):
    table, lower = tables
    order = compare_lower(arrow(values, type_, skip), literal, table, trim)
    order.validate(full=True)
    assert order.type == pa.int8()
    assert order.to_pylist() == twin.compare(values, literal, lower, trim)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=5), TABLES, st.booleans())
def test_values_that_share_a_long_beginning_are_told_apart_behind_it(beginning, ends, tables, trim):
    table, lower = tables
    values = [beginning + end for end in ends]
    array = arrow(values, pa.binary(), 0)
    for literal in (*values, beginning, beginning.swapcase()):
        assert compare_lower(array, literal, table, trim).to_pylist() == twin.compare(values, literal, lower, trim)


@given(VALUES, st.sampled_from(TYPES), st.integers(0, 9), TABLES, st.booleans())
def test_extremes_are_values_with_the_least_and_the_greatest_key(values, type_, skip, tables, trim):
    table, lower = tables
    found = extremes_lower(arrow(values, type_, skip), table, trim)
    chosen = None if found is None else tuple(values[i] for i in found)
    assert None not in (chosen or ())
    keys = None if chosen is None else tuple(twin.key(v, lower, trim) for v in chosen if v is not None)
    assert keys == twin.extremes(values, lower, trim)


@given(st.integers(0, 0x10FFFF).filter(lambda c: not 0xD800 <= c < 0xE000), st.binary(max_size=9))
def test_every_code_point_is_lowered_wherever_it_stands(code_point, around):
    value = around + chr(code_point).encode() + around
    assert lower_key(value, TABLE) == twin.key(value, LOWER, False)


@pytest.mark.parametrize("lower", [{0x110000: 0x61}, {-1: 0x61}, {0x41: 0xD800}, {0x41: 0x110000}, {0x41: -1}])
def test_a_table_of_what_is_no_code_point_is_refused(lower):
    refuses(ValueError, "code point", LowercaseTable, lower)


@pytest.mark.parametrize("values", [pa.array([1]), pa.array(["a"]).dictionary_encode(), pa.nulls(2), ["a"]])
def test_what_is_no_array_of_strings_is_refused(values):
    for kernel in (lower_keys, extremes_lower):
        refuses(TypeError, "array", kernel, values, TABLE)
    refuses(TypeError, "array", compare_lower, values, b"", TABLE)

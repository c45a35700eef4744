"""The evaluator of an ICU collation: every Arrow layout, least and greatest, prefixes, what is not trusted."""

import mmap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unicodedata import normalize

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.sparkexpr.collations.collation_id import parse_name
from deltaskip.sparkexpr.collations.lookup import collation
from deltaskip.sparkexpr.collations.spark_data import IcuCollation
from deltaskip.sparkexpr.kernels.key_column import KeyColumn
from tests.each import refuses
from tests.extent import extent
from tests.looped import looped

VALUES = ["b", None, "A", "Straße", "", "STRASSE", "é", "e\u0301", "日本", "a ", "zz", None]
LAYOUTS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "string": lambda array: array,
    "large_string": lambda array: array.cast(pa.large_string()),
    "string_view": lambda array: array.cast(pa.string_view()),
    "binary": lambda array: array.cast(pa.binary()),
    "large_binary": lambda array: array.cast(pa.large_binary()),
    "binary_view": lambda array: array.cast(pa.binary()).cast(pa.binary_view()),
    "dictionary": lambda array: array.dictionary_encode(),
    "dictionary of views": lambda array: pa.DictionaryArray.from_arrays(
        array.dictionary_encode().indices, array.dictionary_encode().dictionary.cast(pa.string_view())
    ),
    "slice": lambda array: pa.concat_arrays([pa.array(["!", None, "\U0001f600"]), array]).slice(3),
    "chunks": lambda array: pa.chunked_array([array.slice(0, 5), array.slice(5)]),
}


def order(name: str = "UNICODE_CI") -> IcuCollation:
    found = collation(f"icu.{name}.77.1")
    assert isinstance(found, IcuCollation)
    return found


@looped("layout", LAYOUTS)
@looped("name", ["UNICODE_CI", "UNICODE_CI_AI_RTRIM"])
def test_every_layout_gives_the_same(layout: str, name: str) -> None:
    collation = order(name)
    array = LAYOUTS[layout](pa.array(VALUES))
    keys = [None if value is None else collation.key(value) for value in VALUES]
    assert collation.sort_keys(array).to_pylist() == keys
    signs = [None if value is None else collation.compare_values(value, "strasse") for value in VALUES]
    compared = collation.compare(array, "strasse")
    assert compared.type == pa.int8()
    assert compared.to_pylist() == signs
    least, greatest = collation.min_max(array)
    binary = "binary" in layout
    assert (least, greatest) == ((b"", "日本".encode()) if binary else ("", "日本"))


@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_nothing_but_nulls_has_no_least_value(values: list[None]) -> None:
    for kind in (pa.string(), pa.large_binary(), pa.string_view(), pa.null()):
        array = pa.array(values, kind)
        assert order().min_max(array) == (None, None)
        assert order().compare(array, "a").to_pylist() == values
        assert order().sort_keys(array).to_pylist() == values


def test_entries_of_a_dictionary_that_no_row_has_are_not_among_the_values() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([1, None, 2], pa.int8()), pa.array(["a", "c", "b", "d"]))
    assert order().min_max(array) == ("b", "c")


def test_a_null_in_a_dictionary_is_a_null() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([None, "b"]))
    assert order().compare(array, "a").to_pylist() == [None, 1]
    assert order("UNICODE_AI").trusts_each(array).to_pylist() == [True, True]


def test_a_string_that_is_not_utf8_is_given_as_bytes() -> None:
    damaged = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")]
    )
    assert order().min_max(damaged) == (b"a\xff", b"a\xff")
    assert order().compare(damaged, "a\ufffd").to_pylist() == [0]


@pytest.mark.parametrize("array", [pa.array([1]), pa.array([[b"a"]]), pa.array([1]).dictionary_encode()])
def test_what_is_neither_string_nor_binary_is_refused(array: pa.Array) -> None:
    for function in (order().sort_keys, order().min_max, lambda values: order().compare(values, "a")):
        refuses(InvalidArgumentType, "must be an Arrow array of strings or binary", function, array)


def test_only_spaces_at_the_end_are_trimmed() -> None:
    collation = order("UNICODE_RTRIM")
    assert collation.compare_values("a  ", "a") == 0
    assert collation.key("a  ") == collation.key("a")
    assert collation.compare(pa.array(["a", "a ", "a\t", "a\u00a0", " a"]), "a ").to_pylist() == [0, 0, 1, 1, -1]
    assert order("UNICODE").compare_values("a ", "a") == 1


@given(st.lists(st.one_of(st.none(), st.text(max_size=5), st.sampled_from(["ss", "ß", "SS", "a\u0308", "ä"]))))
def test_every_value_lies_within_the_least_and_the_greatest(values: list[str | None]) -> None:
    for name in ("UNICODE_CI", "UNICODE_AI", "hu", "th"):
        collation = order(name)
        array = pa.array(values, pa.string())
        least, greatest = collation.min_max(array)
        present = [value for value in values if value is not None]
        assert (least in present and greatest in present) if present else (least, greatest) == (None, None)
        if least is not None and greatest is not None:
            assert all(sign >= 0 for sign in collation.compare(array, least).to_pylist() if sign is not None)
            assert all(sign <= 0 for sign in collation.compare(array, greatest).to_pylist() if sign is not None)


def test_threads_share_one_collator() -> None:
    collation = order("cs_CI")
    values = [f"{word}{n % 97}" for n in range(4000) for word in ("ch", "Č", "hrad", "日", "straße")]
    array = pa.array(values)
    expected = (collation.sort_keys(array), collation.compare(array, "chrad42"), collation.min_max(array))
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(
                lambda _: (collation.sort_keys(array), collation.compare(array, "chrad42"), collation.min_max(array)),
                range(24),
            )
        )
    assert all(answer == expected for answer in found)


def test_a_prefix_is_its_primary_weights() -> None:
    collation = order("UNICODE")
    key = collation.prefix_key("ab")
    assert key is not None
    for text in ("ab", "AB", "áb", "a\u0301bc", "ABZ"):
        assert collation.key(text).startswith(key)
    assert collation.prefix_key("") is None
    assert collation.prefix_key("\u0301") is None
    assert order("UNICODE_AI").prefix_key("ab") is None
    assert order("th").prefix_key("ab") is None


SEARCHED = ("UNICODE", "UNICODE_CI", "UNICODE_CI_AI", "cs", "hu_CI", "da", "zh", "ja_CI_AI", "tr_CI", "th", "vi_CI_AI")
PARTS = [
    "a", "A", "b", "c", "ch", "dz", "dzs", "aa", "ll", "s", "ss", "ß", "ẞ", "ſ", "fi", "ﬁ", "i", "I", "ı", "İ", "é",
    "E", "\u0301", "\u030a", "\u0323", "\u00ad", "Å", "½", "1", "①", "ĳ", "æ", "か", "ー", "\u3099", "日", "가",
    "\u1100", "\u1161", "\u0e40", "\u0e01", " ", "-", "\u0001", "\U0001f600",
]  # fmt: skip


@looped("name", SEARCHED)
@settings(max_examples=extent(15, 150))
@given(text=st.lists(st.sampled_from(PARTS), max_size=5), data=st.data())
def test_what_icus_own_search_finds_at_the_start_is_kept(name: str, text: list[str], data: st.DataObject) -> None:
    """Spark asks ICU's StringSearch whether a string starts with another."""
    import icu

    whole = "".join(text)
    begun = whole[: data.draw(st.integers(0, len(whole)))]
    changed = st.sampled_from([begun, begun.upper(), begun.lower(), normalize("NFD", begun), normalize("NFC", begun)])
    prefix = data.draw(changed | st.lists(st.sampled_from(PARTS), min_size=1, max_size=2).map("".join))
    if not prefix or not whole:
        return
    collator = icu.Collator.createInstance(icu.Locale.forLanguageTag(parse_name(name).icu_locale))
    column = pa.array([whole])
    if icu.StringSearch(prefix, whole, collator).first() == 0:
        assert order(name).may_start_with(column, column, prefix).count() == 1


def test_files_that_cannot_hold_the_prefix_are_dropped_and_unknown_ones_kept() -> None:
    collation = order("UNICODE_CI")
    mins = pa.array(["aa", "b", "straße", None, "a", "T", None])
    maxs = pa.array(["az", "strand", "STRASSE 9", "s", None, "Z", None])
    expected = [False, False, True, False, True, False, True]
    assert collation.may_start_with(mins, maxs, "Stras").to_arrow().to_pylist() == expected
    lowest, highest = KeyColumn(collation.sort_keys(mins)), KeyColumn(collation.sort_keys(maxs))
    assert collation.may_start_with(lowest, highest, "Stras").to_arrow().to_pylist() == expected
    assert collation.may_start_with(mins, maxs, "").count() == 7
    assert order("th").may_start_with(mins, maxs, "Stras").count() == 7


def test_sharp_s_is_not_trusted_where_only_case_counts() -> None:
    assert not order("UNICODE_AI").exact_keys
    assert not order("UNICODE_AI").trusts("Straße")
    assert order("UNICODE_AI").trusts("Strasse")
    array = pa.array(["ß", "ss", None, "Straße"])
    assert order("UNICODE_AI").trusts_each(array).to_pylist() == [False, True, True, False]
    assert order("de_AI").trusts_each(array.dictionary_encode()).to_pylist() == [False, True, True, False]
    for name in ("UNICODE", "UNICODE_CI", "UNICODE_CI_AI", "de_CI_AI"):
        assert order(name).exact_keys
        assert order(name).trusts("Straße")
        assert order(name).trusts_each(array).to_pylist() == [True] * 4


def test_a_string_that_is_too_long_for_icu_is_named_by_an_error_of_the_package() -> None:
    order = collation("icu.UNICODE_CI.77.1")
    # Pages that are never touched: the length decides.
    pages = mmap.mmap(-1, 1 << 30)
    offsets = pa.array([0, 1 << 30], pa.int64()).buffers()[1]
    array = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(pages)])
    refuses(InvalidArgument, "1 GiB or more", order.sort_keys, array)
    refuses(InvalidArgument, "1 GiB or more", order.compare, array, "a")

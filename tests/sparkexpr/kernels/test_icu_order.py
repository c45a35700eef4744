"""Strings in ICU's order beside pyicu of the same version: keys, comparisons, least and greatest."""

import gc
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.sparkexpr.collations.libraries import icu_library
from deltaskip.sparkexpr.kernels import icu_keys, icu_order
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator, IcuLibrary
from tests.each import each, refuses
from tests.extent import extent, some
from tests.sparkexpr.kernels import icu_twin

LOCALES = (
    "und-u-ks-level3", "und-u-ks-level2", "und-u-ks-level1", "und-u-kc-true-ks-level1", "cs-u-ks-level3",
    "hu-u-ks-level2", "da-u-ks-level3", "fr-CA-u-ks-level3", "th-u-ks-level3", "lt-u-ks-level3", "es-u-co-trad",
    "de-u-co-phonebk", "zh-u-ks-level3", "ja-u-ks-level3", "ca-u-ks-level3", "vi-u-ks-level3", "en-u-kn-true",
    "en-u-ka-shifted", "und-u-kr-grek-latn", "und-u-kf-upper", "und-u-ks-identic",
)  # fmt: skip

# More values than from which on the kernel compares by first characters, and puts ASCII keys together.
LONG = 5000

ASCII = "".join(map(chr, range(128)))

# Contractions and expansions of some locale, whole and cut; ignorable, combining and ill-formed parts; long beginnings.
_PARTS = (
    "a A aa b c ch Ch d dz dzs h i l ll l\u00b7 s z 0 9 10 - _ \0 \1 \x7f customer- customer-0000 abcdefgh"
    " \u0301 \u0308 \u0323 \u030a \u00ad ß æ é ä å I ı İ \u0e40 \u0e01 か ー \u3099 \u1100 \u1161 가 日 本"
    " \ufffd \ufffe \uffff \U0001f600 \U00020000 \U0010ffff ж й ω ώ ñ ő ệ ẹ \u0302 \u0e32 ᄀ 각 \u11a8 丁 龥"
    " \u3042 パ \u05d0 \u0627 \u0653 ǆ Ŀ \u0387 ⅳ ㌀ \ua7cb"
)
_BROKEN_PARTS = b"\xff \xc3 \xe2\x82 \xed\xa0\x80 \xf0\x9f \xc0\xaf \x80"
PARTS = (b" ", *(text.encode() for text in _PARTS.split()), *_BROKEN_PARTS.split())
TEXTS = (
    st.lists(st.sampled_from(PARTS), max_size=6).map(b"".join)
    | st.binary(max_size=6)
    | st.text(max_size=6).map(lambda text: text.encode("utf-8", "surrogatepass"))
)


@cache
def library() -> IcuLibrary:
    found = icu_library(icu_twin.VERSION)
    assert found is not None, "the ICU of pyicu-wheels is not found"
    return found


@cache
def collator(locale: str) -> IcuCollator:
    return IcuCollator(library(), locale)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("locale", LOCALES)
@settings(deadline=None, max_examples=extent(4, 60))
@given(values=st.lists(st.none() | TEXTS, max_size=12), literal=TEXTS, rtrim=st.booleans(), wide=st.booleans())
def test_order_is_that_of_pyicu(
    locale: str, values: list[bytes | None], literal: bytes, rtrim: bool, wide: bool
) -> None:
    order = collator(locale)
    array = pa.array(values, pa.large_binary() if wide else pa.binary())
    keys = [None if value is None else icu_twin.sort_key(locale, value, rtrim) for value in values]
    assert icu_keys.sort_keys(order, array, rtrim).to_pylist() == keys
    signs = [None if value is None else icu_twin.compare(locale, value, literal, rtrim) for value in values]
    assert icu_order.compare(order, array, literal, rtrim).to_pylist() == signs
    # Long columns are compared by first characters, too.
    times = LONG // len(values) + 1 if values else 0
    column = pa.concat_arrays([array] * times) if values else array
    assert icu_order.compare(order, column, literal, rtrim).to_pylist() == signs * times
    assert icu_keys.sort_keys(order, column, rtrim).to_pylist() == keys * times
    assert icu_order.min_max(order, array, rtrim) == icu_twin.min_max(locale, values, rtrim)
    for value, key, sign in zip(values, keys, signs, strict=True):
        if value is not None:
            assert icu_keys.sort_key(order, value, rtrim) == key
            assert icu_order.compare_texts(order, value, literal, rtrim) == sign


def test_every_pair_of_parts_is_ordered_as_by_pyicu() -> None:
    def check(locale: str) -> None:
        order = collator(locale)
        texts = [*PARTS, *(a + b for a in PARTS for b in PARTS)]
        array = pa.array(texts, pa.binary())
        literals = some((*PARTS[::3], *texts[:: len(texts) // 23]), 6)
        assert len(array) > LONG
        keys = [icu_twin.sort_key(locale, text, False) for text in texts]
        assert icu_keys.sort_keys(order, array).to_pylist() == keys
        for literal in literals:
            expected = [icu_twin.compare(locale, text, literal, False) for text in texts]
            assert icu_order.compare(order, array, literal).to_pylist() == expected, literal

    each(some(LOCALES, 7), check)


@pytest.mark.long(gate=5)
@pytest.mark.parametrize("locale", [*LOCALES, "lt-u-ks-level2", "ar-u-ks-level3", "vi-u-ks-level1", "sk-u-kf-upper"])
@settings(deadline=None, max_examples=extent(3, 40))
@given(data=st.data())
def test_keys_of_long_ascii_columns_are_those_of_pyicu(locale: str, data: st.DataObject) -> None:
    alphabet = data.draw(st.sampled_from([ASCII, "abcXYZ 019-", "aA", "kK\x00\x7f", "xyz~\u00e9"]))
    texts = data.draw(st.lists(st.text(alphabet, max_size=80), min_size=1, max_size=30))
    times = LONG // len(texts) + 1
    column = pa.concat_arrays([pa.array(texts)] * times)
    expected = [icu_twin.sort_key(locale, text.encode(), False) for text in texts]
    assert icu_keys.sort_keys(collator(locale), column).to_pylist() == expected * times


def test_a_ranked_character_has_the_same_weight_before_any_other() -> None:
    """Behind the fast comparison: what follows in ASCII never changes which of two ranked characters is less."""

    def check(locale: str) -> None:
        ranks = collator(locale).ascii_ranks()
        assert not any(ranks[128:])
        ranked = [c for c in range(128) if ranks[c]]
        unranked = IcuCollator(library(), locale, ranked=False)
        assert not any(unranked.ascii_ranks())
        texts = [bytes((a, b)) for a in ranked for b in range(128)]
        array = pa.array(texts, pa.binary())
        for literal in (b"aA", b"h ", b"z~", b"5c"):
            expected = icu_order.compare(unranked, array, literal).to_pylist()
            assert icu_order.compare(collator(locale), array, literal).to_pylist() == expected

    each(LOCALES, check)


def test_characters_that_begin_contractions_have_no_rank() -> None:
    def unranked(locale: str) -> set[str]:
        ranks = collator(locale).ascii_ranks()
        return {chr(c) for c in range(0x20, 0x7F) if ranks[c] == 0}

    assert unranked("und-u-ks-level3") == set()
    assert unranked("cs-u-ks-level3") == {"c", "C"}
    assert unranked("da-u-ks-level3") == {"a", "A"}
    assert unranked("hu-u-ks-level2") == set("cdglnstzCDGLNSTZ")
    assert not any(collator("th-u-ks-level3").ascii_ranks())
    assert not any(collator("en-u-kn-true").ascii_ranks())
    assert not any(collator("en-u-ka-shifted").ascii_ranks())


def test_case_has_a_level_of_its_own_only_where_asked() -> None:
    assert collator("und-u-kc-true-ks-level1").case_level
    assert not collator("und-u-ks-level1").case_level


def test_a_key_longer_than_the_room_it_is_given_is_whole() -> None:
    text = "\u1e69\ufdfa\u3300".encode() * 5000
    key = icu_keys.sort_key(collator("und-u-ks-level3"), text)
    assert key == icu_twin.sort_key("und-u-ks-level3", text, False)
    assert len(key) > 2 * len(text)
    array = pa.array([b"a", text, b"b"], pa.binary())
    assert icu_keys.sort_keys(collator("und-u-ks-level3"), array)[1].as_py() == key


def test_nulls_of_a_slice_stay_in_place() -> None:
    array = pa.array(["x", None, "a", None, "b", "c", None, "d", None, "e"]).slice(1)
    order = collator("und-u-ks-level3")
    assert icu_order.compare(order, array, b"b").to_pylist() == [None, -1, None, 0, 1, None, 1, None, 1]
    assert icu_order.min_max(order, array) == (1, 8)
    assert [key is None for key in icu_keys.sort_keys(order, array).to_pylist()] == [
        value is None for value in array.to_pylist()
    ]


def test_what_is_no_icu_library_is_refused() -> None:
    refuses(OSError, "no_such_file", IcuLibrary, "no_such_file.so")
    refuses(OSError, "no ucol_open", lambda: IcuLibrary(pa.__file__.replace("__init__.py", "") + _any_shared_object()))


def _any_shared_object() -> str:
    import os

    return next(name for name in sorted(os.listdir(os.path.dirname(pa.__file__))) if name.startswith("lib.cpython"))


def test_a_library_says_its_version_and_its_locales() -> None:
    assert library().version == icu_twin.VERSION
    assert library().suffix == "_" + icu_twin.VERSION.partition(".")[0]
    assert {"de", "de_AT", "sr_Cyrl_BA", "zh_Hant_TW"} <= set(library().locales())
    assert "xx" not in library().locales()


def test_collators_in_a_reference_cycle_are_closed_before_their_library_is_let_go() -> None:
    for _ in range(20):
        cycle: list[object] = [IcuCollator(library(), "en")]
        cycle += [cycle, IcuCollator(library(), "fr")]
        del cycle
    assert gc.collect() > 0

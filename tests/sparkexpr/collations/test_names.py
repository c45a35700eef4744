"""Names of collations: Spark's whole list, its grammar, and ICU's locales."""

from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaskip.errors import InvalidCollation
from deltaskip.sparkexpr.collations.collation_id import CollationName, parse_name, spark_equal, spark_name, spark_names
from deltaskip.sparkexpr.collations.libraries import icu_libraries
from deltaskip.sparkexpr.kernels.icu_keys import sort_key
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator
from tests.each import refuses
from tests.looped import looped
from tests.sparkexpr.collations.spark_vectors import vectors

SPECIFIERS = st.sampled_from(["CI", "CS", "AI", "AS", "RTRIM", "ci", "Rtrim", "TRIM", "X", ""])


def test_every_collation_of_spark_is_listed_and_is_its_own_normalised_name():
    listed = vectors("collations_list_spark.jsonl")
    assert len(listed) > 700
    assert {row["NAME"] for row in listed} <= set(spark_names())
    for row in listed:
        name = spark_name(row["NAME"])
        assert name.normalized == row["NAME"]
        assert name.case_sensitive == (row["CASE_SENSITIVITY"] == "CASE_SENSITIVE")
        assert name.accent_sensitive == (row["ACCENT_SENSITIVITY"] == "ACCENT_SENSITIVE")
        assert name.rtrim == (row["PAD_ATTRIBUTE"] == "RTRIM")
        assert (name.provider == "icu") == (row["ICU_VERSION"] is not None)


def test_spark_has_1148_names_which_all_are_normalised():
    names = spark_names()
    assert len(names) == len(set(names)) == 4 + 143 * 8
    assert all(spark_name(name).normalized == name for name in names)
    assert len({spark_name(name) for name in names}) == len(names)
    assert len({parse_name(name).icu_locale for name in names if spark_name(name).provider == "icu"}) == 143 * 4


@pytest.mark.parametrize("specifiers", list(permutations(("CI", "AI", "RTRIM"))))
def test_specifiers_stand_in_any_order_and_letter_case(specifiers):
    name = spark_name("_".join(("sr_cyrl_srb", *specifiers)).swapcase())
    assert name == CollationName("sr_Cyrl_SRB", False, False, True, "sr_Cyrl_SRB_CI_AI_RTRIM")


@given(st.sampled_from(["UNICODE", "de", "de_AUT", "zh_Hans", "zh_hans_chn", "ID"]), st.lists(SPECIFIERS, max_size=4))
@example("UNICODE", ["TRIM", "", ""])
@example("UNICODE", ["", ""])
@example("UNICODE", [""])
def test_a_name_is_a_locale_and_each_kind_of_specifier_once(locale, specifiers):
    kinds = [{"C": "case", "A": "accent", "R": "trim"}.get(s.upper()[:1]) for s in specifiers]
    text = "_".join((locale, *specifiers))
    # Java's split drops empty parts at the end, but one empty part alone stays.
    while len(specifiers) > 1 and not specifiers[-1]:
        specifiers, kinds = specifiers[:-1], kinds[:-1]
    valid = None not in kinds and len(set(kinds)) == len(kinds)
    # Nothing but empty parts, more than one, leaves none.
    valid = valid or (specifiers == [""] and text.endswith("__"))
    if not valid:
        refuses(InvalidCollation, None, spark_name, text)
        return
    name = spark_name(text)
    given_ = {s.upper() for s in specifiers}
    assert name.locale.upper() == locale.upper()
    assert (name.case_sensitive, name.accent_sensitive, name.rtrim) == tuple(
        (s in given_) is wanted for s, wanted in (("CI", False), ("AI", False), ("RTRIM", True))
    )
    assert spark_name(name.normalized) == name


@pytest.mark.parametrize("name", ["UTF8_BINARY", "UTF8_LCASE", "utf8_lcase_rtrim", "UTF8_BINARY_RTRIM"])
def test_utf8_names_take_one_rtrim_and_nothing_else(name):
    parsed = spark_name(name)
    assert parsed.normalized == name.upper()
    assert parsed.rtrim == name.upper().endswith("_RTRIM")
    assert parsed.case_sensitive == (parsed.locale == "UTF8_BINARY")
    for wrong in ("_", "__", "_CI", "_RTRIM_RTRIM", "_TRIM", "X", " "):
        refuses(InvalidCollation, None, parse_name, name + wrong)
    with pytest.raises(InvalidCollation, match="no ICU locale"):
        _ = parse_name(name).icu_locale


@pytest.mark.parametrize("name", ["de_CI_", "de__", "de_CI__", "fr___"])
def test_underscores_at_the_end_are_dropped_as_java_s_split_does(name):
    assert spark_name(name).normalized == name.rstrip("_")


@pytest.mark.parametrize("name", ["de_", "UNICODE_", "UNICODE__CI", "deu", "_CI", "UNICODE-CI", "UNICODE.1", "LTRIM"])
def test_what_is_no_name_in_spark_is_an_error(name):
    refuses(InvalidCollation, None, spark_name, name)


@looped(
    "name, locale",
    [
        ("UNICODE", "und-u-ks-level3"),
        ("UNICODE_CI", "und-u-ks-level2"),
        ("UNICODE_CI_AI", "und-u-ks-level1"),
        ("UNICODE_AI", "und-u-kc-true-ks-level1"),
        ("UNICODE_AI_RTRIM", "und-u-kc-true-ks-level1"),
        ("de_AUT", "de-AT-u-ks-level3"),
        ("sr_cyrl_srb_ci", "sr-Cyrl-RS-u-ks-level2"),
        ("zh_Hant_MAC", "zh-Hant-MO-u-ks-level3"),
        ("fil_AI_CI", "fil-u-ks-level1"),
        ("fr_CI", "fr-u-ks-level2"),
    ],
)
def test_names_of_spark_open_icu_with_its_attributes(name, locale):
    assert parse_name(name).icu_locale == locale


@looped(
    "name, locale",
    [
        ("en_US", "en-US"),
        ("EN_US", "en-US"),
        ("de_DE", "de-DE"),
        ("zh_hant_tw", "zh-Hant-TW"),
        ("root", "und"),
        ("und", "und"),
        ("es_419", "es-419"),
        ("de@collation=phonebook", "de-u-co-phonebk"),
        ("DE@COLLATION=PHONEBOOK", "de-u-co-phonebk"),
        ("de-u-co-phonebk", "de-u-co-phonebk"),
        ("de_DE@colStrength=primary;colCaseLevel=yes", "de-DE-u-kc-true-ks-level1"),
        ("en@colAlternate=non-ignorable;colNumeric=yes", "en-u-ka-noignore-kn-true"),
        ("en_US_POSIX", "en-US-u-va-posix"),
        ("en_US_u_va_posix", "en-US-u-va-posix"),
        ("en-u-kn", "en-u-kn-true"),
        ("ru-u-kr-cyrl-latn", "ru-u-kr-cyrl-latn"),
    ],
)
def test_locales_of_the_specification_are_none_of_spark_s_but_open_icu(name, locale):
    parsed = parse_name(name)
    assert not parsed.spark
    assert (parsed.provider, parsed.normalized, parse_name(name).icu_locale) == ("icu", name, locale)
    refuses(InvalidCollation, None, spark_name, name)


@looped(
    "name",
    [
        *("", "d", "deutsch", "dé", "de_PHONEBOOK", "en_US_CI", "de-x-private"),
        *("de@", "de@collation", "de@collation=", "de@currency=EUR", "de@collation=a;collation=b"),
        *("de-u-co", "de-u-cu-eur", "de-u-co-x-co-y", "de-u-va-other", "de-u-co-phonebk@colNumeric=yes"),
    ],
)
def test_what_cannot_be_mapped_for_certain_is_no_name_at_all(name):
    refuses(InvalidCollation, "is neither a collation of Spark nor an ICU locale", parse_name, name)


@looped(
    "name, expected",
    [
        ("en_US", "en_USA"), ("EN-us", "en_USA"), ("de_DE", "de"), ("de_AT", "de_AUT"), ("fr_CA", "fr_CAN"),
        ("root", "UNICODE"), ("und-u-ks-level2", "UNICODE_CI"), ("de-u-kc-true-ks-level1", "de_AI"),
        ("zh_Hans_CN", "zh_Hans_CHN"), ("unicode_ci", "UNICODE_CI"), ("de@collation=phonebook", None),
        ("de-u-kn", None), ("en_US_POSIX", None), ("zh_TW", None), ("sr_ME", None), ("kk_CN", None), ("xx_YY", None),
    ],
)  # fmt: skip
def test_icu_locales_have_an_equal_in_spark_only_where_the_order_is_the_same(name, expected):
    assert spark_equal(name) == expected


REGIONS = (
    *("AF", "AT", "BE", "BR", "CA", "CH", "CN", "DE", "EG", "ES", "FI", "FR", "GB", "HK", "IN", "IR", "JP", "ME", "MX"),
    *("NL", "NO", "PK", "PT", "RS", "RU", "SE", "SG", "TH", "TR", "TW", "UA", "US", "419", "001"),
)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("version", sorted(icu_libraries()))
def test_the_equal_in_spark_has_the_same_sort_keys(version):
    library = icu_libraries()[version]
    texts = [row["text"] for row in vectors("strings.jsonl") if row["text"] is not None][::2]
    locales = sorted({spark_name(name).locale for name in spark_names() if spark_name(name).provider == "icu"})
    keys = {}

    def keys_of(tag):
        if tag not in keys:
            collator = IcuCollator(library, tag, ranked=False)
            keys[tag] = [sort_key(collator, text.encode(errors="surrogatepass")) for text in texts]
        return keys[tag]

    checked = 0
    for locale in locales:
        for region in REGIONS if "_" not in locale and locale != "UNICODE" else ():
            equal = spark_equal(f"{locale}_{region}")
            if equal is not None:
                assert keys_of(f"{locale}-{region}") == keys_of(parse_name(equal).icu_locale), (locale, region)
                checked += 1
    assert checked > 3000

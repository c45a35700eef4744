"""Collation identifiers, against Delta Kernel's and Spark's own reading of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.errors import DeltaSkipError, InvalidArgumentType, InvalidCollation
from deltaskip.sparkexpr.collations.collation_id import CollationId, parse_name, spark_name
from tests.each import refuses
from tests.looped import looped
from tests.sparkexpr.collations.spark_vectors import vector_params

PARTS = st.text("abIı.ß@=- é_1", min_size=1).map(lambda text: text.replace(".", "x"))


@looped("row", vector_params("identifiers_kernel.jsonl", "identifier"))
def test_identifiers_have_the_parts_that_the_kernel_finds_unless_one_is_empty(row):
    text = row["identifier"]
    if not row["valid"] or not all((row["provider"], row["name"], row["version"] is None or row["version"])):
        refuses(InvalidCollation, "is not a collation identifier", CollationId.parse, text)
        return
    identifier = CollationId.parse(text)
    version = None if identifier.version is None else identifier.version.upper()
    assert (identifier.provider.upper(), identifier.name.upper(), version) == (
        row["provider"],
        row["name"],
        row["version"],
    )
    assert str(identifier) == text
    assert identifier.kernel_text == row["to_string"]
    assert identifier.without_version.kernel_text == row["without_version"]
    assert identifier.is_binary == row["is_utf8_binary"]


@looped("row", vector_params("identifiers_spark.jsonl", "name"))
def test_spark_s_names_become_spark_s_identifiers(row):
    name = row["name"]
    if not row["valid"]:
        refuses(InvalidCollation, None, spark_name, name)
        return
    for provider in ("icu", "spark", "ICU", "Spark"):
        written = CollationId.parse(f"{provider}.{name}").canonical
        assert (written.provider, written.name, written.version) == (row["provider"], row["normalized"], None)
        assert str(written) == row["schema_identifier"]
        assert str(written.with_version(row["version"])) == row["stats_identifier"]
    assert str(CollationId.named(name).canonical) == row["schema_identifier"]


@looped("text", ["", ".", "..", "...", "icu", "icu.", ".icu", "icu.UNICODE.", "..77.1", "icu..77.1"])
def test_a_missing_part_is_an_error_with_both_bases(text):
    with pytest.raises(InvalidCollation) as caught:
        CollationId.parse(text)
    assert isinstance(caught.value, DeltaSkipError)
    assert isinstance(caught.value, ValueError)
    assert repr(text) in str(caught.value)


@given(PARTS, PARTS, st.none() | st.text(".1aé", min_size=1))
def test_an_identifier_is_its_text_and_its_three_parts(provider, name, version):
    text = ".".join(part for part in (provider, name, version) if part is not None)
    identifier = CollationId.parse(text)
    assert (identifier.provider, identifier.name, identifier.version, str(identifier)) == (
        provider,
        name,
        version,
        text,
    )
    assert identifier.with_version("1.2") == CollationId.parse(f"{provider}.{name}.1.2")
    assert identifier.without_version == CollationId.parse(f"{provider}.{name}")
    assert identifier.canonical.canonical == identifier.canonical
    assert str(identifier.canonical.canonical) == str(identifier.canonical)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("icu.en_US.72", "ICU.EN_us.72", True),
        ("spark.UTF8_LCASE", "SPARK.utf8_lcase", True),
        ("icu.UNICODE.77.1", "icu.UNICODE.77.1.0.0", False),
        ("icu.UNICODE.77.1", "icu.UNICODE", False),
        ("icu.UNICODE.1-rc", "icu.UNICODE.1-RC", False),
        ("icu.UNICODE", "spark.UNICODE", False),
        ("icu.UNICODE", "icu.UNİCODE", False),
        ("icu.K", "icu.\u212a", False),
        ("icu.É", "icu.é", False),
    ],
)
def test_equality_folds_ascii_letters_of_provider_and_name_only(a, b, same):
    left, right = CollationId.parse(a), CollationId.parse(b)
    assert (left == right) is same
    assert len({left, right}) == 2 - same
    assert left != a


@looped(
    "a, b, same",
    [
        ("icu.UNICODE_CI.77.1", "ICU.UNICODE_CI.77.1", True),
        ("icu.UNICODE_AI_CI.77.1", "icu.UNICODE_CI_AI.77.1", True),
        ("icu.UNICODE_CS_AS.77.1", "spark.UNICODE.77.1", True),
        ("icu.UNICODE_CI.77.1", "icu.UNICODE_CI.78.1", False),
        ("icu.UNICODE_CI.77.1", "icu.UNICODE_CI.77.1.0.0", False),
        ("icu.UNICODE_CI.77.1", "icu.UNICODE_CI", False),
        ("icu.UNICODE_CI", "icu.UNICODE_CI", False),
        ("icu.UNICODE_CI.77.1", "icu.UNICODE.77.1", False),
        ("icu.en_US.77.1", "icu.en_USA.77.1", False),
        ("foo.UNICODE.77.1", "icu.UNICODE.77.1", False),
        ("foo.UNICODE.77.1", "FOO.unicode.77.1", True),
        ("spark.UTF8_BINARY", "spark.UTF8_BINARY.77.1", True),
        ("spark.UTF8_BINARY.1", "spark.UTF8_BINARY.2", True),
        ("spark.UTF8_BINARY", "foo.UTF8_BINARY", False),
        ("spark.UTF8_BINARY_RTRIM.1", "spark.UTF8_BINARY_RTRIM.2", False),
    ],
)
def test_statistics_serve_only_the_same_collation_of_the_same_version(a, b, same):
    left, right = CollationId.parse(a), CollationId.parse(b)
    assert left.same_order(right) is same
    assert right.same_order(left) is same


@pytest.mark.parametrize("text", ["spark.UTF8_BINARY", "ICU.utf8_binary", "spark.UTF8_BINARY.77.1"])
def test_binary_order_is_known_in_any_spelling(text):
    assert CollationId.parse(text).is_binary


@pytest.mark.parametrize("text", ["foo.UTF8_BINARY", "spark.UTF8_BINARY_RTRIM", "spark.UTF8_LCASE", "icu.UNICODE"])
def test_nothing_else_is_binary_order(text):
    assert not CollationId.parse(text).is_binary


@pytest.mark.parametrize("text", ["foo.Bar.1", "Foo.UNICODE_ai_ci", "icu.xxxx", "spark.nope.1"])
def test_what_spark_does_not_know_is_left_as_it_is_but_for_the_provider(text):
    canonical = CollationId.parse(text).canonical
    assert str(canonical).partition(".")[2] == text.partition(".")[2]
    assert canonical.provider == text.partition(".")[0].lower()


@pytest.mark.parametrize("name", ["FOO_BAR", "UTF8", ""])
def test_a_bare_name_that_nobody_knows_is_an_error(name):
    refuses(InvalidCollation, "is neither a collation", CollationId.named, name)
    refuses(InvalidCollation, "is neither a collation", parse_name, name)


@pytest.mark.parametrize("parse", [CollationId.parse, CollationId.named])
@pytest.mark.parametrize("text", [None, 77.1, b"icu.UNICODE"])
def test_identifiers_of_the_wrong_type_are_refused(parse, text):
    refuses(InvalidArgumentType, "text must be a str", parse, text)

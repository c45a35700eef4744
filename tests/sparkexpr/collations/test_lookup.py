"""Collations by identifier, the versions that are available, and the public function."""

import inspect
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import CollationUnavailable, InvalidArgumentType, InvalidCollation
from deltaskip.sparkexpr.collations import libraries, lookup
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.collations.lookup import SPARK_VERSION, available_collations, collation, find
from tests.each import refuses
from tests.looped import looped


def test_the_public_name_is_a_plain_documented_function() -> None:
    order = ds.collation("icu.UNICODE_CI.77.1")
    assert order.compare(pa.array(["STRAẞE", "a", None]), "straße").to_pylist() == [0, -1, None]
    assert order is collation("icu.UNICODE_CI.77.1")
    assert inspect.isfunction(ds.collation)
    assert "icu.UNICODE_CI.77.1" in (inspect.getdoc(ds.collation) or "")


@pytest.mark.parametrize("identifier", [None, 77.1, b"icu.UNICODE_CI.77.1", ["icu.UNICODE_CI.77.1"]])
def test_an_identifier_of_the_wrong_type_is_refused(identifier: object) -> None:
    refuses(InvalidArgumentType, type(identifier).__name__, ds.collation, identifier)


@pytest.mark.parametrize(
    ("identifier", "text", "left", "right"),
    [
        ("icu.UNICODE_CI.77.1", "icu.UNICODE_CI.77.1", "é", "É"),
        ("ICU.unicode_ci.77.1", "ICU.unicode_ci.77.1", "é", "É"),
        ("ICU.UNICODE_CI_AI_RTRIM.77.1", "ICU.UNICODE_CI_AI_RTRIM.77.1", "e  ", "É"),
        ("icu.UNICODE_AI", "icu.UNICODE_AI.77.1", "e", "é"),
        ("icu.de-u-co-phonebk-ks-level1.77.1", "icu.de-u-co-phonebk-ks-level1.77.1", "ä", "AE"),
        ("icu.de@collation=phonebook;colstrength=primary.77.1", None, "ä", "AE"),
        ("spark.UTF8_LCASE.77.1", "spark.UTF8_LCASE.77.1", "É", "é"),
        ("Spark.utf8_lcase_rtrim", "Spark.utf8_lcase_rtrim.77.1", "É ", "é"),
        ("spark.UTF8_BINARY_RTRIM.77.1", "spark.UTF8_BINARY_RTRIM.77.1", "a", "a "),
    ],
)
def test_an_identifier_in_any_spelling_has_a_collation(
    identifier: str, text: str | None, left: str, right: str
) -> None:
    order = collation(identifier)
    assert str(order.id) == (text or identifier)
    assert order.compare_values(left, right) == 0
    assert collation(order.id) is collation(str(order.id))
    assert collation(CollationId.parse(identifier)) is order
    found = find(identifier)
    assert found is order


@looped(
    "identifier, error, message",
    [
        ("icu.UNICODE_CI.71.1", CollationUnavailable, r"needs ICU 71\.1, and .* available versions are .*77\.1"),
        ("icu.UNICODE_CI.77", CollationUnavailable, "needs ICU 77, and"),
        ("icu.UNICODE_CI.77.1.0.0", CollationUnavailable, r"needs ICU 77\.1\.0\.0, and"),
        ("ICU.en_US.72", CollationUnavailable, "needs ICU 72, and"),
        ("icu.xx_YY.77.1", CollationUnavailable, "has no collation for the locale"),
        ("icu.und-u-kr-latn-digit.77.1", CollationUnavailable, "differently from its sort keys"),
        ("spark.UTF8_LCASE.1.0", CollationUnavailable, r"no lower-case table of ICU '1\.0'"),
        ("databricks.UNICODE.77.1", CollationUnavailable, "must be icu or spark, not 'databricks'"),
        ("spar\u212a.UTF8_LCASE.77.1", CollationUnavailable, "must be icu or spark"),
        ("icu.UTF8_LCASE.77.1", InvalidCollation, r"use spark\.UTF8_LCASE"),
        ("spark.UNICODE.77.1", InvalidCollation, r"use icu\.UNICODE"),
        ("icu.no such thing.77.1", InvalidCollation, "no such thing"),
        ("UNICODE", InvalidCollation, "is not a collation identifier"),
    ],
)
def test_what_nothing_here_evaluates_is_said_and_for_pruning_is_none(
    identifier: str, error: type[Exception], message: str
) -> None:
    refuses(error, message, ds.collation, identifier)
    assert find(identifier) is None


def test_without_a_version_it_is_that_of_spark_or_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert collation("icu.UNICODE").id.version == SPARK_VERSION
    assert collation("spark.UTF8_LCASE").id.version == SPARK_VERSION
    monkeypatch.setattr(lookup, "SPARK_VERSION", "1.0")
    assert collation("icu.UNICODE").id.version == next(iter(libraries.icu_libraries()))
    monkeypatch.setattr(libraries, "icu_libraries", dict)
    refuses(CollationUnavailable, "No ICU library is available: install pyicu-wheels", collation, "icu.UNICODE")


def test_every_available_version_can_be_asked_for() -> None:
    entries = available_collations()
    assert ("icu", "77.1") in {(entry.provider, entry.version) for entry in entries}
    assert ("spark", "77.1", "built in") in {(entry.provider, entry.version, entry.source) for entry in entries}
    assert len({(entry.provider, entry.version) for entry in entries}) == len(entries)
    for entry in entries:
        name = "UNICODE_CI" if entry.provider == "icu" else "UTF8_LCASE"
        order = collation(f"{entry.provider}.{name}.{entry.version}")
        assert order.id.version == entry.version
        assert order.source == entry.source
        assert order.compare_values("ABC", "abc") == 0


def test_every_name_of_spark_is_evaluated_by_its_version() -> None:
    from deltaskip.sparkexpr.collations.collation_id import parse_name, spark_names

    for name in spark_names()[::7]:
        order = collation(f"{parse_name(name).provider}.{name}.{SPARK_VERSION}")
        assert order.compare_values("a", "b") == -1
        assert order.exact_keys == (not name.removesuffix("_RTRIM").endswith("_AI") or "_CI" in name)


@pytest.mark.parametrize("identifier", ["icu.UNICODE_CI.77.1", "spark.UTF8_LCASE.77.1"])
@pytest.mark.parametrize("wrong", [5, None, ["a"]])
def test_values_of_the_wrong_type_are_refused(identifier: str, wrong: object) -> None:
    order: Any = ds.collation(identifier)
    for call in (order.sort_keys, order.min_max, order.key):
        refuses(InvalidArgumentType, None, call, wrong)
    refuses(InvalidArgumentType, None, order.compare, pa.array(["a"]), wrong)
    refuses(InvalidArgumentType, None, order.compare_values, "a", wrong)

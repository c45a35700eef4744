"""What is left to Spark of Java's regular expressions, by name, and what is no regular expression."""

import unicodedata

import pytest

from deltaskip.sparkexpr import EvaluationError, Undecided
from deltaskip.sparkexpr.regex import beginning_of, compiled
from deltaskip.sparkexpr.regex.syntax import LAST, Ranges, _property_named
from tests.each import each
from tests.sparkexpr.regex.random_patterns import pattern

LEFT = [
    ("(?=a)", "look-ahead"),
    ("(?!a)", "look-ahead"),
    ("(?<=a)b", "look-behind"),
    ("(?<!a)b", "look-behind"),
    ("(?>a)", "atomic group"),
    ("a*+", "possessive quantifier"),
    ("a{2}+", "possessive quantifier"),
    (r"(a)\1", "back-reference"),
    (r"(?<n>a)\k<n>", "back-reference"),
    ("[a&&b]", "intersection"),
    ("[a[b]]", "class within a class"),
    (r"\R", "line break"),
    (r"\X", "grapheme cluster"),
    (r"\G", "match before"),
    (r"\N{DIGIT ONE}", "named character"),
    ("(?x)a b", "flag x"),
    ("(?u)a", "flag u"),
    ("(?U)a", "flag U"),
    ("(?d)a", "flag d"),
    (r"\p{IsGreek}", r"\p{IsGreek}"),
    (r"(?i)\p{Lower}", r"\p{Lower} under (?i)"),
    (r"\ud83d", "surrogate"),
    ("(a*)*", "may be empty"),
    ("(a|)+", "may be empty"),
    ("a{1001}", "quantifier"),
    ("a{x}", "brace"),
    ("{", "brace"),
    (r"[\Qa\E]", "in a class"),
    ("a" * 10_001, "characters"),
    ("((a{900}){900}){900}", "parts"),
    ("(" * 101 + ")" * 101, "nested"),
]
WRONG = ["(", ")", "[", "[a", "*", "+a", "a**", r"\y", "\\", "[b-a]", r"\x1", r"\u12", r"\0", "(?:a", r"[a\y]", "a|*"]


def test_what_is_not_known_is_left_to_spark_by_name() -> None:
    def check(case: tuple[str, str]) -> None:
        source, name = case
        with pytest.raises(Undecided) as caught:
            compiled(source)
        assert name in str(caught.value)

    each(LEFT, check)


def test_what_java_refuses_is_an_error() -> None:
    def check(source: str) -> None:
        with pytest.raises(EvaluationError) as caught:
            compiled(source)
        assert not isinstance(caught.value, Undecided)

    each(WRONG, check)


def test_any_text_is_read_or_refused() -> None:
    read = 0
    for seed in range(3000):
        try:
            compiled(pattern(seed))
            read += 1
        except EvaluationError:
            pass
    assert 100 < read < 2900


def test_the_beginning_of_every_match_is_known() -> None:
    def check(case: tuple[str, str]) -> None:
        assert beginning_of(case[0]) == case[1]

    each(
        [
            ("^abc", "abc"), (r"\Aab.c", "ab"), ("^a+b", "a"), ("^(a(b))c?", "ab"), (r"^\Qa.b\E$", "a.b"), ("^a|b", ""),
            ("a", ""), ("(?i)^ab", ""), ("(?i)^1ab", "1"), ("(?m)^ab", ""), ("^a{2}b", "a"), ("^[a]b", "ab"),
            ("^[ab]c", ""), ("^", ""), ("", ""), ("^a*", ""), ("^\ufffda", ""), ("(", ""),
        ],
        check,
    )  # fmt: skip


def test_categories_are_those_of_every_code_point_that_unicode_has_not_changed() -> None:
    old, now = unicodedata.ucd_3_2_0.category, unicodedata.category
    categories = [(now(chr(code)), old(chr(code))) for code in range(LAST + 1)]
    stable = [one if one == other != "Cn" else "" for one, other in categories]

    def check(name: str) -> None:
        found = _property_named(name, insensitive=False)
        assert found is not None
        assert _members(found.ranges) == {code for code, category in enumerate(stable) if category.startswith(name)}
        assert _members(found.unsure) == {code for code, category in enumerate(stable) if not category}

    each(["L", "Lu", "Lo", "Mn", "N", "Nd", "P", "Pe", "S", "Zs"], check)


def _members(ranges: Ranges) -> set[int]:
    return {code for first, last in ranges for code in range(first, last + 1)}

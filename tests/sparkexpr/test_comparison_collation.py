"""Under which collation strings compare: spellings of one collation meet in peace, unknown ones are no binary order."""

from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.comparison_collation import compared_collations, comparison_collation, is_binary, is_collated
from deltaskip.sparkexpr.types.data_types import BOOLEAN, INTEGER, LONG, STRING
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import refuses


def column(collation: str | None) -> n.FieldRef:
    return n.FieldRef(("a",), ("a",), STRING, True, collation=collation)


@pytest.mark.parametrize(
    "text", [None, "UTF8_BINARY", "utf8_binary", "spark.UTF8_BINARY", "ICU.utf8_binary", "spark.UTF8_BINARY.77.1"]
)
def test_binary_order_has_many_spellings(text):
    assert is_binary(text)
    assert comparison_collation(column(text), n.Literal("x", STRING)) is None


@pytest.mark.parametrize("text", ["foo.UTF8_BINARY", "UTF8_BINARY_RTRIM", "icu.", "", "FOO", "icu.UNICODE", "UNICODE"])
def test_what_is_unknown_is_never_binary_order(text):
    assert not is_binary(text)
    assert comparison_collation(column(text), n.Literal("x", STRING)) == text


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("icu.UNICODE_CI", "ICU.unicode_ci"),
        ("icu.UNICODE_CI_AI", "icu.UNICODE_AI_CI"),
        ("spark.UNICODE", "icu.UNICODE"),
        ("icu.de_CS", "icu.de"),
        ("foo.BAR", "FOO.bar"),
        ("spark.UTF8_BINARY", None),
    ],
)
def test_spellings_of_one_collation_compare_under_it(a, b):
    assert comparison_collation(column(a), column(b)) in (a, b, None)
    assert comparison_collation(n.Collate(column(None), a), n.Collate(column(None), b or "UTF8_BINARY")) in (a, b, None)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("icu.UNICODE_CI", "icu.UNICODE"),
        ("icu.UNICODE", None),
        ("foo.UNICODE", "icu.UNICODE"),
        ("foo.UTF8_BINARY", None),
        ("icu.en_US", "icu.en_USA"),
        ("nonsense", "other"),
    ],
)
def test_two_collations_of_columns_do_not_meet(a, b):
    with pytest.raises(PredicateError, match=f"A comparison mixes the collations .*{a}"):
        comparison_collation(column(a), column(b))
    assert comparison_collation(column(a), n.Collate(column(b), "UNICODE_CI")) == "UNICODE_CI"


B, LCASE = n.FieldRef(("b",), ("b",), BOOLEAN), column("spark.UTF8_LCASE")
X = n.Literal("x", STRING)
CI = column("icu.UNICODE_CI")
COMPARED = [
    (n.Compare("=", CI, X), ["icu.UNICODE_CI"]),
    (n.Compare("=", X, n.Collate(CI, "de")), ["de"]),
    (n.Compare("=", n.Collate(CI, "UTF8_BINARY"), X), []),
    (n.Compare("=", n.Collate(column(None), "icu.de"), X), ["icu.de"]),
    (n.And((n.Not(n.StartsWith(CI, X)), n.Compare("<", column("icu.de"), X))), ["icu.UNICODE_CI", "icu.de"]),
    (n.In(CI, (X, X)), ["icu.UNICODE_CI"]),
    (n.In(column(None), (X, n.Collate(X, "de"))), ["de"]),
    (n.In(n.FieldRef(("n",), ("n",), LONG), (n.Literal(1, LONG),)), []),
    (n.Compare("=", n.Call("upper", (CI,)), X), ["icu.UNICODE_CI"]),
    (n.IsNull(CI), []),
    (n.Not(n.IsNull(CI)), []),
    (n.Compare(">", n.Call("length", (CI,)), n.Literal(1, LONG)), []),
    (n.Compare("=", column("spark.utf8_binary"), X), []),
]


@pytest.mark.parametrize(("predicate", "expected"), COMPARED, ids=[str(i) for i in range(len(COMPARED))])
def test_a_predicate_compares_under_the_collations_of_its_operands(predicate, expected):
    assert sorted(compared_collations(predicate)) == sorted(expected)


CHOICE = n.Case(((B, CI),), X)


@pytest.mark.parametrize(
    "node",
    [
        CHOICE,
        n.Case(((B, X),), CI),
        n.Case(((n.Compare("=", LCASE, X), X), (B, CI))),
        n.Call("coalesce", (CI, X), STRING),
        n.Call("concat", (X, CI), STRING),
        n.Call("concat", (CHOICE, n.Cast(column(None), STRING)), STRING),
        n.Call("substring", (CI, n.Literal(1, INTEGER), n.FieldRef(("n",), ("n",), INTEGER)), STRING),
    ],
)
def test_conditions_and_functions_have_the_collation_of_their_strings(node):
    assert comparison_collation(node, X) == "icu.UNICODE_CI"
    assert comparison_collation(X, n.Collate(node, "de")) == "de"
    assert is_collated(node)


@pytest.mark.parametrize(
    "node",
    [n.Case(((B, CI),), LCASE), n.Call("concat", (CI, column(None)), STRING), n.Call("coalesce", (LCASE, CI), STRING)],
)
def test_what_has_two_collations_is_compared_only_with_an_explicit_one(node):
    refuses(PredicateError, "A comparison mixes the collations", comparison_collation, node, X)
    assert comparison_collation(node, n.Collate(X, "de")) == "de"
    assert is_collated(node)


@pytest.mark.parametrize("text", ["a = b", "a LIKE b", "a ILIKE b", "startswith(a, b)", "a IN (b)"])
def test_texts_of_two_collations_do_not_meet(text):
    schema = parse_columns("a STRING COLLATE UNICODE, b STRING COLLATE UTF8_LCASE")
    refuses(PredicateError, "mixes the collations", lambda: bind_expression(parse_sql(text), schema))


@pytest.mark.parametrize(
    "text, found", [("s LIKE c", "bB"), ("c LIKE s", None), ("s ILIKE c", "abBC"), ("c ILIKE s", None),
                    ("s LIKE 'A%' COLLATE UTF8_LCASE", ""), ("c LIKE 'X' COLLATE UTF8_BINARY", "C")],
)  # fmt: skip
def test_like_has_the_collation_of_its_text(tmp_path: Path, text: str, found: str | None) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id STRING, s STRING, c STRING COLLATE UTF8_LCASE")
    rows = [("a", "aBc", "A%"), ("b", "abc", "ab_"), ("C", "x", "X"), ("B", "ab", "ab")]
    table.append(pa.Table.from_pylist([dict(zip(("id", "s", "c"), row, strict=True)) for row in rows]))
    if found is None:
        assert len(table.scan(text).paths()) == 1
        refuses(ds.UnsupportedFeature, "UTF8_LCASE are left to Spark", lambda: table.scan(text).to_arrow())
        return
    assert sorted(table.scan(text).to_arrow()["id"].to_pylist()) == sorted(found)


def test_the_function_collate_is_the_operator() -> None:
    assert parse_sql("collate(s, 'UTF8_LCASE') = 'a'") == parse_sql("s COLLATE UTF8_LCASE = 'a'")
    # The name is a constant, without a catalog.
    for text in ("collate(s, t)", "collate(s, NULL)", "collate(s, 'SYSTEM.BUILTIN.UNICODE')"):
        assert isinstance(parse_sql(text), n.Call), text

"""The normal form keeps exactly the rows that the predicate keeps, and has the shape that it promises."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.nodes import (
    And,
    Call,
    Cast,
    Compare,
    FieldRef,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Or,
    StartsWith,
)
from deltaskip.sparkexpr.normalize import FALSE_LITERAL, NOT_IN_LIMIT, TRUE_LITERAL, normalize
from deltaskip.sparkexpr.types.data_types import BOOLEAN, DATE, INTEGER, STRING
from tests.extent import extent
from tests.sparkexpr.predicates import SCHEMA, Maker, rows

I = FieldRef(("i",), ("i",), INTEGER)  # noqa: E741
S = FieldRef(("s",), ("s",), STRING)
D = FieldRef(("dt",), ("dt",), DATE)
B = FieldRef(("b",), ("b",), BOOLEAN)
ROWS = rows()


def number(value: int | None) -> Literal:
    return Literal(value, INTEGER)


def normal(text: str) -> Node:
    return normalize(bind(parse_sql(text), SCHEMA))


def keeps(node: Node, row: dict[tuple[str, ...], object]) -> bool | None:
    """Whether a filter keeps the row; None where evaluation raises."""
    try:
        return evaluate(node, row) is True
    except EvaluationError:
        return None


@settings(max_examples=extent(80, 400), deadline=None)
@given(st.integers(0, 10**9))
def test_the_normal_form_keeps_the_same_rows(seed: int) -> None:
    text = Maker(random.Random(seed)).predicate(4)
    try:
        bound = bind(parse_sql(text), SCHEMA)
    except PredicateError:
        return
    form = normalize(bound)
    assert normalize(form) == form
    for row in ROWS:
        before, after = keeps(bound, row), keeps(form, row)
        assert before is None or after is None or before == after, (text, row)


@settings(max_examples=extent(60, 200), deadline=None)
@given(st.integers(0, 10**9))
def test_the_normal_form_is_flat_and_negates_leaves_only(seed: int) -> None:
    text = Maker(random.Random(seed)).predicate(4)
    try:
        form = normal(text)
    except PredicateError:
        return
    assert form in (TRUE_LITERAL, FALSE_LITERAL) or well_formed(form, None), form


def well_formed(node: Node, above: type | None) -> bool:
    match node:
        case And(children) | Or(children):
            return len(children) > 1 and type(node) is not above and all(well_formed(c, type(node)) for c in children)
        case Not(child):
            return not isinstance(child, And | Or | Not | Literal) and (
                not isinstance(child, Compare) or child.op == "<=>"
            )
        case Literal():
            return False
    return True


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("NOT (i < 1 OR i > 5)", And((Compare(">=", I, number(1)), Compare("<=", I, number(5))))),
        ("i NOT BETWEEN 1 AND 5", Or((Compare("<", I, number(1)), Compare(">", I, number(5))))),
        ("5 < i", Compare(">", I, number(5))),
        ("NOT (5 = i)", Compare("!=", I, number(5))),
        ("i <=> 5", Compare("=", I, number(5))),
        ("5 <=> i", Compare("=", I, number(5))),
        ("NOT (i <=> 5)", Or((Compare("!=", I, number(5)), IsNull(I)))),
        ("i <=> NULL", IsNull(I)),
        ("NOT (NULL <=> i)", Not(IsNull(I))),
        ("i = NULL", FALSE_LITERAL),
        ("NOT (i = NULL)", FALSE_LITERAL),
        ("i = 1 OR NULL", Compare("=", I, number(1))),
        ("i = 1 AND NULL", FALSE_LITERAL),
        ("i IN (1, NULL, 1)", Compare("=", I, number(1))),
        ("i IN (1, 2, NULL)", In(I, (number(1), number(2)))),
        ("i IN (NULL)", FALSE_LITERAL),
        ("i NOT IN (1, NULL)", FALSE_LITERAL),
        ("i NOT IN (1, 2, 1)", And((Compare("!=", I, number(1)), Compare("!=", I, number(2))))),
        ("NOT NOT i = 1", Compare("=", I, number(1))),
        ("b", Compare("=", B, TRUE_LITERAL)),
        ("NOT b", Compare("=", B, FALSE_LITERAL)),
        ("b IS TRUE", Compare("=", B, TRUE_LITERAL)),
        ("(i = 1) IS TRUE", Compare("=", I, number(1))),
        ("(i = 1) IS NOT TRUE", Or((Compare("!=", I, number(1)), IsNull(Compare("=", I, number(1)))))),
        ("(i = 1) = false", Compare("!=", I, number(1))),
        ("(i < 1) != true", Compare(">=", I, number(1))),
        ("1 = 1", TRUE_LITERAL),
        ("1 = 1 AND i = 1", Compare("=", I, number(1))),
        ("1 = 2 OR i = 1", Compare("=", I, number(1))),
        ("1 = 1 OR i = 1", TRUE_LITERAL),
        ("i = 1 AND (i = 1 AND i = 1)", Compare("=", I, number(1))),
        ("s NOT LIKE 'a%'", Not(Like(S, Literal("a%", STRING)))),
        ("s LIKE NULL", FALSE_LITERAL),
        ("NOT startswith(s, 'a')", Not(StartsWith(S, Literal("a", STRING)))),
        ("i IS NOT NULL", Not(IsNull(I))),
        ("CAST(i AS STRING) = '-7'", Compare("=", I, number(-7))),
        ("'7' != string(i)", Compare("!=", I, number(7))),
        ("CAST(i AS STRING) = '07'", FALSE_LITERAL),
        ("CAST(i AS STRING) = '2147483648'", FALSE_LITERAL),
        ("NOT CAST(i AS STRING) = '-0'", Not(IsNull(I))),
        ("CAST(i AS STRING) IN ('7', 'x', '1', NULL)", In(I, (number(7), number(1)))),
        ("CAST(i AS STRING) IN ('x', '+1')", FALSE_LITERAL),
        ("CAST(dt AS STRING) = '1970-01-02'", Compare("=", D, Literal(1, DATE))),
        ("CAST(dt AS STRING) = '0000-12-31'", Compare("=", D, Literal(-719163, DATE))),
        ("CAST(dt AS STRING) = '1970-1-2' OR CAST(dt AS STRING) = '2023-02-29'", FALSE_LITERAL),
        (
            "CAST(dt AS STRING) = '+10000-01-01'",
            Compare("=", Cast(D, STRING), Literal("+10000-01-01", STRING)),
        ),
        ("CAST(i AS STRING) NOT IN ('7', 'x')", And((Compare("!=", I, number(7)), Not(IsNull(I))))),
    ],
)
def test_normal_forms(text: str, form: Node) -> None:
    assert normal(text) == form


def test_an_empty_in_is_false_and_its_negation_true() -> None:
    assert normalize(In(I, ())) == FALSE_LITERAL
    assert normalize(Not(In(I, ()))) == TRUE_LITERAL


def test_a_long_not_in_stays_one_leaf() -> None:
    values = tuple(number(n) for n in range(NOT_IN_LIMIT + 1))
    assert normalize(Not(In(I, values + values))) == Not(In(I, values))


def test_expressions_that_may_change_are_not_named_twice() -> None:
    unknown = Call("rand", ())
    compared = Compare("<=>", unknown, number(1))
    assert normalize(Not(compared)) == Not(compared)


def test_values_of_a_list_are_told_apart_as_spark_does() -> None:
    form = normal("d IN (0.0D, -0.0D, CAST('NaN' AS DOUBLE), CAST('NaN' AS DOUBLE))")
    assert isinstance(form, In)
    assert len(form.values) == 2

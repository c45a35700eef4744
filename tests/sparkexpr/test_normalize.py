"""The normal form keeps exactly the rows that the predicate keeps, and has the shape that it promises."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr import nodes as nodes
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.normalize import FALSE_LITERAL, NOT_IN_LIMIT, TRUE_LITERAL, normalize
from deltaskip.sparkexpr.types.data_types import BOOLEAN, DATE, INTEGER, STRING
from tests.extent import extent
from tests.sparkexpr.predicates import SCHEMA, Maker, rows

I = nodes.FieldRef(("i",), ("i",), INTEGER)  # noqa: E741
S = nodes.FieldRef(("s",), ("s",), STRING)
D = nodes.FieldRef(("dt",), ("dt",), DATE)
B = nodes.FieldRef(("b",), ("b",), BOOLEAN)
ROWS = rows()


def number(value: int | None) -> nodes.Literal:
    return nodes.Literal(value, INTEGER)


def normal(text: str) -> nodes.Node:
    return normalize(bind(parse_sql(text), SCHEMA))


def keeps(node: nodes.Node, row: dict[tuple[str, ...], object]) -> bool | None:
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


def well_formed(node: nodes.Node, above: type | None) -> bool:
    match node:
        case nodes.And(children) | nodes.Or(children):
            return len(children) > 1 and type(node) is not above and all(well_formed(c, type(node)) for c in children)
        case nodes.Not(child):
            return not isinstance(child, nodes.And | nodes.Or | nodes.Not | nodes.Literal) and (
                not isinstance(child, nodes.Compare) or child.op == "<=>"
            )
        case nodes.Literal():
            return False
    return True


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("NOT (i < 1 OR i > 5)", nodes.And((nodes.Compare(">=", I, number(1)), nodes.Compare("<=", I, number(5))))),
        ("i NOT BETWEEN 1 AND 5", nodes.Or((nodes.Compare("<", I, number(1)), nodes.Compare(">", I, number(5))))),
        ("5 < i", nodes.Compare(">", I, number(5))),
        ("NOT (5 = i)", nodes.Compare("!=", I, number(5))),
        ("i <=> 5", nodes.Compare("=", I, number(5))),
        ("5 <=> i", nodes.Compare("=", I, number(5))),
        ("NOT (i <=> 5)", nodes.Or((nodes.Compare("!=", I, number(5)), nodes.IsNull(I)))),
        ("i <=> NULL", nodes.IsNull(I)),
        ("NOT (NULL <=> i)", nodes.Not(nodes.IsNull(I))),
        ("i = NULL", FALSE_LITERAL),
        ("NOT (i = NULL)", FALSE_LITERAL),
        ("i = 1 OR NULL", nodes.Compare("=", I, number(1))),
        ("i = 1 AND NULL", FALSE_LITERAL),
        ("i IN (1, NULL, 1)", nodes.Compare("=", I, number(1))),
        ("i IN (1, 2, NULL)", nodes.In(I, (number(1), number(2)))),
        ("i IN (NULL)", FALSE_LITERAL),
        ("i NOT IN (1, NULL)", FALSE_LITERAL),
        ("i NOT IN (1, 2, 1)", nodes.And((nodes.Compare("!=", I, number(1)), nodes.Compare("!=", I, number(2))))),
        ("NOT NOT i = 1", nodes.Compare("=", I, number(1))),
        ("b", nodes.Compare("=", B, TRUE_LITERAL)),
        ("NOT b", nodes.Compare("=", B, FALSE_LITERAL)),
        ("b IS TRUE", nodes.Compare("=", B, TRUE_LITERAL)),
        ("(i = 1) IS TRUE", nodes.Compare("=", I, number(1))),
        (
            "(i = 1) IS NOT TRUE",
            nodes.Or((nodes.Compare("!=", I, number(1)), nodes.IsNull(nodes.Compare("=", I, number(1))))),
        ),
        ("(i = 1) = false", nodes.Compare("!=", I, number(1))),
        ("(i < 1) != true", nodes.Compare(">=", I, number(1))),
        ("1 = 1", TRUE_LITERAL),
        ("1 = 1 AND i = 1", nodes.Compare("=", I, number(1))),
        ("1 = 2 OR i = 1", nodes.Compare("=", I, number(1))),
        ("1 = 1 OR i = 1", TRUE_LITERAL),
        ("i = 1 AND (i = 1 AND i = 1)", nodes.Compare("=", I, number(1))),
        ("s NOT LIKE 'a%'", nodes.Not(nodes.Like(S, nodes.Literal("a%", STRING)))),
        ("s LIKE NULL", FALSE_LITERAL),
        ("NOT startswith(s, 'a')", nodes.Not(nodes.StartsWith(S, nodes.Literal("a", STRING)))),
        ("i IS NOT NULL", nodes.Not(nodes.IsNull(I))),
        ("CAST(i AS STRING) = '-7'", nodes.Compare("=", I, number(-7))),
        ("'7' != string(i)", nodes.Compare("!=", I, number(7))),
        ("CAST(i AS STRING) = '07'", FALSE_LITERAL),
        ("CAST(i AS STRING) = '2147483648'", FALSE_LITERAL),
        ("NOT CAST(i AS STRING) = '-0'", nodes.Not(nodes.IsNull(I))),
        ("CAST(i AS STRING) IN ('7', 'x', '1', NULL)", nodes.In(I, (number(7), number(1)))),
        ("CAST(i AS STRING) IN ('x', '+1')", FALSE_LITERAL),
        ("CAST(dt AS STRING) = '1970-01-02'", nodes.Compare("=", D, nodes.Literal(1, DATE))),
        ("CAST(dt AS STRING) = '0000-12-31'", nodes.Compare("=", D, nodes.Literal(-719163, DATE))),
        ("CAST(dt AS STRING) = '1970-1-2' OR CAST(dt AS STRING) = '2023-02-29'", FALSE_LITERAL),
        (
            "CAST(dt AS STRING) = '+10000-01-01'",
            nodes.Compare("=", nodes.Cast(D, STRING), nodes.Literal("+10000-01-01", STRING)),
        ),
        (
            "CAST(i AS STRING) NOT IN ('7', 'x')",
            nodes.And((nodes.Compare("!=", I, number(7)), nodes.Not(nodes.IsNull(I)))),
        ),
    ],
)
def test_normal_forms(text: str, form: nodes.Node) -> None:
    assert normal(text) == form


def test_an_empty_in_is_false_and_its_negation_true() -> None:
    assert normalize(nodes.In(I, ())) == FALSE_LITERAL
    assert normalize(nodes.Not(nodes.In(I, ()))) == TRUE_LITERAL


def test_a_long_not_in_stays_one_leaf() -> None:
    values = tuple(number(n) for n in range(NOT_IN_LIMIT + 1))
    assert normalize(nodes.Not(nodes.In(I, values + values))) == nodes.Not(nodes.In(I, values))


def test_expressions_that_may_change_are_not_named_twice() -> None:
    unknown = nodes.Call("rand", ())
    compared = nodes.Compare("<=>", unknown, number(1))
    assert normalize(nodes.Not(compared)) == nodes.Not(compared)


def test_values_of_a_list_are_told_apart_as_spark_does() -> None:
    form = normal("d IN (0.0D, -0.0D, CAST('NaN' AS DOUBLE), CAST('NaN' AS DOUBLE))")
    assert isinstance(form, nodes.In)
    assert len(form.values) == 2

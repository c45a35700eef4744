"""Expressions of thousands of levels are read, bound, evaluated, printed, copied and compared as flat ones are."""

import copy
import pickle
from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pytest

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import col, evaluate, parse_sql, to_sql
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.bind import bind, bind_expression
from deltaskip.sparkexpr.evaluation import Evaluator
from deltaskip.sparkexpr.evaluation import evaluate as evaluate_row
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.normalize import normalize
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import refuses
from tests.extent import extent

LEVELS = 10_000
# All passes together take seconds for more. Either is beyond the limit of a function that calls itself once a level.
MANY = extent(1_100, 1_500)
SCHEMA = parse_columns("a INT, s STRING, d DATE, x BIGINT")
A = [1, 2, 3, None, 5, LEVELS, LEVELS + 7]
COLUMNS = {
    "a": pa.array(A, pa.int32()),
    "s": pa.array(["k", None, "x", "kx", "", "k", "ä"]),
    "d": pa.array([0, 1, None, 3, 4, 5, 6], pa.date32()),
    "x": pa.array([0, 0, 0, 1, None, -1, 7], pa.int64()),
}

# The text of an expression with as many levels, and a flat expression that is equal to it.
SHAPES: dict[str, tuple[Callable[[int], str], Callable[[int], str]]] = {
    "or": (lambda k: "".join(f"(a = {i} OR " for i in range(k)) + "a < 0" + ")" * k,
        lambda k: f"a < 0 OR a IN ({', '.join(map(str, range(k)))})"),
    "or from the left": (lambda k: "(" * k + "a < 0" + "".join(f" OR a = {i})" for i in range(k)),
        lambda k: f"a < 0 OR a IN ({', '.join(map(str, range(k)))})"),
    "and in or": (lambda k: "".join(f"(a = {2 * i} OR (a != {2 * i + 1} AND " for i in range(
        k // 2)) + "a > 0" + "))" * (k // 2), lambda k: f"a > 0 AND (a >= {k} OR a % 2 = 0)"),
    "not": (lambda k: "NOT (" * k + "a = 1" + ")" * k, lambda k: "a = 1"),
    "parentheses": (lambda k: "(" * k + "a" + ")" * k + " = 1", lambda k: "a = 1"),
    "otherwise": (lambda k: "".join(f"CASE WHEN a = {i} THEN {i} ELSE " for i in range(k)) + "a" + " END" * k + " = 5",
        lambda k: "a = 5"),
    "then": (lambda k: "".join(f"CASE WHEN a != {k + i} THEN " for i in range(k)) + "a" + " ELSE 0 END" * k + " = 0",
        lambda k: f"CASE WHEN a BETWEEN {k} AND {2 * k - 1} OR a IS NULL THEN true ELSE a = 0 END"),
    "when": (lambda k: "CASE WHEN " * k + "a = 1" + " THEN true ELSE false END" * k,
        lambda k: "coalesce(a = 1, false)"),
    "functions": (lambda k: "abs(" * k + "a" + ")" * k + " = 3", lambda k: "abs(a) = 3"),
    "functions of text": (lambda k: "upper(trim(" * (k // 2) + "s" + "))" * (k // 2) + " = 'K'", lambda k: "s = 'k'"),
    "coalesce": (lambda k: "coalesce(" * k + "a" + ", 2)" * k + " = 2", lambda k: "a = 2 OR a IS NULL"),
    "sum": (lambda k: "a" + " + 1" * k + f" = {k + 3}", lambda k: "a = 3"),
    "sum from the right": (lambda k: "(1 + " * k + "a" + ")" * k + f" = {k + 3}", lambda k: "a = 3"),
    "signs": (lambda k: "-(" * k + "a" + ")" * k + " = 3", lambda k: "a = 3"),
    "concat": (lambda k: "s" + " || 'x'" * k + f" = concat('k', repeat('x', {k}))", lambda k: "s = 'k'"),
    "casts": (lambda k: "CAST(" * k + "a" + "".join(f" AS {('BIGINT', 'INT')[i % 2]})" for i in range(k)) + " = 3",
        lambda k: "a = 3"),
    "casts by way of a float": (lambda k: "CAST(" * k + "a" + "".join(
        f" AS {('FLOAT', 'DOUBLE', 'INT')[i % 3]})" for i in range(k)) + " = 3", lambda k: "a = 3"),
    "casts of times": (
        lambda k: "CAST(CASE WHEN " * k + "a = 1" + " THEN DATE'2020-01-01' ELSE DATE'2020-01-02' END AS TIMESTAMP)"
        " = TIMESTAMP'2020-01-01 00:00:00'" * k,
        lambda k: "coalesce(a = 1, false)",
    ),
    "equal": (lambda k: "(a = 1" + ") = (true" * k + ")", lambda k: "a = 1"),
    "in": (lambda k: "(" * k + "(a = 1)" + " IN (true, nullif(x > 100, false)))" * k, lambda k: "a = 1"),
    "like": (lambda k: "(CAST(" * k + "a = 1" + " AS STRING) LIKE 't%')" * k, lambda k: "a = 1"),
    "between": (lambda k: "".join(f"(a BETWEEN {i} AND {i + 1} OR " for i in range(k)) + "a < 0" + ")" * k,
        lambda k: f"a <= {k}"),
    "dates": (lambda k: "".join(f"(d = DATE'1970-01-0{1 + i % 4}' {('OR', 'AND')[i % 2]} " for i in range(
        k)) + "d IS NULL" + ")" * k,
        lambda k: "CASE WHEN d = DATE'1970-01-01' THEN true WHEN d IS NULL THEN NULL ELSE false END"),
    "errors that no row reaches": (lambda k: "".join(f"(if(a != 3 AND x != {i % 7 + 10}, " for i in range(
        k)) + "1/(a - 3) > 0" + ", false))" * k, lambda k: "CASE WHEN a != 3 AND x < 10 THEN a > 3 ELSE false END"),
}  # fmt: skip


@pytest.fixture(params=SHAPES, scope="module")
def shape(request: pytest.FixtureRequest) -> tuple[str, str]:
    text, flat = SHAPES[request.param]
    return text(MANY), flat(MANY)


def values(node: n.Node) -> list[object]:
    found: list[object] = Evaluator(node).values(COLUMNS, len(A)).to_pylist()
    return found


def test_every_pass_takes_a_deep_tree(shape: tuple[str, str]) -> None:
    text, flat = shape
    node = parse_sql(text)
    assert not any(isinstance(part, n.Opaque) for part in n.walk(node))
    bound, flat_bound = bind(node, SCHEMA), bind(parse_sql(flat), SCHEMA)
    expected = values(flat_bound)
    found = values(bound)
    assert [value is True for value in found] == [value is True for value in expected]
    normal = normalize(bound)
    assert [value is True for value in values(normal)] == [value is True for value in expected]
    row = {(name,): column[0].as_py() if name != "d" else 0 for name, column in COLUMNS.items()}
    assert evaluate_row(bound, row) is found[0]
    copied = pickle.loads(pickle.dumps(bound))
    assert copied == bound
    assert hash(copied) == hash(bound)
    assert copy.deepcopy(bound) is bound
    assert repr(copied) == repr(bound)
    assert len(to_sql(bound)) >= min(len(to_sql(flat_bound)), 4)
    assert parse_sql(to_sql(node)) == node or len(to_sql(node)) < len(text)


@pytest.mark.long(gate=3)
@pytest.mark.parametrize("shape", ["or", "and in or", "not", "parentheses", "otherwise", "functions", "sum", "concat"])
def test_ten_thousand_levels_are_bound_and_evaluated(shape: str) -> None:
    text, flat = (make(LEVELS) for make in SHAPES[shape])
    bound = bind(parse_sql(text), SCHEMA)
    expected = [value is True for value in values(bind(parse_sql(flat), SCHEMA))]
    assert [value is True for value in values(bound)] == expected
    assert [value is True for value in values(normalize(bound))] == expected


def test_two_signs_are_not_a_comment() -> None:
    assert to_sql(parse_sql("- (- a)")) == "-(-a)"
    assert parse_sql(to_sql(parse_sql("- (-5)"))) == parse_sql("- (-5)")


def test_an_error_that_a_row_reaches_is_raised() -> None:
    text = "".join(f"(if(a != {i + 100}, " for i in range(1000)) + "1 / (a - 3) > 0" + ", false))" * 1000
    refuses(EvaluationError, "Division by zero", lambda: values(bind(parse_sql(text), SCHEMA)))


def test_columns_of_methods_are_as_deep() -> None:
    either, negated, added = col("a") == 0, col("a") == 1, col("a")
    for i in range(MANY):
        either = ~(either | (col("a") == i)) if i % 2 else either & (col("a") != i)
        negated = ~negated
        added = added + 1
    assert values(bind(negated.node, SCHEMA)) == values(bind(parse_sql("a = 1"), SCHEMA))
    assert values(bind((added == MANY + 3).node, SCHEMA)) == values(bind(parse_sql("a = 3"), SCHEMA))
    assert values(bind(either.node, SCHEMA))[3] is None
    assert repr(either).startswith("ColumnExpr(")


def test_evaluate_of_users_takes_them() -> None:
    data = pa.table({"a": COLUMNS["a"]})
    assert evaluate("a" + " + 1" * MANY, data).to_pylist() == [None if a is None else a + MANY for a in A]


def test_an_unknown_name_at_the_last_level_is_named() -> None:
    refuses(PredicateError, "nothing", lambda: bind(parse_sql("NOT (" * LEVELS + "nothing = 1" + ")" * LEVELS), SCHEMA))


def test_a_time_at_any_depth_is_replaced_and_bounded() -> None:
    from deltaskip.sparkexpr.clock import Clock, at_time, reads_clock

    node = bind_expression(parse_sql("x < CAST(now() AS BIGINT)" + " + 1" * MANY), SCHEMA)
    assert reads_clock(node)
    timed = at_time(parse_sql("CAST(now() AS BIGINT)" + " + 1" * MANY + " > x"), 7_000_000, "UTC", SCHEMA.names)
    assert values(bind(timed, SCHEMA)) == values(bind(parse_sql(f"x < {MANY + 7}"), SCHEMA))
    assert Clock(1_700_000_000_000_000, "UTC").weakest(node) is not None


def test_hashes_of_nested_nodes_are_computed_once() -> None:
    levels: list[n.Node] = [n.Column(("a",))]
    for _ in range(LEVELS):
        levels.append(n.Not(levels[-1]))
    assert len(dict.fromkeys(levels)) == LEVELS + 1
    assert all(outer != inner for inner, outer in pairwise(levels))

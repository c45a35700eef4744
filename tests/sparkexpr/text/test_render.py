"""The SQL text of a tree is read as that tree again."""

from __future__ import annotations

import random
from decimal import Decimal

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import col, exact_sql, nodes, parse_sql, to_sql
from deltaskip.sparkexpr.types import VOID
from tests.each import each
from tests.extent import extent

LEAVES = ("a", "b", "s.x", "`é c`", "1", "-1", "'t'", "NULL", "TRUE", "DATE'2026-01-01'", "INTERVAL '1' DAY", "1.50")
OPERATORS = (
    *(f"{{}} {op} {{}}" for op in ("=", "<=>", "<", ">=", "!=", "+", "-", "*", "/", "%", "DIV", "&", "|", "^", "||")),
    *("{} AND {}", "{} OR {}", "NOT {}", "{} IS NULL", "{} IS NOT NULL", "{} IS TRUE", "{} IS NOT FALSE", "-{}", "~{}"),
    *("{} IN ({}, {})", "{} NOT IN ({}, 1)", "{} BETWEEN {} AND {}", "{} NOT BETWEEN {} AND {}", "{} LIKE {}"),
    *("{} NOT ILIKE {}", "{} LIKE {} ESCAPE '!'", "{} RLIKE {}", "{} IS DISTINCT FROM {}", "startswith({}, {})"),
    *("CASE WHEN {} THEN {} ELSE {} END", "CASE {} WHEN {} THEN {} END", "if({}, {}, {})", "coalesce({}, {})"),
    *("CAST({} AS STRING)", "TRY_CAST({} AS INT)", "{}[{}]", "{}['k']", "{}.f", "{} COLLATE UNICODE", "{}::DOUBLE"),
    *("{} + INTERVAL 1 MONTH", "{} << {}", "filter({}, x -> x = {})", "struct({}, {})"),
)


def _text(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(LEAVES)
    operator = rng.choice(OPERATORS)
    return operator.format(*(f"({_text(rng, depth - 1)})" for _ in range(operator.count("{}"))))


def _check(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        try:
            node = parse_sql(_text(rng, rng.choice((2, 2, 3, 4))))
        except PredicateError:
            # A literal without fields, or a bound of BETWEEN that is a condition.
            continue
        # AND and OR of more than two are one node, and `IS TRUE` and DIV are others.
        again = parse_sql(to_sql(node))
        assert to_sql(again) == to_sql(node), (node, to_sql(node))
        assert _plain(again) == _plain(node), to_sql(node)
        if not any(isinstance(part, nodes.Opaque) for part in nodes.walk(node)):
            assert _plain(parse_sql(exact_sql(node))) == _plain(node), exact_sql(node)


def _plain(node: nodes.Node) -> nodes.Node:
    """The tree as its text is read: with negative numbers, paths and NULL without type, AND and OR without depth."""
    node = nodes.transform(node, _plain)
    match node:
        case nodes.Call("negative", (nodes.Literal(int() | float() | Decimal() as value, type_),)):
            return nodes.Literal(-value, type_)
        case nodes.Call("[]", (nodes.Column(parts), nodes.Literal(str() as name))):
            return nodes.Column((*parts, name))
        case nodes.Literal(None):
            return nodes.Literal(None, VOID)
    for kind in (nodes.And, nodes.Or):
        if isinstance(node, kind):
            inner = (each.children if isinstance(each, kind) else (each,) for each in node.children)
            return kind(tuple(part for parts in inner for part in parts))
    return node


def test_a_tree_is_read_again_from_its_text() -> None:
    each(range(extent(30, 2_000)), _check)


def test_an_operand_that_is_a_predicate_is_in_parentheses() -> None:
    """Spark reads `a = b IS NULL` as (a = b) IS NULL."""
    a, b = col("a"), col("b")
    assert to_sql((a == b.is_null()).node) == "a = (b IS NULL)"
    assert to_sql((a == b.between(1, 2)).node) == "a = (b >= 1 AND b <= 2)"
    assert to_sql((a == b.is_null()).is_null().node) == "(a = (b IS NULL)) IS NULL"
    for name in ("like", "ilike", "rlike", "regexp", "between"):
        case = parse_sql(f"CASE WHEN {name}(a, 'x') THEN 1 END")
        assert isinstance(case, nodes.Case) and case.branches[0][0] == parse_sql(f"{name}(a, 'x')")

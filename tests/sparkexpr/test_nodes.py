"""Nodes: children, rebuilding, walking, columns."""

import pytest

from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.types.data_types import INTEGER, LONG, STRING
from deltaskip.sparkexpr.types.ddl import parse_columns

A, B, C = n.Column(("a",)), n.Column(("b",)), n.Column(("c",))
EVERY_KIND: list[n.Node] = [
    n.Compare("<", A, B),
    n.And((A, B)),
    n.Between((n.Compare(">=", A, B), n.Compare("<=", A, C))),
    n.Or((A, B)),
    n.Not(A),
    n.IsNull(A),
    n.In(A, (B, C)),
    n.Like(A, B, "!", True),
    n.StartsWith(A, B),
    n.Cast(A, LONG, True),
    n.Call("f", (A, B), STRING),
    n.Case(((A, B),), C),
    n.Case(((A, B),)),
    n.Collate(A, "UNICODE"),
]


@pytest.mark.parametrize("node", EVERY_KIND, ids=lambda node: type(node).__name__)
def test_rebuilding_changes_every_child_and_nothing_else(node: n.Node) -> None:
    assert n.transform(node, lambda child: child) is node
    renamed = n.transform(node, lambda child: n.Column(("x",)))
    assert n.children_of(renamed) == (n.Column(("x",)),) * len(n.children_of(node))
    assert type(renamed) is type(node)
    originals = iter(n.children_of(node))
    assert n.transform(renamed, lambda child: next(originals)) == node


@pytest.mark.parametrize("leaf", [n.Literal(1, INTEGER), A, n.FieldRef(("a",), ("a",), LONG), n.Opaque("x")])
def test_leaves_have_no_children(leaf: n.Node) -> None:
    assert n.children_of(leaf) == ()
    assert n.transform(leaf, lambda child: B) is leaf


def test_walking_meets_parents_first_from_left_to_right() -> None:
    node = n.And((n.Not(A), n.Compare("=", B, C)))
    assert list(n.walk(node)) == [node, n.Not(A), A, n.Compare("=", B, C), B, C]


def test_columns_are_named_once_in_order_of_appearance() -> None:
    node = n.And(
        (n.Compare("=", B, A), n.Opaque("f(c)", (("c",), ("a",))), n.IsNull(n.FieldRef(("d", "e"), ("p", "q"), LONG)))
    )
    assert n.columns_of(node) == (("b",), ("a",), ("c",), ("d", "e"))


def test_size_is_counted_in_nodes_of_the_tree_with_each_part_visited_once() -> None:
    node: n.Node = n.Not(A)
    for _ in range(60):
        node = n.And((node, node))
    assert n.is_too_large(node)
    assert n.columns_of(node) == (("a",),)
    assert n.is_too_large(n.And((n.Not(A), n.Not(B), n.Not(C))), size=3)
    assert not n.is_too_large(n.And((n.Not(A), n.Not(B), n.Not(C))), size=4)


def test_between_stays_one_node_until_it_is_bound() -> None:
    node = parse_sql("a BETWEEN 1 AND b + 2 OR NOT (c) BETWEEN 'x' AND 'y'")
    assert to_sql(node) == "a BETWEEN 1 AND (b + 2) OR NOT (c BETWEEN 'x' AND 'y')"
    assert parse_sql(to_sql(node)) == node == parse_sql(to_sql(n.transform(node, lambda each: each)))
    bound = bind(node, parse_columns("a INT, b INT, c STRING"))
    assert not any(isinstance(part, n.Between) for part in n.walk(bound))

"""Nodes: children, rebuilding, walking, columns."""

from __future__ import annotations

import pytest

from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Compare,
    FieldRef,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Opaque,
    Or,
    StartsWith,
    children_of,
    columns_of,
    is_too_large,
    transform,
    walk,
)
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.types.data_types import INTEGER, LONG, STRING, StructField, StructType

A, B, C = Column(("a",)), Column(("b",)), Column(("c",))
EVERY_KIND: list[Node] = [
    Compare("<", A, B),
    And((A, B)),
    Between((Compare(">=", A, B), Compare("<=", A, C))),
    Or((A, B)),
    Not(A),
    IsNull(A),
    In(A, (B, C)),
    Like(A, B, "!", True),
    StartsWith(A, B),
    Cast(A, LONG, True),
    Call("f", (A, B), STRING),
    Case(((A, B),), C),
    Case(((A, B),)),
    Collate(A, "UNICODE"),
]


@pytest.mark.parametrize("node", EVERY_KIND, ids=lambda node: type(node).__name__)
def test_rebuilding_changes_every_child_and_nothing_else(node: Node) -> None:
    assert transform(node, lambda child: child) is node
    renamed = transform(node, lambda child: Column(("x",)))
    assert children_of(renamed) == (Column(("x",)),) * len(children_of(node))
    assert type(renamed) is type(node)
    originals = iter(children_of(node))
    assert transform(renamed, lambda child: next(originals)) == node


@pytest.mark.parametrize("leaf", [Literal(1, INTEGER), A, FieldRef(("a",), ("a",), LONG), Opaque("x")])
def test_leaves_have_no_children(leaf: Node) -> None:
    assert children_of(leaf) == ()
    assert transform(leaf, lambda child: B) is leaf


def test_walking_meets_parents_first_from_left_to_right() -> None:
    node = And((Not(A), Compare("=", B, C)))
    assert list(walk(node)) == [node, Not(A), A, Compare("=", B, C), B, C]


def test_columns_are_named_once_in_order_of_appearance() -> None:
    node = And((Compare("=", B, A), Opaque("f(c)", (("c",), ("a",))), IsNull(FieldRef(("d", "e"), ("p", "q"), LONG))))
    assert columns_of(node) == (("b",), ("a",), ("c",), ("d", "e"))


def test_size_is_counted_in_nodes_of_the_tree_with_each_part_visited_once() -> None:
    node: Node = Not(A)
    for _ in range(60):
        node = And((node, node))
    assert is_too_large(node)
    assert columns_of(node) == (("a",),)
    assert is_too_large(And((Not(A), Not(B), Not(C))), size=3)
    assert not is_too_large(And((Not(A), Not(B), Not(C))), size=4)


def test_between_stays_one_node_until_it_is_bound() -> None:
    node = parse_sql("a BETWEEN 1 AND b + 2 OR NOT (c) BETWEEN 'x' AND 'y'")
    assert to_sql(node) == "a BETWEEN 1 AND (b + 2) OR NOT (c BETWEEN 'x' AND 'y')"
    assert parse_sql(to_sql(node)) == node == parse_sql(to_sql(transform(node, lambda each: each)))
    schema = StructType((StructField("a", INTEGER), StructField("b", INTEGER), StructField("c", STRING)))
    assert not any(isinstance(part, Between) for part in walk(bind(node, schema)))

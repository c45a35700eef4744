"""Columns whose NULL makes an expression NULL."""

from __future__ import annotations

from deltaskip.expr.coerce import type_of
from deltaskip.expr.functions import FUNCTIONS
from deltaskip.expr.nodes import Call, Cast, Collate, Compare, FieldRef, In, Like, Node, Not, StartsWith, children_of
from deltaskip.schema.types import DOUBLE, FLOAT, STRING, DecimalType


def strict_columns(node: Node) -> tuple[FieldRef, ...]:
    """Return the columns whose NULL makes all of `node` NULL (or raise)."""
    match node:
        case FieldRef():
            return (node,)
        case Cast(child) | Collate(child) | Not(child) | In(child):
            return strict_columns(child)
        case Compare(op) if op == "<=>":
            return ()
        case Call(name) if name not in FUNCTIONS or not FUNCTIONS[name].null_in_null_out:
            return ()
        case Compare() | Call() | Like() | StartsWith():
            return tuple(dict.fromkeys(column for child in children_of(node) for column in strict_columns(child)))
    return ()


def null_only_with(node: Node) -> FieldRef | None:
    """Return the column if `node` is a chain of casts of it that are NULL exactly where the column is; else None.

    NaN as a decimal is NULL; without ANSI mode, so are malformed texts, and numbers that are too large for a decimal.
    """
    while isinstance(node, Cast) and not node.safe and not isinstance(node.type, DecimalType):
        if type_of(node.child) in (FLOAT, DOUBLE, STRING, None):
            return None
        node = node.child
    return node if isinstance(node, FieldRef) else None

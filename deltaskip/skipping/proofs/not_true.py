"""The dual of `may`: files in which every row matches.

`must(p)` = every row of the file makes p TRUE = no row makes p FALSE or NULL = not may(p is not TRUE). `not_true`
pushes "is not TRUE" down to the leaves, so that the same rewrite, with the same proofs, decides it.
"""

from __future__ import annotations

from deltaskip.expr.nodes import (
    And,
    Case,
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
    walk,
)
from deltaskip.expr.normalize import FALSE, TRUE, normalize

__all__ = ["not_true"]


def not_true(node: Node) -> Node:
    """A normalised predicate that is TRUE wherever `node`, bound and normalised, is FALSE or NULL.

    It may be TRUE for more rows (it is TRUE outright for leaves without a rule), which only makes `must` weaker.

    * AND is not TRUE where some child is not, OR where no child is.
    * a comparison is not TRUE where its negation is TRUE, or where one of its operands is NULL.
    * an expression over partition columns alone is a constant of the file and is asked for outright.
    """
    return normalize(_not_true(node))


def _not_true(node: Node) -> Node:
    columns = [part for part in walk(node) if isinstance(part, FieldRef)]
    if columns and all(column.partition for column in columns):
        return Case(((node, FALSE),), TRUE)
    match node:
        case Literal(value):
            return FALSE if value is True else TRUE
        case And(children):
            return Or(tuple(map(_not_true, children)))
        case Or(children):
            return And(tuple(map(_not_true, children)))
        case IsNull():
            return Not(node)
        case Not(IsNull() as inner):
            return inner
        case Compare(op, left, right) if op != "<=>":
            return Or((Not(node), *_nulls(left, right)))
        case In(child, values) | Not(In(child, values)):
            if not all(isinstance(value, Literal) and value.value is not None for value in values):
                return TRUE
            opposite = node.child if isinstance(node, Not) else Not(node)
            return Or((opposite, IsNull(child)))
        case StartsWith(child, Literal()) | Like(child, Literal()):
            return Or((Not(node), IsNull(child)))
        case Not((StartsWith(child, Literal()) | Like(child, Literal())) as inner):
            return Or((inner, IsNull(child)))
        case _:
            return TRUE


def _nulls(*operands: Node) -> tuple[Node, ...]:
    return tuple(IsNull(operand) for operand in operands if not isinstance(operand, Literal))

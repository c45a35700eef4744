"""The dual of `may`: a proof that every row of a file matches.

`must(p)` = every row of the file makes p TRUE = no row makes p FALSE or NULL = not may(p is not TRUE). `not_true`
pushes "is not TRUE" down to the leaves, so that the same rewrite decides it with the same proofs.
"""

from __future__ import annotations

from deltaskip.expr.literal_list import nodes_in
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
    """Return a normalized predicate that is TRUE wherever `node`, bound and normalized, is FALSE or NULL.

    It may be TRUE for more rows (it is the literal TRUE for leaves without a rule), which only makes `must` weaker.

    * AND is not TRUE if some child is not, OR if no child is.
    * A comparison is not TRUE if its negation is TRUE, or one of its operands is NULL.
    * `a <=> b` is not TRUE if a and b differ, or one of them is NULL.
    * An expression over partition columns only is constant in a file, so it is negated as a whole.
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
        case Compare("<=>", left, right):
            one_null = (And((IsNull(a), Not(IsNull(b)))) for a, b in ((left, right), (right, left)))
            return Or((Compare("!=", left, right), *one_null))
        case In(child, values) | Not(In(child, values)):
            if not all(isinstance(value, Literal) and value.value is not None for value in nodes_in(values)):
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

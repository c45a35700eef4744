"""Unfolding of CASE, COALESCE, GREATEST and LEAST: a leaf is TRUE for a row if it is TRUE for the value chosen there.

CASE takes the first branch whose condition is TRUE, and ELSE if every condition is FALSE or NULL. COALESCE takes the
first operand that is not NULL, else NULL. `untrue(c)` replaces "c is FALSE or NULL" by a predicate that is TRUE at
least there: NOT c, or an operand that can make c NULL is NULL. GREATEST takes some operand that is not NULL, and all
operands that are not NULL are at most as great.
"""

from __future__ import annotations

from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import deterministic, evaluate
from deltaskip.sparkexpr.nodes import (
    MIRRORED,
    And,
    Call,
    Case,
    Cast,
    Compare,
    FieldRef,
    In,
    IsNull,
    Literal,
    Node,
    Not,
    Or,
    Variable,
    walk,
    with_node_replaced,
)
from deltaskip.sparkexpr.normalize import FALSE_LITERAL, TRUE_LITERAL
from deltaskip.sparkexpr.types import VOID

_MOST_BRANCHES = 16
# The relation of every operand to the chosen one.
_EXTREMES = {"greatest": "<", "least": ">"}


def unfold(leaf: Node, time_zone: str) -> list[Node] | None:
    """Return predicates, one of which is TRUE wherever `leaf` is; None without a CASE or COALESCE to unfold."""
    if not deterministic(leaf):
        return None
    if (bounds := _of_extreme(leaf, time_zone)) is not None:
        return [bounds]
    choice = next((part for part in walk(leaf) if _is_choice(part)), None)
    if choice is None:
        return None
    branches = _case(choice) if isinstance(choice, Case) else _operands(choice)
    if branches is None or len(branches) > _MOST_BRANCHES:
        return None
    return [
        And((condition, _folded(with_node_replaced(leaf, choice, value), time_zone))) for condition, value in branches
    ]


def _is_choice(node: Node) -> bool:
    """Whether a node can be unfolded; not within a lambda function, which chooses for each element."""
    is_call = isinstance(node, Call) and node.name in ("coalesce", *_EXTREMES) and node.type is not None
    return (is_call or isinstance(node, Case)) and not any(isinstance(part, Variable) for part in walk(node))


def _case(choice: Case) -> list[tuple[Node, Node]] | None:
    type_ = type_of(choice)
    otherwise = choice.otherwise
    if otherwise is None:
        otherwise = Literal(None, type_ or VOID)
    found: list[tuple[Node, Node]] = []
    before: Node = TRUE_LITERAL
    for condition, value in choice.branches:
        found.append((And((before, condition)), value))
        before = And((before, Or((Not(condition), _nullable(condition)))))
    return [*found, (before, otherwise)]


def _of_extreme(leaf: Node, time_zone: str) -> Node | None:
    """A comparison of GREATEST or LEAST as comparisons of the operands: one of them, or all that are not NULL."""
    match leaf:
        case Compare(op, Call(name, args), Literal() as value) if name in _EXTREMES:
            pass
        case Compare(op, Literal() as value, Call(name, args)) if name in _EXTREMES:
            op = MIRRORED[op]
        case _:
            return None
    sure = _EXTREMES[name]
    if op not in ("=", "<", "<=", ">", ">="):
        return None

    def compared(op: str, arg: Node) -> Node:
        return _folded(Compare(op, arg, value), time_zone)

    parts: list[Node] = []
    if op[0] in (sure, "="):
        each = f"{sure}=" if op == "=" else op
        parts += [Or((_folded(IsNull(arg), time_zone), compared(each, arg))) for arg in args]
    if op[0] != sure:
        parts.append(Or(tuple(compared(op, arg) for arg in args)))
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


def _operands(choice: Node) -> list[tuple[Node, Node]] | None:
    if not isinstance(choice, Call) or choice.type is None:
        return None
    if choice.name != "coalesce":
        values = [(Not(IsNull(arg)), arg) for arg in choice.args]
        return [*values, (And(tuple(map(IsNull, choice.args))), Literal(None, choice.type))]
    found: list[tuple[Node, Node]] = []
    before: Node = TRUE_LITERAL
    for arg in choice.args:
        found.append((And((before, Not(IsNull(arg)))), arg))
        before = And((before, IsNull(arg)))
    return [*found, (before, Literal(None, choice.type))]


def _nullable(node: Node) -> Node:
    """A predicate that is TRUE wherever `node` is NULL, and possibly elsewhere."""
    match node:
        case Literal(value):
            return TRUE_LITERAL if value is None else FALSE_LITERAL
        case FieldRef() | Cast():
            return IsNull(node)
        case IsNull() | Compare("<=>"):
            return FALSE_LITERAL
        case Not(child):
            return _nullable(child)
        case Compare(_, left, right):
            return Or((_nullable(left), _nullable(right)))
        case And(children) | Or(children):
            return Or(tuple(_nullable(child) for child in children))
        case In(child, values):
            return Or((_nullable(child), *(_nullable(value) for value in values), FALSE_LITERAL))
        case Call(_, _, type_) if type_ is not None:
            return IsNull(node)
    return TRUE_LITERAL


def _folded(leaf: Node, time_zone: str) -> Node:
    """The value of a leaf without columns, TRUE if it cannot be evaluated; any other leaf itself."""
    if any(isinstance(part, FieldRef) for part in walk(leaf)):
        return leaf
    try:
        return TRUE_LITERAL if evaluate(leaf, {}, time_zone) is True else FALSE_LITERAL
    except EvaluationError:
        return TRUE_LITERAL

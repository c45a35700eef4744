"""Unfolding of CASE, COALESCE, GREATEST and LEAST: a leaf is TRUE for a row if it is TRUE for the value chosen there.

CASE takes the first branch whose condition is TRUE, and ELSE if every condition is FALSE or NULL. COALESCE takes the
first operand that is not NULL, else NULL. `untrue(c)` replaces "c is FALSE or NULL" by a predicate that is TRUE at
least there: NOT c, or an operand that can make c NULL is NULL. GREATEST takes some operand that is not NULL, and all
operands that are not NULL are at most as great.
"""

from __future__ import annotations

from deltaskip.recursion import deep
from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import deterministic, evaluate
from deltaskip.sparkexpr.normalize import FALSE_LITERAL, TRUE_LITERAL
from deltaskip.sparkexpr.types import VOID

_MOST_BRANCHES = 16
# The relation of every operand to the chosen one.
_EXTREMES = {"greatest": "<", "least": ">"}


def unfold(leaf: n.Node, time_zone: str) -> list[n.Node] | None:
    """Return predicates, one of which is TRUE wherever `leaf` is; None without a CASE or COALESCE to unfold."""
    if not deterministic(leaf):
        return None
    if (bounds := _of_extreme(leaf, time_zone)) is not None:
        return [bounds]
    choice = next((part for part in n.walk(leaf) if _is_choice(part)), None)
    if choice is None:
        return None
    branches = _case(choice) if isinstance(choice, n.Case) else _operands(choice)
    if branches is None or len(branches) > _MOST_BRANCHES:
        return None
    return [
        n.And((condition, _folded(n.with_node_replaced(leaf, choice, value), time_zone)))
        for condition, value in branches
    ]


def _is_choice(node: n.Node) -> bool:
    """Whether a node can be unfolded; not within a lambda function, which chooses for each element."""
    is_call = isinstance(node, n.Call) and node.name in ("coalesce", *_EXTREMES) and node.type is not None
    return (is_call or isinstance(node, n.Case)) and not any(isinstance(part, n.Variable) for part in n.walk(node))


def _case(choice: n.Case) -> list[tuple[n.Node, n.Node]] | None:
    type_ = type_of(choice)
    otherwise = choice.otherwise
    if otherwise is None:
        otherwise = n.Literal(None, type_ or VOID)
    found: list[tuple[n.Node, n.Node]] = []
    before: n.Node = TRUE_LITERAL
    for condition, value in choice.branches:
        found.append((n.And((before, condition)), value))
        before = n.And((before, n.Or((n.Not(condition), _nullable(condition)))))
    return [*found, (before, otherwise)]


def _of_extreme(leaf: n.Node, time_zone: str) -> n.Node | None:
    """A comparison of GREATEST or LEAST as comparisons of the operands: one of them, or all that are not NULL."""
    match leaf:
        case n.Compare(op, n.Call(name, args), n.Literal() as value) if name in _EXTREMES:
            pass
        case n.Compare(op, n.Literal() as value, n.Call(name, args)) if name in _EXTREMES:
            op = n.MIRRORED[op]
        case _:
            return None
    sure = _EXTREMES[name]
    if op not in ("=", "<", "<=", ">", ">="):
        return None

    def compared(op: str, arg: n.Node) -> n.Node:
        return _folded(n.Compare(op, arg, value), time_zone)

    parts: list[n.Node] = []
    if op[0] in (sure, "="):
        each = f"{sure}=" if op == "=" else op
        parts += [n.Or((_folded(n.IsNull(arg), time_zone), compared(each, arg))) for arg in args]
    if op[0] != sure:
        parts.append(n.Or(tuple(compared(op, arg) for arg in args)))
    return n.And(tuple(parts)) if len(parts) > 1 else parts[0]


def _operands(choice: n.Node) -> list[tuple[n.Node, n.Node]] | None:
    if not isinstance(choice, n.Call) or choice.type is None:
        return None
    if choice.name != "coalesce":
        values = [(n.Not(n.IsNull(arg)), arg) for arg in choice.args]
        return [*values, (n.And(tuple(map(n.IsNull, choice.args))), n.Literal(None, choice.type))]
    found: list[tuple[n.Node, n.Node]] = []
    before: n.Node = TRUE_LITERAL
    for arg in choice.args:
        found.append((n.And((before, n.Not(n.IsNull(arg)))), arg))
        before = n.And((before, n.IsNull(arg)))
    return [*found, (before, n.Literal(None, choice.type))]


@deep
def _nullable(node: n.Node) -> n.Node:
    """A predicate that is TRUE wherever `node` is NULL, and possibly elsewhere."""
    match node:
        case n.Literal(value):
            return TRUE_LITERAL if value is None else FALSE_LITERAL
        case n.FieldRef() | n.Cast():
            return n.IsNull(node)
        case n.IsNull() | n.Compare("<=>"):
            return FALSE_LITERAL
        case n.Not(child):
            return _nullable(child)
        case n.Compare(_, left, right):
            return n.Or((_nullable(left), _nullable(right)))
        case n.And(children) | n.Or(children):
            return n.Or(tuple(_nullable(child) for child in children))
        case n.In(child, values):
            return n.Or((_nullable(child), *(_nullable(value) for value in values), FALSE_LITERAL))
        case n.Call(_, _, type_) if type_ is not None:
            return n.IsNull(node)
    return TRUE_LITERAL


def _folded(leaf: n.Node, time_zone: str) -> n.Node:
    """The value of a leaf without columns, TRUE if it cannot be evaluated; any other leaf itself."""
    if any(isinstance(part, n.FieldRef) for part in n.walk(leaf)):
        return leaf
    try:
        return TRUE_LITERAL if evaluate(leaf, {}, time_zone) is True else FALSE_LITERAL
    except EvaluationError:
        return TRUE_LITERAL

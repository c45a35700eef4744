"""The rule for all other leaves: a row matches only with a value in each column whose NULL makes the leaf NULL."""

from __future__ import annotations

from deltaskip.recursion import deep
from deltaskip.skipping import program
from deltaskip.skipping.proofs.table_columns import TableColumns, label
from deltaskip.skipping.proofs.terms import Proof, all_of, enumerated
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.functions import CHANGING, FUNCTIONS, PRESENT
from deltaskip.sparkexpr.types import DOUBLE, FLOAT, STRING, DecimalType

NEVER = "it is false whenever the query may run"
TIMELESS = "it may be true when the query runs, whatever the rows are"
UNBOUNDED = "the query may run at any later time, which is no bound for this comparison"
UNORDERED = "it is not known whether the expression rises or falls with the time of the query"
UNSUPPORTED = "the expression is not supported, so any row could match"


def unproved(node: n.Node, columns: TableColumns, reason: str = "") -> Proof:
    """Return a condition on the null counts of columns whose NULL makes the leaf NULL.

    Args:
        node: The leaf.
        columns: The table's columns.
        reason: Why another rule gave up; by default, the reason is derived from the leaf.
    """
    inner = node.child if isinstance(node, n.Not) and isinstance(node.child, n.IsNull) else node
    strict = _strict_columns(inner.child if isinstance(inner, n.IsNull) and inner is not node else inner)
    terms = [columns.is_not_null(column).term for column in strict]
    return Proof(all_of([*terms, program.Keep()]), reason or _reason(node, columns))


def still_skipped(term: program.Term) -> str:
    """Return which files a term of null counts and constant columns can skip, as a reason; "" for other terms."""
    terms = list(program.terms_of(term))
    if not all(
        isinstance(each, program.AllOf | program.Leaf | program.Keep | program.ValuesPossible | program.ConstantTerm)
        for each in terms
    ):
        return ""
    nulls = list(dict.fromkeys(each.field.label for each in terms if isinstance(each, program.ValuesPossible)))
    # Without bounds of every column, the only known single value is NULL.
    evaluated = [each.columns for each in terms if isinstance(each, program.ConstantTerm)]
    bounded = [columns for columns in evaluated if all(field.kind is not None for _, field in columns)]
    constant = list(dict.fromkeys(label(column) for columns in bounded for column, _ in columns))
    found = [f"{enumerated(nulls, 'or')} is NULL in every row"] if nulls else []
    if constant:
        found.append(f"{enumerated(constant, 'and')} {'has' if len(constant) == 1 else 'each have'} a single value")
    return f"only files where {' or where '.join(found)} can be skipped" if found else ""


def columns_read(node: n.Node) -> list[n.FieldRef]:
    """Return the distinct columns that a node reads. Literals are not visited, since a list may have very many."""
    found: dict[n.FieldRef, None] = {}
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, n.FieldRef):
            found[part] = None
        pending.extend(child for child in reversed(n.children_of(part)) if not isinstance(child, n.Literal))
    return list(found)


def _reason(node: n.Node, columns: TableColumns) -> str:
    opaque = [part for part in n.walk(node) if isinstance(part, n.Opaque)]
    if opaque:
        return next((part.why for part in opaque if isinstance(part, n.SessionExpression)), UNSUPPORTED)
    foreign = next((part for part in n.walk(node) if isinstance(part, n.Call) and part.name not in FUNCTIONS), None)
    if foreign is None and any(isinstance(part, n.Call) and part.type is None for part in n.walk(node)):
        return UNSUPPORTED
    if foreign is not None and foreign.name in PRESENT and not foreign.args:
        return UNORDERED
    if foreign is not None and foreign.name in CHANGING:
        return f"{foreign.name} has another value for each row, file or session"
    if foreign is not None:
        return f"{foreign.name} is not a function that deltaskip can evaluate"
    read = columns_read(node)
    collate = next((part for part in n.walk(node) if isinstance(part, n.Collate)), None)
    if collate is not None:
        return f"no rule prunes this expression under the collation {collate.collation}"
    unusable = [reason for column in read if (reason := columns.unusable_bounds(column))]
    if unusable:
        return unusable[0]
    names = [label(column) for column in read]
    if len(names) > 1:
        return f"it reads several columns ({enumerated(names, 'and')}), and statistics bound each column separately"
    return f"no rule bounds {names[0]} by this expression" if names else "it reads no column"


@deep
def _strict_columns(node: n.Node) -> tuple[n.FieldRef, ...]:
    """Return the columns whose NULL makes all of `node` NULL (or raise)."""
    match node:
        case n.FieldRef():
            return (node,)
        case n.Cast(child) | n.Collate(child) | n.Not(child) | n.In(child):
            return _strict_columns(child)
        case n.Compare(op) if op == "<=>":
            return ()
        case n.Call(type=None):
            # Arguments of other types, such as a time and a pattern, may not be evaluated at all.
            return ()
        case n.Call(name) if name not in FUNCTIONS or not FUNCTIONS[name].null_in_null_out:
            return ()
        case n.Compare() | n.Call() | n.Like() | n.StartsWith():
            return tuple(dict.fromkeys(column for child in n.children_of(node) for column in _strict_columns(child)))
    return ()


def null_only_with(node: n.Node) -> n.FieldRef | None:
    """Return the column if `node` is a chain of casts of it that are NULL exactly where the column is; else None.

    NaN as a decimal is NULL; without ANSI mode, so are malformed strings, and numbers that are too large for a decimal.
    """
    while isinstance(node, n.Cast) and not node.safe and not isinstance(node.type, DecimalType):
        if type_of(node.child) in (FLOAT, DOUBLE, STRING, None):
            return None
        node = node.child
    return node if isinstance(node, n.FieldRef) else None

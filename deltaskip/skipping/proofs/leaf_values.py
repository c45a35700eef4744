"""A leaf over one column as a set: the values of the column, NULL or not, for which the leaf may be TRUE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deltaskip.recursion import deep
from deltaskip.skipping.proofs.preimage.value_sets import ValueSet, complement, points_of, satisfying, spans_of_points
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.literal_list import LiteralList, nodes_in
from deltaskip.sparkexpr.preimages import domain_of, span_of_prefix
from deltaskip.sparkexpr.types import BOOLEAN, STRING

Found = tuple[n.FieldRef, ValueSet]


@deep
def leaf_values(node: n.Node, time_zone: str) -> Found | None:
    """The column of `node` and the values for which `node` may be TRUE; None where no rule derives them."""
    if _under_collation(node):
        return None
    match node:
        case n.Not(n.FieldRef() | n.Cast() | n.Call() as child) if type_of(child) == BOOLEAN:
            return _boolean(child, False, time_zone)
        case n.FieldRef() | n.Cast() | n.Call() if type_of(node) == BOOLEAN:
            return _boolean(node, True, time_zone)
        case n.IsNull(child):
            return _preimage(child, ValueSet((), null=True), time_zone)
        case n.Not(n.IsNull(child)):
            domain = domain_of(type_of(child))
            return None if domain is None else _preimage(child, ValueSet(domain.all), time_zone)
        case n.Compare("<=>", left, n.Literal(None)) | n.Compare("<=>", n.Literal(None), left):
            return leaf_values(n.IsNull(left), time_zone)
        case n.Not(n.Compare("<=>", left, n.Literal(None)) | n.Compare("<=>", n.Literal(None), left)):
            return leaf_values(n.Not(n.IsNull(left)), time_zone)
        case n.Compare(op, left, n.Literal(value)) if not isinstance(left, n.Literal):
            return _compared("=" if op == "<=>" else op, left, value, time_zone)
        case n.Compare(op, n.Literal() as left, right) if not isinstance(right, n.Literal):
            return leaf_values(n.Compare(n.MIRRORED[op], right, left), time_zone)
        case n.Not(n.Compare("<=>", left, n.Literal(value)) | n.Compare("<=>", n.Literal(value), left)):
            return _compared("!=", left, value, time_zone, null=True)
        case n.Not(n.Compare(op, left, right)) if op in n.NEGATED:
            return leaf_values(n.Compare(n.NEGATED[op], left, right), time_zone)
        case n.In(child, values):
            return _listed(child, values, False, time_zone)
        case n.Not(n.In(child, values)):
            return _listed(child, values, True, time_zone)
        case n.StartsWith(child, n.Literal(str() as prefix)) if type_of(child) == STRING:
            return _preimage(child, starting_with(prefix), time_zone)
        case n.Not(n.StartsWith(child, n.Literal(str() as prefix))) if type_of(child) == STRING:
            return _preimage(child, _others(starting_with(prefix)), time_zone)
        case n.Like(child):
            return _preimage(child, strings_like(node), time_zone)
        case n.Not(n.Like(child) as like):
            return _preimage(child, _not_matching(like), time_zone)
    return None


def literals_of(values: Sequence[n.Node]) -> list[Any] | None:
    """The values of `values`; None where one is not a literal."""
    if isinstance(values, LiteralList):
        return values.values
    found = [value.value for value in values if isinstance(value, n.Literal)]
    return found if len(found) == len(values) else None


def _under_collation(node: n.Node) -> bool:
    """Whether some part of a leaf compares strings under a collation; the rules hold for UTF8_BINARY only."""
    for part in n.walk(node):
        if isinstance(part, n.Collate) or (isinstance(part, n.FieldRef) and part.collation):
            return any(_compares_under_collation(each) for each in n.walk(node))
    return False


def _compares_under_collation(node: n.Node) -> bool:
    match node:
        case n.Compare(_, left, right) | n.Like(left, right) | n.StartsWith(left, right):
            return type_of(left) == STRING and is_collated(left, right)
        case n.In(child, values):
            return type_of(child) == STRING and is_collated(child, *nodes_in(values))
        case n.Call(name, args):
            return name in FUNCTIONS and FUNCTIONS[name].binary_only and is_collated(*args)
    return False


def _preimage(node: n.Node, results: ValueSet | None, time_zone: str) -> Found | None:
    if results is None:
        return None
    if isinstance(node, n.FieldRef):
        return node, results
    # Most predicates compare columns; the module that inverts functions is imported when the first needs it.
    from deltaskip.skipping.proofs.preimage.preimage import preimage

    return preimage(node, results, time_zone)


def _compared(op: str, node: n.Node, value: Any, time_zone: str, null: bool = False) -> Found | None:
    type_ = type_of(node)
    results = None if type_ is None else satisfying(type_, op, value)
    if results is not None and results.null != null:
        results = replace(results, null=null)
    return _preimage(node, results, time_zone)


def _boolean(node: n.Node, wanted: bool, time_zone: str) -> Found | None:
    return _compared("=", node, wanted, time_zone)


def _listed(child: n.Node, values: Sequence[n.Node], negated: bool, time_zone: str) -> Found | None:
    """IN: TRUE on a match with some value; NULL elements never match. NOT IN: TRUE where all differ."""
    type_ = type_of(child)
    domain = domain_of(type_)
    if isinstance(values, LiteralList) and not negated and domain is not None:
        return _preimage(child, ValueSet(spans_of_points(values.array)), time_zone)
    literals = literals_of(values)
    if literals is None or type_ is None or domain is None:
        return None
    results = points_of(type_, [value for value in literals if value is not None])
    if results is None:
        return None
    return _preimage(child, ValueSet(complement(results.spans, domain)) if negated else results, time_zone)


def _others(values: ValueSet) -> ValueSet:
    domain = domain_of(STRING)
    assert domain is not None
    return ValueSet(complement(values.spans, domain))


def starting_with(prefix: str) -> ValueSet:
    """Return the strings that start with `prefix`."""
    return ValueSet((span_of_prefix(prefix.encode()),))


def strings_like(node: n.Like) -> ValueSet | None:
    """Return a set that contains every string that the pattern matches; None if the pattern is not constant."""
    prefix, rest = prefix_of(node)
    if prefix is None:
        return None
    if not rest:
        return satisfying(STRING, "=", prefix)
    found = starting_with(prefix)
    return found if set(rest) == {"%"} else ValueSet(found.spans, exact=False)


def _not_matching(node: n.Like) -> ValueSet | None:
    """Return the strings that the pattern does not match; None if its prefix does not determine them."""
    prefix, rest = prefix_of(node)
    if prefix is None or set(rest) - {"%"}:
        return None
    domain = domain_of(STRING)
    found = starting_with(prefix) if rest else satisfying(STRING, "=", prefix)
    return None if domain is None or found is None else ValueSet(complement(found.spans, domain))


def prefix_of(node: n.Like) -> tuple[str | None, str]:
    """Return (text before the first wildcard, rest of the pattern), or (None, "") if the pattern is not constant."""
    if node.case_insensitive or not isinstance(node.pattern, n.Literal) or not isinstance(node.pattern.value, str):
        return None, ""
    pattern, escape = node.pattern.value, node.escape
    prefix: list[str] = []
    i = 0
    while i < len(pattern):
        character = pattern[i]
        if character == escape:
            if i + 1 == len(pattern) or pattern[i + 1] not in ("%", "_", escape):
                return None, ""
            prefix.append(pattern[i + 1])
            i += 2
            continue
        if character in "%_":
            break
        prefix.append(character)
        i += 1
    return "".join(prefix), pattern[i:]

"""LIKE patterns as sets of strings, by the text before the first wildcard.

In UTF-8 order the strings that start with p are those in [p, successor of p).
"""

from __future__ import annotations

from deltaskip.expr.nodes import Like, Literal
from deltaskip.expr.preimages.ordinals import domain_of
from deltaskip.expr.preimages.ordinals import starting_with as span_of_prefix
from deltaskip.schema.types import STRING
from deltaskip.skipping.proofs.preimage.value_sets import Values, complement, satisfying


def starting_with(prefix: str) -> Values:
    """Return the strings that start with `prefix`."""
    return Values((span_of_prefix(prefix.encode()),))


def matching(node: Like) -> Values | None:
    """Return a set that contains every string that the pattern matches; None if the pattern is not constant."""
    prefix, rest = prefix_of(node)
    if prefix is None:
        return None
    if not rest:
        return satisfying(STRING, "=", prefix)
    found = starting_with(prefix)
    return found if set(rest) == {"%"} else Values(found.spans, exact=False)


def not_matching(node: Like) -> Values | None:
    """Return the strings that the pattern does not match; None if its prefix does not determine them."""
    prefix, rest = prefix_of(node)
    if prefix is None or set(rest) - {"%"}:
        return None
    domain = domain_of(STRING)
    found = starting_with(prefix) if rest else satisfying(STRING, "=", prefix)
    return None if domain is None or found is None else Values(complement(found.spans, domain))


def prefix_of(node: Like) -> tuple[str | None, str]:
    """Return (text before the first wildcard, rest of the pattern), or (None, "") if the pattern is not constant."""
    if node.case_insensitive or not isinstance(node.pattern, Literal) or not isinstance(node.pattern.value, str):
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

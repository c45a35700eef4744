"""Normal form of bound predicates for skipping: NOT only above leaves, no constants, literals on the right.

A filter keeps a row only where its predicate is TRUE. So FALSE and NULL are equivalent at the root, and at every node
that only AND and OR separate from the root: a change of an operand of AND or OR from FALSE to NULL or back never
changes whether the whole predicate is TRUE. Such a node is at a *filter position*. Each step below is sound there:

* `NOT (a AND b)` = `NOT a OR NOT b`, and its dual: De Morgan's laws hold in three-valued logic. `NOT NOT a` = a.
* `NOT (a < b)` = `a >= b`, and so on for `= != <= > >=`: Spark's orders are total (NaN = NaN and above all,
  -0.0 = 0.0, a collation's equal strings are equal), and both sides are NULL together.
* `a <=> NULL` = `a IS NULL`. For a constant v that is not NULL, `a <=> v` is TRUE exactly where `a = v` is TRUE. Its
  negation is TRUE where `a != v` is TRUE or a is NULL.
* For a predicate p, `p <=> TRUE`, `p = TRUE` and `p != FALSE` are TRUE exactly where p is TRUE. `p <=> FALSE`,
  `p = FALSE` and `p != TRUE` are TRUE exactly where `NOT p` is TRUE. `NOT (p <=> TRUE)` is TRUE where `NOT p` is TRUE
  or p is NULL.
* A boolean column b as a predicate is `b = TRUE`, and `NOT b` is `b = FALSE`.
* `x IN (v, …)` is TRUE where x equals one of the values that are not NULL; NULLs among them never make it TRUE.
* `x NOT IN (v, …)` is TRUE where x differs from every value and no value is NULL: it is the AND of `x != v`, or FALSE
  if a value is NULL. Beyond NOT_IN_LIMIT values it stays one leaf, NOT above IN, with distinct values other than NULL.
* `CAST(x AS STRING) = 'text'` for a column x of integers or dates is `x = v` for the only v with this text, and FALSE
  if no v has it; `!=` is its negation, and IN has the values of the strings.
* A comparison with NULL (except `<=>`), LIKE NULL and STARTSWITH NULL are NULL, hence FALSE; so are their negations.
* AND is FALSE if an operand is FALSE or NULL, and an operand that is TRUE is dropped; the dual holds for OR.

Nodes below a leaf (the operand of IS NULL, a CASE) are not filter positions and stay as bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from deltaskip.lazy_regex import regex
from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation.rows import deterministic
from deltaskip.sparkexpr.literal_list import LiteralList, has_null
from deltaskip.sparkexpr.types.data_types import BOOLEAN, DATE, INTEGRAL_BITS, STRING, DataType
from deltaskip.sparkexpr.values.calendar import parse_date

TRUE_LITERAL = n.Literal(True, BOOLEAN)
FALSE_LITERAL = n.Literal(False, BOOLEAN)

# NOT IN skips only files with one value: a long list is not worth one node for each value.
NOT_IN_LIMIT = 16

# Matches the text of every 64-bit integer, and of some integers beyond 64 bits.
_INTEGER = regex("0|-?[1-9][0-9]{0,18}")
_DATE = regex("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def normalize(node: n.Node) -> n.Node:
    """Return a normalized predicate that is TRUE for exactly the same rows as `node`, the result of `bind`.

    The result is TRUE, FALSE, or AND and OR (flat, two operands or more) over leaves. NOT occurs only directly above
    IS NULL, IN, LIKE, STARTSWITH, `<=>` between two expressions, and boolean expressions without a node class.
    """
    return _positive(node, False)


@deep
def _positive(node: n.Node, negated: bool) -> n.Node:
    """`node`, or NOT `node`, at a filter position."""
    match node:
        case n.And() | n.Or():
            return _joined(n.And if isinstance(node, n.And) != negated else n.Or, _operands(node, negated))
        case n.Not(child):
            return _positive(child, not negated)
        case n.Literal(value):
            return TRUE_LITERAL if value is (not negated) else FALSE_LITERAL
        case n.Compare():
            return _comparison(node, negated)
        case n.In(child, values):
            return _not_in(child, values) if negated else _in(child, values)
        case n.Like(child, other) | n.StartsWith(child, other):
            return FALSE_LITERAL if n.is_null_constant(child) or n.is_null_constant(other) else _leaf(node, negated)
        case n.FieldRef():
            return n.Compare("=", node, FALSE_LITERAL if negated else TRUE_LITERAL)
        case _:
            return _leaf(node, negated)


def _operands(node: n.Node, negated: bool) -> Iterator[n.Node]:
    """The normal forms of the operands of AND and OR, and of those nested in them that become the same connective."""
    is_and = isinstance(node, n.And) != negated
    pending = [(node, negated)]
    while pending:
        part, negated = pending.pop()
        match part:
            case n.Not(child):
                pending.append((child, not negated))
            case n.And(children) | n.Or(children) if (isinstance(part, n.And) != negated) == is_and:
                pending.extend([(child, negated) for child in reversed(children)])
            case _:
                yield _positive(part, negated)


def _leaf(node: n.Node, negated: bool) -> n.Node:
    return n.Not(node) if negated else node


def _joined(kind: type[n.And] | type[n.Or], parts: Iterable[n.Node]) -> n.Node:
    """AND or OR of the parts: each once, and without the constants that do not matter."""
    neutral, decisive = (TRUE_LITERAL, FALSE_LITERAL) if kind is n.And else (FALSE_LITERAL, TRUE_LITERAL)
    kept: dict[n.Node, None] = {}
    for part in parts:
        if part == decisive:
            return decisive
        if part != neutral:
            kept.update(dict.fromkeys(part.children if isinstance(part, kind) else (part,)))
    flat = tuple(kept)
    return neutral if not flat else flat[0] if len(flat) == 1 else kind(flat)


def _literal_right(node: n.Compare) -> n.Compare:
    if isinstance(node.left, n.Literal) and not isinstance(node.right, n.Literal):
        return n.Compare(n.MIRRORED[node.op], node.right, node.left)
    return node


def _comparison(node: n.Compare, negated: bool) -> n.Node:
    node = _literal_right(node)
    op, left, right = node.op, node.left, node.right
    if op == "<=>":
        return _null_safe(node, negated)
    if n.is_null_constant(left) or n.is_null_constant(right):
        return FALSE_LITERAL
    if op in ("=", "!=") and _is_predicate(left) and isinstance(right, n.Literal):
        return _positive(left, negated ^ ((right.value is False) == (op == "=")))
    if op in ("=", "!=") and isinstance(right, n.Literal) and (inverse := _of_texts(left, (right,))) is not None:
        child, values = inverse
        unequal = negated == (op == "=")
        if not values:
            return n.Not(n.IsNull(child)) if unequal else FALSE_LITERAL
        return n.Compare("!=" if unequal else "=", child, values[0])
    return n.Compare(n.NEGATED[op], left, right) if negated else node


def _null_safe(node: n.Compare, negated: bool) -> n.Node:
    left, right = node.left, node.right
    if n.is_null_constant(left) or n.is_null_constant(right):
        return _leaf(n.IsNull(right if n.is_null_constant(left) else left), negated)
    if not isinstance(right, n.Literal):
        return _leaf(node, negated)
    equal = n.Compare("=", left, right)
    if not negated:
        return _comparison(equal, False)
    # The result would use the operand twice: an operand that is not deterministic is left unchanged.
    if not deterministic(left):
        return n.Not(node)
    return _joined(n.Or, (_comparison(equal, True), n.IsNull(left)))


def _in(child: n.Node, values: Sequence[n.Node]) -> n.Node:
    distinct = _distinct(values)
    if n.is_null_constant(child) or not distinct:
        return FALSE_LITERAL
    if len(distinct) == 1:
        return _comparison(n.Compare("=", child, distinct[0]), False)
    inverse = _of_texts(child, distinct)
    return n.In(child, distinct) if inverse is None else _in(*inverse)


def _not_in(child: n.Node, values: Sequence[n.Node]) -> n.Node:
    if not values:
        return TRUE_LITERAL
    if n.is_null_constant(child) or has_null(values):
        return FALSE_LITERAL
    distinct = _distinct(values)
    if len(distinct) > NOT_IN_LIMIT or (len(distinct) > 1 and not deterministic(child)):
        return n.Not(n.In(child, distinct))
    return _joined(n.And, (_comparison(n.Compare("=", child, value), True) for value in distinct))


def _distinct(values: Sequence[n.Node]) -> Sequence[n.Node]:
    """Distinct values that are not NULL, in order. Equal literals with different text (1.0, 1.00) are one value."""
    if isinstance(values, LiteralList):
        return values.distinct()
    found: dict[object, n.Node] = {}
    for value in values:
        if not n.is_null_constant(value):
            found.setdefault(_key(value), value)
    return tuple(found.values())


def _key(node: n.Node) -> object:
    if isinstance(node, n.Literal) and isinstance(node.value, float):
        # -0.0 equals 0.0, and every NaN is one value.
        return ("NaN",) if node.value != node.value else (node.value, node.type)
    if isinstance(node, n.Literal) and isinstance(node.value, Decimal | int | str | bytes):
        return (node.value, node.type)
    return node


def _of_texts(node: n.Node, texts: Sequence[n.Node]) -> tuple[n.Node, tuple[n.Literal, ...]] | None:
    """Return the column that is cast to a string, and the integers or dates whose text is in the given strings.

    None for other nodes, which may fail for a row, and for long lists.
    """
    if not isinstance(node, n.Cast) or not isinstance(node.child, n.FieldRef) or node.type != STRING:
        return None
    if isinstance(texts, LiteralList):
        return None
    known = [each.value for each in texts if isinstance(each, n.Literal) and each.type == STRING]
    child, type_ = node.child, type_of(node.child)
    if len(known) < len(texts) or not (type_ == DATE or type_ in INTEGRAL_BITS):
        return None
    if type_ == DATE and any(str(text).startswith(("+", "-")) for text in known):
        # The strings may be dates beyond the years 0 to 9999.
        return None
    values = [_with_text(str(text), type_) for text in known]
    return child, tuple(n.Literal(value, type_) for value in values if value is not None)


def _with_text(text: str, type_: DataType) -> int | None:
    """The only integer, or date of the years 0 to 9999, with a text; None if no value has this text."""
    if type_ == DATE:
        return parse_date(text) if _DATE.fullmatch(text) else None
    number = int(text) if _INTEGER.fullmatch(text) else None
    limit = 1 << (INTEGRAL_BITS[type_] - 1)
    return number if number is not None and -limit <= number < limit else None


def _is_predicate(node: n.Node) -> bool:
    """Whether the node class is boolean: a comparison of the node with TRUE or FALSE can be simplified."""
    match node:
        case n.Compare() | n.And() | n.Or() | n.Not() | n.IsNull() | n.In() | n.Like() | n.StartsWith():
            return True
        case n.Call() | n.Case() | n.Cast():
            return type_of(node) == BOOLEAN
        case _:
            return False

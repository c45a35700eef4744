"""Leaves that compare strings under a collation, as conditions on the statistics of that collation.

Let key be the collation's sort key. `statsWithCollation.{id}` bounds every value x of the column that is not NULL:
key(min) <= key(x) <= key(max). It is valid only for comparisons under the same provider, name and version (COLLATIONS
RFC, Reader Requirements). With the literal v:

* x = v, x <=> v: key(x) = key(v), so key(min) <= key(v) <= key(max). IN: for some v of the list.
* x < v, <=, >, >=: key(min) < key(v), and so on.
* x != v: not both key(min) = key(v) and key(max) = key(v), or every value would equal v. NOT IN: for each v.
* x starts with p: the beginning that the keys of all such strings share (Collation.may_start_with).
* x LIKE p: only under UTF8_LCASE. Without wildcards Spark compares for equality, with only a final `%` it compares a
  prefix, else it evaluates a case-insensitive regular expression, which matches more: then only the ASCII characters
  before the first wildcard, up to the first i or s (`ſ` and `ı` match those), must be in the lower-cased value.

Case-sensitive collations that ignore accents (`*_AI`): Spark's comparator does not follow their keys for U+00DF, but
both refine the case-insensitive order, so leaves become `<=` and `>=` in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.skipping.program import CollatedBound, CollatedPrefix, Keep, NullsPossible, ValuesPossible
from deltaskip.skipping.proofs.leaf_values import prefix_of
from deltaskip.skipping.proofs.terms import LEAST_AND_GREATEST, Proof, all_of, any_of, joined_reasons, some
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.collations import LCASE, Collation, CollationId, Collations, find
from deltaskip.sparkexpr.comparison_collation import comparison_collation
from deltaskip.sparkexpr.literal_list import LiteralList, nodes_in
from deltaskip.stats.collated_bounds import Op
from deltaskip.stats.layout import Side, StatField

_BOUNDS: dict[str, tuple[tuple[Side, Op], ...]] = {
    "=": (("min", "le"), ("max", "ge")),
    "<": (("min", "lt"),),
    "<=": (("min", "le"),),
    ">": (("max", "gt"),),
    ">=": (("max", "ge"),),
}
_WITH_TIES: dict[Op, Op] = {"lt": "le", "gt": "ge"}
_MOST_VALUES = 64
"""Maximum number of values of an IN list that are searched one by one; for longer lists, only the extremes are."""

StatFieldOf = Callable[[n.FieldRef], StatField | None]


@deep
def in_binary_order(node: n.Node) -> n.Node | None:
    """Return a leaf under an explicit COLLATE UTF8_BINARY as a leaf over a binary column; None for other leaves."""
    try:
        match node:
            case n.Not(child):
                inner = in_binary_order(child)
                return None if inner is None else n.Not(inner)
            case n.Compare(op, left, right) if _explicit(left, right) and comparison_collation(left, right) is None:
                return n.Compare(op, _plain(left), _plain(right))
            case n.In(child, values) if _explicit(child) and comparison_collation(child, *nodes_in(values)) is None:
                return n.In(_plain(child), tuple(map(_plain, values)) if isinstance(values, tuple) else values)
            case n.StartsWith(child, prefix) if (
                _explicit(child, prefix) and comparison_collation(child, prefix) is None
            ):
                return n.StartsWith(_plain(child), _plain(prefix))
            case n.Like(child, pattern) if _explicit(child, pattern) and comparison_collation(child, pattern) is None:
                return replace(node, child=_plain(child), pattern=_plain(pattern))
    except PredicateError:
        return None
    return None


def collated_proof(node: n.Node, field_of: StatFieldOf, collations: Collations) -> Proof | None:
    """Return the proof of a leaf that compares a column with literals under a collation; None for other leaves."""
    try:
        return _proof(node, _Comparisons(field_of, collations))
    except PredicateError:
        return Proof(Keep(), "it compares strings under different collations")


@dataclass(frozen=True, slots=True)
class _Comparisons:
    """Finds the comparisons under a collation."""

    field_of: StatFieldOf
    collations: Collations

    def subject(self, column: n.Node, *others: n.Node) -> _Subject | Proof | None:
        """The column of a comparison under a collation; None for other nodes.

        If the collation is not available, a proof of nothing instead.
        """
        reference = _stripped(column)
        if not isinstance(reference, n.FieldRef) or not all(
            isinstance(_stripped(other), n.Literal) for other in others
        ):
            return None
        collation = comparison_collation(column, *others)
        statistics = None if reference.partition else self.field_of(reference)
        if collation is None or statistics is None:
            return None
        found = self.collations.evaluator(collation)
        if found is None:
            return Proof(Keep(), self.collations.unavailable(collation))
        return _Subject(statistics, found, spellings(found.id, collation), _coarser(found))


@dataclass(frozen=True, slots=True)
class _Subject:
    """A column under a collation. keys: spellings of its id in the log; coarser: case-insensitive order for `*_AI`."""

    field: StatField
    collation: Collation
    keys: tuple[str, ...]
    coarser: Collation | None

    def compared(self, op: str, value: Any) -> Proof:
        if not isinstance(value, str):
            return Proof(Keep(), "the literal is not a string")
        present = ValuesPossible(self.field)
        if self.coarser is None and not self.collation.exact_keys:
            return Proof(present, f"Spark does not always follow the sort keys of {self.collation.id}")
        if op == "!=":
            if self.coarser is not None:
                return Proof(present, f"min and max under {self.collation.id} do not prove that all values are equal")
            return Proof(all_of([present, any_of([self._bound("min", "ne", value), self._bound("max", "ne", value)])]))
        return Proof(all_of([present, *(self._bound(side, comparison, value) for side, comparison in _BOUNDS[op])]))

    def listed(self, values: Sequence[Any]) -> Proof:
        texts = [value for value in values if isinstance(value, str)]
        if not texts:
            return Proof(Keep(), "the list holds no string")
        if len(texts) <= _MOST_VALUES:
            return some([self.compared("=", text) for text in texts])
        order = self.coarser or self.collation
        least, greatest = texts[0], texts[0]
        for text in texts[1:]:
            least = text if order.compare_values(text, least) < 0 else least
            greatest = text if order.compare_values(text, greatest) > 0 else greatest
        between = _both(self.compared(">=", least), self.compared("<=", greatest))
        return Proof(between.term, between.reason or LEAST_AND_GREATEST)

    def none_of(self, values: Sequence[Any]) -> Proof:
        if len(values) > _MOST_VALUES:
            return Proof(ValuesPossible(self.field), f"the list of NOT IN holds more than {_MOST_VALUES} values")
        return _both(Proof(ValuesPossible(self.field)), *(self.compared("!=", value) for value in values))

    def starting_with(self, prefix: Any) -> Proof:
        if not isinstance(prefix, str) or self.collation.prefix_key(prefix) is None:
            return Proof(Keep(), f"no range follows from this prefix under the collation {self.collation.id}")
        prefixed = CollatedPrefix(self.field, prefix, self.collation, self.keys)
        return Proof(all_of([ValuesPossible(self.field), prefixed]))

    def _bound(self, side: Side, op: Op, value: str) -> CollatedBound:
        """A bound in an order that Spark follows: the order of `coarser`, if there is one."""
        if self.coarser is None:
            return CollatedBound(self.field, side, op, value, self.collation, self.keys)
        return CollatedBound(self.field, side, _WITH_TIES.get(op, op), value, self.coarser, self.keys)


def _both(*proofs: Proof) -> Proof:
    """The conjunction of proofs that are needed together; each of their reasons limits it."""
    return Proof(all_of([proof.term for proof in proofs]), joined_reasons(proof.reason for proof in proofs))


@deep
def _proof(node: n.Node, reader: _Comparisons) -> Proof | None:
    match node:
        case n.Compare(op, left, right) if isinstance(_stripped(left), n.Literal):
            return _compared(reader, n.MIRRORED[op], right, left)
        case n.Compare(op, left, right):
            return _compared(reader, op, left, right)
        case n.Not(n.Compare("<=>", left, right)):
            column, literal = (right, left) if isinstance(_stripped(left), n.Literal) else (left, right)
            unequal, subject = _compared(reader, "!=", column, literal), reader.subject(column, literal)
            if unequal is None or not isinstance(subject, _Subject):
                return unequal
            return some([Proof(NullsPossible(subject.field)), unequal])
        case n.Not(n.Compare(op, left, right)) if op in n.NEGATED:
            return _proof(n.Compare(n.NEGATED[op], left, right), reader)
        case n.In(child, values):
            found = reader.subject(child, *nodes_in(values))
            return found.listed(_values(values)) if isinstance(found, _Subject) else found
        case n.Not(n.In(child, values)):
            found = reader.subject(child, *nodes_in(values))
            return found.none_of(_values(values)) if isinstance(found, _Subject) else found
        case n.StartsWith(child, prefix):
            found = reader.subject(child, prefix)
            return found.starting_with(_value(prefix)) if isinstance(found, _Subject) else found
        case n.Like(child, pattern):
            found = reader.subject(child, pattern)
            return _like(found, replace(node, pattern=_stripped(pattern))) if isinstance(found, _Subject) else found
    return None


def _compared(reader: _Comparisons, op: str, column: n.Node, literal: n.Node) -> Proof | None:
    subject = reader.subject(column, literal)
    return subject.compared("=" if op == "<=>" else op, _value(literal)) if isinstance(subject, _Subject) else subject


def _like(subject: _Subject, node: n.Like) -> Proof:
    text, rest = prefix_of(node)
    if text is None or subject.collation.id.canonical.name != LCASE:
        return Proof(Keep(), f"no rule prunes this LIKE under the collation {subject.collation.id}")
    if not rest:
        return subject.compared("=", text)
    if set(rest) != {"%"}:
        text = _sure_beginning(text)
    return subject.starting_with(text) if text else Proof(Keep(), "no range of strings follows from the pattern")


def _sure_beginning(text: str) -> str:
    end = next((i for i, c in enumerate(text) if not c.isascii() or c in "iIsS"), len(text))
    return text[:end]


def spellings(identifier: CollationId, collation: str) -> tuple[str, ...]:
    """Return the spellings of the identifier that writers use in statistics: Spark's, Delta Kernel's, the schema's.

    The last one is in lower case and stands for every other letter case (`StatLeaf`). Versions have no letter case.
    """
    canonical = identifier.canonical
    version = canonical.version
    declared = [f"{collation}.{version}"] if "." in collation else []
    upper_provider = f"{canonical.provider.upper()}.{canonical.name}.{version}"
    any_case = [str(canonical).lower()] if version is not None and version.lower() == version.upper() else []
    return tuple(dict.fromkeys((str(canonical), identifier.kernel_text, upper_provider, *declared, *any_case)))


def _coarser(order: Collation) -> Collation | None:
    """The case-insensitive order of the same library, for a case-sensitive collation that ignores accents."""
    if order.exact_keys:
        return None
    name = order.id.name_parts
    trimmed = "_RTRIM" if name.rtrim else ""
    return find(f"{order.id.provider}.{name.locale}_CI_AI{trimmed}.{order.id.version}")


def _stripped(node: n.Node) -> n.Node:
    while isinstance(node, n.Collate):
        node = node.child
    return node


def _plain(node: n.Node) -> n.Node:
    inner = _stripped(node)
    return replace(inner, collation=None) if isinstance(inner, n.FieldRef) else inner


def _explicit(*nodes: n.Node) -> bool:
    for node in nodes:
        if isinstance(node, n.Collate):
            return all(isinstance(_stripped(each), n.FieldRef | n.Literal) for each in nodes)
    return False


def _value(node: n.Node) -> Any:
    inner = _stripped(node)
    return inner.value if isinstance(inner, n.Literal) else None


def _values(nodes: Sequence[n.Node]) -> list[Any]:
    if isinstance(nodes, LiteralList):
        return nodes.values
    return [value for value in map(_value, nodes) if value is not None]

"""The proofs: from a bound, normalised predicate to the Program that no file with a matching row fails.

`may(p)` is a condition on one file's statistics that holds whenever some row of the file makes `p` TRUE. Soundness, by
induction over a predicate without NOT above AND/OR (expr.normalize):

* AND: a row that makes all children TRUE makes each TRUE, so every may(child) holds.
* OR: it makes some child TRUE, so some may(child) holds.
* a leaf: see the function that rewrites it. `min` and `max` bound every value of the column that is neither NULL nor
  NaN from outside (they may be wide), so a row with value x gives min <= x <= max.
* everything else: Keep.

Statistics that are missing keep (a term is TRUE there), so nothing here has to ask whether they are present.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltaskip.expr.evaluate import deterministic
from deltaskip.expr.nodes import (
    And,
    Collate,
    Compare,
    FieldRef,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Opaque,
    Or,
    StartsWith,
    walk,
)
from deltaskip.expr.render import to_sql
from deltaskip.schema.json import CHAR_VARCHAR_KEY
from deltaskip.schema.mapping import MappingMode
from deltaskip.schema.resolve import leaves
from deltaskip.schema.types import BOOLEAN, STRING, StructField, StructType
from deltaskip.skipping.preimage import Everything, Nothing, Range, column_under, preimage
from deltaskip.skipping.program import (
    AllOf,
    AnyOf,
    AnyPoint,
    Bound,
    Drop,
    Keep,
    Leaf,
    NotOnly,
    NullsPossible,
    PartitionTerm,
    Program,
    Term,
    ValuesPossible,
)
from deltaskip.stats.layout import BoundKind, StatField, widened_types

__all__ = ["rewrite"]

_FEW = 8
"""Values of an IN list up to which each gets terms of its own; longer lists are probed by bisection."""

_NAN = float("nan")


def rewrite(node: Node, schema: StructType, mode: MappingMode, time_zone: str) -> Program:
    """The Program of a predicate that expr.bind and expr.normalize have prepared.

    schema, mode: the table's schema and column mapping. time_zone: the session's, for casts of dates and timestamps.
    """
    return Program(_Rewriter(schema, mode, time_zone).may(node))


@dataclass(frozen=True, slots=True)
class _Rewriter:
    schema: StructType
    mode: MappingMode
    time_zone: str

    def may(self, node: Node) -> Term:
        match node:
            case Literal(value):
                return Keep("the predicate is always true") if value is True else Drop("the predicate is never true")
            case _ if partition := self._partition(node):
                return Leaf(to_sql(node), partition)
            case And(children):
                return _all([self.may(child) for child in _gather(children, And, self._reads_partitions_only)])
            case Or(children):
                return _any([self.may(child) for child in _gather(children, Or, self._reads_partitions_only)])
            case _:
                return Leaf(to_sql(node), self._leaf(node))

    def _leaf(self, node: Node) -> Term:
        match node:
            case FieldRef(type=t) if t == BOOLEAN:
                return self._compare("=", node, True)
            case Not(FieldRef(type=t) as column) if t == BOOLEAN:
                return self._compare("=", column, False)
            case IsNull(child):
                return self._is_null(child)
            case Not(IsNull(child)):
                return self._is_not_null(child)
            case Compare("<=>", left, Literal(None)) | Compare("<=>", Literal(None), left):
                return self._is_null(left)
            case Not(Compare("<=>", left, Literal(None)) | Compare("<=>", Literal(None), left)):
                return self._is_not_null(left)
            case Compare(_, _, Literal(None)) | Compare(_, Literal(None), _):
                return Drop("a comparison with NULL is never true")
            case Compare("<=>", left, Literal(value)):
                return self._compare("=", left, value)
            case Compare(op, left, Literal(value)):
                return self._compare(op, left, value)
            case Compare(op, Literal() as left, right) if not isinstance(right, Literal):
                return self._leaf(Compare(_mirrored(op), right, left))
            case Not(Compare("<=>", left, Literal(value))):
                return _any([self._is_null(left), self._compare("!=", left, value)])
            case Not(Compare("<=>", Literal() as left, right)):
                return self._leaf(Not(Compare("<=>", right, left)))
            case In(child, values):
                return self._in(child, values)
            case Not(In(child, values)):
                return self._not_in(child, values)
            case StartsWith(child, Literal(str() as prefix)):
                return self._starts_with(child, prefix)
            case Not(StartsWith(child, Literal(str() as prefix))):
                return self._not_starts_with(child, prefix)
            case Like():
                return self._like(node)
            case Not(Like() as like):
                return self._not_like(like)
            case Opaque():
                return Keep("this expression is not understood")
            case _:
                return Keep("no rule for this expression")

    def _partition(self, node: Node) -> Term | None:
        """Every row of a file has the file's partition values, so any expression over them has one value a file."""
        if not self._reads_partitions_only(node):
            return None
        if not _evaluable(node):
            return Keep("this expression cannot be evaluated here")
        columns = tuple(dict.fromkeys(part for part in walk(node) if isinstance(part, FieldRef)))
        return PartitionTerm(node, columns)

    def _reads_partitions_only(self, node: Node) -> bool:
        columns = [part for part in walk(node) if isinstance(part, FieldRef)]
        if not columns or not deterministic(node) or not _evaluable(node):
            return False
        return all(column.partition and not self._is_padded(column) for column in columns)

    def _field(self, node: Node) -> StatField | None:
        """The column as statistics know it, or None for partition columns and what is no column."""
        if not isinstance(node, FieldRef) or node.partition:
            return None
        field = self._declared(node)
        if field is None:
            return None
        return StatField(node.physical, node.type, ".".join(node.logical), widened_types(field.metadata))

    def _declared(self, column: FieldRef) -> StructField | None:
        """The schema's field, found by its exact names."""
        field: StructField | None = None
        current: Any = self.schema
        for name in column.logical:
            fields = current.fields if isinstance(current, StructType) else ()
            field = next((f for f in fields if f.name == name), None)
            if field is None:
                return None
            current = field.type
        return field

    def _is_padded(self, column: FieldRef) -> bool:
        """Whether the column is a char(n): Spark compares it, and the literal, padded with blanks."""
        field = self._declared(column)
        return field is not None and str(field.metadata.get(CHAR_VARCHAR_KEY, "")).startswith("char(")

    def _bounded(self, node: Node) -> StatField | None:
        """The column under `node` if its bounds serve a comparison: not where it is collated or a char(n)."""
        column = column_under(node)
        if column is None or column.collation is not None or self._is_padded(column):
            return None
        field = self._field(column)
        return field if field is not None and field.kind is not None else None

    def _is_null(self, node: Node) -> Term:
        """Some row is NULL only if nullCount is not 0. A struct can be null only where each of its leaves is."""
        column = column_under(node)
        field = None if column is None else self._field(column)
        if field is None:
            return Keep("no null count for this expression")
        if isinstance(field.type, StructType):
            return self._struct_is_null(field)
        return NullsPossible(field)

    def _struct_is_null(self, field: StatField) -> Term:
        inner = [
            leaf for leaf in leaves(self.schema, self.mode) if leaf.physical[: len(field.physical)] == field.physical
        ]
        if not inner:
            return Keep("a struct without leaves has no null count")
        return _all([NullsPossible(StatField(leaf.physical, leaf.type, ".".join(leaf.logical))) for leaf in inner])

    def _is_not_null(self, node: Node) -> Term:
        """Some row is not NULL only if nullCount is not numRecords. A struct has no count of its own."""
        column = column_under(node)
        field = None if column is None else self._field(column)
        if field is None or isinstance(field.type, StructType):
            return Keep("no null count for this expression")
        return ValuesPossible(field)

    def _compare(self, op: str, node: Node, value: Any) -> Term:
        field = self._bounded(node)
        if field is None:
            return self._without_bounds(node)
        return self._within(field, preimage(node, op, value, self.time_zone), op, value)

    def _without_bounds(self, node: Node) -> Term:
        """A comparison is TRUE only for rows that are not NULL."""
        column = column_under(node)
        if column is None:
            return Keep("no statistic is kept of this expression")
        if column.collation is not None:
            return _all(
                [self._is_not_null(column), Keep(f"no usable statistics under the collation {column.collation}")]
            )
        field = self._field(column)
        return Keep("no statistic is kept of this expression") if field is None else self._is_not_null(column)

    def _within(self, field: StatField, values: Range | Nothing | Everything | None, op: str, value: Any) -> Term:
        nan_matches = field.kind is BoundKind.DOUBLE and _nan_satisfies(op, value)
        match values:
            case Nothing():
                return Drop("no value of the column's type satisfies this")
            case Everything():
                return ValuesPossible(field)
            case Range(low, high, low_open, high_open, outside=False):
                terms: list[Term] = [ValuesPossible(field)]
                if high is not None:
                    terms.append(Bound(field, "min", "lt" if high_open else "le", high))
                if low is not None:
                    terms.append(Bound(field, "max", "gt" if low_open else "ge", low, nan_matches))
                return _all(terms)
            case Range(low, high, outside=True):
                outside: list[Term] = []
                if low is not None:
                    outside.append(Bound(field, "min", "lt", low))
                if high is not None:
                    outside.append(Bound(field, "max", "gt", high, nan_matches))
                return _all([ValuesPossible(field), _any(outside)])
            case _:
                return _all([ValuesPossible(field), Keep("no bounds can be derived through this cast")])

    def _in(self, child: Node, values: Sequence[Node]) -> Term:
        """TRUE on a match with some value; NULL elements never match."""
        literals = _literals(values)
        field = self._bounded(child)
        if literals is None:
            return self._without_bounds(child)
        present = [value for value in literals if value is not None]
        if not present:
            return Drop("an IN list without values is never true")
        if field is None:
            return self._without_bounds(child)
        found = [preimage(child, "=", value, self.time_zone) for value in present]
        ranges = [r for r in found if not isinstance(r, Nothing)]
        if not ranges:
            return Drop("no value of the column's type is in the list")
        if len(ranges) <= _FEW or field.kind is BoundKind.DECIMAL or not all(map(_is_point, ranges)):
            if len(ranges) > 64:
                return self._hull(field, ranges)
            return _any([self._within(field, r, "=", v) for r, v in zip(found, present, strict=True)])
        nan_matches = field.kind is BoundKind.DOUBLE and any(value != value for value in present)
        points = _points(field, [r.low for r in ranges if isinstance(r, Range)])
        return _all([ValuesPossible(field), AnyPoint(field, points, nan_matches)])

    def _hull(self, field: StatField, ranges: Sequence[Range | Everything | None]) -> Term:
        """One range around all of them, which holds wherever one of them does."""
        if not all(isinstance(r, Range) and r.low is not None and r.high is not None for r in ranges):
            return ValuesPossible(field)
        bounded = [r for r in ranges if isinstance(r, Range)]
        hull = Range(min(r.low for r in bounded), max(r.high for r in bounded))
        return self._within(field, hull, "=", 0)

    def _not_in(self, child: Node, values: Sequence[Node]) -> Term:
        """TRUE only where the row differs from every value; never with a NULL element."""
        literals = _literals(values)
        if literals is None:
            return self._without_bounds(child)
        if any(value is None for value in literals):
            return Drop("NOT IN a list with NULL is never true")
        field = self._bounded(child)
        if not literals:
            return Keep("NOT IN an empty list is always true")
        if field is None:
            return self._without_bounds(child)
        if len(literals) <= _FEW or field.kind is BoundKind.DECIMAL:
            return _all([self._compare("!=", child, value) for value in literals[:64]])
        found = [preimage(child, "=", value, self.time_zone) for value in literals]
        points = [r.low for r in found if isinstance(r, Range) and _is_point(r)]
        if not points:
            return ValuesPossible(field)
        nan_matches = field.kind is BoundKind.DOUBLE and not any(value != value for value in literals)
        return _all([ValuesPossible(field), NotOnly(field, _points(field, points), nan_matches)])

    def _text_field(self, node: Node) -> StatField | None:
        field = self._bounded(node) if isinstance(node, FieldRef) else None
        return field if field is not None and field.type == STRING else None

    def _starts_with(self, child: Node, prefix: str) -> Term:
        """x starts with p exactly when p <= x < successor(p) in byte order."""
        field = self._text_field(child)
        if field is None:
            return self._without_bounds(child)
        if not prefix:
            return ValuesPossible(field)
        low = prefix.encode()
        return _all([ValuesPossible(field), Bound(field, "min", "lt", _successor(low)), Bound(field, "max", "ge", low)])

    def _not_starts_with(self, child: Node, prefix: str) -> Term:
        """Some x < p or x >= successor(p)."""
        field = self._text_field(child)
        if field is None:
            return self._without_bounds(child)
        if not prefix:
            return Drop("every string starts with the empty string")
        low = prefix.encode()
        outside = _any([Bound(field, "min", "lt", low), Bound(field, "max", "ge", _successor(low))])
        return _all([ValuesPossible(field), outside])

    def _like(self, node: Like) -> Term:
        prefix, rest = _like_prefix(node)
        if prefix is None or node.case_insensitive:
            return self._without_bounds(node.child)
        if not rest:
            return self._compare("=", node.child, prefix) if isinstance(node.child, FieldRef) else Keep("not a column")
        return self._starts_with(node.child, prefix)

    def _not_like(self, node: Like) -> Term:
        prefix, rest = _like_prefix(node)
        if prefix is None or node.case_insensitive:
            return self._without_bounds(node.child)
        if not rest:
            return self._compare("!=", node.child, prefix) if isinstance(node.child, FieldRef) else Keep("not a column")
        if set(rest) == {"%"}:
            return self._not_starts_with(node.child, prefix)
        return self._without_bounds(node.child)


def _gather(
    children: Sequence[Node], combine: Callable[[tuple[Node, ...]], Node], belongs: Callable[[Node], bool]
) -> list[Node]:
    """Put the children that read partition columns only into one node, so that they are evaluated together."""
    together = [child for child in children if belongs(child)]
    if len(together) < 2:
        return list(children)
    return [combine(tuple(together)), *(child for child in children if not belongs(child))]


def _all(terms: Sequence[Term]) -> Term:
    if any(isinstance(term, Drop) for term in terms):
        return next(term for term in terms if isinstance(term, Drop))
    rest = [term for term in terms if not isinstance(term, Keep)]
    if not rest:
        return terms[-1]
    return rest[0] if len(rest) == 1 else AllOf(tuple(dict.fromkeys(rest)))


def _any(terms: Sequence[Term]) -> Term:
    if any(isinstance(term, Keep) for term in terms):
        return next(term for term in terms if isinstance(term, Keep))
    rest = [term for term in terms if not isinstance(term, Drop)]
    if not rest:
        return terms[0]
    return rest[0] if len(rest) == 1 else AnyOf(tuple(dict.fromkeys(rest)))


def _evaluable(node: Node) -> bool:
    return not any(isinstance(part, Opaque | Collate) for part in walk(node))


def _mirrored(op: str) -> str:
    return {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)


def _nan_satisfies(op: str, value: Any) -> bool:
    """Whether NaN op value is TRUE in Spark, where NaN equals itself and is greater than any other number."""
    is_nan = bool(value != value)
    return {"=": is_nan, "!=": not is_nan, ">": not is_nan, ">=": True, "<": False, "<=": is_nan}[op]


def _literals(values: Sequence[Node]) -> list[Any] | None:
    found = [value.value for value in values if isinstance(value, Literal)]
    return found if len(found) == len(values) else None


def _is_point(values: Range | Nothing | Everything | None) -> bool:
    if not isinstance(values, Range) or values.outside or values.low is None:
        return False
    return bool(values.low == values.high or (values.low != values.low and values.high != values.high))


def _points(field: StatField, values: Sequence[Any]) -> pa.Array:
    """Ascending distinct points in the layout that the kernels search; NaN last."""
    match field.kind:
        case BoundKind.DOUBLE:
            numbers = sorted({value for value in values if value == value})
            return pa.array(
                [*numbers, _NAN] if len(numbers) < len(values) and any(v != v for v in values) else numbers,
                pa.float64(),
            )
        case BoundKind.TEXT:
            return pa.array(sorted(set(values)), pa.binary())
        case _:
            return pa.array(sorted(set(values)), pa.int64())


def _successor(prefix: bytes) -> bytes:
    """The smallest byte string above everything that starts with `prefix`; UTF-8 never holds the byte FF."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _like_prefix(node: Like) -> tuple[str | None, str]:
    """(text before the first wildcard, the pattern from there on), or (None, "") where the pattern is no constant."""
    if not isinstance(node.pattern, Literal) or not isinstance(node.pattern.value, str):
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

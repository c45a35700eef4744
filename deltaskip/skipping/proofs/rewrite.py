"""The proofs: from a bound, normalised predicate to the Program that no file with a matching row fails.

`may(p)` is a condition on one file's statistics that holds whenever some row of the file makes `p` TRUE. Soundness, by
induction over a predicate without NOT above AND/OR (expr.normalize):

* AND: a row that makes all children TRUE makes each TRUE, so every may(child) holds. The values of one column that the
  children admit are admitted by all of them, so their intersection is a condition too.
* OR: it makes some child TRUE, so some may(child) holds.
* a leaf over one column: the values of the column for which it may be TRUE (proofs.preimage), as a condition on
  bounds and null counts (proofs.terms).
* a leaf that a NULL in some column makes NULL: that column has some value.
* a leaf with CASE or COALESCE: an OR over the branches (proofs.conditional).
* a leaf whose statistics tell its columns' only values: evaluated (skipping.constants).
* a leaf on the source of a generated column: what it says of that column (proofs.generated).
* everything else: Keep.

Statistics that are missing keep (a term is TRUE there), so nothing here has to ask whether they are present.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deltaskip.collations.registry import SPARK_VERSION
from deltaskip.expr.coerce import type_of
from deltaskip.expr.evaluate import deterministic
from deltaskip.expr.nodes import (
    MIRRORED,
    NEGATED,
    And,
    Call,
    Cast,
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
    children_of,
    walk,
)
from deltaskip.expr.normalize import normalize
from deltaskip.expr.render import to_sql
from deltaskip.schema.json import CHAR_VARCHAR_KEY
from deltaskip.schema.mapping import MappingMode
from deltaskip.schema.resolve import leaves
from deltaskip.schema.types import BOOLEAN, BYTE, DATE, INTEGER, LONG, SHORT, STRING, StructField, StructType
from deltaskip.skipping.program import (
    AllOf,
    ConstantTerm,
    Drop,
    Keep,
    Leaf,
    NullsPossible,
    PartitionTerm,
    Program,
    Term,
    ValuesPossible,
)
from deltaskip.skipping.proofs.collated import Collations, collated_term, in_binary_order
from deltaskip.skipping.proofs.conditional import unfold
from deltaskip.skipping.proofs.generated import Derived, derive, derived_columns
from deltaskip.skipping.proofs.preimage.like import matching, not_matching, starting_with
from deltaskip.skipping.proofs.preimage.preimage import null_only_with, preimage, strict_columns
from deltaskip.skipping.proofs.preimage.value_sets import Values, complement, domain_of, meet, points_of, satisfying
from deltaskip.skipping.proofs.terms import all_of, any_of, within
from deltaskip.stats.layout import PARTITION_VALUES, StatField, widened_types

__all__ = ["rewrite"]

_PLAIN_PARTITIONS = (BYTE, SHORT, INTEGER, LONG, DATE)
_UNFOLDED = 64
"""Leaves into which CASE and COALESCE of one leaf may unfold."""

Found = tuple[FieldRef, Values]


def rewrite(
    node: Node,
    schema: StructType,
    mode: MappingMode,
    time_zone: str,
    partition_columns: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    collations: Collations | None = None,
) -> Program:
    """The Program of a predicate that expr.bind and expr.normalize have prepared.

    schema, mode: the table's schema and column mapping. time_zone: the session's, for casts of dates and timestamps.
    partition_columns, properties: the table's; without them, generated partition columns are not known as such.
    collations: what evaluates them, by default Spark 4.1's version.
    """
    derived = derived_columns(schema, mode, partition_columns, properties or {})
    return Program(_Rewriter(schema, mode, time_zone, derived, collations or Collations(SPARK_VERSION)).may(node))


@dataclass(frozen=True, slots=True)
class _Rewriter:
    schema: StructType
    mode: MappingMode
    time_zone: str
    derived: tuple[Derived, ...]
    collations: Collations
    known: dict[int, tuple[Node, Found | None]] = field(default_factory=dict)
    budget: list[int] = field(default_factory=lambda: [_UNFOLDED])

    def may(self, node: Node) -> Term:
        match node:
            case Literal(value):
                return Keep("the predicate is always true") if value is True else Drop("the predicate is never true")
            case _ if partition := self._partition(node):
                return Leaf(to_sql(node), partition)
            case And(children):
                terms = [self.may(child) for child in _gather(children, And, self._reads_partitions_only)]
                return all_of([*terms, *self._together(children)])
            case Or(children):
                return any_of([self.may(child) for child in _gather(children, Or, self._reads_partitions_only)])
            case _:
                return Leaf(to_sql(node), self._leaf(node))

    def _leaf(self, node: Node) -> Term:
        term, exact = self._decided(node)
        if exact or isinstance(term, Drop):
            return all_of([term, *self._derivations([node], self._found(node))])
        constant = self._constant(node)
        if constant is not None:
            # A Keep stays beside it: its reason is told.
            term = AllOf((term, constant))
        derived = self._derivations([node], self._found(node))
        return AllOf((term, *derived)) if derived else term

    def _decided(self, node: Node) -> tuple[Term, bool]:
        """The condition of a leaf, and whether evaluation of constants could tell no more."""
        match node:
            case IsNull(child) if column := null_only_with(child):
                return self._is_null(column), True
            case Not(IsNull(child)) if column := null_only_with(child):
                return self._is_not_null(column), True
            case Compare(op, _, Literal(None)) | Compare(op, Literal(None), _) if op != "<=>":
                return Drop("a comparison with NULL is never true"), True
            case In(_, values) if _literals(values) == [None] * len(values):
                return Drop("an IN list without values is never true"), True
            case Not(In(_, values)) if None in (_literals(values) or ()):
                return Drop("NOT IN a list with NULL is never true"), True
            case Opaque():
                return Keep("this expression is not understood"), True
        collated = collated_term(node, self._field, self.collations)
        if collated is not None:
            return (all_of([self._strict(node), collated]) if isinstance(collated, Keep) else collated), False
        found = self._found(in_binary_order(node) or node)
        if found is not None:
            statistics = self._field(found[0])
            if statistics is not None:
                return within(statistics, found[1]), found[1].exact
        unfolded = self._unfolded(node)
        return (self._strict(node), False) if unfolded is None else (unfolded, False)

    def _found(self, node: Node) -> Found | None:
        """The column of a leaf over one column, and its values, NULL or not, for which the leaf may be TRUE."""
        if id(node) not in self.known:
            found = self._values(node)
            self.known[id(node)] = node, found if found is not None and self._usable(*found) else None
        return self.known[id(node)][1]

    def _values(self, node: Node) -> Found | None:
        match node:
            case Not(FieldRef() | Cast() | Call() as child) if type_of(child) == BOOLEAN:
                return self._boolean(child, False)
            case FieldRef() | Cast() | Call() if type_of(node) == BOOLEAN:
                return self._boolean(node, True)
            case IsNull(child):
                return self._preimage(child, Values((), null=True))
            case Not(IsNull(child)):
                domain = domain_of(type_of(child))
                return None if domain is None else self._preimage(child, Values(domain.all))
            case Compare("<=>", left, Literal(None)) | Compare("<=>", Literal(None), left):
                return self._values(IsNull(left))
            case Not(Compare("<=>", left, Literal(None)) | Compare("<=>", Literal(None), left)):
                return self._values(Not(IsNull(left)))
            case Compare(op, left, Literal(value)) if not isinstance(left, Literal):
                return self._compared("=" if op == "<=>" else op, left, value)
            case Compare(op, Literal() as left, right) if not isinstance(right, Literal):
                return self._values(Compare(MIRRORED[op], right, left))
            case Not(Compare("<=>", left, Literal(value)) | Compare("<=>", Literal(value), left)):
                return self._compared("!=", left, value, null=True)
            case Not(Compare(op, left, right)) if op in NEGATED:
                return self._values(Compare(NEGATED[op], left, right))
            case In(child, values):
                return self._listed(child, values, False)
            case Not(In(child, values)):
                return self._listed(child, values, True)
            case StartsWith(child, Literal(str() as prefix)) if type_of(child) == STRING:
                return self._preimage(child, starting_with(prefix))
            case Not(StartsWith(child, Literal(str() as prefix))) if type_of(child) == STRING:
                return self._preimage(child, _others(starting_with(prefix)))
            case Like(child):
                return self._preimage(child, matching(node))
            case Not(Like(child) as like):
                return self._preimage(child, not_matching(like))
        return None

    def _preimage(self, node: Node, results: Values | None) -> Found | None:
        return None if results is None else preimage(node, results, self.time_zone)

    def _compared(self, op: str, node: Node, value: Any, null: bool = False) -> Found | None:
        type_ = type_of(node)
        results = None if type_ is None else satisfying(type_, op, value)
        return None if results is None else self._preimage(node, replace(results, null=null))

    def _boolean(self, node: Node, wanted: bool) -> Found | None:
        if isinstance(node, Call) and node.name == "isnan":
            # Never NULL: NOT isnan(NULL) is TRUE.
            return self._compared("=" if wanted else "!=", node.args[0], float("nan"), null=not wanted)
        return self._compared("=", node, wanted)

    def _listed(self, child: Node, values: Sequence[Node], negated: bool) -> Found | None:
        """IN: TRUE on a match with some value; NULL elements never match. NOT IN: TRUE where all differ."""
        literals, type_ = _literals(values), type_of(child)
        domain = domain_of(type_)
        if literals is None or type_ is None or domain is None:
            return None
        results = points_of(type_, [value for value in literals if value is not None])
        if results is None:
            return None
        return self._preimage(child, Values(complement(results.spans, domain)) if negated else results)

    def _usable(self, column: FieldRef, values: Values) -> bool:
        """Whether the column's statistics serve: bounds do not where it is collated or a char(n)."""
        statistics = self._field(column)
        if statistics is None:
            return False
        if not values.spans:
            return not isinstance(column.type, StructType)
        return column.collation is None and not self._is_padded(column) and statistics.kind is not None

    def _together(self, children: Sequence[Node]) -> list[Term]:
        """What the leaves of an AND over one column say together beyond what each says alone."""
        groups: dict[FieldRef, list[tuple[Node, Values]]] = {}
        for child in children:
            found = None if isinstance(child, Or) else self._found(child)
            if found is not None:
                groups.setdefault(found[0], []).append((child, found[1]))
        terms: list[Term] = []
        for column, group in groups.items():
            if len(group) < 2:
                continue
            met = group[0][1]
            for _, values in group[1:]:
                met = meet(met, values)
            statistics = self._field(column)
            assert statistics is not None
            # Spans that meet each other and a file's range each meet it together (Helly), so they say nothing new.
            alone = all(len(values.spans) == 1 and not values.cycles and not values.null for _, values in group)
            if not (alone and met.spans):
                terms.append(within(statistics, met))
            terms += self._derivations([node for node, _ in group], (column, met))
        return terms

    def _derivations(self, nodes: Sequence[Node], found: Found | None) -> list[Term]:
        """Conditions on generated columns of whose source the leaves speak."""
        if not self.derived:
            return []
        plain = replace(self, derived=())
        terms = [plain.unlabelled(normalize(part)) for part in derive(self.derived, nodes, found)]
        return [term for term in terms if not isinstance(term, Keep)]

    def unlabelled(self, node: Node) -> Term:
        """`may` of a part that is no leaf of the user's predicate."""
        match node:
            case Literal():
                return self.may(node)
            case _ if partition := self._partition(node):
                return partition
            case And(children):
                return all_of([*(self.unlabelled(child) for child in children), *self._together(children)])
            case Or(children):
                return any_of([self.unlabelled(child) for child in children])
            case _:
                return self._leaf(node)

    def _unfolded(self, node: Node) -> Term | None:
        """CASE and COALESCE as the OR of their branches."""
        if self.budget[0] <= 0 or any(self._is_collated(part) for part in walk(node)):
            return None
        branches = unfold(node, self.time_zone)
        if branches is None:
            return None
        self.budget[0] -= len(branches)
        return any_of([self.unlabelled(normalize(branch)) for branch in branches])

    def _is_collated(self, node: Node) -> bool:
        return isinstance(node, Collate) or (isinstance(node, FieldRef) and node.collation is not None)

    def _strict(self, node: Node) -> Term:
        """A leaf that some columns' NULL makes NULL needs a value in each of them."""
        inner = node.child if isinstance(node, Not) and isinstance(node.child, IsNull) else node
        columns = strict_columns(inner.child if isinstance(inner, IsNull) and inner is not node else inner)
        terms = [term for column in columns if not isinstance(term := self._is_not_null(column), Keep)]
        collated = next((c.collation for c in columns if c.collation is not None), None)
        reason = "no statistic is kept of this expression"
        if collated is not None:
            reason = f"no usable statistics under the collation {collated}"
        return all_of([*terms, Keep(reason)])

    def _constant(self, node: Node) -> ConstantTerm | None:
        """The leaf, to be evaluated in files where each of its columns has one value."""
        if not deterministic(node) or not _evaluable(node):
            return None
        columns = _columns(node)
        fields = [self._field(column) for column in columns]
        found: list[tuple[FieldRef, StatField]] = []
        for column, statistics in zip(columns, fields, strict=True):
            if statistics is None or column.collation is not None or self._is_padded(column):
                return None
            if isinstance(column.type, StructType):
                return None
            found.append((column, statistics))
        return ConstantTerm(node, tuple(found), self.time_zone) if found else None

    def _partition(self, node: Node) -> Term | None:
        """Every row of a file has the file's partition values, so any expression over them has one value a file."""
        if not self._reads_partitions_only(node):
            return None
        return PartitionTerm(node, tuple(_columns(node)), self._partition_bounds(node))

    def _partition_bounds(self, node: Node) -> Term:
        """The condition on a range of values of the partition columns: that of data columns with such bounds.

        Text is left out, as the empty string of the log is NULL; so are timestamps, whose zone the log may not tell.
        """
        match node:
            case And(children):
                return all_of([self._partition_bounds(child) for child in children])
            case Or(children):
                return any_of([self._partition_bounds(child) for child in children])
            case _:
                values = self._values(node)
                if values is None or values[0].type not in _PLAIN_PARTITIONS or not values[0].partition:
                    return Keep()
                column = values[0]
                name = ".".join(column.logical)
                return within(StatField((PARTITION_VALUES, *column.physical), column.type, name), values[1])

    def _reads_partitions_only(self, node: Node) -> bool:
        columns = _columns(node)
        if not columns or not all(column.partition and not self._is_padded(column) for column in columns):
            return False
        return deterministic(node) and not any(isinstance(part, Opaque) for part in walk(node))

    def _field(self, column: FieldRef) -> StatField | None:
        """The column as statistics know it, or None for partition columns."""
        declared = None if column.partition else self._declared(column)
        if declared is None:
            return None
        return StatField(column.physical, column.type, ".".join(column.logical), widened_types(declared.metadata))

    def _declared(self, column: FieldRef) -> StructField | None:
        """The schema's field, found by its exact names."""
        found: StructField | None = None
        current: Any = self.schema
        for name in column.logical:
            fields = current.fields if isinstance(current, StructType) else ()
            found = next((f for f in fields if f.name == name), None)
            if found is None:
                return None
            current = found.type
        return found

    def _is_padded(self, column: FieldRef) -> bool:
        """Whether the column is a char(n): Spark compares it, and the literal, padded with blanks."""
        declared = self._declared(column)
        return declared is not None and str(declared.metadata.get(CHAR_VARCHAR_KEY, "")).startswith("char(")

    def _is_null(self, column: FieldRef) -> Term:
        """Some row is NULL only if nullCount is not 0. A struct can be null only where each of its leaves is."""
        statistics = self._field(column)
        if statistics is None:
            return Keep("no null count for this expression")
        if isinstance(statistics.type, StructType):
            return self._struct_is_null(statistics)
        return NullsPossible(statistics)

    def _struct_is_null(self, struct: StatField) -> Term:
        depth = len(struct.physical)
        inner = [leaf for leaf in leaves(self.schema, self.mode) if leaf.physical[:depth] == struct.physical]
        if not inner:
            return Keep("a struct without leaves has no null count")
        return all_of([NullsPossible(StatField(leaf.physical, leaf.type, ".".join(leaf.logical))) for leaf in inner])

    def _is_not_null(self, column: FieldRef) -> Term:
        """Some row is not NULL only if nullCount is not numRecords. A struct has no count of its own."""
        statistics = self._field(column)
        if statistics is None or isinstance(statistics.type, StructType):
            return Keep("no null count for this expression")
        return ValuesPossible(statistics)


def _gather(
    children: Sequence[Node], combine: Callable[[tuple[Node, ...]], Node], belongs: Callable[[Node], bool]
) -> list[Node]:
    """Put the children that read partition columns only into one node, so that they are evaluated together."""
    together = [child for child in children if belongs(child)]
    if len(together) < 2:
        return list(children)
    return [combine(tuple(together)), *(child for child in children if not belongs(child))]


def _columns(node: Node) -> list[FieldRef]:
    """The columns that a node reads, each once. Literals, of which a list may have very many, are passed over."""
    found: dict[FieldRef, None] = {}
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, FieldRef):
            found[part] = None
        pending.extend(child for child in reversed(children_of(part)) if not isinstance(child, Literal))
    return list(found)


def _evaluable(node: Node) -> bool:
    return not any(isinstance(part, Opaque | Collate) for part in walk(node))


def _others(values: Values) -> Values:
    domain = domain_of(STRING)
    assert domain is not None
    return Values(complement(values.spans, domain))


def _literals(values: Sequence[Node]) -> list[Any] | None:
    found = [value.value for value in values if isinstance(value, Literal)]
    return found if len(found) == len(values) else None

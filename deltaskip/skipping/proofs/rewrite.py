"""The rewrite of a bound, normalized predicate to a Program that is TRUE for every file with a matching row.

`may(p)` is a condition on one file's statistics that holds whenever some row of the file makes `p` TRUE. Soundness, by
induction over a predicate without NOT above AND/OR (expr.normalize):

* AND: a row that makes the AND TRUE makes each child TRUE, so every may(child) holds. Its value of a column is admitted
  by all children, so the intersection of the sets that they admit is also a condition.
* OR: a row makes some child TRUE, so some may(child) holds.
* A leaf over one column: the set of values for which it may be TRUE (proofs.preimage), as a condition on bounds and
  null counts (proofs.terms).
* A leaf with CASE or COALESCE: an OR over the branches (proofs.conditional).
* A leaf whose columns each have a single value in a file: evaluation (skipping.constants).
* A predicate over a shape and a constant one: conditions on the box of the shapes of a file (proofs.shape_boxes).
* A leaf over the source of a generated column: a condition on that column (proofs.generated).
* A leaf over an expression with bounds of its own: a condition on these (proofs.expression_bounds).
* Any other leaf: the null counts of columns whose NULL makes it NULL, or Keep (proofs.unproved).

A term is TRUE where its statistic is missing, so no rule has to check that statistics are present. A rule that gives up
sets the leaf's reason (proofs.proof).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.schema.properties import PARTITIONING_KEY
from deltaskip.skipping import program
from deltaskip.skipping.proofs import terms as tm
from deltaskip.skipping.proofs import unproved
from deltaskip.skipping.proofs.collated import collated_proof, in_binary_order
from deltaskip.skipping.proofs.conditional import unfold
from deltaskip.skipping.proofs.leaf_values import Found, leaf_values, literals_of
from deltaskip.skipping.proofs.preimage.value_sets import ValueSet, has_nan, meet
from deltaskip.skipping.proofs.shape_boxes import boxed, shape_and_constant
from deltaskip.skipping.proofs.table_columns import TableColumns, label
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.clock import Clock, reads_clock
from deltaskip.sparkexpr.collations import SPARK_VERSION, Collations
from deltaskip.sparkexpr.evaluation import deterministic
from deltaskip.sparkexpr.literal_list import nodes_in
from deltaskip.sparkexpr.normalize import FALSE_LITERAL, TRUE_LITERAL, normalize
from deltaskip.sparkexpr.preimages import domain_of
from deltaskip.stats.layout import PARTITION_VALUES, BoundKind, StatField

if TYPE_CHECKING:
    from deltaskip.skipping.proofs.expression_bounds import BoundedExpression
    from deltaskip.skipping.proofs.transforms import Derived

_PLAIN_PARTITIONS = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.DATE)
_UNFOLDED = 64
"""Branches into which the CASE and COALESCE of one predicate may unfold."""
_MOST_UNFOLDED = 500
"""Nodes of a leaf that is unfolded, which each branch repeats."""


def rewrite(
    node: n.Node,
    schema: t.StructType,
    mode: t.MappingMode,
    time_zone: str,
    partition_columns: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    collations: Collations | None = None,
    *,
    clock: Clock | None = None,
    expressions: Sequence[BoundedExpression] = (),
) -> program.Program:
    """Return the Program of a predicate that expr.bind and expr.normalize have prepared.

    Args:
        node: The bound, normalized predicate.
        schema: The table's schema.
        mode: The table's column mapping mode.
        time_zone: The session's time zone, for casts between dates and timestamps.
        partition_columns: The table's partition columns; without them, no generated partition column is used.
        properties: The table's properties, likewise.
        collations: The collations that compare strings, by default those of Spark 4.1.
        clock: When the query may run; without it, leaves that read the clock keep every file.
        expressions: The expressions with bounds in the statistics of files.
    """
    derived = _derived(schema, mode, partition_columns, properties or {})
    columns, collations = TableColumns(schema, mode), collations or Collations(SPARK_VERSION)
    # Conditions on generated columns read partition columns that the predicate does not name.
    partitioned = bool(derived) or any(isinstance(part, n.FieldRef) and part.partition for part in n.walk(node))
    rewriter = _Rewriter(columns, time_zone, derived, collations, clock, expressions, partitioned=partitioned)
    return program.Program(rewriter.may(node))


def _derived(
    schema: t.StructType, mode: t.MappingMode, partition_columns: Sequence[str], properties: Mapping[str, str]
) -> tuple[Derived, ...]:
    """The generated columns; the module that reads their expressions is imported only for tables that have some."""
    if PARTITIONING_KEY not in properties and not any(t.GENERATION_KEY in field.metadata for field in schema.fields):
        return ()
    from deltaskip.skipping.proofs.transforms import derived_columns

    return derived_columns(schema, mode, partition_columns, properties)


@dataclass(slots=True)
class _Budget:
    """Branches into which CASE and COALESCE may still unfold."""

    left: int = _UNFOLDED


@dataclass(frozen=True, slots=True)
class _Rewriter:
    """Rewrites the parts of one predicate. partitioned: whether one of them may read a partition column."""

    columns: TableColumns
    time_zone: str
    derived: tuple[Derived, ...]
    collations: Collations
    clock: Clock | None = None
    expressions: Sequence[BoundedExpression] = ()
    budget: _Budget = field(default_factory=_Budget)
    partitioned: bool = True

    def may(self, node: n.Node) -> program.Term:
        """The condition of a part of the user's predicate, with a Leaf for each of its leaves."""
        return self._labelled(node)[0]

    @deep
    def _labelled(self, node: n.Node) -> tuple[program.Term, Found | None]:
        """`may`, and the values of its column that a leaf admits."""
        match node:
            case n.Literal(value):
                return (program.Keep() if value is True else program.Drop()), None
            case _ if partition := self._partition(node):
                return program.Leaf(to_sql(node), partition), None
            case n.And(children):
                parts = _gather(children, n.And, self._reads_partitions_only)
                done = list(map(self._labelled, parts))
                together = self._together(parts, [found for _, found in done])
                return tm.all_of([*together, *(term for term, _ in done)]), None
            case n.Or(children):
                return tm.any_of(
                    [self.may(child) for child in _gather(children, n.Or, self._reads_partitions_only)]
                ), None
            case _ if (timed := self._timed(node)) is not None:
                return program.Leaf(to_sql(node), timed.term, timed.reason), None
            case _:
                proof, found = self._leaf(node)
                limited = proof.reason and not isinstance(proof.term, program.Drop)
                reason = (
                    tm.joined_reasons([proof.reason, unproved.still_skipped(proof.term)]) if limited else proof.reason
                )
                return program.Leaf(to_sql(node), proof.term, reason), found

    def unlabelled(self, node: n.Node) -> tm.Proof:
        """`may` of a part that is not a leaf of the user's predicate."""
        return self._unlabelled(node)[0]

    @deep
    def _unlabelled(self, node: n.Node) -> tuple[tm.Proof, Found | None]:
        match node:
            case n.Literal(value):
                return tm.Proof(program.Keep() if value is True else program.Drop()), None
            case _ if partition := self._partition(node):
                return tm.Proof(partition), None
            case n.And(children):
                done = list(map(self._unlabelled, children))
                together = self._together(children, [found for _, found in done])
                return tm.every([*(proof for proof, _ in done), *map(tm.Proof, together)]), None
            case n.Or(children):
                return tm.some([self.unlabelled(child) for child in children]), None
            case _ if (timed := self._timed(node)) is not None:
                return timed, None
            case _:
                return self._leaf(node)

    def _timed(self, node: n.Node) -> tm.Proof | None:
        """The proof of a leaf that reads the clock; None for other leaves."""
        if self.clock is None or not reads_clock(node):
            return None
        weakest = self.clock.weakest(node)
        if weakest is None:
            return unproved.unproved(node, self.columns, unproved.UNORDERED)
        condition = normalize(weakest)
        proof = self.unlabelled(condition)
        if isinstance(condition, n.Literal):
            return tm.Proof(proof.term, unproved.TIMELESS if condition.value is True else unproved.NEVER)
        return proof if self.clock.bounds(node) else tm.Proof(proof.term, unproved.UNBOUNDED)

    def _leaf(self, node: n.Node) -> tuple[tm.Proof, Found | None]:
        """The proof of a leaf, and the set of values that it admits, if statistics can decide about it."""
        found = self._usable(leaf_values(node, self.time_zone))
        proof, exact = self._decided(node, found)
        bounded = (each.term(node, self.time_zone) for each in self.expressions)
        derived = [*self._derivations([node], found), *(term for term in bounded if term is not None)]
        if exact or isinstance(proof.term, program.Drop):
            return tm.Proof(tm.all_of([proof.term, *derived]), proof.reason), found
        constant = self._constant(node)
        inside = self._inside_variant(node)
        further = [term for term in (constant, inside) if term is not None]
        term = tm.all_of([proof.term, *further, *derived])
        return tm.Proof(term, "" if derived or inside is not None else proof.reason), found

    def _inside_variant(self, node: n.Node) -> program.Term | None:
        """The condition of a leaf on the bounds of the values at one path in a variant; None for other leaves.

        A row that lacks the path reads NULL, which no statistic counts, so a leaf that NULL satisfies keeps every file.
        """
        read = unproved.columns_read(node)
        if len(read) != 1 or read[0].type != t.VARIANT or self.columns.stat_field(read[0]) is None:
            return None
        from deltaskip.skipping.proofs.inside_variants import path_as_column

        found = path_as_column(node)
        values = None if found is None else leaf_values(found[0], self.time_zone)
        if found is None or values is None or values[1].null:
            return None
        term = tm.within(found[1], values[1])
        return None if isinstance(term, program.Keep | program.ValuesPossible) else term

    def _boxed(self, node: n.Node) -> tm.Proof | None:
        """The condition of a predicate over a column of shapes and a constant shape; None for other leaves."""
        found = shape_and_constant(node)
        statistics = None if found is None else self.columns.stat_field(found[0])
        return None if found is None or statistics is None else boxed(node, statistics, *found[1:])

    def _decided(self, node: n.Node, found: Found | None) -> tuple[tm.Proof, bool]:
        """The proof of a leaf by statistics of its columns, and whether it is exact (evaluation proves no more)."""
        match node:
            case n.IsNull(child) if column := unproved.null_only_with(child):
                return self.columns.is_null(column), True
            case n.Not(n.IsNull(child)) if column := unproved.null_only_with(child):
                return self.columns.is_not_null(column), True
            case n.Compare(op, _, n.Literal(None)) | n.Compare(op, n.Literal(None), _) if op != "<=>":
                return tm.Proof(program.Drop(), "a comparison with NULL is never true"), True
            case n.In(_, tuple(values)) if literals_of(values) == [None] * len(values):
                return tm.Proof(program.Drop(), "an IN list of nothing but NULL is never true"), True
            case n.Not(n.In(_, tuple(values))) if None in (literals_of(values) or ()):
                return tm.Proof(program.Drop(), "NOT IN is never true of a list with NULL"), True
            case n.Opaque():
                return unproved.unproved(node, self.columns), True
        boxed = self._boxed(node)
        if boxed is not None:
            return boxed, True
        collated = collated_proof(node, self.columns.stat_field, self.collations)
        if collated is not None:
            keeps = isinstance(collated.term, program.Keep)
            return unproved.unproved(node, self.columns, collated.reason) if keeps else collated, False
        binary = in_binary_order(node)
        found = found if binary is None else self._usable(leaf_values(binary, self.time_zone))
        if found is not None:
            return self._bounded(node, *found), found[1].exact
        unfolded = self._unfolded(node)
        return (unproved.unproved(node, self.columns), False) if unfolded is None else (unfolded, False)

    def _bounded(self, node: n.Node, column: n.FieldRef, values: ValueSet) -> tm.Proof:
        """The set of values of one column as a condition on its statistics."""
        statistics = self.columns.stat_field(column)
        assert statistics is not None
        term, domain = tm.within(statistics, values), domain_of(column.type)
        if isinstance(term, program.Drop):
            return tm.Proof(term, f"no value of type {t.simple_string(column.type)} can match")
        if tm.within_hull(statistics, values):
            return tm.Proof(term, tm.LEAST_AND_GREATEST)
        if domain is None or values.spans != domain.all or values.cycles:
            return tm.Proof(term)
        name = label(column)
        if values.exact:
            return tm.Proof(term, f"every value of {name}{'' if values.null else ' other than NULL'} matches")
        if isinstance(node, n.Like):
            return tm.Proof(term, "the pattern begins with a wildcard")
        return tm.Proof(term, f"no rule bounds {name} by this expression")

    def _usable(self, found: Found | None) -> Found | None:
        """`found` if statistics of the column can decide it; the bounds of a collated or char(n) column cannot."""
        statistics = None if found is None else self.columns.stat_field(found[0])
        if found is None or statistics is None:
            return None
        column, values = found
        if not values.spans:
            return None if isinstance(column.type, t.StructType) else found
        return None if self.columns.unusable_bounds(column) else found

    def _together(self, children: Sequence[n.Node], values: Sequence[Found | None]) -> list[program.Term]:
        """Conditions that follow from several leaves of an AND over one column, but not from one of them."""
        groups: dict[n.FieldRef, list[tuple[n.Node, ValueSet]]] = {}
        for child, found in zip(children, values, strict=True):
            if found is not None:
                groups.setdefault(found[0], []).append((child, found[1]))
        terms: list[program.Term] = []
        for column, group in groups.items():
            if len(group) < 2:
                continue
            met = group[0][1]
            for _, each in group[1:]:
                met = meet(met, each)
            statistics = self.columns.stat_field(column)
            assert statistics is not None
            # Spans that overlap each other and a file's range each overlap it together (Helly): nothing new is proved.
            alone = all(len(each.spans) == 1 and not each.cycles and not each.null for _, each in group)
            # Except when a leaf excludes NaN, which is outside of a file's range.
            hides_nan = statistics.kind is BoundKind.DOUBLE and not has_nan(met)
            if not (alone and met.spans) or (hides_nan and any(has_nan(each) for _, each in group)):
                terms.append(tm.within(statistics, met))
            terms += self._derivations([node for node, _ in group], (column, met))
        return terms

    def _derivations(self, nodes: Sequence[n.Node], found: Found | None) -> list[program.Term]:
        """Conditions on the columns that are generated from the column that the leaves read."""
        if not self.derived:
            return []
        from deltaskip.skipping.proofs.generated import derive

        plain = replace(self, derived=())
        terms = [plain.unlabelled(normalize(part)).term for part in derive(self.derived, nodes, found, self.time_zone)]
        return [term for term in terms if not isinstance(term, program.Keep)]

    def _unfolded(self, node: n.Node) -> tm.Proof | None:
        """CASE and COALESCE as the OR of their branches."""
        if self.budget.left <= 0 or n.is_too_large(node, _MOST_UNFOLDED) or any(map(_is_collated, n.walk(node))):
            return None
        branches = unfold(node, self.time_zone)
        if branches is None:
            return None
        self.budget.left -= len(branches)
        proof = tm.some([self.unlabelled(normalize(branch)) for branch in branches])
        if isinstance(proof.term, program.Drop) and not proof.reason:
            return tm.Proof(proof.term, "no branch of CASE or COALESCE can match")
        if isinstance(proof.term, program.Keep) and not proof.reason:
            return tm.Proof(proof.term, "some branch of CASE or COALESCE is true for any values")
        return proof

    def _constant(self, node: n.Node) -> program.ConstantTerm | None:
        """The leaf, to be evaluated in files where each of its columns has one value."""
        if not deterministic(node) or any(isinstance(part, n.Opaque | n.Collate) for part in n.walk(node)):
            return None
        found: list[tuple[n.FieldRef, StatField]] = []
        for column in unproved.columns_read(node):
            statistics = self.columns.stat_field(column)
            if statistics is None or column.collation is not None or self.columns.is_padded(column):
                return None
            if isinstance(column.type, t.StructType):
                return None
            found.append((column, statistics))
        return program.ConstantTerm(node, tuple(found), self.time_zone) if found else None

    def _partition(self, node: n.Node) -> program.Term | None:
        """All rows of a file have its partition values, so any expression over them has one value per file."""
        if not self._reads_partitions_only(node):
            return None
        return program.PartitionTerm(node, tuple(unproved.columns_read(node)), self._partition_bounds(node))

    @deep
    def _partition_bounds(self, node: n.Node) -> program.Term:
        """The condition on ranges of the partition columns' values, as for data columns with such bounds.

        Strings are left out, as the empty string in the log is NULL; so are timestamps, whose zone may be unknown.
        """
        match node:
            case n.And(children):
                return tm.all_of([self._partition_bounds(child) for child in children])
            case n.Or(children):
                return tm.any_of([self._partition_bounds(child) for child in children])
            case _:
                values = leaf_values(node, self.time_zone)
                if values is None or values[0].type not in _PLAIN_PARTITIONS or not values[0].partition:
                    return program.Keep()
                column = values[0]
                field_ = StatField((PARTITION_VALUES, *column.physical), column.type, label(column))
                return tm.within(field_, values[1])

    def _reads_partitions_only(self, node: n.Node) -> bool:
        if not self.partitioned or _reads_partitions(node) != {True}:
            return False
        if any(map(self.columns.is_padded, unproved.columns_read(node))):
            return False
        return deterministic(node) and not any(isinstance(part, n.Opaque) for part in n.walk(node))


def _reads_partitions(node: n.Node) -> frozenset[bool]:
    """Whether a bound node reads partition columns: TRUE, FALSE for other columns, both, or neither."""
    return frozenset((node.partition,)) if isinstance(node, n.FieldRef) else _kinds_of_columns(node)


@n.kept
def _kinds_of_columns(node: n.Node) -> frozenset[bool]:
    found = frozenset[bool]()
    for child in n.children_of(node):
        if not isinstance(child, n.Literal):
            found |= _reads_partitions(child)
    return found


def _gather(
    children: Sequence[n.Node], combine: Callable[[tuple[n.Node, ...]], n.Node], belongs: Callable[[n.Node], bool]
) -> list[n.Node]:
    """Combine the children that read only partition columns into one node, so that they are evaluated together."""
    together = [child for child in children if belongs(child)]
    if len(together) < 2:
        return list(children)
    return [combine(tuple(together)), *(child for child in children if not belongs(child))]


def _is_collated(node: n.Node) -> bool:
    return isinstance(node, n.Collate) or (isinstance(node, n.FieldRef) and node.collation is not None)


# `must(p)` = every row of the file makes p TRUE = no row makes p FALSE or NULL = not may(p is not TRUE). `not_true`
# pushes "is not TRUE" down to the leaves, so that the same rewrite decides it with the same proofs.
def not_true(node: n.Node) -> n.Node:
    """Return a normalized predicate that is TRUE wherever `node`, bound and normalized, is FALSE or NULL.

    It may be TRUE for more rows (it is the literal TRUE for leaves without a rule), which only makes `must` weaker.

    * AND is not TRUE if some child is not, OR if no child is.
    * A comparison is not TRUE if its negation is TRUE, or one of its operands is NULL.
    * `a <=> b` is not TRUE if a and b differ, or one of them is NULL.
    * An expression over partition columns only is constant in a file, so it is negated as a whole.
    """
    return normalize(_not_true(node))


@deep
def _not_true(node: n.Node) -> n.Node:
    if _reads_partitions(node) == {True}:
        return n.Case(((node, FALSE_LITERAL),), TRUE_LITERAL)
    match node:
        case n.Literal(value):
            return FALSE_LITERAL if value is True else TRUE_LITERAL
        case n.And(children):
            return n.Or(tuple(map(_not_true, children)))
        case n.Or(children):
            return n.And(tuple(map(_not_true, children)))
        case n.IsNull():
            return n.Not(node)
        case n.Not(n.IsNull() as inner):
            return inner
        case n.Compare(op, left, right) if op != "<=>":
            return n.Or((n.Not(node), *_nulls(left, right)))
        case n.Compare("<=>", left, right):
            one_null = (n.And((n.IsNull(a), n.Not(n.IsNull(b)))) for a, b in ((left, right), (right, left)))
            return n.Or((n.Compare("!=", left, right), *one_null))
        case n.In(child, values) | n.Not(n.In(child, values)):
            if not all(isinstance(value, n.Literal) and value.value is not None for value in nodes_in(values)):
                return TRUE_LITERAL
            opposite = node.child if isinstance(node, n.Not) else n.Not(node)
            return n.Or((opposite, n.IsNull(child)))
        case n.StartsWith(child, n.Literal()) | n.Like(child, n.Literal()):
            return n.Or((n.Not(node), n.IsNull(child)))
        case n.Not((n.StartsWith(child, n.Literal()) | n.Like(child, n.Literal())) as inner):
            return n.Or((inner, n.IsNull(child)))
        case _:
            return TRUE_LITERAL


def _nulls(*operands: n.Node) -> tuple[n.Node, ...]:
    return tuple(n.IsNull(operand) for operand in operands if not isinstance(operand, n.Literal))

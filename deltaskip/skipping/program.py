"""Program: the condition on a file's statistics and partition values that a predicate was rewritten to.

A term is a comparison of one statistic with a constant; it is TRUE ("keep") where the statistic is missing. AllOf and
AnyOf combine two-valued lanes, so evaluation needs no third value: what cannot be proved is Keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from deltaskip.collations.collation import Collation
from deltaskip.expr.nodes import FieldRef, Node
from deltaskip.skipping.proofs.preimage.value_sets import Cycle
from deltaskip.stats.collated_bounds import CollatedColumn, Op, collated_leaf
from deltaskip.stats.layout import NUM_RECORDS, BoundKind, Side, StatField, StatLeaf

__all__ = [
    "AllOf",
    "AnyOf",
    "AnyPoint",
    "AnySpan",
    "Bound",
    "CollatedBound",
    "CollatedPrefix",
    "ConstantTerm",
    "CycleTerm",
    "Drop",
    "Keep",
    "Leaf",
    "NotOnly",
    "NullsPossible",
    "Op",
    "PartitionTerm",
    "Program",
    "Statistics",
    "Term",
    "ValuesPossible",
    "leaves_of",
    "terms_of",
]


class Term:
    """Base of every node of a Program."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Keep(Term):
    """Proves nothing: every file is kept."""


@dataclass(frozen=True, slots=True)
class Drop(Term):
    """No row of any file can match."""


@dataclass(frozen=True, slots=True)
class AllOf(Term):
    """Every child must keep the file."""

    children: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Term):
    """Some child must keep the file."""

    children: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Bound(Term):
    """`side(field) op value`, value in the kernel layout: int, float, unscaled int, or UTF-8 bytes.

    nan_matches: a NaN row would satisfy the predicate, so a file whose writer may not have recorded it is kept.
    """

    field: StatField
    side: Side
    op: Op
    value: int | float | bytes
    nan_matches: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AnyPoint(Term):
    """Some of `points` (kernel layout, ascending, without NULL) lies within [min(field), max(field)]."""

    field: StatField
    points: pa.Array
    nan_matches: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class NotOnly(Term):
    """The file may hold a value that is none of `points`: false only where min = max is one of them."""

    field: StatField
    points: pa.Array
    nan_matches: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AnySpan(Term):
    """Some span [lows[i], highs[i]] meets [min(field), max(field)]; int64, ascending and apart, INT64 columns only."""

    field: StatField
    lows: np.ndarray
    highs: np.ndarray


@dataclass(frozen=True, slots=True)
class CycleTerm(Term):
    """Some value in [low, high] and [min(field), max(field)] may lie in a hit of `cycle`; INT64 columns only."""

    field: StatField
    cycle: Cycle
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class ConstantTerm(Term):
    """`node` may be TRUE where every one of its columns has one value in the file (skipping.constants)."""

    node: Node
    columns: tuple[tuple[FieldRef, StatField], ...]
    time_zone: str


@dataclass(frozen=True, slots=True, eq=False)
class CollatedBound(Term):
    """`side(field) op value` in the order of `collation`; keys: spellings of its id in statsWithCollation."""

    field: StatField
    side: Side
    op: Op
    value: str
    collation: Collation
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CollatedPrefix(Term):
    """Some value from min(field) to max(field) may start with `prefix`, as Spark understands it under `collation`."""

    field: StatField
    prefix: str
    collation: Collation
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NullsPossible(Term):
    """nullCount(field) is not 0."""

    field: StatField


@dataclass(frozen=True, slots=True)
class ValuesPossible(Term):
    """nullCount(field) is not numRecords."""

    field: StatField


@dataclass(frozen=True, slots=True)
class PartitionTerm(Term):
    """`node` reads partition columns only, so it is evaluated for each distinct tuple of their values.

    bounds: a condition on the least and greatest values of many files together, under which `node` may be TRUE of one;
    its fields are of stats.layout.PARTITION_VALUES.
    """

    node: Node
    columns: tuple[FieldRef, ...]
    bounds: Term = field(default_factory=Keep, compare=False)


@dataclass(frozen=True, slots=True)
class Leaf(Term):
    """A leaf of the user's predicate: `text` as written, `term` what it became. Transparent to evaluation.

    reason: why no rule prunes more by it, set by the rule that gave up; of a Drop, why no row matches. It follows from
    the predicate and the schema alone, whatever statistics the log holds.
    """

    text: str
    term: Term
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """What to evaluate for each file, and the statistics and partition columns it reads."""

    root: Term

    @property
    def stat_leaves(self) -> tuple[StatLeaf, ...]:
        """Statistics read, without repetition, in order of first use."""
        return tuple(dict.fromkeys(leaf for term in terms_of(self.root) for leaf in _reads(term)))

    @property
    def partition_columns(self) -> tuple[FieldRef, ...]:
        """Partition columns read."""
        terms = (term for term in terms_of(self.root) if isinstance(term, PartitionTerm))
        return tuple(dict.fromkeys(column for term in terms for column in term.columns))

    @property
    def reads_nothing(self) -> bool:
        """Whether the outcome is the same for every file."""
        return not self.stat_leaves and not self.partition_columns

    @property
    def guards_nan(self) -> bool:
        """Whether some term depends on what a file's writer does with NaN."""
        return any(_guarded(term) for term in terms_of(self.root))


class Statistics(Protocol):
    """What a Program is evaluated against: files (stats.FileStats) or the row groups of a checkpoint."""

    num_rows: int

    def bound(self, field: StatField, side: Side) -> pa.Array:
        """Minimum or maximum in the kernel layout of `field.kind`; null where unknown."""
        ...

    def null_count(self, field: StatField) -> pa.Array:
        """int64 null counts; null where unknown."""
        ...

    def num_records(self) -> pa.Array:
        """int64 row counts; null where unknown."""
        ...

    def nan_recorded(self) -> pa.BooleanArray:
        """Whether the writer is known to record NaN."""
        ...

    def collated(self, field: StatField, side: Side, keys: tuple[str, ...], collation: Collation) -> CollatedColumn:
        """Minimum or maximum under a collation, null where unknown, ready for comparisons."""
        ...


def terms_of(term: Term) -> Iterator[Term]:
    """`term` and everything below it, outermost first."""
    yield term
    match term:
        case AllOf(children) | AnyOf(children):
            for child in children:
                yield from terms_of(child)
        case Leaf(_, inner):
            yield from terms_of(inner)
        case _:
            pass


def leaves_of(term: Term) -> list[Leaf]:
    """The leaves of the user's predicate, left to right."""
    return [inner for inner in terms_of(term) if isinstance(inner, Leaf)]


def _reads(term: Term) -> tuple[StatLeaf, ...]:
    match term:
        case Bound(column, side):
            return (StatLeaf("minValues" if side == "min" else "maxValues", column),)
        case AnyPoint(column) | NotOnly(column) | AnySpan(column) | CycleTerm(column):
            return (StatLeaf("minValues", column), StatLeaf("maxValues", column))
        case ConstantTerm(_, columns):
            fields = [field for _, field in columns]
            bounded = [field for field in fields if field.kind is not None]
            return (
                *(StatLeaf(group, field) for field in bounded for group in ("minValues", "maxValues")),
                *(StatLeaf("nullCount", field) for field in fields),
                NUM_RECORDS,
            )
        case CollatedBound(column, side):
            return (collated_leaf(column, side, term.keys),)
        case CollatedPrefix(column):
            return (collated_leaf(column, "min", term.keys), collated_leaf(column, "max", term.keys))
        case NullsPossible(column):
            return (StatLeaf("nullCount", column),)
        case ValuesPossible(column):
            return (StatLeaf("nullCount", column), NUM_RECORDS)
        case _:
            return ()


def _guarded(term: Term) -> bool:
    match term:
        case Bound(column) | AnyPoint(column) | NotOnly(column):
            return column.kind is BoundKind.DOUBLE
        case ConstantTerm(_, columns):
            return any(field.kind is BoundKind.DOUBLE for _, field in columns)
        case _:
            return False

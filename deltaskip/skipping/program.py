"""Program: a predicate compiled to a condition on the statistics and partition values of a file.

A term compares one statistic with constants; it is TRUE ("keep") where the statistic is missing. AllOf and AnyOf
combine two-valued results, so evaluation needs no third value: a part that cannot be proved is Keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Protocol

import numpy as np
import pyarrow as pa

from deltaskip.fork_safety import cached_property
from deltaskip.records import dataclass, nested
from deltaskip.skipping.proofs.preimage.value_sets import Cycle
from deltaskip.sparkexpr.collations import Collation
from deltaskip.sparkexpr.nodes import FieldRef, Node
from deltaskip.stats.collated_bounds import CollatedBounds, Op, collated_leaf
from deltaskip.stats.layout import NUM_RECORDS, Side, StatField, StatLeaf


class Term:
    """Base class of the nodes of a Program."""

    __slots__ = ("_hash",)


@dataclass(frozen=True, slots=True)
class Keep(Term):
    """TRUE for every file."""


@dataclass(frozen=True, slots=True)
class Drop(Term):
    """FALSE for every file: no row can match."""


@nested
@dataclass(frozen=True, slots=True)
class AllOf(Term):
    """TRUE if every child is."""

    children: tuple[Term, ...]


@nested
@dataclass(frozen=True, slots=True)
class AnyOf(Term):
    """TRUE if some child is."""

    children: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class BoundTerm(Term):
    """`side(field) op value`.

    value: In the layout of the kernels: an int, a float, an unscaled int, or UTF-8 bytes.
    nan_matches: A NaN would satisfy the predicate, so a file is kept if its writer may omit NaN from the bounds.
    """

    field: StatField
    side: Side
    op: Op
    value: int | float | bytes
    nan_matches: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AnyPoint(Term):
    """[min(field), max(field)] contains some of `points` (in the layout of the kernels, ascending, without NULL)."""

    field: StatField
    points: pa.Array
    nan_matches: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class NotOnly(Term):
    """The file may contain a value that is not in `points`: FALSE only where min = max is one of them."""

    field: StatField
    points: pa.Array
    nan_matches: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AnySpan(Term):
    """[min(field), max(field)] overlaps a span [lows[i], highs[i]] (int64, ascending, disjoint); INT64 columns only."""

    field: StatField
    lows: np.ndarray
    highs: np.ndarray


@dataclass(frozen=True, slots=True)
class CycleTerm(Term):
    """A hit of `cycle` may contain some value of both [low, high] and [min(field), max(field)]; INT64 columns only."""

    field: StatField
    cycle: Cycle
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class ConstantTerm(Term):
    """`node` may be TRUE, in a file where each of its columns has a single value (skipping.constants)."""

    node: Node
    columns: tuple[tuple[FieldRef, StatField], ...]
    time_zone: str


@dataclass(frozen=True, slots=True, eq=False)
class CollatedBound(Term):
    """`side(field) op value` in the order of `collation`; keys: the spellings of its id in `statsWithCollation`."""

    field: StatField
    side: Side
    op: Op
    value: str
    collation: Collation
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CollatedPrefix(Term):
    """Some value from min(field) to max(field) may start with `prefix`, as Spark defines it under `collation`."""

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
    """`node` reads partition columns only, so it is evaluated once for each distinct tuple of their values.

    bounds: A condition on the minimum and maximum values of many files together that holds if `node` may be TRUE for
    one of them; its fields are below stats.layout.PARTITION_VALUES.
    """

    node: Node
    columns: tuple[FieldRef, ...]
    bounds: Term = field(default_factory=Keep, compare=False)


@dataclass(frozen=True, slots=True)
class Leaf(Term):
    """A leaf of the user's predicate: its SQL text, and the compiled term that is evaluated for it.

    reason: Why no rule prunes more, set by the rule that gives up, or "". For a Drop, why no row matches. It follows
    from the predicate and the schema alone, whatever statistics the log contains.
    """

    text: str
    term: Term
    reason: str = ""

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True)
class Program:
    """The term to evaluate for each file, and the statistics and partition columns that it reads."""

    root: Term

    @cached_property
    def stat_leaves(self) -> tuple[StatLeaf, ...]:
        """Distinct statistics that the program reads, in order of first use."""
        found: dict[StatLeaf, None] = {}
        # Predicates have thousands of terms over few columns.
        seen: set[tuple[int, str]] = set()
        for term in terms_of(self.root):
            if isinstance(term, (BoundTerm, ValuesPossible, CycleTerm)):
                read = id(term.field), term.side if isinstance(term, BoundTerm) else type(term).__name__
                if read in seen:
                    continue
                seen.add(read)
            found.update(dict.fromkeys(_reads(term)))
        return tuple(found)

    @cached_property
    def partition_columns(self) -> tuple[FieldRef, ...]:
        """Distinct partition columns that the program reads."""
        terms = (term for term in terms_of(self.root) if isinstance(term, PartitionTerm))
        return tuple(dict.fromkeys(column for term in terms for column in term.columns))


class Statistics(Protocol):
    """Input of evaluation, one row per file (stats.LoggedStats) or per row group of a checkpoint."""

    num_rows: int

    def bound(self, field: StatField, side: Side) -> pa.Array:
        """Return minimums or maximums in the kernel layout of `field.kind`; null where unknown."""

    def null_count(self, field: StatField) -> pa.Array:
        """Return int64 null counts; null where unknown."""

    def num_records(self) -> pa.Array:
        """Return int64 row counts; null where unknown."""

    def max_covers_nan(self, field: StatField) -> pa.BooleanArray:
        """Return where the maximum of a float column is also an upper bound of NaN, or the column has no NaN."""

    def collated(self, field: StatField, side: Side, keys: tuple[str, ...], collation: Collation) -> CollatedBounds:
        """Return minimums or maximums under a collation, null where unknown, prepared for comparisons."""


def terms_of(term: Term) -> Iterator[Term]:
    """Yield `term` and all of its descendants, parents first."""
    pending = [term]
    while pending:
        current = pending.pop()
        yield current
        match current:
            case AllOf(children) | AnyOf(children):
                pending.extend(reversed(children))
            case Leaf(_, inner):
                pending.append(inner)
            case _:
                pass


def leaves_of(term: Term) -> list[Leaf]:
    """Return the leaves of the user's predicate, left to right."""
    return [inner for inner in terms_of(term) if isinstance(inner, Leaf)]


def _reads(term: Term) -> tuple[StatLeaf, ...]:
    match term:
        case BoundTerm(column, side):
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

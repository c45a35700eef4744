"""Program: the condition on a file's statistics and partition values that a predicate was rewritten to.

A term is a comparison of one statistic with a constant; it is TRUE ("keep") where the statistic is missing. AllOf and
AnyOf combine two-valued lanes, so evaluation needs no third value: what cannot be proved is Keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.collations.collation import Collation
from deltaskip.expr.nodes import FieldRef, Node
from deltaskip.kernels.compare import compare_columns_int64, compare_decimal128, compare_double, compare_int64
from deltaskip.kernels.compare_binary import compare_binary, in_range_binary, max_may_reach
from deltaskip.kernels.in_range import in_range_double, in_range_int64
from deltaskip.kernels.lane import Lane, and_lanes, constant_lane, or_lanes
from deltaskip.schema.arrow_values import TRUE, arrow_scalar
from deltaskip.skipping.constants import constant_files
from deltaskip.skipping.proofs.preimage.value_sets import Cycle
from deltaskip.skipping.spans import any_span, cycle_hits
from deltaskip.stats.collated_bounds import CollatedColumn, Op, collated_leaf
from deltaskip.stats.layout import CUT_FROM, NUM_RECORDS, BoundKind, Side, StatField, StatLeaf

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
    "evaluate",
    "leaves_of",
    "terms_of",
]


class Term:
    """Base of every node of a Program."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Keep(Term):
    """Proves nothing; `reason` says why, for explain."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Drop(Term):
    """No row of any file can match."""

    reason: str = ""


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
    """A leaf of the user's predicate: `text` as written, `term` what it became. Transparent to evaluation."""

    text: str
    term: Term


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


PartitionEvaluator = Callable[[PartitionTerm], Lane]


def evaluate(term: Term, statistics: Statistics, partitions: PartitionEvaluator) -> Lane:
    """The keep lane of `term`, one byte a row of `statistics`."""
    match term:
        case Keep():
            return constant_lane(statistics.num_rows, True)
        case Drop():
            return constant_lane(statistics.num_rows, False)
        case Leaf(_, inner):
            return evaluate(inner, statistics, partitions)
        case AllOf(children):
            lane = evaluate(children[0], statistics, partitions)
            for child in children[1:]:
                and_lanes(lane, evaluate(child, statistics, partitions))
            return lane
        case AnyOf(children):
            lane = evaluate(children[0], statistics, partitions)
            for child in children[1:]:
                or_lanes(lane, evaluate(child, statistics, partitions))
            return lane
        case Bound():
            return _guard_nan(_bound(term, statistics), term.nan_matches, statistics)
        case AnyPoint():
            return _guard_nan(_any_point(term, statistics), term.nan_matches, statistics)
        case NotOnly():
            return _guard_nan(_not_only(term, statistics), term.nan_matches, statistics)
        case AnySpan():
            return _lane(any_span(term.lows, term.highs, *_int64_bounds(term.field, statistics)))
        case CycleTerm():
            bounds = _int64_bounds(term.field, statistics)
            return _lane(cycle_hits(term.cycle, term.low, term.high, *bounds))
        case ConstantTerm(node, columns, time_zone):
            return _lane(constant_files(node, columns, time_zone, statistics))
        case CollatedBound():
            return statistics.collated(term.field, term.side, term.keys, term.collation).keep(term.op, term.value)
        case CollatedPrefix():
            lows = statistics.collated(term.field, "min", term.keys, term.collation)
            return lows.may_start_with(statistics.collated(term.field, "max", term.keys, term.collation), term.prefix)
        case NullsPossible(column):
            return compare_int64(statistics.null_count(column), "ne", 0)
        case ValuesPossible(column):
            return compare_columns_int64(statistics.null_count(column), statistics.num_records(), "ne")
        case PartitionTerm():
            return partitions(term)
        case _:
            return constant_lane(statistics.num_rows, True)


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


def _bound(term: Bound, statistics: Statistics) -> Lane:
    values = statistics.bound(term.field, term.side)
    value = term.value
    match term.field.kind:
        case BoundKind.INT64:
            assert isinstance(value, int)
            return compare_int64(values, term.op, value)
        case BoundKind.DOUBLE:
            assert isinstance(value, float)
            return compare_double(values, term.op, value)
        case BoundKind.DECIMAL:
            assert isinstance(value, int)
            return compare_decimal128(values, term.op, value)
        case BoundKind.TEXT:
            assert isinstance(value, bytes)
            if term.side == "max":
                return max_may_reach(values, value, CUT_FROM, strict=term.op == "gt")
            return compare_binary(values, term.op, value)
        case _:
            return constant_lane(statistics.num_rows, True)


def _any_point(term: AnyPoint, statistics: Statistics) -> Lane:
    mins, maxs = statistics.bound(term.field, "min"), statistics.bound(term.field, "max")
    match term.field.kind:
        case BoundKind.INT64:
            return in_range_int64(mins, maxs, term.points)
        case BoundKind.DOUBLE:
            return in_range_double(mins, maxs, term.points)
        case BoundKind.TEXT:
            return in_range_binary(mins, maxs, term.points, CUT_FROM)
        case _:
            return constant_lane(statistics.num_rows, True)


def _not_only(term: NotOnly, statistics: Statistics) -> Lane:
    mins, maxs = statistics.bound(term.field, "min"), statistics.bound(term.field, "max")
    points = pc.cast(term.points, mins.type)
    constant = pc.and_(pc.equal(mins, pc.cast(maxs, mins.type)), pc.is_in(mins, value_set=points, skip_nulls=True))
    if term.field.kind is BoundKind.TEXT:
        constant = pc.and_(constant, pc.less(pc.binary_length(mins), arrow_scalar(CUT_FROM, pa.int32())))
    keep = pc.fill_null(pc.invert(constant), TRUE)
    return _lane(keep)


def _int64_bounds(field: StatField, statistics: Statistics) -> tuple[pa.Array, pa.Array]:
    return statistics.bound(field, "min"), statistics.bound(field, "max")


def _guard_nan(lane: Lane, nan_matches: bool, statistics: Statistics) -> Lane:
    if nan_matches:
        or_lanes(lane, _lane(pc.invert(statistics.nan_recorded())))
    return lane


def _lane(keep: pa.BooleanArray) -> Lane:
    return compare_int64(keep, "ne", 0)

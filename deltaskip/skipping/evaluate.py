"""Evaluation of a Program by the kernels: statistics of files in, a keep mask out."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.kernels.compare import compare_columns_int64, compare_decimal128, compare_double, compare_int64
from deltaskip.kernels.compare_binary import compare_binary, in_range_binary, max_may_reach
from deltaskip.kernels.in_range import in_range_double, in_range_int64
from deltaskip.recursion import deep
from deltaskip.skipping import program
from deltaskip.skipping.constants import constant_files
from deltaskip.skipping.proofs.preimage.value_sets import Cycle
from deltaskip.sparkexpr.kernels import Lane, and_lanes, constant_lane, or_lanes
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, is_not_false, numpy_values
from deltaskip.stats.layout import CUT_FROM, BoundKind, StatField

PartitionEvaluator = Callable[[program.PartitionTerm], Lane]

_COMPARED: dict[BoundKind, Callable[..., Lane]] = {
    BoundKind.INT64: compare_int64,
    BoundKind.DOUBLE: compare_double,
    BoundKind.DECIMAL: compare_decimal128,
    BoundKind.TEXT: compare_binary,
}

_FAR = 1 << 61
"""Beyond this, adding the offset of a time zone could overflow 64 bits: such files are kept."""


def any_span(lows: np.ndarray, highs: np.ndarray, mins: pa.Array, maxs: pa.Array) -> pa.BooleanArray:
    """Return whether some span [lows[i], highs[i]] overlaps each [min, max]; True where a bound is null.

    The spans are ascending and disjoint. So of all spans that end at or after min, the first one has the least start: a
    span overlaps only if this one does.
    """
    low, high, known = _numbers(mins, maxs)
    first = np.searchsorted(highs, low, side="left")
    inside = first < len(highs)
    meets = inside & (lows[np.minimum(first, len(lows) - 1)] <= high)
    return arrow_array(meets | ~known)


def cycle_hits(cycle: Cycle, low: int, high: int, mins: pa.Array, maxs: pa.Array) -> pa.BooleanArray:
    """Return whether a hit of the cycle may contain some x of both [min, max] and [low, high]; True for null bounds.

    Such an x is in one of the cells from (max(min, low) + cycle.low) // grain to (min(max, high) + cycle.high) //
    grain. `steps` contains the number of cells from each cell of the cycle to the next hit.
    """
    first, last, known = _numbers(mins, maxs)
    known &= (first > -_FAR) & (first < _FAR) & (last > -_FAR) & (last < _FAR)
    first = np.maximum(np.where(known, first, 0), max(low, -_FAR))
    last = np.minimum(np.where(known, last, 0), min(high, _FAR))
    if abs(cycle.low) >= _FAR or abs(cycle.high) >= _FAR or cycle.grain >= _FAR:
        return arrow_array(np.ones(len(first), dtype=bool))
    from_cell, to_cell = (first + cycle.low) // cycle.grain, (last + cycle.high) // cycle.grain
    steps = _steps_to_hit(cycle.hits)
    meets = (first <= last) & (from_cell + steps[from_cell % len(steps)] <= to_cell)
    return arrow_array(meets | ~known)


@lru_cache(maxsize=64)
def _steps_to_hit(cells_hit: bytes) -> np.ndarray:
    at = np.flatnonzero(np.frombuffer(cells_hit, dtype=np.uint8))
    cells = len(cells_hit)
    following = np.repeat([*at, at[0] + cells], np.diff(at, prepend=-1, append=cells - 1))
    steps: np.ndarray = following - np.arange(cells)
    # A year of days is cached for each day and month that a predicate names.
    return steps.astype(np.min_scalar_type(steps.max()))


def _numbers(mins: pa.Array, maxs: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    known = numpy_values(pc.and_(pc.is_valid(mins), pc.is_valid(maxs)))
    low = numpy_values(pc.fill_null(mins, arrow_scalar(0, pa.int64())))
    high = numpy_values(pc.fill_null(maxs, arrow_scalar(0, pa.int64())))
    return low, high, known.copy()


@deep
def keep_mask(term: program.Term, statistics: program.Statistics, partitions: PartitionEvaluator) -> Lane:
    """Return the keep mask of `term`: a byte for each row of `statistics`.

    Args:
        term: The root of a Program, or a part of one.
        statistics: Statistics of files or of row groups.
        partitions: Returns the keep mask of a PartitionTerm over the same rows.
    """
    match term:
        case program.Keep():
            return constant_lane(statistics.num_rows, True)
        case program.Drop():
            return constant_lane(statistics.num_rows, False)
        case program.Leaf(_, inner):
            return keep_mask(inner, statistics, partitions)
        case program.AllOf(children):
            lane = keep_mask(children[0], statistics, partitions)
            for child in children[1:]:
                if not lane.count():
                    break
                and_lanes(lane, keep_mask(child, statistics, partitions))
            return lane
        case program.AnyOf(children):
            lane = keep_mask(children[0], statistics, partitions)
            for child in children[1:]:
                or_lanes(lane, keep_mask(child, statistics, partitions))
            return lane
        case program.BoundTerm():
            return _guard_nan(_bound(term, statistics), term, statistics)
        case program.AnyPoint():
            return _guard_nan(_any_point(term, statistics), term, statistics)
        case program.NotOnly():
            return _guard_nan(_not_only(term, statistics), term, statistics)
        case program.AnySpan():
            return _lane(any_span(term.lows, term.highs, *_bounds(term.field, statistics)))
        case program.CycleTerm():
            bounds = _bounds(term.field, statistics)
            return _lane(cycle_hits(term.cycle, term.low, term.high, *bounds))
        case program.ConstantTerm(node, columns, time_zone):
            return _lane(constant_files(node, columns, time_zone, statistics))
        case program.CollatedBound():
            return statistics.collated(term.field, term.side, term.keys, term.collation).keep(term.op, term.value)
        case program.CollatedPrefix():
            lows = statistics.collated(term.field, "min", term.keys, term.collation)
            return lows.may_start_with(statistics.collated(term.field, "max", term.keys, term.collation), term.prefix)
        case program.NullsPossible(column):
            return compare_int64(statistics.null_count(column), "ne", 0)
        case program.ValuesPossible(column):
            return compare_columns_int64(statistics.null_count(column), statistics.num_records(), "ne")
        case program.PartitionTerm():
            return partitions(term)
        case _:
            return constant_lane(statistics.num_rows, True)


def _bound(term: program.BoundTerm, statistics: program.Statistics) -> Lane:
    kind = term.field.kind
    if kind is None:
        return constant_lane(statistics.num_rows, True)
    values = statistics.bound(term.field, term.side)
    if kind is BoundKind.TEXT and term.side == "max":
        return max_may_reach(values, term.value, CUT_FROM, strict=term.op == "gt")  # type: ignore[arg-type]
    return _COMPARED[kind](values, term.op, term.value)


def _any_point(term: program.AnyPoint, statistics: program.Statistics) -> Lane:
    mins, maxs = _bounds(term.field, statistics)
    match term.field.kind:
        case BoundKind.INT64:
            return in_range_int64(mins, maxs, term.points)
        case BoundKind.DOUBLE:
            return in_range_double(mins, maxs, term.points)
        case BoundKind.TEXT:
            return in_range_binary(mins, maxs, term.points, CUT_FROM)
        case _:
            return constant_lane(statistics.num_rows, True)


def _not_only(term: program.NotOnly, statistics: program.Statistics) -> Lane:
    mins, maxs = _bounds(term.field, statistics)
    points = pc.cast(term.points, mins.type)
    constant = pc.and_(pc.equal(mins, pc.cast(maxs, mins.type)), pc.is_in(mins, value_set=points, skip_nulls=True))
    if term.field.kind is BoundKind.TEXT:
        constant = pc.and_(constant, pc.less(pc.binary_length(mins), arrow_scalar(CUT_FROM, pa.int32())))
    keep = is_not_false(pc.invert(constant))
    return _lane(keep)


def _bounds(field: StatField, statistics: program.Statistics) -> tuple[pa.Array, pa.Array]:
    return statistics.bound(field, "min"), statistics.bound(field, "max")


def _guard_nan(
    lane: Lane, term: program.BoundTerm | program.AnyPoint | program.NotOnly, statistics: program.Statistics
) -> Lane:
    """Keep files that may contain a NaN above their maximum. Who wrote them is read only if one would be skipped."""
    if term.nan_matches and lane.count() < statistics.num_rows:
        or_lanes(lane, _lane(pc.invert(statistics.max_covers_nan(term.field))))
    return lane


def _lane(keep: pa.BooleanArray) -> Lane:
    return compare_int64(keep, "ne", 0)

"""Minimum and maximum of a column from the log alone, if it proves them.

A file's bound is *attained* if some matching row certainly has that value: the whole file matches, its statistics
are tight (PROTOCOL, Per-file Statistics: a deletion vector makes them wide unless `tightBounds` is true),
writers do not truncate or round bounds of the type, and both bounds exist. Every other bound is only an edge: no
matching row has a value beyond it. The extreme is the outermost attained bound, if no edge is further out
(docs/pages/soundness.md, traps 1, 2, 4, 5 and 8).
"""

from __future__ import annotations

from dataclasses import field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import NotProvable
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch, candidates, live_row_counts
from deltaskip.skipping.constants import FIRST_DAY
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.skipping.partition_columns import readings
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.lengths import char_type
from deltaskip.sparkexpr.values import of_unscaled
from deltaskip.sparkexpr.values.arrow_values import FALSE, arrow_array, arrow_scalar, is_true, numpy_values
from deltaskip.stats.layout import CUT_FROM, BoundKind, Side, StatField, stat_field
from deltaskip.stats.tight_bounds import are_tight

_ZERO = arrow_scalar(0, pa.int64())
_FURTHER = "a file that only partly matches, or has wide bounds, may contain a value further out"
_LOSSLESS_DIGITS = 15
"""Decimals with at most this number of digits survive the conversion to and from a double by any writer."""


@dataclass(slots=True)
class _Outermost:
    """attained, edge: the outermost one so far. unknown: number of files without usable statistics."""

    attained: Any = None
    edge: Any = None
    unknown: int = 0
    side: Side = field(kw_only=True)

    def add(self, attained: Any, edge: Any) -> None:
        self.attained = self._outer(self.attained, attained)
        self.edge = self._outer(self.edge, edge)

    def beyond(self) -> bool:
        """Whether a matching row may have a value further out than the attained one."""
        if self.edge is None:
            return False
        return bool(self.attained is None or self._outer(self.edge, self.attained) != self.attained)

    def _outer(self, a: Any, b: Any) -> Any:
        if a is None or b is None:
            return b if a is None else a
        return min(a, b, key=_spark_order) if self.side == "min" else max(a, b, key=_spark_order)


def _spark_order(value: Any) -> tuple[bool, Any]:
    """NaN is greater than any number; strings compare by their bytes."""
    return (value != value, value.encode() if isinstance(value, str) else value)


def exact_extreme(predicate: CompiledPredicate, column: t.Resolved, side: Side) -> Any:
    """The least or greatest value of `column` in the rows for which the predicate is TRUE; None if all are NULL.

    Returns a Python value: int, float, bool, str, Decimal, date, or datetime (aware for timestamps). Raises NotProvable
    with the reason.
    """
    snapshot, zone = predicate.snapshot, predicate.portable.time_zone
    name = t.display_name(column.logical)
    in_partition = t.fold_name(column.logical[0]) in {t.fold_name(p) for p in snapshot.partition_columns}
    if char_type(snapshot.schema, column.logical) or t.collation_of(column) is not None:
        raise _refusal(snapshot, side, name, "its values are not compared in binary order")
    reason = None if in_partition else unfit(stat_field(column))
    if reason is not None:
        raise _refusal(snapshot, side, name, reason)
    found = _Outermost(side=side)
    for batch in candidates(snapshot, predicate.program):
        kept = predicate.listed(batch)
        kept = arrow_array(np.arange(batch.num_rows)) if kept is None else kept
        if not len(kept):
            continue
        whole = pc.invert(predicate.negated.kept(batch).to_arrow().take(kept))
        rows = live_row_counts(batch, kept)
        if in_partition:
            _partition_extreme(found, batch, kept, pc.and_(whole, is_true(pc.greater(rows, _ZERO))), rows, column, zone)
        else:
            _bound_extreme(found, batch, kept, whole, rows, column)
    if found.unknown:
        files = "1 file has" if found.unknown == 1 else f"{found.unknown:,} files have"
        raise _refusal(snapshot, side, name, f"{files} no usable statistics for it")
    if found.beyond():
        raise _refusal(snapshot, side, name, _FURTHER)
    try:
        return (_partition_value if in_partition else _public)(found.attained, column)
    except OverflowError:
        reason = "it is not in the years 1 to 9999, which are all that Python's dates have"
        raise _refusal(snapshot, side, name, reason) from None


def unfit(statistic: StatField) -> str | None:
    """Why no bound of a column is the value of a row, for messages; None if bounds may be."""
    if statistic.kind is None:
        return f"columns of type {t.simple_string(statistic.type)} have no min/max statistics"
    if statistic.type in (t.TIMESTAMP, t.TIMESTAMP_NTZ, *t.NANOSECONDS):
        return "statistics contain timestamps truncated to milliseconds"
    if statistic.kind is BoundKind.DOUBLE and statistic.widened_from:
        return "older files contain it in a narrower type, which makes its bounds wide"
    return None


def _bound_extreme(
    found: _Outermost, batch: FileBatch, kept: pa.Array, whole: pa.Array, rows: pa.Array, column: t.Resolved
) -> None:
    facts = bound_facts(batch, kept, whole, rows, stat_field(column), found.side)
    found.unknown += facts.unknown.true_count
    inexact = pc.and_not(facts.counted, facts.exact)
    attained, edges = facts.values.filter(facts.exact), facts.values.filter(inexact)
    found.add(_outermost(attained, found.side), _outermost(edges, found.side))


@dataclass(frozen=True, slots=True)
class BoundFacts:
    """What the log proves about the extreme of a column in each file.

    Attributes:
        values: The bound in the layout of the statistics: no matching row has a value beyond it. Null if unknown.
        exact: Where a matching row certainly has this value.
        counted: Where the file has rows in which the column is not NULL, as far as the log says.
        unknown: Where it has such rows, and no usable bound.
    """

    values: pa.Array
    exact: pa.BooleanArray
    counted: pa.BooleanArray
    unknown: pa.BooleanArray


def bound_facts(
    batch: FileBatch, kept: pa.Array, whole: pa.Array, rows: pa.Array, statistic: StatField, side: Side
) -> BoundFacts:
    """Return what the statistics of files prove about the extreme of a column that is not a partition column.

    Args:
        batch: The files.
        kept: Positions of the files in the batch.
        whole: Where every row of the file matches.
        rows: How many rows the file has; null if that is not known.
        statistic: The column, of a type with bounds.
        side: Which extreme.
    """
    stats = batch.statistics
    values = stats.bound(statistic, side).take(kept)
    empty = pc.or_(
        is_true(pc.equal(rows, _ZERO)), is_true(pc.equal(stats.null_count(statistic), stats.num_records()).take(kept))
    )
    counted = pc.invert(empty)
    unknown = pc.and_(counted, pc.is_null(values, nan_is_null=True))
    if statistic.kind is BoundKind.DOUBLE and side == "max":
        unknown = pc.and_(counted, pc.or_(unknown, pc.invert(stats.max_covers_nan(statistic).take(kept))))
    other = stats.bound(statistic, "max" if side == "min" else "min").take(kept)
    exact = pc.and_(pc.and_(whole, pc.is_valid(other)), _as_written(values, statistic))
    [vectors] = batch.rows(["deletion_vector"], kept)
    exact = pc.and_(pc.and_(exact, counted), are_tight(stats.tight().take(kept), vectors))
    return BoundFacts(values, exact, counted, unknown)


def _partition_extreme(
    found: _Outermost,
    batch: FileBatch,
    kept: pa.Array,
    sure: pa.Array,
    rows: pa.Array,
    column: t.Resolved,
    zone: str | None,
) -> None:
    """sure: files in which every row matches, and which have rows."""
    partition, codes = batch.partition(column.physical[0], column.type)
    filled = pc.invert(is_true(pc.equal(rows, _ZERO)))
    values = partition.values(zone)
    for flags, attains in ((pc.and_(sure, filled), True), (pc.and_(pc.invert(sure), filled), False)):
        for code in codes.take(kept.filter(flags)).unique().to_pylist():
            possible = readings(values[code], partition.texts[code], column.type)
            if possible is None or len(possible) > 1:
                found.unknown += 1
                continue
            value = possible[0]
            found.add(value if attains else None, None if attains else value)


def _as_written(values: pa.Array, field: StatField) -> pa.Array:
    """Where a bound is exactly the value of a row, whichever writer wrote it."""
    match field.kind:
        case BoundKind.TEXT:
            written = pc.less(pc.binary_length(values), arrow_scalar(CUT_FROM, pa.int32()))
        case BoundKind.DECIMAL:
            written = _short(values, field.type)
        case BoundKind.INT64 if field.type == t.DATE:
            written = pc.greater_equal(values, arrow_scalar(FIRST_DAY, pa.int64()))
        case _:
            written = pc.is_valid(values)
    return is_true(written)


def _short(values: pa.Array, type_: Any) -> pa.Array:
    assert isinstance(type_, t.DecimalType)
    if type_.precision <= _LOSSLESS_DIGITS:
        return pc.is_valid(values)
    if type_.scale >= _LOSSLESS_DIGITS:
        return pa.repeat(FALSE, len(values))
    limit = of_unscaled(1, type_.scale - _LOSSLESS_DIGITS)
    high, low = arrow_scalar(limit, values.type), arrow_scalar(limit.copy_negate(), values.type)
    return pc.and_(pc.less(values, high), pc.greater(values, low))


def _outermost(values: pa.Array, side: Side) -> Any:
    if pa.types.is_floating(values.type):
        known = numpy_values(values.drop_null())
        # NaN is the greatest number; numpy's minimum would return it.
        ordered = known[~np.isnan(known)] if side == "min" and not np.isnan(known).all() else known
        return None if not len(ordered) else float(ordered.min() if side == "min" else ordered.max())
    return pc.min_max(values)[side].as_py()


def _public(value: Any, column: t.Resolved) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if column.type == t.DATE and value is not None:
        return date(1970, 1, 1) + timedelta(days=value)
    return bool(value) if column.type == t.BOOLEAN and value is not None else value


def _partition_value(value: Any, column: t.Resolved) -> Any:
    if value is None:
        return None
    if column.type in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        epoch = datetime(1970, 1, 1, tzinfo=UTC if column.type == t.TIMESTAMP else None)
        return epoch + timedelta(microseconds=value)
    return _public(value, column)


def _refusal(snapshot: Snapshot, side: Side, name: str, reason: str) -> NotProvable:
    return NotProvable(
        f"The log of {snapshot.table_root} at version {snapshot.version} does not prove the {side}imum of {name}: "
        f"{reason}. Read the column with to_arrow() for pyarrow.compute.{side}, or use "
        f"to_spark(spark).agg({{{name!r}: {side!r}}})."
    )

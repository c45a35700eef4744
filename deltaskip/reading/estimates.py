"""Estimates for the optimizer of an engine, from the log alone: rows, NULLs, bounds and distinct values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.skipping.comparable import restored
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.skipping.file_totals import UNKNOWN, FileTotals, file_totals
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats.layout import Side

_SIDES: tuple[Side, Side] = ("min", "max")
_BOUNDED = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.BOOLEAN, t.DATE, t.TIMESTAMP, *t.FLOATING)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates of the rows of the files that a scan keeps.

    Attributes:
        rows: The number of rows.
        columns: By the name of a column, its statistics as text, by Spark's names of them: `nullCount`, and together
            `distinctCount`, `min` and `max`. A statistic that the log does not have is missing.
    """

    rows: int
    columns: Mapping[str, Mapping[str, str]]


def estimated(predicate: CompiledPredicate) -> Estimates | None:
    """Return the estimates of the files that a predicate keeps; None if the log does not say how many rows they have.

    Columns are numbers, dates, timestamps, booleans and strings without a collation: Spark's optimizer fails on
    statistics of other types. # Spark 4.1, FilterEstimation.evaluateBinary
    """
    snapshot = predicate.snapshot
    partitions = {field.name for field in snapshot.partition_fields}
    resolved = (t.resolve(snapshot.schema, [f.name], snapshot.mapping_mode, True) for f in snapshot.schema.fields)
    columns = [each for each in resolved if _is_bounded(each) or (each.type == t.STRING and not t.collation_of(each))]
    bounded = [each for each in columns if _is_bounded(each) or each.logical[0] in partitions]
    found = file_totals(predicate, columns, [(each, side) for each in bounded for side in _SIDES])
    if (found.rows == UNKNOWN).any():
        return None
    return Estimates(int(found.rows.sum()), {each.logical[0]: _of_column(found, each, partitions) for each in columns})


def _is_bounded(column: t.Resolved) -> bool:
    return column.type in _BOUNDED or isinstance(column.type, t.DecimalType)


def _of_column(totals: FileTotals, column: t.Resolved, partitions: set[str]) -> dict[str, str]:
    """The statistics of a column.

    The log has no number of distinct values but of a partition column. Another has at most as many as it has values,
    and as there are numbers between its bounds.
    """
    counts = totals.not_null[column.logical]
    if (counts == UNKNOWN).any():
        return {}
    distinct = int(counts.sum())
    found = {"nullCount": str(int(totals.rows.sum()) - distinct)}
    sides = [totals.extremes[column.logical, side] for side in _SIDES if (column.logical, side) in totals.extremes]
    if not sides or any((numpy_values(pc.is_null(each.edges)) & ~each.none).any() for each in sides):
        return found
    in_partition = column.logical[0] in partitions
    if in_partition:
        distinct = pc.count_distinct(sides[0].edges).as_py()
    if not distinct or column.type == t.STRING:
        return {**found, "distinctCount": str(distinct)}
    ends = [pc.min_max(each.edges)[side].as_py() for each, side in zip(sides, _SIDES, strict=True)]
    if not in_partition and column.type not in t.FLOATING:
        steps = 10**column.type.scale if isinstance(column.type, t.DecimalType) else 1
        distinct = min(distinct, int((ends[1] - ends[0]) * steps) + 1)
    texts = [_text(restored(arrow_array([end], sides[0].edges.type), column.type)) for end in ends]
    if None in texts:
        return found
    return {
        **found,
        "distinctCount": str(distinct),
        **{side: str(text) for side, text in zip(_SIDES, texts, strict=True)},
    }


def _text(one: pa.Array) -> str | None:
    """A value as Spark's catalogs have it; None for one that they do not have. # Spark 4.1, CatalogColumnStat"""
    try:
        [found] = one.to_pylist()
    except (OverflowError, ValueError):
        return None
    match found:
        case bool():
            return str(found).lower()
        case float():
            return repr(found) if math.isfinite(found) else None
        case Decimal():
            return format(found, "f")
        case datetime():
            return found.replace(tzinfo=None).isoformat(" ", "microseconds")
        case _:
            return str(found)

"""Skipping of whole row groups of a checkpoint: its Parquet footer bounds the statistics inside.

A term `min(c) <= v` is false for every file of a row group if it is false for the smallest minimum in it, and
`max(c) >= v` if it is false for the largest maximum; the footer contains both. Footer bounds ignore nulls, and a null
is a file without that statistic, which must be kept: bounds are used only if every add in the row group has them
(docs/pages/soundness.md, trap 13). Other actions (remove, protocol, …) are null in every statistic.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.log.checkpoint.manifests import ManifestPart
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.log.column_cache import ColumnCache
from deltaskip.skipping.evaluate import keep_mask
from deltaskip.skipping.program import PartitionTerm, Program, Term
from deltaskip.sparkexpr.collations import Collation
from deltaskip.sparkexpr.kernels import Lane
from deltaskip.sparkexpr.types import arrow_type
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.stats.believed_bounds import BoundForm
from deltaskip.stats.cache_keys import CacheKey
from deltaskip.stats.collated_bounds import CollatedBounds
from deltaskip.stats.decode import from_struct
from deltaskip.stats.layout import CUT_FROM, PARTITION_VALUES, BoundKind, Side, StatField, StatLeaf


def row_groups_to_read(program: Program, part: CheckpointPart, cache: ColumnCache) -> list[int]:
    """Ordinals of the row groups of `part` that may contain an add that `program` keeps, ascending.

    Nothing is read of a manifest whose entry in the root of its tree rules out all its files.
    """
    if isinstance(part, ManifestPart) and part.manifest.bounds and not len(_keep(program.root, _Entry(part)).indices()):
        return []
    key: CacheKey = ("footer", part.path)
    footer: _Footer | None = cache.get(key)
    if footer is None:
        footer = _Footer(part)
        cache.put(key, footer, 0)
    lane = _keep(program.root, footer)
    kept: list[int] = lane.indices().to_pylist()
    return [group for group in kept if part.add_rows(group)]


def _keep(term: Term, footer: _Footer) -> Lane:
    def partitions(inner: PartitionTerm) -> Lane:
        return _keep(inner.bounds, footer)

    return keep_mask(term, footer, partitions)


class _Footer:
    """Statistics of row groups (skipping.program.Statistics). Immutable except for decoded bounds that it caches."""

    def __init__(self, part: CheckpointPart) -> None:
        self.num_rows: int = part.metadata.num_row_groups
        self._part = part
        self._bounds: dict[tuple[StatField, Side], pa.Array] = {}

    def bound(self, field: StatField, side: Side) -> pa.Array:
        """The outermost bound of the row group's files; null if a file has none."""
        key = (field, side)
        if key not in self._bounds:
            column = self._column(StatLeaf("minValues" if side == "min" else "maxValues", field))
            values = [self._value(column, group, side) for group in range(self.num_rows)]
            self._bounds[key] = self._decode(values, column, field, side)
        return self._bounds[key]

    def null_count(self, field: StatField) -> pa.Array:
        """0 if every file of the row group has 0, else unknown: one number cannot represent many."""
        column = self._column(StatLeaf("nullCount", field))
        largest = [self._value(column, group, "max") for group in range(self.num_rows)]
        return arrow_array([0 if value == 0 else None for value in largest], pa.int64())

    def num_records(self) -> pa.Array:
        return pa.nulls(self.num_rows, pa.int64())

    def collated(self, field: StatField, side: Side, keys: tuple[str, ...], collation: Collation) -> CollatedBounds:
        """Always unknown: footers have bounds in binary order only."""
        return CollatedBounds(pa.nulls(self.num_rows, pa.string()), collation)

    def max_covers_nan(self, field: StatField) -> pa.BooleanArray:
        return arrow_array([False] * self.num_rows)

    @property
    def _is_hybrid(self) -> bool:
        return self._part.hybrid_calendar

    def _column(self, leaf: StatLeaf) -> tuple[int, pa.DataType] | None:
        if leaf.field is not None and leaf.field.physical[0] == PARTITION_VALUES:
            # Partition values: one column is both bounds, and null counts do not exist.
            return self._part.leaves.get(("add", *leaf.field.physical)) if leaf.side else None
        return self._part.leaves.get(("add", "stats_parsed", *leaf.path))

    def _value(self, column: tuple[int, pa.DataType] | None, group: int, side: Side) -> Any:
        if column is None:
            return None
        ordinal, type_ = column
        chunk = self._part.metadata.row_group(group).column(ordinal)
        statistics = chunk.statistics
        if statistics is None or not statistics.has_min_max or not statistics.has_null_count:
            return None
        if self._part.values_at(ordinal, group) != self._part.add_rows(group) or chunk.physical_type == "INT96":
            return None
        if chunk.physical_type in ("INT32", "INT64") and not pa.types.is_decimal(type_):
            return statistics.min_raw if side == "min" else statistics.max_raw
        return statistics.min if side == "min" else statistics.max

    def _decode(
        self, values: list[Any], column: tuple[int, pa.DataType] | None, field: StatField, side: Side
    ) -> pa.Array:
        if column is None or field.kind is BoundKind.DOUBLE or all(value is None for value in values):
            # Footers omit NaN, so they prove nothing about a file whose own bound is NaN.
            return pa.nulls(self.num_rows, _layout(field))
        if (pa.types.is_temporal(column[1]) and self._is_hybrid) or _holds_more(column[1], field):
            # The outermost bound does not limit unknown bounds of other files.
            return pa.nulls(self.num_rows, _layout(field))
        if field.kind is BoundKind.TEXT:
            return arrow_array([_text(value, side) for value in values], pa.large_binary())
        arrow = column[1]
        integral = pa.types.is_temporal(arrow) or pa.types.is_integer(arrow)
        raw = arrow_array(values, pa.int64() if integral else arrow)
        if pa.types.is_date32(arrow) or pa.types.is_integer(arrow):
            raw = pc.cast(raw, pa.int32() if pa.types.is_date32(arrow) else arrow)
        form = BoundForm.EXACT if field.physical[0] == PARTITION_VALUES else BoundForm.GROUP
        return from_struct(raw.view(arrow) if pa.types.is_temporal(arrow) else raw, field, side, form)


class _Entry(_Footer):
    """Statistics of all files of a manifest, from its entry in the root of its tree, as those of one row group.

    # RFC Adaptive Metadata, Content Stats: one that any of the files lacks is null there.
    """

    def __init__(self, part: ManifestPart) -> None:
        self.num_rows = 1
        self._named = part.bounds
        self._bounds = {}

    @property
    def _is_hybrid(self) -> bool:
        return False

    def _column(self, leaf: StatLeaf) -> tuple[Any, pa.DataType] | None:
        path = leaf.path
        if path[1:2] == (PARTITION_VALUES,):
            path = (leaf.group, *path[2:])
        found = self._named.get(path)
        return None if found is None else (found, found.type)

    def _value(self, column: tuple[Any, pa.DataType] | None, group: int, side: Side) -> Any:
        if column is None:
            return None
        return column[0].value if pa.types.is_temporal(column[1]) else column[0].as_py()


def _holds_more(stored: pa.DataType, field: StatField) -> bool:
    """Whether a bound of the stored type may not be a value of the column's type, so that it is unknown."""
    own = _layout(field) if field.kind is BoundKind.DECIMAL else arrow_type(field.type)
    if pa.types.is_integer(stored) and pa.types.is_integer(own):
        return bool(stored.bit_width > own.bit_width)
    if pa.types.is_decimal(stored) and pa.types.is_decimal(own):
        return bool(stored.scale > own.scale or stored.precision - stored.scale > own.precision - own.scale)
    return False


def _text(value: Any, side: Side) -> bytes | None:
    """A bound as bytes. A long maximum is raised above every string that shares its first bytes.

    A file's maximum b of CUT_FROM bytes or more may stand for any string that starts with b (program.Bound). Such a
    string is at most the row group's maximum, or shares at least its first CUT_FROM bytes with it.
    """
    if not isinstance(value, str):
        return None
    text = value.encode()
    return text if side == "min" or len(text) < CUT_FROM else text[:CUT_FROM] + b"\xff" * 8


def _layout(field: StatField) -> pa.DataType:
    match field.kind:
        case BoundKind.DOUBLE:
            return pa.float64()
        case BoundKind.TEXT:
            return pa.large_binary()
        case BoundKind.DECIMAL:
            return pa.decimal128(field.type.precision, field.type.scale)  # type: ignore[attr-defined]
        case _:
            return pa.int64()

"""Collated bounds of a batch of files, and comparisons with them.

# COLLATIONS RFC, Per-file Statistics: statsWithCollation, keyed by the collation's identifier with its version
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.kernels.compare import compare_int64
from deltaskip.sparkexpr.collations import Collation
from deltaskip.sparkexpr.kernels import KeyColumn, Lane, constant_lane
from deltaskip.sparkexpr.values.arrow_values import FALSE, arrow_scalar, is_true
from deltaskip.stats.layout import CUT_FROM, Side, StatField, StatLeaf

Op = Literal["lt", "le", "gt", "ge", "eq", "ne"]

_KEYS_FROM = 3
"""After this number of comparisons of one column, its sort keys are computed and cached."""


def collated_leaf(field: StatField, side: Side, keys: tuple[str, ...]) -> StatLeaf:
    """Return the leaf of a bound under a collation. keys: Spellings of its identifier."""
    return StatLeaf("minValues" if side == "min" else "maxValues", field, keys)


def merged_spellings(columns: Sequence[pa.Array], verified: Callable[[], pa.BooleanArray]) -> pa.Array:
    """Return one bound per file from the bounds under each spelling; null if two of them differ or none is usable.

    Writers truncate long strings at a fixed length, and under a collation a prefix of a string need not be below it: a
    bound that may be truncated is unusable (docs/pages/soundness.md, trap 7), except in files that are `verified`.
    """
    values = agreed(columns)
    if values.null_count == len(values):
        return values
    cut = pc.greater_equal(pc.binary_length(values), arrow_scalar(CUT_FROM, pa.int32()))
    if not pc.any(cut).as_py():
        return values
    return pc.if_else(pc.and_not(cut, verified()), arrow_scalar(None, values.type), values)


def agreed(columns: Sequence[pa.Array]) -> pa.Array:
    """Return the value that the columns have in each row; null if two of them differ or all are null."""
    columns = [column for column in columns if column.null_count < len(column)] or list(columns[:1])
    values = columns[0]
    differ = pa.repeat(FALSE, len(values))
    for other in columns[1:]:
        differ = pc.or_(differ, is_true(pc.not_equal(values, other.cast(values.type))))
        values = pc.coalesce(values, other.cast(values.type))
    return pc.if_else(differ, arrow_scalar(None, values.type), values) if len(columns) > 1 else values


class CollatedBounds:
    """A bound of each file under one collation. Files without one are kept. Sort keys speed up repeated comparisons."""

    def __init__(self, values: pa.Array, collation: Collation) -> None:
        self._values = values
        self._collation = collation
        self._keys: KeyColumn | None = None
        self._comparisons = 0

    def __len__(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        """Size of the bounds and of their future keys in bytes."""
        return int(self._values.nbytes) * 4 + 8 * len(self._values)

    def sort_keys(self) -> pa.Array:
        """Return the sort key of each bound, for an order of files; null without a bound."""
        return self._collation.sort_keys(self._values)

    def keep(self, op: Op, value: str) -> Lane:
        """Return the keep mask of `bound op value`."""
        if self._values.null_count == len(self._values):
            return constant_lane(len(self._values), True)
        self._comparisons += 1
        if self._comparisons < _KEYS_FROM and self._keys is None:
            return compare_int64(pc.cast(self._collation.compare(self._values, value), pa.int64()), op, 0)
        return self._key_column().keep(op, self._collation.key(value))

    def may_start_with(self, highest: CollatedBounds, prefix: str) -> Lane:
        """Return the keep mask of files whose values, between these minima and `highest`, may start with `prefix`."""
        return self._collation.may_start_with(self._key_column(), highest._key_column(), prefix)

    def _key_column(self) -> KeyColumn:
        if self._keys is None:
            self._keys = KeyColumn(self._collation.sort_keys(self._values))
        return self._keys

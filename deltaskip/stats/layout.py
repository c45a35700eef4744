"""Positions of statistics: the leaves of PROTOCOL, Per-file Statistics."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Literal

from deltaskip.records import dataclass
from deltaskip.schema.type_widening import widened_types
from deltaskip.sparkexpr import types as t

Side = Literal["min", "max"]

COLLATED = "statsWithCollation"
"""Key of the bounds under collations: identifiers of collations are below it, and the bounds below each identifier."""

PARTITION_VALUES = "partitionValues_parsed"
"""First name of a StatField for a partition column, whose value checkpoints store beside the statistics."""

EXPRESSION_STATS = "expressionStats"
"""Key of the bounds of expressions: their signatures are below it, and the bounds below each signature."""

CUT_FROM = 32
"""A string maximum of this many code points or bytes, without a tie-breaker, may be a truncated prefix.

32 is the shortest length at which a writer of Delta statistics is known to truncate without raising the last character
(docs/pages/soundness.md, trap 5)."""


class BoundKind(Enum):
    """Layout of a bound for the kernels."""

    INT64 = "int64"
    """byte, short, integer, long, boolean (0, 1), date (days), timestamps (microseconds, or nanoseconds)."""
    DOUBLE = "double"
    """float, double: the widened double."""
    DECIMAL = "decimal"
    """decimal128 at the column's precision and scale; literals are unscaled integers."""
    TEXT = "text"
    """string as UTF-8 bytes."""


_KINDS: dict[t.DataType, BoundKind] = {
    **dict.fromkeys(
        (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.BOOLEAN, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ, *t.NANOSECONDS),
        BoundKind.INT64,
    ),
    **dict.fromkeys(t.FLOATING, BoundKind.DOUBLE),
    t.STRING: BoundKind.TEXT,
}


def bound_kind(type_: t.DataType) -> BoundKind | None:
    """The kernel layout of a column's bounds, or None for types whose bounds are not used (binary, variant, nested)."""
    if isinstance(type_, t.DecimalType):
        return BoundKind.DECIMAL
    return _KINDS.get(type_) if isinstance(type_, t.PrimitiveType | t.UnknownType) else None


@dataclass(frozen=True, slots=True)
class StatField:
    """A column of the statistics: physical path and type, and the narrower types of older files.

    `widened_from` holds the type names of `delta.typeChanges` (PROTOCOL, Type Widening); `label` is the logical name.
    `inside` is a part of the values of a column of the type `container`, with `type`; "" for a column. Of a variant, it
    is a normalized path, and statistics say nothing about rows that lack it (PROTOCOL, Statistics for Variant Columns).
    Of shapes, it is a coordinate, x or y. `signature` is the key of the bounds of an expression over the column; `type`
    is then the type of the expression, and no statistic counts its NULLs.
    """

    physical: tuple[str, ...]
    type: t.DataType
    label: str
    widened_from: frozenset[str] = frozenset()
    inside: str = ""
    container: t.DataType = t.VARIANT
    signature: str = ""

    def __hash__(self) -> int:
        return hash(self.physical)

    @property
    def is_column(self) -> bool:
        """Whether the bounds are those of the column's own values."""
        return not self.inside and not self.signature

    @property
    def column(self) -> StatField:
        """The column whose NULLs are counted: of a path inside a variant, the variant."""
        label = self.label.removesuffix(f":{self.inside}")
        return StatField(self.physical, self.container, label) if self.inside else self

    @property
    def kind(self) -> BoundKind | None:
        """Kernel layout of the bounds."""
        return bound_kind(self.type)


def stat_field(column: t.Resolved) -> StatField:
    """Return a column as statistics identify it."""
    label = t.display_name(column.logical)
    return StatField(column.physical, column.type, label, widened_types(column.field.metadata))


@dataclass(frozen=True, slots=True)
class StatLeaf:
    """One leaf of the statistics: `group` is numRecords, tightBounds, nullCount, minValues or maxValues.

    collation: for a bound under a collation, the spellings of its identifier that may occur below statsWithCollation.
    A spelling in lower case also matches any other letter case, except the other spellings.
    """

    group: str
    field: StatField | None = None
    collation: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash((self.group, None if self.field is None else self.field.physical))

    @property
    def path(self) -> tuple[str, ...]:
        """Keys from the root of the statistics; under a collation, for its first spelling."""
        if self.field is None:
            return (self.group,)
        # COLLATIONS RFC, Per-file Statistics; RFC Clustering by expressions
        above = (COLLATED, self.collation[0]) if self.collation else ()
        if self.field.signature:
            above = (EXPRESSION_STATS, self.field.signature)
        return (*above, self.group, *self.field.physical)

    @property
    def spellings(self) -> tuple[StatLeaf, ...]:
        """The leaf under each spelling of its collation; itself without a collation."""
        return tuple([replace(self, collation=(key,)) for key in self.collation]) if self.collation else (self,)

    @property
    def side(self) -> Side | None:
        """The side of the bound, or None for other statistics."""
        return {"minValues": "min", "maxValues": "max"}.get(self.group)  # type: ignore[return-value]


NUM_RECORDS = StatLeaf("numRecords")

MOST_ROWS = 1 << 40
"""More rows than any Parquet file has. Sums of this number over millions of files fit in 64 bits."""

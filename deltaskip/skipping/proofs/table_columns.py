"""The columns of a table as proofs use them: their statistics, and the reasons why bounds cannot be used."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from deltaskip.records import dataclass
from deltaskip.schema.type_widening import widened_types
from deltaskip.skipping.program import Keep, NullsPossible, ValuesPossible
from deltaskip.skipping.proofs.terms import Proof, all_of
from deltaskip.sparkexpr.nodes import FieldRef
from deltaskip.sparkexpr.types import MappingMode, StructField, StructType, leaves, simple_string
from deltaskip.sparkexpr.types.lengths import char_type
from deltaskip.stats.layout import StatField


def label(column: FieldRef) -> str:
    """The column's logical name, with dots between the names of nested fields."""
    return ".".join(column.logical)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Columns of the schema, in the table's column mapping mode."""

    schema: StructType
    mode: MappingMode
    _by_name: dict[str, StructField] = field(init=False, repr=False, compare=False)
    # By the identity of a column, which is one object in a predicate. It is kept, so that its identity is not reused.
    _known: dict[int, tuple[FieldRef, StatField | None]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _unusable: dict[int, tuple[FieldRef, str]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        by_name: dict[str, StructField] = {}
        for declared in self.schema.fields:
            by_name.setdefault(declared.name, declared)
        object.__setattr__(self, "_by_name", by_name)

    def stat_field(self, column: FieldRef) -> StatField | None:
        """The column as statistics identify it; None for a partition column."""
        known = self._known.get(id(column))
        if known is None:
            declared = None if column.partition else self._declared(column)
            found = None
            if declared is not None:
                found = StatField(column.physical, column.type, label(column), widened_types(declared.metadata))
            known = self._known[id(column)] = column, found
        return known[1]

    def is_padded(self, column: FieldRef) -> bool:
        """Whether the column is a char(n): Spark compares it, and the literal, padded with blanks."""
        return bool(self._char_type(column))

    def unusable_bounds(self, column: FieldRef) -> str:
        """Why no rule compares the column's binary bounds, as a reason; "" where rules do."""
        known = self._unusable.get(id(column))
        if known is None:
            known = self._unusable[id(column)] = column, self._unusable_bounds(column)
        return known[1]

    def _unusable_bounds(self, column: FieldRef) -> str:
        if self.is_padded(column):
            kind = self._char_type(column)
            return f"{label(column)} is {kind}, which Spark compares padded with blanks, unlike its bounds"
        if column.collation is not None:
            return f"no rule prunes this expression under the collation {column.collation}"
        statistics = self.stat_field(column)
        if statistics is not None and statistics.kind is None:
            return f"no rule uses min and max of {label(column)}, which is {simple_string(column.type)}"
        return ""

    def is_null(self, column: FieldRef) -> Proof:
        """Some row is NULL only if nullCount is not 0. A struct can be null only where each of its leaves is."""
        statistics = self.stat_field(column)
        if statistics is None:
            return _uncounted(column)
        if not isinstance(statistics.type, StructType):
            return Proof(NullsPossible(statistics))
        depth = len(statistics.physical)
        inner = [leaf for leaf in leaves(self.schema, self.mode) if leaf.physical[:depth] == statistics.physical]
        if not inner:
            return _uncounted(column)
        return Proof(
            all_of([NullsPossible(StatField(leaf.physical, leaf.type, ".".join(leaf.logical))) for leaf in inner])
        )

    def is_not_null(self, column: FieldRef) -> Proof:
        """Some row is not NULL only if nullCount is not numRecords. A struct has no count."""
        statistics = self.stat_field(column)
        if statistics is None or isinstance(statistics.type, StructType):
            return _uncounted(column)
        return Proof(ValuesPossible(statistics))

    def _char_type(self, column: FieldRef) -> str:
        declared = self._by_name.get(column.logical[0])
        return "" if declared is None else char_type(StructType((declared,)), column.logical)

    def _declared(self, column: FieldRef) -> StructField | None:
        """The schema's field, found by its exact names."""
        found = self._by_name.get(column.logical[0])
        current: Any = None if found is None else found.type
        for name in column.logical[1:]:
            fields = current.fields if isinstance(current, StructType) else ()
            found = next((f for f in fields if f.name == name), None)
            if found is None:
                return None
            current = found.type
        return found


def _uncounted(column: FieldRef) -> Proof:
    return Proof(Keep(), f"no statistic counts the NULL values of {label(column)} itself")

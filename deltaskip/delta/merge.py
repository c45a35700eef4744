"""delta-spark's DeltaMergeBuilder: checks its arguments. MERGE itself is not available yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltaskip.delta.checks import assignments, condition
from deltaskip.delta.errors import not_available

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["DeltaMergeBuilder"]


class DeltaMergeBuilder:
    """The clauses of a MERGE. Each method checks its arguments and returns the builder; `execute` is not available."""

    def whenMatchedUpdate(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Update columns of rows that match."""
        return self._setting(set, "'set' in whenMatchedUpdate", condition)

    def whenMatchedUpdateAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Update all columns of rows that match."""
        return self._when(condition)

    def whenMatchedDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Delete rows that match."""
        return self._when(condition)

    def whenNotMatchedInsert(
        self, condition: str | Column | None = None, values: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Insert rows of the source that match none."""
        return self._setting(values, "'values' in whenNotMatchedInsert", condition)

    def whenNotMatchedInsertAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Insert all columns of rows of the source that match none."""
        return self._when(condition)

    def whenNotMatchedBySourceUpdate(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Update columns of rows that the source has no match for."""
        return self._setting(set, "'set' in whenNotMatchedBySourceUpdate", condition)

    def whenNotMatchedBySourceDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Delete rows that the source has no match for."""
        return self._when(condition)

    def withSchemaEvolution(self) -> DeltaMergeBuilder:
        """Add columns of the source to the table."""
        return self

    def execute(self) -> DataFrame:
        """Raise UnsupportedFeature: deltaskip has no MERGE yet."""
        raise not_available("merge", "run MERGE INTO in a session with delta-spark")

    def _when(self, given: Any) -> DeltaMergeBuilder:
        condition(given)
        return self

    def _setting(self, given: Any, name: str, when: Any) -> DeltaMergeBuilder:
        assignments(given, name)
        return self._when(when)

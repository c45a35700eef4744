"""delta-spark's DeltaOptimizeBuilder: checks its arguments. OPTIMIZE itself is not available yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltaskip.delta.checks import names, string
from deltaskip.delta.errors import not_available

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["DeltaOptimizeBuilder"]

_CURE = "run OPTIMIZE in a session with delta-spark"


class DeltaOptimizeBuilder:
    """An OPTIMIZE. Its methods check their arguments; those that run it are not available."""

    def where(self, partitionFilter: str) -> DeltaOptimizeBuilder:
        """Set the predicate of the partitions."""
        string("partitionFilter", partitionFilter)
        return self

    def executeCompaction(self) -> DataFrame:
        """Raise UnsupportedFeature: deltaskip has no OPTIMIZE yet."""
        raise not_available("optimize", _CURE)

    def executeZOrderBy(self, *cols: str | Sequence[str]) -> DataFrame:
        """Raise UnsupportedFeature: deltaskip has no OPTIMIZE yet."""
        names("Z-order column", cols)
        raise not_available("optimize", _CURE)

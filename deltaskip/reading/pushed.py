"""Filters that other libraries push down to a scan, as predicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deltaskip.records import dataclass
from deltaskip.sparkexpr import Inexact
from deltaskip.sparkexpr.arrow_expressions import ArrowTranslation, arrow_tree, fields_of
from deltaskip.sparkexpr.polars_expressions import PolarsTranslation, polars_tree

if TYPE_CHECKING:
    from deltaskip.reading.table_scan import TableScan
    from deltaskip.sparkexpr.nodes import Node


def pushed_polars_filter(scan: TableScan, expression: Any) -> Node | None:
    """Return a predicate that is TRUE for every row of a scan for which a Polars expression is; None if unknown."""
    try:
        translation = PolarsTranslation(scan.snapshot.schema, scan.paths_by_name)
        return translation.superset(polars_tree(expression))
    except (Inexact, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class DuckDBFilter:
    """A DuckDB filter over a scan, given as a pyarrow expression. DuckDB orders NaN as Spark does.

    Attributes:
        predicate: A predicate that is TRUE for every row for which the filter is; None if none is known.
        exact: Whether the predicate is TRUE for no other row.
        columns: Names of the columns that the filter reads; None if they are not known.
    """

    predicate: Node | None
    exact: bool
    columns: Sequence[str] | None

    @classmethod
    def of(cls, scan: TableScan, expression: Any) -> DuckDBFilter:
        """Return the filter of a pyarrow expression."""
        try:
            tree = arrow_tree(expression)
            columns = [field.path[0] for field in fields_of(tree)]
        except (Inexact, RecursionError):
            return cls(None, False, None)
        translation = ArrowTranslation(scan.snapshot.schema, scan.paths_by_name, nan_is_greatest=True)
        try:
            return cls(translation.node(tree), True, columns)
        except Inexact:
            return cls(translation.superset(tree), False, columns)

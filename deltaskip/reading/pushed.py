"""Filters that other libraries push down to a scan, as predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.sparkexpr import Inexact
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.arrow_expressions import DuckDBTranslation, arrow_conjuncts, arrow_tree, fields_of, has_lists
from deltaskip.sparkexpr.polars_expressions import PolarsTranslation, polars_tree

if TYPE_CHECKING:
    from deltaskip.reading.table_scan import TableScan


def pushed_polars_filter(scan: TableScan, expression: Any) -> tuple[n.Node | None, bool]:
    """Return a predicate that is TRUE where a Polars expression is, of the rows of a scan, and whether it is exact.

    An exact predicate is TRUE for no other row. The predicate is None if none is known.
    """
    try:
        translation, tree = PolarsTranslation(scan.snapshot.schema, scan.paths_by_name), polars_tree(expression)
        try:
            return translation.node(tree), True
        except Inexact:
            return translation.superset(tree), False
    except (Inexact, RecursionError):
        return None, False


@dataclass(frozen=True, slots=True)
class DuckDBFilter:
    """A DuckDB filter over a scan, given as a pyarrow expression.

    DuckDB orders NaN as Spark does, and pyarrow does not.

    Attributes:
        predicate: A predicate that is TRUE for every row for which the filter is; None if none is known.
        rest: The part of the filter for which the predicate may also be TRUE for other rows; None without one.
        columns: Names of the columns that the filter reads; None if they are not known.
        numbers: The part of the filter that compares floating-point columns, for rows with the names of the scan; None
            without one.
        others: The rest, and the other parts that rows beyond the predicate must satisfy; None without them.
    """

    predicate: n.Node | None = None
    rest: Any = None
    columns: Sequence[str] | None = ()
    numbers: n.Node | None = None
    others: Any = None

    @classmethod
    def of(cls, scan: TableScan, expression: Any) -> DuckDBFilter:
        """Return the filter of a pyarrow expression."""
        try:
            parts = arrow_conjuncts(expression)
            trees = list(map(arrow_tree, parts))
        except (Inexact, RecursionError):
            return cls(None, expression, None, None, expression)
        schema = scan.snapshot.schema
        translation = DuckDBTranslation(schema, scan.paths_by_name)
        known, numbers, rest, others = [], [], [], []
        for part, tree in zip(parts, trees, strict=True):
            try:
                known.append(translation.node(tree))
            except Inexact:
                found = translation.superset(tree)
                known += [] if found is None else [found]
                rest.append(part)
                others.append(part)
                continue
            types = {t.resolve(schema, each).type for each in n.columns_of(known[-1])}
            if types & {t.FLOAT, t.DOUBLE}:
                numbers.append(_by_name(known[-1], scan.paths_by_name))
            elif not (has_lists(tree) and types & {*t.NANOSECONDS}):
                others.append(part)
        columns = [field.path[0] for tree in trees for field in fields_of(tree)]
        return cls(
            _all_of(known),
            reduce(and_, rest) if rest else None,
            columns,
            _all_of(numbers),
            reduce(and_, others) if others else None,
        )


def _all_of(nodes: Sequence[n.Node]) -> n.Node | None:
    return n.And(tuple(nodes)) if len(nodes) > 1 else nodes[0] if nodes else None


def _by_name(node: n.Node, paths: Mapping[str, Sequence[str]]) -> n.Node:
    """The node over rows whose columns have the names of a scan."""
    names = {tuple(path): name for name, path in paths.items()}

    @deep
    def named(node: n.Node) -> n.Node:
        if isinstance(node, n.Column):
            size = next(size for size in range(len(node.parts), 0, -1) if node.parts[:size] in names)
            return n.Column((names[node.parts[:size]], *node.parts[size:]))
        return n.transform(node, named)

    return named(node)

"""Filters of a query that Spark passes to the data source, as predicates. Spark 4.1 and newer.

Spark passes conjuncts that compare one column with a constant. It keeps to itself the others, and all comparisons of
collated strings but IS NOT NULL. It calls `pushFilters` if `spark.sql.python.filterPushdown.enabled` is true, and
refuses readers that have the method if it is not.

# Spark 4.1, pyspark.sql.datasource: Filter, DataSourceReader.pushFilters
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from deltaskip.errors import DeltaSkipError
from deltaskip.expr import Node, to_node
from deltaskip.expr import nodes as n
from deltaskip.schema.types import TIMESTAMP_NTZ
from deltaskip.spark.columns.column_parts import function

__all__ = ["predicate_of"]

_EPOCH = datetime(1970, 1, 1)
_FUNCTIONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "StringStartsWith": "startswith",
    "StringEndsWith": "endswith",
    "StringContains": "contains",
}


def predicate_of(pushed: Any) -> Node | None:
    """Return the predicate of a filter, which holds for the same rows; None if there is none.

    Args:
        pushed: An object of one of PySpark's classes of filters, which PySpark 4.0 does not have.
    """
    kind = type(pushed).__name__
    if kind == "Not":
        child = predicate_of(pushed.child)
        return None if child is None else n.Not(child)
    column = n.Column(tuple(pushed.attribute))
    try:
        match kind:
            case "IsNull":
                return n.IsNull(column)
            case "IsNotNull":
                return n.Not(n.IsNull(column))
            case "In":
                return n.In(column, tuple(map(_literal, pushed.value)))
            case _ if kind in _FUNCTIONS:
                return function(_FUNCTIONS[kind], (column, _literal(pushed.value)))
    except (TypeError, DeltaSkipError):
        # A constant of a type that predicates do not have, such as an array.
        return None
    return None


def _literal(value: object) -> Node:
    """The literal of a constant. A datetime without a time zone is one of a column without, not of the session's."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return n.Literal((value - _EPOCH) // timedelta(microseconds=1), TIMESTAMP_NTZ)
    return to_node(value)

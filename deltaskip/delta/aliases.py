"""Expressions over a table that has another name: `events.id` of `DeltaTable.alias("events")`."""

from __future__ import annotations

from typing import Any

from deltaskip.engine import engine, is_column
from deltaskip.expr.nodes import Column, Node, Opaque, UnprintableExpression, transform
from deltaskip.schema.relations import qualifier_length, unqualified_text
from deltaskip.schema.types import StructType

__all__ = ["without_alias"]


def without_alias(value: Any, alias: str | None, schema: StructType) -> Any:
    """Return a condition or value whose columns have no alias before their names.

    Args:
        value: SQL text, a Column, or None.
        alias: The alias; None for none.
        schema: The table's columns.
    """
    if value is None or alias is None:
        return value
    if isinstance(value, str):
        return unqualified_text(value, schema, [(alias,)])
    return _node(engine("An expression of pyspark").column_to_node(value), alias, schema) if is_column(value) else value


def _node(node: Node, alias: str, schema: StructType) -> Node:
    match node:
        case Column(parts):
            return Column(parts[qualifier_length(parts, schema, [(alias,)]) :])
        case UnprintableExpression():
            return node
        case Opaque(sql):
            return Opaque(unqualified_text(sql, schema, [(alias,)]))
        case _:
            return transform(node, lambda each: _node(each, alias, schema))

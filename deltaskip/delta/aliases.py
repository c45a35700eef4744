"""Expressions over a table that has another name: `events.id` of `DeltaTable.alias("events")`."""

from __future__ import annotations

from typing import Any

from deltaskip.engine import engine, is_column
from deltaskip.expr.nodes import Column, Node, Opaque, Wordless, transform
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.sql_text import without_qualifier
from deltaskip.schema.types import StructType

__all__ = ["without_alias"]


def without_alias(value: Any, alias: str | None, schema: StructType) -> Any:
    """Return a condition or value whose columns have no alias before their names.

    Args:
        value: SQL text, a Column, or None.
        alias: The alias; None for none.
        schema: The table's columns. A column with the name of the alias goes before it.
    """
    if value is None or alias is None or fold_name(alias) in map(fold_name, schema.names):
        return value
    if isinstance(value, str):
        return without_qualifier(value, (alias,))
    return _node(engine("An expression of pyspark").column_to_node(value), alias) if is_column(value) else value


def _node(node: Node, alias: str) -> Node:
    match node:
        case Column((first, *rest)) if rest and fold_name(first) == fold_name(alias):
            return Column(tuple(rest))
        case Wordless():
            return node
        case Opaque(sql):
            return Opaque(without_qualifier(sql, (alias,)))
        case _:
            return transform(node, lambda each: _node(each, alias))

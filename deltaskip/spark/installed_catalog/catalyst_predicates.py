"""Spark's predicates as nodes of this package.

Scans get Catalyst's expressions; an unknown expression keeps every file. Predicates of connectors describe the rows to
delete or replace, and every such predicate must be known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deltaskip.recursion import deep
from deltaskip.spark.columns.column_parts import declared_literal, opaque
from deltaskip.spark.columns.from_expression import expression_to_node
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import BOOLEAN, STRING, DecimalType, parse_type
from deltaskip.sparkexpr.values import exactly

# Classes of connector expressions with a name.
_NAMED = ("GeneralScalarExpression", "Predicate", "And", "Or", "Not", "AlwaysTrue", "AlwaysFalse")
_COMPARISONS = {"=": "=", "<=>": "<=>", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def required_of_rows(expressions: Iterable[Any]) -> list[Node]:
    """Return the predicates of Catalyst's resolved expressions; unknown expressions become Opaque."""
    return [expression_to_node(each) for each in expressions]


def exact_predicate(predicates: Iterable[Any]) -> Node | None:
    """Return the conjunction of these predicates; None if one of them has no exact counterpart."""
    found = [_node(each) for each in predicates]
    if any(isinstance(part, n.Opaque) for node in found for part in n.walk(node)):
        return None
    if not found:
        return n.Literal(True, BOOLEAN)
    return found[0] if len(found) == 1 else n.And(tuple(found))


@deep
def _node(tree: Any) -> Node:
    kind = tree.getClass().getSimpleName()
    if kind == "FieldReference":
        return n.Column(tuple(str(part) for part in tree.fieldNames()))
    if kind == "LiteralValue":
        return _literal(tree)
    if kind not in _NAMED:
        # A cast, for example.
        return opaque(kind, ())
    name, children = str(tree.name()), tuple(map(_node, tree.children()))
    match name, children:
        case _, (left, right) if name in _COMPARISONS:
            return n.Compare(_COMPARISONS[name], left, right)
        case "AND", (left, right):
            return n.And((left, right))
        case "OR", (left, right):
            return n.Or((left, right))
        case "NOT", (child,):
            return n.Not(child)
        case "IS_NULL", (child,):
            return n.IsNull(child)
        case "IS_NOT_NULL", (child,):
            return n.Not(n.IsNull(child))
        case "IN", (child, *values) if values:
            return n.In(child, tuple(values))
        case "STARTS_WITH", (child, prefix):
            return n.StartsWith(child, prefix)
        case "ALWAYS_TRUE", ():
            return n.Literal(True, BOOLEAN)
        case "ALWAYS_FALSE", ():
            return n.Literal(False, BOOLEAN)
    return opaque(name, children)


def _literal(tree: Any) -> Node:
    """Literals have Catalyst's own values: days, microseconds, UTF8String, Decimal."""
    value, text = tree.value(), str(tree.dataType().json())
    try:
        data_type = parse_type(text)
    except ValueError:
        return opaque("a literal", ())
    if value is not None and data_type == STRING:
        return declared_literal(value.toString(), data_type)
    if value is not None and isinstance(data_type, DecimalType):
        return declared_literal(exactly(value.toString()), data_type)
    return declared_literal(value, data_type)

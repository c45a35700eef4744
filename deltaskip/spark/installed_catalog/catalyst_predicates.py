"""Spark's predicates as nodes of this package.

Scans get Catalyst's expressions; an unknown expression keeps every file. Predicates of connectors describe the rows to
delete or replace, and every such predicate must be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyarrow import int64

from deltaskip.lazy_regex import regex
from deltaskip.recursion import deep
from deltaskip.spark.columns.column_parts import declared_literal, opaque
from deltaskip.spark.columns.from_expression import expression_to_node
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.literal_list import integers
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import (
    BOOLEAN,
    CHAR_VARCHAR_KEY,
    COLLATIONS_KEY,
    DATE,
    INTEGRAL_BITS,
    STRING,
    TIMESTAMP,
    DecimalType,
    StructField,
    parse_type,
)
from deltaskip.sparkexpr.values import exactly
from deltaskip.sparkexpr.values.arrow_values import arrow_array

# Classes of connector expressions with a name.
_NAMED = ("GeneralScalarExpression", "Predicate", "And", "Or", "Not", "AlwaysTrue", "AlwaysFalse")
# Types of columns whose values in a join skip files, and how many of other types than integers are converted.
_KEYS = (*INTEGRAL_BITS, DATE, TIMESTAMP, STRING)
_MOST_KEYS = 200
_INTEGERS = regex(r".* IN \((-?\d+(?:, -?\d+)*)\)")
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


def can_be_key(field: StructField) -> bool:
    """Return whether `keys_of_rows` understands values of a column."""
    return field.type in _KEYS and not {COLLATIONS_KEY, CHAR_VARCHAR_KEY} & field.metadata.keys()


def keys_of_rows(predicates: Iterable[Any], fields: Iterable[StructField]) -> Node | None:
    """Return a predicate that every row with the values of a join satisfies; None if none is known.

    Args:
        predicates: Predicates of connectors, of which each row satisfies all.
        fields: The columns.
    """
    known = {field.name: field for field in fields}
    found = [node for each in predicates if (node := _keys(each, known)) is not None]
    return None if not found else found[0] if len(found) == 1 else n.And(tuple(found))


def _keys(tree: Any, fields: Mapping[str, StructField]) -> Node | None:
    """`column IN (values)`. The text of integers is read at once, because each value takes several requests."""
    if str(tree.name()) != "IN":
        return None
    children = tree.children()
    first = children[0]
    if first.getClass().getSimpleName() != "FieldReference" or len(first.fieldNames()) != 1:
        return None
    field = fields.get(str(first.fieldNames()[0]))
    if field is None or not can_be_key(field):
        return None
    column = n.Column((field.name,))
    if field.type in INTEGRAL_BITS:
        listed = _INTEGERS.fullmatch(str(tree.toString()))
        if listed is None:
            return None
        return n.In(column, integers(arrow_array([int(each) for each in listed[1].split(", ")], int64())))
    if len(children) > _MOST_KEYS:
        return None
    values = tuple(_literal(child) for child in list(children)[1:])
    return n.In(column, values) if all(isinstance(each, n.Literal) for each in values) else None


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

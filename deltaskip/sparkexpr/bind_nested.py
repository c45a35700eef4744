"""Binds comparisons and casts of nested values, and lambda functions."""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import coerce
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.type_names import sql_name
from deltaskip.sparkexpr.types.data_types import STRING, VARIANT, VOID, DataType

_OF_NESTED = frozenset(
    ("coalesce", "concat", "concat_ws", "format_string", "reverse", "greatest", "least", "hash", "xxhash64", "typeof")
)


def takes_nested(function: str) -> bool:
    """Whether a function may take nested values, even if deltaskip has no rule for them."""
    from deltaskip.sparkexpr.functions.collections import COLLECTIONS
    from deltaskip.sparkexpr.functions.jsons import JSONS
    from deltaskip.sparkexpr.functions.lambdas import LAMBDAS
    from deltaskip.sparkexpr.functions.variants import VARIANTS

    return function in _OF_NESTED or any(function in each for each in (COLLECTIONS, LAMBDAS, JSONS, VARIANTS))


def nested_comparison(op: str, left: n.Node, right: n.Node, ansi: bool) -> n.Node:
    """A comparison of two arrays, or two structs."""
    left_type, right_type = coerce.type_of(left), coerce.type_of(right)
    assert left_type is not None and right_type is not None
    met: DataType | None = left_type
    if not coerce.same_type(left_type, right_type):
        met = coerce.plain_wider_type(left_type, right_type) if ansi else None
    if met is None or not coerce.is_orderable(met) or is_collated(left, right):
        return n.Opaque(to_sql(n.Compare(op, left, right)), n.columns_of(n.Compare(op, left, right)))
    return n.Compare(op, _cast_unless_same(left, met), _cast_unless_same(right, met))


def _cast_unless_same(node: n.Node, type_: DataType) -> n.Node:
    return node if coerce.same_type(coerce.type_of(node), type_) else coerce.cast_to(node, type_)


def nested_membership(child: n.Node, values: Sequence[n.Node], types: Sequence[DataType], ansi: bool) -> n.In:
    """IN of nested values, not cast if they have no common type.

    types: The types of the child and the values.
    """
    met = coerce.common_type(types, ansi=ansi)
    if met is None or not coerce.is_nested(met) or not coerce.is_orderable(met) or is_collated(child, *values):
        return n.In(child, values)
    if not all(coerce.plain_wider_type(type_, met) is not None for type_ in types):
        return n.In(child, values)
    return n.In(_cast_unless_same(child, met), tuple(_cast_unless_same(value, met) for value in values))


def nested_cast(node: n.Cast, source: DataType) -> n.Node:
    """A cast from or to a nested type."""
    if (
        coerce.is_nested(source) != coerce.is_nested(node.type)
        and source != VOID
        and node.type not in (STRING, VARIANT)
    ):
        raise PredicateError(
            f"{sql_name(source)} cannot be cast to {sql_name(node.type)} in Spark SQL (CAST_WITHOUT_SUGGESTION)."
        )
    if source == VOID and isinstance(node.child, n.Literal | n.FieldRef):
        return n.Literal(None, node.type)
    if not coerce.castable(source, node.type) or is_collated(node.child):
        return n.Opaque(to_sql(node), n.columns_of(node))
    return node.child if source == node.type else node


def is_closed(node: n.Node) -> bool:
    """Whether a node is a lambda function of constants and its own variables."""
    if not isinstance(node, n.Lambda):
        return False
    parts = list(n.walk(node))
    own = {name for part in parts if isinstance(part, n.Lambda) for name in part.names}
    return not any(
        isinstance(part, n.FieldRef | n.Opaque) or (isinstance(part, n.Variable) and part.name not in own)
        for part in parts
    )

"""Whether Spark declares an expression as nullable. The types of nested values record it.

An expression that no rule covers is nullable.
"""

from __future__ import annotations

from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import may_give_null, type_of
from deltaskip.sparkexpr.types.data_types import ArrayType, DecimalType, StructType
from deltaskip.sparkexpr.types.resolve import fold_name

# Functions that return a value even if all arguments are NULL.
_NEVER = frozenset(("array", "map", "named_struct", "isnull", "hash", "xxhash64", "typeof"))
# Functions that return NULL only if an argument is NULL.
_OF_ARGUMENTS = frozenset(
    (
        *("~", "negative", "positive", "upper", "lower", "length", "trim", "concat", "reverse", "size", "array_size"),
        *("sort_array", "array_distinct", "array_union", "array_except", "array_intersect", "slice", "array_repeat"),
        *("array_compact", "array_remove", "map_keys", "map_values", "map_entries", "sequence", "arrays_zip"),
        *("transform", "filter", "array_position"),
    )
)
_SUMS = frozenset(("+", "-", "*"))


def is_nullable(node: n.Node) -> bool:
    """Return whether the value of a bound expression may be NULL, as Spark declares it."""
    match node:
        case n.Literal(value):
            return value is None
        case n.FieldRef() | n.Variable():
            return node.nullable
        case _:
            return _is_nullable(node)


@n.kept
def _is_nullable(node: n.Node) -> bool:
    match node:
        case n.IsNull() | n.Compare("<=>"):
            return False
        case n.Compare() | n.And() | n.Or() | n.Not() | n.In() | n.Like() | n.StartsWith() | n.Collate() | n.Among():
            return any(map(is_nullable, n.children_of(node)))
        case n.Cast(child, type_, safe):
            source = type_of(child)
            return safe or source is None or is_nullable(child) or may_give_null(source, type_)
        case n.Case(branches, otherwise):
            return otherwise is None or any(map(is_nullable, (otherwise, *(value for _, value in branches))))
        case n.Call(name, args, type_):
            return _call_is_nullable(name, args, isinstance(type_, DecimalType))
        case _:
            return True


def _call_is_nullable(name: str, args: tuple[n.Node, ...], is_decimal: bool) -> bool:
    args = tuple([arg for arg in args if not isinstance(arg, n.Lambda)])
    given = type_of(args[0]) if args else None
    if name in _NEVER:
        return False
    if name == "concat_ws":
        # Only the separator decides: NULL among the others is left out.
        return is_nullable(args[0])
    if name == "coalesce":
        return all(map(is_nullable, args))
    if name in _SUMS:
        return is_decimal or any(map(is_nullable, args))
    if name == "flatten":
        return is_nullable(args[0]) or not isinstance(given, ArrayType) or given.contains_null
    if name == "[]" and isinstance(given, StructType) and isinstance(args[1], n.Literal):
        wanted = fold_name(str(args[1].value))
        return is_nullable(args[0]) or any(f.nullable for f in given.fields if fold_name(f.name) == wanted)
    return name not in _OF_ARGUMENTS or any(map(is_nullable, args))

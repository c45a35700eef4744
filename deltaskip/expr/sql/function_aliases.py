"""Spark functions that are aliases of other nodes: `nvl`, `if`, `to_date`, `isnull`, `int(x)` and more.

# Spark 4.1, FunctionRegistry: aliases and RuntimeReplaceable expressions
"""

from __future__ import annotations

from deltaskip.expr.nodes import Call, Case, Cast, Compare, IsNull, Like, Literal, Node, Not, StartsWith
from deltaskip.expr.type_names import TYPE_NAMES
from deltaskip.schema.types import DATE, STRING, TIMESTAMP, VOID, DecimalType

__all__ = ["function_node"]

_ALIASES = {
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "ucase": "upper",
    "lcase": "lower",
    "substr": "substring",
    "len": "length",
    "char_length": "length",
    "character_length": "length",
    "day": "dayofmonth",
    "dateadd": "date_add",
    "date_diff": "datediff",
    "ceiling": "ceil",
    "mod": "%",
    "week": "weekofyear",
}

_FIELDS = frozenset(("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE"))

# Functions named like types are casts.
_CAST_NAMES = frozenset(
    ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp")
)


def function_node(name: str, args: tuple[Node, ...]) -> Node:
    """Return the node of a function call, with aliases resolved.

    Args:
        name: The function's name in lower case.
        args: The arguments. With a wrong number of them the result is a Call of the same name.
    """
    match name, args:
        case ("startswith", (text, prefix)):
            return StartsWith(text, prefix)
        case ("like", (text, pattern)):
            return Like(text, pattern)
        case ("ilike", (text, pattern)):
            return Like(text, pattern, case_insensitive=True)
        case ("isnull", (child,)):
            return IsNull(child)
        case ("isnotnull", (child,)):
            return Not(IsNull(child))
        case ("equal_null", (left, right)):
            return Compare("<=>", left, right)
        case ("if", (condition, value, otherwise)):
            return Case(((condition, value),), otherwise)
        case ("nullif", (left, right)):
            return Case(((Compare("=", left, right), Literal(None, VOID)),), left)
        case ("nvl2", (tested, value, otherwise)):
            return Case(((Not(IsNull(tested)), value),), otherwise)
        case ("to_date", (child,)):
            return Cast(child, DATE)
        case ("to_timestamp", (child,)):
            return Cast(child, TIMESTAMP)
        case ("decimal", (child,)):
            return Cast(child, DecimalType(10, 0))
        case (_, (child,)) if name in _CAST_NAMES:
            return Cast(child, TYPE_NAMES[name])
        case ("date_part" | "datepart", (Literal(str() as field, type_), child)) if (
            type_ == STRING and field.upper() in _FIELDS
        ):
            return function_node(field.lower(), (child,))
        case ("extract", (child, Literal(str() as field, type_))) if type_ == STRING:
            return function_node(field, (child,))
        case ("positive", (child,)):
            return Call("positive", (child,))
    return Call(_ALIASES.get(name, name), args)

"""Spark functions that are aliases of other nodes: `nvl`, `if`, `to_date`, `isnull`, `int(x)` and more.

# Spark 4.1, FunctionRegistry: aliases and RuntimeReplaceable expressions
"""

from __future__ import annotations

from deltaskip.expr.nodes import Call, Case, Cast, Compare, IsNull, Like, Literal, Node, Not, StartsWith
from deltaskip.expr.type_names import TYPE_NAMES
from deltaskip.schema.types import DATE, INTEGER, STRING, TIMESTAMP, VOID, DecimalType

__all__ = ["FIELDS", "function_node"]

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
    "char": "chr",
    "sha": "sha1",
}

FIELDS = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), "year"),
    **dict.fromkeys(("QUARTER", "QTR"), "quarter"),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), "month"),
    **dict.fromkeys(("WEEK", "W", "WEEKS"), "weekofyear"),
    **dict.fromkeys(("DAY", "D", "DAYS"), "dayofmonth"),
    **dict.fromkeys(("DAYOFWEEK", "DOW"), "dayofweek"),
    "DOY": "dayofyear",
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), "hour"),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), "minute"),
}
"""Functions of the fields of EXTRACT, date_part and datepart, by the names of the fields."""

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
        case ("date_part" | "datepart" | "extract", (Literal(str() as field, type_), child)) if (
            type_ == STRING and field.upper() in FIELDS
        ):
            return Call(FIELDS[field.upper()], (child,))
        case ("zeroifnull", (child,)):
            return Call("coalesce", (child, Literal(0, INTEGER)))
        case ("nullifzero", (child,)):
            return function_node("nullif", (child, Literal(0, INTEGER)))
        case ("decode", (value, _, _, *_)):
            pairs = [(args[i], args[i + 1]) for i in range(1, len(args) - 1, 2)]
            branches = tuple((Compare("<=>", value, searched), result) for searched, result in pairs)
            return Case(branches, args[-1] if len(args) % 2 == 0 else None)
        case ("positive", (child,)):
            return Call("positive", (child,))
    return Call(_ALIASES.get(name, name), args)

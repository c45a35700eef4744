"""SQL for expressions of Polars that are not translated: text for messages, never evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltaskip.expr.exact import Inexact
from deltaskip.expr.polars_expressions import function_name, polars_literal
from deltaskip.expr.render import to_sql
from deltaskip.schema.resolve import display_name

_OPERATORS = {
    "Eq": "{} = {}", "NotEq": "{} != {}", "Lt": "{} < {}", "LtEq": "{} <= {}", "Gt": "{} > {}", "GtEq": "{} >= {}",
    "EqValidity": "{} <=> {}", "Plus": "{} + {}", "Minus": "{} - {}", "Multiply": "{} * {}", "TrueDivide": "{} / {}",
    "Modulus": "pmod({}, {})", "FloorDivide": "floor({} / {})",
}  # fmt: skip
# By the name of a function, with that of its group.
_FUNCTIONS = {
    "ListExpr.Length": "size({})", "ListExpr.Contains": "array_contains({}, {})", "ListExpr.Get": "get({}, {})",
    "ListExpr.Min": "array_min({})", "ListExpr.Max": "array_max({})", "StringExpr.Uppercase": "upper({})",
    "StringExpr.Lowercase": "lower({})", "StringExpr.StartsWith": "startswith({}, {})",
    "StringExpr.EndsWith": "endswith({}, {})", "StringExpr.Contains": "{} RLIKE {}",
    "StringExpr.LenChars": "char_length({})", "StringExpr.LenBytes": "octet_length({})",
    "StringExpr.StripChars": "trim({})", "StringExpr.Slice": "substring({}, {} + 1, {})",
    "TemporalExpr.Year": "year({})", "TemporalExpr.Month": "month({})", "TemporalExpr.Day": "day({})",
    "TemporalExpr.Hour": "hour({})", "TemporalExpr.Minute": "minute({})", "TemporalExpr.Second": "second({})",
    "TemporalExpr.Date": "CAST({} AS DATE)", "Pow.Sqrt": "sqrt({})", "Abs": "abs({})", "Negate": "-{}",
    "FillNull": "coalesce({}, {})", "Coalesce": "coalesce({}, {})", "Boolean.IsNull": "{} IS NULL",
    "Boolean.IsNotNull": "{} IS NOT NULL",
}  # fmt: skip


def spark_text(tree: Any) -> str | None:
    """Return the SQL text that means what an expression of Polars does, but for corners; None if it is not known."""
    match tree:
        case {"Column": str() as name}:
            return display_name([name])
        case {"Literal": _}:
            try:
                return to_sql(polars_literal(tree))
            except Inexact:
                return None
        case {"BinaryExpr": {"left": left, "op": str() as op, "right": right}}:
            return _filled(_OPERATORS.get(op), [left, right])
        case {"Function": {"input": [inner], "function": {"StructExpr": {"FieldByName": str() as field}}}}:
            return _filled(f"{{}}.{display_name([field])}", [inner])
        case {"Function": {"input": [*given], "function": function}}:
            name = function_name(function)
            if name == "StringExpr.Contains" and function["StringExpr"]["Contains"].get("literal"):
                return _filled("contains({}, {})", given)
            # A last argument that is NULL is one that was not given.
            arguments = [each for each in given if each != {"Literal": {"Scalar": {"Null": "Null"}}}]
            return _filled(_FUNCTIONS.get(name), arguments)
    return None


def _filled(template: str | None, given: Sequence[Any]) -> str | None:
    if template is None or template.count("{}") != len(given):
        return None
    texts = []
    for each in given:
        text = spark_text(each)
        if text is None:
            return None
        is_operand = "BinaryExpr" in each and not template.endswith(")")
        texts.append(f"({text})" if is_operand else text)
    return template.format(*texts)

"""What DuckDB computes otherwise than Spark in a query, by the types to which it has bound the query."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex

_PLAN = "SELECT json_serialize_plan(?, skip_null := true, skip_empty := true)"
FLOAT = "FLOAT beside other numbers"
"""The meaning of a FLOAT beside another number, which DuckDB computes with as FLOAT and Spark as DOUBLE."""
TIMES = frozenset(("TIMESTAMP '…'", "DATE + INTERVAL"))
"""The meanings of values that are the same in Spark, under the type TIMESTAMP or DATE in place of TIMESTAMP_NTZ."""
_WHOLE = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"))
# Types whose values have the text of Spark.
_SAME_TEXT = _WHOLE | {"BOOLEAN", "DATE", "DECIMAL"}
_MEANS = frozenset(("avg", "mean", "median", "quantile_cont", "percentile_cont"))
_ILIKE = frozenset(("~~*", "!~~*", "ilike_escape", "not_ilike_escape"))
_COMPARING = frozenset(("BOUND_COMPARISON", "BOUND_BETWEEN"))
_NUMBER = regex(r"\s*[+-]?(?P<whole>\d*)(?:\.(?P<part>\d*))?(?P<power>[eE][+-]?\d+)?\s*")


def other_meanings(connection: Any, text: str) -> list[str]:
    """Return what DuckDB computes otherwise than Spark in a query, each once.

    Args:
        connection: A connection of DuckDB that has the tables of the query.
        text: The query.
    """
    plan = parse_json(connection.execute(_PLAN, [text]).fetchone()[0])
    if plan.get("error"):
        # A query that DuckDB refuses fails where it is run.
        return ["what DuckDB does not describe"]
    found = (_meaning(node, parent) for node, parent in _expressions(plan.get("plans", [])))
    return list(dict.fromkeys(filter(None, found)))


def _expressions(plan: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each expression of a plan, and the one that it is an operand of."""
    waiting: list[tuple[Any, dict[str, Any]]] = [(plan, {})]
    while waiting:
        node, parent = waiting.pop()
        if isinstance(node, list):
            waiting += ((each, parent) for each in reversed(node))
        elif isinstance(node, dict):
            if "expression_class" in node:
                yield node, parent
            # The conditions of a join are no expressions.
            if "expression_class" in node or "comparison" in node:
                parent = node
            waiting += ((each, parent) for each in reversed(node.values()))


def _type(node: dict[str, Any]) -> str:
    """The name of the type of an expression, before it is cast for its operator."""
    if node["expression_class"] == "BOUND_CAST":
        return _type(node["child"])
    return str(_bound_type(node).get("id", "BOOLEAN"))


def _bound_type(node: dict[str, Any]) -> dict[str, Any]:
    is_constant = node["expression_class"] == "BOUND_CONSTANT"
    found: dict[str, Any] = (node["value"].get("type") if is_constant else node.get("return_type")) or {}
    return found


def _meaning(node: dict[str, Any], parent: dict[str, Any]) -> str | None:
    operands, name = [*map(_type, node.get("children", []))], str(node.get("name", "")).lower()
    match node["expression_class"]:
        case "BOUND_CAST":
            return _of_cast(node, parent)
        case "BOUND_PARAMETER":
            return FLOAT if _type(node) == "FLOAT" else None
        case "BOUND_CONSTANT" if _type(node) == "TIMESTAMP" and not _compares(parent):
            return "TIMESTAMP '…'"
        case "BOUND_FUNCTION" | "BOUND_AGGREGATE" | "BOUND_WINDOW" if operands:
            if name in _ILIKE:
                return "ILIKE"
            if name in ("~~", "!~~") and _constant(node["children"][1]) is None:
                return "LIKE with a pattern that is not a constant"
            if name == "/" and "DECIMAL" in operands and not {"DOUBLE", "FLOAT"} & {*operands}:
                return "/ of DECIMAL (write x / 3e0)"
            if name in _MEANS and operands[0] == "DECIMAL":
                return f"{name} of DECIMAL"
            if name in ("floor", "ceil", "ceiling") and operands[0] in ("DOUBLE", "FLOAT"):
                return f"{name} of {operands[0]}"
            if {"DATE", "INTERVAL"} == {*operands} and not _compares(parent):
                return "DATE + INTERVAL"
            return "the difference of dates" if name == "-" and operands == ["DATE", "DATE"] else None
    return None


def _compares(parent: dict[str, Any]) -> bool:
    """Whether an expression only compares its operands, or has them as times with a zone."""
    compares = parent.get("expression_class") in _COMPARING or parent.get("type") == "COMPARE_IN"
    return compares or "comparison" in parent or parent.get("return_type", {}).get("id") == "TIMESTAMP WITH TIME ZONE"


def _constant(node: dict[str, Any]) -> dict[str, Any] | None:
    """The constant that an expression is, maybe cast; None for another expression."""
    while node["expression_class"] == "BOUND_CAST":
        node = node["child"]
    return node if node["expression_class"] == "BOUND_CONSTANT" else None


def _of_cast(node: dict[str, Any], parent: dict[str, Any]) -> str | None:
    to, given, constant = node["return_type"], _type(node["child"]), _constant(node["child"])
    if to["id"] == given or given == "NULL" or (constant is not None and constant["value"].get("is_null")):
        return None
    if to["id"] == "FLOAT":
        return None if _compares(parent) and constant is not None and _is_float(constant) else FLOAT
    if to["id"] == "VARCHAR":
        # Elsewhere, Spark reads the string as the other type.
        return None if parent.get("name") == "||" and given in _SAME_TEXT else f"{given} as a string"
    if given != "VARCHAR":
        return None
    if to["id"] == "TIMESTAMP" and constant is not None:
        return None if _compares(parent) else "TIMESTAMP '…'"
    if constant is None:
        return f"a string as {to['id']}"
    text = str(constant["value"].get("value", ""))
    scale = to.get("type_info", {}).get("scale", 0) if to["id"] == "DECIMAL" else 0
    number = _NUMBER.fullmatch(text)
    fits = to["id"] not in {*_WHOLE, "DECIMAL", "DOUBLE"} or number is not None
    if number is not None and to["id"] != "DOUBLE":
        fits = not number["power"] and bool(number["whole"]) and len(number["part"] or "") <= scale
    return None if fits else f"'{text}' as {to['id']}"


def _is_float(constant: dict[str, Any]) -> bool:
    """Whether a constant is a number that FLOAT represents exactly."""
    try:
        scale = _bound_type(constant).get("type_info", {}).get("scale", 0)
        exact = Fraction(constant["value"].get("value", 0)) / 10**scale
        return bool(struct.unpack("f", struct.pack("f", exact))[0] == exact)
    except (ValueError, TypeError, OverflowError):
        return False

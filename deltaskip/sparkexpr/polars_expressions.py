"""Converts Polars expressions to predicates. Reads the JSON text of Polars' serialization.

The JSON differs between versions of Polars: a part of unknown structure is not translated.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.json_text import parse_json
from deltaskip.sparkexpr.exact import Inexact, TimePart, Translation, arrow_constant
from deltaskip.sparkexpr.nodes import And, Call, Case, Column, Literal, Node, Not, Or
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.resolve import display_name
from deltaskip.sparkexpr.values.numerals import of_unscaled

_COMPARISONS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">=", "EqValidity": "<=>"}
_JOINED: Mapping[str, type[And | Or]] = {"And": And, "LogicalAnd": And, "Or": Or, "LogicalOr": Or}
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
_OPERATORS = {
    "Eq": "{} = {}", "NotEq": "{} != {}", "Lt": "{} < {}", "LtEq": "{} <= {}", "Gt": "{} > {}", "GtEq": "{} >= {}",
    "EqValidity": "{} <=> {}", "Plus": "{} + {}", "Minus": "{} - {}", "Multiply": "{} * {}", "TrueDivide": "{} / {}",
    "Modulus": "pmod({}, {})", "FloorDivide": "floor({} / {})",
}  # fmt: skip
# Keyed by the name of a function, with the name of its group.
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


def polars_tree(expression: Any) -> Any:
    """Return a Polars expression as JSON values. Raises Inexact if Polars does not serialize it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = expression.meta.serialize(format="json")
        return parse_json(text)
    except Exception as error:  # of Polars, for Python functions inside and for forms without JSON
        raise Inexact("Polars does not write it as JSON") from error


class PolarsTranslation(Translation):
    """Translates Polars expressions.

    Args:
        schema: The schema of the table.
        columns: See Translation.
    """

    def __init__(self, schema: t.StructType, columns: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(schema, columns, nan_is_greatest=True)

    def operands(self, tree: Any) -> tuple[type[And | Or], Iterable[Any]] | None:
        match tree:
            case {"BinaryExpr": {"left": left, "op": str() as op, "right": right}} if op in _JOINED:
                return _JOINED[op], (left, right)
        return None

    def node(self, tree: Any) -> Node:
        joined = self.joined(tree)
        if joined is not None:
            return joined
        try:
            return self._condition_of(tree)
        except Inexact as error:
            # The error names the innermost condition; NOT may enclose it.
            error.part = error.part or tree
            raise

    def _condition_of(self, tree: Any) -> Node:
        match tree:
            case {"BinaryExpr": {"left": left, "op": "NotEqValidity", "right": right}}:
                return Not(self.compared("<=>", self._operand(left), self._operand(right)))
            case {"BinaryExpr": {"left": left, "op": str() as op, "right": right}} if op in _COMPARISONS:
                return self.compared(_COMPARISONS[op], self._operand(left), self._operand(right))
            case {"Function": {"input": [*given], "function": {"Boolean": function}}}:
                return self._boolean(function, given)
            case {"Function": {"input": [column, prefix], "function": {"StringExpr": "StartsWith"}}}:
                return self.starts_with(self._column_of(column), polars_literal(prefix))
            case {"Function": {"input": [child, otherwise], "function": "FillNull"}}:
                return Call("coalesce", (self.node(child), self.node(otherwise)))
            case {"Ternary": {"predicate": condition, "truthy": yes, "falsy": no}}:
                return Case(((self.node(condition), self.node(yes)),), self.node(no))
            case {"Literal": {"Scalar": {"Boolean": bool() as value}}}:
                return Literal(value, t.BOOLEAN)
            case {"Literal": {"Scalar": {"Null": _}}}:
                return Literal(None, t.BOOLEAN)
            case {"Column": _} | {"Function": {"function": {"StructExpr": _}}}:
                return self.condition(self._column_of(tree))
        raise Inexact(f"{_part(tree)} is not translated")

    def _boolean(self, function: Any, given: list[Any]) -> Node:
        match function, given:
            case "Not", [child]:
                return Not(self.node(child))
            case "IsNull", [child]:
                return self.is_null(self._column_of(child))
            case "IsNotNull", [child]:
                return Not(self.is_null(self._column_of(child)))
            case "IsNan", [child]:
                return self.is_nan(self._column_of(child))
            case "IsNotNan", [child]:
                return Not(self.is_nan(self._column_of(child)))
            case {"IsBetween": {"closed": ("Both" | "Left" | "Right" | "None") as closed}}, [child, lower, upper]:
                bounds = polars_literal(lower), polars_literal(upper)
                return self.between(self._measured(child), *bounds, closed.lower())
            case {"IsIn": {"nulls_equal": False}}, [child, values]:
                # NULL in the list matches no value and makes no result NULL.
                known = [each for each in _listed(values) if each.value is not None]
                return self.is_in(self._measured(child), known)
            case {"IsIn": {"nulls_equal": True}}, [child, values]:
                return self.listed(self._measured(child), _listed(values), True)
        raise Inexact(f"{function_name(function).rpartition('.')[2]} is not translated")

    def _operand(self, tree: Any) -> Column | TimePart | Literal:
        return polars_literal(tree) if _is_constant(tree) else self._measured(tree)

    def _measured(self, tree: Any) -> Column | TimePart:
        """A column, or its date or year; without casts that change no value and no order of values."""
        match tree:
            case {"Function": {"input": [inner], "function": {"TemporalExpr": ("Date" | "Year") as part}}}:
                return TimePart(self._column_of(inner), part == "Year")
            case {"Cast": {"expr": inner, "dtype": {"Literal": "Date"}}}:
                return TimePart(self._column_of(inner), False)
            case {"Cast": {"expr": inner, "dtype": {"Literal": kind}}}:
                column = self._column_of(inner)
                if not _holds(kind, self._resolved(column).type):
                    raise Inexact(f"{_part(tree)} is not translated")
                return column
        return self._column_of(tree)

    def _column_of(self, tree: Any) -> Column:
        fields: list[str] = []
        while True:
            match tree:
                case {"Column": str() as name}:
                    return self.column(name, *reversed(fields))
                case {"Function": {"input": [inner], "function": {"StructExpr": {"FieldByName": str() as field}}}}:
                    fields.append(field)
                    tree = inner
                case _:
                    raise Inexact(f"{_part(tree)} is not translated")


def polars_literal(tree: Any) -> Literal:
    """Return a constant of an expression. Raises Inexact for anything else."""
    match tree:
        case {"Literal": {"Dyn": {"Int": int() as value}}}:
            return Literal(value, t.LONG)
        case {"Literal": {"Dyn": {"Float": float() as value}}}:
            return Literal(value, t.DOUBLE)
        case {"Literal": {"Dyn": {"Float": None}} | {"Scalar": {"Float64": None} | {"Float32": None}}}:
            # Polars serializes NaN and infinity as null.
            raise Inexact("NaN and infinity cannot be told apart in it, of which isnan(column) finds the first")
        case {"Literal": {"Dyn": {"Str": str() as value}}}:
            return Literal(value, t.STRING)
        case {"Literal": {"Scalar": {**members}}} if len(members) == 1:
            [(kind, scalar)] = members.items()
            return _scalar(str(kind), scalar)
    if "Literal" not in tree and _is_constant(tree):
        return _computed(tree)
    raise Inexact(f"{_part(tree)} is not a constant")


def _is_constant(tree: Any) -> bool:
    """Whether an expression has the same value for every row of every frame."""
    match tree:
        case {"Literal": _}:
            return True
        case {"Function": {"input": [*given], "function": {"TemporalExpr": _} | {"StringExpr": _}}}:
            return all(map(_is_constant, given))
    return False


def _computed(tree: Any) -> Literal:
    """The value of an expression of constants, such as `pl.datetime(2026, 1, 1)`, as Polars computes it."""
    import polars

    try:
        expression = polars.Expr.deserialize(BytesIO(json.dumps(tree).encode()), format="json")
        [value] = polars.select(expression).to_series().to_arrow()
    except (polars.exceptions.PolarsError, ValueError) as error:
        raise Inexact(f"{_part(tree)} has no value") from error
    return arrow_constant(value)


def _holds(kind: Any, stored: t.DataType) -> bool:
    """Whether a type of Polars has all values of a type, in their order."""
    match kind, stored:
        case (("Int8" | "Int16" | "Int32" | "Int64"), _) if stored in t.INTEGRAL_BITS:
            return int(kind.removeprefix("Int")) >= t.INTEGRAL_BITS[stored]
        case {"Decimal": [int() as precision, int() as scale]}, t.DecimalType():
            return scale >= stored.scale and precision - scale >= stored.precision - stored.scale
    return False


def _scalar(kind: str, value: Any) -> Literal:
    match kind, value:
        case "Null", _:
            return Literal(None, t.VOID)
        case _, int() if kind in _INTEGERS:
            return Literal(value, t.LONG)
        case "Float32", float():
            return Literal(float(np.float32(value)), t.FLOAT)
        case "Float64", float():
            return Literal(value, t.DOUBLE)
        case "String", str():
            return Literal(value, t.STRING)
        case "Boolean", bool():
            return Literal(value, t.BOOLEAN)
        case "Binary", [*numbers]:
            return Literal(bytes(numbers), t.BINARY)
        case "Date", int():
            return Literal(value, t.DATE)
        case "Datetime", [int() as micros, "Microseconds", None]:
            # Polars compares a literal in milliseconds with the milliseconds of the column.
            return Literal(micros, t.TIMESTAMP_NTZ)
        case "Datetime", [int() as micros, "Microseconds", {"inner": "UTC"}]:
            return Literal(micros, t.TIMESTAMP)
        case "Decimal", [int() as unscaled, _, int() as scale]:
            return Literal(of_unscaled(unscaled, scale), t.DecimalType(38, scale))
    raise Inexact(f"the constant is {kind}")


def _listed(tree: Any) -> list[Literal]:
    match tree:
        case {"Alias": [inner, _]}:
            return _listed(inner)
        case {"Literal": {"Scalar": {"List": [*numbers]}} | {"Series": [*numbers]}} | {
            "Function": {"input": [{"Literal": {"Scalar": {"List": [*numbers]}}}]}
        }:
            try:
                column = pa.ipc.open_stream(bytes(numbers)).read_all().column(0)
            except (pa.ArrowException, ValueError, TypeError) as error:
                raise Inexact("the list of values cannot be read") from error
            return [arrow_constant(each) for each in column]
    raise Inexact("the values are not a constant list")


def _part(tree: Any) -> str:
    """The name of the outermost function of an expression and its argument, such as `Length of tags`."""
    match tree:
        case {"Function": {"function": function}}:
            name = function_name(function).rpartition(".")[2]
        case {"Agg": {**members}} if len(members) == 1:
            name = str(next(iter(members)))
        case {"BinaryExpr": {"op": str() as name}}:
            pass
        case {**members} if len(members) == 1:
            name = str(next(iter(members)))
        case _:
            name = "a part"
    of = ", ".join(dict.fromkeys(_columns(tree)))
    return f"{name} of {of}" if of else str(name)


def function_name(function: Any) -> str:
    """Return the name of a function as Polars serializes it, with its group: `ListExpr.Length`."""
    names: list[str] = []
    while isinstance(function, dict) and len(function) == 1:
        [(name, function)] = function.items()
        names.append(name)
    # Parameters begin with a lower-case letter.
    return ".".join(str(name) for name in (*names, function) if str(name)[0].isupper() and not isinstance(name, bool))


def _columns(tree: Any) -> Iterator[str]:
    match tree:
        case {"Column": str() as name}:
            yield display_name([name])
        case dict():
            for each in tree.values():
                yield from _columns(each)
        case list():
            for each in tree:
                yield from _columns(each)


def spark_text(tree: Any) -> str | None:
    """Return SQL text with the meaning of a Polars expression except in corner cases; None if no SQL is known."""
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
            # A trailing NULL is an argument that was not given.
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

"""format_string, with Java's Formatter.

# Spark 4.1, FormatString in stringExpressions.scala
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltaskip.expr.coerce import INTEGRAL_BITS, implicit_cast, type_of
from deltaskip.expr.functions.function import Function, Row, Typed
from deltaskip.expr.nodes import Call, Node
from deltaskip.expr.printf_format import formatted
from deltaskip.expr.vectors import Values, constant, is_constant, repeated, texts
from deltaskip.schema.arrow_values import domain_values
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import BOOLEAN, DOUBLE, FLOAT, STRING, VOID, DataType, DecimalType

__all__ = ["PRINTF"]

_WRITTEN = (*INTEGRAL_BITS, STRING, BOOLEAN, FLOAT, DOUBLE, VOID)


def _signature(args: tuple[Node, ...]) -> Typed:
    """A template and any values. Spark writes values of other types as it stores them, such as dates as numbers."""
    template = implicit_cast(args[0], STRING) if args else None
    types = [type_of(arg) for arg in args[1:]]
    if template is None or not all(type_ in _WRITTEN or isinstance(type_, DecimalType) for type_ in types):
        return None
    return (template, *args[1:]), STRING


def _types(call: Call) -> list[DataType]:
    return [type_of(arg) or VOID for arg in call.args[1:]]


def _compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return None if args[0] is None else formatted(args[0], args[1:], _types(call))


def _column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    template, types = constant(args[0]), _types(call)
    if template is None:
        return texts([None])[0]
    rows = max(len(each) for each in args if not is_constant(each))
    lists = [domain_values(repeated(each, rows)) for each in args[1:]]
    known: dict[tuple[str, ...], str] = {}
    found: list[str] = []
    for values in zip(*lists, strict=True):
        key = tuple(map(repr, values))
        if key not in known:
            known[key] = formatted(template, values, types)
        found.append(known[key])
    return texts(found)


PRINTF: Mapping[str, Row] = {
    "format_string": Function(_signature, _compute, False, by_column=_column, aliases=("printf",), decisive=(0,)),
}

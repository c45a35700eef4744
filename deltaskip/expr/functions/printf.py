"""format_string, with Java's Formatter.

# Spark 4.1, FormatString in stringExpressions.scala
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.coerce import INTEGRAL_BITS, implicit_cast, type_of
from deltaskip.expr.functions.function import Function, Row, Typed
from deltaskip.expr.nodes import Call, Node
from deltaskip.expr.printf_format import Specifier, formatted, template_parts
from deltaskip.expr.vectors import Values, constant, constant_of, is_constant, repeated, texts
from deltaskip.schema.arrow_values import NOTHING, domain_values
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import BOOLEAN, DOUBLE, FLOAT, STRING, VOID, DataType, DecimalType

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
    pieces = [_piece(part, args[1:], types) for part in template_parts(template)]
    if not any(piece is None for piece in pieces):
        return repeated(pc.binary_join_element_wise(*pieces, NOTHING), rows)
    lists = [domain_values(repeated(each, rows)) for each in args[1:]]
    known: dict[tuple[str, ...], str] = {}
    found: list[str] = []
    for values in zip(*lists, strict=True):
        key = tuple(map(repr, values))
        if key not in known:
            known[key] = formatted(template, values, types)
        found.append(known[key])
    return texts(found)


def _piece(part: str | Specifier, args: Sequence[Values], types: Sequence[DataType]) -> Values | None:
    """A part of the texts of all rows; None for what is written one by one."""
    if isinstance(part, str):
        return constant_of(part, pa.string())
    if part.argument >= len(args) or part.flags not in ("", "0") or part.precision is not None or part.upper:
        return None
    values, type_ = args[part.argument], types[part.argument]
    plain = part.kind == "s" and (type_ in INTEGRAL_BITS or type_ in (STRING, BOOLEAN)) and not part.width
    if not plain and not (part.kind == "d" and type_ in INTEGRAL_BITS):
        return None
    found = pc.cast(values, pa.string())
    if part.flags:
        if pc.any(pc.or_kleene(pc.is_null(values), pc.less(values, constant_of(0, values.type)))).as_py():
            return None
        return pc.utf8_lpad(found, part.width, "0")
    found = pc.fill_null(found, "null")
    return pc.utf8_lpad(found, part.width, " ") if part.width else found


PRINTF: Mapping[str, Row] = {
    "format_string": Function(_signature, _compute, False, by_column=_column, aliases=("printf",), decisive=(0,)),
}

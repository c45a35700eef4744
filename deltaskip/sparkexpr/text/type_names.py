"""Type names in SQL: `CAST(x AS decimal(10,2))`, `col.cast("bigint")`."""

from __future__ import annotations

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.ddl import DECIMAL_NAMES, TYPE_NAMES
from deltaskip.sparkexpr.types.json import simple_string

EXAMPLES: dict[t.DataType, str] = {
    t.DATE: "DATE'2026-01-31'",
    t.TIMESTAMP: "TIMESTAMP'2026-01-31 12:00:00'",
    t.TIMESTAMP_NTZ: "TIMESTAMP_NTZ'2026-01-31 12:00:00'",
}
"""Literals of times, for messages."""

_DECIMAL = regex(rf"(?:{'|'.join(DECIMAL_NAMES)})\s*(?:\(\s*([0-9]+)\s*(?:,\s*([0-9]+)\s*)?\))?")


def type_named(text: str) -> t.DataType:
    """Return the primitive or decimal type with a Spark SQL type name. Raises PredicateError for any other name."""
    name = text.strip().lower()
    if name in TYPE_NAMES:
        return TYPE_NAMES[name]
    match = _DECIMAL.fullmatch(name)
    if match is None:
        raise PredicateError(f"{text!r} is not a primitive type of Spark SQL, such as bigint or decimal(10,2).")
    try:
        return t.DecimalType(int(match.group(1) or 10), int(match.group(2) or 0))
    except SchemaError as error:
        raise PredicateError(str(error)) from error


def comparison_cure(left: t.DataType, right: t.DataType) -> str:
    """Return advice for messages about a comparison of two types that Spark does not compare."""
    example = EXAMPLES.get(left) or EXAMPLES.get(right)
    return "cast one side" if example is None else f"write a time as {example}, or cast one side"


def sql_name(type_: t.DataType | None) -> str:
    """Return the type's name in Spark's messages."""
    match type_:
        case t.PrimitiveType() | t.DecimalType() | t.GeometryType() | t.GeographyType():
            return simple_string(type_).upper()
        case t.ArrayType():
            return "ARRAY"
        case t.MapType():
            return "MAP"
        case t.StructType():
            return "STRUCT"
        case t.UnknownType():
            return type_.name.upper()
        case _:
            return "an unknown type"

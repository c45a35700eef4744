"""Reads and writes schemaString, the JSON of types, and JSON in the metadata of columns.

# PROTOCOL, Schema Serialization Format
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from deltaskip.errors import SchemaError
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.declared_collations import check_collations
from deltaskip.sparkexpr.types.geospatial import geospatial_named, geospatial_text

# Spark keeps the declared char(n) or varchar(n) of a string column under this key.
CHAR_VARCHAR_KEY = "__CHAR_VARCHAR_TYPE_STRING"

_DECIMAL = regex(r"decimal\(\s*(\d{1,9})\s*,\s*(-?\d{1,9})\s*\)")
CHAR_VARCHAR = regex(r"(char|varchar)\(\s*(\d+)\s*\)")
"""Matches char(n) and varchar(n); the groups are the name and the length."""

_INTERVAL = regex(r"interval (year|month|day|hour|minute|second)(?: to (month|hour|minute|second))?")
_UNITS = ("year", "month", "day", "hour", "minute", "second")

# Schemas of at most this many characters are cached: many versions of a table have the same schema.
_SHORT = 1 << 18

# Old type names that Spark still accepts: NullType was once "null".
_OTHER_NAMES: Mapping[str, t.DataType] = {
    "null": t.VOID,
    "timestamp_ltz": t.TIMESTAMP,
    "timestampWithoutTimezone": t.TIMESTAMP_NTZ,
    "decimal": t.DecimalType(10, 0),
    # The RFC gives no names in JSON: those of delta-kernel-rs are written, and other ones read.
    **dict.fromkeys(("timestampNanos", "timestamp_ns", "nanosecond timestamp", "timestamp_ltz(9)"), t.NANOS),
    **dict.fromkeys(
        ("timestampNanosNtz", "timestamp_ntz_ns", "timestamp_ntz_nanos", "nanosecond timestamp without timezone",
         "timestamp_ntz(9)"), t.NANOS_NTZ,
    ),
}  # fmt: skip

_SQL_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def parse_schema(text: str | None) -> t.StructType:
    """Parse the schemaString of a table. None (a metaData action without schemaString) is a schema without columns.

    Unknown type names become UnknownType; `char(n)` and `varchar(n)` become string with Spark's metadata key.

    Raises SchemaError with the name of the field for any other violation of the protocol.
    """
    if text is None:
        return t.StructType()
    return _again(text) if len(text) <= _SHORT else _parsed(text)


def _parsed(text: str) -> t.StructType:
    try:
        value = parse_json(text)
        parsed = _type(value, "the schema")
    except RecursionError as error:
        raise SchemaError("schemaString is nested too deeply.") from error
    except (ValueError, TypeError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"schemaString is not JSON: {str(error).rstrip('.')}.") from error
    if not isinstance(parsed, t.StructType):
        raise SchemaError(f"schemaString is of type {simple_string(parsed)}; a table's schema must be a struct.")
    return parsed


_again = lru_cache(maxsize=8)(_parsed)


def parse_type(text: str) -> t.DataType:
    """Parse the JSON text of a type (a quoted name or an object). Raises SchemaError like parse_schema."""
    try:
        return _type(parse_json(text), "the type")
    except RecursionError as error:
        raise SchemaError("The JSON of the type is nested too deeply.") from error
    except ValueError as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"{text!r} is not the JSON of a type: {error}.") from error


def schema_to_json(struct: t.StructType) -> str:
    """Return the schemaString of `struct`. parse_schema converts it back to an equal struct."""
    return type_to_json(struct)


def type_to_json(data_type: t.DataType) -> str:
    """Return the JSON text of a type, without white space."""
    return json.dumps(_json(data_type), ensure_ascii=False, separators=(",", ":"))


def type_name(data_type: t.DataType) -> str:
    """Return the name of a type in schemaString, such as decimal(10,2)."""
    return str(parse_json(type_to_json(data_type)))


def simple_string(data_type: t.DataType, field: t.StructField | None = None) -> str:
    """Return Spark's text for a type: bigint, struct<x:string collate UNICODE_CI,y:array<int>>.

    Args:
        data_type: The type.
        field: The StructField of the type, if any. Its metadata declares the collations of the strings in the type.
    """
    return _simple(data_type, field, field.name if field else "")


def invariant_expression(value: object) -> str | None:
    """Return the SQL expression in the metadata `delta.invariants`, a string of JSON; None if it is malformed.

    # PROTOCOL, Column Invariants: {"expression": {"expression": "x > 3"}}
    """
    if not isinstance(value, str):
        return None
    try:
        text = parse_json(value)["expression"]["expression"]
    except (ValueError, TypeError, KeyError):
        return None
    return text if isinstance(text, str) else None


def _type(value: Any, where: str, left: int = t.DEEPEST) -> t.DataType:
    """The type of a JSON value. left: The number of levels that may be nested in it."""
    if not left:
        raise SchemaError(f"The schema is nested in more than {t.DEEPEST} levels.")
    match value:
        case str():
            return _named(value, where)
        case {"type": "struct"}:
            fields = value.get("fields")
            if not isinstance(fields, list):
                raise SchemaError(f"The struct at {where} has no list of fields.")
            return t.StructType(tuple(_field(f, where, left - 1) for f in fields))
        case {"type": "array"}:
            element = _type(_member(value, "elementType", where), f"{where}.element", left - 1)
            return t.ArrayType(element, _boolean(value, "containsNull", where))
        case {"type": "map"}:
            key = _type(_member(value, "keyType", where), f"{where}.key", left - 1)
            content = _type(_member(value, "valueType", where), f"{where}.value", left - 1)
            return t.MapType(key, content, _boolean(value, "valueContainsNull", where))
        case {"type": str()}:
            if _is_deep(value, left):
                raise SchemaError(f"The type at {where} is nested in more than {t.DEEPEST} levels.")
            return t.UnknownType(json.dumps(value, ensure_ascii=False, sort_keys=True))
        case _:
            raise SchemaError(f"The type at {where} is neither a name nor an object with a type: {_excerpt(value)}.")


def _named(name: str, where: str) -> t.DataType:
    known = t.PRIMITIVES.get(name) or _OTHER_NAMES.get(name)
    if known is not None:
        return known
    decimal, interval = _DECIMAL.fullmatch(name), _INTERVAL.fullmatch(name)
    if interval is not None:
        first, last = (_UNITS.index(unit) for unit in (interval[1], interval[2] or interval[1]))
        # RFC Interval Types: other spellings denote one of the two types, and are written by its name.
        if (interval[2] is None or first < last) and (first < 2) == (last < 2):
            return t.YEAR_MONTH if first < 2 else t.DAY_TIME
    if decimal is None:
        return geospatial_named(name) or t.UnknownType(json.dumps(name, ensure_ascii=False))
    try:
        return t.DecimalType(int(decimal[1]), int(decimal[2]))
    except SchemaError as error:
        raise SchemaError(f"At {where}: {error}") from error


def _field(value: Any, parent: str, left: int) -> t.StructField:
    if not isinstance(value, dict):
        raise SchemaError(f"A field of {parent} is not a JSON object: {_excerpt(value)}.")
    name = _member(value, "name", f"a field of {parent}")
    if not isinstance(name, str):
        raise SchemaError(f"A field of {parent} has a name that is not a string: {_excerpt(name)}.")
    where = f"column {name}" if parent == "the schema" else f"{parent}.{name}"
    data_type = _type(_member(value, "type", where), where, left)
    metadata = value.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise SchemaError(f"The metadata of {where} is not a JSON object: {_excerpt(metadata)}.")
    if metadata and _is_deep(metadata, left):
        raise SchemaError(f"The metadata of {where} is nested in more than {t.DEEPEST} levels.")
    plain = _without_lengths(data_type)
    if plain != data_type:
        metadata = {CHAR_VARCHAR_KEY: simple_string(data_type), **metadata}
    field = t.StructField(name, plain, _boolean(value, "nullable", where), metadata)
    check_collations(field)
    return field


def _is_deep(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not left or any(_is_deep(each, left - 1) for each in inner)


def _without_lengths(data_type: t.DataType) -> t.DataType:
    """The type with char(n) and varchar(n) replaced by string, except in nested structs, whose fields have metadata."""
    match data_type:
        case t.UnknownType() if CHAR_VARCHAR.fullmatch(data_type.name):
            return t.STRING
        case t.ArrayType(element, contains_null):
            return t.ArrayType(_without_lengths(element), contains_null)
        case t.MapType(key, value, value_contains_null):
            return t.MapType(_without_lengths(key), _without_lengths(value), value_contains_null)
        case _:
            return data_type


def _member(value: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in value:
        raise SchemaError(f"{where[:1].upper()}{where[1:]} has no {key!r} in schemaString.")
    return value[key]


def _boolean(value: Mapping[str, Any], key: str, where: str) -> bool:
    flag = _member(value, key, where)
    if not isinstance(flag, bool):
        raise SchemaError(f"{key!r} of {where} is not true or false: {_excerpt(flag)}.")
    return flag


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def _json(data_type: t.DataType) -> Any:
    match data_type:
        case t.PrimitiveType(name):
            return name
        case t.DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case t.StructType(fields):
            return {
                "type": "struct",
                "fields": [
                    {"name": f.name, "type": _json(f.type), "nullable": f.nullable, "metadata": dict(f.metadata)}
                    for f in fields
                ],
            }
        case t.ArrayType(element, contains_null):
            return {"type": "array", "elementType": _json(element), "containsNull": contains_null}
        case t.MapType(key, value, value_contains_null):
            return {
                "type": "map",
                "keyType": _json(key),
                "valueType": _json(value),
                "valueContainsNull": value_contains_null,
            }
        case t.UnknownType(text):
            return parse_json(text)
        case t.GeometryType() | t.GeographyType():
            return data_type.name
        case _:
            raise SchemaError(f"{type(data_type).__name__} has no JSON form.")


def _simple(data_type: t.DataType, field: t.StructField | None, path: str) -> str:
    match data_type:
        case t.PrimitiveType("string"):
            identifier = t.declared_collation(field, path) if field else None
            return f"string collate {t.collation_name(identifier)}" if identifier else "string"
        case t.PrimitiveType(name):
            return _SQL_NAMES.get(name, name)
        case t.DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case t.StructType(fields):
            return "struct<" + ",".join(f"{f.name}:{_simple(f.type, f, f.name)}" for f in fields) + ">"
        case t.ArrayType(element):
            return f"array<{_simple(element, field, path + '.element')}>"
        case t.MapType(key, value):
            return f"map<{_simple(key, field, path + '.key')},{_simple(value, field, path + '.value')}>"
        case t.UnknownType():
            return data_type.name
        case t.GeometryType() | t.GeographyType():
            return geospatial_text(data_type)
        case _:
            raise SchemaError(f"{type(data_type).__name__} has no SQL text.")

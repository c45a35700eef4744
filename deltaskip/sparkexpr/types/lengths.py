"""Conversion of char(n) and varchar(n) between the type of a column and its metadata.

Spark stores such a column as string, and the declared type of the whole top-level column under a metadata key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr.types import data_types
from deltaskip.sparkexpr.types.ddl import parse_type_text, type_text, without_lengths
from deltaskip.sparkexpr.types.json import CHAR_VARCHAR, CHAR_VARCHAR_KEY
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.arrow_nested import changed_inside


def char_type(struct: data_types.StructType, path: Sequence[str]) -> str:
    """Return the declared type char(n) of a column or nested field by its exact names; "" for other fields."""
    declared = declared_type(struct, path)
    length = None if declared is None else char_length(declared)
    return "" if length is None else f"char({length})"


def declared_type(struct: data_types.StructType, path: Sequence[str]) -> data_types.DataType | None:
    """Return the type of a column or nested field, as `with_lengths` returns it; None if the path does not exist."""
    declared: data_types.DataType = struct
    for name in path:
        fields = declared.fields if isinstance(declared, data_types.StructType) else ()
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return None
        declared = with_lengths(field).type
    return declared


def char_length(data_type: data_types.DataType) -> int | None:
    """Return n of a type char(n) from `with_lengths`; None for other types."""
    found = text_length(data_type)
    return None if found is None or found[0] != "char" else found[1]


def text_length(data_type: data_types.DataType) -> tuple[str, int] | None:
    """Return `char` or `varchar`, and n, of a type from `with_lengths`; None for other types."""
    found = CHAR_VARCHAR.fullmatch(data_type.name) if isinstance(data_type, data_types.UnknownType) else None
    return None if found is None else (found[1], int(found[2]))


def is_text(data_type: data_types.DataType) -> bool:
    """Whether a type from `with_lengths` is string, char(n) or varchar(n)."""
    return data_type == data_types.STRING or text_length(data_type) is not None


def holds_all(new: data_types.DataType, old: data_types.DataType) -> bool:
    """Whether the string type `new` holds every value of the string type `old`. Both are from `with_lengths`.

    The values of char(n) are padded to n characters.
    """
    if not (is_text(old) and is_text(new)):
        return False
    before, after = text_length(old), text_length(new)
    return old == new or after is None or (before is not None and after[0] == "varchar" and after[1] >= before[1])


def declares_char(field: data_types.StructField) -> bool:
    """Whether the declared type of a column or field is char(n), or contains it at any depth: Spark pads its values."""
    if not field.metadata and isinstance(field.type, data_types.PrimitiveType):
        return False
    return holds_char(with_lengths(field).type)


def holds_char(data_type: data_types.DataType) -> bool:
    """Whether a type from `with_lengths` is char(n), or contains it at any depth."""
    match data_type:
        case data_types.StructType(fields):
            return any(holds_char(field.type) for field in fields)
        case data_types.ArrayType(element):
            return holds_char(element)
        case data_types.MapType(key, value):
            return holds_char(key) or holds_char(value)
        case _:
            return char_length(data_type) is not None


def char_columns(fields: Iterable[data_types.StructField]) -> dict[str, data_types.DataType]:
    """Return the declared types of the columns that contain char(n), by name."""
    declared = ((field.name, with_lengths(field).type) for field in fields)
    return {name: data_type for name, data_type in declared if holds_char(data_type)}


def char_padded(array: pa.Array, declared: data_types.DataType) -> pa.Array:
    """Return a column with its strings of type char(n) padded. declared: Its type from `char_columns`.

    # Spark 4.1, spark.sql.readSideCharPadding
    """
    if not holds_char(declared):
        return array
    length = char_length(declared)
    return changed_inside(array, declared, char_padded) if length is None else pc.utf8_rpad(array, length)


def with_lengths(field: data_types.StructField) -> data_types.StructField:
    """Return the field with its declared char(n) and varchar(n) in its type, and without the metadata key."""
    declared = field.metadata.get(CHAR_VARCHAR_KEY)
    inner = _inner(field.type)
    if declared is None:
        return (
            field if inner is field.type else data_types.StructField(field.name, inner, field.nullable, field.metadata)
        )
    try:
        lengths = parse_type_text(str(declared))
    except SchemaError:
        # A type that cannot be parsed is kept unchanged.
        return field
    metadata = {key: value for key, value in field.metadata.items() if key != CHAR_VARCHAR_KEY}
    return data_types.StructField(field.name, _declared(inner, lengths), field.nullable, metadata)


def stored_field(field: data_types.StructField) -> data_types.StructField:
    """Return the field as a schema stores it: the inverse of `with_lengths`."""
    plain = without_lengths(field.type)
    if plain == field.type:
        return field
    metadata = {**field.metadata, CHAR_VARCHAR_KEY: type_text(field.type)}
    return data_types.StructField(field.name, plain, field.nullable, metadata)


def _inner(data_type: data_types.DataType) -> data_types.DataType:
    """The type with the lengths that the fields of nested structs declare."""
    match data_type:
        case data_types.StructType(fields):
            found = tuple(map(with_lengths, fields))
            return (
                data_type if all(a is b for a, b in zip(found, fields, strict=True)) else data_types.StructType(found)
            )
        case data_types.ArrayType(element, contains_null):
            inner = _inner(element)
            return data_type if inner is element else data_types.ArrayType(inner, contains_null)
        case data_types.MapType(key, value, contains_null):
            inner_key, inner_value = _inner(key), _inner(value)
            same = inner_key is key and inner_value is value
            return data_type if same else data_types.MapType(inner_key, inner_value, contains_null)
        case _:
            return data_type


def _declared(actual: data_types.DataType, declared: data_types.DataType) -> data_types.DataType:
    """The actual type with the lengths of the declared type, as far as both have the same structure."""
    match actual, declared:
        case _, data_types.UnknownType() if actual == data_types.STRING:
            return declared
        case data_types.StructType(fields), data_types.StructType(others):
            by_name = {fold_name(other.name): other.type for other in others}
            inner = (_declared(f.type, by_name.get(fold_name(f.name), f.type)) for f in fields)
            return data_types.StructType(tuple(replace(f, type=t) for f, t in zip(fields, inner, strict=True)))
        case data_types.ArrayType(element, contains_null), data_types.ArrayType(other):
            return data_types.ArrayType(_declared(element, other), contains_null)
        case data_types.MapType(key, value, contains_null), data_types.MapType(other_key, other_value):
            return data_types.MapType(_declared(key, other_key), _declared(value, other_value), contains_null)
        case _:
            return actual

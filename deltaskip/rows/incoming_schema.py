"""The schema of Arrow data that comes to a table: where Arrow does not say enough, the table's column decides."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from deltaskip.schema.arrow import UUID_EXTENSION, VARIANT_STORAGE, extension_name, from_arrow
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.types import (
    BINARY,
    STRING,
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)


def incoming_schema(schema: pa.Schema, table_schema: StructType) -> StructType:
    """Return the schema of Arrow data for a plan.

    A struct of two binaries is a variant where the table has one, and a UUID is text where the table has text.

    Raises SchemaError for an Arrow type without a counterpart in Delta.
    """
    return _struct(schema, from_arrow(schema), table_schema)


def _struct(arrow: Iterable[pa.Field], given: StructType, target: StructType) -> StructType:
    known = {fold_name(field.name): field.type for field in target.fields}
    fields = (
        StructField(f.name, _type(each, f.type, known[fold_name(f.name)]), f.nullable, f.metadata)
        if fold_name(f.name) in known
        else f
        for each, f in zip(arrow, given.fields, strict=True)
    )
    return StructType(tuple(fields))


def _type(arrow: pa.Field, given: DataType, target: DataType) -> DataType:
    kind = arrow.type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _type(pa.field(arrow.name, kind.value_type), given, target)
    if target == STRING and extension_name(arrow) == UUID_EXTENSION:
        return STRING
    match given, target:
        case StructType(fields), PrimitiveType("variant"):
            stored = {f.name: f.type for f in fields} == {f.name: BINARY for f in VARIANT_STORAGE}
            return VARIANT if stored else given
        case StructType(), StructType():
            return _struct(kind, given, target)
        case ArrayType(element, contains_null), ArrayType(inner):
            return ArrayType(_type(kind.value_field, element, inner), contains_null)
        case MapType(key, value, contains_null), MapType(inner_key, inner):
            inside = _type(kind.key_field, key, inner_key), _type(kind.item_field, value, inner)
            return MapType(*inside, contains_null)
        case _:
            return given

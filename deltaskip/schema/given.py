"""The schema that a caller gives: DDL text, JSON, a PySpark or Arrow schema, or this package's own."""

from __future__ import annotations

import sys

import pyarrow as pa

from deltaskip.errors import InvalidArgumentType, SchemaError
from deltaskip.schema.arrow import from_arrow
from deltaskip.schema.ddl import parse_columns
from deltaskip.schema.json import CHAR_VARCHAR_KEY, parse_schema, schema_to_json
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import COLLATIONS_KEY, DataType, StructField, StructType

__all__ = ["field_of", "schema_of"]

_PARTS_OF_TYPE = (CHAR_VARCHAR_KEY, COLLATIONS_KEY)

_SCHEMA = "column definitions as text, such as 'id BIGINT, name STRING', or a PySpark, Arrow or deltaskip schema"


def schema_of(value: object) -> StructType:
    """Return the schema that `value` describes.

    Args:
        value: A StructType of deltaskip or of PySpark, an Arrow schema (anything with `__arrow_c_schema__`), the
            protocol's JSON, or a column list such as "id BIGINT NOT NULL, name STRING".

    Raises:
        SchemaError: The text cannot be parsed, or a type has no counterpart in Delta.
        InvalidArgumentType: `value` is none of these.
    """
    if isinstance(value, StructType):
        return value
    if isinstance(value, str):
        return parse_schema(value) if value.lstrip().startswith("{") else parse_columns(value)
    if isinstance(value, pa.Schema):
        return from_arrow(value)
    if hasattr(value, "__arrow_c_schema__"):
        return from_arrow(pa.schema(value))
    as_json = getattr(value, "json", None)
    if type(value).__module__.partition(".")[0] == "pyspark" and callable(as_json):
        return parse_schema(as_json())
    raise InvalidArgumentType.of("schema", _SCHEMA, value)


def field_of(name: str, value: object) -> StructField:
    """Return a nullable field of the type that `value` describes, with the metadata that belongs to the type.

    Args:
        name: Name of the field.
        value: SQL text such as "VARCHAR(5)" or "STRING COLLATE UNICODE_CI", or a type of deltaskip, PySpark or Arrow.

    Raises:
        SchemaError: The text is no type, or the type has no counterpart in Delta.
        InvalidArgumentType: `value` is none of these.
    """
    if isinstance(value, str):
        found = parse_columns(f"{quoted_name(name)} {value}").fields
        if len(found) > 1 or not found[0].nullable or not {*found[0].metadata} <= {*_PARTS_OF_TYPE}:
            raise SchemaError(f"{value!r} is more than the type of the column {name}.")
        return found[0]
    if isinstance(value, DataType):
        return parse_schema(schema_to_json(StructType((StructField(name, value),)))).fields[0]
    if isinstance(value, pa.DataType):
        return from_arrow(pa.schema([pa.field(name, value)])).fields[0]
    if type(value).__module__.partition(".")[0] == "pyspark" and callable(getattr(value, "jsonValue", None)):
        # Collations are part of a field's JSON alone.
        types = sys.modules[type(value).__module__]
        return parse_schema(types.StructType([types.StructField(name, value)]).json()).fields[0]
    raise InvalidArgumentType.of(
        f"The type of the column {name}", "SQL text, or a type of PySpark, Arrow or deltaskip", value
    )

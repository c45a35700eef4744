"""The schema that a caller gives: DDL text, JSON, a PySpark or Arrow schema, or this package's own."""

from __future__ import annotations

import pyarrow as pa

from deltaskip.errors import InvalidArgumentType
from deltaskip.schema.arrow import from_arrow
from deltaskip.schema.ddl import parse_columns
from deltaskip.schema.json import parse_schema
from deltaskip.schema.types import StructType

__all__ = ["schema_of"]


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
    raise InvalidArgumentType.of("schema", "column definitions as text, or a PySpark, Arrow or deltaskip schema", value)

"""Reads the schema that a caller gives as DDL text, JSON, or a schema of PySpark, Arrow or deltaskip."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import pyarrow as pa

from deltaskip.errors import InvalidArgumentType, SchemaError
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types.ddl import parse_columns

_PARTS_OF_TYPE = (t.CHAR_VARCHAR_KEY, t.COLLATIONS_KEY)

_SCHEMA = "column definitions as text, such as 'id BIGINT, name STRING', or a PySpark, Arrow or deltaskip schema"


def schema_of(value: object) -> t.StructType:
    """Return the schema that `value` describes.

    Args:
        value: A StructType of deltaskip or of PySpark, an Arrow schema (anything with `__arrow_c_schema__`), the
            protocol's JSON, or a column list such as "id BIGINT NOT NULL, name STRING".

    Raises:
        SchemaError: The text cannot be parsed, or a type has no counterpart in Delta.
        InvalidArgumentType: `value` has another type.
    """
    if isinstance(value, t.StructType):
        _check_depth(value)
        return value
    if isinstance(value, str):
        return t.parse_schema(value) if value.lstrip().startswith("{") else parse_columns(value)
    if isinstance(value, pa.Schema) or hasattr(value, "__arrow_c_schema__"):
        schema = _arrow_schema(value)
        _check_depth(pa.struct(schema))
        return t.StructType(tuple(map(with_declared_intervals, t.from_arrow(schema).fields)))
    as_json = getattr(value, "json", None)
    if type(value).__module__.partition(".")[0] == "pyspark" and callable(as_json):
        return _parsed(as_json)
    error = InvalidArgumentType.of("schema", _SCHEMA, value)
    if isinstance(value, dict) and value:
        named = ", ".join(f"{name} {kind if isinstance(kind, str) else 'TYPE'}" for name, kind in value.items())
        raise InvalidArgumentType(f"{error} Write {named!r}; the columns of rows in a dict are lists of values.")
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "schema"):
        raise InvalidArgumentType(
            f"{error} Rows are not a schema: pass their own, such as table.schema or pa.Schema.from_pandas(frame), and "
            f"append them. DeltaTable.create(path, rows) and deltaskip.write(path, rows) take the rows alone."
        )
    raise error


def with_declared_intervals(field: t.StructField) -> t.StructField:
    """Return a field of Arrow data that becomes a new column.

    Raises SchemaError for durations: few readers of Delta have intervals, so the owner of a table must ask for them.
    """
    if any(each == t.DAY_TIME for each in t.nested_types(field.type)):
        raise SchemaError(
            f"Column {field.name!r}: a duration becomes an interval, which few readers of Delta have: cast the column "
            f"to a number, or declare it as INTERVAL DAY TO SECOND in a schema as SQL text."
        )
    return field


def field_of(name: str, value: object) -> t.StructField:
    """Return a nullable field of the type that `value` describes, with the metadata that belongs to the type.

    Args:
        name: Name of the field.
        value: SQL text such as "VARCHAR(5)" or "STRING COLLATE UNICODE_CI", or a type of deltaskip, PySpark or Arrow.

    Raises:
        SchemaError: The text is not a type, or the type has no counterpart in Delta.
        InvalidArgumentType: `value` has another type.
    """
    if isinstance(value, str):
        found = parse_columns(f"{quoted_name(name)} {value}").fields
        if len(found) > 1 or not found[0].nullable or not {*found[0].metadata} <= {*_PARTS_OF_TYPE}:
            raise SchemaError(f"{value!r} is more than the type of the column {name}.")
        return found[0]
    if isinstance(value, t.DataType | pa.DataType):
        _check_depth(value)
    if isinstance(value, t.DataType):
        return t.parse_schema(t.schema_to_json(t.StructType((t.StructField(name, value),)))).fields[0]
    if isinstance(value, pa.DataType):
        return with_declared_intervals(t.from_arrow(pa.schema([pa.field(name, value)])).fields[0])
    if type(value).__module__.partition(".")[0] == "pyspark" and callable(getattr(value, "jsonValue", None)):
        # Only the JSON of a field has collations.
        types = sys.modules[type(value).__module__]
        return _parsed(types.StructType([types.StructField(name, value)]).json).fields[0]
    raise InvalidArgumentType.of(
        f"The type of the column {name}", "SQL text, or a type of PySpark, Arrow or deltaskip", value
    )


def _arrow_schema(value: object) -> pa.Schema:
    try:
        return value if isinstance(value, pa.Schema) else pa.schema(value)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"The Arrow schema cannot be read: {error}.") from error


def _parsed(as_json: Callable[[], str]) -> t.StructType:
    """The schema that a PySpark method returns as JSON."""
    try:
        text = as_json()
    except RecursionError:
        raise _too_deep() from None
    return t.parse_schema(text)


def _check_depth(type_: t.DataType | pa.DataType) -> None:
    """Raise SchemaError if the type has more than DEEPEST levels."""
    level = [type_]
    for _ in range(t.DEEPEST):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return
    raise _too_deep()


def _inner(type_: t.DataType | pa.DataType) -> Sequence[t.DataType | pa.DataType]:
    match type_:
        case t.StructType(fields):
            return [each.type for each in fields]
        case t.ArrayType(element):
            return [element]
        case t.MapType(key, value):
            return [key, value]
        case pa.MapType():
            return [type_.key_type, type_.item_type]
        case pa.DataType():
            return [type_.field(at).type for at in range(type_.num_fields)]
        case _:
            return []


def _too_deep() -> SchemaError:
    return SchemaError(f"The schema is nested in more than {t.DEEPEST} levels.")

"""Conversion of Delta types to Spark types.

All fields are nullable, at every depth, whatever the table declares. Spark's Parquet scan guarantees no more, and a
NOT NULL column with nulls in a file returns wrong rows instead of an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.errors import SchemaError, UnsupportedFeature
from deltaskip.schema.mapping import field_id
from deltaskip.spark.session.own_texts import OF_SHAPES, check_functions
from deltaskip.spark.session.session_settings import java_view
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import is_utf8_binary, spark_collation
from deltaskip.sparkexpr.text.sql_text import quoted_name

HAS_COLLATIONS = "collation" in inspect.signature(spark_types.StringType.__init__).parameters
"""Whether strings have collations in this version of PySpark."""

# Spark's Parquet reader reads the id of a field from its metadata.
FIELD_ID_KEY = "parquet.field.id"

_PRIMITIVES: dict[t.DataType, type] = {
    t.LONG: spark_types.LongType,
    t.INTEGER: spark_types.IntegerType,
    t.SHORT: spark_types.ShortType,
    t.BYTE: spark_types.ByteType,
    t.FLOAT: spark_types.FloatType,
    t.DOUBLE: spark_types.DoubleType,
    t.BOOLEAN: spark_types.BooleanType,
    t.BINARY: spark_types.BinaryType,
    t.DATE: spark_types.DateType,
    t.TIMESTAMP: spark_types.TimestampType,
    t.TIMESTAMP_NTZ: spark_types.TimestampNTZType,
    t.VOID: spark_types.NullType,
    t.DAY_TIME: spark_types.DayTimeIntervalType,
    t.YEAR_MONTH: spark_types.YearMonthIntervalType,
}


def spark_schema(struct: t.StructType) -> spark_types.StructType:
    """The schema of a DataFrame with rows of `struct`: all fields nullable and without metadata."""
    return spark_types.StructType([spark_types.StructField(f.name, logical_type(f)) for f in struct.fields])


def logical_type(field: t.StructField) -> spark_types.DataType:
    """The type of one column with its collations. Raises SchemaError with the column's name for an unsupported type."""
    return _field_type(field, "none")


def has_type(field: t.StructField) -> bool:
    """Whether this version of PySpark has the type of a column."""
    try:
        logical_type(field)
    except (SchemaError, UnsupportedFeature):
        return False
    return True


def spark_type(data_type: t.DataType) -> spark_types.DataType:
    """The Spark type; strings compare by bytes, since collations are declared by fields."""
    return _field_type(t.StructField("value", data_type), "none")


def check_returned_by_python(fields: Sequence[t.StructField], table: str, cure: str) -> None:
    """Raise UnsupportedFeature for types of which Spark takes no rows from Python.

    They are shapes, intervals of months, and structs with a void field.
    """
    for field in fields:
        if any(isinstance(each, t.GEOSPATIAL) or each == t.YEAR_MONTH for each in t.nested_types(field.type)):
            text = t.simple_string(field.type).upper()
            raise UnsupportedFeature(f"The column {field.name!r} of {table} is {text}, which tasks do not read: {cure}")
        if field.type != t.VOID and holds_void(field.type):
            raise UnsupportedFeature(
                f"The column {field.name!r} of {table} has a field of type VOID, which Spark does not accept from "
                f"Python: {cure}"
            )


def check_given_to_python(schema: spark_types.StructType, table: str) -> None:
    """Raise UnsupportedFeature for intervals of months, of which pyarrow has no arrays, so that tasks get no rows."""
    for field in schema.fields:
        if "interval year" in field.dataType.simpleString() or "interval month" in field.dataType.simpleString():
            text = field.dataType.simpleString().upper()
            raise UnsupportedFeature(
                f"The column {field.name!r} of the rows for {table} is {text}, which tasks do not write: call "
                f"DeltaTable({table!r}).append(rows)."
            )


def holds_void(data_type: t.DataType) -> bool:
    """Whether a struct inside a type has a VOID field, at any depth."""
    match data_type:
        case t.StructType(fields):
            return any(f.type == t.VOID or holds_void(f.type) for f in fields)
        case t.ArrayType(element):
            return holds_void(element)
        case t.MapType(key, value):
            return holds_void(key) or holds_void(value)
        case _:
            return False


def nullable(type_: spark_types.DataType) -> spark_types.DataType:
    """The type with nullable fields, elements and values, at every depth."""
    match type_:
        case spark_types.StructType():
            made = spark_types.StructField
            return spark_types.StructType([made(f.name, nullable(f.dataType), True, f.metadata) for f in type_.fields])
        case spark_types.ArrayType():
            return spark_types.ArrayType(nullable(type_.elementType), True)
        case spark_types.MapType():
            return spark_types.MapType(nullable(type_.keyType), nullable(type_.valueType), True)
        case _:
            return type_


def collectable(rows: DataFrame) -> DataFrame:
    """Return the rows with nullable fields, because `toArrow` fails for NULL in a struct with NOT NULL fields.

    Shapes, which PySpark 4.2 and 4.3 return as such structs, are WKB.
    """
    types = {field.name: nullable(field.dataType) for field in rows.schema.fields}
    shapes = {name for name, type_ in types.items() if type_.typeName() in ("geometry", "geography")}
    same = all(types[field.name] == field.dataType for field in rows.schema.fields)
    if len(types) < len(rows.columns) or (same and not shapes):
        return rows
    if shapes:
        check_functions(rows.sparkSession, OF_SHAPES)
    columns = {name: F.col(quoted_name(name)) for name in types}
    collected = (F.st_asbinary(c) if name in shapes else c.cast(types[name]) for name, c in columns.items())
    return rows.select(*(each.alias(name) for name, each in zip(columns, collected, strict=True)))


def data_schema(stored: t.StructType, mode: t.MappingMode) -> spark_types.StructType:
    """The schema to read columns from the data files, without void fields; in mode "id" with their Parquet field ids.

    stored: The columns under their physical names.
    """
    return spark_types.StructType([_data_field(f, mode) for f in stored.fields if f.type != t.VOID])


def _data_field(field: t.StructField, mode: t.MappingMode) -> spark_types.StructField:
    metadata = {}
    if mode == "id":
        identifier = field_id(field)
        if identifier is None:
            raise SchemaError(
                f"Column {field.name!r} has no column mapping id although the table maps columns by id; "
                "the schema in the log is damaged."
            )
        metadata[FIELD_ID_KEY] = identifier
    return spark_types.StructField(field.name, _field_type(field, mode, stored=True), True, metadata)


def _field_type(field: t.StructField, mode: t.MappingMode, stored: bool = False) -> spark_types.DataType:
    def of(data_type: t.DataType, path: str) -> spark_types.DataType:
        match data_type:
            case t.StructType(fields) if stored:
                present = [_data_field(f, mode) for f in fields if f.type != t.VOID]
                if fields and not present:
                    raise SchemaError(f"{path!r} is a struct with only void fields, which data files cannot contain.")
                return spark_types.StructType(present)
            case t.StructType():
                return spark_schema(data_type)
            case t.ArrayType(element):
                return spark_types.ArrayType(of(element, f"{path}.element"), True)
            case t.MapType(key, value):
                return spark_types.MapType(of(key, f"{path}.key"), of(value, f"{path}.value"), True)
            case t.DecimalType(precision, scale):
                return spark_types.DecimalType(precision, scale)
            case _ if data_type == t.STRING:
                return _string_type(field, path)
            case _ if data_type == t.VARIANT:
                if not hasattr(spark_types, "VariantType"):
                    raise UnsupportedFeature(f"Column {field.name!r} is a variant, which needs Spark 4.0 or newer.")
                return spark_types.VariantType()
            case t.GeometryType() | t.GeographyType():
                return _geospatial_type(data_type, field.name)
            case _ if data_type in _PRIMITIVES:
                return _PRIMITIVES[data_type]()
            case _:
                name = getattr(data_type, "name", data_type)
                raise SchemaError(
                    f"Column {field.name!r} is of type {name}, which cannot be read through Spark: select the other "
                    f"columns, or read and change the rows without Spark."
                )

    return of(field.type, field.name)


def _geospatial_type(data_type: t.GeometryType | t.GeographyType, name: str) -> spark_types.DataType:
    """The type of shapes. Spark 4.1 has the types, and reads no files that have them."""
    srid = t.srid_of(data_type.crs)
    text = t.simple_string(data_type).upper()
    if tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 2):
        raise UnsupportedFeature(
            f"Column {name!r} is {text}, which needs Spark 4.2 or newer: select the other columns, or read the rows "
            f"without Spark."
        )
    is_spherical = isinstance(data_type, t.GeometryType) or data_type.algorithm == "spherical"
    try:
        if srid is not None and is_spherical:
            kind = spark_types.GeometryType if isinstance(data_type, t.GeometryType) else spark_types.GeographyType
            return kind(srid)
    except PySparkException as error:
        raise SchemaError(f"Column {name!r} is {text}, and Spark has no such type: {error}.") from error
    raise SchemaError(f"Column {name!r} is {text}, and Spark has no such type.")


def _string_type(field: t.StructField, path: str) -> spark_types.DataType:
    """The string type with its collation; a collation that Spark does not have is read as binary order."""
    identifier = t.declared_collation(field, path)
    if identifier is None or is_utf8_binary(identifier):
        return spark_types.StringType()
    name = spark_collation(identifier) if HAS_COLLATIONS else None
    return spark_types.StringType() if name is None else spark_types.StringType(name)


def with_declarations(frame: DataFrame, schema: t.StructType, beside: Sequence[str] = ()) -> DataFrame:
    """Return the rows with the nullability and comments of the table's columns in the schema.

    Readers of files make every column nullable. Through Spark Connect columns stay nullable, with comments.

    Args:
        frame: Rows of the table, with all its columns.
        schema: Schema of the table.
        beside: Columns of `frame` to keep after the table's columns.
    """
    if all(field.nullable and not _metadata(field) for field in schema.fields):
        return frame
    java = getattr(frame, "_jdf", None)
    output = None if java is None else java.queryExecution().analyzed().output()
    columns = []
    for i, field in enumerate(schema.fields):
        column = F.col(quoted_name(field.name))
        if output is not None and not field.nullable:
            column = _not_null(frame, output.apply(i))
        columns.append(column.alias(field.name, metadata=_metadata(field)))
    return frame.select(*columns, *beside)


def _metadata(field: t.StructField) -> dict[str, Any]:
    """The part of a field's metadata that does not belong to Delta or Spark."""
    return {t.COMMENT_KEY: field.metadata[t.COMMENT_KEY]} if t.COMMENT_KEY in field.metadata else {}


def _not_null(frame: Any, attribute: Any) -> Column:
    """The column as one without NULL for Spark. The table's writers guarantee it."""
    jvm = java_view(frame.sparkSession)
    expression = jvm.org.apache.spark.sql.catalyst.expressions.KnownNotNull(attribute)
    if pyspark.__version__.startswith("3."):
        return Column(jvm.org.apache.spark.sql.Column(expression))
    from pyspark.sql.classic.column import Column as ClassicColumn

    return ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression))

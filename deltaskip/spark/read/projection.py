"""Projection from the columns of data files to the columns of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltaskip.errors import SchemaError, UnsupportedFeature
from deltaskip.reading.read_plan import ReadPlan
from deltaskip.schema.json import CHAR_VARCHAR_KEY
from deltaskip.schema.lengths import char_length, holds_char, with_lengths
from deltaskip.schema.properties import MappingMode
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import (
    DOUBLE,
    FLOAT,
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UnknownType,
)
from deltaskip.spark.columns.spark_types import logical_type

UNPUSHED: dict[DataType, str] = {FLOAT: "1F", DOUBLE: "1D"}
"""Types of which Spark's Parquet reader must get no predicate, with the number one as SQL text.

The reader compares with bounds and dictionaries as Java compares objects: -0.0 is not 0.0, and NaN, which most writers
leave out of the bounds, is not expected. It would skip row groups with matching rows. The product of a column and one
has the same values, and Spark pushes no predicate on it down.
"""


def logical_columns(plan: ReadPlan, partition_values: Mapping[str, str]) -> list[str | Column]:
    """The table's columns in the order of the schema, over a DataFrame of the files' columns under physical names.

    They are SQL text where that is possible, and `projected` selects them.

    partition_values: the SQL text of each partition column, by logical name.
    """
    mode = plan.table.mapping_mode
    fields = zip(plan.table.schema.fields, plan.stored_schema.fields, strict=True)
    return [_logical_column(field, stored, mode, partition_values) for field, stored in fields]


def projected(frame: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
    """The columns of a DataFrame, as SQL text or as columns: a request to the JVM for each text, and six for others."""
    texts = [column for column in columns if isinstance(column, str)]
    if len(texts) == len(columns):
        return frame.selectExpr(*texts)
    return frame.select(*(F.expr(column) if isinstance(column, str) else column for column in columns))


def with_declared_lengths(frame: DataFrame, struct: StructType, beside: Sequence[Column] = ()) -> DataFrame:
    """`frame` with char(n) columns padded to length n, as Spark reads them, and the type in the column's metadata.

    Spark pads a literal that is compared with such a column only if the metadata has the type.
    beside: columns of `frame` to keep after those of the table.
    """
    if not any(CHAR_VARCHAR_KEY in f.metadata for f in struct.fields):
        return frame
    return frame.select(*map(_declared, struct.fields), *beside)


def check_has_columns(schema: StructType, table: str) -> None:
    """Raise SchemaError for a table without columns."""
    if not schema.fields:
        raise SchemaError(f"The table {table} has no columns, so there is nothing to read; add columns first.")


def check_returned_by_python(fields: Sequence[StructField], table: str, cure: str) -> None:
    """Raise UnsupportedFeature for a struct with a void field: Spark takes no rows of such a type from Python."""
    for field in fields:
        if field.type != VOID and _holds(field.type, lambda inner: inner.type == VOID):
            raise UnsupportedFeature(
                f"The column {field.name!r} of {table} has a field of type VOID, which Spark does not accept from "
                f"Python: {cure}"
            )


def _declared(field: StructField) -> Column:
    column = F.col(quoted_name(field.name))
    declaration = field.metadata.get(CHAR_VARCHAR_KEY)
    if declaration is None:
        return column
    return _padded(column, with_lengths(field).type).alias(field.name, metadata={CHAR_VARCHAR_KEY: declaration})


def _padded(column: Column, data_type: DataType) -> Column:
    """`column` with strings of type char(n) padded, at every depth.

    # Spark 4.1, ApplyCharTypePadding, spark.sql.readSideCharPadding
    """
    match data_type:
        case UnknownType() if length := char_length(data_type):
            return F.when(F.length(column) < length, F.rpad(column, length, " ")).otherwise(column)
        case StructType(fields) if holds_char(data_type):
            parts = [_padded(column.getField(f.name), f.type).alias(f.name) for f in fields]
            return F.when(column.isNotNull(), F.struct(*parts))
        case ArrayType(element) if holds_char(element):
            return F.transform(column, lambda value: _padded(value, element))
        case MapType(key, value_type) if holds_char(data_type):
            keys = F.transform_keys(column, lambda each, _: _padded(each, key))
            return F.transform_values(keys, lambda _, value: _padded(value, value_type))
        case _:
            return column


def _logical_column(
    field: StructField, stored: StructField, mode: MappingMode, partition_values: Mapping[str, str]
) -> str | Column:
    """A column of the table. stored: The same under its physical names."""
    name = quoted_name(field.name)
    if field.name in partition_values:
        # A literal is not nullable, a directory's value is: make both nullable. (Spark would fold a plain TRUE.)
        return f"CASE WHEN NOT false THEN {partition_values[field.name]} END AS {name}"
    if field.type == VOID:
        return f"NULL AS {name}"
    if field.type in UNPUSHED:
        return f"{quoted_name(stored.name)} * {UNPUSHED[field.type]} AS {name}"
    if _holds(field.type, lambda f: f.type == VOID):
        return _rebuilt(F.col(quoted_name(stored.name)), field.type, stored.type).alias(field.name)
    if mode == "none":
        paths = list(_floats(field.type))
        return _unpushed(field, paths) if paths else name
    # A cast between structs with the same number of fields is by position, at any depth. In mode "id" it also removes
    # the field ids, which an alias would keep.
    if mode == "id" or _names(field.type) != _names(stored.type):
        return F.col(quoted_name(stored.name)).cast(logical_type(field)).alias(field.name)
    return f"{quoted_name(stored.name)} AS {name}"


def _floats(data_type: DataType) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """The path and type of each floating-point field below structs; Spark pushes no predicate on arrays and maps."""
    if isinstance(data_type, StructType):
        for each in data_type.fields:
            if each.type in UNPUSHED:
                yield (each.name,), each.type
            yield from (((each.name, *path), found) for path, found in _floats(each.type))


def _unpushed(field: StructField, paths: Sequence[tuple[tuple[str, ...], DataType]]) -> Column:
    """A struct whose floating-point fields are multiplied by one. Spark reads only the fields that a query uses."""
    column = F.col(quoted_name(field.name))
    found = column
    for path, data_type in paths:
        name = ".".join(map(quoted_name, path))
        found = found.withField(name, reduce(Column.getField, path, column) * F.expr(UNPUSHED[data_type]))
    return found.alias(field.name)


def _rebuilt(column: Column, data_type: DataType, stored: DataType) -> Column:
    """`column` with logical names and the void fields, which files do not contain, at every depth.

    stored: The type with physical names.
    """
    match data_type, stored:
        case StructType(fields), StructType(their):
            parts = [
                F.lit(None).alias(f.name)
                if f.type == VOID
                else _rebuilt(column.getField(its.name), f.type, its.type).alias(f.name)
                for f, its in zip(fields, their, strict=True)
            ]
            return F.when(column.isNotNull(), F.struct(*parts))
        case ArrayType(element), ArrayType(its):
            return F.transform(column, lambda value: _rebuilt(value, element, its))
        case MapType(key, value_type), MapType(its_key, its_value):
            keys = F.transform_keys(column, lambda k, _: _rebuilt(k, key, its_key))
            return F.transform_values(keys, lambda _, value: _rebuilt(value, value_type, its_value))
        case _:
            return column


def _names(data_type: DataType) -> list[str]:
    """The names of all fields inside a type."""
    match data_type:
        case StructType(fields):
            return [name for f in fields for name in (f.name, *_names(f.type))]
        case ArrayType(element):
            return _names(element)
        case MapType(key, value):
            return [*_names(key), *_names(value)]
        case _:
            return []


def _holds(data_type: DataType, test: Callable[[StructField], bool]) -> bool:
    """Whether some field inside `data_type` satisfies the test."""
    match data_type:
        case StructType(fields):
            return any(test(f) or _holds(f.type, test) for f in fields)
        case ArrayType(element):
            return _holds(element, test)
        case MapType(key, value):
            return _holds(key, test) or _holds(value, test)
        case _:
            return False

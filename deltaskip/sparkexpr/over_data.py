"""Spark SQL's expressions over data of Arrow, pandas and Polars, without Spark."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa

from deltaskip import arguments
from deltaskip.doors import door, first_line
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.records import dataclass
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.collations.lookup import SPARK_VERSION
from deltaskip.sparkexpr.collations.named_collations import Collations
from deltaskip.sparkexpr.column import ColumnExpr
from deltaskip.sparkexpr.evaluation.rows import left_to_spark, parts_left_to_spark
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression, bound
from deltaskip.sparkexpr.nodes import Call, Node
from deltaskip.sparkexpr.nullability import is_nullable
from deltaskip.sparkexpr.text.expressions import parse_sql
from deltaskip.sparkexpr.types.arrow import arrow_type, from_arrow, storage_type, without_views
from deltaskip.sparkexpr.types.data_types import DataType, StructField, StructType
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.arrow_nested import changed_inside, run_numbers
from deltaskip.sparkexpr.values.arrow_values import has_utf8

_LAYOUTS = {kind(pa.null()).id for kind in (pa.list_view, pa.large_list_view)} | {
    pa.run_end_encoded(pa.int32(), pa.null()).id
}
_PLACE = EvaluationPlace("the data", "Evaluate it with PySpark.", "")


@dataclass(frozen=True, slots=True)
class CheckedExpression:
    """What is known of an expression before it is evaluated.

    Attributes:
        type: The type of its value; None if only Spark knows it.
        nullable: Whether its value can be NULL.
        needs_spark: The functions, and other parts as SQL text, that only Spark can evaluate.
        reason: Why a part needs Spark, as a sentence; None if no part does.
    """

    type: DataType | None
    nullable: bool
    needs_spark: tuple[str, ...]
    reason: str | None


@door
def evaluate(expression: str | ColumnExpr, data: Any, *, time_zone: str = "UTC", ansi: bool = True) -> Any:
    """Return the value of an expression for each row, as Spark 4.1 computes it.

    Args:
        expression: SQL text such as `upper(name) || '!'`, or a Column of `deltaskip.col`.
        data: A DataFrame of pandas or Polars, a table or batch of Arrow, or another object with `__arrow_c_stream__`.
        time_zone: The session's time zone, such as "Europe/Berlin".
        ansi: Whether the session is in ANSI mode, which Spark 4 is unless set otherwise.

    Returns:
        A Series of the library of a DataFrame, with the index of a pandas DataFrame; else an Arrow array. Its Arrow
        type is that of the expression's type.

    Raises:
        PredicateError: The expression is not valid, or it fails for a row, as it does in Spark.
        UnsupportedFeature: Only Spark can evaluate the expression.
        InvalidArgument: The data has types that Spark lacks, or strings that are not UTF-8.
    """
    table, schema = _table(data)
    found = _local(expression, schema, time_zone, ansi, False)
    return _as_given(data, found.values(_columns(table, schema), table.num_rows))


@door
def filter(condition: str | ColumnExpr, data: Any, *, time_zone: str = "UTC", ansi: bool = True) -> Any:
    """Return the rows for which a condition is TRUE, as Spark 4.1 evaluates it.

    Args:
        condition: SQL text such as `name LIKE 'a%'`, or a Column of `deltaskip.col`.
        data: See `evaluate`.
        time_zone: See `evaluate`.
        ansi: See `evaluate`.

    Returns:
        A DataFrame of the same library; else an Arrow table, without views and runs.

    Raises:
        PredicateError: As `evaluate` does, and if the condition is not BOOLEAN.
        UnsupportedFeature: As `evaluate` does.
        InvalidArgument: As `evaluate` does.
    """
    table, schema = _table(data)
    mask = pa.array(_local(condition, schema, time_zone, ansi, True).mask(_columns(table, schema), table.num_rows))
    match _library(data):
        case "pandas":
            return data[mask.to_numpy(zero_copy_only=False)]
        case "polars":
            return data.filter(_as_given(data, mask))
    return table.filter(mask)


@door
def check(expression: str | ColumnExpr, schema: Any, *, time_zone: str = "UTC", ansi: bool = True) -> CheckedExpression:
    """Return the type of an expression, whether it can be NULL, and which functions need Spark.

    Args:
        expression: See `evaluate`.
        schema: A schema of Arrow or of deltaskip, or columns as Spark's DDL, such as `id BIGINT NOT NULL, name STRING`.
        time_zone: See `evaluate`.
        ansi: See `evaluate`.

    Raises:
        PredicateError: The expression is not valid.
        SchemaError: The schema has types that Spark lacks.
    """
    columns = _schema(schema)
    node = bound(_node(expression), columns, time_zone, _now(), False, ansi)
    names = dict.fromkeys(part.name if isinstance(part, Call) else part.sql for part in parts_left_to_spark(node))
    return CheckedExpression(type_of(node), is_nullable(node), tuple(names), left_to_spark(node))


def _local(
    expression: str | ColumnExpr, schema: StructType, time_zone: str, ansi: bool, is_condition: bool
) -> LocalExpression:
    arguments.flag("ansi", ansi)
    node = bound(_node(expression), schema, time_zone, _now(), is_condition, ansi)
    return LocalExpression(node, schema, _PLACE, time_zone=time_zone, collations=Collations(SPARK_VERSION), ansi=ansi)


def _node(expression: object) -> Node:
    if isinstance(expression, ColumnExpr):
        return expression.node
    if isinstance(expression, str):
        return parse_sql(expression)
    raise InvalidArgumentType.of("expression", "SQL text or a Column of deltaskip.col", expression)


def _now() -> int:
    return time.time_ns() // 1_000


def _library(data: object) -> str:
    return type(data).__module__.partition(".")[0] if type(data).__name__ == "DataFrame" else "pyarrow"


def _table(data: Any) -> tuple[pa.Table, StructType]:
    """The data as Arrow, and its schema in Spark's types."""
    try:
        if _library(data) == "pandas":
            table = pa.Table.from_pandas(data, preserve_index=False)
        elif isinstance(data, pa.RecordBatch):
            table = pa.Table.from_batches([data])
        elif isinstance(data, pa.Table) or hasattr(data, "__arrow_c_stream__"):
            table = pa.table(data)
        else:
            raise InvalidArgumentType.of("data", "a DataFrame of pandas or Polars, or Arrow data", data)
    except InvalidArgumentType:
        raise
    except Exception as error:  # of a method of the data
        raise InvalidArgument(f"The data cannot be read as Arrow: {first_line(error)}.") from error
    schema = from_arrow(table.schema)
    if not schema.fields:
        return table, schema
    columns = [_plain_column(field, column) for field, column in zip(schema.fields, table.columns, strict=True)]
    fields = [field.with_type(column.type) for field, column in zip(table.schema, columns, strict=True)]
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata)), schema


def _columns(table: pa.Table, schema: StructType) -> dict[str, pa.Array]:
    """The columns in the Arrow types of Spark's types."""
    found = {}
    for field, column in zip(schema.fields, table.columns, strict=True):
        try:
            plain = column.cast(storage_type(column.type)) if storage_type(column.type) != column.type else column
            values = plain.cast(arrow_type(field.type)).combine_chunks()
        except pa.ArrowException as error:
            raise _not_held(field, column, error) from error
        if not has_utf8(values):
            raise InvalidArgument(
                f"The column {field.name} has strings that are not UTF-8: make it binary, or mend it."
            )
        found[field.name] = values
    return found


def _plain_column(field: StructField, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a layout of which pyarrow casts and filters rows."""
    # An empty chunk with an offset has no buffers behind the C interface.
    parts = [part for part in column.chunks if len(part)]
    try:
        if _has_layout(column.type):
            parts = [_plain(part, field.type) for part in parts or [pa.nulls(0, column.type)]]
            return pa.chunked_array(parts)
        return pa.chunked_array(parts, column.type).cast(without_views(column.type))
    except pa.ArrowException as error:
        raise _not_held(field, column, error) from error


def _has_layout(kind: pa.DataType) -> bool:
    """Whether values are in runs or views of lists, at any depth: pyarrow 26 casts these to lists of other values."""
    return kind.id in _LAYOUTS or any(_has_layout(kind.field(number).type) for number in range(kind.num_fields))


def _plain(array: pa.Array, data_type: DataType) -> pa.Array:
    if pa.types.is_run_end_encoded(array.type):
        return _plain(array.values, data_type).take(run_numbers(array))
    changed = changed_inside(array, data_type, _plain)
    return changed.cast(without_views(changed.type))


def _not_held(field: StructField, column: pa.ChunkedArray, error: Exception) -> InvalidArgument:
    return InvalidArgument(
        f"The column {field.name} of type {column.type} has values that Spark's type does not hold: "
        f"{first_line(error)}; cast it before."
    )


def _schema(schema: Any) -> StructType:
    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, pa.Schema):
        return from_arrow(schema)
    if isinstance(schema, str):
        return parse_columns(schema)
    raise InvalidArgumentType.of("schema", "DDL text, a schema of Arrow or a StructType", schema)


def _as_given(data: Any, values: pa.Array) -> Any:
    match _library(data):
        case "pandas":
            import pandas

            return pandas.Series(pandas.arrays.ArrowExtensionArray(pa.chunked_array([values])), index=data.index)
        case "polars":
            import polars

            return polars.from_arrow(values)
    return values

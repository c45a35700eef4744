"""Declarations of a table's columns in the schema of a DataFrame: NOT NULL and comments."""

from __future__ import annotations

from typing import Any

import pyspark
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import COMMENT_KEY, StructField, StructType


def with_declarations(frame: DataFrame, schema: StructType) -> DataFrame:
    """Return the rows with the nullability and comments of the table's columns in the schema.

    Readers of files make every column nullable. Through Spark Connect columns stay nullable, with comments.

    Args:
        frame: Rows of the table, with all its columns.
        schema: Schema of the table.
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
    return frame.select(*columns)


def _metadata(field: StructField) -> dict[str, Any]:
    """The part of a field's metadata that does not belong to Delta or Spark."""
    return {COMMENT_KEY: field.metadata[COMMENT_KEY]} if COMMENT_KEY in field.metadata else {}


def _not_null(frame: Any, attribute: Any) -> Column:
    """A column that Spark knows to contain no NULL, which the table's writers guarantee."""
    jvm = frame.sparkSession._jvm
    expression = jvm.org.apache.spark.sql.catalyst.expressions.KnownNotNull(attribute)
    if pyspark.__version__.startswith("3."):
        return Column(jvm.org.apache.spark.sql.Column(expression))
    from pyspark.sql.classic.column import Column as ClassicColumn

    return ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression))

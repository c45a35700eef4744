"""Rows of Arrow as a DataFrame, with the type of each column declared to Spark."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from deltaskip.spark.columns.spark_types import logical_type
from deltaskip.spark.session.checks import running_interpreter, runs_locally
from deltaskip.spark.session.releases import without_pandas_warning
from deltaskip.sparkexpr.types import GeographyType, GeometryType, from_arrow, spark_shapes_type
from deltaskip.sparkexpr.values.arrow_values import filled, one_chunk

_SHAPES: dict[str, GeometryType | GeographyType] = {"geometry": GeometryType(), "geography": GeographyType()}
_SPARK_3 = pyspark.__version__.startswith("3.")


def arrow_frame(spark: SparkSession, rows: pa.Table, schema: spark_types.StructType | None = None) -> DataFrame:
    """A DataFrame of an Arrow table; it may have no columns. Times keep their values under every time zone.

    PySpark would derive TIMESTAMP for times without a zone, and convert these from the session's zone.

    Args:
        spark: A session, classic or Connect.
        rows: The rows.
        schema: Their columns; None for those of the Arrow table.
    """
    if not rows.num_columns:
        return spark.range(0).drop("id")
    if schema is None:
        fields = from_arrow(rows.schema).fields
        schema = spark_types.StructType([spark_types.StructField(f.name, logical_type(f), f.nullable) for f in fields])
    for at, each in enumerate(schema.fields):
        kind = _SHAPES.get(each.dataType.typeName())
        if kind is not None and not pa.types.is_struct(rows.schema.field(at).type):
            rows = rows.set_column(
                at, each.name, _shapes(rows.column(at), kind, int(getattr(each.dataType, "srid", 0)))
            )
    if _SPARK_3:
        # Spark 3.5 takes Python rows only, which Python workers of a classic session convert: those of a local one need
        # this process's interpreter.
        columns = ([_with_maps(each, column.type) for each in column.to_pylist()] for column in rows.columns)
        context: Any = getattr(spark, "_sc", None) if isinstance(spark, SparkSession) else None
        is_local = context is not None and runs_locally(context.master)
        with running_interpreter(spark) if is_local else nullcontext():
            return spark.createDataFrame(list(zip(*columns, strict=True)), schema)
    with without_pandas_warning():
        return spark.createDataFrame(pa.table([*map(_whole, rows.columns)], rows.schema), schema)


def _shapes(column: pa.ChunkedArray, type_: GeometryType | GeographyType, srid: int) -> pa.Array:
    """WKB as Spark takes shapes from Python."""
    wkb, kind = one_chunk(column).cast(pa.binary()), spark_shapes_type(type_, srid)
    members = pa.repeat(pa.scalar(srid, pa.int32()), len(wkb)), filled(wkb, b"")
    return pa.StructArray.from_arrays(members, fields=list(kind), mask=wkb.is_null() if wkb.null_count else None)


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A nested column in arrays of its own: PySpark cannot convert times in slices of lists."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([pa.concat_arrays([chunk, chunk.slice(0, 0)]) for chunk in column.chunks], column.type)


def _with_maps(value: Any, type_: pa.DataType) -> Any:
    """A pyarrow value with maps as dicts for PySpark. They are lists of pairs in pyarrow."""
    if value is None:
        return None
    if pa.types.is_map(type_):
        return {key: _with_maps(each, type_.item_type) for key, each in value}
    if pa.types.is_struct(type_):
        return {field.name: _with_maps(value[field.name], field.type) for field in type_}
    if pa.types.is_list(type_):
        return [_with_maps(each, type_.value_type) for each in value]
    return value

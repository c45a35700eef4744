"""Partition values in the forms in which Spark receives them."""

from __future__ import annotations

import json

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

from deltaskip.reading.partition_tuples import PartitionTuples
from deltaskip.schema.sql_text import quoted_name
from deltaskip.spark.columns.literal_columns import carrier_sql, carriers, decoded_sql
from deltaskip.spark.columns.spark_types import logical_type


def constants(table: PartitionTuples, code: int) -> dict[str, str]:
    """SQL texts of the values of the tuple `code`, by logical name of the partition column."""
    found = {}
    for field, values in zip(table.fields, carried(table, table.tuples.slice(code, 1)), strict=True):
        found[field.name] = decoded_sql(carrier_sql(values[0].as_py()), field.type, logical_type(field))
    return found


def indexed(table: PartitionTuples, code: str) -> dict[str, str]:
    """SQL texts of the values of the tuple whose number a column has, by logical name of the partition column."""
    found = {}
    for field, values in zip(table.fields, carried(table, table.tuples), strict=True):
        texts = json.dumps(values.to_pylist())
        # Spark parses this constant once, when it optimizes the plan.
        type_ = from_arrow_type(values.type).simpleString()
        tuples = f"from_json({carrier_sql(texts)}, 'array<{type_}>', map('mode', 'FAILFAST'))"
        found[field.name] = decoded_sql(f"get({tuples}, {quoted_name(code)})", field.type, logical_type(field))
    return found


def carried(table: PartitionTuples, rows: pa.Int64Array) -> list[pa.Array]:
    """The carriers of each partition column's values in these files."""
    return [carriers(values.take(rows), f.type) for f, values in zip(table.fields, table.values, strict=True)]

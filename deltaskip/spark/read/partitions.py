"""Partition values in the forms in which Spark receives them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from deltaskip.reading.partition_tuples import PartitionTuples
from deltaskip.schema.sql_text import quoted_name
from deltaskip.spark.columns.literal_columns import carrier_sql, carriers, decoded_sql
from deltaskip.spark.columns.spark_types import logical_type
from deltaskip.spark.session.releases import broadcast_rows


def constants(table: PartitionTuples, code: int) -> dict[str, str]:
    """SQL texts of the values of the tuple `code`, by logical name of the partition column."""
    found = {}
    for field, values in zip(table.fields, carried(table, table.tuples.slice(code, 1)), strict=True):
        found[field.name] = decoded_sql(carrier_sql(values[0].as_py()), field.type, logical_type(field))
    return found


def tuples_of(spark: SparkSession, table: PartitionTuples) -> DataFrame:
    """The tuples in the order of their codes, each column under its name of `tuple_names`."""
    carriers_of = dict(zip(tuple_names(table), carried(table, table.tuples), strict=True))
    frame = broadcast_rows(spark, pa.table(carriers_of))
    return frame.selectExpr(
        *(
            f"{decoded_sql(quoted_name(name), field.type, logical_type(field))} AS {quoted_name(name)}"
            for name, field in zip(carriers_of, table.fields, strict=True)
        )
    )


def tuple_names(table: PartitionTuples) -> list[str]:
    """Names of the partition columns that no column of a file has."""
    return [f"__deltaskip_partition_{field.name}" for field in table.fields]


def carried(table: PartitionTuples, rows: pa.Int64Array) -> list[pa.Array]:
    """The carriers of each partition column's values in these files."""
    return [carriers(values.take(rows), f.type) for f, values in zip(table.fields, table.values, strict=True)]

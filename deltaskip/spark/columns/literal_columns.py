"""Typed values as Spark columns, whatever the settings of the session.

A value is sent as its *carrier*: a boolean, long, double or string whose meaning does not depend on the time zone or
any other setting. An expression computes the value from its carrier. Literals and columns of a broadcast table use the
same expressions.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.spark.columns.spark_types import spark_type
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import sql_string
from deltaskip.sparkexpr.values.arrow_values import domain_values
from deltaskip.sparkexpr.values.calendar import format_timestamp

_CARRIER_TYPES: dict[t.DataType, pa.DataType] = {
    **dict.fromkeys((t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.DATE, t.TIMESTAMP), pa.int64()),
    **dict.fromkeys(t.FLOATING, pa.float64()),
    t.BOOLEAN: pa.bool_(),
}


def literal(value: object, data_type: t.DataType) -> Column:
    """A constant column of `value`, a value of this package's representation of the type; None is the typed NULL."""
    if data_type == t.VOID:
        return F.lit(None)
    if value is None:
        return F.lit(None).cast(spark_type(data_type))
    if data_type == t.STRING:
        # A cast would give it a collation that conflicts with those of columns.
        return F.lit(value)
    return _decoded(F.lit(_carrier(value, data_type)), data_type, spark_type(data_type))


def carriers(values: pa.Array, data_type: t.DataType) -> pa.Array:
    """The carrier of each of `values`, an array of `data_type`'s Arrow type; nulls stay null."""
    carrier_type = _CARRIER_TYPES.get(data_type, pa.string())
    encoded = values.dictionary_encode()
    distinct = [_carrier(value, data_type) for value in domain_values(encoded.dictionary)]
    return pa.array(distinct, carrier_type).take(encoded.indices)


def carrier_sql(carrier: bool | float | str | None) -> str:
    """A carrier as SQL text that means the same under every setting of the parser."""
    match carrier:
        case None:
            return "NULL"
        case bool():
            return str(carrier)
        case int():
            return f"CAST('{carrier}' AS BIGINT)"
        case float():
            return f"CAST('{carrier!r}' AS DOUBLE)"
        case _:
            return sql_string(carrier)


def decoded_sql(carrier: str, data_type: t.DataType, target: spark_types.DataType) -> str:
    """SQL text that computes values of type `target` (`data_type` in Spark, with its collation) from SQL of carriers.

    SQL text needs a fraction of the requests to the JVM that a Column needs.
    """
    match data_type:
        case _ if data_type == t.DATE:
            return f"date_from_unix_date(CAST({carrier} AS INT))"
        case _ if data_type == t.TIMESTAMP:
            return f"timestamp_micros(CAST({carrier} AS BIGINT))"
        case _ if data_type == t.BINARY:
            return f"unhex({carrier})"
        case _ if data_type == t.VOID:
            return "NULL"
        case _:
            return f"CAST({carrier} AS {target.simpleString()})"


def _decoded(carrier: Column, data_type: t.DataType, target: spark_types.DataType) -> Column:
    """The values of type `target` (`data_type` in Spark, with its collation) for a column of carriers."""
    match data_type:
        case _ if data_type == t.DATE:
            return F.date_from_unix_date(carrier.cast("int"))
        case _ if data_type == t.TIMESTAMP:
            return F.timestamp_micros(carrier.cast("long"))
        case _ if data_type == t.BINARY:
            return F.unhex(carrier)
        case _ if data_type == t.VOID:
            return F.lit(None)
        case _:
            return carrier.cast(target)


def _carrier(value: Any, data_type: t.DataType) -> Any:
    match data_type:
        case t.DecimalType():
            return format(value, "f")
        case _ if data_type == t.TIMESTAMP_NTZ:
            return format_timestamp(value, " ", 6)
        case _ if data_type == t.BINARY:
            return bytes(value).hex()
        case _:
            return value

"""Conversion of predicate nodes to Spark columns, for filtering rows.

Typed values become columns whatever the settings of the session. A value is sent as its *carrier*: a boolean, long,
double or string whose meaning does not depend on the time zone or any other setting. An expression computes the value
from its carrier. Literals and columns of a broadcast table use the same expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.errors import PredicateError, UnsupportedFeature
from deltaskip.recursion import deep
from deltaskip.spark.columns.spark_types import spark_type
from deltaskip.sparkexpr import exact_sql, nodes
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.sql_text import quoted_name, sql_string
from deltaskip.sparkexpr.types import DataType
from deltaskip.sparkexpr.values import INTERVALS, interval_text
from deltaskip.sparkexpr.values.arrow_values import domain_values
from deltaskip.sparkexpr.values.calendar import format_timestamp

_COLUMN_COMPARISONS: dict[str, Callable[[Column, Column], Column]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<=>": lambda a, b: a.eqNullSafe(b),
}
_OPERATORS: dict[str, Callable[[Column, Column], Column]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "add_interval": lambda a, b: a + b,
    "&": lambda a, b: a.bitwiseAND(b),
    "|": lambda a, b: a.bitwiseOR(b),
    "^": lambda a, b: a.bitwiseXOR(b),
    "[]": lambda a, b: a[b],
}


@deep
def to_column(node: Node) -> Column:
    """The Column for a predicate over logical names. Raises PredicateError for a node that Spark cannot evaluate."""
    match node:
        case nodes.Literal(_, data_type) if data_type in INTERVALS:
            return F.expr(interval_text(node))
        case nodes.Literal(tuple(), data_type):
            return F.expr(exact_sql(node)).cast(spark_type(data_type))
        case nodes.Literal(value, data_type):
            return literal(value, data_type)
        case nodes.Column(parts) | nodes.FieldRef(parts):
            return F.col(".".join(map(quoted_name, parts)))
        case nodes.Compare(op, left, right):
            return _COLUMN_COMPARISONS[op](to_column(left), to_column(right))
        case nodes.And(children):
            return reduce(and_, map(to_column, children))
        case nodes.Or(children):
            return reduce(or_, map(to_column, children))
        case nodes.Not(child):
            return ~to_column(child)
        case nodes.IsNull(child):
            return to_column(child).isNull()
        case nodes.In(child, values):
            return to_column(child).isin(*map(to_column, values)) if values else F.lit(False)
        case nodes.Like(child, pattern, escape, insensitive):
            like = F.ilike if insensitive else F.like
            return like(to_column(child), to_column(pattern), F.lit(escape))
        case nodes.StartsWith(child, prefix):
            return F.startswith(to_column(child), to_column(prefix))
        case nodes.Cast(child, data_type, safe):
            return _cast(to_column(child), data_type, safe)
        case nodes.Call("timestampadd" | "timestampdiff" as name, (nodes.Literal(str() as unit), first, second)):
            return _with_unit(name, unit, to_column(first), to_column(second))
        case nodes.Call("[]", (child, nodes.Literal(str() as name))):
            return to_column(child)[name]
        case nodes.Call(name, args) if name[-1] == ")" or any(isinstance(arg, nodes.Lambda) for arg in args):
            return F.expr(exact_sql(node))
        case nodes.Call(name, args):
            return _call(name, [to_column(arg) for arg in args])
        case nodes.Case(branches, otherwise):
            return _case([(to_column(c), to_column(v)) for c, v in branches], otherwise)
        case nodes.Collate(child, collation):
            return F.collate(to_column(child), collation)
        case nodes.Opaque(sql):
            return F.expr(sql)
        case _:
            raise PredicateError(f"Spark cannot evaluate {type(node).__name__}; write the predicate as SQL text.")


def _cast(column: Column, data_type: DataType, safe: bool) -> Column:
    if not safe:
        return column.cast(spark_type(data_type))
    try:
        return column.try_cast(spark_type(data_type))
    except AttributeError as error:
        raise UnsupportedFeature("TRY_CAST in a predicate needs Spark 4.0 or newer.") from error


def _call(name: str, args: Sequence[Column]) -> Column:
    if name in _OPERATORS and len(args) == 2:
        return _OPERATORS[name](*args)
    if name == "~":
        return F.bitwise_not(*args)
    return F.call_function(name, *args)


def _with_unit(name: str, unit: str, first: Column, second: Column) -> Column:
    try:
        return (F.timestamp_add if name == "timestampadd" else F.timestamp_diff)(unit, first, second)
    except AttributeError as error:
        raise UnsupportedFeature(f"{name} in a predicate needs Spark 4.0 or newer.") from error


def _case(branches: Sequence[tuple[Column, Column]], otherwise: Node | None) -> Column:
    (condition, value), *rest = branches
    column = F.when(condition, value)
    for condition, value in rest:
        column = column.when(condition, value)
    return column if otherwise is None else column.otherwise(to_column(otherwise))


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

"""The rows of VALUES without Spark: constant expressions that deltaskip evaluates itself, as a table of Arrow."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa

from deltaskip.errors import PredicateError, SparkUnavailable
from deltaskip.expr import EvaluationError, Undecided, bind_expression, evaluate, parse_sql
from deltaskip.expr.clock import at_time
from deltaskip.expr.coerce import INTEGRAL_BITS, type_of
from deltaskip.expr.nodes import Opaque, walk
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import typed_array
from deltaskip.schema.types import VOID, ArrayType, DataType, MapType, StructField, StructType

__all__ = ["constant_rows"]

_NO_COLUMNS = StructType(())


def constant_rows(rows: Sequence[Sequence[str]], columns: Sequence[StructField], time_zone: str) -> pa.Table:
    """Return rows of constants under the names of columns.

    Args:
        rows: For each row the SQL text of its values, one for each column.
        columns: The columns.
        time_zone: Time zone of timestamps without one.

    Raises:
        PredicateError: A text is no expression, or Spark raises an error for it.
        SparkUnavailable: Only Spark can evaluate an expression.
    """
    now = time.time_ns() // 1000
    arrays = [_column([row[i] for row in rows], now, time_zone) for i in range(len(columns))]
    return pa.table(arrays, names=[field.name for field in columns])


def _column(texts: Sequence[str], now: int, time_zone: str) -> pa.Array:
    values, types = zip(*(_value(text, now, time_zone) for text in texts), strict=True)
    kinds = {each for each in types if each != VOID}
    if kinds and kinds <= INTEGRAL_BITS.keys():
        kind: DataType = max(kinds, key=lambda each: INTEGRAL_BITS[each])
    elif len(kinds) > 1:
        raise _only_spark(", ".join(texts))
    else:
        kind = next(iter(kinds), VOID)
    return typed_array(values, arrow_type(kind))


def _value(text: str, now: int, time_zone: str) -> tuple[object, DataType]:
    node = bind_expression(at_time(parse_sql(text), now, time_zone, ()), _NO_COLUMNS, time_zone=time_zone)
    kind = type_of(node)
    if kind is None or isinstance(kind, ArrayType | MapType | StructType):
        raise _only_spark(text)
    if any(isinstance(each, Opaque) for each in walk(node)):
        raise _only_spark(text)
    try:
        return evaluate(node, {}, time_zone), kind
    except EvaluationError as error:
        raise PredicateError(f"{text} fails in Spark: {error}") from error
    except Undecided as error:
        raise _only_spark(text) from error


def _only_spark(text: str) -> SparkUnavailable:
    return SparkUnavailable(f"{text} can be evaluated by Spark only: pass a session as the first argument of sql().")

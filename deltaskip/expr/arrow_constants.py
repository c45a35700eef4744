"""Scalars of Arrow as literals with the exact type that Arrow gives them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from deltaskip.expr.exact import Inexact
from deltaskip.expr.nodes import Literal
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DecimalType,
)


def arrow_constant(scalar: Any) -> Literal:
    """Return the literal of a scalar; integers are LONG. Raises Inexact for a type or a time that Spark lacks."""
    kind = scalar.type
    if pa.types.is_dictionary(kind):
        raise Inexact("the constant is of a dictionary")
    if not scalar.is_valid:
        return Literal(None, VOID)
    value: Any = scalar.as_py() if not pa.types.is_timestamp(kind) else None
    if pa.types.is_boolean(kind):
        return Literal(value, BOOLEAN)
    if pa.types.is_integer(kind):
        return Literal(value, LONG)
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return Literal(value, FLOAT if pa.types.is_float32(kind) else DOUBLE)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Literal(value, STRING)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return Literal(value, BINARY)
    if pa.types.is_date32(kind):
        return Literal(scalar.cast(pa.int32()).as_py(), DATE)
    if pa.types.is_decimal(kind) and value.as_tuple().exponent <= 0 and kind.precision <= 38 and kind.scale >= 0:
        return Literal(value, DecimalType(kind.precision, kind.scale))
    if pa.types.is_timestamp(kind):
        try:
            micros = scalar.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).as_py()
        except pa.ArrowException as error:
            raise Inexact("the constant is a time with nanoseconds") from error
        return Literal(micros, TIMESTAMP_NTZ if kind.tz is None else TIMESTAMP)
    raise Inexact(f"the constant is of the Arrow type {kind}")

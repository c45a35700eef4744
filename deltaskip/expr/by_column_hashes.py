"""Spark's hashes of whole columns in the layout of `expr.by_column`, by the kernels, and of arrays and structs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.by_column_functions import FLOATING, UnsupportedByColumn, in_layout, plain_floats
from deltaskip.expr.hashes import LONG_DIGITS, SPARK_SEED
from deltaskip.kernels.hashes import hash_bytes, hash_decimals, hash_numbers
from deltaskip.schema.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    StructType,
)

__all__ = ["HASHES", "hashed"]

HASHES = ("hash", "xxhash64")

_NARROW = (BYTE, SHORT, INTEGER, DATE, BOOLEAN)
_NAN32, _NAN64 = 0x7FC0_0000, 0x7FF8_0000_0000_0000
_MOST_ELEMENTS = 10_000


def hashed(name: str, args: Sequence[Any], types: Sequence[DataType | None], rows: int) -> pa.Array:
    """The hash of each row. Raises UnsupportedByColumn for very long arrays."""
    seeds = pa.repeat(arrow_scalar(SPARK_SEED, pa.int64()), rows)
    for value, type_ in zip(args, types, strict=True):
        if type_ is None:
            raise UnsupportedByColumn
        values = pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value
        seeds = _with(values, type_, seeds, name == "xxhash64")
    return seeds


def _with(values: pa.Array, type_: DataType, seeds: pa.Array, wide: bool) -> pa.Array:
    """The hashes of values in the layout, or nested as files have them, with the seed of each row."""
    if isinstance(type_, StructType):
        return _with_struct(values, type_, seeds, wide)
    if isinstance(type_, ArrayType):
        return _with_array(values, type_, seeds, wide)
    if type_ in (STRING, BINARY):
        return hash_bytes(values, seeds, wide)
    if isinstance(type_, DecimalType):
        return _with_decimal(values, type_, seeds, wide)
    if type_ in FLOATING:
        return _with_float(values, type_, seeds, wide)
    if type_ in _NARROW:
        return hash_numbers(values.cast(pa.int64()), seeds, 4, wide)
    if type_ in (LONG, TIMESTAMP, TIMESTAMP_NTZ):
        return hash_numbers(values, seeds, 8, wide)
    raise UnsupportedByColumn


def _with_decimal(values: pa.Array, type_: DecimalType, seeds: pa.Array, wide: bool) -> pa.Array:
    if type_.precision > LONG_DIGITS:
        return hash_decimals(values, seeds, wide)
    data = values.buffers()[1]
    if data is None:
        return seeds
    low = np.frombuffer(data, np.int64)[2 * values.offset : 2 * (values.offset + len(values)) : 2]
    return hash_numbers(_masked(low, values), seeds, 8, wide)


def _with_float(values: pa.Array, type_: DataType, seeds: pa.Array, wide: bool) -> pa.Array:
    doubles = plain_floats(numpy_values(pc.fill_null(values, arrow_scalar(0, pa.int64()))))
    if type_ == FLOAT:
        bits = np.where(np.isnan(doubles), _NAN32, doubles.astype(np.float32).view(np.int32)).astype(np.int64)
        return hash_numbers(_masked(bits, values), seeds, 4, wide)
    bits = np.where(np.isnan(doubles), _NAN64, doubles.view(np.int64))
    return hash_numbers(_masked(bits, values), seeds, 8, wide)


def _masked(numbers: np.ndarray, values: pa.Array) -> pa.Array:
    found = arrow_array(np.ascontiguousarray(numbers))
    return found if not values.null_count else pc.if_else(values.is_valid(), found, arrow_scalar(None, pa.int64()))


def _with_struct(values: pa.Array, type_: StructType, seeds: pa.Array, wide: bool) -> pa.Array:
    for field in type_.fields:
        seeds = _with(_inner(one_chunk(pc.struct_field(values, field.name)), field.type), field.type, seeds, wide)
    return seeds


def _with_array(values: pa.Array, type_: ArrayType, seeds: pa.Array, wide: bool) -> pa.Array:
    """The hash of each element is the seed of the next: rows are hashed side by side, one element at a time."""
    lengths = numpy_values(pc.fill_null(pc.list_value_length(values), 0)).astype(np.int64)
    most = int(lengths.max(initial=0))
    if most > _MOST_ELEMENTS:
        raise UnsupportedByColumn
    # Elements of null arrays are left out.
    elements = one_chunk(pc.list_flatten(values))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)[:-1]]) if len(lengths) else lengths
    found = numpy_values(seeds).copy()
    for at in range(most):
        rows = np.flatnonzero(lengths > at)
        taken = elements.take(arrow_array(starts[rows] + at))
        found[rows] = numpy_values(_with(_inner(taken, type_.element), type_.element, arrow_array(found[rows]), wide))
    return arrow_array(found)


def _inner(values: pa.Array, type_: DataType) -> pa.Array:
    """Values inside of an array or struct in the layout."""
    if isinstance(type_, ArrayType | StructType):
        return values
    return in_layout(type_, values)

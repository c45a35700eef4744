"""Spark's hashes of whole columns, including arrays and structs, computed by kernels.

# Spark 4.1, hash.scala
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.functions.function import Function, Signature, Typed
from deltaskip.sparkexpr.kernels.hashes import hash_bytes, hash_decimals, hash_numbers
from deltaskip.sparkexpr.nodes import Call, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.hashes import LONG_DIGITS, SPARK_SEED, hashable, spark_hash, spark_xxhash64
from deltaskip.sparkexpr.values.vectors import Values, as_array, made, numbers, rows_of

_NARROW = (t.BYTE, t.SHORT, t.INTEGER, t.DATE, t.BOOLEAN)
_NAN32, _NAN64 = 0x7FC0_0000, 0x7FF8_0000_0000_0000
_MOST_ELEMENTS = 10_000


def _hash_column(args: Sequence[Values], call: Call, zone: Zone) -> pa.Array:
    """The hash of each row. Raises Undecided for very long arrays and unsupported values."""
    rows = rows_of(args)
    seeds = pa.repeat(arrow_scalar(SPARK_SEED, pa.int64()), rows)
    wide = call.type == t.LONG
    for value, node in zip(args, call.args, strict=True):
        type_ = type_of(node)
        if type_ is None:
            raise Undecided("A value of unknown type is hashed by Spark only.")
        # An untyped NULL does not change the hash.
        if type_ != t.VOID:
            seeds = _with(as_array(value, rows), type_, seeds, wide)
    return seeds if wide else seeds.cast(pa.int32())


def _with(values: pa.Array, type_: t.DataType, seeds: pa.Array, wide: bool) -> pa.Array:
    """The hashes of values, with a seed for each row."""
    if isinstance(type_, t.StructType):
        return _with_struct(values, type_, seeds, wide)
    if isinstance(type_, t.ArrayType):
        return _with_array(values, type_, seeds, wide)
    if type_ in (t.STRING, t.BINARY):
        return hash_bytes(values, seeds, wide)
    if isinstance(type_, t.DecimalType):
        return _with_decimal(values, type_, seeds, wide)
    if type_ in t.FLOATING:
        return _with_float(values, type_, seeds, wide)
    if type_ in _NARROW:
        return hash_numbers(made(np.asarray(numbers(values), np.int64), pa.int64(), values), seeds, 4, wide)
    if type_ in (t.LONG, t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return hash_numbers(made(np.asarray(numbers(values), np.int64), pa.int64(), values), seeds, 8, wide)
    raise Undecided("Hashes of such values are left to Spark.")


def _with_decimal(values: pa.Array, type_: t.DecimalType, seeds: pa.Array, wide: bool) -> pa.Array:
    if type_.precision > LONG_DIGITS:
        return hash_decimals(values, seeds, wide)
    data = values.buffers()[1]
    if data is None:
        return seeds
    low = np.frombuffer(data, np.int64)[2 * values.offset : 2 * (values.offset + len(values)) : 2]
    return hash_numbers(made(np.ascontiguousarray(low), pa.int64(), values), seeds, 8, wide)


def _with_float(values: pa.Array, type_: t.DataType, seeds: pa.Array, wide: bool) -> pa.Array:
    # Both zeros have the same hash, and all NaNs have the same hash.
    floats = numbers(values) + values.type.to_pandas_dtype()(0)
    if type_ == t.FLOAT:
        bits = np.where(np.isnan(floats), _NAN32, floats.view(np.int32)).astype(np.int64)
        return hash_numbers(made(bits, pa.int64(), values), seeds, 4, wide)
    bits = np.where(np.isnan(floats), _NAN64, floats.view(np.int64))
    return hash_numbers(made(bits, pa.int64(), values), seeds, 8, wide)


def _with_struct(values: pa.Array, type_: t.StructType, seeds: pa.Array, wide: bool) -> pa.Array:
    for field in type_.fields:
        seeds = _with(one_chunk(pc.struct_field(values, [field.name])), field.type, seeds, wide)
    return seeds


def _with_array(values: pa.Array, type_: t.ArrayType, seeds: pa.Array, wide: bool) -> pa.Array:
    """The hashes of arrays. The hash of an element is the seed of the next; a step hashes one element of each row."""
    lengths = numpy_values(pc.fill_null(pc.list_value_length(values), arrow_scalar(0, pa.int32()))).astype(np.int64)
    most = int(lengths.max(initial=0))
    if most > _MOST_ELEMENTS:
        raise Undecided(f"Arrays of more than {_MOST_ELEMENTS:,} elements are hashed by Spark only.")
    # list_flatten skips the elements of null arrays.
    elements = one_chunk(pc.list_flatten(values))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)[:-1]]) if len(lengths) else lengths
    found = numpy_values(seeds).copy()
    for at in range(most):
        rows = np.flatnonzero(lengths > at)
        taken = elements.take(arrow_array(starts[rows] + at))
        found[rows] = numpy_values(_with(taken, type_.element, arrow_array(found[rows]), wide))
    return arrow_array(found)


def _hash_signature(result: t.DataType) -> Signature:
    """Accept any number of hashable values. Spark hashes the collation key of a collated string."""

    def signature(args: tuple[Node, ...]) -> Typed:
        types = [type_of(arg) for arg in args]
        known = all(type_ is not None and hashable(type_) for type_ in types)
        return (args, result) if args and known and not any(map(is_collated, args)) else None

    return signature


def _hash(one: Callable[[Any, t.DataType, int], int | None], args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """Hash the arguments. The hash of each value is the seed of the next."""
    hashed: int | None = SPARK_SEED
    for value, node in zip(args, call.args, strict=True):
        type_ = type_of(node)
        if type_ is None or hashed is None:
            raise Undecided("Hashes of such values are left to Spark.")
        hashed = one(value, type_, hashed)
    return hashed


HASHING: Mapping[str, Function] = {
    "hash": Function(_hash_signature(t.INTEGER), partial(_hash, spark_hash), False, by_column=_hash_column),
    "xxhash64": Function(_hash_signature(t.LONG), partial(_hash, spark_xxhash64), False, by_column=_hash_column),
}

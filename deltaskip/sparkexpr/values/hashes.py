"""Hashes of values: Spark's `hash` and `xxhash64`, and Iceberg's bucket numbers.

`hash` is Murmur3 for x86 with 32 bits: Spark seeds with 42, hashes integers of up to 32 bits as four bytes, and each
byte that remains after groups of four as a separate integer. Iceberg seeds with 0, hashes every integer as eight
bytes, and follows the algorithm for bytes. `xxhash64` is XXH64 with the seed 42. Both Spark functions use the hash of a
value as the seed of the next value, also for the values in arrays and structs; NULL does not change the seed.

# Spark 4.1, Murmur3_x86_32.java, XXH64.java, HashExpression; Iceberg specification, Appendix B
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.kernels.hashes import hash_bytes, hash_decimals, hash_numbers
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk
from deltaskip.sparkexpr.values.numerals import EXACT, exactly

SPARK_SEED = 42
# Decimals of at most this many digits are hashed as the 64-bit integer of their digits.
_LONG_DIGITS = 18
_WORD = 0xFFFF_FFFF
_LONGS = (t.LONG, t.TIMESTAMP, t.TIMESTAMP_NTZ)
_INTS = (t.BOOLEAN, t.BYTE, t.SHORT, t.INTEGER, t.DATE)
_NAN32, _NAN64 = 0x7FC0_0000, 0x7FF8_0000_0000_0000
_MOST_ELEMENTS = 10_000
_BUCKETED = (*_INTS[1:], *_LONGS)


def hashable(type_: t.DataType) -> bool:
    """Return whether this module hashes values of a type. Strings must have no collation; Spark refuses maps."""
    match type_:
        case t.ArrayType(element):
            return hashable(element)
        case t.StructType(fields):
            return all(_field_hashable(field) for field in fields)
        case _:
            return type_ in (*_INTS, *_LONGS, t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, t.VOID) or isinstance(
                type_, t.DecimalType
            )


def _field_hashable(field: t.StructField) -> bool:
    if t.COLLATIONS_KEY in field.metadata:
        return False
    inner = field.type
    while isinstance(inner, t.ArrayType):
        inner = inner.element
    return hashable(inner)


def spark_hash(value: Any, type_: t.DataType) -> int | None:
    """Return Spark's `hash(value)` as a signed 32-bit integer; None for unsupported types. NULL hashes to the seed."""
    if not hashable(type_):
        return None
    hashed: int = spark_hashes([(v.array_of([value], type_), type_)], 1)[0].as_py()
    return hashed


def spark_hashes(columns: Iterable[tuple[pa.Array, t.DataType]], rows: int, wide: bool = False) -> pa.Array:
    """Return Spark's `hash` of each row as int32, or `xxhash64` as int64 if `wide`. The types must be `hashable`.

    Raises Undecided for very long arrays.
    """
    seeds = pa.repeat(arrow_scalar(SPARK_SEED, pa.int64()), rows)
    for values, type_ in columns:
        seeds = _with(values, type_, seeds, wide)
    return seeds if wide else seeds.cast(pa.int32())


def iceberg_bucket(value: Any, type_: t.DataType, count: int) -> int | None:
    """Return Iceberg's `bucket[count]` of a value that is not NULL; None for unsupported types."""
    if isinstance(type_, t.DecimalType):
        data = big_endian(unscaled(value, type_))
    elif type_ in (t.STRING, t.BINARY):
        data = value.encode() if isinstance(value, str) else value
    elif type_ in _BUCKETED:
        data = struct.pack("<q", value)
    else:
        return None
    return (_standard(data) & 0x7FFF_FFFF) % count


def unscaled(value: Any, type_: t.DecimalType) -> int:
    """Return the integer of the digits of a decimal."""
    return int(exactly(value).scaleb(type_.scale, EXACT))


def big_endian(value: int) -> bytes:
    """Return two's complement in the fewest bytes, like Java's BigInteger.toByteArray."""
    magnitude = value if value >= 0 else ~value
    return value.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _with(values: pa.Array, type_: t.DataType, seeds: pa.Array, wide: bool) -> pa.Array:
    """The hashes of values, with a seed for each row."""
    # An untyped NULL does not change the hash.
    if type_ == t.VOID:
        return seeds
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
    if type_ in _INTS:
        return hash_numbers(v.made(np.asarray(v.numbers(values), np.int64), pa.int64(), values), seeds, 4, wide)
    if type_ in _LONGS:
        return hash_numbers(v.made(np.asarray(v.numbers(values), np.int64), pa.int64(), values), seeds, 8, wide)
    raise Undecided("Hashes of such values are left to Spark.")


def _with_decimal(values: pa.Array, type_: t.DecimalType, seeds: pa.Array, wide: bool) -> pa.Array:
    if type_.precision > _LONG_DIGITS:
        return hash_decimals(values, seeds, wide)
    data = values.buffers()[1]
    if data is None:
        return seeds
    low = np.frombuffer(data, np.int64)[2 * values.offset : 2 * (values.offset + len(values)) : 2]
    return hash_numbers(v.made(np.ascontiguousarray(low), pa.int64(), values), seeds, 8, wide)


def _with_float(values: pa.Array, type_: t.DataType, seeds: pa.Array, wide: bool) -> pa.Array:
    # Both zeros have the same hash, and all NaNs have the same hash.
    floats = v.numbers(values) + values.type.to_pandas_dtype()(0)
    if type_ == t.FLOAT:
        bits = np.where(np.isnan(floats), _NAN32, floats.view(np.int32)).astype(np.int64)
        return hash_numbers(v.made(bits, pa.int64(), values), seeds, 4, wide)
    bits = np.where(np.isnan(floats), _NAN64, floats.view(np.int64))
    return hash_numbers(v.made(bits, pa.int64(), values), seeds, 8, wide)


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


def _standard(data: bytes) -> int:
    whole = len(data) // 4 * 4
    hashed = 0
    for word in struct.unpack(f"<{whole // 4}I", data[:whole]):
        hashed = _mixed(hashed, word)
    if data[whole:]:
        hashed ^= _scrambled(int.from_bytes(data[whole:], "little"))
    return _finished(hashed, len(data))


def _scrambled(word: int) -> int:
    return _rotated(word * 0xCC9E_2D51 & _WORD, 15) * 0x1B87_3593 & _WORD


def _mixed(hashed: int, word: int) -> int:
    return (_rotated(hashed ^ _scrambled(word), 13) * 5 + 0xE654_6B64) & _WORD


def _finished(hashed: int, length: int) -> int:
    hashed ^= length
    hashed = (hashed ^ hashed >> 16) * 0x85EB_CA6B & _WORD
    hashed = (hashed ^ hashed >> 13) * 0xC2B2_AE35 & _WORD
    return hashed ^ hashed >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & _WORD

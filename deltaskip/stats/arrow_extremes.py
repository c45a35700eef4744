"""Null count and extremes of one column of an Arrow batch, in the table's type."""

from __future__ import annotations

from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.collations.collation import Collation
from deltaskip.kernels.extremes import (
    binary_extremes,
    decimal_extremes,
    float_extremes,
    integer_extremes,
    used_entries,
)
from deltaskip.schema.types import DataType
from deltaskip.stats.facts import NO_VALUES, UNKNOWN, Extremes
from deltaskip.stats.values import Bound, StoredType, converters

__all__ = ["array_extremes", "collated_extremes", "kernel_array", "plain_strings"]

_DECIMAL128_DIGITS = 38
_READ_AS = {
    pa.uint8(): pa.int64(),
    pa.uint16(): pa.int64(),
    pa.uint32(): pa.int64(),
    pa.date64(): pa.date32(),
    **{pa.duration(unit): pa.int64() for unit in ("s", "ms", "us", "ns")},
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}


def kernel_array(array: pa.Array) -> pa.Array:
    """Return the values in a layout that the kernels accept, if there is one.

    Files that pyarrow wrote record the Arrow types of their columns, and reading restores these types.
    """
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return kernel_array(array.storage)
    if pa.types.is_dictionary(kind) and not any(test(kind.value_type) for test in _TEXTS):
        return kernel_array(array.dictionary_decode())
    if pa.types.is_decimal(kind) and not pa.types.is_decimal128(kind) and kind.precision <= _DECIMAL128_DIGITS:
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    wanted = _READ_AS.get(kind)
    return array if wanted is None else array.cast(wanted)


def array_extremes(array: pa.Array, type_: DataType) -> Extremes:
    """Return the extremes of a kernel_array as bounds of `type_`; unknown if its values cannot be read as that type.

    NaN is the greatest number. Of a dictionary only the strings that occur in a row count.
    """
    if array.null_count == len(array):
        return NO_VALUES
    source = _source(array.type)
    convert = None if source is None else converters(source, type_)
    if source is None or convert is None:
        return UNKNOWN
    found = _found(array, source)
    if found is None:
        return NO_VALUES
    low, high = convert[0](found[0]), convert[1](found[1])
    return UNKNOWN if low is None or high is None else Extremes(low, high)


def collated_extremes(array: pa.Array, order: Collation) -> Extremes:
    """Return the extremes of strings in `order`, as str; unknown if Spark may order one of them differently.

    array: string, large_string, or a dictionary of them.
    """
    if array.null_count == len(array):
        return NO_VALUES
    values = plain_strings(array)
    if not order.exact_keys and not pc.all(order.trusts_each(values)).as_py():
        return UNKNOWN
    low, high = order.min_max(values)
    return Extremes(low, high) if isinstance(low, str) and isinstance(high, str) else UNKNOWN


def plain_strings(array: pa.Array) -> pa.Array:
    """Return the array itself, or the distinct entries of a dictionary that occur in a row."""
    if not isinstance(array, pa.DictionaryArray):
        return array
    indices = array.indices
    if pa.types.is_unsigned_integer(indices.type):
        # As the writer's Arrow schema in the file has them: categories of Polars.
        indices = indices.cast(pa.int64())
    used = used_entries(indices, len(array.dictionary)).to_arrow()
    return array.dictionary if used.true_count == len(used) else array.dictionary.filter(used)


def _source(stored: pa.DataType) -> StoredType | None:
    value_type = stored.value_type if pa.types.is_dictionary(stored) else stored
    if pa.types.is_signed_integer(stored):
        return StoredType("integer")
    if pa.types.is_float32(stored) or pa.types.is_float64(stored):
        return StoredType("float" if pa.types.is_float32(stored) else "double")
    if pa.types.is_decimal128(stored):
        return StoredType("decimal", scale=stored.scale)
    if stored == pa.date32():
        return StoredType("date")
    if pa.types.is_timestamp(stored):
        return StoredType("timestamp", unit=stored.unit)
    if any(test(value_type) for test in _TEXTS):
        return StoredType("string")
    return None


_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def _found(array: pa.Array, source: StoredType) -> tuple[Bound, Bound] | None:
    match source.kind:
        case "float" | "double":
            return float_extremes(array)
        case "decimal":
            return decimal_extremes(array)
        case "string":
            texts = plain_strings(array)
            places = binary_extremes(texts)
            return None if places is None else (_bytes(texts, places[0]), _bytes(texts, places[1]))
        case _:
            return integer_extremes(array)


def _bytes(texts: pa.Array, i: int) -> bytes:
    return cast(bytes, texts[i].as_buffer().to_pybytes())

"""The columns of a table that a key index may have, and the hashes of their values.

Only types whose values are equal exactly if their bytes are, here and in Spark: integers, dates, timestamps, decimals
of one scale, and strings in binary order. Not floats (NaN, -0.0), and not char(n), which Spark pads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.errors import SchemaError
from deltaskip.log import Snapshot
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.kernels import hash_bytes
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats.stats_columns import StatColumn, columns_named, every_column

Hashes = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1


def possible_columns(snapshot: Snapshot, tops: Collection[str] | None = None) -> tuple[StatColumn, ...]:
    """Return the columns that an index may have. tops: Physical names of the top-level columns to look at."""
    mode = snapshot.mapping_mode
    fields = tuple(each for each in snapshot.schema.fields if tops is None or t.physical_name(each, mode) in tops)
    schema = t.StructType(fields)
    return tuple(
        each
        for each in every_column(schema, snapshot.partition_columns, mode)
        if kind_of(each.type) is not None
        and each.collation is None
        and not declares_char(_field_at(schema, each.logical))
    )


def wanted_columns(snapshot: Snapshot) -> tuple[StatColumn, ...]:
    """Return the columns that the table's property names, each once.

    Raises SchemaError for a name that is no column, or a column that cannot have an index.
    """
    names = snapshot.table_properties.key_index_columns
    found = _named(snapshot, names)
    for name, column in zip(names, found, strict=True):
        if column is None:
            raise SchemaError(
                f"The property {TableProperties.key_index_columns.name} of {snapshot.root} names "
                f"{t.display_name(name)}, which cannot have a key index: name columns that are no partition columns, "
                f"with integers, dates, timestamps, decimals, or strings without a collation that are not char(n)."
            )
    return tuple(dict.fromkeys(each for each in found if each is not None))


def usable_columns(snapshot: Snapshot) -> tuple[StatColumn, ...]:
    """Return the columns of `wanted_columns`, without what raises."""
    found = _named(snapshot, snapshot.table_properties.well_formed().key_index_columns)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _named(snapshot: Snapshot, names: Sequence[tuple[str, ...]]) -> list[StatColumn | None]:
    return columns_named(names, possible_columns(snapshot)) if names else []


def _field_at(schema: t.StructType, path: Sequence[str]) -> t.StructField:
    """The field with exactly these names."""
    field = next(each for each in schema.fields if each.name == path[0])
    return _field_at(field.type, path[1:]) if len(path) > 1 and isinstance(field.type, t.StructType) else field


def hashes(values: pa.Array, type_: t.DataType) -> Hashes:
    """Return the hashes of the values of a column of a type, without NULL. values: As rows of the table have them."""
    known = values.drop_null()
    if pa.types.is_dictionary(known.type):
        known = known.cast(known.type.value_type)
    if type_ == t.STRING:
        return _of_texts(known)
    if isinstance(type_, t.DecimalType):
        wide = known.cast(pa.decimal128(38, type_.scale))
        words = np.frombuffer(wide.buffers()[1], np.uint64)[2 * wide.offset : 2 * (wide.offset + len(wide))]
        return _of_pairs(words[0::2], words[1::2])
    plain = known.cast(pa.int32()) if pa.types.is_date32(known.type) else known
    return _mixed(numpy_values(plain.cast(pa.int64())).view(np.uint64))


def sought_hashes(values: Sequence[int | bytes] | pa.Array, type_: t.DataType) -> Hashes:
    """Return the hashes of values in the layout of the kernels."""
    if type_ == t.STRING:
        return _of_texts(values if isinstance(values, pa.Array) else arrow_array(list(values), pa.binary()))
    if isinstance(type_, t.DecimalType):
        numbers = [int(each) & ((1 << 128) - 1) for each in values]
        low, high = ([each & _MASK for each in numbers], [each >> 64 for each in numbers])
        return _of_pairs(np.array(low, np.uint64), np.array(high, np.uint64))
    array = values if isinstance(values, pa.Array) else arrow_array(list(values), pa.int64())
    return _mixed(numpy_values(array.cast(pa.int64())).view(np.uint64))


def kind_of(type_: t.DataType) -> str | None:
    """Return what hashes of a type are made of: equal values of one kind have equal hashes, whatever their width is.

    None for a type whose values have no hashes.
    """
    match type_:
        case t.DecimalType(_, scale):
            return f"decimal of scale {scale}"
        case _ if type_ in t.INTEGRAL_BITS:
            return "integer"
        case _ if type_ in t.DATETIMES or type_ == t.STRING:
            return t.simple_string(type_)
    return None


def _of_texts(values: pa.Array) -> Hashes:
    data = values if values.type in (pa.string(), pa.binary()) else values.cast(pa.binary())
    seeds = arrow_array(np.zeros(len(data), np.int64))
    return numpy_values(hash_bytes(data, seeds, wide=True)).view(np.uint64)


def _of_pairs(low: Hashes, high: Hashes) -> Hashes:
    return _mixed(low ^ _mixed(high + np.uint64(0x9E3779B97F4A7C15)))


def _mixed(values: Hashes) -> Hashes:
    """The finalizer of SplitMix64: a bijection, in which each bit of the value changes half of the bits."""
    x = values ^ (values >> np.uint64(30))
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x

"""Values of columns and bounds in a few Arrow types that Arrow sorts, compares and groups as Spark does."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values import floats_of_order, ordered_floats


def comparable(values: pa.Array) -> pa.Array:
    """Return values as int64, decimals or binary, in Spark's order: -0.0 equals 0.0, and NaN is the greatest number.

    Args:
        values: Values in Arrow's type of a primitive type or decimal, or bounds in the layout of the statistics.
    """
    kind = values.type
    if pa.types.is_floating(kind):
        return ordered_floats(values)
    if pa.types.is_boolean(kind):
        return values.cast(pa.int8()).cast(pa.int64())
    if kind == pa.date32():
        return values.view(pa.int32()).cast(pa.int64())
    if pa.types.is_timestamp(kind):
        return values.view(pa.int64())
    if pa.types.is_integer(kind):
        return values.cast(pa.int64())
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return values
    # Batches of the log have strings in several types.
    return values.cast(pa.binary())


def restored(values: pa.Array, type_: t.DataType) -> pa.Array:
    """Return the values of which `comparable` has made `values`, in Arrow's type of `type_`; zeros are 0.0."""
    target = t.arrow_type(type_)
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), target)
    if pa.types.is_floating(target):
        return floats_of_order(values).cast(target)
    if target == pa.date32():
        return values.cast(pa.int32()).view(target)
    if pa.types.is_timestamp(target):
        return values.view(target)
    return values.cast(target)


def joined(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return arrays as one; those without any value may have the type null."""
    kind = next((each.type for each in arrays if not pa.types.is_null(each.type)), pa.null())
    return pa.concat_arrays([each if each.type == kind else pa.nulls(len(each), kind) for each in arrays])


def sorted_positions(keys: pa.Array, descending: bool, levels: pa.Array | None = None) -> pa.Array:
    """Return the positions of comparable values in their order, by level first; null comes last in a level."""
    if pa.types.is_null(keys.type):
        keys = keys.cast(pa.int64())
    table = pa.table([keys] if levels is None else [keys, levels], ["key", "level"][: 1 if levels is None else 2])
    order = [("key", "descending" if descending else "ascending")]
    return pc.sort_indices(table, sort_keys=order if levels is None else [("level", "ascending"), *order])

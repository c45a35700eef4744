"""Access to the inner values of Arrow lists, maps and structs, and their replacement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.types.arrow import is_list, with_inner
from deltaskip.sparkexpr.types.data_types import ArrayType, DataType, MapType, StructType
from deltaskip.sparkexpr.values.arrow_values import arrow_array, filled, one_chunk

ENTRIES = "entries of a map with optional keys"
"""The name of the elements of a list as which pyarrow reads a map; see `stats.parquet_input.readable_footer`."""


def changed_inside(array: pa.Array, data_type: DataType, change: Callable[[pa.Array, DataType], pa.Array]) -> pa.Array:
    """Return a column with its direct fields, elements, keys and values changed; a flat column is returned unchanged.

    Lists of every kind become lists. Fields that the type lacks stay unchanged. `change` receives no values below a
    null.
    """
    kind = array.type
    nulls = array.is_null() if array.null_count else None
    match data_type:
        case StructType(fields) if pa.types.is_struct(kind):
            types = {field.name: field.type for field in fields}
            children = [
                change(child, types[field.name]) if field.name in types else child
                for field, child in zip(kind, array.flatten(), strict=True)
            ]
            named = [field.with_type(child.type) for field, child in zip(kind, children, strict=True)]
            return pa.StructArray.from_arrays(children, fields=named, mask=nulls)
        case ArrayType(element) if is_list(kind):
            values = change(list_items(array), element)
            listed = pa.list_(kind.value_field.with_type(values.type))
            return pa.ListArray.from_arrays(list_offsets(array), values, type=listed, mask=nulls)
        case MapType(key, value) if pa.types.is_map(kind):
            lists = map_lists(array)
            entries = list_items(lists)
            keys, items = change(entries.field("key"), key), change(entries.field("value"), value)
            mapped = pa.map_(kind.key_field.with_type(keys.type), kind.item_field.with_type(items.type))
            return pa.MapArray.from_arrays(list_offsets(lists), keys, items, mapped, mask=nulls)
        case _:
            return array


def conformed(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return a column cast to a type that differs only in nullability and in the order of fields.

    A field that a struct lacks is null. A flat column is cast.
    """
    if array.type == wanted:
        return array
    if not pa.types.is_nested(wanted):
        return array.cast(wanted)
    nulls = array.is_null() if array.null_count else None
    if pa.types.is_struct(wanted):
        fields = [wanted.field(at) for at in range(wanted.num_fields)]
        members = [
            conformed(array.field(place), field.type)
            if (place := array.type.get_field_index(field.name)) >= 0
            else pa.nulls(len(array), field.type)
            for field in fields
        ]
        return pa.StructArray.from_arrays(members, fields=fields, mask=nulls)
    # pyarrow refuses a null mask with the offsets of a slice: copy them.
    offsets = arrow_array(np.array(array.offsets, np.int32))
    if pa.types.is_map(wanted):
        keys, items = conformed(array.keys, wanted.key_type), conformed(array.items, wanted.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, wanted, mask=nulls)
    return pa.ListArray.from_arrays(offsets, conformed(array.values, wanted.value_type), type=wanted, mask=nulls)


def map_lists(maps: pa.MapArray) -> pa.ListArray:
    """Return maps as lists of structs `key` and `value`.

    It does not cast: pyarrow refuses to cast null values whose members are not nullable.
    """
    entries = pa.StructArray.from_arrays([maps.keys, maps.items], names=["key", "value"])
    # pyarrow refuses a null mask with the offsets of a slice: copy them.
    offsets = arrow_array(np.array(maps.offsets, np.int32))
    return pa.ListArray.from_arrays(offsets, entries, mask=maps.is_null() if maps.null_count else None)


def list_items(lists: pa.Array) -> pa.Array:
    """Return the values of all lists, without values below null lists."""
    return one_chunk(pc.list_flatten(lists))


def list_offsets(lists: pa.Array) -> pa.Array:
    """Return the offsets of the lists in `list_items`. Raises ArrowInvalid if an offset exceeds 32 bits."""
    lengths = filled(pc.list_value_length(lists), 0)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(np.asarray(lengths), out=offsets[1:])
    return arrow_array(offsets).cast(pa.int32())


def run_numbers(array: pa.RunEndEncodedArray) -> pa.Array:
    """Return the index of the run that each row is in."""
    rows = np.arange(array.offset, array.offset + len(array))
    return arrow_array(np.searchsorted(np.asarray(array.run_ends), rows, side="right"))


def with_maps(schema: pa.Schema) -> pa.Schema:
    """Return the schema with maps for lists of entries, or the schema itself if it has no such list."""
    fields = [field.with_type(_with_maps(field.type)) for field in schema]
    return pa.schema(fields, schema.metadata) if fields != list(schema) else schema


def _with_maps(kind: pa.DataType) -> pa.DataType:
    kind = with_inner(kind, lambda field: field.with_type(_with_maps(field.type)))
    if not pa.types.is_list(kind) or kind.value_field.name != ENTRIES:
        return kind
    key, item = kind.value_type
    return pa.map_(key.with_nullable(False), item)

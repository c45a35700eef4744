"""Columns of structs, arrays and maps, with what is directly inside them changed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.schema.arrow_values import one_chunk
from deltaskip.schema.types import ArrayType, DataType, MapType, StructType

__all__ = ["changed_inside"]


def changed_inside(array: pa.Array, data_type: DataType, change: Callable[[pa.Array, DataType], pa.Array]) -> pa.Array:
    """Return a column with the fields, elements, keys and values directly inside it changed; other columns as they are.

    Args:
        array: The column, with the names of the table. Fields that the type lacks stay as they are.
        data_type: Its type.
        change: Returns values that are inside, of which none is below a null, of their type as it should be.
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
        case ArrayType(element) if pa.types.is_list(kind):
            values = change(one_chunk(pc.list_flatten(array)), element)
            listed = pa.list_(kind.value_field.with_type(values.type))
            return pa.ListArray.from_arrays(_offsets(array), values, type=listed, mask=nulls)
        case MapType(key, value) if pa.types.is_map(kind):
            entry = pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)])
            lists = array.cast(pa.list_(entry))
            entries = one_chunk(pc.list_flatten(lists))
            keys, items = change(entries.field("key"), key), change(entries.field("value"), value)
            mapped = pa.map_(kind.key_field.with_type(keys.type), kind.item_field.with_type(items.type))
            return pa.MapArray.from_arrays(_offsets(lists), keys, items, mapped, mask=nulls)
        case _:
            return array


def _offsets(lists: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(np.asarray(lengths), out=offsets[1:])
    return pa.array(offsets)

"""Columns with fields of type void, which files do not contain.

# PROTOCOL, Void Type
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_nested import list_items, list_offsets, map_lists


def void_columns(fields: Iterable[t.StructField]) -> dict[str, t.DataType]:
    """Return the columns that contain fields of type void: their types by name."""
    return {f.name: f.type for f in fields if f.type != t.VOID and t.VOID in t.nested_types(f.type)}


def with_void_fields(array: pa.Array, data_type: t.DataType) -> pa.Array:
    """Return a column of a file with the fields of type void added, at every depth.

    Args:
        array: The column, with the names of the table.
        data_type: Its type, of `void_columns`.
    """
    if t.VOID not in t.nested_types(data_type):
        return array
    nulls = array.is_null() if array.null_count else None
    match data_type:
        case t.StructType(fields):
            stored = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
            children = [
                pa.nulls(len(array)) if field.type == t.VOID else with_void_fields(stored[field.name], field.type)
                for field in fields
            ]
            named = [pa.field(field.name, child.type) for field, child in zip(fields, children, strict=True)]
            return pa.StructArray.from_arrays(children, fields=named, mask=nulls)
        case t.ArrayType(element):
            values = with_void_fields(list_items(array), element)
            listed = pa.list_(pa.field("element", values.type))
            return pa.ListArray.from_arrays(list_offsets(array), values, type=listed, mask=nulls)
        case t.MapType(key, value):
            lists = map_lists(array)
            entries = list_items(lists)
            keys, items = with_void_fields(entries.field("key"), key), with_void_fields(entries.field("value"), value)
            mapped = pa.map_(pa.field("key", keys.type, False), pa.field("value", items.type))
            return pa.MapArray.from_arrays(list_offsets(lists), keys, items, mapped, mask=nulls)
        case _:
            return array

"""Types of columns of data files that are read as the types of a table."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
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
    MapType,
    StructType,
)


def is_readable_as(stored: pa.DataType, data_type: DataType) -> bool:
    """Whether values of a file's column are values of the table's type, as they are or after widening.

    # PROTOCOL, Type Widening; a type of another kind, such as text for a number, is an error of the file.

    Args:
        stored: The Arrow type of the column in the file, with the names of the table at every depth.
        data_type: The type of the table.
    """
    stored = in_files(stored)
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_null(stored):
        return True
    match data_type:
        case StructType(fields):
            by_name = {field.name: field.type for field in fields}
            return pa.types.is_struct(stored) and all(
                each.name not in by_name or is_readable_as(each.type, by_name[each.name]) for each in stored
            )
        case ArrayType(element):
            return _is_list(stored) and is_readable_as(stored.value_type, element)
        case MapType(key, value):
            if not pa.types.is_map(stored):
                return False
            return is_readable_as(stored.key_type, key) and is_readable_as(stored.item_type, value)
        case DecimalType():
            return bool(pa.types.is_decimal(stored) or pa.types.is_integer(stored))
        case _ if data_type in (STRING, BINARY):
            return _is_bytes(stored)
        case _ if data_type in (FLOAT, DOUBLE):
            return bool(pa.types.is_floating(stored) or pa.types.is_integer(stored))
        case _ if data_type == BOOLEAN:
            return bool(pa.types.is_boolean(stored))
        case _ if data_type == DATE:
            return bool(pa.types.is_date(stored))
        case _ if data_type == TIMESTAMP:
            return bool(pa.types.is_timestamp(stored))
        case _ if data_type == TIMESTAMP_NTZ:
            return bool(pa.types.is_timestamp(stored) or pa.types.is_date(stored))
        case _ if data_type in (BYTE, SHORT, INTEGER, LONG):
            return bool(pa.types.is_integer(stored))
        case _:
            return True


def without_views(stored: pa.DataType) -> pa.DataType:
    """Return the type with strings and binary values in place of views of them, of which Arrow takes no single rows."""
    if pa.types.is_string_view(stored):
        return pa.string()
    if pa.types.is_binary_view(stored):
        return pa.binary()
    return _with_items(stored, without_views)


def in_files(stored: pa.DataType) -> pa.DataType:
    """Return the type of what a file stores, without what pyarrow alone sees in it.

    JSON (a logical type of Parquet, or a type that the writer's Arrow schema in the file names) is text, and durations
    are integers, as Spark reads them.
    """
    if isinstance(stored, pa.BaseExtensionType):
        return in_files(stored.storage_type)
    if pa.types.is_duration(stored):
        return pa.int64()
    return _with_items(stored, in_files)


def _with_items(stored: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A nested type whose fields, elements, keys and values have changed types; another type as it is."""
    if pa.types.is_struct(stored):
        return pa.struct([each.with_type(change(each.type)) for each in stored])
    if pa.types.is_map(stored):
        return pa.map_(stored.key_field.with_type(change(stored.key_type)),
                       stored.item_field.with_type(change(stored.item_type)))  # fmt: skip
    if pa.types.is_list(stored):
        return pa.list_(stored.value_field.with_type(change(stored.value_type)))
    if pa.types.is_large_list(stored):
        return pa.large_list(stored.value_field.with_type(change(stored.value_type)))
    if pa.types.is_fixed_size_list(stored):
        return pa.list_(stored.value_field.with_type(change(stored.value_type)), stored.list_size)
    return stored


def _is_list(stored: pa.DataType) -> bool:
    return bool(pa.types.is_list(stored) or pa.types.is_large_list(stored) or pa.types.is_fixed_size_list(stored))


def _is_bytes(stored: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)
    views = (pa.types.is_string_view, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
    return any(kind(stored) for kind in (*kinds, *views))

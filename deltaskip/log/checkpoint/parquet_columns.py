"""The columns of a checkpoint's Parquet files: their types when written, and the check of the types that are read.

# PROTOCOL, Checkpoint Schema
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from deltaskip.actions import ADD_FIELDS, REMOVE_FIELDS, TEXT_MAP
from deltaskip.actions.action_fields import TABLE_ACTIONS

STATE_TYPES: dict[str, pa.StructType] = {fields.action: fields.logged_type for fields in TABLE_ACTIONS}
_FILE_TYPES = {fields.action: fields.logged_type for fields in (ADD_FIELDS, REMOVE_FIELDS)}
_READ: Mapping[str, pa.StructType] = {**STATE_TYPES, **_FILE_TYPES}
# A draft of the protocol has a map here.
_ALSO = {"domainMetadata.configuration": TEXT_MAP}


def wrong_column(schema: pa.Schema) -> str | None:
    """Return the fault of a checkpoint's column, as the end of a sentence; None if all columns can be read.

    Columns that are not read may have any type, and nulls of every column may have the null type.
    """
    for name in _READ:
        found = schema.get_all_field_indices(name)
        if len(found) > 1:
            return f"it contains the column {name} {len(found)} times"
        wrong = _wrong(schema.field(found[0]).type, _READ[name], name) if found else None
        if wrong is not None:
            return wrong
    return None


def _wrong(found: pa.DataType, expected: pa.DataType, path: str) -> str | None:
    """The fault of a type at a dotted path; None if it can be read as the expected one."""
    if found == expected:
        return None
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_null(found) or (path in _ALSO and _wrong(found, _ALSO[path], "") is None):
        return None
    fits = False
    if pa.types.is_struct(expected):
        if pa.types.is_struct(found):
            return _wrong_field(found, expected, path)
    elif pa.types.is_map(expected):
        fits = pa.types.is_map(found) and _is_text(found.key_type) and _is_text(found.item_type)
    elif pa.types.is_list(expected):
        fits = (pa.types.is_list(found) or pa.types.is_large_list(found)) and _is_text(found.value_type)
    elif pa.types.is_integer(expected):
        fits = pa.types.is_integer(found)
    elif pa.types.is_boolean(expected):
        fits = pa.types.is_boolean(found)
    else:
        fits = _is_text(found)
    return None if fits else f"its column {path} has the type {_short(found)}"


def _wrong_field(found: pa.StructType, expected: pa.StructType, path: str) -> str | None:
    names = [field.name for field in found]
    if len(set(names)) < len(names):
        return f"its column {path} contains a field twice"
    for field in expected:
        at = found.get_field_index(field.name)
        wrong = None if at < 0 else _wrong(found.field(at).type, field.type, f"{path}.{field.name}")
        if wrong is not None:
            return wrong
    return None


def _is_text(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(is_one(type_) for is_one in (*text, pa.types.is_binary, pa.types.is_large_binary))


def _short(type_: pa.DataType) -> str:
    text = str(type_)
    return text if len(text) <= 80 else f"{text[:79]}…"

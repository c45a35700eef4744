"""Logical and physical names of columns: column mapping.

# PROTOCOL, Column Mapping
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa

from deltaskip.errors import SchemaError
from deltaskip.schema.properties import FEATURES_READER_VERSION, TableProperties
from deltaskip.sparkexpr import types as t

ID_KEY = "delta.columnMapping.id"
PARQUET_ID = b"PARQUET:field_id"
"""The key of the field id in the metadata of an Arrow field."""

NESTED_IDS_KEY = "delta.columnMapping.nested.ids"
"""Metadata key of a field for the ids of the elements, keys and values of nested arrays and maps, by their path.

# PROTOCOL, IcebergCompatV2: the path begins with the physical name of the field, as in `col-ddd.key`.
"""


class ReaderProtocol(Protocol):
    """The part of a protocol action that determines whether column mapping applies."""

    @property
    def min_reader_version(self) -> int:
        """The table's reader version."""

    @property
    def reader_features(self) -> Collection[str] | None:
        """The table's reader features; None if the protocol has no list."""

    @property
    def writer_features(self) -> Collection[str] | None:
        """The table's writer features; None if the protocol has no list."""


def mapping_mode(protocol: ReaderProtocol, properties: TableProperties) -> t.MappingMode:
    """Return the table's column mapping mode, which determines the names of columns in data files.

    # PROTOCOL, Column Mapping: "The table property should only be honored if the table's protocol has reader and
    # writer versions and/or table features that support the columnMapping table feature."
    Raises SchemaError for a mode that the protocol does not define.
    """
    return properties.mapping_mode if supports_mapping(protocol) else "none"


def field_id(field: t.StructField) -> int | None:
    """Return the Parquet field id of `field`; None if it has no id. Raises SchemaError if the id is not an integer."""
    value = field.metadata.get(ID_KEY)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise SchemaError(f"Column {field.name!r} has {ID_KEY} {value!r}, which is not an integer.")
    return value


def field_key(field: t.StructField, mode: t.MappingMode) -> str:
    """Return the `stored_key` of a table's field in data files."""
    return str(field_id(field)) if mode == "id" else t.physical_name(field, mode)


def stored_key(stored: pa.Field, mode: t.MappingMode) -> str:
    """Return the key of a field in a file: its field id in the mode `id`, otherwise its name."""
    return (stored.metadata or {}).get(PARQUET_ID, b"").decode() if mode == "id" else str(stored.name)


def fields_by_path(
    type_: t.DataType, name_of: Callable[[t.StructField], Any], above: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], t.StructField]]:
    """Yield each field at any depth with its path: the names of the fields to it, and element, key and value."""
    match type_:
        case t.StructType(fields):
            for field in fields:
                path = (*above, name_of(field))
                yield path, field
                yield from fields_by_path(field.type, name_of, path)
        case t.ArrayType(element):
            yield from fields_by_path(element, name_of, (*above, "element"))
        case t.MapType(key, value):
            yield from fields_by_path(key, name_of, (*above, "key"))
            yield from fields_by_path(value, name_of, (*above, "value"))


def parquet_id(number: int | None) -> dict[bytes, bytes] | None:
    """Return the metadata of an Arrow field for which pyarrow writes this field id to a Parquet file."""
    return None if number is None else {PARQUET_ID: str(number).encode()}


def physical_schema(struct: t.StructType, mode: t.MappingMode) -> t.StructType:
    """Return `struct` with every field, at any depth, renamed to its physical name.

    Metadata is unchanged, except that the paths of collations use the new names.
    """
    if mode == "none":
        return struct
    fields = []
    for field in struct.fields:
        name = t.physical_name(field, mode)
        data_type, _ = _inside(field.type, 0, lambda inner, _: (physical_schema(inner, mode), 0))
        fields.append(t.StructField(name, data_type, field.nullable, t.rekeyed_metadata(field, name)))
    return t.StructType(tuple(fields))


def with_new_ids(struct: t.StructType, properties: TableProperties) -> tuple[t.StructType, dict[str, str]]:
    """Assign ids and physical names to new fields of a schema with column mapping; also return the properties to set.

    # PROTOCOL, Column Mapping, Writer Requirements: delta.columnMapping.maxColumnId is the highest id, and only grows.

    Args:
        struct: The schema.
        properties: The table properties.
    """
    before = properties.max_column_id or 0
    struct, highest = map_new_columns(struct, before)
    if properties.nested_ids:
        struct, highest = with_nested_ids(struct, highest)
    return struct, {} if highest == before else {TableProperties.max_column_id.name: str(highest)}


def map_new_columns(struct: t.StructType, max_id: int, keep_names: bool = False) -> tuple[t.StructType, int]:
    """Assign an id and a physical name to every field, at any depth, that has none; also return the highest id.

    # PROTOCOL, Column Mapping: ids only grow, and physical names are unique in all versions of the table.

    Args:
        struct: The schema.
        max_id: The highest id in the table's history (`delta.columnMapping.maxColumnId`).
        keep_names: Whether a new physical name equals the logical name, which existing files use.
    """
    fields = []
    for each in struct.fields:
        field = each
        if field_id(field) is None or t.PHYSICAL_NAME_KEY not in field.metadata:
            max_id += 1
            physical = field.name if keep_names else f"col-{uuid4()}"
            metadata = {**field.metadata, ID_KEY: max_id, t.PHYSICAL_NAME_KEY: physical}
            field = t.StructField(field.name, field.type, field.nullable, metadata)
        data_type, max_id = _inside(field.type, max_id, partial(map_new_columns, keep_names=keep_names))
        same = data_type is field.type
        fields.append(field if same else t.StructField(field.name, data_type, field.nullable, field.metadata))
    same = all(map(operator.is_, fields, struct.fields))
    return (struct if same else t.StructType(tuple(fields))), max_id


def with_nested_ids(struct: t.StructType, max_id: int) -> tuple[t.StructType, int]:
    """Assign an id to each element, key and value of arrays and maps that has none; also return the highest id.

    # PROTOCOL, IcebergCompatV2: ids are unique, and differ from the ids of columns.

    Args:
        struct: A schema whose fields have physical names.
        max_id: The highest id in the table's history.
    """
    fields = []
    for field in struct.fields:
        data_type, max_id = _inside(field.type, max_id, with_nested_ids)
        known = field.metadata.get(NESTED_IDS_KEY)
        ids = dict(known) if isinstance(known, dict) else {}
        for path in nested_paths(field):
            if path not in ids:
                max_id += 1
                ids[path] = max_id
        metadata = {**field.metadata, NESTED_IDS_KEY: ids} if ids else field.metadata
        fields.append(t.StructField(field.name, data_type, field.nullable, metadata))
    return t.StructType(tuple(fields)), max_id


def nested_paths(field: t.StructField) -> Iterator[str]:
    """Yield the paths of the elements, keys and values of a field, without the paths inside nested structs."""

    def below(data_type: t.DataType, path: str) -> Iterator[str]:
        match data_type:
            case t.ArrayType(element):
                yield f"{path}.element"
                yield from below(element, f"{path}.element")
            case t.MapType(key, value):
                for kind, inner in (("key", key), ("value", value)):
                    yield f"{path}.{kind}"
                    yield from below(inner, f"{path}.{kind}")

    yield from below(field.type, str(field.metadata.get(t.PHYSICAL_NAME_KEY, field.name)))


def _inside(
    data_type: t.DataType, max_id: int, of_struct: Callable[[t.StructType, int], tuple[t.StructType, int]]
) -> tuple[t.DataType, int]:
    """The type with the structs in it as `of_struct` makes them, from the highest id so far, and the highest id."""
    match data_type:
        case t.StructType():
            return of_struct(data_type, max_id)
        case t.ArrayType(element, contains_null):
            element, max_id = _inside(element, max_id, of_struct)
            return t.ArrayType(element, contains_null), max_id
        case t.MapType(key, value, contains_null):
            key, max_id = _inside(key, max_id, of_struct)
            value, max_id = _inside(value, max_id, of_struct)
            return t.MapType(key, value, contains_null), max_id
        case _:
            return data_type, max_id


def supports_mapping(protocol: ReaderProtocol) -> bool:
    """Return whether the protocol enables column mapping, so that the property determines the mode.

    A protocol with table features that lists columnMapping only as a writer feature also binds writers, and delta-spark
    reads such a table by its physical names.
    """
    if protocol.min_reader_version == 2:
        return True
    listed = (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    return protocol.min_reader_version >= FEATURES_READER_VERSION and "columnMapping" in listed


def with_names_of(stored: pa.DataType, data_type: t.DataType, mode: t.MappingMode) -> pa.DataType:
    """Return the type of a file's column with the names of the table; fields that the table lacks keep theirs."""
    match data_type:
        case t.StructType(fields) if pa.types.is_struct(stored):
            by_key = {field_key(field, mode): field for field in fields}
            return pa.struct([_named_field(each, by_key, mode) for each in stored])
        case t.ArrayType(element) if pa.types.is_list(stored):
            return pa.list_(pa.field("element", with_names_of(stored.value_type, element, mode)))
        case t.MapType(key, value) if pa.types.is_map(stored):
            return pa.map_(with_names_of(stored.key_type, key, mode), with_names_of(stored.item_type, value, mode))
        case _:
            return stored


def _named_field(stored: pa.Field, fields: Mapping[str, t.StructField], mode: t.MappingMode) -> pa.Field:
    field = fields.get(stored_key(stored, mode))
    if field is None:
        # A name that no column has, since a dropped field may have had the name of another field.
        return pa.field(f"\0{stored.name}" if mode != "none" else stored.name, stored.type)
    return pa.field(field.name, with_names_of(stored.type, field.type, mode))

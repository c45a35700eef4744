"""Collations declared in a schema.

# COLLATIONS RFC, Specifying collations in the table schema: "Collations are stored in the `__COLLATIONS` key of the
# metadata of the nearest ancestor StructField", by the path from it through `element`, `key` and `value`.
A path is built from the names and compared as a whole, never split, because names may contain dots. A string without
an entry is UTF8_BINARY, which is never written. Entries for other paths are kept and ignored, as in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr.types.data_types import (
    COLLATIONS_KEY,
    PHYSICAL_NAME_KEY,
    STRING,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UnknownType,
    declared_collation,
)


def string_paths(field: StructField) -> list[str]:
    """The paths of all strings whose collation `field` declares. Nested struct fields declare their own collations."""
    return [path for path, data_type in _paths(field.type, field.name) if data_type == STRING]


def check_collations(field: StructField) -> None:
    """Raise SchemaError if an entry is not a string or belongs to a type other than string, like Spark's readers.

    The identifier is not checked: an unknown provider, name or version is kept, and never used for pruning.
    """
    declared = field.metadata.get(COLLATIONS_KEY)
    if declared is None:
        return
    for path in declared if isinstance(declared, Mapping) else (field.name,):
        declared_collation(field, path)
    for path, data_type in _paths(field.type, field.name):
        if data_type != STRING and not isinstance(data_type, UnknownType) and declared_collation(field, path):
            kind = getattr(data_type, "name", type(data_type).__name__.removesuffix("Type").lower())
            raise SchemaError(
                f"{COLLATIONS_KEY} of field {field.name!r} declares a collation for {path!r} of type {kind}: "
                "only strings have collations, so remove the entry from the schema."
            )


def renamed(field: StructField, name: str) -> StructField:
    """Return `field` with another name. Its strings keep their collations."""
    return StructField(name, field.type, field.nullable, rekeyed_metadata(field, name))


def rekeyed_metadata(field: StructField, name: str) -> Mapping[str, Any]:
    """Return the metadata of `field` for another name, with which the paths of its collations start."""
    if COLLATIONS_KEY not in field.metadata or not isinstance(field.metadata[COLLATIONS_KEY], Mapping):
        return field.metadata
    moved = {
        name + path[len(field.name) :] if path == field.name or path.startswith(field.name + ".") else path: collation
        for path, collation in _entries(field).items()
    }
    return {**field.metadata, COLLATIONS_KEY: moved}


def carry_collations(old: StructType, new: StructType) -> StructType:
    """Return `new` with the collation of `old` for every string that is in both and has no collation in `new`.

    Fields match by physical name if both schemas have it, or by exact name. Use it for a schema from a source without
    collations, such as Arrow.

    # COLLATIONS RFC: "clients must preserve collations when they change the schema"
    """
    before = {_identity(field): field for field in old.fields} | {field.name: field for field in old.fields}
    found = [before.get(_identity(field)) or before.get(field.name) for field in new.fields]
    return StructType(tuple(f if was is None else _carried(was, f) for was, f in zip(found, new.fields, strict=True)))


def _identity(field: StructField) -> tuple[object, ...]:
    """A key with the physical name of a field, or its name if it has none; it never equals a plain name."""
    return "physical", field.metadata.get(PHYSICAL_NAME_KEY, field.name)


def _carried(old: StructField, new: StructField) -> StructField:
    field = StructField(new.name, _carried_type(old.type, new.type), new.nullable, new.metadata)
    entries = _entries(renamed(old, new.name))
    inherited = {path: text for path, text in entries.items() if path in string_paths(field)}
    return _declaring(field, {**inherited, **_entries(field)})


def _carried_type(old: DataType, new: DataType) -> DataType:
    match old, new:
        case StructType(), StructType():
            return carry_collations(old, new)
        case ArrayType(before), ArrayType(element, contains_null):
            return ArrayType(_carried_type(before, element), contains_null)
        case MapType(key_before, value_before), MapType(key, value, contains_null):
            return MapType(_carried_type(key_before, key), _carried_type(value_before, value), contains_null)
        case _:
            return new


def _entries(field: StructField) -> Mapping[str, Any]:
    declared = field.metadata.get(COLLATIONS_KEY)
    return declared if isinstance(declared, Mapping) else {}


def _declaring(field: StructField, entries: Mapping[str, Any]) -> StructField:
    metadata = {key: value for key, value in field.metadata.items() if key != COLLATIONS_KEY}
    if entries:
        metadata[COLLATIONS_KEY] = dict(entries)
    return StructField(field.name, field.type, field.nullable, metadata)


def _paths(data_type: DataType, path: str) -> Iterator[tuple[str, DataType]]:
    yield path, data_type
    match data_type:
        case ArrayType(element):
            yield from _paths(element, f"{path}.element")
        case MapType(key, value):
            yield from _paths(key, f"{path}.key")
            yield from _paths(value, f"{path}.value")

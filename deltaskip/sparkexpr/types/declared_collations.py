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
from deltaskip.sparkexpr.types import data_types as t


def string_paths(field: t.StructField) -> list[str]:
    """The paths of all strings whose collation `field` declares. Nested struct fields declare their own collations."""
    return [path for path, data_type in _paths(field.type, field.name) if data_type == t.STRING]


def check_collations(field: t.StructField) -> None:
    """Raise SchemaError if an entry is not a string or belongs to a type other than string, like Spark's readers.

    The identifier is not checked: an unknown provider, name or version is kept, and never used for pruning.
    """
    declared = field.metadata.get(t.COLLATIONS_KEY)
    if declared is None:
        return
    for path in declared if isinstance(declared, Mapping) else (field.name,):
        t.declared_collation(field, path)
    for path, data_type in _paths(field.type, field.name):
        if data_type != t.STRING and not isinstance(data_type, t.UnknownType) and t.declared_collation(field, path):
            kind = getattr(data_type, "name", type(data_type).__name__.removesuffix("Type").lower())
            raise SchemaError(
                f"{t.COLLATIONS_KEY} of field {field.name!r} declares a collation for {path!r} of type {kind}: "
                "only strings have collations, so remove the entry from the schema."
            )


def renamed(field: t.StructField, name: str) -> t.StructField:
    """Return `field` with another name. Its strings keep their collations."""
    return t.StructField(name, field.type, field.nullable, rekeyed_metadata(field, name))


def rekeyed_metadata(field: t.StructField, name: str) -> Mapping[str, Any]:
    """Return the metadata of `field` for another name, with which the paths of its collations start."""
    if t.COLLATIONS_KEY not in field.metadata or not isinstance(field.metadata[t.COLLATIONS_KEY], Mapping):
        return field.metadata
    moved = {
        name + path[len(field.name) :] if path == field.name or path.startswith(field.name + ".") else path: collation
        for path, collation in _entries(field).items()
    }
    return {**field.metadata, t.COLLATIONS_KEY: moved}


def carry_collations(old: t.StructType, new: t.StructType) -> t.StructType:
    """Return `new` with the collation of `old` for every string that is in both and has no collation in `new`.

    Fields match by physical name if both schemas have it, or by exact name. Use it for a schema from a source without
    collations, such as Arrow.

    # COLLATIONS RFC: "clients must preserve collations when they change the schema"
    """
    before = {_identity(field): field for field in old.fields} | {field.name: field for field in old.fields}
    found = [before.get(_identity(field)) or before.get(field.name) for field in new.fields]
    return t.StructType(tuple(f if was is None else _carried(was, f) for was, f in zip(found, new.fields, strict=True)))


def _identity(field: t.StructField) -> tuple[object, ...]:
    """A key with the physical name of a field, or its name if it has none; it never equals a plain name."""
    return "physical", field.metadata.get(t.PHYSICAL_NAME_KEY, field.name)


def _carried(old: t.StructField, new: t.StructField) -> t.StructField:
    field = t.StructField(new.name, _carried_type(old.type, new.type), new.nullable, new.metadata)
    entries = _entries(renamed(old, new.name))
    inherited = {path: text for path, text in entries.items() if path in string_paths(field)}
    return _declaring(field, {**inherited, **_entries(field)})


def _carried_type(old: t.DataType, new: t.DataType) -> t.DataType:
    match old, new:
        case t.StructType(), t.StructType():
            return carry_collations(old, new)
        case t.ArrayType(before), t.ArrayType(element, contains_null):
            return t.ArrayType(_carried_type(before, element), contains_null)
        case t.MapType(key_before, value_before), t.MapType(key, value, contains_null):
            return t.MapType(_carried_type(key_before, key), _carried_type(value_before, value), contains_null)
        case _:
            return new


def _entries(field: t.StructField) -> Mapping[str, Any]:
    declared = field.metadata.get(t.COLLATIONS_KEY)
    return declared if isinstance(declared, Mapping) else {}


def _declaring(field: t.StructField, entries: Mapping[str, Any]) -> t.StructField:
    metadata = {key: value for key, value in field.metadata.items() if key != t.COLLATIONS_KEY}
    if entries:
        metadata[t.COLLATIONS_KEY] = dict(entries)
    return t.StructField(field.name, field.type, field.nullable, metadata)


def _paths(data_type: t.DataType, path: str) -> Iterator[tuple[str, t.DataType]]:
    yield path, data_type
    match data_type:
        case t.ArrayType(element):
            yield from _paths(element, f"{path}.element")
        case t.MapType(key, value):
            yield from _paths(key, f"{path}.key")
            yield from _paths(value, f"{path}.value")

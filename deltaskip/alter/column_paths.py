"""Paths of columns in a schema, and schemas changed at one path.

A path goes through fields of structs, `element` of arrays, and `key` and `value` of maps, as in Spark's ALTER TABLE.
"""

from __future__ import annotations

from collections.abc import Callable

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import (
    ArrayType,
    ColumnPath,
    DataType,
    MapType,
    StructField,
    StructType,
    display_name,
    fold_name,
    resolve,
)
from deltaskip.sparkexpr.types.lengths import stored_field, with_lengths


@dataclass(frozen=True, slots=True)
class Place:
    """The column or type at a path.

    Attributes:
        path: The path as the schema spells it.
        field: The field at the path, or the nearest one around it; its type has char(n) and varchar(n).
        inside: Steps from the field through `element`, `key` and `value`; empty for the field itself.
        type: The type at the path.
        nullable: Whether values at the path can be NULL.
    """

    path: ColumnPath
    field: StructField
    inside: ColumnPath
    type: DataType
    nullable: bool

    @property
    def name(self) -> str:
        """The path as SQL text."""
        return display_name(self.path)

    @property
    def field_path(self) -> ColumnPath:
        """The path of the field."""
        return self.path[: len(self.path) - len(self.inside)]


def place_of(schema: StructType, path: ColumnPath, table: str) -> Place:
    """Return the place at the path; names match in any letter case. Raises SchemaError if there is none."""
    current: DataType = schema
    field: StructField | None = None
    spelled: list[str] = []
    inside: list[str] = []
    nullable = True
    for part in path:
        step = fold_name(part)
        match current:
            case StructType():
                field = with_lengths(_field(current, part, path, table))
                spelled.append(field.name)
                inside, current, nullable = [], field.type, field.nullable
                continue
            case ArrayType(element, contains_null) if step == "element":
                current, nullable = element, contains_null
            case MapType(key, _, _) if step == "key":
                current, nullable = key, False
            case MapType(_, value, contains_null) if step == "value":
                current, nullable = value, contains_null
            case _:
                raise SchemaError(_nowhere(current, spelled, path, table))
        spelled.append(step)
        inside.append(step)
    assert field is not None
    return Place(tuple(spelled), field, tuple(inside), current, nullable)


def struct_at(schema: StructType, path: ColumnPath, table: str) -> tuple[ColumnPath, StructType]:
    """Return the struct at the path, and the path as the schema spells it; an empty path leads to the columns.

    Raises SchemaError if there is no struct.
    """
    if not path:
        return (), schema
    place = place_of(schema, path, table)
    if not isinstance(place.type, StructType):
        raise SchemaError(
            f"{place.name} of {table} is not a struct, so it has no fields: name the fields of structs, and the "
            f"elements, keys and values of arrays and maps with `element`, `key` and `value`."
        )
    return place.path, place.type


def with_struct(schema: StructType, path: ColumnPath, change: Callable[[StructType], StructType]) -> StructType:
    """Return the schema with the struct at a path changed.

    `change` takes and returns fields whose types have char(n) and varchar(n), except for untouched top-level columns.
    """
    if not path:
        return StructType(tuple(map(stored_field, change(schema).fields)))

    def changed(field: StructField) -> StructField:
        field = with_lengths(field)
        inner = replace_type(field.type, path[1:], lambda found: change(_struct(found)))
        return stored_field(StructField(field.name, inner, field.nullable, field.metadata))

    return StructType(tuple(changed(field) if field.name == path[0] else field for field in schema.fields))


def with_field(schema: StructType, path: ColumnPath, change: Callable[[StructField], StructField | None]) -> StructType:
    """Return the schema with the field at a path, as the schema spells it, changed; None removes it."""

    def changed(struct: StructType) -> StructType:
        fields = (change(with_lengths(f)) if f.name == path[-1] else f for f in struct.fields)
        return StructType(tuple(field for field in fields if field is not None))

    return with_struct(schema, path[:-1], changed)


def replace_type(data_type: DataType, path: ColumnPath, change: Callable[[DataType], DataType]) -> DataType:
    """Return the type with the type at a path, as the schema spells it, changed."""
    if not path:
        return change(data_type)
    match data_type:
        case StructType(fields):
            return StructType(tuple(_inner(field, path, change) for field in fields))
        case ArrayType(element, contains_null):
            return ArrayType(replace_type(element, path[1:], change), contains_null)
        case MapType(key, value, contains_null) if path[0] == "key":
            return MapType(replace_type(key, path[1:], change), value, contains_null)
        case MapType(key, value, contains_null):
            return MapType(key, replace_type(value, path[1:], change), contains_null)
        case _:
            return data_type


def is_below(path: ColumnPath, above: ColumnPath) -> bool:
    """Whether a path equals another one or continues it, ignoring case."""
    return tuple(map(fold_name, path[: len(above)])) == tuple(map(fold_name, above))


def _inner(field: StructField, path: ColumnPath, change: Callable[[DataType], DataType]) -> StructField:
    if field.name != path[0]:
        return field
    return StructField(field.name, replace_type(field.type, path[1:], change), field.nullable, field.metadata)


def _struct(data_type: DataType) -> StructType:
    assert isinstance(data_type, StructType)
    return data_type


def _field(struct: StructType, part: str, path: ColumnPath, table: str) -> StructField:
    try:
        return resolve(struct, (part,)).field
    except PredicateError as error:
        raise SchemaError(f"{table}: {error}") from error


def _nowhere(current: DataType, spelled: list[str], path: ColumnPath, table: str) -> str:
    above = display_name(spelled)
    match current:
        case ArrayType():
            cure = f"{above} is an array: write {display_name([*spelled, 'element'])} for its elements"
        case MapType():
            cure = f"{above} is a map: write {above}.key or {above}.value for its keys or values"
        case _:
            cure = f"{above} is not a struct"
    return f"{table} has no column {display_name(path)}: {cure}."

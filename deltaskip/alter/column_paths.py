"""Paths of columns in a schema, and schemas changed at one path.

A path goes through fields of structs, `element` of arrays, and `key` and `value` of maps, as in Spark's ALTER TABLE.
"""

from __future__ import annotations

from collections.abc import Callable

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
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

    path: t.ColumnPath
    field: t.StructField
    inside: t.ColumnPath
    type: t.DataType
    nullable: bool

    @property
    def name(self) -> str:
        """The path as SQL text."""
        return t.display_name(self.path)

    @property
    def field_path(self) -> t.ColumnPath:
        """The path of the field."""
        return self.path[: len(self.path) - len(self.inside)]


def place_of(schema: t.StructType, path: t.ColumnPath, table: str) -> Place:
    """Return the place at the path; names match in any letter case. Raises SchemaError if there is none."""
    current: t.DataType = schema
    field: t.StructField | None = None
    spelled: list[str] = []
    inside: list[str] = []
    nullable = True
    for part in path:
        step = t.fold_name(part)
        match current:
            case t.StructType():
                field = with_lengths(_field(current, part, path, table))
                spelled.append(field.name)
                inside, current, nullable = [], field.type, field.nullable
                continue
            case t.ArrayType(element, contains_null) if step == "element":
                current, nullable = element, contains_null
            case t.MapType(key, _, _) if step == "key":
                current, nullable = key, False
            case t.MapType(_, value, contains_null) if step == "value":
                current, nullable = value, contains_null
            case _:
                raise SchemaError(_nowhere(current, spelled, path, table))
        spelled.append(step)
        inside.append(step)
    assert field is not None
    return Place(tuple(spelled), field, tuple(inside), current, nullable)


def struct_at(schema: t.StructType, path: t.ColumnPath, table: str) -> tuple[t.ColumnPath, t.StructType]:
    """Return the struct at the path, and the path as the schema spells it; an empty path leads to the columns.

    Raises SchemaError if there is no struct.
    """
    if not path:
        return (), schema
    place = place_of(schema, path, table)
    if not isinstance(place.type, t.StructType):
        raise SchemaError(
            f"{place.name} of {table} is not a struct, so it has no fields: name the fields of structs, and the "
            f"elements, keys and values of arrays and maps with `element`, `key` and `value`."
        )
    return place.path, place.type


def with_struct(
    schema: t.StructType, path: t.ColumnPath, change: Callable[[t.StructType], t.StructType]
) -> t.StructType:
    """Return the schema with the struct at a path changed.

    `change` takes and returns fields whose types have char(n) and varchar(n), except for untouched top-level columns.
    """
    if not path:
        return t.StructType(tuple(map(stored_field, change(schema).fields)))

    def changed(field: t.StructField) -> t.StructField:
        field = with_lengths(field)
        inner = replace_type(field.type, path[1:], lambda found: change(_struct(found)))
        return stored_field(t.StructField(field.name, inner, field.nullable, field.metadata))

    return t.StructType(tuple(changed(field) if field.name == path[0] else field for field in schema.fields))


def with_field(
    schema: t.StructType, path: t.ColumnPath, change: Callable[[t.StructField], t.StructField | None]
) -> t.StructType:
    """Return the schema with the field at a path, as the schema spells it, changed; None removes it."""

    def changed(struct: t.StructType) -> t.StructType:
        fields = (change(with_lengths(f)) if f.name == path[-1] else f for f in struct.fields)
        return t.StructType(tuple(field for field in fields if field is not None))

    return with_struct(schema, path[:-1], changed)


def replace_type(data_type: t.DataType, path: t.ColumnPath, change: Callable[[t.DataType], t.DataType]) -> t.DataType:
    """Return the type with the type at a path, as the schema spells it, changed."""
    if not path:
        return change(data_type)
    match data_type:
        case t.StructType(fields):
            return t.StructType(tuple(_inner(field, path, change) for field in fields))
        case t.ArrayType(element, contains_null):
            return t.ArrayType(replace_type(element, path[1:], change), contains_null)
        case t.MapType(key, value, contains_null) if path[0] == "key":
            return t.MapType(replace_type(key, path[1:], change), value, contains_null)
        case t.MapType(key, value, contains_null):
            return t.MapType(key, replace_type(value, path[1:], change), contains_null)
        case _:
            return data_type


def is_below(path: t.ColumnPath, above: t.ColumnPath) -> bool:
    """Whether a path equals another one or continues it, ignoring case."""
    return tuple(map(t.fold_name, path[: len(above)])) == tuple(map(t.fold_name, above))


def _inner(field: t.StructField, path: t.ColumnPath, change: Callable[[t.DataType], t.DataType]) -> t.StructField:
    if field.name != path[0]:
        return field
    return t.StructField(field.name, replace_type(field.type, path[1:], change), field.nullable, field.metadata)


def _struct(data_type: t.DataType) -> t.StructType:
    assert isinstance(data_type, t.StructType)
    return data_type


def _field(struct: t.StructType, part: str, path: t.ColumnPath, table: str) -> t.StructField:
    try:
        return t.resolve(struct, (part,)).field
    except PredicateError as error:
        raise SchemaError(f"{table}: {error}") from error


def _nowhere(current: t.DataType, spelled: list[str], path: t.ColumnPath, table: str) -> str:
    above = t.display_name(spelled)
    match current:
        case t.ArrayType():
            cure = f"{above} is an array: write {t.display_name([*spelled, 'element'])} for its elements"
        case t.MapType():
            cure = f"{above} is a map: write {above}.key or {above}.value for its keys or values"
        case _:
            cure = f"{above} is not a struct"
    return f"{table} has no column {t.display_name(path)}: {cure}."

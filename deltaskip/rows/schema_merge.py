"""The schema of new rows, and the schema of the table after they are written: merged or replaced.

# Delta's schema evolution: new columns at the end, new fields at the end of their struct, never reordered or dropped
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from deltaskip.errors import SchemaError
from deltaskip.records import dataclass
from deltaskip.rows.store import by_name
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.type_widening import TYPE_CHANGES_KEY
from deltaskip.schema.user_schema import with_declared_intervals
from deltaskip.sparkexpr import types as t

# The metadata of a DataFrame's column that a new column keeps.
_NO_CRS = t.crs_of_srid(0)
_KEPT_KEYS = (t.COMMENT_KEY, t.COLLATIONS_KEY, t.CHAR_VARCHAR_KEY)


@dataclass(frozen=True, slots=True)
class _MergeOptions:
    """The options that decide how two schemas merge.

    `fixed`: folded names of top-level columns whose type must not change, because an expression depends on it.
    """

    table: str
    widening: bool
    iceberg: bool
    fixed: frozenset[str]


def merged_schema(
    table_schema: t.StructType,
    incoming: t.StructType,
    properties: TableProperties,
    table: str,
    fixed: Collection[str] = (),
) -> t.StructType:
    """Return the schema of a table after rows with the columns of `incoming` were merged into it.

    Names of the table keep their letter case, columns their order and metadata. New columns are nullable. A type
    becomes wider only if the table has `delta.enableTypeWidening`; otherwise values are stored in the existing type.

    Args:
        table_schema: The table's schema.
        incoming: The schema of the rows.
        properties: The table's properties.
        table: The table's location, for messages.
        fixed: Top-level columns whose type must not change, because a constraint or a generated column uses them.

    Raises:
        SchemaError: A column is a struct, array or map on one side only, or a name occurs twice.
    """
    iceberg = properties.iceberg_compat_v1 or properties.iceberg_compat_v2 or properties.iceberg_compat_v3
    merge = _MergeOptions(table, properties.type_widening, iceberg, frozenset(map(t.fold_name, fixed)))
    return _merged_struct(table_schema, incoming, (), merge)


def replaced_schema(incoming: t.StructType, table: str) -> t.StructType:
    """Return the schema of a table whose columns are replaced by the columns of `incoming`; all are nullable.

    Raises SchemaError for names that occur twice.
    """
    _refuse_duplicates_in(incoming, (), table)
    return t.StructType(tuple(map(_new_field, incoming.fields)))


def widens(before: t.DataType, after: t.DataType, iceberg: bool = False) -> bool:
    """Whether schema evolution widens a column from one type to the other.

    # PROTOCOL, Type Widening; never from an integer to a double or decimal, which loses what integers mean.
    """
    match before, after:
        case t.DecimalType(), t.DecimalType():
            whole = after.precision - after.scale >= before.precision - before.scale
            return (
                before != after
                and whole
                and after.scale >= before.scale
                and not (iceberg and after.scale > before.scale)
            )
        case _ if before in t.INTEGRAL_BITS and after in t.INTEGRAL_BITS:
            return t.INTEGRAL_BITS[before] < t.INTEGRAL_BITS[after]
        case _:
            return (before, after) == (t.FLOAT, t.DOUBLE) or (
                (before, after) == (t.DATE, t.TIMESTAMP_NTZ) and not iceberg
            )


def all_nullable(data_type: t.DataType) -> t.DataType:
    """Return the type with everything nullable, at every depth."""
    match data_type:
        case t.StructType(fields):
            return t.StructType(tuple(map(_new_field, fields)))
        case t.ArrayType(element):
            return t.ArrayType(all_nullable(element), True)
        case t.MapType(key, value):
            return t.MapType(all_nullable(key), all_nullable(value), True)
        case _:
            return data_type


def _merged_struct(
    before: t.StructType, incoming: t.StructType, path: tuple[str, ...], merge: _MergeOptions
) -> t.StructType:
    given = by_name(incoming, path, merge.table)
    fields = [
        _merged_field(field, given.pop(t.fold_name(field.name)), path, merge)
        if t.fold_name(field.name) in given
        else field
        for field in before.fields
    ]
    for field in given.values():
        _refuse_duplicates_in(field.type, (*path, field.name), merge.table)
    return t.StructType((*fields, *map(_new_field, given.values())))


def _merged_field(
    before: t.StructField, given: t.StructField, path: tuple[str, ...], merge: _MergeOptions
) -> t.StructField:
    inner = (*path, before.name)
    changes: list[dict[str, Any]] = []
    fixed = t.fold_name(inner[0]) in merge.fixed
    merged = _merged_type(before.type, given.type, inner, "", fixed, merge, changes)
    if merged == before.type:
        return before
    metadata = dict(before.metadata)
    if before.type == t.VOID:
        metadata = {**_kept_metadata(given), **metadata}
        if t.COLLATIONS_KEY in metadata:
            metadata = dict(t.rekeyed_metadata(t.StructField(given.name, merged, True, metadata), before.name))
    if changes:
        metadata[TYPE_CHANGES_KEY] = [*metadata.get(TYPE_CHANGES_KEY, ()), *changes]
    return t.StructField(before.name, merged, before.nullable, metadata)


def _merged_type(
    before: t.DataType,
    given: t.DataType,
    path: tuple[str, ...],
    field_path: str,
    fixed: bool,
    merge: _MergeOptions,
    changes: list[dict[str, Any]],
) -> t.DataType:
    """The merged type of a field, or of the type inside of it at `field_path`. `changes` receives type changes."""

    def inside(old: t.DataType, new: t.DataType, name: str) -> t.DataType:
        below = f"{field_path}.{name}" if field_path else name
        return _merged_type(old, new, (*path, name), below, fixed, merge, changes)

    match before, given:
        case t.StructType(), t.StructType():
            return _merged_struct(before, given, path, merge)
        case t.ArrayType(old, contains_null), t.ArrayType(new):
            return t.ArrayType(inside(old, new, "element"), contains_null)
        case t.MapType(old_key, old_value, contains_null), t.MapType(key, value):
            return t.MapType(inside(old_key, key, "key"), inside(old_value, value, "value"), contains_null)
        case _ if before == t.VOID:
            return all_nullable(given)
        case _ if merge.widening and not fixed and widens(before, given, merge.iceberg):
            change = {"toType": t.type_name(given), "fromType": t.type_name(before)}
            changes.append({**change, "fieldPath": field_path} if field_path else change)
            return given
        case _:
            nested = (t.StructType, t.ArrayType, t.MapType)
            if given != t.VOID and (isinstance(before, nested) or isinstance(given, nested)):
                raise SchemaError(
                    f"The column {t.display_name(path)} of {merge.table} is {t.simple_string(before).upper()}, and the "
                    f"rows have {t.simple_string(given).upper()} there: these types cannot be merged."
                )
            return before


def _new_field(given: t.StructField) -> t.StructField:
    return t.StructField(given.name, all_nullable(given.type), True, _kept_metadata(given))


def _kept_metadata(given: t.StructField) -> Mapping[str, Any]:
    return {key: given.metadata[key] for key in _KEPT_KEYS if key in given.metadata}


def _structs(data_type: t.DataType, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], t.StructType]]:
    """Each struct in a type, with the path to it."""
    match data_type:
        case t.StructType(fields):
            inner = [each for f in fields for each in _structs(f.type, (*path, f.name))]
            return [(path, data_type), *inner]
        case t.ArrayType(element):
            return _structs(element, (*path, "element"))
        case t.MapType(key, value):
            return _structs(key, (*path, "key")) + _structs(value, (*path, "value"))
        case _:
            return []


def _refuse_duplicates_in(data_type: t.DataType, path: tuple[str, ...], table: str) -> None:
    for inner, struct in _structs(data_type, path):
        by_name(struct, inner, table)


def incoming_schema(schema: pa.Schema, table_schema: t.StructType) -> t.StructType:
    """Return the schema of Arrow data for a plan.

    A struct of two binaries is a variant if the table's column is one, and a UUID is a string if the column is one.
    Binary is WKB if the column has shapes, and shapes without a coordinate reference system have that of the column.

    Raises SchemaError for an Arrow type without a counterpart in Delta.
    """
    return _struct(schema, t.from_arrow(schema), table_schema)


def incoming_type(kind: pa.DataType, field: t.StructField) -> t.DataType:
    """Return the type of values of an Arrow type for a column of a table: see `incoming_schema`."""
    return incoming_schema(pa.schema([pa.field(field.name, kind)]), t.StructType((field,))).fields[0].type


def _struct(arrow: Iterable[pa.Field], given: t.StructType, target: t.StructType) -> t.StructType:
    known = {t.fold_name(field.name): field.type for field in target.fields}
    fields = (
        t.StructField(f.name, _type(each, f.type, known[t.fold_name(f.name)]), f.nullable, f.metadata)
        if t.fold_name(f.name) in known
        else with_declared_intervals(f)
        for each, f in zip(arrow, given.fields, strict=True)
    )
    return t.StructType(tuple(fields))


def _type(arrow: pa.Field, given: t.DataType, target: t.DataType) -> t.DataType:
    kind = arrow.type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _type(pa.field(arrow.name, kind.value_type), given, target)
    if target == t.STRING and t.extension_name(arrow) == t.UUID_EXTENSION:
        return t.STRING
    match given, target:
        case t.PrimitiveType("integer"), t.UnknownType() if target == t.YEAR_MONTH:
            # Arrow's form of the type, see `arrow_type`.
            return t.YEAR_MONTH
        case t.PrimitiveType("binary"), t.GeometryType() | t.GeographyType():
            return target
        case t.GeometryType(crs), t.GeometryType(wanted) if crs == _NO_CRS or t.same_crs(crs, wanted):
            return target
        case t.GeographyType(crs, edges), t.GeographyType(wanted, same) if edges == same and t.same_crs(crs, wanted):
            return target
        case t.PrimitiveType("timestamp"), t.UnknownType() if target == t.NANOS:
            return target
        case t.PrimitiveType("timestamp_ntz"), t.UnknownType() if target == t.NANOS_NTZ:
            return target
        case t.StructType(fields), t.PrimitiveType("variant"):
            stored = {f.name: f.type for f in fields} == {f.name: t.BINARY for f in t.VARIANT_STORAGE}
            return t.VARIANT if stored else given
        case t.StructType(), t.StructType():
            return _struct(kind, given, target)
        case t.ArrayType(element, contains_null), t.ArrayType(inner):
            return t.ArrayType(_type(kind.value_field, element, inner), contains_null)
        case t.MapType(key, value, contains_null), t.MapType(inner_key, inner):
            inside = _type(kind.key_field, key, inner_key), _type(kind.item_field, value, inner)
            return t.MapType(*inside, contains_null)
        case _:
            return given

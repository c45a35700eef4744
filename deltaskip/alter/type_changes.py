"""Widens the types of columns, and sets defaults of columns.

# PROTOCOL, Type Widening, Default Columns
"""

from __future__ import annotations

from dataclasses import replace

from deltaskip.alter.altered_table import AlteredTable, done, with_schema
from deltaskip.alter.column_changes import column_json, refuse_dependents, set_metadata_key
from deltaskip.alter.column_paths import Place, place_of, replace_type, with_field
from deltaskip.alter.table_changes import DropDefault, SetDefault, UpdateColumn
from deltaskip.errors import SchemaError
from deltaskip.rows.defaults import default_problem
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.type_widening import TYPE_CHANGES_KEY, is_widening
from deltaskip.schema.user_schema import field_of
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.lengths import holds_all, is_text, stored_field, with_lengths


def update_type(state: AlteredTable, change: UpdateColumn) -> AlteredTable:
    """Return the state with a wider type of a column, recorded for the files that have the narrower one.

    # PROTOCOL, Void Type: a void column can become any type, since no file has it.
    """
    place = place_of(state.schema, t.column_path("column", change.column), state.table)
    given = with_lengths(field_of(place.field.name, change.type))
    old, new = place.type, given.type
    if is_text(old) and is_text(new):
        _refuse_collation(state, place, given)
    if old == new:
        return state
    if old == t.VOID:
        refuse_dependents(state, place.path, f"changed to {t.simple_string(new).upper()}")
        return _with_type(state, _collated_like(place, given), new, recorded=False)
    if isinstance(old, t.StructType | t.ArrayType | t.MapType) or isinstance(
        new, t.StructType | t.ArrayType | t.MapType
    ):
        raise _refused(state, place, new, "only single types can: change the fields, elements, keys or values in it")
    _refuse_own_rules(state, place, new)
    refuse_dependents(state, place.path, f"changed to {t.simple_string(new).upper()}")
    if is_text(old) != is_text(new):
        raise _refused(state, place, new, "a text does not become another type, nor another type a text")
    if is_text(old):
        if not holds_all(new, old):
            raise _refused(state, place, new, "only VARCHAR(n) of a greater length and STRING hold its values")
        return _with_type(state, place, new, recorded=False)
    if not is_widening(old, new):
        raise _refused(state, place, new, "it would not hold every value of the column")
    properties = state.properties
    if not properties.type_widening:
        enabling = f"set its property {TableProperties.type_widening.name} to true before"
        raise _refused(state, place, new, f"the table has no type widening: {enabling}")
    iceberg = properties.iceberg_compat_v1 or properties.iceberg_compat_v2 or properties.iceberg_compat_v3
    if iceberg and not _in_iceberg(old, new):
        raise _refused(state, place, new, "Iceberg, with which the table is compatible, does not allow that")
    return _with_type(state, place, new, recorded=True)


def set_default(state: AlteredTable, change: SetDefault) -> AlteredTable:
    """Return the state with a default of a column."""
    place = _default_place(state, t.column_path("column", change.column))
    text = change.expression.strip()
    why = default_problem(place.field, text, state.table)
    if why is not None:
        raise SchemaError(f"{text or 'An empty text'} cannot be the default of {place.name} of {state.table}: {why}.")
    return set_metadata_key(state, place, t.DEFAULT_KEY, text)


def drop_default(state: AlteredTable, change: DropDefault) -> AlteredTable:
    """Return the state without the default of a column."""
    return set_metadata_key(state, _default_place(state, t.column_path("column", change.column)), t.DEFAULT_KEY, None)


def _with_type(state: AlteredTable, place: Place, new: t.DataType, recorded: bool) -> AlteredTable:
    def changed(field: t.StructField) -> t.StructField:
        metadata = {**field.metadata, **place.field.metadata}
        if recorded:
            change = {"toType": t.type_name(new), "fromType": t.type_name(place.type)}
            if place.inside:
                change["fieldPath"] = ".".join(place.inside)
            metadata[TYPE_CHANGES_KEY] = [*metadata.get(TYPE_CHANGES_KEY, ()), change]
        return replace(field, type=replace_type(field.type, place.inside, lambda _old: new), metadata=metadata)

    parameters = {"column": column_json(replace(place, type=t.STRING if is_text(new) else new))}
    if not recorded:
        after = stored_field(changed(place.field))
        parameters["column"]["metadata"] = {} if place.inside else dict(after.metadata)
    return done(with_schema(state, with_field(state.schema, place.field_path, changed)), "CHANGE COLUMN", parameters)


def _collated_like(place: Place, given: t.StructField) -> Place:
    """A void place with the collations of its new type."""
    above, size = ".".join((place.field.name, *place.inside)), len(given.name)
    named = {f"{above}{key[size:]}": text for key, text in (given.metadata.get(t.COLLATIONS_KEY) or {}).items()}
    if not named:
        return place
    known = place.field.metadata.get(t.COLLATIONS_KEY) or {}
    return replace(
        place, field=replace(place.field, metadata={**place.field.metadata, t.COLLATIONS_KEY: {**known, **named}})
    )


def _in_iceberg(old: t.DataType, new: t.DataType) -> bool:
    match old, new:
        case t.DecimalType(_, before), t.DecimalType(_, after):
            return before == after
        case _, t.DecimalType():
            return False
        case _:
            return not (new == t.TIMESTAMP_NTZ or (old in t.INTEGRAL_BITS and new == t.DOUBLE))


def _refuse_collation(state: AlteredTable, place: Place, given: t.StructField) -> None:
    declared = place.field.metadata.get(t.COLLATIONS_KEY) or {}
    before = declared.get(".".join((place.field.name, *place.inside)))
    after = (given.metadata.get(t.COLLATIONS_KEY) or {}).get(given.name)
    if before != after:
        change = f"from {before or 'UTF8_BINARY'} to {after or 'UTF8_BINARY'}"
        raise SchemaError(
            f"The collation of {place.name} of {state.table} cannot be changed {change}, because neither Delta nor the "
            f"collations of its protocol define that: add a column with the collation, and copy the values."
        )


def _refuse_own_rules(state: AlteredTable, place: Place, new: t.DataType) -> None:
    metadata = place.field.metadata
    if t.GENERATION_KEY in metadata:
        raise _refused(state, place, new, "it is generated by an expression of its type")
    if any(key.startswith(t.IDENTITY_PREFIX) for key in metadata):
        raise _refused(state, place, new, "it is an identity column, which must be BIGINT")


def _refused(state: AlteredTable, place: Place, new: t.DataType, why: str) -> SchemaError:
    return SchemaError(
        f"{place.name} of {state.table} cannot change its type from {t.simple_string(place.type).upper()} to "
        f"{t.simple_string(new).upper()}, because {why}."
    )


def _default_place(state: AlteredTable, path: t.ColumnPath) -> Place:
    place = place_of(state.schema, path, state.table)
    if len(place.path) > 1:
        raise SchemaError(f"{place.name} of {state.table} cannot have a default: only top-level columns can.")
    if t.GENERATION_KEY in place.field.metadata:
        raise SchemaError(f"{place.name} of {state.table} cannot have a default, because it is generated.")
    if any(key.startswith(t.IDENTITY_PREFIX) for key in place.field.metadata):
        raise SchemaError(f"{place.name} of {state.table} cannot have a default, because it is an identity column.")
    return place

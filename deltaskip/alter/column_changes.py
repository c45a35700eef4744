"""Adds, drops, renames, moves and describes columns, and makes them nullable, at any depth.

# PROTOCOL, Column Mapping; writers of rows see NULL in files without the column
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import takewhile
from typing import Any

from deltaskip.alter import table_changes
from deltaskip.alter.altered_table import AlteredTable, done, with_property, with_schema
from deltaskip.alter.column_paths import Place, is_below, place_of, replace_type, struct_at, with_field, with_struct
from deltaskip.data_files.sort_order import SORT_ORDER_KEY, sort_order_text, table_sort_order
from deltaskip.errors import SchemaError
from deltaskip.json_text import parse_json
from deltaskip.schema.properties import PARTITIONING_KEY, TableProperties
from deltaskip.schema.user_schema import field_of, schema_of
from deltaskip.sparkexpr import columns_in, is_valid_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types import renamed
from deltaskip.sparkexpr.types.lengths import stored_field, with_lengths
from deltaskip.stats.stats_columns import STATS_COLUMNS
from deltaskip.transforms.generated_columns import with_renamed_source
from deltaskip.transforms.partitioning_property import declared, hidden_columns, renamed_declaration
from deltaskip.txn.validation.schema import expressions

_MODE = TableProperties.mapping_mode.name
# Properties that list columns by name.
_LISTS = (STATS_COLUMNS, TableProperties.bloom_columns.name, TableProperties.key_index_columns.name)


def add_column(state: AlteredTable, change: table_changes.AddColumn) -> AlteredTable:
    """Return the state with a new nullable column."""
    path = t.column_path("column", change.column)
    if not change.nullable:
        raise SchemaError(
            f"The column {t.display_name(path)} cannot be added to {state.table} as NOT NULL, since existing rows have "
            f"NULL there: add it without NOT NULL, fill it, and add a CHECK constraint."
        )
    given = with_lengths(field_of(path[-1], change.type))
    _refuse_required_inside(given.type, path, state.table)
    metadata = dict(given.metadata)
    if change.comment is not None:
        metadata[t.COMMENT_KEY] = change.comment
    field = t.StructField(given.name, given.type, True, metadata)
    above, struct = struct_at(state.schema, path[:-1], state.table)
    _refuse_taken(struct, field.name, (*above, field.name), state.table, "added to")
    index = _index(struct, change.position, (*above, field.name), state.table)

    def inserted(found: t.StructType) -> t.StructType:
        return t.StructType((*found.fields[:index], field, *found.fields[index:]))

    state = with_schema(state, with_struct(state.schema, above, inserted))
    place = Place((*above, field.name), field, (), field.type, True)
    # The type shows char(n) and varchar(n) itself.
    column = {**column_json(place), "metadata": dict(field.metadata)}
    return done(state, "ADD COLUMNS", {"column": column, **_position_json(change.position)})


def delete_column(state: AlteredTable, change: table_changes.DeleteColumn) -> AlteredTable:
    """Return the state without a column."""
    path = t.column_path("column", change.column)
    try:
        place = place_of(state.schema, path, state.table)
    except SchemaError:
        if change.if_exists:
            return state
        raise
    if place.inside:
        raise SchemaError(f"{place.name} of {state.table} is part of a type and cannot be dropped: drop the column.")
    _refuse_unmapped(state, place, "dropped")
    _, struct = struct_at(state.schema, place.path[:-1], state.table)
    if len(struct.fields) == 1:
        of = t.display_name(place.path[:-1]) if len(place.path) > 1 else "the table"
        raise SchemaError(f"{place.name} of {state.table} is the last column of {of} and cannot be dropped.")
    if len(place.path) == 1 and place.field.name in state.metadata.partition_columns:
        raise SchemaError(f"{place.name} is a partition column of {state.table} and cannot be dropped.")
    _refuse_clustered(state, place)
    refuse_dependents(state, place.path, "dropped")
    state = remove_from_statistics(state, place.path)
    state = remove_from_sort_order(state, place.path)
    state = with_schema(state, with_field(state.schema, place.path, lambda _field: None))
    return done(state, "DROP COLUMNS", {"column": logged_name(place.path)})


def rename_column(state: AlteredTable, change: table_changes.RenameColumn) -> AlteredTable:
    """Return the state with a column under another name."""
    place = place_of(state.schema, t.column_path("column", change.column), state.table)
    if place.inside:
        raise SchemaError(f"{place.name} of {state.table} is part of a type and has no name that could be changed.")
    _refuse_unmapped(state, place, "renamed")
    old, new = place.path[-1], change.new_name
    if old == new:
        return state
    new_path = (*place.path[:-1], new)
    _, struct = struct_at(state.schema, place.path[:-1], state.table)
    others = t.StructType(tuple(field for field in struct.fields if field.name != old))
    _refuse_taken(others, new, new_path, state.table, "the name of a column of")
    after, followers = rename_in_partitions(state, place.path, new)
    refuse_dependents(state, place.path, "renamed", followers)
    state = after
    state = rename_in_statistics(state, place.path, new)
    state = rename_in_sort_order(state, place.path, new)
    state = with_schema(state, with_field(state.schema, place.path, lambda field: renamed(field, new)))
    parameters = {"oldColumnPath": logged_name(place.path), "newColumnPath": logged_name(new_path)}
    return done(state, "RENAME COLUMN", parameters)


def move_column(state: AlteredTable, change: table_changes.MoveColumn) -> AlteredTable:
    """Return the state with a column at another position in its struct."""
    place = place_of(state.schema, t.column_path("column", change.column), state.table)
    if place.inside:
        raise SchemaError(f"{place.name} of {state.table} is part of a type and has no position: move a column.")
    above, struct = struct_at(state.schema, place.path[:-1], state.table)
    rest = t.StructType(tuple(field for field in struct.fields if field.name != place.path[-1]))
    position = change.position
    if isinstance(position, int):
        position = _at(state, place, rest, position)
    if isinstance(position, table_changes.After) and t.fold_name(position.column) == t.fold_name(place.path[-1]):
        return state
    index = _index(rest, position, place.path, state.table)

    def moved(found: t.StructType) -> t.StructType:
        field = next(f for f in found.fields if f.name == place.path[-1])
        others = [f for f in found.fields if f is not field]
        return t.StructType((*others[:index], field, *others[index:]))

    schema = with_struct(state.schema, above, moved)
    if schema == state.schema:
        return state
    return done(with_schema(state, schema), "CHANGE COLUMN", {"column": column_json(place), **_position_json(position)})


def update_comment(state: AlteredTable, change: table_changes.UpdateColumnComment) -> AlteredTable:
    """Return the state with another comment of a column."""
    place = place_of(state.schema, t.column_path("column", change.column), state.table)
    if place.inside:
        raise SchemaError(
            f"{place.name} of {state.table} cannot have a comment, since it is part of a type: describe "
            f"{t.display_name(place.field_path)}."
        )
    return set_metadata_key(state, place, t.COMMENT_KEY, change.comment)


def update_nullability(state: AlteredTable, change: table_changes.UpdateColumnNullability) -> AlteredTable:
    """Return the state with a column that may contain NULL."""
    place = place_of(state.schema, t.column_path("column", change.column), state.table)
    if place.nullable == change.nullable:
        return state
    if not change.nullable:
        raise SchemaError(
            f"{place.name} of {state.table} cannot be set to NOT NULL, since existing rows may have NULL there: add a "
            f"CHECK constraint such as {place.name} IS NOT NULL, which checks them."
        )
    if place.inside and place.inside[-1] == "key":
        raise SchemaError(f"{place.name} of {state.table} is the key of a map, which is never NULL.")

    def nullable(field: t.StructField) -> t.StructField:
        if not place.inside:
            return t.StructField(field.name, field.type, True, field.metadata)
        inner = replace_type(field.type, place.inside[:-1], _with_nulls)
        return t.StructField(field.name, inner, field.nullable, field.metadata)

    state = with_schema(state, with_field(state.schema, place.field_path, nullable))
    after = replace(place, nullable=True)
    return done(state, "CHANGE COLUMN", {"column": column_json(after)})


def set_metadata_key(state: AlteredTable, place: Place, key: str, value: str | None) -> AlteredTable:
    """Return the state with a key in the metadata of a column; None removes it."""
    if place.field.metadata.get(key) == value:
        return state

    def changed(field: t.StructField) -> t.StructField:
        metadata = {name: text for name, text in field.metadata.items() if name != key}
        if value is not None:
            metadata[key] = value
        return t.StructField(field.name, field.type, field.nullable, metadata)

    state = with_schema(state, with_field(state.schema, place.path, changed))
    after = replace(place, field=changed(place.field))
    return done(state, "CHANGE COLUMN", {"column": column_json(after)})


def replace_columns(state: AlteredTable, change: table_changes.ReplaceColumns) -> AlteredTable:
    """Return the state with the columns of a schema: others are dropped, new ones added, none renamed.

    # SPIP Table Metadata: replacing (a, b) with (x, y) deletes a and b and adds x and y.
    """
    given = schema_of(change.schema)
    if not given.fields:
        raise SchemaError(f"The columns of {state.table} cannot be replaced by none: keep one at least.")
    after = _replaced(state, (), given)
    if after.schema == state.schema:
        return state
    columns = [column_json(Place((f.name,), with_lengths(f), (), f.type, f.nullable)) for f in given.fields]
    return replace(done(state, "REPLACE COLUMNS", {"columns": columns}), schema=after.schema, metadata=after.metadata)


def logged_name(path: t.ColumnPath) -> str:
    """Return a path as delta-spark writes it into the history: backticks only where the parts need them."""
    return ".".join("`" + part.replace("`", "``") + "`" if "." in part or "`" in part else part for part in path)


def column_json(place: Place) -> dict[str, Any]:
    """Return a column as delta-spark describes it in the parameters of an operation."""
    name: Any = parse_json(t.type_to_json(place.type))
    return {
        "name": logged_name(place.path),
        "type": name if isinstance(name, str) else name["type"],
        "nullable": place.nullable,
        "metadata": {} if place.inside else dict(stored_field(place.field).metadata),
    }


def _replaced(state: AlteredTable, above: t.ColumnPath, given: t.StructType) -> AlteredTable:
    """The state with the struct at a path changed to another one."""
    _, struct = struct_at(state.schema, above, state.table)
    wanted = {t.fold_name(field.name): field for field in given.fields}
    had = {t.fold_name(field.name) for field in struct.fields}
    # New columns come first, since the last column of a struct cannot be dropped.
    for field in given.fields:
        if t.fold_name(field.name) not in had:
            comment = field.metadata.get(t.COMMENT_KEY)
            _refuse_options(field, (*above, field.name), state.table)
            column = table_changes.AddColumn((*above, field.name), with_lengths(field).type, comment, field.nullable)
            state = add_column(state, column)
    for field in struct.fields:
        other = wanted.get(t.fold_name(field.name))
        if other is None:
            state = delete_column(state, table_changes.DeleteColumn((*above, field.name)))
            continue
        state = _alike(state, (*above, field.name), with_lengths(field).type, with_lengths(other).type)
        comment = other.metadata.get(t.COMMENT_KEY)
        if isinstance(comment, str):
            state = update_comment(state, table_changes.UpdateColumnComment((*above, field.name), comment))
    for index, field in enumerate(given.fields):
        state = move_column(state, table_changes.MoveColumn((*above, field.name), index))
    return state


def _alike(state: AlteredTable, path: t.ColumnPath, old: t.DataType, new: t.DataType) -> AlteredTable:
    """The state with fields of structs inside a column replaced. Raises SchemaError if the type differs elsewhere."""
    match old, new:
        case t.StructType(), t.StructType():
            return _replaced(state, path, new)
        case t.ArrayType(before), t.ArrayType(after):
            return _alike(state, (*path, "element"), before, after)
        case t.MapType(key, value), t.MapType(new_key, new_value):
            state = _alike(state, (*path, "key"), key, new_key)
            return _alike(state, (*path, "value"), value, new_value)
        case _ if old == new:
            return state
        case _:
            raise SchemaError(
                f"The columns of {state.table} cannot be replaced, because {t.display_name(path)} is "
                f"{t.simple_string(old).upper()} and would become {t.simple_string(new).upper()}: change the type with "
                f"ALTER COLUMN, or drop the column and add it."
            )


def _with_nulls(data_type: t.DataType) -> t.DataType:
    match data_type:
        case t.ArrayType(element):
            return t.ArrayType(element, True)
        case t.MapType(key, value):
            return t.MapType(key, value, True)
        case _:
            return data_type


def _index(struct: t.StructType, position: table_changes.Position | None, path: t.ColumnPath, table: str) -> int:
    """The index at which a field is inserted."""
    match position:
        case None:
            return len(struct.fields)
        case table_changes.First():
            return 0
        case table_changes.After(column):
            for index, field in enumerate(struct.fields):
                if t.fold_name(field.name) == t.fold_name(column):
                    return index + 1
            known = ", ".join(t.display_name([name]) for name in struct.names)
            raise SchemaError(
                f"{t.display_name(path)} of {table} cannot be put after {t.display_name([column])}, which is not at "
                f"the same level; the columns there are {known}."
            )


def _at(state: AlteredTable, place: Place, rest: t.StructType, number: int) -> table_changes.Position:
    """The position with an index, counted from 0 among the columns that users see.

    rest: The other fields of the struct.
    """
    hidden = hidden_columns(state.schema, state.metadata.partition_columns, state.configuration)
    others = [name for name in rest.names if len(place.path) > 1 or name not in hidden or place.path[0] in hidden]
    if number > len(others):
        raise SchemaError(
            f"{place.name} of {state.table} cannot be moved to position {number}: there are {len(others) + 1} "
            f"columns, counted from 0."
        )
    return table_changes.After(others[number - 1]) if number else table_changes.First()


def _position_json(position: table_changes.Position | None) -> dict[str, str]:
    return {} if position is None else {"position": str(position)}


def _refuse_taken(struct: t.StructType, name: str, path: t.ColumnPath, table: str, what: str) -> None:
    taken = next((field.name for field in struct.fields if t.fold_name(field.name) == t.fold_name(name)), None)
    if taken is not None:
        raise SchemaError(
            f"{t.display_name(path)} cannot be {what} {table}, which has the column "
            f"{t.display_name((*path[:-1], taken))}: choose another name."
        )


def _refuse_required_inside(data_type: t.DataType, path: t.ColumnPath, table: str) -> None:
    """NOT NULL inside a new struct would mean that the struct is NOT NULL in existing rows."""
    for field in data_type.fields if isinstance(data_type, t.StructType) else ():
        if not field.nullable:
            raise SchemaError(
                f"{t.display_name((*path, field.name))} cannot be added to {table} as NOT NULL, since existing rows "
                f"have NULL there: leave out NOT NULL."
            )
        _refuse_required_inside(field.type, (*path, field.name), table)


def _refuse_options(field: t.StructField, path: t.ColumnPath, table: str) -> None:
    odd = [
        key for key in field.metadata if key in (t.GENERATION_KEY, t.DEFAULT_KEY) or key.startswith(t.IDENTITY_PREFIX)
    ]
    if odd:
        raise SchemaError(
            f"{t.display_name(path)} cannot be added to {table} with {odd[0]}, since existing rows have no value for "
            f"it: add a plain column, and set its default afterwards."
        )


def _refuse_unmapped(state: AlteredTable, place: Place, what: str) -> None:
    if state.mode == "none":
        raise SchemaError(
            f"{place.name} of {state.table} cannot be {what}, because data files contain its name: first set "
            f"the property {_MODE} of the table to name, which enables column mapping. Readers of the table must then "
            f"support it."
        )


def _refuse_clustered(state: AlteredTable, place: Place) -> None:
    """Refuse a column that is a clustering column or contains one."""
    physical: list[str] = []
    current: t.DataType = state.schema
    for part in place.path:
        if not isinstance(current, t.StructType):
            return
        field = next(field for field in current.fields if field.name == part)
        physical.append(t.physical_name(field, state.mode))
        current = field.type
    if any(is_below(path, tuple(physical)) for path in state.clustering or ()):
        raise SchemaError(
            f"{place.name} is or contains a clustering column of {state.table} and cannot be dropped: choose other "
            f"clustering columns with ClusterBy first."
        )


def refuse_dependents(state: AlteredTable, path: t.ColumnPath, what: str, followers: Collection[str] = ()) -> None:
    """Raise SchemaError if a constraint, generated column or invariant uses the column, or a field inside or around it.

    The generation expression of the column itself does not count, nor its invariant if the column is dropped, nor the
    expressions of `followers`.
    """
    own = (t.GENERATION_KEY, t.INVARIANTS_KEY) if what == "dropped" else (t.GENERATION_KEY,)
    skipped = {f"{key} of the column {path[0]}" for key in own} if len(path) == 1 else set()
    skipped |= {f"{t.GENERATION_KEY} of the column {name}" for name in followers}
    for owner, text in expressions(state.schema, state.properties):
        if owner in skipped:
            continue
        if text is None or not is_valid_sql(text):
            uses = True
        else:
            uses = any(is_below(parts, path) or is_below(path, parts) for parts in columns_in(text))
        if uses:
            raise SchemaError(
                f"{t.display_name(path)} of {state.table} cannot be {what}, because {owner} uses it ({text}): drop "
                f"that first."
            )


def rename_in_partitions(
    state: AlteredTable, path: t.ColumnPath, new_name: str
) -> tuple[AlteredTable, Collection[str]]:
    """Return the state with the new name of a column in hidden partitions, and the names of those derived from it.

    The expressions of other generated columns are unchanged. The column itself keeps its name.
    """
    partitions = state.metadata.partition_columns
    hidden = hidden_columns(state.schema, partitions, state.configuration)
    found = {
        field.name: with_renamed_source(state.schema, field, path, (*path[:-1], new_name))
        for field in state.schema.fields
        if field.name in hidden
    }
    followers = {name: field for name, field in found.items() if field is not None}
    schema = t.StructType(tuple(followers.get(field.name, field) for field in state.schema.fields))
    state = replace(state, schema=schema)
    listed = state.configuration.get(PARTITIONING_KEY)
    if declared(listed):
        state = with_property(state, PARTITIONING_KEY, renamed_declaration(str(listed), path, new_name))
    if len(path) == 1 and path[0] in partitions:
        names = tuple(new_name if name == path[0] else name for name in partitions)
        state = replace(state, metadata=replace(state.metadata, partition_columns=names))
    return state, followers.keys()


def rename_in_statistics(state: AlteredTable, path: t.ColumnPath, new_name: str) -> AlteredTable:
    """Return the state with the new name of a column in the lists of columns with statistics, filters or an index."""
    last = len(path) - 1
    return _with_listed(state, path, lambda name: (*name[:last], new_name, *name[last + 1 :]))


def remove_from_statistics(state: AlteredTable, path: t.ColumnPath) -> AlteredTable:
    """Return the state without a column in the lists of columns with statistics, filters or an index."""
    return _with_listed(state, path, lambda _: None)


def _with_listed(
    state: AlteredTable, path: t.ColumnPath, changed: Callable[[t.ColumnPath], t.ColumnPath | None]
) -> AlteredTable:
    for listing in _LISTS:
        text = state.configuration.get(listing)
        names = [] if text is None else t.parse_names(text, listing)
        if any(is_below(name, path) for name in names):
            after = [changed(name) if is_below(name, path) else name for name in names]
            state = with_property(
                state, listing, ",".join([t.display_name(name) for name in after if name is not None])
            )
    return state


def rename_in_sort_order(state: AlteredTable, path: t.ColumnPath, new_name: str) -> AlteredTable:
    """Return the state with the new name of a column in the sort order of the table."""
    order = table_sort_order(state.configuration, state.table)
    if not any(is_below(each.path, path) for each in order):
        return state
    last = len(path) - 1
    after = [
        replace(each, column=(*each.path[:last], new_name, *each.path[last + 1 :]))
        if is_below(each.path, path)
        else each
        for each in order
    ]
    return with_property(state, SORT_ORDER_KEY, sort_order_text(after))


def remove_from_sort_order(state: AlteredTable, path: t.ColumnPath) -> AlteredTable:
    """Return the state with the table's sort order cut off before a column."""
    order = table_sort_order(state.configuration, state.table)
    if not any(is_below(each.path, path) for each in order):
        return state
    after = list(takewhile(lambda each: not is_below(each.path, path), order))
    return with_property(state, SORT_ORDER_KEY, sort_order_text(after))

"""Dependents of a column's name or type: expressions of the table, and lists of columns with statistics."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import takewhile

from deltaskip.alter.column_paths import is_below
from deltaskip.alter.state import TableState, with_property
from deltaskip.data_files.sort_order import SORT_ORDER_KEY, sort_order_text, table_sort_order
from deltaskip.errors import SchemaError
from deltaskip.expr import columns_in, is_valid_sql
from deltaskip.schema.column_names import ColumnPath, parse_names
from deltaskip.schema.properties import PARTITIONING_KEY
from deltaskip.schema.resolve import display_name
from deltaskip.schema.types import GENERATION_KEY, INVARIANTS_KEY, StructType
from deltaskip.stats.stats_columns import STATS_COLUMNS
from deltaskip.transforms.generated_columns import with_renamed_source
from deltaskip.transforms.partitioning_property import declared, hidden_columns, renamed_declaration
from deltaskip.txn.validation.schema import expressions


def refuse_dependents(state: TableState, path: ColumnPath, what: str, followers: Collection[str] = ()) -> None:
    """Raise SchemaError if a constraint, generated column or invariant uses the column, or something in or around it.

    The generation expression of the column itself does not count, nor its invariant if the column is dropped, nor the
    expressions of `followers`.
    """
    own = (GENERATION_KEY, INVARIANTS_KEY) if what == "dropped" else (GENERATION_KEY,)
    skipped = {f"{key} of the column {path[0]}" for key in own} if len(path) == 1 else set()
    skipped |= {f"{GENERATION_KEY} of the column {name}" for name in followers}
    for owner, text in expressions(state.schema, state.properties):
        if owner in skipped:
            continue
        if text is None or not is_valid_sql(text):
            uses = True
        else:
            uses = any(is_below(parts, path) or is_below(path, parts) for parts in columns_in(text))
        if uses:
            raise SchemaError(
                f"{display_name(path)} of {state.table} cannot be {what}, because {owner} uses it ({text}): drop that "
                f"first."
            )


def rename_in_partitions(state: TableState, path: ColumnPath, new_name: str) -> tuple[TableState, Collection[str]]:
    """Return the state with the new name of a column in hidden partitions, and the names of those made of it.

    The expressions of other generated columns stay as they are. The column itself keeps its name.
    """
    partitions = state.metadata.partition_columns
    hidden = hidden_columns(state.schema, partitions, state.configuration)
    found = {
        field.name: with_renamed_source(state.schema, field, path, (*path[:-1], new_name))
        for field in state.schema.fields
        if field.name in hidden
    }
    followers = {name: field for name, field in found.items() if field is not None}
    schema = StructType(tuple(followers.get(field.name, field) for field in state.schema.fields))
    state = replace(state, schema=schema)
    listed = state.configuration.get(PARTITIONING_KEY)
    if declared(listed):
        state = with_property(state, PARTITIONING_KEY, renamed_declaration(str(listed), path, new_name))
    if len(path) == 1 and path[0] in partitions:
        names = tuple(new_name if name == path[0] else name for name in partitions)
        state = replace(state, metadata=replace(state.metadata, partition_columns=names))
    return state, followers.keys()


def rename_in_statistics(state: TableState, path: ColumnPath, new_name: str) -> TableState:
    """Return the state with the new name of a column in the list of columns with statistics."""
    names = _statistics_columns(state)
    if names is None or not any(is_below(name, path) for name in names):
        return state
    last = len(path) - 1
    after = [(*name[:last], new_name, *name[last + 1 :]) if is_below(name, path) else name for name in names]
    return with_property(state, STATS_COLUMNS, ",".join(map(display_name, after)))


def remove_from_statistics(state: TableState, path: ColumnPath) -> TableState:
    """Return the state without a column in the list of columns with statistics."""
    names = _statistics_columns(state)
    if names is None or not any(is_below(name, path) for name in names):
        return state
    after = [name for name in names if not is_below(name, path)]
    return with_property(state, STATS_COLUMNS, ",".join(map(display_name, after)))


def rename_in_sort_order(state: TableState, path: ColumnPath, new_name: str) -> TableState:
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


def remove_from_sort_order(state: TableState, path: ColumnPath) -> TableState:
    """Return the state with the part of the table's sort order that does not need a column."""
    order = table_sort_order(state.configuration, state.table)
    if not any(is_below(each.path, path) for each in order):
        return state
    after = list(takewhile(lambda each: not is_below(each.path, path), order))
    return with_property(state, SORT_ORDER_KEY, sort_order_text(after))


def _statistics_columns(state: TableState) -> list[ColumnPath] | None:
    text = state.configuration.get(STATS_COLUMNS)
    return None if text is None else parse_names(text, STATS_COLUMNS)

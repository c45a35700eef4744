"""Clustering columns that are set and removed.

# PROTOCOL, Clustered Table: at most four columns, each with statistics, of a table without partition columns
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from deltaskip.alter.changes import ClusterBy
from deltaskip.alter.state import PhysicalPath, TableState, done
from deltaskip.errors import PredicateError, SchemaError
from deltaskip.features.clustering import MOST_CLUSTERING_COLUMNS
from deltaskip.schema.mapping import physical_name
from deltaskip.schema.resolve import display_name, resolve
from deltaskip.schema.types import DataType, StructType
from deltaskip.stats.columns import STATS_COLUMNS, indexed_columns

__all__ = ["check_clustering_statistics", "cluster_by"]


def cluster_by(state: TableState, change: ClusterBy) -> TableState:
    """Return the state with other clustering columns."""
    if state.metadata.partition_columns:
        raise SchemaError(f"{state.table} is partitioned, so it cannot be clustered: a table has one or the other.")
    if len(change.columns) > MOST_CLUSTERING_COLUMNS:
        raise SchemaError(
            f"{state.table} can have at most {MOST_CLUSTERING_COLUMNS} clustering columns, not {len(change.columns)}."
        )
    paths: list[PhysicalPath] = []
    for column in change.columns:
        try:
            path = resolve(state.schema, column, state.mode).physical
        except PredicateError as error:
            raise SchemaError(f"{state.table} cannot be clustered by {display_name(column)}: {error}") from error
        if path in paths:
            raise SchemaError(f"{state.table} cannot be clustered by {display_name(column)} twice.")
        paths.append(path)
    before = state.clustering or ()
    if tuple(paths) == before:
        return state
    state = replace(state, clustering=tuple(paths))
    _check_statistics(state, ())
    parameters = {"oldClusteringColumns": _shown(state, before), "newClusteringColumns": _shown(state, tuple(paths))}
    return done(state, "CLUSTER BY", parameters)


def check_clustering_statistics(before: TableState, after: TableState) -> None:
    """Raise SchemaError for a clustering column of which new files would have no bounds any more."""
    if after.clustering and (before.schema, before.configuration) != (after.schema, after.configuration):
        lacked = [path for path in before.clustering or () if path not in _bounded(before)[0]]
        _check_statistics(after, lacked)


def _check_statistics(state: TableState, lacked: Collection[PhysicalPath]) -> None:
    bounded, indexed = _bounded(state)
    for path in state.clustering or ():
        if path not in bounded and path not in lacked:
            why = "its type has no bounds" if path in indexed else f"it has no statistics: list it in {STATS_COLUMNS}"
            raise SchemaError(f"{state.table} cannot be clustered by {_shown(state, (path,))}, because {why}.")


def _bounded(state: TableState) -> tuple[set[PhysicalPath], set[PhysicalPath]]:
    """The columns with bounds, and all columns with statistics, by physical paths."""
    indexed = indexed_columns(
        state.schema,
        partition_columns=state.metadata.partition_columns,
        mapping_mode=state.mode,
        properties=state.configuration,
    )
    return {column.physical for column in indexed if column.bounded}, {column.physical for column in indexed}


def _shown(state: TableState, paths: tuple[PhysicalPath, ...]) -> str:
    return ",".join(display_name(_logical(state, path)) for path in paths)


def _logical(state: TableState, path: PhysicalPath) -> tuple[str, ...]:
    """The logical path of a column; the physical one where the schema does not have it."""
    names: list[str] = []
    current: DataType = state.schema
    for part in path:
        fields = current.fields if isinstance(current, StructType) else ()
        field = next((field for field in fields if physical_name(field, state.mode) == part), None)
        if field is None:
            return path
        names.append(field.name)
        current = field.type
    return tuple(names)

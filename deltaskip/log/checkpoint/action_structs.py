"""The actions of a checkpoint as Arrow structs, with one column per action: its layout, not which actions it keeps.

# PROTOCOL, Checkpoint Schema
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import ADD_FIELDS, FILE_SCHEMA, LOGGED_DELETION_VECTOR, partition_column
from deltaskip.features.clustering import EXPRESSIONS
from deltaskip.features.registry import has_feature, has_feature_or_preview
from deltaskip.log.checkpoint.parquet_columns import STATE_TYPES
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.log.snapshot import Snapshot
from deltaskip.schema.type_widening import widened_types
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar
from deltaskip.stats.parsed_stats import StatsStruct, bounded_columns, collated_bounds
from deltaskip.stats.stats_columns import StatColumn, of_every_column


class AddRows:
    """The column `add` of a snapshot's checkpoint: its type, and its values in batches.

    Contains `stats`, `stats_parsed` and `partitionValues_parsed` as the table properties require. parsed_partitions:
    False omits the last, for tables with a partition value that its type cannot represent. in_tree: Whether the entries
    of a tree are made of it, which have all statistics as structs.
    """

    def __init__(self, snapshot: Snapshot, rows: int, parsed_partitions: bool = True, in_tree: bool = False) -> None:
        self._snapshot = snapshot
        self.rows = rows
        # The struct has no bounds of expressions, which the table needs.
        has_expressions = has_feature(snapshot.protocol, EXPRESSIONS)
        self._as_json = not in_tree and (snapshot.table_properties.write_stats_as_json or has_expressions)
        as_struct = in_tree or snapshot.table_properties.write_stats_as_struct
        self.stats_columns: Sequence[StatColumn] = ()
        self._stats = self._stats_struct() if as_struct else None
        self._partitions = self._partition_fields() if as_struct and parsed_partitions else []
        fields = [
            pa.field(field.logged, field.logged_type)
            for field in ADD_FIELDS.fields
            if field.name != "stats" or self._as_json
        ]
        if self._stats is not None:
            fields.append(pa.field("stats_parsed", self._stats.type))
        if self._partitions:
            names = [(name, t.arrow_type(field.type)) for name, field in self._partitions]
            fields.append(pa.field("partitionValues_parsed", pa.struct(names)))
        self.type: pa.StructType = pa.struct(fields)

    @property
    def encoding(self) -> str:
        """What decides, beside the type, how an add is written."""
        partitions = [(name, field.type) for name, field in self._partitions]
        return repr((self._as_json, self._stats and self._stats.definition, partitions))

    def of_group(self, part: CheckpointPart, group: int) -> Iterator[pa.StructArray]:
        """Yield the active files of a row group of the checkpoint. Raises PartitionValueError; see the class."""
        snapshot = self._snapshot
        live = snapshot.add_group(part, group).live(FILE_SCHEMA.names, snapshot.superseded, self.rows)
        yield from map(self._structs, filter(len, live))

    def of_commits(self) -> Iterator[pa.StructArray]:
        """Yield the active files that commits after the checkpoint added. Raises as `of_group` does."""
        yield from map(self._structs, self._snapshot.commit_adds.combine_chunks().to_batches(max_chunksize=self.rows))

    def _structs(self, batch: pa.RecordBatch) -> pa.StructArray:
        columns: dict[str, pa.Array] = {logged: batch[name] for name, logged in ADD_FIELDS.logged.items()}
        # The files of a checkpoint are not a data change.
        columns["dataChange"] = pa.repeat(arrow_scalar(False, pa.bool_()), len(batch))
        vectors = columns["deletionVector"]
        columns["deletionVector"] = pa.StructArray.from_arrays(
            vectors.flatten(), fields=list(LOGGED_DELETION_VECTOR), mask=pc.is_null(vectors)
        )
        if self._stats is not None:
            columns["stats_parsed"] = self._stats.parse(batch["stats"])
        if self._partitions:
            columns["partitionValues_parsed"] = self._parsed_partitions(batch["partition_values"])
        return pa.StructArray.from_arrays([columns[field.name] for field in self.type], fields=list(self.type))

    def _parsed_partitions(self, maps: pa.Array) -> pa.StructArray:
        arrays = []
        for name, field in self._partitions:
            texts = pc.map_lookup(maps, arrow_scalar(name, pa.string()), "first")
            arrays.append(partition_column(texts, field.type))
        names = [pa.field(name, t.arrow_type(field.type)) for name, field in self._partitions]
        return pa.StructArray.from_arrays(arrays, fields=names)

    def _partition_fields(self) -> list[tuple[str, t.StructField]]:
        """Physical names and fields; empty if one is a timestamp, whose text may lack the time zone."""
        snapshot = self._snapshot
        fields = snapshot.partition_fields
        if any(field.type == t.TIMESTAMP for field in fields):
            return []
        return [(t.physical_name(field, snapshot.mapping_mode), field) for field in fields]

    def _stats_struct(self) -> StatsStruct:
        snapshot = self._snapshot
        columns = snapshot.indexed_columns()
        if not self._as_json:
            columns = tuple(self._with_logged(columns))
        self.stats_columns = columns
        strings = {leaf.physical for leaf in t.leaves(snapshot.schema, snapshot.mapping_mode) if leaf.type == t.STRING}
        collated: set[tuple[str, tuple[str, ...]]] = set()
        if _has_collations(snapshot, columns):
            for batch in snapshot.add_batches(self.rows, ["stats"]):
                collated |= collated_bounds(batch["stats"], strings)
        widened = _once_floats(snapshot.schema, snapshot.mapping_mode)
        return StatsStruct(columns, collated, widened, alone=not self._as_json)

    def _with_logged(self, columns: Sequence[StatColumn]) -> Sequence[StatColumn]:
        """The columns, and further columns with statistics in the log that the properties no longer require."""
        snapshot = self._snapshot
        every = snapshot.indexed_columns(of_every_column(snapshot.properties))
        kept = set(columns)
        for batch in snapshot.add_batches(self.rows, ["stats"]):
            missing = [column for column in every if column not in kept]
            if not missing:
                break
            kept.update(bounded_columns(batch["stats"], missing))
        return [column for column in every if column in kept]


def _has_collations(snapshot: Snapshot, columns: Sequence[StatColumn]) -> bool:
    """Whether the table may have bounds under collations: by its features, or by its columns alone."""
    declared = any(column.collation is not None for column in columns)
    return declared or has_feature_or_preview(snapshot.protocol, "collations")


def state_rows(actions: Iterable[Any]) -> Iterator[tuple[str, pa.StructArray]]:
    """Yield the column and a row for each action other than add and remove."""
    for action in actions:
        name = action.FIELDS.action
        yield name, _state_row(action.to_json(), STATE_TYPES[name])


def _state_row(members: dict[str, Any], type_: pa.StructType) -> pa.StructArray:
    arrays = []
    for field in type_:
        value = members.get(field.name)
        if pa.types.is_struct(field.type):
            arrays.append(_state_row(value or {}, field.type))
        elif pa.types.is_map(field.type):
            arrays.append(_map(value, field.type))
        elif pa.types.is_list(field.type):
            arrays.append(_list(value, field.type))
        else:
            arrays.append(arrow_array([value], field.type))
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


def _map(value: dict[str, str | None] | None, type_: pa.MapType) -> pa.MapArray:
    if value is None:
        return pa.nulls(1, type_)
    offsets = arrow_array([0, len(value)], pa.int32())
    keys, items = arrow_array(list(value), pa.string()), arrow_array(list(value.values()), pa.string())
    return pa.MapArray.from_arrays(offsets, keys, items)


def _list(value: Sequence[str] | None, type_: pa.ListType) -> pa.ListArray:
    if value is None:
        return pa.nulls(1, type_)
    made = pa.ListArray.from_arrays(arrow_array([0, len(value)], pa.int32()), arrow_array(list(value), pa.string()))
    return made.cast(type_)


def _once_floats(schema: t.StructType, mode: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Physical paths of doubles that were floats: a bound may have the text of either type."""
    for field in schema.fields:
        path = (*above, t.physical_name(field, mode))
        if isinstance(field.type, t.StructType):
            yield from _once_floats(field.type, mode, path)
        elif field.type == t.DOUBLE and "float" in widened_types(field.metadata):
            yield path

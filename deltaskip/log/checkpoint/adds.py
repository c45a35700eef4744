"""Adds of a checkpoint's Parquet files as rows of FILE_SCHEMA."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import ADD_FIELDS, DELETION_VECTOR, DELETION_VECTOR_FIELDS, FILE_SCHEMA
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.log.replay import Superseded
from deltaskip.schema.arrow_values import empty_table
from deltaskip.stats.parsed_stats import Instants, stats_json

__all__ = ["LOGGED_NAMES", "add_column", "count_live", "part_adds"]

LOGGED_NAMES = ADD_FIELDS.logged
_BATCH_BYTES = 256 << 20
_COUNTED_ROWS = 1 << 15


def part_adds(
    part: CheckpointPart, superseded: Superseded, columns: Sequence[str], instants: Instants = frozenset()
) -> pa.Table:
    """The part's adds that nothing newer has superseded, in the file's order; columns: names of FILE_SCHEMA.

    Statistics that are there as a struct only become their JSON text; instants: see stats_json.
    """
    tables = [_group_adds(part, groups, superseded, columns, instants) for groups in _batches(part)]
    schema = pa.schema([FILE_SCHEMA.field(name) for name in columns])
    return pa.concat_tables(tables) if tables else empty_table(schema)


def count_live(part: CheckpointPart, group: int, superseded: Superseded) -> int:
    """Number of adds of a row group that nothing newer has superseded."""
    columns = ["add.path"]
    if not part.all_null(("add", "deletionVector"), group):
        columns.append("add.deletionVector")
    live = 0
    for adds in part.adds(columns, group, _COUNTED_ROWS):
        fields = _fields(adds)
        live += superseded.live_mask(fields["path"].cast(pa.string()), fields.get("deletionVector")).true_count
    return live


def _batches(part: CheckpointPart) -> Iterator[list[int]]:
    """Row groups to read at once: no text column of a batch comes near the 2 GiB that one Arrow array holds."""
    batch: list[int] = []
    size = 0
    for group in part.row_groups_with("add"):
        group_size = part.metadata.row_group(group).total_byte_size
        if batch and size + group_size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(group)
        size += group_size
    if batch:
        yield batch


def _group_adds(
    part: CheckpointPart, groups: Sequence[int], superseded: Superseded, columns: Sequence[str], instants: Instants
) -> pa.Table:
    asked = [f"add.{LOGGED_NAMES[name]}" for name in dict.fromkeys(["path", "deletion_vector", *columns])]
    adds = _one_struct(part.read(asked, groups))
    live = _live_rows(adds, superseded)
    adds = adds.take(live) if len(live) < len(adds) else adds
    arrays = [add_column(adds, name) for name in columns]
    if "stats" in columns:
        at = list(columns).index("stats")
        arrays[at] = _with_struct_stats(part, groups, live, arrays[at], instants)
    return pa.table(arrays, schema=pa.schema([FILE_SCHEMA.field(name) for name in columns]))


def _live_rows(adds: pa.StructArray, superseded: Superseded) -> pa.Array:
    valid = pc.is_valid(adds)
    rows = pc.indices_nonzero(valid)
    candidates = adds if len(rows) == len(adds) else adds.take(rows)
    fields = _fields(candidates)
    return rows.filter(superseded.live_mask(fields["path"].cast(pa.string()), fields.get("deletionVector")))


def _with_struct_stats(
    part: CheckpointPart, groups: Sequence[int], live: pa.Array, stats: pa.Array, instants: Instants
) -> pa.Array:
    if not stats.null_count or not any(path.startswith("add.stats_parsed.") for path in part.columns):
        return stats
    parsed = _one_struct(part.read(["add.stats_parsed"], groups)).take(live)
    return pc.coalesce(stats, stats_json(_fields(parsed)["stats_parsed"], instants))


def add_column(adds: pa.StructArray, name: str) -> pa.Array:
    """The column `name` of FILE_SCHEMA out of the log's `add` structs; nulls where they lack it."""
    kind = FILE_SCHEMA.field(name).type
    values = _fields(adds).get(LOGGED_NAMES[name])
    if values is None:
        return pa.nulls(len(adds), kind)
    return _deletion_vectors(values) if name == "deletion_vector" else values.cast(kind)


def _deletion_vectors(values: pa.StructArray) -> pa.StructArray:
    there = _fields(values)
    arrays = [
        there[field.logged].cast(field.type) if field.logged in there else pa.nulls(len(values), field.type)
        for field in DELETION_VECTOR_FIELDS.fields
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(DELETION_VECTOR), mask=pc.is_null(values))


def _fields(values: pa.StructArray) -> dict[str, pa.Array]:
    return dict(zip((field.name for field in values.type), values.flatten(), strict=True))


def _one_struct(table: pa.Table) -> pa.StructArray:
    column = table["add"]
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

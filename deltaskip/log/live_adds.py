"""Every active file of a snapshot, a few at a time: what writes a table's state needs no more memory than one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA
from deltaskip.log.checkpoint.adds import LOGGED_NAMES, add_column
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.log.replay import Superseded
from deltaskip.log.snapshot import Snapshot
from deltaskip.stats.parsed_stats import Instants, instant_bounds, stats_json

__all__ = ["live_adds"]


def live_adds(
    snapshot: Snapshot,
    rows: int,
    columns: Sequence[str] | None = None,
    wanted: Callable[[CheckpointPart, int], bool] = lambda _part, _group: True,
) -> Iterator[pa.RecordBatch]:
    """The files in the order of the log, batches with at most `rows` rows; columns: of FILE_SCHEMA, None for all.

    wanted: which row groups of the checkpoint to read.
    Statistics that a checkpoint holds as a struct only come as their JSON text. Raises CorruptLog where a file of the
    checkpoint is damaged.
    """
    names = tuple(FILE_SCHEMA.names if columns is None else columns)
    instants = instant_bounds(snapshot.schema, snapshot.mapping_mode) if "stats" in names else frozenset()
    for part in snapshot.checkpoint_parts:
        for group in part.row_groups_with("add"):
            if wanted(part, group):
                yield from _of_group(part, group, snapshot.superseded, names, instants, rows)
    yield from snapshot.commit_adds.select(names).combine_chunks().to_batches(max_chunksize=rows)


def _of_group(
    part: CheckpointPart,
    group: int,
    superseded: Superseded,
    names: tuple[str, ...],
    instants: Instants,
    rows: int,
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([FILE_SCHEMA.field(name) for name in names])
    columns = [f"add.{LOGGED_NAMES[name]}" for name in dict.fromkeys(("path", "deletion_vector", *names))]
    if "stats" in names and _lacks_text(part, group):
        columns.append("add.stats_parsed")
    for adds in part.adds(columns, group, rows):
        fields = dict(zip((field.name for field in adds.type), adds.flatten(), strict=True))
        live = superseded.live_mask(fields["path"].cast(pa.string()), fields.get("deletionVector"))
        kept = adds if live.false_count == 0 else adds.filter(live)
        arrays = [add_column(kept, name) for name in names]
        if kept.type.get_field_index("stats_parsed") >= 0:
            at = names.index("stats")
            arrays[at] = pc.coalesce(arrays[at], stats_json(_parsed(kept), instants))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _lacks_text(part: CheckpointPart, group: int) -> bool:
    """Whether some add of the row group may have its statistics in the struct alone."""
    if not part.has("add.stats_parsed"):
        return False
    texts = part.values_in(("add", "stats"), group)
    return texts is None or texts < part.add_rows(group)


def _parsed(adds: pa.StructArray) -> pa.StructArray:
    # flatten() puts the nulls of the struct itself into its fields.
    return adds.flatten()[adds.type.get_field_index("stats_parsed")]

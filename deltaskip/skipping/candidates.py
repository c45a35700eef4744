"""Add actions that a scan looks at: batch by batch, the columns that decide first, the rest only for what is kept.

# design.md, How data flows: late materialisation
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.log import CheckpointPart, Snapshot
from deltaskip.log.checkpoint_adds import LOGGED_NAMES, add_column
from deltaskip.log.struct_stats import stats_json
from deltaskip.skipping.partitions import map_values
from deltaskip.skipping.program import Program
from deltaskip.skipping.row_groups import row_groups_to_read
from deltaskip.stats.batch import FileStats
from deltaskip.stats.layout import NUM_RECORDS

__all__ = ["ROW_COLUMNS", "Batch", "candidates"]

ROW_COLUMNS = (
    "path",
    "partition_values",
    "size",
    "modification_time",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)
"""Columns of FILE_SCHEMA that a scan gives of each file; `num_records` and `stats` stand beside them."""


class Batch(Protocol):
    """Some live add actions, or ones that turn out to be superseded only when `rows` is asked for them."""

    num_rows: int
    statistics: FileStats

    def partition_texts(self, physical_name: str) -> pa.Array:
        """Raw value of a partition column of each row; null where the log has none."""
        ...

    def live(self) -> pa.BooleanArray:
        """Whether each row is part of the snapshot."""
        ...

    def rows(self, indices: pa.Array | None, stats: bool) -> pa.Table:
        """ROW_COLUMNS and num_records (and `stats` as JSON text, if asked) of the rows at `indices` that are live."""
        ...


def candidates(snapshot: Snapshot, program: Program) -> Iterator[Batch]:
    """Every batch that may hold a file which `program` keeps: the checkpoint's row groups, then newer commits."""
    for part in snapshot.checkpoint_parts:
        for group in row_groups_to_read(program, part.metadata):
            yield _CheckpointBatch(snapshot, part, group, program)
    if len(snapshot.commit_adds):
        yield _CommitBatch(snapshot, snapshot.commit_adds)


class _CommitBatch:
    """Adds that newer commits (or a JSON checkpoint) hold in memory, already reconciled."""

    def __init__(self, snapshot: Snapshot, adds: pa.Table) -> None:
        self.num_rows = len(adds)
        self._adds = adds
        self.statistics = FileStats(
            self.num_rows, None, lambda: _one(adds["stats"]), lambda: snapshot.writers.record_nan(_one(adds["path"]))
        )

    def partition_texts(self, physical_name: str) -> pa.Array:
        return map_values(_one(self._adds["partition_values"]), physical_name)

    def live(self) -> pa.BooleanArray:
        return pa.repeat(pa.scalar(True), self.num_rows)

    def rows(self, indices: pa.Array | None, stats: bool) -> pa.Table:
        columns = [*ROW_COLUMNS, "stats"] if stats else list(ROW_COLUMNS)
        table = self._adds.select(columns).append_column("num_records", self.statistics.num_records())
        return table if indices is None else table.take(indices)


class _CheckpointBatch:
    """The adds of one row group of a Parquet checkpoint, or of one of its parts or sidecars."""

    def __init__(self, snapshot: Snapshot, part: CheckpointPart, group: int, program: Program) -> None:
        self._snapshot = snapshot
        self._part = part
        self._group = group
        leaves = [f"stats_parsed.{'.'.join(leaf.path)}" for leaf in (*program.stat_leaves, NUM_RECORDS)]
        columns = leaves if program.stat_leaves and self._has("stats_parsed") else []
        if program.partition_columns:
            columns = [*columns, "partitionValues"]
        self._add = self._read(columns or ["size"])
        self.num_rows = len(self._add)
        self.statistics = FileStats(self.num_rows, _field(self._add, "stats_parsed"), self._json, self._nan_recorded)

    def partition_texts(self, physical_name: str) -> pa.Array:
        return map_values(pc.struct_field(self._add, "partitionValues"), physical_name)

    def live(self) -> pa.BooleanArray:
        return self._live(self._read(["path", "deletionVector"]))

    def rows(self, indices: pa.Array | None, stats: bool) -> pa.Table:
        counted = self._has("stats_parsed.numRecords")
        wanted = [LOGGED_NAMES[name] for name in ROW_COLUMNS]
        wanted.append("stats_parsed" if stats else "stats_parsed.numRecords")
        add = self._read(wanted if counted and not stats else [*wanted, "stats"])
        add = add if indices is None else add.take(indices)
        add = add.filter(self._live(add))
        columns = {name: add_column(add, name) for name in ROW_COLUMNS}
        columns["num_records"] = self._row_counts(add, indices)
        if stats:
            columns["stats"] = _as_text(add)
        return pa.table(columns)

    def _row_counts(self, add: pa.StructArray, indices: pa.Array | None) -> pa.Array:
        """numRecords of `add`, the live rows at `indices`; statistics text is read only where the struct is null."""

        def text() -> pa.Array | None:
            known = _field(add, "stats")
            if known is not None or not self._has("stats"):
                return known
            whole = self._read(["path", "deletionVector", "stats"])
            whole = whole if indices is None else whole.take(indices)
            return pc.struct_field(whole.filter(self._live(whole)), "stats")

        return FileStats(len(add), _field(add, "stats_parsed"), text, _never).num_records()

    def _has(self, name: str) -> bool:
        prefix = f"add.{name}"
        return any(column == prefix or column.startswith(prefix + ".") for column in self._part.columns)

    def _read(self, columns: Sequence[str]) -> pa.StructArray:
        present = [f"add.{name}" for name in columns if self._has(name)]
        table = self._part.read(present or ["add.path"], [self._group])
        add = _one(table["add"])
        return add.filter(add.is_valid()) if add.null_count else add

    def _live(self, add: pa.StructArray) -> pa.BooleanArray:
        return self._snapshot.superseded.live_mask(pc.struct_field(add, "path"), _field(add, "deletionVector"))

    def _json(self) -> pa.Array | None:
        return pc.struct_field(self._read(["stats"]), "stats") if self._has("stats") else None

    def _nan_recorded(self) -> pa.BooleanArray:
        return self._snapshot.writers.record_nan(pc.struct_field(self._read(["path"]), "path"))


def _field(add: pa.StructArray, name: str) -> pa.Array | None:
    return pc.struct_field(add, name) if add.type.get_field_index(name) >= 0 else None


def _as_text(add: pa.StructArray) -> pa.Array:
    """Statistics as the log's text where it has them, else rendered from the struct."""
    text, parsed = _field(add, "stats"), _field(add, "stats_parsed")
    if parsed is None:
        return pa.nulls(len(add), pa.string()) if text is None else text.cast(pa.string())
    return stats_json(parsed) if text is None else pc.coalesce(text.cast(pa.string()), stats_json(parsed))


def _never() -> pa.BooleanArray:
    raise AssertionError("row counts do not depend on NaN")


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

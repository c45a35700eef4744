"""The file list of a scan in batches, for lists that are longer than memory.

A row group of a checkpoint is evaluated as in `Scan.files`. Then the columns of the list are decoded, a few thousand
rows at a time: rows that the predicate keeps and that nothing newer in the log has superseded become a batch. Memory
holds the statistics and partition values that the predicate reads, of one row group, and the actions of the commits
after the checkpoint, which decide by path and deletion vector (log.replay) what is superseded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.doors import door
from deltaskip.log import CheckpointPart, Snapshot
from deltaskip.log.checkpoint.adds import AddGroup, adds_column, struct_fields
from deltaskip.log.column_cache import ColumnCache
from deltaskip.log.replay import Superseded
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.add_columns import AddColumns, CheckpointAdds, CommitAdds
from deltaskip.skipping.checkpoint_row_groups import row_groups_to_read
from deltaskip.skipping.file_list import batch_files
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats.cache_keys import CacheKey, GroupScope

_ROWS = 8192
_MOST_ROWS = 1 << 17
_CACHE_BYTES = 16 << 20
_RECORDS = "numRecords"


@door
def file_batches(predicate: CompiledPredicate, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the file list, in the order of the log.

    Args:
        predicate: Keeps the files of the list; decides which row groups are read.
        names: Columns of the list.
    """
    snapshot, zone = predicate.snapshot, predicate.portable.time_zone
    for part in snapshot.checkpoint_parts:
        for group in row_groups_to_read(predicate.program, part, snapshot.cache):
            # Partition values of a row group have separate codes, which are dropped with it.
            own = unshared(snapshot)
            kept = predicate.with_own_codes().matching(FileBatch(CheckpointAdds(own, part, group)))
            yield from _of_group(own, part, group, kept, names, zone)
    if len(snapshot.commit_adds):
        own = unshared(snapshot)
        batch = FileBatch(CommitAdds(own))
        kept = predicate.with_own_codes().matching(batch)
        if kept is None or len(kept):
            table = batch_files(batch, kept, names, zone)
            yield from table.combine_chunks().to_batches(max_chunksize=_ROWS)


def unshared(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with a separate small cache, so that a long stream leaves the shared cache alone.

    It shares the reconciled part of the commits after the checkpoint.
    """
    snapshot.commit_adds  # noqa: B018 replayed once for both
    own = copy(snapshot)
    own.cache = ColumnCache(_CACHE_BYTES)
    return own


def kept_pieces(adds: AddGroup, kept: pa.Array | None, names: Sequence[str], rows: int) -> Iterator[pa.StructArray]:
    """Yield the kept adds of a row group, live or not, with the columns that `listed_adds` needs.

    Args:
        adds: The row group.
        kept: Positions of the adds to yield (ascending int64); None for all.
        names: Columns of the file list.
        rows: How many rows to decode at a time.
    """
    if kept is not None and not len(kept):
        return
    wanted, start = None if kept is None else numpy_values(kept), 0
    for piece in adds.pieces(_columns(adds, names), rows):
        end = start + len(piece)
        found = piece
        if wanted is not None:
            first, last = np.searchsorted(wanted, [start, end])
            found = piece.take(arrow_array(wanted[first:last] - start)) if last - first < len(piece) else piece
        start = end
        if len(found):
            yield found
        if wanted is not None and start > wanted[-1]:
            return


def listed_adds(
    snapshot: Snapshot, adds: AddGroup, piece: pa.StructArray, names: Sequence[str], zone: str | None
) -> pa.Table:
    """Return the rows of the file list for adds of `kept_pieces`.

    Args:
        snapshot: The snapshot; see `unshared`.
        adds: The row group of the adds.
        piece: The adds.
        names: Columns of the list.
        zone: Time zone of partition values without one; None means UTC.
    """
    return batch_files(FileBatch(_PieceAdds(snapshot, adds, piece)), None, names, zone)


def _of_group(
    snapshot: Snapshot, part: CheckpointPart, group: int, kept: pa.Array | None, names: Sequence[str], zone: str | None
) -> Iterator[pa.RecordBatch]:
    """The rows of one row group; kept: the adds to list if they are active, None for all."""
    adds = snapshot.add_group(part, group)
    for found in kept_pieces(adds, kept, names, _rows_at_once(snapshot.superseded)):
        paths, vectors = adds_column(found, "path"), adds_column(found, "deletion_vector")
        live = adds.live_mask(snapshot.superseded, paths, vectors)
        if live.true_count:
            table = listed_adds(snapshot, adds, found if live.false_count == 0 else found.filter(live), names, zone)
            yield from table.combine_chunks().to_batches(max_chunksize=_ROWS)


def _rows_at_once(superseded: Superseded) -> int:
    """How many adds to look up together: Arrow hashes the superseded files again for each lookup."""
    keys = len(superseded.added) + len(superseded.removed) + len(superseded.removed_dv)
    return max(_ROWS, min(keys // 8, _MOST_ROWS))


def _columns(adds: AddGroup, names: Sequence[str]) -> list[str]:
    """Parquet paths of the columns that make the list, and of the columns that decide whether an add is active."""
    stored = {"uri": "path", "num_records": ""}
    logged = [stored.get(name, name) for name in names]
    wanted = dict.fromkeys(["path", "deletion_vector", *filter(None, logged)])
    columns = adds.logged([name for name in wanted if not adds.is_null(name)])
    if "num_records" in names:
        # If the struct has the number for every file, the JSON is not needed.
        leaf = ("add", "stats_parsed", _RECORDS)
        if leaf in adds.part.leaves and "add.stats_parsed" not in columns:
            columns.append(".".join(leaf))
        if adds.part.values_in(leaf, adds.group) != len(adds):
            columns.append("add.stats")
    return list(dict.fromkeys(columns))


class _PieceAdds(AddColumns):
    """Some adds of a row group, in memory with the statistics that the file list needs."""

    def __init__(self, snapshot: Snapshot, group: AddGroup, adds: pa.StructArray) -> None:
        super().__init__(snapshot, GroupScope(group.part.path, group.group), len(adds))
        self.cache = _Forgetful(snapshot.cache)
        self._group = group
        self._adds = adds
        self._parsed: pa.StructArray | None = struct_fields(adds).get("stats_parsed")

    def columns(self, names: Sequence[str]) -> list[pa.Array]:
        """The columns in memory."""
        return self._group.decoded(self._adds, names)

    def struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        """Only the number of records is requested, which is not in a struct."""
        fields = {} if self._parsed is None else struct_fields(self._parsed)
        return [fields.get(path[0]) if len(path) == 1 else None for path in paths]

    def struct_valid(self) -> pa.BooleanArray | None:
        return None if self._parsed is None else self._parsed.is_valid()

    def json(self) -> Iterator[pa.Array]:
        text = struct_fields(self._adds).get("stats")
        if text is not None:
            yield text


class _Forgetful(ColumnCache):
    """A cache that stores nothing, since pieces of a row group have no keys; pinned objects come from `shared`."""

    def __init__(self, shared: ColumnCache) -> None:
        super().__init__(0)
        self._shared = shared

    def put(self, key: CacheKey, value: Any, size_bytes: int) -> None:
        """Store nothing."""

    def pinned(self, key: CacheKey, build: Callable[[], Any]) -> Any:
        return self._shared.pinned(key, build)

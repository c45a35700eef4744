"""Add actions in batches: columns of the predicate are read first, the others only for the files that are kept.

# docs/pages/internals.md, Data flow: late materialization
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.log import Snapshot
from deltaskip.progress import Progress, table_name
from deltaskip.skipping.add_columns import AddColumns, CheckpointAdds, CommitAdds
from deltaskip.skipping.checkpoint_row_groups import row_groups_to_read
from deltaskip.skipping.partition_columns import PartitionColumn, map_values
from deltaskip.skipping.program import Program
from deltaskip.sparkexpr.types import DataType
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar
from deltaskip.stats.cache_keys import CacheKey
from deltaskip.stats.logged_stats import LoggedStats

_T = TypeVar("_T")

_AHEAD = 4
"""The greatest number of row groups that are read at once, which bounds a scan's memory."""

# For fewer local files it is not worth starting a thread.
_FEW_FILES = 1000
_ZERO = arrow_scalar(0, pa.int64())


def candidates(snapshot: Snapshot, program: Program) -> Iterator[FileBatch]:
    """Every batch that may contain a file that `program` keeps, its evaluated columns read: see `each_candidate`."""

    def prepared(batch: FileBatch) -> FileBatch:
        batch.prepare(program)
        return batch

    return each_candidate(snapshot, program, prepared)


def each_candidate(snapshot: Snapshot, program: Program, apply: Callable[[FileBatch], _T]) -> Iterator[_T]:
    """`apply` of every batch that may contain a file that `program` keeps: the checkpoint, then newer commits.

    Batches that are neither small nor cached are read in threads, some ahead of the caller; results are in the order
    of the log. A bar shows the progress of longer plans.
    """
    ahead = min(_AHEAD, pa.cpu_count())
    pool: ThreadPoolExecutor | None = None
    running: deque[tuple[int, Future[_T]]] = deque()
    with Progress(f"Planning {table_name(snapshot.table_root)}", unit="files") as progress:

        def first() -> _T:
            rows, future = running.popleft()
            found = progress.result(future)
            progress.advance(rows)
            return found

        try:
            for batch in _batches(snapshot, program):
                is_little = batch.num_rows <= _FEW_FILES and not snapshot.storage.remote
                if not running and (is_little or batch.is_cached(program)):
                    yield apply(batch)
                    progress.advance(batch.num_rows)
                    continue
                pool = pool or ThreadPoolExecutor(ahead, "deltaskip")
                running.append((batch.num_rows, pool.submit(apply, batch)))
                if len(running) > ahead:
                    yield first()
            while running:
                yield first()
        finally:
            if pool is not None:
                pool.shutdown(cancel_futures=True)


def _batches(snapshot: Snapshot, program: Program) -> Iterator[FileBatch]:
    for part in snapshot.checkpoint_parts:
        for group in row_groups_to_read(program, part, snapshot.cache):
            yield FileBatch(CheckpointAdds(snapshot, part, group))
    if len(snapshot.commit_adds):
        yield FileBatch(CommitAdds(snapshot))


class FileBatch:
    """Some add actions with their statistics and partition values; `adds` owns the columns, the batch reads them."""

    def __init__(self, adds: AddColumns) -> None:
        self.adds = adds
        self.snapshot = adds.snapshot
        self.scope = adds.scope
        self.cache = adds.cache
        self.num_rows = adds.num_rows
        self.statistics = LoggedStats(adds.num_rows, adds, adds.cache, adds.scope)

    def is_cached(self, program: Program) -> bool:
        """Whether the columns that `program` evaluates were read before."""
        leaves, columns = program.stat_leaves, program.partition_columns
        if not leaves and not columns:
            return self.adds.in_memory or self.cache.get(("logged column", self.scope, "path")) is not None
        return self.statistics.are_cached(leaves) and all(
            self.cache.get(("partition codes", self.scope, column.physical[0])) is not None for column in columns
        )

    def prepare(self, program: Program) -> None:
        """Read the columns that `program` evaluates, in as few reads as possible."""
        self.statistics.load(program.stat_leaves)

    def raw(self, names: Sequence[str]) -> list[pa.Array]:
        """Columns of FILE_SCHEMA, or `num_records`, of every row, as logged."""
        return self.rows(names, None)

    def rows(self, names: Sequence[str], indices: pa.Array | None) -> list[pa.Array]:
        """Return columns of FILE_SCHEMA, or `num_records`, for the rows at `indices` (ascending int64; None: all)."""
        logged = [name for name in names if name != "num_records"]
        read = self.adds.columns(logged) if indices is None else self.adds.rows(logged, indices)
        found = dict(zip(logged, read, strict=True))
        if "num_records" in names:
            records = self.statistics.num_records()
            found["num_records"] = records if indices is None else records.take(indices)
        return [found[name] for name in names]

    def live(self, indices: pa.Array | None) -> pa.Array | None:
        """The rows among those at `indices` (None: all) that are part of the snapshot; None if all rows are."""
        return self.adds.live(indices)

    def partition(self, physical_name: str, type_: DataType) -> tuple[PartitionColumn, pa.Array]:
        """A partition column: its distinct values, and for each row the int32 code of one of them."""
        key: CacheKey = ("partition column", physical_name)
        column: PartitionColumn = self.cache.pinned(key, lambda: PartitionColumn(type_))

        def codes() -> pa.Array:
            [maps] = self.raw(["partition_values"])
            return column.encode(map_values(maps, physical_name))

        return column, self.cache.array(("partition codes", self.scope, physical_name), codes)


def live_row_counts(batch: FileBatch, indices: pa.Array | None) -> pa.Array:
    """int64 row count of each file at `indices` (None: all): numRecords less the deleted rows.

    Null if numRecords is missing, or smaller than the deletion vector's cardinality, which an intact log never has.
    """
    records, vectors = batch.raw(["num_records", "deletion_vector"])
    if indices is not None:
        records, vectors = records.take(indices), vectors.take(indices)
    rows = pc.subtract(records, pc.fill_null(pc.struct_field(vectors, "cardinality"), _ZERO))
    return pc.if_else(pc.less(rows, _ZERO), arrow_scalar(None, pa.int64()), rows)

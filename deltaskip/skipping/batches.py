"""Add actions that a scan looks at: batch by batch, the columns that decide first, the rest only for what is kept.

# docs/pages/internals.md, Data flow: late materialization
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA
from deltaskip.errors import CorruptLog
from deltaskip.log import CheckpointPart, Snapshot
from deltaskip.log.checkpoint.adds import LOGGED_NAMES, add_column
from deltaskip.schema.arrow_values import TRUE
from deltaskip.schema.types import DataType
from deltaskip.skipping.partition_values import PartitionColumn, map_values
from deltaskip.skipping.program import Program
from deltaskip.skipping.row_groups import row_groups_to_read
from deltaskip.stats.batch import FileStats
from deltaskip.stats.parsed_stats import instant_bounds, stats_json

__all__ = ["Batch", "candidates", "each_candidate"]

_T = TypeVar("_T")


_FEW = 0.02
"""Up to this share of a row group's files, their paths are read alone instead of the whole column."""

_OFTEN = 4
"""After so many readings of a few rows of a column, the next one reads it whole and keeps it."""

_AHEAD = 4
"""At most so many row groups are looked at at once; what bounds a scan's memory."""


def candidates(snapshot: Snapshot, program: Program) -> Iterator[Batch]:
    """Every batch that may hold a file which `program` keeps, what it evaluates read: see `each_candidate`."""

    def prepared(batch: Batch) -> Batch:
        batch.prepare(program)
        return batch

    return each_candidate(snapshot, program, prepared)


def each_candidate(snapshot: Snapshot, program: Program, look: Callable[[Batch], _T]) -> Iterator[_T]:
    """`look` of every batch that may hold a file which `program` keeps: the checkpoint, then newer commits.

    Those that have to be read are looked at in threads, some ahead of the caller; their order stays.
    """
    ahead = min(_AHEAD, pa.cpu_count())
    pool: ThreadPoolExecutor | None = None
    looking: deque[Future[_T]] = deque()
    try:
        for batch in _batches(snapshot, program):
            if not looking and batch.is_cached(program):
                yield look(batch)
                continue
            pool = pool or ThreadPoolExecutor(ahead, "deltaskip")
            looking.append(pool.submit(look, batch))
            if len(looking) > ahead:
                yield looking.popleft().result()
        while looking:
            yield looking.popleft().result()
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _batches(snapshot: Snapshot, program: Program) -> Iterator[Batch]:
    for part in snapshot.checkpoint_parts:
        for group in row_groups_to_read(program, part, snapshot.cache):
            yield _CheckpointBatch(snapshot, part, group)
    if len(snapshot.commit_adds):
        yield _CommitBatch(snapshot)


class Batch:
    """Some add actions. Columns are read when first asked for, and kept in the snapshot's cache for the next scan."""

    def __init__(self, snapshot: Snapshot, scope: Hashable, num_rows: int) -> None:
        self.snapshot = snapshot
        self.scope = scope
        self.cache = snapshot.cache
        self.num_rows = num_rows
        self.statistics = FileStats(num_rows, self, self.cache, scope)

    def is_cached(self, program: Program) -> bool:
        """Whether what `program` evaluates was read before."""
        return all(self.cache.get((self.scope, *key)) is not None for key in self._keys(program))

    def _keys(self, program: Program) -> list[tuple[Hashable, ...]]:
        codes = [("codes", column.physical[0]) for column in program.partition_columns]
        return [*((leaf,) for leaf in program.stat_leaves), *codes]

    def prepare(self, program: Program) -> None:
        """Read what `program` evaluates, in as few reads as possible."""
        self.statistics.load(program.stat_leaves)

    def raw(self, names: Sequence[str]) -> list[pa.Array]:
        """Columns of FILE_SCHEMA, or `num_records`, of every row, as logged."""
        raise AssertionError("each kind of batch reads its own columns")

    def rows(self, names: Sequence[str], indices: pa.Array | None) -> list[pa.Array]:
        """As `raw`, of the rows at `indices` (ascending int64; None: all)."""
        values = self.raw(names)
        return values if indices is None else [column.take(indices) for column in values]

    def live(self, indices: pa.Array | None) -> pa.Array | None:
        """Of the rows at `indices` (None: all), those that are part of the snapshot; None again where all rows are."""
        return indices

    def partition(self, physical_name: str, type_: DataType) -> tuple[PartitionColumn, pa.Array]:
        """A partition column: its distinct values, and an int32 code of one of them a row."""
        column: PartitionColumn = self.cache.pinned(("partition", physical_name), lambda: PartitionColumn(type_))

        def codes() -> pa.Array:
            [maps] = self.raw(["partition_values"])
            return column.encode(map_values(maps, physical_name))

        return column, self.cache.array((self.scope, "codes", physical_name), codes)

    def struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        """See stats.batch.StatisticsSource."""
        return [None] * len(paths)

    def struct_valid(self) -> pa.BooleanArray | None:
        """See stats.batch.StatisticsSource."""
        return None

    def json(self) -> pa.Array | None:
        """See stats.batch.StatisticsSource."""
        return self.raw(["stats"])[0]

    def nan_recorded(self) -> pa.BooleanArray:
        """See stats.batch.StatisticsSource."""
        [paths] = self.raw(["path"])
        return self.snapshot.writers.record_nan(paths)

    def computed(self) -> pa.BooleanArray:
        """See stats.batch.StatisticsSource."""
        [paths] = self.raw(["path"])
        return self.snapshot.writers.computed(paths)


class _CommitBatch(Batch):
    """Adds that newer commits (or a JSON checkpoint) hold in memory, already reconciled."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._adds = snapshot.commit_adds
        super().__init__(snapshot, ("commits", snapshot.version), len(self._adds))

    def raw(self, names: Sequence[str]) -> list[pa.Array]:
        return [self.statistics.num_records() if name == "num_records" else _one(self._adds[name]) for name in names]


class _CheckpointBatch(Batch):
    """The adds of one row group of a Parquet checkpoint, or of one of its parts or sidecars."""

    def __init__(self, snapshot: Snapshot, part: CheckpointPart, group: int) -> None:
        self._part = part
        self._group = group
        self._struct_valid: pa.BooleanArray | None = None
        super().__init__(snapshot, (part.path, group), part.add_rows(group))

    def _keys(self, program: Program) -> list[tuple[Hashable, ...]]:
        return super()._keys(program) or [("path",)]

    def raw(self, names: Sequence[str]) -> list[pa.Array]:
        """Columns that are not cached are read together."""
        found = {name: self.cache.get((self.scope, name)) for name in names}
        missing = [name for name, values in found.items() if values is None]
        logged = []
        for name in missing:
            if name in ("num_records", "stats"):
                continue
            if name != "path" and self._part.all_null(("add", LOGGED_NAMES[name]), self._group):
                found[name] = pa.nulls(self.num_rows, FILE_SCHEMA.field(name).type)
            else:
                logged.append(name)
        if logged:
            add = self._read([LOGGED_NAMES[name] for name in logged])
            for name in logged:
                found[name] = self._keep(name, add_column(add, name))
        if "num_records" in missing:
            found["num_records"] = self.statistics.num_records()
        if "stats" in missing:
            found["stats"] = self._keep("stats", self._stats_text())
        return [found[name] for name in names]

    def rows(self, names: Sequence[str], indices: pa.Array | None) -> list[pa.Array]:
        """Few rows are read alone, and remembered; what is asked for again and again is read whole."""
        if indices is None or len(indices) > _FEW * self.num_rows:
            return super().rows(names, indices)
        if not len(indices):
            return [pa.nulls(0, _logged_type(name)) for name in names]
        found = {name: self._remembered(name, indices) for name in names}
        missing = [name for name, values in found.items() if values is None]
        if missing and not self._often(missing) and all(self._is_read_alone(name) for name in missing):
            add = self._part.read_rows([f"add.{LOGGED_NAMES[name]}" for name in missing], self._group, indices)
            self._check(len(add) == len(indices))
            for name in missing:
                found[name] = values = add_column(add, name)
                self.cache.put((self.scope, "few", name), (indices, values), values.nbytes + indices.nbytes)
        elif missing:
            for name, values in zip(missing, super().rows(missing, indices), strict=True):
                found[name] = values
        return [found[name] for name in names]

    def _remembered(self, name: str, indices: pa.Array) -> pa.Array | None:
        whole = self.cache.get((self.scope, name))
        if whole is not None:
            return whole.take(indices)
        if name in LOGGED_NAMES and name != "path" and self._part.all_null(("add", LOGGED_NAMES[name]), self._group):
            return pa.nulls(len(indices), FILE_SCHEMA.field(name).type)
        few = self.cache.get((self.scope, "few", name))
        if few is None:
            return None
        known, values = few
        places = pc.index_in(indices, value_set=known)
        return None if places.null_count else values.take(places)

    def _often(self, names: Sequence[str]) -> bool:
        """Whether the columns have been read in part several times already; counts."""
        key = (self.scope, "reads", *names)
        reads = self.cache.get(key) or 0
        self.cache.put(key, reads + 1, 0)
        return bool(reads >= _OFTEN)

    def _is_read_alone(self, name: str) -> bool:
        return name in LOGGED_NAMES and name not in ("stats", "partition_values")

    def live(self, indices: pa.Array | None) -> pa.Array | None:
        if indices is not None and len(indices) * 4 < self.num_rows:
            paths, vectors = self.rows(["path", "deletion_vector"], indices)
            return indices.filter(self.snapshot.superseded.live_mask(paths, vectors))
        paths, vectors = self.raw(["path", "deletion_vector"])
        key = (self.scope, "live", self.snapshot.version)
        mask = self.cache.array(key, lambda: self.snapshot.superseded.live_mask(paths, vectors))
        if indices is not None:
            return indices.filter(mask.take(indices))
        return None if mask.false_count == 0 else pc.indices_nonzero(mask)

    def struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        found: dict[tuple[str, ...], pa.Array | None] = dict.fromkeys(paths)
        present = [path for path in paths if ("add", "stats_parsed", *path) in self._part.leaves]
        read = []
        for path in present:
            constant = self._part.constant(("add", "stats_parsed", *path), self._group)
            if constant is None:
                read.append(path)
            else:
                found[path] = self._repeated(constant)
        if read:
            add = self._read([".".join(("stats_parsed", *path)) for path in read])
            parsed = pc.struct_field(add, "stats_parsed")
            self._struct_valid = parsed.is_valid()
            found.update((path, _leaf(parsed, path)) for path in read)
        elif present:
            self._struct_valid = pa.repeat(TRUE, self.num_rows)
        return list(found.values())

    def _repeated(self, constant: pa.Scalar) -> pa.Array:
        """One array serves every row group of this size, and every statistic that is the same in all their files."""
        values: pa.Array = self.cache.array(
            ("repeated", constant.type, constant.as_py(), self.num_rows), lambda: pa.repeat(constant, self.num_rows)
        )
        return values

    def struct_valid(self) -> pa.BooleanArray | None:
        return self._struct_valid

    def json(self) -> pa.Array | None:
        if not self._part.has("add.stats"):
            return None
        return pc.struct_field(self._read(["stats"]), "stats")

    def _stats_text(self) -> pa.Array:
        """Statistics as the log's text where it has them, else rendered from the struct."""
        add = self._read(["stats", "stats_parsed"])
        text = add_column(add, "stats")
        if not text.null_count or add.type.get_field_index("stats_parsed") < 0:
            return text
        instants = instant_bounds(self.snapshot.schema, self.snapshot.mapping_mode)
        return pc.coalesce(text, stats_json(pc.struct_field(add, "stats_parsed"), instants))

    def _read(self, columns: Sequence[str]) -> pa.StructArray:
        table = self._part.read([f"add.{name}" for name in columns], [self._group])
        add = _one(table["add"])
        add = _valid(add) if add.null_count else add
        self._check(len(add) == self.num_rows)
        return add

    def _check(self, complete: bool) -> None:
        if not complete:
            raise CorruptLog(
                f"The log of {self.snapshot.root} is damaged: {self._part.path} holds an add without a path; restore "
                f"that file, or open a version before {self._part.version}."
            )

    def _keep(self, name: str, values: pa.Array) -> pa.Array:
        self.cache.put((self.scope, name), values, values.nbytes)
        return values


def _logged_type(name: str) -> pa.DataType:
    return pa.int64() if name == "num_records" else FILE_SCHEMA.field(name).type


def _leaf(parsed: pa.StructArray, path: tuple[str, ...]) -> pa.Array:
    values: pa.Array = parsed
    for name in path:
        values = pc.struct_field(values, [values.type.get_field_index(name)])
    return values


def _valid(add: pa.StructArray) -> pa.StructArray:
    """The rows that are not null; where they lie together, as writers sort them, without a copy."""
    rows = pc.indices_nonzero(add.is_valid())
    first, last = (rows[0].as_py(), rows[-1].as_py()) if len(rows) else (0, -1)
    return add.slice(first, len(rows)) if last - first + 1 == len(rows) else add.take(rows)


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

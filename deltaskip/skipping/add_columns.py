"""Columns of add actions, read when first used and cached with the snapshot for the next scan.

# docs/pages/internals.md, Data flow: late materialization
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA
from deltaskip.actions.action_fields import TEXT_MAP
from deltaskip.log import CheckpointPart, Snapshot
from deltaskip.log.checkpoint.adds import struct_fields
from deltaskip.skipping.partition_columns import map_values
from deltaskip.sparkexpr.values.arrow_values import TRUE, one_chunk
from deltaskip.stats.believed_bounds import in_our_calendar
from deltaskip.stats.cache_keys import AddsScope, CacheKey, CommitsScope, GroupScope
from deltaskip.stats.collated_bounds import agreed
from deltaskip.stats.layout import COLLATED
from deltaskip.stats.logged_stats import StatisticsSource
from deltaskip.stats.tags import nan_absent, records_nan

_FEW = 0.02
"""Up to this share of a row group's files, only their rows of a column are read and not the whole column."""

_TEXTS_AT_ONCE = 4096
"""Number of files whose statistics as JSON, hundreds of bytes each, fit into a processor's cache."""

_OFTEN = 4
"""After this number of reads of a few rows of a column, the next read takes the whole column and caches it."""


class AddColumns(StatisticsSource):
    """The columns of adds of a snapshot, and where their statistics are read (stats.logged_stats.StatisticsSource)."""

    in_memory = False

    def __init__(self, snapshot: Snapshot, scope: AddsScope, num_rows: int) -> None:
        self.snapshot = snapshot
        self.scope = scope
        self.cache = snapshot.cache
        self.num_rows = num_rows

    def columns(self, names: Sequence[str]) -> list[pa.Array]:
        """Columns of FILE_SCHEMA of every add, as logged."""
        raise AssertionError("each kind of adds reads its own columns")

    def rows(self, names: Sequence[str], indices: pa.Array) -> list[pa.Array]:
        """Return columns of FILE_SCHEMA, as logged, for the adds at `indices` (ascending int64)."""
        return [column.take(indices) for column in self.columns(names)]

    def live(self, indices: pa.Array | None) -> pa.Array | None:
        """The adds among those at `indices` (None: all) that are part of the snapshot; None if all adds are."""
        return indices

    def struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        return [None] * len(paths)

    def struct_valid(self) -> pa.BooleanArray | None:
        return None

    def json(self) -> Iterator[pa.Array]:
        yield self.columns(["stats"])[0]

    def nan_recorded(self) -> pa.BooleanArray:
        if self.snapshot.float_bounds_are_exact:
            return pa.repeat(TRUE, self.num_rows)
        return self.cache.array(("NaN recorded", self.scope, self.snapshot.version), self._nan_recorded)

    def nan_absent(self, path: tuple[str, ...]) -> pa.BooleanArray:
        return nan_absent(self.tag_values, path)

    def tag_values(self, name: str) -> pa.Array:
        """The value of a tag in each add; null if it lacks the tag. Not cached, as tags are seldom read."""
        return map_values(self.columns(["tags"])[0], name)

    def _nan_recorded(self) -> pa.BooleanArray:
        writers = self.snapshot.writers
        if not writers:
            return records_nan(self.tag_values)
        [paths] = self.columns(["path"])
        by_commit = writers.record_nan(paths)
        if by_commit.false_count == 0:
            return by_commit
        return pc.or_(by_commit, pc.and_not(records_nan(self.tag_values), writers.unknown(paths)))

    def computed(self) -> pa.BooleanArray:
        return self.snapshot.writers.computed(self.columns(["path"])[0])


class CommitAdds(AddColumns):
    """Adds that newer commits (or a JSON checkpoint) hold in memory, already reconciled."""

    in_memory = True

    def __init__(self, snapshot: Snapshot) -> None:
        self._adds = snapshot.commit_adds
        super().__init__(snapshot, CommitsScope(snapshot.version), len(self._adds))

    def columns(self, names: Sequence[str]) -> list[pa.Array]:
        """The columns in memory."""
        return [one_chunk(self._adds[name]) for name in names]


class CheckpointAdds(AddColumns):
    """The adds of one row group of a Parquet checkpoint, or of one of its parts or sidecars."""

    def __init__(self, snapshot: Snapshot, part: CheckpointPart, group: int) -> None:
        self._adds = snapshot.add_group(part, group)
        self._struct_valid: pa.BooleanArray | None = None
        self._tags: pa.Array | None = None
        self._collations: list[str] | None = None
        super().__init__(snapshot, GroupScope(part.path, group), len(self._adds))

    def columns(self, names: Sequence[str]) -> list[pa.Array]:
        """Columns that are not cached are read at once."""
        found = {name: self.cache.get(("logged column", self.scope, name)) for name in names}
        missing = []
        for name in found:
            if found[name] is None and self._adds.is_null(name):
                found[name] = pa.nulls(self.num_rows, FILE_SCHEMA.field(name).type)
            elif found[name] is None:
                missing.append(name)
        if missing:
            for name, values in zip(missing, self._adds.columns(missing), strict=True):
                found[name] = values
                self.cache.put(("logged column", self.scope, name), values, values.nbytes)
        return [found[name] for name in names]

    def tag_values(self, name: str) -> pa.Array:
        """The tags of all names are read at once, and only if an add has any."""
        if self._tags is None:
            lacking = self._adds.is_null("tags")
            self._tags = pa.nulls(self.num_rows, TEXT_MAP) if lacking else self._adds.columns(["tags"])[0]
        return map_values(self._tags, name)

    def rows(self, names: Sequence[str], indices: pa.Array) -> list[pa.Array]:
        """A few rows are read alone and cached; columns that are read often are read completely."""
        if len(indices) > _FEW * self.num_rows:
            return super().rows(names, indices)
        if not len(indices):
            return [pa.nulls(0, FILE_SCHEMA.field(name).type) for name in names]
        found = {name: self._remembered(name, indices) for name in names}
        missing = [name for name, values in found.items() if values is None]
        if missing and not self._often(missing) and not {"stats", "partition_values"}.intersection(missing):
            for name, values in zip(missing, self._adds.rows(missing, indices), strict=True):
                found[name] = values
                key: CacheKey = ("some rows", self.scope, name)
                self.cache.put(key, (indices, values), values.nbytes + indices.nbytes)
        elif missing:
            found.update(zip(missing, super().rows(missing, indices), strict=True))
        return [found[name] for name in names]

    def _remembered(self, name: str, indices: pa.Array) -> pa.Array | None:
        whole = self.cache.get(("logged column", self.scope, name))
        if whole is not None:
            return whole.take(indices)
        if self._adds.is_null(name):
            return pa.nulls(len(indices), FILE_SCHEMA.field(name).type)
        few = self.cache.get(("some rows", self.scope, name))
        if few is None:
            return None
        known, values = few
        places = pc.index_in(indices, value_set=known)
        return None if places.null_count else values.take(places)

    def _often(self, names: Sequence[str]) -> bool:
        """Whether a few rows of the columns were already read several times. Counts this read."""
        key: CacheKey = ("reads", self.scope, tuple(names))
        reads = self.cache.get(key) or 0
        self.cache.put(key, reads + 1, 0)
        return bool(reads >= _OFTEN)

    def live(self, indices: pa.Array | None) -> pa.Array | None:
        """If few adds are given, only their paths and deletion vectors are read."""
        superseded = self.snapshot.superseded
        if indices is not None and len(indices) * 4 < self.num_rows:
            paths, vectors = self.rows(["path", "deletion_vector"], indices)
            return indices.filter(self._adds.live_mask(superseded, paths, vectors))
        paths, vectors = self.columns(["path", "deletion_vector"])
        key: CacheKey = ("live", self.scope, self.snapshot.version)
        mask = self.cache.array(key, lambda: self._adds.live_mask(superseded, paths, vectors))
        if indices is not None:
            return indices.filter(mask.take(indices))
        return None if mask.false_count == 0 else pc.indices_nonzero(mask)

    def struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        """Return the leaves; leaves that the footer proves to be constant are not read."""
        exact = {path[1] for path in paths if path[0] == COLLATED}
        written = [self._written(path, exact) for path in paths]
        if all(len(each) == 1 for each in written):
            return self._struct_leaves([path for [path] in written])
        found = iter(self._struct_leaves([path for each in written for path in each]))
        merged = [[column for column in islice(found, len(each)) if column is not None] for each in written]
        return [agreed(columns) if columns else None for columns in merged]

    def _written(self, path: tuple[str, ...], exact: AbstractSet[str]) -> list[tuple[str, ...]]:
        """The paths of the checkpoint for a wanted path: see `StatLeaf`, collation. exact: the names wanted."""
        if path[0] != COLLATED or len(path) < 2 or path[1] != path[1].lower():
            return [path]
        if self._collations is None:
            leaves = (leaf for leaf in self._adds.part.leaves if leaf[:3] == ("add", "stats_parsed", COLLATED))
            self._collations = sorted({leaf[3] for leaf in leaves if len(leaf) > 3})
        lower = path[1]
        names = [name for name in self._collations if name.lower() == lower and (name == lower or name not in exact)]
        return [(COLLATED, name, *path[2:]) for name in names] or [path]

    def _struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        part = self._adds.part
        found: dict[tuple[str, ...], pa.Array | None] = dict.fromkeys(paths)
        variants = {path for path in found if ("add", "stats_parsed", *path, "metadata") in part.leaves}
        present = [path for path in paths if path in variants or ("add", "stats_parsed", *path) in part.leaves]
        read = []
        for path in present:
            leaf = ("add", "stats_parsed", *path)
            constant = None if path in variants else part.constant(leaf, self._adds.group)
            if constant is None:
                read.append(path)
            else:
                found[path] = self._repeated(constant)
        if read:
            add = self._adds.structs([".".join(("add", "stats_parsed", *path)) for path in read])
            parsed = pc.struct_field(add, "stats_parsed")
            self._struct_valid = parsed.is_valid()
            leaves = _leaves(parsed, read)
            if part.hybrid_calendar:
                leaves = map(in_our_calendar, leaves)
            found.update(zip(read, leaves, strict=True))
        elif present:
            self._struct_valid = pa.repeat(TRUE, self.num_rows)
        return list(found.values())

    def _repeated(self, constant: pa.Scalar) -> pa.Array:
        """One array, shared by row groups of this size and by statistics that are the same in all their files."""
        key: CacheKey = ("repeated", constant.type, constant.as_py(), self.num_rows)
        values: pa.Array = self.cache.array(key, lambda: pa.repeat(constant, self.num_rows))
        return values

    def struct_valid(self) -> pa.BooleanArray | None:
        """Return where the last call of `struct_leaves` found a struct of statistics; None before the first call."""
        return self._struct_valid

    def json(self) -> Iterator[pa.Array]:
        """Return the JSON strings of the log only: statistics without JSON are read from the struct."""
        if self._adds.part.has("add.stats"):
            for adds in self._adds.pieces(["add.stats"], _TEXTS_AT_ONCE):
                yield pc.struct_field(adds, "stats")


def _leaves(parsed: pa.StructArray, paths: Sequence[tuple[str, ...]]) -> Iterator[pa.Array]:
    """The leaves at `paths`. Each struct on the way is flattened once, which takes time for each of its fields."""
    fields: dict[tuple[str, ...], dict[str, pa.Array]] = {(): struct_fields(parsed)}
    for path in paths:
        known = len(path) - 1
        while path[:known] not in fields:
            known -= 1
        for depth in range(known, len(path) - 1):
            fields[path[: depth + 1]] = struct_fields(fields[path[:depth]][path[depth]])
        yield fields[path[:-1]][path[-1]]

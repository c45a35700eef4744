"""Reconciliation of adds and removes: which logical files are active.

A logical file is a path with, or without, a deletion vector. Two rules decide:

* An add of a path replaces every older add of that path, whatever their deletion vectors.
* A remove of (path, dvId) ends the add of exactly that key, if the add is in an *earlier* commit. Actions of one
  commit are unordered, so a commit that removes (path, dv1) and adds (path, dv2) leaves the latter active. A commit
  that removes and adds the same key, which the protocol does not allow, leaves it active.

PROTOCOL, Action Reconciliation; today's protocol: at most one active add per path.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, canonical_paths, vector_ids
from deltaskip.fork_safety import cached_property
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values import arrow_values

# Between path and dvId in a key. No path contains it, since no file name can.
_SEPARATOR = "\0"
_BETWEEN = arrow_values.arrow_scalar(_SEPARATOR, pa.string())
_FEW = 512
_MANY = 100_000


@dataclass(frozen=True)
class Superseded:
    """Logical files that a range of the log replaced or removed, to be applied to the files of an older range.

    added: canonical paths that were added. removed: canonical paths removed without a deletion vector. removed_dv:
    keys (path and dvId) removed with one.
    """

    added: pa.Array
    removed: pa.Array
    removed_dv: pa.Array

    def __bool__(self) -> bool:
        """Whether anything was replaced or removed."""
        return bool(len(self.added) or len(self.removed) or len(self.removed_dv))

    def live_mask(self, paths: pa.Array | pa.ChunkedArray, dv: pa.Array | pa.ChunkedArray | None) -> pa.BooleanArray:
        """Return False for each older add that is no longer active, by its path and deletion vector.

        paths: as logged. dv: deletion vector structs with the fields of FILE_SCHEMA or of the log, or dvIds as strings;
        None if no file has a deletion vector. Raises ValueError for a path that does not decode to UTF-8.
        """
        raw = arrow_values.one_chunk(paths)
        if not self:
            return pa.repeat(arrow_values.TRUE, len(raw))
        return self._live(canonical_paths(raw), None if dv is None else vector_ids(dv))

    def _live(self, paths: pa.Array, ids: pa.Array | None) -> pa.BooleanArray:
        if ids is None or ids.null_count == len(ids):
            if len(paths) <= _FEW and self.ended is not None:
                return arrow_values.arrow_array([path not in self.ended for path in paths.to_pylist()], pa.bool_())
            return pc.invert(pc.is_in(paths, value_set=pa.concat_arrays([self.added, self.removed])))
        dead = pc.is_in(paths, value_set=self.added)
        if len(self.removed):
            dead = pc.or_(dead, pc.and_(pc.is_null(ids), pc.is_in(paths, value_set=self.removed)))
        if len(self.removed_dv):
            dead = pc.or_(dead, pc.is_in(file_keys(paths, ids), value_set=self.removed_dv, skip_nulls=True))
        return pc.invert(dead)

    @cached_property
    def ended(self) -> frozenset[str] | None:
        """Paths added, or removed without a deletion vector; None if there are too many for a second copy.

        Arrow would hash them again for each small batch of files.
        """
        if len(self.added) + len(self.removed) > _MANY:
            return None
        return frozenset((*self.added.to_pylist(), *self.removed.to_pylist()))


@dataclass(frozen=True, slots=True)
class Replay:
    """A reconciled range of the log: its active adds (FILE_SCHEMA, in the order of the log), and superseded files."""

    adds: pa.Table
    superseded: Superseded


# Built this way because `pa.array` would load pandas.
_NO_KEYS = pa.nulls(0, pa.string())

EMPTY = Replay(pa.Table.from_batches([], FILE_SCHEMA), Superseded(_NO_KEYS, _NO_KEYS, _NO_KEYS))


def replay(actions: pa.Table) -> Replay:
    """Reconcile the kernel's table of adds and removes (columns commit, is_remove, then FILE_SCHEMA; oldest first).

    Raises ValueError for a path that does not decode to UTF-8.
    """
    if not len(actions):
        return EMPTY
    coded = canonical_paths(arrow_values.one_chunk(actions["path"])).dictionary_encode()
    path_code = arrow_values.numpy_values(coded.indices)
    commit = arrow_values.numpy_values(actions["commit"])
    is_remove = arrow_values.numpy_values(actions["is_remove"])
    add_rows = (~is_remove).nonzero()[0]
    remove_rows = is_remove.nonzero()[0]
    newest_add = np.full(len(coded.dictionary), -1, np.int64)
    # Rows ascend, and the last assignment to a repeated index wins.
    newest_add[path_code[add_rows]] = add_rows
    live = np.sort(newest_add[newest_add >= 0])
    added = coded.dictionary.take(arrow_values.arrow_array((newest_add >= 0).nonzero()[0]))
    removed, removed_dv = _NO_KEYS, _NO_KEYS
    if len(remove_rows):
        ids = vector_ids(actions["deletion_vector"])
        key = _key_codes(path_code, ids)
        newest_remove = np.full(int(key.max()) + 1, -1, np.int64)
        newest_remove[key[remove_rows]] = commit[remove_rows]
        live = live[newest_remove[key[live]] <= commit[live]]
        removed, removed_dv = _removed_keys(coded, ids, arrow_values.arrow_array(remove_rows))
    adds = actions.select(FILE_SCHEMA.names)
    if len(live) < len(actions):
        follow = 0 < len(live) <= _FEW and live[-1] - live[0] == len(live) - 1
        adds = adds.slice(int(live[0]), len(live)) if follow else adds.take(arrow_values.arrow_array(live))
    return Replay(arrow_values.in_schema(adds, FILE_SCHEMA), Superseded(added, removed, removed_dv))


def superseded_by(actions: pa.Table) -> Superseded:
    """Return what `replay` finds superseded; of the table's columns, only path, is_remove and deletion_vector are read.

    Raises ValueError for a path that does not decode to UTF-8.
    """
    paths, is_remove = (
        canonical_paths(arrow_values.one_chunk(actions["path"])),
        arrow_values.one_chunk(actions["is_remove"]),
    )
    added = pc.unique(paths.filter(pc.invert(is_remove)))
    removes = pc.indices_nonzero(is_remove)
    if not len(removes):
        return Superseded(added, _NO_KEYS, _NO_KEYS)
    ids = vector_ids(actions["deletion_vector"])
    return Superseded(added, *_removed_keys(paths.dictionary_encode(), ids, removes))


def after(older: Replay, newer: Replay) -> Replay:
    """Combine two adjacent ranges of the log."""
    if not len(older.adds) and not older.superseded:
        return newer
    kept = older.adds
    if len(kept):
        live = newer.superseded.live_mask(kept["path"], kept["deletion_vector"])
        if live.false_count:
            kept = kept.filter(live)
    adds = pa.concat_tables([table for table in (kept, newer.adds) if len(table)] or [kept])
    old, new = older.superseded, newer.superseded
    return Replay(
        adds,
        Superseded(
            _union(old.added, new.added), _union(old.removed, new.removed), _union(old.removed_dv, new.removed_dv)
        ),
    )


def repeated_key(actions: pa.Table) -> str | None:
    """Return a path with two actions of one logical file, or with two adds; None if the actions are reconciled."""
    paths = canonical_paths(arrow_values.one_chunk(actions["path"]))
    adds = paths.filter(pc.invert(arrow_values.one_chunk(actions["is_remove"])))
    keys = keys_of_files(paths, actions["deletion_vector"])
    for values in (adds, keys):
        counts = values.value_counts()
        again = counts.field("values").filter(
            pc.greater(counts.field("counts"), arrow_values.arrow_scalar(1, pa.int64()))
        )
        if len(again):
            return str(again[0].as_py()).partition(_SEPARATOR)[0]
    return None


def _key_codes(path_code: Any, ids: pa.Array) -> Any:
    """A small integer for each (path, dvId)."""
    if ids.null_count == len(ids):
        return path_code
    coded = ids.dictionary_encode()
    without = arrow_values.arrow_scalar(len(coded.dictionary), pa.int32())
    dv_code = arrow_values.numpy_values(pc.fill_null(coded.indices, without)).astype(np.int64)
    combined = path_code.astype(np.int64) * (len(coded.dictionary) + 1) + dv_code
    return arrow_values.numpy_values(arrow_values.arrow_array(combined).dictionary_encode().indices)


def _removed_keys(coded: pa.DictionaryArray, ids: pa.Array, rows: pa.Array) -> tuple[pa.Array, pa.Array]:
    paths = coded.dictionary.take(coded.indices.take(rows))
    of_removes = ids.take(rows)
    if of_removes.null_count == len(of_removes):
        return paths, _NO_KEYS
    plain = pc.is_null(of_removes)
    with_dv = pc.invert(plain)
    return paths.filter(plain), file_keys(paths.filter(with_dv), of_removes.filter(with_dv))


def keys_of_files(paths: pa.Array, vectors: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the key of each logical file by its canonical path and its deletion vector, as logged."""
    return file_keys(paths, pc.fill_null(vector_ids(vectors), arrow_values.NOTHING))


def file_keys(paths: pa.Array, ids: pa.Array) -> pa.Array:
    """Return the key of each logical file, canonical path and dvId as one string; null where the dvId is null."""
    return pc.binary_join_element_wise(paths, ids, _BETWEEN)


def _union(a: pa.Array, b: pa.Array) -> pa.Array:
    if not len(a) or not len(b):
        return a if len(a) else b
    return pa.concat_arrays([a, b])

"""The files that contain the changes of a range of versions, and which of their rows are changes.

A version with change data files is read only from these. Otherwise the changes are inferred from its add and remove
actions that change data: a file that is only added inserts its rows, a file that is only removed deletes them, and for
a file that is removed and added again, rows that only the new deletion vector contains are deleted, and rows that only
the old one contains are inserted again.

# PROTOCOL, Add CDC File; Change Data Files
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, CommitInfo, canonical_paths, dv_ids
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import CorruptLog
from deltaskip.log import Snapshot
from deltaskip.log.commit import Commits, change_files, commit_infos
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, is_not_false, numpy_values, one_chunk

InferredType = Literal["insert", "delete"]

_Rows = npt.NDArray[Any]
_NO_CHANGE = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_STATISTICS = ("stats", "tags", "deletion_vector")


@dataclass(frozen=True, slots=True)
class FeedFiles:
    """Files with changes, in the order of the versions; a file may occur once for each version and type of change.

    Attributes:
        adds: Rows of FILE_SCHEMA. The statistics and deletion vector of each file describe rows that include all of its
            changes, so that the file can be skipped by them.
        versions: The version of each, int64.
        types: "insert" or "delete" for files whose changes are inferred; null for change data files.
        before: The deletion vector before the version of a file that it removed; null otherwise.
        after: The deletion vector after the version of a file that it added; null otherwise.
    """

    adds: pa.Table
    versions: pa.Int64Array
    types: pa.StringArray
    before: pa.StructArray
    after: pa.StructArray


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files with changes, and which rows of each are changes.

    Attributes:
        files: Rows of `ChangeScan.files()`.
        deleted: For each file the deletion vector of rows that are not changes; null for a file without such rows.
        positions: The positions of the rows that are changes, for files whose changes are the rows in one deletion
            vector and not in another; None for files in which every live row is a change.
        is_chosen: Whether the rows are those that match the predicate of the scan.
    """

    files: pa.Table
    deleted: pa.StructArray
    positions: RowPositions | None = None
    is_chosen: bool = False


def files_of_state(snapshot: Snapshot) -> FeedFiles:
    """Return the files of a version as if it inserted all of their rows."""
    adds = snapshot.adds(FILE_SCHEMA.names).select(FILE_SCHEMA.names).cast(FILE_SCHEMA).combine_chunks()
    vectors = one_chunk(adds["deletion_vector"])
    return FeedFiles(
        adds,
        arrow_array(np.full(len(adds), snapshot.version, np.int64)),
        arrow_array(["insert"], pa.string()).take(arrow_array(np.zeros(len(adds), np.int64))),
        pa.nulls(len(adds), vectors.type),
        vectors,
    )


def joined(parts: list[FeedFiles]) -> FeedFiles:
    """Return the files of all parts, in the order of the versions."""
    if len(parts) == 1 and (np.diff(numpy_values(parts[0].versions)) >= 0).all():
        return parts[0]
    versions = pa.concat_arrays([part.versions for part in parts])
    order = arrow_array(np.argsort(numpy_values(versions), kind="stable"), pa.int64())
    adds = pa.concat_tables([part.adds for part in parts]).combine_chunks()
    arrays = (pa.concat_arrays(each) for each in zip(*((p.types, p.before, p.after) for p in parts), strict=True))
    types, before, after = (array.take(order) for array in arrays)
    return FeedFiles(adds.take(order), versions.take(order), types, before, after)


def feed_files(commits: Commits, snapshot: Snapshot, by_rows: Set[int] = frozenset()) -> FeedFiles:
    """Return the files with the changes of these commits, which were read with all columns and with cdc actions.

    by_rows: Versions of which the files are those that they add and remove, whether they have change data files or not.

    Raises CorruptLog if a commit adds or removes a path twice, or if the partition values of a removed file are not in
    the log.
    """
    written = change_files(commits)
    if len(written) and by_rows:
        ordinals = [number for number, file in enumerate(commits.files) if file.version not in by_rows]
        written = written.filter(pc.is_in(written["commit"], value_set=arrow_array(ordinals, written["commit"].type)))
    with_changes = np.unique(numpy_values(written["commit"])) if len(written) else np.zeros(0, np.int32)
    hidden = [
        i
        for i, info in enumerate(commit_infos(commits))
        if info is not None and commits.files[i].version not in by_rows and _changed_nothing(info)
    ]
    actions = commits.actions.combine_chunks()
    try:
        log = _Actions(commits, actions, np.union1d(with_changes, hidden))
    except ValueError as error:
        raise CorruptLog(f"The log of {commits.root} is damaged: {error}; restore the commit.") from error
    nothing = pa.nulls(len(written), FILE_SCHEMA.field("deletion_vector").type)
    from_files = FeedFiles(
        written.select(FILE_SCHEMA.names).cast(FILE_SCHEMA),
        _versions(commits, numpy_values(written["commit"]) if len(written) else np.zeros(0, np.int32)),
        pa.nulls(len(written), pa.string()),
        nothing,
        nothing,
    )
    return joined([from_files, *([log.inferred(bool(snapshot.partition_columns))] if log.has_changes else ())])


def _changed_nothing(info: CommitInfo) -> bool:
    """Whether a MERGE rewrote files without changing a row, which delta-spark logs as a change of data."""
    metrics = info.members.get("operationMetrics")
    if info.operation != "MERGE" or not isinstance(metrics, dict):
        return False
    return all(str(metrics.get(name)) == "0" for name in _NO_CHANGE)


class _Actions:
    """The add and remove actions of a range, and which of them are changes.

    unread: the commits whose actions are not changes, by ordinal.
    """

    def __init__(self, commits: Commits, actions: pa.Table, unread: _Rows) -> None:
        self._commits = commits
        self._actions = actions
        rows = len(actions)
        self._commit = numpy_values(actions["commit"]).astype(np.int64) if rows else np.zeros(0, np.int64)
        self._is_remove = numpy_values(actions["is_remove"]) if rows else np.zeros(0, np.bool_)
        coded = canonical_paths(one_chunk(actions["path"])).dictionary_encode()
        self._path = numpy_values(coded.indices).astype(np.int64)
        self._paths = len(coded.dictionary)
        self._vectors = one_chunk(actions["deletion_vector"])
        ids = dv_ids(self._vectors).dictionary_encode()
        # 0 for no deletion vector.
        self._vector = numpy_values(pc.fill_null(ids.indices.cast(pa.int64()), arrow_scalar(-1, pa.int64()))) + 1
        self._vector_count = len(ids.dictionary) + 1
        changes = numpy_values(is_not_false(one_chunk(actions["data_change"]))) if rows else self._is_remove
        self._read = changes & ~np.isin(self._commit, unread)

    @property
    def has_changes(self) -> bool:
        """Whether some actions are changes: none where all commits have change data files."""
        return bool(self._read.any())

    def inferred(self, partitioned: bool) -> FeedFiles:
        """The files whose changes follow from their actions."""
        added = self._once(np.flatnonzero(self._read & ~self._is_remove))
        removed = self._once(np.flatnonzero(self._read & self._is_remove))
        _, i, j = np.intersect1d(self._in_commit(added), self._in_commit(removed), return_indices=True)
        new, old = added[i], removed[j]
        differ = self._vector[new] != self._vector[old]
        new, old = new[differ], old[differ]
        more, fewer = self._vector[new] != 0, self._vector[old] != 0
        whole_added, whole_removed = np.delete(added, i), np.delete(removed, j)
        none = np.full
        inserts = np.concatenate([whole_added, new[fewer]])
        inserts_before = np.concatenate([none(len(whole_added), -1), old[fewer]])
        deletes = np.concatenate([whole_removed, old[more]])
        deletes_after = np.concatenate([none(len(whole_removed), -1), new[more]])
        return joined(
            [
                self._entries("insert", inserts, inserts, inserts_before, inserts, partitioned),
                self._entries("delete", deletes, self._statistics_of(deletes), deletes, deletes_after, partitioned),
            ]
        )

    def _once(self, rows: _Rows) -> _Rows:
        """The rows; raises CorruptLog if two of them have the same path and commit."""
        keys = self._in_commit(rows)
        unique, counts = np.unique(keys, return_counts=True)
        if len(unique) < len(rows):
            row = int(rows[np.flatnonzero(keys == unique[np.argmax(counts > 1)])[0]])
            file = self._commits.files[int(self._commit[row])]
            act = "removes" if self._is_remove[row] else "adds"
            raise CorruptLog(
                f"The log of {self._commits.root} is damaged: version {file.version} {act} the file "
                f"{self._actions['path'][row].as_py()} twice, so its changes are not known; restore that version."
            )
        return rows

    def _in_commit(self, rows: _Rows) -> _Rows:
        return self._commit[rows] * (self._paths + 1) + self._path[rows]

    def _statistics_of(self, removed: _Rows) -> _Rows:
        """For each removed file an action with statistics of its rows, or of all rows of the file.

        The rows that a deletion vector deletes need not be within the bounds of the add that has this vector, as they
        may have been computed from the other rows.
        """
        has = numpy_values(pc.is_valid(one_chunk(self._actions["stats"]))) if len(self._actions) else self._is_remove
        adds = np.flatnonzero(has & ~self._is_remove)
        keys = self._path * self._vector_count + self._vector
        known, first = np.unique(keys[adds], return_index=True)
        found = np.where(has[removed], removed, -1)
        for wanted in (keys[removed], self._path[removed] * self._vector_count):
            at = np.searchsorted(known, wanted)
            there = at < len(known)
            there[there] = known[at[there]] == wanted[there]
            use = there & (found < 0)
            found[use] = adds[first[at[use]]]
        return np.where(found < 0, removed, found)

    def _entries(
        self, kind: InferredType, rows: _Rows, statistics: _Rows, before: _Rows, after: _Rows, partitioned: bool
    ) -> FeedFiles:
        """Entries for actions. statistics, before, after: the indexes of the actions that have them; -1 for none."""
        own = self._actions.take(arrow_array(rows, pa.int64()))
        from_stats = self._actions.select(_STATISTICS).take(arrow_array(statistics, pa.int64()))
        columns = {name: one_chunk(own[name]) for name in FILE_SCHEMA.names}
        columns.update({name: one_chunk(from_stats[name]) for name in _STATISTICS})
        if partitioned and columns["partition_values"].null_count:
            columns["partition_values"] = self._partition_values(rows)
        return FeedFiles(
            pa.table(columns).cast(FILE_SCHEMA),
            _versions(self._commits, self._commit[rows]),
            arrow_array([kind], pa.string()).take(arrow_array(np.zeros(len(rows), np.int64))),
            _taken(self._vectors, before),
            _taken(self._vectors, after),
        )

    def _partition_values(self, rows: _Rows) -> pa.Array:
        """The partition values of actions; a remove without them takes them from another action of its path."""
        values = one_chunk(self._actions["partition_values"])
        known = np.full(self._paths, -1, np.int64)
        valid = np.flatnonzero(numpy_values(values.is_valid()))
        known[self._path[valid]] = valid
        chosen = np.where(numpy_values(values.is_valid())[rows], rows, known[self._path[rows]])
        if (chosen < 0).any():
            row = int(rows[np.argmax(chosen < 0)])
            version = self._commits.files[int(self._commit[row])].version
            raise CorruptLog(
                f"Version {version} of {self._commits.root} removes the file "
                f"{self._actions['path'][row].as_py()} without its partition values (extendedFileMetadata is not "
                f"true), so its changes cannot be read: read the changes of later versions."
            )
        return values.take(arrow_array(chosen, pa.int64()))


def _taken(values: pa.Array, rows: _Rows) -> pa.Array:
    """The values at these rows; null for -1."""
    missing = rows < 0
    there = arrow_array(np.where(missing, 0, rows), pa.int64())
    return values.take(pc.if_else(arrow_array(missing, pa.bool_()), arrow_scalar(None, pa.int64()), there))


def _versions(commits: Commits, ordinals: _Rows) -> pa.Int64Array:
    versions = np.array([file.version for file in commits.files], np.int64)
    return arrow_array(versions[ordinals], pa.int64())

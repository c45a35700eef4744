"""The files that contain the changes of a range of versions, and which of their rows are changes.

A version with change data files is read only from these. Otherwise the changes are inferred from its add and remove
actions that change data: a file that is only added inserts its rows, a file that is only removed deletes them, and for
a file that is removed and added again, rows that only the new deletion vector contains are deleted, and rows that only
the old one contains are inserted again.

# PROTOCOL, Add CDC File; Change Data Files
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, CommitInfo, canonical_paths, dv_ids
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import CorruptLog
from deltaskip.log import Snapshot
from deltaskip.log.commit import Commits, change_files
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import (
    arrow_array,
    arrow_scalar,
    is_not_false,
    numpy_values,
    one_chunk,
    true_rows,
)

CHANGES = arrow_array(["insert", "delete"], pa.string())
"""The types of inferred changes."""

_Rows = npt.NDArray[Any]
_Values = TypeVar("_Values", pa.Array, pa.Table)
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

    @property
    def inserts(self) -> npt.NDArray[np.bool_]:
        """Whether the changes of each file are inferred inserts."""
        return true_rows(pc.equal(self.types, CHANGES[0]))

    @property
    def deletes(self) -> npt.NDArray[np.bool_]:
        """Whether the changes of each file are inferred deletes."""
        return true_rows(pc.equal(self.types, CHANGES[1]))

    def take(self, rows: _Rows) -> FeedFiles:
        """Return the files at these indexes."""
        arrays = (self.adds, self.versions, self.types, self.before, self.after)
        return FeedFiles(*(taken(each, rows) for each in arrays))


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files with changes, and which rows of each are changes.

    Attributes:
        files: Rows of `ChangeScan.files()` without `num_rows`.
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
        CHANGES.take(arrow_array(np.zeros(len(adds), np.int64))),
        pa.nulls(len(adds), vectors.type),
        vectors,
    )


def joined(parts: list[FeedFiles]) -> FeedFiles:
    """Return the files of all parts, which are in the order of the versions."""
    if len(parts) == 1:
        return parts[0]
    adds = pa.concat_tables([part.adds for part in parts]).combine_chunks()
    columns = zip(*((part.versions, part.types, part.before, part.after) for part in parts), strict=True)
    return FeedFiles(adds, *map(pa.concat_arrays, columns))


def feed_files(
    commits: Commits, infos: Sequence[CommitInfo | None], snapshot: Snapshot, by_rows: Set[int] = frozenset()
) -> FeedFiles:
    """Return the files with the changes of these commits, which were read with all columns and with cdc actions.

    infos: The commitInfo of each.
    by_rows: Versions of which the files are those that they add and remove, whether they have change data files or not.

    Raises CorruptLog if a commit adds or removes a path twice, or if the partition values of a removed file are not in
    the log.
    """
    written = change_files(commits)
    if len(written) and by_rows:
        ordinals = [number for number, file in enumerate(commits.files) if file.version not in by_rows]
        written = written.filter(pc.is_in(written["commit"], value_set=arrow_array(ordinals, written["commit"].type)))
    hidden = [
        i
        for i, info in enumerate(infos)
        if info is not None and commits.files[i].version not in by_rows and _changed_nothing(info)
    ]
    try:
        log = _Actions(commits, written, hidden)
    except ValueError as error:
        raise CorruptLog(f"The log of {commits.root} is damaged: {error}; restore the commit.") from error
    return log.files(bool(snapshot.partition_columns))


def _changed_nothing(info: CommitInfo) -> bool:
    """Whether a MERGE rewrote files without changing a row, which delta-spark logs as a change of data."""
    metrics = info.members.get("operationMetrics")
    if info.operation != "MERGE" or not isinstance(metrics, dict):
        return False
    return all(str(metrics.get(name)) == "0" for name in _NO_CHANGE)


class _Actions:
    """The add and remove actions of a range, and which of them are changes; after them, the change data files.

    hidden: the commits whose actions are not changes, by ordinal; neither are those of commits with change data files.
    """

    def __init__(self, commits: Commits, written: pa.Table, hidden: list[int]) -> None:
        self._commits = commits
        actions = pa.concat_tables([commits.actions, written]) if len(written) else commits.actions
        self._actions = actions.combine_chunks()
        self._commit = numpy_values(self._actions["commit"]).astype(np.int64)
        self._is_remove = numpy_values(self._actions["is_remove"])
        coded = canonical_paths(one_chunk(self._actions["path"])).dictionary_encode()
        self._path = numpy_values(coded.indices).astype(np.int64)
        self._paths = len(coded.dictionary)
        self._vectors = one_chunk(self._actions["deletion_vector"])
        ids = dv_ids(self._vectors).dictionary_encode()
        # 0 for no deletion vector.
        self._vector = numpy_values(pc.fill_null(ids.indices.cast(pa.int64()), arrow_scalar(-1, pa.int64()))) + 1
        self._vector_count = len(ids.dictionary) + 1
        self._changes = numpy_values(is_not_false(one_chunk(self._actions["data_change"])))
        self._logged = len(commits.actions)
        unread = np.zeros(len(commits.files), np.bool_)
        unread[hidden] = unread[self._commit[self._logged :]] = True
        self._changes &= ~unread[self._commit]
        self._changes[self._logged :] = False

    def files(self, partitioned: bool) -> FeedFiles:
        """The files with changes: change data files, and those whose changes follow from the actions of a version."""
        added = self._once(np.flatnonzero(self._changes & ~self._is_remove))
        removed = self._once(np.flatnonzero(self._changes & self._is_remove))
        i = j = np.zeros(0, np.intp)
        if len(added) and len(removed):
            _, i, j = np.intersect1d(self._in_commit(added), self._in_commit(removed), return_indices=True)
        new, old = added[i], removed[j]
        differ = self._vector[new] != self._vector[old]
        new, old = new[differ], old[differ]
        more, fewer = self._vector[new] != 0, self._vector[old] != 0
        whole_added, whole_removed = np.delete(added, i), np.delete(removed, j)
        written = np.arange(self._logged, len(self._path))
        inserts = np.concatenate([whole_added, new[fewer]])
        deletes = np.concatenate([whole_removed, old[more]])
        rows = np.concatenate([written, inserts, deletes])
        order = np.argsort(self._commit[rows], kind="stable")
        statistics = np.concatenate([written, inserts, self._statistics_of(deletes)])
        before = np.concatenate([np.full(len(written) + len(whole_added), -1), old[fewer], deletes])
        after = np.concatenate([np.full(len(written), -1), inserts, np.full(len(whole_removed), -1), new[more]])
        kinds = np.repeat([-1, 0, 1], [len(written), len(inserts), len(deletes)])
        rows, statistics = rows[order], statistics[order]
        columns = {
            name: taken(one_chunk(self._actions[name]), statistics if name in _STATISTICS else rows)
            for name in FILE_SCHEMA.names
        }
        if partitioned and columns["partition_values"].null_count:
            columns["partition_values"] = self._partition_values(rows)
        versions = np.array([file.version for file in self._commits.files], np.int64)
        return FeedFiles(
            pa.table(columns, schema=FILE_SCHEMA),
            arrow_array(versions[self._commit[rows]], pa.int64()),
            _taken_or_null(CHANGES, kinds[order]),
            _taken_or_null(self._vectors, before[order]),
            _taken_or_null(self._vectors, after[order]),
        )

    def _once(self, rows: _Rows) -> _Rows:
        """The rows; raises CorruptLog if two of them have the same path and commit."""
        keys = self._in_commit(rows)
        if len(np.unique(keys)) < len(rows):
            unique, counts = np.unique(keys, return_counts=True)
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
        if not len(removed):
            return removed
        has = numpy_values(pc.is_valid(one_chunk(self._actions["stats"])))
        adds = np.flatnonzero((has & ~self._is_remove)[: self._logged])
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


def taken(values: _Values, rows: _Rows) -> _Values:
    """Return the values at these indexes: a slice, which copies nothing, if they follow each other."""
    first = int(rows[0]) if len(rows) else 0
    if (rows == np.arange(first, first + len(rows))).all():
        return values.slice(first, len(rows))
    at = arrow_array(rows, pa.int64())
    if isinstance(values, pa.Table):
        # Taking from each column is several times as fast as taking from the table.
        return pa.table([one_chunk(column).take(at) for column in values.columns], schema=values.schema)
    return values.take(at)


def _taken_or_null(values: pa.Array, rows: _Rows) -> pa.Array:
    """The values at these indexes; null for -1."""
    there = rows >= 0
    if there.all():
        return taken(values, rows)
    if not there.any():
        return pa.nulls(len(rows), values.type)
    return values.take(pc.if_else(arrow_array(there), arrow_array(rows, pa.int64()), pa.nulls(1, pa.int64())[0]))

"""The files that contain the changes of a range of versions, and which of their rows are changes.

A version with change data files is read only from these. Otherwise the changes are inferred from its add and remove
actions that change data: a file that is only added inserts its rows, a file that is only removed deletes them, and for
a file that is removed and added again, rows that only the new deletion vector contains are deleted, and rows that only
the old one contains are inserted again.

Without a change data feed, the rows of the files that a version adds and removes are compared. By the ids of rows, a
row that is on one side only was inserted or deleted. A row that is on both sides was updated if its row commit version
differs, and otherwise only moved to another file, as the unchanged rows of an UPDATE are. Without ids, rows are
compared by all their values: equal rows on both sides only moved, and an update is a delete and an insert.

# PROTOCOL, Add CDC File; Change Data Files; Row Tracking: a row keeps its id when it is moved, and writers give it
# their version when they change it
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, CommitInfo, canonical_paths, dv_ids
from deltaskip.change_feed import row_changes
from deltaskip.change_feed.row_changes import DELETE, INSERT, FileRows, Rows
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import CorruptLog, InvalidArgument
from deltaskip.features.change_data_feed import FEED_NAMES
from deltaskip.features.row_tracking import stable_commit_versions, stable_row_ids
from deltaskip.log import Snapshot
from deltaskip.log.commit import Commits, change_files
from deltaskip.reading.read_ahead import read_ahead
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import LONG, StructField, StructType
from deltaskip.sparkexpr.values import row_hashes
from deltaskip.sparkexpr.values.arrow_values import (
    arrow_array,
    arrow_scalar,
    exact_sum,
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


_CURE = "Read the changes of versions with the change data feed instead."
# Versions are compared together up to this number of rows, and so many files are opened together.
_ROWS_TOGETHER = 1 << 18
_FILES_TOGETHER = 32
_AHEAD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class ComparedFiles:
    """Files that versions add or remove, with the rows of each that the version inserts or deletes, or moves.

    Attributes:
        files: Rows of `ChangeScan.files()`, with the columns `base_row_id` and `default_row_commit_version`.
        deleted: For each file the deletion vector of rows that are no such rows; null for a file without such rows.
        places: For each file the index of its positions; -1 for a file of which all live rows come or go.
        positions: The positions of the rows of other files.
        may: Whether each file can have a row that matches the predicate of the scan.
        by_values: Versions whose rows are compared by their values, because they have no ids.
    """

    files: pa.Table
    deleted: pa.StructArray
    places: npt.NDArray[np.int64]
    positions: RowPositions
    may: npt.NDArray[np.bool_]
    by_values: Set[int]

    def changed(
        self, snapshot: Snapshot, values: row_changes.Values, among: npt.NDArray[np.int64] | None = None
    ) -> Iterator[Rows]:
        """Yield the changed rows of each version, in the order of the versions.

        Of versions that are compared by values, rows of files that cannot match are left out on both sides.

        Args:
            snapshot: The snapshot of the files.
            values: Reads rows.
            among: The versions; None for all.

        Raises InvalidArgument if a row has no id.
        """
        versions = numpy_values(one_chunk(self.files["version"]))
        inserts = numpy_values(pc.equal(one_chunk(self.files["change_type"]), arrow_scalar("insert", pa.string())))
        by_ids, by_hashes = _IdReader(snapshot), _ValueReader(snapshot)
        for some in self._together(versions, versions if among is None else among):
            by_values = some[0] in self.by_values
            reader = by_hashes if by_values else by_ids
            chosen = np.isin(versions, some) & (self.may | (not by_values))
            added, removed = (self._rows(reader, np.flatnonzero(chosen & side)) for side in (inserts, ~inserts))
            if by_values:
                new = row_changes.every_row(added, INSERT, some[0])
                yield row_changes.without_equal(new, row_changes.every_row(removed, DELETE, some[0]), values)
            elif len(some) == 1:
                yield row_changes.of_ids(some[0], added, removed)
            else:
                sides_of = [_by_version(each, versions) for each in (added, removed)]
                yield Rows.joined([row_changes.of_ids(each, *(side[each] for side in sides_of)) for each in some])

    def _together(self, versions: npt.NDArray[np.int64], among: npt.NDArray[np.int64]) -> Iterator[list[int]]:
        """Yield these versions in their order: those with few rows together, and each that is compared by values alone.

        versions: The version of each file.
        """
        counts = pc.fill_null(one_chunk(self.files["num_rows"]), arrow_scalar(_ROWS_TOGETHER, pa.int64()))
        every, at = np.unique(versions, return_inverse=True)
        rows, wanted = np.bincount(at, numpy_values(counts), len(every)).tolist(), set(among.tolist())
        some, total = list[int](), 0
        for version, count in zip(every.tolist(), rows, strict=True):
            if version not in wanted:
                continue
            alone = version in self.by_values or (some and some[-1] in self.by_values)
            if some and (alone or total + count > _ROWS_TOGETHER):
                yield some
                some, total = [], 0
            some.append(version)
            total += count
        if some:
            yield some

    def _rows(self, reader: _IdReader | _ValueReader, numbers: npt.NDArray[np.intp]) -> Iterator[FileRows]:
        """The rows of files: of whole ones, then of those of which some rows come or go."""
        files = self.files.append_column("deletion_vector", [self.deleted])
        numbers = numbers[np.argsort(self.places[numbers] >= 0, kind="stable")]
        partly = self.places[numbers] >= 0
        starts = np.flatnonzero(np.diff(partly, prepend=~partly[:1]) | (np.arange(len(numbers)) % _FILES_TOGETHER == 0))

        def reads() -> Iterator[tuple[int, Callable[[], Iterator[FileRows]]]]:
            for own in np.split(numbers, starts[1:]) if len(numbers) else ():
                table = files.take(arrow_array(own, pa.int64())).combine_chunks()
                if self.places[own[0]] >= 0:
                    table = self.positions.take(self.places[own].tolist()).beside(table)
                yield exact_sum(table["size"]), partial(reader.rows, table, own.tolist())

        return read_ahead(reads(), _AHEAD_BYTES, remote=reader.stored.storage.remote)


def _by_version(rows: Iterable[FileRows], versions: npt.NDArray[np.int64]) -> Mapping[int, Sequence[FileRows]]:
    found: defaultdict[int, list[FileRows]] = defaultdict(list)
    for each in rows:
        found[int(versions[each.file])].append(each)
    return found


class _IdReader:
    """Reads row ids and row commit versions."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._root = snapshot.root
        self._names = [
            snapshot.metadata.configuration.get(each.name) or f"no {each.name}"
            for each in (TableProperties.row_id_column, TableProperties.row_commit_version_column)
        ]
        extra = [StructField(name, LONG) for name in self._names]
        self.stored = StoredRows(snapshot, StructType(()), snapshot.mapping_mode, (), extra, cure=_CURE)

    def rows(self, files: pa.Table, numbers: Sequence[int]) -> Iterator[FileRows]:
        """Yield rows of files with these indexes, with their ids and row commit versions."""
        bases, defaults = (one_chunk(files[name]) for name in ("base_row_id", "default_row_commit_version"))
        for at, batch in self.stored.live_of_many(files):
            ids, versions = (batch.columns[name] for name in self._names)
            ids = stable_row_ids(ids, bases[at], arrow_array(batch.positions, pa.int64()))
            versions = stable_commit_versions(versions, defaults[at])
            if ids.null_count or versions.null_count:
                act = "adds" if files["change_type"][at].as_py() == "insert" else "removes"
                raise InvalidArgument(
                    f"Rows of {files['path'][at].as_py()}, which version {files['version'][at].as_py()} of "
                    f"{self._root} {act}, have no row ids, so its changes are not known: read the changes of later "
                    f"versions."
                )
            yield FileRows(numbers[at], batch.rows, numpy_values(ids), numpy_values(versions))


class _ValueReader:
    """Reads the hashes of whole rows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._names = [name for name in snapshot.schema.names if name not in FEED_NAMES]
        schema = StructType(tuple(field for field in snapshot.schema.fields if field.name not in FEED_NAMES))
        self.stored = StoredRows(snapshot, schema, snapshot.mapping_mode, cure=_CURE)

    def rows(self, files: pa.Table, numbers: Sequence[int]) -> Iterator[FileRows]:
        """Yield rows of files with these indexes, with the hashes of all their values."""
        for at, batch in self.stored.live_of_many(files):
            hashes = row_hashes((batch.columns[name] for name in self._names), len(batch))
            yield FileRows(numbers[at], batch.rows, hashes, hashes)

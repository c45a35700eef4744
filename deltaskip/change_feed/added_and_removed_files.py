"""The files that versions add and remove: of a range, as an Arrow table, and of a stream, in reading order.

A stream first reads the files of one version, its initial snapshot, then the files that each later version adds.
Versions that change no rows, such as OPTIMIZE, have none.

# delta-spark, DeltaSource: ignoreDeletes, ignoreChanges and skipChangeCommits
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from deltaskip.actions import FILE_SCHEMA, absolute_uris, decode_paths
from deltaskip.actions.action_fields import DELETION_VECTOR
from deltaskip.change_feed.version_range import VersionRange
from deltaskip.errors import CorruptLog, InvalidArgument, VersionNotFound
from deltaskip.log import Snapshot, check_same_table
from deltaskip.log.checkpoint.metadata_tree import require_logged_files
from deltaskip.log.commit import Commits, commit_infos, read_commits
from deltaskip.log.file_names import commit_name, restore_or_go_back
from deltaskip.log.loading import list_log
from deltaskip.records import dataclass
from deltaskip.skipping.file_list import decoded_paths, files_schema, partition_structs
from deltaskip.skipping.partition_columns import PartitionColumn, map_values
from deltaskip.sparkexpr.types import StructField, physical_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array, is_not_false, no_rows, numpy_values, one_chunk

_COLUMNS = ("path", "partition_values", "size", "data_change", "deletion_vector")


def file_changes(snapshot: Snapshot, version: int, time_zone: str) -> pa.Table:
    """Return the files that the versions after `version` up to the snapshot added and removed, in the log's order.

    Args:
        snapshot: The last version, whose partition columns the result has.
        version: The version before the first one.
        time_zone: The time zone of partition values without one.

    Raises:
        VersionNotFound: The commits of a version have been cleaned up.
        CorruptLog: A commit is missing or damaged, or a path or partition value cannot be read.
    """
    numbers = range(version + 1, snapshot.version + 1)
    schema = _schema(snapshot)
    if not numbers:
        return no_rows(schema)
    check_same_table(snapshot)
    listing = list_log(snapshot.storage, snapshot.root, numbers[0], checksums=False)
    files = VersionRange(numbers[0], numbers[-1], snapshot, listing).commits
    commits = read_commits(snapshot.storage, snapshot.root, files, _COLUMNS)
    require_logged_files(commits)
    if not len(commits.actions):
        return no_rows(schema)
    return pa.table(_columns(commits, snapshot, time_zone), schema=schema)


def _schema(snapshot: Snapshot) -> pa.Schema:
    listed = files_schema(snapshot, ("path", "uri", "size", "partition_values", "deletion_vector"))
    fields = {field.name: field for field in listed}
    return pa.schema(
        [
            pa.field("version", pa.int64()),
            pa.field("action", pa.string()),
            fields["path"],
            fields["uri"],
            fields["size"],
            fields["partition_values"],
            pa.field("data_change", pa.bool_()),
            pa.field("deletion_vector", DELETION_VECTOR),
        ]
    )


def _columns(commits: Commits, snapshot: Snapshot, time_zone: str) -> list[pa.Array]:
    actions = commits.actions.combine_chunks()
    paths = one_chunk(actions["path"])
    versions = np.array([file.version for file in commits.files], np.int64)[numpy_values(actions["commit"])]
    kinds = arrow_array(["add", "remove"], pa.string()).take(one_chunk(actions["is_remove"]).cast(pa.int8()))
    return [
        arrow_array(versions),
        kinds,
        decoded_paths(snapshot, decode_paths, paths),
        decoded_paths(snapshot, lambda raw: absolute_uris(snapshot.table_root, raw), paths),
        one_chunk(actions["size"]),
        _partition_values(actions, snapshot, time_zone),
        # PROTOCOL, Add File and Remove File: an action without dataChange counts as a change.
        is_not_false(one_chunk(actions["data_change"])),
        one_chunk(actions["deletion_vector"]),
    ]


def _partition_values(actions: pa.Table, snapshot: Snapshot, time_zone: str) -> pa.StructArray:
    """The partition values; null if a remove action does not have them."""
    maps = one_chunk(actions["partition_values"])

    def encoded(field: StructField) -> tuple[PartitionColumn, pa.Array]:
        column = PartitionColumn(field.type)
        return column, column.encode(map_values(maps, physical_name(field, snapshot.mapping_mode)))

    return partition_structs(snapshot, len(maps), map(encoded, snapshot.partition_fields), time_zone, maps.is_null())


@dataclass(frozen=True, slots=True)
class OnDeletedRows:
    """The treatment of versions that delete or change rows, or are gone, which a stream of appended rows cannot show.

    Attributes:
        ignore_deletes: Whether versions that only remove files are skipped.
        skip_change_commits: Whether versions that remove files are skipped, with the files that they add, and so is
            RESTORE, whose files had been added before.
        fail_on_data_loss: Whether versions that have been cleaned up are an error, instead of being passed over.
    """

    ignore_deletes: bool = False
    skip_change_commits: bool = False
    fail_on_data_loss: bool = True


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """Files in the order in which a stream reads them.

    Attributes:
        adds: Rows of FILE_SCHEMA.
        versions: int64 version of each.
        numbers: int64 index of each among the files of its version, from 0.
    """

    adds: pa.Table
    versions: pa.Int64Array
    numbers: pa.Int64Array

    def __len__(self) -> int:
        return len(self.adds)


_NONE = AddedFiles(no_rows(FILE_SCHEMA), pa.nulls(0, pa.int64()), pa.nulls(0, pa.int64()))


def files_of_snapshot(snapshot: Snapshot) -> AddedFiles:
    """Return the files of a version, in the order of their paths, as if it had added all of them."""
    adds = snapshot.adds(FILE_SCHEMA.names).select(FILE_SCHEMA.names).sort_by("path").cast(FILE_SCHEMA)
    versions = arrow_array(np.full(len(adds), snapshot.version, np.int64))
    return AddedFiles(adds, versions, arrow_array(np.arange(len(adds), dtype=np.int64)))


def added_files(snapshot: Snapshot, first: int, deleted: OnDeletedRows) -> AddedFiles:
    """Return the files that the versions from `first` to the snapshot's version add.

    Args:
        snapshot: The last version.
        first: The first version.
        deleted: The treatment of versions that delete rows.

    Raises:
        InvalidArgument: A version deletes, changes or restores rows; the message names it and the options.
        VersionNotFound: The commits of a version have been cleaned up.
        CorruptLog: A commit is missing or damaged.
    """
    root = snapshot.root
    if first > snapshot.version:
        return _NONE
    listing = list_log(snapshot.storage, root, first, checksums=False)
    earliest = min(listing.commits, default=snapshot.version)
    first = first if deleted.fail_on_data_loss else max(first, earliest)
    numbers = list(range(first, snapshot.version + 1))
    for version in numbers:
        if version not in listing.commits:
            if version < earliest:
                raise VersionNotFound(
                    f"The log of {root} no longer contains version {version}, from which the stream continues: "
                    f"the earliest is {earliest}; begin a new stream with another checkpoint location, or set "
                    f"failOnDataLoss to false to pass over what is lost."
                )
            raise CorruptLog(
                f"The log of {root} is damaged: {commit_name(version)} (version {version}) is missing; "
                f"{restore_or_go_back(version)}."
            )
    commits = read_commits(snapshot.storage, root, [listing.commits[version] for version in numbers])
    require_logged_files(commits)
    actions = commits.actions.combine_chunks()
    if not len(actions):
        return _NONE
    of = np.array([file.version for file in commits.files], np.int64)[numpy_values(actions["commit"])]
    changes = numpy_values(is_not_false(one_chunk(actions["data_change"])))
    removes = numpy_values(actions["is_remove"])
    read = changes & ~removes
    for version in np.unique(of[changes & removes]).tolist():
        adds_too = bool((read & (of == version)).any())
        if deleted.skip_change_commits or (deleted.ignore_deletes and not adds_too):
            read &= of != version
            continue
        what = "changes rows" if adds_too else "deletes rows"
        options = "skipChangeCommits" if adds_too else "ignoreDeletes or skipChangeCommits"
        raise InvalidArgument(
            f"Version {version} of {root} {what}, which a stream of appended rows cannot show: set {options} to true "
            f"to pass over such versions, or read the change data feed."
        )
    for file, info in zip(commits.files, commit_infos(commits), strict=True):
        # The files that come back were added before, and have perhaps been read.
        if info is None or info.operation != "RESTORE" or not (read & (of == file.version)).any():
            continue
        if not deleted.skip_change_commits:
            raise InvalidArgument(
                f"Version {file.version} of {root} restores files that earlier versions have added, so that a stream "
                f"would have their rows twice: set skipChangeCommits to true to pass over such versions, or read the "
                f"change data feed."
            )
        read &= of != file.version
    rows = np.flatnonzero(read)
    order = rows[np.argsort(of[rows], kind="stable")]
    versions = of[order]
    _, starts, counts = np.unique(versions, return_index=True, return_counts=True)
    within = np.arange(len(order), dtype=np.int64) - np.repeat(starts, counts)
    adds = actions.take(arrow_array(order, pa.int64())).select(FILE_SCHEMA.names).cast(FILE_SCHEMA)
    return AddedFiles(adds, arrow_array(versions), arrow_array(within))

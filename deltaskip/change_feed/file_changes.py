"""The files that a range of versions added and removed, as an Arrow table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from deltaskip.actions import PartitionValueError, absolute_uris, decode_paths
from deltaskip.actions.file_fields import DELETION_VECTOR
from deltaskip.change_feed.version_range import VersionRange
from deltaskip.log import Snapshot, check_same_table
from deltaskip.log.commit import Commits, read_commits
from deltaskip.log.loading import list_log
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import arrow_array, is_not_false, numpy_values, one_chunk
from deltaskip.schema.mapping import physical_name
from deltaskip.skipping.file_list import decoded, files_schema, unreadable_value
from deltaskip.skipping.partition_columns import PartitionColumn, map_values

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
        return schema.empty_table()
    check_same_table(snapshot)
    listing = list_log(snapshot.storage, snapshot.root, numbers[0])
    files = VersionRange(numbers[0], numbers[-1], snapshot, listing).commits
    commits = read_commits(snapshot.storage, snapshot.root, files, _COLUMNS)
    if not len(commits.actions):
        return schema.empty_table()
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
        decoded(snapshot, decode_paths, paths),
        decoded(snapshot, lambda raw: absolute_uris(snapshot.table_root, raw), paths),
        one_chunk(actions["size"]),
        _partition_values(actions, snapshot, time_zone),
        # PROTOCOL, Add File and Remove File: an action without dataChange counts as a change.
        is_not_false(one_chunk(actions["data_change"])),
        one_chunk(actions["deletion_vector"]),
    ]


def _partition_values(actions: pa.Table, snapshot: Snapshot, time_zone: str) -> pa.StructArray:
    """The partition values; null where a remove action does not have them."""
    maps = one_chunk(actions["partition_values"])
    fields = list(snapshot.partition_fields)
    missing = maps.is_null()
    if not fields:
        return pa.Array.from_buffers(pa.struct([]), len(maps), [None])
    columns = []
    for field in fields:
        column = PartitionColumn(field.type)
        codes = column.encode(map_values(maps, physical_name(field, snapshot.mapping_mode)))
        try:
            columns.append(column.typed(codes, time_zone))
        except PartitionValueError as error:
            raise unreadable_value(snapshot, field, error) from error
    names = [pa.field(field.name, arrow_type(field.type)) for field in fields]
    return pa.StructArray.from_arrays(columns, fields=names, mask=missing)

"""Tombstones: removed files that a checkpoint must list until `delta.deletedFileRetentionDuration` has passed.

# PROTOCOL, Action Reconciliation: "remove actions … are kept as tombstones until they have expired"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import LOGGED_DELETION_VECTOR, REMOVE_FIELDS, canonical_paths, vector_ids
from deltaskip.errors import CorruptLog
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.log.commit import read_commits
from deltaskip.log.file_names import Kind
from deltaskip.log.replay import file_keys
from deltaskip.log.snapshot import Snapshot
from deltaskip.sparkexpr.values import arrow_values

# Tombstones in a checkpoint have neither statistics nor tags.
_FIELDS = [field for field in REMOVE_FIELDS.fields if field.name not in ("stats", "tags")]
REMOVE_TYPE = pa.struct([(field.logged, field.logged_type) for field in _FIELDS])
# The kernel that parses commits does not read extendedFileMetadata.
_LOGGED = {field.logged: field.name for field in _FIELDS if field.name != "extended_file_metadata"}


# The columns that tell whether a remove is part of the state.
_DECIDING = ("remove.path", "remove.deletionVector", "remove.deletionTimestamp")


class Tombstones:
    """The removes later than a time whose (path, dvId) was not added again.

    Those in the snapshot's checkpoint are streamed. Those in newer commits are in memory.

    Args:
        snapshot: The snapshot.
        newer_than_ms: The time, in milliseconds since the epoch.

    Attributes:
        groups: The row groups of the checkpoint with removes, by file and index.
        newer: Removes of the commits after the checkpoint (REMOVE_TYPE).
    """

    def __init__(self, snapshot: Snapshot, newer_than_ms: int) -> None:
        """Raises CorruptLog."""
        snapshot = snapshot.whole
        self._snapshot, self._newer_than_ms = snapshot, newer_than_ms
        parts = () if snapshot.checkpoint is None else snapshot.checkpoint.remove_parts
        self.groups = [(part, number) for part in parts for number in part.row_groups_with("remove")]
        self.newer, self._mentioned = _of_commits(snapshot, newer_than_ms, bool(self.groups))

    def of_group(self, part: CheckpointPart, number: int) -> Iterator[pa.StructArray]:
        """Yield batches (REMOVE_TYPE) of a row group's removes. Raises CorruptLog."""
        for batch in part.stream(["remove"], number):
            [column] = batch.columns
            kept = _unexpired(_as_removes(column.drop_null()), self._newer_than_ms)
            yield kept.filter(pc.invert(self._are_mentioned(kept)))

    def may_stay(self, part: CheckpointPart, number: int) -> bool:
        """Whether a row group contains only removes, none of them mentioned again, and most of them are not expired.

        A checkpoint may contain expired removes: readers and VACUUM compare their times. Raises CorruptLog.
        """
        rows = part.metadata.row_group(number).num_rows
        count = expired = 0
        for batch in part.columns_of(_DECIDING, number, rows):
            removes = _as_removes(batch.column(0).drop_null())
            if pc.any(self._are_mentioned(removes)).as_py():
                return False
            count += len(removes)
            expired += len(removes) - len(_unexpired(removes, self._newer_than_ms))
        return count == rows and 2 * expired <= count

    def _are_mentioned(self, removes: pa.StructArray) -> pa.BooleanArray:
        return pc.is_in(_keys(self._snapshot, removes), value_set=self._mentioned)


def tombstones(snapshot: Snapshot, newer_than_ms: int) -> Iterator[pa.StructArray]:
    """Yield batches (REMOVE_TYPE) of the removes of `Tombstones`."""
    found = Tombstones(snapshot, newer_than_ms)
    for part, number in found.groups:
        yield from found.of_group(part, number)
    if len(found.newer):
        yield found.newer


def _of_commits(snapshot: Snapshot, newer_than_ms: int, older: bool) -> tuple[pa.StructArray, pa.Array]:
    """Tombstones of the commits after the checkpoint, and every (path, dvId) in these commits.

    older: whether the checkpoint has removes; without any, commits that only add files are not read.
    """
    segment = snapshot.segment
    files = list(segment.commits)
    if segment.checkpoint is not None and segment.checkpoint.kind is Kind.UUID_JSON_CHECKPOINT:
        files = [*segment.checkpoint.files, *files]
    elif not older and not (len(snapshot.superseded.removed) or len(snapshot.superseded.removed_dv)):
        files = []
    if not files:
        return pa.nulls(0, REMOVE_TYPE), arrow_values.arrow_array([], pa.string())
    actions = read_commits(snapshot.storage, snapshot.root, files).actions
    rows = _rows(actions)
    coded = _keys(snapshot, rows).dictionary_encode()
    code, commit = arrow_values.numpy_values(coded.indices), arrow_values.numpy_values(actions["commit"])
    is_remove = arrow_values.numpy_values(actions["is_remove"])
    added = np.full(len(coded.dictionary), -1, np.int64)
    np.maximum.at(added, code[~is_remove], commit[~is_remove])
    last = np.full(len(coded.dictionary), -1, np.int64)
    remove_rows = np.flatnonzero(is_remove)
    # Rows ascend, and the last assignment to a repeated index wins.
    last[code[remove_rows]] = remove_rows
    last = last[last >= 0]
    # A commit that removes and adds the same file leaves it active.
    final = np.sort(last[commit[last] > added[code[last]]])
    return _unexpired(rows.take(arrow_values.arrow_array(final)), newer_than_ms), coded.dictionary


def _rows(actions: pa.Table) -> pa.StructArray:
    """Adds and removes of commits as REMOVE_TYPE; fields that the kernel does not read are null."""
    columns: Mapping[str, pa.Array] = {
        name: arrow_values.one_chunk(actions[column]) for name, column in _LOGGED.items() if column != "deletion_vector"
    }
    vectors = arrow_values.one_chunk(actions["deletion_vector"])
    there = pc.is_valid(vectors)
    arrays = []
    for field in REMOVE_TYPE:
        if field.name == "deletionVector":
            children = [c.cast(f.type) for c, f in zip(vectors.flatten(), LOGGED_DELETION_VECTOR, strict=True)]
            arrays.append(
                pa.StructArray.from_arrays(children, fields=list(LOGGED_DELETION_VECTOR), mask=pc.invert(there))
            )
        elif field.name == "extendedFileMetadata":
            # True means that partition values and size are present.
            arrays.append(pc.and_(pc.is_valid(columns["partitionValues"]), pc.is_valid(columns["size"])))
        else:
            arrays.append(columns[field.name].cast(field.type))
    return pa.StructArray.from_arrays(arrays, fields=list(REMOVE_TYPE))


def _as_removes(removes: pa.StructArray) -> pa.StructArray:
    """Removes of a checkpoint as REMOVE_TYPE: other fields are omitted, missing ones are null."""
    there = dict(zip((field.name for field in removes.type), removes.flatten(), strict=True))
    arrays = []
    for field in REMOVE_TYPE:
        values = there.get(field.name)
        if values is None:
            arrays.append(pa.nulls(len(removes), field.type))
        elif field.name == "deletionVector":
            arrays.append(_vectors(values))
        else:
            arrays.append(values.cast(field.type))
    return pa.StructArray.from_arrays(arrays, fields=list(REMOVE_TYPE))


def _vectors(values: pa.StructArray) -> pa.StructArray:
    there = dict(zip((field.name for field in values.type), values.flatten(), strict=True))
    children = [
        there[field.name].cast(field.type) if field.name in there else pa.nulls(len(values), field.type)
        for field in LOGGED_DELETION_VECTOR
    ]
    return pa.StructArray.from_arrays(children, fields=list(LOGGED_DELETION_VECTOR), mask=pc.is_null(values))


def _unexpired(removes: pa.StructArray, newer_than_ms: int) -> pa.StructArray:
    times = pc.fill_null(pc.struct_field(removes, "deletionTimestamp"), arrow_values.arrow_scalar(0, pa.int64()))
    later = pc.greater(times, arrow_values.arrow_scalar(newer_than_ms, pa.int64()))
    return removes if pc.all(later, min_count=0).as_py() else removes.filter(arrow_values.is_not_false(later))


def _keys(snapshot: Snapshot, removes: pa.StructArray) -> pa.Array:
    """The key of each remove; without a deletion vector it ends with the separator."""
    try:
        paths = canonical_paths(pc.struct_field(removes, "path"))
    except ValueError as error:
        raise CorruptLog(
            f"The log of {snapshot.root} is damaged: {error}; rewrite the commit or checkpoint that contains it."
        ) from error
    ids = pc.fill_null(vector_ids(pc.struct_field(removes, "deletionVector")), arrow_values.NOTHING)
    return file_keys(paths, ids)

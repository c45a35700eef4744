"""Files that a transaction removes with all their rows, as columns: there may be as many as the table has."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions as a
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, in_schema, one_chunk
from deltaskip.txn.known_files import listed_files

_GIVEN = ("path", "partition_values", "size", "deletion_vector")
_STORAGE_TYPES = arrow_array(list(a.STORAGE_TYPES), pa.string())
_ROW_IDS = ("base_row_id", "default_row_commit_version")


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """Files of a snapshot that lose all their rows.

    Attributes:
        keys: The `table_key` of each file.
        files: path, partition_values, size and deletion_vector of each file, as logged.
        deletion_timestamp: When they are removed, in milliseconds since the epoch.
    """

    keys: pa.StringArray
    files: pa.Table
    deletion_timestamp: int

    @classmethod
    def of(cls, root: str, files: pa.Table, deletion_timestamp: int) -> RemovedFiles:
        """Return the files of a table at `root`. files: columns of FILE_SCHEMA; only four of them are read."""
        schema = pa.schema([a.FILE_SCHEMA.field(name) for name in _GIVEN])
        given = in_schema(files.select(list(_GIVEN)), schema).combine_chunks()
        return cls(a.table_keys(root, given["path"]), given, deletion_timestamp)

    def __len__(self) -> int:
        return len(self.keys)

    def actions(self) -> Iterator[a.RemoveFile]:
        """Yield the remove action of each file."""
        return a.remove_files(self.files, self.deletion_timestamp)

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the key and the path of each file."""
        return zip(self.keys.to_pylist(), self.files["path"].to_pylist(), strict=True)

    def divided(self, keys: Collection[str]) -> tuple[RemovedFiles, RemovedFiles]:
        """Return the files with these keys, and the others."""
        chosen = pc.is_in(self.keys, value_set=arrow_array(list(keys), pa.string()))
        masks = chosen, pc.invert(chosen)
        these, others = (
            RemovedFiles(self.keys.filter(mask), self.files.filter(mask), self.deletion_timestamp) for mask in masks
        )
        return these, others


def removes_as_listed(removed: RemovedFiles, base: Snapshot) -> pa.Table | None:
    """Return the remove actions as columns, with the paths and row ids that a snapshot lists for the files.

    None unless the columns, compared as logged, show that every file is once in `removed` and active in the snapshot
    with the same deletion vector and partition values. If not, each action must be checked by itself.
    # PROTOCOL, Row Tracking: a remove has the row ids of the path's last add
    """
    if len(pc.unique(removed.keys)) != len(removed):
        return None
    keys, listed = listed_files(base, removed.keys)
    if len(keys) != len(removed):
        return None
    listed = listed.take(pc.index_in(removed.keys, value_set=keys))
    given = removed.files
    vectors, values = one_chunk(given["deletion_vector"]), one_chunk(given["partition_values"])
    size = pc.coalesce(given["size"], listed["size"])
    same = (
        a.dv_ids(vectors).equals(a.dv_ids(listed["deletion_vector"]))
        and values.equals(one_chunk(listed["partition_values"]))
        and not values.null_count
        and _are_whole(vectors)
        and not pc.any(pc.less(size, arrow_scalar(0, pa.int64())), min_count=0).as_py()
    )
    if not same:
        return None
    columns = {
        "path": listed["path"],
        "deletion_timestamp": _repeated(removed.deletion_timestamp, pa.int64(), len(keys)),
        "data_change": _repeated(True, pa.bool_(), len(keys)),
        "extended_file_metadata": _repeated(True, pa.bool_(), len(keys)),
        "partition_values": values,
        "size": size,
        "deletion_vector": vectors,
        **{name: listed[name] for name in _ROW_IDS},
    }
    return pa.table(columns)


def _are_whole(vectors: pa.StructArray) -> bool:
    """Whether every deletion vector has the members that the protocol requires."""
    there = vectors.filter(vectors.is_valid())
    if not len(there):
        return True
    members = dict(zip(a.DELETION_VECTOR.names, there.flatten(), strict=True))
    if any(members[name].null_count for name in a.DELETION_VECTOR_FIELDS.required):
        return False
    numbers = [each for each in members.values() if pa.types.is_integer(each.type)]
    negative = any(pc.any(pc.less(each, arrow_scalar(0, each.type)), min_count=0).as_py() for each in numbers)
    return not negative and pc.all(pc.is_in(members["storage_type"], value_set=_STORAGE_TYPES)).as_py() is True


def _repeated(value: object, type_: pa.DataType, times: int) -> pa.Array:
    return arrow_array([value], type_).take(arrow_array(np.zeros(times, np.int64)))

"""Actions on data files: add, remove and cdc, and their deletion vectors.

# PROTOCOL, Add File and Remove File, Add CDC File, Deletion Vectors
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions.action_fields import (
    ADD_FIELDS,
    CDC_FIELDS,
    DELETION_VECTOR,
    DELETION_VECTOR_FIELDS,
    FILE_SCHEMA,
    REMOVE_FIELDS,
)
from deltaskip.actions.members import JsonAction
from deltaskip.errors import InvalidArgument
from deltaskip.kernels.z85 import z85_encode
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import NOTHING, arrow_array, arrow_scalar, one_chunk

_AT = arrow_scalar("@", pa.string())
_UUID_KIND, _INLINE_KIND = arrow_scalar("u", pa.string()), arrow_scalar("i", pa.string())
_PATH_KINDS = arrow_array(["p", "r"], pa.string())
# PROTOCOL, Deletion Vectors: the name of the file of a vector with storage type u.
VECTOR_FILE = r"deletion_vector_(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.bin$"
"""The name of the file of a vector of storage type u, as a regular expression."""
_VECTOR_FILE = f"(?:^|/){VECTOR_FILE}"
UUID_CHARACTERS = 20
"""Length of the UUID in a descriptor of storage type u."""
STORAGE_TYPES = ("u", "i", "p", "r")
"""How deletion vectors are stored."""
_SHARED = [name for name in ADD_FIELDS.logged if name in REMOVE_FIELDS.logged and name != "data_change"]


@dataclass(frozen=True, slots=True)
class DeletionVectorDescriptor(JsonAction):
    """Location of a deletion vector and the number of rows that it deletes.

    `storage_type` is u (file named by a UUID relative to the table), p (absolute path), i (inline) or r (path relative
    to the table, which is not percent-encoded). An `offset` of None means that the log has no offset, and readers start
    at byte 0.
    """

    FIELDS = DELETION_VECTOR_FIELDS

    storage_type: str
    path_or_inline_dv: str
    size_in_bytes: int
    cardinality: int
    offset: int | None = None

    @property
    def unique_id(self) -> str:
        """Identifier of the vector among the vectors of a data file. With the path, it is the key of a logical file.

        # PROTOCOL, Deletion Vectors, derived fields: storageType + pathOrInlineDv, then @offset if present.
        """
        key = self.storage_type + self.path_or_inline_dv
        return key if self.offset is None else f"{key}@{self.offset}"

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values["storage_type"] not in STORAGE_TYPES:
            known = " or ".join(STORAGE_TYPES)
            raise InvalidArgument(f"deletionVector.storageType is not {known}: {values['storage_type']!r}")
        for field in cls.FIELDS.fields:
            value = values[field.name]
            if isinstance(value, int) and value < 0:
                raise InvalidArgument(f"deletionVector.{field.logged} is negative: {value}")
        return values


JsonAction.NESTED[DELETION_VECTOR] = DeletionVectorDescriptor


class _FileAction(JsonAction):
    __slots__ = ()
    # A subclass has its own.
    FIELDS = ADD_FIELDS

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        if not values["path"]:
            raise InvalidArgument(f"{cls.FIELDS.action}.path is empty")
        return values


def dv_ids(dv: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return `unique_id` of each deletion vector struct, null for null; string arrays are returned unchanged."""
    return _ids(dv, lambda kind, where: (kind, where))


def vector_ids(dv: pa.Array | pa.ChunkedArray) -> pa.Array:
    """As `dv_ids`, with one id for all descriptors of a vector in a file whose name has the UUID of the protocol.

    Commits name such a file by its UUID and folder (storage type u), and adaptive metadata trees by its path.
    """
    return _ids(dv, _by_uuid)


def _ids(dv: pa.Array | pa.ChunkedArray, named: Callable[[pa.Array, pa.Array], tuple[pa.Array, pa.Array]]) -> pa.Array:
    array = one_chunk(dv)
    if pa.types.is_string(array.type):
        return array
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.string())
    fields = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    kind = fields.get("storage_type", fields.get("storageType"))
    where = fields.get("path_or_inline_dv", fields.get("pathOrInlineDv"))
    offset = fields.get("offset", pa.nulls(len(array), pa.int32()))
    suffix = pc.fill_null(pc.binary_join_element_wise(_AT, offset.cast(pa.string()), NOTHING), NOTHING)
    return pc.binary_join_element_wise(*named(kind, where), suffix, NOTHING)


def _by_uuid(kind: pa.Array, where: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Storage types and texts, with the UUID alone, in Z85, of vectors in files that are named by one."""
    relative = pc.equal(kind, _UUID_KIND)
    where = pc.if_else(relative, pc.utf8_slice_codeunits(where, -UUID_CHARACTERS), where)
    if pc.all(pc.or_(relative, pc.equal(kind, _INLINE_KIND)), min_count=0).as_py():
        return kind, where
    named = pc.struct_field(pc.extract_regex(where, _VECTOR_FILE), "uuid")
    named = pc.if_else(pc.is_in(kind, value_set=_PATH_KINDS), named, arrow_scalar(None, pa.string()))
    there = named.is_valid()
    return pc.if_else(there, _UUID_KIND, kind), pc.if_else(there, z85_uuids(named), where)


def z85_uuids(uuids: pa.Array) -> pa.StringArray:
    """Return UUIDs, such as those in names of files of deletion vectors, in Z85; null for null."""
    # A file contains the vectors of many data files.
    files = pc.replace_substring(uuids, "-", "").dictionary_encode()
    encoded = arrow_array([z85_encode(bytes.fromhex(each)) for each in files.dictionary.to_pylist()], pa.string())
    return encoded.take(files.indices)


@dataclass(frozen=True, slots=True)
class AddFile(_FileAction):
    """The add action of a logical file.

    `path` is as logged (percent-encoded), `partition_values` are raw strings by physical name, `stats` is JSON text,
    and times are milliseconds since the epoch.
    """

    FIELDS = ADD_FIELDS

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    modification_time: int
    data_change: bool
    stats: str | None = None
    tags: Mapping[str, str | None] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveFile(_FileAction):
    """The tombstone of a logical file."""

    FIELDS = REMOVE_FIELDS

    path: str
    data_change: bool
    deletion_timestamp: int | None = None
    extended_file_metadata: bool | None = None
    partition_values: Mapping[str, str | None] | None = None
    size: int | None = None
    stats: str | None = None
    tags: Mapping[str, str | None] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None


@dataclass(frozen=True, slots=True)
class AddCdcFile(_FileAction):
    """A file with row-level changes of one version (change data feed)."""

    FIELDS = CDC_FIELDS

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    data_change: bool = False
    tags: Mapping[str, str | None] | None = None


def add_actions(adds: pa.Table) -> Iterator[AddFile]:
    """Yield the add action of each row of a table with all columns of FILE_SCHEMA, in order."""
    for batch in adds.select(FILE_SCHEMA.names).to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            dv = row.pop("deletion_vector")
            tags = row.pop("tags")
            yield AddFile(
                partition_values=dict(row.pop("partition_values") or ()),
                tags=None if tags is None else dict(tags),
                deletion_vector=None if dv is None else DeletionVectorDescriptor(**dv),
                data_change=row.pop("data_change") is not False,
                **row,
            )


def remove_files(files: pa.Table, deletion_timestamp: int, data_change: bool = True) -> Iterator[RemoveFile]:
    """Yield the tombstone of each active file, without its statistics and tags.

    files: path, partition_values, size and deletion_vector as in FILE_SCHEMA. deletion_timestamp: ms since the epoch.
    """
    for batch in files.select(["path", "partition_values", "size", "deletion_vector"]).to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            vector = row["deletion_vector"]
            yield RemoveFile(
                row["path"],
                data_change,
                deletion_timestamp,
                True,
                partition_values=dict(row["partition_values"] or ()),
                size=row["size"],
                deletion_vector=None if vector is None else DeletionVectorDescriptor(**vector),
            )


def remove_of(add: AddFile, deletion_timestamp: int, data_change: bool = True) -> RemoveFile:
    """Return the tombstone of an active file, with all fields of its add action.

    deletion_timestamp: Milliseconds since the epoch.
    """
    shared = {name: getattr(add, name) for name in _SHARED}
    return RemoveFile(
        **shared, data_change=data_change, deletion_timestamp=deletion_timestamp, extended_file_metadata=True
    )


def with_stats(add: AddFile, stats: str | None) -> AddFile:
    """Return an add action of the same logical file with other statistics and without a data change."""
    return replace(add, stats=stats, data_change=False)

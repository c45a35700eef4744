"""Actions about data files: add, remove, cdc, and the deletion vectors that they carry.

# PROTOCOL, Add File and Remove File, Add CDC File, Deletion Vectors
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from deltaskip.actions import members as m

__all__ = ["AddCdcFile", "AddFile", "DeletionVectorDescriptor", "RemoveFile"]

_STORAGE_TYPES = ("u", "i", "p")


@dataclass(frozen=True, slots=True)
class DeletionVectorDescriptor:
    """Where a deletion vector is kept and how many rows it deletes.

    `storage_type` is u (file named by a UUID relative to the table), p (absolute path) or i (inline). `offset` None
    means that the log has none; a reader then starts at byte 0.
    """

    storage_type: str
    path_or_inline_dv: str
    size_in_bytes: int
    cardinality: int
    offset: int | None = None

    @property
    def unique_id(self) -> str:
        """Tells deletion vectors of one data file apart; half of the key of a logical file.

        # PROTOCOL, Deletion Vectors, derived fields: storageType + pathOrInlineDv, then @offset if there is one.
        """
        key = self.storage_type + self.path_or_inline_dv
        return key if self.offset is None else f"{key}@{self.offset}"

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The descriptor in `json`; raises ValueError naming a member that is missing or wrong."""
        name = "deletionVector"
        storage_type = m.string(name, json, "storageType")
        if storage_type not in _STORAGE_TYPES:
            raise ValueError(f"deletionVector.storageType is not u, i or p: {storage_type!r}")
        offset = m.optional_integer(name, json, "offset")
        return cls(
            storage_type=storage_type,
            path_or_inline_dv=m.string(name, json, "pathOrInlineDv"),
            size_in_bytes=_at_least_zero(name, "sizeInBytes", m.integer(name, json, "sizeInBytes")),
            cardinality=_at_least_zero(name, "cardinality", m.integer(name, json, "cardinality")),
            offset=None if offset is None else _at_least_zero(name, "offset", offset),
        )

    def to_json(self) -> dict[str, Any]:
        """The descriptor as the log writes it."""
        return m.present(
            {
                "storageType": self.storage_type,
                "pathOrInlineDv": self.path_or_inline_dv,
                "offset": self.offset,
                "sizeInBytes": self.size_in_bytes,
                "cardinality": self.cardinality,
            }
        )


@dataclass(frozen=True, slots=True)
class AddFile:
    """A logical file that is in the table.

    `path` is as logged (percent-encoded), `partition_values` raw strings by physical name, `stats` JSON text, times
    milliseconds since the epoch.
    """

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

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong."""
        return cls(
            path=_path("add", json),
            partition_values=m.string_map("add", json, "partitionValues"),
            size=m.integer("add", json, "size"),
            modification_time=m.integer("add", json, "modificationTime"),
            data_change=m.boolean("add", json, "dataChange"),
            stats=m.optional_string("add", json, "stats"),
            tags=m.optional_string_map("add", json, "tags"),
            deletion_vector=_deletion_vector("add", json),
            base_row_id=m.optional_integer("add", json, "baseRowId"),
            default_row_commit_version=m.optional_integer("add", json, "defaultRowCommitVersion"),
            clustering_provider=m.optional_string("add", json, "clusteringProvider"),
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the log writes it."""
        return m.present(
            {
                "path": self.path,
                "partitionValues": dict(self.partition_values),
                "size": self.size,
                "modificationTime": self.modification_time,
                "dataChange": self.data_change,
                "stats": self.stats,
                "tags": _plain(self.tags),
                "deletionVector": self.deletion_vector.to_json() if self.deletion_vector else None,
                "baseRowId": self.base_row_id,
                "defaultRowCommitVersion": self.default_row_commit_version,
                "clusteringProvider": self.clustering_provider,
            }
        )


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """The tombstone of a logical file."""

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

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong."""
        return cls(
            path=_path("remove", json),
            data_change=m.boolean("remove", json, "dataChange"),
            deletion_timestamp=m.optional_integer("remove", json, "deletionTimestamp"),
            extended_file_metadata=m.optional_boolean("remove", json, "extendedFileMetadata"),
            partition_values=m.optional_string_map("remove", json, "partitionValues"),
            size=m.optional_integer("remove", json, "size"),
            stats=m.optional_string("remove", json, "stats"),
            tags=m.optional_string_map("remove", json, "tags"),
            deletion_vector=_deletion_vector("remove", json),
            base_row_id=m.optional_integer("remove", json, "baseRowId"),
            default_row_commit_version=m.optional_integer("remove", json, "defaultRowCommitVersion"),
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the log writes it."""
        return m.present(
            {
                "path": self.path,
                "deletionTimestamp": self.deletion_timestamp,
                "dataChange": self.data_change,
                "extendedFileMetadata": self.extended_file_metadata,
                "partitionValues": _plain(self.partition_values),
                "size": self.size,
                "stats": self.stats,
                "tags": _plain(self.tags),
                "deletionVector": self.deletion_vector.to_json() if self.deletion_vector else None,
                "baseRowId": self.base_row_id,
                "defaultRowCommitVersion": self.default_row_commit_version,
            }
        )


@dataclass(frozen=True, slots=True)
class AddCdcFile:
    """A file of row-level changes of one version."""

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    data_change: bool = False
    tags: Mapping[str, str | None] | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong."""
        return cls(
            path=_path("cdc", json),
            partition_values=m.string_map("cdc", json, "partitionValues"),
            size=m.integer("cdc", json, "size"),
            data_change=m.boolean("cdc", json, "dataChange"),
            tags=m.optional_string_map("cdc", json, "tags"),
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the log writes it."""
        return m.present(
            {
                "path": self.path,
                "partitionValues": dict(self.partition_values),
                "size": self.size,
                "dataChange": self.data_change,
                "tags": _plain(self.tags),
            }
        )


def _path(action: str, json: Mapping[str, Any]) -> str:
    path = m.string(action, json, "path")
    if not path:
        raise ValueError(f"{action}.path is empty")
    return path


def _deletion_vector(action: str, json: Mapping[str, Any]) -> DeletionVectorDescriptor | None:
    value = json.get("deletionVector")
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError(f"{action}.deletionVector is not an object")
    return DeletionVectorDescriptor.from_json(value)


def _at_least_zero(action: str, name: str, value: int) -> int:
    if value < 0:
        raise ValueError(f"{action}.{name} is negative: {value}")
    return value


def _plain(values: Mapping[str, str | None] | None) -> dict[str, str | None] | None:
    return None if values is None else dict(values)

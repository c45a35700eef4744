"""Actions about the table rather than its files.

# PROTOCOL, Actions
"""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from deltaskip.actions import members as m

__all__ = [
    "CheckpointMetadata",
    "CommitInfo",
    "DomainMetadata",
    "Format",
    "Metadata",
    "Protocol",
    "Sidecar",
    "Txn",
]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a client must implement. Feature lists are None where the log has none, which is not the empty list."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong."""
        return cls(
            min_reader_version=m.integer("protocol", json, "minReaderVersion"),
            min_writer_version=m.integer("protocol", json, "minWriterVersion"),
            reader_features=m.optional_string_list("protocol", json, "readerFeatures"),
            writer_features=m.optional_string_list("protocol", json, "writerFeatures"),
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the log writes it."""
        return m.present(
            {
                "minReaderVersion": self.min_reader_version,
                "minWriterVersion": self.min_writer_version,
                "readerFeatures": None if self.reader_features is None else list(self.reader_features),
                "writerFeatures": None if self.writer_features is None else list(self.writer_features),
            }
        )


@dataclass(frozen=True, slots=True)
class Format:
    """The encoding of the table's data files; always parquet today."""

    provider: str = "parquet"
    options: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The format in `json`; raises ValueError naming a member that is missing or wrong."""
        return cls(
            provider=m.string("metaData.format", json, "provider"),
            options=m.optional_string_map("metaData.format", json, "options") or {},
        )

    def to_json(self) -> dict[str, Any]:
        """The format as the log writes it."""
        return {"provider": self.provider, "options": dict(self.options)}


@dataclass(frozen=True, slots=True)
class Metadata:
    """The table's schema, partitioning and properties.

    `schema_string` is None where the log has none: delta-spark writes and reads such tables, which have no columns.
    """

    id: str
    format: Format
    schema_string: str | None
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    name: str | None = None
    description: str | None = None
    created_time: int | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong."""
        encoding = json.get("format")
        if not isinstance(encoding, Mapping):
            raise ValueError("metaData.format is missing or not an object")
        configuration = m.string_map("metaData", json, "configuration")
        return cls(
            id=m.string("metaData", json, "id"),
            format=Format.from_json(encoding),
            schema_string=m.optional_string("metaData", json, "schemaString"),
            partition_columns=m.string_list("metaData", json, "partitionColumns"),
            configuration={key: value for key, value in configuration.items() if value is not None},
            name=m.optional_string("metaData", json, "name"),
            description=m.optional_string("metaData", json, "description"),
            created_time=m.optional_integer("metaData", json, "createdTime"),
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the log writes it."""
        return m.present(
            {
                "id": self.id,
                "name": self.name,
                "description": self.description,
                "format": self.format.to_json(),
                "schemaString": self.schema_string,
                "partitionColumns": list(self.partition_columns),
                "configuration": dict(self.configuration),
                "createdTime": self.created_time,
            }
        )


@dataclass(frozen=True, slots=True)
class Txn:
    """How far an application has got with writing to the table."""

    app_id: str
    version: int
    last_updated: int | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong."""
        return cls(
            app_id=m.string("txn", json, "appId"),
            version=m.integer("txn", json, "version"),
            last_updated=m.optional_integer("txn", json, "lastUpdated"),
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the log writes it."""
        return m.present({"appId": self.app_id, "version": self.version, "lastUpdated": self.last_updated})


@dataclass(frozen=True, slots=True)
class DomainMetadata:
    """Configuration of one metadata domain, as text; `removed` makes it a tombstone."""

    domain: str
    configuration: str
    removed: bool = False

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong.

        The configuration is a string in today's protocol and a map in its draft; the map becomes its JSON text.
        """
        configuration = json.get("configuration")
        if isinstance(configuration, Mapping):
            configuration = json_text.dumps(configuration, ensure_ascii=False, separators=(",", ":"))
        return cls(
            domain=m.string("domainMetadata", json, "domain"),
            configuration=m.string("domainMetadata", {"configuration": configuration}, "configuration"),
            removed=m.optional_boolean("domainMetadata", json, "removed") or False,
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the log writes it."""
        return {"domain": self.domain, "configuration": self.configuration, "removed": self.removed}


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """Provenance of a commit: any JSON object; the properties read the members that have a meaning here.

    # PROTOCOL, Commit Provenance Information: "Implementations are free to store any valid JSON-formatted data"
    """

    members: Mapping[str, Any]

    @property
    def timestamp(self) -> int | None:
        """When the writer committed, in milliseconds since the epoch, by its own clock."""
        return _integer_or_none(self.members.get("timestamp"))

    @property
    def in_commit_timestamp(self) -> int | None:
        """The commit's time in milliseconds since the epoch where the table keeps in-commit timestamps."""
        return _integer_or_none(self.members.get("inCommitTimestamp"))

    @property
    def operation(self) -> str | None:
        """What the writer called its operation."""
        value = self.members.get("operation")
        return value if isinstance(value, str) else None

    @property
    def engine_info(self) -> str | None:
        """What wrote the commit."""
        value = self.members.get("engineInfo")
        return value if isinstance(value, str) else None

    @property
    def txn_id(self) -> str | None:
        """The unique id of the commit."""
        value = self.members.get("txnId")
        return value if isinstance(value, str) else None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`, every member kept."""
        return cls(dict(json))

    def to_json(self) -> dict[str, Any]:
        """The action as the log writes it, nulls left out."""
        return m.present(self.members)


@dataclass(frozen=True, slots=True)
class CheckpointMetadata:
    """First row of a V2 checkpoint: the version that it holds."""

    version: int
    tags: Mapping[str, str | None] | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong."""
        return cls(
            version=m.integer("checkpointMetadata", json, "version"),
            tags=m.optional_string_map("checkpointMetadata", json, "tags"),
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the checkpoint writes it."""
        return m.present({"version": self.version, "tags": None if self.tags is None else dict(self.tags)})


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file under _delta_log/_sidecars that holds file actions of a V2 checkpoint."""

    path: str
    size_in_bytes: int
    modification_time: int
    tags: Mapping[str, str | None] | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """The action in `json`; raises ValueError naming a member that is missing or wrong."""
        return cls(
            path=m.string("sidecar", json, "path"),
            size_in_bytes=m.integer("sidecar", json, "sizeInBytes"),
            modification_time=m.integer("sidecar", json, "modificationTime"),
            tags=m.optional_string_map("sidecar", json, "tags"),
        )

    def to_json(self) -> dict[str, Any]:
        """The action as the checkpoint writes it."""
        return m.present(
            {
                "path": self.path,
                "sizeInBytes": self.size_in_bytes,
                "modificationTime": self.modification_time,
                "tags": None if self.tags is None else dict(self.tags),
            }
        )


def _integer_or_none(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None

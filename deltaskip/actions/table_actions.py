"""Actions on the table: protocol, metadata, transactions, domains, and the actions of checkpoints.

# PROTOCOL, Actions
"""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from deltaskip.actions import members as m
from deltaskip.arguments import instance
from deltaskip.doors import NotCalled
from deltaskip.errors import InvalidArgument
from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class Protocol(NotCalled):
    """Versions and features that a client must support. A missing feature list is None, not an empty list."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """Parse the action. Raises InvalidArgument with the name of a missing or wrong member."""
        m.mapping("json", json)
        return cls(
            min_reader_version=m.integer("protocol", json, "minReaderVersion"),
            min_writer_version=m.integer("protocol", json, "minWriterVersion"),
            reader_features=m.optional_string_list("protocol", json, "readerFeatures"),
            writer_features=m.optional_string_list("protocol", json, "writerFeatures"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the action as JSON of the log."""
        return m.present(
            {
                "minReaderVersion": self.min_reader_version,
                "minWriterVersion": self.min_writer_version,
                "readerFeatures": m.written_list("reader_features", self.reader_features),
                "writerFeatures": m.written_list("writer_features", self.writer_features),
            }
        )


@dataclass(frozen=True, slots=True)
class Format:
    """The format of the table's data files; always parquet."""

    provider: str = "parquet"
    options: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """Parse the format. Raises InvalidArgument with the name of a missing or wrong member."""
        m.mapping("json", json)
        return cls(
            provider=m.string("metaData.format", json, "provider"),
            options=m.optional_string_map("metaData.format", json, "options") or {},
        )

    def to_json(self) -> dict[str, Any]:
        """Return the format as JSON of the log."""
        return {"provider": self.provider, "options": dict(m.mapping("options", self.options))}


@dataclass(frozen=True, slots=True)
class Metadata(NotCalled):
    """The table's schema, partitioning and properties.

    `schema_string` is None if the log has no schemaString: delta-spark writes and reads such tables without columns.
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
        """Parse the action. Raises InvalidArgument with the name of a missing or wrong member."""
        m.mapping("json", json)
        encoding = json.get("format")
        if not isinstance(encoding, Mapping):
            raise InvalidArgument("metaData.format is missing or not an object")
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
        """Return the action as JSON of the log."""
        return m.present(
            {
                "id": self.id,
                "name": self.name,
                "description": self.description,
                "format": instance("format", self.format, Format, "a Format").to_json(),
                "schemaString": self.schema_string,
                "partitionColumns": list(m.texts("partition_columns", self.partition_columns)),
                "configuration": dict(m.mapping("configuration", self.configuration)),
                "createdTime": self.created_time,
            }
        )


@dataclass(frozen=True, slots=True)
class Txn:
    """A transaction identifier: the last version that an application has written to the table."""

    app_id: str
    version: int
    last_updated: int | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """Parse the action. Raises InvalidArgument with the name of a missing or wrong member."""
        m.mapping("json", json)
        return cls(
            app_id=m.string("txn", json, "appId"),
            version=m.integer("txn", json, "version"),
            last_updated=m.optional_integer("txn", json, "lastUpdated"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the action as JSON of the log."""
        return m.present({"appId": self.app_id, "version": self.version, "lastUpdated": self.last_updated})


@dataclass(frozen=True, slots=True)
class DomainMetadata:
    """Configuration of a metadata domain, as text. `removed` makes it a tombstone."""

    domain: str
    configuration: str
    removed: bool = False

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """Parse the action. Raises InvalidArgument with the name of a missing or wrong member.

        The configuration is a string in the protocol and a map in its draft; a map becomes its JSON text.
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
        """Return the action as JSON of the log."""
        return {"domain": self.domain, "configuration": self.configuration, "removed": self.removed}


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """Provenance of a commit: any JSON object. The properties read known members.

    # PROTOCOL, Commit Provenance Information: "Implementations are free to store any valid JSON-formatted data"
    """

    members: Mapping[str, Any]

    @property
    def timestamp(self) -> int | None:
        """Time of the commit by the writer's clock, in milliseconds since the epoch."""
        return _integer_or_none(self.members.get("timestamp"))

    @property
    def in_commit_timestamp(self) -> int | None:
        """In-commit timestamp in milliseconds since the epoch; None if they are not enabled."""
        return _integer_or_none(self.members.get("inCommitTimestamp"))

    @property
    def operation(self) -> str | None:
        """Name of the operation, such as WRITE."""
        value = self.members.get("operation")
        return value if isinstance(value, str) else None

    @property
    def engine_info(self) -> str | None:
        """Name and version of the writer."""
        value = self.members.get("engineInfo")
        return value if isinstance(value, str) else None

    @property
    def txn_id(self) -> str | None:
        """Unique id of the commit."""
        value = self.members.get("txnId")
        return value if isinstance(value, str) else None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """Parse the action, and keep every member."""
        return cls(dict(m.mapping("json", json)))

    def to_json(self) -> dict[str, Any]:
        """Return the action as JSON of the log, without nulls."""
        return m.present(m.mapping("members", self.members))


@dataclass(frozen=True, slots=True)
class CheckpointMetadata:
    """Metadata of a V2 checkpoint: its version."""

    version: int
    tags: Mapping[str, str | None] | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """Parse the action. Raises InvalidArgument with the name of a missing or wrong member."""
        m.mapping("json", json)
        return cls(
            version=m.integer("checkpointMetadata", json, "version"),
            tags=m.optional_string_map("checkpointMetadata", json, "tags"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the action as JSON of the checkpoint."""
        return m.present({"version": self.version, "tags": m.written_map("tags", self.tags)})


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file under _delta_log/_sidecars with file actions of a V2 checkpoint."""

    path: str
    size_in_bytes: int
    modification_time: int
    tags: Mapping[str, str | None] | None = None

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """Parse the action. Raises InvalidArgument with the name of a missing or wrong member."""
        m.mapping("json", json)
        return cls(
            path=m.string("sidecar", json, "path"),
            size_in_bytes=m.integer("sidecar", json, "sizeInBytes"),
            modification_time=m.integer("sidecar", json, "modificationTime"),
            tags=m.optional_string_map("sidecar", json, "tags"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the action as JSON of the checkpoint."""
        return m.present(
            {
                "path": self.path,
                "sizeInBytes": self.size_in_bytes,
                "modificationTime": self.modification_time,
                "tags": m.written_map("tags", self.tags),
            }
        )


def _integer_or_none(value: Any) -> int | None:
    is_int64 = isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63
    return value if is_int64 else None

"""Actions on the table: protocol, metadata, transactions, domains, and the actions of checkpoints.

# PROTOCOL, Actions
"""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from deltaskip.actions import action_fields as a
from deltaskip.actions.members import JsonAction
from deltaskip.arguments import mapping
from deltaskip.doors import NotCalled
from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class Protocol(NotCalled, JsonAction):
    """Versions and features that a client must support. A missing feature list is None, not an empty list."""

    FIELDS = a.PROTOCOL_FIELDS

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Format(JsonAction):
    """The format of the table's data files; always parquet."""

    FIELDS = a.FORMAT_FIELDS

    provider: str = "parquet"
    options: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "options": values["options"] or {}}


JsonAction.NESTED[a.FORMAT] = Format


@dataclass(frozen=True, slots=True)
class Metadata(NotCalled, JsonAction):
    """The table's schema, partitioning and properties.

    `schema_string` is None if the log has no schemaString: delta-spark writes and reads such tables without columns.
    """

    FIELDS = a.METADATA_FIELDS

    id: str
    format: Format
    schema_string: str | None
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    name: str | None = None
    description: str | None = None
    created_time: int | None = None

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        given = values["configuration"].items()
        return {**values, "configuration": {key: value for key, value in given if value is not None}}


@dataclass(frozen=True, slots=True)
class Txn(JsonAction):
    """A transaction identifier: the last version that an application has written to the table."""

    FIELDS = a.TXN_FIELDS

    app_id: str
    version: int
    last_updated: int | None = None


@dataclass(frozen=True, slots=True)
class DomainMetadata(JsonAction):
    """Configuration of a metadata domain, as text. `removed` makes it a tombstone."""

    FIELDS = a.DOMAIN_METADATA_FIELDS

    domain: str
    configuration: str
    removed: bool = False

    @classmethod
    def _given(cls, json: Mapping[str, Any]) -> Mapping[str, Any]:
        # The configuration is a string in the protocol and a map in its draft.
        found = json.get("configuration")
        if not isinstance(found, Mapping):
            return json
        return {**json, "configuration": json_text.dumps(found, ensure_ascii=False, separators=(",", ":"))}

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "removed": values["removed"] or False}


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
        return cls(dict(mapping("json", json)))

    def to_json(self) -> dict[str, Any]:
        """Return the action as JSON of the log, without nulls."""
        return {name: value for name, value in mapping("members", self.members).items() if value is not None}


@dataclass(frozen=True, slots=True)
class CheckpointMetadata(JsonAction):
    """Metadata of a V2 checkpoint: its version."""

    FIELDS = a.CHECKPOINT_METADATA_FIELDS

    version: int
    tags: Mapping[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Sidecar(JsonAction):
    """A file under _delta_log/_sidecars with file actions of a V2 checkpoint."""

    FIELDS = a.SIDECAR_FIELDS

    path: str
    size_in_bytes: int
    modification_time: int
    tags: Mapping[str, str | None] | None = None


def _integer_or_none(value: Any) -> int | None:
    is_int64 = isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63
    return value if is_int64 else None

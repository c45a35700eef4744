"""Updates of the catalog's copy of a table's metadata: everything for a new table, the changes of a commit.

# Unity Catalog, ManagedTablesSpec, Write a Commit: changes of metadata are in the request of their commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaskip.actions import DomainMetadata, Protocol
from deltaskip.features.clustering import CLUSTERING_DOMAIN
from deltaskip.features.enabling import FEATURE_PREFIX, VERSION_PROPERTIES
from deltaskip.features.row_tracking import ROW_TRACKING_DOMAIN
from deltaskip.json_text import parse_json
from deltaskip.log import Kind, LogFile, Snapshot
from deltaskip.log.commit import last_commit_info, parse_contents, state_change
from deltaskip.log.file_names import commit_name
from deltaskip.log.state_actions import StateChange
from deltaskip.records import dataclass
from deltaskip.storage import LOG_FOLDER, FileInfo, join

# The server derives these; clients neither write them into the log nor send them.
_DERIVED = frozenset(
    (
        *VERSION_PROPERTIES, "delta.clusteringColumns",
        "delta.rowTracking.rowIdHighWaterMark", "delta.lastUpdateVersion", "delta.lastCommitTimestamp",
    )
)  # fmt: skip
_NAMES = {
    "elementType": "element-type",
    "containsNull": "contains-null",
    "keyType": "key-type",
    "valueType": "value-type",
    "valueContainsNull": "value-contains-null",
}


@dataclass(frozen=True, slots=True)
class ParsedCommit:
    """The changes of a commit other than file actions.

    Attributes:
        change: Protocol, metadata and domains of the commit.
        timestamp_ms: Time of the commit: its in-commit timestamp if it has one.
    """

    change: StateChange
    timestamp_ms: int


def parsed_commit(root: str, version: int, text: bytes) -> ParsedCommit:
    """Return the changes of the table in the text of a commit."""
    name = commit_name(version)
    file = LogFile(Kind.COMMIT, version, FileInfo(name, join(root, LOG_FOLDER, name), len(text), 0))
    commits = parse_contents(root, [file], memoryview(text), [0], ["path"])
    info = last_commit_info(commits)
    members = {} if info is None else info.members
    return ParsedCommit(state_change(commits), int(members.get("inCommitTimestamp") or members.get("timestamp") or 0))


def mirrored(before: Snapshot, change: StateChange) -> list[dict[str, Any]]:
    """Return the updates by which the catalog's copy follows a commit.

    Args:
        before: The version before the commit.
        change: The changes of the commit.
    """
    updates: list[dict[str, Any]] = []
    metadata, old = change.metadata, before.metadata
    if change.protocol is not None and change.protocol != before.protocol:
        updates.append({"action": "set-protocol", "protocol": _protocol(change.protocol)})
    if metadata is not None:
        if metadata.schema_string != old.schema_string:
            updates.append({"action": "set-columns", "columns": _columns(metadata.schema_string)})
        if metadata.partition_columns != old.partition_columns:
            updates.append({"action": "set-partition-columns", "partition-columns": list(metadata.partition_columns)})
        after, had = _own(metadata.configuration), _own(old.configuration)
        changed = {name: text for name, text in after.items() if had.get(name) != text}
        removed = sorted(name for name in had if name not in after)
        if changed:
            updates.append({"action": "set-properties", "updates": changed})
        if removed:
            updates.append({"action": "remove-properties", "removals": removed})
        if (metadata.description or "") != (old.description or ""):
            updates.append({"action": "set-table-comment", "comment": metadata.description or ""})
    domains = _domains(change.domains)
    if domains:
        updates.append({"action": "set-domain-metadata", "updates": domains})
    gone = sorted(name for name, domain in change.domains.items() if domain.removed and name in _MIRRORED)
    if gone:
        updates.append({"action": "remove-domain-metadata", "domains": gone})
    return updates


def creation_request(table: Snapshot, location: str, managed: bool, timestamp_ms: int) -> dict[str, Any]:
    """Return the request, without the name, that registers a table as it is.

    Args:
        table: The table.
        location: Its location in the server's spelling.
        managed: Whether the catalog will ratify its commits.
        timestamp_ms: Time of the version.
    """
    request: dict[str, Any] = {
        "location": location,
        "table-type": "MANAGED" if managed else "EXTERNAL",
        "columns": _columns(table.metadata.schema_string),
        "protocol": _protocol(table.protocol),
        "properties": _own(table.properties),
        "last-commit-timestamp-ms": timestamp_ms,
    }
    if table.metadata.description is not None:
        request["comment"] = table.metadata.description
    if table.partition_columns:
        request["partition-columns"] = list(table.partition_columns)
    domains = _domains(table.domains)
    if domains:
        request["domain-metadata"] = domains
    return request


def _own(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties without those that the server derives."""
    return {
        name: text for name, text in properties.items() if name not in _DERIVED and not name.startswith(FEATURE_PREFIX)
    }


def _protocol(protocol: Protocol) -> dict[str, Any]:
    found: dict[str, Any] = {
        "min-reader-version": protocol.min_reader_version,
        "min-writer-version": protocol.min_writer_version,
    }
    if protocol.reader_features is not None:
        found["reader-features"] = list(protocol.reader_features)
    if protocol.writer_features is not None:
        found["writer-features"] = list(protocol.writer_features)
    return found


def _columns(schema_string: str | None) -> Any:
    return _type({"type": "struct", "fields": []} if schema_string is None else parse_json(schema_string))


def _type(type_: Any) -> Any:
    """A type of the schema in the form of the API, which names the parts of arrays and maps differently."""
    if not isinstance(type_, dict):
        return type_
    if type_.get("type") == "struct":
        fields = type_.get("fields") or []
        return {"type": "struct", "fields": [_field(field) for field in fields]}
    return {_NAMES.get(name, name): _type(part) for name, part in type_.items()}


def _field(field: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": field["name"],
        "type": _type(field["type"]),
        "nullable": field.get("nullable", True),
        "metadata": field.get("metadata") or {},
    }


def _domains(domains: Mapping[str, DomainMetadata]) -> dict[str, Any]:
    """The domains that the API can represent, by name."""
    found: dict[str, Any] = {}
    for name, member in _MIRRORED.items():
        domain = domains.get(name)
        if domain is not None and not domain.removed:
            found[name] = {member: parse_json(domain.configuration)[member]}
    return found


_MIRRORED = {CLUSTERING_DOMAIN: "clusteringColumns", ROW_TRACKING_DOMAIN: "rowIdHighWaterMark"}

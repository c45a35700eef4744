"""Answers of the server of Unity Catalog, as values, and the request that registers an external table.

Each value is made from the JSON form that the API defines.

# Unity Catalog, api/delta.yaml 1.0 and api/all.yaml
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from deltaskip.errors import CatalogError
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.redaction import keep_options_secret
from deltaskip.sparkexpr.types import simple_string

_STAGED_NAME = regex(r"(\d{20})\.[0-9A-Za-z-]+\.json")
_TYPE_NAMES = {
    "boolean": "BOOLEAN", "byte": "BYTE", "short": "SHORT", "integer": "INT", "long": "LONG", "float": "FLOAT",
    "double": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP_NTZ",
    "string": "STRING", "binary": "BINARY", "variant": "VARIANT", "void": "NULL", "array": "ARRAY", "map": "MAP",
    "struct": "STRUCT",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableName:
    """The three parts of a table's name."""

    catalog: str
    schema: str
    table: str

    @property
    def full(self) -> str:
        """The parts with dots between them, as the older API names tables."""
        return f"{self.catalog}.{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class RatifiedCommit:
    """A commit that the catalog has ratified, and that may not be published yet.

    Attributes:
        version: Version of the table.
        timestamp: In-commit timestamp in milliseconds since the epoch.
        file_name: Name of its file below `_delta_log/_staged_commits`.
        file_size: Size of the file in bytes.
        modified_ms: Modification time of the file in milliseconds since the epoch.
    """

    version: int
    timestamp: int
    file_name: str
    file_size: int
    modified_ms: int

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> RatifiedCommit:
        """Return the commit of a JSON object. Raises CatalogError if it has no file that belongs to the version."""
        version = _int(answer, "version")
        if answer.get("file-name") is None:
            # PROTOCOL, Inline commit: its content is in the catalog, for which the API has no member.
            raise CatalogError(
                f"The server of the catalog names no file of the commit of version {version}: deltaskip reads no "
                f"inline commits, so publish the commit, and load the table again."
            )
        name = _text(answer, "file-name")
        found = _STAGED_NAME.fullmatch(name)
        if found is None or int(found[1]) != version:
            raise CatalogError(f"The server of the catalog names {name!r} as the commit of version {version}.")
        size, modified = _int(answer, "file-size"), _int(answer, "file-modification-timestamp")
        return cls(version, _int(answer, "timestamp"), name, size, modified)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the commit."""
        return {
            "version": self.version,
            "timestamp": self.timestamp,
            "file-name": self.file_name,
            "file-size": self.file_size,
            "file-modification-timestamp": self.modified_ms,
        }


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """The catalog's entry of a table.

    Attributes:
        uuid: Identifier of the table in the catalog.
        managed: Whether the catalog decides which commits the table has.
        location: URI of the table.
        etag: Changes whenever the catalog's entry does.
        properties: Properties of the table, with those that the server derives.
        partition_columns: Names of the partition columns.
        commits: Commits that may not be published, in ascending order.
        latest: The latest version; None if the server does not know it.
        permitted: Maintenance operations that clients may run in addition to those that the protocol permits.
    """

    uuid: str
    managed: bool
    location: str
    etag: str
    properties: Mapping[str, str]
    partition_columns: tuple[str, ...]
    commits: tuple[RatifiedCommit, ...]
    latest: int | None
    permitted: frozenset[str]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> LoadedTable:
        """Return the table of a JSON object. Raises CatalogError if it lacks what the API requires."""
        metadata = _object(answer, "metadata")
        listed = [RatifiedCommit.of(each) for each in answer.get("commits") or ()]
        commits = sorted(listed, key=lambda each: each.version)
        latest = answer.get("latest-table-version")
        managed = _text(metadata, "table-type") == "MANAGED"
        if not isinstance(latest, int):
            latest = None
        if managed and latest is None:
            raise CatalogError("The server of the catalog does not say which version of a managed table is the latest.")
        versions = [each.version for each in commits]
        if managed and versions and (latest is None or versions != list(range(versions[0], latest + 1))):
            raise CatalogError(
                f"The server of the catalog lists the versions {', '.join(map(str, versions))} as not published, and "
                f"{latest} as the latest."
            )
        return cls(
            _text(metadata, "table-uuid"),
            managed,
            _text(metadata, "location"),
            _text(metadata, "etag"),
            {name: str(value) for name, value in (metadata.get("properties") or {}).items()},
            tuple(metadata.get("partition-columns") or ()),
            tuple(commits),
            latest,
            frozenset(answer.get("allowed-maintenance-operations") or ()),
        )


@dataclass(frozen=True, slots=True)
class Credential:
    """Temporary credentials of a storage path.

    Attributes:
        prefix: Path for which they are valid.
        options: Storage options, named as for DeltaTable; empty where the storage needs none.
        expires_ms: When they expire, in milliseconds since the epoch; None if they do not.
    """

    prefix: str
    options: Mapping[str, str] = field(repr=False)
    expires_ms: int | None

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Credential:
        """Return the credentials of a JSON object."""
        config = answer.get("config") or {}
        options = {option: str(config[key]) for key, option in _OPTIONS.items() if config.get(key)}
        keep_options_secret(options)
        expires = answer.get("expiration-time-ms")
        return cls(str(answer.get("prefix") or ""), options, None if expires is None else int(expires))

    @classmethod
    def of_older(cls, answer: Mapping[str, Any]) -> Credential:
        """Return the credentials of a JSON object of the older API."""
        config = {key: (answer.get(group) or {}).get(member) for key, (group, member) in _OLDER.items()}
        return cls.of({"prefix": "", "config": config, "expiration-time-ms": answer.get("expiration_time")})


_OPTIONS = {
    "s3.access-key-id": "aws_access_key_id",
    "s3.secret-access-key": "aws_secret_access_key",
    "s3.session-token": "aws_session_token",
    "azure.sas-token": "azure_storage_sas_key",
    "gcs.oauth-token": "google_bearer_token",
}
_OLDER = {
    "s3.access-key-id": ("aws_temp_credentials", "access_key_id"),
    "s3.secret-access-key": ("aws_temp_credentials", "secret_access_key"),
    "s3.session-token": ("aws_temp_credentials", "session_token"),
    "azure.sas-token": ("azure_user_delegation_sas", "sas_token"),
    "gcs.oauth-token": ("gcp_oauth_token", "oauth_token"),
}


@dataclass(frozen=True, slots=True)
class ProtocolOffer:
    """Table features and properties that the catalog requires or suggests for a new table.

    Attributes:
        features: Names of the features.
        properties: Properties by name; None where the writer chooses the value.
    """

    features: tuple[str, ...]
    properties: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class StagingTable:
    """The location of a new table.

    Attributes:
        uuid: Identifier that the table will have in the catalog.
        location: URI of its folder.
        required: Protocol and properties that version 0 must have.
        suggested: Protocol and properties that version 0 should have.
        credentials: Credentials of the location.
    """

    uuid: str
    location: str
    required: ProtocolOffer
    suggested: ProtocolOffer
    credentials: tuple[Credential, ...]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> StagingTable:
        """Return the location of a JSON object. Raises CatalogError if it lacks what the API requires."""
        return cls(
            _text(answer, "table-id"),
            _text(answer, "location"),
            ProtocolOffer(_features(_object(answer, "required-protocol")), _object(answer, "required-properties")),
            ProtocolOffer(_features(answer.get("suggested-protocol") or {}), answer.get("suggested-properties") or {}),
            tuple(Credential.of(each) for each in answer.get("storage-credentials") or ()),
        )


def entry(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a catalog, schema or table of the older API. Raises CatalogError without a name or valid properties."""
    _text(answer, "name")
    if answer.get("properties") is not None:
        _object(answer, "properties")
    for name in ("storage_location", "data_source_format", "table_type", "table_id", "comment"):
        if answer.get(name) is not None and not isinstance(answer[name], str):
            raise _malformed(name)
    return answer


def _features(protocol: Mapping[str, Any]) -> tuple[str, ...]:
    named = dict.fromkeys([*(protocol.get("reader-features") or ()), *(protocol.get("writer-features") or ())])
    return tuple(named)


def _object(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = answer.get(name)
    if not isinstance(value, Mapping):
        raise _malformed(name)
    return value


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not value:
        raise _malformed(name)
    return value


def _int(answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _malformed(name)
    return value


def _malformed(name: str) -> CatalogError:
    return CatalogError(f"The answer of the catalog's server lacks {name}, or has another type there.")


def external_request(name: TableName, table: Snapshot, location: str) -> dict[str, Any]:
    """Return the request that registers an external table with a server that lacks the Delta API.

    # Unity Catalog, api/all.yaml, CreateTable
    """
    request: dict[str, Any] = {
        "name": name.table,
        "catalog_name": name.catalog,
        "schema_name": name.schema,
        "table_type": "EXTERNAL",
        "data_source_format": "DELTA",
        "storage_location": location,
        "properties": dict(table.properties),
        "columns": _columns(table),
    }
    if table.metadata.description is not None:
        request["comment"] = table.metadata.description
    return request


def _columns(table: Snapshot) -> list[dict[str, Any]]:
    fields = parse_json(table.metadata.schema_string or '{"fields": []}')["fields"]
    found = []
    for position, (json_field, typed) in enumerate(zip(fields, table.schema.fields, strict=True)):
        kind = json_field["type"] if isinstance(json_field["type"], str) else json_field["type"]["type"]
        column = {
            "name": json_field["name"],
            "type_text": simple_string(typed.type, typed),
            "type_json": json.dumps(json_field, ensure_ascii=False, separators=(",", ":")),
            "type_name": "DECIMAL" if kind.startswith("decimal") else _TYPE_NAMES.get(kind, "STRING"),
            "position": position,
            "nullable": bool(json_field.get("nullable", True)),
        }
        if kind.startswith("decimal("):
            precision, scale = kind.removeprefix("decimal(").rstrip(")").split(",")
            column |= {"type_precision": int(precision), "type_scale": int(scale)}
        if isinstance(json_field.get("metadata", {}).get("comment"), str):
            column["comment"] = json_field["metadata"]["comment"]
        if json_field["name"] in table.partition_columns:
            column["partition_index"] = table.partition_columns.index(json_field["name"])
        found.append(column)
    return found

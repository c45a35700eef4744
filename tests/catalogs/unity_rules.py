"""What a server of Unity Catalog's Delta API (0.7) holds of a table, and the rules that it checks requests by.

Every body and answer of the Delta API is checked against the models of `unitycatalog.delta`, and those of the older API
against `unitycatalog.client`: names, types and required members, and that nothing else is there.
"""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter
from unitycatalog.delta.internal.serde import delta_data_type_module as serde

from deltaskip.storage import Storage, join, open_storage


class _Models:
    """The models of `unitycatalog.delta.models`, which is a folder without a module of its own."""

    def __getattr__(self, name: str) -> Any:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        return getattr(import_module(f"unitycatalog.delta.models.{words}"), name)


delta = _Models()
MOST_UNPUBLISHED = 10
NAME = re.compile(r"[a-zA-Z0-9_@-]{1,255}")

FEATURES = {
    "catalogManaged": True, "v2Checkpoint": True, "vacuumProtocolCheck": True, "deletionVectors": True,
    "inCommitTimestamp": False,
}  # fmt: skip
SUGGESTED_FEATURES = {"columnMapping": True, "domainMetadata": False, "rowTracking": False}
FIXED = {
    "delta.checkpointPolicy": "v2", "delta.enableDeletionVectors": "true", "delta.enableInCommitTimestamps": "true",
    "delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "true",
}  # fmt: skip
SUGGESTED = {
    "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": None, "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": None,
    "delta.rowTracking.materializedRowCommitVersionColumnName": None,
    "delta.randomizeFilePrefixes": "true", "delta.parquet.compression.codec": "zstd",
}  # fmt: skip
TABLE_ID = "io.unitycatalog.tableId"
DERIVED = (
    "delta.minReaderVersion", "delta.minWriterVersion", "delta.clusteringColumns",
    "delta.rowTracking.rowIdHighWaterMark", "delta.lastUpdateVersion", "delta.lastCommitTimestamp",
)  # fmt: skip
ENDPOINTS = [
    "POST /v1/catalogs/{catalog}/schemas/{schema}/staging-tables",
    "POST /v1/catalogs/{catalog}/schemas/{schema}/tables",
    "GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}",
    "POST /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}",
    "DELETE /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}",
    "HEAD /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}",
    "POST /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}/rename",
    "GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}/credentials",
    "POST /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}/metrics",
    "GET /v1/staging-tables/{table_id}/credentials",
    "GET /v1/temporary-path-credentials",
]
UPDATES = {
    "add-commit": delta.DeltaAddCommitUpdate,
    "remove-domain-metadata": delta.DeltaRemoveDomainMetadataUpdate,
    "remove-properties": delta.DeltaRemovePropertiesUpdate,
    "set-columns": delta.DeltaSetSchemaUpdate,
    "set-domain-metadata": delta.DeltaSetDomainMetadataUpdate,
    "set-latest-backfilled-version": delta.DeltaSetLatestBackfilledVersionUpdate,
    "set-partition-columns": delta.DeltaSetPartitionColumnsUpdate,
    "set-properties": delta.DeltaSetPropertiesUpdate,
    "set-protocol": delta.DeltaSetProtocolUpdate,
    "set-table-comment": delta.DeltaSetTableCommentUpdate,
    "update-metadata-snapshot-version": delta.DeltaUpdateSnapshotVersionUpdate,
}
REQUIREMENTS = {"assert-table-uuid": delta.DeltaAssertTableUUID, "assert-etag": delta.DeltaAssertEtag}


class Refusal(Exception):
    """An error that the server answers with."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class Lost(Exception):
    """The connection ends without an answer."""


def invalid(message: str) -> Refusal:
    return Refusal(400, "InvalidParameterValueException", message)


def check_model(model: Any, value: Any, path: str = "") -> None:
    """Raise invalid unless a JSON object is one of a generated model: members by their wire names, and no others.

    The generated `from_dict` of a model that extends another one reads none of its own members, so that members are
    checked one by one, each against the type that the model declares.
    """
    where = f"{path or model.__name__}"
    if not isinstance(value, dict):
        raise invalid(f"{where} is not an object: {value!r}")
    fields = {info.alias or name: info for name, info in model.model_fields.items()}
    if set(value) - set(fields):
        raise invalid(f"{where} has members that the API does not define: {sorted(set(value) - set(fields))}")
    for name, info in fields.items():
        if value.get(name) is None:
            if info.is_required() and (name, model.__name__) not in NULL_IN_PRACTICE:
                raise invalid(f"{where} lacks {name}")
            continue
        _check_member(info.annotation, value[name], f"{where}.{name}")


NULL_IN_PRACTICE = {("expiration-time-ms", "DeltaStorageCredential")}
"""Members that the model requires, and that the open server leaves null."""


def _check_member(annotation: Any, value: Any, where: str) -> None:
    models = [annotation, *get_args(annotation), *map(_of_list, get_args(annotation))]
    nested = next((each for each in models if isinstance(each, type) and issubclass(each, BaseModel)), None)
    if nested is None:
        try:
            TypeAdapter(annotation).validate_python(value)
        except ValueError as error:
            raise invalid(f"{where}: {error}") from error
    elif nested.__name__ in ("DeltaStructType", "DeltaDataType"):
        check_type(value)
    elif nested.__name__ in ("DeltaTableUpdate", "DeltaTableRequirement"):
        known = UPDATES if nested.__name__ == "DeltaTableUpdate" else REQUIREMENTS
        once(value, "action" if known is UPDATES else "type", known)
    elif nested.__name__ != "DeltaStructFieldMetadata":
        for each in value if isinstance(value, list) else [value]:
            check_model(nested, each, where)
    elif not isinstance(value, dict):
        raise invalid(f"{where} is not an object")


def _of_list(annotation: Any) -> Any:
    return next(iter(get_args(annotation)), None)


def check_type(type_: Any) -> None:
    """Check a type, whose parts have the names of the API, and not those of the log; a primitive type is a text."""
    if isinstance(type_, dict):
        names = {"struct": "DeltaStructType", "array": "DeltaArrayType", "map": "DeltaMapType"}
        model = names.get(type_.get("type", ""))
        if model is None:
            raise invalid(f"type {type_.get('type')}")
        check_model(getattr(delta, model), type_)
    elif not isinstance(type_, str) or type_ in ("struct", "array", "map"):
        raise invalid(f"type {type_!r}")
    serde._parse_type(type_)


def check_columns(columns: Any) -> None:
    """Check the columns of a table."""
    check_type(columns)
    if not columns["fields"]:
        raise invalid("set-columns requires at least one column.")
    names = [each["name"].lower() for each in columns["fields"]]
    if len(set(names)) < len(names):
        raise invalid("duplicate column")


@dataclass
class Table:
    """A table, or one that is staged."""

    uuid: str
    location: str
    managed: bool
    name: str = ""
    comment: str | None = None
    columns: Any = None
    partition_columns: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    commits: list[dict[str, Any]] = field(default_factory=list)
    latest: int = 0
    created: int = 0
    updates: int = 0
    storage_options: dict[str, str] | None = None

    @property
    def etag(self) -> str:
        return f"etag-{self.uuid[:8]}-{self.updates}"

    def _open(self) -> tuple[Storage, str]:
        return open_storage(self.location, None if self.location.startswith("file:") else self.storage_options)

    @property
    def folder(self) -> Path:
        return Path(self._open()[1])

    def has(self, *names: str) -> bool:
        """Whether there is a file in the log."""
        storage, root = self._open()
        return storage.exists(join(root, "_delta_log", *names))

    def read(self, *names: str) -> bytes:
        """A file of the log."""
        storage, root = self._open()
        return storage.read(join(root, "_delta_log", *names))

    def delete(self) -> None:
        """Delete the folder."""
        storage, root = self._open()
        storage.delete_directory(root)


DOMAINS = {"delta.clustering": "delta.clusteringColumns", "delta.rowTracking": "delta.rowTracking.rowIdHighWaterMark"}


def now() -> int:
    return time.time_ns() // 1_000_000


def once(given: Any, key: str, models: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in given:
        kind = each.get(key)
        if kind not in models:
            raise Refusal(400, "BadRequestException", f"Unknown {key}: {kind}")
        if kind in found:
            raise invalid(f"At most one {kind} is allowed per request.")
        check_model(models[kind], each)
        found[kind] = each
    return found


def check_updates(updates: Mapping[str, Any]) -> None:
    if "set-columns" in updates:
        check_columns(updates["set-columns"]["columns"])
    if "set-protocol" in updates:
        check_model(delta.DeltaProtocol, updates["set-protocol"]["protocol"])
    if "add-commit" in updates:
        check_model(delta.DeltaCommit, updates["add-commit"]["commit"])
    if "set-domain-metadata" in updates:
        domains = updates["set-domain-metadata"]["updates"]
        check_model(delta.DeltaDomainMetadataUpdates, domains)
        if not domains:
            raise invalid("set-domain-metadata requires at least one domain entry.")
        _check_domain_forms(domains)
    changed = updates.get("set-properties", {}).get("updates", {})
    removed = updates.get("remove-properties", {}).get("removals", [])
    check_sent({**changed, **dict.fromkeys(removed, "")})
    if set(changed) & set(removed):
        raise invalid("set-properties and remove-properties overlap on keys")


def _check_domain_forms(domains: Mapping[str, Any]) -> None:
    if "delta.clustering" in domains:
        check_model(delta.DeltaClusteringDomainMetadata, domains["delta.clustering"])
    if "delta.rowTracking" in domains:
        check_model(delta.DeltaRowTrackingDomainMetadata, domains["delta.rowTracking"])


def check_sent(properties: Mapping[str, Any]) -> None:
    """Clients must not send what the server derives."""
    wrong = [name for name in properties if name in DERIVED or name.startswith("delta.feature.")]
    if wrong:
        raise invalid(f"derived properties were sent: {wrong}")
    if not all(isinstance(value, str) for value in properties.values()):
        raise invalid("properties are texts")


def check_domains(features: set[str], domains: Mapping[str, Any]) -> None:
    for domain, feature in (("delta.clustering", "clustering"), ("delta.rowTracking", "rowTracking")):
        if domain in domains and feature not in features:
            raise invalid(f"domain-metadata.{domain} requires the '{feature}' writer feature.")


def check_contract(protocol: Any, domains: Any, properties: Mapping[str, str], uuid: str) -> None:
    readers, writers = set(protocol.get("reader-features") or ()), set(protocol.get("writer-features") or ())
    if not readers <= writers:
        raise invalid("reader-features that are not writer-features")
    if protocol["min-reader-version"] < 3 or protocol["min-writer-version"] < 7:
        raise invalid("MANAGED table protocol versions")
    for name, both in FEATURES.items():
        if name not in writers or (both and name not in readers):
            raise invalid(f"MANAGED table missing required feature '{name}'.")
    check_domains(writers, domains)
    for name, value in FIXED.items():
        if properties.get(name) != value:
            raise invalid(f"MANAGED table required property '{name}' must be '{value}'.")
    if properties.get(TABLE_ID) != uuid:
        raise invalid(f"the table id ({uuid}) does not match the properties {TABLE_ID}({properties.get(TABLE_ID)}).")


def derive(properties: dict[str, str], protocol: Any, domains: Mapping[str, Any]) -> None:
    if protocol is not None:
        properties["delta.minReaderVersion"] = str(protocol["min-reader-version"])
        properties["delta.minWriterVersion"] = str(protocol["min-writer-version"])
        for name in {*(protocol.get("reader-features") or ()), *(protocol.get("writer-features") or ())}:
            properties[f"delta.feature.{name}"] = "supported"
    _check_domain_forms(domains)
    if "delta.clustering" in domains:
        properties["delta.clusteringColumns"] = json.dumps(domains["delta.clustering"]["clusteringColumns"])
    if "delta.rowTracking" in domains:
        properties[DOMAINS["delta.rowTracking"]] = str(domains["delta.rowTracking"]["rowIdHighWaterMark"])


def partition_names(columns: Any, names: list[str]) -> list[str]:
    known = {each["name"].lower() for each in columns["fields"]}
    for name in names:
        if name.lower() not in known:
            raise invalid(f"partition-columns references unknown column: {name}")
    return names


def is_replay(table: Table, commit: Any) -> bool:
    """Whether the commit was accepted before: by its file name, or by its text once it is published."""
    known = next((each for each in table.commits if each["version"] == commit["version"]), None)
    if known is not None:
        return bool(known["file-name"] == commit["file-name"])
    if commit["version"] > table.latest:
        return False
    try:
        return table.read(f"{commit['version']:020}.json") == table.read("_staged_commits", commit["file-name"])
    except OSError as error:
        raise Refusal(500, "CommitStateUnknownException", f"unable to read the commits: {error}") from error


def committed(table: Table, commit: Any, published: int | None) -> tuple[list[dict[str, Any]], int]:
    """Commits and latest version after a commit, a publication, or both."""
    commits, latest = table.commits, table.latest
    if commit is not None:
        if min(commit["version"], commit["timestamp"], commit["file-size"], commit["file-modification-timestamp"]) <= 0:
            raise invalid("Field must be positive")
        if commit["version"] <= latest:
            message = f"Commit version already accepted. Current table version is {latest}"
            raise Refusal(409, "CommitVersionConflictException", message)
        if commit["version"] > latest + 1:
            raise invalid(f"Commit version must be the next version after the latest commit {latest}")
        if "/" in commit["file-name"] or not table.has("_staged_commits", commit["file-name"]):
            raise AssertionError("a commit was proposed that is not staged")
    if published is not None:
        if published > latest:
            raise invalid(f"Should not backfill version {published} while the last version committed is {latest}")
        if latest == 0 and commit is None:
            raise invalid("Backfill request requires a prior commit; the table's commit log is empty.")
        for version in [each["version"] for each in commits if each["version"] <= published]:
            assert table.has(f"{version:020}.json"), f"{version} is not published"
        commits = [each for each in commits if each["version"] > published]
    if commit is not None:
        if len(commits) >= MOST_UNPUBLISHED:
            raise Refusal(429, "ResourceExhaustedException", f"Max number of commits per table reached: {table.uuid}")
        commits, latest = [*commits, commit], commit["version"]
    return commits, latest

"""Rules of the Delta protocol for commits, checked with a replay of its own that knows nothing of deltaskip.

# PROTOCOL, Actions, Row Tracking, Deletion Vectors, Change Data Files, In-Commit Timestamps, Version Checksum File
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.reference.histories.model import Change, Model

Action = dict[str, Any]
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
BOTH = {"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck"}
LEGACY = {
    "appendOnly": 2, "invariants": 2, "checkConstraints": 3, "changeDataFeed": 4, "generatedColumns": 4,
    "columnMapping": 5, "identityColumns": 6,
}  # fmt: skip
PROPERTIES = {
    "delta.enableDeletionVectors": "deletionVectors", "delta.enableChangeDataFeed": "changeDataFeed",
    "delta.enableRowTracking": "rowTracking", "delta.enableInCommitTimestamps": "inCommitTimestamp",
    "delta.enableTypeWidening": "typeWidening", "delta.appendOnly": "appendOnly",
}  # fmt: skip
KEEPS_DATA = {"OPTIMIZE", "VACUUM START", "VACUUM END", "REORG", "COMPUTE STATS"}


def on_disk(folder: Path, path: str) -> Path:
    """Where a path of the log is."""
    name = unquote(path)
    return Path("/" + name.removeprefix("file:").lstrip("/")) if name.startswith("file:") else folder / name


def fields_of(struct: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The fields of a schema in JSON, also nested ones."""

    def below(kind: Any) -> Iterator[Mapping[str, Any]]:
        if isinstance(kind, dict):
            yield from fields_of(kind)
            for part in ("elementType", "keyType", "valueType"):
                yield from below(kind.get(part))

    for field in struct.get("fields", ()):
        yield field
        yield from below(field["type"])


class LogRules:
    """The log of a table, replayed commit by commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = -1
        self.active: dict[str, Action] = {}
        self.ever: set[str] = set()
        self.metadata: Action = {}
        self.protocol: Action = {}
        self.domains: dict[str, Any] = {}
        self.timestamp = 0
        self.mark = -1
        self.ranges: dict[int, int] = {}
        self.largest_id = 0
        self.written_by: dict[str, str] = {}
        self.files_at: dict[int, dict[str, Action]] = {}
        self.commits: dict[int, dict[str, list[Action]]] = {}
        self.new_adds: list[Action] = []
        self.problems: list[str] = []

    def advance(self, change: Change, model: Model) -> list[str]:
        """Replay the new commits. Returns what is wrong with them."""
        self.problems, self.new_adds = [], []
        while (file := self.folder / "_delta_log" / f"{self.version + 1:020}.json").exists():
            self.version += 1
            actions = [json.loads(line, parse_float=Decimal) for line in file.read_text("utf-8").splitlines() if line]
            self._commit([next(iter(action.items())) for action in actions], change)
        return self.problems

    def wrong(self, text: str) -> None:
        """Remember a violation."""
        self.problems.append(f"version {self.version}: {text}")

    def _commit(self, actions: list[tuple[str, Action]], change: Change) -> None:
        by_kind: dict[str, list[Action]] = {}
        for kind, action in actions:
            by_kind.setdefault(kind, []).append(action)
        self.commits[self.version] = by_kind
        for kind in ("metaData", "protocol", "commitInfo"):
            if len(by_kind.get(kind, ())) > 1:
                self.wrong(f"several {kind} actions")
        before = self.metadata
        self.protocol = by_kind.get("protocol", [self.protocol])[0]
        self.metadata = by_kind.get("metaData", [self.metadata])[0]
        info = by_kind.get("commitInfo", [{}])[0]
        self._info(info, actions, change, by_kind)
        self._domains(by_kind.get("domainMetadata", []))
        if "metaData" in by_kind:
            self._metadata(before)
        self._protocol()
        self._files(by_kind.get("add", []), by_kind.get("remove", []), info)
        for cdc in by_kind.get("cdc", []):
            self._change_file(cdc)
        self._checksum()
        self.files_at[self.version] = dict(self.active)

    @property
    def configuration(self) -> Mapping[str, str]:
        return self.metadata.get("configuration", {})

    @property
    def features(self) -> set[str]:
        """Writer features that are listed or that the version implies."""
        if self.protocol["minWriterVersion"] >= 7:
            return set(self.protocol.get("writerFeatures", []))
        return {name for name, version in LEGACY.items() if version <= self.protocol["minWriterVersion"]}

    def _info(
        self, info: Action, actions: list[tuple[str, Action]], change: Change, by_kind: Mapping[str, Any]
    ) -> None:
        operation = info.get("operation")
        if change.operation == "VACUUM":
            if operation not in ("VACUUM START", "VACUUM END"):
                self.wrong(f"operation {operation} of a VACUUM")
        elif change.operation is not None and operation != change.operation:
            self.wrong(f"operation {operation}, not {change.operation}")
        if self.configuration.get("delta.enableInCommitTimestamps") == "true":
            if actions[0][0] != "commitInfo":
                self.wrong("commitInfo is not first in a table with in-commit timestamps")
            stamp = info.get("inCommitTimestamp")
            if stamp is None or stamp <= self.timestamp:
                self.wrong(f"inCommitTimestamp {stamp} after {self.timestamp}")
            self.timestamp = stamp or self.timestamp
        for name in ("operationParameters", "operationMetrics"):
            texts = info.get(name, {})
            # delta-spark has numbers in CREATE TABLE's and others' parameters; its reader takes both.
            if name == "operationMetrics" and not all(isinstance(value, str) for value in texts.values()):
                self.wrong(f"{name} are not texts: {texts}")
        metrics = info.get("operationMetrics", {})
        if change.operation is not None or operation in ("WRITE", "STREAMING UPDATE"):
            for name, value in change.metrics.items():
                if name in metrics and int(metrics[name]) != value:
                    self.wrong(f"{operation}: {name} is {metrics[name]}, not {value}")
                if name not in metrics:
                    self.wrong(f"{operation} has no metric {name}: {metrics}")
        self._change(str(operation), info, by_kind)
        deleted = metrics.get("numDeletedRows")
        if operation == "DELETE" and deleted is not None and int(deleted) != len(change.deleted):
            self.wrong(f"numDeletedRows is {deleted}, not {len(change.deleted)}")
        if operation == "OPTIMIZE":
            counts = {"numAddedFiles": len(by_kind.get("add", [])), "numRemovedFiles": len(by_kind.get("remove", []))}
            if any(int(metrics.get(name, -1)) != value for name, value in counts.items()):
                self.wrong(f"OPTIMIZE: metrics {metrics}, but {counts}")

    def _change(self, operation: str, info: Action, by_kind: Mapping[str, Any]) -> None:
        """What the commits of both writers have beside the rows of a change."""
        properties, metrics = self.configuration, info.get("operationMetrics", {})
        if operation == "OPTIMIZE" and "cdc" in by_kind:
            self.wrong("OPTIMIZE has change files")
        if operation != "UPDATE":
            return
        if ("cdc" in by_kind) != (properties.get("delta.enableChangeDataFeed") == "true"):
            self.wrong(f"UPDATE has the actions {[*by_kind]}")
        ours = str(info.get("engineInfo")).startswith("deltaskip")
        copied = metrics.get("numCopiedRows")
        if copied is None or (ours and properties.get("delta.enableDeletionVectors") == "true" and copied != "0"):
            self.wrong(f"UPDATE copied {copied} rows")
        tracked = properties.get("delta.enableRowTracking") == "true"
        if tracked and info.get("tags") != {"delta.rowTracking.preserved": "true"}:
            self.wrong(f"the tags of UPDATE are {info.get('tags')}")

    def _domains(self, domains: list[Action]) -> None:
        names = [d["domain"] for d in domains]
        if len(set(names)) != len(names):
            self.wrong(f"a domain twice: {names}")
        for domain in domains:
            if domain["removed"]:
                self.domains.pop(domain["domain"], None)
            else:
                self.domains[domain["domain"]] = json.loads(domain["configuration"] or "{}")
        if domains and "domainMetadata" not in self.features:
            self.wrong("domainMetadata without its feature")
        mark = self.domains.get("delta.rowTracking", {}).get("rowIdHighWaterMark", -1)
        if mark < self.mark:
            self.wrong(f"the mark of row ids fell from {self.mark} to {mark}")

    def _metadata(self, before: Action) -> None:
        schema = json.loads(self.metadata["schemaString"])
        mode = self.configuration.get("delta.columnMapping.mode", "none")
        if mode != "none":
            fields = [*fields_of(schema)]
            ids = [f["metadata"].get("delta.columnMapping.id") for f in fields]
            largest = int(self.configuration.get("delta.columnMapping.maxColumnId", -1))
            if None in ids or len(set(ids)) != len(ids) or max(ids) > largest or largest < self.largest_id:
                self.wrong(f"column ids {ids}, largest {largest} after {self.largest_id}")
            self.largest_id = largest
            top = [f["metadata"].get("delta.columnMapping.physicalName") for f in schema["fields"]]
            if None in top or len(set(top)) != len(top):
                self.wrong(f"physical names {top}")
        if before:
            if before["id"] != self.metadata["id"]:
                self.wrong("the table's id changed")
            self._identity_marks(json.loads(before["schemaString"]), schema)

    def _identity_marks(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        key = "delta.identity.highWaterMark"
        marks = {f["name"]: f["metadata"] for f in before["fields"] if key in f["metadata"]}
        for field in now["fields"]:
            if field["name"] in marks:
                old, new = marks[field["name"]][key], field["metadata"].get(key)
                step = field["metadata"]["delta.identity.step"]
                if new is None or (new - old) * step < 0:
                    self.wrong(f"the mark of identity column {field['name']} went from {old} to {new}")

    def _protocol(self) -> None:
        needed = {feature for name, feature in PROPERTIES.items() if self.configuration.get(name) == "true"}
        needed |= {"columnMapping"} if self.configuration.get("delta.columnMapping.mode", "none") != "none" else set()
        needed |= {"v2Checkpoint"} if self.configuration.get("delta.checkpointPolicy") == "v2" else set()
        needed |= {"checkConstraints"} if any(k.startswith("delta.constraints.") for k in self.configuration) else set()
        needed |= {"clustering"} if "delta.clustering" in self.domains else set()
        for field in fields_of(json.loads(self.metadata["schemaString"])):
            metadata = field["metadata"]
            needed |= {"generatedColumns"} if "delta.generationExpression" in metadata else set()
            needed |= {"identityColumns"} if "delta.identity.start" in metadata else set()
            needed |= {"allowColumnDefaults"} if "CURRENT_DEFAULT" in metadata else set()
            needed |= {"typeWidening"} if "delta.typeChanges" in metadata else set()
            needed |= {"timestampNtz"} if "timestamp_ntz" in json.dumps(field["type"]) else set()
            needed |= set() if field["nullable"] else {"invariants"}
        needed |= {"domainMetadata"} if needed & {"rowTracking", "clustering"} else set()
        listed = {name.removesuffix("-preview") for name in self.features}
        if needed - listed:
            self.wrong(f"the protocol {self.protocol} lacks {needed - listed}")
        if self.protocol["minReaderVersion"] >= 3:
            readers = set(self.protocol.get("readerFeatures", []))
            if readers - self.features or {f for f in self.features if f in BOTH} - readers:
                self.wrong(f"reader features {readers}, writer features {self.features}")

    def _files(self, adds: list[Action], removes: list[Action], info: Action) -> None:
        operation = info.get("operation")
        for kind, actions in (("add", adds), ("remove", removes)):
            twice = [path for path, n in Counter(a["path"] for a in actions).items() if n > 1]
            if twice:
                self.wrong(f"two {kind} actions of one path: {twice}")
            keeps = [a["path"] for a in actions if not a["dataChange"]]
            if (operation in KEEPS_DATA) != bool(keeps) and actions:
                self.wrong(f"{operation}: {kind} with dataChange false: {keeps} of {len(actions)}")
        removed = {}
        for remove in removes:
            old = self.active.pop(remove["path"], None)
            removed[remove["path"]] = old
            if old is None:
                self.wrong(f"remove of {remove['path']}, which is not there")
                continue
            if _vector(old) != _vector(remove):
                self.wrong(f"remove of {remove['path']} has the vector {_vector(remove)}, the file {_vector(old)}")
            if remove.get("extendedFileMetadata"):
                values, given = old["partitionValues"], remove.get("partitionValues", {})
                # delta-spark leaves NULL out.
                if remove.get("size") != old["size"] or {key: given.get(key) for key in values} != values:
                    self.wrong(f"remove {remove} differs from add {old}")
            if remove.get("baseRowId") != old.get("baseRowId"):
                self.wrong(f"remove has baseRowId {remove.get('baseRowId')}, the file {old.get('baseRowId')}")
            if not remove.get("deletionTimestamp"):
                self.wrong(f"remove without deletionTimestamp: {remove}")
        for add in adds:
            self._added(add, removed.get(add["path"]), info)
        self._row_ids(adds, removed, operation)

    def _added(self, add: Action, old: Action | None, info: Action) -> None:
        path = add["path"]
        if path in self.active and _vector(self.active[path]) != _vector(add):
            self.wrong(f"add of {path} with another vector, without a remove")
        if old is not None and _vector(old) == _vector(add):
            self.wrong(f"add and remove of {path} with one vector {_vector(add)}")
        file = on_disk(self.folder, path)
        if not file.exists() or file.stat().st_size != add["size"]:
            self.wrong(f"{path} is missing, or its size is not {add['size']}")
        keys = {self._physical(name) for name in self.metadata["partitionColumns"]}
        if set(add["partitionValues"]) != keys:
            self.wrong(f"partition values {add['partitionValues']} of the columns {keys}")
        statistics = json.loads(add.get("stats") or "{}")
        if add.get("deletionVector") is not None:
            if "deletionVectors" not in self.features:
                self.wrong("a deletion vector without the feature")
            if "numRecords" not in statistics:
                self.wrong(f"{path} has a deletion vector and no numRecords")
            elif not 0 < add["deletionVector"]["cardinality"] < statistics["numRecords"]:
                self.wrong(f"{path}: {add['deletionVector']['cardinality']} of {statistics['numRecords']} rows marked")
            if statistics.get("tightBounds", True):
                self.wrong(f"{path} has a deletion vector and tight bounds")
        if path not in self.ever:
            self.written_by[path] = str(info.get("engineInfo"))
            if "delta.clustering" in self.domains and "numRecords" not in statistics:
                self.wrong(f"{path} of a clustered table has no numRecords")
        if old is not None and old.get("tags") != add.get("tags"):
            self.wrong(f"the tags of {path} went from {old.get('tags')} to {add.get('tags')}")
        self.active[path] = add
        self.new_adds.append(add)

    def _row_ids(self, adds: list[Action], removed: Mapping[str, Action | None], operation: str | None) -> None:
        if "rowTracking" not in self.features:
            return
        mark = self.domains.get("delta.rowTracking", {}).get("rowIdHighWaterMark", -1)
        for add in adds:
            first, version = add.get("baseRowId"), add.get("defaultRowCommitVersion")
            if first is None or version is None:
                self.wrong(f"{add['path']} has baseRowId {first} and defaultRowCommitVersion {version}")
                continue
            count = json.loads(add["stats"])["numRecords"]
            if first + count - 1 > mark:
                self.wrong(f"the row ids of {add['path']} end at {first + count - 1}, the mark is {mark}")
            old = removed.get(add["path"])
            if old is not None and (first, version) != (old["baseRowId"], old["defaultRowCommitVersion"]):
                self.wrong(f"{add['path']} has other row ids than before")
            if add["path"] not in self.ever:
                if first <= self.mark:
                    self.wrong(f"the new file {add['path']} begins at row id {first}, the mark was {self.mark}")
                if version != self.version:
                    self.wrong(f"the new file {add['path']} has defaultRowCommitVersion {version}")
                for each in range(first, first + count):
                    if self.ranges.setdefault(each, self.version) != self.version:
                        self.wrong(f"row id {each} was given in version {self.ranges[each]}")
                self.ever.add(add["path"])
        names = [f"delta.rowTracking.materialized{name}ColumnName" for name in ("RowId", "RowCommitVersion")]
        enabled = self.configuration.get("delta.enableRowTracking") == "true"
        if enabled and not all(name in self.configuration for name in names):
            self.wrong("no names of materialized columns")
        self.mark = mark

    def _change_file(self, cdc: Action) -> None:
        file = on_disk(self.folder, cdc["path"])
        # delta-spark puts them elsewhere where it does not name folders by partition values.
        elsewhere = {"delta.columnMapping.mode", "delta.randomizeFilePrefixes"} & set(self.configuration)
        if cdc["dataChange"] or not (elsewhere or cdc["path"].startswith("_change_data/")):
            self.wrong(f"change file {cdc}")
        if not file.exists() or file.stat().st_size != cdc["size"]:
            self.wrong(f"the change file {cdc['path']} is missing, or its size is not {cdc['size']}")
        if self.configuration.get("delta.enableChangeDataFeed") != "true":
            self.wrong("a change file without a feed")

    def _checksum(self) -> None:
        file = self.folder / "_delta_log" / f"{self.version:020}.crc"
        if not file.exists():
            return
        found = json.loads(file.read_text("utf-8"), parse_float=Decimal)
        expected = {"numFiles": len(self.active), "tableSizeBytes": sum(add["size"] for add in self.active.values())}
        wrong = {name: found.get(name) for name, value in expected.items() if found.get(name) != value}
        if wrong:
            self.wrong(f"the checksum has {wrong}, not {expected}")
        for name, value in (("metadata", self.metadata), ("protocol", self.protocol)):
            given = found.get(name)
            if given is not None and _without_empty(given) != _without_empty(value):
                self.wrong(f"the checksum has {name} {given}, not {value}")
        if "domainMetadata" in found:
            there = [d for d in found["domainMetadata"] if not d.get("removed")]
            given = {d["domain"]: json.loads(d["configuration"]) for d in there}
            if given != self.domains:
                self.wrong(f"the checksum has the domains {given}, not {self.domains}")
        if "allFiles" in found and {a["path"] for a in found["allFiles"]} != set(self.active):
            self.wrong("the checksum has other files")

    def _physical(self, name: str) -> str:
        field = next(f for f in json.loads(self.metadata["schemaString"])["fields"] if f["name"] == name)
        return str(field["metadata"].get("delta.columnMapping.physicalName", name))

    def left_over(self) -> list[str]:
        """Files below the folder that the latest version does not need, and those that it needs and are gone."""
        needed = {on_disk(self.folder, path) for path in self.active}
        needed |= {self.folder / name for add in self.active.values() if (name := vector_file(add)) is not None}
        there = {p for p in self.folder.rglob("*") if p.is_file() and not p.name.startswith(".")}
        there = {p for p in there if not {"_delta_log", "_change_data"} & set(p.relative_to(self.folder).parts)}
        return [f"left over: {p}" for p in sorted(there - needed)] + [f"deleted: {p}" for p in sorted(needed - there)]


def vector_file(add: Action) -> str | None:
    """The name of the file with an add's deletion vector."""
    vector = add.get("deletionVector")
    if vector is None or vector["storageType"] != "u":
        return None
    text = vector["pathOrInlineDv"]
    prefix, encoded = text[:-20], text[-20:]
    name = f"deletion_vector_{uuid.UUID(bytes=z85(encoded))}.bin"
    return f"{prefix}/{name}" if prefix else name


def z85(text: str) -> bytes:
    """The bytes of a text in Z85."""
    found = b""
    for i in range(0, len(text), 5):
        number = 0
        for character in text[i : i + 5]:
            number = number * 85 + Z85.index(character)
        found += number.to_bytes(4, "big")
    return found


def _vector(action: Action) -> tuple[Any, ...] | None:
    vector = action.get("deletionVector")
    return None if vector is None else (vector["storageType"], vector["pathOrInlineDv"], vector.get("offset"))


def _without_empty(action: Mapping[str, Any]) -> dict[str, Any]:
    return {k: sorted(v) if k.endswith("Features") else v for k, v in action.items() if v not in (None, {}, [])}

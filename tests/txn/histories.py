"""A table's history told twice: by deltaskip, and by a plain Python model that the log is held against."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import deltaskip as ds
from deltaskip.actions import AddFile, DeletionVectorDescriptor, RemoveFile, add_actions
from deltaskip.errors import CommitConflict, InvalidCommit
from deltaskip.log import Snapshot
from deltaskip.log.checkpoint.tombstones import tombstones
from deltaskip.log.cleanup import clean_up_log
from deltaskip.txn.transaction import Transaction
from tests.txn.tables import SCHEMA, file, gone, make_table

DAY = 86_400_000
FEATURES = (
    "appendOnly", "invariants", "domainMetadata", "deletionVectors", "rowTracking", "v2Checkpoint", "inCommitTimestamp",
)  # fmt: skip
FILE_ROWS = 10
WEEK_AGO, EXPIRED = 7 * DAY, 1_000


@dataclass(frozen=True, slots=True)
class State:
    """One version: adds by path, tombstones that have not expired, applications, domains and properties."""

    adds: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    removed: frozenset[tuple[str, str | None]] = frozenset()
    apps: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Writer:
    """A transaction that has begun, and what it does."""

    txn: Transaction
    adds: list[AddFile] = field(default_factory=list)
    removes: list[RemoveFile] = field(default_factory=list)
    apps: dict[str, int] = field(default_factory=dict)
    domains: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] | None = None


class History:
    """A table in a folder, and its states by version as the model has them."""

    def __init__(self, folder: Path, properties: Mapping[str, str]) -> None:
        self.folder = folder
        self.first_day = time.time_ns() // 1_000_000 // DAY * DAY - 400 * DAY
        usual = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "4", **properties}
        make_table(folder, usual, FEATURES, SCHEMA)
        self.states: list[State] = [State(properties=usual)]
        self.earliest = 0
        self._age()

    @property
    def version(self) -> int:
        """The latest version."""
        return len(self.states) - 1

    def begin(self, version_back: int) -> Writer:
        """A transaction on a version that may be no longer the latest."""
        version = max(self.version - version_back, self.earliest)
        return Writer(ds.DeltaTable(self.folder, version=version).transaction(operation="HISTORY"))

    def fill(self, writer: Writer, kind: str, choice: int, number: int) -> None:
        """Put one kind of action into the transaction; choice picks among what is there, number names what is new."""
        live = sorted(add_actions(writer.txn.snapshot.adds()), key=lambda add: add.path)
        free = [add for add in live if add.path not in {each.path for each in (*writer.adds, *writer.removes)}]  # type: ignore[attr-defined]
        match kind:
            case "append":
                names = [f"p{choice % 3}/f{number}-{i}" for i in range(1 + choice % 2)]
                self._add(writer, *(file(name, number, number + 5) for name in names))
            case "back":
                # A path that some version had and the transaction's has no longer.
                known = {path for state in self.states for path in state.adds} - {add.path for add in live}
                names = sorted(known - {add.path for add in writer.adds})
                if names:
                    self._add(writer, file(names[choice % len(names)]))
            case "remove" if free:
                self._remove(writer, free[choice % len(free)], 0 if choice % 3 else EXPIRED)
            case "vector" if free:
                old = free[choice % len(free)]
                self._remove(writer, old, 0)
                made = DeletionVectorDescriptor("u", f"ab{number:0>18}", 40, 1 + choice % 9, choice % 2 or None)
                self._add(writer, replace(old, deletion_vector=made, data_change=True))
            case "statistics" if free:
                old = free[choice % len(free)]
                vector = old.deletion_vector
                self._add(writer, file(old.path, number, number + 1, deletion_vector=vector, data_change=False))
            case "domain":
                name = f"domain{choice % 3}"
                if choice % 2:
                    writer.txn.set_domain(name, f'{{"n":{number}}}')
                    writer.domains[name] = f'{{"n":{number}}}'
                else:
                    writer.txn.remove_domain(name)
                    writer.domains[name] = None
            case "app":
                writer.txn.set_app_version(f"app{choice % 3}", number)
                writer.apps[f"app{choice % 3}"] = number
            case "properties":
                more = {"delta.checkpointPolicy": "v2" if choice % 2 else "classic", "x": str(number)}
                if choice % 5 == 0:
                    more["delta.enableInCommitTimestamps"] = "true"
                old_metadata = writer.txn.snapshot.metadata
                writer.properties = {**old_metadata.configuration, **more}
                writer.txn.set_metadata(replace(old_metadata, configuration=writer.properties))
            case "read":
                writer.txn.read(f"id >= {choice}")

    def commit(self, writer: Writer) -> bool:
        """Whether the transaction went through; then the model has its next state."""
        try:
            version = writer.txn.commit()
        except CommitConflict:
            assert ds.DeltaTable(self.folder).version == self.version
            return False
        except InvalidCommit as error:
            assert "nothing to commit" in str(error)
            return False
        assert version == self.version + 1
        self.states.append(self._next(writer, version))
        self._age()
        return True

    def checkpoint(self, back: int) -> None:
        """A checkpoint of the latest version, or of one a little before it."""
        table = ds.DeltaTable(self.folder, version=max(self.version - back, self.earliest))
        table.checkpoint()
        self._age()

    def clean_up(self, keep: int) -> None:
        """Clean the log up as if all but the last versions were too old."""
        table = ds.DeltaTable(self.folder)
        if table.properties.get("delta.enableInCommitTimestamps") == "true":
            return
        kept_for = 30 * DAY
        clean_up_log(table.snapshot, self.first_day + max(self.version - keep, 0) * DAY + kept_for + DAY // 2)
        self.earliest = min(
            max(self.version - keep, self.earliest),
            min(v for v in range(self.version + 1) if v >= self.earliest and self._opens(v)),
        )

    def check(self) -> None:
        """The latest version is the model's, read from checkpoints and read from commits alone."""
        assert_same(ds.DeltaTable(self.folder).snapshot, self.states[-1], self.version)
        commits = sorted((self.folder / "_delta_log").glob("[0-9]*.json"))
        names = {f"{version:020d}.json" for version in range(self.version + 1)}
        if names <= {commit.name for commit in commits}:
            assert from_commits(self.folder, self.version) == live_keys(self.states[-1])

    def check_all(self) -> None:
        """Every version that must be there is the model's; row ids are unique in each."""
        for version in range(self.earliest, self.version + 1):
            state = self.states[version]
            assert_same(ds.DeltaTable(self.folder, version=version).snapshot, state, version)
            ids = sorted(add["baseRowId"] for add in state.adds.values())
            assert all(first + FILE_ROWS <= second for first, second in pairwise(ids))

    def _opens(self, version: int) -> bool:
        try:
            ds.DeltaTable(self.folder, version=version)
        except ds.VersionNotFound:
            return False
        return True

    def _add(self, writer: Writer, *adds: AddFile) -> None:
        writer.txn.add(*adds)
        writer.adds.extend(adds)

    def _remove(self, writer: Writer, add: AddFile, timestamp: int) -> None:
        when = timestamp or time.time_ns() // 1_000_000
        remove = gone(add.path, deletion_vector=add.deletion_vector, deletion_timestamp=when)
        writer.txn.remove(remove)
        writer.removes.append(remove)

    def _next(self, writer: Writer, version: int) -> State:
        """The state after the transaction; what it assigned (row ids) is taken from its commit's text."""
        old = self.states[-1]
        adds, removed, domains = dict(old.adds), set(old.removed), dict(old.domains)
        logged = [json.loads(line) for line in _commit(self.folder, version).read_text().splitlines()]
        assigned = {line["add"]["path"]: line["add"] for line in logged if "add" in line}
        for remove in writer.removes:
            assert adds.pop(remove.path)["dv"] == _dv_id(remove)
            if remove.deletion_timestamp != EXPIRED:
                removed.add((remove.path, _dv_id(remove)))
        for add in writer.adds:
            before = old.adds.get(add.path)
            found = assigned[add.path]
            if before is not None:
                assert found["baseRowId"] == before["baseRowId"]
            adds[add.path] = {"dv": _dv_id(add), "stats": add.stats, "baseRowId": found["baseRowId"]}
            removed.discard((add.path, _dv_id(add)))
        marks = [line["domainMetadata"] for line in logged if "domainMetadata" in line]
        for name, configuration in writer.domains.items():
            domains.pop(name, None)
            if configuration is not None:
                domains[name] = configuration
        for mark in marks:
            if mark["domain"] == "delta.rowTracking":
                domains["delta.rowTracking"] = mark["configuration"]
        properties = dict(old.properties)
        if writer.properties is not None:
            [metadata] = [line["metaData"] for line in logged if "metaData" in line]
            properties = metadata["configuration"]
            assert {**properties, **writer.properties} == properties
        return State(adds, frozenset(removed), {**old.apps, **writer.apps}, domains, properties)

    def _age(self) -> None:
        """Each version is a day younger than the one before, far in the past."""
        for path in (self.folder / "_delta_log").rglob("*"):
            if path.is_file():
                text = path.name[:20]
                day = int(text) if text.isdigit() else 0
                moment = (self.first_day + day * DAY) / 1000
                os.utime(path, (moment, moment))


def assert_same(snapshot: Snapshot, state: State, version: int) -> None:
    """The snapshot is the model's state of that version."""
    assert snapshot.version == version
    adds = {
        add.path: {"dv": _dv_id(add), "stats": add.stats, "baseRowId": add.base_row_id}
        for add in add_actions(snapshot.adds())
    }
    assert adds == dict(state.adds)
    assert snapshot.num_files == len(state.adds)
    assert {app: txn.version for app, txn in snapshot.txns.items()} == dict(state.apps)
    assert {name: domain.configuration for name, domain in snapshot.domains.items()} == dict(state.domains)
    assert dict(snapshot.properties) == dict(state.properties)
    found = [
        (row["path"], _logged_dv_id(row["deletionVector"]))
        for batch in tombstones(snapshot, time.time_ns() // 1_000_000 - WEEK_AGO)
        for row in batch.to_pylist()
    ]
    assert len(found) == len(set(found))
    assert frozenset(found) == state.removed
    snapshot.verify()


def from_commits(folder: Path, version: int) -> dict[str, str | None]:
    """dvId by path of the active files: commits 0 to `version` replayed line by line."""
    live: dict[str, str | None] = {}
    for number in range(version + 1):
        lines = [json.loads(line) for line in _commit(folder, number).read_text().splitlines()]
        for line in lines:
            path = line.get("remove", {}).get("path")
            if path in live and live[path] == _logged_dv_id(line["remove"].get("deletionVector")):
                del live[path]
        for line in lines:
            if "add" in line:
                live[line["add"]["path"]] = _logged_dv_id(line["add"].get("deletionVector"))
    return live


def live_keys(state: State) -> dict[str, str | None]:
    """dvId by path of the model's active files."""
    return {path: add["dv"] for path, add in state.adds.items()}


def _commit(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020d}.json"


def _dv_id(action: AddFile | RemoveFile) -> str | None:
    return None if action.deletion_vector is None else action.deletion_vector.unique_id


def _logged_dv_id(vector: Mapping[str, Any] | None) -> str | None:
    if vector is None:
        return None
    offset = vector.get("offset")
    return f"{vector['storageType']}{vector['pathOrInlineDv']}{'' if offset is None else f'@{offset}'}"

"""Builds small logs by hand: commits as JSON lines, checkpoints as Parquet or JSON. For damage and for odd shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.log import Snapshot, load_snapshot
from deltaskip.sparkexpr.types import LONG, StructField, StructType
from deltaskip.storage import FileInfo, LocalStorage, open_storage
from tests.builder import Action, json_lines, log_file, protocol_of
from tests.builder import add as table_add
from tests.builder import metadata as table_metadata
from tests.builder import remove as table_remove

PROTOCOL: Action = {"protocol": protocol_of(())}
V2: Action = {"protocol": protocol_of(["v2Checkpoint", "deletionVectors", "checkpointProtection"])}
UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"

_SCHEMA = StructType((StructField("id", LONG),))

_STRINGS = pa.map_(pa.string(), pa.string())
_DV = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
CHECKPOINT_SCHEMA = pa.schema(
    [
        ("protocol", pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())), ("writerFeatures", pa.list_(pa.string()))])),
        ("metaData", pa.struct([("id", pa.string()), ("name", pa.string()), ("format",
            pa.struct([("provider", pa.string()), ("options", _STRINGS)])), ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())), ("configuration", _STRINGS), ("createdTime", pa.int64())])),
        ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64())])),
        ("add", pa.struct([("path", pa.string()), ("partitionValues", _STRINGS), ("size", pa.int64()),
            ("modificationTime", pa.int64()), ("dataChange", pa.bool_()), ("stats", pa.string()),
            ("deletionVector", _DV), ("stats_parsed", pa.struct([("numRecords", pa.int64())]))])),
        ("remove", pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64())])),
        ("domainMetadata", pa.struct([("domain", pa.string()), ("configuration", pa.string()),
            ("removed", pa.bool_())])),
        ("checkpointMetadata", pa.struct([("version", pa.int64())])),
        ("sidecar", pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())])),
    ]
)  # fmt: skip


def metadata(**members: Any) -> Action:
    """A metaData action of a table with the column id; members replace or add to the usual ones."""
    return table_metadata(_SCHEMA, **members)


def add(path: str, dv: str | None = None, **members: Any) -> Action:
    """An add action; dv: pathOrInlineDv of an inline deletion vector."""
    return table_add(path, **{"size": 1, "modificationTime": 1, **_vector(dv), **members})


def remove(path: str, dv: str | None = None, **members: Any) -> Action:
    """A remove action."""
    return table_remove(path, **{"deletionTimestamp": 1, **_vector(dv), **members})


def sidecar(path: str) -> Action:
    """A sidecar action."""
    return {"sidecar": {"path": path, "sizeInBytes": 1, "modificationTime": 1}}


def v2_actions(version: int, *actions: Action) -> list[Action]:
    """What a V2 checkpoint holds beside its sidecars, and the actions."""
    return [{"checkpointMetadata": {"version": version}}, PROTOCOL, metadata(), *actions]


def load(folder: Path, version: int | None = None) -> Snapshot:
    """The snapshot."""
    return load_snapshot(*open_storage(folder), version)


def log_name(version: int, suffix: str) -> str:
    """`00…7.suffix`."""
    return log_file(Path(), version, suffix).name


@dataclass
class TableBuilder:
    """A table folder under construction."""

    path: Path
    _versions: int = field(default=0, init=False)

    @property
    def log(self) -> Path:
        """The log's folder, made when first asked for."""
        folder = self.path / "_delta_log"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def commit(self, *actions: Action, version: int | None = None) -> int:
        """Write the next commit (or that version's); commit 0 gets protocol and metadata first. Returns the version."""
        version = self._versions if version is None else version
        lines = [PROTOCOL, metadata()] if version == 0 and not _has_state(actions) else []
        self.raw_commit(version, json_lines([*lines, *actions]))
        return version

    def raw_commit(self, version: int, text: str | bytes) -> Path:
        """Write a commit as it is."""
        file = self.log / log_name(version, "json")
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        self._versions = version + 1
        return file

    def json_lines(self, name: str, actions: Sequence[Action]) -> Path:
        """A file of JSON lines in the log."""
        file = self.log / name
        file.write_text(json_lines(actions), encoding="utf-8")
        return file

    def parquet(self, name: str, actions: Sequence[Action], row_group_size: int = 1000) -> Path:
        """A Parquet file of the log with one row an action."""
        file = self.log / name
        file.parent.mkdir(exist_ok=True)
        rows = pa.Table.from_pylist([_row(action) for action in actions], schema=CHECKPOINT_SCHEMA)
        pq.write_table(rows, file, row_group_size=row_group_size)
        return file

    def checkpoint(self, version: int, *actions: Action, suffix: str = "checkpoint.parquet", **options: Any) -> Path:
        """A Parquet checkpoint that holds protocol, metadata and the actions."""
        return self.parquet(log_name(version, suffix), [PROTOCOL, metadata(), *actions], **options)

    def hint(self, text: str) -> None:
        """Write `_last_checkpoint`."""
        (self.log / "_last_checkpoint").write_text(text)

    def clean_up(self, before: int) -> None:
        """Remove the commits of versions below that one."""
        for version in range(before):
            (self.log / log_name(version, "json")).unlink(missing_ok=True)

    def load(self, version: int | None = None) -> Snapshot:
        """The snapshot."""
        return load(self.path, version)

    def paths(self, version: int | None = None) -> list[str]:
        """Paths of the active files, sorted."""
        return sorted(self.load(version).adds(["path"])["path"].to_pylist())


class CountingStorage(LocalStorage):
    """A local storage that notes what was asked of it."""

    __slots__ = ("listed", "opened", "read_files")

    def __init__(self) -> None:
        self.listed: list[tuple[str, int]] = []
        self.read_files: list[str] = []
        self.opened: list[str] = []

    def list_from(self, directory: str, start_name: str) -> list[FileInfo]:
        found = super().list_from(directory, start_name)
        self.listed.append((start_name, len(found)))
        return found

    def read(self, path: str, max_bytes: int | None = None) -> bytes:
        self.read_files.append(Path(path).name)
        return super().read(path, max_bytes)

    def read_joined(self, files: Sequence[FileInfo]) -> tuple[memoryview, list[int]]:
        self.read_files.extend(file.name for file in files)
        return super().read_joined(files)

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        self.opened.append(Path(path).name)
        return super().open_input(path, size)

    def clear(self) -> None:
        self.listed.clear()
        self.read_files.clear()
        self.opened.clear()


def _vector(dv: str | None) -> dict[str, Any]:
    if dv is None:
        return {}
    return {"deletionVector": {"storageType": "i", "pathOrInlineDv": dv, "sizeInBytes": 1, "cardinality": 1}}


def _has_state(actions: Sequence[Action]) -> bool:
    return any("protocol" in action or "metaData" in action for action in actions)


def _row(action: Action) -> dict[str, Any]:
    return {name: _maps_as_pairs(members) for name, members in action.items()}


def _maps_as_pairs(members: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(members)
    for name in ("partitionValues", "configuration", "options"):
        if isinstance(row.get(name), dict):
            row[name] = list(row[name].items())
    if isinstance(row.get("format"), dict):
        row["format"] = _maps_as_pairs(row["format"])
    return row

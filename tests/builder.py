"""Small Delta logs for tests: each call of `commit` is one commit; data files are not made unless a test makes them.

`tests.log.builder` builds checkpoints and damaged logs from the same actions, `tests.txn.tables` tables to write to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deltaskip.features import FEATURES
from deltaskip.sparkexpr.types import DataType, StructField, StructType, schema_to_json

SPARK = "Apache-Spark/4.1.4 Delta-Lake/4.4.0"
DELTA_RS = "delta-rs:py-1.6.6"

TABLE_ID = "11111111-2222-3333-4444-555555555555"

Action = dict[str, Any]


class TableBuilder:
    """Writes `_delta_log` below `path`. The first commit holds protocol and metadata.

    protocol: as logged; the default lists reader features that most tests need.
    """

    def __init__(
        self,
        path: Path,
        schema: StructType | Mapping[str, DataType],
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        protocol: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path
        if not isinstance(schema, StructType):
            schema = StructType(tuple(StructField(name, type_) for name, type_ in schema.items()))
        self.schema = schema
        self._version = 0
        usual = protocol_of(["deletionVectors", "timestampNtz", "columnMapping", "typeWidening"])
        self._head = [{"protocol": protocol or usual}, metadata(schema, partition_by, properties)]
        (path / "_delta_log").mkdir(parents=True)

    def commit(
        self, *actions: Mapping[str, Any], engine: str | None = SPARK, operation: str = "WRITE", **info: Any
    ) -> TableBuilder:
        """One more commit with these actions. info: more members of its commitInfo."""
        info = {"timestamp": 1_700_000_000_000 + self._version, "operation": operation, **info}
        if engine is not None:
            info["engineInfo"] = engine
        lines = [{"commitInfo": info}, *(self._head if self._version == 0 else []), *actions]
        log_file(self.path, self._version).write_text(json_lines(lines), encoding="utf-8")
        self._version += 1
        return self


def log_file(table: Path, version: int, suffix: str = "json") -> Path:
    """The path of a version's commit, or of another of its files: `…/_delta_log/00…7.suffix`."""
    return table / "_delta_log" / f"{version:020d}.{suffix}"


def logged(table: Path | str, *versions: int, kind: str | None = None) -> list[Action]:
    """The actions of these versions, or of all, in order; with a kind, the members of those of it."""
    log = Path(table) / "_delta_log"
    files = [log_file(Path(table), version) for version in versions] or sorted(log.glob("*.json"))
    texts = (file.read_text(encoding="utf-8") for file in files)
    actions = [json.loads(line) for text in texts for line in text.splitlines() if line.strip()]
    return actions if kind is None else [action[kind] for action in actions if kind in action]


def relog(table: Path, change: Callable[[Action], object], *versions: int) -> None:
    """Change every action of these versions, or of all, in place; no checksum is left, which would show it."""
    log = table / "_delta_log"
    for file in [log_file(table, version) for version in versions] or sorted(log.glob("*.json")):
        actions = logged(table, int(file.name[:20]))
        for action in actions:
            change(action)
        file.write_text(json_lines(actions), encoding="utf-8")
    for checksum in log.glob("*.crc"):
        checksum.unlink()


def without_statistics(action: Action) -> None:
    """Take statistics and tags from an add action."""
    for name in ("stats", "tags"):
        action.get("add", {}).pop(name, None)


def json_lines(actions: Iterable[Mapping[str, Any]]) -> str:
    """The text of a commit."""
    return "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in actions)


def protocol_of(features: Sequence[str]) -> dict[str, Any]:
    """The members of a protocol action that lists the features; a plain one where there are none."""
    if not features:
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": [name for name in features if name in FEATURES and FEATURES[name].kind == "reader-writer"],
        "writerFeatures": list(features),
    }


def metadata(
    schema: StructType, partition_by: Sequence[str] = (), properties: Mapping[str, str] | None = None, **members: Any
) -> Action:
    """A metaData action; members replace or add to the usual ones."""
    usual = {
        "id": TABLE_ID,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_to_json(schema),
        "partitionColumns": list(partition_by),
        "configuration": dict(properties or {}),
    }
    return {"metaData": {**usual, **members}}


def add(path: str, stats: Mapping[str, Any] | str | None = None, **members: Any) -> Action:
    """An add action. stats: what its JSON text holds, or the text; members override the action's other fields."""
    action: Action = {
        "path": path,
        "partitionValues": {},
        "size": 100, "modificationTime": 1_700_000_000_000, "dataChange": True, **members,
    }  # fmt: skip
    if stats is not None:
        action["stats"] = stats if isinstance(stats, str) else json.dumps(stats, ensure_ascii=False)
    return {"add": action}


def remove(path: str, **members: Any) -> Action:
    """A remove action."""
    return {"remove": {"path": path, "deletionTimestamp": 1_700_000_000_000, "dataChange": True, **members}}


def bounds(records: int = 2, /, **columns: tuple[Any, Any] | tuple[Any, Any, int]) -> dict[str, Any]:
    """Statistics: each column's (min, max) or (min, max, null count)."""
    return {
        "numRecords": records,
        "minValues": {name: b[0] for name, b in columns.items() if b[0] is not None},
        "maxValues": {name: b[1] for name, b in columns.items() if b[1] is not None},
        "nullCount": {name: b[2] if len(b) > 2 else 0 for name, b in columns.items()},
    }

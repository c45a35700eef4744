"""Small Delta logs for tests: each call of `commit` is one commit; data files are not made unless a test makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deltaskip.schema.json import schema_to_json
from deltaskip.schema.types import DataType, StructField, StructType

SPARK = "Apache-Spark/4.1.4 Delta-Lake/4.4.0"
DELTA_RS = "delta-rs:py-1.6.6"

FEATURES = ["deletionVectors", "timestampNtz", "columnMapping", "typeWidening"]


class TableBuilder:
    """Writes `_delta_log` below `path`. The first commit holds protocol and metadata."""

    def __init__(
        self,
        path: Path,
        schema: StructType | Mapping[str, DataType],
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        if not isinstance(schema, StructType):
            schema = StructType(tuple(StructField(name, type_) for name, type_ in schema.items()))
        self.schema = schema
        self._log = path / "_delta_log"
        self._log.mkdir(parents=True)
        self._version = 0
        self._head = [
            {
                "protocol": {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": FEATURES,
                    "writerFeatures": FEATURES,
                }
            },
            {
                "metaData": {
                    "id": "00000000-0000-0000-0000-000000000000",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": schema_to_json(schema),
                    "partitionColumns": list(partition_by),
                    "configuration": dict(properties or {}),
                }
            },
        ]

    def commit(self, *actions: Mapping[str, Any], engine: str | None = SPARK, operation: str = "WRITE") -> TableBuilder:
        """One more commit with these actions."""
        info: dict[str, Any] = {"timestamp": 1_700_000_000_000 + self._version, "operation": operation}
        if engine is not None:
            info["engineInfo"] = engine
        lines = [{"commitInfo": info}, *(self._head if self._version == 0 else []), *actions]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (self._log / f"{self._version:020d}.json").write_text(text, encoding="utf-8")
        self._version += 1
        return self


def add(path: str, stats: Mapping[str, Any] | str | None = None, **members: Any) -> dict[str, Any]:
    """An add action. stats: what its JSON text holds, or the text; members override the action's other fields."""
    action: dict[str, Any] = {
        "path": path,
        "partitionValues": {},
        "size": 100,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        **members,
    }
    if stats is not None:
        action["stats"] = stats if isinstance(stats, str) else json.dumps(stats, ensure_ascii=False)
    return {"add": action}


def remove(path: str, **members: Any) -> dict[str, Any]:
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

"""Logs with a change data feed, made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaskip import DeltaTable
from deltaskip.actions import DeletionVectorDescriptor
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_encode
from deltaskip.sparkexpr.types.data_types import LONG, StructField, StructType
from tests.builder import Action, metadata, protocol_of
from tests.log.builder import TableBuilder

ON = {"delta.enableChangeDataFeed": "true"}
SCHEMA = StructType((StructField("id", LONG),))


class Feed:
    """A table of commits, and its changes."""

    def __init__(self, folder: Path, schema: StructType = SCHEMA, **members: Any) -> None:
        self.folder = folder
        self.log = TableBuilder(folder)
        features = ("changeDataFeed", "deletionVectors", "columnMapping", "typeWidening")
        state = metadata(schema, **{"configuration": ON, **members})
        self.log.commit({"protocol": protocol_of(features)}, state)

    def commit(self, *actions: Action, operation: str = "WRITE", metrics: dict[str, str] | None = None) -> int:
        """Write the next commit."""
        info = {"operation": operation, "timestamp": 1, **({} if metrics is None else {"operationMetrics": metrics})}
        return self.log.commit({"commitInfo": info}, *actions)

    @property
    def table(self) -> DeltaTable:
        """The table at its latest version."""
        return DeltaTable(self.folder)

    def entries(self, *bounds: Any, **chosen: Any) -> list[tuple[Any, ...]]:
        """Version, type, path and number of rows of each file with changes."""
        files = self.table.changes(*bounds, **chosen).files()
        columns = files.select(["version", "change_type", "path", "num_rows"]).to_pylist()
        return [tuple(row.values()) for row in columns]


def inline(*positions: int) -> dict[str, Any]:
    """The deletion vector with these positions, in the log."""
    data = encode(pa.array(positions, pa.int64()))
    text = z85_encode(data + b"\0" * (-len(data) % 4))
    found: dict[str, Any] = DeletionVectorDescriptor("i", text, len(data), len(positions)).to_json()
    return found


def stats(records: int, low: int, high: int, **more: Any) -> str:
    """Statistics of the column id."""
    bounds = {"minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": 0}}
    return json.dumps({"numRecords": records, **bounds, **more})


def cdc(path: str, **members: Any) -> Action:
    """A cdc action."""
    return {"cdc": {"path": path, "partitionValues": {}, "size": 1, "dataChange": False, **members}}

"""Tables of Parquet files that pyarrow has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_encode
from deltaskip.sparkexpr.types.data_types import DataType, StructType
from deltaskip.stats.computation import compute
from tests.builder import TableBuilder, add


def table_of(
    folder: Path,
    schema: StructType | Mapping[str, DataType],
    files: Mapping[str, pa.Table],
    *,
    partition_by: Sequence[str] = (),
    values: Mapping[str, Mapping[str, str | None]] | None = None,
    deleted: Mapping[str, Sequence[int]] | None = None,
    properties: Mapping[str, str] | None = None,
    protocol: Mapping[str, Any] | None = None,
) -> ds.DeltaTable:
    """A table of Parquet files with their statistics, partition values and deletion vectors."""
    builder = TableBuilder(folder / "table", schema, partition_by, properties, protocol)
    actions = []
    for name, rows in files.items():
        path = folder / "table" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path)
        stats = compute(
            [path],
            builder.schema,
            partition_columns=partition_by,
            mapping_mode=(properties or {}).get("delta.columnMapping.mode", "none"),
        )["stats"][0].as_py()
        members: dict[str, Any] = {"size": path.stat().st_size, "partitionValues": dict((values or {}).get(name, {}))}
        if deleted and name in deleted:
            members["deletionVector"] = vector(deleted[name])
        actions.append(add(quote(name), stats, **members))
    builder.commit(*actions)
    return ds.DeltaTable(folder / "table")


def vector(rows: Sequence[int]) -> dict[str, Any]:
    """An inline deletion vector."""
    data = encode(pa.array(rows, pa.int64()))
    padded = data + b"\0" * (-len(data) % 4)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85_encode(padded),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


def ids(*values: int, **columns: Any) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64()), **columns})


def numbers(frame: Any) -> list[int]:
    """The ids of a frame in order."""
    return sorted(row["id"] for row in frame.select("id").collect())

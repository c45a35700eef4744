"""Corpus tables as the reader takes them: every active file of the log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import absolute_uris, partition_column
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.reading.read_plan import ReadPlan, StoredTable, WantedRows, deleted_rows
from deltaskip.spark.read.dataframe import plan_to_dataframe
from deltaskip.spark.read.session_facts import listing_of
from deltaskip.sparkexpr.types import physical_name
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.storage import open_storage


def snapshot_of(table: Path, version: int | None = None) -> Snapshot:
    """One version of a table on disk."""
    storage, root = open_storage(str(table), None)
    return load_snapshot(storage, root, version)


def files_of(snapshot: Snapshot) -> pa.Table:
    """The Files table of every active file."""
    adds = snapshot.adds(["path", "partition_values", "deletion_vector"]).combine_chunks()
    by_name = {f.name: f for f in snapshot.schema.fields}
    maps = [dict(values or []) for values in adds["partition_values"].to_pylist()]
    values = [
        partition_column(
            pa.array([m.get(physical_name(by_name[name], snapshot.mapping_mode)) for m in maps], pa.string()),
            by_name[name].type,
            "UTC",
        )
        for name in snapshot.partition_columns
    ]
    fields = [pa.field(name, arrow_type(by_name[name].type)) for name in snapshot.partition_columns]
    structs = (
        pa.StructArray.from_arrays(values, fields=fields)
        if fields
        else pa.Array.from_buffers(pa.struct([]), len(adds), [None])
    )
    return pa.table(
        {
            "uri": absolute_uris(snapshot.table_root, _one(adds["path"])),
            "partition_values": structs,
            "deletion_vector": _one(adds["deletion_vector"]),
        }
    )


def dataframe_of(spark: Any, snapshot: Snapshot, files: pa.Table | None = None, **options: Any) -> Any:
    """Every row of the snapshot, or those of `files` and of the options of a plan (where, columns)."""
    files = files_of(snapshot) if files is None else files
    table, wanted = StoredTable.of(snapshot, snapshot.schema), WantedRows(deleted_rows(snapshot, files))
    plan = ReadPlan.of(table, files, wanted, listing_of(spark, snapshot.table_root))
    return plan_to_dataframe(spark, replace(plan, **options))


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pc.cast(column.combine_chunks(), column.type)

"""The list of files that a scan gives: one Arrow row a kept file, partition values typed by the schema.

# design.md, Public surface: columns of `files()`
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import absolute_uris, decode_paths
from deltaskip.actions.file_schema import DELETION_VECTOR
from deltaskip.actions.partition_values import PartitionValueError, partition_column
from deltaskip.errors import CorruptLog
from deltaskip.log import Snapshot
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.mapping import physical_name
from deltaskip.schema.types import StructField
from deltaskip.skipping.candidates import ROW_COLUMNS
from deltaskip.skipping.partitions import map_values

__all__ = ["file_table", "no_rows", "partition_fields"]


def partition_fields(snapshot: Snapshot) -> list[StructField]:
    """The partition columns' fields, in the order of the metadata."""
    by_name = {field.name: field for field in snapshot.schema.fields}
    return [by_name[name] for name in snapshot.partition_columns]


def no_rows(stats: bool) -> pa.Table:
    """Rows of no file, in the shape that candidates.Batch.rows gives them."""
    types = {
        "path": pa.string(),
        "partition_values": pa.map_(pa.string(), pa.string()),
        "deletion_vector": DELETION_VECTOR,
        "stats": pa.string(),
    }
    names = [*ROW_COLUMNS, "num_records", *(["stats"] if stats else [])]
    return pa.table({name: pa.array([], types.get(name, pa.int64())) for name in names})


def file_table(rows: pa.Table, snapshot: Snapshot, time_zone: str | None) -> pa.Table:
    """The public columns of `rows`.

    time_zone: how zone-less timestamps among the partition values are read; None means UTC here.
    Raises CorruptLog naming the column and the file of a partition value that is not of the column's type.
    """
    raw = _one(rows["path"])
    columns = {
        "path": decode_paths(raw),
        "uri": absolute_uris(snapshot.table_root, raw),
        "size": _one(rows["size"]),
        "modification_time": pc.cast(_one(rows["modification_time"]), pa.timestamp("ms", "UTC")),
        "partition_values": _partition_values(rows, snapshot, time_zone or "UTC"),
        "num_records": _one(rows["num_records"]),
        "deletion_vector": _one(rows["deletion_vector"]),
        "base_row_id": _one(rows["base_row_id"]),
        "default_row_commit_version": _one(rows["default_row_commit_version"]),
    }
    if "stats" in rows.column_names:
        columns["stats"] = _one(rows["stats"])
    return pa.table(columns)


def _partition_values(rows: pa.Table, snapshot: Snapshot, time_zone: str) -> pa.Array:
    fields = partition_fields(snapshot)
    if not fields:
        return pa.Array.from_buffers(pa.struct([]), len(rows), [None])
    maps = _one(rows["partition_values"])
    columns: list[pa.Array] = []
    for field in fields:
        texts = map_values(maps, physical_name(field, snapshot.mapping_mode))
        try:
            columns.append(partition_column(texts, field.type, time_zone))
        except PartitionValueError as error:
            raise CorruptLog(
                f"The log of {snapshot.table_root} at version {snapshot.version} has a partition value of column "
                f"{field.name!r} that cannot be read ({error}); rewrite the files of that partition."
            ) from error
    names = [pa.field(field.name, arrow_type(field.type)) for field in fields]
    return pa.StructArray.from_arrays(columns, fields=names)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

"""Actions from rows of FILE_SCHEMA, and actions derived from an add action."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from deltaskip.actions.file_fields import ADD_FIELDS, FILE_SCHEMA, REMOVE_FIELDS
from deltaskip.actions.files import AddFile, DeletionVectorDescriptor, RemoveFile

_SHARED = [name for name in ADD_FIELDS.logged if name in REMOVE_FIELDS.logged and name != "data_change"]


def add_files(adds: pa.Table) -> Iterator[AddFile]:
    """Yield the add action of each row of a table with all columns of FILE_SCHEMA, in order."""
    for batch in adds.select(FILE_SCHEMA.names).to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            dv = row.pop("deletion_vector")
            tags = row.pop("tags")
            yield AddFile(
                partition_values=dict(row.pop("partition_values") or ()),
                tags=None if tags is None else dict(tags),
                deletion_vector=None if dv is None else DeletionVectorDescriptor(**dv),
                data_change=row.pop("data_change") is not False,
                **row,
            )


def remove_files(files: pa.Table, deletion_timestamp: int, data_change: bool = True) -> Iterator[RemoveFile]:
    """Yield the tombstone of each active file, without its statistics and tags.

    files: path, partition_values, size and deletion_vector as in FILE_SCHEMA. deletion_timestamp: ms since the epoch.
    """
    for batch in files.select(["path", "partition_values", "size", "deletion_vector"]).to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            vector = row["deletion_vector"]
            yield RemoveFile(
                row["path"],
                data_change,
                deletion_timestamp,
                True,
                partition_values=dict(row["partition_values"] or ()),
                size=row["size"],
                deletion_vector=None if vector is None else DeletionVectorDescriptor(**vector),
            )


def remove_of(add: AddFile, deletion_timestamp: int, data_change: bool = True) -> RemoveFile:
    """Return the tombstone of an active file, with all fields of its add. deletion_timestamp: ms since the epoch."""
    shared = {name: getattr(add, name) for name in _SHARED}
    return RemoveFile(
        **shared, data_change=data_change, deletion_timestamp=deletion_timestamp, extended_file_metadata=True
    )


def unchanged(add: AddFile, stats: str | None) -> AddFile:
    """Return an add of the same logical file with other statistics, which changes no data."""
    return replace(add, stats=stats, data_change=False)

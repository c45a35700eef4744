"""Sound tables that damages start from: one for each kind of table, with commits, a checkpoint, and rows."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

import deltaskip as ds

VECTORS = {"delta.enableDeletionVectors": "true"}


def rows(start: int, count: int = 20) -> pa.Table:
    """Rows with ids from `start` on."""
    ids = list(range(start, start + count))
    return pa.table(
        {"id": pa.array(ids), "name": [f"n{i}" for i in ids], "p": pa.array([i % 2 for i in ids], pa.int32())}
    )


def _appended(table: ds.DeltaTable, checkpoint: bool = False) -> ds.DeltaTable:
    for number in range(3):
        table.append(rows(100 * number), txn=("app", number))
        if number == 1 and checkpoint:
            table.checkpoint()
    return table


def plain(path: Path) -> None:
    """Four commits without a checkpoint."""
    _appended(ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT"))


def checkpointed(path: Path) -> None:
    """A checkpoint of version 2, and a removed file in it."""
    table = ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT")
    table.append(rows(1000))
    table.delete("id >= 1000")
    _appended(table, checkpoint=True)


def partitioned(path: Path) -> None:
    """Two partitions, whose column is NOT NULL."""
    _appended(ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT NOT NULL", partition_by="p"), checkpoint=True)


def mapped(path: Path) -> None:
    """Mapped columns."""
    properties = {"delta.columnMapping.mode": "name"}
    _appended(ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT", properties=properties))


def vectors(path: Path) -> None:
    """Files with deletion vectors, and row ids."""
    properties = {**VECTORS, "delta.enableRowTracking": "true"}
    table = _appended(ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT", properties=properties))
    table.delete("id % 10 = 3")


def in_sidecars(path: Path) -> None:
    """A V2 checkpoint."""
    properties = {"delta.checkpointPolicy": "v2"}
    _appended(ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT", properties=properties), checkpoint=True)


def ruled(path: Path) -> None:
    """NOT NULL, a CHECK constraint, a generated and an identity column, and clustering."""
    schema = (
        "id BIGINT NOT NULL, name STRING, p INT, twice BIGINT GENERATED ALWAYS AS (id * 2), "
        "n BIGINT GENERATED ALWAYS AS IDENTITY"
    )
    table = ds.DeltaTable.create(path, schema, cluster_by="id")
    table.alter_sql("ADD CONSTRAINT small CHECK (id < 1000)")
    _appended(table)


def timed(path: Path) -> None:
    """In-commit timestamps, and a change data feed."""
    properties = {"delta.enableInCommitTimestamps": "true", "delta.enableChangeDataFeed": "true"}
    table = _appended(ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT", properties=properties))
    table.update({"name": "'new'"}, "id = 1")


def compacted(path: Path) -> None:
    """A log compaction of all twenty commits, with deletion vectors and in-commit timestamps."""
    properties = {**VECTORS, "delta.enableInCommitTimestamps": "true", "delta.checkpointInterval": "100"}
    table = _appended(ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT", properties=properties))
    for number in range(8):
        table.append(rows(1000 + 20 * number))
        table.delete(f"id >= 1000 AND id != {1000 + 20 * number}" if number % 2 else "id >= 1000")


SOUND: Mapping[str, Callable[[Path], None]] = {
    each.__name__: each
    for each in (plain, checkpointed, partitioned, mapped, vectors, in_sidecars, ruled, timed, compacted)
}
"""The tables by name."""

"""Sound tables that damages start from: one for each kind of table, with commits, a checkpoint, and rows."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from tests.txn.built_trees import Tree

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
    """A log compaction up to the latest of 21 commits, with deletion vectors and in-commit timestamps."""
    properties = {**VECTORS, "delta.enableInCommitTimestamps": "true", "delta.checkpointInterval": "100"}
    table = _appended(ds.DeltaTable.create(path, "id BIGINT, name STRING, p INT", properties=properties))
    table.append(rows(400))
    for number in range(8):
        table.append(rows(1000 + 20 * number))
        table.delete(f"id >= 1000 AND id != {1000 + 20 * number}" if number % 2 else "id >= 1000")


_VECTORS = {"enableDeletionVectors": "true"}


def _usual(path: Path, schema: str = "id BIGINT, name STRING, p INT", **properties: str) -> ds.DeltaTable:
    named = {f"delta.{name.replace('__', '.')}": value for name, value in properties.items()}
    return ds.DeltaTable.create(path, schema, properties=named)


def by_id(path: Path) -> None:
    """Columns mapped by id, of which one was renamed and one dropped, and deletion vectors."""
    table = _usual(
        path, "id BIGINT, other STRING, p INT, gone DATE", columnMapping__mode="id", enableDeletionVectors="true"
    )
    table.append(rows(500).rename_columns(["id", "other", "p"]))
    table.alter_sql("RENAME COLUMN other TO name")
    table.alter_sql("DROP COLUMN gone")
    _appended(table, checkpoint=True)
    table.delete("id % 10 = 3")


def in_parts(path: Path) -> None:
    """A classic checkpoint of two parts."""
    checkpointed(path)
    log = path / "_delta_log"
    [whole] = log.glob("*.checkpoint.parquet")
    stored, half = pq.read_table(whole), pq.read_metadata(whole).num_rows // 2
    for number, part in enumerate((stored.slice(0, half), stored.slice(half))):
        pq.write_table(part, log / f"{whole.name[:20]}.checkpoint.{number + 1:010d}.{2:010d}.parquet")
    whole.unlink()
    hint = json.loads((log / "_last_checkpoint").read_text())
    (log / "_last_checkpoint").write_text(json.dumps({"version": hint["version"], "size": hint["size"], "parts": 2}))


def in_structs(path: Path) -> None:
    """A checkpoint whose statistics are structs only."""
    properties = {"checkpoint__writeStatsAsJson": "false", "checkpoint__writeStatsAsStruct": "true"}
    _appended(_usual(path, **properties), checkpoint=True)


def widened(path: Path) -> None:
    """Columns of wider types than the first files have."""
    table = _usual(path, "id INT, name STRING, p SMALLINT", enableTypeWidening="true")
    table.append(rows(500).set_column(0, "id", pa.array(range(500, 520), pa.int32())))
    table.alter_sql("ALTER COLUMN id TYPE BIGINT")
    table.alter_sql("ALTER COLUMN p TYPE INT")
    _appended(table, checkpoint=True)


def variants(path: Path) -> None:
    """A column of variants."""
    table = _appended(_usual(path, "id BIGINT, name STRING, p INT, v VARIANT"), checkpoint=True)
    table.update({"v": "parse_json('{\"a\": 1}')"}, "id >= 200")


def collated(path: Path) -> None:
    """Strings under a collation."""
    _appended(_usual(path, "id BIGINT, name STRING COLLATE UNICODE_CI, p INT"), checkpoint=True)


def shapes(path: Path) -> None:
    """A column of shapes."""
    table = _appended(_usual(path, "id BIGINT, name STRING, p INT, g GEOMETRY(4326)"), checkpoint=True)
    table.update({"g": "ST_GeomFromText('POINT(1 2)', 4326)"}, "id >= 200")


def for_iceberg(path: Path) -> None:
    """What readers of Iceberg need."""
    _appended(_usual(path, columnMapping__mode="name", enableIcebergCompatV2="true"), checkpoint=True)


def nested(path: Path) -> None:
    """Structs, arrays and maps, a default, and a character type."""
    schema = (
        "id BIGINT, name STRING, p INT, s STRUCT<a: INT, b: STRUCT<c: STRING>>, l ARRAY<STRUCT<x: DATE>>, "
        "m MAP<STRING, DECIMAL(9, 2)>, code CHAR(3) DEFAULT 'abc', t TIMESTAMP_NTZ"
    )
    table = _usual(path, schema, feature__allowColumnDefaults="supported")
    _appended(table, checkpoint=True)
    table.update({"s": "named_struct('a', 1, 'b', named_struct('c', name))", "t": "TIMESTAMP_NTZ'2024-01-02 03:04:05'"})


def transformed(path: Path) -> None:
    """Partitions by a generated column and odd values, and one that is NULL."""
    schema = "id BIGINT, name STRING, p INT, half BIGINT GENERATED ALWAYS AS (id DIV 50), odd STRING"
    table = ds.DeltaTable.create(path, schema, partition_by=("half", "odd"))
    _appended(table)
    more = rows(300).append_column("odd", pa.array(["a/b%20 é", None] * 10))
    table.append(more)
    table.checkpoint()
    table.append(rows(400))


def cleaned_up(path: Path) -> None:
    """The first commits and the files that nothing needs are gone."""
    table = _usual(path, deletedFileRetentionDuration="interval 0 hours", logRetentionDuration="interval 1 days")
    table.append(rows(1000))
    table.delete("id >= 1000")
    _appended(table)
    table.checkpoint()
    for file in (path / "_delta_log").glob("0*"):
        os.utime(file, (1_600_000_000 + int(file.name[:20]), 1_600_000_000 + int(file.name[:20])))
    table.append(rows(300))
    table.vacuum()
    assert table.clean_up_log()


def cloned(path: Path) -> None:
    """A shallow clone with files of its own."""
    source = path.with_name(f"{path.name} source")
    checkpointed(source)
    ds.DeltaTable(source).clone(path)
    table = ds.DeltaTable(path)
    for number in range(3):
        table.append(rows(300 + 20 * number), txn=("app", number))
        if number == 1:
            table.checkpoint()


def by_deltalake(path: Path) -> None:
    """What deltalake writes."""
    for number in range(4):
        deltalake.write_deltalake(str(path), rows(100 * number), mode="append")
        if number == 1:
            deltalake.DeltaTable(str(path)).create_checkpoint()
    deltalake.DeltaTable(str(path)).delete("id = 205")


def in_trees(path: Path) -> None:
    """An adaptive metadata tree, and commits on top of it."""
    tree = Tree(path, True, "id BIGINT, name STRING, p INT", "p")
    _appended(tree.table)
    tree.build(2)
    tree.table.append(rows(300))
    tree.table.delete("id % 10 = 3")


SOUND: Mapping[str, Callable[[Path], None]] = {
    each.__name__: each
    for each in (
        plain, checkpointed, partitioned, mapped, vectors, in_sidecars, ruled, timed, compacted, by_id, in_parts,
        in_structs, widened, variants, collated, shapes, for_iceberg, nested, transformed, cleaned_up, cloned,
        by_deltalake, in_trees,
    )
}  # fmt: skip
"""The tables by name."""

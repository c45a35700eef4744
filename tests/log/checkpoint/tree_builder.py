"""Tables with an adaptive metadata tree as the RFC says, with typed partition values and statistics.

# RFC Adaptive Metadata, Content Entry Schema
delta-spark 4.4.0 writes neither, so `tests/reference/trees.py` does not have them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.kernels.roaring_encode import encode
from deltaskip.schema.mapping import PARQUET_ID

FEATURES = ["adaptiveMetadata-preview", "columnMapping", "deletionVectors"]
# Name, column id, type in the schema, type in Arrow.
COLUMNS: tuple[tuple[str, int, str, pa.DataType], ...] = (
    ("id", 1, "long", pa.int64()),
    ("s", 2, "string", pa.string()),
    ("ts", 3, "timestamp", pa.timestamp("us", "UTC")),
    ("amount", 4, "decimal(9,2)", pa.decimal128(9, 2)),
    ("x.y", 5, "double", pa.float64()),
)
PARTITIONS: tuple[tuple[str, int, str, pa.DataType], ...] = (
    ("day", 7, "date", pa.date32()),
    ("p", 8, "string", pa.string()),
)


@dataclass(frozen=True)
class Entry:
    """A data file in a manifest. stats: by name of the column, its bounds, number of nulls, and whether it is exact."""

    path: str
    rows: int = 10
    stats: dict[str, tuple[Any, Any, int | None, bool | None]] = field(default_factory=dict)
    partition: tuple[Any, ...] = (None, None)
    status: int = 1
    sequence_number: int | None = 1
    first_row_id: int | None = 0
    vector: tuple[str, int, int, int] | None = None
    content: int = 0
    size: int = 1000
    file_format: str = "parquet"


def ided(name: str, number: int, kind: Any, required: bool = False) -> pa.Field:
    """A field with an id; a list of fields is a struct."""
    type_ = pa.struct(kind) if isinstance(kind, list) else kind
    return pa.field(name, type_, not required, metadata={PARQUET_ID: str(number).encode()})


def entry_schema() -> pa.Schema:
    """The schema of a manifest. Names are not those of the RFC, since only ids count."""
    stats = [
        ided(f"c{number}", above, [
            ided("lo", above + 1, type_), ided("hi", above + 2, type_), ided("exact", above + 3, pa.bool_()),
            ided("nulls", above + 5, pa.int64()),
        ])
        for _, number, _, type_ in COLUMNS
        for above in [10_000 + 200 * number]
    ]  # fmt: skip
    info = [ided(f"i{number}", number, pa.int32()) for number in (504, 505, 506, 520)]
    return pa.schema([
        ided("t", 147, [
            ided("a", 0, pa.int32()), ided("b", 3, pa.int64()), ided("c", 142, pa.int64()),
        ]),
        ided("kind", 134, pa.int32()), ided("where", 100, pa.string()), ided("form", 101, pa.string()),
        ided("part", 102, [ided(f"x{i}", 1000 + i, each[3]) for i, each in enumerate(PARTITIONS)]),
        ided("n", 103, pa.int64()), ided("bytes", 104, pa.int64()), ided("stats", 146, stats),
        ided("gone", 148, [
            ided("w", 155, pa.string()), ided("o", 144, pa.int64()), ided("s", 145, pa.int64()),
            ided("k", 156, pa.int64()),
        ]),
        ided("info", 150, [*info, ided("dv", 522, pa.binary()), ided("card", 523, pa.int64())]),
    ])  # fmt: skip


def row_of(entry: Entry) -> dict[str, Any]:
    """The entry of a data file."""
    numbers = {name: number for name, number, _, _ in COLUMNS}
    stats = {
        f"c{numbers[name]}": {"lo": lo, "hi": hi, "nulls": nulls, "exact": exact}
        for name, (lo, hi, nulls, exact) in entry.stats.items()
    }
    return {
        "t": {"a": entry.status, "b": entry.sequence_number, "c": entry.first_row_id},
        "kind": entry.content, "where": entry.path, "form": entry.file_format,
        "part": {f"x{i}": value for i, value in enumerate(entry.partition)},
        "n": entry.rows, "bytes": entry.size,
        "stats": stats or None,
        "gone": entry.vector and dict(zip("wosk", entry.vector, strict=True)),
        "info": None,
    }  # fmt: skip


def pointer(
    table: Path, leaf: Path, entries: Sequence[Entry], dead: Sequence[int] = (), bounded: bool = True, **more: Any
) -> dict[str, Any]:
    """The entry of a manifest. bounded: with the statistics of all its entries."""
    together: dict[str, tuple[Any, Any, int | None, bool | None]] = {}
    for name, *_ in COLUMNS:
        each = [entry.stats.get(name) for entry in entries]
        known = [stats for stats in each if stats is not None and None not in stats]
        if bounded and known and len(known) == len(each):
            lows, highs, nulls, _ = zip(*known, strict=True)
            together[name] = (min(lows), max(highs), sum(nulls), False)
    row = row_of(Entry(str(leaf.relative_to(table)), stats=together, content=3, size=leaf.stat().st_size))
    row["info"] = {"i504": sum(each.status == 1 for each in entries), "i506": 0, "i520": 0}
    row["info"]["i505"] = sum(each.status == 0 for each in entries)
    row["info"] |= {"dv": bytes(encode(pa.array(dead, pa.int64()))), "card": len(dead)} if dead else {}
    row["part"] = None
    return {**row, **more}


def write_manifest(path: Path, rows: Sequence[dict[str, Any]], schema: pa.Schema | None = None, group: int = 4) -> Path:
    """Write a manifest of entries, in row groups of `group` rows."""
    path.parent.mkdir(exist_ok=True)
    table = pa.Table.from_pylist(list(rows), schema or entry_schema())
    pq.write_table(table, path, row_group_size=group, write_page_checksum=True)
    return path


def schema_string() -> str:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {
            "delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}",
        }}
        for name, number, kind, _ in (*COLUMNS[:-1], *PARTITIONS)
    ]  # fmt: skip
    inner = {"name": "y", "type": "double", "nullable": True, "metadata": {
        "delta.columnMapping.id": 5, "delta.columnMapping.physicalName": "col-5",
    }}  # fmt: skip
    outer = {"delta.columnMapping.id": 6, "delta.columnMapping.physicalName": "col-6"}
    fields.insert(4, {"name": "x", "type": {"type": "struct", "fields": [inner]}, "nullable": True, "metadata": outer})
    return json.dumps({"type": "struct", "fields": fields})


def state() -> list[dict[str, Any]]:
    """The protocol and metaData of the table."""
    return [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES,
                      "writerFeatures": [*FEATURES, "rowTracking", "domainMetadata", "inCommitTimestamp"]}},
        {"metaData": {"id": "tree", "format": {"provider": "parquet", "options": {}}, "schemaString": schema_string(),
                      "partitionColumns": [each[0] for each in PARTITIONS],
                      "configuration": {"delta.columnMapping.mode": "id"}, "createdTime": 1}},
    ]  # fmt: skip


def checkpoint_action(table: Path, root: Path, version: int, more: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The action that names a tree."""
    content = {"path": str(root.relative_to(table)), "sizeInBytes": root.stat().st_size, "version": version}
    return {"checkpoint": [{"checkpointMetadata": {"version": version}}, {"contentRoot": content}, *state(), *more]}


def write_commit(table: Path, version: int, *actions: dict[str, Any]) -> Path:
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    path = log / f"{version:020d}.json"
    path.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
    return path


def write_tree(table: Path, leaves: Sequence[Sequence[Entry]], inline: Sequence[Entry] = (), **more: Any) -> Path:
    """Write a table whose version 1 has a tree of these manifests and entries in its root; return the root."""
    table.mkdir(exist_ok=True)
    write_commit(table, 0, *state())
    rows = [row_of(each) for each in inline]
    for number, entries in enumerate(leaves):
        leaf = write_manifest(table / "metadata" / f"leaf-{number}.parquet", [row_of(each) for each in entries])
        rows.append(pointer(table, leaf, entries, **more))
    root = write_manifest(table / "metadata" / "root.parquet", rows)
    write_commit(table, 1, {"commitInfo": {"operation": "OPTIMIZE CHECKPOINT"}}, checkpoint_action(table, root, 1))
    return root


def log_add(entry: Entry) -> dict[str, Any]:
    """The add action of the log for an entry."""
    numbers = {name: number for name, number, _, _ in COLUMNS}
    stats: dict[str, Any] = {"numRecords": entry.rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for name, (lo, hi, nulls, _) in entry.stats.items():
        for group, value in (("minValues", lo), ("maxValues", hi), ("nullCount", nulls)):
            if value is not None:
                above = stats[group].setdefault("col-6", {}) if "." in name else stats[group]
                above[f"col-{numbers[name]}"] = value if isinstance(value, int | float | str) else text_of(value)
    values = [None if value is None else str(value) for value in entry.partition]
    add = {
        "path": entry.path,
        "partitionValues": {f"col-{each[1]}": value for each, value in zip(PARTITIONS, values, strict=True)},
        "size": entry.size, "modificationTime": 0, "dataChange": False,
        "stats": json.dumps(stats),
        "baseRowId": entry.first_row_id, "defaultRowCommitVersion": entry.sequence_number,
    }  # fmt: skip
    return {"add": add}


def text_of(value: Any) -> Any:
    from datetime import datetime

    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else float(value)


def with_status(entries: Sequence[Entry], status: int) -> list[Entry]:
    return [replace(each, status=status) for each in entries]

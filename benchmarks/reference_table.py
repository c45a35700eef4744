"""The reference table of the benchmarks: a log of very many files, no data.

    python -m benchmarks.reference_table PATH [--files 1000000] [--variant classic|json|parts|v2|commits|tree]

A classic checkpoint of `files` adds in row groups of 100,000, then 50 commits of 200 adds and 50 removes each. Columns:
id long and ts timestamp (clustered: file i holds ids 1000 i … 1000 i + 999), day date (the partition, about 3,300
values), user string, price decimal(18,2), amount double, country string, s struct<a int, b string>. The physical types
are those that delta-spark and delta-rs write: microseconds for timestamps, 64-bit integers for decimals of 18 digits;
protocol and metaData stand in the first row group."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip import DeltaTable
from deltaskip.log.checkpoint.tree_writing import checkpoint_line, write_tree
from deltaskip.log.checkpoint.write import kept_state

ROW_GROUP = 100_000
COMMITS, ADDS, REMOVES = 50, 200, 50
ROWS_PER_FILE = 1000
DAYS = 3300
VARIANTS = ("classic", "json", "parts", "v2", "commits", "tree")
LEAF_FILES = 50_000
"""Files in a manifest of the variant `tree`, as delta-spark packs them."""
COUNTRIES = np.array(["AT", "BE", "CH", "DE", "DK", "ES", "FI", "FR", "GB", "IT", "NL", "NO", "PL", "PT", "SE", "US"])
_FEATURES = {"v2": ["v2Checkpoint"], "tree": ["adaptiveMetadata", "columnMapping", "deletionVectors"]}
_START_MICROS = 1_420_070_400_000_000  # 2015-01-01
_DAY = 86_400_000_000
_ENGINE = "Apache-Spark/4.1.4 Delta-Lake/4.4.0"

_S = pa.struct([("a", pa.int32()), ("b", pa.string())])
_COUNTS = pa.struct(
    [(n, pa.int64()) for n in ("id", "ts", "user", "price", "amount", "country")]
    + [("s", pa.struct([("a", pa.int64()), ("b", pa.int64())]))]
)
_BOUNDS = pa.struct(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("user", pa.string()),
        ("price", pa.decimal128(18, 2)),
        ("amount", pa.float64()),
        ("country", pa.string()),
        ("s", _S),
    ]
)


def schema_string(mapped: bool = False) -> str:
    """The table's schemaString. mapped: whether the table has column mapping."""
    ids = count(1)

    def field(name: str, type_: Any) -> dict[str, Any]:
        metadata = {"delta.columnMapping.id": next(ids), "delta.columnMapping.physicalName": name}
        return {"name": name, "type": type_, "nullable": True, "metadata": metadata if mapped else {}}

    nested = {"type": "struct", "fields": [field("a", "integer"), field("b", "string")]}
    names: list[tuple[str, Any]] = [("id", "long"), ("ts", "timestamp"), ("day", "date"), ("user", "string")]
    names += [("price", "decimal(18,2)"), ("amount", "double"), ("country", "string"), ("s", nested)]
    return json.dumps({"type": "struct", "fields": [field(n, t) for n, t in names]}, separators=(",", ":"))


def build(path: Path, files: int = 1_000_000, variant: str = "classic") -> Path:
    """Write the log (if it is not there yet) and return the table's path. variant: one of VARIANTS."""
    log = path / "_delta_log"
    if (log / "complete").exists():
        return path
    log.mkdir(parents=True, exist_ok=True)
    if variant == "commits":
        _write_commits(log, files)
    elif variant == "tree":
        _write_tree(path, files)
    else:
        _write_checkpoint(log, files, variant)
        for version in range(1, COMMITS + 1):
            _write_commit(log, version, files + (version - 1) * ADDS, _removed(version, files))
    (log / "complete").touch()
    return path


def _removed(version: int, files: int) -> list[int]:
    step = max(files // (COMMITS * REMOVES + 1), 1)
    return [((version - 1) * REMOVES + i) * step for i in range(REMOVES)]


def _write_checkpoint(log: Path, files: int, variant: str) -> None:
    base = f"{0:020d}"
    _write_text(log / f"{base}.json", [_info(), _protocol(variant), _metadata(variant)])
    json_only = variant == "json"
    if variant == "v2":
        sidecars = log / "_sidecars"
        sidecars.mkdir()
        infos = []
        for n, numbers in enumerate(_ranges(files, max(files // 4, 1))):
            name = f"{base}.checkpoint.{n + 1:010d}.0000000004.{n:08d}-0000-0000-0000-000000000000.parquet"
            _write_adds(sidecars / name, numbers, json_only, head=None)
            size = (sidecars / name).stat().st_size
            infos.append({"sidecar": {"path": name, "sizeInBytes": size, "modificationTime": 0}})
        head = [{"checkpointMetadata": {"version": 0}}, _protocol(variant), _metadata(), *infos]
        uuid = "80a083e8-7026-4e79-81be-64bd76c43a11"
        _write_text(log / f"{base}.checkpoint.{uuid}.json", head)
        hint: dict[str, Any] = {"version": 0, "size": files}
    elif variant == "parts":
        parts = list(_ranges(files, max(files // 10, 1)))
        for n, numbers in enumerate(parts):
            name = f"{base}.checkpoint.{n + 1:010d}.{len(parts):010d}.parquet"
            _write_adds(log / name, numbers, json_only, head=variant if n == 0 else None)
        hint = {"version": 0, "size": files, "parts": len(parts)}
    else:
        _write_adds(log / f"{base}.checkpoint.parquet", np.arange(files), json_only, head=variant)
        hint = {"version": 0, "size": files}
    (log / "_last_checkpoint").write_text(json.dumps(hint))


def _ranges(files: int, size: int) -> Iterator[np.ndarray]:
    for start in range(0, files, size):
        yield np.arange(start, min(start + size, files))


def _write_adds(file: Path, numbers: np.ndarray, json_only: bool, head: str | None) -> None:
    schema = _checkpoint_schema(json_only)
    rows = [] if head is None else [_as_row(_protocol(head)), _as_row(_metadata(head))]
    others = pa.Table.from_pylist(rows, schema)
    with pq.ParquetWriter(file, schema, compression="snappy", store_decimal_as_integer=True) as writer:
        for start in range(0, len(numbers), ROW_GROUP):
            adds = _adds_table(numbers[start : start + ROW_GROUP], schema, json_only, head == "tree")
            group = pa.concat_tables([others, adds]) if start == 0 else adds
            writer.write_table(group, row_group_size=len(group))


def _checkpoint_schema(json_only: bool) -> pa.Schema:
    text_map, features = pa.map_(pa.string(), pa.string()), pa.list_(pa.string())
    dv = [("storageType", pa.string()), ("pathOrInlineDv", pa.string()), ("offset", pa.int32())]
    add: list[tuple[str, pa.DataType]] = [
        ("path", pa.string()),
        ("partitionValues", text_map),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("tags", text_map),
        ("deletionVector", pa.struct([*dv, ("sizeInBytes", pa.int32()), ("cardinality", pa.int64())])),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
        ("stats", pa.string()),
    ]
    if not json_only:
        parsed = [("numRecords", pa.int64()), ("minValues", _BOUNDS), ("maxValues", _BOUNDS), ("nullCount", _COUNTS)]
        add += [("partitionValues_parsed", pa.struct([("day", pa.date32())])), ("stats_parsed", pa.struct(parsed))]
    protocol = [("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]
    metadata = [("id", pa.string()), ("format", pa.struct([("provider", pa.string()), ("options", text_map)]))]
    metadata += [("schemaString", pa.string()), ("partitionColumns", features), ("configuration", text_map)]
    return pa.schema(
        [
            ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64())])),
            ("add", pa.struct(add)),
            (
                "remove",
                pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())]),
            ),
            ("metaData", pa.struct([*metadata, ("createdTime", pa.int64())])),
            ("protocol", pa.struct([*protocol, ("readerFeatures", features), ("writerFeatures", features)])),
        ]
    )


class FileColumns:
    """Paths, partition days and statistics of the files with the given numbers."""

    def __init__(self, numbers: np.ndarray) -> None:
        n = len(numbers)
        self.numbers = numbers
        self.min_id = numbers * ROWS_PER_FILE
        self.max_id = self.min_id + ROWS_PER_FILE - 1
        self.day = (numbers * 7919) % DAYS
        self.min_ts = _START_MICROS + numbers * 300_000_000
        self.max_ts = self.min_ts + 299_000_000
        mixed = (numbers * 2654435761) % (1 << 32)
        self.min_user = pc.binary_join_element_wise(
            "user", pc.utf8_lpad(pa.array(mixed % 3_000).cast(pa.string()), 5, "0"), ""
        )
        self.max_user = pc.binary_join_element_wise(
            "user", pc.utf8_lpad(pa.array(mixed % 3_000 + 7_000).cast(pa.string()), 5, "0"), ""
        )
        self.min_price = (mixed % 1_000_000).astype(np.int64)
        self.max_price = self.min_price + 5_000
        self.min_amount = (mixed % 99_991) / 10.0
        self.max_amount = self.min_amount + 25.5
        self.min_country = COUNTRIES[mixed % 8]
        self.max_country = COUNTRIES[mixed % 8 + 8]
        self.min_a = (mixed % 100).astype(np.int32)
        self.n = n

    def paths(self) -> pa.Array:
        """A Hive-style path with a UUID-like name."""
        days = pa.array((np.datetime64("2015-01-01") + self.day).astype("datetime64[D]")).cast(pa.string())
        number = pc.utf8_lpad(pa.array(self.numbers).cast(pa.string()), 12, "0")
        return pc.binary_join_element_wise(
            "day=", days, "/part-00000-3f9c2a7e-5b1d-4c8e-9a60-", number, ".c000.snappy.parquet", ""
        )

    def days(self) -> pa.Array:
        """Partition values as dates."""
        return pa.array((np.datetime64("2015-01-01") + self.day).astype("datetime64[D]"))

    def bounds(self, high: bool) -> pa.StructArray:
        """minValues or maxValues."""
        s = pa.StructArray.from_arrays(
            [pa.array(self.min_a + (50 if high else 0)), self.max_user if high else self.min_user], fields=list(_S)
        )
        price = pa.array(self.max_price if high else self.min_price)
        decimals = pc.cast(price, pa.decimal128(21, 2))
        decimals = pc.cast(pc.divide(decimals, pa.scalar(100, pa.decimal128(3, 0))), pa.decimal128(18, 2), safe=False)
        return pa.StructArray.from_arrays(
            [
                pa.array(self.max_id if high else self.min_id),
                pa.array(self.max_ts if high else self.min_ts, pa.timestamp("us", "UTC")),
                self.max_user if high else self.min_user,
                decimals,
                pa.array(self.max_amount if high else self.min_amount),
                pa.array(self.max_country if high else self.min_country, pa.string()),
                s,
            ],
            fields=list(_BOUNDS),
        )

    def json_stats(self) -> pa.Array:
        """The statistics as text."""
        low, high = self.bounds(False), self.bounds(True)
        counts = '"nullCount":{"id":0,"ts":0,"user":0,"price":0,"amount":0,"country":0,"s":{"a":0,"b":0}}}'
        head = f'{{"numRecords":{ROWS_PER_FILE},"minValues":{{'
        return pc.binary_join_element_wise(head, _members(low), '},"maxValues":{', _members(high), "},", counts, "")


def _members(bounds: pa.StructArray) -> pa.Array:
    parts: list[Any] = []
    for field, quote in zip(_BOUNDS, ["", '"', '"', "", "", '"', None], strict=True):
        values = bounds.field(field.name)
        comma = "" if not parts else ","
        if quote is None:
            a, b = values.field("a").cast(pa.string()), values.field("b")
            parts += [f'{comma}"s":{{"a":', a, ',"b":"', b, '"}']
            continue
        text = (
            pc.strftime(pc.cast(values, pa.timestamp("ms", "UTC")), "%Y-%m-%dT%H:%M:%SZ")
            if field.name == "ts"
            else values.cast(pa.string())
        )
        parts += [f'{comma}"{field.name}":{quote}', text, quote]
    return pc.binary_join_element_wise(*parts, "")


def _adds_table(numbers: np.ndarray, schema: pa.Schema, json_only: bool, row_ids: bool) -> pa.Table:
    columns = FileColumns(numbers)
    n = columns.n
    add_type = schema.field("add").type
    keys = pa.array(["day"] * n)
    days = columns.days()
    values = pa.MapArray.from_arrays(np.arange(n + 1, dtype=np.int32), keys, days.cast(pa.string()))
    known: dict[str, pa.Array] = {
        "path": columns.paths(),
        "partitionValues": values,
        "size": pa.array(100_000 + (numbers % 1000)),
        "modificationTime": pa.array(1_700_000_000_000 + numbers),
        "dataChange": pa.array(np.zeros(n, bool)),
        "stats": columns.json_stats(),
    }
    zero = pa.array(np.zeros(n, np.int64))
    if row_ids:
        known |= {"baseRowId": pa.array(columns.min_id), "defaultRowCommitVersion": zero}
    if not json_only:
        s_zero = pa.StructArray.from_arrays([zero, zero], fields=list(_COUNTS.field("s").type))
        counts = pa.StructArray.from_arrays([zero] * 6 + [s_zero], fields=list(_COUNTS))
        records = pa.array(np.full(n, ROWS_PER_FILE))
        parsed = [records, columns.bounds(False), columns.bounds(True), counts]
        known["stats_parsed"] = pa.StructArray.from_arrays(parsed, fields=list(add_type.field("stats_parsed").type))
        known["partitionValues_parsed"] = pa.StructArray.from_arrays([days], names=["day"])
    arrays = [known[f.name].cast(f.type) if f.name in known else pa.nulls(n, f.type) for f in add_type]
    add = pa.StructArray.from_arrays(arrays, fields=list(add_type))
    others = {f.name: pa.nulls(n, f.type) for f in schema if f.name != "add"}
    return pa.table([add if f.name == "add" else others[f.name] for f in schema], schema=schema)


def _write_tree(path: Path, files: int) -> None:
    """The tree that deltaskip writes of the files of a classic checkpoint, named by the first commit.

    # RFC Adaptive Metadata
    """
    log = path / "_delta_log"
    _write_checkpoint(log, files, "tree")
    snapshot = DeltaTable(str(path)).snapshot
    made = write_tree(snapshot, LEAF_FILES, 0)
    with (log / f"{0:020d}.json").open("ab") as commit:
        commit.write(checkpoint_line(snapshot, made, list(kept_state(snapshot))))
    for each in (*log.glob("*.checkpoint.parquet"), log / "_last_checkpoint"):
        each.unlink()


def _write_commit(log: Path, version: int, first: int, removed: list[int]) -> None:
    adds = _add_actions(np.arange(first, first + ADDS))
    gone = FileColumns(np.array(removed))
    removes = [
        {
            "remove": {
                "path": path,
                "deletionTimestamp": 1_700_000_000_000,
                "dataChange": True,
                "extendedFileMetadata": True,
                "partitionValues": {"day": str(day)},
                "size": 100_000,
            }
        }
        for path, day in zip(gone.paths().to_pylist(), gone.days().to_pylist(), strict=True)
    ]
    _write_text(log / f"{version:020d}.json", [_info(), *adds, *removes])


def _write_commits(log: Path, files: int) -> None:
    """One commit for each file."""
    actions = _add_actions(np.arange(files))
    for version, action in enumerate(actions):
        head = [_protocol("commits"), _metadata()] if version == 0 else []
        _write_text(log / f"{version:020d}.json", [_info(), *head, action])


def _add_actions(numbers: np.ndarray) -> list[dict[str, Any]]:
    columns = FileColumns(numbers)
    rows = zip(columns.paths().to_pylist(), columns.days().to_pylist(), columns.json_stats().to_pylist(), strict=True)
    return [
        {
            "add": {
                "path": path,
                "partitionValues": {"day": str(day)},
                "size": 100_000,
                "modificationTime": 1_700_000_000_000,
                "dataChange": True,
                "stats": stats,
            }
        }
        for path, day, stats in rows
    ]


def _info() -> dict[str, Any]:
    return {"commitInfo": {"timestamp": 1_700_000_000_000, "operation": "WRITE", "engineInfo": _ENGINE}}


def _protocol(variant: str) -> dict[str, Any]:
    if variant not in _FEATURES:
        return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    features = {"readerFeatures": _FEATURES[variant], "writerFeatures": _FEATURES[variant]}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}


def _metadata(variant: str = "classic") -> dict[str, Any]:
    mapped = variant == "tree"
    return {
        "metaData": {
            "id": "2b1c9c60-6f5a-4a73-8f4e-0c7f4f0d1a11",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema_string(mapped),
            "partitionColumns": ["day"],
            "configuration": {"delta.columnMapping.mode": "id"} if mapped else {},
            "createdTime": 1_700_000_000_000,
        }
    }


def _as_row(action: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(json.dumps(action))
    if "metaData" in row:
        row["metaData"]["configuration"] = [*row["metaData"]["configuration"].items()]
        row["metaData"]["format"]["options"] = []
    return row


def _write_text(file: Path, lines: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")


def main() -> None:
    """Build a table from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--variant", choices=VARIANTS, default="classic")
    options = parser.parse_args()
    build(options.path, options.files, options.variant)


if __name__ == "__main__":
    main()

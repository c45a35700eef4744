"""A reader typed from the protocol: rows with their ids, and changes. It needs no Spark and knows nothing of deltaskip.

# PROTOCOL, Deletion Vector Format, Column Mapping, Partition Value Serialization, Row Tracking, Change Data Feed
"""

import json
import struct
import zlib
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.reference.histories.log_rules import on_disk, vector_file, z85
from tests.reference.histories.statistics import micros_of
from tests.reference.rows import plain_rows

DAY = 86_400_000_000
INDEX = "__index"
WIDE = Context(prec=60)
Action = Mapping[str, Any]
Row = dict[str, Any]


class TableReader:
    """Reads files of a table with the metadata of a version."""

    def __init__(self, folder: Path, metadata: Action) -> None:
        self.folder = folder
        self.fields = json.loads(metadata["schemaString"])["fields"]
        self.partitions = set(metadata["partitionColumns"])
        self.configuration = metadata.get("configuration", {})
        self.by_id = self.configuration.get("delta.columnMapping.mode") == "id"

    def rows(self, add: Action) -> list[Row]:
        """The rows of a file that are not deleted, with `__index`, `__row_id` and `__row_version`."""
        found = self._rows(add)
        deleted = self.deleted(add)
        if any(i >= len(found) for i in deleted):
            raise AssertionError(f"{add['path']} has {len(found)} rows, its deletion vector {sorted(deleted)}")
        return [row for row in found if row[INDEX] not in deleted]

    def changes(self, actions: Mapping[str, list[Action]]) -> list[tuple[str, Row]]:
        """The changes of a commit."""
        if actions.get("cdc"):
            return [(row.pop("_change_type"), row) for cdc in actions["cdc"] for row in self._rows(cdc, feed=True)]
        found = []
        adds = {a["path"]: a for a in actions.get("add", []) if a["dataChange"]}
        removes = {a["path"]: a for a in actions.get("remove", []) if a["dataChange"]}
        for path in {**adds, **removes}:
            now = {row[INDEX]: row for row in self.rows(adds[path])} if path in adds else {}
            before = {row[INDEX]: row for row in self.rows(removes[path])} if path in removes else {}
            found += [("insert", row) for i, row in now.items() if i not in before]
            found += [("delete", row) for i, row in before.items() if i not in now]
        return found

    def _rows(self, action: Action, feed: bool = False) -> list[Row]:
        table = pq.ParquetFile(on_disk(self.folder, action["path"]), coerce_int96_timestamp_unit="us").read()
        converters = [(f["name"], *self._column(f, table.schema, action)) for f in self.fields]
        keys = [f"delta.rowTracking.materialized{name}ColumnName" for name in ("RowId", "RowCommitVersion")]
        names = [self.configuration.get(key) for key in keys]
        first, version = action.get("baseRowId"), action.get("defaultRowCommitVersion")
        found = []
        for i, stored in enumerate(plain_rows(table)):
            row = {name: convert(stored.get(there)) for name, there, convert in converters}
            if feed:
                row["_change_type"] = stored["_change_type"]
            ids = [stored.get(name) for name in names]
            row[INDEX] = i
            row["__row_id"] = first + i if ids[0] is None and first is not None else ids[0]
            row["__row_version"] = version if ids[1] is None else ids[1]
            found.append(row)
        return found

    def _column(self, field: Action, file: pa.Schema, action: Action) -> tuple[str, Callable[[Any], Any]]:
        """The name of a column in the file, and what makes its values the table's."""
        physical = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
        if field["name"] in self.partitions:
            value = partition_value(action["partitionValues"].get(physical), field["type"])
            return physical, lambda _: value
        there = self._find(field, list(file))
        if there is None:
            return physical, lambda _: None
        return there.name, self._converter(field["type"], there.type)

    def _find(self, field: Action, there: list[pa.Field]) -> pa.Field | None:
        if self.by_id:
            wanted = str(field["metadata"]["delta.columnMapping.id"]).encode()
            found = [f for f in there if (f.metadata or {}).get(b"PARQUET:field_id") == wanted]
        else:
            name = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
            found = [f for f in there if f.name == name]
        return found[0] if found else None

    def _converter(self, kind: Any, there: pa.DataType) -> Callable[[Any], Any]:
        match kind:
            case {"type": "struct", "fields": fields}:
                members = []
                for field in fields:
                    found = self._find(field, list(there))
                    convert = None if found is None else self._converter(field["type"], found.type)
                    members.append((field["name"], None if found is None else found.name, convert))
                return lambda value: (
                    None
                    if value is None
                    else {
                        name: None if inner is None or convert is None else convert(value[inner])
                        for name, inner, convert in members
                    }
                )
            case {"type": "array", "elementType": element}:
                of = self._converter(element, there.value_type)
                return lambda value: None if value is None else [of(v) for v in value]
            case {"type": "map", "keyType": key, "valueType": item}:
                keys, items = self._converter(key, there.key_type), self._converter(item, there.item_type)
                return lambda value: None if value is None else [(keys(k), items(v)) for k, v in value]
            case "timestamp_ntz" if pa.types.is_date(there):
                return lambda value: None if value is None else value * DAY
            case str() if kind.startswith("decimal"):
                scale = int(kind.rstrip(")").rpartition(",")[2])
                return lambda value: None if value is None else _scaled(value, scale)
        return lambda value: value

    def deleted(self, action: Action) -> set[int]:
        """Positions that the deletion vector of a file has."""
        vector = action.get("deletionVector")
        if vector is None:
            return set()
        if vector["storageType"] == "i":
            data = z85(vector["pathOrInlineDv"])[: vector["sizeInBytes"]]
        else:
            name = vector_file(action)
            file = self.folder / name if name is not None else on_disk(self.folder, vector["pathOrInlineDv"])
            raw = file.read_bytes()
            at = vector.get("offset") or 0
            size = int.from_bytes(raw[at : at + 4], "big")
            data = raw[at + 4 : at + 4 + size]
            checksum = int.from_bytes(raw[at + 4 + size : at + 8 + size], "big")
            if raw[0] != 1 or size != vector["sizeInBytes"] or zlib.crc32(data) != checksum:
                raise AssertionError(f"the deletion vector {vector} is damaged")
        found = bitmap(data)
        if len(found) != vector["cardinality"]:
            raise AssertionError(f"the deletion vector {vector} has {len(found)} positions")
        return found


def bitmap(data: bytes) -> set[int]:
    """Positions of a serialized RoaringBitmapArray."""
    magic, count = struct.unpack_from("<iq", data)
    if magic != 1681511377:
        raise AssertionError(f"a deletion vector begins with {magic}")
    found: set[int] = set()
    at = 12
    for _ in range(count):
        [high] = struct.unpack_from("<I", data, at)
        at = _roaring(data, at + 4, high << 32, found)
    return found


def _roaring(data: bytes, at: int, base: int, found: set[int]) -> int:
    """Read a 32-bit bitmap. # Roaring format specification, portable serialization"""
    [cookie] = struct.unpack_from("<I", data, at)
    begin, at = at, at + 4
    runs = cookie & 0xFFFF == 12347
    if runs:
        size = (cookie >> 16) + 1
        flags = data[at : at + (size + 7) // 8]
        at += len(flags)
    else:
        [size] = struct.unpack_from("<I", data, at)
        flags, at = bytes((size + 7) // 8), at + 4
    headers = [struct.unpack_from("<HH", data, at + 4 * i) for i in range(size)]
    at += 4 * size
    if not runs or size >= 4:
        offsets = struct.unpack_from(f"<{size}I", data, at)
        at += 4 * size
        if offsets and offsets[0] != at - begin:
            raise AssertionError("the offsets of a bitmap are wrong")
    for i, (key, last) in enumerate(headers):
        low = base | key << 16
        if flags[i // 8] >> i % 8 & 1:
            [number] = struct.unpack_from("<H", data, at)
            for run in range(number):
                start, length = struct.unpack_from("<HH", data, at + 2 + 4 * run)
                found.update(range(low + start, low + start + length + 1))
            at += 2 + 4 * number
        elif last + 1 > 4096:
            bits = int.from_bytes(data[at : at + 8192], "little")
            found.update(low + n for n in range(65536) if bits >> n & 1)
            at += 8192
        else:
            found.update(low + n for n in struct.unpack_from(f"<{last + 1}H", data, at))
            at += 2 * (last + 1)
    return at


def partition_value(text: str | None, kind: str) -> Any:
    """The value of a partition from its text in the log."""
    if text is None or text == "":
        return None
    if kind in ("byte", "short", "integer", "long"):
        return int(text)
    if kind == "date":
        return micros_of(f"{text}T00:00:00Z") // DAY
    if kind in ("timestamp", "timestamp_ntz"):
        if kind == "timestamp" and not text.endswith("Z"):
            raise AssertionError(f"the partition value {text!r} names no time zone")
        return micros_of(text.replace(" ", "T"))
    return Decimal(text) if kind.startswith("decimal") else text


def _scaled(value: Decimal, scale: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-scale), context=WIDE)

"""Deletion vectors that delete rows which their files do not have, by every door that reads them."""

import json
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import CorruptDeletionVector, InvalidCommit
from deltaskip.kernels.roaring_encode import encode
from tests.builder import logged

# Rows of the file.
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "v": ["a", "b", "c"]})
FEATURES = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
COUNTS = {"known": 3, "unknown": None, "wrong": 2**33}


def every_row() -> bytes:
    """A vector of 2^32 rows in 900 KB: the portable form, with one bitmap of 65,536 containers of one run each."""
    containers = 1 << 16
    head = struct.pack("<I", (containers - 1) << 16 | 12347) + b"\xff" * (containers // 8)
    start = len(head) + containers * 8
    keys = b"".join(struct.pack("<HH", key, 0xFFFF) for key in range(containers))
    offsets = struct.pack(f"<{containers}I", *range(start, start + containers * 6, 6))
    runs = struct.pack("<HHH", 1, 0, 0xFFFF) * containers
    return struct.pack("<IQI", 1681511377, 1, 0) + head + keys + offsets + runs


VECTORS = {"2^32 rows": (every_row(), 2**32), "a row too many": (encode(pa.array([0, 3], pa.int64())), 2)}


def damaged(folder: Path, vector: tuple[bytes, int], rows: int | None) -> tuple[ds.DeltaTable, dict[str, Any]]:
    """A table of one file with a vector, which version 2 has added; and its add action."""
    table = ds.DeltaTable.create(folder, ROWS.schema, properties=FEATURES)
    table.append(ROWS)
    log = folder / "_delta_log"
    [add] = logged(folder, 1, kind="add")
    data, cardinality = vector
    (folder / "v.bin").write_bytes(b"\1" + struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data)))
    described = {"storageType": "p", "pathOrInlineDv": (folder / "v.bin").as_uri(), "offset": 1}
    add["deletionVector"] = {**described, "sizeInBytes": len(data), "cardinality": cardinality}
    stats = json.loads(add["stats"])
    add["stats"] = json.dumps({**stats, "numRecords": rows, "tightBounds": False} if rows else {})
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True, "extendedFileMetadata": False}
    (log / f"{2:020d}.json").write_text("\n".join(json.dumps(each) for each in ({"remove": remove}, {"add": add})))
    for checksum in log.glob("*.crc"):
        checksum.unlink()
    return ds.DeltaTable(folder), add


SOURCE = pa.table({"id": pa.array([1, 9], pa.int64()), "v": ["x", "y"]})
DOORS: dict[str, Callable[[ds.DeltaTable], object]] = {
    "to_arrow": lambda table: table.scan().to_arrow(),
    "to_arrow, few rows": lambda table: table.scan("id = 2").to_arrow(),
    "to_batches": lambda table: list(table.scan(columns=["v"]).to_batches()),
    "delete": lambda table: table.delete("id = 2"),
    "update": lambda table: table.update({"v": "'z'"}, "id = 2"),
    "merge": lambda table: table.merge(SOURCE, "target.id = source.id").when_matched_update_all().execute(),
    "overwrite": lambda table: table.overwrite(SOURCE, where="id < 2 OR id = 9"),
    "optimize": lambda table: table.optimize(zorder_by="id"),
    "changes": lambda table: table.changes(2).to_arrow(),
}


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("rows", COUNTS)
def test_every_door_refuses_rows_that_a_file_does_not_have(tmp_path: Path, vector: str, rows: str) -> None:
    if vector == "a row too many" and rows != "known":
        pytest.skip("the log does not say that the file lacks the row, and one row does no harm")
    table, _ = damaged(tmp_path, VECTORS[vector], COUNTS[rows])
    for door, act in DOORS.items():
        if vector == "a row too many" and door == "changes":
            # The statistics of a change are not those of the file.
            continue
        start = time.monotonic()
        with pytest.raises(CorruptDeletionVector, match=r"it deletes (4,294,967,296 rows|row 3, counted from 0,) of a"):
            act(ds.DeltaTable(tmp_path))
        assert time.monotonic() - start < 10, door
    assert table.version == ds.DeltaTable(tmp_path).version == 2


def test_a_commit_with_such_a_vector_is_refused(tmp_path: Path) -> None:
    table, add = damaged(tmp_path, VECTORS["2^32 rows"], 3)
    log = tmp_path / "_delta_log"
    (log / f"{2:020d}.json").unlink()
    transaction = ds.DeltaTable(tmp_path).transaction()
    vector = add.pop("deletionVector")
    described = ds.actions.DeletionVectorDescriptor(
        vector["storageType"], vector["pathOrInlineDv"], vector["sizeInBytes"], vector["cardinality"], vector["offset"]
    )
    transaction.add(ds.actions.AddFile(add["path"], {}, add["size"], 1, True, add["stats"], None, described))
    with pytest.raises(InvalidCommit, match="deletes 4294967296 of 3 rows"):
        transaction.commit()
    assert ds.DeltaTable(tmp_path).version == 1 and table.version == 2

"""Schemas nested as deeply as they may be: what is done with them takes time by their fields, not by their paths."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import deltaskip as ds

DEPTH = 40


def test_tables_with_structs_in_structs(tmp_path: Path) -> None:
    kind, value = pa.int32(), 1
    for _ in range(DEPTH):
        kind, value = pa.struct([("a", kind)]), {"a": value}
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "c": pa.array([value, None], kind)})
    table = ds.DeltaTable.create(tmp_path / "t", f"id BIGINT, c {'STRUCT<a: ' * DEPTH}INT{'>' * DEPTH}")
    table.append(rows)
    # Something that visited a field once for each struct around it would not end.
    table.merge(rows, "target.id = source.id").when_matched_update_all().execute()
    table.update({"id": "id + 1"}, f"c.{'.'.join(['a'] * DEPTH)} = 1")
    assert table.scan().to_dataset().count_rows() == 2
    table.alter(ds.SetProperty("delta.columnMapping.mode", "name"), ds.RenameColumn("id", "key"))
    table.optimize()
    table.checkpoint()
    assert table.scan("c IS NOT NULL", columns=["key"]).to_arrow().to_pylist() == [{"key": 2}]
    assert table.scan().to_arrow().num_rows == 2

"""Tables for the tests of changed rows: their rows as Python values, their files, and what a commit contains."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaskip import DeltaTable
from deltaskip.dml.files_to_change import files_to_change
from deltaskip.features.row_tracking import row_id_columns
from deltaskip.reading.stored_rows import StoredRows
from tests.builder import logged

DDL = "id BIGINT, p STRING, x INT, st STRUCT<a: INT, tags: ARRAY<STRING>>"


def rows(ids: range | list[int], **columns: Any) -> pa.Table:
    """Rows of DDL: p is a, b or NULL, and x is NULL in every fourth row."""
    made = {
        "id": pa.array(list(ids), pa.int64()),
        "p": pa.array(["ab"[i % 3] if i % 3 < 2 else None for i in ids], pa.string()),
        "x": pa.array([None if i % 4 == 0 else i for i in ids], pa.int32()),
        "st": pa.array(
            [{"a": i, "tags": [str(i)]} for i in ids], pa.struct([("a", pa.int32()), ("tags", pa.list_(pa.string()))])
        ),
    }
    return pa.table({**made, **columns})


def rows_of(table: DeltaTable, *extra: str) -> list[dict[str, Any]]:
    """The live rows of a table, by id."""
    found: list[dict[str, Any]] = []
    snapshot = table.snapshot
    reader = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode)
    for _, batch in reader.live(files_to_change(table.scan()).whole.listed):
        found += pa.RecordBatch.from_arrays(list(batch.columns.values()), names=list(batch.columns)).to_pylist()
    return sorted(found, key=lambda row: (row["id"] is None, row["id"]))


def ids_of(table: DeltaTable) -> list[int]:
    """The ids of the live rows, ascending."""
    return [row["id"] for row in rows_of(table)]


def files_below(folder: Path) -> set[str]:
    """Paths of the files of a table but for its log."""
    every = (os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)
    return {os.path.relpath(path, folder) for path in every if "/_delta_log/" not in path}


def actions_of(table: DeltaTable, version: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """The actions of one commit, by kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    for action in logged(table.snapshot.root, table.version if version is None else version):
        for name, members in action.items():
            found.setdefault(name, []).append(members)
    return found


def info_of(table: DeltaTable, version: int | None = None) -> dict[str, Any]:
    """The commitInfo of one commit."""
    return actions_of(table, version)["commitInfo"][0]


def row_ids_of(table: DeltaTable) -> dict[int, tuple[int, int]]:
    """Row id and row commit version of each live row, by the row's id."""
    snapshot = table.snapshot
    columns = row_id_columns(snapshot.table_properties)
    assert columns is not None
    files = files_to_change(table.scan()).whole.listed
    found: dict[int, tuple[int, int]] = {}
    reader = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, ["id"], columns.fields)
    for number in range(len(files)):
        base, version = (files[name][number].as_py() for name in ("base_row_id", "default_row_commit_version"))
        for _, batch in reader.live(files.slice(number, 1)):
            given = (batch.columns[name].to_pylist() for name in ("id", columns.row_id, columns.commit_version))
            for position, i, row_id, commit in zip(batch.positions.tolist(), *given, strict=True):
                found[i] = base + position if row_id is None else row_id, version if commit is None else commit
    assert len({row_id for row_id, _ in found.values()}) == len(found)
    return found


def made(folder: Path, partition_by: tuple[str, ...] = (), ids: int = 12, **properties: str) -> DeltaTable:
    table = DeltaTable.create(folder / "t", DDL, partition_by, properties=properties)
    table.append(rows(range(ids)))
    return table

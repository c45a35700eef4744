"""VACUUM by a list of the files below the table's folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds

OLD = 1_600_000_000


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """A table with a needed file, and below its folder old, new, hidden and other tables' files."""
    found = ds.DeltaTable.create(tmp_path / "t t", "id BIGINT, p STRING", ["p"])
    found.append({"id": [1], "p": ["a"]})
    others = ("gone é.parquet", "p=a/gone.parquet", "p=a/new.parquet", "_hidden/x.parquet", "other/part/y.parquet")
    for name in others:
        path = tmp_path / "t t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    ds.DeltaTable.create(tmp_path / "t t" / "other", "id BIGINT")
    for path in (tmp_path / "t t").rglob("*"):
        if path.is_file() and path.name != "new.parquet":
            os.utime(path, (OLD, OLD))
    return found


def inventory(table: ds.DeltaTable, prefix: str, **columns: Any) -> pa.Table:
    """Every file and folder below the folder, as a report that is older than `new.parquet` has them."""
    folder = Path(table.snapshot.root)
    found = [path for path in folder.rglob("*") if "_delta_log" not in path.parts]
    rows = {
        "path": [f"{prefix}{path}" for path in found],
        "length": [1] * len(found),
        "isDir": [path.is_dir() for path in found],
        "modificationTime": [OLD * 1000] * len(found),
        "owner": ["me"] * len(found),
    }
    return pa.table({**rows, **columns})


@pytest.mark.parametrize("prefix", ["file:", "file://", ""])
def test_only_old_files_that_are_listed_and_not_needed_are_deleted(table: ds.DeltaTable, prefix: str) -> None:
    given = inventory(table, prefix)
    # A file that the list lacks stays; one that is not below the table is not this table's.
    given = pa.concat_tables([given, given.slice(0, 1).set_column(0, "path", [["/elsewhere/z.parquet"]])])
    assert not list(table.vacuum(dry_run=True, inventory=given.slice(0, 0)).files)
    expected = ["gone é.parquet", "p=a/gone.parquet"]
    assert sorted(table.vacuum(dry_run=True, inventory=given).files) == expected
    done = table.vacuum(inventory=given)
    assert (sorted(done.files), done.operation) == (expected, "VACUUM END")
    root = Path(table.snapshot.root)
    left = {str(path.relative_to(root)) for path in root.rglob("*.parquet")}
    assert left >= {"p=a/new.parquet", "_hidden/x.parquet", "other/part/y.parquet"} and not left & set(expected)
    assert table.scan().count() == 1


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({"length": ["one"]}, {}, "needs the columns path string, length int64"),
        ({"isDir": None}, {}, "isDir bool"),
        ({}, {"lite": True}, "LITE"),
    ],
)
def test_a_list_without_what_is_needed_is_refused(
    table: ds.DeltaTable, columns: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    given = inventory(table, "").slice(0, 1)
    for name, values in columns.items():
        at = given.schema.get_field_index(name)
        given = given.remove_column(at) if values is None else given.set_column(at, name, [values])
    with pytest.raises(ds.InvalidArgument, match=message):
        table.vacuum(inventory=given, **more)

"""Files that versions added and removed: as the commits have them, and as deltalake lists the versions' files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, InvalidArgumentType, VersionNotFound
from tests.dml.tables import DDL, rows
from tests.each import refuses

VECTORS = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "3"}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """Eight versions: appends, deletes with vectors and of whole files, and one that only moves rows."""
    table = ds.DeltaTable.create(tmp_path_factory.mktemp("files") / "t", DDL, ["p"], properties=VECTORS)
    table.append(rows(range(20)))
    table.append(rows(range(20, 40)))
    table.delete("id % 7 = 0")
    table.delete("p = 'a'")
    table.append(rows(range(40, 60)))
    table.optimize()
    table.alter_sql("SET TBLPROPERTIES ('x' = 'y')")
    return table


def logged(table: ds.DeltaTable, first: int) -> list[tuple[object, ...]]:
    found = []
    for version in range(first, table.version + 1):
        path = Path(table.snapshot.root) / "_delta_log" / f"{version:020}.json"
        for line in path.read_text().splitlines():
            for action, each in json.loads(line).items():
                if action in ("add", "remove"):
                    p = each["partitionValues"]["p"]
                    found.append((version, action, unquote(each["path"]), each["size"], p, each["dataChange"]))
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("version", [0, 2, 5, 7])
def test_rows_are_the_actions_of_the_commits(table: ds.DeltaTable, version: int) -> None:
    found = table.files_since(version)
    values = [
        (row["version"], row["action"], row["path"], row["size"], row["partition_values"]["p"], row["data_change"])
        for row in found.to_pylist()
    ]
    assert values == logged(table, version + 1)
    assert found.schema == table.files_since(table.version).schema
    assert table.files_since(table.version).num_rows == 0


@pytest.mark.parametrize("version", range(8))
def test_files_of_an_older_version_become_those_of_the_table(table: ds.DeltaTable, version: int) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed (test)")
    root = table.snapshot.root
    files = set(ds.DeltaTable(root, version).scan().files(columns=["path"])["path"].to_pylist())
    for row in table.files_since(version).to_pylist():
        files.discard(row["path"]) if row["action"] == "remove" else files.add(row["path"])
    expected = {Path(uri).relative_to(root).as_posix() for uri in deltalake.DeltaTable(root).file_uris()}
    assert files == expected


def test_what_only_moves_rows_changes_no_data(table: ds.DeltaTable) -> None:
    found = table.files_since(5)
    assert set(found["data_change"].to_pylist()) == {False}
    assert {"add", "remove"} == set(found["action"].to_pylist())
    vectors = [row["deletion_vector"] for row in table.files_since(2).to_pylist() if row["version"] == 3]
    assert any(vectors) and not all(vectors)


def test_partition_values_have_the_types_of_the_table(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path, "id INT, ts TIMESTAMP, n DECIMAL(5,1)", ["ts", "n"])
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    schema = table.scan().to_arrow().schema
    table.append(pa.Table.from_pylist([{"id": 1, "ts": moment, "n": 2}, {"id": 2}], schema=schema))
    found = table.files_since(0)["partition_values"].combine_chunks()
    assert found.type == pa.struct([("ts", pa.timestamp("us", "UTC")), ("n", pa.decimal128(5, 1))])
    assert sorted(found.field("ts").to_pylist(), key=str) == [moment, None]


def test_versions_that_cannot_be_listed_are_refused(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path, "id INT")
    for first in range(3):
        table.append(pa.table({"id": pa.array([first], pa.int32())}))
    refuses(VersionNotFound, "refresh", table.files_since, 4)
    refuses(InvalidArgument, "0 or greater", table.files_since, -1)
    refuses(InvalidArgumentType, "int", table.files_since, None)
    refuses(InvalidArgument, "time zone", table.files_since, 0, time_zone="Nowhere")
    table.checkpoint()
    (tmp_path / "_delta_log" / f"{1:020}.json").unlink()
    refuses(VersionNotFound, "cleaned up", table.files_since, 0)
    assert table.files_since(1).num_rows == 2

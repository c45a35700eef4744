"""A table whose log only deltaskip has written, read by delta-rs and DuckDB."""

import json
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import AddFile, add_actions, remove_of
from tests.txn.tables import make_table


@pytest.fixture(scope="module")
def deltalake() -> ModuleType:
    """The package `deltalake`."""
    return pytest.importorskip("deltalake", reason="deltalake is not installed (extra test)")


def data_file(folder: Path, name: str, ids: list[int]) -> AddFile:
    """Write a data file of the table, and its add."""
    part = pa.array([number % 7 for number in ids], pa.int32())
    rows = pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{number}" for number in ids], "part": part})
    pq.write_table(rows, folder / name)
    stats = {"numRecords": len(ids), "minValues": {"id": min(ids)}, "maxValues": {"id": max(ids)}}
    size = (folder / name).stat().st_size
    return AddFile(name, {}, size, 1_700_000_000_000, True, json.dumps(stats))


@pytest.mark.reference
@pytest.mark.parametrize(
    ("properties", "features"),
    [
        ({}, ()),
        ({"delta.checkpoint.writeStatsAsJson": "false"}, ()),
        ({"delta.checkpointPolicy": "v2"}, ("v2Checkpoint",)),
    ],
    ids=["classic", "struct", "V2"],
)
def test_every_reader_reads_a_table_whose_log_is_deltaskips_alone(
    tmp_path: Path, deltalake: ModuleType, properties: dict[str, str], features: tuple[str, ...]
) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, {**properties, "delta.checkpointInterval": "4"}, features)
    for number in range(9):
        txn = table.refresh().transaction()
        txn.add(data_file(folder, f"f{number}.parquet", list(range(number * 10, number * 10 + 10))))
        txn.set_app_version("app", number)
        txn.commit()
    latest = table.refresh()
    away = latest.transaction(read="id < 10", operation="DELETE")
    away.remove(
        *(remove_of(f, 1_700_000_000_000) for f in add_actions(latest.snapshot.adds()) if f.path == "f0.parquet")
    )
    away.commit()
    expected = list(range(10, 90))
    read = deltalake.DeltaTable(str(folder))
    assert read.version() == 10
    assert sorted(uri.rpartition("/")[2] for uri in read.file_uris()) == [f"f{i}.parquet" for i in range(1, 9)]
    if not features:
        # Its reader of rows refuses a table that may have V2 checkpoints; its log does not.
        assert sorted(read.to_pyarrow_table(columns=["id"])["id"].to_pylist()) == expected
    assert sorted(ds.DeltaTable(folder).scan().files()["path"].to_pylist()) == [f"f{i}.parquet" for i in range(1, 9)]
    assert duckdb_ids(folder) == expected


def duckdb_ids(folder: Path) -> list[int]:
    """The ids that DuckDB's delta extension reads."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (extra test)")
    extension = pytest.importorskip("duckdb_extension_delta", reason="duckdb-extension-delta is not installed (bench)")
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    binary = next(Path(extension.__file__).parent.rglob("delta.duckdb_extension"))
    connection.execute(f"LOAD '{binary}'")
    return [row[0] for row in connection.execute(f"SELECT id FROM delta_scan('{folder}') ORDER BY id").fetchall()]

"""OPTIMIZE of tables with every kind of column and feature, and on an object store."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import decode_path
from deltaskip.errors import UnsupportedFeature
from deltaskip.storage import Storage
from tests.dml.tables import actions_of, info_of, row_ids_of, rows_of
from tests.maintenance.optimize.tables import FEED, ROW_IDS, VECTORS, files_of
from tests.storage.s3 import endpoint, s3_options, store

__all__ = ["endpoint", "s3_options", "store"]


def first_file(table: ds.DeltaTable) -> pq.ParquetFile:
    """The first data file of a table."""
    [path, *_] = table.snapshot.adds(["path"])["path"].to_pylist()
    return pq.ParquetFile(Path(table.snapshot.root) / decode_path(path))


@pytest.mark.long(gate=3)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("zorder_by", [(), ("id", "n")])
def test_rule_67_iceberg_files_have_ids_and_partition(tmp_path: Path, version: int, zorder_by: tuple[str, ...]) -> None:
    nested = ", tags ARRAY<INT>, m MAP<STRING, INT>" if version > 1 else ""
    table = ds.DeltaTable.create(
        tmp_path / "t", f"id BIGINT, p STRING, n INT{nested}", ["p"],
        properties={f"delta.enableIcebergCompatV{version}": "true"},
    )  # fmt: skip
    for start in (0, 10):
        data: dict[str, Any] = {"id": range(start, start + 10), "p": ["a", None] * 5}
        data["n"] = pa.array(range(10), pa.int32())
        if nested:
            data |= {"tags": [[1, 2]] * 10, "m": pa.array([[("k", 1)]] * 10, pa.map_(pa.string(), pa.int32()))}
        table.append(pa.table(data))
    names = first_file(table).schema_arrow
    before = rows_of(table)
    assert table.optimize(zorder_by=zorder_by).metrics["numAddedFiles"] == 2
    now = list(first_file(table).schema_arrow)
    assert rows_of(table) == before
    assert pa.schema(now[: len(names)]).equals(names.remove_metadata(), check_metadata=True)
    # Version 3 has row ids, under the ids that Iceberg reserves for them.
    ids = [field.metadata[b"PARQUET:field_id"] for field in now[len(names) :]]
    assert ids == ([b"2147483540", b"2147483539"] if version == 3 else [])


def test_widened_columns_have_their_new_type_in_new_files(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, x FLOAT", properties={"delta.enableTypeWidening": "true"})
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "x": pa.array([0.5, None], pa.float32())}))
    table.alter_sql("ALTER COLUMN id TYPE BIGINT")
    table.alter_sql("ALTER COLUMN x TYPE DOUBLE")
    table.append(pa.table({"id": [2**40], "x": [1e300]}))
    before = rows_of(table)
    table.optimize(zorder_by="id")
    assert rows_of(table) == before
    assert [f.type for f in first_file(table).schema_arrow] == [pa.int64(), pa.float64()]


def test_generated_identity_default_and_checked_columns_stay_as_they_are(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "t",
        "id BIGINT, n BIGINT GENERATED ALWAYS AS IDENTITY, g INT GENERATED ALWAYS AS (CAST(id AS INT)), "
        "d STRING DEFAULT 'x', c CHAR(3), v VARCHAR(5) NOT NULL",
        properties={"delta.constraints.pos": "id >= 0", **ROW_IDS},
    )
    for start in (0, 3):
        table.append(pa.table({"id": [start, start + 1], "c": ["a", None], "v": ["b", "c"]}))
    before, ids = rows_of(table), row_ids_of(table)
    table.optimize()
    assert (rows_of(table), row_ids_of(table)) == (before, ids)
    table.append(pa.table({"id": [9], "c": ["a"], "v": ["b"]}))
    numbers = [row["n"] for row in rows_of(table)]
    assert len(set(numbers)) == len(numbers)


def test_materialized_partition_columns_and_random_folders(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "t", "id BIGINT, p DATE", ["p"],
        properties={"delta.feature.materializePartitionColumns": "supported", "delta.randomizeFilePrefixes": "true"},
    )  # fmt: skip
    for start in (0, 3):
        table.append(pa.table({"id": [start], "p": pa.array([start // 4], pa.int32()).cast(pa.date32())}))
    before = rows_of(table)
    table.optimize()
    assert rows_of(table) == before and first_file(table).schema_arrow.names == ["id", "p"]
    assert "=" not in actions_of(table)["add"][0]["path"]


def test_in_commit_timestamps_checkpoints_and_domains_go_on(tmp_path: Path) -> None:
    properties = {"delta.enableInCommitTimestamps": "true", "delta.checkpointInterval": "3", **FEED, **VECTORS}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties=properties)
    for start in range(4):
        table.append(pa.table({"id": [start]}))
    table.optimize()
    assert info_of(table)["inCommitTimestamp"] > info_of(table, table.version - 1)["inCommitTimestamp"]
    table.append(pa.table({"id": [9]}))
    assert table.optimize().version == 7 and table.scan().count() == 5
    assert any(path.name.endswith(".checkpoint.parquet") for path in (tmp_path / "t" / "_delta_log").iterdir())


def test_files_without_statistics_and_with_unknown_members_are_joined(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    for start in range(2):
        table.append(pa.table({"id": [start, None]}))
        log = tmp_path / "t" / "_delta_log" / f"{table.version:020}.json"
        log.write_text(log.read_text().replace('"stats":', '"unknown":'))
        log.with_suffix(".crc").unlink(missing_ok=True)
    table = ds.DeltaTable(tmp_path / "t")
    assert files_of(table)[0]["num_records"] is None
    assert table.optimize().version == 3 and files_of(table)[0]["num_records"] == 4


def test_tables_that_cannot_be_written_are_refused_before_a_file_is(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    for start in range(2):
        table.append(pa.table({"id": [start]}))
    log = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    text = log.read_text()
    assert '"minWriterVersion":2' in text
    log.write_text(text.replace('"minWriterVersion":2', '"minWriterVersion":7,"writerFeatures":["liquid"]'))
    for path in log.parent.glob("*.crc"):
        path.unlink()
    with pytest.raises(UnsupportedFeature, match="liquid"):
        ds.DeltaTable(tmp_path / "t").optimize()
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 2


def test_tables_on_an_object_store(store: tuple[Storage, str], s3_options: dict[str, str]) -> None:
    _, base = store
    table = ds.DeltaTable.create(f"{base}/optimized", "id BIGINT, p STRING", ["p"], storage_options=s3_options)
    for start in range(3):
        table.append(pa.table({"id": [start, start + 10], "p": ["a b", "c/%"]}))
    assert table.optimize().metrics["numAddedFiles"] == 2
    assert table.optimize(zorder_by="id").version == 5
    again = ds.DeltaTable(f"{base}/optimized", storage_options=s3_options)
    assert [row["id"] for row in rows_of(again)] == [0, 1, 2, 10, 11, 12]


@pytest.mark.parametrize("properties", [{}, ROW_IDS])
def test_delta_rs_reads_the_rows(tmp_path: Path, properties: dict[str, str]) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed (extra test)")
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING, x DOUBLE", ["p"], properties=properties)
    for start in range(0, 50, 10):
        table.append(pa.table({"id": range(start, start + 10), "p": ["a", None] * 5, "x": [0.5 * start] * 10}))
    table.delete("id % 7 = 3")
    table.optimize()
    table.optimize(zorder_by=["id", "x"])
    found = deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table(columns=["id"])
    assert sorted(found["id"].to_pylist()) == [i for i in range(50) if i % 7 != 3]

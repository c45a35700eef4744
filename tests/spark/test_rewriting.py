"""OPTIMIZE through Spark: the same rows, row ids and statistics as without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.maintenance.optimize import optimize as module
from tests.dml.tables import row_ids_of, rows_of
from tests.maintenance.optimize.tables import ROW_IDS, VECTORS, files_of, made

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _only_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.settings.options.spark_jobs", "always")
    monkeypatch.setattr(module, "ArrowRewriting", lambda _snapshot: None)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("partition_by", [(), ("p",)])
@pytest.mark.parametrize("properties", [{}, VECTORS, {**VECTORS, **ROW_IDS, "delta.columnMapping.mode": "name"}])
def test_compaction(spark: Any, tmp_path: Path, partition_by: tuple[str, ...], properties: dict[str, str]) -> None:
    table = made(tmp_path, partition_by=partition_by, **properties)
    if properties:
        table.delete("id % 7 = 3")
    before = rows_of(table)
    ids = row_ids_of(table) if "delta.enableRowTracking" in properties else {}
    result = table.optimize(spark=spark)
    assert rows_of(table) == before
    assert result.metrics["numAddedFiles"] == len(files_of(table)) == (3 if partition_by else 1)
    assert not ids or row_ids_of(table) == ids
    assert sum(file["num_records"] for file in files_of(table)) == len(before)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("columns", [["id"], ["id", "x"], ["x", "p", "st.a"], ["id", "x", "p", "st.a"]])
@pytest.mark.parametrize("properties", [{}, {**VECTORS, **ROW_IDS}])
def test_rows_are_ordered_and_none_is_lost_or_doubled(
    spark: Any, tmp_path: Path, columns: list[str], properties: dict[str, str]
) -> None:
    table = made(tmp_path, files=8, each=50, **properties)
    if properties:
        table.delete("id % 7 = 3")
    before = rows_of(table)
    ids = row_ids_of(table) if properties else {}
    size = sum(file["size"] for file in files_of(table))
    result = table.optimize(zorder_by=columns, spark=spark, target_file_bytes=size // 4)
    assert rows_of(table) == before
    assert result.metrics["numAddedFiles"] == len(files_of(table)) == 4
    assert not ids or row_ids_of(table) == ids
    counts = [file["num_records"] for file in files_of(table)]
    assert sum(counts) == len(before) and max(counts) <= 2.5 * len(before) / 4


TYPES = pa.table(
    {
        "id": pa.array(range(400), pa.int64()),
        "d": pa.array([i % 97 for i in range(400)], pa.int32()).cast(pa.date32()),
        "t": pa.array([i * 10**9 for i in range(400)], pa.timestamp("us", "UTC")),
        "n": pa.array([None if i % 5 == 0 else i * 10**6 for i in range(400)], pa.timestamp("us")),
        "m": pa.array([i - 200 for i in range(400)]).cast(pa.decimal128(21, 2)).cast(pa.decimal128(18, 2)),
        "f": pa.array([float("nan") if i % 11 == 0 else i / 7 - 20 for i in range(400)]),
        "s": pa.array([None if i % 13 == 0 else f"it's \\ {i:04} é" for i in range(400)]),
        "y": pa.array([bytes([i % 256, 0]) for i in range(400)]),
        "b": pa.array([i % 2 == 0 for i in range(400)]),
    }
)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("name", [name for name in TYPES.column_names if name != "id"])
def test_every_type_orders_rows(spark: Any, tmp_path: Path, name: str) -> None:
    table = DeltaTable.create(tmp_path / "t", TYPES.schema)
    for start in range(0, 400, 50):
        table.append(TYPES.slice(start, 50))
    size = sum(file["size"] for file in files_of(table))
    for columns in ([name], [name, "id"]):
        before = sorted(map(str, rows_of(table)))
        table.optimize(zorder_by=columns, spark=spark, target_file_bytes=size // 3)
        assert sorted(map(str, rows_of(table))) == before
        assert len(files_of(table)) == (2 if columns == ["b"] else 3)
        size = sum(file["size"] for file in files_of(table))


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE", "UNICODE_CI_RTRIM"])
@pytest.mark.parametrize("columns", [["s"], ["s", "id"]])
def test_collated_strings_order_rows(spark: Any, tmp_path: Path, collation: str, columns: list[str]) -> None:
    table = DeltaTable.create(tmp_path / "t", f"id BIGINT, s STRING COLLATE {collation}")
    texts = [f"{'aB'[i % 2]}{i * 37 % 400:03}" for i in range(400)]
    for start in range(0, 400, 50):
        table.append(pa.table({"id": range(start, start + 50), "s": texts[start : start + 50]}))
    before = rows_of(table)
    size = sum(file["size"] for file in files_of(table))
    table.optimize(zorder_by=columns, spark=spark, target_file_bytes=size // 4)
    assert rows_of(table) == before
    assert len(files_of(table)) == 4
    assert len(table.scan("s = 'A010'").files()) < 4


def test_the_sessions_settings_stay(spark: Any, tmp_path: Path) -> None:
    names = [
        "spark.sql.parquet.outputTimestampType",
        "spark.sql.sources.parallelPartitionDiscovery.threshold",
        "spark.sql.parquet.fieldId.write.enabled",
    ]
    before = [spark.conf.get(name) for name in names]
    table = made(tmp_path, partition_by=("p",), files=3)
    table.optimize(spark=spark)
    assert [spark.conf.get(name) for name in names] == before


def test_what_one_engine_cannot_do_the_other_does(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    days = pa.array([-(1970 - 1500) * 365], pa.int32()).cast(pa.date32())
    metadata = {b"org.apache.spark.legacyDateTime": b"", b"org.apache.spark.version": b"3.5.0"}
    for name, given, jobs in (("old", metadata, "auto"), ("_hidden", {}, "always")):
        table = DeltaTable.create(tmp_path / name, "id BIGINT, d DATE")
        for number in range(2):
            rows = pa.table({"id": pa.array([number], pa.int64()), "d": days}).replace_schema_metadata(given)
            pq.write_table(rows, tmp_path / name / f"{name}{number}.parquet")
            table.add_files(f"{name}{number}.parquet")
        with ds.options.changed(spark_jobs=jobs):
            assert table.optimize(spark=spark).metrics["numAddedFiles"] == 1, name
        assert table.scan().to_spark(spark).count() == 2

"""Metrics of reads: what was read and skipped, as an object, as HTML and in the log."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Three files of ten row groups; their log has row counts and the bounds of id."""
    properties = {"delta.dataSkippingStatsColumns": "id"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, g BIGINT", properties=properties)
    for number in range(3):
        ids = pa.array(range(number * 1_000, (number + 1) * 1_000), pa.int64())
        pq.write_table(pa.table({"id": ids, "g": ids}), tmp_path / "t" / f"{number}.parquet", row_group_size=100)
    table.add_files([f"{number}.parquet" for number in range(3)])
    return table


def test_metrics_count_files_row_groups_bytes_and_rows(table: ds.DeltaTable) -> None:
    scan = table.scan("id >= 1000 AND g < 1250")
    assert scan.metrics is None
    assert "files skipped" not in scan._repr_html_()
    scan.to_arrow()
    found = scan.metrics
    assert found is not None
    assert (found.files, found.files_skipped, found.row_groups, found.row_groups_skipped) == (2, 1, 3, 17)
    assert found.rows == 250
    assert found.bytes == sum(scan.files()["size"].to_pylist())
    assert min(found.planning_seconds, found.reading_seconds) > 0
    assert json.loads(json.dumps(found.to_dict()))["rows"] == 250
    assert "files skipped" in scan._repr_html_()
    assert "<td" in found._repr_html_()


@pytest.mark.parametrize("piece", [1, 1 << 24])
def test_every_row_group_counts_once(table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr("deltaskip.settings.options.read_piece_bytes", piece)
    monkeypatch.setattr("deltaskip.settings.options.read_staged_bytes", 1)
    for where, groups in (("g % 2 = 0", 30), (None, 30), ("g >= 150", 29)):
        scan = table.scan(where, columns=["id"])
        scan.to_arrow()
        assert scan.metrics is not None
        assert (scan.metrics.row_groups, scan.metrics.row_groups_skipped) == (groups, 30 - groups)


def test_a_read_that_ends_early_has_the_rows_that_were_taken(table: ds.DeltaTable) -> None:
    scan = table.scan(limit=7)
    assert scan.to_arrow().num_rows == 7
    assert scan.metrics is not None
    assert scan.metrics.rows == 7


def test_the_log_gets_a_line_for_each_read(table: ds.DeltaTable, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "deltaskip"):
        table.scan().to_arrow()
    assert not caplog.records
    with caplog.at_level(logging.INFO, "deltaskip"):
        table.scan("g < 10").to_arrow()
    [line] = [record.getMessage() for record in caplog.records if record.name == "deltaskip"]
    assert "10 rows of 3 files" in line
    assert f"{table.snapshot.table_root} at version 1" in line


def test_the_log_has_a_line_for_each_plan_and_commit(table: ds.DeltaTable, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "deltaskip"):
        table.scan("id >= 1000").paths()
        table.append(pa.table({"id": [1], "g": [2]}))
    lines = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "deltaskip"]
    [plan] = [line for level, line in lines if level == "DEBUG"]
    assert plan.startswith(f"Planned {table.snapshot.table_root} at version 1: 2 of 3 files kept")
    [commit] = [line for level, line in lines if level == "INFO"]
    assert commit.startswith(f"Committed version 2 of {table.snapshot.root}: WRITE")
    assert "numOutputRows=1" in commit

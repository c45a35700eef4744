"""Parquet files that Spark writes for a commit: what they contain, where they are, and what a failure leaves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from deltaskip.spark.session.session_settings import session_settings
from deltaskip.storage import LocalStorage

pytestmark = pytest.mark.spark

VALUES = ["a", "a b/%:é+#", "x=y", "%41", "tab\there", "ünï", "日本", ".hidden", "_hidden", "a%2Fb", 'q"uote', "{[*]}"]


def _write(frame: Any, root: Path, *partition_columns: str, **more: Any) -> list[dict[str, Any]]:
    from deltaskip.spark.session.session_settings import with_settings
    from deltaskip.spark.write.parquet_writes import WRITE_SETTINGS, write_parquet

    frame, in_settings = with_settings(frame, WRITE_SETTINGS)
    with in_settings:
        found = write_parquet(frame, LocalStorage(), str(root), "part-x", partition_columns, **more)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def test_files_are_in_the_folder_and_listed(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(0, 100, 1, 4).selectExpr("id", "timestamp_micros(id - 5) AS ts", "DATE '0001-01-01' AS day")
    files = _write(frame, tmp_path)
    assert len(files) == 4
    for file in files:
        assert file["path"].startswith("part-x/part-0")
        assert (file["size"], file["partition_texts"]) == (os.path.getsize(tmp_path / file["path"]), [])
        assert abs(file["modification_time"] - os.stat(tmp_path / file["path"]).st_mtime_ns // 10**6) <= 1
    metadata = pq.read_metadata(tmp_path / files[0]["path"])
    timestamps = metadata.row_group(0).column(1)
    assert timestamps.physical_type == "INT64"
    assert timestamps.statistics.has_min_max
    assert not any(name.startswith("_") for name in os.listdir(tmp_path / "part-x"))


def test_partition_texts_come_back_as_they_were(spark: Any, tmp_path: Path) -> None:
    rows = [(i, value) for i, value in enumerate([*VALUES, None])]
    frame = spark.createDataFrame(rows, "id INT, p STRING").selectExpr("id", "p", "id % 2 AS `q r`")
    files = _write(frame, tmp_path, "p", "q r")
    assert {tuple(file["partition_texts"]) for file in files} == {
        (value, str(i % 2)) for i, value in enumerate([*VALUES, None])
    }
    for file in files:
        [row] = pq.ParquetFile(tmp_path / file["path"]).read().to_pylist()
        assert list(row) == ["id"]
        assert [*VALUES, None][row["id"]] == file["partition_texts"][0]


def test_settings_of_the_session_are_as_before(spark: Any, tmp_path: Path) -> None:
    from deltaskip.spark.write import parquet_writes

    with session_settings(spark, {"spark.sql.parquet.outputTimestampType": "INT96"}):
        before = {key: spark.conf.get(key, None) for key in parquet_writes.WRITE_SETTINGS}
        _write(spark.range(3), tmp_path, codec="zstd", options={"maxRecordsPerFile": "1"})
        assert {key: spark.conf.get(key, None) for key in parquet_writes.WRITE_SETTINGS} == before
    files = [name for name in os.listdir(tmp_path / "part-x") if name.endswith(".parquet")]
    assert len(files) == 3
    assert all(name.endswith(".zstd.parquet") for name in files)


def test_a_job_that_fails_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(0, 100, 1, 4).selectExpr("if(id = 99, raise_error('too much'), id) AS id")
    with pytest.raises(Exception, match="too much"):
        _write(frame, tmp_path)
    assert os.listdir(tmp_path) == []

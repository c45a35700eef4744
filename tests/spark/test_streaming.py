"""Micro-batches are appended exactly once, whatever kills the query that appends them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable, InvalidArgument, InvalidArgumentType, RowViolation
from deltaskip.actions import decode_path
from tests.extent import TIME_LIMIT_SECONDS, extent
from tests.spark.stream import APP, run

ROOT = Path(__file__).resolve().parents[2]


def make(folder: Path, files: int = 4) -> DeltaTable:
    (folder / "in").mkdir(parents=True)
    for i in range(files):
        rows = {"id": [10 * i, 10 * i + 1], "name": [f"n{i}", None]}
        pq.write_table(pa.table(rows), folder / "in" / f"{i}.parquet")
        # The source reads files in the order of their times.
        os.utime(folder / "in" / f"{i}.parquet", (1_700_000_000 + i, 1_700_000_000 + i))
    return DeltaTable.create(folder / "t", "id BIGINT, name STRING")


def ids(folder: Path) -> list[int]:
    """The values of every row of the table, by pyarrow."""
    paths = DeltaTable(folder / "t").snapshot.adds(["path"])["path"].to_pylist()
    found = [pq.ParquetFile(folder / "t" / decode_path(path)).read()["id"].to_pylist() for path in paths]
    return sorted(value for values in found for value in values)


def history(folder: Path) -> list[tuple[str, dict[str, str]]]:
    logs = sorted((folder / "t/_delta_log").glob("*.json"))
    infos = [json.loads(path.read_text().splitlines()[0])["commitInfo"] for path in logs]
    return [(info["operation"], info["operationParameters"]) for info in infos]


@pytest.mark.spark
def test_a_query_appends_each_batch_in_a_commit_of_its_own(spark: Any, tmp_path: Path) -> None:
    make(tmp_path)
    run(spark, tmp_path)
    expected = sorted(10 * i + j for i in range(4) for j in (0, 1))
    assert ids(tmp_path) == expected
    assert history(tmp_path)[1:] == [
        ("STREAMING UPDATE", {"outputMode": "Append", "queryId": APP, "epochId": str(i)}) for i in range(4)
    ]
    assert DeltaTable(tmp_path / "t").app_versions == {APP: 3}
    # A checkpoint that was lost repeats all batches, and the table has them.
    (tmp_path / "checkpoint").rename(tmp_path / "lost")
    run(spark, tmp_path)
    assert ids(tmp_path) == expected
    assert DeltaTable(tmp_path / "t").version == 4


@pytest.mark.long
@pytest.mark.spark
def test_a_killed_query_appends_every_row_exactly_once_when_it_is_started_again(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    make(tmp_path)
    # Before the commit, in the middle of it, after it, and after the batch: each before the query's own checkpoint.
    kills = [(0, "prepared"), (1, "linked"), (2, "committed"), (3, "between")]
    for batch, step in [*extent(kills[1:3], kills), (-1, "never")]:
        command = [sys.executable, "-m", "tests.spark.stream", str(tmp_path), str(batch), step]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=TIME_LIMIT_SECONDS, check=False)
        assert done.returncode == (0 if step == "never" else -signal.SIGKILL), done.stderr[-2000:]
        found = ids(tmp_path)
        assert len(found) == len(set(found))
    assert ids(tmp_path) == sorted(10 * i + j for i in range(4) for j in (0, 1))
    assert DeltaTable(tmp_path / "t").app_versions == {APP: 3}


@pytest.mark.long
@pytest.mark.spark
def test_batches_of_spark_connect_are_appended_exactly_once(tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark")
    pytest.importorskip("grpc")
    if int(pyspark.__version__.partition(".")[0]) < 4:
        pytest.skip("Spark 3.5 starts no server of Spark Connect without another jar")
    make(tmp_path, 3)
    command = [sys.executable, "-m", "tests.spark.stream", str(tmp_path), "-1", "connect"]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, timeout=TIME_LIMIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert ids(tmp_path) == sorted(10 * i + j for i in range(3) for j in (0, 1))
    assert DeltaTable(tmp_path / "t").app_versions == {"connect": 2}


@pytest.mark.spark
def test_a_batch_that_violates_a_constraint_stops_the_query_and_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    make(tmp_path, 2)
    table = DeltaTable.create(
        tmp_path / "t2", "id BIGINT, name STRING", properties={"delta.constraints.small": "id < 10"}
    )
    table.append_batch(spark.read.parquet(str(tmp_path / "in/0.parquet")), 0, "q")
    with pytest.raises(RowViolation, match="small"):
        table.append_batch(spark.read.parquet(str(tmp_path / "in/1.parquet")), 1, "q")
    assert (table.version, table.app_versions) == (1, {"q": 0})


def test_a_batch_that_the_table_has_is_not_appended_again(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    rows = pa.table({"id": [1]})
    assert table.append_batch(rows, 5, "q").version == 1
    assert table.append_batch(rows, 5, "q").version is None
    assert table.append_batch(rows, 4, "q").version is None
    assert table.append_batch(rows, 4, "other").version == 2
    assert table.append_batch(rows, 6, "q").version == 3
    assert ids(tmp_path) == [1, 1, 1]


@pytest.mark.parametrize(
    ("batch_id", "app_id", "error", "why"),
    [
        (-1, "q", InvalidArgument, "batch_id"),
        (None, "q", InvalidArgumentType, "batch_id"),
        ("1", "q", InvalidArgumentType, "batch_id"),
        (0, None, InvalidArgumentType, "app_id"),
    ],
)
def test_wrong_names_of_batches_are_refused(
    tmp_path: Path, batch_id: Any, app_id: Any, error: type[Exception], why: str
) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    with pytest.raises(error, match=why):
        table.append_batch(pa.table({"id": [1]}), batch_id, app_id)

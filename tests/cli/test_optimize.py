"""deltaskip optimize: what it rewrites, what it refuses, and what a dry run shows."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.cli.conftest import Run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three files in each of two partitions, with a few deleted rows."""
    made = ds.DeltaTable.create(
        tmp_path / "t", "id BIGINT, p STRING", ["p"], properties={"delta.enableDeletionVectors": "true"}
    )
    for start in range(3):
        made.append(pa.table({"id": range(start * 10, start * 10 + 10), "p": ["a", "b"] * 5}))
    made.delete("id = 4")
    return tmp_path / "t"


def test_small_files_are_joined(run: Run, table: Path) -> None:
    ran = run("optimize", table)
    assert ran.status == 0 and ran.out.startswith("version 5: rewrote 6 files (")
    assert "of 2 partitions as 2 files" in ran.out and "1 deletion vector of 1 row are not needed" in ran.out
    assert run("optimize", table).out.startswith("nothing to do: 2 files of ")


def test_a_dry_run_writes_nothing(run: Run, table: Path) -> None:
    ran = run("optimize", table, "--where", "p = :p", "--param", "p=a", "--dry-run")
    assert ran.out.startswith("would rewrite 3 files (") and "as about 1 file" in ran.out
    found = json.loads(run("optimize", table, "--zorder-by", "id", "--dry-run", "--json").out)
    assert (found["dry_run"], found["version"], found["removed"]["files"], found["curve"]) == (True, None, 6, "range")
    assert ds.DeltaTable(table).version == 4


def test_rows_are_ordered(run: Run, table: Path) -> None:
    found = json.loads(run("optimize", table, "--zorder-by", "id", "--target-file-size", "1KiB", "--json").out)
    assert (found["version"], found["kind"], found["columns"]) == (5, "zorder", ["id"])
    assert found["metrics"]["numRemovedFiles"] == 6
    assert ds.DeltaTable(table).scan().count() == 29


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--where", "id = 1"], 1, "non-partition column 'id'"),
        (["--zorder-by", "p"], 1, "p is a partition column"),
        (["--full"], 2, "has no clustering columns"),
        (["--target-file-size", "big"], 2, "is not a size"),
        (["--target-file-size", "0"], 2, "is not a size"),
        (["--param", "p=a"], 2, "needs --where"),
    ],
)
def test_what_is_wrong_is_named(run: Run, table: Path, arguments: list[str], status: int, message: str) -> None:
    ran = run("optimize", table, *arguments)
    assert ran.status == status and message in ran.err
    assert ds.DeltaTable(table).version == 4


def test_stats_predicts_what_optimize_gains_and_then_measures_it(run: Run, tmp_path: Path) -> None:
    chance = random.Random(1)
    table = ds.DeltaTable.create(tmp_path / "z", "a BIGINT, b BIGINT", properties={"delta.targetFileSize": "6000"})
    for _ in range(40):
        values = [chance.randrange(10**6) for _ in range(500)]
        table.append(pa.table({"a": values, "b": values[:1] * 500}))
        table.delete(f"a = {chance.randrange(10**6)}")
    before = json.loads(run("stats", tmp_path / "z", "--json").out)["optimize"]
    assert before["measured"] is None and before["expected"]["kind"] == "compaction"
    assert run("optimize", tmp_path / "z", "--zorder-by", "a").status == 0
    after = json.loads(run("stats", tmp_path / "z", "--json").out)["optimize"]["measured"]
    [gain] = after["filters"]
    assert gain["column"] == "a" and gain["before"] > 15 and gain["after"] < 2
    text = run("stats", tmp_path / "z").out
    assert "measured: OPTIMIZE at version " in text and "an equality filter reads: a " in text


def test_stats_names_small_files_and_columns_to_order_by(run: Run, tmp_path: Path) -> None:
    chance = random.Random(1)
    table = ds.DeltaTable.create(tmp_path / "z", "a BIGINT, b BIGINT", properties={"delta.targetFileSize": "1"})
    for _ in range(30):
        table.append(pa.table({name: [chance.randrange(10**6) for _ in range(50)] for name in "ab"}))
    text = run("stats", tmp_path / "z").out
    assert "recommendation: OPTIMIZE ZORDER BY " in text and "OPTIMIZE (30 files" not in text
    table.alter_sql("SET TBLPROPERTIES (delta.targetFileSize = '1000000')")
    text = run("stats", tmp_path / "z").out
    assert "recommendation: OPTIMIZE (30 files of " in text and "would become 1)" in text
    assert "ZORDER" not in text


def test_files_without_a_bloom_filter_are_rewritten_once(run: Run, table: Path) -> None:
    ran = run("optimize", table, "--bloom", "id")
    assert ran.status == 0 and "as 6 files (" in ran.out and ", with Bloom filters of id in " in ran.out
    assert run("optimize", table, "--bloom", "id").out.startswith("nothing to do: 6 files of ")

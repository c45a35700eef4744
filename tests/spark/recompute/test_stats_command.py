"""Statistics recomputed through Spark, from the command line and in Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip import demo
from deltaskip.cli import main
from deltaskip.sparkexpr.collations import Collations

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The demo's table, half of its files without statistics."""
    root = tmp_path / "bare"
    demo.make_table(root, demo.write_with_pyarrow)
    log = root / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for i, line in enumerate(lines):
        if "add" in line and i % 2:
            del line["add"]["stats"]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return root


def test_missing_ones_are_computed_and_committed(spark: Any, bare: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert len(ds.DeltaTable(bare).scan(demo.PREDICATE).files()) > 7
    capfd.readouterr()
    assert main(["stats", str(bare), "--recompute", "--only-missing", "--json"]) == 0
    done = json.loads(capfd.readouterr().out)
    assert (done["files"], done["left_out"], done["version"]) == (100, [], 1)
    table = ds.DeltaTable(bare)
    assert len(table.scan(demo.PREDICATE).files()) == 7
    assert json.loads(table.domains["collations"]) == {"writeVersions": {"icu.UNICODE_CI": ["77.1"]}}
    assert main(["stats", str(bare), "--recompute", "--only-missing"]) == 0
    assert "committed statistics of 0 files" in capfd.readouterr().out


def test_another_version_is_added_and_the_old_one_retired(spark: Any, bare: Path) -> None:
    table = ds.DeltaTable(bare)
    if Collations("78.3").evaluator("icu.UNICODE_CI") is None:
        pytest.skip("there is no ICU 78.3 here")
    done = table.recompute_stats(
        spark, where="day = DATE'2026-01-05'", columns=["name"], collation_versions=["77.1", "78.3"]
    )
    assert done.files == 20
    assert json.loads(table.domains["collations"]) == {"writeVersions": {"icu.UNICODE_CI": ["77.1", "78.3"]}}
    where = "day = DATE'2026-01-05' AND name = 'MÜLLER 0500'"
    assert len(table.scan(where, collation_version="78.3").files()) == 1
    before = table.version
    assert table.retire_collation_version("icu.UNICODE_CI", "77.1") == before + 1
    assert json.loads(table.domains["collations"]) == {"writeVersions": {"icu.UNICODE_CI": ["78.3"]}}
    assert len(table.scan(where).files()) == 1


@pytest.mark.long
def test_rows_are_the_same_after_a_recomputation(spark: Any, bare: Path) -> None:
    table = ds.DeltaTable(bare)
    before = sorted(row.id for row in table.scan(demo.PREDICATE).to_spark(spark).collect())
    done = table.recompute_stats(spark, mode="scan", batch_files=50)
    assert len(done.versions) in (2, 3, 4)
    assert done.files + done.unchanged == demo.FILES
    assert sorted(row.id for row in table.scan(demo.PREDICATE).to_spark(spark).collect()) == before
    assert len(table.scan(demo.PREDICATE).files()) == 7


def test_a_run_that_died_is_finished_by_the_next(spark: Any, bare: Path, capfd: pytest.CaptureFixture[str]) -> None:
    # Bounds that say too much, as writers leave them: nothing is missing.
    log = bare / "_delta_log" / f"{0:020d}.json"
    wide = {"minValues": {"amount": -1e9}, "maxValues": {"amount": 1e9}, "nullCount": {"amount": 0}}
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["stats"] = json.dumps({"numRecords": demo.ROWS_PER_FILE, **wide})
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def dying(done: Any) -> None:
        if done.files == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ds.DeltaTable(bare).recompute_stats(spark, batch_files=50, progress=dying)
    table = ds.DeltaTable(bare)
    assert table.version == 2
    capfd.readouterr()
    assert main(["stats", str(bare), "--recompute", "--dry-run"]) == 0
    said = capfd.readouterr().out
    assert "would read 100 files" in said
    assert "100 files were finished by an earlier run; --no-resume reads them again" in said
    done = table.recompute_stats(spark, batch_files=50)
    assert (done.files, done.unchanged, done.versions) == (100, 0, [3, 4])
    assert len(table.scan("amount > 1e6").files()) == 0
    done = table.recompute_stats(spark)
    assert (done.files, done.unchanged, done.rows) == (0, 0, 0)
    done = table.recompute_stats(spark, resume=False)
    assert (done.files, done.unchanged, done.rows) == (0, 200, 200_000)


@pytest.mark.long
def test_the_command_in_a_process_of_its_own(spark: Any, bare: Path) -> None:
    code = "import sys; from deltaskip.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "stats", str(bare), "--recompute", "--only-missing", "--json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["files"] == 100

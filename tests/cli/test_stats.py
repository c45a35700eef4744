"""`deltaskip stats`: the coverage report, and statistics that are recomputed."""

import json
import shutil
from pathlib import Path

import pytest

import deltaskip as ds
from tests.builder import json_lines, log_file, logged
from tests.cli.conftest import Run


@pytest.fixture
def bare(customers: Path, tmp_path: Path) -> Path:
    """The demo's table with its data, half of its files without statistics."""
    root = tmp_path / "bare"
    shutil.copytree(customers, root)
    lines = logged(root, 0)
    for i, line in enumerate(lines):
        if "add" in line and i % 2:
            del line["add"]["stats"]
    log_file(root, 0).write_text(json_lines(lines), encoding="utf-8")
    return root


def test_the_report_is_the_public_method(run: Run, customers: Path) -> None:
    ran = run("stats", customers)
    assert (ran.status, ran.err) == (0, "")
    coverage = ds.DeltaTable(customers).stats().to_dict()
    found = json.loads(run("stats", customers, "--json").out)
    assert set(found.pop("optimize")) == {"expected", "measured"}
    assert found == json.loads(json.dumps(coverage))


@pytest.mark.parametrize(
    "options", [["--dry-run"], ["--spark"], ["--only-missing"], ["--where", "id = 1"], ["--mode", "scan"]]
)
def test_options_of_a_recomputation_need_it(run: Run, customers: Path, options: list[str]) -> None:
    ran = run("stats", customers, *options)
    assert ran.status == 2
    assert f"{options[0]} needs --recompute" in ran.err


def test_a_recomputation_is_of_the_latest_version(run: Run, customers: Path) -> None:
    assert "latest version" in run("stats", customers, "--recompute", "--version", "0").err


def test_a_dry_run_says_what_would_be_done_and_does_nothing(run: Run, bare: Path) -> None:
    found = json.loads(run("stats", bare, "--recompute", "--dry-run", "--only-missing", "--json").out)
    assert (found["version"], found["files"]) == (0, 100)
    assert {name: column["lacking"] for name, column in found["columns"].items()} == dict.fromkeys(
        ["id", "name", "amount", "ts"], 100
    )
    # Each of the hundred that have bounds holds ids of its own, so that half of the files would.
    assert (found["columns"]["id"]["files_met"], found["columns"]["id"]["files_met_then"]) == (101, 2)
    assert found["collations"] == ["icu.UNICODE_CI.77.1"]
    plan = ds.DeltaTable(bare).recompute_plan(only_missing=True)
    assert found == json.loads(json.dumps(plan.to_dict()))
    unmeasured = ds.DeltaTable(bare).recompute_plan(only_missing=True, overlap=False)
    assert (unmeasured.files, unmeasured.bytes) == (plan.files, plan.bytes)
    assert unmeasured.columns["id"] == ds.ColumnPlan(100, None, None)
    with pytest.raises(ds.InvalidArgument, match="either collations or collation_versions"):
        ds.DeltaTable(bare).recompute_plan(collations={}, collation_versions=["77.1"])
    assert "would read 200 files" in run("stats", bare, "--recompute", "--dry-run").out
    assert ds.DeltaTable(bare).version == 0


def test_statistics_are_recomputed_in_this_process(run: Run, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("deltaskip.cli.stats.session")
    found = json.loads(run("stats", bare, "--recompute", "--only-missing", "--json").out)
    assert (found["version"], found["files"], found["unchanged"]) == (1, 100, 0)
    assert ds.DeltaTable(bare).stats().files_without_count == 0
    assert run("stats", bare, "--recompute", "--column", "id").out.startswith("version 2: committed statistics of ")


def test_the_key_index_is_built(run: Run, bare: Path) -> None:
    ds.DeltaTable(bare).alter_sql("SET TBLPROPERTIES ('deltaskip.keyIndexColumns' = 'id')")
    assert "indexed 200,000 keys of 200 files by id (" in run("stats", bare, "--recompute", "--index").out
    assert ds.DeltaTable(bare).scan("id = 77").explain().kept_files == 1

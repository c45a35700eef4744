"""`deltaskip checkpoint`."""

import json
import os
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.cli import main
from tests.txn.tables import append, file, make_table, paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table with two commits."""
    append(make_table(tmp_path / "t"), file("a"), file("b"))
    return tmp_path / "t"


def test_a_checkpoint_is_written_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "_delta_log" / f"{1:020d}.checkpoint.parquet"
    assert main(["checkpoint", str(folder)]) == 0
    assert capsys.readouterr().out.startswith(f"version 1: wrote {path} (2 files, ")
    assert path.exists()
    assert ds.DeltaTable(folder).snapshot.segment.commits == ()
    assert main(["checkpoint", str(folder)]) == 0
    assert capsys.readouterr().out == f"version 1 already has a checkpoint: {path}\n"


def test_programs_get_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkpoint", str(folder), "--version", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "version": 0,
        "checkpoint": str(folder / "_delta_log" / f"{0:020d}.checkpoint.parquet"),
        "written": True,
        "actions": 2,
        "files": 0,
        "bytes": found["bytes"],
        "sidecars": 0,
        "deleted": [],
        "cleaned_up": False,
    }


def test_the_log_is_cleaned_up_on_demand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("0", "1"):
        os.utime(folder / "_delta_log" / f"{name:0>20}.json", (1_000_000_000, 1_000_000_000))
    assert main(["checkpoint", str(folder)]) == 0
    assert len(list((folder / "_delta_log").glob("*.json"))) == 2
    assert main(["checkpoint", str(folder), "--clean-up"]) == 0
    assert capsys.readouterr().out.endswith(f"deleted 1 log file:\n  {0:020d}.json\n")
    assert main(["checkpoint", str(folder), "--clean-up"]) == 0
    assert "deleted no log file" in capsys.readouterr().out
    assert [commit.name for commit in (folder / "_delta_log").glob("*.json")] == [f"{1:020d}.json"]
    assert paths(folder) == ["a", "b"]


def test_a_table_that_is_not_there_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkpoint", str(tmp_path / "nowhere")]) == 1
    assert "There is no table" in capsys.readouterr().err
    assert not (tmp_path / "nowhere").exists()

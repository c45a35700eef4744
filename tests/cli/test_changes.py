"""`deltaskip changes`: the versions of a feed, and their files."""

import json
from pathlib import Path

import pytest

from deltaskip import DeltaTable
from tests.cli.conftest import Run
from tests.dml.tables import DDL, rows


@pytest.fixture
def fed(tmp_path: Path) -> Path:
    table = DeltaTable.create(tmp_path / "fed", DDL, properties={"delta.enableChangeDataFeed": "true"})
    table.append(rows(range(10)))
    table.delete("id < 3")
    table.delete("true")
    return tmp_path / "fed"


def test_versions_have_their_files_and_rows(run: Run, fed: Path) -> None:
    ran = run("changes", fed)
    summary, heading, *lines = ran.out.splitlines()
    assert summary.startswith("versions 0 to 3: 3 files with changes, ")
    assert heading.split() == ["VERSION", "TIME", "(UTC)", "CHANGES", "FILES", "ROWS", "SIZE"]
    cells = [line.split() for line in lines]
    assert [[*row[:1], *row[3:-2]] for row in cells] == [
        ["1", "inserted", "1", "10"], ["2", "change", "file", "1", "?"], ["3", "deleted", "1", "7"]
    ]  # fmt: skip


def test_files_are_listed_and_pruned(run: Run, fed: Path) -> None:
    ran = run("changes", fed, "--start", "1", "--end", "3", "--where", "id < 3", "--files")
    lines = ran.out.splitlines()
    assert lines[0].startswith("versions 1 to 3: 2 files with changes, ")
    assert [line.split()[0] for line in lines[2:]] == ["1", "2"]
    assert lines[3].split()[-1].startswith("_change_data/cdc-")


def test_json_has_the_documented_shape(run: Run, fed: Path) -> None:
    found = json.loads(run("changes", fed, "--start", "3", "--json").out)
    assert (found["start"], found["end"], found["num_files"]) == (3, 3, 1)
    [file] = found["files"]
    assert list(file) == [
        "version", "timestamp", "change_type", "path", "uri", "size", "partition_values", "num_rows"
    ]  # fmt: skip
    assert (file["version"], file["change_type"], file["timestamp"][-1]) == (3, "delete", "Z")


def test_times_and_ranges_beyond_the_end(run: Run, fed: Path) -> None:
    assert run("changes", fed, "--start", "2000-01-01").out.startswith("versions 0 to 3: ")
    ran = run("changes", fed, "--start", "9")
    assert (ran.status, ran.out) == (1, "")
    assert "version 3 is the latest" in ran.err
    ran = run("changes", fed, "--start", "9", "--allow-out-of-range")
    assert (ran.status, ran.out) == (0, "no versions from 9 on: 0 files with changes, 0 B\n")
    assert json.loads(run("changes", fed, "--start", "9", "--allow-out-of-range", "--json").out)["files"] == []


def test_the_first_version_can_be_its_state_and_rows_can_be_compared(run: Run, fed: Path) -> None:
    ran = run("changes", fed, "--start", "2", "--snapshot-first", "--source", "rows")
    cells = [line.split() for line in ran.out.splitlines()[2:]]
    assert [[row[0], *row[3:-2]] for row in cells] == [["2", "inserted", "1", "7"], ["3", "deleted", "1", "?"]]
    ran = run("changes", fed, "--start", "1", "--net", "--source", "rows")
    assert ran.out.splitlines()[0].startswith("versions 1 to 3: 0 files")
    ran = run("query", f"SELECT id FROM table_changes_by_path('{fed}', 1) WHERE _change_type = 'delete' AND id > 8")
    assert ran.out.split()[-1] != "0"

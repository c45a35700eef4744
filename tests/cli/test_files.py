"""`deltaskip files`, `inspect` and `history` on a sound table."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deltaskip import demo
from deltaskip.table.table import DeltaTable
from tests.cli.conftest import Run
from tests.extent import TIME_LIMIT_SECONDS
from tests.log.builder import TableBuilder as LogBuilder
from tests.log.builder import add as log_add

KEPT = [f"day=2026-01-{day:02}/part-{20 * (day - 1) + 12:05}.parquet" for day in range(4, 11)]


def test_json_has_the_documented_shape(run: Run, customers: Path) -> None:
    ran = run("files", customers, "--where", demo.PREDICATE, "--json")
    assert (ran.status, ran.err) == (0, "")
    listing = json.loads(ran.out)
    assert list(listing) == ["version", "total_files", "kept_files", "files"]
    assert (listing["version"], listing["total_files"], listing["kept_files"]) == (0, 200, 7)
    assert [file["path"] for file in listing["files"]] == KEPT
    first = listing["files"][0]
    assert first == {
        "path": KEPT[0],
        "uri": (customers / KEPT[0]).as_uri().replace("%3D", "="),
        "size": (customers / KEPT[0]).stat().st_size,
        "num_records": 1000,
        "partition_values": {"day": "2026-01-04"},
    }


def test_paths_are_what_can_be_read(run: Run, customers: Path) -> None:
    ran = run("files", customers, "--where", demo.PREDICATE, "--paths")
    assert ran.status == 0
    paths = ran.out.splitlines()
    assert paths == DeltaTable(str(customers)).scan(where=demo.PREDICATE).paths()
    assert len(paths) == 7


def test_text_begins_with_a_summary_and_names_each_file(run: Run, customers: Path) -> None:
    ran = run("files", customers, "--where", demo.PREDICATE)
    summary, heading, *lines = ran.out.splitlines()
    assert summary.startswith("version 0: 7 of 200 files, ")
    assert heading.split() == ["SIZE", "ROWS", "PATH"]
    assert [line.split()[-1] for line in lines] == KEPT


def test_without_a_predicate_every_file_is_listed(run: Run, customers: Path) -> None:
    listing = json.loads(run("files", customers, "--json").out)
    on_disk = {path.relative_to(customers).as_posix() for path in customers.glob("day=*/*.parquet")}
    assert {file["path"] for file in listing["files"]} == on_disk
    assert listing["kept_files"] == listing["total_files"] == 200


def test_a_predicate_that_nothing_matches_keeps_no_file(run: Run, customers: Path) -> None:
    listing = json.loads(run("files", customers, "--where", "id < 0", "--json").out)
    assert listing == {"version": 0, "total_files": 200, "kept_files": 0, "files": []}
    assert run("files", customers, "--where", "id < 0").out == "version 0: 0 of 200 files, 0 B\n"


def test_a_limit_keeps_enough_files_for_it(run: Run, customers: Path) -> None:
    listing = json.loads(run("files", customers, "--limit", "1500", "--json").out)
    kept = sum(file["num_records"] for file in listing["files"])
    assert kept >= 1500
    assert listing["kept_files"] <= 200


def test_the_version_asked_for_is_the_version_read(run: Run, customers: Path) -> None:
    assert json.loads(run("files", customers, "--version", "0", "--json").out)["version"] == 0


def test_inspect_counts_what_the_footers_hold(run: Run, customers: Path) -> None:
    found = json.loads(run("inspect", customers, "--json").out)
    files = list(customers.glob("day=*/*.parquet"))
    assert found["files"] == len(files)
    assert found["bytes"] == sum(path.stat().st_size for path in files)
    assert found["rows"] == sum(pq.read_metadata(path).num_rows for path in files)
    assert found["partition_columns"] == ["day"]
    assert found["log"] == {
        "checkpoint_version": None, "checkpoint_kind": None, "checkpoint_files": 0, "commits_after": 1,
        "has_checksum": False,
    }  # fmt: skip
    lacking = {c["name"]: (c["files_without_bounds"], c["files_without_null_count"]) for c in found["columns"]}
    assert lacking == {"id": (0, 0), "name": (0, 0), "amount": (0, 0), "ts": (0, 0)}


def test_inspect_counts_files_that_lack_a_statistic(run: Run, own_customers: Path) -> None:
    log = own_customers / "_delta_log" / f"{0:020}.json"
    lines = log.read_text(encoding="utf-8").splitlines()
    for i, line in enumerate(lines):
        action = json.loads(line)
        if "add" in action and i % 2:
            statistics = json.loads(action["add"]["stats"])
            del statistics["statsWithCollation"]["icu.UNICODE_CI.77.1"]["minValues"]["name"]
            action["add"]["stats"] = json.dumps(statistics)
            lines[i] = json.dumps(action)
    log.write_text("\n".join(lines), encoding="utf-8")
    found = json.loads(run("inspect", own_customers, "--json").out)
    name = next(column for column in found["columns"] if column["name"] == "name")
    assert (name["files_without_bounds"], name["files_without_null_count"]) == (100, 0)
    lines = [line.split("  ") for line in run("inspect", own_customers).out.splitlines() if line.startswith("name ")]
    assert [[cell.strip() for cell in cells if cell] for cells in lines] == [
        ["name", "string collate UNICODE_CI", "100 of 200 files", "all files"]
    ]


def test_history_lists_the_commit(run: Run, customers: Path) -> None:
    entries = json.loads(run("history", customers, "--json").out)
    assert [(entry["version"], entry["operation"]) for entry in entries] == [(0, "WRITE")]
    assert "WRITE" in run("history", customers, "--limit", "1").out


@pytest.mark.parametrize("command", ["files", "explain", "inspect", "history", "collations", "demo"])
def test_every_command_explains_itself(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"Usage: deltaskip {command}")
    assert "--json" in ran.out


def test_no_command_shows_the_help(run: Run) -> None:
    ran = run()
    assert ran.status == 0
    assert "Commands:" in ran.out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("command", ["head {0}", "head {0} --format csv", "files {0} --json"])
def test_an_output_that_is_full_or_closed(customers: Path, command: str) -> None:
    asked = f"{sys.executable} -m deltaskip {command.format(customers)}"
    full = subprocess.run(f"{asked} > /dev/full", shell=True, capture_output=True, text=True, check=False)
    assert (full.returncode, full.stderr.count("there is no space left on the device")) == (1, 1)
    closed = subprocess.run(f"{asked} >&-", shell=True, capture_output=True, text=True, check=False)
    assert "internal error" not in closed.stderr


def test_a_closed_pipe_is_quiet(customers: Path) -> None:
    program = [sys.executable, "-c", "import sys; from deltaskip.cli import main; sys.exit(main())"]
    process = subprocess.Popen(
        [*program, "files", str(customers), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=TIME_LIMIT_SECONDS) == 141
    assert errors == b""


def test_asking_for_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from deltaskip.cli import main; main(['files', '--help']); "
        "print({'pyspark', 'pandas', 'rich', 'icu', 'obstore'} & set(sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.endswith("set()\n")


def test_many_files_are_counted_for_programs_only(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = LogBuilder(tmp_path / "t")
    builder.checkpoint(0, *[log_add(f"f{i}") for i in range(5)])
    assert "version 0: 5 of 5 files" in run("files", tmp_path / "t").out
    monkeypatch.setattr("deltaskip.cli.files._COUNTED_ROWS", 4)
    assert "version 0: 5 files, " in run("files", tmp_path / "t").out
    assert json.loads(run("files", tmp_path / "t", "--json").out)["total_files"] == 5

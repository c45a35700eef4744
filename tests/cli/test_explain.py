"""`deltaskip explain` and the report of `deltaskip stats`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deltaskip import demo
from deltaskip.sparkexpr.types.data_types import LONG, STRING
from deltaskip.table.table import DeltaTable
from tests.builder import TableBuilder, add, bounds
from tests.cli.conftest import Run


def test_explain_shows_every_part_with_its_counts(run: Run, customers: Path) -> None:
    ran = run("explain", customers, "--where", f"{demo.PREDICATE} AND rand() > 0.5")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"{customers.as_uri()} at version 0: 7 of 200 files kept, ")
    headings = "PREDICATE STATISTICS USED FILES SKIPPED KEPT WITHOUT IT MISSING STATISTICS"
    assert " ".join(lines[2].split()) == headings
    assert lines[3].strip() == "AND"
    assert lines[4].startswith("  day >= DATE'2026-01-04'")
    assert lines[4].split()[-5:] == ["partition", "day", "60", "3", "0"]
    assert "name = 'MÜLLER 0500'" in lines[5]
    assert "min(name) under icu.UNICODE_CI.77.1" in lines[5]
    assert lines[5].split()[-3:] == ["190", "133", "0"]
    assert lines[-1].startswith("rand() > 0.5: rand has another value")


def test_explain_as_json_is_the_explanation(run: Run, customers: Path) -> None:
    found = json.loads(run("explain", customers, "--where", demo.PREDICATE, "--json").out)
    explained = DeltaTable(str(customers)).scan(where=demo.PREDICATE).explain()
    assert found == explained.to_dict()
    assert (found["kept_files"], found["total_files"]) == (7, 200)


def test_explain_without_a_predicate_says_that_everything_is_kept(run: Run, customers: Path) -> None:
    ran = run("explain", customers)
    assert ran.status == 0
    assert "200 of 200 files kept" in ran.out


@pytest.mark.parametrize(("name", "begins"), [("p.png", b"\x89PNG"), ("p.svg", b"<svg "), ("p.PNG", b"\x89PNG")])
def test_a_plot_is_beside_text_or_json(run: Run, customers: Path, tmp_path: Path, name: str, begins: bytes) -> None:
    plot = tmp_path / name
    ran = run("explain", customers, "--where", demo.PREDICATE, "--plot", plot, "--json")
    assert (ran.status, ran.err) == (0, f"wrote the plot to {plot}\n")
    assert json.loads(ran.out)["kept_files"] == 7
    assert plot.read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["p.jpg", "png", "missing/p.png"])
def test_a_plot_that_cannot_be_written_is_refused(run: Run, customers: Path, tmp_path: Path, name: str) -> None:
    ran = run("explain", customers, "--where", "id = 5", "--plot", tmp_path / name)
    assert (ran.status, ran.out) == (1 if "missing" in name else 2, "")
    assert name in ran.err
    assert "internal error" not in ran.err
    assert not (tmp_path / name).exists()


@pytest.fixture
def patchy(tmp_path: Path) -> Path:
    """Ten files: `clustered` in order, `mixed` everywhere, `patchy` lacking in four; partitions of two values."""
    columns = {"clustered": LONG, "mixed": LONG, "patchy": LONG, "text": STRING}
    builder = TableBuilder(tmp_path / "t", columns, ["text"])
    adds = []
    for i in range(10):
        found: dict[str, Any] = {"clustered": (10 * i, 10 * i + 9), "mixed": (i, 1000 + i)}
        if i < 6:
            found["patchy"] = (i, i)
        adds.append(add(f"f{i}", bounds(10 * (i + 1), **found), partitionValues={"text": "ab"[i % 2]}))
    builder.commit(*adds)
    return tmp_path / "t"


def test_stats_measures_coverage_and_overlap(run: Run, patchy: Path) -> None:
    ran = run("stats", patchy, "--json")
    assert (ran.status, ran.err) == (0, "")
    found = json.loads(ran.out)
    columns = {column["name"]: column for column in found["columns"]}
    assert list(columns) == ["clustered", "mixed", "patchy", "text"]
    assert (columns["clustered"]["files_with_bounds"], columns["clustered"]["overlap_depth"]) == (10, 1.0)
    # Point i of the minima lies in files 0 … i, point 1000 + i of the maxima in files i … 9.
    assert columns["mixed"]["overlap_depth"] == 5.5
    patchy_column = columns["patchy"]
    assert (patchy_column["files_with_bounds"], patchy_column["rows_with_bounds"]) == (6, 10 + 20 + 30 + 40 + 50 + 60)
    assert (patchy_column["files_with_null_count"], patchy_column["rows_with_null_count"]) == (6, 210)
    assert (patchy_column["overlap_depth"], patchy_column["files_met"]) == (1.0, 5.0)
    assert (columns["text"]["partition"], columns["text"]["overlap_depth"]) == (True, 5.0)
    assert found["rows"] == 550
    advice = [(one["action"], one["column"]) for one in found["advice"]]
    # A partitioned table cannot be clustered.
    assert advice == [("recompute", "patchy"), ("zorder", "mixed")]


def test_stats_is_the_public_method(run: Run, patchy: Path) -> None:
    found = json.loads(run("stats", patchy, "--json").out)
    assert found.pop("optimize")["expected"]["files"] == 10
    assert found == json.loads(json.dumps(DeltaTable(str(patchy)).stats().to_dict()))


def test_stats_as_text_shows_shares_and_recommendations(run: Run, patchy: Path) -> None:
    ran = run("stats", patchy)
    assert (ran.status, ran.err) == (0, "")
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["patchy", "bigint", "60", "%", "38.2", "%", "60", "%", "38.2", "%", "5.0", "50", "%"] in lines
    advice = DeltaTable(str(patchy)).stats().advice
    recommended = "".join(f"recommendation: {one.sentence}\n" for one in advice)
    assert recommended + "recommendation: OPTIMIZE (10 files of " in ran.out


def test_stats_of_a_table_without_files_are_none(run: Run, tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", {"c": LONG, "p": STRING}, ["p"]).commit()
    found = json.loads(run("stats", tmp_path / "t", "--json").out)
    assert [column["overlap_depth"] for column in found["columns"]] == [None, None]
    assert found["advice"] == []
    assert run("stats", tmp_path / "t").status == 0


def test_the_commands_of_a_process_do_without_pandas(customers: Path) -> None:
    code = (
        "import sys; from deltaskip.cli import main; had = 'pandas' in sys.modules; "
        f"sys.argv = ['deltaskip', 'files', {str(customers)!r}, '--where', 'id = 5']; status = main(); "
        "print(status, had or 'pandas' not in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.endswith("0 True\n")

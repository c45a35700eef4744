"""Every way to a table through a cluster of two executors, with and without deltaskip in their Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.cluster import CLASSIC

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

ANSWERS = {
    "read": 100, "append": 4000, "overwrite": 1930, "delete": 20, "update": 20, "merge": [50, 50], "optimize": 1,
    "recompute": True, "changes": 1, "stream in": 2007, "found format": 100, "found format write": 2010, "format": 100,
    "format write": 2010, "format changes": 1, "stream": 2000, "stream format": 2000, "engine": 100, "engine files": 1,
    "installed catalog": [100, 99],
}  # fmt: skip
NEEDS_PACKAGE = (
    "recompute", "format", "format write", "format changes", "stream", "stream format", "engine", "engine files",
)  # fmt: skip
"""The ways whose tasks run functions of deltaskip."""
FOUND = ("found format", "found format write", "installed catalog")
"""The ways where Spark asks nothing of deltaskip in the process of the session before it plans or runs the tasks."""
MISSING = "deltaskip is not installed in the Python environment of the Spark executors"


def walked(folder: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "tests.spark.cluster", str(folder), *arguments]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return {line["name"]: line for line in map(json.loads, told.stdout.splitlines())}


def test_what_runs_on_executors_without_deltaskip_says_so_before_its_job(tmp_path: Path) -> None:
    doors = ("recompute", "format", "stream", "engine", "engine files")
    found = walked(tmp_path, "--without", "--only", "append", *doors)
    assert found["append"]["answer"] == ANSWERS["append"]
    for number, name in enumerate(doors, 1):
        assert found[name]["error"] == "SparkUnavailable", found[name]
        assert MISSING in found[name]["message"]
        # Only the job that asks executors for deltaskip.
        assert found[name]["jobs"] == found["append"]["jobs"] + number


@pytest.mark.long
@pytest.mark.parametrize("door", [[], ["--connect"]], ids=["classic", "connect"])
@pytest.mark.parametrize("without", [False, True])
def test_every_way_has_its_answer_on_a_cluster(tmp_path: Path, without: bool, door: list[str]) -> None:
    ways = [name for name in ANSWERS if not door or name not in CLASSIC]
    found = walked(tmp_path, *(["--without"] if without else []), *door, "--only", *ways)
    assert set(found) == set(ways)
    for name in ways:
        if without and name in NEEDS_PACKAGE:
            assert found[name].get("error") == "SparkUnavailable", found[name]
            assert MISSING in found[name]["message"]
        elif without and name in FOUND:
            assert MISSING in found[name].get("message", ""), found[name]
            assert "Traceback" not in found[name]["message"]
        else:
            assert found[name].get("answer") == ANSWERS[name], found[name]

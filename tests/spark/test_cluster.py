"""Every way to a table through a cluster of two executors, with and without deltaskip in their Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

ANSWERS = {
    "read": 100, "append": 4000, "delete": 20, "update": 20, "merge": [50, 50], "optimize": 1, "recompute": True,
    "changes": 1, "format": 100, "engine": 100,
}  # fmt: skip
NEEDS_PACKAGE = ("recompute", "format", "engine")
"""The ways whose tasks run functions of deltaskip."""


def walked(folder: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "tests.spark.cluster", str(folder), *arguments]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return {line["name"]: line for line in map(json.loads, told.stdout.splitlines())}


def test_what_runs_on_executors_without_deltaskip_says_so_before_its_job(tmp_path: Path) -> None:
    found = walked(tmp_path, "--without", "--only", "append", *NEEDS_PACKAGE)
    assert found["append"]["answer"] == ANSWERS["append"]
    for number, name in enumerate(NEEDS_PACKAGE, 1):
        assert found[name]["error"] == "SparkUnavailable", found[name]
        assert "deltaskip is not installed in the Python environment of the Spark executors" in found[name]["message"]
        # Only the job that asks executors for deltaskip.
        assert found[name]["jobs"] == found["append"]["jobs"] + number


@pytest.mark.long
@pytest.mark.parametrize("without", [False, True])
def test_every_way_has_its_answer_on_a_cluster(tmp_path: Path, without: bool) -> None:
    found = walked(tmp_path, *(["--without"] if without else []))
    assert set(found) == set(ANSWERS)
    for name, answer in ANSWERS.items():
        if without and name in NEEDS_PACKAGE:
            assert found[name].get("error") == "SparkUnavailable", found[name]
        else:
            assert found[name].get("answer") == answer, found[name]

"""Statistics computed here against those of delta-spark, for the tables that it has just written."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.reference.conftest import run_module
from tests.reference.recipes import CHOSEN
from tests.stats.logged import compared

pytestmark = [pytest.mark.reference, pytest.mark.spark]

# Tables whose logged statistics differ from those of their files, and why.
OTHER = {
    "mapped_by_name": "its statistics hold a column that was dropped later",
    "mapped_later": "its statistics hold a column that was dropped later",
    "few_statistics": "its columns with statistics are chosen anew after files were written",
    "widened": "it keeps statistics of files from before the type was widened",
    "zoned_in_utc": "its timestamps are written in a zone other than UTC",
    "zoned_without_zone": "its timestamps are written in a zone other than UTC",
}
# Tables without deletion vectors, and without char(n), which Spark pads when it reads.
_PLAIN = {"every_type", "mapped_later", "optimized", "collated", "widened", "few_statistics", "zoned_in_utc"}
RECOMPUTED = [name for name in CHOSEN if name in _PLAIN]


@pytest.mark.parametrize("mode", ["auto", "scan"])
@pytest.mark.parametrize("name", [name for name in CHOSEN if name not in OTHER])
def test_statistics_of_written_files_are_the_same(oracle_answers: dict[str, Any], name: str, mode: str) -> None:
    answers = oracle_answers[name]
    assert "error" not in answers, answers["error"]
    for path, found, expected in compared(Path(answers["path"]), mode):
        assert found == expected, path


@pytest.fixture(scope="module")
def recomputed(oracle_answers: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Copies of some tables after delta-spark recomputed the statistics of all their files."""
    folder = tmp_path_factory.mktemp("recomputed")
    copies = {name: folder / name for name in RECOMPUTED}
    for name, copy in copies.items():
        shutil.copytree(oracle_answers[name]["path"], copy)
    run_module("tests.reference.recomputed", folder / "scratch", *copies.values())
    return copies


@pytest.mark.parametrize("mode", ["auto", "scan"])
@pytest.mark.parametrize("name", RECOMPUTED)
def test_recomputed_statistics_are_the_same(recomputed: dict[str, Path], name: str, mode: str) -> None:
    files = list(compared(recomputed[name], mode))
    assert files
    for path, found, expected in files:
        assert found == expected, path

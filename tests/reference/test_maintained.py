"""VACUUM, RESTORE, CLONE and GENERATE by deltaskip and delta-spark on copies of one table.

The gate plays some of the cases, the whole run all of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.maintained import CASES

pytestmark = pytest.mark.reference

NAMES = extent(["lite, vectors"], CASES)


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """By case, how it failed."""
    require_delta_spark()
    answers = tmp_path_factory.mktemp("maintained") / "answers.json"
    run_module("tests.reference.maintained", answers, *NAMES)
    found: dict[str, str | None] = json.loads(Path(answers).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long
def test_both_leave_the_same(problems: dict[str, str | None], name: str) -> None:
    assert problems[name] is None, problems[name]

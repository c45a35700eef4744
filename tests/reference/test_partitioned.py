"""Tables that are partitioned by transforms, written by deltaskip and delta-spark in turns.

The gate plays some of the cases, the whole run all of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.partitioned import CASES

pytestmark = pytest.mark.reference

NAMES = extent(["made here, dates"], CASES)


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """By case, how it failed."""
    require_delta_spark()
    answers = tmp_path_factory.mktemp("partitioned") / "answers.json"
    run_module("tests.reference.partitioned", answers, *NAMES)
    found: dict[str, str | None] = json.loads(Path(answers).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long
def test_both_read_and_prune_the_same_table(problems: dict[str, str | None], name: str) -> None:
    assert problems[name] is None, problems[name]

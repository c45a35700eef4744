"""The change data feed beside delta-spark's, over random histories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import require_delta_spark, run_module

pytestmark = pytest.mark.reference

SEEDS = ["renamed", *(str(seed) for seed in range(extent(1, 20)))]


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """By seed, how it failed."""
    require_delta_spark()
    answers = tmp_path_factory.mktemp("feeds") / "answers.json"
    run_module("tests.reference.change_feed", answers, *SEEDS)
    found: dict[str, str | None] = json.loads(Path(answers).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.long
def test_a_feed_has_the_rows_of_delta_spark_and_of_the_model(problems: dict[str, str | None], seed: str) -> None:
    assert problems[seed] is None, problems[seed]

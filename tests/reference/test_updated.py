"""Updates by deltaskip and delta-spark in turns, with deletion vectors, change data feed, row ids, mapping, identity.

The gate plays some of the cases, the whole run all of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extent import extent
from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.updated import CASES

pytestmark = pytest.mark.reference

NAMES = extent(["generated partition, identity and vectors"], list(CASES))


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """By case, how it failed."""
    require_delta_spark()
    answers = tmp_path_factory.mktemp("updated") / "answers.json"
    run_module("tests.reference.updated", answers, *NAMES)
    found: dict[str, str | None] = json.loads(Path(answers).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long
def test_both_readers_find_the_rows_the_feed_and_the_row_ids_of(problems: dict[str, str | None], name: str) -> None:
    assert problems[name] is None, problems[name]

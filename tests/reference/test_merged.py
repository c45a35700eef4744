"""Random merges by deltaskip and delta-spark on copies of one table, with every feature that changes how rows change.

By default some of the cases; DELTASKIP_MERGED=all plays all of them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.merged import CASES

pytestmark = pytest.mark.reference

ALL = os.environ.get("DELTASKIP_MERGED") == "all"
NAMES = list(CASES) if ALL else ["plain, partitions", "vectors, feed and row ids by name"]


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """By case, how it failed."""
    require_delta_spark()
    answers = tmp_path_factory.mktemp("merged") / "answers.json"
    run_module("tests.reference.merged", answers, "20" if ALL else "4", *NAMES)
    found: dict[str, str | None] = json.loads(Path(answers).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_both_leave_the_same_rows_metrics_feed_and_row_ids_on(problems: dict[str, str | None], name: str) -> None:
    assert problems[name] is None, problems[name]

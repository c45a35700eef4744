"""Tables with Iceberg compatibility, written by deltaskip and delta-spark in turns, and read by both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.extent import some
from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.iceberg_rows import CASES

pytestmark = pytest.mark.reference

NAMES = some(CASES, 1)


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """By table, how it failed."""
    require_delta_spark()
    answers = tmp_path_factory.mktemp("iceberg") / "answers.json"
    run_module("tests.reference.iceberg_rows", answers, *NAMES)
    found: dict[str, str | None] = json.loads(Path(answers).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long
def test_both_writers_and_readers_agree_on_a_table_of(problems: dict[str, str | None], name: str) -> None:
    assert problems[name] is None, problems[name]

"""What deltaskip and delta-spark do in turns, or each to its copy of one table; a module here for each kind."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.reference import iceberg_rows, maintained, merged, optimized, overwritten, partitioned, updated
from tests.reference.conftest import require_delta_spark, run_module

pytestmark = [pytest.mark.reference, pytest.mark.long]

SEEDS = [str(seed) for seed in range(20)]
CASES: dict[str, list[str]] = {
    "change_feed": ["renamed", *SEEDS],
    "iceberg_rows": [*iceberg_rows.CASES],
    "maintained": maintained.CASES,
    "merged": [*merged.CASES],
    "optimized": optimized.NAMES,
    "overwritten": [*overwritten.CASES],
    "partitioned": partitioned.CASES,
    "two_writers": SEEDS,
    "updated": [*updated.CASES],
}
MERGES = "20"


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str | None]]:
    """Of a module, by case, how it failed."""
    require_delta_spark()

    @cache
    def of(module: str) -> dict[str, str | None]:
        answers = tmp_path_factory.mktemp(module) / "answers.json"
        more = [MERGES] if module == "merged" else []
        run_module(f"tests.reference.{module}", answers, *more, *CASES[module])
        found: dict[str, str | None] = json.loads(Path(answers).read_text(encoding="utf-8"))
        return found

    return of


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in CASES.items() for name in names])
def test_both_end_with_the_same(problems: Callable[[str], dict[str, str | None]], module: str, name: str) -> None:
    assert problems(module)[name] is None, problems(module)[name]

"""What deltaskip and delta-spark do in turns, or each to its copy of one table; a module here for each kind."""

from collections.abc import Callable
from functools import cache

import pytest

from tests.reference import change_feed, iceberg_rows, maintained, not_in_histories, partitioned
from tests.reference.conftest import answers_of

pytestmark = [pytest.mark.reference, pytest.mark.long]

MODULES = (change_feed, iceberg_rows, maintained, partitioned, not_in_histories)
CASES = {module.__name__.rpartition(".")[2]: [*module.CASES] for module in MODULES}


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str | None]]:
    """Of a module, by case, how it failed."""

    @cache
    def of(module: str) -> dict[str, str | None]:
        return answers_of("tests.reference.playing", tmp_path_factory.mktemp(module) / "answers.json", first=[module])

    return of


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in CASES.items() for name in names])
def test_both_end_with_the_same(problems: Callable[[str], dict[str, str | None]], module: str, name: str) -> None:
    assert problems(module)[name] is None, problems(module)[name]

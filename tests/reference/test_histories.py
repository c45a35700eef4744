"""Random histories of deltaskip and delta-spark on tables with many features, against a plain model.

DELTASKIP_LONG_HISTORIES: the number of seeds, or a range such as 100-199; DELTASKIP_HISTORY_STEPS: operations of each.
"""

import os

import pytest

from tests.extent import extent
from tests.reference.conftest import answers_of
from tests.reference.histories.columns import EXTRA, LAYOUTS
from tests.reference.histories.shapes import NAMES, PROPERTIES, ROWS, shape_of

pytestmark = pytest.mark.reference

CHOSEN = os.environ.get("DELTASKIP_LONG_HISTORIES", extent("1", "24"))
STEPS = os.environ.get("DELTASKIP_HISTORY_STEPS", extent("4", "12"))
FIRST, LAST = map(int, CHOSEN.split("-")) if "-" in CHOSEN else (0, int(CHOSEN) - 1)
SEEDS = [str(seed) for seed in range(FIRST, LAST + 1)]


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """By seed, how it failed."""
    answers = tmp_path_factory.mktemp("histories") / "answers.json"
    return answers_of("tests.reference.histories.play", answers, STEPS, *SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_commit_of_a_history_is_that_of_the_model(problems: dict[str, str | None], seed: str) -> None:
    assert problems[seed] is None, problems[seed]


def test_the_first_seeds_have_every_feature() -> None:
    features = {feature for seed in range(24) for feature in shape_of(seed).features}
    assert features >= {*ROWS, *NAMES, *LAYOUTS, *EXTRA, *PROPERTIES}

"""Every writer feature, and pairs of them: tables that deltaskip and delta-spark write in turns, read by both.

The gate makes one table of many features, the whole run tables that have every pair; DELTASKIP_FEATURE_PAIRS=all
makes one for each pair. See feature_cases.py for the features, and feature_pairs.py for what is played.
"""

import os

import pytest

from tests.extent import extent
from tests.reference.conftest import answers_of
from tests.reference.feature_cases import FEATURES, Case, combinations, pairs
from tests.reference.feature_pairs import STATISTICS

pytestmark = pytest.mark.reference

CHOSEN = os.environ.get("DELTASKIP_FEATURE_PAIRS", extent("sample", "combined"))


def chosen() -> list[Case]:
    """The tables of this run."""
    if CHOSEN != "sample":
        return pairs() if CHOSEN == "all" else [*combinations()]
    # Of the tables that delta-spark may change, the one with most features.
    tables = [case for case in combinations(16) if "append only" not in case.features]
    tables = [case for case in tables if all(part.written_by_others for part in case.parts)]
    return [max(tables, key=lambda case: len(case.features))]


NAMES = [", ".join(case.features) for case in chosen()]


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """By table, how it failed."""
    answers = tmp_path_factory.mktemp("pairs") / "answers.json"
    return answers_of("tests.reference.playing", answers, STATISTICS, *NAMES, first=["feature_pairs"])


@pytest.mark.parametrize("name", NAMES)
def test_both_writers_and_readers_agree_on_a_table_with(problems: dict[str, str | None], name: str) -> None:
    assert problems[name] is None, problems[name]


def test_statistics_are_those_of_delta_spark(problems: dict[str, str | None]) -> None:
    assert problems[STATISTICS] is None, problems[STATISTICS]


def test_the_sample_has_every_feature() -> None:
    assert {feature for case in combinations(16) for feature in case.features} == set(FEATURES)

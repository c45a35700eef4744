"""ALTER TABLE by delta-spark and by deltaskip: the same statement leads to the same table, or is refused by both."""

import json
from typing import Any

import pytest

from tests.extent import extent
from tests.reference.altered import CASES
from tests.reference.conftest import answers_of

pytestmark = [pytest.mark.reference, pytest.mark.spark]

NAMES = extent(["nullable", "enabled"], list(CASES))


@pytest.fixture(scope="session")
def altered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What differs between the two tables of each case."""
    answers = tmp_path_factory.mktemp("altered") / "answers.json"
    return answers_of("tests.reference.playing", answers, *NAMES, first=["altered"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long(gate=1)
def test_the_same_statement_leads_to_the_same_table_or_is_refused_by_both(altered: dict[str, Any], name: str) -> None:
    found, case = altered[name], CASES[name]
    assert isinstance(found, dict), found
    assert "crashed" not in found, found["crashed"]
    differs = {
        statement: answer["accepted"] if "differ" not in answer else sorted(answer["differ"])
        for statement, answer in found["statements"].items()
    }
    assert differs == dict(case.odd), json.dumps(found["statements"], indent=1)


@pytest.mark.parametrize("name", NAMES)
def test_the_history_shows_the_same_operation(altered: dict[str, Any], name: str) -> None:
    differs = {
        statement: pair
        for statement, pair in altered[name]["operations"].items()
        if statement not in CASES[name].other_operations
    }
    assert not differs, json.dumps(differs, indent=1)


@pytest.mark.parametrize("name", NAMES)
def test_delta_spark_reads_and_writes_what_deltaskip_altered(altered: dict[str, Any], name: str) -> None:
    before, after = altered[name]["rows"]
    assert before == after

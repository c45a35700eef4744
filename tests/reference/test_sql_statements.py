"""SQL by delta-spark and through both doors of a catalog: the same columns, rows and commits, or refused by all.

The whole set also runs with other versions of Spark, without delta-spark: `python -m tests.reference.sql_statements`.
"""

import json
import re
from typing import Any

import pytest

from tests.reference.conftest import answers_of
from tests.reference.sql_statements import CASES, DOORS

pytestmark = [pytest.mark.reference, pytest.mark.spark]

# Errors of programs. Spark wraps those of a change of a table into one that PySpark does not convert.
_RAW = re.compile(
    r"(?!.*Unsupported table change).*(Internal|INTERNAL_ERROR|^(Key|Type|Assertion|Attribute)Error|^Py4J)"
)


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """For each statement, in order, the answers of all doors."""
    return answers_of("tests.reference.sql_statements", tmp_path_factory.mktemp("sql") / "answers.json")


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number].text[:60])
def test_a_statement_has_the_same_answer_or_is_refused_by_all(answers: list[dict[str, Any]], number: int) -> None:
    case, answer = CASES[number], answers[number]
    assert answer["statement"] == case.text
    for door in DOORS[1:]:
        same = _same(answer[DOORS[0]], answer[door])
        assert same == (door not in case.notes), f"{door}: {json.dumps(answer, indent=1)[:4000]}"


def _same(theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    if "error" in theirs and "error" in ours:
        return not _RAW.match(" ".join(ours["error"].split()))
    if "error" in theirs or "error" in ours or theirs["commits"] != ours["commits"]:
        return False
    # Spark's own commands answer nothing.
    return not ours["columns"] or [theirs[key] for key in ("columns", "rows")] == [
        ours[key] for key in ("columns", "rows")
    ]

"""SQL by delta-spark and by a catalog: the same statement gives the same columns and rows, or both refuse it."""

import json
from typing import Any

import pytest

from tests.reference.conftest import answers_of
from tests.reference.sql_statements import STATEMENTS

pytestmark = [pytest.mark.reference, pytest.mark.spark]

OTHER = {
    "SELECT count(*) AS n FROM q.t@v2": "delta-spark reads @ in paths only",
    "SHOW TBLPROPERTIES q.t ('nothing')": "Spark's answer names its own catalog",
    "DELETE FROM w.t WHERE id IN (SELECT max(id) FROM w.t)": "delta-spark refuses queries in predicates of DELETE",
    "DESCRIBE q.c": "delta-spark does not show the clustering columns here",
}
"""Statements that are answered differently, and why."""


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """For each statement, in order, the answers of both."""
    return answers_of("tests.reference.sql_statements", tmp_path_factory.mktemp("sql") / "answers.json")


@pytest.mark.parametrize("number", range(len(STATEMENTS)), ids=lambda number: STATEMENTS[number][:60])
def test_a_statement_has_the_same_answer_or_is_refused_by_both(answers: list[dict[str, Any]], number: int) -> None:
    answer = answers[number]
    assert answer["statement"] == STATEMENTS[number]
    theirs, ours = answer["delta-spark"], answer["deltaskip"]
    if "error" in theirs and "error" in ours:
        assert "Internal" not in ours["error"] and not ours["error"].startswith(("KeyError", "TypeError", "Assertion"))
        return
    same = {key: theirs.get(key) for key in ("columns", "rows", "error")} == {
        key: ours.get(key) for key in ("columns", "rows", "error")
    }
    assert same == (answer["statement"] not in OTHER), json.dumps(answer, indent=1)[:3000]

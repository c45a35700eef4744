"""How often partition values are evaluated one by one: never by most predicates, and once by the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deltaskip import DeltaTable
from deltaskip.schema.types import INTEGER, LONG, STRING
from deltaskip.skipping import partition_terms
from tests.builder import TableBuilder, add

VALUES = 300


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The rows that the evaluator has seen."""
    seen: list[object] = []
    evaluate = partition_terms.evaluate

    def counted(node: object, row: object, *rest: object) -> object:
        seen.append(row)
        return evaluate(node, row, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(partition_terms, "evaluate", counted)
    yield seen


def table(path: Path) -> DeltaTable:
    adds = [add(f"f{k}", partitionValues={"p": f"v{k}", "q": str(k)}) for k in range(VALUES)]
    TableBuilder(path, {"p": STRING, "q": INTEGER, "x": LONG}, ["p", "q"]).commit(*adds)
    return DeltaTable(str(path))


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("p = 'v77'", 1),
        ("p IN ('v1', 'v2', NULL) AND q = 1", 1),
        ("p LIKE 'v77%' OR p IS NULL", 1),
        ("p <=> 'v1' OR q > 298", 2),
        ("upper(p) = 'V77' AND q % 2 = 1", 1),
        ("NOT (q <> 5)", 1),
    ],
)
def test_common_predicates_are_evaluated_by_column(
    tmp_path: Path, evaluated: list[object], where: str, kept: int
) -> None:
    assert len(table(tmp_path).scan(where=where).paths()) == kept
    assert not evaluated


def test_other_predicates_are_evaluated_once_for_each_value_of_a_snapshot(
    tmp_path: Path, evaluated: list[object]
) -> None:
    one = table(tmp_path)
    where = "CAST(substring(p, 2) AS INT) = 77 AND p <> 'v5'"
    assert len(one.scan(where=where).paths()) == 1
    # The part that Arrow evaluates leaves one value less.
    assert len(evaluated) == VALUES - 1
    assert len(one.scan(where=where).paths()) == 1
    assert len(one.scan(where=f"x > 5 AND {where}").paths()) == 1
    assert len(evaluated) == VALUES - 1

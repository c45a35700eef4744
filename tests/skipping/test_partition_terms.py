"""How often partition values are evaluated: one by one never, and by column once for a snapshot."""

from pathlib import Path

import pytest

from deltaskip import DeltaTable
from deltaskip.skipping import partition_terms
from deltaskip.sparkexpr.evaluation import batch, columns
from deltaskip.sparkexpr.types.data_types import INTEGER, LONG, STRING
from tests.builder import TableBuilder, add
from tests.noted import noted

VALUES = 300


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The rows that are evaluated one by one."""
    seen = noted(monkeypatch, partition_terms, "evaluate", lambda node, row, *_: row)
    monkeypatch.setattr(columns, "evaluate", partition_terms.evaluate)  # type: ignore[attr-defined]
    monkeypatch.setattr(batch, "evaluate", partition_terms.evaluate)  # type: ignore[attr-defined]
    return seen


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
        ("CAST(substring(p, 2) AS INT) = 77", 1),
        ("q * 2 + 1 = 11 OR q / 2 > 149.4", 2),
    ],
)
def test_common_ones_are_evaluated_by_column(tmp_path: Path, evaluated: list[object], where: str, kept: int) -> None:
    assert len(table(tmp_path).scan(where=where).paths()) == kept
    assert not evaluated


def test_a_predicate_is_evaluated_once_for_each_value_of_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = noted(monkeypatch, columns.Evaluator, "may_be_true", lambda evaluator, given, n_rows: n_rows)
    one = table(tmp_path)
    where = "CAST(substring(p, 2) AS INT) = 77 AND p <> 'v5'"
    assert len(one.scan(where=where).paths()) == 1
    assert len(one.scan(where=where).paths()) == 1
    assert len(one.scan(where=f"x > 5 AND {where}").paths()) == 1
    assert rows == [VALUES]

"""What a change of rows costs, and the plan of one that is not carried out."""

from pathlib import Path

import pytest

from deltaskip import DeltaTable, FileCount
from deltaskip.errors import PredicateError
from tests.dml.tables import DDL, files_below, rows

VECTORS = {"delta.enableDeletionVectors": "true"}


def made(folder: Path, **properties: str) -> tuple[DeltaTable, list[int]]:
    """A table of five files of ten rows, and their sizes."""
    table = DeltaTable.create(folder / "t", DDL, properties=properties)
    for start in range(0, 50, 10):
        table.append(rows(range(start, start + 10)))
    return table, table.snapshot.adds(["size"])["size"].to_pylist()


def test_each_file_of_the_table_has_one_use(tmp_path: Path) -> None:
    table, sizes = made(tmp_path, **VECTORS)
    cost = table.delete("id >= 15 AND id < 35").cost
    assert cost is not None
    assert (cost.read, cost.marked) == (FileCount(2, sizes[1] + sizes[3]),) * 2
    assert (cost.removed, cost.skipped) == (FileCount(1, sizes[2]), FileCount(2, sizes[0] + sizes[4]))
    assert (cost.rewritten, cost.added, cost.attempts) == (FileCount(), FileCount(), 1)
    assert list(cost.seconds) == ["plan", "read", "write", "commit"]
    assert all(seconds >= 0 for seconds in cost.seconds.values())


def test_rewritten_files_are_not_marked(tmp_path: Path) -> None:
    table, sizes = made(tmp_path)
    cost = table.delete("id = 15").cost
    assert cost is not None
    assert (cost.read.files, cost.marked.files, cost.rewritten) == (1, 0, FileCount(1, sizes[1]))
    assert cost.added.files == 1 and cost.added.bytes > 0
    assert cost.read + cost.skipped == FileCount(5, sum(sizes))


def test_rows_that_do_not_exist_cost_no_commit(tmp_path: Path) -> None:
    table, sizes = made(tmp_path, **VECTORS)
    cost = table.delete("id = 100").cost
    assert cost is not None and cost.skipped == FileCount(5, sum(sizes))
    assert "commit" not in cost.seconds
    assert table.append(rows([1])).cost is None


def test_a_plan_names_the_files_and_why(tmp_path: Path) -> None:
    table, sizes = made(tmp_path, **VECTORS)
    before = files_below(tmp_path / "t")
    plan = table.delete("id >= 15 AND id < 30", dry_run=True)
    assert (plan.operation, plan.version, plan.marks_rows) == ("DELETE", 5, True)
    assert (plan.whole, plan.read) == (FileCount(1, sizes[2]), FileCount(1, sizes[1]))
    assert plan.skipped.files == 3
    assert plan.files.select(["size", "num_records", "reason"]).to_pylist() == [
        {"size": sizes[2], "num_records": 10, "reason": "every row matches"},
        {"size": sizes[1], "num_records": 10, "reason": "some rows may match"},
    ]
    assert [leaf.predicate for leaf in plan.explain.leaves] == ["id >= 15", "id < 30"]
    assert (table.refresh().version, files_below(tmp_path / "t")) == (5, before)
    with pytest.raises(PredicateError):
        table.delete("nope = 1", dry_run=True)


def test_a_plan_is_of_the_latest_version(tmp_path: Path) -> None:
    table, _ = made(tmp_path)
    DeltaTable(tmp_path / "t").append(rows([14, 15]))
    plan = table.delete("id = 15", dry_run=True)
    assert (plan.version, plan.read.files, plan.marks_rows) == (6, 2, False)


def test_a_conflict_counts_as_an_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = made(tmp_path)
    other = DeltaTable(tmp_path / "t")
    from deltaskip.dml import rows_to_change as module

    found, calls = module.files_to_change, []  # type: ignore[attr-defined]

    def late(scan: object, read_rows: int) -> object:
        if not calls:
            calls.append(scan)
            other.append(rows([14, 15]))
        return found(scan, read_rows)

    monkeypatch.setattr(module, "files_to_change", late)
    result = table.delete("id = 15")
    assert result.metrics["numDeletedRows"] == 2
    assert result.cost is not None and (result.cost.attempts, result.cost.read.files) == (2, 2)

"""Other writers that commit while files are rewritten: appends pass, and changed files are rewritten again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deltaskip import DeltaTable
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.errors import StorageError
from deltaskip.maintenance.optimize.rewriting import ArrowRewriting
from tests.dml.tables import actions_of, files_below, ids_of, row_ids_of, rows
from tests.each import refuses
from tests.maintenance.optimize.tables import ROW_IDS, VECTORS, files_of, made
from tests.noted import raising


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object], at: int | None = None) -> None:
    """Let others act after each rewriting of a bin, or one, before its commit; they get the number of the rewriting."""
    rewrite, calls = ArrowRewriting.rewrite, 0

    def acting(self: ArrowRewriting, *arguments: object) -> WrittenRows:
        nonlocal calls
        written = rewrite(self, *arguments)
        calls += 1
        if at in (None, calls):
            act(calls)
        return written

    monkeypatch.setattr(ArrowRewriting, "rewrite", acting)


def unreferenced(table: DeltaTable) -> set[str]:
    """Data files on disk that no commit of the table has added."""
    commits = [actions_of(table, version).get("add", []) for version in range(1, table.version + 1)]
    added = {add["path"] for commit in commits for add in commit}
    return {path for path in files_below(Path(table.snapshot.root)) if path.endswith(".parquet")} - added


def test_rule_53_appends_are_no_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)
    meanwhile(monkeypatch, lambda _n: DeltaTable(table.uri).append(rows(range(100, 110))))
    result = table.optimize()
    assert result.version == 8 and result.metrics["numRemovedFiles"] == 6
    assert ids_of(table) == [*range(60), *range(100, 110)] and len(files_of(table)) == 2


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("properties", [VECTORS, {**VECTORS, **ROW_IDS}, {}])
def test_rule_53_a_bin_with_a_file_that_a_delete_changed_is_rewritten_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, properties: dict[str, str]
) -> None:
    table = made(tmp_path, **properties)
    before = row_ids_of(table) if "delta.enableRowTracking" in properties else {}

    meanwhile(monkeypatch, lambda _n: DeltaTable(table.uri).delete("id = 13"), at=1)
    result = table.optimize()
    assert ids_of(table) == [i for i in range(60) if i != 13]
    # Without vectors the deletion wrote a new file, which the plan does not contain.
    assert result.version == 8 and result.left_out == 0 and len(files_of(table)) == (1 if properties else 2)
    assert unreferenced(table) == set()
    if before:
        assert row_ids_of(table) == {id_: at for id_, at in before.items() if id_ != 13}


def test_waiting_bins_are_planned_again_if_others_changed_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, partition_by=("p",), **VECTORS)
    monkeypatch.setattr("deltaskip.settings.options.optimize_job_bytes", 1)

    meanwhile(monkeypatch, lambda _n: DeltaTable(table.uri).delete("id IN (12, 13, 14)"), at=1)
    result = table.optimize()
    assert (result.partitions, result.left_out) == (3, 0)
    assert ids_of(table) == [i for i in range(60) if i not in (12, 13, 14)] and len(files_of(table)) == 3
    assert unreferenced(table) == set()


def test_bins_that_nobody_changed_are_committed_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, partition_by=("p",), **VECTORS)

    meanwhile(monkeypatch, lambda _n: DeltaTable(table.uri).delete("id = 13"), at=3)
    result = table.optimize()
    assert result.versions == (8, 9) and (result.partitions, result.removed.files) == (3, 18)
    assert ids_of(table) == [i for i in range(60) if i != 13] and len(files_of(table)) == 3
    assert unreferenced(table) == set()


def test_files_that_change_again_and_again_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, **VECTORS)
    meanwhile(monkeypatch, lambda number: DeltaTable(table.uri).delete(f"id = {number}"))
    result = table.optimize()
    assert (result.version, result.left_out) == (None, 6)
    assert ids_of(table) == [0, *range(4, 60)] and unreferenced(table) == set()


def test_files_that_another_optimize_joined_stay_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)

    def act(number: int) -> None:
        if number == 1:
            monkeypatch.undo()
            DeltaTable(table.uri).optimize()

    meanwhile(monkeypatch, act)
    result = table.optimize()
    assert result.version is None and len(files_of(table)) == 1
    assert ids_of(table) == [*range(60)] and unreferenced(table) == set()


def test_a_schema_changed_meanwhile_is_that_of_the_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)

    meanwhile(monkeypatch, lambda _n: DeltaTable(table.uri).alter_sql("ADD COLUMN n INT"), at=1)
    result = table.optimize()
    assert result.version == 8 and len(files_of(table)) == 1
    assert '"n":60' in actions_of(table)["add"][0]["stats"]
    assert ids_of(table) == [*range(60)] and unreferenced(table) == set()


def test_an_error_leaves_what_was_committed_and_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, partition_by=("p",))
    monkeypatch.setattr("deltaskip.settings.options.optimize_job_bytes", 1)
    rewrite, calls = ArrowRewriting.rewrite, 0

    def failing(self: ArrowRewriting, *arguments: object) -> WrittenRows:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise StorageError("The disk is full.")
        return rewrite(self, *arguments)

    monkeypatch.setattr(ArrowRewriting, "rewrite", failing)
    refuses(StorageError, "full", table.optimize)
    latest = DeltaTable(table.uri)
    assert latest.version == 8 and ids_of(latest) == [*range(60)] and unreferenced(latest) == set()


def test_an_error_of_one_bin_leaves_no_file_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, partition_by=("p",))
    meanwhile(monkeypatch, raising(StorageError("The disk is full.")), at=2)
    before = files_below(tmp_path / "t")
    refuses(StorageError, "full", table.optimize)
    left = files_below(tmp_path / "t") - before
    # The file of the rewriting that failed in this test itself is its own.
    assert len(left) <= 1 and DeltaTable(table.uri).version == 6

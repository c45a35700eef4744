"""Two changes of one file that mark different rows are both committed; each rule of `txn.row_level` by its name."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deltaskip import DeltaTable
from deltaskip.actions import add_actions
from deltaskip.dml.assignments import given_values
from deltaskip.dml.matching import removed_rows_match
from deltaskip.dml.update import update_in
from deltaskip.errors import CommitConflict
from deltaskip.log import deletion_vectors
from deltaskip.table.table_transaction import TableTransaction
from tests.dml.tables import DDL, actions_of, files_below, ids_of, info_of, rows, rows_of
from tests.each import refuses
from tests.looped import looped
from tests.txn.killed import copied, steps_of

VECTORS = {"delta.enableDeletionVectors": "true"}


def made(folder: Path, **properties: str) -> DeltaTable:
    """Twenty rows in two files."""
    table = DeltaTable.create(folder / "t", DDL, properties={**VECTORS, **properties})
    for start in (0, 10):
        table.append(rows(range(start, start + 10)))
    return table


def begun(table: DeltaTable, act: Callable[[Any], object], operation: str = "DELETE") -> TableTransaction:
    """A transaction on the version that `table` has, with the actions of a change."""
    transaction = table.transaction(operation=operation)
    assert isinstance(transaction, TableTransaction)
    act(transaction)
    return transaction


def updating(column: str, value: str, where: str) -> Callable[[Any], object]:
    def act(changed: Any) -> None:
        if isinstance(changed, DeltaTable):
            changed.update({column: value}, where)
            return
        given, text = given_values({column: value}, where, None, "")
        update_in(changed, given, text)

    return act


def deleting(where: str) -> Callable[[Any], object]:
    return lambda txn: txn.delete(where)


def overwriting(number: int) -> Callable[[Any], object]:
    return lambda txn: txn.overwrite(rows([number]), where=f"id = {number}")


def also_read(transaction: Any) -> None:
    """A deletion does not settle what else its transaction has read."""
    transaction.read("x > 5")
    transaction.delete("id = 3")


def read_by_name(transaction: Any) -> None:
    transaction.read_files(transaction.snapshot.adds(["path"])["path"].to_pylist())
    transaction.set_app_version("app", 1)


def other(table: DeltaTable) -> DeltaTable:
    return DeltaTable(Path(table.snapshot.root))


def test_marks_of_different_rows_are_united(tmp_path: Path) -> None:
    table = made(tmp_path)
    mine = begun(table, deleting("id IN (3, 4)"))
    other(table).delete("id IN (4, 5)")
    mine.commit()
    table.refresh()
    assert ids_of(table) == [i for i in range(20) if i not in (3, 4, 5)]
    assert info_of(table)["operationMetrics"]["numDeletedRows"] == "1"
    [add], [remove] = actions_of(table)["add"], actions_of(table)["remove"]
    [winner] = actions_of(table, table.version - 1)["add"]
    assert remove["deletionVector"] == winner["deletionVector"]
    assert add["deletionVector"]["cardinality"] == 3
    stats = json.loads(add["stats"])
    assert (stats["numRecords"], stats["tightBounds"]) == (10, False)
    assert info_of(table)["readVersion"] == 2


SKEWED = "x > 14 AND x < 18"
EVERY = set(range(20))
# A change, what other writers do before it is committed, and the ids that are left, or the kind of conflict.
MEETINGS: dict[str, tuple[Callable[[Any], object], list[Callable[[DeltaTable], object]], set[int] | str]] = {
    "several winners": (deleting("id IN (1, 11)"), [deleting("id = 2"), deleting("id = 12"), deleting("id = 3")],
        EVERY - {1, 11, 2, 12, 3}),
    "other rows": (deleting("id = 3"), [deleting("id = 5")], EVERY - {3, 5}),
    "all of the rows are gone": (deleting("id = 3"), [deleting("id IN (3, 5)")], "delete-delete"),
    "the file is gone": (deleting("id = 3"), [deleting("id < 10")], "delete-delete"),
    "a rewritten row matches a deletion": (deleting(SKEWED), [updating("x", "15", "id = 11")], "append"),
    "a rewritten row matches an update": (updating("x", "x + 100", SKEWED), [updating("x", "15", "id = 11")], "append"),
    "a rewritten row cannot match": (deleting("id = 13"), [updating("x", "15", "id = 11")], EVERY - {13}),
    "rows that were read too are gone": (also_read, [deleting("id = 6")], "delete-delete"),
    "an overwrite of other rows": (overwriting(3), [deleting("id = 5")], EVERY - {5}),
    "an overwrite of rows that are gone": (overwriting(7), [deleting("id = 7")], "delete-delete"),
    "a file that was read by name": (read_by_name, [deleting("id = 5")], "delete-read"),
    "another schema": (deleting("id = 3"), [lambda table: table.alter_sql("ADD COLUMN more INT"), deleting("id = 5")],
        "metadata"),
}  # fmt: skip


def meet(folder: Path, mine: Callable[[Any], object], others: list[Any], **properties: str) -> set[int] | str:
    """The ids that are left, or the kind of conflict."""
    table = made(folder, **properties)
    transaction = begun(table, mine)
    for act in others:
        act(other(table))
    try:
        transaction.commit()
    except CommitConflict as error:
        return error.kind
    found = ids_of(table.refresh())
    assert len(found) == len(set(found))
    return set(found)


@looped("name", MEETINGS)
def test_a_change_and_its_winners_are_united_or_conflict(tmp_path: Path, name: str) -> None:
    mine, others, expected = MEETINGS[name]
    assert meet(tmp_path, mine, others) == expected


def test_rows_that_came_back_are_a_conflict(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.delete("id = 3")
    mine = begun(table, deleting("id = 4"))
    other(table).restore(version=2)
    refuses(CommitConflict, None, mine.commit)


def test_a_blind_append_that_may_match_conflicts_under_serializable_only(tmp_path: Path) -> None:
    acts: list[Any] = [deleting("id = 5"), lambda table: table.append(rows([30]))]
    level = "delta.isolationLevel"
    assert meet(tmp_path / "a", deleting("id = 3 OR id = 30"), acts, **{level: "Serializable"}) == "append"
    left = meet(tmp_path / "b", deleting("id = 3 OR id = 30"), acts, **{level: "WriteSerializable"})
    assert left == EVERY - {3, 5} | {30}


def test_the_vector_that_was_written_first_is_deleted(tmp_path: Path) -> None:
    table = made(tmp_path)
    mine = begun(table, lambda txn: txn.delete("id = 3 OR id = 13"))
    other(table).delete("id = 5")
    mine.commit()
    table.refresh()
    vectors = [name for name in files_below(tmp_path / "t") if name.startswith("deletion_vector")]
    # The other file of the transaction is still marked by the first vectors.
    assert len(vectors) == 3
    mine = begun(table, lambda txn: txn.delete("id = 4"))
    other(table).delete("id = 6")
    mine.commit()
    assert len([name for name in files_below(tmp_path / "t") if name.startswith("deletion_vector")]) == 5


def test_a_file_whose_last_rows_go_is_removed(tmp_path: Path) -> None:
    table = made(tmp_path)
    mine = begun(table, lambda txn: txn.delete("id < 9 AND id % 2 = 0"))
    other(table).delete("id % 2 = 1 AND id < 10")
    mine.commit()
    table.refresh()
    assert ids_of(table) == list(range(10, 20))
    assert "add" not in actions_of(table)
    [remove] = actions_of(table)["remove"]
    assert remove["deletionVector"]["cardinality"] == 5


def test_a_file_that_goes_whole_is_removed_with_the_winners_vector(tmp_path: Path) -> None:
    table = made(tmp_path)
    mine = begun(table, lambda txn: txn.delete("id < 10"))
    other(table).delete("id = 4")
    mine.commit()
    table.refresh()
    assert ids_of(table) == list(range(10, 20))
    assert info_of(table)["operationMetrics"]["numDeletedRows"] == "9"
    [winner] = actions_of(table, table.version - 1)["add"]
    assert actions_of(table)["remove"][0]["deletionVector"] == winner["deletionVector"]


def test_an_update_of_other_rows_is_united_and_writes_its_rows(tmp_path: Path) -> None:
    table = made(tmp_path, **{"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true"})
    mine = begun(table, updating("x", "x + 100", "id = 3"), "UPDATE")
    other(table).update({"x": "x + 200"}, "id = 5")
    mine.commit()
    table.refresh()
    found = {row["id"]: row["x"] for row in rows_of(table)}
    assert (found[3], found[5], len(found)) == (103, 205, 20)
    again = [add for add in actions_of(table)["add"] if "deletionVector" in add]
    [winner] = [add for add in actions_of(table, table.version - 1)["add"] if "deletionVector" in add]
    assert [each["baseRowId"] for each in again] == [winner["baseRowId"]]
    assert [each["defaultRowCommitVersion"] for each in again] == [winner["defaultRowCommitVersion"]]
    assert len(actions_of(table)["cdc"]) == 1


def test_an_update_of_rows_that_are_gone_is_a_conflict(tmp_path: Path) -> None:
    table = made(tmp_path)
    mine = begun(table, updating("x", "1", "id IN (3, 5)"), "UPDATE")
    other(table).delete("id = 5")
    refuses(CommitConflict, None, mine.commit)
    mine.discard()
    table.refresh()
    assert 5 not in ids_of(table)
    assert len([name for name in files_below(tmp_path / "t") if name.endswith(".bin")]) == 1


def test_a_winner_that_changed_statistics_is_followed(tmp_path: Path) -> None:
    table = made(tmp_path)
    mine = begun(table, lambda txn: txn.delete("id = 3"))
    winner = other(table)
    with winner.transaction(operation="COMPUTE STATS") as txn:
        first = next(iter(add_actions(winner.snapshot.adds())))
        assert first.stats is not None
        txn.add(replace(first, tags={"k": "v"}, data_change=False))
    mine.commit()
    [add] = actions_of(table.refresh())["add"]
    assert (add["tags"], add["deletionVector"]["cardinality"]) == ({"k": "v"}, 1)


def test_rows_that_were_read_and_not_removed_are_evaluated(tmp_path: Path) -> None:
    """A transaction that depends on rows by a predicate, as MERGE does."""
    table = made(tmp_path)
    for where, evaluates, holds in (
        ("id < 4 AND x > 1", True, True),
        ("id > 4 AND x < 8", True, False),
        ("id < 4 AND x > 1", False, False),
    ):
        txn = table.transaction(operation="MERGE")
        txn.read(where)
        if evaluates:
            txn.changes.rows_match = removed_rows_match
        txn.add_written()
        txn.set_app_version("app", table.version)
        found = sorted(set(ids_of(table.refresh())) & {5, 6, 7})[0]
        other(table).delete(f"id = {found}")
        if holds:
            txn.commit()
        else:
            refuses(CommitConflict, None, txn.commit)
        table.refresh()


def test_a_lost_race_leaves_no_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first winner is united with, the next one is a conflict."""
    table = made(tmp_path)
    mine = begun(table, lambda txn: txn.delete("id = 3"))
    other(table).delete("id = 5")
    from deltaskip.txn.commit_loop import CommitLoop

    tries = CommitLoop._try

    def late(self: CommitLoop, text: bytes, latest: Any) -> bool:
        monkeypatch.setattr(CommitLoop, "_try", tries)
        other(table).delete("id < 10")
        return tries(self, text, latest)

    monkeypatch.setattr(CommitLoop, "_try", late)
    refuses(CommitConflict, None, mine.commit)
    mine.discard()
    table.refresh()
    [vector] = [name for name in files_below(tmp_path / "t") if name.endswith(".bin")]
    [winner] = actions_of(table, 3)["add"]
    assert deletion_vectors.read_deletion_vectors(
        table.snapshot.storage, table.snapshot.table_root, table.snapshot.adds(["deletion_vector"])["deletion_vector"]
    ) == [None]
    assert vector and winner["deletionVector"]["cardinality"] == 1


def uniting(stop: int, folder: str, table: str) -> Callable[[], object]:
    """A deletion before whose commit another writer has marked other rows of its files."""
    copy = DeltaTable(copied(stop, folder, table))
    transaction = begun(copy, deleting("id IN (3, 13)"))
    DeltaTable(copy.uri).delete("id IN (5, 15)")
    return transaction.commit


@pytest.mark.long
def test_a_kill_while_vectors_are_united_leaves_the_rows_of_one_version(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "copies").mkdir()
    steps = steps_of(uniting, tmp_path / "copies", tmp_path / "t")
    assert {"renamed", "linked", "committed"} <= set(steps)
    before = [i for i in range(20) if i not in (5, 15)]
    after = [i for i in before if i not in (3, 13)]
    for number in range(len(steps)):
        table = DeltaTable(tmp_path / "copies" / str(number))
        assert ids_of(table) == (before if table.version == 3 else after), steps[number]
        # Whatever was left, the next deletion and its neighbours work.
        table.delete("id = 3 OR id = 7")
        assert 7 not in ids_of(table) and 3 not in ids_of(table)
    assert DeltaTable(tmp_path / "copies" / str(len(steps) - 1)).version == 5

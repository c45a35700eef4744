"""Operations on little data: what they list, start and keep."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import FILE_SCHEMA
from deltaskip.errors import CommitConflict
from deltaskip.log import load_snapshot
from deltaskip.storage import LocalStorage
from deltaskip.txn import turns
from deltaskip.txn.transaction import Transaction

Act = Callable[[DeltaTable], Any]

ACTS: dict[str, Act] = {
    "append": lambda table: table.append(pa.table({"id": [100], "price": [1.0]})),
    "update": lambda table: table.update({"price": "price + 1"}, "id = 3"),
    "delete": lambda table: table.delete("id = 3"),
    "overwrite": lambda table: table.overwrite(pa.table({"id": [3], "price": [9.0]}), where="id = 3"),
}


def make(folder: Path) -> DeltaTable:
    table = DeltaTable.create(folder, "id BIGINT, price DOUBLE", properties={"delta.checkpointInterval": "4"})
    table.append(pa.table({"id": range(10), "price": [0.5] * 10}))
    return table


def rows(table: DeltaTable) -> list[Any]:
    return sorted(map(tuple, (row.values() for row in table.scan().to_arrow().to_pylist())))


@pytest.mark.parametrize("act", ACTS)
def test_an_operation_lists_the_log_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    table = make(tmp_path / "t")
    lists, listed = LocalStorage.list_from, []

    def list_from(storage: LocalStorage, directory: str, start_name: str) -> Any:
        listed.append(directory)
        return lists(storage, directory, start_name)

    monkeypatch.setattr(LocalStorage, "list_from", list_from)
    ACTS[act](table)
    assert listed == [str(tmp_path / "t" / "_delta_log")]


@pytest.mark.parametrize("act", ["append", "update", "delete"])
def test_an_operation_starts_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    table = make(tmp_path / "t")
    monkeypatch.setattr(threading.Thread, "start", lambda self: pytest.fail(f"{self.name} is started"))
    ACTS[act](table)


@pytest.mark.parametrize("act", ACTS)
def test_the_handle_knows_what_the_log_has(tmp_path: Path, act: str) -> None:
    table = make(tmp_path / "t")
    for turn in range(6):
        ACTS[act](table)
        read = load_snapshot(LocalStorage(), str(tmp_path / "t"))
        assert table.snapshot.version == read.version == (2 if act == "delete" else 2 + turn)
        assert table.snapshot.state == read.state
        # A checkpoint has dataChange false in every add.
        names = [name for name in FILE_SCHEMA.names if name != "data_change"]
        found, expected = (
            sorted(each.adds(names).to_pylist(), key=lambda row: row["path"]) for each in (table.snapshot, read)
        )
        assert found == expected
        assert rows(table) == rows(DeltaTable(tmp_path / "t"))


@pytest.mark.parametrize("act", ACTS)
def test_a_commit_of_another_writer_in_between_is_not_lost(tmp_path: Path, act: str) -> None:
    table, other = make(tmp_path / "t"), DeltaTable(tmp_path / "t")
    other.append(pa.table({"id": [50], "price": [5.0]}))
    ACTS[act](table)
    other.append(pa.table({"id": [51], "price": [5.0]}))
    ACTS[act](table)
    kept = [row for row in rows(DeltaTable(tmp_path / "t")) if row[0] in (50, 51)]
    assert kept == [(50, 5.0), (51, 5.0)]


def test_a_log_that_is_cleaned_up_at_once_is_listed_before_the_commit(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        "id BIGINT",
        properties={"delta.logRetentionDuration": "interval 0 seconds", "delta.checkpointInterval": "2"},
    )
    table.refresh()
    other = DeltaTable(tmp_path / "t")
    transaction = table.transaction()
    for number in range(3):
        other.append(pa.table({"id": [number]}))
    for version in (0, 1):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    transaction.set_app_version("app", 1)
    with pytest.raises(CommitConflict, match="was deleted"):
        transaction.commit()
    assert not (tmp_path / "t" / "_delta_log" / f"{1:020}.json").exists()


def test_an_operation_that_lost_is_repeated_in_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t")
    commits, locked = Transaction.commit, []

    def commit(transaction: Transaction) -> int:
        locked.append(is_locked(tmp_path / "t" / "_delta_log"))
        if len(locked) == 1:
            with monkeypatch.context() as inside:
                inside.setattr(Transaction, "commit", commits)
                DeltaTable(tmp_path / "t").update({"price": "7.0"}, "id = 4")
        return commits(transaction)

    monkeypatch.setattr(Transaction, "commit", commit)
    table.update({"price": "8.0"}, "id = 5")
    assert locked == [False, True]
    assert not is_locked(tmp_path / "t" / "_delta_log")
    assert dict(rows(table)) == {**dict.fromkeys(range(10), 0.5), 4: 7.0, 5: 8.0}


def is_locked(folder: Path) -> bool:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def test_an_operation_goes_on_when_the_turn_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t")
    monkeypatch.setattr(turns, "_LONGEST_SECONDS", 0.05)
    handle = os.open(tmp_path / "t" / "_delta_log", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with turns.turn(table.snapshot):
            table.append(pa.table({"id": [11], "price": [1.0]}))
    finally:
        os.close(handle)
    assert len(rows(table)) == 11

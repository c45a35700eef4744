"""Operations on little data: what they list, start and keep."""

import errno
import fcntl
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import FILE_SCHEMA
from deltaskip.errors import CommitConflict, StorageError
from deltaskip.log import load_snapshot
from deltaskip.storage import LocalStorage
from deltaskip.txn import commit_loop, turns
from deltaskip.txn.commit_loop import CommitLoop
from deltaskip.txn.transaction import Transaction
from tests.each import refuses
from tests.extent import TIME_LIMIT_SECONDS
from tests.noted import noted, raising

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
def test_an_operation_lists_others_commits_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    table = make(tmp_path / "t")
    listed = noted(monkeypatch, LocalStorage, "list_from", lambda _, directory, start: directory)
    ACTS[act](table)
    assert listed == []
    table = make(tmp_path / "other")
    DeltaTable(tmp_path / "other").append(pa.table({"id": [101], "price": [1.0]}))
    listed.clear()
    ACTS[act](table)
    assert listed == [str(tmp_path / "other" / "_delta_log")]


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
    refuses(CommitConflict, "was deleted", transaction.commit)
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
        with turns.Turn(table.snapshot) as turn:
            turn.take()
            assert not turn.is_taken
            table.append(pa.table({"id": [11], "price": [1.0]}))
    finally:
        os.close(handle)
    assert len(rows(table)) == 11
    with turns.Turn(table.snapshot) as turn:
        turn.take_if_busy()
        assert turn.is_taken, "the process has waited for the turn lately"
    assert not is_locked(tmp_path / "t" / "_delta_log")


def test_a_process_that_has_not_lost_takes_no_turn(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    with turns.Turn(table.snapshot) as turn:
        turn.take_if_busy()
        assert not turn.is_taken


def test_the_turn_ends_with_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t")
    with turns.Turn(table.snapshot) as turn:
        turn.take()
    locked = noted(monkeypatch, CommitLoop, "settle", lambda *_: is_locked(tmp_path / "t" / "_delta_log"))
    table.update({"price": "8.0"}, "id = 5")
    assert locked == [False]


def test_a_commit_that_lost_is_repeated_in_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, other = make(tmp_path / "t"), DeltaTable(tmp_path / "t")
    trying, locked = commit_loop.put_commit, []  # type: ignore[attr-defined]

    def put(*given: Any) -> None:
        locked.append(is_locked(tmp_path / "t"))
        if len(locked) == 1:
            with monkeypatch.context() as inside:
                inside.setattr(commit_loop, "put_commit", trying)
                other.append(pa.table({"id": [60], "price": [6.0]}))
        trying(*given)

    monkeypatch.setattr(commit_loop, "put_commit", put)
    table.append(pa.table({"id": [61], "price": [6.0]}))
    assert locked == [False, True]
    assert not is_locked(tmp_path / "t")
    assert [row[0] for row in rows(table)][-2:] == [60, 61]


@pytest.mark.parametrize("act", ["append", "update", "delete"])
def test_files_are_durable_before_commits_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    table = make(tmp_path / "t")
    steps: list[tuple[str, str]] = []
    fsync, link = os.fsync, os.link

    def synced(handle: int) -> None:
        steps.append(("sync", os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    def linked(source: bytes, target: bytes) -> None:
        steps.append(("link", target.decode()))
        link(source, target)

    before = {str(path) for path in (tmp_path / "t").glob("*.parquet")}
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", linked)
    ACTS[act](table)
    log = str(tmp_path / "t" / "_delta_log")
    [data] = {str(path) for path in (tmp_path / "t").glob("*.parquet")} - before
    temporary = next(path for _, path in steps if path.startswith(f"{log}/"))
    linked_at = steps.index(("link", f"{log}/{table.version:020}.json"))
    # The commit's text is synced while the data file is, and then the folder that has its name.
    before_link = steps[:linked_at]
    assert sorted(before_link) == sorted([("sync", data), ("sync", str(tmp_path / "t")), ("sync", temporary)])
    assert before_link.index(("sync", data)) < before_link.index(("sync", str(tmp_path / "t")))
    assert steps[linked_at + 1] == ("sync", log)


def test_files_of_many_partitions_are_durable_before_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p INT", partition_by=["p"])
    data = pa.table({"id": range(60), "p": pa.array([i % 20 for i in range(60)], pa.int32())})
    synced: list[str] = []
    fsync, link = os.fsync, os.link

    def noted(handle: int) -> None:
        fsync(handle)
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))

    def linked(source: str, target: str) -> None:
        synced.append("link")
        link(source, target)

    with monkeypatch.context() as inside:
        inside.setattr(os, "fsync", noted)
        inside.setattr(os, "link", linked)
        table.append(data)
    before = synced[: synced.index("link")]
    files = [str(path) for path in (tmp_path / "t").rglob("*.parquet")]
    assert len(files) == 20
    for file in files:
        assert before.index(file) < before.index(os.path.dirname(file))

    monkeypatch.setattr(os, "fsync", raising(OSError(errno.EIO, os.strerror(errno.EIO))))
    refuses(StorageError, "Input/output error", table.append, data)
    assert len(list((tmp_path / "t").rglob("*.parquet"))) == 20


def test_nothing_is_synced_for_a_commit_that_comes_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, other, update = make(tmp_path / "t"), DeltaTable(tmp_path / "t"), ACTS["update"]
    synced: list[int] = []
    attempts: list[int] = []
    commits, fsync = Transaction.commit, os.fsync

    def commit(transaction: Transaction) -> int:
        attempts.append(len(synced))
        if len(attempts) == 1:
            with monkeypatch.context() as inside:
                inside.setattr(Transaction, "commit", commits)
                update(other)
                synced.clear()
        return commits(transaction)

    def counted(handle: int) -> None:
        synced.append(handle)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", counted)
    monkeypatch.setattr(Transaction, "commit", commit)
    update(table)
    assert attempts == [0, 0]
    assert synced


def test_files_of_another_process_are_durable_at_once(tmp_path: Path) -> None:
    unsynced = make(tmp_path / "t").transaction().unsynced
    unsynced.put(str(tmp_path / "x"), b"1")
    assert pickle.loads(pickle.dumps([unsynced])) == [None]


def test_a_file_that_was_deleted_again_does_not_stop_the_commit(tmp_path: Path) -> None:
    transaction = make(tmp_path / "t").transaction()
    transaction.unsynced.put(str(tmp_path / "t" / "p=1" / "x.parquet"), b"1")
    (tmp_path / "t" / "p=1" / "x.parquet").unlink()
    (tmp_path / "t" / "p=1").rmdir()
    transaction.set_app_version("app", 1)
    assert transaction.commit() == 2


def test_a_vector_is_durable_before_the_commit_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {"delta.enableDeletionVectors": "true"}
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, price DOUBLE", properties=properties)
    table.append(pa.table({"id": range(10), "price": [0.5] * 10}))
    synced, fsync = [], os.fsync

    def counted(handle: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", counted)
    table.delete("id = 3")
    [vector] = [path.name for path in (tmp_path / "t").glob("*.bin")]
    assert [name for name in synced if name in (vector, "t")] == [vector, "t"]
    assert synced[-1] == "_delta_log"
    assert len(rows(table)) == 9


def test_a_process_that_ends_or_was_forked_commits(tmp_path: Path) -> None:
    make(tmp_path / "t")
    code = """
import atexit, os, sys, pyarrow as pa, deltaskip as ds
table = ds.DeltaTable(sys.argv[1])
append = lambda key: ds.DeltaTable(sys.argv[1]).append(pa.table({"id": [key], "price": [1.0]}))
atexit.register(append, 23)
append(21)
child = os.fork()
if child == 0:
    append(22)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "t")], check=True, timeout=TIME_LIMIT_SECONDS)
    assert [row[0] for row in rows(DeltaTable(tmp_path / "t"))][-3:] == [21, 22, 23]


def test_a_file_that_cannot_be_synced_stops_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t")
    before = sorted(path.name for path in (tmp_path / "t").rglob("*"))

    with monkeypatch.context() as inside:
        inside.setattr(os, "fsync", raising(OSError(errno.EIO, os.strerror(errno.EIO))))
        refuses(StorageError, "Input/output error", lambda: ACTS["append"](table))
    assert sorted(path.name for path in (tmp_path / "t").rglob("*")) == before
    ACTS["append"](table)
    assert len(rows(table)) == 11

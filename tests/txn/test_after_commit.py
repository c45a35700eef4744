"""Checksums, checkpoints and clean-up that follow a commit."""

import json
import logging
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import CommitConflict, MaintenanceWarning, StorageError
from deltaskip.log import checksum_writing, loading
from deltaskip.storage import LocalStorage
from deltaskip.txn import commit_loop as module
from tests.noted import noted, raising
from tests.txn.tables import append, file, gone, make_table, paths, vector

pytestmark = pytest.mark.usefixtures("without_look_ups")


def checkpoints(folder: Path) -> list[int]:
    return sorted(int(name[:20]) for name in os.listdir(folder / "_delta_log") if name.endswith("checkpoint.parquet"))


@pytest.mark.parametrize(("properties", "interval"), [({"delta.checkpointInterval": "5"}, 5), ({}, 10)])
def test_a_checkpoint_follows_at_the_interval(tmp_path: Path, properties: dict[str, str], interval: int) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, properties)
    for number in range(11):
        append(table, file(f"f{number}"))
    assert checkpoints(folder) == list(range(interval, 12, interval))
    assert json.loads((folder / "_delta_log" / "_last_checkpoint").read_text())["version"] == 10
    assert (folder / "_delta_log" / f"{10:020d}.crc").exists()
    latest = ds.DeltaTable(folder)
    assert latest.snapshot.checkpoint is not None and latest.snapshot.checkpoint.version == 10
    latest.snapshot.verify()
    assert paths(folder) == sorted(f"f{number}" for number in range(11))


def test_an_open_handle_begins_at_its_checkpoint_unlisted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_MOST_COMMITS", 8)
    folder = tmp_path / "t"
    properties = {"delta.checkpointInterval": "5", "delta.enableInCommitTimestamps": "true"}
    table = ds.DeltaTable.create(folder, "id BIGINT", properties=properties)
    # The first checkpoint looks for old commits.
    for number in range(5):
        table.append(pa.table({"id": [number]}))
    list_from = LocalStorage.list_from
    listed = noted(monkeypatch, LocalStorage, "list_from", lambda _, directory, start: start)
    for number in range(5, 33):
        table.append(pa.table({"id": [number]}))
        if number == 20:
            table.delete("id = 1")
    assert listed == []
    monkeypatch.setattr(LocalStorage, "list_from", list_from)
    kept, latest = table.snapshot, ds.DeltaTable(folder).snapshot
    assert kept.checkpoint is not None and kept.checkpoint.version > 20 and len(kept.segment.commits) < 14
    assert (kept.version, kept.metadata, kept.protocol) == (latest.version, latest.metadata, latest.protocol)
    assert kept.in_commit_timestamp == latest.in_commit_timestamp
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, *range(2, 33)]
    assert kept.adds().to_pylist() == latest.adds().to_pylist() and kept.totals() == latest.totals()


@pytest.mark.parametrize(("enabled", "left"), [("true", [2, 3]), ("false", [0, 1, 2, 3])])
def test_the_log_is_cleaned_up_with_it(tmp_path: Path, enabled: str, left: list[int]) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, {"delta.checkpointInterval": "2", "delta.enableExpiredLogCleanup": enabled})
    append(table, file("a"))
    append(table, file("b"))
    append(table, file("c"))
    for log_file in (folder / "_delta_log").iterdir():
        os.utime(log_file, (1_000_000_000, 1_000_000_000))
    append(table, file("d"))
    assert checkpoints(folder) == [2, 4]
    commits = sorted(int(name[:20]) for name in os.listdir(folder / "_delta_log") if name.endswith(".json"))
    assert commits == [*left, 4]
    assert paths(folder) == ["a", "b", "c", "d"]


@pytest.mark.filterwarnings("error::deltaskip.MaintenanceWarning")
def test_old_handles_begin_again_at_newer_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every checkpoint would read all commits since a handle was opened, and find those deleted in the end."""
    monkeypatch.setattr(loading, "_MOST_COMMITS", 25)
    for cleaned_up in (False, True):
        folder = tmp_path / str(cleaned_up)
        if cleaned_up:
            # In a hundred days every commit before a checkpoint is old enough.
            monkeypatch.setattr("time.time_ns", lambda: 10**9 * (86_400 * 100 + 1_800_000_000))
        table = make_table(folder, {"delta.checkpointInterval": "10"})
        reader, writer = ds.DeltaTable(folder), ds.DeltaTable(folder)
        for number in range(75):
            txn = (writer if number % 5 == 0 else table).refresh().transaction(look_up_files=False)
            txn.add(file(f"f{number}"))
            txn.commit()
            for each in (reader, writer, table):
                if number % 5 == 0:
                    each.refresh()
                if each.version <= number:
                    continue
                checkpoint = each.snapshot.segment.checkpoint
                assert len(each.snapshot.segment.commits) <= (20 if cleaned_up else 40)
                assert each.version < 40 or checkpoint is not None
                assert each.snapshot.num_files == number + 1
        assert checkpoints(folder) == ([70] if cleaned_up else [10, 20, 30, 40, 50, 60, 70])
        assert paths(folder) == sorted(f"f{number}" for number in range(75))


def checksum(folder: Path, version: int) -> dict[str, Any]:
    found = json.loads((folder / "_delta_log" / f"{version:020d}.crc").read_text())
    assert isinstance(found, dict)
    return found


def test_every_commit_gets_its_version_checksum(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    features = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "4"}
    table = make_table(folder, features, features=["deletionVectors", "domainMetadata"])
    append(table, file("a", size=10), file("b", size=100), file("c", size=1000))
    # The statistics of one anew, a deletion vector for another; one goes.
    txn = table.refresh().transaction(read="true")
    txn.add(file("a", 1, 2, size=10, data_change=False))
    txn.remove(gone("b"))
    txn.add(file("b", size=100, deletion_vector=vector("x")))
    txn.remove(gone("c"))
    txn.set_app_version("app", 7)
    txn.set_domain("mine", "{}")
    txn.commit()
    txn = table.refresh().transaction(read="true")
    txn.remove(gone("b", deletion_vector=vector("x")))
    txn.remove_domain("mine")
    txn.commit()
    append(table, *(file(f"f{i}", size=1) for i in range(5)))
    append(table, file("last", size=3))
    said = [checksum(folder, version) for version in (1, 2, 3, 4, 5)]
    files = [(each["numFiles"], each["tableSizeBytes"]) for each in said]
    assert files == [(3, 1110), (2, 110), (1, 10), (6, 15), (7, 18)]
    assert [[d["domain"] for d in each["domainMetadata"]] for each in said] == [[], ["mine"], [], [], []]
    assert [[t["version"] for t in each["setTransactions"]] for each in said] == [[], [7], [7], [7], [7]]
    for version in range(1, 6):
        ds.DeltaTable(folder, version=version).snapshot.verify()
        commit = (folder / "_delta_log" / f"{version:020d}.json").read_text()
        assert json.loads(commit.splitlines()[0])["commitInfo"]["txnId"] == said[version - 1]["txnId"]


def test_a_table_of_many_files_has_checkpoint_checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksum_writing, "_COUNTED_FILES", 2)
    folder = tmp_path / "t"
    table = make_table(folder, {"delta.checkpointInterval": "4"})
    for number in range(6):
        append(table, file(f"f{number}"))
    assert sorted(int(path.name[:20]) for path in (folder / "_delta_log").glob("*.crc")) == [1, 2, 3, 4]
    assert checksum(folder, 4)["numFiles"] == 4


@pytest.mark.parametrize(
    ("function", "what", "error"),
    [
        ("write_checksum_after", "version checksum", StorageError("the disk is full")),
        ("write_checkpoint", "checkpoint", StorageError("the disk is full")),
        ("write_checkpoint", "checkpoint", pa.ArrowInvalid("the disk is full")),
    ],
)
def test_what_fails_after_a_commit_leaves_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, what: str, error: Exception
) -> None:
    table = make_table(tmp_path / "t", {"delta.checkpointInterval": "1"})
    monkeypatch.setattr(module, function, raising(error))
    with pytest.warns(MaintenanceWarning, match=f"was committed, but its {what} failed: the disk is full"):
        assert append(table, file("a")) == 1
    assert paths(tmp_path / "t") == ["a"]


def test_a_version_that_others_have_passed_is_still_checkpointed(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, {"delta.checkpointInterval": "100"})
    for number in range(3):
        append(table, file(f"f{number}"))
    with table.refresh().transaction() as txn:
        txn.set_metadata(replace(table.metadata, configuration={"delta.checkpointInterval": "2"}))
    module._after_commit(ds.DeltaTable(folder).snapshot, 2)
    assert checkpoints(folder) == [2]


def test_a_transaction_older_than_the_log_is_a_conflict(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = make_table(folder, {"delta.checkpointInterval": "2"})
    old = table.transaction(read="id = 5")
    old.add(file("mine"))
    for number in range(5):
        append(table, file(f"f{number}", 10, 19))
    for version in range(4):
        (folder / "_delta_log" / f"{version:020d}.json").unlink()
    with pytest.raises(CommitConflict, match=r"The commit of version 1 of .* was deleted") as raised:
        old.commit()
    assert raised.value.kind == "cleaned up"
    assert ds.DeltaTable(folder).version == 5


class Failing(logging.Handler):
    """A handler of a program whose server for logs is down."""

    def emit(self, record: logging.LogRecord) -> None:
        raise ConnectionError("no log server")


def test_a_handler_of_the_program_that_fails_does_not_make_a_commit_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that repeats what failed would write its rows twice."""
    logger, handler = logging.getLogger("deltaskip"), Failing()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
        table.append([{"id": 1}, {"id": 2}])
        table.update({"id": "id + 1"}, "id = 2")
        table.delete("id = 1")
        table.optimize()
        assert table.scan("id > 0").to_arrow()["id"].to_pylist() == [3]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    assert "no log server" in capsys.readouterr().err


def test_what_fails_after_a_commit_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {"deltaskip.keyIndexColumns": "id", "delta.checkpointInterval": "1000"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties=properties)
    for number in range(2):
        table.append([{"id": number}])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no such folder"))
    with pytest.warns(MaintenanceWarning, match="key index .* does not know the newest files"):
        assert table.optimize().version == 3
    with pytest.warns(MaintenanceWarning, match="key index .* does not know the newest files"):
        table.checkpoint()
    with pytest.warns(MaintenanceWarning, match=r"statistics of .* are recomputed, but its key index is not built"):
        assert table.recompute_stats(index=True).index is None
    with pytest.raises(StorageError, match="no such folder"):
        table.recompute_stats(columns=[], index=True)
    monkeypatch.undo()
    monkeypatch.setattr(module, "_advanced", raising(RuntimeError("can't start new thread")))
    with pytest.warns(MaintenanceWarning, match="Version 5 .* was committed, but its maintenance failed: can't start"):
        table.append([{"id": 9}])
    assert sorted(ds.DeltaTable(tmp_path / "t").scan().to_arrow()["id"].to_pylist()) == [0, 1, 9]

"""refresh() reads what is new and nothing else."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import CorruptLog, TableNotFound
from deltaskip.log import Snapshot, load_snapshot, refresh
from deltaskip.storage import LocalStorage
from tests.each import refuses
from tests.log.builder import CountingStorage, TableBuilder, add, log_name, metadata, remove
from tests.noted import noted


@pytest.fixture
def storage() -> CountingStorage:
    return CountingStorage()


def loaded(table: TableBuilder, storage: CountingStorage) -> Snapshot:
    snapshot = load_snapshot(storage, str(table.path))
    snapshot.adds()
    storage.clear()
    return snapshot


def paths(snapshot: Snapshot) -> list[str]:
    return sorted(snapshot.adds(["path"])["path"].to_pylist())


def test_only_new_commits_are_read(table: TableBuilder, storage: CountingStorage) -> None:
    table.checkpoint(9, add("a"), add("b"), add("c"))
    table.commit(add("d"), remove("a"), version=10)
    old = loaded(table, storage)
    table.commit(remove("d"), add("e"), {"txn": {"appId": "x", "version": 1}})
    table.commit(remove("b"), add("f"))
    new = refresh(old)
    assert storage.listed == [("00000000000000000010", 3)]
    assert storage.read_files == [log_name(11, "json"), log_name(12, "json")]
    assert storage.opened == []
    assert new.version == 12
    assert paths(new) == ["c", "e", "f"] == paths(load_snapshot(storage, str(table.path)))
    assert new.txns["x"].version == 1
    assert new.checkpoint is old.checkpoint
    assert (old.version, paths(old)) == (10, ["b", "c", "d"])


def test_nothing_new_gives_the_same_snapshot(table: TableBuilder, storage: CountingStorage) -> None:
    table.commit(add("a"))
    old = loaded(table, storage)
    # The folder has not changed since the log was listed.
    assert refresh(old) is old
    assert storage.listed == []
    os.utime(table.log, (1, 1))
    assert refresh(old) is old
    assert len(storage.listed) == 1
    assert storage.read_files == []


def test_many_refreshes_come_to_what_one_load_comes_to(table: TableBuilder, storage: CountingStorage) -> None:
    table.commit(add("f0"))
    snapshot = load_snapshot(storage, str(table.path))
    for i in range(1, 8):
        table.commit(add(f"f{i}"), remove(f"f{i - 2}"))
        snapshot = refresh(snapshot)
    assert paths(snapshot) == paths(load_snapshot(storage, str(table.path))) == ["f6", "f7"]
    assert [file.version for file in snapshot.segment.commits] == list(range(8))


def test_new_metadata_takes_effect(table: TableBuilder, storage: CountingStorage) -> None:
    table.commit(add("a"))
    old = loaded(table, storage)
    table.commit(metadata(name="renamed"))
    assert (old.metadata.name, refresh(old).metadata.name) == (None, "renamed")


def test_a_newer_checkpoint_is_not_needed(table: TableBuilder, storage: CountingStorage) -> None:
    table.commit(add("a"))
    old = loaded(table, storage)
    table.commit(add("b"))
    table.checkpoint(1, add("a"), add("b"))
    assert paths(refresh(old)) == ["a", "b"]
    assert storage.opened == []


@pytest.mark.parametrize("new_commit", [True, False])
def test_without_its_checkpoint_it_loads_anew(table: TableBuilder, storage: CountingStorage, new_commit: bool) -> None:
    table.checkpoint(2, add("a"), add("b"))
    table.commit(add("c"), version=3)
    old = load_snapshot(storage, str(table.path))
    table.checkpoint(3, add("a"), add("b"), add("c"))
    for file in (table.path / "_delta_log").glob(f"{2:020d}.*"):
        file.unlink()
    if new_commit:
        table.commit(add("d"), version=4)
    new = refresh(old)
    assert new.checkpoint is not None and new.checkpoint.version == 3
    assert paths(new) == ["a", "b", "c", *(["d"] if new_commit else [])]
    refuses(CorruptLog, "cleaned up meanwhile, open the table again", old.adds)


def test_where_commits_between_are_gone_the_table_is_loaded_anew(table: TableBuilder, storage: CountingStorage) -> None:
    table.commit(add("a"))
    old = loaded(table, storage)
    for i in range(1, 5):
        table.commit(add(f"f{i}"))
    table.checkpoint(3, add("only"))
    table.clean_up(4)
    assert paths(refresh(old)) == ["f4", "only"]


def test_where_another_table_took_the_place_it_is_loaded(table: TableBuilder, storage: CountingStorage) -> None:
    table.commit(add("a"))
    table.commit(add("b"))
    old = loaded(table, storage)
    shutil.rmtree(table.log)
    table.commit(add("something else"), version=0)
    table.commit(add("another, of another size"))
    table.commit(add("c"))
    assert paths(refresh(old)) == ["another, of another size", "c", "something else"]


def test_a_shorter_table_in_its_place_is_loaded(table: TableBuilder, storage: CountingStorage) -> None:
    table.commit(add("a"))
    table.commit(add("b"))
    old = loaded(table, storage)
    (table.log / log_name(1, "json")).unlink()
    assert refresh(old).version == 0


def test_a_table_that_is_gone_is_not_found(table: TableBuilder, storage: CountingStorage) -> None:
    table.commit(add("a"))
    old = loaded(table, storage)
    shutil.rmtree(table.path)
    refuses(TableNotFound, "no such path", refresh, old)


def test_a_writer_lists_an_unchanged_log_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    one, other = ds.DeltaTable(tmp_path / "t"), ds.DeltaTable(tmp_path / "t")
    rows = pa.table({"id": [1]})
    one.append(rows)
    listed = noted(monkeypatch, LocalStorage, "list_from", lambda _, directory, start: directory)
    for _ in range(3):
        one.append(rows)
    assert not listed
    # Another writer's commit is found, and so is a commit that is missing between.
    other.append(rows)
    assert one.append(rows).version == 6 and table.refresh().version == 6
    commit = tmp_path / "t" / "_delta_log" / f"{8:020}.json"
    commit.write_bytes((commit.parent / f"{6:020}.json").read_bytes())
    refuses(CorruptLog, r"0{19}7\.json \(version 7\) is missing", one.append, rows)
    commit.unlink()
    assert one.append(rows).version == 7
    # Another table in the place of this one is found, too.
    shutil.rmtree(tmp_path / "t")
    refuses(TableNotFound, None, one.append, rows)


def appended_anew(path: Path, rows: int) -> None:
    for number in range(rows):
        ds.DeltaTable(path).append(pa.table({"id": [number]}))


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names from which logs are listed."""
    found, entries = [], LocalStorage.entries

    def counted(self: LocalStorage, directory: str, names: Sequence[bytes], start_name: str) -> Any:
        if directory.endswith("_delta_log"):
            found.append(start_name)
        return entries(self, directory, names, start_name)

    monkeypatch.setattr(LocalStorage, "entries", counted)
    return found


def test_handles_that_are_opened_anew_list_an_unchanged_log_once(tmp_path: Path, lists: list[str]) -> None:
    path = tmp_path / "t"
    ds.DeltaTable.create(path, "id BIGINT", properties={"delta.checkpointInterval": "3"})
    appended_anew(path, 4)
    lists.clear()
    # Also after new checkpoints, from which the next handle begins.
    appended_anew(path, 7)
    table = ds.DeltaTable(path)
    assert len(lists) <= 3, "clean-up lists the log after a checkpoint"
    assert (table.version, len(table.snapshot.segment.commits)) == (11, 2)
    assert table.snapshot.segment.checksum is not None
    table.snapshot.verify()
    lists.clear()
    assert ds.DeltaTable(path).scan("id = 5").to_arrow().num_rows == 1
    assert not lists
    assert ds.DeltaTable(path, version=8).version == 8
    assert lists


@pytest.mark.parametrize("change", ["commit", "gap", "replaced", "checkpoint gone", "other checkpoint", "cut"])
def test_a_log_that_has_changed_is_listed_by_the_next_handle(tmp_path: Path, change: str) -> None:
    path = tmp_path / "t"
    ds.DeltaTable.create(path, "id BIGINT", properties={"delta.checkpointInterval": "3"})
    appended_anew(path, 4)
    log = path / "_delta_log"
    changed = log.stat()
    if change == "commit":
        shutil.copy(log / log_name(4, "json"), log / log_name(5, "json"))
    elif change == "gap":
        shutil.copy(log / log_name(4, "json"), log / log_name(6, "json"))
    elif change == "replaced":
        shutil.rmtree(path)
        ds.DeltaTable.create(path, "id BIGINT")
        appended_anew(path, 1)
    elif change == "checkpoint gone":
        (log / log_name(3, "checkpoint.parquet")).unlink()
    elif change == "other checkpoint":
        # Its folder does not change.
        rows = pq.read_table(log / log_name(3, "checkpoint.parquet"))
        chosen = [row for row, add in enumerate(rows["add"].to_pylist()) if add is None or '"id":1' not in add["stats"]]
        pq.write_table(rows.take(chosen), log / log_name(3, "checkpoint.parquet"))
        (log / log_name(4, "crc")).unlink()
    else:
        text = (log / log_name(4, "json")).read_text()
        (log / log_name(4, "json")).write_text(text[: text.index("\n") + 1])
    if change not in ("gap", "cut"):
        # Several changes may have the same time.
        os.utime(log, ns=(changed.st_atime_ns, changed.st_mtime_ns))
    if change == "gap":
        refuses(CorruptLog, r"0005\.json", ds.DeltaTable, path)
        return
    table = ds.DeltaTable(path)
    assert table.version == {"commit": 5, "replaced": 1}.get(change, 4)
    assert table.scan().to_arrow().num_rows == {"replaced": 1, "cut": 3, "other checkpoint": 3}.get(change, 4)

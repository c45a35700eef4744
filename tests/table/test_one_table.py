"""A handle means a table, not a path: what another writer has put at its path is neither read nor changed."""

import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import CommitConflict, DeltaTable, TableNotFound
from deltaskip.storage.local import LocalStorage
from deltaskip.txn import commit_loop
from tests.each import refuses
from tests.extent import some
from tests.noted import noted, raising

DDL = "id BIGINT, v STRING"
FEED = {"delta.enableChangeDataFeed": "true"}


def rows(*ids: int, text: str = "x") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": [text] * len(ids)})


def made(path: Path, commits: int, first: int = 0) -> DeltaTable:
    table = DeltaTable.create(path, DDL, properties=FEED)
    for number in range(commits):
        table.append(rows(first + number))
    return table


def set_version(table: DeltaTable) -> None:
    transaction = table.transaction()
    transaction.set_app_version("app", 1)
    transaction.commit()


def merge(table: DeltaTable) -> None:
    statement = table.merge(rows(1), on="t.id = s.id", source_alias="s", target_alias="t")
    statement.when_matched_delete().when_not_matched_insert_all().execute()


DOORS: dict[str, Callable[[DeltaTable], Any]] = {
    "refresh": DeltaTable.refresh,
    "append": lambda table: table.append(rows(7)),
    "overwrite": lambda table: table.overwrite(rows(7)),
    "overwrite where": lambda table: table.overwrite(rows(7), where="id = 7"),
    "delete": lambda table: table.delete("id > 0"),
    "delete all": lambda table: table.delete(),
    "update": lambda table: table.update({"v": "'z'"}),
    "merge": merge,
    "alter": lambda table: table.alter(ds.AddColumn("c", "INT")),
    "alter_sql": lambda table: table.alter_sql("ADD COLUMN c INT"),
    "add_feature": lambda table: table.add_feature("deletionVectors"),
    "optimize": DeltaTable.optimize, "vacuum": DeltaTable.vacuum,
    "vacuum dry": lambda table: table.vacuum(dry_run=True),
    "vacuum lite": lambda table: table.vacuum(lite=True),
    "restore": lambda table: table.restore(version=0),
    "clone": lambda table: table.clone(f"{table.snapshot.root}.clone"),
    "clone of a version": lambda table: table.clone(f"{table.snapshot.root}.clone", version=0),
    "transaction": set_version, "checkpoint": DeltaTable.checkpoint, "clean_up_log": DeltaTable.clean_up_log,
    "generate": DeltaTable.generate,
    "changes": lambda table: table.changes(0).files(),
    "files_since": lambda table: table.files_since(0),
    "detail": DeltaTable.detail, "history": DeltaTable.history, "recompute_stats": DeltaTable.recompute_stats,
    "recompute_stats anew": lambda table: table.recompute_stats(resume=False),
    "recompute_plan": DeltaTable.recompute_plan,
}  # fmt: skip


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(("commits", "tagged"), some(product([1, 3, 5], [True, False]), 2))
def test_no_door_of_a_handle_touches_its_table_s_successor(tmp_path: Path, commits: int, tagged: bool) -> None:
    for number, (door, act) in enumerate(DOORS.items()):
        path = tmp_path / f"{number}"
        table = made(path, 3)
        commit = path / "_delta_log" / f"{3:020d}.json"
        status = commit.stat()
        shutil.rmtree(path)
        other = made(path, commits, 100)
        if not tagged and commits >= 3:
            # The size and time of a file in a store with coarse times say nothing.
            os.utime(commit, ns=(status.st_atime_ns, status.st_mtime_ns))
        before = sorted(os.listdir(path / "_delta_log"))
        with pytest.raises(TableNotFound, match="replaced by another table"):
            act(table)
            pytest.fail(f"{door} has worked")
        assert sorted(os.listdir(path / "_delta_log")) == before, door
        assert not Path(f"{path}.clone").exists(), door
        assert DeltaTable(path).scan().to_arrow()["id"].to_pylist() == list(range(100, 100 + commits)), door
        assert other.refresh().version == commits


def test_every_door_of_a_dropped_table_says_that_it_is_gone(tmp_path: Path) -> None:
    for number, (door, act) in enumerate(DOORS.items()):
        path = tmp_path / f"{number}"
        table = made(path, 3)
        shutil.rmtree(path)
        with pytest.raises(TableNotFound):
            act(table)
            pytest.fail(f"{door} has worked")
        assert not (path / "_delta_log").exists(), door


READS: dict[str, Callable[[Any], Any]] = {
    "to_arrow": lambda scan: scan.to_arrow(),
    "to_batches": lambda scan: scan.to_batches().read_all(),
    "to_dataset": lambda scan: scan.to_dataset().to_table(),
}


@pytest.mark.long(gate=3)
@pytest.mark.parametrize("commits", [None, 1, 3, 12])
def test_scans_that_are_kept_read_their_table_or_say_that_it_is_gone(tmp_path: Path, commits: int | None) -> None:
    table = made(tmp_path / "t", 3)
    kept = [table.scan(), table.scan("id > 0"), table.scan(limit=2)]
    changes = table.changes(0)
    shutil.rmtree(tmp_path / "t")
    if commits is not None:
        made(tmp_path / "t", commits, 100)
    for scan in kept[:2]:
        for read in READS.values():
            refuses(TableNotFound, None, read, scan)
    for read in (READS["to_arrow"], READS["to_batches"]):
        refuses(TableNotFound, None, read, kept[2])
        refuses(TableNotFound, None, read, changes)


def test_a_kept_scan_does_not_read_the_checkpoint_of_another_table(tmp_path: Path) -> None:
    table = DeltaTable(made(tmp_path / "t", 10).uri)
    scan = table.scan("id >= 5")
    shutil.rmtree(tmp_path / "t")
    made(tmp_path / "t", 10, 100)
    refuses(TableNotFound, "replaced by another table", scan.files)


@pytest.mark.filterwarnings("ignore::deltaskip.ChecksumWarning")
def test_a_version_that_changes_the_id_is_one_of_the_same_table(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 1)
    pending = table.transaction()
    pending.set_app_version("app", 1)
    writer = made(tmp_path / "t2", 1)
    text = (tmp_path / "t2" / "_delta_log" / f"{0:020d}.json").read_text()
    log = tmp_path / "t" / "_delta_log"
    # Some writers give a table that they replace another id, in its log.
    line = next(line for line in text.splitlines() if line.startswith('{"metaData"'))
    (log / f"{2:020d}.json").write_text(f'{{"commitInfo":{{"operation":"REPLACE TABLE"}}}}\n{line}\n')
    refuses(CommitConflict, None, pending.commit)
    assert table.refresh().version == 2 and table.metadata.id == writer.metadata.id
    table.append(rows(5))
    assert DeltaTable(tmp_path / "t").version == 3


def test_replacing_restoring_and_cleaning_up_leave_a_table_what_it_is(tmp_path: Path) -> None:
    for number, act in enumerate(
        (
            lambda path: DeltaTable.create(path, "a INT", mode="replace"),
            lambda path: DeltaTable(path).restore(version=0),
            lambda path: made(tmp_path / "source", 1).clone(path, replace=True),
        )
    ):
        path = tmp_path / f"{number}"
        table = made(path, 2)
        act(path)
        assert table.refresh().version == 3


def test_a_log_that_was_cleaned_up_is_still_that_of_the_table(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 2)
    writer = DeltaTable(tmp_path / "t")
    writer.append(rows(8))
    writer.checkpoint()
    for version in range(3):
        (tmp_path / "t" / "_delta_log" / f"{version:020d}.json").unlink()
    assert table.refresh().version == 3
    (tmp_path / "t" / "_delta_log" / f"{3:020d}.json").unlink()
    table.append(rows(9))
    assert table.version == 4


@pytest.mark.parametrize("commits", [0, 2, 3, None])
def test_a_commit_that_comes_after_the_drop_is_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int | None
) -> None:
    table = made(tmp_path / "t", 3)
    put = commit_loop.put_commit  # type: ignore[attr-defined]
    late: list[int] = []

    def put_late(latest: Any, *given: Any) -> None:
        if not late and latest.root == str(tmp_path / "t"):
            late.append(latest.version)
            shutil.rmtree(tmp_path / "t")
            if commits is not None:
                made(tmp_path / "t", commits, 100)
        put(latest, *given)

    monkeypatch.setattr(commit_loop, "put_commit", put_late)
    refuses(TableNotFound, None, table.append, rows(7))
    assert late == [3]
    if commits is None:
        assert not list((tmp_path / "t").rglob("*.json"))
        return
    found = DeltaTable(tmp_path / "t")
    assert found.version == commits and found.scan().to_arrow().num_rows == commits
    assert len(list((tmp_path / "t").glob("*.parquet"))) == commits
    found.append(rows(8))
    assert DeltaTable(tmp_path / "t").version == commits + 1


def test_a_commit_never_appears_in_a_table_that_took_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even until its writer withdraws it: another writer could build on it, and the rows are not the table's."""
    table = made(tmp_path / "t", 3)
    put, seen = LocalStorage.put_if_absent, []

    def swapped(self: LocalStorage, path: str, *given: Any) -> None:
        monkeypatch.setattr(LocalStorage, "put_if_absent", put)
        os.rename(tmp_path / "t", tmp_path / "dropped")
        made(tmp_path / "t", 3, 100)
        try:
            put(self, path, *given)
        finally:
            seen.append(os.path.exists(path))

    monkeypatch.setattr(LocalStorage, "put_if_absent", swapped)
    refuses(TableNotFound, None, table.append, rows(7))
    assert seen == [False]
    assert DeltaTable(tmp_path / "t").scan().to_arrow().num_rows == 3


def test_a_table_is_not_created_without_files_dropped_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files lie in the folder of another writer's table of that name, which is dropped before this one begins."""
    put, folder = LocalStorage.put_if_absent, tmp_path / "db" / "t"

    def dropped(self: LocalStorage, path: str, *given: Any) -> None:
        monkeypatch.setattr(LocalStorage, "put_if_absent", put)
        os.rename(folder, tmp_path / "dropped")
        put(self, path, *given)

    catalog: Any = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    staged = catalog.stage_create("db.t", "id BIGINT")
    staged.append(pa.table({"id": [1, 2]}))
    monkeypatch.setattr(LocalStorage, "put_if_absent", dropped)
    refuses(TableNotFound, "dropped while", staged.commit_staged_changes)
    assert (tmp_path / "dropped").exists() and not folder.exists()


def test_a_log_that_is_replaced_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "t", 0)
    commit = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    commit.write_bytes(commit.read_bytes() + b" " * 100)
    read = LocalStorage.read_joined

    def replaced(self: LocalStorage, files: Any) -> Any:
        monkeypatch.setattr(LocalStorage, "read_joined", read)
        commit.write_bytes(commit.read_bytes().rstrip())
        return read(self, files)

    monkeypatch.setattr(LocalStorage, "read_joined", replaced)
    assert DeltaTable(tmp_path / "t").version == 0


def test_a_valid_commit_stays_when_the_look_at_its_table_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path / "t", 3)

    monkeypatch.setattr(commit_loop, "check_same_table", raising(ds.StorageError("no answer")))
    table.append(rows(7))
    assert DeltaTable(tmp_path / "t").version == 4


def test_a_log_that_was_put_back_conflicts(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 1)
    shutil.copytree(tmp_path / "t", tmp_path / "backup")
    table.append(rows(5))
    transaction = table.transaction()
    transaction.set_app_version("app", 1)
    shutil.rmtree(tmp_path / "t")
    shutil.copytree(tmp_path / "backup", tmp_path / "t")
    refuses(CommitConflict, "rolled back from version 2 to version 1", transaction.commit)


def test_a_commit_asks_once_more_for_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path / "t", 1)
    transaction = table.transaction()
    transaction.set_app_version("app", 1)
    asked = noted(monkeypatch, LocalStorage, "info", lambda _, path: os.path.basename(path))
    transaction.commit()
    # Its own commit, and that of the version before: whether it is still the last one, and the same, before it is
    # written, in the folder in which it is written, and afterwards.
    assert sorted(asked) == [f"{1:020d}.json"] * 3 + [f"{2:020d}.json"]


@pytest.mark.parametrize("commits", [2, 3, None])
def test_late_commits_are_withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int | None) -> None:
    """The look at the table runs beside what follows the commit, whose checksum goes as well."""
    table = made(tmp_path / "t", 3)
    table.snapshot.storage = Store()
    put = Store.put_if_absent
    late: list[int] = []

    def put_late(self: Store, path: str, text: bytes) -> None:
        if not late:
            late.append(3)
            shutil.rmtree(tmp_path / "t")
            if commits is not None:
                made(tmp_path / "t", commits, 100)
            else:
                (tmp_path / "t" / "_delta_log").mkdir(parents=True)
        put(self, path, text)

    monkeypatch.setattr(Store, "put_if_absent", put_late)
    transaction = table.transaction()
    transaction.set_app_version("app", 1)
    refuses(TableNotFound, None, transaction.commit)
    assert late == [3] and transaction.version is None
    names = os.listdir(tmp_path / "t" / "_delta_log")
    assert not [name for name in names if name.startswith(f"{4:020d}")]
    if commits is not None:
        assert DeltaTable(tmp_path / "t").version == commits


def test_a_commit_to_a_store_asks_for_one_object_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path / "t", 1)
    table.snapshot.storage = Store()
    transaction = table.transaction()
    transaction.set_app_version("app", 1)
    asked: list[str] = []
    for name in ("info", "list_from", "read", "read_joined"):
        call = getattr(LocalStorage, name)
        monkeypatch.setattr(
            Store, name, lambda self, *given, name=name, call=call: (asked.append(name), call(self, *given))[1]
        )
    transaction.commit()
    # The log is listed once before the commit; after it, who goes on from there asks for the own commit alone.
    assert sorted(asked) == ["info", "info", "list_from"]


class Store(LocalStorage):
    """Local files whose requests count as those of an object store."""

    remote = True


@pytest.mark.parametrize("commits", range(4))
def test_nothing_is_put_into_a_successor_s_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int) -> None:
    table = made(tmp_path / "t", 2)
    prepare, put = commit_loop.prepare, LocalStorage.put_if_absent  # type: ignore[attr-defined]
    puts: list[str] = []

    def replaced(intent: Any, latest: Any) -> Any:
        found = prepare(intent, latest)
        monkeypatch.setattr(commit_loop, "prepare", prepare)
        shutil.rmtree(tmp_path / "t")
        made(tmp_path / "t", commits)
        monkeypatch.setattr(LocalStorage, "put_if_absent", counted)
        return found

    def counted(self: LocalStorage, path: str, data: bytes, *after: Any) -> None:
        puts.append(path)
        put(self, path, data, *after)

    monkeypatch.setattr(commit_loop, "prepare", replaced)
    refuses(TableNotFound, "replaced by another table", table.append, rows(9))
    assert puts == []
    assert ds.DeltaTable(tmp_path / "t").version == commits

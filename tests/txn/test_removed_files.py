"""Files that are removed as columns: the commit, its errors and its conflicts are those of single remove actions."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, actions
from deltaskip.actions import FILE_SCHEMA, AddFile, RemoveFile
from deltaskip.errors import CommitConflict, DeltaSkipError, InvalidCommit
from deltaskip.txn import preparation
from deltaskip.txn.removed_files import RemovedFiles
from deltaskip.txn.transaction import Transaction

NOW = 1_800_000_000_000
PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}


def make(folder: Path, properties: dict[str, str]) -> DeltaTable:
    """A table with partitions of odd texts, and deletion vectors where it has them."""
    table = DeltaTable.create(folder, "id BIGINT, p STRING, q INT", ["p", "q"], properties=properties)
    values = ["a", None, 'b"\\', "c d/é", "x"]
    for _ in range(2):
        table.append(pa.table({"id": range(10), "p": values * 2, "q": pa.array([1, None] * 5, pa.int32())}))
    if properties:
        table.delete("id = 3")
    return DeltaTable(folder)


def all_files(table: DeltaTable) -> pa.Table:
    return table.snapshot.adds(FILE_SCHEMA.names)


def removed(table: DeltaTable, files: pa.Table) -> RemovedFiles:
    return RemovedFiles.of(table.snapshot.table_root, files, NOW)


def one_by_one(transaction: Transaction, files: RemovedFiles) -> None:
    transaction.remove(*files.actions())


def as_columns(transaction: Transaction, files: RemovedFiles) -> None:
    transaction.changes.put_removed(files)


def lines(table: DeltaTable) -> list[Any]:
    """The last commit without what differs between two commits of one transaction."""
    path = Path(table.snapshot.root) / "_delta_log" / f"{DeltaTable(table.snapshot.root).version:020}.json"
    first, *rest = path.read_text().splitlines()
    info = json.loads(first)["commitInfo"]
    return [{name: value for name, value in info.items() if name not in ("timestamp", "txnId")}, *rest]


@pytest.fixture(autouse=True)
def few_files_as_columns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_FEW_REMOVES", 0)


def test_few_files_are_committed_as_many_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name, few in (("columns", 0), ("objects", 1000)):
        table = make(tmp_path / name, PROPERTIES)
        monkeypatch.setattr(preparation, "_FEW_REMOVES", few)
        transaction = table.transaction(operation="DELETE")
        transaction.changes.put_removed(removed(table, all_files(table)))
        transaction.commit()
        found.append([json.loads(line)["remove"] for line in lines(table)[1:] if '"remove"' in line])
    columns, objects = ([{k: v for k, v in each.items() if k != "path"} for each in side] for side in found)
    assert len(columns) > 2
    key = partial(json.dumps, sort_keys=True)
    assert sorted(map(key, columns)) == sorted(map(key, objects))


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("properties", [{}, PROPERTIES])
@pytest.mark.parametrize("step", [1, 3])
def test_the_commit_is_that_of_single_actions(tmp_path: Path, properties: dict[str, str], step: int) -> None:
    make(tmp_path / "one", properties)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    commits = []
    for name, remove in (("one", one_by_one), ("other", as_columns)):
        table = DeltaTable(tmp_path / name)
        before = all_files(table)
        files = before.take(pa.array(range(0, len(before), step)))
        with table.transaction(operation="DELETE") as transaction:
            remove(transaction, removed(table, files))
        commits.append(lines(table))
        left = DeltaTable(tmp_path / name).snapshot.num_files
        assert left == len(before) - len(files)
    assert commits[0] == commits[1]
    assert len(commits[0]) > 3


def twice(files: pa.Table) -> pa.Table:
    return pa.concat_tables([files, files.slice(0, 1)])


def with_column(name: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    def changed(files: pa.Table) -> pa.Table:
        rows = files.to_pylist()
        rows[0][name] = value
        return pa.Table.from_pylist(rows, FILE_SCHEMA)

    return changed


VECTOR = {"storage_type": "i", "path_or_inline_dv": "x", "offset": None, "size_in_bytes": 1, "cardinality": 1}


@pytest.mark.long(gate=3)
@pytest.mark.parametrize(
    "change",
    [
        twice,
        with_column("path", "nowhere.parquet"),
        with_column("path", "not a uri%%"),
        with_column("deletion_vector", VECTOR),
        with_column("partition_values", [("p", "other"), ("q", "1")]),
        with_column("size", -1),
    ],
)
def test_what_single_actions_may_not_be_is_the_same_error(
    tmp_path: Path, change: Callable[[pa.Table], pa.Table]
) -> None:
    table = make(tmp_path / "t", PROPERTIES)
    files = change(all_files(table))
    found = []
    for remove in (one_by_one, as_columns):
        with pytest.raises(DeltaSkipError) as caught, table.transaction(operation="DELETE") as transaction:
            remove(transaction, removed(table, files))
        found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1]
    assert DeltaTable(tmp_path / "t").version == table.version


def test_values_of_another_spelling_are_checked_one_by_one(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {})
    files = all_files(table)
    spelled = [[(k, v or "") for k, v in values] for values in files["partition_values"].to_pylist()]
    at = files.column_names.index("partition_values")
    files = files.set_column(at, FILE_SCHEMA.field(at), pa.array(spelled, FILE_SCHEMA.field(at).type))
    with table.transaction(operation="DELETE") as transaction:
        transaction.changes.put_removed(removed(table, files))
    assert DeltaTable(tmp_path / "t").snapshot.num_files == 0


def test_a_file_cannot_be_removed_in_both_ways_or_added_too(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {})
    files = removed(table, all_files(table))
    for act in (
        lambda txn: txn.remove(next(files.actions())),
        lambda txn: txn.changes.put_removed(files),
        lambda txn: txn.add(added(all_files(table))),
    ):
        transaction = table.transaction(operation="DELETE")
        transaction.changes.put_removed(files)
        act(transaction)
        with pytest.raises(InvalidCommit, match=r"removed twice|both added and removed"):
            transaction.commit()


def added(files: pa.Table) -> AddFile:
    row = files.slice(0, 1).to_pylist()[0]
    return AddFile(row["path"], dict(row["partition_values"]), row["size"], row["modification_time"], True)


def test_other_writers_conflict_and_their_files_can_be_left_out(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {})
    transaction = table.transaction(operation="DELETE")
    transaction.changes.put_removed(removed(table, all_files(table)))
    table.append(pa.table({"id": [1], "p": ["new"], "q": pa.array([1], pa.int32())}))
    DeltaTable(tmp_path / "t").delete("p = 'a'")
    with pytest.raises(CommitConflict) as caught:
        transaction.commit()
    assert caught.value.kind == "delete-delete" and caught.value.paths
    transaction.leave_out(*caught.value.paths)
    transaction.commit()
    [left] = all_files(DeltaTable(tmp_path / "t")).to_pylist()
    assert dict(left["partition_values"])["p"] == "new"


def test_an_append_of_another_writer_is_no_conflict(tmp_path: Path) -> None:
    table = make(tmp_path / "t", PROPERTIES)
    before = all_files(table)
    transaction = table.transaction(operation="DELETE")
    transaction.changes.put_removed(removed(table, before))
    DeltaTable(tmp_path / "t").append(pa.table({"id": [1], "p": ["new"], "q": pa.array([1], pa.int32())}))
    assert transaction.commit() == transaction.snapshot.version + 2
    assert len(all_files(DeltaTable(tmp_path / "t"))) == 1


def test_a_file_that_lost_rows_meanwhile_is_removed_with_its_new_deletion_vector(tmp_path: Path) -> None:
    table = make(tmp_path / "t", PROPERTIES)
    table.append(pa.table({"id": [20, 21, 22], "p": ["a"] * 3, "q": pa.array([7] * 3, pa.int32())}))
    transaction = table.transaction(operation="DELETE")
    transaction.changes.put_removed(removed(table, all_files(table)))
    DeltaTable(tmp_path / "t").delete("id = 21")
    assert transaction.commit() == transaction.snapshot.version + 2
    assert DeltaTable(tmp_path / "t").snapshot.num_files == 0
    [vector] = [json.loads(line)["remove"].get("deletionVector") for line in lines(table) if "q=7" in str(line)]
    assert vector["cardinality"] == 1


@pytest.mark.parametrize("act", ["overwrite", "delete", "delete partition", "replace"])
def test_changes_of_whole_files_make_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    table = make(tmp_path / "t", {})
    before = all_files(table).to_pylist()

    def refuse(*_: object) -> None:
        raise AssertionError("an object for each file")

    monkeypatch.setattr(RemoveFile, "__init__", refuse)
    monkeypatch.setattr(actions, "remove_files", refuse)
    if act == "overwrite":
        table.overwrite(pa.table({"id": [1], "p": ["x"], "q": pa.array([1], pa.int32())}))
    elif act == "replace":
        DeltaTable.create(tmp_path / "t", "id INT", mode="replace")
    else:
        table.delete("p = 'a'" if act == "delete partition" else None)
    after = set(all_files(DeltaTable(tmp_path / "t"))["path"].to_pylist())
    stays = {row["path"] for row in before if act == "delete partition" and dict(row["partition_values"])["p"] != "a"}
    assert after & {row["path"] for row in before} == stays

"""What a transaction writes, and what it refuses before it writes anything."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.actions import add_actions, remove_of, with_stats
from deltaskip.errors import CommitConflict, InvalidCommit, StorageError
from deltaskip.sparkexpr.types import LONG, StructField, StructType
from deltaskip.storage import LocalStorage
from tests.builder import logged
from tests.each import refuses
from tests.looped import looped
from tests.noted import raising
from tests.txn.tables import actions, append, commits, file, gone, make_table, paths, vector

pytestmark = pytest.mark.usefixtures("without_look_ups")


def test_a_commit_is_the_next_version(folder: Path) -> None:
    table = make_table(folder)
    txn = table.transaction(operation="WRITE", parameters={"mode": "Append", "partitionBy": ["a"], "n": 1})
    txn.add(file("a"), file("b"))
    txn.set_metrics({"numFiles": 2})
    assert txn.version is None
    assert txn.commit() == txn.version == 1
    assert paths(folder) == ["a", "b"]
    info = logged(folder, 1)[0]["commitInfo"]
    assert info["operation"] == "WRITE"
    assert info["operationParameters"] == {"mode": "Append", "partitionBy": '["a"]', "n": "1"}
    assert info["operationMetrics"] == {"numFiles": "2"}
    assert (info["readVersion"], info["isolationLevel"], info["isBlindAppend"]) == (0, "Serializable", True)
    assert re.fullmatch(r"deltaskip/\d+\.\d+\.\d+\S*", info["engineInfo"])
    assert re.fullmatch(r"[0-9a-f-]{36}", info["txnId"])
    assert "inCommitTimestamp" not in info
    [entry] = table.refresh().history(limit=1)
    assert (entry.version, entry.operation, entry.operation_metrics) == (1, "WRITE", {"numFiles": "2"})


def test_a_transaction_commits_once(folder: Path) -> None:
    txn = make_table(folder).transaction()
    txn.add(file("a"))
    txn.commit()
    for reuse in (txn.commit, lambda: txn.add(file("b")), lambda: txn.read("true"), txn.__enter__):
        refuses(InvalidCommit, r"already committed as version 1 of .*begin another one\.", reuse)
    assert paths(folder) == ["a"]


def test_a_block_commits_when_it_ends(folder: Path) -> None:
    table = make_table(folder)
    with table.transaction() as txn:
        txn.add(file("a"))
        assert commits(table) == 1
    assert txn.version == 1
    assert paths(folder) == ["a"]


def test_a_block_that_has_committed_commits_no_more(folder: Path) -> None:
    table = make_table(folder)
    with table.transaction() as txn:
        txn.add(file("a"))
        assert txn.commit() == 1
    assert (txn.version, commits(table)) == (1, 2)


def test_a_block_without_actions_commits_nothing(folder: Path) -> None:
    table = make_table(folder)
    with table.transaction() as txn:
        txn.read("id = 1")
    assert (txn.version, commits(table)) == (None, 1)
    txn.add(file("a"))
    assert txn.commit() == 1


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_discards_the_transaction(folder: Path, error: type[BaseException]) -> None:
    table = make_table(folder)
    with pytest.raises(error), table.transaction() as txn:
        txn.add(file("a"))
        raise error
    assert (txn.version, commits(table)) == (None, 1)
    for reuse in (txn.commit, lambda: txn.add(file("b")), txn.__enter__):
        refuses(InvalidCommit, r"was discarded: begin another one\.", reuse)


def test_a_conflict_at_the_end_of_a_block_leaves_the_transaction_open(folder: Path) -> None:
    table = make_table(folder)
    append(table, file("a"), file("b"))
    table.refresh()
    with pytest.raises(CommitConflict) as raised, table.transaction() as txn:
        txn.remove(gone("a"), gone("b"))
        with ds.DeltaTable(folder).transaction() as other:
            other.remove(gone("a"))
    txn.leave_out(*raised.value.paths)
    assert txn.commit() == 3
    assert paths(folder) == []


@looped(
    "call, named",
    [
        (lambda txn: txn.add("a"), "must be an AddFile, not str"),
        (lambda txn: txn.add_again(gone("a")), "must be an AddFile, not RemoveFile"),
        (lambda txn: txn.remove(file("a")), "must be a RemoveFile, not AddFile"),
        (lambda txn: txn.add_cdc(file("a")), "must be an AddCdcFile, not AddFile"),
        (lambda txn: txn.set_metadata({}), "metadata must be a Metadata action, not dict"),
        (lambda txn: txn.set_protocol(None), "protocol must be a Protocol action, not NoneType"),
        (lambda txn: txn.set_domain("x", {}), "configuration must be a str, not dict"),
        (lambda txn: txn.remove_domain(1), "domain must be a str, not int"),
        (lambda txn: txn.set_app_version("x", "1"), "version must be an int, not str"),
        (lambda txn: txn.set_app_version("x", True), "version must be an int, not bool"),
        (lambda txn: txn.set_app_version("x", None), "version must be an int, not NoneType"),
        (lambda txn: txn.read_app(1), "app_id must be a str, not int"),
        (lambda txn: txn.read_files("a"), "paths must be a list of str, not a str"),
        (lambda txn: txn.set_metrics([]), "metrics must be a mapping, not list"),
    ],
)
def test_arguments_of_the_wrong_type_are_named(tmp_path: Path, call: Callable[[Any], Any], named: str) -> None:
    folder = tmp_path / "t"
    txn = make_table(folder).transaction()
    refuses(ds.InvalidArgumentType, named, call, txn)
    refuses(InvalidCommit, "nothing to commit", txn.commit)


def test_none_is_no_predicate_to_read(folder: Path) -> None:
    txn = make_table(folder).transaction()
    refuses(ds.InvalidArgumentType, "not None: pass 'true' to depend on every row", txn.read, None)


def test_a_transaction_without_actions_has_nothing_to_commit(folder: Path) -> None:
    table = make_table(folder)
    refuses(InvalidCommit, "nothing to commit", lambda: table.transaction().commit())
    assert commits(table) == 1


def test_files_are_replaced_in_one_commit(folder: Path) -> None:
    table = make_table(folder)
    append(table, file("a"), file("b"), file("c"))
    txn = table.refresh().transaction(read="id < 5")
    by_path = {add.path: add for add in add_actions(table.snapshot.adds())}
    txn.remove(remove_of(by_path["a"], 5), remove_of(by_path["b"], 5))
    txn.add(file("ab"))
    assert txn.commit() == 2
    assert paths(folder) == ["ab", "c"]
    [first, second] = actions(folder, 2, "remove")
    assert (first["path"], first["size"], first["deletionTimestamp"]) == ("a", 100, 5)
    assert first["extendedFileMetadata"] is True
    assert logged(folder, 2)[0]["commitInfo"]["isBlindAppend"] is False
    assert second["path"] == "b"


def test_statistics_are_replaced_by_an_add_that_changes_no_data(folder: Path) -> None:
    table = make_table(folder, {"delta.enableDeletionVectors": "true"}, ["deletionVectors"])
    append(table, file("a", deletion_vector=vector("1")), file("b"))
    [a] = [add for add in add_actions(table.refresh().snapshot.adds()) if add.path == "a"]
    txn = table.transaction(operation="RECOMPUTE STATISTICS")
    txn.add(with_stats(a, '{"numRecords":7}'))
    txn.commit()
    info = logged(folder, 2)[0]["commitInfo"]
    assert (info["isBlindAppend"], info["isolationLevel"]) == (False, "SnapshotIsolation")
    rows = table.refresh().scan().files(stats=True).to_pylist()
    found = {row["path"]: row for row in rows}
    assert (found["a"]["num_records"], found["b"]["num_records"]) == (7, 10)
    assert found["a"]["deletion_vector"] == {
        "storage_type": "u", "path_or_inline_dv": f"ab{'1':0>18}", "offset": 1, "size_in_bytes": 40, "cardinality": 2,
    }  # fmt: skip


def test_the_version_of_an_application_is_not_negative(folder: Path) -> None:
    txn = make_table(folder).transaction()
    refuses(ds.InvalidArgument, r"version must be 0 or greater, not -1\.", txn.set_app_version, "app", -1)
    txn.set_app_version("app", 0)
    txn.commit()
    assert ds.DeltaTable(folder).app_versions == {"app": 0}


def test_state_is_set_in_one_commit(folder: Path) -> None:
    table = make_table(folder, features=["domainMetadata"])
    txn = table.transaction(operation="SET")
    txn.set_domain("my.domain", '{"a":1}')
    txn.set_app_version("app", 7)
    old = table.metadata
    txn.set_metadata(replace(old, configuration={"x": "y"}))
    assert txn.commit() == 1
    table.refresh()
    assert (table.domains, table.app_versions) == ({"my.domain": '{"a":1}'}, {"app": 7})
    assert dict(table.properties) == {"x": "y"}
    last = table.transaction(operation="UNSET")
    assert last.read_app("app") == 7
    assert last.read_app("other") is None
    last.remove_domain("my.domain")
    last.commit()
    assert table.refresh().domains == {}
    assert actions(folder, 2, "domainMetadata") == [
        {"domain": "my.domain", "configuration": '{"a":1}', "removed": True}
    ]


def test_partition_values_go_by_physical_names(folder: Path) -> None:
    mapped = StructType(
        tuple(
            StructField(name, LONG, True, {"delta.columnMapping.id": i, "delta.columnMapping.physicalName": f"col-{i}"})
            for i, name in enumerate(("id", "part"), 1)
        )
    )
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    table = make_table(folder, properties, ["columnMapping"], mapped, ["part"])
    txn = table.transaction()
    txn.add(file("a", partition_values={"part": "1"}))
    refuses(InvalidCommit, "must be of exactly these columns: col-2", txn.commit)
    append(table, file("a", partition_values={"col-2": "1"}))
    assert ds.DeltaTable(folder).scan(where="part = 2").paths() == []


def test_an_attempt_that_seemed_to_fail_is_found_in_the_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(folder)
    txn = table.transaction()
    txn.add(file("a"))
    create = LocalStorage.put_if_absent

    def lost(storage: LocalStorage, *given: Any) -> None:
        create(storage, *given)
        raise StorageError("the answer got lost")

    monkeypatch.setattr(LocalStorage, "put_if_absent", lost)
    assert txn.commit() == 1
    again = ds.DeltaTable(folder).transaction()
    again.add(file("b"))

    read = LocalStorage.read
    monkeypatch.setattr(LocalStorage, "read", raising(StorageError("the network is down")))
    refuses(StorageError, "the answer got lost", again.commit)
    monkeypatch.setattr(LocalStorage, "read", read)
    assert again.commit() == 2
    assert sorted(os.listdir(folder / "_delta_log"))[-1] == f"{2:020d}.json"
    assert paths(folder) == ["a", "b"]

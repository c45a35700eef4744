"""What a transaction writes, and what it refuses before it writes anything."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.actions import AddCdcFile, Metadata, Protocol, add_files, remove_of, unchanged
from deltaskip.errors import CommitConflict, InvalidCommit, StorageError, UnsupportedFeature
from deltaskip.features import FEATURES
from deltaskip.schema import INTEGER, LONG, StructField, StructType, schema_to_json
from deltaskip.storage import LocalStorage
from tests.builder import protocol_of
from tests.txn.tables import SCHEMA, actions, append, file, gone, lines, make_table, paths, vector

ICT = "delta.enableInCommitTimestamps"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "t"


def commits(table: ds.DeltaTable) -> int:
    """Number of commits in the log."""
    return len(list(Path(table.snapshot.root, "_delta_log").glob("*.json")))


def test_a_commit_is_the_next_version(folder: Path) -> None:
    table = make_table(folder)
    txn = table.transaction(operation="WRITE", parameters={"mode": "Append", "partitionBy": ["a"], "n": 1})
    txn.add(file("a"), file("b"))
    txn.set_metrics({"numFiles": 2})
    assert txn.version is None
    assert txn.commit() == txn.version == 1
    assert paths(folder) == ["a", "b"]
    info = lines(folder, 1)[0]["commitInfo"]
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
        with pytest.raises(InvalidCommit, match=r"already committed as version 1 of .*begin another one\."):
            reuse()
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
        with pytest.raises(InvalidCommit, match=r"was discarded: begin another one\."):
            reuse()


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


@pytest.mark.parametrize(
    ("call", "named"),
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
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_of_the_wrong_type_are_named(folder: Path, call: Callable[[Any], Any], named: str) -> None:
    txn = make_table(folder).transaction()
    with pytest.raises(ds.InvalidArgumentType, match=named):
        call(txn)
    with pytest.raises(InvalidCommit, match="nothing to commit"):
        txn.commit()


def test_none_is_no_predicate_to_read(folder: Path) -> None:
    txn = make_table(folder).transaction()
    with pytest.raises(ds.InvalidArgumentType, match="not None: pass 'true' to depend on every row"):
        txn.read(None)


def test_a_transaction_without_actions_has_nothing_to_commit(folder: Path) -> None:
    table = make_table(folder)
    with pytest.raises(InvalidCommit, match="nothing to commit"):
        table.transaction().commit()
    assert commits(table) == 1


@pytest.mark.parametrize("spelling", ["a", "./a", "%61"])
def test_a_path_is_added_and_removed_once_whatever_its_spelling(folder: Path, spelling: str) -> None:
    txn = make_table(folder).transaction()
    txn.add(file("a"))
    with pytest.raises(InvalidCommit, match="added twice"):
        txn.add(file(spelling))
    with pytest.raises(InvalidCommit, match="both added and removed"):
        txn.remove(gone(spelling))
    txn.remove(gone("b"))
    with pytest.raises(InvalidCommit, match="removed twice"):
        txn.remove(gone("b"))
    with pytest.raises(InvalidCommit, match="both added and removed"):
        txn.add(file("b"))


def test_files_are_replaced_in_one_commit(folder: Path) -> None:
    table = make_table(folder)
    append(table, file("a"), file("b"), file("c"))
    txn = table.refresh().transaction(read="id < 5")
    by_path = {add.path: add for add in add_files(table.snapshot.adds())}
    txn.remove(remove_of(by_path["a"], 5), remove_of(by_path["b"], 5))
    txn.add(file("ab"))
    assert txn.commit() == 2
    assert paths(folder) == ["ab", "c"]
    [first, second] = actions(folder, 2, "remove")
    assert (first["path"], first["size"], first["deletionTimestamp"]) == ("a", 100, 5)
    assert first["extendedFileMetadata"] is True
    assert lines(folder, 2)[0]["commitInfo"]["isBlindAppend"] is False
    assert second["path"] == "b"


def test_statistics_are_replaced_by_an_add_that_changes_no_data(folder: Path) -> None:
    table = make_table(folder, {"delta.enableDeletionVectors": "true"}, ["deletionVectors"])
    append(table, file("a", deletion_vector=vector("1")), file("b"))
    [a] = [add for add in add_files(table.refresh().snapshot.adds()) if add.path == "a"]
    txn = table.transaction(operation="RECOMPUTE STATISTICS")
    txn.add(unchanged(a, '{"numRecords":7}'))
    txn.commit()
    info = lines(folder, 2)[0]["commitInfo"]
    assert (info["isBlindAppend"], info["isolationLevel"]) == (False, "SnapshotIsolation")
    rows = table.refresh().scan().files(stats=True).to_pylist()
    found = {row["path"]: row for row in rows}
    assert (found["a"]["num_records"], found["b"]["num_records"]) == (7, 10)
    assert found["a"]["deletion_vector"] == {
        "storage_type": "u", "path_or_inline_dv": f"ab{'1':0>18}", "offset": 1, "size_in_bytes": 40, "cardinality": 2,
    }


def test_deleted_rows_stay_deleted_when_a_file_is_added_again(folder: Path) -> None:
    table = make_table(folder, {"delta.enableDeletionVectors": "true"}, ["deletionVectors"])
    append(table, file("a", deletion_vector=vector("1")))
    txn = table.refresh().transaction()
    txn.add(file("a", data_change=False))
    with pytest.raises(InvalidCommit, match="different deletion vector than at version"):
        txn.commit()
    other = table.transaction()
    other.remove(gone("a", deletion_vector=vector("1")))
    other.add(file("a", deletion_vector=vector("2")))
    assert other.commit() == 2


def test_the_version_of_an_application_is_not_negative(folder: Path) -> None:
    txn = make_table(folder).transaction()
    with pytest.raises(ds.InvalidArgument, match=r"version must be 0 or greater, not -1\."):
        txn.set_app_version("app", -1)
    txn.set_app_version("app", 0)
    txn.commit()
    assert ds.DeltaTable(folder).app_versions == {"app": 0}


def test_state_is_set_in_one_commit(folder: Path) -> None:
    table = make_table(folder, features=["domainMetadata"])
    txn = table.transaction(operation="SET")
    txn.set_domain("my.domain", '{"a":1}')
    txn.set_app_version("app", 7)
    old = table.metadata
    txn.set_metadata(Metadata(**{**_members(old), "configuration": {"x": "y"}}))
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


@pytest.mark.parametrize("domain", ["delta.rowTracking", "delta.clustering", "delta.somethingNew"])
def test_domains_of_the_protocol_are_not_for_users(folder: Path, domain: str) -> None:
    txn = make_table(folder, features=["domainMetadata", "clustering"]).transaction()
    for change in (lambda: txn.set_domain(domain, "{}"), lambda: txn.remove_domain(domain)):
        with pytest.raises(InvalidCommit, match="is reserved by the protocol") as raised:
            change()
        assert raised.value.rule == "domains.reserved"
    txn.set_domain("deltaish", "{}")
    assert txn.commit() == 1


def test_a_protocol_may_gain_features_and_lose_none(folder: Path) -> None:
    table = make_table(folder, features=["domainMetadata"])
    txn = table.transaction()
    txn.set_protocol(Protocol(1, 7, None, ("domainMetadata", "appendOnly")))
    with pytest.raises(UnsupportedFeature, match="cannot lower the protocol version"):
        txn.commit()
    txn.set_protocol(Protocol(3, 7, (), ("appendOnly",)))
    with pytest.raises(UnsupportedFeature, match="cannot drop the table feature domainMetadata"):
        txn.commit()
    txn.set_protocol(Protocol(3, 7, (), ("domainMetadata", "fooFromTheFuture")))
    with pytest.raises(UnsupportedFeature, match="writer feature fooFromTheFuture"):
        txn.commit()
    txn.set_protocol(Protocol(3, 7, (), ("domainMetadata", "appendOnly")))
    txn.set_domain("x", "{}")
    assert txn.commit() == 1


def test_the_id_of_a_table_stays(folder: Path) -> None:
    table = make_table(folder)
    txn = table.transaction()
    txn.set_metadata(Metadata(**{**_members(table.metadata), "id": "another"}))
    with pytest.raises(InvalidCommit, match="must keep the table's id"):
        txn.commit()


def test_partition_columns_are_columns(folder: Path) -> None:
    table = make_table(folder)
    txn = table.transaction()
    txn.set_metadata(Metadata(**{**_members(table.metadata), "partition_columns": ("nowhere",)}))
    with pytest.raises(InvalidCommit, match="partitions by the unknown column nowhere"):
        txn.commit()


def test_partition_values_name_the_partition_columns(folder: Path) -> None:
    table = make_table(folder, partition_by=["part"])
    txn = table.transaction()
    txn.add(file("a"))
    with pytest.raises(InvalidCommit, match="must be of exactly these columns: part"):
        txn.commit()
    txn.leave_out("a")
    txn.add(file("b", partition_values={"part": "1"}))
    assert txn.commit() == 1
    assert paths(folder) == ["b"]


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
    with pytest.raises(InvalidCommit, match="must be of exactly these columns: col-2"):
        txn.commit()
    append(table, file("a", partition_values={"col-2": "1"}))
    assert ds.DeltaTable(folder).scan(where="part = 2").paths() == []


NEW_ROWS = {
    "invariants": {"schema": {"delta.invariants": '{"expression":{"expression":"id > 0"}}'}},
    "checkConstraints": {"properties": {"delta.constraints.positive": "id > 0"}},
    "generatedColumns": {"schema": {"delta.generationExpression": "part + 1"}},
    "identityColumns": {"schema": {"delta.identity.start": 1, "delta.identity.step": 1}},
    "materializePartitionColumns": {},
}


@pytest.mark.parametrize("feature", NEW_ROWS)
def test_rules_for_new_rows_that_cannot_be_enforced_stop_commits_with_new_rows(folder: Path, feature: str) -> None:
    made = NEW_ROWS[feature]
    schema = StructType((StructField("id", LONG, True, made.get("schema", {})), StructField("part", INTEGER)))
    old = [{"add": file("old").to_json()}]
    table = make_table(folder, made.get("properties"), [feature], schema, actions=old)
    txn = table.transaction()
    txn.add(file("a"))
    with pytest.raises(UnsupportedFeature, match=f"has the writer feature {feature}, whose requirements"):
        txn.commit()
    assert commits(table) == 1
    other = table.transaction()
    other.add(file("old", data_change=False))
    assert other.commit() == 1


@pytest.mark.parametrize("version", range(2, 7))
def test_plain_writer_versions_ask_only_for_what_the_table_uses(folder: Path, version: int) -> None:
    protocol = {"minReaderVersion": 1, "minWriterVersion": version}
    table = make_table(folder, protocol=protocol)
    assert append(table, file("a")) == 1
    used = make_table(folder / "used", {"delta.constraints.x": "id > 0"}, protocol=protocol)
    txn = used.transaction()
    txn.add(file("a"))
    if version < 3:
        assert txn.commit() == 1
    else:
        with pytest.raises(UnsupportedFeature, match="checkConstraints"):
            txn.commit()


@pytest.mark.parametrize(
    ("features", "properties", "named"),
    [
        (["fooFromTheFuture", "appendOnly"], {}, "writer feature fooFromTheFuture,"),
        (["liquid", "aNewOne"], {}, "writer features aNewOne, liquid,"),
        (["icebergCompatV2"], {"delta.enableIcebergCompatV2": "true"}, "writer feature icebergCompatV2,"),
    ],
)
def test_a_feature_that_is_not_supported_is_refused_by_name(
    folder: Path, features: list[str], properties: dict[str, str], named: str
) -> None:
    table = make_table(folder, properties, features)
    txn = table.transaction()
    txn.add(file("a", data_change=False))
    with pytest.raises(UnsupportedFeature, match=named):
        txn.commit()
    assert commits(table) == 1


def test_a_feature_that_is_there_and_not_used_stops_nothing(folder: Path) -> None:
    unused = ["icebergCompatV1", "icebergCompatV2", "changeDataFeed", "appendOnly", "invariants", "allowColumnDefaults"]
    table = make_table(folder, {}, unused)
    append(table, file("a"))
    txn = table.refresh().transaction()
    txn.remove(gone("a"))
    txn.add(file("b"))
    assert txn.commit() == 2


# Whether a file contains its partition columns cannot be seen in the log: see NEW_ROWS.
@pytest.mark.parametrize(
    "feature", sorted({name for name, row in FEATURES.items() if row.writes == "yes"} - {"materializePartitionColumns"})
)
def test_a_supported_feature_takes_new_rows_old_files_and_removals(folder: Path, feature: str) -> None:
    domains = [] if feature == "domainMetadata" else ["domainMetadata"]
    table = make_table(folder, {}, [feature, *domains])
    append(table, file("a"), file("b"))
    table.checkpoint()
    txn = table.refresh().transaction(read="true")
    txn.add(file("a", data_change=False))
    txn.remove(gone("b"))
    txn.set_domain("mine", "{}")
    assert txn.commit() == 2
    assert paths(folder) == ["a"]


def test_a_writer_version_of_the_future_is_refused(folder: Path) -> None:
    table = make_table(folder, protocol={"minReaderVersion": 1, "minWriterVersion": 8})
    txn = table.transaction()
    txn.add(file("a"))
    with pytest.raises(UnsupportedFeature, match="needs Delta writer version 8"):
        txn.commit()


def test_an_append_only_table_keeps_its_rows(folder: Path) -> None:
    table = make_table(folder, {"delta.appendOnly": "true"})
    append(table, file("a"))
    txn = table.refresh().transaction()
    txn.remove(gone("a"))
    with pytest.raises(UnsupportedFeature, match="append-only"):
        txn.commit()
    optimize = table.transaction()
    optimize.remove(gone("a", data_change=False))
    optimize.add(file("b", data_change=False))
    assert optimize.commit() == 2


def test_a_change_data_feed_needs_change_data_where_rows_come_and_go(folder: Path) -> None:
    table = make_table(folder, {"delta.enableChangeDataFeed": "true"}, ["changeDataFeed"])
    append(table, file("a"))
    txn = table.refresh().transaction()
    txn.remove(gone("a"))
    txn.add(file("b"))
    with pytest.raises(UnsupportedFeature, match="changeDataFeed"):
        txn.commit()
    told = table.transaction()
    told.remove(gone("a"))
    told.add(file("b"))
    told.add_cdc(change("_change_data/c"))
    with pytest.raises(InvalidCommit, match="added twice"):
        told.add_cdc(change("_change_data/./c"))
    with pytest.raises(InvalidCommit, match="No file can be left out"):
        told.leave_out("a")
    assert told.commit() == 2
    [action] = actions(folder, 2, "cdc")
    assert action == {"path": "_change_data/c", "partitionValues": {}, "size": 10, "dataChange": False}
    assert paths(folder) == ["b"]
    ds.DeltaTable(folder).snapshot.verify()


def change(path: str, **members: Any) -> AddCdcFile:
    return AddCdcFile(path, **{"partition_values": {}, "size": 10, **members})


@pytest.mark.parametrize(
    ("kept", "members", "why"),
    [
        ("false", {}, "has no change data feed enabled"),
        ("true", {"path": "a b"}, "not a URI"),
        ("true", {"data_change": True}, "dataChange of a CDC file must be false"),
        ("true", {"partition_values": {"part": "1"}}, "partition values must be of exactly these columns: none"),
    ],
)
def test_change_files_that_cannot_be_are_refused(folder: Path, kept: str, members: dict[str, Any], why: str) -> None:
    table = make_table(folder, {"delta.enableChangeDataFeed": kept}, ["changeDataFeed"])
    txn = table.transaction()
    txn.add(file("a"))
    txn.add_cdc(change(members.pop("path", "c"), **members))
    with pytest.raises(InvalidCommit, match=why):
        txn.commit()
    assert ds.DeltaTable(folder).version == 0


def test_what_only_removes_needs_no_change_data(folder: Path) -> None:
    table = make_table(folder, {"delta.enableChangeDataFeed": "true"}, ["changeDataFeed"])
    append(table, file("a"))
    table.refresh()
    only = table.transaction()
    only.remove(gone("a"))
    assert only.commit() == 2


def test_new_deletion_vectors_need_the_feature_and_the_property(folder: Path) -> None:
    table = make_table(folder, {}, ["deletionVectors"])
    txn = table.transaction()
    txn.add(file("a", deletion_vector=vector("1")))
    with pytest.raises(UnsupportedFeature, match=r"delta\.enableDeletionVectors"):
        txn.commit()


def test_a_file_with_a_deletion_vector_says_how_many_rows_it_has(folder: Path) -> None:
    table = make_table(folder, {"delta.enableDeletionVectors": "true"}, ["deletionVectors"])
    txn = table.transaction()
    txn.add(file("a", deletion_vector=vector("1"), stats=None))
    with pytest.raises(InvalidCommit, match="needs numRecords"):
        txn.commit()


def test_domains_need_their_feature(folder: Path) -> None:
    txn = make_table(folder).transaction()
    txn.set_domain("x", "{}")
    with pytest.raises(UnsupportedFeature, match="domainMetadata"):
        txn.commit()


def test_in_commit_timestamps_come_first_and_never_go_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(folder, {ICT: "true"}, ["inCommitTimestamp"])
    append(table, file("a"))
    [first] = lines(folder, 1)[:1]
    assert first["commitInfo"]["inCommitTimestamp"] > 1_700_000_000_000
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000)
    append(table, file("b"))
    append(table, file("c"))
    times = [lines(folder, version)[0]["commitInfo"]["inCommitTimestamp"] for version in (1, 2, 3)]
    assert times == [times[0], times[0] + 1, times[0] + 2]
    assert table.refresh().in_commit_timestamp == times[2]


def test_enabling_in_commit_timestamps_says_since_when(folder: Path) -> None:
    table = make_table(folder, {"a": "b"}, ["inCommitTimestamp"])
    txn = table.transaction()
    txn.set_metadata(Metadata(**{**_members(table.metadata), "configuration": {"a": "b", ICT: "true"}}))
    txn.commit()
    time = lines(folder, 1)[0]["commitInfo"]["inCommitTimestamp"]
    assert dict(table.refresh().properties) == {
        "a": "b",
        ICT: "true",
        "delta.inCommitTimestampEnablementVersion": "1",
        "delta.inCommitTimestampEnablementTimestamp": str(time),
    }


def test_row_ids_are_fresh_for_new_files_and_stay_with_old_ones(folder: Path) -> None:
    table = make_table(folder, {"delta.enableRowTracking": "true"}, ["rowTracking", "domainMetadata"])
    append(table, file("a"), file("b"))
    append(table, file("c"))
    found = {add.path: add for add in add_files(table.refresh().snapshot.adds())}
    ids = {path: (add.base_row_id, add.default_row_commit_version) for path, add in found.items()}
    assert ids == {"a": (0, 1), "b": (10, 1), "c": (20, 2)}
    assert table.domains == {"delta.rowTracking": '{"rowIdHighWaterMark":29}'}
    txn = table.transaction()
    txn.add(file("a", data_change=False), unchanged(found["b"], None), file("d"))
    txn.commit()
    rows = {row["path"]: row for row in table.refresh().scan().files().to_pylist()}
    assert {path: (row["base_row_id"], row["default_row_commit_version"]) for path, row in rows.items()} == {
        "a": (0, 1), "b": (10, 1), "c": (20, 2), "d": (30, 3),
    }
    assert table.domains == {"delta.rowTracking": '{"rowIdHighWaterMark":39}'}


def test_without_fresh_ids_the_high_water_mark_stays_unsaid(folder: Path) -> None:
    table = make_table(folder, {}, ["rowTracking", "domainMetadata"])
    append(table, file("a"))
    txn = table.refresh().transaction()
    txn.add(file("a", data_change=False))
    txn.commit()
    assert actions(folder, 2, "domainMetadata") == []


def test_a_table_that_tracks_rows_asks_how_many_there_are(folder: Path) -> None:
    table = make_table(folder, {}, ["rowTracking", "domainMetadata"])
    txn = table.transaction()
    txn.add(file("a", stats=None))
    with pytest.raises(InvalidCommit, match="must have numRecords"):
        txn.commit()
    suspended = make_table(folder / "s", {"delta.rowTrackingSuspended": "true"}, ["rowTracking", "domainMetadata"])
    append(suspended, file("a", stats=None))
    assert "baseRowId" not in actions(folder / "s", 1, "add")[0]


def test_row_ids_without_their_mark_are_not_given_twice(folder: Path) -> None:
    old = {"add": {**file("a").to_json(), "baseRowId": 5}}
    table = make_table(folder, {}, ["rowTracking", "domainMetadata"], actions=[old])
    txn = table.transaction()
    txn.add(file("b"))
    with pytest.raises(InvalidCommit, match=r"no domain delta\.rowTracking"):
        txn.commit()


def test_an_attempt_that_seemed_to_fail_is_found_in_the_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(folder)
    txn = table.transaction()
    txn.add(file("a"))
    create = LocalStorage.put_if_absent

    def lost(storage: LocalStorage, path: str, data: bytes) -> None:
        create(storage, path, data)
        raise StorageError("the answer got lost")

    monkeypatch.setattr(LocalStorage, "put_if_absent", lost)
    assert txn.commit() == 1
    again = ds.DeltaTable(folder).transaction()
    again.add(file("b"))

    def unseen(storage: LocalStorage, path: str) -> bytes:
        raise StorageError("the network is down")

    read = LocalStorage.read
    monkeypatch.setattr(LocalStorage, "read", unseen)
    with pytest.raises(StorageError, match="the answer got lost"):
        again.commit()
    monkeypatch.setattr(LocalStorage, "read", read)
    assert again.commit() == 2
    assert sorted(os.listdir(folder / "_delta_log"))[-1] == f"{2:020d}.json"
    assert paths(folder) == ["a", "b"]


def test_a_schema_can_be_replaced(folder: Path) -> None:
    table = make_table(folder)
    wider = StructType((*SCHEMA.fields, StructField("more", LONG)))
    txn = table.transaction(operation="ADD COLUMNS")
    txn.set_metadata(Metadata(**{**_members(table.metadata), "schema_string": schema_to_json(wider)}))
    txn.commit()
    assert table.refresh().schema == wider
    assert table.protocol == Protocol.from_json(protocol_of(()))


def _members(metadata: Metadata) -> dict[str, Any]:
    return {name: getattr(metadata, name) for name in Metadata.__dataclass_fields__}

"""What table features ask of a transaction: new rows, change files, deletion vectors, domains, times and row ids."""

from dataclasses import replace
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.actions import AddCdcFile, DomainMetadata, add_actions, with_stats
from deltaskip.errors import InvalidCommit, UnsupportedFeature
from deltaskip.features import FEATURES
from deltaskip.sparkexpr.types import INTEGER, LONG, StructField, StructType
from tests.builder import logged
from tests.each import refuses
from tests.looped import looped
from tests.txn.tables import actions, append, commits, file, gone, make_table, paths

pytestmark = pytest.mark.usefixtures("without_look_ups")

ICT = "delta.enableInCommitTimestamps"
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
    schema = StructType((StructField("id", LONG, True, made.get("schema", {})), StructField("part", INTEGER)))  # type: ignore[attr-defined]
    old = [{"add": file("old").to_json()}]
    table = make_table(folder, made.get("properties"), [feature], schema, actions=old)  # type: ignore[attr-defined]
    txn = table.transaction()
    txn.add(file("a"))
    refuses(UnsupportedFeature, f"has the writer feature {feature}, whose requirements", txn.commit)
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
        refuses(UnsupportedFeature, "checkConstraints", txn.commit)


@pytest.mark.parametrize(
    ("features", "properties", "named"),
    [
        (["fooFromTheFuture", "appendOnly"], {}, "writer feature fooFromTheFuture,"),
        (["liquid", "aNewOne"], {}, r"writer features aNewOne, liquid \(an early name of clustering"),
        (["icebergCompatV2"], {"delta.enableIcebergCompatV2": "true"}, "writer feature icebergCompatV2,"),
    ],
)
def test_unsupported_ones_are_named(folder: Path, features: list[str], properties: dict[str, str], named: str) -> None:
    table = make_table(folder, properties, features)
    txn = table.transaction()
    txn.add(file("a", data_change=False))
    refuses(UnsupportedFeature, named, txn.commit)
    assert commits(table) == 1


def test_a_feature_that_is_there_and_not_used_stops_nothing(folder: Path) -> None:
    unused = ["icebergCompatV1", "icebergCompatV2", "changeDataFeed", "appendOnly", "invariants", "allowColumnDefaults"]
    table = make_table(folder, {}, unused)
    append(table, file("a"))
    txn = table.refresh().transaction()
    txn.remove(gone("a"))
    txn.add(file("b"))
    assert txn.commit() == 2


# Whether a file contains its partition columns, or row ids as a metadata tree needs them, cannot be seen in the log;
# with clustering by expressions, no file is added.
@looped(
    "feature",
    sorted(
        {name for name, row in FEATURES.items() if row.writes == "yes" and not row.by_name}
        - {"materializePartitionColumns", "adaptiveMetadata", "adaptiveMetadata-preview", "clusteringExpressions"}
    ),
)
def test_a_supported_feature_takes_new_rows_old_files_and_removals(tmp_path: Path, feature: str) -> None:
    folder = tmp_path / "t"
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
    refuses(UnsupportedFeature, "needs Delta writer version 8", txn.commit)


def test_change_data_is_committed_with_rows_that_come_and_go(folder: Path) -> None:
    table = make_table(folder, {"delta.enableChangeDataFeed": "true"}, ["changeDataFeed"])
    append(table, file("a"))
    told = table.refresh().transaction()
    told.remove(gone("a"))
    told.add(file("b"))
    told.add_cdc(AddCdcFile("_change_data/c", {}, 10))
    refuses(InvalidCommit, "added twice", lambda: told.add_cdc(AddCdcFile("_change_data/./c", {}, 10)))
    refuses(InvalidCommit, "No file can be left out", told.leave_out, "a")
    assert told.commit() == 2
    [action] = actions(folder, 2, "cdc")
    assert action == {"path": "_change_data/c", "partitionValues": {}, "size": 10, "dataChange": False}
    assert paths(folder) == ["b"]
    ds.DeltaTable(folder).snapshot.verify()


def test_clustering_needs_its_feature(folder: Path) -> None:
    txn = make_table(folder, features=["domainMetadata"]).transaction()
    txn.changes.domains["delta.clustering"] = DomainMetadata("delta.clustering", '{"clusteringColumns":[["id"]]}')
    refuses(UnsupportedFeature, "does not have the writer feature clustering", txn.commit)


def test_in_commit_timestamps_come_first_and_never_go_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(folder, {ICT: "true"}, ["inCommitTimestamp"])
    append(table, file("a"))
    [first] = logged(folder, 1)[:1]
    assert first["commitInfo"]["inCommitTimestamp"] > 1_700_000_000_000
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000)
    append(table, file("b"))
    append(table, file("c"))
    times = [logged(folder, version)[0]["commitInfo"]["inCommitTimestamp"] for version in (1, 2, 3)]
    assert times == [times[0], times[0] + 1, times[0] + 2]
    assert table.refresh().in_commit_timestamp == times[2]


def test_enabling_in_commit_timestamps_says_since_when(folder: Path) -> None:
    table = make_table(folder, {"a": "b"}, ["inCommitTimestamp"])
    txn = table.transaction()
    txn.set_metadata(replace(table.metadata, configuration={"a": "b", ICT: "true"}))
    txn.commit()
    time = logged(folder, 1)[0]["commitInfo"]["inCommitTimestamp"]
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
    found = {add.path: add for add in add_actions(table.refresh().snapshot.adds())}
    ids = {path: (add.base_row_id, add.default_row_commit_version) for path, add in found.items()}
    assert ids == {"a": (0, 1), "b": (10, 1), "c": (20, 2)}
    assert table.domains == {"delta.rowTracking": '{"rowIdHighWaterMark":29}'}
    txn = table.transaction()
    txn.add(file("a", data_change=False), with_stats(found["b"], None), file("d"))
    txn.commit()
    rows = {row["path"]: row for row in table.refresh().scan().files().to_pylist()}
    assert {path: (row["base_row_id"], row["default_row_commit_version"]) for path, row in rows.items()} == {
        "a": (0, 1),
        "b": (10, 1),
        "c": (20, 2),
        "d": (30, 3),
    }
    assert table.domains == {"delta.rowTracking": '{"rowIdHighWaterMark":39}'}


def test_without_fresh_ids_the_high_water_mark_stays_unsaid(folder: Path) -> None:
    table = make_table(folder, {}, ["rowTracking", "domainMetadata"])
    append(table, file("a"))
    txn = table.refresh().transaction()
    txn.add(file("a", data_change=False))
    txn.commit()
    assert actions(folder, 2, "domainMetadata") == []


def test_suspended_row_tracking_gives_no_row_ids(folder: Path) -> None:
    table = make_table(folder, {"delta.rowTrackingSuspended": "true"}, ["rowTracking", "domainMetadata"])
    append(table, file("a", stats=None))
    assert "baseRowId" not in actions(folder, 1, "add")[0]


def test_row_ids_without_their_mark_are_not_given_twice(folder: Path) -> None:
    old = {"add": {**file("a").to_json(), "baseRowId": 5}}
    table = make_table(folder, {}, ["rowTracking", "domainMetadata"], actions=[old])
    txn = table.transaction()
    txn.add(file("b"))
    refuses(InvalidCommit, r"no domain delta\.rowTracking", txn.commit)

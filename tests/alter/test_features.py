"""Table features that are added and dropped."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, SchemaError, UnsupportedFeature
from deltaskip.features.registry import features_of
from tests.alter.test_column_changes import parameters, table_of
from tests.builder import logged
from tests.dml.tables import info_of, rows_of
from tests.each import refuses

BASE = {"appendOnly", "invariants"}


def test_a_feature_is_added_with_what_it_requires(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    assert table.add_feature("ROWTRACKING").operation == "UPGRADE PROTOCOL"
    assert features_of(table.protocol) == BASE | {"rowTracking", "domainMetadata"}
    assert set(parameters(table)["newProtocol"]["writerFeatures"]) == BASE | {"rowTracking", "domainMetadata"}
    assert table.add_feature("rowTracking").version is None
    refuses(InvalidArgument, "no table feature 'nope'", table.add_feature, "nope")
    with pytest.raises(UnsupportedFeature, match="cannot get the feature catalogManaged later: create a table in"):
        table.add_feature("catalogManaged")
    for name in ("liquid", "fileType"):
        refuses(UnsupportedFeature, f"cannot write tables with the feature {name}", table.add_feature, name)


@pytest.mark.parametrize("name", ["checkConstraints", "domainMetadata", "allowColumnDefaults", "clustering"])
def test_rule_65_writer_features_leave_no_trace(tmp_path: Path, name: str) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={f"delta.feature.{name}": "supported"})
    table.drop_feature(name.upper())
    assert name not in features_of(table.protocol)
    assert (info_of(table)["operation"], parameters(table)) == (
        "DROP FEATURE",
        {"featureName": name, "truncateHistory": "false"},
    )
    assert table.properties == {}
    if name != "clustering":
        assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (1, 2)


@pytest.mark.parametrize(
    ("properties", "name", "after"),
    [
        ({"delta.enableDeletionVectors": "true"}, "deletionVectors", {}),
        ({"delta.enableTypeWidening": "true"}, "typeWidening", {}),
        ({"delta.checkpointPolicy": "v2"}, "v2Checkpoint", {}),
        ({"delta.feature.vacuumProtocolCheck": "supported"}, "vacuumProtocolCheck", {}),
        ({"delta.feature.timestampNtz": "supported"}, "timestampNtz", {}),
        ({"delta.feature.columnMapping": "supported"}, "columnMapping", {}),
    ],
)
def test_rule_65_reader_features_leave_a_protected_history(
    tmp_path: Path, properties: dict[str, str], name: str, after: dict[str, str]
) -> None:
    table = table_of(tmp_path, "id BIGINT", properties=properties)
    table.append(pa.table({"id": [1]}))
    assert table.drop_feature(name).version == 2
    assert features_of(table.protocol) == BASE | {"checkpointProtection"}
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (1, 7)
    assert table.properties == {**after, "delta.requireCheckpointProtectionBeforeVersion": "2"}
    log = tmp_path / "t/_delta_log"
    assert (log / f"{2:020}.checkpoint.parquet").exists()
    assert ds.DeltaTable(tmp_path / "t").scan("id = 1").count() == 1
    assert ds.DeltaTable(tmp_path / "t", version=1).scan("id = 1").count() == 1
    assert table.clean_up_log() == []


@pytest.mark.parametrize(
    ("columns", "properties", "name", "why"),
    [
        ("id BIGINT", {}, "deletionVectors", "does not have the feature"),
        ("id BIGINT", {}, "appendOnly", "cannot be dropped; features that can"),
        ("id BIGINT GENERATED ALWAYS AS IDENTITY, v INT", {}, "identityColumns", "cannot be dropped; features"),
        ("id BIGINT, x TIMESTAMP_NTZ", {}, "timestampNtz", "type timestamp_ntz of the column x uses it"),
        ("id BIGINT DEFAULT 5", {}, "allowColumnDefaults", "remove the defaults"),
        ("id BIGINT", {"delta.columnMapping.mode": "name"}, "columnMapping", "without rewriting"),
        ("id BIGINT", {"delta.enableRowTracking": "true"}, "domainMetadata", "because rowTracking needs it"),
        ("id BIGINT", {"delta.constraints.c": "id > 0"}, "checkConstraints", "drop the constraints first"),
        ("id BIGINT", {}, "nope", "no table feature"),
    ],
)
def test_rule_65_users_are_named(tmp_path: Path, columns: str, properties: dict[str, str], name: str, why: str) -> None:
    table = table_of(tmp_path, columns, properties=properties)
    refuses((InvalidArgument, SchemaError, UnsupportedFeature), why, table.drop_feature, name)
    assert table.version == 0


def test_rule_65_a_clustered_table_ends_clustering_first(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", cluster_by=["id"])
    refuses(SchemaError, r"end that with ClusterBy\(\)", table.drop_feature, "clustering")
    with pytest.raises(SchemaError, match=r"domainMetadata .* because the metadata domain delta.clustering is set"):
        table.alter(ds.ClusterBy(), ds.DropFeature("clustering"), ds.DropFeature("domainMetadata"))
    table.alter(ds.ClusterBy(), ds.DropFeature("clustering"))
    table.drop_feature("domainMetadata")
    assert table.domains == {}
    assert features_of(table.protocol) == BASE


def test_rule_65_files_lose_their_row_ids_with_row_tracking(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.enableRowTracking": "true"})
    table.append(pa.table({"id": [1, 2]}))
    table.drop_feature("rowTracking")
    adds = table.snapshot.adds(["base_row_id", "default_row_commit_version"]).to_pylist()
    assert adds == [{"base_row_id": None, "default_row_commit_version": None}]
    assert (table.properties, table.domains) == ({}, {})
    assert features_of(table.protocol) == BASE | {"domainMetadata"}
    table.append(pa.table({"id": [3]}))
    assert table.scan("id >= 1").count() == 3


def test_rule_65_in_commit_timestamps_are_dropped_with_their_properties(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    table.alter(ds.SetProperty("delta.enableInCommitTimestamps", "true"))
    table.drop_feature("inCommitTimestamp")
    assert table.properties == {}
    assert features_of(table.protocol) == BASE
    table.append(pa.table({"id": [1]}))
    assert len(table.history()) == 4


def test_rule_6_a_feature_makes_a_list_of_all_that_the_versions_implied(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.enableChangeDataFeed": "true"})
    table.alter(ds.SetProperty("delta.minWriterVersion", "6"))
    implied = features_of(table.protocol)
    table.add_feature("vacuumProtocolCheck")
    assert features_of(table.protocol) == implied | {"vacuumProtocolCheck"}


def test_a_transaction_with_other_operations_drops_no_feature(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.feature.checkConstraints": "supported"})
    with pytest.raises(InvalidArgument, match=r"use DeltaTable.drop_feature"), table.transaction() as txn:
        txn.alter(ds.DropFeature("checkConstraints"))


def age(table: ds.DeltaTable, hours: int) -> None:
    """Make the log so much older."""
    for path in (Path(table.snapshot.root) / "_delta_log").iterdir():
        before = path.stat().st_mtime - hours * 3600
        os.utime(path, (before, before))


def test_rule_65_history_is_truncated_on_request_after_a_day(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.enableTypeWidening": "true"})
    table.append(pa.table({"id": [1]}))
    with pytest.raises(UnsupportedFeature, match=r"version 1 needs it, and versions are kept for 24 hours"):
        table.drop_feature("typeWidening", truncate_history=True)
    table.alter(ds.RemoveProperty("delta.enableTypeWidening"))
    table.append(pa.table({"id": [2]}))
    table.checkpoint()
    refuses(UnsupportedFeature, "yet", table.drop_feature, "typeWidening", truncate_history=True)
    assert table.version == 3
    age(table, 25)
    table = ds.DeltaTable(tmp_path / "t")
    assert table.drop_feature("typeWidening", truncate_history=True).version == 4
    assert features_of(table.protocol) == BASE
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (1, 2)
    left = sorted(path.name for path in (tmp_path / "t/_delta_log").glob("*.json"))
    assert left == [f"{version:020}.json" for version in (3, 4)]
    assert ds.DeltaTable(tmp_path / "t").scan("id > 0").count() == 2


def test_rule_65_the_protection_of_a_history_ends_with_it(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
    table.append(pa.table({"id": [1]}))
    table.drop_feature("deletionVectors")
    refuses(SchemaError, "truncate_history=True", table.drop_feature, "checkpointProtection")
    refuses(UnsupportedFeature, "version 1 needs it", table.drop_feature, "checkpointProtection", truncate_history=True)
    age(table, 25)
    table = ds.DeltaTable(tmp_path / "t")
    table.drop_feature("checkpointProtection", truncate_history=True)
    assert (features_of(table.protocol), table.properties) == (BASE, {})
    assert not (tmp_path / "t/_delta_log" / f"{0:020}.json").exists()
    assert ds.DeltaTable(tmp_path / "t").scan("id = 1").count() == 1


@pytest.mark.parametrize("properties", [{}, {"delta.enableRowTracking": "true", "delta.appendOnly": "false"}])
def test_rule_65_files_lose_their_vectors_before_the_feature_goes(tmp_path: Path, properties: dict[str, str]) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.enableDeletionVectors": "true", **properties})
    for start in (0, 100, 200):
        table.append(pa.table({"id": range(start, start + 10)}))
    table.delete("id = 1 OR id = 201")
    kept = table.scan("id >= 100 AND id < 200").paths()
    assert table.alter_sql("DROP FEATURE deletionVectors").version == table.version == 7
    assert [each.operation for each in table.history(4)] == [
        "DROP FEATURE", "REORG", "UNSET TBLPROPERTIES", "DELETE"
    ]  # fmt: skip
    assert table.history(2)[1].operation_parameters == {"predicate": "[]", "applyPurge": "true"}
    assert "deletionVectors" not in features_of(table.protocol)
    # Each file is rewritten alone, and one without a vector stays.
    assert table.snapshot.num_files == 3 and set(kept) <= set(table.scan().paths())
    rows = [i for start in (0, 100, 200) for i in range(start, start + 10) if i not in (1, 201)]
    assert [row["id"] for row in rows_of(table)] == rows
    assert not any(table.scan().files()["deletion_vector"].is_valid().to_pylist())


def test_dropping_deletion_vectors_leaves_tombstones_of_their_files(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
    for start in (0, 100):
        table.append(pa.table({"id": range(start, start + 10)}))
    table.delete("id = 1 OR id = 101")
    table.delete("id = 2")
    table.delete()
    table.drop_feature("deletionVectors")
    vectors = {path.name for path in Path(table.snapshot.root).glob("deletion_vector_*.bin")}
    removes = logged(table.snapshot.root, table.version, kind="remove")
    assert len(vectors) == 2 and {each["path"] for each in removes} == vectors
    assert all(each["dataChange"] is False and each["deletionTimestamp"] > 0 for each in removes)
    # Retained versions still read, and a VACUUM within the retention keeps their vectors.
    os.utime(table.snapshot.root)
    for path in Path(table.snapshot.root).glob("*.*"):
        os.utime(path, (1, 1))
    assert table.vacuum().files == []
    assert ds.DeltaTable(table.uri, 4).scan().files().num_rows == 2
    table.append(pa.table({"id": [5]}))
    table.checkpoint()
    assert ds.DeltaTable(table.uri).snapshot.num_files == 1

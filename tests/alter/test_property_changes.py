"""Table properties: validated, typed, and with the features that they need."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, InvalidCommit, SchemaError, UnsupportedFeature
from deltaskip.features.registry import features_of
from tests.alter.test_column_changes import parameters, table_of
from tests.dml.tables import info_of
from tests.each import refuses
from tests.looped import looped


@looped(
    "name, value, versions, features",
    [
        ("delta.appendOnly", "true", (1, 2), set()),
        ("delta.enableChangeDataFeed", "true", (1, 7), {"changeDataFeed"}),
        ("delta.enableDeletionVectors", "true", (3, 7), {"deletionVectors"}),
        ("delta.enableTypeWidening", "true", (3, 7), {"typeWidening"}),
        ("delta.enableInCommitTimestamps", "true", (1, 7), {"inCommitTimestamp"}),
        ("delta.enableRowTracking", "true", (1, 7), {"rowTracking", "domainMetadata"}),
        ("delta.columnMapping.mode", "name", (2, 7), {"columnMapping"}),
        ("delta.checkpointPolicy", "v2", (3, 7), {"v2Checkpoint"}),
        ("delta.feature.vacuumProtocolCheck", "supported", (3, 7), {"vacuumProtocolCheck"}),
        ("delta.feature.CHECKCONSTRAINTS", "Supported", (1, 3), {"checkConstraints"}),
        ("delta.checkpointInterval", "5", (1, 2), set()),
        ("delta.minWriterVersion", "4", (1, 4), {"checkConstraints", "changeDataFeed", "generatedColumns"}),
        ("mine", "x", (1, 2), set()),
    ],
)
def test_the_protocol_is_raised_only_as_far_as_needed(
    tmp_path: Path, name: str, value: str, versions: tuple[int, int], features: set[str]
) -> None:
    table = table_of(tmp_path, "id BIGINT")
    table.alter(ds.SetProperty(name, value))
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == versions
    assert features_of(table.protocol) == {"appendOnly", "invariants"} | features


def test_names_of_delta_are_spelled_in_any_case_and_own_names_are_kept(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    table.alter(ds.SetProperty("DELTA.APPENDONLY", "true"), ds.SetProperty("My.Own", "X"))
    assert table.properties == {"delta.appendOnly": "true", "My.Own": "X"}
    assert parameters(table) == {"properties": {"delta.appendOnly": "true", "My.Own": "X"}}
    table.alter(ds.RemoveProperty("Delta.AppendOnly"), ds.RemoveProperty("My.Own"))
    assert table.properties == {}
    assert info_of(table)["operation"] == "UNSET TBLPROPERTIES"
    assert parameters(table) == {"properties": ["delta.appendOnly", "My.Own"], "ifExists": "true"}


def test_thousands_of_properties_are_one_change(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    own = {f"own.{i}": f"{i}" for i in range(20_000)}
    changes = [ds.SetProperty(name, value) for name, value in own.items()]
    changes[1:1] = [ds.SetProperty("delta.appendOnly", "true"), ds.SetProperty("own.0", "first"), changes[0]]
    table.alter(*changes)
    assert table.properties == own | {"delta.appendOnly": "true"}
    table.alter(*changes, ds.SetProperty("one", "more"))
    assert parameters(table) == {"properties": {"one": "more"}}
    names = ", ".join(f"'own.{i}'" for i in range(1, 20_000))
    table.alter_sql(f"UNSET TBLPROPERTIES ({names}, 'none', 'delta.appendOnly', 'one')")
    assert table.properties == {"own.0": "0"}
    assert parameters(table)["properties"][-3:] == ["own.19999", "delta.appendOnly", "one"]
    with pytest.raises(InvalidArgument, match=r"no property own\.1: .* It has none"):
        table.alter(ds.RemoveProperty("own.0"), ds.RemoveProperty("own.1"))
    assert table.properties == {"own.0": "0"}


@looped(
    "name, value, why",
    [
        ("delta.nope", "1", "Delta does not define the property"),
        ("delta.appendOnly", "xx", "true or false"),
        ("delta.logRetentionDuration", "interval 1 month", "interval of weeks"),
        ("delta.dataSkippingStatsColumns", "a,,b", "list of column names"),
        ("delta.columnMapping.maxColumnId", "3", "writers of the table maintain it"),
        ("delta.inCommitTimestampEnablementVersion", "3", "writers of the table maintain it"),
        ("delta.rowTracking.materializedRowIdColumnName", "q", "writers of the table maintain it"),
        ("delta.requireCheckpointProtectionBeforeVersion", "3", "writers of the table maintain it"),
        ("delta.constraints.c", "id > 0", "AddConstraint"),
        ("delta.feature.nope", "supported", "no table feature"),
        ("delta.feature.checkConstraints", "no", "must be 'supported'"),
        ("delta.minReaderVersion", "9", "reader versions 1 to 3"),
        ("delta.minReaderVersion", "x", "must be a version"),
        ("location", "/x", "not a property of a Delta table"),
        ("Provider", "x", "not a property of a Delta table"),
    ],
)
def test_properties_that_cannot_be_set_are_refused_by_name(tmp_path: Path, name: str, value: str, why: str) -> None:
    table = table_of(tmp_path, "id BIGINT")
    refuses(InvalidArgument, why, lambda: table.alter(ds.SetProperty(name, value)))
    assert table.version == 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("zz", "has no property zz"),
        ("delta.feature.appendOnly", r"DropFeature\('appendOnly'\)"),
        ("delta.minReaderVersion", "part of the protocol"),
        ("delta.columnMapping.maxColumnId", "maintain"),
    ],
)
def test_properties_that_cannot_be_removed_are_refused_by_name(tmp_path: Path, name: str, why: str) -> None:
    table = table_of(tmp_path, "id BIGINT")
    refuses(InvalidArgument, why, lambda: table.alter(ds.RemoveProperty(name)))


@pytest.mark.parametrize(("before", "after"), [("none", "id"), ("name", "none"), ("name", "id"), ("id", "name")])
def test_rule_58_column_mapping_that_needs_a_rewrite_is_refused(tmp_path: Path, before: str, after: str) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.columnMapping.mode": before})
    with pytest.raises(UnsupportedFeature, match=f"cannot be changed from {before} to {after}"):
        table.alter(ds.SetProperty("delta.columnMapping.mode", after))
    if before != "none":
        with pytest.raises(UnsupportedFeature, match=f"cannot be changed from {before} to none"):
            table.alter(ds.RemoveProperty("delta.columnMapping.mode"))


def test_rule_4_in_commit_timestamps_record_when_they_were_enabled(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    table.append(pa.table({"id": [1]}))
    table.alter(ds.SetProperty("delta.enableInCommitTimestamps", "true"))
    assert table.properties["delta.inCommitTimestampEnablementVersion"] == "2"
    assert table.properties["delta.inCommitTimestampEnablementTimestamp"] == str(table.in_commit_timestamp)
    since = dict(table.properties)
    table.alter(ds.SetProperty("delta.enableInCommitTimestamps", "false"))
    assert {**since, "delta.enableInCommitTimestamps": "false"} == table.properties


def test_rule_54_row_tracking_gives_ids_to_every_existing_file(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    for rows in ([1, 2, 3], [4], [5, 6]):
        table.append(pa.table({"id": rows}))
    table.alter(ds.SetProperty("delta.enableRowTracking", "true"))
    adds = table.snapshot.adds(["base_row_id", "default_row_commit_version", "stats"]).to_pylist()
    assert sorted((add["base_row_id"], add["default_row_commit_version"]) for add in adds) == [(0, 4), (3, 4), (4, 4)]
    assert table.domains["delta.rowTracking"] == '{"rowIdHighWaterMark":5}'
    keys = [f"delta.rowTracking.materializedRow{kind}ColumnName" for kind in ("Id", "CommitVersion")]
    names = [table.properties[key] for key in keys]
    assert all(re.fullmatch(r"_row-(id|commit-version)-col-[0-9a-f-]{36}", name) for name in names)
    table.append(pa.table({"id": [7]}))
    assert table.domains["delta.rowTracking"] == '{"rowIdHighWaterMark":6}'
    # Enabled again, the names of the columns stay.
    table.alter(ds.SetProperty("delta.enableRowTracking", "false"))
    table.alter(ds.SetProperty("delta.enableRowTracking", "true"))
    assert names == [table.properties[key] for key in keys]


def test_rule_11_row_counts_that_statistics_lack_are_read_for_row_ids(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.dataSkippingNumIndexedCols": "0"})
    table.append(pa.table({"id": [1, 2, 3]}))
    log = tmp_path / "t/_delta_log/00000000000000000001.json"
    log.write_text(re.sub(r',"stats":"(?:[^"\\]|\\.)*"', "", log.read_text()))
    (tmp_path / "t/_delta_log/00000000000000000001.crc").unlink()
    table = ds.DeltaTable(tmp_path / "t")
    assert table.snapshot.adds(["stats"])["stats"].to_pylist() == [None]
    table.alter(ds.SetProperty("delta.enableRowTracking", "true"))
    assert table.domains["delta.rowTracking"] == '{"rowIdHighWaterMark":2}'


def test_a_feed_is_not_enabled_over_columns_with_its_names(tmp_path: Path) -> None:
    table = table_of(tmp_path, "_change_type STRING, id INT")
    refuses(InvalidCommit, "_change_type", lambda: table.alter(ds.SetProperty("delta.enableChangeDataFeed", "true")))


def test_rule_67_iceberg_compatibility_is_enabled_before_there_are_files(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, a ARRAY<INT>")
    compatible = ds.SetProperty("delta.enableIcebergCompatV2", "true")
    refuses(InvalidCommit, "icebergCompatV2, which needs column mapping", table.alter, compatible)
    with pytest.raises(UnsupportedFeature, match="metadata of other formats"):
        table.alter(ds.SetProperty("delta.universalFormat.enabledFormats", "iceberg"))
    table.alter(compatible, ds.SetProperty("delta.columnMapping.mode", "name"))
    table.alter(ds.AddColumn("m", "MAP<STRING, INT>"))
    ids = [field.metadata.get("delta.columnMapping.nested.ids") for field in table.schema.fields]
    assert [None if each is None else sorted(each.values()) for each in ids] == [None, [3], [5, 6]]
    assert table.properties["delta.columnMapping.maxColumnId"] == "6"
    table.append(pa.table({"id": [1], "a": pa.array([[1]], pa.list_(pa.int32()))}))
    other = table_of(tmp_path / "other", "id BIGINT", properties={"delta.columnMapping.mode": "name"})
    other.append(pa.table({"id": [1]}))
    refuses(UnsupportedFeature, "data files may lack what Iceberg needs", other.alter, compatible)


def test_the_comment_is_the_description_of_the_table(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    table.alter(ds.SetComment("hello"))
    assert (table.metadata.description, parameters(table)) == ("hello", {"properties": {"comment": "hello"}})
    table.alter(ds.SetProperty("comment", "there"))
    assert (table.metadata.description, table.properties) == ("there", {})
    table.alter(ds.RemoveProperty("comment"))
    assert table.metadata.description is None


def test_rule_64_clustering_columns_are_four_columns_with_bounds(tmp_path: Path) -> None:
    columns = "id BIGINT, name STRING, st STRUCT<a: INT, b: STRING>, flag BOOLEAN, arr ARRAY<INT>, c INT, d INT"
    table = table_of(tmp_path, columns, properties={"delta.dataSkippingNumIndexedCols": "5"})
    table.append(pa.table({"id": [1]}))
    table.alter(ds.ClusterBy("NAME", ("st", "a")))
    domain = '{"clusteringColumns":[["name"],["st","a"]],"domainName":"delta.clustering"}'
    assert table.domains == {"delta.clustering": domain}
    assert parameters(table) == {"oldClusteringColumns": "", "newClusteringColumns": "name,st.a"}
    assert features_of(table.protocol) >= {"clustering", "domainMetadata"}
    table.alter(ds.ClusterBy("id"))
    assert parameters(table) == {"oldClusteringColumns": "name,st.a", "newClusteringColumns": "id"}
    for change, why in (
        (ds.ClusterBy("id", "name", "st.a", "st.b", "flag"), "at most 4"),
        (ds.ClusterBy("id", "ID"), "twice"),
        (ds.ClusterBy("flag"), "type has no bounds"),
        (ds.ClusterBy("arr"), "has no statistics"),
        (ds.ClusterBy("st"), "has no statistics"),
        (ds.ClusterBy("d"), "list it in delta.dataSkippingStatsColumns"),
        (ds.ClusterBy("nope"), "no column nope"),
        (ds.SetProperty("delta.dataSkippingNumIndexedCols", "0"), "clustered by id, because it has no statistics"),
    ):
        refuses(SchemaError, why, table.alter, change)
    table.alter(ds.ClusterBy())
    assert table.domains == {"delta.clustering": '{"clusteringColumns":[],"domainName":"delta.clustering"}'}
    assert "clustering" in features_of(table.protocol)


def test_rule_64_partitioned_tables_are_not_clustered(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, p INT", partition_by=["p"])
    for change in (ds.ClusterBy("id"), ds.ClusterBy()):
        refuses(SchemaError, "is partitioned", table.alter, change)


def test_rule_64_clustering_uses_physical_names(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.columnMapping.mode": "name"})
    table.alter(ds.ClusterBy("id"))
    table.alter(ds.RenameColumn("id", "key"))
    physical = table.schema.fields[0].metadata["delta.columnMapping.physicalName"]
    assert physical in table.domains["delta.clustering"]
    table.alter(ds.ClusterBy())
    assert parameters(table) == {"oldClusteringColumns": "key", "newClusteringColumns": ""}


def test_the_log_is_kept_no_shorter_than_removed_files(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    log, files = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
    refuses(InvalidArgument, "set both in one alter", lambda: table.alter(ds.SetProperty(log, "interval 3 days")))
    table.alter(ds.SetProperty(log, "3 days"), ds.SetProperty(files, "2 days"))
    refuses(InvalidArgument, "cannot be shorter", lambda: table.alter(ds.SetProperty(log, "1 day")))
    # delta-spark checks the other property neither.
    table.alter(ds.SetProperty(files, "4 days"))

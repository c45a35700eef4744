"""CLONE: a table of another one's files, and nothing that is done to one of them reaches the other."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.actions.paths import encode_path
from deltaskip.features.identity_columns import identity_of
from tests.dml.tables import DDL, actions_of, files_below, info_of, rows, rows_of
from tests.each import refuses
from tests.looped import looped
from tests.maintenance.test_restore import Meanwhile
from tests.maintenance.test_vacuum import age, put

EVERYTHING: dict[str, Any] = {
    "delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true",
    "delta.enableInCommitTimestamps": "true", "delta.columnMapping.mode": "name", "delta.checkpointPolicy": "v2",
    "delta.constraints.small": "id < 1000", "foo": "bar",
}  # fmt: skip
PLACES = ["plain", "odd %20 {a} é+#"]


def source_of(folder: Path, partition_by: tuple[str, ...] = (), **properties: str) -> DeltaTable:
    table = DeltaTable.create(folder, DDL, partition_by, properties=properties, comment="of the source", name="source")
    table.append(rows(range(20)))
    table.delete("id % 5 = 1")
    return table


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_a_clone_has_its_rows_and_none_of_its_files(tmp_path: Path, place: str, partition_by: tuple[str, ...]) -> None:
    source = source_of(tmp_path / place, partition_by, **EVERYTHING)
    copy = source.clone(tmp_path / f"copy of {place}", properties={"mine": "1", "foo": "other"})
    assert rows_of(copy) == rows_of(source) and len(rows_of(copy)) == 16
    assert copy.version == 0 and copy.schema == source.schema and copy.partition_columns == source.partition_columns
    assert copy.metadata.id != source.metadata.id
    assert copy.metadata.name is None and copy.metadata.description is None
    assert copy.properties["mine"] == "1" and copy.properties["foo"] == "other"
    assert copy.properties["delta.constraints.small"] == "id < 1000"
    assert copy.protocol == source.protocol
    assert files_below(tmp_path / f"copy of {place}") == set()
    for add in actions_of(copy)["add"]:
        assert add["path"].startswith(f"file:{encode_path(str(tmp_path / place))}/") and add["dataChange"]
        if "deletionVector" in add:
            assert add["deletionVector"]["storageType"] == "p"
            assert add["deletionVector"]["pathOrInlineDv"].startswith(f"file:{encode_path(str(tmp_path / place))}/")


def test_parameters_and_metrics_are_those_of_delta_spark(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t")
    copy = source.clone(tmp_path / "c", user_metadata="why")
    info = info_of(copy)
    assert info["operation"] == "CLONE" and info["userMetadata"] == "why"
    assert info["operationParameters"] == {"source": f"delta.`{source.uri}`", "sourceVersion": "2"}
    size = sum(source.snapshot.adds(["size"])["size"].to_pylist())
    assert info["operationMetrics"] == {
        "sourceTableSize": str(size), "sourceNumOfFiles": "1", "numRemovedFiles": "0", "removedFilesSize": "0",
        "numCopiedFiles": "0", "copiedFilesSize": "0",
    }  # fmt: skip


def test_any_version_can_be_cloned(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t", **EVERYTHING)
    moment = source.history(1)[0].timestamp_ms
    source.delete()
    assert len(rows_of(source.clone(tmp_path / "c1", 1))) == 20
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)
    assert len(rows_of(source.clone(tmp_path / "c2", timestamp=time))) == 16
    assert len(rows_of(source.clone(tmp_path / "c3"))) == 0
    assert len(rows_of(DeltaTable(tmp_path / "t", 1).clone(tmp_path / "c4"))) == 20
    refuses(ds.VersionNotFound, None, source.clone, tmp_path / "c5", 77)
    refuses(ds.InvalidArgument, "not both", source.clone, tmp_path / "c5", 1, "2026-01-01")
    assert not (tmp_path / "c5").exists()


@looped("versions", [(1, 1, ()), (1, 2, ()), (1, 7, ("domainMetadata",)), (1, 7, ()), (2, 5, ())])
def test_a_source_without_the_features_of_new_tables_is_cloned(versions: Any, tmp_path: Path) -> None:
    source = DeltaTable.create(tmp_path / "source", "id BIGINT")
    reader, writer, listed = versions
    commit = tmp_path / "source" / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    protocol = {"minReaderVersion": reader, "minWriterVersion": writer}
    if writer == 7:
        protocol["writerFeatures"] = list(listed)
    commit.write_text("\n".join(json.dumps({"protocol": protocol} if "protocol" in each else each) for each in lines))
    next((tmp_path / "source" / "_delta_log").glob("*.crc")).unlink(missing_ok=True)
    source = DeltaTable(tmp_path / "source")
    source.append([{"id": 1}])
    clone = source.clone(tmp_path / "clone")
    assert clone.protocol == source.protocol
    assert DeltaTable(tmp_path / "clone").scan().to_arrow().to_pylist() == [{"id": 1}]


def test_rule_61_changes_of_the_clone_never_touch_the_source(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t", **EVERYTHING)
    before, files = rows_of(source), files_below(tmp_path / "t")
    copy = source.clone(tmp_path / "c")
    copy.delete("id % 2 = 0")
    copy.append(rows(range(100, 110)))
    copy.overwrite(rows(range(3)), where="id = 3 OR id < 3")
    copy.delete("id > 105")
    age(tmp_path, 30)
    gone = copy.vacuum(0, enforce_retention=False)
    assert gone.num_files > 0 and len(rows_of(copy.refresh())) > 0
    copy.overwrite(rows(range(4)))
    copy.vacuum(0, enforce_retention=False)
    assert files_below(tmp_path / "t") == files and rows_of(DeltaTable(tmp_path / "t")) == before
    assert len(rows_of(copy.refresh())) == 4


def test_rule_61_the_source_does_not_know_its_clones(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t")
    copy = source.clone(tmp_path / "c")
    source.delete()
    source.vacuum(0, enforce_retention=False)
    refuses(Exception, "parquet", rows_of, copy)


def test_rule_70_row_ids_are_new_and_so_are_their_columns(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t", **EVERYTHING)
    source.append(rows(range(100, 105)))
    copy = source.clone(tmp_path / "c")
    for name in ("materializedRowIdColumnName", "materializedRowCommitVersionColumnName"):
        key = f"delta.rowTracking.{name}"
        assert copy.properties[key] != source.properties[key]
    adds = actions_of(copy)["add"]
    assert sorted(add["baseRowId"] for add in adds) in ([0, 5], [0, 20])
    assert {add["defaultRowCommitVersion"] for add in adds} == {0}
    assert json.loads(copy.domains["delta.rowTracking"])["rowIdHighWaterMark"] == 24


def test_in_commit_timestamps_begin_with_the_clone(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t")
    source.alter_sql("SET TBLPROPERTIES (delta.enableInCommitTimestamps = true)")
    assert "delta.inCommitTimestampEnablementVersion" in source.properties
    copy = source.clone(tmp_path / "c")
    assert "delta.inCommitTimestampEnablementVersion" not in copy.properties
    assert copy.in_commit_timestamp is not None
    target = DeltaTable.create(tmp_path / "e", "x INT")
    target = source.clone(tmp_path / "e", replace=True)
    assert target.properties["delta.inCommitTimestampEnablementVersion"] == "1"


def test_protection_of_the_sources_history_is_not_copied(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t", **{"delta.feature.vacuumProtocolCheck": "supported"})
    source.drop_feature("vacuumProtocolCheck")
    assert "checkpointProtection" in (source.protocol.writer_features or ())
    copy = source.clone(tmp_path / "c")
    assert "checkpointProtection" not in (copy.protocol.writer_features or ())
    assert "delta.requireCheckpointProtectionBeforeVersion" not in copy.properties


def test_clustering_is_copied(tmp_path: Path) -> None:
    source = DeltaTable.create(tmp_path / "t", DDL, cluster_by=["id"])
    source.append(rows(range(3)))
    assert source.clone(tmp_path / "c").domains == source.domains


def test_rule_27_identity_columns_go_on_in_the_clone(tmp_path: Path) -> None:
    source = DeltaTable.create(tmp_path / "t", "n BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT")
    for _ in range(2):
        source.append(pa.table({"id": [1, 2]}))
    copy = source.clone(tmp_path / "c", 1)
    copy.append(pa.table({"id": [9]}))
    assert sorted(row["n"] for row in rows_of(copy)) == [1, 2, 3]
    # Over a table the larger mark counts.
    again = source.clone(tmp_path / "c", 2, replace=True)
    found = identity_of(again.schema.fields[0])
    assert found is not None and found.mark == 4
    again = source.clone(tmp_path / "c", 1, replace=True)
    found = identity_of(again.schema.fields[0])
    assert found is not None and found.mark == 4


def test_constraints_hold_in_the_clone_and_new_ones_are_refused(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t", **EVERYTHING)
    copy = source.clone(tmp_path / "c", properties={"delta.constraints.small": "id < 1000"})
    refuses(ds.RowViolation, None, copy.append, rows([2000]))
    for name, text in (("other", "id < 5"), ("small", "id < 5")):
        with pytest.raises(ds.InvalidArgument, match=f"The constraint {name} cannot be set while"):
            source.clone(tmp_path / "d", properties={f"delta.constraints.{name}": text})


def test_properties_that_cannot_be_set_are_refused(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t")
    for properties, message in (
        ({"delta.columnMapping.mode": "name"}, "cannot be changed while"),
        ({"delta.feature.deletionVectors": "maybe"}, "must be 'supported'"),
        ({"delta.nothing": "1"}, "Delta does not define"),
        ({"delta.appendOnly": "perhaps"}, "true or false"),
    ):
        refuses(ValueError, message, source.clone, tmp_path / "c", properties=properties)
        assert not (tmp_path / "c" / "_delta_log").exists()


def test_properties_bring_the_features_that_they_need(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t")
    copy = source.clone(
        tmp_path / "c", properties={"delta.enableDeletionVectors": "true", "delta.feature.v2Checkpoint": "supported"}
    )
    assert {"deletionVectors", "v2Checkpoint"} <= {*(copy.protocol.writer_features or ())}
    copy.delete("id = 2")
    assert "deletionVector" in actions_of(copy)["add"][0]


def test_a_clone_of_a_clone_refers_to_both(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t", **EVERYTHING)
    copy = source.clone(tmp_path / "c")
    copy.append(rows(range(100, 103)))
    copy.delete("id = 2")
    third = copy.clone(tmp_path / "d")
    assert rows_of(third) == rows_of(copy)
    folders = {add["path"].removeprefix(f"file:{tmp_path}").split("/")[1] for add in actions_of(third)["add"]}
    assert folders == {"t", "c"}
    assert files_below(tmp_path / "d") == set()


def test_a_table_that_is_there_is_an_error_or_is_replaced(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t", **EVERYTHING)
    target = DeltaTable.create(
        tmp_path / "c", "id STRING, other INT", properties={"a": "1", "delta.columnMapping.mode": "name"}, name="mine"
    )
    target.append(pa.table({"id": ["x"], "other": pa.array([1], pa.int32())}))
    refuses(ds.TableAlreadyExists, "replace=True", source.clone, tmp_path / "c")
    copy = source.clone(tmp_path / "c", replace=True)
    assert copy.version == 2 and copy.metadata.id == target.metadata.id and copy.metadata.name == "mine"
    assert rows_of(copy) == rows_of(source) and copy.schema.names == source.schema.names
    assert "a" not in copy.properties
    assert info_of(copy)["operationMetrics"]["numRemovedFiles"] == "1"
    assert len(rows_of(DeltaTable(tmp_path / "c", 1))) == 1
    copy.append(rows([500]))
    copy.delete("id = 5")
    again = source.clone(tmp_path / "c", replace=True)
    assert rows_of(again) == rows_of(source)
    same = source.clone(tmp_path / "c", replace=True)
    assert rows_of(same) == rows_of(source) and "add" not in actions_of(same)


def test_an_append_only_table_is_not_replaced(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t")
    target = DeltaTable.create(tmp_path / "c", DDL, properties={"delta.appendOnly": "true"})
    target.append(rows([1]))
    refuses(ds.UnsupportedFeature, "append-only", source.clone, tmp_path / "c", replace=True)


def test_a_clone_in_its_own_place_is_refused(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t")
    refuses(ds.InvalidArgument, "in the same place", source.clone, tmp_path / "t", replace=True)
    (tmp_path / "link").symlink_to(tmp_path)
    refuses(ds.InvalidArgument, "in the same place", source.clone, tmp_path / "link" / "t", replace=True)


def test_another_writer_that_creates_a_table_there_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(tmp_path / "t")
    storage = Meanwhile(lambda: DeltaTable.create(tmp_path / "c", "x INT"))
    monkeypatch.setattr("deltaskip.table.table.open_storage", lambda *_: (storage, str(tmp_path / "c")))
    refuses(ds.TableAlreadyExists, None, source.clone, tmp_path / "c")
    assert DeltaTable(tmp_path / "c").schema.names == ("x",)


def test_a_change_of_the_replaced_table_is_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(tmp_path / "t")
    target = DeltaTable.create(tmp_path / "c", DDL)
    target.append(rows([1]))
    storage: Any = Meanwhile(lambda: target.append(rows([2])))
    monkeypatch.setattr("deltaskip.table.table.open_storage", lambda *_: (storage, str(tmp_path / "c")))
    refuses(ds.CommitConflict, None, source.clone, tmp_path / "c", replace=True)
    assert len(rows_of(DeltaTable(tmp_path / "c"))) == 2


def test_a_clone_that_fails_leaves_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ds.StorageError("The disk is gone.")

    source = source_of(tmp_path / "t")
    monkeypatch.setattr("deltaskip.table.table.open_storage", lambda *_: (Meanwhile(fail), str(tmp_path / "c")))
    refuses(ds.StorageError, "The disk is gone", source.clone, tmp_path / "c")
    refuses(ds.TableNotFound, None, DeltaTable, tmp_path / "c")


def test_a_clone_can_be_restored_altered_and_vacuumed(tmp_path: Path) -> None:
    source = source_of(tmp_path / "t", **EVERYTHING)
    copy = source.clone(tmp_path / "c")
    copy.delete("id = 7")
    copy.alter_sql("RENAME COLUMN x TO y")
    copy.restore(0)
    assert rows_of(copy) == rows_of(source)
    put(tmp_path / "c" / "orphan")
    assert copy.vacuum().files == ["orphan"]
    copy.checkpoint()
    assert rows_of(DeltaTable(tmp_path / "c")) == rows_of(source)

"""RESTORE: rows, metadata and row ids of an earlier version, in one commit."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.actions import DeletionVectorDescriptor
from deltaskip.features.identity_columns import identity_of
from deltaskip.log.deletion_vectors import vector_location
from deltaskip.sparkexpr.types.data_types import SHORT
from deltaskip.storage import LocalStorage
from tests.builder import json_lines, log_file, logged, relog
from tests.dml.tables import DDL, actions_of, files_below, info_of, row_ids_of, rows, rows_of
from tests.each import refuses
from tests.extent import extent

VECTORS: dict[str, Any] = {"delta.enableDeletionVectors": "true"}
TRACKED: dict[str, Any] = {"delta.enableRowTracking": "true"}
FEED: dict[str, Any] = {"delta.enableChangeDataFeed": "true"}


def table_of(folder: Path, partition_by: tuple[str, ...] = (), **properties: str) -> DeltaTable:
    return DeltaTable.create(folder, DDL, partition_by, properties=properties)


def test_rule_62_a_file_that_only_lost_rows_gets_its_old_vector_back(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **VECTORS)
    table.append(rows(range(10)))
    table.delete("id = 1")
    table.delete("id = 2")
    for version, count in ((2, 9), (1, 10), (3, 8)):
        result = table.restore(version)
        assert len(rows_of(table)) == count and result.version == table.version
        assert rows_of(table) == rows_of(DeltaTable(tmp_path / "t", version))
        [add], [remove] = actions_of(table)["add"], actions_of(table)["remove"]
        assert add["path"] == remove["path"] and add["dataChange"] and remove["dataChange"]
        assert add.get("deletionVector") != remove.get("deletionVector")


def test_parameters_and_metrics_are_those_of_delta_spark(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(10)))
    first = actions_of(table)["add"][0]["size"]
    table.overwrite(rows(range(5)))
    second = actions_of(table)["add"][0]["size"]
    result = table.restore(1, user_metadata="why")
    info = info_of(table)
    assert info["operation"] == result.operation == "RESTORE"
    assert info["operationParameters"] == {"version": "1", "timestamp": "null"}
    expected = {
        "numRestoredFiles": 1, "restoredFilesSize": first, "numRemovedFiles": 1, "removedFilesSize": second,
        "numOfFilesAfterRestore": 1, "tableSizeAfterRestore": first,
    }  # fmt: skip
    assert result.metrics == expected
    assert info["operationMetrics"] == {name: str(value) for name, value in expected.items()}
    assert info["userMetadata"] == "why" and info["isBlindAppend"] is False
    assert info["isolationLevel"] == "Serializable" and info["readVersion"] == 2


def test_a_timestamp_chooses_the_version(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    moment = table.history(1)[0].timestamp_ms
    table.delete()
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)
    table.restore(timestamp=time)
    assert len(rows_of(table)) == 3
    assert info_of(table)["operationParameters"] == {"version": "null", "timestamp": str(time)}
    refuses(ds.VersionNotFound, None, table.restore, timestamp="1999-01-01")
    refuses(ds.VersionNotFound, None, table.restore, timestamp="2999-01-01")


def test_the_version_must_be_one_and_there(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    refuses(ds.InvalidArgument, "Specify the version or the timestamp", table.restore)
    refuses(ds.InvalidArgument, "not both", table.restore, 0, "2026-01-01")
    refuses(ds.VersionNotFound, "5", table.restore, 5)


def test_nothing_to_restore_commits_nothing(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    result = table.restore(1)
    assert result.version is None and result.metrics == {} and table.version == 1


def test_as_delta_spark_a_version_with_the_same_files_is_committed(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.vacuum()
    result = table.restore(0)
    assert result.version == 3 and set(actions_of(table)) == {"commitInfo"}
    assert set(result.metrics.values()) == {0}


def test_a_vector_that_another_action_names_by_its_path_is_the_same(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **VECTORS)
    table.append(rows(range(10)))
    table.delete("id = 3")
    path, version = tmp_path / "t", table.version
    [add] = logged(path, version, kind="add")
    location = vector_location(str(path), DeletionVectorDescriptor.from_json(add["deletionVector"]))

    def by_path(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"]["deletionVector"] |= {"storageType": "p", "pathOrInlineDv": f"file://{location}"}

    log_file(path, version + 1).write_text(json_lines([{"add": {**add, "dataChange": False}}]))
    relog(path, by_path, version)
    metrics = DeltaTable(path).restore(version).metrics
    assert metrics["numRestoredFiles"] == metrics["numRemovedFiles"] == 0


def test_schema_and_properties_are_those_of_the_version(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", foo="bar")
    table.append(rows(range(3)))
    table.alter_sql("ADD COLUMN c INT")
    table.alter_sql("SET TBLPROPERTIES (foo = 'other', more = '1')")
    table.append(rows(range(3), c=pa.array([1, 2, 3], pa.int32())))
    table.restore(1)
    assert table.schema.names == ("id", "p", "x", "st")
    assert table.properties == {"foo": "bar"}
    assert len(rows_of(table)) == 3
    table.restore(4)
    assert table.schema.names[-1] == "c" and len(rows_of(table)) == 6


def test_columns_that_were_dropped_or_renamed_come_back(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", ("p",), **{"delta.columnMapping.mode": "name"}, **VECTORS)
    table.append(rows(range(9)))
    before = rows_of(table)
    table.alter_sql("DROP COLUMN x")
    table.alter_sql("RENAME COLUMN id TO number")
    table.alter_sql("ADD COLUMN x STRING")
    highest = int(table.properties["delta.columnMapping.maxColumnId"])
    table.restore(1)
    assert rows_of(table) == before and table.schema.names == ("id", "p", "x", "st")
    # Ids that were given in the meantime are not given again.
    assert int(table.properties["delta.columnMapping.maxColumnId"]) == highest
    table.alter_sql("ADD COLUMN y INT")
    table.append(rows(range(2), y=pa.array([1, 2], pa.int32())))
    assert len(rows_of(table)) == 11


def test_widened_types_are_narrow_again(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id SHORT", properties={"delta.enableTypeWidening": "true"})
    table.append(pa.table({"id": pa.array([1], pa.int16())}))
    table.alter_sql("ALTER COLUMN id TYPE INT")
    table.append(pa.table({"id": pa.array([100_000], pa.int32())}))
    table.restore(1)
    assert table.schema.fields[0].type == SHORT and len(rows_of(table)) == 1
    table.restore(3)
    assert [row["id"] for row in rows_of(table)] == [1, 100_000]


def test_a_constraint_goes_and_comes_back(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.alter_sql("ADD CONSTRAINT few CHECK (id < 5)")
    table.restore(1)
    table.append(rows([9]))
    table.restore(2)
    assert len(rows_of(table)) == 3 and table.properties["delta.constraints.few"] == "id < 5"
    refuses(ds.RowViolation, None, table.append, rows([9]))


def test_rule_62_the_protocol_is_never_lowered(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.add_feature("deletionVectors")
    table.alter_sql("SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    protocol = table.protocol
    table.restore(1)
    assert table.protocol == protocol and "delta.enableDeletionVectors" not in table.properties
    assert "protocol" not in actions_of(table)


def test_features_that_were_dropped_come_back(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **{"delta.feature.vacuumProtocolCheck": "supported"})
    table.append(rows(range(3)))
    table.drop_feature("vacuumProtocolCheck")
    assert "vacuumProtocolCheck" not in (table.protocol.writer_features or ())
    table.restore(1)
    assert "vacuumProtocolCheck" in (table.protocol.writer_features or ())
    assert "vacuumProtocolCheck" in (table.protocol.reader_features or ())


def test_rule_27_identity_columns_go_on_after_the_larger_mark(tmp_path: Path) -> None:
    columns = "n BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT"
    down = "d BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH -1 INCREMENT BY -2)"
    table = DeltaTable.create(tmp_path / "t", f"{columns}, {down}")
    for _ in range(3):
        table.append(pa.table({"id": [1, 2]}))
    table.restore(1)
    found = [identity_of(field) for field in table.schema.fields]
    assert [each.mark for each in found if each is not None] == [6, -11]
    table.append(pa.table({"id": [1, 2]}))
    assert sorted(row["n"] for row in rows_of(table)) == [1, 2, 7, 8]
    assert sorted(row["d"] for row in rows_of(table)) == [-15, -13, -3, -1]


def test_rule_62_rows_keep_their_row_ids_and_the_mark_stays(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **VECTORS, **TRACKED)
    table.append(rows(range(10)))
    before = ids(table)
    table.delete("id = 3")
    table.append(rows(range(5)))
    table.overwrite(rows(range(2)))
    mark = table.domains["delta.rowTracking"]
    table.restore(1)
    assert ids(table) == before and table.domains["delta.rowTracking"] == mark
    assert "domainMetadata" not in actions_of(table)
    table.append(rows([1]))
    assert max(first for _, first, _ in ids(table)) == 17


def ids(table: DeltaTable) -> list[tuple[Any, ...]]:
    columns = ["path", "base_row_id", "default_row_commit_version"]
    return sorted(tuple(row.values()) for row in table.snapshot.adds(columns).to_pylist())


def test_row_tracking_that_began_later_goes_on(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.delete()
    table.alter_sql("SET TBLPROPERTIES (delta.enableRowTracking = true)")
    name = table.properties["delta.rowTracking.materializedRowIdColumnName"]
    table.append(rows(range(2)))
    table.restore(1)
    assert table.properties["delta.rowTracking.materializedRowIdColumnName"] == name
    assert [first for _, first, _ in ids(table)] == [2]


def test_rule_62_clustering_is_that_of_the_version(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, cluster_by=["id"])
    table.append(rows(range(3)))
    clustered = table.domains["delta.clustering"]
    table.alter_sql("CLUSTER BY (x)")
    table.alter_sql("CLUSTER BY NONE")
    table.restore(1)
    assert table.domains["delta.clustering"] == clustered
    table.restore(3)
    assert '"clusteringColumns":[]' in table.domains["delta.clustering"]


def test_metadata_of_applications_stays(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **{"delta.feature.domainMetadata": "supported"})
    table.append(rows(range(2)), txn=("app", 7))
    with table.transaction() as txn:
        txn.set_domain("mine", "{}")
    table.refresh()
    table.restore(0)
    assert table.domains == {"mine": "{}"} and table.app_versions == {"app": 7}


def test_rule_4_in_commit_timestamps_go_on(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.alter_sql("SET TBLPROPERTIES (delta.enableInCommitTimestamps = true)")
    since = table.properties["delta.inCommitTimestampEnablementVersion"]
    before = table.in_commit_timestamp
    table.delete()
    table.restore(1)
    assert table.properties["delta.inCommitTimestampEnablementVersion"] == since
    assert before is not None and (table.in_commit_timestamp or 0) > before
    times = [entry.timestamp_ms for entry in table.history()]
    assert times == sorted(times, reverse=True)


def test_the_feed_is_told_by_the_actions(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **FEED, **VECTORS)
    table.append(rows(range(10)))
    table.delete("id < 3")
    table.append(rows([50]))
    table.restore(1)
    actions = actions_of(table)
    assert "cdc" not in actions and all(each["dataChange"] for each in actions["add"] + actions["remove"])


def test_vectors_come_back_where_no_new_ones_are_made(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **VECTORS)
    table.append(rows(range(10)))
    table.delete("id < 3")
    table.alter_sql("SET TBLPROPERTIES (delta.enableDeletionVectors = false)")
    table.overwrite(rows(range(2)))
    table.restore(3)
    assert len(rows_of(table)) == 7


def test_missing_files_are_named_before_anything_happens(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **VECTORS)
    for i in range(3):
        table.append(rows(range(i * 10, i * 10 + 10)))
    table.delete("id = 5")
    every = files_below(tmp_path / "t")
    table.delete()
    data = sorted(name for name in every if name.endswith("parquet"))
    [vector] = every - {*data}
    (tmp_path / "t" / data[0]).unlink()
    refuses(ds.DataFileMissing, rf"(?s)Version 3 of .* 1 of its files .* {data[0]}\. A VACUUM", table.restore, 3)
    (tmp_path / "t" / vector).unlink()
    with pytest.raises(ds.DataFileMissing, match="2 of its files") as caught:
        table.restore(4, dry_run=True)
    assert vector in str(caught.value) and table.version == 5
    table.restore(3, check_files=False)
    assert len(table.snapshot.adds(["path"])) == 3


def test_only_files_that_come_back_are_looked_up(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.append(rows(range(3)))
    [stays] = [add["path"] for add in actions_of(table, 1)["add"]]
    (tmp_path / "t" / stays).unlink()
    table.restore(1)
    assert table.version == 3


def test_an_append_only_table_loses_no_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.alter_sql("SET TBLPROPERTIES (delta.appendOnly = true)")
    table.append(rows(range(3)))
    refuses(ds.UnsupportedFeature, "append-only", table.restore, 1)
    table.alter_sql("SET TBLPROPERTIES (delta.appendOnly = false)")
    table.restore(2)
    assert len(rows_of(table)) == 3 and table.properties["delta.appendOnly"] == "true"


def test_a_dry_run_counts_and_commits_nothing(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.delete()
    result = table.restore(1, dry_run=True)
    assert result.version is None and result.metrics["numRestoredFiles"] == 1 and table.version == 2


class Meanwhile(LocalStorage):
    """Storage in which another writer commits before the first commit."""

    def __init__(self, act: Any) -> None:
        super().__init__()
        self.act = act

    def put_if_absent(self, path: str, data: bytes, *after: Any) -> None:
        act, self.act = self.act, None
        if act is not None:
            act()
        super().put_if_absent(path, data, *after)


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("properties", [{}, VECTORS])
@pytest.mark.parametrize("what", ["append", "delete", "schema"])
def test_changes_of_rows_meanwhile_conflict(tmp_path: Path, what: str, properties: dict[str, str], same: bool) -> None:
    """Also if the table has the files of the version already, so that there is nothing to add or remove."""
    table = table_of(tmp_path / "t", **properties)
    table.append(rows(range(3)))
    table.delete("id = 2")
    if same:
        table.restore(1)
    other = DeltaTable(tmp_path / "t")
    act = {
        "append": lambda: other.append(rows([7])), "delete": lambda: other.delete("id = 1"),
        "schema": lambda: other.alter_sql("ADD COLUMN c INT"),
    }[what]  # fmt: skip
    table.snapshot.storage = Meanwhile(act)
    refuses(ds.CommitConflict, None, table.restore, 1)
    assert DeltaTable(tmp_path / "t").version == table.version + 1


def test_a_vacuum_meanwhile_is_none(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.delete("id = 1")
    table.snapshot.storage = Meanwhile(lambda: DeltaTable(tmp_path / "t").vacuum())
    assert table.restore(1).version == 5
    assert len(rows_of(table)) == 3


def test_a_commit_that_fails_changes_nothing(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    table.append(rows(range(3)))
    table.delete()

    def fail() -> None:
        raise ds.StorageError("The disk is gone.")

    table.snapshot.storage = Meanwhile(fail)
    refuses(ds.StorageError, "The disk is gone", table.restore, 1)
    assert DeltaTable(tmp_path / "t").version == 2
    assert DeltaTable(tmp_path / "t").restore(1).version == 3


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("seed", extent((2, 7), range(8)))
def test_every_version_of_a_random_history_can_be_restored(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    properties: list[dict[str, str]] = [
        {}, VECTORS, {**VECTORS, **TRACKED, **FEED}, {"delta.columnMapping.mode": "name", **VECTORS, **TRACKED},
    ]  # fmt: skip
    table = table_of(tmp_path / "t", ((), ("p",))[seed // 4], **properties[seed % 4])
    expected = {0: ([], table.schema.names)}
    for step in range(25):
        match chance.choice(["append", "delete", "delete", "restore", "restore", "alter"]):
            case "append":
                table.append(rows([chance.randrange(60) for _ in range(15)]))
            case "delete":
                table.delete(f"id % 7 = {chance.randrange(7)}")
            case "alter":
                table.alter_sql(f"ADD COLUMN c{step} INT")
            case _:
                version = chance.choice(list(expected))
                table.restore(version)
                assert (rows_of(table), table.schema.names) == expected[version]
        expected[table.version] = rows_of(table), table.schema.names
    table.checkpoint()
    for version, (found, _) in expected.items():
        assert rows_of(DeltaTable(tmp_path / "t", version)) == found


def test_a_version_from_before_row_tracking_was_dropped_is_refused_and_can_be_cloned(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **TRACKED)
    table.append(rows(range(4)))
    table.update({"x": "-1"}, "id = 2")
    before = rows_of(table)
    table.drop_feature("rowTracking")
    dropped = table.version
    table.append(rows(range(10, 12)))
    for version in (1, 2):
        refuses(ds.UnsupportedFeature, r"rowTracking was dropped after it: clone that version", table.restore, version)
    assert table.version == dropped + 1 and len(rows_of(table)) == 6
    table.restore(dropped)
    assert rows_of(table) == before
    clone = table.clone(tmp_path / "clone", version=2)
    assert rows_of(DeltaTable(tmp_path / "clone")) == before and clone is not None
    assert sorted(row_id for row_id, _ in row_ids_of(DeltaTable(tmp_path / "clone")).values()) == [0, 1, 2, 3]

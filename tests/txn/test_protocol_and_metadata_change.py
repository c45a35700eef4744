"""Protocols and metadata that a transaction may not set: features lost or half listed, rules that old files break."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.actions import DomainMetadata, Protocol
from deltaskip.errors import CommitConflict, DeltaSkipError, InvalidCommit, UnsupportedFeature
from deltaskip.sparkexpr import types as t
from deltaskip.txn.transaction import Transaction
from tests.builder import logged
from tests.txn.tables import SCHEMA, actions, append, file, gone, make_table, vector

pytestmark = pytest.mark.usefixtures("without_look_ups")

ICT = "delta.enableInCommitTimestamps"


def change(
    txn: Transaction,
    properties: Mapping[str, str] | None = None,
    schema: t.StructType | None = None,
    partition_by: Sequence[str] | None = None,
) -> None:
    """Set the metadata with these properties beside those that are there."""
    old = txn.snapshot.metadata
    txn.set_metadata(
        replace(
            old,
            configuration={**old.configuration, **(properties or {})},
            schema_string=old.schema_string if schema is None else t.schema_to_json(schema),
            partition_columns=old.partition_columns if partition_by is None else tuple(partition_by),
        )
    )


def refused(txn: Transaction, error: type[DeltaSkipError], match: str) -> None:
    """Committing raises, and nothing is written."""
    with pytest.raises(error, match=match) as raised:
        txn.commit()
    assert txn.snapshot.root in str(raised.value)
    assert ds.DeltaTable(txn.snapshot.root).version == txn.snapshot.version


@pytest.mark.parametrize(
    ("version", "listed", "lost"),
    [(2, (), "appendOnly, invariants"), (3, ("appendOnly", "invariants"), "checkConstraints")],
)
def test_a_protocol_with_features_lists_those_of_the_plain_version(
    tmp_path: Path, version: int, listed: tuple[str, ...], lost: str
) -> None:
    table = make_table(tmp_path / "t", protocol={"minReaderVersion": 1, "minWriterVersion": version})
    txn = table.transaction()
    txn.set_protocol(Protocol(1, 7, None, listed))
    refused(txn, UnsupportedFeature, f"cannot drop the table feature {lost}")
    txn.set_protocol(Protocol(1, 7, None, (*listed, *lost.split(", "))))
    assert txn.commit() == 1


@pytest.mark.parametrize(
    ("protocol", "says"),
    [
        (Protocol(3, 7, ("deletionVectors",), ("appendOnly", "invariants")), "deletionVectors .* writerFeatures"),
        (Protocol(3, 7, (), ("appendOnly", "invariants", "v2Checkpoint")), "v2Checkpoint .* readerFeatures"),
        (Protocol(1, 7, None, ("appendOnly", "invariants", "deletionVectors")), "deletionVectors .* readerFeatures"),
        (Protocol(1, 7, None, None), "lists no writerFeatures"),
        (Protocol(1, 4, None, ("appendOnly", "invariants", "checkConstraints")), "writer version 7"),
        (Protocol(1, 7, None, ("appendOnly", "invariants", "rowTracking")), "rowTracking needs domainMetadata"),
        (Protocol(1, 7, None, ("appendOnly", "invariants", "clustering")), "clustering needs domainMetadata"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused(tmp_path: Path, protocol: Protocol, says: str) -> None:
    txn = make_table(tmp_path / "t").transaction()
    txn.set_protocol(protocol)
    refused(txn, InvalidCommit, says)


def test_what_is_wrong_with_a_protocol_already_stops_no_other_feature(tmp_path: Path) -> None:
    listed = ["vacuumProtocolCheck", "rowTracking"]
    wrong = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": listed}
    txn = make_table(tmp_path / "t", protocol=wrong).transaction()
    txn.set_protocol(Protocol(3, 7, (), (*listed, "appendOnly")))
    assert txn.commit() == 1


PROPERTIES = {
    "delta.enableDeletionVectors": ("true", "deletionVectors"),
    "delta.enableChangeDataFeed": ("true", "changeDataFeed"),
    "delta.enableRowTracking": ("true", "rowTracking"),
    ICT: ("true", "inCommitTimestamp"),
    "delta.enableTypeWidening": ("true", "typeWidening"),
    "delta.checkpointPolicy": ("v2", "v2Checkpoint"),
    "delta.constraints.positive": ("id > 0", "checkConstraints"),
    "delta.columnMapping.mode": ("name", "columnMapping"),
    "delta.requireCheckpointProtectionBeforeVersion": ("3", "checkpointProtection"),
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_that_uses_a_feature_needs_it(tmp_path: Path, name: str) -> None:
    value, feature = PROPERTIES[name]
    txn = make_table(tmp_path / "t").transaction()
    change(txn, {name: value})
    refused(txn, InvalidCommit, f"needs the table feature {feature}")


def test_an_append_only_table_needs_the_feature(tmp_path: Path) -> None:
    txn = make_table(tmp_path / "t", features=["domainMetadata"]).transaction()
    change(txn, {"delta.appendOnly": "true"})
    refused(txn, InvalidCommit, "needs the table feature appendOnly")


@pytest.mark.parametrize(
    ("column", "feature"),
    [
        (t.StructField("more", t.TIMESTAMP_NTZ), "timestampNtz"),
        (t.StructField("more", t.StructType((t.StructField("x", t.VARIANT),))), "variantType"),
        (t.StructField("more", t.LONG, True, {"delta.generationExpression": "id + 1"}), "generatedColumns"),
        (t.StructField("more", t.LONG, True, {"delta.identity.start": 1}), "identityColumns"),
        (t.StructField("more", t.LONG, True, {"CURRENT_DEFAULT": "5"}), "allowColumnDefaults"),
        (t.StructField("more", t.STRING, True, {"__COLLATIONS": {"more": "icu.UNICODE_CI"}}), "collations"),
    ],
)
def test_a_column_that_uses_a_feature_needs_it(tmp_path: Path, column: t.StructField, feature: str) -> None:
    txn = make_table(tmp_path / "t").transaction()
    change(txn, schema=t.StructType((*SCHEMA.fields, column)))
    refused(txn, InvalidCommit, f"needs the table feature {feature}")


def test_what_the_table_uses_already_without_its_feature_stops_nothing(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"delta.enableRowTracking": "true"})
    txn = table.transaction()
    change(txn, {"x": "y"})
    assert txn.commit() == 1


def with_field(name: str, field: t.StructField) -> t.StructType:
    """The usual schema with one column replaced."""
    return t.StructType(tuple(field if each.name == name else each for each in SCHEMA.fields))


INVARIANT = '{"expression":{"expression":"id > 0"}}'

NEEDS_NO_FILES: dict[str, tuple[Callable[[Transaction], None], str]] = {
    "constraint": (lambda txn: change(txn, {"delta.constraints.positive": "id > 0"}), r"constraint positive"),
    "invariant": (lambda txn: change(txn, schema=with_field("id", t.StructField("id", t.LONG, True,
        {"delta.invariants": INVARIANT}))), r"delta\.invariants of the column id"),
    "not null": (lambda txn: change(txn, schema=with_field("id", t.StructField("id", t.LONG, False))),
        "id to NOT NULL"),
    "new not null": (lambda txn: change(txn, schema=t.StructType((*SCHEMA.fields, t.StructField("more", t.LONG,
        False)))), "more to NOT NULL"),
    "generated": (lambda txn: change(txn, schema=with_field("id", t.StructField("id", t.LONG, True,
        {"delta.generationExpression": "CAST(part AS BIGINT)"}))), r"delta\.generationExpression of the column id"),
    "partitioning": (lambda txn: change(txn, partition_by=["part"]), "partition columns"),
    "type": (lambda txn: change(txn, schema=with_field("part", t.StructField("part", t.STRING))), "type of the column"),
    "dropped": (lambda txn: change(txn, schema=t.StructType(SCHEMA.fields[:2])), "drops the column part"),
    "narrower": (lambda txn: change(txn, schema=with_field("id", t.StructField("id", t.INTEGER))),
        "type of the column id"),
}  # fmt: skip


@pytest.mark.parametrize("case", NEEDS_NO_FILES)
def test_rules_that_old_files_may_break_need_a_table_without_files(tmp_path: Path, case: str) -> None:
    act, says = NEEDS_NO_FILES[case]
    features = ["checkConstraints", "invariants", "generatedColumns", "domainMetadata"]
    table = make_table(tmp_path / "t", features=features)
    append(table, file("a"))
    txn = table.refresh().transaction()
    act(txn)
    refused(txn, InvalidCommit, f"{says}.* files of version 1")
    overwrite = table.transaction()
    act(overwrite)
    overwrite.remove(gone("a"))
    late = table.transaction()
    act(late)
    late.remove(gone("a"))
    append(table, file("b"))
    for each in (overwrite, late):
        with pytest.raises(CommitConflict, match="added b") as raised:
            each.commit()
        assert raised.value.kind == "append"
    again = table.refresh().transaction()
    act(again)
    again.remove(gone("a"), gone("b"))
    assert again.commit() == 3


def test_the_expression_of_a_generated_column_changes_with_the_names_of_its_columns_alone(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "t",
        "a STRUCT<x: INT>, b INT, g INT GENERATED ALWAYS AS (a.x + b)",
        properties={"delta.columnMapping.mode": "name"},
    )
    rows = pa.schema([("a", pa.struct([("x", pa.int32())])), ("b", pa.int32())])
    table.append(pa.Table.from_pylist([{"a": {"x": 1}, "b": 2}], rows))
    a, b, g = table.schema.fields

    def schema(name: str, text: str) -> t.StructType:
        generated = replace(g, metadata={**g.metadata, "delta.generationExpression": text})
        return t.StructType((a, replace(b, name=name), generated))

    for name, text in (("c", "a.x + a.x"), ("c", "c + a.x"), ("c", "a.x - c"), ("b", "a.x + b + 0")):
        txn = table.refresh().transaction()
        change(txn, schema=schema(name, text))
        refused(txn, InvalidCommit, r"delta\.generationExpression of the column g.* files of version 1")
    txn = table.refresh().transaction()
    change(txn, schema=schema("c", "`a`.x + C"))
    assert txn.commit() == 2


def test_a_file_that_is_removed_and_added_again_is_still_there(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"delta.enableDeletionVectors": "true"}, ["deletionVectors", "checkConstraints"])
    append(table, file("a", deletion_vector=vector("1")))
    txn = table.refresh().transaction()
    change(txn, {"delta.constraints.positive": "id > 0"})
    txn.remove(gone("a", deletion_vector=vector("1"), data_change=False))
    txn.add(file("a", deletion_vector=vector("2"), data_change=False))
    refused(txn, InvalidCommit, "constraint positive.* files of version 1")


def test_a_type_may_widen_where_the_column_says_so(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"delta.enableTypeWidening": "true"}, ["typeWidening"])
    append(table, file("a"))
    txn = table.refresh().transaction()
    widened = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    change(txn, schema=with_field("part", t.StructField("part", t.LONG, True, widened)))
    assert txn.commit() == 2


def mapped(ids: Mapping[str, int], **physical: str) -> t.StructType:
    """Columns with these ids."""
    return t.StructType(
        tuple(
            t.StructField(
                name,
                t.LONG,
                True,
                {"delta.columnMapping.id": i, "delta.columnMapping.physicalName": physical.get(name, f"col-{name}")},
            )
            for name, i in ids.items()
        )
    )


def test_column_mapping_keeps_names_and_counts_its_ids(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    table = make_table(tmp_path / "t", properties, ["columnMapping"], mapped({"id": 1, "part": 2}))
    append(table, file("a"))
    highest = "delta.columnMapping.maxColumnId"
    cases: list[tuple[dict[str, str], t.StructType, str]] = [
        ({}, mapped({"id": 1, "part": 2, "more": 3}), "maxColumnId"),
        ({highest: "1"}, mapped({"id": 1}), "maxColumnId"),
        ({highest: "3"}, mapped({"id": 1, "part": 2, "more": 2}), "column id 2 twice"),
        ({highest: "3"}, mapped({"id": 1, "part": 2, "more": 3}, more="col-id"), "physical name col-id twice"),
        ({}, mapped({"id": 1, "part": 2}, id="col-x"), "physical name of the column id.* files of version 1"),
        ({"delta.columnMapping.mode": "id"}, mapped({"id": 1, "part": 2}), "column mapping mode.* files of version 1"),
    ]
    for more, schema, says in cases:
        txn = table.refresh().transaction()
        change(txn, more, schema)
        refused(txn, InvalidCommit, says)
    renamed = table.transaction(operation="RENAME COLUMN")
    change(renamed, {highest: "3"}, mapped({"id": 1, "other": 2, "more": 3}, other="col-part"))
    assert renamed.commit() == 2


def test_mapping_by_name_begins_with_the_names_that_the_files_have(tmp_path: Path) -> None:
    schema = t.StructType((t.StructField("id", t.LONG), t.StructField("part", t.LONG)))
    table = make_table(tmp_path / "t", features=["columnMapping"], schema=schema)
    append(table, file("a"))
    mode = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    txn = table.refresh().transaction()
    change(txn, mode, mapped({"id": 1, "part": 2}))
    refused(txn, InvalidCommit, "physical name of the column id")
    txn = table.transaction()
    change(txn, mode, mapped({"id": 1, "part": 2}, id="id", part="part"))
    assert txn.commit() == 2


MATERIALIZED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-1",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version-1",
}


def test_row_tracking_is_enabled_where_every_file_has_row_ids(tmp_path: Path) -> None:
    old = [{"add": file("a").to_json()}, {"add": file("b").to_json()}]
    table = make_table(tmp_path / "t", {}, ["rowTracking", "domainMetadata"], actions=old)
    txn = table.transaction()
    change(txn, {"delta.enableRowTracking": "true"})
    refused(txn, InvalidCommit, "materializedRowIdColumnName")
    change(txn, {**MATERIALIZED, "delta.rowTracking.materializedRowIdColumnName": "id"})
    refused(txn, InvalidCommit, "materializedRowIdColumnName")
    change(txn, {**MATERIALIZED, "delta.rowTrackingSuspended": "true"})
    refused(txn, InvalidCommit, "rowTrackingSuspended")
    change(txn, MATERIALIZED)
    txn.add(file("a", data_change=False))
    refused(txn, InvalidCommit, "b has no row ids")
    txn.add(file("b", data_change=False))
    assert txn.commit() == 1
    assert [add["baseRowId"] for add in actions(tmp_path / "t", 1, "add")] == [0, 10]


def test_a_commit_says_whether_rows_kept_their_ids(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {}, ["rowTracking", "domainMetadata"])
    append(table, file("a"), file("b"))
    append(table, file("c"))
    txn = table.refresh().transaction()
    txn.remove(gone("a"), gone("b"))
    txn.commit()
    txn = table.refresh().transaction()
    txn.remove(gone("c"))
    txn.add(file("d"))
    txn.commit()
    tags = [logged(tmp_path / "t", version)[0]["commitInfo"]["tags"] for version in (1, 2, 3, 4)]
    assert [tag["delta.rowTracking.preserved"] for tag in tags] == ["true", "true", "true", "false"]


def test_old_rows_in_new_files_obey_rules_of_files(tmp_path: Path) -> None:
    old = [{"add": file("a").to_json()}]
    table = make_table(tmp_path / "t", features=["materializePartitionColumns"], actions=old)
    txn = table.transaction(operation="OPTIMIZE")
    txn.remove(gone("a", data_change=False))
    txn.add(file("b", data_change=False))
    refused(txn, UnsupportedFeature, "materializePartitionColumns, whose requirements for new files")


def test_files_that_came_before_row_ids_were_asked_for_stop_enabling_them(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", features=["domainMetadata"])
    txn = table.transaction()
    txn.set_protocol(Protocol(3, 7, (), ("domainMetadata", "rowTracking")))
    change(txn, MATERIALIZED)
    append(table, file("late"))
    with pytest.raises(CommitConflict, match="added late"):
        txn.commit()


def test_row_ids_above_the_mark_are_not_taken_from_callers(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {}, ["rowTracking", "domainMetadata"])
    append(table, file("a"))
    txn = table.refresh().transaction()
    txn.add(file("b", base_row_id=5, default_row_commit_version=1))
    refused(txn, InvalidCommit, "ids 5 to 14")
    restored = table.transaction()
    restored.remove(gone("a"))
    assert restored.commit() == 2
    [remove] = actions(tmp_path / "t", 2, "remove")
    assert (remove["baseRowId"], remove["defaultRowCommitVersion"]) == (0, 1)
    back = table.refresh().transaction(operation="RESTORE")
    back.add(file("a", base_row_id=0, default_row_commit_version=1))
    assert back.commit() == 3
    [add] = actions(tmp_path / "t", 3, "add")
    assert (add["baseRowId"], add["defaultRowCommitVersion"]) == (0, 1)


def test_metadata_keeps_since_when_there_are_in_commit_timestamps(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {}, ["inCommitTimestamp"])
    txn = table.transaction()
    change(txn, {ICT: "true"})
    txn.commit()
    since = {name: value for name, value in table.refresh().properties.items() if "Enablement" in name}
    assert len(since) == 2
    txn = table.transaction()
    txn.set_metadata(replace(table.metadata, configuration={ICT: "true", "x": "y"}))
    txn.commit()
    assert dict(table.refresh().properties) == {ICT: "true", "x": "y", **since}


def test_the_first_in_commit_timestamp_is_after_the_commits_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path / "t", {}, ["inCommitTimestamp"])
    before = (tmp_path / "t" / "_delta_log" / f"{0:020d}.json").stat().st_mtime_ns // 1_000_000
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000)
    txn = table.transaction()
    change(txn, {ICT: "true"})
    txn.commit()
    assert logged(tmp_path / "t", 1)[0]["commitInfo"]["inCommitTimestamp"] == before + 1


def cluster(txn: Transaction, configuration: str) -> None:
    """Set the domain as an operation of the package would: users cannot."""
    txn.changes.domains["delta.clustering"] = DomainMetadata("delta.clustering", configuration)


def test_clustering_is_by_columns_of_an_unpartitioned_table(tmp_path: Path) -> None:
    def clustered(*columns: Any) -> str:
        return json.dumps({"clusteringColumns": [list(column) for column in columns]})

    table = make_table(tmp_path / "t", features=["domainMetadata"])
    txn = table.transaction()
    cluster(txn, clustered(["id"]))
    refused(txn, UnsupportedFeature, "clustering")
    features = ["domainMetadata", "clustering"]
    table = make_table(tmp_path / "u", features=features)
    for configuration in (clustered(["nowhere"]), "nonsense", "{}"):
        txn = table.transaction()
        cluster(txn, configuration)
        refused(txn, InvalidCommit, r"delta\.clustering")
    txn = table.transaction()
    cluster(txn, clustered(["id"]))
    assert txn.commit() == 1
    parted = make_table(tmp_path / "v", features=features, partition_by=["part"]).transaction()
    cluster(parted, clustered(["id"]))
    refused(parted, InvalidCommit, "partitioned")

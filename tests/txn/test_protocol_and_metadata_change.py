"""Protocols and metadata that a transaction may not set: features lost or half listed, rules that old files break."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.actions import Protocol
from deltaskip.errors import CommitConflict, DeltaSkipError, InvalidCommit, UnsupportedFeature
from deltaskip.sparkexpr import types as t
from deltaskip.txn.transaction import Transaction
from tests.builder import logged
from tests.txn.tables import SCHEMA, actions, append, file, gone, make_table

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


def test_the_first_in_commit_timestamp_is_after_all_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", {}, ["inCommitTimestamp"])
    before = (tmp_path / "t" / "_delta_log" / f"{0:020d}.json").stat().st_mtime_ns // 1_000_000
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000)
    txn = table.transaction()
    change(txn, {ICT: "true"})
    txn.commit()
    assert logged(tmp_path / "t", 1)[0]["commitInfo"]["inCommitTimestamp"] == before + 1

"""What a malformed table property stops: whatever reads it, in every module alike, and nothing else."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.errors import InvalidCommit, SchemaError
from deltaskip.stats import compute
from tests.each import refuses
from tests.looped import looped
from tests.txn.tables import SCHEMA, actions, append, file, gone, make_table

pytestmark = pytest.mark.usefixtures("without_look_ups")

ICT = "delta.enableInCommitTimestamps"
FEED = "delta.enableChangeDataFeed"
VECTORS = "delta.enableDeletionVectors"
AS_JSON = "delta.checkpoint.writeStatsAsJson"


def rewrite(table: ds.DeltaTable) -> int:
    txn = table.transaction()
    txn.remove(gone("old"))
    txn.add(file("new"))
    return txn.commit()


def computed(table: ds.DeltaTable) -> object:
    return compute([], SCHEMA, properties=table.properties)


# Each of these parsed the property by itself, some without letter case, some with surrounding whitespace.
READERS: list[tuple[str, Callable[[ds.DeltaTable], object]]] = [
    (ICT, lambda table: table.in_commit_timestamp),
    (ICT, lambda table: table.history()),
    (ICT, lambda table: append(table, file("new"))),
    (FEED, rewrite),
    (VECTORS, computed),
    (AS_JSON, lambda table: table.checkpoint()),
]
IDS = ["in_commit_timestamp", "history", "append", "rewrite", "compute", "checkpoint"]


def table_with(path: Path, name: str, text: str) -> ds.DeltaTable:
    return make_table(path, {name: text}, ["changeDataFeed", "deletionVectors", "inCommitTimestamp"])


@looped("text", ["true ", " TRUE", "yes", ""])
@looped("name, reader", READERS)
def test_every_reader_refuses_the_booleans_that_delta_spark_refuses(
    tmp_path: Path, name: str, reader: Callable[[ds.DeltaTable], object], text: str
) -> None:
    table = table_with(tmp_path, name, text)
    refuses(SchemaError, rf"{name} (of .* )?is {text!r}; set it to true or false", reader, table)


@looped("text", ["false", "FALSE"])
@looped("name, reader", READERS[:-1])
def test_every_reader_takes_booleans_in_any_letter_case(
    tmp_path: Path, name: str, reader: Callable[[ds.DeltaTable], object], text: str
) -> None:
    if name == FEED:
        table = make_table(tmp_path, {name: text}, ["changeDataFeed"])
        append(table, file("old"))
        assert rewrite(table.refresh()) == 2
    else:
        reader(table_with(tmp_path, name, text))


@pytest.mark.parametrize("name", [ICT, FEED, VECTORS, AS_JSON, "delta.checkpointPolicy", "delta.logRetentionDuration"])
def test_a_table_is_read_whatever_its_properties_hold(tmp_path: Path, name: str) -> None:
    make_table(tmp_path, {name: "maybe"}, ["changeDataFeed", "deletionVectors", "inCommitTimestamp", "v2Checkpoint"])
    table = ds.DeltaTable(tmp_path)
    assert table.properties == {name: "maybe"}
    assert len(table.scan().files()) == 0


def test_a_metadata_action_with_a_malformed_property_is_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path, {}, ["changeDataFeed"])
    txn = table.transaction()
    txn.set_metadata(replace(table.metadata, configuration={FEED: "on"}))
    refuses(InvalidCommit, rf"{FEED} is 'on'; set it to true or false", txn.commit)
    assert actions(tmp_path, 0, "metaData")[0]["configuration"] == {}


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        (FEED, "changeDataFeed"),
        (VECTORS, "deletionVectors"),
        (ICT, "inCommitTimestamp"),
        ("delta.appendOnly", "appendOnly"),
        ("delta.checkpointPolicy", "v2Checkpoint"),
        ("delta.enableIcebergCompatV2", "icebergCompatV2"),
    ],
)
def test_a_transaction_can_correct_a_malformed_property(tmp_path: Path, name: str, feature: str) -> None:
    table = make_table(tmp_path, {name: "on"}, [feature])
    corrected = {name: "classic" if "Policy" in name else "true" if name == ICT else "FALSE"}
    txn = table.transaction()
    txn.set_metadata(replace(table.metadata, configuration=corrected))
    assert txn.commit() == 1
    assert corrected.items() <= table.refresh().properties.items()
    assert append(table, file("a")) == 2

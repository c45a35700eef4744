"""Protocols that no commit may set, and features that metadata uses and the protocol lacks."""

from pathlib import Path
from typing import Any

import pytest

from deltaskip.actions import Protocol
from deltaskip.catalogs.unity.commits import NewLog
from deltaskip.errors import InvalidCommit, UnsupportedFeature
from deltaskip.features import FEATURES, has_feature
from deltaskip.log import load_snapshot
from deltaskip.sparkexpr.types import STRING, TIMESTAMP_NTZ, VARIANT, StructField, StructType
from deltaskip.sparkexpr.types.data_types import ArrayType, MapType
from deltaskip.storage import CatalogStorage, LocalStorage
from deltaskip.table.creation import TableDefinition, creation
from tests.looped import looped
from tests.txn.tables import SCHEMA, make_table
from tests.txn.validation.cases import Case, changed, check, check_each, column, features

OLD = ("appendOnly", "invariants")

CASES = {
    "upgrade": Case(features(*OLD)),
    "upgrade of writers only": Case(features(*OLD, reader=None, versions=(1, 7))),
    "reader 2 with mapping of writers": Case(features(*OLD, "columnMapping", reader=None, versions=(2, 7))),
    "reader features below version 3": Case(features(*OLD, versions=(1, 7)), "protocol.versions", "readerFeatures"),
    "reader features at version 2": Case(features(*OLD, "columnMapping", reader=["columnMapping"], versions=(2, 7)),
        "protocol.versions"),
    "writer features below version 7": Case(features(*OLD, reader=None, versions=(1, 6)), "protocol.versions"),
    "empty lists below version 7": Case(features(reader=None, versions=(1, 4)), "protocol.versions"),
    "reader 3 without writer 7": Case(lambda txn: txn.set_protocol(Protocol(3, 6, (), None)), "protocol.versions",
        "writer version 7"),
    "no reader features": Case(features(*OLD, reader=None), "protocol.versions", "lists no readerFeatures"),
    "no writer features": Case(lambda txn: txn.set_protocol(Protocol(1, 7)), "protocol.versions", "no writerFeatures"),
    "reader version 0": Case(lambda txn: txn.set_protocol(Protocol(0, 2)), "protocol.versions"),
    "reader version 4": Case(lambda txn: txn.set_protocol(Protocol(4, 7, (), OLD)), "protocol.versions"),
    "writer version 8": Case(lambda txn: txn.set_protocol(Protocol(1, 8)), "protocol.versions"),
    "writer version 0": Case(lambda txn: txn.set_protocol(Protocol(1, 0)), "protocol.versions"),
    "versions of text": Case(lambda txn: txn.set_protocol(Protocol("1", 2)), "commit.actions"),
    "lower writer": Case(lambda txn: txn.set_protocol(Protocol(1, 1)), "protocol.lowered", "appendOnly, invariants"),
    "lower reader": Case(features("v2Checkpoint", reader=None, versions=(1, 7)), "protocol.lowered",
        "lower the protocol", features=["v2Checkpoint"]),
    "implied features lost": Case(features("invariants"), "protocol.lowered", "drop the table feature appendOnly"),
    "mapping lost": Case(features(*OLD, reader=None, versions=(2, 7)), "protocol.lowered",
        "changeDataFeed, checkConstraints", protocol={"minReaderVersion": 2, "minWriterVersion": 5}),
    "feature dropped": Case(features("domainMetadata"), "protocol.lowered", "rowTracking",
        features=["rowTracking", "domainMetadata"]),
    "implied features of version 3 lost": Case(features(*OLD), "protocol.lowered", "checkConstraints",
        protocol={"minReaderVersion": 1, "minWriterVersion": 3}),
    "beside what is wrong already": Case(features("vacuumProtocolCheck", "rowTracking", "appendOnly"), protocol={
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [],
        "writerFeatures": ["vacuumProtocolCheck", "rowTracking"]}),
    "append-only": Case(changed(properties={"delta.appendOnly": "true"}), "protocol.unlisted",
        "needs the table feature appendOnly", features=["domainMetadata"]),
    "used already": Case(changed(properties={"x": "y"}), properties={"delta.enableRowTracking": "true"}),
    "for readers only": Case(features(*OLD, reader=["deletionVectors"]), "protocol.both-lists",
        "not in its writerFeatures"),
    "for writers only": Case(features(*OLD, "v2Checkpoint"), "protocol.both-lists", "not in its readerFeatures"),
    "of readers, without reader version 3": Case(features(*OLD, "timestampNtz", reader=None, versions=(1, 7)),
        "protocol.both-lists"),
}  # fmt: skip

WRITERS = [name for name, row in FEATURES.items() if row.kind == "writer" and row.writes != "no"]
BOTH = [
    name
    for name, row in FEATURES.items()
    if row.kind == "reader-writer" and row.writes != "no" and not row.by_name and not row.only_kept
]


def test_a_protocol_is_consistent_and_no_less_than_before(tmp_path: Path) -> None:
    check_each(CASES, tmp_path)


@looped("name", WRITERS)
def test_a_feature_for_writers_is_not_for_readers(tmp_path: Path, name: str) -> None:
    needed = FEATURES[name].requires
    listed = tuple(dict.fromkeys((*OLD, name, *needed, *(each for n in needed for each in FEATURES[n].requires))))
    readers = [each for each in listed if FEATURES[each].kind == "reader-writer"]
    wrong = features(*listed, reader=[*readers, name])
    check(Case(wrong, "protocol.both-lists", "only for writers"), tmp_path / "a")
    check(Case(features(*listed, reader=readers)), tmp_path / "b")


@looped("name", BOTH)
def test_a_feature_for_readers_is_in_both_lists(tmp_path: Path, name: str) -> None:
    check(Case(features(*OLD, name), "protocol.both-lists"), tmp_path / "a")
    check(Case(features(*OLD, reader=[name]), "protocol.both-lists"), tmp_path / "b")
    both = [name, *FEATURES[name].requires]
    check(Case(features(*OLD, *both, reader=both)), tmp_path / "c")


@pytest.mark.parametrize("name", [name for name, row in FEATURES.items() if row.requires])
def test_a_feature_comes_with_those_that_it_needs(tmp_path: Path, name: str) -> None:
    readers = [name] if FEATURES[name].kind == "reader-writer" else []
    check(Case(features(*OLD, name, reader=readers), "protocol.required", f"{name} needs"), tmp_path)


@pytest.mark.parametrize(
    "name", ["fooFromTheFuture", "catalogManaged", "fileType", "liquid", "adaptiveMetadata-preview"]
)
def test_features_that_cannot_be_written_are_not_added(tmp_path: Path, name: str) -> None:
    txn = make_table(tmp_path / "t").transaction()
    readers = () if name == "liquid" else (name,)
    needed = FEATURES[name].requires if name in FEATURES else ()
    readers = (*readers, *(each for each in needed if FEATURES[each].kind == "reader-writer"))
    txn.set_protocol(Protocol(3, 7, readers, (*OLD, name, *needed)))
    with pytest.raises(UnsupportedFeature, match=name):
        txn.commit()


def test_a_table_that_a_catalog_manages_has_in_commit_timestamps(tmp_path: Path) -> None:
    storage, root = CatalogStorage(LocalStorage, NewLog(LocalStorage)), str(tmp_path / "t")
    properties = {"delta.feature.catalogManaged": "supported"}
    with pytest.raises(InvalidCommit, match="which a table that a catalog manages needs") as caught:
        creation(storage, root, TableDefinition(SCHEMA, properties=properties)).commit()
    assert caught.value.rule == "protocol.catalog-managed"
    creation(
        storage, root, TableDefinition(SCHEMA, properties={**properties, "delta.enableInCommitTimestamps": "true"})
    ).commit()
    assert has_feature(load_snapshot(storage, root).protocol, "catalogManaged")


def nested(type_: Any) -> StructType:
    """The usual schema and a field of this type in a struct in an array in a map."""
    return more(column("more", MapType(STRING, ArrayType(StructType((StructField("x", type_),))))))


def more(*fields: StructField) -> StructType:
    """The usual schema with more columns."""
    return StructType((*SCHEMA.fields, *fields))


USES: dict[str, tuple[Any, str]] = {
    "generated": (changed(more(column("m", delta__generationExpression="id"))), "generatedColumns"),
    "identity": (changed(more(column("m", delta__identity__start=1))), "identityColumns"),
    "default": (changed(more(column("m", CURRENT_DEFAULT="1"))), "allowColumnDefaults"),
    "check": (changed(properties={"delta.constraints.c": "id > 0"}), "checkConstraints"),
    "collation": (changed(more(column("m", STRING, __COLLATIONS={"m": "icu.de"}))), "collations"),
    "widening": (changed(properties={"delta.enableTypeWidening": "true"}), "typeWidening"),
    "mapping": (changed(properties={"delta.columnMapping.mode": "name"}), "columnMapping"),
    "variant inside": (changed(nested(VARIANT)), "variantType"),
    "ntz inside": (changed(nested(TIMESTAMP_NTZ)), "timestampNtz"),
    "row tracking": (changed(properties={"delta.enableRowTracking": "true"}), "rowTracking"),
    "vectors": (changed(properties={"delta.enableDeletionVectors": "true"}), "deletionVectors"),
    "in-commit timestamps": (changed(properties={"delta.enableInCommitTimestamps": "true"}), "inCommitTimestamp"),
    "feed": (changed(properties={"delta.enableChangeDataFeed": "true"}), "changeDataFeed"),
    "checkpoints": (changed(properties={"delta.checkpointPolicy": "v2"}), "v2Checkpoint"),
    "protection": (changed(properties={"delta.requireCheckpointProtectionBeforeVersion": "1"}), "checkpointProtection"),
    "iceberg": (changed(properties={"delta.enableIcebergCompatV2": "true"}), "icebergCompatV2"),
    "shredding": (changed(properties={"delta.enableVariantShredding": "true"}), "variantShredding"),
    "partition columns": (changed(properties={"delta.enableMaterializePartitionColumnsFeature": "true"}),
        "materializePartitionColumns"),
}  # fmt: skip


@looped("name", USES)
def test_what_the_metadata_uses_is_in_the_protocol(tmp_path: Path, name: str) -> None:
    act, feature = USES[name]
    check(Case(act, "protocol.unlisted", f"needs the table feature {feature}"), tmp_path)

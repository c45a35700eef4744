import json

import pytest

from deltaskip import DeltaTable
from deltaskip.actions import Metadata, Protocol, parse_action
from deltaskip.errors import CorruptLog, DeltaSkipError, UnsupportedFeature
from deltaskip.features import FEATURES, check_readable, has_feature, support_table
from deltaskip.features.support_checks import check_format
from tests import corpus
from tests.builder import TableBuilder
from tests.each import refuses
from tests.looped import looped
from tests.txn.tables import SCHEMA

# PROTOCOL (today), feature names as written in tables.
TODAY = [
    "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping",
    "identityColumns", "allowColumnDefaults", "deletionVectors", "rowTracking", "timestampNtz", "domainMetadata",
    "v2Checkpoint", "inCommitTimestamp", "vacuumProtocolCheck", "clustering", "typeWidening", "typeWidening-preview",
    "variantType", "variantType-preview", "variantShredding", "variantShredding-preview", "icebergCompatV1",
    "icebergCompatV2", "icebergCompatV3", "catalogManaged", "checkpointProtection", "materializePartitionColumns",
    "collations", "collations-preview",
]  # fmt: skip

CATALOG = ("deltars__err-table_d", "deltars__err-table_e", "deltars__err-table_i")
CATALOG_BY_NAME = ("kerneljava__catalog-owned-preview", "kernelrs__catalog_managed_0")
REJECTED = {
    **dict.fromkeys((*CATALOG, *CATALOG_BY_NAME), "managed by a catalog"),
    "deltars__simple_table_features": "reader version 5 and the reader features blahabl",
    "golden__deltalog-invalid-protocol-version": "reader version 99",
    "craft__reader_version_99": "reader version 99",
    "craft__unknown_reader_feature": "reader feature fooFromTheFuture",
}


def last_protocol_and_properties(folder):
    found = {}
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        for line in commit.read_text(encoding="utf-8").split("\n"):
            action = parse_action(json.loads(line or "{}"))
            if isinstance(action, Protocol | Metadata):
                found[type(action)] = action
    return found[Protocol], found[Metadata].configuration


@corpus.each_version("read", "snapshot-only")
def test_every_readable_version_of_the_corpus_passes(table, version):
    protocol = Protocol.from_json(version["protocol"])
    assert check_readable(protocol, version["properties"], table.name, version["version"]) is None


@pytest.mark.parametrize("name", REJECTED)
def test_tables_that_their_protocol_forbids_to_read_are_refused_with_the_reason(name):
    protocol, properties = last_protocol_and_properties(corpus.table(name).path)
    refuses(UnsupportedFeature, REJECTED[name], check_readable, protocol, properties, name, 0)


@looped("name", TODAY)
def test_every_feature_name_of_todays_protocol_is_registered(name):
    assert FEATURES[name].name == name


@corpus.each_version()
def test_every_feature_seen_in_the_corpus_is_registered_with_the_right_kind(table, version):
    readers = set(version["protocol"].get("readerFeatures", ()))
    for name in {*readers, *version["protocol"].get("writerFeatures", ())} - {"fooFromTheFuture"}:
        assert (FEATURES[name].kind == "reader-writer") or name not in readers


def test_all_unsupported_reader_features_are_listed_in_one_sentence_with_the_cure():
    protocol = Protocol(3, 7, ("zeta", "deletionVectors", "alpha"), ("zeta", "deletionVectors", "alpha"))
    with pytest.raises(UnsupportedFeature) as caught:
        check_readable(protocol, {}, "/data/t", 12)
    assert str(caught.value) == (
        "Version 12 of /data/t needs the reader features alpha, zeta, which deltaskip does not support; use a client "
        "that does, or drop the feature with ALTER TABLE … DROP FEATURE."
    )


def test_a_catalog_managed_table_names_its_other_unsupported_features_too():
    protocol = Protocol(3, 7, ("catalogOwned-preview", "alpha"), ("catalogOwned-preview", "alpha"))
    with pytest.raises(UnsupportedFeature, match=r"catalogOwned-preview.*cannot be opened by its path.*alpha"):
        check_readable(protocol, {}, "/data/t", 0)


@pytest.mark.parametrize(
    "protocol",
    [
        Protocol(1, 2),
        Protocol(1, 99),
        Protocol(1, 7, None, ("fooFromTheFuture",)),
        Protocol(2, 5),
        Protocol(2, 7, None, ("columnMapping",)),
        Protocol(3, 7, (), ("appendOnly", "barFromTheFuture")),
        Protocol(1, 2, (), ()),
    ],
)
def test_writer_features_and_versions_never_stop_a_read(protocol):
    assert check_readable(protocol, {}, "/data/t", 0) is None


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (Protocol(0, 2), "reader version 0"),
        (Protocol(3, 7), "no readerFeatures"),
        (Protocol(3, 6, ("deletionVectors",)), "writer version 6"),
        (Protocol(1, 7, ("deletionVectors",), ("deletionVectors",)), "is 1 and not 3"),
        (Protocol(2, 7, ("columnMapping",), ("columnMapping",)), "is 2 and not 3"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_corrupt(protocol, message):
    refuses(CorruptLog, message, check_readable, protocol, {}, "/data/t", 0)


@pytest.mark.parametrize("protocol", [Protocol(1, 2), Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))])
def test_column_mapping_in_the_properties_only_is_refused_since_names_would_be_guessed(protocol):
    with pytest.raises(CorruptLog, match=r"delta\.columnMapping\.mode=name"):
        check_readable(protocol, {"delta.columnMapping.mode": "name"}, "/data/t", 0)


def test_every_refusal_is_one_of_this_packages_errors_and_names_table_and_version():
    for protocol in (Protocol(9, 9), Protocol(3, 7, ("x",), ()), Protocol(3, 7), Protocol(0, 0)):
        refuses(DeltaSkipError, r"Version 7 of s3://b/t ", check_readable, protocol, {}, "s3://b/t", 7)


@pytest.mark.parametrize(
    ("protocol", "name", "expected"),
    [
        (Protocol(1, 2), "appendOnly", True),
        (Protocol(1, 2), "checkConstraints", False),
        (Protocol(1, 4), "changeDataFeed", True),
        (Protocol(2, 5), "columnMapping", True),
        (Protocol(1, 7, None, ()), "appendOnly", False),
        (Protocol(1, 7, None, ("appendOnly",)), "appendOnly", True),
        (Protocol(3, 7, (), ()), "columnMapping", False),
        (Protocol(1, 7, None, ("fooFromTheFuture",)), "fooFromTheFuture", True),
        (Protocol(1, 6), "deletionVectors", False),
    ],
)
def test_a_feature_is_there_when_listed_or_implied_by_a_plain_version(protocol, name, expected):
    assert has_feature(protocol, name) is expected


def test_the_support_table_has_one_row_a_feature():
    header, rule, *rows = support_table().splitlines()
    assert header == "| table feature | applies to | read | write | note |"
    assert rule == "|---|---|---|---|---|"
    assert [row.split("`")[1] for row in rows] == list(FEATURES)
    assert "| `deletionVectors` | readers and writers | yes | yes |  |" in rows
    assert all(len(row.split(" |")) == 6 for row in rows)


@pytest.mark.parametrize("provider", ["orc", "csv", "", "parquet "])
def test_a_format_other_than_parquet_is_refused(tmp_path, provider):
    with pytest.raises(UnsupportedFeature, match=f"Version 3 of /t has data files of the format {provider!r}"):
        check_format(provider, "/t", 3)
    builder = TableBuilder(tmp_path / "t", SCHEMA)
    builder._head[1]["metaData"]["format"]["provider"] = provider
    builder.commit()
    refuses(UnsupportedFeature, "reads only Parquet", DeltaTable, tmp_path / "t")
    check_format("Parquet", "/t", 3)


def test_features_need_only_features_of_the_registry():
    assert {needed for row in FEATURES.values() for needed in row.requires} <= set(FEATURES)

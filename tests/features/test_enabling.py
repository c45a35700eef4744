"""The protocol that a table needs: the features that it uses, those that they require, and no others."""

import pytest

from deltaskip.actions import Protocol
from deltaskip.errors import InvalidArgument
from deltaskip.features.enabling import NEW_TABLE, lowest_protocol, protocol_for, with_features, with_versions
from deltaskip.features.registry import FEATURES, features_of, has_feature
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import LONG, TIMESTAMP_NTZ, ArrayType, StructField, StructType
from tests.each import refuses
from tests.looped import looped

ID = StructField("id", LONG)


def _protocol(properties: dict[str, str], *fields: StructField) -> Protocol:
    return protocol_for(NEW_TABLE, TableProperties(properties), StructType((ID, *fields)))


def test_a_table_that_uses_nothing_keeps_its_versions() -> None:
    assert _protocol({}) is NEW_TABLE
    assert _protocol({"delta.appendOnly": "true", "my.own": "x", "delta.enableDeletionVectors": "false"}) is NEW_TABLE


@pytest.mark.parametrize(
    ("properties", "readers", "writers"),
    [
        ({"delta.enableDeletionVectors": "true"}, ("deletionVectors",), ("deletionVectors",)),
        ({"delta.enableRowTracking": "true"}, None, ("domainMetadata", "rowTracking")),
        ({"delta.checkpointPolicy": "v2"}, ("v2Checkpoint",), ("v2Checkpoint",)),
        ({"delta.enableChangeDataFeed": "true"}, None, ("changeDataFeed",)),
    ],
)
def test_properties_enable_their_features_and_what_these_require(
    properties: dict[str, str], readers: tuple[str, ...] | None, writers: tuple[str, ...]
) -> None:
    expected = tuple(sorted((*writers, "appendOnly", "invariants")))
    assert _protocol(properties) == Protocol(1 if readers is None else 3, 7, readers, expected)


def test_versions_are_raised_no_further_than_features_need() -> None:
    # Reader version 2 implies column mapping; writer version 3 has exactly these three features.
    mapped = _protocol({"delta.columnMapping.mode": "name"})
    assert mapped == Protocol(2, 7, None, ("appendOnly", "columnMapping", "invariants"))
    assert _protocol({"delta.constraints.positive": "id > 0"}) == Protocol(1, 3)
    assert with_features(Protocol(1, 4), ["columnMapping"]) == Protocol(2, 5)
    listed = Protocol(1, 7, None, ("appendOnly", "invariants"))
    assert with_features(listed, ["checkConstraints"]).min_writer_version == 7


def test_versions_that_are_asked_for_bring_their_features() -> None:
    assert with_versions(NEW_TABLE, 1, 3) == Protocol(1, 3)
    assert with_versions(NEW_TABLE, 2, 5) == Protocol(2, 5)
    assert with_versions(NEW_TABLE, 3, 7) is NEW_TABLE
    listed = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    assert with_versions(listed, 1, 3).writer_features == (
        "appendOnly", "checkConstraints", "deletionVectors", "invariants",
    )  # fmt: skip
    refuses(InvalidArgument, "reader versions 1 to 3", with_versions, NEW_TABLE, 4, 7)


def test_the_lowest_protocol_has_exactly_the_features() -> None:
    assert lowest_protocol(()) == Protocol(1, 1)
    assert lowest_protocol(("appendOnly", "invariants")) == Protocol(1, 2)
    assert lowest_protocol(("appendOnly",)) == Protocol(1, 7, None, ("appendOnly",))
    assert lowest_protocol(("secret",), ("secret",)) == Protocol(3, 7, ("secret",), ("secret",))
    assert features_of(Protocol(1, 3)) == {"appendOnly", "invariants", "checkConstraints"}


def test_types_enable_their_features_at_any_depth() -> None:
    nested = StructField("a", ArrayType(StructType((StructField("t", TIMESTAMP_NTZ),))))
    assert _protocol({}, nested).reader_features == ("timestampNtz",)


def test_versions_are_kept_as_what_they_implied() -> None:
    # PROTOCOL: the features that version 5 implied may be used by older versions of the table.
    upgraded = with_features(Protocol(2, 5), ["rowTracking"])
    assert upgraded.min_reader_version == 2
    assert upgraded.reader_features is None
    assert set(upgraded.writer_features or ()) == {
        "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping",
        "domainMetadata", "rowTracking",
    }  # fmt: skip
    upgraded = with_features(Protocol(2, 5), ["deletionVectors"])
    assert upgraded.reader_features == ("columnMapping", "deletionVectors")
    assert upgraded.min_reader_version == 3


def test_unknown_features_of_a_table_stay() -> None:
    before = Protocol(3, 7, ("secret",), ("secret", "secretWriter"))
    after = with_features(before, ["clustering"])
    assert after == Protocol(3, 7, ("secret",), ("clustering", "domainMetadata", "secret", "secretWriter"))


def test_an_empty_list_of_reader_features_stays_a_list() -> None:
    assert with_features(Protocol(3, 7, (), ()), ["rowTracking"]).reader_features == ()


@looped("name", FEATURES)
def test_every_feature_can_be_added_once(name: str) -> None:
    after = with_features(NEW_TABLE, [name])
    assert has_feature(after, name)
    assert with_features(after, [name]) is after
    listed = set(after.writer_features or ())
    if after.min_reader_version == 3:
        assert set(after.reader_features or ()) == {n for n in listed if FEATURES[n].kind == "reader-writer"}


def test_names_that_do_not_exist_are_refused() -> None:
    refuses(InvalidArgument, "no table feature 'deletionvectors'", with_features, NEW_TABLE, ["deletionvectors"])

import json

import pyarrow as pa
import pytest

from deltaskip import actions
from deltaskip.errors import InvalidArgument
from tests import corpus
from tests.each import refuses
from tests.looped import looped

DV = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 6}

COMPLETE = [
    (actions.Protocol, {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["a"],
        "writerFeatures": ["a", "b"]}),
    (actions.Metadata, {"id": "x", "name": "n", "description": "d",
        "format": {"provider": "parquet", "options": {"o": "1"}}, "schemaString": "{}",
        "partitionColumns": ["p"], "configuration": {"k": "v"}, "createdTime": 5}),
    (actions.Format, {"provider": "parquet", "options": {}}),
    (actions.Txn, {"appId": "a", "version": 3, "lastUpdated": 9}),
    (actions.DomainMetadata, {"domain": "d", "configuration": '{"a":1}', "removed": True}),
    (actions.CommitInfo, {"timestamp": 1, "operationParameters": {"x": [1, {"y": None}]}, "anything": 1.5}),
    (actions.AddFile, {"path": "a%20b", "partitionValues": {"p": None, "q": "1"}, "size": 1, "modificationTime": 2,
        "dataChange": False, "stats": "{}", "tags": {"t": "u"}, "deletionVector": DV, "baseRowId": 0,
        "defaultRowCommitVersion": 0, "clusteringProvider": "liquid"}),
    (actions.RemoveFile, {"path": "a", "deletionTimestamp": 1, "dataChange": True, "extendedFileMetadata": True,
        "partitionValues": {}, "size": 3, "stats": "{}", "tags": {}, "deletionVector": DV, "baseRowId": 1,
        "defaultRowCommitVersion": 2}),
    (actions.DeletionVectorDescriptor, DV),
    (actions.AddCdcFile, {"path": "c", "partitionValues": {}, "size": 1, "dataChange": False, "tags": {"t": None}}),
    (actions.CheckpointMetadata, {"version": 3, "tags": {"a": "b"}}),
    (actions.Sidecar, {"path": "s", "sizeInBytes": 1, "modificationTime": 2, "tags": {"a": "b"}}),
]  # fmt: skip

REQUIRED = {
    actions.Protocol: ["minReaderVersion", "minWriterVersion"],
    actions.Metadata: ["id", "format", "partitionColumns", "configuration"],
    actions.Format: ["provider"],
    actions.Txn: ["appId", "version"],
    actions.DomainMetadata: ["domain", "configuration"],
    actions.AddFile: ["path", "partitionValues", "size", "modificationTime", "dataChange"],
    actions.RemoveFile: ["path", "dataChange"],
    actions.DeletionVectorDescriptor: ["storageType", "pathOrInlineDv", "sizeInBytes", "cardinality"],
    actions.AddCdcFile: ["path", "partitionValues", "size", "dataChange"],
    actions.CheckpointMetadata: ["version"],
    actions.Sidecar: ["path", "sizeInBytes", "modificationTime"],
}

CASES = [pytest.param(action, members, id=action.__name__) for action, members in COMPLETE]
MISSING = [
    pytest.param(action, members, name, id=f"{action.__name__}-{name}")
    for action, members in COMPLETE
    for name in REQUIRED.get(action, ())
]


@looped("action, members", CASES)
def test_every_member_survives_reading_and_writing(action, members):
    assert action.from_json(members).to_json() == members


@looped("action, members", CASES)
def test_unknown_members_are_tolerated_and_nulls_left_out(action, members):
    parsed = action.from_json({**members, "futureField": None})
    assert parsed.to_json() == members


@looped("null", [True, False])
@looped("action, members, name", MISSING)
def test_a_missing_required_member_is_named(action, members, name, null):
    rest = {k: v for k, v in members.items() if k != name} | ({name: None} if null else {})
    refuses(InvalidArgument, rf"\.{name} ", action.from_json, rest)


@looped("action, members", [case for case in CASES if case.id != "CommitInfo"])
def test_a_member_of_the_wrong_json_type_is_named(action, members):
    for name in members:
        if action is actions.DomainMetadata and name == "configuration":
            continue
        with pytest.raises(InvalidArgument, match=name):
            action.from_json({**members, name: {"wrong": 1.5} if isinstance(members[name], str) else "wrong"})


@pytest.mark.parametrize("value", [True, 1.0, 2**63, -(2**63) - 1])
def test_integers_are_64_bit_integers_and_nothing_else(value):
    refuses(InvalidArgument, r"txn\.version", actions.Txn.from_json, {"appId": "a", "version": value})


@pytest.mark.parametrize(
    ("change", "name"),
    [({"storageType": "x"}, "storageType"), ({"sizeInBytes": -1}, "sizeInBytes"), ({"offset": -4}, "offset")],
)
def test_impossible_deletion_vectors_are_refused(change, name):
    refuses(InvalidArgument, name, actions.DeletionVectorDescriptor.from_json, {**DV, **change})


def test_the_unique_id_has_the_offset_only_where_the_log_has_one():
    assert actions.DeletionVectorDescriptor.from_json(DV).unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    inline = {k: v for k, v in DV.items() if k != "offset"} | {"storageType": "i"}
    assert actions.DeletionVectorDescriptor.from_json(inline).unique_id == "iab^-aqEH.-t@S}K{vb[*k^"
    assert actions.DeletionVectorDescriptor.from_json({**DV, "offset": 0}).unique_id.endswith("@0")


def test_deletion_vectors_are_known_by_the_log_s_field_names_too():
    logged = pa.array([{"storageType": "u", "pathOrInlineDv": "p", "offset": 3}, None])
    assert actions.dv_ids(logged).to_pylist() == ["up@3", None]
    assert actions.dv_ids(pa.array([{"storageType": "i", "pathOrInlineDv": "p"}])).to_pylist() == ["ip"]


def test_an_empty_path_is_refused():
    refuses(ValueError, r"remove\.path", actions.RemoveFile.from_json, {"path": "", "dataChange": True})


def test_a_domains_configuration_stays_text_and_the_drafts_map_becomes_text():
    text = '{"a":  1}'
    assert (
        actions.DomainMetadata.from_json({"domain": "d", "configuration": text, "removed": False}).configuration == text
    )
    drafted = actions.DomainMetadata.from_json({"domain": "d", "configuration": {"key1": "é"}})
    assert (drafted.configuration, drafted.removed) == ('{"key1":"é"}', False)


def test_commit_info_keeps_anything_and_reads_what_has_a_meaning():
    info = actions.CommitInfo.from_json({"timestamp": 5, "inCommitTimestamp": "6", "operation": ["odd"], "txnId": "t"})
    assert (info.timestamp, info.in_commit_timestamp, info.operation, info.txn_id) == (5, None, None, "t")
    assert actions.CommitInfo.from_json({"inCommitTimestamp": 7, "engineInfo": "e"}).in_commit_timestamp == 7


def test_metadata_without_a_schema_string_has_none():
    members = {k: v for k, v in dict(COMPLETE[1][1]).items() if k != "schemaString"}
    assert actions.Metadata.from_json(members).schema_string is None


def test_maps_and_lists_as_arrow_gives_them_out_of_a_checkpoint_are_read():
    row = {"provider": "parquet", "options": [("a", "b")]}
    assert actions.Format.from_json(row) == actions.Format("parquet", {"a": "b"})
    refuses(ValueError, "options", actions.Format.from_json, {"provider": "parquet", "options": [("a", 1)]})


def test_lines_with_only_unknown_actions_are_ignored():
    assert actions.parse_action({"futureAction": {"x": 1}, "another": [1]}) is None
    assert actions.parse_action({"rowIdHighWaterMark": {"highWaterMark": 3}}) is None
    assert actions.parse_action({"add": None, "txn": {"appId": "a", "version": 1}}) == actions.Txn("a", 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"add": [1]}, "add is not an object"),
        ({"txn": {"appId": "a", "version": 1}, "protocol": {}}, "several actions: protocol, txn"),
        ({"add": {"path": "x"}}, r"add\.partitionValues is missing"),
    ],
)
def test_damaged_lines_are_refused(line, message):
    refuses(ValueError, message, actions.parse_action, line)


def without_nulls(value):
    """`value` without null members of the action and of its deletion vector; a null in a map of strings stays."""
    return {
        name: without_nulls(member) if name == "deletionVector" else member
        for name, member in value.items()
        if member is not None and name not in ("futureField", "stats_parsed")
    }


@corpus.each_table(where=lambda table: table.name != "craft__truncated_commit")
def test_actions_of_the_corpus_survive_reading_and_writing(table):
    for commit in sorted((table.path / "_delta_log").glob("[0-9]*.json")):
        for line in commit.read_text(encoding="utf-8").split("\n"):
            source = json.loads(line.strip() or "{}")
            action = actions.parse_action(source)
            if action is not None:
                ((name, written),) = json.loads(actions.to_line(action)).items()
                assert written == without_nulls(source[name])
                assert actions.parse_action({name: written}) == action

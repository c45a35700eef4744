"""The version checksum is advice: it warns, and raises only where someone asks."""

import json
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.actions import add_actions
from deltaskip.errors import ChecksumWarning, CorruptLog
from deltaskip.log.file_counts import FileCounts
from tests import corpus
from tests.each import refuses
from tests.log.builder import PROTOCOL, TableBuilder, add, log_name, metadata, remove


def crc(**members: Any) -> dict[str, Any]:
    usual = {
        "tableSizeBytes": 3, "numFiles": 3, "numMetadata": 1, "numProtocol": 1,
        "protocol": PROTOCOL["protocol"],
        "metadata": metadata()["metaData"],
        "setTransactions": [{"appId": "x", "version": 4}],
        "domainMetadata": [{"domain": "d", "configuration": '{"a": 1}', "removed": False}],
    }  # fmt: skip
    return {**usual, **members}


@pytest.fixture
def summed(table: TableBuilder) -> TableBuilder:
    """Three live files, a transaction and a domain, at version 1."""
    table.commit(add("a"), add("b"), add("gone"))
    table.checkpoint(0, add("a"), add("b"), add("gone"))
    table.commit(
        remove("gone"),
        add("c"),
        {"txn": {"appId": "x", "version": 4}},
        {"txn": {"appId": "y", "version": 1}},
        {"domainMetadata": {"domain": "d", "configuration": '{"a":1}'}},
    )
    return table


def write(table: TableBuilder, text: str) -> None:
    (table.log / log_name(1, "crc")).write_text(text)


def test_a_checksum_that_agrees_says_nothing(summed: TableBuilder) -> None:
    write(summed, json.dumps(crc()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        summed.load().verify()


def test_without_a_checksum_there_is_nothing_to_verify(summed: TableBuilder) -> None:
    summed.load().verify()


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ({"protocol": {"minReaderVersion": 2, "minWriterVersion": 2}}, "minReaderVersion is 2 .* and 1"),
        ({"metadata": metadata(id="other")["metaData"]}, "metaData.id is other"),
        ({"metadata": metadata(configuration={"k": "v"})["metaData"]}, "configuration is {'k': 'v'}"),
        ({"metadata": metadata(schemaString='{"type":"struct","fields":[]}')["metaData"]}, "schemaString is"),
        ({"setTransactions": [{"appId": "x", "version": 5}]}, "txn x is 5 in the checksum and 4 in the log"),
        ({"domainMetadata": [{"domain": "d", "configuration": "{}"}]}, "domainMetadata d is"),
    ],
)
def test_a_difference_of_state_warns_on_loading_and_fails_verification(
    summed: TableBuilder, members: dict[str, Any], named: str
) -> None:
    write(summed, json.dumps(crc(**members)))
    with pytest.warns(ChecksumWarning, match=named):
        snapshot = summed.load()
    assert len(snapshot.adds()) == 3
    refuses(CorruptLog, named, snapshot.verify)


@pytest.mark.parametrize(
    ("members", "named"), [({"numFiles": 7}, "numFiles is 7 .* and 3"), ({"tableSizeBytes": 9}, "tableSizeBytes is 9")]
)
def test_a_difference_of_files_fails_verification(summed: TableBuilder, members: dict[str, Any], named: str) -> None:
    write(summed, json.dumps(crc(**members)))
    refuses(CorruptLog, named, lambda: summed.load().verify())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"numFiles":"3"}', '{"protocol":7}', '{"setTransactions":{}}', "[" * 10**5]
)
def test_a_damaged_checksum_is_ignored_with_a_warning(summed: TableBuilder, text: str) -> None:
    write(summed, text)
    with pytest.warns(ChecksumWarning, match="damaged and was ignored"):
        snapshot = summed.load()
    snapshot.verify()
    assert len(snapshot.adds()) == 3


def test_the_checksum_of_another_version_is_not_asked(summed: TableBuilder) -> None:
    (summed.log / log_name(0, "crc")).write_text("damaged")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        summed.load()


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_commit_is_compared_with_the_checksum(table: TableBuilder, text: str) -> None:
    table.commit(add("a"))
    opened = ds.DeltaTable(table.path)
    table.commit(add("b"))
    table.raw_commit(2, text)
    (table.log / log_name(1, "crc")).write_text(json.dumps(crc(numFiles=2, tableSizeBytes=2)))
    # Without a checksum of the version the commit is one without changes.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (table.paths(1), table.paths()) == (["a", "b"], ["a", "b"])
    (table.log / log_name(2, "crc")).write_text(json.dumps(crc(numFiles=2, tableSizeBytes=2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.load()
    (table.log / log_name(2, "crc")).write_text(json.dumps(crc(numFiles=3, tableSizeBytes=2)))
    lost = r"numFiles is 3 in the checksum and 2 in the log; 0+2\.json \(version 2\) is empty .* a version before 2"
    for door in (table.load, opened.refresh, lambda: ds.DeltaTable(table.path, version=2)):
        with pytest.warns(ChecksumWarning, match=lost):
            door()
    table.commit(add("c"))
    (table.log / log_name(3, "crc")).write_text(json.dumps(crc(numFiles=4, tableSizeBytes=3)))
    with pytest.warns(ChecksumWarning, match=r"0+2\.json \(version 2\) is empty"):
        table.load()


def test_an_empty_compaction_replaces_no_commits(table: TableBuilder) -> None:
    table.commit(add("a"))
    table.commit(add("b"))
    table.commit(add("c"))
    (table.log / log_name(1, "json")).unlink()
    for text in ("", "\n", '{"commitInfo":{}}\n'):
        (table.log / f"{1:020}.{2:020}.compacted.json").write_text(text)
        refuses(CorruptLog, r"compacted\.json has no actions, .* \(versions 1 to 2\), are missing", table.load)


def test_histograms_are_those_of_delta_spark() -> None:
    """In every checksum of the corpus whose version can be read."""
    compared = 0
    for file in sorted(corpus.SHARED.glob("tables/tables/*/_delta_log/*.crc")):
        with suppress(ValueError, ds.DeltaSkipError):
            theirs = json.loads(file.read_bytes())
            snapshot = ds.DeltaTable(file.parents[1], version=int(file.stem)).snapshot
            ours = dict(FileCounts.of(snapshot.add_batches(7, ["size", "deletion_vector"])).members(True))
            for name in ours.keys() & theirs.keys():
                assert ours[name] == theirs[name], file
                compared += 1
    if not corpus.present():
        pytest.skip(corpus.ABSENT)
    assert compared > 500


@pytest.mark.filterwarnings("ignore")
def test_the_checksum_of_a_small_table_lists_its_files(tmp_path: Path) -> None:
    properties = {"delta.enableDeletionVectors": "true"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties=properties)
    for number in range(3):
        table.append(pa.table({"id": list(range(10 * number, 10 * number + 10))}))
    table.delete("id < 4 OR id = 25")
    fields = json.loads((tmp_path / "t" / "_delta_log" / f"{4:020d}.crc").read_text())
    files = {add.path: replace(add, data_change=False).to_json() for add in add_actions(table.snapshot.adds())}
    assert {each["path"]: each for each in fields["allFiles"]} == files
    assert (fields["numFiles"], fields["numDeletionVectorsOpt"], fields["numDeletedRecordsOpt"]) == (3, 2, 5)
    assert fields["deletedRecordCountsHistogramOpt"] == {"deletedRecordCounts": [1, 2, *[0] * 8]}
    assert sum(fields["fileSizeHistogram"]["fileCounts"]) == 3
    assert sum(fields["fileSizeHistogram"]["totalBytes"]) == fields["tableSizeBytes"]
    many = ds.DeltaTable.create(tmp_path / "many", "id BIGINT, p INT", partition_by="p")
    many.append(pa.table({"id": list(range(51)), "p": pa.array(range(51), pa.int32())}))
    crc = tmp_path / "many" / "_delta_log" / f"{1:020d}.crc"
    assert {"allFiles", "fileSizeHistogram"}.isdisjoint(json.loads(crc.read_text()))
    crc.unlink()
    many.checkpoint()
    fields = json.loads(crc.read_text())
    assert "allFiles" not in fields
    assert "numDeletionVectorsOpt" not in fields
    assert sum(fields["fileSizeHistogram"]["fileCounts"]) == 51

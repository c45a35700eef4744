"""DeltaTable.detail(): facts about a version, as DESCRIBE DETAIL reports them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import LONG, STRING
from tests.builder import TableBuilder, add, bounds, relog
from tests.corpus import CorpusTable, each_table
from tests.each import refuses
from tests.looped import looped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of three files: one with a deletion vector, one without a row count."""
    vector = {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 34, "cardinality": 3}
    builder = TableBuilder(tmp_path / "t", {"c": LONG, "p": STRING}, ["p"], {"delta.appendOnly": "false"})
    builder.commit(
        add("a", bounds(10, c=(0, 9)), partitionValues={"p": "x"}, size=100),
        add("b", bounds(20, c=(0, 9)), partitionValues={"p": "y"}, size=20, deletionVector=vector),
        add("c", None, partitionValues={"p": None}, size=3),
    )
    return tmp_path / "t"


def test_sums_are_over_the_active_files(folder: Path) -> None:
    detail = ds.DeltaTable(folder).detail()
    assert (detail.num_files, detail.size_in_bytes) == (3, 123)
    assert (detail.num_rows, detail.num_known_rows, detail.num_files_without_row_count) == (None, 27, 1)
    assert (detail.num_deletion_vectors, detail.num_deleted_rows) == (1, 3)
    assert detail.partition_columns == ("p",)
    assert detail.properties == {"delta.appendOnly": "false"}


def test_a_row_count_is_known_if_every_file_has_one(tmp_path: Path) -> None:
    TableBuilder(tmp_path, {"c": LONG}).commit(add("a", bounds(10)), add("b", bounds(5)))
    assert ds.DeltaTable(tmp_path).detail().num_rows == 15


def test_a_table_without_files_has_no_rows(tmp_path: Path) -> None:
    TableBuilder(tmp_path, {"c": LONG}).commit()
    detail = ds.DeltaTable(tmp_path).detail()
    assert (detail.num_files, detail.size_in_bytes, detail.num_rows) == (0, 0, 0)


def test_features_are_those_that_the_protocol_lists_or_implies(tmp_path: Path) -> None:
    root = tmp_path / "t"
    TableBuilder(root, {"c": LONG}).commit()
    listed = ("columnMapping", "deletionVectors", "timestampNtz", "typeWidening")
    assert ds.DeltaTable(root).detail().table_features == listed
    plain = {"minReaderVersion": 1, "minWriterVersion": 3}
    relog(root, lambda action: action.update(protocol=plain) if "protocol" in action else None)
    assert ds.DeltaTable(root).detail().table_features == ("appendOnly", "checkConstraints", "invariants")


def test_json_has_every_field(folder: Path) -> None:
    detail = ds.DeltaTable(folder).detail()
    found = json.loads(json.dumps(detail.to_dict()))
    assert list(found)[:15] == [
        "format", "id", "name", "description", "location", "created_at", "last_modified", "partition_columns",
        "clustering_columns", "num_files", "size_in_bytes", "properties", "min_reader_version", "min_writer_version",
        "table_features",
    ]  # fmt: skip
    assert found["log"] == {
        "checkpoint_version": None, "checkpoint_kind": None, "checkpoint_files": 0, "commits_after": 1,
        "has_checksum": False,
    }  # fmt: skip
    modified = (folder / "_delta_log" / f"{0:020}.json").stat().st_mtime
    assert detail.last_modified is not None
    assert abs(detail.last_modified.timestamp() - modified) < 0.002
    assert found["last_modified"].endswith("Z")


def test_times_beyond_datetime_are_unknown(tmp_path: Path) -> None:
    TableBuilder(tmp_path, {"c": LONG}).commit()
    expected: dict[int, datetime | None] = {0: datetime(1970, 1, 1, tzinfo=UTC), 2**62: None}
    for time, moment in expected.items():
        relog(tmp_path, lambda action, time=time: action.get("metaData", {}).update(createdTime=time))
        assert ds.DeltaTable(tmp_path).detail().created_at == moment


def test_it_is_shown_a_field_a_line_and_as_a_table(folder: Path) -> None:
    detail = ds.DeltaTable(folder).detail()
    assert repr(detail).startswith("TableDetail(\n    format='delta',\n    id=")
    html = detail._repr_html_()
    assert html.count("<tr>") == repr(detail).count("\n") - 1
    assert detail.location in html


@pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning")
@each_table("read", "snapshot-only")
def test_details_are_those_that_the_reference_found(table: CorpusTable) -> None:
    expected: dict[str, Any] = table.versions[0]
    opened = ds.DeltaTable(table.path)
    detail = opened.detail()
    metadata = expected["metadata"]
    assert (detail.id, detail.name, detail.description) == (metadata["id"], metadata["name"], metadata["description"])
    assert (detail.num_files, detail.version) == (expected["num_files"], expected["version"])
    assert detail.size_in_bytes == sum(file["size"] for file in expected["files"])
    assert set(expected.get("feature_list") or ()) <= set(detail.table_features)
    if expected["protocol"]["minWriterVersion"] == 7 and "feature_list" in expected:
        assert set(expected["feature_list"]) == set(detail.table_features)
    rows = (expected.get("rows") or {}).get("count")
    if detail.num_rows is not None and rows is not None:
        assert detail.num_rows == rows
    coverage = opened.stats(overlap=False)
    assert (coverage.files, coverage.files_without_count) == (detail.num_files, detail.num_files_without_row_count)


def test_the_log_is_described_as_it_is_now(folder: Path) -> None:
    table = ds.DeltaTable(folder)
    assert table.detail().log.checkpoint_kind is None
    table.checkpoint()
    assert (table.detail().log.checkpoint_version, table.detail().log.commits_after) == (0, 0)
    for file in (folder / "_delta_log").iterdir():
        file.unlink()
    refuses(ds.TableNotFound, None, table.detail)


@looped("value", ["true ", "", "1e400", "x" * 5000, "\0"])
@pytest.mark.parametrize("name", ["delta.enableInCommitTimestamps", "delta.inCommitTimestampEnablementVersion"])
def test_a_malformed_property_hides_the_time_and_is_named_by_the_history(tmp_path: Path, name: str, value: str) -> None:
    properties = {"delta.enableInCommitTimestamps": "true", name: value}
    TableBuilder(tmp_path / "t", {"c": LONG}, properties=properties).commit(add("a"))
    table = ds.DeltaTable(tmp_path / "t")
    assert table.detail().properties == properties
    assert table.detail().last_modified is None or name != "delta.enableInCommitTimestamps"
    refuses(ds.SchemaError, name, table.history)

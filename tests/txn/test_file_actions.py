"""Adds and removes that a table cannot take: each is refused before anything is written, by name."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.actions import AddFile, RemoveFile
from deltaskip.errors import InvalidCommit
from deltaskip.sparkexpr.types import DATE, INTEGER, LONG, StructField, StructType
from tests.each import each
from tests.txn.tables import actions, append, file, gone, make_table, paths, vector

pytestmark = pytest.mark.usefixtures("without_look_ups")

DV: dict[str, Any] = {"properties": {"delta.enableDeletionVectors": "true"}, "features": ["deletionVectors"]}


def refused(
    table: ds.DeltaTable, match: str, add: list[AddFile] | None = None, remove: list[RemoveFile] | None = None
) -> None:
    """Committing the actions raises InvalidCommit, and nothing is written."""
    version = table.refresh().version
    txn = table.transaction()
    with pytest.raises(InvalidCommit, match=match) as raised:
        txn.add(*(add or []))
        txn.remove(*(remove or []))
        txn.commit()
    assert table.snapshot.root in str(raised.value)
    assert table.refresh().version == version


def test_only_active_files_are_removed(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"), file("b"))
    refused(table, "c cannot be removed .* not an active file of version 1", remove=[gone("a"), gone("c")])
    txn = table.transaction()
    txn.remove(gone("./a"))
    assert txn.commit() == 2
    refused(table, "a cannot be removed .* not an active file of version 2", remove=[gone("a")])


def test_a_file_is_removed_with_the_deletion_vector_that_it_has(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", **DV)
    append(table, file("a", deletion_vector=vector("1")), file("b"))
    another = "different deletion vector than at version"
    refused(table, another, remove=[gone("a")])
    refused(table, another, remove=[gone("a", deletion_vector=vector("2"))])
    refused(table, another, remove=[gone("b", deletion_vector=vector("2"))])
    txn = table.transaction()
    txn.remove(gone("a", deletion_vector=vector("1")))
    assert txn.commit() == 2
    assert paths(tmp_path / "t") == ["b"]


def test_deleted_rows_do_not_come_back_with_new_rows_of_the_same_path(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", **DV)
    append(table, file("a", deletion_vector=vector("1")), file("b"))
    refused(table, "different deletion vector than at version", add=[file("a")])
    table.checkpoint()
    refused(table, "different deletion vector than at version", add=[file("a")])
    assert append(table, file("b", 3, 4)) == 2


def test_a_deletion_vector_is_told_by_its_id_alone(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", **DV)
    append(table, file("a", deletion_vector=vector("1")))
    same = replace(vector("1"), cardinality=3)
    refused(
        table,
        "both added and removed",
        add=[file("a", deletion_vector=same)],
        remove=[gone("a", deletion_vector=vector("1"))],
    )


def test_a_remove_says_when(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"), file("b"))
    txn = table.refresh().transaction()
    txn.remove(gone("a", deletion_timestamp=None), gone("b", deletion_timestamp=7))
    txn.commit()
    a, b = actions(tmp_path / "t", 2, "remove")
    assert (a["deletionTimestamp"], b["deletionTimestamp"]) == (
        actions(tmp_path / "t", 2, "commitInfo")[0]["timestamp"],
        7,
    )


def test_half_a_character_cannot_be_written(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", features=["domainMetadata"])
    refused(table, "A path .* is malformed", add=[file("a\ud800")])
    txn = table.transaction()
    txn.set_domain("x", "\udfff")
    with pytest.raises(InvalidCommit, match=r"unpaired surrogate .*UTF-8"):
        txn.commit()
    assert table.refresh().version == 0


def test_what_deletes_rows_changes_data(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", **DV)
    append(table, file("a"), file("b", deletion_vector=vector("1")))
    more = replace(vector("2"), cardinality=5)
    says = "deletes a different number of rows, so dataChange must be true"
    refused(
        table, says, add=[file("a", deletion_vector=more, data_change=False)], remove=[gone("a", data_change=False)]
    )
    again = [file("b", deletion_vector=vector("2"), data_change=False)]
    txn = table.transaction(operation="OPTIMIZE")
    txn.remove(gone("b", deletion_vector=vector("1"), data_change=False))
    txn.add(*again)
    assert txn.commit() == 2


def test_rows_that_are_new_change_data(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"))
    refused(table, "c cannot be added .* not an active file of version 1", add=[file("c", data_change=False)])
    refused(table, "c cannot be added .* not an active file", add=[file("c", data_change=False)], remove=[gone("a")])


def test_paths_that_are_no_uri_are_refused(tmp_path: Path) -> None:
    def check(tmp_path: Path, path: str) -> None:
        table = make_table(tmp_path / "t")
        refused(table, "is not a URI", add=[file(path)])

    paths = ["a b", "a#b", "a?b", "100%", "x=%zz/f", "a:b/f", "ts=2020-01-01 00:00/f", 'a"b', "a{b}", "a[1]", "a\\b"]
    each(paths, lambda case: check(Path(mkdtemp(dir=tmp_path)), case))


@pytest.mark.parametrize(
    "path", ["a%20b", "a%23b", "day=2020-01-01/f", "x=%25/f", "ts=a/b:c", "s3://bucket/x/f", "file:/x/f", "größe=ß/f"]
)
def test_paths_that_are_uris_are_kept_as_they_are(tmp_path: Path, path: str) -> None:
    table = make_table(tmp_path / "t")
    append(table, file(path))
    assert actions(tmp_path / "t", 1, "add")[0]["path"] == path


def test_a_path_that_a_careless_writer_logged_keeps_its_text(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", actions=[{"add": file("a b").to_json()}])
    assert append(table, file("a b", 3, 4)) == 1
    txn = table.refresh().transaction()
    txn.remove(gone("a b"))
    assert txn.commit() == 2
    assert paths(tmp_path / "t") == []


@pytest.mark.parametrize("stats", ["", "nonsense", "[1]", '{"numRecords":NaN}', '{"minValues":{"id":-Infinity}}'])
def test_statistics_are_a_json_object(tmp_path: Path, stats: str) -> None:
    table = make_table(tmp_path / "t")
    refused(table, "its statistics are not a JSON object", add=[file("a", stats=stats)])


def partitioned(folder: Path, type_: Any, nullable: bool = True) -> ds.DeltaTable:
    schema = StructType((StructField("id", LONG), StructField("part", type_, nullable)))
    return make_table(folder, schema=schema, partition_by=["part"])


@pytest.mark.parametrize(("type_", "text"), [(INTEGER, "x"), (INTEGER, "4294967296"), (DATE, "2020-13-01")])
def test_partition_values_are_of_their_type(tmp_path: Path, type_: Any, text: str) -> None:
    table = partitioned(tmp_path / "t", type_)
    refused(table, "the partition value of part", add=[file("a", partition_values={"part": text})])
    append(table, file("a", partition_values={"part": None}), file("b", partition_values={"part": ""}))


def test_columns_that_are_not_null_take_no_nulls(tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t", INTEGER, nullable=False)
    for null in (None, ""):
        refused(table, "part is NOT NULL", add=[file("a", partition_values={"part": null})])
    schema = StructType((StructField("id", LONG, False), StructField("more", LONG)))
    other = make_table(tmp_path / "u", schema=schema)
    nulls = json.dumps({"numRecords": 3, "nullCount": {"id": 1, "more": 3}})
    refused(other, "id is NOT NULL", add=[file("a", stats=nulls)])
    assert append(other, file("a", stats=nulls.replace('"id": 1', '"id": 0'))) == 1

"""File actions that no commit may contain, by themselves, together, and beside the files that the table has."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.actions import AddCdcFile, AddFile, RemoveFile
from deltaskip.errors import InvalidCommit
from deltaskip.sparkexpr.types import DATE, INTEGER, LONG, StructType
from tests.each import refuses
from tests.txn.tables import actions, append, file, gone, make_table, paths
from tests.txn.validation.cases import Case, check_each, column, vector

pytestmark = pytest.mark.usefixtures("without_look_ups")

DV: dict[str, Any] = {"properties": {"delta.enableDeletionVectors": "true"}, "features": ["deletionVectors"]}
FEED: dict[str, Any] = {"properties": {"delta.enableChangeDataFeed": "true"}, "features": ["changeDataFeed"]}
CHECKED: dict[str, Any] = {
    "properties": {"delta.enableDeletionVectors": "true", "delta.constraints.c": "id > 0"},
    "features": ["deletionVectors", "checkConstraints", "invariants", "generatedColumns"],
    "schema": StructType((column("id", LONG), column("g", LONG, delta__generationExpression="id"))),
}


PARTED = StructType((column("id"), column("part", DATE)))


def does(
    *adds: AddFile, removes: Sequence[RemoveFile] = (), cdc: Sequence[AddCdcFile] = (), operation: str | None = None
) -> Any:
    """Put these file actions."""

    def act(txn: Any) -> None:
        if operation is not None:
            txn.changes.operation = operation
        txn.remove(*removes)
        txn.add(*adds)
        txn.add_cdc(*cdc)

    return act


def change(path: str = "_change_data/c", **members: Any) -> AddCdcFile:
    """A file of the change data feed."""
    return AddCdcFile(path, **{"partition_values": {}, "size": 10, **members})


def with_vector(path: str, cardinality: int, name: str = "1", **members: Any) -> AddFile:
    """A file of ten rows with a deletion vector."""
    return file(path, deletion_vector=vector(cardinality, name), **members)


A = [file("a")]
OPTIMIZED = gone("a", data_change=False)

CASES = {
    "append": Case(does(file("b"))),
    "negative size": Case(does(file("b", size=-1)), "files.numbers"),
    "size 0": Case(does(file("b", size=0))),
    "size of text": Case(does(file("b", size="100")), "commit.actions", "size"),
    "size of a fraction": Case(does(file("b", size=1.5)), "commit.actions"),
    "size true": Case(does(file("b", size=True)), "commit.actions"),
    "size of 65 bits": Case(does(file("b", size=1 << 63)), "commit.actions"),
    "no size": Case(does(file("b", size=None)), "commit.actions"),
    "negative time": Case(does(file("b", modification_time=-1)), "files.numbers"),
    "dataChange of text": Case(does(file("b", data_change="yes")), "commit.actions"),
    "partition values of numbers": Case(does(file("b", partition_values={"part": 1})), "commit.actions"),
    "tags of numbers": Case(does(file("b", tags={"x": 1})), "commit.actions"),
    "statistics as a dict": Case(does(file("b", stats={"numRecords": 1})), "commit.actions"),
    "empty path": Case(does(file("")), "commit.actions"),
    **{f"no URI, {path}": Case(does(file(path)), "files.path") for path in ("a b", "a#b", "a?b", "100%", "x=%zz/f",
        "a:b/f", "ts=2020-01-01 00:00/f", 'a"b', "a{b}", "a[1]", "a\\b")},
    "negative row id": Case(does(file("b", base_row_id=-1)), "row-ids.assigned",
        features=["rowTracking", "domainMetadata"]),
    # Partition values
    "no partition value": Case(does(file("b")), "files.partition-values", partition_by=["part"]),
    "partition value of no column": Case(does(file("b", partition_values={"part": "1", "id": "1"})),
        "files.partition-values", partition_by=["part"]),
    "partition value where there are none": Case(does(file("b", partition_values={"id": "1"})),
        "files.partition-values"),
    "partition value in other case": Case(does(file("b", partition_values={"PART": "1"})), "files.partition-values",
        partition_by=["part"]),
    "partition value of another type": Case(does(file("b", partition_values={"part": "one"})), "files.partition-values",
        "not valid", partition_by=["part"]),
    "partition value of 33 bits": Case(does(file("b", partition_values={"part": "4294967296"})),
        "files.partition-values", partition_by=["part"]),
    "partition value of no date": Case(does(file("b", partition_values={"part": "2020-13-01"})),
        "files.partition-values", partition_by=["part"], schema=PARTED),
    "partition values that are null": Case(does(file("b", partition_values={"part": None}),
        file("c", partition_values={"part": ""})), partition_by=["part"], schema=PARTED),
    "partition value of the empty text in NOT NULL": Case(does(file("b", partition_values={"part": ""})),
        "files.partition-values", "NOT NULL", partition_by=["part"],
        schema=StructType((column("id"), column("part", INTEGER, False)))),
    "partition value null in NOT NULL": Case(does(file("b", partition_values={"part": None})), "files.partition-values",
        "NOT NULL", partition_by=["part"], schema=StructType((column("id"), column("part", INTEGER, False)))),
    "partition values of an active file": Case(does(file("a", partition_values={"part": "2"}, data_change=False)),
        "files.partition-values", "differ", partition_by=["part"], files=[file("a", partition_values={"part": "1"})]),
    "partition values of an active file, null": Case(does(file("a", partition_values={"part": ""}, data_change=False)),
        partition_by=["part"], files=[file("a", partition_values={"part": None})]),
    "partition values of a remove": Case(does(removes=[gone("a", partition_values={"part": "2"})]),
        "files.partition-values", "other partition values", partition_by=["part"],
        files=[file("a", partition_values={"part": "1"})]),
    "negative size of a remove": Case(does(removes=[gone("a", size=-1)]), "files.numbers", files=[file("a")]),
    # Removes
    "remove": Case(does(removes=[gone("a")]), files=A),
    "remove of nothing": Case(does(removes=[gone("b")]), "files.inactive", files=A),
    "remove of a removed file": Case(does(removes=[gone("a")]), "files.inactive", files=A,
        before=does(removes=[gone("a")])),
    "remove with a vector that is not there": Case(does(removes=[gone("a", deletion_vector=vector(2))]),
        "files.inactive", files=A, **DV),
    "remove without the vector": Case(does(removes=[gone("a")]), "files.inactive", "different deletion vector",
        files=[with_vector("a", 2)], **DV),
    "remove with another vector": Case(does(removes=[gone("a", deletion_vector=vector(2, "2"))]), "files.inactive",
        files=[with_vector("a", 2)], **DV),
    "remove with the vector": Case(does(removes=[gone("a", deletion_vector=vector(2))]), files=[with_vector("a", 2)],
        **DV),
    # Deletion vectors
    "vector": Case(does(with_vector("a", 2), removes=[gone("a")]), files=A, **DV),
    "vector of all rows": Case(does(with_vector("a", 10), removes=[gone("a")]), files=A, **DV),
    "vector in a table without the feature": Case(does(with_vector("a", 2), removes=[gone("a")]),
        "files.deletion-vector", "delta.enableDeletionVectors", files=A),
    "vector in a table without the property": Case(does(with_vector("a", 2), removes=[gone("a")]),
        "files.deletion-vector", files=A, features=["deletionVectors"]),
    "vector of more than all rows": Case(does(with_vector("a", 11), removes=[gone("a")]), "files.deletion-vector",
        "11 of 10", files=A, **DV),
    "vector without row count": Case(does(with_vector("a", 2, stats=None), removes=[gone("a")]),
        "files.deletion-vector", "numRecords", files=A, **DV),
    "vector without remove": Case(does(with_vector("a", 2)), "files.deletion-vector", "also remove", files=A, **DV),
    "vector dropped without remove": Case(does(file("a")), "files.deletion-vector", files=[with_vector("a", 2)], **DV),
    "statistics without the vector": Case(does(file("a", data_change=False)), "files.deletion-vector",
        files=[with_vector("a", 2)], **DV),
    "vector written again": Case(does(with_vector("a", 2, "2", data_change=False),
        removes=[gone("a", deletion_vector=vector(2), data_change=False)]), files=[with_vector("a", 2)], **DV),
    "vector that only rearranges": Case(does(with_vector("a", 2, data_change=False), removes=[OPTIMIZED]),
        "files.data-change", files=A, **DV),
    "vector of another kind": Case(does(file("b", deletion_vector=replace(vector(2), storage_type="x"))),
        "commit.actions", "storageType", **DV),
    "vector whose name is too short": Case(does(file("b", deletion_vector=replace(vector(2), path_or_inline_dv="ab"))),
        "files.deletion-vector", **DV),
    "vector of negative size": Case(does(file("b", deletion_vector=replace(vector(2), size_in_bytes=-1))),
        "commit.actions", **DV),
    "vector of negative cardinality": Case(does(with_vector("b", -1)), "commit.actions", **DV),
    "vector with a negative offset": Case(does(file("b", deletion_vector=replace(vector(2), offset=-1))),
        "commit.actions", **DV),
    # Rules for new rows do not concern a delete.
    "delete by vector beside rules": Case(does(with_vector("a", 2), removes=[gone("a")]), files=A, **CHECKED),
    "more deleted beside rules": Case(does(with_vector("a", 5, "2"), removes=[gone("a", deletion_vector=vector(2))]),
        files=[with_vector("a", 2)], **CHECKED),
    "delete by vectors beside the feed": Case(does(with_vector("a", 2), removes=[gone("a"), gone("b")]),
        files=[file("a"), file("b")], properties={**DV["properties"], **FEED["properties"]},
        features=[*DV["features"], *FEED["features"]]),
    "update by vectors beside the feed": Case(does(with_vector("a", 2), file("new", rows=2), removes=[gone("a")]),
        files=A, properties={**DV["properties"], **FEED["properties"]}, features=[*DV["features"], *FEED["features"]]),
    # dataChange
    "compaction": Case(does(file("ab", rows=20, data_change=False), removes=[OPTIMIZED, gone("b", data_change=False)]),
        files=[file("a"), file("b")]),
    "compaction of live rows": Case(does(file("b", rows=8, data_change=False),
        removes=[gone("a", deletion_vector=vector(2), data_change=False)]), files=[with_vector("a", 2)], **DV),
    "compaction that forgets deleted rows": Case(does(file("b", rows=10, data_change=False), removes=[
        gone("a", deletion_vector=vector(2), data_change=False)]), "files.data-change", "remove 8 rows and add 10 rows",
        files=[with_vector("a", 2)], **DV),
    "compaction that loses rows": Case(does(file("b", rows=9, data_change=False), removes=[OPTIMIZED]),
        "files.data-change", files=A),
    "compaction that loses all rows": Case(does(removes=[OPTIMIZED]), "files.data-change", "remove 10 rows", files=A),
    "compaction that loses rows of an append-only table": Case(does(removes=[OPTIMIZED]), "files.data-change", files=A,
        properties={"delta.appendOnly": "true"}),
    "compaction that loses rows unseen by the feed": Case(does(removes=[OPTIMIZED]), "files.data-change", files=A,
        **FEED),
    "compaction that loses an unknown number of rows": Case(does(removes=[OPTIMIZED]), "files.data-change",
        "unknown number", files=[file("a", stats=None)]),
    "compaction of an unknown number of rows": Case(does(file("b", rows=9, data_change=False), removes=[OPTIMIZED]),
        files=[file("a", stats=None)]),
    "compaction of a file without rows": Case(does(removes=[OPTIMIZED]), files=[file("a", rows=0)]),
    "compaction from nothing": Case(does(file("b", data_change=False)), "files.data-change", "not an active", files=A),
    "compaction beside a delete": Case(does(file("b", data_change=False), removes=[gone("a")]), "files.data-change",
        "not an active", files=A),
    "new statistics that change data": Case(lambda txn: txn.add_again(file("a", 3, 4)), "files.data-change",
        "add_again", files=A),
    "new statistics": Case(does(file("a", 3, 4, data_change=False)), files=A),
    # Append-only tables
    "remove from an append-only table": Case(does(removes=[gone("a")]), "files.append-only", files=A,
        properties={"delta.appendOnly": "true"}),
    "compaction of an append-only table": Case(does(file("b", data_change=False), removes=[OPTIMIZED]), files=A,
        properties={"delta.appendOnly": "true"}),
    "vector in an append-only table": Case(does(with_vector("a", 2), removes=[gone("a")]), "files.append-only", files=A,
        features=["deletionVectors", "appendOnly"], properties={**DV["properties"], "delta.appendOnly": "true"}),
    "rows restored in an append-only table": Case(does(file("a"), removes=[gone("a", deletion_vector=vector(2))]),
        files=[with_vector("a", 2)], features=["deletionVectors", "appendOnly"],
        properties={**DV["properties"], "delta.appendOnly": "true"}),
    # The change data feed
    "changes": Case(does(file("b"), removes=[gone("a")], cdc=[change()]), files=A, **FEED),
    "no changes": Case(does(file("b"), removes=[gone("a")]), "files.cdc", "add_cdc", files=A, **FEED),
    "overwrite": Case(does(file("b"), removes=[gone("a")], operation="RESTORE"), files=A, **FEED),
    "remove beside the feed": Case(does(removes=[gone("a")]), files=A, **FEED),
    "changes of a table without feed": Case(does(file("b"), cdc=[change()]), "files.cdc", "leave it out"),
    "changes of a commit that changes nothing": Case(does(file("b", data_change=False), removes=[OPTIMIZED], cdc=[
        change()]), "files.cdc", files=A, **FEED),
    "changes alone": Case(does(cdc=[change()]), "files.cdc", files=A, **FEED),
    "changes of negative size": Case(does(file("b"), cdc=[change(size=-1)]), "files.numbers", **FEED),
    "changes that change data": Case(does(file("b"), cdc=[change(data_change=True)]), "files.cdc", **FEED),
    "changes without URI": Case(does(file("b"), cdc=[change("a b")]), "files.path", **FEED),
    "changes of other partitions": Case(does(file("b"), cdc=[change(partition_values={"x": "1"})]),
        "files.partition-values", **FEED),
}  # fmt: skip


def test_file_actions_say_what_is_so(tmp_path: Path) -> None:
    check_each(CASES, tmp_path)


def spellings(root: str) -> list[str]:
    """Other spellings of the path `a`."""
    return ["./a", "%61", "x/../a", f"{root}/a", f"file:{root}/a", f"file://{root}/a", f"file://localhost{root}/%61"]


@pytest.mark.parametrize("number", range(7))
def test_a_file_is_one_however_its_path_is_spelled(tmp_path: Path, number: int) -> None:
    table = make_table(tmp_path / "t")
    spelled = spellings(str(tmp_path / "t"))[number]
    txn = table.transaction()
    txn.add(file("a"))
    refuses(InvalidCommit, "added twice", lambda: txn.add(file(spelled)))
    refuses(InvalidCommit, "both added and removed", lambda: txn.remove(gone(spelled)))
    txn.commit()
    again = table.refresh().transaction()
    again.add(file(spelled, 3, 4, data_change=False))
    again.commit()
    assert actions(tmp_path / "t", 2, "add")[0]["path"] == "a"
    assert paths(tmp_path / "t") == ["a"]
    append(table, file(spelled, 5, 6))
    assert actions(tmp_path / "t", 3, "add")[0]["path"] == "a"
    last = table.refresh().transaction()
    last.remove(gone(spelled))
    last.commit()
    assert actions(tmp_path / "t", 4, "remove")[0]["path"] == "a"
    assert paths(tmp_path / "t") == []


def test_a_file_that_is_added_and_removed_is_told_by_path_and_id_of_the_vector(tmp_path: Path) -> None:
    txn = make_table(tmp_path / "t", actions=[{"add": with_vector("a", 2).to_json()}], **DV).transaction()
    txn.remove(gone("a", deletion_vector=vector(2)), gone("b"))
    for act in (lambda: txn.add(with_vector("a", 3)), lambda: txn.add(file("b"))):
        refuses(InvalidCommit, "both added and removed", act)
    refuses(InvalidCommit, "removed twice", lambda: txn.remove(gone("b")))


def test_a_remove_says_when(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", actions=[{"add": file(name).to_json()} for name in "ab"])
    with table.transaction() as txn:
        txn.remove(gone("a", deletion_timestamp=None), gone("b", deletion_timestamp=7))
    [info] = actions(tmp_path / "t", 1, "commitInfo")
    assert [each["deletionTimestamp"] for each in actions(tmp_path / "t", 1, "remove")] == [info["timestamp"], 7]


def test_half_a_character_cannot_be_written(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", features=["domainMetadata"])
    for act, says in (
        (lambda txn: txn.add(file("a\ud800")), "A path .* is malformed"),
        (lambda txn: txn.set_domain("x", "\udfff"), "unpaired surrogate .*UTF-8"),
    ):
        with pytest.raises(InvalidCommit, match=says) as raised, table.transaction() as txn:
            act(txn)
        assert table.snapshot.root in str(raised.value) and table.refresh().version == 0


def test_paths_that_are_uris_are_kept_as_they_are(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    uris = ["a%20b", "a%23b", "day=2020-01-01/f", "x=%25/f", "ts=a/b:c", "s3://bucket/x/f", "file:/x/f", "größe=ß/f"]
    append(table, *map(file, uris))
    assert [add["path"] for add in actions(tmp_path / "t", 1, "add")] == uris


def test_a_path_that_a_careless_writer_logged_keeps_its_text(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", actions=[{"add": file("a b").to_json()}])
    assert append(table, file("a b", 3, 4)) == 1
    with table.refresh().transaction() as txn:
        txn.remove(gone("a b"))
    assert paths(tmp_path / "t") == []


@pytest.mark.parametrize("logged", ["%61%20b", "a%20b", "./a%20b"])
def test_a_remove_has_the_path_as_the_log_has_it(tmp_path: Path, logged: str) -> None:
    table = make_table(tmp_path / "t", actions=[{"add": file(logged).to_json()}])
    txn = table.transaction()
    txn.remove(gone("a%20b"))
    txn.commit()
    assert actions(tmp_path / "t", 1, "remove")[0]["path"] == logged


def test_a_winner_that_spells_a_path_otherwise_conflicts(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"), file("b"))
    mine = table.refresh().transaction()
    mine.remove(gone("a"))
    other = table.transaction()
    other.remove(gone(f"file:{tmp_path}/t/a"))
    other.commit()
    refuses(ds.CommitConflict, "removed a, ", mine.commit)


@pytest.mark.parametrize("act", [
    lambda txn: txn.add(AddFile(1, {}, 1, 1, True)),
    lambda txn: txn.remove(RemoveFile(None, True)),
    lambda txn: (txn.remove(gone("a")), txn.add(file("a", deletion_vector={"storageType": "u"}))),
    lambda txn: txn.add_again(file("a", deletion_vector="u")),
    lambda txn: txn.add(file("a", deletion_vector="u")),
    lambda txn: txn.add_cdc(AddCdcFile(b"x", {}, 1)),
])  # fmt: skip
def test_members_of_the_wrong_type_are_refused_by_name(tmp_path: Path, act: Any) -> None:
    table = make_table(tmp_path / "t", actions=[{"add": file("a").to_json()}], **DV)
    txn = table.transaction()
    with pytest.raises(InvalidCommit) as raised:
        act(txn)
        txn.commit()
    assert raised.value.rule == "commit.actions"
    assert table.refresh().version == 0


def test_a_remove_gets_the_partition_values_of_its_file(tmp_path: Path) -> None:
    old = [{"add": file("a", partition_values={"part": "1"}, size=7).to_json()}]
    table = make_table(tmp_path / "t", partition_by=["part"], actions=old)
    txn = table.transaction()
    txn.remove(gone("a", size=None))
    txn.commit()
    [remove] = actions(tmp_path / "t", 1, "remove")
    assert (remove["partitionValues"], remove["size"]) == ({"part": "1"}, 7)

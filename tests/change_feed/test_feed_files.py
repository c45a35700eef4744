"""Which files contain the changes of versions, and which of their rows are changes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from deltaskip.errors import CorruptLog
from deltaskip.sparkexpr.types.data_types import STRING, StructField, StructType
from tests.builder import Action, metadata, protocol_of
from tests.change_feed.feeds import ON, SCHEMA, Feed, cdc, inline, stats
from tests.each import refuses
from tests.log.builder import add, log_name, remove
from tests.looped import looped

NO_CHANGE = {"numTargetRowsInserted": "0", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"}


Entries = list[tuple[Any, ...]]
Asked = tuple[tuple[int, ...], str | None]
ALL: Asked = (), None


def vectors(before: tuple[int, ...], after: tuple[int, ...]) -> list[list[Action]]:
    old, new = ({"deletionVector": inline(*rows)} if rows else {} for rows in (before, after))
    return [
        [add("a", stats=stats(9, 0, 8), **old)],
        [remove("a", **old), add("a", stats=stats(9, 0, 8, tightBounds=False), **new)],
    ]


V, W = ({"deletionVector": inline(*rows)} for rows in ((1,), (4,)))
LOW, HIGH = stats(5, 0, 4), stats(5, 5, 9)
# Commits, and the entries of ranges and predicates.
CASES: dict[str, tuple[list[list[Action]], list[tuple[Asked, Entries]]]] = {
    "adds insert and removes delete": (
        [[add("a", stats=LOW), add("b", stats=stats(3, 5, 7))], [remove("a"), add("c", stats=stats(2, 0, 1))]],
        [(ALL, [(1, "insert", "a", 5), (1, "insert", "b", 3), (2, "insert", "c", 2), (2, "delete", "a", 5)]),
         (((2,), None), [(2, "insert", "c", 2), (2, "delete", "a", None)]), (((0, 0), None), [])]),
    # Rule 47. PROTOCOL, Add CDC File
    "a version with change files is read only from them": (
        [[add("a")], [remove("a"), add("b"), cdc("_change_data/x%20y"), cdc("_change_data/z")]],
        [(((2,), None), [(2, None, "_change_data/x y", None), (2, None, "_change_data/z", None)])]),
    "actions that change no data are no changes": (
        [[add("a")], [remove("a", dataChange=False), add("b", dataChange=False)]], [(((2,), None), [])]),
    # Rule 2 and, for the feed, §1.1: rows in the new vector are deleted, those in the old one inserted again.
    **{f"vectors of {before} and {after}": (
        vectors(before, after), [(((2,), None), [(2, kind, "a", rows) for kind, rows in told])])
       for before, after, told in (
        ((), (1, 3), [("delete", 2)]), ((1, 3), (), [("insert", 2)]), ((1,), (1, 3), [("delete", 1)]),
        ((1, 3), (3,), [("insert", 1)]), ((1, 3), (3, 4, 5), [("insert", 1), ("delete", 2)]))},
    "a file that comes back unchanged has no changes": (
        [[add("a", **V)], [remove("a", **V), add("a", **V)],
         [remove("a", **V), add("a", deletionVector={**inline(1), "offset": 1})]], [(((2,), None), [])]),
    "deleted rows of whole files are not counted": (
        [[add("a", stats=stats(9, 0, 8, tightBounds=False), deletionVector=inline(1, 2))],
         [remove("a", deletionVector=inline(1, 2))]], [(ALL, [(1, "insert", "a", 7), (2, "delete", "a", 7)])]),
    # The statistics of files that the range only removes are those of the version before it.
    "a removed file is skipped by the statistics of its add": (
        [[add("a", stats=LOW), add("b", stats=HIGH)], [remove("a"), remove("b")]],
        [(((), "id = 7"), [(1, "insert", "b", 5), (2, "delete", "b", 5)]),
         (((2,), "id = 7"), [(2, "delete", "b", 5)])]),
    "a removed file is skipped by its own statistics": (
        [[add("a"), add("b")], [remove("a", stats=LOW), remove("b", stats=HIGH)]],
        [(((2,), "id = 7"), [(2, "delete", "b", 5)])]),
    # A writer may compute the statistics of a file again from the rows that its deletion vector leaves.
    "deleted rows need not be within the bounds of those that stay, which are": (
        [[add("a")], [remove("a"), add("a", stats=stats(5, 0, 3, tightBounds=False), **W)], [remove("a", **W)]],
        [(((2, 2), "id = 4"), [(2, "delete", "a", 1)]), (((3,), "id = 4"), []),
         (((3,), "id = 3"), [(3, "delete", "a", 4)]), (((2,), "id = 4"), [(2, "delete", "a", 1)])]),
    "an inserted row is within the bounds of its add": (
        [[add("a", stats=stats(5, 0, 4, tightBounds=False), **W)], [remove("a", **W), add("a", stats=LOW)]],
        [(((2,), "id = 4"), [(2, "insert", "a", 1)]), (((2,), "id = 5"), [])]),
    "paths in two spellings are one file": (
        [[add("a%62", stats=stats(3, 0, 2))],
         [remove("ab"), add("%61b", stats=stats(3, 0, 2, tightBounds=False), deletionVector=inline(0))]],
        [(((2,), None), [(2, "delete", "ab", 1)])]),
    "the columns of the feed may be in the predicate": (
        [[add("a", stats=LOW), add("b", stats=HIGH)]],
        [(((), "_change_type = 'insert' AND id > 6 AND _commit_version < 5"), [(1, "insert", "b", 5)])]),
}  # fmt: skip


@looped("case", CASES)
def test_the_files_with_changes(tmp_path: Path, case: str) -> None:
    feed, (commits, expected) = Feed(tmp_path), CASES[case]
    for actions in commits:
        feed.commit(*actions)
    for (bounds, where), entries in expected:
        assert feed.entries(*bounds, where=where) == entries


def test_a_merge_that_changed_no_row_has_no_changes(tmp_path: Path) -> None:
    """Rule 47: a no-op MERGE that rewrites files must not show as changes."""
    feed = Feed(tmp_path)
    feed.commit(add("a"))
    feed.commit(remove("a"), add("b"), operation="MERGE", metrics=NO_CHANGE)
    feed.commit(remove("b"), add("c"), operation="MERGE", metrics={**NO_CHANGE, "numTargetRowsDeleted": "1"})
    feed.commit(remove("c"), add("d"), operation="WRITE", metrics=NO_CHANGE)
    feed.commit(remove("d"), add("e"), operation="MERGE")
    assert {version for version, *_ in feed.entries()} == {1, 3, 4, 5}


def test_vectors_of_several_versions_are_compared_each_with_the_one_before(tmp_path: Path) -> None:
    """The vector after a version is read once for both, and so is one that comes back."""
    feed, chain = Feed(tmp_path), [(), (1,), (1, 3), (1, 3, 4), (3,), (1,), ()]
    vectors = [{"deletionVector": inline(*rows)} if rows else {} for rows in chain]
    feed.commit(add("a", stats=stats(9, 0, 8)))
    for old, new in pairwise(vectors):
        feed.commit(remove("a", **old), add("a", stats=stats(9, 0, 8), **new))
    expected = [(1, "insert", "a", 9)]
    for version, (before, after) in enumerate(pairwise(chain), 2):
        told = {"insert": len({*before} - {*after}), "delete": len({*after} - {*before})}
        expected += [(version, kind, "a", rows) for kind, rows in told.items() if rows]
    assert feed.entries() == expected


@pytest.mark.parametrize("act", [add, remove])
def test_a_path_twice_in_a_commit_is_corrupt(tmp_path: Path, act: object) -> None:
    feed = Feed(tmp_path)
    feed.commit(act("a"), act("a", deletionVector=inline(1)))
    refuses(CorruptLog, r"version 1 (adds|removes) the file a twice", feed.table.changes, 1)


def test_rows_that_a_vector_deletes_are_within_the_bounds_of_the_version_before(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(*(add(name, stats=stats(5, low, low + 4)) for name, low in (("a", 0), ("b", 5), ("c", 10))))
    wide = {"stats": stats(5, 0, 14, tightBounds=False), "deletionVector": inline(1)}
    feed.commit(*(action for name in "abc" for action in (remove(name), add(name, **wide))))
    assert feed.entries(2, where="id = 7") == [(2, "delete", "b", 1)]
    assert feed.entries(1, where="id = 7") == [(1, "insert", "b", 5), (2, "delete", "b", 1)]
    # Without the version before, nothing is known.
    feed.log.parquet(log_name(2, "checkpoint.parquet"), [
        {"protocol": protocol_of(("changeDataFeed", "deletionVectors"))}, metadata(SCHEMA, configuration=ON)
    ])  # fmt: skip
    feed.log.clean_up(2)
    assert len(feed.entries(2, where="id = 7")) == 3


def test_partition_values_prune_change_files_too(tmp_path: Path) -> None:
    feed = Feed(tmp_path, StructType((*SCHEMA.fields, StructField("p", STRING))), partitionColumns=["p"])
    a, b = ({"partitionValues": {"p": p}} for p in "ab")
    feed.commit(add("p=a/1", **a), add("p=b/1", **b))
    feed.commit(cdc("_change_data/p=a/2", **a), cdc("_change_data/p=b/2", **b), remove("p=a/1", **a))
    assert [path for _, _, path, _ in feed.entries(where="p = 'b'")] == ["p=b/1", "_change_data/p=b/2"]
    files = feed.table.changes(2).files()
    assert files["partition_values"].to_pylist() == [{"p": "a"}, {"p": "b"}]


def test_a_remove_without_partition_values_has_those_of_its_add(tmp_path: Path) -> None:
    feed = Feed(tmp_path, StructType((*SCHEMA.fields, StructField("p", STRING))), partitionColumns=["p"])
    feed.commit(add("p=a/1", partitionValues={"p": "a"}))
    feed.commit({"remove": {"path": "p=a/1", "dataChange": True}})
    assert feed.table.changes(1).files()["partition_values"].to_pylist() == [{"p": "a"}] * 2
    refuses(CorruptLog, r"Version 2 .* removes the file p=a/1 without its partition values", feed.table.changes, 2)


def test_files_have_the_documented_columns(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a b%20c", size=7))
    for files in (feed.table.changes(1).files(), feed.table.changes(0, 0).files()):
        assert files.schema.names == [
            "version", "timestamp", "change_type", "path", "uri", "size", "partition_values", "num_rows",
            "deletion_vector_before", "deletion_vector_after",
        ]  # fmt: skip
    [row] = feed.table.changes(1).files().to_pylist()
    assert row["uri"] == tmp_path.as_uri() + "/a%20b%20c"
    assert row["timestamp"].timestamp() * 1000 == feed.table.history()[0].timestamp_ms
    assert (row["size"], row["num_rows"]) == (7, None)


def test_a_commit_with_metadata_keeps_its_changes(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a"), metadata(StructType((*SCHEMA.fields, StructField("n", STRING))), configuration=ON))
    assert [path for _, _, path, _ in feed.entries()] == ["a"]

"""Which files contain the changes of versions, and which of their rows are changes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from deltaskip.errors import CorruptLog
from deltaskip.sparkexpr.types.data_types import STRING, StructField, StructType
from tests.builder import metadata, protocol_of
from tests.change_feed.feeds import ON, SCHEMA, Feed, cdc, inline, stats
from tests.log.builder import add, log_name, remove

NO_CHANGE = {"numTargetRowsInserted": "0", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"}


def test_adds_insert_and_removes_delete(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a", stats=stats(5, 0, 4)), add("b", stats=stats(3, 5, 7)))
    feed.commit(remove("a"), add("c", stats=stats(2, 0, 1)))
    first = [(1, "insert", "a", 5), (1, "insert", "b", 3)]
    assert feed.entries() == [*first, (2, "insert", "c", 2), (2, "delete", "a", 5)]
    assert feed.entries(2) == [(2, "insert", "c", 2), (2, "delete", "a", None)]
    assert feed.entries(0, 0) == []


def test_a_version_with_change_files_is_read_only_from_them(tmp_path: Path) -> None:
    """Rule 47. # PROTOCOL, Add CDC File"""
    feed = Feed(tmp_path)
    feed.commit(add("a"))
    feed.commit(remove("a"), add("b"), cdc("_change_data/x%20y"), cdc("_change_data/z"))
    assert feed.entries(2) == [(2, None, "_change_data/x y", None), (2, None, "_change_data/z", None)]


def test_actions_that_change_no_data_are_no_changes(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a"))
    feed.commit(remove("a", dataChange=False), add("b", dataChange=False), operation="OPTIMIZE")
    assert feed.entries(2) == []


def test_a_merge_that_changed_no_row_has_no_changes(tmp_path: Path) -> None:
    """Rule 47: a no-op MERGE that rewrites files must not show as changes."""
    feed = Feed(tmp_path)
    feed.commit(add("a"))
    feed.commit(remove("a"), add("b"), operation="MERGE", metrics=NO_CHANGE)
    feed.commit(remove("b"), add("c"), operation="MERGE", metrics={**NO_CHANGE, "numTargetRowsDeleted": "1"})
    feed.commit(remove("c"), add("d"), operation="WRITE", metrics=NO_CHANGE)
    feed.commit(remove("d"), add("e"), operation="MERGE")
    assert {version for version, *_ in feed.entries()} == {1, 3, 4, 5}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, (1, 3), [("delete", 2)]),
        ((1, 3), None, [("insert", 2)]),
        ((1,), (1, 3), [("delete", 1)]),
        ((1, 3), (3,), [("insert", 1)]),
        ((1, 3), (3, 4, 5), [("delete", 2), ("insert", 1)]),
    ],
)
def test_rows_of_one_of_two_deletion_vectors_are_changes(
    tmp_path: Path, before: tuple[int, ...] | None, after: tuple[int, ...] | None, expected: list[tuple[str, int]]
) -> None:
    """Rule 2 and, for the feed, §1.1: rows in the new vector are deleted, those in the old one inserted again."""
    old, new = ({} if rows is None else {"deletionVector": inline(*rows)} for rows in (before, after))
    feed = Feed(tmp_path)
    feed.commit(add("a", stats=stats(9, 0, 8), **old))
    feed.commit(remove("a", **old), add("a", stats=stats(9, 0, 8, tightBounds=False), **new))
    assert sorted((kind, rows) for _, kind, _, rows in feed.entries(2)) == expected


def test_a_file_that_comes_back_unchanged_has_no_changes(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a", deletionVector=inline(1)))
    feed.commit(remove("a", deletionVector=inline(1)), add("a", deletionVector=inline(1)))
    feed.commit(remove("a", deletionVector=inline(1)), add("a", deletionVector={**inline(1), "offset": 1}))
    assert feed.entries(2) == []


def test_deleted_rows_of_whole_files_are_not_counted(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a", stats=stats(9, 0, 8, tightBounds=False), deletionVector=inline(1, 2)))
    feed.commit(remove("a", deletionVector=inline(1, 2)))
    assert feed.entries() == [(1, "insert", "a", 7), (2, "delete", "a", 7)]


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
    with pytest.raises(CorruptLog, match=r"version 1 (adds|removes) the file a twice"):
        feed.table.changes(1)


def test_a_removed_file_is_skipped_by_the_statistics_of_its_add(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a", stats=stats(5, 0, 4)), add("b", stats=stats(5, 5, 9)))
    feed.commit(remove("a"), remove("b"))
    assert feed.entries(where="id = 7") == [(1, "insert", "b", 5), (2, "delete", "b", 5)]
    # The statistics of files that the range only removes are those of the version before it.
    assert feed.entries(2, where="id = 7") == [(2, "delete", "b", 5)]


def test_a_removed_file_is_skipped_by_its_own_statistics(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a"), add("b"))
    feed.commit(remove("a", stats=stats(5, 0, 4)), remove("b", stats=stats(5, 5, 9)))
    assert feed.entries(2, where="id = 7") == [(2, "delete", "b", 5)]


def test_deleted_rows_need_not_be_within_the_bounds_of_those_that_stay(tmp_path: Path) -> None:
    """A writer may compute the statistics of a file again from the rows that its deletion vector leaves."""
    feed = Feed(tmp_path)
    feed.commit(add("a"))
    vector = inline(4)
    feed.commit(remove("a"), add("a", stats=stats(5, 0, 3, tightBounds=False), deletionVector=vector))
    assert feed.entries(2, where="id = 4") == [(2, "delete", "a", 1)]
    # The rows that stay are within them.
    feed.commit(remove("a", deletionVector=vector))
    assert feed.entries(3, where="id = 4") == []
    assert feed.entries(3, where="id = 3") == [(3, "delete", "a", 4)]
    assert feed.entries(2, where="id = 4") == [(2, "delete", "a", 1)]


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


def test_an_inserted_row_is_within_the_bounds_of_its_add(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a", stats=stats(5, 0, 4, tightBounds=False), deletionVector=inline(4)))
    feed.commit(remove("a", deletionVector=inline(4)), add("a", stats=stats(5, 0, 4)))
    assert feed.entries(2, where="id = 4") == [(2, "insert", "a", 1)]
    assert feed.entries(2, where="id = 5") == []


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
    with pytest.raises(CorruptLog, match=r"Version 2 .* removes the file p=a/1 without its partition values"):
        feed.table.changes(2)


def test_paths_in_two_spellings_are_one_file(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a%62", stats=stats(3, 0, 2)))
    feed.commit(remove("ab"), add("%61b", stats=stats(3, 0, 2, tightBounds=False), deletionVector=inline(0)))
    assert feed.entries(2) == [(2, "delete", "ab", 1)]


def test_the_columns_of_the_feed_may_be_in_the_predicate(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a", stats=stats(5, 0, 4)), add("b", stats=stats(5, 5, 9)))
    assert len(feed.entries(where="_change_type = 'insert' AND id > 6 AND _commit_version < 5")) == 1


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

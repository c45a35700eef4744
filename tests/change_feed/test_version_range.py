"""Which versions a feed consists of, and when it is refused."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import (
    CorruptLog,
    InvalidArgument,
    InvalidArgumentType,
    SchemaError,
    UnsupportedFeature,
    VersionNotFound,
)
from deltaskip.sparkexpr.types.data_types import INTEGER, LONG, STRING, DataType, StructField, StructType
from tests.builder import metadata, protocol_of
from tests.change_feed.feeds import ON, SCHEMA, Feed
from tests.each import refuses
from tests.log.builder import add, log_name
from tests.looped import looped

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def moment(version: float) -> datetime:
    """The time of a version of `timed`."""
    return EPOCH + timedelta(minutes=version)


@pytest.fixture
def timed(tmp_path: Path) -> DeltaTable:
    """A table whose versions 0 to 4 were committed a minute after each other."""
    feed = Feed(tmp_path)
    for version in range(1, 5):
        feed.commit(add(str(version)))
    for version in range(5):
        seconds = moment(version).timestamp()
        os.utime(feed.log.log / log_name(version, "json"), (seconds, seconds))
    return feed.table


def bounds(table: DeltaTable, *given: Any, **chosen: Any) -> tuple[int, int]:
    scan = table.changes(*given, **chosen)
    assert {row["version"] for row in scan.files().to_pylist()} <= set(range(scan.start, scan.end + 1))
    return scan.start, scan.end


@looped(
    "start, end, expected",
    [
        (None, None, (0, 4)),
        (2, None, (2, 4)),
        (2, 3, (2, 3)),
        (3, 3, (3, 3)),
        (2, 9, (2, 4)),
        (moment(-5), None, (0, 4)),
        (moment(2), moment(3), (2, 3)),
        (moment(1.5), moment(3.5), (2, 3)),
        (moment(2.4), moment(2.6), (3, 2)),
        (moment(4), moment(4), (4, 4)),
        (1, moment(2.9), (1, 2)),
        (moment(0.1), 2, (1, 2)),
        (moment(2).isoformat(), "2026-01-01T00:03:00", (2, 3)),
    ],
)
def test_times_are_rounded_into_the_range(timed: DeltaTable, start: Any, end: Any, expected: tuple[int, int]) -> None:
    """As in delta-spark: a start to the version at or after it, an end to the one at or before it."""
    assert bounds(timed, start, end) == expected


def test_an_older_table_ends_at_its_version(timed: DeltaTable) -> None:
    older = DeltaTable(timed.snapshot.root, version=2)
    assert bounds(older) == (0, 2)
    assert bounds(older, 0, 4) == (0, 4)
    assert bounds(older, 3) == (3, 4)
    assert bounds(older, moment(3)) == (3, 4)


def test_a_table_is_polled_for_newer_versions(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    table = feed.table
    last = table.changes(0).end
    assert last == 0
    nothing = table.changes(last + 1, allow_out_of_range=True)
    assert (nothing.end, nothing.files().num_rows) == (last, 0)
    feed.commit(add("a"))
    found = table.changes(last + 1, allow_out_of_range=True)
    assert (found.end, found.files()["path"].to_pylist()) == (1, ["a"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((5,), "cannot start at version 5: version 4 is the latest"),
        ((moment(4.1),), "start must not be after the last commit"),
        ((0, moment(4.1)), "end must not be after the last commit"),
        ((0, moment(-1)), "end must not be before the first commit: 2025-12-31"),
    ],
)
def test_a_range_outside_of_the_versions_is_refused(timed: DeltaTable, given: Any, message: str) -> None:
    refuses(VersionNotFound, message, timed.changes, *given)


@pytest.mark.parametrize(
    ("given", "expected"), [((5,), (5, 4)), ((moment(4.1),), (5, 4)), ((0, moment(4.1)), (0, 4)), ((9, 12), (9, 8))]
)
def test_a_range_outside_of_the_versions_can_be_allowed(timed: DeltaTable, given: Any, expected: Any) -> None:
    assert bounds(timed, *given, allow_out_of_range=True) == expected


@pytest.mark.parametrize("given", [(3, 2), (moment(3), moment(2)), (3, moment(2)), (moment(2.5), 2)])
def test_an_end_before_the_start_is_refused(timed: DeltaTable, given: Any) -> None:
    refuses(InvalidArgument, "end must not be before start", timed.changes, *given)


@pytest.mark.parametrize("wrong", [2.5, True, b"1", object()])
def test_other_types_are_refused(timed: DeltaTable, wrong: Any) -> None:
    refuses(InvalidArgumentType, "start must be an int, a datetime, a date or a str", timed.changes, wrong)
    refuses(InvalidArgument, "end must be ISO 8601 text", timed.changes, 0, "yesterday")
    refuses(InvalidArgument, "start must be 0 or greater", timed.changes, -1)


def test_in_commit_timestamps_are_the_times(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    on = {**ON, "delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "1"}
    late = {"inCommitTimestamp": 9_000_000_000_000, "operation": "WRITE"}
    feed.log.commit({"commitInfo": late}, metadata(SCHEMA, configuration=on), add("a"))
    feed.log.commit({"commitInfo": {**late, "inCommitTimestamp": 9_000_000_000_007}}, add("b"))
    times = feed.table.changes(0).files()["timestamp"].to_pylist()
    assert [round(time.timestamp() * 1000) for time in times] == [9_000_000_000_000, 9_000_000_000_007]
    assert bounds(feed.table, datetime.fromtimestamp(9_000_000_000, UTC) + timedelta(milliseconds=1)) == (2, 2)


@pytest.mark.parametrize("off", [{}, {"delta.enableChangeDataFeed": "false"}])
def test_versions_without_the_feed_are_refused_by_name(tmp_path: Path, off: dict[str, str]) -> None:
    feed = Feed(tmp_path)
    feed.commit(add("a"))
    feed.commit(metadata(SCHEMA, configuration=off))
    feed.commit(add("b"))
    refuses(InvalidArgument, r"version 2 of .* were not recorded.* to true", feed.table.changes, 0)
    refuses(InvalidArgument, r"version 3 of .* were not recorded", feed.table.changes, 3)
    assert bounds(feed.table, 0, 1) == (0, 1)
    feed.commit(metadata(SCHEMA, configuration=ON), add("c"))
    refuses(InvalidArgument, r"version 2 of .*pass start=4 or later", feed.table.changes, 0)
    assert bounds(feed.table, 4) == (4, 4)


def test_cleaned_up_commits_are_named(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    for name in "abcd":
        feed.commit(add(name))
    feed.log.parquet(
        log_name(3, "checkpoint.parquet"),
        [
            {"protocol": protocol_of(("changeDataFeed",))},
            metadata(SCHEMA, configuration=ON),
            add("a"),
            add("b"),
            add("c"),
        ],
    )
    feed.log.clean_up(3)
    refuses(VersionNotFound, r"changes of version 1: .* version 3 is the first", feed.table.changes, 1)
    assert bounds(feed.table, 3) == (3, 4)
    assert bounds(feed.table, datetime(2000, 1, 1, tzinfo=UTC)) == (3, 4)


def test_no_checkpoint_is_needed_where_the_schema_stays(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    for name in "abcd":
        feed.commit(add(name))
    feed.log.parquet(
        log_name(4, "checkpoint.parquet"),
        [{"protocol": protocol_of(("changeDataFeed",))}, metadata(SCHEMA, configuration=ON), add("a")],
    )
    feed.log.clean_up(2)
    assert [path for _, _, path, _ in feed.entries(2)] == ["b", "c", "d"]


@pytest.mark.parametrize("in_commit", ["true", "false"])
def test_a_missing_commit_in_between_is_corrupt(tmp_path: Path, in_commit: str) -> None:
    """Fewer commits before the range are listed where their files' times do not count."""
    feed = Feed(tmp_path, configuration={**ON, "delta.enableInCommitTimestamps": in_commit})
    for version, name in enumerate("abcd", 1):
        feed.log.commit({"commitInfo": {"inCommitTimestamp": version, "operation": "WRITE"}}, add(name))
    table = feed.table
    (feed.log.log / log_name(2, "json")).unlink()
    for start in (1, 2):
        refuses(CorruptLog, r"00000000000000000002.json \(version 2\) is missing", table.changes, start)


@pytest.mark.parametrize("checkpoint", range(1, 5))
@pytest.mark.parametrize("changed", range(2, 5))
def test_rows_have_the_last_columns_wherever_a_checkpoint_is(tmp_path: Path, checkpoint: int, changed: int) -> None:
    """Columns are added by a version in the range or after it, before or after the checkpoint of the table."""
    feed, more = Feed(tmp_path), StructType((*SCHEMA.fields, StructField("x", STRING)))
    for version in range(1, 5):
        feed.commit(*([metadata(more, configuration=ON)] if version == changed else []), add(str(version)))
        if version == checkpoint:
            state = (
                {"protocol": protocol_of(("changeDataFeed",))},
                metadata(more if version >= changed else SCHEMA, configuration=ON),
            )
            feed.log.parquet(
                log_name(version, "checkpoint.parquet"), [*state, *(add(str(each)) for each in range(1, version + 1))]
            )
    for table in (feed.table, DeltaTable(tmp_path, version=3)):
        for end in range(1, 5):
            names = table.changes(1, end).to_batches().schema.names
            assert ("x" in names) == (end >= changed), end


def test_protocols_of_the_range_are_checked(tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.commit(
        {
            "protocol": {
                **protocol_of(("changeDataFeed",)),
                "minReaderVersion": 3,
                "readerFeatures": ["new"],
                "writerFeatures": ["new", "changeDataFeed"],
                "minWriterVersion": 7,
            }
        }
    )
    feed.commit({"protocol": protocol_of(("changeDataFeed",))}, add("a"))
    refuses(UnsupportedFeature, "new", feed.table.changes, 0)
    assert bounds(feed.table, 2) == (2, 2)


def column(name: str, data_type: DataType = LONG, physical: str | None = None, number: int = 1) -> StructField:
    mapped = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical or name}
    return StructField(name, data_type, True, mapped)


NAMES = {**ON, "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}


def changed(tmp_path: Path, old: StructType, new: StructType, configuration: dict[str, str] = NAMES) -> Feed:
    feed = Feed(tmp_path, old, configuration=configuration)
    feed.commit(add("a"))
    feed.commit(metadata(new, configuration=configuration))
    feed.commit(add("b"))
    return feed


def test_a_dropped_and_created_column_is_refused_by_name_and_version(tmp_path: Path) -> None:
    """Rule 57: the end's schema is right by physical name where no column was dropped and created again."""
    feed = changed(
        tmp_path,
        StructType((column("id"), column("a", physical="x", number=2))),
        StructType((column("id"), column("a", physical="y", number=3))),
    )
    with pytest.raises(SchemaError, match=r"Column 'a' was dropped and created again between version 0 and version 3"):
        feed.table.changes(0)
    assert bounds(feed.table, 2) == (2, 3)
    assert bounds(feed.table, 0, 1) == (0, 1)


@pytest.mark.parametrize(
    "new",
    [
        (column("id"),),
        (column("id"), column("b", physical="x", number=2)),
        (column("id"), column("a", physical="x", number=2), column("c", number=3)),
    ],
)
def test_dropped_renamed_and_added_columns_have_the_last_schema(tmp_path: Path, new: tuple[StructField, ...]) -> None:
    """Rule 57; delta-spark refuses the first two."""
    feed = changed(tmp_path, StructType((column("id"), column("a", physical="x", number=2))), StructType(new))
    scan = feed.table.changes(0)
    assert [field.name for field in scan.snapshot.schema.fields[:-3]] == [field.name for field in new]


def test_columns_may_swap_their_names(tmp_path: Path) -> None:
    feed = changed(
        tmp_path,
        StructType((column("a", physical="x"), column("b", physical="y", number=2))),
        StructType((column("b", physical="x"), column("a", physical="y", number=2))),
    )
    assert bounds(feed.table) == (0, 3)


@pytest.mark.parametrize("mode", ["none", "name"])
def test_a_column_that_restore_brings_back_has_its_values(tmp_path: Path, mode: str) -> None:
    table = DeltaTable.create(tmp_path, "id INT", properties={**ON, "delta.columnMapping.mode": mode})
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    table.alter_sql("ADD COLUMN x INT")
    table.append(pa.table({"id": pa.array([2], pa.int32()), "x": pa.array([20], pa.int32())}))
    table.restore(version=1)
    table.append(pa.table({"id": pa.array([3], pa.int32())}))
    assert table.refresh().changes(3).to_arrow().schema.names[0:2] == ["id", "_change_type"]
    table.restore(version=3)
    found = table.refresh().changes(1).to_arrow().select(["id", "x", "_change_type", "_commit_version"])
    assert sorted(map(tuple, map(dict.values, found.to_pylist())), key=lambda row: row[::-1]) == [
        (1, None, "insert", 1),
        (2, 20, "insert", 3),
        (2, 20, "delete", 4),
        (3, None, "insert", 5),
        (3, None, "delete", 6),
        (2, 20, "insert", 6),
    ]


@pytest.mark.parametrize(
    ("old", "new", "allowed"), [(INTEGER, LONG, True), (LONG, INTEGER, True), (LONG, STRING, False)]
)
def test_types_may_widen_and_integers_get_narrower(tmp_path: Path, old: DataType, new: DataType, allowed: bool) -> None:
    feed = changed(tmp_path, StructType((StructField("a", old),)), StructType((StructField("A", new),)), ON)
    if allowed:
        assert bounds(feed.table) == (0, 3)
    else:
        refuses(SchemaError, "The type of column 'A' changed from bigint to", feed.table.changes)


def test_a_change_of_the_partitioning_is_refused(tmp_path: Path) -> None:
    feed = Feed(tmp_path, SCHEMA)
    feed.commit(metadata(SCHEMA, configuration=ON, partitionColumns=["id"]))
    refuses(SchemaError, "The partition columns changed between version 0 and version 1", feed.table.changes, 0)


def test_rows_that_a_new_schema_or_partitioning_replaces_are_not_read_with_it(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, q STRING", properties=ON)
    table.append(pa.table({"id": pa.array([1], pa.int32()), "q": ["x"]}))
    table.replace_partitioning("q")
    table.append(pa.table({"id": pa.array([2], pa.int32()), "q": ["y"]}))
    table.restore(1)
    with pytest.raises(
        SchemaError, match=r"partition columns changed between version 3 and version 4.*version 3, the new"
    ):
        table.changes(4)
    new = pa.table({"id": pa.array([9], pa.int32()), "q": ["z"]})
    table.overwrite(new, schema_mode="replace", partition_by=["id"])
    refuses(SchemaError, "The partition columns changed between version 4 and version 5", table.changes, 5)
    table.overwrite(pa.table({"id": ["a"], "q": ["z"]}), schema_mode="replace", partition_by=["id"])
    refuses(SchemaError, "The type of column 'id' changed from int to string between version 5", table.changes, 6)
    table.overwrite(pa.table({"id": ["b"], "q": ["z"], "n": [1]}), schema_mode="replace", partition_by=["id"])
    found = table.changes(7).to_arrow().select(["id", "n", "_change_type"]).to_pylist()
    assert sorted(map(tuple, map(dict.values, found))) == [("a", None, "delete"), ("b", 1, "insert")]


def test_columns_of_the_feed_are_reserved(tmp_path: Path) -> None:
    """Rule 48."""
    feed = Feed(tmp_path, StructType((StructField("_Commit_version", LONG),)))
    refuses(SchemaError, "has a column '_Commit_version'", feed.table.changes, 0)


def test_a_feed_is_shown_with_its_range(timed: DeltaTable) -> None:
    scan = timed.changes(1, 3, where="id > 5")
    assert repr(scan) == f"ChangeScan({timed.uri!r}, start=1, end=3, where='id > 5')"
    assert "start" in scan._repr_html_()

"""History, and versions by time."""

import os
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import CorruptLog, VersionNotFound
from deltaskip.log import History, history, version_at_timestamp
from deltaskip.storage import open_storage
from tests import corpus
from tests.each import refuses
from tests.log.builder import PROTOCOL, TableBuilder, add, log_name, metadata

HOUR = 3_600_000
ICT = {"delta.enableInCommitTimestamps": "true"}


def info(**members: Any) -> dict[str, Any]:
    return {"commitInfo": {"timestamp": 1, **members}}


def set_time(table: TableBuilder, version: int, milliseconds: int) -> None:
    os.utime(table.log / log_name(version, "json"), ns=(milliseconds * 1_000_000,) * 2)


def at(table: TableBuilder, timestamp_ms: int) -> int:
    return version_at_timestamp(*open_storage(table.path), timestamp_ms)


@pytest.fixture
def hourly(table: TableBuilder) -> TableBuilder:
    """Five commits, one an hour from hour 1 on."""
    for version in range(5):
        table.commit(info(operation="WRITE", version=version), add(f"f{version}"))
        set_time(table, version, (version + 1) * HOUR)
    return table


def test_history_is_newest_first_and_tells_what_the_writer_said(table: TableBuilder) -> None:
    table.commit(add("a"))
    said = {
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "operationMetrics": {"numFiles": "1"},
        "userId": "17",
        "userName": "ann",
        "engineInfo": "Some-Engine/1.0",
    }
    table.commit(add("b"), info(**said))
    set_time(table, 0, HOUR)
    set_time(table, 1, 2 * HOUR)
    newest, oldest = history(*open_storage(table.path))
    assert (newest.version, newest.timestamp_ms, newest.operation) == (1, 2 * HOUR, "WRITE")
    assert newest.operation_parameters == {"mode": "Append"}
    assert newest.operation_metrics == {"numFiles": "1"}
    assert (newest.user_id, newest.user_name, newest.engine_info) == ("17", "ann", "Some-Engine/1.0")
    assert newest.info.members["timestamp"] == 1
    assert (oldest.version, oldest.timestamp_ms, oldest.operation, oldest.info.members) == (0, HOUR, None, {})


@pytest.mark.parametrize(("limit", "versions"), [(None, [4, 3, 2, 1, 0]), (2, [4, 3]), (0, []), (99, [4, 3, 2, 1, 0])])
def test_history_stops_at_its_limit(hourly: TableBuilder, limit: int | None, versions: list[int]) -> None:
    assert [entry.version for entry in history(*open_storage(hourly.path), limit=limit)] == versions


def test_history_begins_where_the_commits_begin(hourly: TableBuilder) -> None:
    hourly.checkpoint(3)
    hourly.clean_up(2)
    assert [entry.version for entry in history(*open_storage(hourly.path))] == [4, 3, 2]


def test_the_latest_version_up_to_the_time_is_found_or_named(hourly: TableBuilder) -> None:
    times = (HOUR, HOUR + 1, 2 * HOUR - 1, 2 * HOUR, 5 * HOUR)
    assert [at(hourly, time) for time in times] == [0, 0, 0, 1, 4]
    for time, said in (
        (HOUR - 1, r"version 0, the earliest .* was committed at 1970-01-01 01:00"),
        (5 * HOUR + 1, r"version 4, the latest, was committed at 1970-01-01 05:00.*without"),
    ):
        refuses(VersionNotFound, said, at, hourly, time)


def test_versions_that_cannot_be_rebuilt_are_not_found_by_time(hourly: TableBuilder) -> None:
    hourly.checkpoint(3)
    hourly.clean_up(2)
    refuses(VersionNotFound, "version 3, the earliest", at, hourly, 3 * HOUR)
    assert at(hourly, 4 * HOUR) == 3


def test_a_log_of_checkpoints_alone_has_no_times(table: TableBuilder) -> None:
    table.checkpoint(3)
    refuses(VersionNotFound, "no commit with a usable timestamp", at, table, HOUR)


def test_file_times_that_do_not_ascend_are_made_to(hourly: TableBuilder) -> None:
    set_time(hourly, 2, 2 * HOUR)
    set_time(hourly, 3, HOUR)
    times = [entry.timestamp_ms for entry in history(*open_storage(hourly.path))]
    assert times == [5 * HOUR, 2 * HOUR + 2, 2 * HOUR + 1, 2 * HOUR, HOUR]
    assert at(hourly, 2 * HOUR) == 1
    assert at(hourly, 2 * HOUR + 1) == 2


@pytest.fixture
def with_ict(table: TableBuilder) -> TableBuilder:
    """Commits 0 and 1 by file time (hours 1 and 2), 2 to 4 with in-commit timestamps (hours 3, 4, 5)."""
    for version in range(5):
        actions = [info(inCommitTimestamp=(version + 1) * HOUR) if version > 1 else info()]
        if version == 2:
            enabled = {"delta.inCommitTimestampEnablementVersion": "2", **ICT}
            actions.append(metadata(configuration=enabled))
        table.commit(*actions, add(f"f{version}"))
        set_time(table, version, (version + 1) * HOUR if version < 2 else 90 * HOUR)
    return table


def test_in_commit_timestamps_count_from_their_enablement_on(with_ict: TableBuilder) -> None:
    entries = history(*open_storage(with_ict.path))
    assert [entry.timestamp_ms for entry in entries] == [hour * HOUR for hour in (5, 4, 3, 2, 1)]
    found = [at(with_ict, hour * HOUR + 1) for hour in (1, 2, 3, 4)]
    assert found == [0, 1, 2, 3]
    assert with_ict.load().in_commit_timestamp == 5 * HOUR


def test_before_the_enablement_file_times_count_even_if_they_are_younger(with_ict: TableBuilder) -> None:
    for version in (0, 1):
        set_time(with_ict, version, 80 * HOUR)
    entries = history(*open_storage(with_ict.path))
    assert [entry.timestamp_ms for entry in entries] == [5 * HOUR, 4 * HOUR, 3 * HOUR, 80 * HOUR + 1, 80 * HOUR]
    assert at(with_ict, 3 * HOUR) == 2
    assert at(with_ict, 5 * HOUR - 1) == 3
    with pytest.raises(VersionNotFound, match=r"version 0, the earliest .* was committed at 1970-01-04 08:00"):
        at(with_ict, 3 * HOUR - 1)
    set_time(with_ict, 0, HOUR)
    assert at(with_ict, 3 * HOUR - 1) == 0


def test_a_table_with_in_commit_timestamps_from_the_start_needs_no_enablement_version(table: TableBuilder) -> None:
    first = [info(inCommitTimestamp=7), PROTOCOL]
    table.commit(*first, metadata(configuration=ICT))
    table.commit(info(inCommitTimestamp=9))
    assert [entry.timestamp_ms for entry in history(*open_storage(table.path))] == [9, 7]
    assert at(table, 8) == 0


def test_an_in_commit_timestamp_that_is_missing_is_corrupt(with_ict: TableBuilder) -> None:
    with_ict.commit(add("x"))
    with pytest.raises(CorruptLog, match=r"00000000000000000005\.json \(version 5\) has no inCommitTimestamp"):
        history(*open_storage(with_ict.path))
    refuses(CorruptLog, "version 5", at, with_ict, HOUR)


def test_the_in_commit_timestamp_of_a_checkpointed_version_comes_from_its_commit(with_ict: TableBuilder) -> None:
    enabled = metadata(configuration=ICT)
    with_ict.parquet(log_name(4, "checkpoint.parquet"), [PROTOCOL, enabled])
    assert with_ict.load().segment.commits == ()
    assert with_ict.load().in_commit_timestamp == 5 * HOUR


@corpus.each_table("read")
def test_every_commit_of_the_corpus_has_its_place_in_time(table: corpus.CorpusTable) -> None:
    storage, root = open_storage(table.path)
    entries = history(storage, root)
    times = [entry.timestamp_ms for entry in entries]
    in_commit = [entry.info.in_commit_timestamp == entry.timestamp_ms for entry in entries]
    # Files that were copied may be younger than the first in-commit timestamp.
    for part in (times[: in_commit.count(True)], times[in_commit.count(True) :]):
        assert part == sorted(part, reverse=True)
    assert [entry.version for entry in entries] == sorted(table.entry["commit_versions"], reverse=True)
    if entries:
        assert version_at_timestamp(storage, root, times[0]) == entries[0].version


def test_history_ends_at_the_version(hourly: TableBuilder) -> None:
    where = open_storage(hourly.path)
    assert history(*where, version=2) == history(*where)[2:]
    assert [entry.version for entry in history(*where, limit=2, version=3)] == [3, 2]
    assert history(*where, version=99) == history(*where)
    table = ds.DeltaTable(hourly.path, version=0)
    assert [entry.version for entry in table.history()] == [0]
    hourly.commit(add("newer"))
    assert [entry.version for entry in table.refresh().history(limit=1)] == [5]


def test_the_times_of_an_older_versions_history_are_those_of_the_whole_history(with_ict: TableBuilder) -> None:
    for version in (0, 1):
        set_time(with_ict, version, 80 * HOUR)
    where = open_storage(with_ict.path)
    for version in range(5):
        assert history(*where, version=version) == history(*where)[4 - version :]


def test_history_is_a_list_that_is_displayed_as_a_table(table: TableBuilder) -> None:
    table.commit(add("a"))
    table.commit(add("b"), info(operation="W\n", operationParameters={"mode": "<b>"}, engineInfo="Engine/1.0"))
    set_time(table, 0, HOUR)
    set_time(table, 1, 2 * HOUR)
    entries = history(*open_storage(table.path))
    assert isinstance(entries, list)
    assert entries == list(entries)
    assert repr(entries).splitlines() == [
        "version  time                         operation  parameters  engine",
        "1        1970-01-01 02:00:00.000 UTC  W\\n        mode=<b>    Engine/1.0",
        "0        1970-01-01 01:00:00.000 UTC",
    ]
    assert "<tr><td>1</td>" in entries._repr_html_()
    assert "<td>mode=&lt;b&gt;</td>" in entries._repr_html_()
    assert repr(entries[0]) == (
        r"HistoryEntry(version=1, 1970-01-01 02:00:00.000 UTC, 'W\n', engine_info='Engine/1.0')"
    )
    assert repr(entries[1:]) == repr(History(entries[1:]))


def test_a_long_history_is_displayed_in_part(hourly: TableBuilder) -> None:
    entries = History(list(history(*open_storage(hourly.path))) * 11)
    assert repr(entries).splitlines()[-1] == "… 5 more"
    assert len(repr(entries).splitlines()) == 52
    assert repr(History()).split() == ["version", "time", "operation", "parameters", "engine"]

"""Streams of changes: every change once, also after restarts at any point; limits, starts, and what ends a stream.

The reader is called as Spark calls it, without a session, so that a restart costs nothing.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pyspark
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.errors import DataFileMissing, InvalidArgument, SchemaError
from tests.change_feed.test_change_rows import FEED, VECTORS
from tests.change_feed.test_changes_by_row_id import made, play, split, state
from tests.dml.tables import rows
from tests.each import refuses
from tests.extent import TIME_LIMIT_SECONDS, extent, some

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 has no Python data sources"),
]


def reader(table: DeltaTable, **options: str) -> Any:
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    source = DeltaSkipDataSource({"path": table.uri, **options})
    return source.streamReader(source.schema())


class Stream:
    """A query that may be killed between any two questions: it has only what its checkpoint has."""

    def __init__(self, table: DeltaTable, **options: str) -> None:
        self.table, self.options = table, options
        self.planned: list[Any] = []
        self.committed = 0
        self.rows: list[dict[str, Any]] = []

    def run(self, chance: random.Random | None = None, batches: int = 100) -> bool:
        """Run until everything is read; whether the query was not killed before."""

        def dies() -> bool:
            return chance is not None and chance.random() < 0.2

        source = reader(self.table, **self.options)
        if len(self.planned) > self.committed:
            self.batch(source)
        elif self.planned:
            # A restarted query first asks for an empty batch at its last offset.
            assert not any(list(source.read(each)) for each in source.partitions(self.planned[-1], self.planned[-1]))
        for _ in range(batches):
            start = self.planned[-1] if self.planned else source.initialOffset()
            end = source.latestOffset()
            if dies():
                return False
            if end == start:
                return True
            self.planned.append(end)
            if dies() or (self.batch(source) and dies()):
                return False
            source.commit(end)
        raise AssertionError("the stream does not end")

    def batch(self, source: Any) -> bool:
        at = self.committed
        start = self.planned[at - 1] if at else source.initialOffset()
        for partition in source.partitions(start, self.planned[at]):
            for batch in source.read(partition):
                self.rows += batch.to_pylist()
        self.committed += 1
        return True


def keys(found: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((row["id"], row["x"], row["_change_type"], row["_commit_version"]) for row in found)


@pytest.mark.parametrize("options", [{}, {"maxFilesPerTrigger": "1"}, {"maxBytesPerTrigger": "3000"}], ids=str)
@pytest.mark.parametrize("source", ["feed", "rows"])
@pytest.mark.parametrize("seed", some(range(50), 2))
def test_changes_are_read_once_though_killed(tmp_path: Path, source: str, options: dict[str, str], seed: int) -> None:
    table = made(tmp_path / "t", *([FEED] if source == "feed" else []), VECTORS if seed % 2 else {})
    table.append(rows(range(5)))
    table.append(rows(range(5, 10)))
    table.update({"x": "x + 1"}, "id = 3")
    chance = random.Random(seed)
    first = table.refresh().version
    stream = Stream(table, readChangeFeed="true", changeSource=source, **options)
    if seed % 2:
        stream.options["startingVersion"] = "1"
    stream.run(chance)
    begun = first if stream.planned else None
    for _ in range(4):
        play(table, chance.randrange(100))
        stream.run(chance)
    while not stream.run(chance):
        pass
    assert stream.run() and stream.committed == len(stream.planned)
    if seed % 2:
        assert keys(stream.rows) == keys(table.refresh().changes(1, source=source).to_arrow().to_pylist())
        return
    came, went = split(stream.rows)
    assert came - went == state(table, table.refresh().version)
    if begun is not None:
        expected = table.changes(begun, source=source, snapshot_first=True)
        assert keys(stream.rows) == keys(expected.to_arrow().to_pylist())


def test_a_version_between_the_first_questions_is_read(tmp_path: Path) -> None:
    table = made(tmp_path / "t", FEED)
    for options in ({"startingVersion": "1"}, {"startingVersion": "latest"}, {}):
        for changes in ("true", "false"):
            source = reader(table, readChangeFeed=changes, **options)
            first = table.refresh().version
            start = source.initialOffset()
            table.append(rows(range(first, first + 1)))
            end = source.latestOffset()
            again = reader(table, readChangeFeed=changes, **options)
            table.append(rows(range(first + 1, first + 2)))
            again.initialOffset()
            found = [
                row["id"] for part in again.partitions(start, end) for b in again.read(part) for row in b.to_pylist()
            ]
            assert first in found and first + 1 not in found, (options, changes)


def test_each_version_is_read_as_its_own_properties_say(tmp_path: Path) -> None:
    table = made(tmp_path / "t", VECTORS)
    table.append(rows(range(5)))
    for number in (2, 3):
        table.update({"x": "x + 1"}, f"id = {number}")
    for on in ("true", "false", "true"):
        table.alter_sql(f"SET TBLPROPERTIES ('delta.enableChangeDataFeed' = '{on}')")
        table.update({"x": "x + 1"}, "id = 3")
    table.alter_sql("ADD COLUMN z INT")
    for options in ({"maxFilesPerTrigger": "1"}, {}):
        stream = Stream(table, readChangeFeed="true", startingVersion="1", **options)
        stream.run()
        assert keys(stream.rows) == keys(table.refresh().changes(1).to_arrow().to_pylist())


def test_restored_files_are_not_read_twice(tmp_path: Path) -> None:
    table = made(tmp_path / "t", VECTORS)
    table.append(rows(range(5)))
    table.delete()
    table.restore(version=1)
    table.append(rows(range(5, 8)))
    for skips in ({"ignoreDeletes": "true"}, {}):
        with pytest.raises(InvalidArgument, match=r"Version (2|3) of .* (restores files|deletes rows)"):
            Stream(table, startingVersion="1", **skips).run()
    stream = Stream(table, startingVersion="1", skipChangeCommits="true")
    stream.run()
    assert sorted(row["id"] for row in stream.rows) == list(range(8))
    changed = Stream(table, startingVersion="1", readChangeFeed="true", changeSource="rows")
    changed.run()
    assert Counter(row["_change_type"] for row in changed.rows) == {"insert": 13, "delete": 5}


def test_a_missing_file_is_named_with_its_version_and_can_be_excluded(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for first in range(3):
        table.append(rows(range(first, first + 1)))
    gone = table.refresh().changes(2, 2).files()["path"][0].as_py()
    (tmp_path / "t" / gone).unlink()
    for options in ({}, {"readChangeFeed": "true"}):
        with pytest.raises(DataFileMissing, match=r"Version 2 of .* begin a new stream with another checkpoint"):
            Stream(table, startingVersion="1", **options).run()
        stream = Stream(table, startingVersion="1", excludeRegex=gone.replace(".", r"\."), **options)
        stream.run()
        assert sorted(row["id"] for row in stream.rows) == [0, 2]
    refuses(InvalidArgument, "excludeRegex", reader, table, excludeRegex="(")


def test_lost_versions_end_a_stream_unless_it_may_lose_them(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    streams = [Stream(table, startingVersion="1", **each) for each in ({}, {"readChangeFeed": "true"})]
    for stream in streams:
        stream.options["failOnDataLoss"] = "false"
    for first in range(4):
        table.append(rows(range(first, first + 1)))
    table.checkpoint()
    for version in (1, 2):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").unlink()
    for stream in streams:
        lossless = Stream(table, **{**stream.options, "failOnDataLoss": "true"})
        refuses(ds.VersionNotFound, "no longer contains", lossless.run)
        stream.run()
        assert sorted(row["id"] for row in stream.rows) == [2, 3]


def test_a_restarted_stream_reads_old_and_new_rows_in_the_new_columns(tmp_path: Path) -> None:
    table = made(tmp_path / "t", FEED, {"delta.columnMapping.mode": "name"})
    table.append(rows(range(3)))
    stream = Stream(table, readChangeFeed="true", startingVersion="1", schemaTrackingLocation=str(tmp_path / "s"))
    source = reader(table, **stream.options)
    table.alter_sql("RENAME COLUMN x TO y")
    table.alter_sql("ADD COLUMN z INT")
    table.append(rows(range(3, 5)).rename_columns(["id", "p", "y", "st"]))
    with pytest.raises(SchemaError, match="start the stream again"):
        source.partitions(source.initialOffset(), source.latestOffset())
    stream.run()
    assert sorted((row["id"], row["y"], row["z"]) for row in stream.rows if row["id"]) == [
        (1, 1, None), (2, 2, None), (3, 3, None), (4, None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ignoreDeletes": "true"}, "ignoreDeletes is an option of streams of appended rows"),
        ({"netChanges": "true"}, "netChanges is an option of batch reads"),
        ({"changeSource": "log"}, "changeSource must be auto, feed or rows"),
        ({"readChangeFeed": "false", "snapshotFirst": "true"}, "snapshotFirst needs readChangeFeed"),
        ({"maxBytesPerTrigger": "0"}, "maxBytesPerTrigger must be 1 or more"),
    ],
)
def test_options_unfit_for_changes_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    table = made(tmp_path / "t", FEED)
    refuses(InvalidArgument, message, reader, table, **{"readChangeFeed": "true", **options})


@pytest.mark.long
def test_a_query_of_spark_reads_the_state_and_then_the_changes(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path / "t", VECTORS)
    table.append(rows(range(6)))
    found: list[dict[str, Any]] = []

    def keep(frame: Any, _: int) -> None:
        found.extend(row.asDict() for row in frame.collect())

    for change in (None, lambda: table.update({"x": "x + 1"}, "id = 3"), lambda: table.delete("id = 4")):
        if change is not None:
            change()
        stream = table.read_stream(spark, changes=True, source="rows", max_bytes_per_trigger=1 << 20)
        writer = stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "c"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    assert keys(found) == keys(table.refresh().changes(1, snapshot_first=True).to_arrow().to_pylist())


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("source", ["feed", "rows"])
def test_processes_that_are_killed_append_every_change_once(tmp_path: Path, source: Literal["feed", "rows"]) -> None:
    table = made(tmp_path / "t", *([FEED] if source == "feed" else []), VECTORS)
    table.append(rows(range(5)))
    out = DeltaTable.create(tmp_path / "out", "id BIGINT, x INT, change_type STRING, commit_version BIGINT")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    chance = random.Random(source)
    kills, wanted = 0, extent(1, 50)
    while True:
        if kills < wanted:
            play(table, chance.randrange(100))
        moment = chance.randint(1, 40) if kills < wanted else -1
        command = [sys.executable, "-m", "tests.spark.stream", str(tmp_path), source, str(moment)]
        limits: dict[str, Any] = {"timeout": TIME_LIMIT_SECONDS, "check": False}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, **limits)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr[-2000:]
        kills += done.returncode != 0
        if moment < 0:
            break
    found = out.refresh().scan().to_arrow().rename_columns(["id", "x", "_change_type", "_commit_version"])
    assert keys(found.to_pylist()) == keys(table.refresh().changes(0, source=source).to_arrow().to_pylist())

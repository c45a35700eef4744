"""Streams of the data source: every row once, also after a restart; limits, starts, and versions that delete rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest

import deltaskip as ds
from tests.each import refuses
from tests.extent import WHOLE

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 has no Python data sources"),
]


def rows(first: int, count: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Three versions with a file of ten rows each."""
    properties = {"delta.enableDeletionVectors": "true"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties=properties)
    for first in (0, 10, 20):
        table.append(rows(first))
    return table


@pytest.fixture
def run(spark: Any, tmp_path: Path, table: ds.DeltaTable) -> Callable[..., list[list[int]]]:
    """Runs a stream until it has read everything, and returns the ids of each batch of this run."""
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    spark.dataSource.register(DeltaSkipDataSource)

    def run_once(checkpoint: str = "c", **options: str) -> list[list[int]]:
        batches: list[list[int]] = []

        def keep(frame: Any, _: int) -> None:
            batches.append(sorted(row["id"] for row in frame.collect()))

        stream = spark.readStream.format("deltaskip").options(**options).load(table.uri)
        writer = stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / checkpoint))
        query = writer.trigger(processingTime="100 milliseconds").start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        return [batch for batch in batches if batch]

    return run_once


@pytest.mark.long
def test_every_row_is_read_once_over_restarts(run: Callable[..., list[list[int]]], table: ds.DeltaTable) -> None:
    assert run() == [list(range(30))]
    assert run() == []
    table.append(rows(30))
    table.append(rows(40))
    table.optimize()
    assert run() == [list(range(30, 50))]
    table.append(rows(50))
    assert [i for batch in run() for i in batch] == list(range(50, 60))


@pytest.mark.long
def test_at_most_so_many_files_a_batch(run: Callable[..., list[list[int]]], table: ds.DeltaTable) -> None:
    for first in (30, 40):
        table.append(rows(first))
    found = run(maxFilesPerTrigger="2")
    assert sorted(i for batch in found for i in batch) == list(range(50))
    assert [len(batch) for batch in found] == [20, 20, 10]


@pytest.mark.long
def test_predicates_and_starts(run: Callable[..., list[list[int]]], table: ds.DeltaTable) -> None:
    assert run("a", startingVersion="2", where="id % 2 = 0") == [list(range(10, 30, 2))]
    assert run("b", startingVersion="latest") == []
    table.append(rows(30))
    assert run("b", startingVersion="latest") == [list(range(30, 40))]
    assert run("d", startingTimestamp="2020-01-01") == [list(range(40))]


@pytest.mark.long
def test_versions_that_delete_rows_are_named(run: Callable[..., list[list[int]]], table: ds.DeltaTable) -> None:
    run("a"), run("b", skipChangeCommits="true"), run("c", ignoreDeletes="true")
    table.delete("id = 5")
    table.append(rows(30))
    for checkpoint, options in (("a", {}), ("c", {"ignoreDeletes": "true"})):
        refuses(Exception, r"Version 4 of .* changes rows", run, checkpoint, **options)
    assert run("b", skipChangeCommits="true") == [list(range(30, 40))]
    table.delete("id >= 30")
    table.append(rows(50))
    run("e", startingVersion="5", ignoreDeletes="true")
    refuses(Exception, r"Version 6 of .* deletes rows", run, "f", startingVersion="5")


@pytest.mark.long
def test_changed_columns_and_other_tables_end_a_stream(
    run: Callable[..., list[list[int]]], table: ds.DeltaTable, tmp_path: Path
) -> None:
    run("a"), run("b")
    table.alter_sql("ADD COLUMN x INT")
    table.append(rows(30))
    assert run("a") == [list(range(30, 40))]
    ds.DeltaTable.create(tmp_path / "other", "id BIGINT").append(rows(0))
    refuses(Exception, "maxFilesPerTrigger must be 1 or more", run, "z", maxFilesPerTrigger="0")


@pytest.mark.skipif(pyspark.__version__.startswith("4.0."), reason="Spark 4.0 has no Arrow writers of streams")
def test_a_stream_into_a_table_writes_each_batch_once(
    spark: Any, table: ds.DeltaTable, run: Callable[..., list[list[int]]], tmp_path: Path
) -> None:
    target = tmp_path / "copy"

    def copy_once() -> ds.DeltaTable:
        source = spark.readStream.format("deltaskip").option("maxFilesPerTrigger", "2").load(table.uri)
        writer = source.writeStream.format("deltaskip").option("txnAppId", "copy")
        writer = writer.trigger(processingTime="100 milliseconds")
        query = writer.option("checkpointLocation", str(tmp_path / "c")).start(str(target))
        query.processAllAvailable()
        query.stop()
        return ds.DeltaTable(target)

    copied = copy_once()
    assert sorted(copied.scan().to_arrow()["id"].to_pylist()) == list(range(30))
    assert (copied.version, copied.app_versions) == (1, {"copy": 1})
    assert copied.history(1)[0].operation == "STREAMING UPDATE"
    if not WHOLE:
        return
    # Spark repeats a batch of which it did not note that it was committed.
    for name in ("1", ".1.crc"):
        (tmp_path / "c" / "commits" / name).unlink()
    table.append(rows(30))
    copied = copy_once()
    assert sorted(copied.scan().to_arrow()["id"].to_pylist()) == list(range(40))
    assert len([*target.glob("*.parquet")]) == len(copied.scan().paths())


@pytest.mark.long
def test_streams_into_a_table_need_a_name_and_the_mode_append(spark: Any, table: ds.DeltaTable, tmp_path: Path) -> None:
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    spark.dataSource.register(DeltaSkipDataSource)
    source = spark.readStream.format("deltaskip").load(table.uri)
    for stream, mode, message in (
        (source, "append", "txnAppId|append_batch"),
        (source.groupBy().count(), "complete", "overwrite|append_batch"),
    ):
        writer = stream.writeStream.format("deltaskip").outputMode(mode)
        query = writer.option("checkpointLocation", str(tmp_path / mode)).start(str(tmp_path / "copy"))
        refuses(Exception, message, query.processAllAvailable)
        query.stop()


@pytest.mark.long
def test_read_stream_follows_a_table(spark: Any, table: ds.DeltaTable, tmp_path: Path) -> None:
    def read(checkpoint: str, **options: Any) -> list[int]:
        found: list[int] = []
        stream = table.read_stream(spark, **options)
        writer = stream.writeStream.foreachBatch(lambda frame, _: found.extend(r["id"] for r in frame.collect()))
        writer = writer.trigger(processingTime="100 milliseconds")
        query = writer.option("checkpointLocation", str(tmp_path / checkpoint)).start()
        query.processAllAvailable()
        query.stop()
        return sorted(found)

    assert read("a", where=ds.col("id") % 3 == 0, columns=["id"], max_files_per_trigger=1) == list(range(0, 30, 3))
    table.append(rows(30))
    assert read("a", where="id % 3 = :r", params={"r": 0}, columns=["id"]) == [30, 33, 36, 39]
    assert read("b", starting_version=4) == list(range(30, 40))
    assert read("c", starting_version="latest") == []
    with pytest.raises(ds.InvalidArgument, match="not both"):
        table.read_stream(spark, starting_version=1, starting_timestamp="2026-01-01")


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("options", "later"),
    [
        ({}, False), ({"maxFilesPerTrigger": "2"}, False), ({"where": "id >= 0"}, False),
        ({"startingVersion": "0"}, False), ({"startingTimestamp": "2000-01-01"}, False),
        ({"startingVersion": "latest"}, True),
    ],
)  # fmt: skip
def test_a_first_batch_that_failed_is_read_after_a_restart(
    spark: Any, run: Callable[..., list[list[int]]], table: ds.DeltaTable, tmp_path: Path, options: dict[str, str],
    later: bool,
) -> None:  # fmt: skip
    """The table has moved on in between."""

    def fail(*_: Any) -> None:
        raise ValueError("the sink is down")

    stream = spark.readStream.format("deltaskip").options(**options).load(table.uri)
    query = stream.writeStream.foreachBatch(fail).option("checkpointLocation", str(tmp_path / "c")).start()
    refuses(Exception, "the sink is down", query.awaitTermination, 60)
    query.stop()
    table.append(rows(100))
    found = sorted(row for batch in run(**options) for row in batch)
    assert found == [*([] if later else range(30)), *range(100, 110)]


@pytest.mark.long
def test_a_stream_does_not_go_on_with_another_table(
    run: Callable[..., list[list[int]]], table: ds.DeltaTable, tmp_path: Path
) -> None:
    assert sum(map(len, run())) == 30
    shutil.rmtree(tmp_path / "t")
    again = ds.DeltaTable.create(table.uri, "id BIGINT")
    for first in (0, 10, 20, 30):
        again.append(rows(first))
    refuses(Exception, "it was created anew or replaced by another table; begin a new stream", run)


@pytest.mark.long
def test_a_start_after_the_latest_version_is_refused(run: Callable[..., list[list[int]]]) -> None:
    refuses(Exception, r"startingVersion is 99, but the latest version of .* is 3", run, startingVersion="99")
    assert run("d", startingVersion="4") == []
    with pytest.raises(Exception, match=r"startingTimestamp is 2999-01-01, but version 3 of .* was committed before"):
        run("e", startingTimestamp="2999-01-01")
    assert run("f", startingVersion="latest") == []


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"versionAsOf": "1"}, "versionAsOf is an option of batch reads"),
        ({"endingVersion": "2"}, "endingVersion is an option of batch reads"),
        ({"readChangeFeed": "true", "ignoreDeletes": "true"}, "ignoreDeletes is an option of streams of appended rows"),
    ],
)
def test_options_that_a_stream_does_not_take_are_refused(
    run: Callable[..., list[list[int]]], table: ds.DeltaTable, options: dict[str, str], message: str
) -> None:
    table.refresh().alter(ds.SetProperty("delta.enableChangeDataFeed", "true"))
    table.refresh().append(rows(30))
    refuses(Exception, message, run, **options)

"""Requests of commits to an object store, and commits on a version that was listed a moment ago."""

import re
import shutil

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import CommitConflict, TableNotFound
from tests.each import refuses
from tests.storage.counted import server, stored_at
from tests.storage.slow_s3 import SlowS3

pytest.importorskip("obstore")
__all__ = ["server"]


def made(server: SlowS3, name: str) -> None:
    """A table of one file of three rows."""
    table = ds.DeltaTable.create(server.folder / "bucket" / name, "id BIGINT")
    table.append(rows(1, 2, 3))


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(server: SlowS3, name: str) -> list[int]:
    found = ds.DeltaTable(server.folder / "bucket" / name).scan().to_arrow()["id"].to_pylist()
    return sorted(found)


def test_an_append_lists_the_log_once_before_its_commit(server: SlowS3) -> None:
    made(server, "appended")
    # A store is asked once whether it has conditional writes.
    made(server, "asked")
    stored_at(server, "asked").append(rows(4))
    table = stored_at(server, "appended")
    for number in (4, 5):
        server.begin()
        table.append(rows(number))
        before, after = server.log[:3], server.log[3:]
        assert [each.split()[0] for each in before] == ["GET", "PUT", "PUT"]
        assert "list-type" in before[0] and "/part-" in before[1] and before[2].endswith(".json")
        # The file before it, the checksum, and the log with the new commit: beside each other.
        assert len(after) == 3, after
        assert table.version == number - 2
    assert ids(server, "appended") == [1, 2, 3, 4, 5]


def test_a_version_that_another_writer_was_faster_to_commit_is_followed(server: SlowS3) -> None:
    made(server, "followed")
    one, two = stored_at(server, "followed"), stored_at(server, "followed")
    one.append(rows(4))
    two.append(rows(5))
    one.append(rows(6))
    assert (one.version, two.version) == (4, 3)
    assert ids(server, "followed") == [1, 2, 3, 4, 5, 6]


def test_a_conflict_with_a_faster_writer_is_found(server: SlowS3) -> None:
    made(server, "conflicting")
    one, two = stored_at(server, "conflicting"), stored_at(server, "conflicting")
    two.refresh()
    late = two.transaction("id = 1")
    late.append(rows(9))
    one.delete("id = 1")
    refuses(CommitConflict, None, late.commit)
    assert ids(server, "conflicting") == [2, 3]


def test_a_table_that_was_dropped_a_moment_ago_gets_no_commit(server: SlowS3) -> None:
    made(server, "dropped")
    table = stored_at(server, "dropped")
    table.refresh()
    shutil.rmtree(server.folder / "bucket" / "dropped")
    refuses(TableNotFound, None, table.append, rows(4))
    assert not list((server.folder / "bucket").glob("dropped/_delta_log/*"))


def test_an_upload_leaves_a_file_that_is_there(server: SlowS3) -> None:
    made(server, "published")
    storage = stored_at(server, "published").snapshot.storage
    for size in (10, 6 << 20):
        for content in (b"a" * size, b"b" * size):
            with storage.publish(f"s3://bucket/published/file{size}") as name, open(name, "wb") as file:
                file.write(content)
        assert storage.read(f"s3://bucket/published/file{size}") == b"a" * size


def test_a_commit_with_a_checkpoint_reads_the_log_once_after_it(server: SlowS3) -> None:
    folder = server.folder / "bucket" / "due"
    ds.DeltaTable.create(folder, "id BIGINT", properties={"delta.checkpointInterval": "2"})
    table = stored_at(server, "due")
    table.append(rows(1))
    server.begin()
    table.append(rows(2))
    lists = [each for each in server.log if "list-type" in each and re.search(r"_delta_log%2F(&|$)", each)]
    # Before the commit, after it, and where old versions may be cleaned up.
    assert len(lists) == 3, server.log
    assert (folder / "_delta_log" / f"{2:020}.checkpoint.parquet").exists()


def test_detail_asks_once_and_lists_once(server: SlowS3) -> None:
    made(server, "described")
    table = stored_at(server, "described")
    server.begin()
    table.detail()
    assert [each.split()[0] for each in server.log] == ["HEAD", "GET"]

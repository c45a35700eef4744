"""Files that are uploaded to an object store while they are written."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.data_files.data_file import OpenDataFile
from deltaskip.errors import StorageError
from deltaskip.storage import LocalStorage, Storage
from deltaskip.storage.uploads import PART_BYTES, _Uploads, publish_growing
from tests.noted import noted, raising
from tests.storage.counted import server, stored_at
from tests.storage.slow_s3 import SlowS3

pytest.importorskip("obstore")
__all__ = ["server"]


@pytest.fixture
def storage(server: SlowS3) -> Iterator[tuple[Storage, str]]:
    ds.DeltaTable.create(server.folder / "bucket" / "t", "id BIGINT, v DOUBLE", mode="ignore")
    snapshot = stored_at(server, "t").snapshot
    server.begin()
    yield snapshot.storage, snapshot.root


def methods(server: SlowS3, name: str) -> list[str]:
    """The requests for one object: their methods, with what they do to an upload in parts."""
    found = [each.split()[:2] for each in server.log if f"/{name}" in each]
    return [f"{method} part" if "partNumber" in path else f"{method} upload" if "upload" in path else method
            for method, path in found]  # fmt: skip


def wait_for(server: SlowS3, name: str, parts: int) -> None:
    until = time.monotonic() + 10
    while methods(server, name).count("PUT part") < parts:
        assert time.monotonic() < until, server.log
        time.sleep(0.01)


def assert_taken_back(server: SlowS3, name: str) -> None:
    """The upload was ended by its DELETE. A part whose request was under way may arrive after that."""
    found = methods(server, name)
    assert found.count("DELETE upload") == found.count("POST upload") == 1, found


def test_parts_are_sent_before_the_file_is_whole(server: SlowS3, storage: tuple[Storage, str]) -> None:
    data = np.random.default_rng(1).bytes(3 * PART_BYTES + 5)
    with publish_growing(storage[0], f"{storage[1]}/large") as (name, begin), open(name, "wb") as file:
        begin()
        file.write(data[: 2 * PART_BYTES])
        file.flush()
        wait_for(server, "large", 1)
        assert not (server.folder / "bucket/t/large").exists()
        file.write(data[2 * PART_BYTES :])
    assert (server.folder / "bucket/t/large").read_bytes() == data
    assert methods(server, "large") == ["HEAD", "POST upload", *["PUT part"] * 4, "POST upload"]


@pytest.mark.parametrize("begun", [False, True])
def test_a_small_file_is_one_conditional_request(server: SlowS3, storage: tuple[Storage, str], begun: bool) -> None:
    with publish_growing(storage[0], f"{storage[1]}/small-{begun}") as (name, begin):
        if begun:
            begin()
        Path(name).write_bytes(b"x" * 10)
    assert methods(server, f"small-{begun}") == ["PUT"]


def test_a_file_that_is_there_stays(server: SlowS3, storage: tuple[Storage, str]) -> None:
    storage[0].put(f"{storage[1]}/there", b"old")
    with publish_growing(storage[0], f"{storage[1]}/there") as (name, begin):
        begin()
        Path(name).write_bytes(b"x" * (PART_BYTES + 1))
    assert (server.folder / "bucket/t/there").read_bytes() == b"old"


def test_after_an_error_the_parts_are_taken_back(server: SlowS3, storage: tuple[Storage, str]) -> None:
    with pytest.raises(ZeroDivisionError), publish_growing(storage[0], f"{storage[1]}/failed") as (name, begin):
        begin()
        Path(name).write_bytes(b"x" * (2 * PART_BYTES))
        wait_for(server, "failed", 1)
        raise ZeroDivisionError
    assert_taken_back(server, "failed")
    assert not (server.folder / "bucket/t/failed").exists()


def test_an_upload_that_fails_is_a_failed_write(
    server: SlowS3, storage: tuple[Storage, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import obstore

    monkeypatch.setattr(obstore, "put", raising(PermissionError("no")))
    with pytest.raises(StorageError), publish_growing(storage[0], f"{storage[1]}/refused") as (name, begin):
        begin()
        Path(name).write_bytes(b"x" * (2 * PART_BYTES))


def test_other_storages_get_the_file_whole(tmp_path: Path) -> None:
    with publish_growing(LocalStorage(), str(tmp_path / "x")) as (name, begin):
        begin()
        Path(name).write_bytes(b"x" * (2 * PART_BYTES))
        assert not (tmp_path / "x").exists()
    assert (tmp_path / "x").stat().st_size == 2 * PART_BYTES


@pytest.mark.parametrize("fails", [False, True])
def test_rows_of_several_row_groups_are_sent_while_later_ones_are_encoded(
    server: SlowS3, storage: tuple[Storage, str], monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    monkeypatch.setattr(ds.options, "row_group_bytes", 8 << 20)
    monkeypatch.setattr(ds.options, "parallel_file_bytes", 1 << 40)
    write, before = OpenDataFile.write, len(list((server.folder / "bucket/t").glob("*.parquet")))
    sent: list[int] = []

    def late(file: OpenDataFile, rows: pa.Table) -> None:
        if len(sent) == 2:
            wait_for(server, "part-", 1)
            if fails:
                raise StorageError("The disk is full.")
        sent.append(len(rows))
        write(file, rows)

    monkeypatch.setattr(OpenDataFile, "write", late)
    ids = np.random.default_rng(2).integers(0, 2**62, 2_000_000)
    rows, table = pa.table({"id": ids, "v": ids * 0.5}), stored_at(server, "t")
    if fails:
        with pytest.raises(StorageError, match="disk is full"):
            table.append(rows)
        assert_taken_back(server, "part-")
        assert len(list((server.folder / "bucket/t").glob("*.parquet"))) == before
        return
    table.append(rows)
    assert len(sent) >= 3
    [path] = table.scan("id > 0").files()["path"].to_pylist()
    found = pq.read_table(server.folder / "bucket" / "t" / path)
    assert found.equals(rows)


def test_uploads_share_the_parts_that_are_in_flight() -> None:
    """Each part is held in memory, so that many uploads have fewer at once, but each some."""
    uploads, shares = _Uploads(), []
    with ExitStack() as stack:
        for _ in range(20):
            shares.append(stack.enter_context(uploads.one_more()))
    assert shares[0] == 32 and shares[1] == 16 and shares[-1] == 4
    assert sum(shares) * PART_BYTES < 1 << 30
    with uploads.one_more() as share:
        assert share == 32


def test_more_parts_are_in_flight_than_the_store_sends_by_itself(
    server: SlowS3, storage: tuple[Storage, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import obstore

    asked = noted(monkeypatch, obstore, "put", lambda *_, max_concurrency, **__: max_concurrency)
    for begun in (False, True):
        with publish_growing(storage[0], f"{storage[1]}/many-{begun}") as (name, begin):
            if begun:
                begin()
            Path(name).write_bytes(bytes(3 * PART_BYTES))
        assert (server.folder / f"bucket/t/many-{begun}").stat().st_size == 3 * PART_BYTES
    assert asked == [32, 32]

"""Answers to commits that are lost after the commit has landed, on a store that answers with any fault."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError, StorageError, TableAlreadyExists
from deltaskip.log.catalog_commits import is_commit
from deltaskip.storage import remote
from deltaskip.storage.object_options import RETRIES
from tests.looped import looped
from tests.storage.counted import server as store
from tests.storage.counted import stored_at
from tests.storage.slow_s3 import SlowS3

pytest.importorskip("obstore")
__all__ = ["store"]


@pytest.fixture
def server(store: SlowS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowS3]:
    monkeypatch.setitem(RETRIES, "max_retries", 1)
    monkeypatch.setattr(remote, "_CHECKED", set())
    yield store
    store.cut, store.after_put, store.takes_conditions = lambda _key, data: data, lambda _key: None, True


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def made(server: SlowS3, name: str) -> Path:
    folder = server.folder / "bucket" / name
    ds.DeltaTable.create(folder, "id BIGINT").append(rows(1, 2))
    return folder


def ids(folder: Path) -> list[int]:
    found: list[int] = sorted(ds.DeltaTable(folder).scan().to_arrow()["id"].to_pylist())
    return found


# How a commit is read back.
READS: dict[str, Callable[[bytes], bytes]] = {
    "whole": lambda data: data,
    "empty": lambda data: b"",
    "one line": lambda data: data[: data.find(b"\n") + 1],
    "half": lambda data: data[: len(data) // 2],
    "a page": lambda data: b"<html>Bad gateway</html>",
}
# Statuses of the answer to a commit that has landed; 0 for a connection that ends without one.
STATUSES = (0, 400, 403, 404, 409, 412, 429, 500, 503)


@looped("status, read", [(status, read) for status in STATUSES for read in READS])
def test_a_commit_whose_answer_is_lost_stands_once_and_keeps_its_files(server: SlowS3, status: int, read: str) -> None:
    folder = made(server, f"lost-{status}-{read.replace(' ', '-')}")
    table = stored_at(server, folder.name)
    commit = f"{2:020}.json"
    server.after_put = lambda key: status if key.endswith(commit) else None
    server.cut = lambda key, data: READS[read](data) if key.endswith(commit) else data
    error: DeltaSkipError | None = None
    try:
        table.append(rows(3), txn=("app", 1))
    except DeltaSkipError as raised:
        error = raised
    server.after_put, server.cut = lambda _key: None, lambda _key, data: data
    assert ids(folder) == [1, 2, 3]
    assert len(list((folder / "_delta_log").glob("*[0-9].json"))) == 3
    if error is None:
        assert table.version == 2
    else:
        assert isinstance(error, StorageError)
        text = str(error)
        assert "The commit of version 2 to " in text and "may have landed, and its files were kept" in text
        found = (folder / "_delta_log" / commit).read_text()
        assert text.partition("the txnId ")[2].partition(";")[0] in found
    assert read != "whole" or error is None
    # The operation can be repeated by its txn.
    stored_at(server, folder.name).append(rows(3), txn=("app", 1))
    assert ids(folder) == [1, 2, 3]


def test_an_error_before_a_commit_lands_commits_nothing(server: SlowS3) -> None:
    folder = made(server, "refused")
    table = stored_at(server, "refused")
    (folder / "_delta_log" / f"{2:020}.json").mkdir()
    with pytest.raises(DeltaSkipError):
        table.append(rows(3))
    (folder / "_delta_log" / f"{2:020}.json").rmdir()
    assert ids(folder) == [1, 2]


@looped("status, read", [(status, read) for status in (0, 403, 412, 503) for read in READS])
def test_a_table_whose_creation_got_no_answer_is_not_another_one(server: SlowS3, status: int, read: str) -> None:
    folder = server.folder / "bucket" / f"created-{status}-{read.replace(' ', '-')}"
    commit = f"{0:020}.json"
    server.after_put = lambda key: status if key.endswith(commit) else None
    server.cut = lambda key, data: READS[read](data) if key.endswith(commit) else data
    options = stored_options(server)
    try:
        ds.DeltaTable.create(f"s3://bucket/{folder.name}", "id BIGINT", storage_options=options)
    except TableAlreadyExists as error:
        raise AssertionError("this operation has created it") from error
    except StorageError as error:
        assert read != "whole" and ("may have landed" in str(error) or "was created" in str(error)), error
    finally:
        server.after_put, server.cut = lambda _key: None, lambda _key, data: data
    assert ids(folder) == []


def stored_options(server: SlowS3) -> dict[str, str]:
    options = {"aws_endpoint": f"http://127.0.0.1:{server.server_port}", "aws_allow_http": "true"}
    return {**options, "aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_region": "us-east-1"}


def test_another_writers_commit_is_not_taken_for_ones_own(server: SlowS3) -> None:
    folder = made(server, "other")
    table = stored_at(server, "other")
    table.refresh()
    ds.DeltaTable(folder).append(rows(9))
    table.append(rows(3))
    assert table.version == 3 and ids(folder) == [1, 2, 3, 9]
    text = b'{"commitInfo":{"txnId":"a"}}\n{"add":{}}\n'
    for found in (b"", text[:5], text[:-10], text + b"x", b"<html>", b"\n"):
        assert is_commit(found, text) is None
    for found in (b'{"commitInfo":{"txnId":"b"}}\n', text.replace(b"a", b"b"), b'{"protocol":{}}'):
        assert is_commit(found, text) is False
    assert is_commit(text, text)


def test_a_store_that_ignores_conditions_is_refused_before_anything_is_committed(server: SlowS3) -> None:
    folder = made(server, "ignoring")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    server.takes_conditions = False

    def append(number: int) -> bool:
        try:
            stored_at(server, "ignoring").append(rows(number))
        except StorageError as error:
            assert "ignores If-None-Match" in str(error) and "Nothing was committed" in str(error), error
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(append, range(16)))
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before
    # A store is asked once.
    server.takes_conditions = True
    table = stored_at(server, "ignoring")
    for number, asked in ((5, 2), (6, 1)):
        server.begin()
        table.append(rows(number))
        assert len([line for line in server.log if line.startswith("PUT") and ".json" in line]) == asked
    assert ids(folder) == [1, 2, 5, 6]

"""Creating, replacing and deleting files: whole or not at all, and of several writers one."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from deltaskip.errors import StorageError
from deltaskip.storage import LocalStorage, Storage, local_writing
from deltaskip.storage.kill_points import observe_kill_points
from deltaskip.storage.remote import ArrowStorage, ObjectStorage
from deltaskip.storage.tree import files_below
from tests.each import in_threads, refuses
from tests.extent import TIME_LIMIT_SECONDS
from tests.noted import raising
from tests.storage.hdfs import NEEDS_HDFS, on_hdfs

Made = tuple[Storage, str]


def _local(folder: Path) -> Made:
    return LocalStorage(), str(folder)


def _arrow(folder: Path) -> Made:
    return ArrowStorage(pafs.LocalFileSystem(), str(folder), "hdfs://host:8020"), "hdfs://host:8020"


def _object(folder: Path) -> Made:
    pytest.importorskip("obstore")
    from obstore.store import MemoryStore

    return ObjectStorage(MemoryStore(), "s3://bucket"), "s3://bucket"


CREATING = [_local, _object, pytest.param(on_hdfs, marks=NEEDS_HDFS)]
KINDS = ["local", "object", "hdfs"]


@pytest.fixture(params=[*CREATING, _arrow], ids=[*KINDS, "arrow"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    make: Callable[[Path], Made] = request.param
    return make(tmp_path)


@pytest.fixture(params=CREATING, ids=KINDS)
def creating(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    make: Callable[[Path], Made] = request.param
    return make(tmp_path)


def test_a_file_is_created_once(creating: Made) -> None:
    storage, root = creating
    path = f"{root}/t/_log/a b%20ü.json"
    storage.put_if_absent(path, b"first")
    refuses(FileExistsError, "a b%20ü", storage.put_if_absent, path, b"second")
    assert storage.read(path) == b"first"
    assert [info.name for info in storage.list_from(f"{root}/t/_log", "")] == ["a b%20ü.json"]


def test_of_many_writers_one_creates_the_file(creating: Made) -> None:
    storage, root = creating
    won: list[bytes] = []

    def write(number: int) -> None:
        data = bytes([number]) * 10_000
        try:
            storage.put_if_absent(f"{root}/t/x", data)
        except FileExistsError:
            return
        won.append(data)

    in_threads(write, range(16))
    assert len(won) == 1
    assert storage.read(f"{root}/t/x") == won[0]


def test_arrow_file_systems_refuse_to_create_and_say_why(tmp_path: Path) -> None:
    storage, root = _arrow(tmp_path)
    with pytest.raises(StorageError, match=r"Cannot commit to hdfs://host:8020/t/x.*overwrite each other.*obstore"):
        storage.put_if_absent(f"{root}/t/x", b"")


def test_put_replaces_and_delete_deletes(made: Made) -> None:
    storage, root = made
    path = f"{root}/t/x"
    storage.put(path, b"old and long")
    storage.put(path, b"new")
    assert storage.read(path) == b"new"
    storage.delete(path)
    storage.delete(path)
    assert not storage.exists(path)


def test_a_directory_is_deleted_with_all_below_it(made: Made) -> None:
    storage, root = made
    for name in ("t/a/x", "t/a/b/y", "t/ab"):
        storage.put(f"{root}/{name}", b"1")
    found = files_below(storage, f"{root}/t")
    assert [file.path for file in found] == [f"{root}/t/{name}" for name in ("a/b/y", "a/x", "ab")]
    storage.delete_directory(f"{root}/t/a")
    storage.delete_directory(f"{root}/t/a")
    assert [file.path for file in files_below(storage, f"{root}/t")] == [f"{root}/t/ab"]


def test_links_between_directories_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").write_bytes(b"1")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a" / "b")
    assert len(files_below(LocalStorage(), str(tmp_path))) == 1
    LocalStorage().delete_directory(str(tmp_path / "a" / "again"))
    assert (tmp_path / "a" / "b" / "x").exists()


def test_directories_are_left_out(tmp_path: Path) -> None:
    for name in ("_delta_log", "p=1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_bytes(b"1")
    found = files_below(LocalStorage(), str(tmp_path), lambda each: not each.name.startswith("_"))
    assert [file.path for file in found] == [str(tmp_path / "p=1" / "x")]


def test_what_is_published_appears_whole_at_the_end(made: Made) -> None:
    storage, root = made
    path = f"{root}/t/x"
    with storage.publish(path) as name:
        Path(name).write_bytes(b"a" * 100)
        assert not storage.exists(path)
    assert storage.read(path) == b"a" * 100
    assert not os.path.exists(name)


def test_what_fails_while_it_is_made_is_not_published(made: Made) -> None:
    storage, root = made
    storage.put(f"{root}/t/x", b"old")
    with pytest.raises(RuntimeError, match="half"), storage.publish(f"{root}/t/x") as name:
        Path(name).write_bytes(b"half")
        raise RuntimeError("half")
    assert storage.read(f"{root}/t/x") == b"old"
    assert not os.path.exists(name)


def test_what_is_there_when_the_block_ends_stays(made: Made) -> None:
    storage, root = made
    path = f"{root}/t/x"
    with storage.publish(path) as name:
        Path(name).write_bytes(b"mine")
        storage.put(path, b"theirs")
    assert storage.read(path) == b"theirs"
    assert not os.path.exists(name)


def test_the_checksum_that_hadoop_keeps_of_a_replaced_file_goes(tmp_path: Path) -> None:
    (tmp_path / ".x.crc").write_bytes(b"of the old content")
    LocalStorage().put(str(tmp_path / "x"), b"new")
    assert sorted(os.listdir(tmp_path)) == ["x"]


def test_without_links_the_file_is_renamed_and_never_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", raising(OSError(errno.EPERM, "Operation not permitted")))
    storage, path = LocalStorage(), str(tmp_path / "x")
    storage.put_if_absent(path, b"first")
    refuses(FileExistsError, None, storage.put_if_absent, path, b"second")
    assert storage.read(path) == b"first"
    assert os.listdir(tmp_path) == ["x"]


def test_a_file_system_with_neither_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", raising(OSError(errno.EPERM, "Operation not permitted")))
    monkeypatch.setattr(local_writing.ctypes, "CDLL", lambda *_, **__: object())  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match="store the table on another file system"):
        LocalStorage().put_if_absent(str(tmp_path / "x"), b"first")
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_a_storage_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", raising(OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(StorageError, match=f"Cannot write {tmp_path}/x: No space left on device"):
        LocalStorage().put_if_absent(str(tmp_path / "x"), b"first")
    assert os.listdir(tmp_path) == []


KILLED = """
import os, signal, sys
from deltaskip.storage import LocalStorage
from deltaskip.storage.kill_points import observe_kill_points
from deltaskip.storage.tree import files_below
from tests.storage.hdfs import NEEDS_HDFS, on_hdfs
path, act = sys.argv[1:]
def steps_until(stop):
    seen = 0
    def observer(name):
        nonlocal seen
        if seen == stop:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1
    return observer
stop = 0
while True:
    child = os.fork()
    if child == 0:
        observe_kill_points(steps_until(stop))
        getattr(LocalStorage(), act)(path + str(stop), b"new")
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status == 0:
        break
    assert os.WIFSIGNALED(status), status
    stop += 1
print(stop)
"""


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("act", ["put", "put_if_absent"])
def test_a_writer_killed_at_any_step_leaves_all_of_the_file_or_none(tmp_path: Path, act: str) -> None:
    if act == "put":
        for number in range(20):
            (tmp_path / f"x{number}").write_bytes(b"old")
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "x"), act]
    run = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=TIME_LIMIT_SECONDS)
    steps = int(run.stdout)
    assert steps >= 5
    contents = [path.read_bytes() if (path := tmp_path / f"x{number}").exists() else None for number in range(steps)]
    before = b"old" if act == "put" else None
    changed = contents.index(b"new")
    assert contents == [before] * changed + [b"new"] * (steps - changed)
    assert 0 < changed < steps


def test_an_observer_sees_the_steps_of_a_write_in_order(tmp_path: Path) -> None:
    seen: list[str] = []
    observe_kill_points(seen.append)
    try:
        LocalStorage().put_if_absent(str(tmp_path / "x"), b"data")
    finally:
        observe_kill_points(None)
    assert seen == ["opened", "written", "synced", "linked", "tidied", "named"]


def test_an_error_in_the_block_of_publish_is_raised_as_it_is(tmp_path: Path) -> None:
    for error in (ValueError("not ours"), KeyError("not ours")):
        with pytest.raises(type(error), match="not ours"), LocalStorage().publish(str(tmp_path / "x")):
            raise error
    assert not list(tmp_path.iterdir())


def test_a_folder_goes_although_others_write_into_it_and_delete_it(tmp_path: Path) -> None:
    storage = LocalStorage()
    failed: list[Exception] = []
    for number in range(20):
        folder = tmp_path / f"{number}"
        for each in range(50):
            (folder / f"{each % 5}").mkdir(parents=True, exist_ok=True)
            (folder / f"{each % 5}" / f"{each}").write_text("x")

        def write(folder: Path = folder) -> None:
            for each in range(30):
                with suppress(FileNotFoundError):
                    (folder / "3" / f"late{each}").write_text("x")

        def drop(folder: Path = folder) -> None:
            try:
                storage.delete_directory(str(folder))
            except Exception as error:  # the test shows it
                failed.append(error)

        in_threads(lambda act: act(), (write, drop, drop))
        assert not failed and not folder.exists()


def test_a_folder_that_is_deleted_is_never_seen_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "t"
    (folder / "_delta_log").mkdir(parents=True)
    plain = shutil.rmtree

    def while_it_is_deleted(*arguments: Any, **options: Any) -> None:
        assert not folder.exists()
        folder.mkdir()
        (folder / "of another process").touch()
        plain(*arguments, **options)

    monkeypatch.setattr(shutil, "rmtree", while_it_is_deleted)
    local_writing.delete_tree(str(folder))
    assert [each.name for each in tmp_path.rglob("*")] == ["t", "of another process"]


def test_files_are_flushed_as_macos_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    full, asked = 51, list[int]()

    def flush(handle: int, command: int) -> int:
        asked.append(command)
        if len(asked) == 2:
            raise OSError(errno.ENOTSUP, "a network file system")
        os.fstat(handle)
        return 0

    synced = list[int]()
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", full, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", flush)
    monkeypatch.setattr(os, "fsync", synced.append)
    LocalStorage().put_if_absent(str(tmp_path / "t" / "_delta_log" / f"{0:020}.json"), b"{}")
    assert set(asked) == {full} and len(asked) >= 2 and len(synced) == 1

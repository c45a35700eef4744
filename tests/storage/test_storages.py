"""What every storage does, on each of them."""

import os
import re
import stat
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.storage import FileInfo, LocalStorage, NotAFile, Storage, open_storage, storage_for
from deltaskip.storage.remote import ArrowStorage, ObjectStorage
from tests.each import refuses
from tests.looped import looped
from tests.storage.hdfs import NEEDS_HDFS, on_hdfs

FILES = {
    "t/_log/00002.json": b"two",
    "t/_log/00010.json": b"ten",
    "t/_log/00001.json": b"one",
    "t/_log/_sidecars/x": b"below",
    "t/a b%20ü#.bin": bytes(range(100)),
    "u/other": b"",
}

Made = tuple[Storage, str]
KINDS = ["local", "arrow", "object", "hdfs"]


def _local(folder: Path) -> Made:
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return LocalStorage(), str(folder)


def _arrow(folder: Path) -> Made:
    _local(folder)
    return ArrowStorage(pafs.LocalFileSystem(), str(folder), "hdfs://host:8020"), "hdfs://host:8020"


def _object(folder: Path) -> Made:
    obstore = pytest.importorskip("obstore")
    from obstore.store import MemoryStore

    store = MemoryStore()
    for name, data in FILES.items():
        obstore.put(store, name, data)
    return ObjectStorage(store, "s3://bucket"), "s3://bucket"


def _hdfs(folder: Path) -> Made:
    storage, root = on_hdfs(folder)
    for name, data in FILES.items():
        storage.put(f"{root}/{name}", data)
    return storage, root


@pytest.fixture(params=[_local, _arrow, _object, pytest.param(_hdfs, marks=NEEDS_HDFS)], ids=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    make: Callable[[Path], Made] = request.param
    return make(tmp_path)


def test_every_one_is_a_storage(made: Made) -> None:
    assert isinstance(made[0], Storage)


def test_a_listing_is_one_level_sorted_from_a_name_on(made: Made) -> None:
    storage, root = made
    *found, below = storage.list_from(f"{root}/t/_log", "00002")
    assert (below.name, below.path, below.kind) == ("_sidecars", f"{root}/t/_log/_sidecars", "directory")
    assert [(info.name, info.size) for info in found] == [("00002.json", 3), ("00010.json", 3)]
    assert [info.path for info in found] == [f"{root}/t/_log/00002.json", f"{root}/t/_log/00010.json"]
    assert all(info.modified_ms > 1_500_000_000_000 for info in found)
    assert all(info.is_file for info in found)
    assert [info.is_file for info in storage.list_from(f"{root}/t/_log", "")] == [True, True, True, False]


def test_a_folder_that_is_not_there_has_no_files(made: Made) -> None:
    storage, root = made
    try:
        assert storage.list_from(f"{root}/nothing", "") == []
        assert isinstance(storage, ObjectStorage)
    except FileNotFoundError:
        assert not isinstance(storage, ObjectStorage)


def test_files_are_read_whole_in_parts_and_many_at_once(made: Made) -> None:
    storage, root = made
    odd = f"{root}/t/a b%20ü#.bin"
    assert storage.read(odd) == bytes(range(100))
    assert storage.read_range(odd, 10, 5) == bytes(range(10, 15))


@looped("said", [3, 0, 2])
def test_files_are_read_one_after_another_even_if_they_have_grown_since_their_listing(made: Made, said: int) -> None:
    storage, root = made
    files = [FileInfo(n, f"{root}/t/_log/{n}.json", said, 0) for n in ("00010", "00001", "00002")]
    data, starts = storage.read_joined(files)
    assert (bytes(data), starts) == (b"tenonetwo", [0, 3, 6])
    assert storage.read_joined([])[1] == []


def test_fewer_bytes_than_were_listed_are_an_error(made: Made) -> None:
    storage, root = made
    files = [FileInfo(n, f"{root}/t/_log/{n}.json", said, 0) for n, said in (("00010", 3), ("00001", 100))]
    for read in (lambda: storage.read_joined(files), lambda: storage.read_joined(files[1:])):
        refuses(StorageError, r"00001\.json: it has 100 bytes, and the storage returned 3; try again", read)


@looped("offset, length, size", [(90, 50, 10), (100, 5, 0), (500, 5, 0), (0, 0, 0), (0, 100, 100)])
def test_a_range_ends_where_the_file_ends(made: Made, offset: int, length: int, size: int) -> None:
    storage, root = made
    assert len(storage.read_range(f"{root}/t/a b%20ü#.bin", offset, length)) == size


def test_an_input_is_read_at_random(made: Made) -> None:
    storage, root = made
    with storage.open_input(f"{root}/t/a b%20ü#.bin") as file:
        file.seek(50)
        assert file.read(2) == bytes([50, 51])
        file.seek(3)
        assert file.read(1) == bytes([3])
        assert file.size() == 100


def test_existence_and_size(made: Made) -> None:
    storage, root = made
    assert storage.exists(f"{root}/t/_log/00001.json")
    assert storage.exists(f"{root}/t/_log")
    assert not storage.exists(f"{root}/t/nothing")
    assert storage.size(f"{root}/t/_log/00001.json") == 3


@pytest.mark.parametrize("act", ["read", "open_input", "size"])
def test_a_file_that_is_not_there_is_not_found(made: Made, act: str) -> None:
    storage, root = made
    refuses(FileNotFoundError, "nothing", lambda: getattr(storage, act)(f"{root}/t/nothing"))
    with pytest.raises(FileNotFoundError, match="nothing"):
        storage.read_joined([FileInfo(n, f"{root}/t/{n}", 3, 0) for n in ("nothing", "_log/00001.json")])


def test_a_permission_error_names_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    storage = LocalStorage()
    path = str(tmp_path / "secret")
    file = FileInfo("secret", path, 1, 0)
    for act in (storage.read, lambda p: storage.read_joined([file]), lambda p: storage.list_from(p, "")):
        refuses(StorageError, rf"No permission to read {path}", act, path)


def test_a_file_of_more_bytes_than_allowed_is_not_read(made: Made) -> None:
    storage, root = made
    path = f"{root}/t/a b%20ü#.bin"
    assert len(storage.read(path, 100)) == 100
    refuses(StorageError, "larger than 99 bytes", storage.read, path, 99)


def _special(kind: str, path: Path) -> str:
    """Create a file of that kind; returns its name for users."""
    match kind:
        case "directory":
            path.mkdir()
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            os.mknod(path, stat.S_IFSOCK | 0o600)
        case "device":
            path.symlink_to("/dev/zero")
        case "dangling link":
            path.symlink_to(path.with_name("nowhere"))
        case "loop of links":
            path.symlink_to(path)
    return kind


SPECIAL = ["directory", "FIFO", "socket", "device", "dangling link", "loop of links"]


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("act", ["read", "range", "joined", "open_input", "size"])
def test_only_regular_files_are_read(tmp_path: Path, kind: str, act: str) -> None:
    path = tmp_path / "x"
    _special(kind, path)
    storage = LocalStorage()
    (found,) = storage.list_from(str(tmp_path), "")
    assert (found.name, found.size, found.kind) == ("x", 0, kind)
    acts: dict[str, Callable[[], object]] = {
        "range": lambda: storage.read_range(found.path, 0, 1),
        "joined": lambda: storage.read_joined([found]),
    }
    with pytest.raises(DeltaSkipError, match=str(path)) as raised:
        acts.get(act, lambda: getattr(storage, act)(str(path)))()
    if kind == "dangling link":
        assert isinstance(raised.value, FileNotFoundError)
    else:
        assert isinstance(raised.value, NotAFile)
        assert re.fullmatch(rf"Cannot read {path}: it is a .*, not a regular file\.", str(raised.value))


def test_a_range_far_longer_than_the_file_reserves_no_memory(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert LocalStorage().read_range(str(tmp_path / "x"), 1, 1 << 50) == b"bc"


@looped("offset, length", [(-1, 5), (5, -1)])
def test_a_negative_range_is_refused(made: Made, offset: int, length: int) -> None:
    storage, root = made
    with pytest.raises(StorageError, match=f"Cannot read {length} bytes at offset {offset} of"):
        storage.read_range(f"{root}/t/a b%20ü#.bin", offset, length)


NAMES = ["nothing", "_log/00001.json/below", "nul\0", "half\ud800", "byte\udcff"]


ACTS = ["read", "size", "exists", "open_input", "range", "list", "put", "create", "delete"]


@looped("act, name", product(ACTS, NAMES))
def test_every_error_is_a_deltaskip_error_and_a_builtin_one(made: Made, act: str, name: str) -> None:
    storage, root = made
    path = f"{root}/t/{name}"
    acts: dict[str, Callable[[], object]] = {
        "range": lambda: storage.read_range(path, 0, 1),
        "list": lambda: storage.list_from(path, ""),
        "put": lambda: storage.put(path, b"x"),
        "create": lambda: storage.put_if_absent(path, b"x"),
    }
    try:
        acts.get(act, lambda: getattr(storage, act)(path))()
    except DeltaSkipError as error:
        assert isinstance(error, OSError)


def test_an_unknown_scheme_names_the_known_ones() -> None:
    with pytest.raises(StorageError, match=r"scheme 'odd' of odd://host/table: use a local path or one of .*s3"):
        open_storage("odd://host/table")


def test_storage_options_without_obstore_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.storage.remote_opening.find_spec", lambda name: None)
    with pytest.raises(StorageError, match=r"pip install 'obstore>=0\.11' 'arro3-core>="):
        open_storage("s3://bucket/t", {"aws_region": "eu-west-1"})
    refuses(StorageError, r"pip install 'obstore>=0\.11' 'arro3-core>=", open_storage, "az://container/t")


def test_a_wrong_storage_option_is_a_storage_error() -> None:
    pytest.importorskip("obstore")
    for location, option, cure in (
        ("s3://bucket/t", "no_such_option_at_all",
            "options of such a table are, among others, aws_region, aws_endpoint"),
        ("s3://bucket/t", "AWS_REGIOM", "did you mean 'aws_region'"),
        ("s3://bucket/t", "acces_key_id", "did you mean 'aws_access_key_id'"),
        ("gs://bucket/t", "timeot", "did you mean 'timeout'"),
        ("gs://bucket/t", "region", "options of such a table are, among others, google_service_account"),
        ("gs://bucket/t", "aws_region", "it is one of s3:// locations: leave it out"),
        ("az://container/t", "GOOGLE_SERVICE_ACCOUNT", "it is one of gs:// locations: leave it out"),
        ("memory:///t", "aws_region", "it is one of s3:// locations: leave it out"),
    ):  # fmt: skip
        refuses(StorageError, f"there is no storage option '{option}'; {cure}", open_storage, location, {option: "x"})


def test_a_local_table_has_no_use_for_storage_options(tmp_path: Path) -> None:
    # As for deltalake and Polars: one configuration serves tables on every storage.
    options = {"aws_region": "eu-west-1", "AWS_REGIOM": "x", "google_service_account": "y"}
    for location in (str(tmp_path), tmp_path.as_uri()):
        storage, _ = open_storage(location, options)
        assert isinstance(storage, LocalStorage)


def test_a_storage_serves_its_own_authority_again() -> None:
    pytest.importorskip("obstore")
    options = {"aws_region": "eu-west-1", "aws_skip_signature": "true"}
    near, _ = open_storage("s3://bucket/t", options)
    assert storage_for("s3://bucket/elsewhere/f.parquet", near=near) is near
    other = storage_for("s3://other/f.parquet", near=near)
    assert isinstance(other, ObjectStorage)
    assert (other.base, other.options) == ("s3://other", options)
    assert isinstance(storage_for("/local/file", near=near), LocalStorage)


def test_a_local_storage_serves_every_path() -> None:
    near = LocalStorage()
    assert storage_for("/anywhere", near=near) is near


def test_many_files_are_deleted_and_missing_ones_are_no_error(made: Made) -> None:
    storage, base = made
    names = [f"many/{name}" for name in ("a", "b %20ü", "c/d")]
    for name in names:
        storage.put(f"{base}/{name}", b"x")
    storage.delete_files([f"{base}/{name}" for name in (*names, "many/none", "none/none")])
    assert not any(storage.exists(f"{base}/{name}") for name in names)
    storage.delete_files([])
    assert storage.exists(f"{base}/u/other")


def test_a_directory_is_deleted_only_if_it_is_empty(made: Made) -> None:
    storage, base = made
    storage.put(f"{base}/some/deep/file", b"x")
    for path in ("some", "some/deep", "some/deep/file", "none", "none/none"):
        assert storage.delete_empty_directory(f"{base}/{path}") is False
    assert storage.read(f"{base}/some/deep/file") == b"x"
    storage.delete(f"{base}/some/deep/file")
    has_directories = not isinstance(storage, ArrowStorage | ObjectStorage)
    assert storage.delete_empty_directory(f"{base}/some/deep") is has_directories
    assert storage.delete_empty_directory(f"{base}/some") is has_directories

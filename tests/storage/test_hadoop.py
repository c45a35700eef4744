"""Hadoop's file systems through a JVM: HDFS, views and web HDFS of a real cluster, and what there is to say without."""

from __future__ import annotations

import errno
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.storage import Storage, open_storage
from deltaskip.storage.hadoop import HadoopStorage, file_infos, hadoop_errors
from deltaskip.storage.kill_points import observe_kill_points
from deltaskip.storage.remote import ArrowStorage
from tests.each import refuses
from tests.extent import TIME_LIMIT_SECONDS
from tests.noted import raising
from tests.storage.hdfs import NEEDS_HDFS, Cluster, cluster

__all__ = ["cluster"]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nobody had imported pyspark."""
    monkeypatch.setitem(sys.modules, "pyspark", None)


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    ("location", "options", "said"),
    [
        ("webhdfs://host/t", None, r"Opening webhdfs://host/t goes through Spark: start a Spark session first"),
        ("hdfs://host/t", {"user": "x"}, r"Opening hdfs://host/t accepts no storage_options: .* spark\.hadoop\.\*"),
        ("wasbs://c@a/t", None, r"Unsupported scheme 'wasbs' of wasbs://c@a/t: .*or first start a Spark session"),
    ],
)
def test_without_a_session_the_cure_is_one(location: str, options: dict[str, str] | None, said: str) -> None:
    refuses(StorageError, said, open_storage, location, options)


@pytest.mark.usefixtures("no_session")
def test_without_a_session_hdfs_is_read_by_libhdfs_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def none(uri: str) -> None:
        raise OSError("Unable to load libhdfs: no such file\nand much more")

    said = r"Cannot open hdfs://host/t: Unable to load libhdfs: no such file; start a Spark session .*set up libhdfs"
    monkeypatch.setattr("deltaskip.storage.remote_opening.pafs", _FileSystems(none))
    refuses(StorageError, said, open_storage, "hdfs://host/t")
    monkeypatch.setattr("deltaskip.storage.remote_opening.pafs", _FileSystems(lambda uri: (object(), "/")))
    assert isinstance(open_storage("hdfs://host/t")[0], ArrowStorage)


class _FileSystems:
    def __init__(self, from_uri: Any) -> None:
        self.FileSystem = type("FileSystem", (), {"from_uri": staticmethod(from_uri)})


# A file s://h of 200 bytes, of time 5, with permissions and a time of access; fields are numbered as in FSProtos.proto.
STATUS = bytes([8, 2, 18, 5]) + b"s://h" + bytes([24, 200, 1, 34, 2, 8, 4, 56, 5, 64, 9])


def listing(*statuses: bytes) -> bytes:
    sized = [len(status).to_bytes(4, "big") + status for status in statuses]
    return b"".join([len(sized).to_bytes(4, "big"), *sized])


def test_a_status_is_taken_apart_by_its_fields() -> None:
    data = listing(STATUS, STATUS.replace(b"/h", b"/g"), STATUS.replace(bytes([8, 2]), bytes([8, 1])))
    found = [(info.name, info.path, info.size, info.modified_ms) for info in file_infos(data, "s://", "")]
    assert found == [("g", "s:/g", 200, 5), ("h", "s:/h", 200, 5), ("h", "s:/h", 200, 5)]
    assert [info.kind for info in file_infos(data, "s://", "h")] == ["file", "directory"]
    assert file_infos(listing(), "s://", "") == []
    refuses(NotADirectoryError, "s://h", lambda: file_infos(listing(STATUS), "s://h", ""))


@pytest.mark.parametrize("cut", [9, 11, 16, len(STATUS) + 7, len(STATUS) + 8])
def test_a_listing_that_is_cut_is_an_error(cut: int) -> None:
    with pytest.raises(StorageError, match=r"Cannot read s://x: the format of its listing is not supported"):
        file_infos(listing(STATUS, STATUS)[:cut], "s://x", "")


class TestHdfs:
    """On a cluster of one name node and one data node."""

    pytestmark = NEEDS_HDFS

    @pytest.fixture
    def made(self, cluster: Cluster, request: pytest.FixtureRequest) -> tuple[HadoopStorage, str]:
        storage = cluster.storage()
        return storage, f"{storage.base}/{request.node.name}"

    def test_it_is_a_storage(self, made: tuple[HadoopStorage, str]) -> None:
        assert isinstance(made[0], Storage)

    @pytest.mark.parametrize("size", [0, 4_096, 4_097, 65_537, 3_000_000])
    def test_files_of_every_size_are_written_and_read(self, made: tuple[HadoopStorage, str], size: int) -> None:
        storage, root = made
        data = (b"0123456789abc" * (size // 13 + 1))[:size]
        storage.put_if_absent(f"{root}/x", data)
        assert storage.read(f"{root}/x") == data
        assert storage.read_range(f"{root}/x", size // 2, size) == data[size // 2 :]
        for length in (4_096, 4_097, 70_000):
            assert storage.read_range(f"{root}/x", size // 3, length) == data[size // 3 :][:length]
        with storage.open_input(f"{root}/x") as file:
            file.seek(size // 3)
            assert file.read(size // 2) == data[size // 3 :][: size // 2]
            assert file.read() == data[size // 3 + size // 2 :]
        with storage.publish(f"{root}/y") as name:
            Path(name).write_bytes(data)
        assert storage.read(f"{root}/y") == data

    def test_a_folder_that_is_a_file_is_told_so(self, made: tuple[HadoopStorage, str]) -> None:
        storage, root = made
        storage.put(f"{root}/x", b"")
        refuses(NotADirectoryError, "x", storage.list_from, f"{root}/x", "")
        assert not storage.exists(f"{root}/x/y")
        refuses(FileNotFoundError, "data", lambda: storage.size(root.rpartition("/")[0] + "/data"))

    def test_a_location_without_authority_is_of_the_default_file_system(self, cluster: Cluster) -> None:
        storage = cluster.storage("hdfs://")
        assert storage.base == cluster.uri
        assert storage.located("hdfs:///a/b") == f"{cluster.uri}/a/b"
        assert storage.list_from("hdfs://", "~") == []

    def test_no_permission_names_the_cure(self, cluster: Cluster, made: tuple[HadoopStorage, str]) -> None:
        storage, root = made
        storage.put_if_absent(f"{root}/x", b"")
        gateway = cluster.gateway()
        jvm = gateway.jvm
        folder = jvm.org.apache.hadoop.fs.Path(root)
        storage._files.setPermission(folder, jvm.org.apache.hadoop.fs.permission.FsPermission("700"))
        uri = jvm.java.net.URI.create(cluster.uri)
        storage._files = jvm.org.apache.hadoop.fs.FileSystem.get(uri, storage._configuration, "stranger")
        for act in (storage.read, storage.size, storage.delete, lambda path: storage.list_from(root, "")):
            refuses(StorageError, rf"No permission to \w+ {root}.*Permission denied.*ask its owner", act, f"{root}/x")

    def test_a_cluster_that_is_not_there_is_told(self, cluster: Cluster) -> None:
        settings = {"ipc__client__connect__max__retries": "0", "dfs__client__failover__max__attempts": "0"}
        storage = cluster.storage("hdfs://127.0.0.1:1", **settings)
        with pytest.raises(StorageError, match=r"Cannot read hdfs://127\.0\.0\.1:1/x: .*check that its name node runs"):
            storage.read("hdfs://127.0.0.1:1/x")

    def test_a_jvm_that_has_gone_is_told(self, cluster: Cluster) -> None:
        storage = cluster.storage()
        storage._gateway.close()
        storage._gateway.gateway_parameters.port = 1
        with pytest.raises(StorageError, match=r"the JVM of Spark does not respond .*start a new Spark session"):
            storage.read(f"{storage.base}/x")

    def test_a_full_disk_is_told(self, made: tuple[HadoopStorage, str], monkeypatch: pytest.MonkeyPatch) -> None:
        storage, root = made
        refuses(StorageError, r"which is not valid UTF-8", storage.read, f"{root}/\udcff")
        refuses(StorageError, r"^Cannot read 5 bytes at offset -1 of", storage.read_range, f"{root}/x", -1, 5)
        storage.put(f"{root}/x", bytes(10_000))

        monkeypatch.setattr(tempfile, "mkstemp", raising(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(StorageError, match=r"Cannot read .*/x through .*: No space left on device; set TMPDIR"):
            storage.read(f"{root}/x")

    def test_steps_are_seen_in_order_and_a_loser_leaves_nothing(self, made: tuple[HadoopStorage, str]) -> None:
        storage, root = made
        seen: list[str] = []
        observe_kill_points(seen.append)
        try:
            storage.put_if_absent(f"{root}/x", b"first")
            refuses(FileExistsError, "/x", storage.put_if_absent, f"{root}/x", b"second")
        finally:
            observe_kill_points(None)
        assert seen == [*["opened", "written", "synced", "renamed"], *["opened", "written", "synced", "tidied"]]
        assert [info.name for info in storage.list_from(root, "")] == ["x"]

    @pytest.mark.long
    def test_of_eight_processes_one_creates_each_file(self, cluster: Cluster, made: tuple[HadoopStorage, str]) -> None:
        storage, root = made
        command = [sys.executable, "-c", RACERS, str(cluster.port), cluster.token, cluster.uri, root]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=False)
        assert run.returncode == 0, run.stderr
        won = [(name, racer) for name, _, racer in (line.partition(" ") for line in run.stdout.splitlines())]
        assert sorted(name for name, _ in won) == sorted(map(str, range(RACES)))
        assert [storage.read(f"{root}/{name}").decode() for name, _ in won] == [winner for _, winner in won]
        assert len(storage.list_from(root, "")) == RACES

    def test_a_view_commits_where_its_mount_is_hdfs(self, cluster: Cluster, tmp_path: Path) -> None:
        links = {
            "fs__viewfs__mounttable__v__link__/data": f"{cluster.uri}/viewed",
            "fs__viewfs__mounttable__v__link__/local": tmp_path.as_uri(),
        }
        cluster.storage().put(f"{cluster.uri}/viewed/here", b"")
        storage = cluster.storage("viewfs://v", **links)
        storage.put_if_absent("viewfs://v/data/x", b"first")
        refuses(FileExistsError, "viewfs://v/data/x", storage.put_if_absent, "viewfs://v/data/x", b"second")
        assert cluster.storage().read(f"{cluster.uri}/viewed/x") == b"first"
        assert [info.path for info in storage.list_from("viewfs://v/data", "x")] == ["viewfs://v/data/x"]
        with pytest.raises(StorageError, match=r"Cannot commit to viewfs://v/local/x: .*ViewFileSystem of file is not"):
            storage.put_if_absent("viewfs://v/local/x", b"")
        assert list(tmp_path.iterdir()) == []

    def test_what_may_overwrite_is_refused_before_anything_is_written(self, cluster: Cluster) -> None:
        storage = cluster.storage("webhdfs://127.0.0.1:1")
        said = r"Cannot commit to webhdfs://127\.0\.0\.1:1/x: .*WebHdfsFileSystem is not known to rename"
        refuses(StorageError, said, storage.put_if_absent, "webhdfs://127.0.0.1:1/x", b"")
        refuses(StorageError, said, storage.put, "webhdfs://127.0.0.1:1/x", b"")
        with pytest.raises(StorageError, match=said), storage.publish("webhdfs://127.0.0.1:1/x") as name:
            Path(name).write_bytes(b"x")


RACES = 12
RACERS = f"""
import os, sys
from tests.storage.hdfs import Cluster
port, token, uri, root = sys.argv[1:]
children = []
for racer in range(8):
    child = os.fork()
    if child == 0:
        storage = Cluster(int(port), token, uri).storage()
        for name in range({RACES}):
            try:
                storage.put_if_absent(f"{{root}}/{{name}}", str(racer).encode())
                os.write(1, f"{{name}} {{racer}}\\n".encode())
            except FileExistsError:
                pass
        os._exit(0)
    children.append(child)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


class _Java:
    """An exception of Java as py4j shows it."""

    def __init__(self, kind: str, message: str | None = None, cause: _Java | None = None) -> None:
        self.kind, self.message, self.cause = kind, message, cause

    def getClass(self) -> _Java:
        """Return the class, whose name is this object's."""
        return self

    def getName(self) -> str:
        """Return the name of the class."""
        return self.kind

    def getMessage(self) -> str | None:
        """Return the message."""
        return self.message

    def getCause(self) -> _Java | None:
        """Return the exception inside."""
        return self.cause


def _raised(module: str, attribute: str, java: _Java) -> Exception:
    error: Exception = type("Py4JJavaError", (Exception,), {"__module__": module})("text\n\tat java.lang.X")
    setattr(error, attribute, java)
    return error


UNKNOWN = _Java("java.net.UnknownHostException", "nohost")
JAVA = [
    (UNKNOWN, "there is no host 'nohost'; check the location"),
    (_Java("java.lang.IllegalArgumentException", "java.net.UnknownHostException: nohost", UNKNOWN), "no host 'nohost'"),
    (_Java("java.lang.RuntimeException", None, _Java("java.io.FileNotFoundException")), "No such file"),
    (_Java("java.net.ConnectException", "refused\nFor more details"), "refused; check that its name node runs"),
    (_Java("org.apache.hadoop.security.AccessControlException", "denied: x"), "No permission"),
    (_Java("java.lang.IllegalArgumentException", "Wrong FS\nmore"), "IllegalArgumentException: Wrong FS."),
    (_Java("java.lang.IllegalArgumentException"), "IllegalArgumentException"),
]


@pytest.mark.parametrize(("java", "said"), JAVA, ids=[said for _, said in JAVA])
@pytest.mark.parametrize(
    ("module", "attribute"), [("py4j.protocol", "java_exception"), ("pyspark.errors.exceptions.captured", "_origin")]
)
def test_every_exception_of_java_is_a_sentence(java: _Java, said: str, module: str, attribute: str) -> None:
    with pytest.raises(DeltaSkipError) as raised, hadoop_errors("hdfs://nohost/t", "open"):
        raise _raised(module, attribute, java)
    text = str(raised.value)
    assert said in text and "hdfs://nohost/t" in text
    assert "\n" not in text and "\tat" not in text

"""A real S3-compatible server that the test starts itself: conditional creation, and a table on it."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from deltaskip.storage import Storage, open_storage

pytest.importorskip("obstore", reason="obstore is not installed (extra cloud)")
pytest.importorskip("moto", reason="moto is not installed (extra test), so there is no S3 server")

START_SECONDS = 60


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _wait_for(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/moto-api/", timeout=5).close()
            return
        except OSError:
            assert server.poll() is None, f"moto's server ended: {log.read_text()[-2000:]}"
            time.sleep(0.1)
    pytest.fail(f"moto's server did not answer: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running server that holds one bucket, `bucket`."""
    url = f"http://127.0.0.1:{_free_port()}"
    log = tmp_path_factory.mktemp("s3") / "log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", url.rpartition(":")[2]]
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "NO_PROXY": "127.0.0.1"})
    try:
        _wait_for(server, url, log)
        urllib.request.urlopen(urllib.request.Request(f"{url}/bucket", method="PUT"), timeout=10).close()
        yield url
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture
def store(endpoint: str, request: pytest.FixtureRequest) -> tuple[Storage, str]:
    """The bucket, and a folder of the test's own."""
    options = {
        "aws_endpoint": endpoint,
        "aws_region": "us-east-1",
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
        "aws_allow_http": "true",
    }
    return open_storage(f"s3://bucket/{request.node.name}", options)


def test_an_object_is_created_once(store: tuple[Storage, str]) -> None:
    storage, root = store
    storage.put_if_absent(f"{root}/x", b"first")
    with pytest.raises(FileExistsError, match="x"):
        storage.put_if_absent(f"{root}/x", b"second")
    assert storage.read(f"{root}/x") == b"first"


def test_of_many_writers_of_one_object_one_succeeds(store: tuple[Storage, str]) -> None:
    storage, root = store
    won: list[bytes] = []

    def write(number: int) -> None:
        try:
            storage.put_if_absent(f"{root}/x", b"%d" % number)
        except FileExistsError:
            return
        won.append(b"%d" % number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [storage.read(f"{root}/x")]


def test_a_published_file_is_the_object(store: tuple[Storage, str]) -> None:
    storage, root = store
    content = os.urandom(12 << 20)
    with storage.publish(f"{root}/_sidecars/big") as name:
        Path(name).write_bytes(content)
    assert storage.read(f"{root}/_sidecars/big") == content
    storage.delete(f"{root}/_sidecars/big")
    assert storage.list_from(f"{root}/_sidecars", "") == []

"""A real S3-compatible server for tests: moto's, in a process of its own, with one bucket."""

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from functools import cache
from pathlib import Path

import pytest

from deltaskip.storage import Storage, open_storage

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


@cache
def _server() -> str:
    """The address of the server of this process, which ends with it: modules would start one each, in a second."""
    url = f"http://127.0.0.1:{_free_port()}"
    log = Path(tempfile.mkdtemp(prefix="deltaskip-s3-")) / "log"
    command = [sys.executable, "-m", "tests.storage.s3_server", url.rpartition(":")[2]]
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "NO_PROXY": "127.0.0.1"})
    atexit.register(shutil.rmtree, log.parent)
    atexit.register(server.kill)
    _wait_for(server, url, log)
    return url


@pytest.fixture(scope="module")
def endpoint() -> str:
    """The address of a running server with one bucket, `bucket`, which is empty; skips where there is none to run."""
    pytest.importorskip("obstore", reason="obstore is not installed (extra cloud)")
    pytest.importorskip("moto", reason="moto is not installed (extra test), so there is no S3 server")
    url = _server()
    for method, path in (("POST", "moto-api/reset"), ("PUT", "bucket")):
        urllib.request.urlopen(urllib.request.Request(f"{url}/{path}", method=method), timeout=10).close()
    return url


@pytest.fixture
def store(s3_options: dict[str, str], request: pytest.FixtureRequest) -> tuple[Storage, str]:
    """The bucket, and a folder of the test's own."""
    return open_storage(f"s3://bucket/{request.node.name}", s3_options)


@pytest.fixture
def s3_options(endpoint: str) -> dict[str, str]:
    """The storage options with which the bucket opens."""
    return {
        "aws_endpoint": endpoint, "aws_region": "us-east-1", "aws_access_key_id": "test",
        "aws_secret_access_key": "test", "aws_allow_http": "true",
    }  # fmt: skip

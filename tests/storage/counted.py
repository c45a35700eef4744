"""An object store on this machine that counts requests and bytes, without any delay."""

import threading
from collections.abc import Iterator

import pytest

import deltaskip as ds
from tests.storage.slow_s3 import SlowS3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlowS3]:
    server = SlowS3(0, tmp_path_factory.mktemp("buckets"), 0, 1e12)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def stored_at(server: SlowS3, name: str) -> ds.DeltaTable:
    """The table of this name in the bucket."""
    options = {"aws_endpoint": f"http://127.0.0.1:{server.server_port}", "aws_allow_http": "true"}
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_region": "us-east-1"}
    return ds.DeltaTable(f"s3://bucket/{name}", storage_options={**options, **keys})

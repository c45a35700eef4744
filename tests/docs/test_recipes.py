"""Recipes that need a server run against one of this machine: S3's interface, and Unity Catalog.

ADLS and GCS have no server here. HDFS is tested in tests/reference/test_hdfs.py, the others in test_docs.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.catalogs.unity_server import unity_server
from tests.docs.generated import PAGES
from tests.storage.counted import server
from tests.storage.slow_s3 import SlowS3

__all__ = ["server"]


def recipe(title: str) -> str:
    """The code of a recipe that needs a server."""
    text = (PAGES / "recipes.md").read_text(encoding="utf-8").partition(f"\n## {title}\n")[2]
    [code, *_] = re.findall(r"^```python \{ \.illustration \}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(code)


def last_value(code: str, names: dict[str, Any]) -> Any:
    """Run the code and return the value of its last line."""
    *before, last = code.strip().splitlines()
    exec("\n".join(before), names)
    return eval(last, names)


def test_a_table_in_a_store_with_the_interface_of_s3(server: SlowS3) -> None:
    pytest.importorskip("polars")
    code = recipe("S3 and MinIO").replace("http://minio:9000", f"http://127.0.0.1:{server.server_port}")
    assert last_value(code, {"ds": ds, "pa": pa}).rows() == [(2, 20.0)]


def test_a_table_of_unity_catalog(tmp_path: Path) -> None:
    with unity_server(tmp_path / "storage") as running:
        running.clients = {"…": "…"}
        code = recipe("Unity Catalog").replace("https://host", running.url).replace("sales.", "db.")
        assert last_value(code, {"ds": ds, "pa": pa}).to_pylist() == [{"id": 1, "price": 20.0}]

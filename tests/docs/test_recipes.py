"""Each recipe runs alone; those that need a server run against one of this machine: stores, and Unity Catalog.

A cluster of HDFS is in tests/reference/test_hdfs.py.
"""

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import StorageError
from deltaskip.storage import open_storage
from tests.catalogs.unity_server import unity_server
from tests.docs.generated import PAGES
from tests.docs.test_docs import PLAIN_PYTHON, run_examples
from tests.each import refuses
from tests.storage.counted import server
from tests.storage.other_stores import azure, google
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


def test_each_recipe_runs_alone_after_the_first_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("polars", "duckdb", "pandas"):
        pytest.importorskip(package)
    [before], *recipes = (
        PLAIN_PYTHON.findall(part) for part in (PAGES / "recipes.md").read_text(encoding="utf-8").split("\n## ")
    )
    ran = [blocks for blocks in recipes if blocks]
    assert len(ran) > 12
    for number, blocks in enumerate(ran):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        assert run_examples([before, *blocks], {}) > 1, blocks


def test_a_table_in_a_store_with_the_interface_of_s3(server: SlowS3) -> None:
    pytest.importorskip("polars")
    code = recipe("S3 and MinIO").replace("http://minio:9000", f"http://127.0.0.1:{server.server_port}")
    assert last_value(code, {"ds": ds, "pa": pa}).rows() == [(2, 20.0)]


def test_a_table_of_unity_catalog(tmp_path: Path) -> None:
    with unity_server(tmp_path / "storage") as running:
        running.clients = {"…": "…"}
        code = recipe("Unity Catalog").replace("https://host", running.url).replace("sales.", "db.")
        assert last_value(code, {"ds": ds, "pa": pa}).to_pylist() == [{"id": 1, "price": 20.0}]


def test_a_table_in_adls(tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    key = b64encode(b"key").decode()
    with azure(tmp_path) as address:
        here = f'"azure_storage_account_key": "{key}", "azure_endpoint": "{address}", "allow_http": "true"'
        code = recipe("ADLS").replace('"azure_storage_account_key": "…"', here)
        assert last_value(code, {"ds": ds, "pa": pa}).to_pylist() == [{"id": 2, "price": 20.0}]
        refuses(ds.TableAlreadyExists, None, last_value, code, {"ds": ds, "pa": pa})


def test_a_table_in_gcs(tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    with google(tmp_path) as address:
        account = {
            "gcs_base_url": address, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": "",
        }  # fmt: skip
        key = tmp_path / "key.json"
        key.write_text(json.dumps(account))
        code = recipe("GCS").replace("/path/to/key.json", str(key)).replace('.json"}', '.json", "allow_http": "true"}')
        assert last_value(code, {"ds": ds, "pa": pa}).to_pylist() == [{"id": 2, "price": 20.0}]
        refuses(ds.TableAlreadyExists, None, last_value, code, {"ds": ds, "pa": pa})


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("abfss://container@account.dfs.core.windows.net/orders", {"azure_storage_sas_token": "sv=2024&sig=abc"}),
        (
            "abfss://container@account.dfs.core.windows.net/orders",
            {"azure_client_id": "c", "azure_client_secret": "s", "azure_tenant_id": "t"},
        ),
        ("abfss://container@account.dfs.core.windows.net/orders", {"azure_use_azure_cli": "true"}),
        ("az://container/orders", {"azure_storage_account_name": "account", "azure_storage_account_key": "a2V5"}),
    ],
)
def test_the_other_options_are_known(uri: str, options: dict[str, str]) -> None:
    pytest.importorskip("obstore")
    text = (PAGES / "recipes.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text or f'"{name}"' in text for name in options)
    storage, root = open_storage(uri, options)
    assert (storage.base, root) == (uri.removesuffix("/orders"), uri)
    with pytest.raises(StorageError, match="did you mean"):
        open_storage(uri, {f"{name}x": value for name, value in options.items()})


def test_hdfs_without_a_session_says_what_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.storage.hadoop.session_storage", lambda _: None)
    code = recipe("HDFS").partition("\n")[2]
    with pytest.raises(StorageError, match=r"hdfs://namenode:8020/orders.*start a Spark session first"):
        last_value(code, {"ds": ds, "pa": pa})

"""Catalogs by their names in the environment and the configuration file."""

from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.catalogs.warehouse import WarehouseCatalog
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType
from tests.each import refuses

FILE = """
default-catalog = "prod"

[catalog.prod]
uri = "warehouse:{folder}/prod"

[catalog.my-Lake]
uri = "warehouse:s3://bucket/lake"

[catalog.my-Lake.storage_options]
aws_region = "eu-west-1"
aws_access_key_id = "key"
aws_secret_access_key = "from file"
"""


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The configuration file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DELTASKIP_CATALOG", raising=False)
    path = tmp_path / "deltaskip.toml"
    path.write_text(FILE.format(folder=tmp_path))
    return path


def opened(*arguments: str, **options: object) -> WarehouseCatalog:
    found = ds.catalog(*arguments, **options)
    assert isinstance(found, WarehouseCatalog)
    return found


def test_a_name_stands_for_a_section(tmp_path: Path) -> None:
    assert opened("prod").location == str(tmp_path / "prod")
    assert opened("prod").name == "prod"
    assert opened("PROD", name="other").name == "other"
    assert opened().location == str(tmp_path / "prod")


def test_the_environment_wins_over_the_file_arguments_over_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setenv("DELTASKIP_CATALOG__MY_LAKE__STORAGE_OPTIONS__AWS_REGION", "us-east-1")
    lake = opened("my-lake")
    assert lake.location == "s3://bucket/lake"
    expected = {"aws_region": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "from file"}
    assert lake.storage_options == expected
    monkeypatch.setenv("DELTASKIP_CATALOG__PROD__URI", f"warehouse:{tmp_path}/environment")
    assert opened("prod").location == str(tmp_path / "environment")
    assert opened("prod", uri=f"warehouse:{tmp_path}/argument").location == str(tmp_path / "argument")
    monkeypatch.setenv("DELTASKIP_CATALOG", f"warehouse:{tmp_path}/default")
    assert opened().location == str(tmp_path / "default")


def test_a_catalog_of_the_environment_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: Path) -> None:
    file.unlink()
    monkeypatch.setenv("DELTASKIP_CATALOG__TEST__URI", f"warehouse:{tmp_path}/x")
    assert opened("test").location == str(tmp_path / "x")
    refuses(InvalidArgument, "test", ds.catalog, "prod")
    refuses(InvalidArgument, "DELTASKIP_CATALOG", ds.catalog)


@pytest.mark.parametrize(
    "text", ["no toml", "catalog = 5", "[catalog]\nprod = 'x'", "[catalog.prod]\nuri = 5", "[catalog.prod]\nx = 'y'"]
)
def test_a_malformed_file_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    refuses((InvalidArgument, InvalidArgumentType), None, ds.catalog, "prod")


@pytest.mark.parametrize("url", ["nothing", "ftp:x", "", ":", "warehouse"])
def test_what_is_no_catalog_is_refused(url: str) -> None:
    refuses(InvalidArgument, None, ds.catalog, url)


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    refuses(InvalidArgument, "no option token", ds.catalog, f"warehouse:{tmp_path}", token="secret")


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTASKIP_CATALOG__BAD__URI", "warehous:x")
    monkeypatch.setenv("DELTASKIP_CATALOG__BAD__TOKEN", "secret")
    for url in ("bad", "nosuch:postgresql://me:secret@host/db", "nosuch://me:secret@host"):
        with pytest.raises(DeltaSkipError) as raised:
            ds.catalog(url)
        assert "secret" not in str(raised.value)

"""The versions of the collations: that of the installed Spark, and where each version comes from."""

import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from deltaskip.errors import CollationUnavailable
from deltaskip.sparkexpr.collations import spark_data
from deltaskip.sparkexpr.collations.lookup import SPARK_VERSION, find, how_to_get, installed_spark_version
from deltaskip.sparkexpr.types.data_types import LONG, STRING, StructField, StructType
from deltaskip.table.table import DeltaTable
from tests.builder import TableBuilder, add

COLLATED = StructField("name", STRING, True, {"__COLLATIONS": {"name": "icu.UNICODE_CI"}})
SCHEMA = StructType((StructField("id", LONG), COLLATED))


def spark_home(folder: Path, version: str) -> Path:
    """A Spark with the ICU4J jar of a version, which is empty."""
    (folder / "jars").mkdir(parents=True)
    (folder / "jars" / f"icu4j-{version}.jar").touch()
    return folder


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    """Files with bounds of ICU 77.1 and 78.3, of which only the second skips one file."""
    builder = TableBuilder(tmp_path / "t", SCHEMA)
    for low in "ab":
        bounds = {
            "icu.UNICODE_CI.77.1": {"minValues": {"name": "a"}, "maxValues": {"name": "z"}},
            "icu.UNICODE_CI.78.3": {"minValues": {"name": low}, "maxValues": {"name": f"{low}z"}},
        }
        builder.commit(add(f"{low}.parquet", {"numRecords": 1, "nullCount": {"name": 0}, "statsWithCollation": bounds}))
    return DeltaTable(tmp_path / "t")


@pytest.mark.parametrize("version", ["76.1", "78.3", "79.1"])
def test_the_installed_spark_has_the_version_of_its_jar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(spark_home(tmp_path, version)))
    assert installed_spark_version() == version


def test_without_spark_the_version_is_that_of_spark_4_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_data, "spark_jar", lambda: None)
    assert installed_spark_version() == SPARK_VERSION


def test_a_scan_compares_by_the_version_of_the_installed_spark_unless_told(table: DeltaTable, tmp_path: Path) -> None:
    if find("icu.UNICODE_CI.78.3") is None:
        pytest.skip("ICU 78.3 is not here")
    code = (
        "import sys, deltaskip as ds; t = ds.DeltaTable(sys.argv[1]); where = \"name = 'A'\"\n"
        "print(t.scan(where).collation_version, len(t.scan(where).paths()))\n"
        "print(t.scan(where, collation_version='77.1').collation_version)\n"
        "print('pyspark' in sys.modules)"
    )
    env = {"SPARK_HOME": str(spark_home(tmp_path / "spark", "78.3")), "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", code, table.uri]
    assert subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout.split() == [
        "78.3",
        "1",
        "77.1",
        "False",
    ]


@pytest.mark.parametrize(("version", "source"), [("77.1", "pyicu-wheels==2.15"), ("78.3", "icu4py>=1.2")])
def test_a_missing_version_names_its_package(version: str, source: str) -> None:
    assert source in how_to_get(version)
    assert "pip install 'icu4py>=" in how_to_get("78.3")


def test_a_version_of_no_package_names_the_variable() -> None:
    assert "DELTASKIP_ICU_PATH" in how_to_get("76.1") and "pyicu-wheels==2.14" in how_to_get("76.1")
    assert "DELTASKIP_ICU_PATH" in how_to_get("99.9")


def test_the_spark_extra_brings_the_packages_that_are_named() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(requirement in how_to_get("78.3") for requirement in project["optional-dependencies"]["spark"])
    assert any(requirement.startswith("pyicu-wheels>=2.15") for requirement in project["dependencies"])


def test_a_recomputation_in_a_missing_version_names_the_table_and_the_cure(table: DeltaTable) -> None:
    with pytest.raises(CollationUnavailable, match=r"needs ICU 99\.9.*DELTASKIP_ICU_PATH.*/t, version 1\)"):
        table.recompute_plan(collation_versions=["99.9"])


def test_explain_names_the_version_and_the_cure_of_a_missing_library(table: DeltaTable) -> None:
    report = str(table.scan("name = 'A'", collation_version="99.9").explain())
    assert re.search(r"prunes nothing: icu\.UNICODE_CI\.99\.9 needs ICU 99\.9.*DELTASKIP_ICU_PATH", report)


@pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed")
def test_the_installed_pyspark_has_a_version_that_can_be_had() -> None:
    assert "pip install" in how_to_get(installed_spark_version())

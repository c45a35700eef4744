"""`deltaskip collations`: what is here, and what the columns of a table need."""

import json
from pathlib import Path

import pytest

from deltaskip.sparkexpr.collations.lookup import available_collations
from deltaskip.sparkexpr.types.data_types import LONG, STRING, ArrayType, MapType, StructField, StructType
from tests.builder import TableBuilder
from tests.cli.conftest import Run


def collated(name: str, collation: str) -> StructField:
    return StructField(name, STRING, metadata={"__COLLATIONS": {name: collation}})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    inner = StructType((collated("f", "spark.UTF8_LCASE"), StructField("plain", STRING)))
    schema = StructType(
        (
            StructField("id", LONG),
            StructField("binary", STRING),
            collated("na.me", "ICU.unicode_ci"),
            StructField("m", MapType(STRING, ArrayType(inner)), metadata={"__COLLATIONS": {"m.key": "icu.de_CI_AI"}}),
            collated("other", "databricks.X"),
            collated("broken", "UNICODE"),
            collated("old", "icu.sv"),
        )
    )
    hints = {"writeVersions": {"icu.UNICODE_CI": ["77.1", "70.1"], "icu.sv": ["70.1"], "bad": ["1"], "icu.de_CI_AI": 5}}
    domain = {"domain": "collations", "configuration": json.dumps(hints), "removed": False}
    TableBuilder(tmp_path / "t", schema).commit({"domainMetadata": domain})
    return tmp_path / "t"


def test_without_a_table_it_lists_providers_and_versions(run: Run) -> None:
    ran = run("collations", "--json")
    assert (ran.status, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert set(found) == {"available", "refused"}
    assert {(entry["provider"], entry["version"], entry["source"]) for entry in found["available"]} == {
        (entry.provider, entry.version, entry.source) for entry in available_collations()
    }
    text = run("collations")
    lines = [line.split() for line in text.out.splitlines()]
    assert lines[0] == ["PROVIDER", "VERSIONS", "LIBRARY"]
    assert any(line[:2] == ["icu", "77.1"] for line in lines)
    assert any(line[0] == "spark" and line[-2:] == ["built", "in"] for line in lines)


def test_a_table_lists_every_collated_string_and_what_serves_it(run: Run, table: Path) -> None:
    found = json.loads(run("collations", table, "--json").out)
    assert (found["table"], found["version"]) == (table.as_uri(), 0)
    columns = {column["column"]: column for column in found["columns"]}
    assert list(columns) == ["na.me", "m.key", "m.value.element.f", "other", "broken", "old"]
    name = columns["na.me"]
    assert (name["collation"], name["write_versions"]) == ("ICU.unicode_ci", ["77.1", "70.1"])
    assert "77.1" in name["evaluated_in"]
    assert "needs ICU 70.1, and the available versions are" in name["missing"]
    assert (columns["m.key"]["write_versions"], columns["m.key"]["missing"]) == ([], None)
    assert "77.1" in columns["m.value.element.f"]["evaluated_in"]
    assert columns["other"]["evaluated_in"] == columns["broken"]["evaluated_in"] == []
    assert "the provider must be icu or spark, not 'databricks'" in columns["other"]["missing"]
    assert "'UNICODE' is not a collation identifier" in columns["broken"]["missing"]
    assert columns["old"]["write_versions"] == ["70.1"]
    assert "icu.sv.70.1 needs ICU 70.1" in columns["old"]["missing"]


def test_the_same_for_people(run: Run, table: Path) -> None:
    ran = run("collations", table)
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == f"{table.as_uri()} at version 0"
    assert lines[1].split() == ["COLUMN", "COLLATION", "WRITE", "VERSIONS", "AVAILABLE", "VERSIONS"]
    assert any(line.split()[:4] == ["na.me", "ICU.unicode_ci", "77.1,", "70.1"] for line in lines)
    assert any(line.split() == ["other", "databricks.X", "any", "none"] for line in lines)
    assert any("needs ICU 70.1" in line for line in lines)
    assert any(line.split()[:3] == ["PROVIDER", "VERSIONS", "LIBRARY"] for line in lines)


def test_a_table_without_collations_says_so(run: Run, tmp_path: Path) -> None:
    TableBuilder(tmp_path / "plain", {"a": STRING}).commit()
    assert "No column has a collation" in run("collations", tmp_path / "plain").out
    assert json.loads(run("collations", tmp_path / "plain", "--json").out)["columns"] == []


def test_the_demos_table(run: Run, customers: Path) -> None:
    [column] = json.loads(run("collations", customers, "--json").out)["columns"]
    assert column["column"] == "name"
    assert "77.1" in str(column)


def test_options_of_a_table_need_one(run: Run, customers: Path) -> None:
    ran = run("collations", "--version", "0")
    assert (ran.status, ran.out) == (2, "")
    assert "--version, --timestamp and --option need a TABLE." in ran.err
    assert run("collations", customers, "--version", "0").status == 0
    ran = run("collations", customers, "--version", "7")
    assert ran.status == 1
    assert "version 7" in ran.err

"""Rows with collated columns: bounds of the collation versions that the table's writers keep."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable

SCHEMA = "id INT, name STRING COLLATE UNICODE_CI, lower STRING COLLATE UTF8_LCASE, plain STRING"


def stats(table: DeltaTable) -> list[dict[str, Any]]:
    return [json.loads(text) for text in table.snapshot.adds(["stats"])["stats"].to_pylist()]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeltaTable:
    monkeypatch.setattr("deltaskip.data_files.data.current_collation_version", lambda: "77.1")
    return DeltaTable.create(tmp_path / "t", SCHEMA)


def test_the_first_write_begins_the_bounds_of_its_version(table: DeltaTable) -> None:
    assert "collations" not in table.domains
    table.append(pa.table({"id": [1, 2], "name": ["b", "Ä"], "lower": ["X", "y"], "plain": ["c", "d"]}))
    listed = json.loads(table.domains["collations"])["writeVersions"]
    assert {name.lower(): versions for name, versions in listed.items()}["icu.unicode_ci"] == ["77.1"]
    (found,) = stats(table)
    bounds = {name.lower(): each for name, each in found["statsWithCollation"].items()}["icu.unicode_ci.77.1"]
    assert (bounds["minValues"], bounds["maxValues"]) == ({"name": "Ä"}, {"name": "b"})
    assert table.scan("name = 'z'", collation_version="77.1").paths() == []
    assert len(table.scan("name = 'ä'", collation_version="77.1").paths()) == 1


def test_later_writes_keep_the_listed_versions(table: DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"id": [1], "name": ["b"]})
    table.append(rows)
    before = table.domains["collations"]
    monkeypatch.setattr("deltaskip.data_files.data.current_collation_version", lambda: "78.3")
    table.append(rows)
    assert table.domains["collations"] == before
    assert stats(table)[0] == stats(table)[1]
    table.retire_collation_version("UNICODE_CI", "77.1")
    table.append(rows)
    newest = next(each for each in stats(table) if "UNICODE_CI" not in str(each).upper())
    assert newest["numRecords"] == 1


def test_no_rows_and_no_collated_columns_begin_nothing(table: DeltaTable, tmp_path: Path) -> None:
    table.append(pa.table({"id": pa.array([], pa.int32())}))
    assert "collations" not in table.domains
    other = DeltaTable.create(tmp_path / "u", "id INT, name STRING")
    other.append(pa.table({"name": ["a"]}))
    assert "collations" not in other.domains

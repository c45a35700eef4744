"""DeltaTable.collations: the collated columns of a table, and the versions that this process can evaluate."""

import json
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import STRING, StructField, StructType
from tests.builder import TableBuilder


@pytest.mark.parametrize("listed", ["icu.UNICODE_CI", "ICU.unicode_ci"])
def test_a_collated_column_has_its_write_versions_and_the_available_ones(tmp_path: Path, listed: str) -> None:
    collated = StructField("c", STRING, metadata={"__COLLATIONS": {"c": "icu.UNICODE_CI"}})
    hints = {"writeVersions": {"malformed": ["2"], listed: ["77.1", "1.0"]}}
    domain = {"domain": "collations", "configuration": json.dumps(hints), "removed": False}
    TableBuilder(tmp_path, StructType((StructField("plain", STRING), collated))).commit({"domainMetadata": domain})
    [column] = ds.DeltaTable(tmp_path).collations()
    assert (column.column, column.collation, column.write_versions) == ("c", "icu.UNICODE_CI", ("77.1", "1.0"))
    assert "77.1" in column.evaluated_in
    assert "needs ICU 1.0" in (column.missing or "")


def test_a_table_without_collations_has_none(tmp_path: Path) -> None:
    TableBuilder(tmp_path, {"a": STRING}).commit()
    assert ds.DeltaTable(tmp_path).collations() == ()

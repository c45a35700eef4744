"""What a query without a session says of names, functions and parameters that it does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from tests.looped import looped


@looped("text, said", [
    ("SELECT * form 't'", "names no table, and has FORM in place of FROM: put its path"),
    ("SELECT count(*), size(tags) FROM 't' GROUP BY tags", "size is a function of Spark. DuckDB lacks it"),
    ("SELECT count(*) FROM 't' WHERE id > :least GROUP BY id", "has the parameter :least: pass its value, as in"),
    ("SELECT count(x.nme) FROM 't' x GROUP BY id", r"There is no column x\.nme\. Did you mean name\?"),
])  # fmt: skip
def test_a_query_that_duckdb_refuses_says_what_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ds.write("t", [{"id": 1, "name": "a", "tags": ["x"]}])
    with pytest.raises(ds.DeltaSkipError, match=said):
        ds.sql(text)


def test_a_path_in_quotes_names_a_table_in_every_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ds.write("t", [{"id": 1}, {"id": 2}])
    catalog: Any = ds.catalog("warehouse:wh")
    assert catalog.sql("DELETE FROM 't' WHERE id = 1").to_pylist() == [{"num_affected_rows": 1}]
    assert catalog.sql("UPDATE 't' SET id = id + 1").num_rows == 1
    assert catalog.sql("INSERT INTO 't' SELECT id + 10 FROM 't'").num_rows == 0
    assert sorted(row["id"] for row in catalog.sql("SELECT * FROM 't'").to_pylist()) == [3, 13]

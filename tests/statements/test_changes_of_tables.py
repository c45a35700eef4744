"""CHANGES FROM and table_changes in queries, with and without a session, beside `DeltaTable.changes`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import PredicateError
from tests.change_feed.test_change_rows import FEED, VECTORS
from tests.change_feed.test_changes_by_row_id import IDS
from tests.dml.tables import DDL, rows
from tests.each import refuses

APART = {"update_preimage": "delete", "update_postimage": "insert"}
QUERIES = [
    ("SELECT * FROM {} CHANGES FROM VERSION 1 TO VERSION 3", {"end": 3}, True),
    ("SELECT * FROM {} CHANGES FROM VERSION '0' EXCLUSIVE TO SYSTEM_VERSION 4 EXCLUSIVE AS c", {"end": 3}, True),
    ("SELECT * FROM {} CHANGES FROM VERSION 1 WITH (computeUpdates = true) WHERE x > 3", {"where": "x > 3"}, False),
    ("SELECT * FROM {} CHANGES FROM VERSION 1 WITH ('deduplicationMode' = 'netChanges')", {"net": True}, True),
    ("SELECT * FROM {} CHANGES FROM VERSION 1 WHERE _change_type = 'delete'", {}, True),
    ("SELECT c.* FROM {} CHANGES FROM TIMESTAMP '1999-01-01' c", {"start": "1999-01-01"}, True),
    ("SELECT * FROM table_changes('{}', 1, 3)", {"end": 3}, False),
    ("SELECT * FROM table_changes('{}', '1999-01-01')", {"start": "1999-01-01"}, False),
]


@pytest.fixture(params=["ids", "feed"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    found = ds.catalog(f"warehouse:{tmp_path / 'lake'}")
    found.create_namespace("db")
    properties = {**VECTORS, **(FEED if request.param == "feed" else IDS), **IDS}
    found.sql(f"CREATE TABLE db.t ({DDL}) USING delta TBLPROPERTIES ({pairs(properties)})")
    table = found.load_table("db.t")
    table.append(rows(range(12)))
    table.update({"x": "x + 1"}, "id % 3 = 0")
    table.delete("id % 4 = 1")
    table.update({"x": "x"}, "id = 7")
    return found


def pairs(properties: dict[str, str]) -> str:
    return ", ".join(f"'{name}' = '{text}'" for name, text in properties.items())


def keys(found: list[dict[str, Any]], apart: bool = False) -> Counter[tuple[Any, ...]]:
    kinds = APART if apart else {}
    types = ((row, row["_change_type"]) for row in found)
    return Counter((row["id"], row["x"], kinds.get(kind, kind), row["_commit_version"]) for row, kind in types)


def expected(lake: Any, query: str, chosen: dict[str, Any], apart: bool) -> Counter[tuple[Any, ...]]:
    chosen = {"start": 1, **chosen}
    where = chosen.pop("where", None)
    found = lake.load_table("db.t").changes(**chosen).to_arrow().to_pylist()
    if where is not None:
        found = [row for row in found if row["x"] is not None and row["x"] > 3]
    told = keys(found, apart)
    return Counter({key: count for key, count in told.items() if "'delete'" not in query or key[2] == "delete"})


@pytest.mark.parametrize(("query", "chosen", "apart"), QUERIES, ids=[each for each, *_ in QUERIES])
def test_without_a_session_changes_are_the_same(lake: Any, query: str, chosen: dict[str, Any], apart: bool) -> None:
    wanted = expected(lake, query, chosen, apart)
    assert wanted
    found = lake.sql(query.format("db.t"))
    assert found.column_names[-3:] == ["_change_type", "_commit_version", "_commit_timestamp"]
    assert keys(found.to_pylist()) == wanted
    path = lake.load_table("db.t").uri
    assert keys(ds.sql(query.replace("table_changes", "table_changes_by_path").format(
        path if "table_changes" in query else f"delta.`{path}`")).to_pylist()) == wanted  # fmt: skip
    counts = lake.sql(f"SELECT _change_type, count(*) AS n FROM ({query.format('db.t')}) GROUP BY 1").to_pylist()
    by_type = Counter(key[2] for key in wanted.elements())
    assert {row["_change_type"]: row["n"] for row in counts} == by_type
    names = lake.sql(query.format("db.t").replace("SELECT *", "SELECT x, ID").replace("c.*", "x, ID"))
    assert names.column_names == ["x", "id"] or names.column_names == ["x", "ID"]


@pytest.mark.spark
@pytest.mark.parametrize(("query", "chosen", "apart"), QUERIES, ids=[each for each, *_ in QUERIES])
def test_a_query_has_the_same_changes(spark: Any, lake: Any, query: str, chosen: dict[str, Any], apart: bool) -> None:
    wanted = expected(lake, query, chosen, apart)
    assert keys([row.asDict() for row in lake.sql(spark, query.format("db.t")).collect()]) == wanted
    if not apart:
        joined = lake.sql(spark, f"SELECT a.id FROM ({query.format('db.t')}) a JOIN db.t USING (id)")
        assert joined.count() <= sum(wanted.values())


def test_errors_name_the_option_and_the_place(lake: Any) -> None:
    with pytest.raises(PredicateError, match=r"deduplicationMode .*, not deduplicationmode = some"):
        lake.sql("SELECT * FROM db.t CHANGES FROM VERSION 1 WITH (deduplicationMode = 'some')")
    refuses(PredicateError, "VERSION is expected here", lake.sql, "SELECT * FROM db.t CHANGES FROM VERSION 1 TO 3")
    refuses(PredicateError, "not both", lake.sql, "SELECT * FROM db.t VERSION AS OF 1 CHANGES FROM VERSION 1")
    refuses(PredicateError, "have no column y", lake.sql, "SELECT y FROM db.t CHANGES FROM VERSION 1")
    assert lake.sql("SELECT count(*) AS n FROM db.t changes").to_pylist() == [{"n": 9}]

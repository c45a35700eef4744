"""Changes by comparison of rows through Spark, with predicates that only Spark evaluates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from deltaskip.errors import UnsupportedFeature
from tests.change_feed.test_changes_by_row_id import IDS, VECTORS, changes, made, narrowed, play

pytestmark = pytest.mark.spark

ONLY_SPARK = "java_method('java.lang.Math', 'floorMod', CAST(id AS INT), 4) = '1' AND x > 5"
SAME = "id % 4 = 1 AND x > 5"


def keys(found: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((row["id"], row["x"], row["_change_type"], row["_commit_version"]) for row in found)


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "values"])
@pytest.mark.parametrize("chosen", [{}, {"net": True}, {"snapshot_first": True}], ids=str)
def test_a_predicate_of_the_session_chooses_the_rows_that_the_same_predicate_chooses_here(
    spark: Any, tmp_path: Path, ids: bool, chosen: dict[str, Any]
) -> None:
    table = made(tmp_path / "t", VECTORS, ids=ids)
    play(table, 5)
    table.update({"x": "x + 1"}, "id % 2 = 1")
    table.refresh()
    for where, same in ((ONLY_SPARK, SAME), (f"{ONLY_SPARK} AND _change_type <> 'insert'", None)):
        scan = table.changes(2, where=where, source="rows", **chosen)
        assert not scan.evaluates_here()
        rows = keys([row.asDict() for row in scan.to_spark(spark).collect()])
        here = changes(table, 2, where=same or f"{SAME} AND _change_type <> 'insert'", source="rows", **chosen)
        assert rows == keys(here)
        if same is not None:
            assert rows
    every = table.changes(1, source="rows", **chosen)
    assert keys([row.asDict() for row in every.to_spark(spark).collect()]) == keys(every.to_arrow().to_pylist())


def test_a_type_that_became_narrower_is_refused(spark: Any, tmp_path: Path) -> None:
    table = narrowed(tmp_path / "t", 77, IDS)
    for start in (2, table.version):
        with pytest.raises(UnsupportedFeature, match=r"changed from bigint to int between .* in this process"):
            table.changes(start, source="rows").to_spark(spark)

"""Columns of DataFrames of a table, `d.toDF()["id"]`, in changes of it; the rows are those of delta-spark 4.4."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import deltaskip as ds
from deltaskip.delta import DeltaTable
from deltaskip.errors import PredicateError
from deltaskip.spark.columns.frame_columns import _ids
from tests.contracts.doors import connect_session

pytestmark = pytest.mark.spark

BEFORE = [(0, 0), (1, 10), (2, 20), (3, 30), (4, 40)]


connected = cache(connect_session)


@pytest.fixture(params=["classic", "connect"])
def session(spark: Any, request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "classic":
        return spark
    found = connected(spark)
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    return found


@pytest.fixture
def table(session: Any, tmp_path: Path) -> DeltaTable:
    made = ds.DeltaTable.create(str(tmp_path / "t"), "id BIGINT, v BIGINT, st STRUCT<x: BIGINT>")
    made.append(pa.table({"id": range(5), "v": range(0, 50, 10), "st": [{"x": i} for i in range(5)]}))
    return DeltaTable.forPath(session, str(tmp_path / "t"))


@pytest.fixture
def source(session: Any) -> Any:
    return session.range(3, 7).selectExpr("id", "id * 100 AS v", "named_struct('x', id) AS st")


def rows(table: DeltaTable) -> list[tuple[int, int]]:
    return sorted((row["id"], row["v"]) for row in ds.DeltaTable(table._table.uri).scan().to_arrow().to_pylist())


def joined_by_id(d: DeltaTable, src: Any) -> None:
    d.alias("t").merge(src, d.toDF()["id"] == src["id"]).whenMatchedDelete().execute()


def joined_without_alias(d: DeltaTable, src: Any) -> None:
    d.merge(src, d.toDF().id == src.id).whenMatchedDelete().execute()


def joined_with_alias_inside(d: DeltaTable, src: Any) -> None:
    named = d.alias("t")
    frame = named.toDF()
    merge = named.merge(src, frame["t.id"] == src["id"])
    merge.whenMatchedUpdate(set={"v": frame["t.v"] + src["v"]}).execute()


def in_clauses(d: DeltaTable, src: Any) -> None:
    frame = d.toDF()
    merge = d.merge(src, frame["st.x"] == src["st.x"]).whenMatchedUpdate(frame["id"] == 3, {"v": frame["v"] + src["v"]})
    merge.whenNotMatchedBySourceDelete(frame["id"] == 0).execute()


def in_all_parts(d: DeltaTable, src: Any) -> None:
    frame = d.toDF()
    found = F.when(frame["id"].isin(3, 9), frame["v"].cast("string")).otherwise(F.lit("0")).cast("bigint")
    merge = d.merge(src, (frame["st"]["x"] == src["id"]) & F.exists(F.array(frame["id"]), lambda x: x == src["id"]))
    merge.whenMatchedUpdate(set={"v": found + 1}).whenNotMatchedBySourceUpdate(
        frame["st"].getField("x") == 1, {"v": -frame["id"].alias("n")}
    ).execute()


def by_another_handle(d: DeltaTable, src: Any) -> None:
    other = ds.DeltaTable(d._table.uri)
    frame = other.scan().to_spark(src.sparkSession)
    other.merge(src, on=frame["id"] == src["id"]).when_matched_delete().execute()


def deleted(d: DeltaTable, src: Any) -> None:
    d.delete(d.toDF()["id"] == 1)


def deleted_with_alias(d: DeltaTable, src: Any) -> None:
    d.alias("t").delete(d.toDF()["st.x"] == 1)


def updated(d: DeltaTable, src: Any) -> None:
    frame = d.toDF()
    d.alias("t").update(frame["id"] == 1, {"v": frame["v"] + 1})


def changed_by_the_table(d: DeltaTable, src: Any) -> None:
    table = ds.DeltaTable(d._table.uri)
    frame = table.scan("id > 0", columns=["v", "id"]).to_spark(src.sparkSession)
    table.delete(frame["id"] == 1)
    table.update({"v": frame["v"] + 1}, where=frame["id"] == 2)
    table.overwrite(pa.table({"id": [4], "v": [1], "st": [{"x": 4}]}), where=frame["id"] >= 4)


CHANGES: dict[Callable[[DeltaTable, Any], None], list[tuple[int, int]]] = {
    joined_by_id: BEFORE[:3],
    joined_without_alias: BEFORE[:3],
    joined_with_alias_inside: [*BEFORE[:3], (3, 330), (4, 440)],
    in_clauses: [*BEFORE[1:3], (3, 330), (4, 40)],
    in_all_parts: [(0, 0), (1, -1), (2, 20), (3, 31), (4, 1)],
    by_another_handle: BEFORE[:3],
    deleted: [BEFORE[0], *BEFORE[2:]],
    deleted_with_alias: [BEFORE[0], *BEFORE[2:]],
    updated: [(0, 0), (1, 11), *BEFORE[2:]],
    changed_by_the_table: [(0, 0), (2, 21), (3, 30), (4, 1)],
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_column_of_a_frame_is_the_tables_column(
    table: DeltaTable, source: Any, change: Callable[[DeltaTable, Any], None]
) -> None:
    change(table, source)
    assert rows(table) == CHANGES[change]


def test_fields_are_found_by_name_after_the_struct_has_changed(session: Any, table: DeltaTable, source: Any) -> None:
    frame = table.toDF()
    ds.DeltaTable(table._table.uri).alter_sql("ADD COLUMN st.w BIGINT FIRST")
    table.merge(source, frame["st.x"] == source["st.x"]).whenMatchedDelete().execute()
    assert rows(table) == BEFORE[:3]


def test_columns_of_derived_frames(session: Any, table: DeltaTable, source: Any) -> None:
    derived = table.toDF().where("id > 2").select("id").alias("a")
    if hasattr(session, "_jvm"):
        table.merge(source, derived["id"] == source["id"]).whenMatchedDelete().execute()
        assert rows(table) == BEFORE[:3]
    else:  # the plan is not the table's
        with pytest.raises(PredicateError, match=r"The column id belongs to a DataFrame that is neither of .* nor"):
            table.merge(source, derived["id"] == source["id"]).whenMatchedDelete().execute()


@pytest.mark.parametrize("filtered", [False, True])
def test_a_frame_that_is_also_the_source_is_refused(table: DeltaTable, filtered: bool) -> None:
    """As by delta-spark: AMBIGUOUS_REFERENCE."""
    frame = table.toDF()
    source = frame.where("id > 2") if filtered else frame
    with pytest.raises(PredicateError, match="also the source of the merge: name the sides") as caught:
        table.alias("t").merge(source.alias("s"), frame["id"] == F.col("s.id")).whenMatchedDelete().execute()
    assert isinstance(caught.value, AnalysisException)
    assert rows(table) == BEFORE


def test_columns_of_other_frames_are_refused(session: Any, table: DeltaTable, source: Any, tmp_path: Path) -> None:
    ds.DeltaTable.create(str(tmp_path / "other"), "id BIGINT, v BIGINT")
    other = DeltaTable.forPath(session, str(tmp_path / "other")).toDF()
    for foreign in (session.range(4), other):
        with pytest.raises(
            PredicateError, match=r"The column id belongs to a DataFrame that is not of .*F\.col\('id'\)"
        ):
            table.delete(foreign["id"] == 1)
        with pytest.raises(PredicateError, match="belongs to a DataFrame that is not of"):
            table.update(set={"v": foreign["id"] + 1})
        with pytest.raises(PredicateError, match="belongs to a DataFrame that is neither of"):
            table.merge(source, foreign["id"] == source["id"]).whenMatchedDelete().execute()
    assert rows(table) == BEFORE


def test_a_source_derived_from_the_table_has_its_own_columns(table: DeltaTable) -> None:
    source = table.toDF().where("id > 2")
    table.alias("t").merge(source, F.col("t.id") == source["id"]).whenMatchedDelete().execute()
    assert rows(table) == BEFORE[:3]


@pytest.mark.parametrize(
    ("text", "names", "ids"),
    [
        ("List(id#0L, v#12, st#3)", ("id", "v", "st"), [0, 12, 3]),
        ("ArraySeq(a#1, b#7L#2, (#30L)", ("a#1, b#7L", "("), [2, 30]),
        ("List(id#x, v#1)", ("id", "v"), None),
        ("List(id#1)", ("id", "v"), None),
        ("List()", (), []),
    ],
)
def test_ids_of_attributes_are_read_from_their_list(text: str, names: tuple[str, ...], ids: list[int] | None) -> None:
    found = _ids(text, names)
    assert ids == (None if found is None else list(found))

"""deltaskip.delta's merge: delta-spark's clauses, aliases, result and errors."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException
from pyspark.sql.functions import col, expr

import deltaskip as ds
from deltaskip.delta import DeltaTable
from deltaskip.spark.session.session_settings import session_settings
from tests.each import refuses

pytestmark = pytest.mark.spark

BEFORE = [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> DeltaTable:
    made = ds.DeltaTable.create(str(tmp_path / "t"), "key STRING, value BIGINT")
    made.append(pa.table({"key": ["a", "b", "c", "d"], "value": [1, 2, 3, 4]}))
    return DeltaTable.forPath(spark, str(tmp_path / "t"))


@pytest.fixture
def source(spark: Any) -> Any:
    return spark.createDataFrame([("a", -1), ("b", 0), ("e", -5), ("f", -6)], ["k", "v"])


def rows(table: DeltaTable) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.toDF().collect())


def test_clauses_of_all_kinds_take_columns(table: DeltaTable, source: Any) -> None:
    merge = table.merge(source, expr("key = k"))
    merge = merge.whenMatchedUpdate(set={"value": col("v") + 0})
    merge = merge.whenNotMatchedInsert(values={"key": "k", "value": col("v") + 0})
    merge = merge.whenNotMatchedBySourceUpdate(set={"value": col("value") + 0})
    [numbers] = merge.execute().collect()
    assert numbers.asDict() == {
        "num_affected_rows": 6, "num_updated_rows": 4, "num_deleted_rows": 0, "num_inserted_rows": 2,
    }  # fmt: skip
    assert rows(table) == [("a", -1), ("b", 0), ("c", 3), ("d", 4), ("e", -5), ("f", -6)]


def test_conditions_of_clauses_by_position_are_columns(table: DeltaTable, source: Any) -> None:
    merge = table.merge(source, "key = k").whenMatchedUpdate(expr("k = 'a'"), {"value": "v + 0"})
    merge = merge.whenMatchedDelete(expr("k = 'b'"))
    merge = merge.whenNotMatchedInsert(expr("k = 'e'"), {"key": "k", "value": "v + 0"})
    merge = merge.whenNotMatchedBySourceUpdate(expr("key = 'c'"), {"value": "value + 0"})
    merge.whenNotMatchedBySourceDelete(expr("key = 'd'")).execute()
    assert rows(table) == [("a", -1), ("c", 3), ("e", -5)]


def test_clauses_for_rows_without_a_source_row_go_in_order(table: DeltaTable, source: Any) -> None:
    merge = table.merge(source, expr("key = k")).whenNotMatchedBySourceDelete(condition="key = 'c'")
    merge = merge.whenNotMatchedBySourceUpdate(condition="key = 'c'", set={"value": "5"})
    merge = merge.whenNotMatchedBySourceUpdate(condition="key = 'd'", set={"value": "6"})
    merge.whenNotMatchedBySourceDelete().execute()
    assert rows(table) == [("a", 1), ("b", 2), ("d", 6)]


def test_all_columns_by_name_with_aliases(table: DeltaTable, source: Any) -> None:
    named = source.toDF("key", "value").alias("s")
    merge = table.alias("t").merge(named, expr("t.key = s.key"))
    merge.whenMatchedUpdateAll("s.key = 'a'").whenNotMatchedInsertAll(expr("s.key = 'e'")).execute()
    assert rows(table) == [("a", -1), ("b", 2), ("c", 3), ("d", 4), ("e", -5)]


def test_the_schema_evolves_if_the_builder_or_the_session_says_so(spark: Any, table: DeltaTable, source: Any) -> None:
    wider = source.toDF("key", "value").withColumn("more", expr("1")).alias("s")
    merge = table.alias("t").merge(wider, "t.key = s.key").whenMatchedUpdateAll()
    merge.execute()
    assert table.toDF().columns == ["key", "value"]
    merge.withSchemaEvolution().execute()
    assert table.toDF().columns == ["key", "value", "more"]
    with session_settings(spark, {"spark.databricks.delta.schema.autoMerge.enabled": "true"}):
        again = wider.withColumn("again", expr("2")).alias("s")
        table.alias("t").merge(again, "t.key = s.key").whenNotMatchedInsertAll().execute()
    assert table.toDF().columns == ["key", "value", "more", "again"]


def test_errors_are_of_the_classes_that_delta_spark_raises(spark: Any, table: DeltaTable, source: Any) -> None:
    twice = source.union(source)
    with pytest.raises(UnsupportedOperationException, match="More than one row"):
        table.merge(twice, "key = k").whenMatchedUpdate(set={"value": "v"}).execute()
    refuses(AnalysisException, "nope", lambda: table.merge(source, "key = nope").whenMatchedDelete().execute())
    with pytest.raises(AnalysisException, match="nope"):
        table.merge(source, "key = k").whenMatchedUpdate(set={"nope": "v"}).execute()
    refuses(AnalysisException, "no clause", lambda: table.merge(source, "key = k").execute())
    with pytest.raises(AnalysisException, match="never apply"):
        table.merge(source, "key = k").whenMatchedUpdate(set={"value": "v"}).whenMatchedDelete().execute()
    assert rows(table) == BEFORE


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("when", "values"), [("zz = 1", {"n": "1"}), ("t.zz = 1", {"n": "1"}), (None, {"n": "zz"}), (None, {"n": "s.st"})]
)
def test_names_are_refused_where_no_file_can_match(
    spark: Any, tmp_path: Path, when: str | None, values: dict[str, str]
) -> None:
    made = ds.DeltaTable.create(
        str(tmp_path / "t"),
        "k BIGINT, n INT, g BIGINT GENERATED ALWAYS AS (k + 1)",
        properties={"delta.enableRowTracking": "true"},
    )
    made.append(pa.table({"k": pa.array([1, 2], pa.int64()), "n": pa.array([1, 2], pa.int32())}))
    source = spark.sql("SELECT 99L AS k, named_struct('a', 1) AS st")
    table = DeltaTable.forPath(spark, str(tmp_path / "t"))
    merge = table.alias("t").merge(source.alias("s"), "t.k = s.k")
    refuses(AnalysisException, None, lambda: merge.whenMatchedUpdate(when, values).execute())
    for insert in ({"k": "s.k", "n": "zz"}, {"k": "s.k", "n": "t.n"}, {"k": "s.k", "n": "s.st"}):
        with pytest.raises(AnalysisException):
            merge.whenNotMatchedInsert("s.k < 0", insert).execute()
    assert made.refresh().version == 1


def test_an_alias_goes_before_a_struct_of_its_name(spark: Any, tmp_path: Path) -> None:
    made = ds.DeltaTable.create(str(tmp_path / "t"), "id INT, t STRUCT<id: INT, w: INT>")
    made.append(spark.sql("SELECT 1 AS id, named_struct('id', 2, 'w', 7) AS t"))
    table = DeltaTable.forPath(spark, str(tmp_path / "t")).alias("t")
    table.update("t.id = 2", {"t.w": "0"})
    table.update(col("t.id") == 1, {"t.w": col("t.id") + col("t.t.id")})
    assert [tuple(row) for row in table.toDF().selectExpr("id", "t.w").collect()] == [(1, 3)]

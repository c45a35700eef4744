"""Errors advise what their reader writes: an option of the format, a clause of SQL, a method of delta-spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import AnalysisException

import deltaskip as ds
from tests.each import refuses

pytestmark = pytest.mark.spark
MORE = "id INT, x INT"
MERGE = 'option("mergeSchema", "true")'


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    return ds.DeltaTable.create(tmp_path / "t", "id INT, v INT, s STRUCT<a: INT>")


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 has no Python data sources")
def test_the_format_names_its_options(spark: Any, table: ds.DeltaTable) -> None:
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    def writer(columns: str, overwrites: bool, **options: str) -> Any:
        schema = spark.createDataFrame([], columns).schema
        return DeltaSkipDataSource({"path": table.uri, **options}).writer(schema, overwrites)

    replaces = {"overwriteSchema": "true"}
    for columns, overwrites, options, says in (
        (MORE, False, {}, f"has no column x: remove it from the rows, or add it with {MERGE}."),
        (MORE, True, {}, f"add it with {MERGE}."),
        ("id INT, s STRUCT<b: INT>", False, {}, f"has no field s.b: remove it from the rows, or add it with {MERGE}."),
        (MORE, True, {**replaces, "replaceWhere": "id = 1"},
         'option("overwriteSchema", "true") replaces all rows, so replaceWhere cannot be given with it.'),
        (MORE, True, {"partitionOverwriteMode": "dynamic", "replaceWhere": "id = 1"},
         'Specify either replaceWhere or option("partitionOverwriteMode", "dynamic"), not both'),
        ("id INT", False, {"timeZone": "Nowhere"}, "timeZone must be a time zone"),
    ):  # fmt: skip
        with pytest.raises(ds.errors.DeltaSkipError) as found:
            writer(columns, overwrites, **options)
        assert says in str(found.value)
    with pytest.raises(ds.StorageError, match=r"in options storage\.NAME or the environment"):
        DeltaSkipDataSource({"path": "s3://bucket/t", "storage.aws_endpoint": "x"}).schema()
    spark.dataSource.register(DeltaSkipDataSource)
    with pytest.raises(AnalysisException, match=r'add it with option\("mergeSchema", "true"\)'):
        spark.createDataFrame([], MORE).write.format("deltaskip").mode("append").save(table.uri)


def test_delta_sparks_names_name_its_methods(spark: Any, table: ds.DeltaTable) -> None:
    from deltaskip.delta import DeltaTable

    merge = DeltaTable.forPath(spark, table.uri).alias("t")
    source = spark.createDataFrame([], MORE).alias("s")
    for builder, says in (
        (merge.merge(source, "t.id = s.id").whenMatchedUpdateAll(), "or keep its values by withSchemaEvolution"),
        (merge.merge(source, "t.id = s.id"), r"add one, such as whenMatchedUpdateAll\(\)"),
    ):
        refuses(Exception, says, builder.execute)


def test_statements_name_their_clauses(spark: Any, tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path / 'wh'}")
    catalog.create_namespace("db")
    catalog.create_table("db.t", "id INT, v INT")
    with pytest.raises(ds.SchemaError, match="has no column x: remove it from the rows, or add it by WITH SCHEMA EVOL"):
        catalog.sql(spark, "INSERT INTO db.t BY NAME SELECT 1 AS id, 2 AS x")


def test_python_names_its_arguments(table: ds.DeltaTable) -> None:
    refuses(ds.SchemaError, "add it with schema_mode='merge'", table.append, pa.table({"id": [1], "x": [1]}))

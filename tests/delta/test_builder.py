"""Builders of deltaskip.delta: tables at locations and under names in the catalog of a stock session."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from tests.builder import logged

pytest.importorskip("pyspark.sql")

from pyspark.errors import AnalysisException, ParseException, UnsupportedOperationException
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

import deltaskip as ds
from deltaskip import errors
from deltaskip.delta import DeltaTable, IdentityGenerator
from tests.each import refuses

pytestmark = pytest.mark.spark


@pytest.fixture
def name(spark: Any) -> Iterator[str]:
    """A name that the catalog does not have yet."""
    chosen = f"t{uuid4().hex}"
    yield chosen
    state = spark._jsparkSession.sessionState()
    state.catalog().dropTable(state.sqlParser().parseTableIdentifier(chosen), True, False)


def build(builder: Any) -> Any:
    return (
        builder.addColumn("col1", "int", comment="foo", nullable=False)
        .addColumn("col2", IntegerType(), generatedAlwaysAs="col1 + 10")
        .property("foo", "bar")
        .comment("comment")
        .partitionedBy("col1")
        .execute()
    )


def check_built(table: Any) -> None:
    assert table.toDF().schema == StructType(
        [StructField("col1", IntegerType(), False, {"comment": "foo"}), StructField("col2", IntegerType())]
    )
    detail = table.detail().first()
    assert (detail.description, detail.partitionColumns, detail.properties) == ("comment", ["col1"], {"foo": "bar"})


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("method", ["create", "createIfNotExists", "createOrReplace"])
def test_a_table_is_created_at_a_location(spark: Any, tmp_path: Path, method: str) -> None:
    where = str(tmp_path / "t")
    table = build(getattr(DeltaTable, method)(spark).location(where))
    check_built(table)
    ds.DeltaTable(where).append(pa.table({"col1": pa.array([1], pa.int32())}))
    assert table.toDF().collect() == [(1, 11)]
    assert DeltaTable.isDeltaTable(spark, where)


def test_a_table_with_a_name_only_is_in_the_warehouse(spark: Any, name: str) -> None:
    check_built(build(DeltaTable.create(spark).tableName(name)))
    found = DeltaTable.forName(spark, name)
    check_built(found)
    detail = found.detail().first()
    assert detail.name == f"spark_catalog.default.{name}"
    assert detail.location.endswith(f"warehouse/{name}")
    check_built(DeltaTable.forName(spark, f"default.{name}"))
    check_built(DeltaTable.forName(spark, f"spark_catalog.default.{name}"))
    with pytest.raises(AnalysisException, match="already exists") as raised:
        build(DeltaTable.create(spark).tableName(name))
    assert name in str(raised.value)
    assert raised.value.desc == str(raised.value)
    assert isinstance(raised.value, errors.TableAlreadyExists)
    kept = DeltaTable.createIfNotExists(spark).tableName(name).addColumn("other", "int").execute()
    check_built(kept)


def test_a_table_with_name_and_location(spark: Any, tmp_path: Path, name: str) -> None:
    where = tmp_path / "odd folder é"
    check_built(build(DeltaTable.create(spark).tableName(name).location(str(where))))
    check_built(DeltaTable.forName(spark, name))
    assert (where / "_delta_log").is_dir()


def test_the_active_session_is_used_without_one(spark: Any, tmp_path: Path) -> None:
    where = str(tmp_path / "t")
    assert DeltaTable.create().location(where).addColumn("a", "int").execute().toDF().columns == ["a"]
    assert DeltaTable.createIfNotExists().location(where).addColumn("b", "int").execute().toDF().columns == ["a"]
    assert DeltaTable.replace().location(where).addColumn("b", "int").execute().toDF().columns == ["b"]
    assert DeltaTable.createOrReplace().location(where).addColumn("c", "int").execute().toDF().columns == ["c"]


def test_a_table_at_a_location_gets_a_name(spark: Any, tmp_path: Path, name: str) -> None:
    where = str(tmp_path / "t")
    ds.DeltaTable.create(where, "a INT, b STRING").append(pa.table({"b": ["x"]}))
    with pytest.raises(AnalysisException, match=r"columns of .* are not those of the table at"):
        DeltaTable.create(spark).tableName(name).location(where).addColumn("z", "int").execute()
    table = DeltaTable.create(spark).tableName(name).location(where).execute()
    assert table.toDF().collect() == DeltaTable.forName(spark, name).toDF().collect() == [(None, "x")]


def test_a_table_is_replaced(spark: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(AnalysisException, match="cannot be found") as raised:
        build(DeltaTable.replace(spark).tableName(name))
    assert name in str(raised.value)
    with pytest.raises(AnalysisException, match="cannot be found"):
        build(DeltaTable.replace(spark).location(str(tmp_path / "none")))
    table = DeltaTable.createOrReplace(spark).tableName(name).addColumn("c1", "int").execute()
    where = table.detail().first().location
    ds.DeltaTable(where).append(pa.table({"c1": pa.array([1], pa.int32())}))
    check_built(build(DeltaTable.replace(spark).tableName(name)))
    assert table.toDF().collect() == []
    assert [each.operation for each in table.history().collect()] == [
        "CREATE OR REPLACE TABLE", "WRITE", "CREATE TABLE"
    ]  # fmt: skip
    with pytest.raises(AnalysisException, match="replace it without location"):
        build(DeltaTable.replace(spark).tableName(name).location(str(tmp_path / "none")))


def test_columns_of_a_schema_and_of_a_list(spark: Any, tmp_path: Path) -> None:
    schema = spark.createDataFrame([("a", 1)], ["key", "value"]).schema
    for i, columns in enumerate((schema, schema.fields)):
        made = DeltaTable.create(spark).location(str(tmp_path / f"t{i}")).addColumns(columns)
        table = made.addColumn("value2", dataType="int").partitionedBy(["value2", "value"]).execute()
        assert [(each.name, each.dataType, each.nullable) for each in table.toDF().schema.fields] == [
            ("key", StringType(), True), ("value", LongType(), True), ("value2", IntegerType(), True)
        ]  # fmt: skip
        assert table.detail().first().partitionColumns == ["value2", "value"]


def test_clustering_columns(spark: Any, tmp_path: Path) -> None:
    where = str(tmp_path / "t")
    for method in (DeltaTable.create, DeltaTable.replace):
        made = method(spark).location(where).addColumn("a", "int").addColumn("b", "int")
        assert made.clusterBy("b", "a").execute().detail().first().clusteringColumns == ["b", "a"]
    replaced = DeltaTable.replace(spark).location(where).addColumn("a", "int").execute()
    assert replaced.detail().first().clusteringColumns == []


def test_identity_columns(spark: Any, tmp_path: Path) -> None:
    where = str(tmp_path / "t")
    table = (
        DeltaTable.create(spark)
        .location(where)
        .addColumn("id1", LongType(), generatedAlwaysAs=IdentityGenerator())
        .addColumn("id2", "BIGINT", generatedAlwaysAs=IdentityGenerator(start=2))
        .addColumn("id3", "bigint", generatedByDefaultAs=IdentityGenerator(start=2, step=2))
        .addColumn("val", "bigint", nullable=False)
        .execute()
    )
    for data in ({"val": [0]}, {"val": [1]}, {"id3": [8], "val": [2]}):
        ds.DeltaTable(where).append(pa.table(data))
    assert sorted(map(tuple, table.toDF().collect())) == [(1, 2, 2, 0), (2, 3, 4, 1), (3, 4, 8, 2)]


def test_code_that_continues_the_builder_of_the_jvm(spark: Any, tmp_path: Path) -> None:
    builder: Any = DeltaTable.create(spark).location(str(tmp_path / "t")).addColumn("a", "int").addColumn("b", "int")
    sequence = spark._jvm.PythonUtils.toSeq(["b"])
    builder._jbuilder = builder._jbuilder.partitionedBy(sequence)
    assert builder.execute().detail().first().partitionColumns == ["b"]


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("tableName", (1,)),
        ("location", (1,)),
        ("comment", (1,)),
        ("addColumn", (1, "int")),
        ("addColumn", ("a", 1)),
        ("addColumn", ("a", "int", 1)),
        ("addColumn", ("a", "int", True, 1)),
        ("addColumn", ("a", "int", True, None, "")),
        ("addColumn", ("a", "bigint", True, IdentityGenerator(1.5))),
        ("addColumn", ("a", "int", True, None, None, 1)),
        ("addColumns", (1,)),
        ("addColumns", ([StructField("1", IntegerType()), 1],)),
        ("partitionedBy", (1,)),
        ("partitionedBy", (1, "1")),
        ("partitionedBy", ([1],)),
        ("clusterBy", (1,)),
        ("clusterBy", (1, "1")),
        ("clusterBy", ([1],)),
        ("property", (1, "1")),
        ("property", ("1", 1)),
    ],
)
def test_arguments_of_wrong_types(spark: Any, tmp_path: Path, method: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError) as raised:
        getattr(DeltaTable.create(spark).location(str(tmp_path / "t")), method)(*arguments)
    assert isinstance(raised.value, errors.InvalidArgumentType)


def test_arguments_of_wrong_values(spark: Any) -> None:
    builder = DeltaTable.create(spark)
    for text in ("1", "nope", "int NOT NULL", "int COMMENT 'x'", "int, b int"):
        refuses(ParseException, "type of the column a cannot be parsed", builder.addColumn, "a", text)
    with pytest.raises(UnsupportedOperationException, match="use BIGINT"):
        builder.addColumn("a", "int", generatedAlwaysAs=IdentityGenerator())
    with pytest.raises(UnsupportedOperationException, match="use BIGINT"):
        builder.addColumn("a", "int", generatedByDefaultAs=IdentityGenerator())
    for arguments in (
        {"generatedAlwaysAs": IdentityGenerator(step=0)},
        {"generatedByDefaultAs": IdentityGenerator(step=0)},
        {"generatedAlwaysAs": "", "generatedByDefaultAs": IdentityGenerator()},
    ):
        given: Any = arguments
        refuses(ValueError, r"non-zero|cannot both be set", builder.addColumn, "a", "bigint", **given)


def test_descriptions_that_are_not_allowed(spark: Any, tmp_path: Path) -> None:
    def at(where: str) -> Any:
        return DeltaTable.create(spark).location(str(tmp_path / where)).addColumn("y", "int")

    with pytest.raises(AnalysisException, match="Table name or location has to be specified"):
        DeltaTable.create(spark).addColumn("y", "int").execute()
    for builder, message in (
        (at("a").partitionedBy("z"), "partition column z is not a column"),
        (at("b").addColumn("Y", "int"), "column y twice"),
        (at("c").addColumn("z", "int").property("delta.nope", "1"), "delta.nope"),
        (at("d").addColumn("z", "int", generatedAlwaysAs="nope + 1"), "nope"),
    ):
        with pytest.raises(AnalysisException, match=message) as raised:
            builder.execute()
        assert isinstance(raised.value, errors.DeltaSkipError)
    build(DeltaTable.create(spark).location(str(tmp_path / "e")))
    refuses(AnalysisException, "already exists", lambda: build(DeltaTable.create(spark).location(str(tmp_path / "e"))))
    with pytest.raises(AnalysisException, match="already exists"):
        build(DeltaTable.create(spark).tableName(f"delta.`{tmp_path}/e`"))
    assert not (tmp_path / "a").exists()


def test_sql_of_a_stock_session_refuses_the_table_rather_than_reading_its_files(spark: Any, name: str) -> None:
    build(DeltaTable.create(spark).tableName(name))
    with pytest.raises(Exception, match=r"DATA_SOURCE_NOT_FOUND|Failed to find the data source: delta"):
        spark.table(name).collect()


def test_the_log_of_a_built_table(spark: Any, tmp_path: Path) -> None:
    build(DeltaTable.create(spark).location(str(tmp_path / "t")))
    [info] = logged(tmp_path / "t", 0, kind="commitInfo")
    assert info["operation"] == "CREATE TABLE"
    assert info["operationParameters"]["partitionBy"] == '["col1"]'
    assert info["operationParameters"]["description"] == "comment"
    assert info["operationParameters"]["properties"] == '{"foo":"bar"}'

"""deltaskip.delta.DeltaTable in a stock session: paths, names, DataFrames, protocols, and errors of both classes."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark.sql")

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException, PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

import deltaskip as ds
from deltaskip import errors
from deltaskip.delta import DeltaTable as FromPackage
from deltaskip.delta.exceptions import ConcurrentAppendException, conflict_class
from deltaskip.delta.spark_errors import spark_errors
from deltaskip.delta.tables import DeltaOptimizeBuilder, DeltaTable, DeltaTableBuilder, IdentityGenerator
from tests.each import refuses

pytestmark = pytest.mark.spark


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A table of two rows."""
    where = str(tmp_path / "t")
    ds.DeltaTable.create(where, "key STRING, value BIGINT").append(pa.table({"key": ["a", "b"], "value": [1, 2]}))
    return where


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def test_one_changed_import_gives_the_same_class() -> None:
    assert FromPackage is DeltaTable
    assert {each.__module__.partition(".")[0] for each in (DeltaTableBuilder, DeltaOptimizeBuilder)} == {"deltaskip"}


def test_a_table_is_read_by_its_path_and_by_delta_and_its_path(spark: Any, path: str) -> None:
    for table in (DeltaTable.forPath(spark, path), DeltaTable.forName(spark, f"delta.`{path}`")):
        assert rows(table.toDF()) == [("a", 1), ("b", 2)]
    assert rows(DeltaTable.forPath(spark, path, {"fs.fake.impl": "some.Class"}).toDF()) == [("a", 1), ("b", 2)]
    assert rows(DeltaTable.forPath(spark, path).alias("x").toDF().select("x.key")) == [("a",), ("b",)]


def test_methods_see_what_other_writers_committed(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    ds.DeltaTable(path).append(pa.table({"key": ["c"], "value": [3]}))
    assert len(rows(table.toDF())) == 3
    assert table.history().count() == 3
    assert table.detail().first().numFiles == 2


def test_what_is_no_table_is_an_analysis_error(spark: Any, tmp_path: Path, path: str) -> None:
    with pytest.raises(AnalysisException, match=r"none` is not a Delta table") as raised:
        DeltaTable.forPath(spark, str(tmp_path / "none"))
    assert isinstance(raised.value, errors.TableNotFound)
    assert isinstance(raised.value, FileNotFoundError)
    for name in ("none", "nodb.none", f"delta.`{tmp_path}/none`"):
        refuses(AnalysisException, "is not a Delta table", DeltaTable.forName, spark, name)
    spark.range(1).createOrReplaceTempView("some_view")
    refuses(AnalysisException, "is not a Delta table", DeltaTable.forName, spark, "some_view")
    refuses(ParseException, None, DeltaTable.forName, spark, "a b")
    with pytest.raises(errors.UnsupportedFeature, match="the catalog other, which deltaskip does not know"):
        DeltaTable.forName(spark, "other.db.t")
    assert DeltaTable.isDeltaTable(spark, path)
    assert not DeltaTable.isDeltaTable(spark, str(tmp_path))


def test_settings_of_hadoop_begin_with_fs_or_dfs(spark: Any, path: str) -> None:
    refuses(IllegalArgumentException, "begin with fs", DeltaTable.forPath, spark, path, {"a.b": "c"})
    wrong: Any = {"fs.b": 1}
    refuses(TypeError, "names and values of str", DeltaTable.forPath, spark, path, wrong)


def test_history_has_the_columns_of_delta_spark(spark: Any, path: str) -> None:
    history = DeltaTable.forPath(spark, path).history()
    assert history.columns == [
        "version", "timestamp", "userId", "userName", "operation", "operationParameters", "job", "notebook",
        "clusterId", "readVersion", "isolationLevel", "isBlindAppend", "operationMetrics", "userMetadata", "engineInfo",
    ]  # fmt: skip
    newest, oldest = history.collect()
    assert (newest.version, newest.operation, newest.isBlindAppend) == (1, "WRITE", True)
    assert newest.operationParameters["mode"] == "Append"
    assert newest.operationMetrics["numOutputRows"] == "2"
    assert oldest.operation == "CREATE TABLE"
    assert (newest.job, newest.userMetadata) == (None, None)
    assert [each.version for each in DeltaTable.forPath(spark, path).history(1).collect()] == [1]
    assert history.schema["job"].dataType.names[0] == "jobId"
    expected = ds.DeltaTable(path).history(1)[0].timestamp_ms
    assert round(newest.timestamp.timestamp() * 1000) == expected


def test_detail_has_the_columns_of_delta_spark(spark: Any, path: str) -> None:
    [detail] = DeltaTable.forPath(spark, path).detail().collect()
    assert list(detail.asDict()) == [
        "format", "id", "name", "description", "location", "createdAt", "lastModified", "partitionColumns",
        "clusteringColumns", "numFiles", "sizeInBytes", "properties", "minReaderVersion", "minWriterVersion",
        "tableFeatures",
    ]  # fmt: skip
    assert (detail.format, detail.numFiles, detail.partitionColumns) == ("delta", 1, [])
    assert (detail.minReaderVersion, detail.minWriterVersion) == (1, 2)
    assert detail.tableFeatures == ["appendOnly", "invariants"]


def test_not_null_and_comments_are_in_the_schema(spark: Any, tmp_path: Path) -> None:
    where = str(tmp_path / "t")
    made = ds.DeltaTable.create(where, "a INT NOT NULL COMMENT 'x', b INT GENERATED ALWAYS AS (a + 1), c STRING")
    made.append(pa.table({"a": pa.array([1, 2], pa.int32()), "c": ["x", None]}))
    frame = DeltaTable.forPath(spark, where).toDF()
    assert frame.schema == StructType(
        [
            StructField("a", IntegerType(), False, {"comment": "x"}),
            StructField("b", IntegerType()),
            StructField("c", StringType()),
        ]
    )
    assert rows(frame.where("a = 2")) == [(2, 3, None)]
    assert rows(frame.where(F.col("a").isNull())) == []


def test_versions_of_the_protocol_are_raised_and_never_lowered(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)

    def versions() -> tuple[int, int]:
        detail = table.detail().first()
        return detail.minReaderVersion, detail.minWriterVersion

    table.upgradeTableProtocol(1, 3)
    table.upgradeTableProtocol(1, 2)
    table.upgradeTableProtocol(3, 7)
    assert versions() == (1, 3)
    assert table.history(1).first().operation == "SET TBLPROPERTIES"
    table.upgradeTableProtocol(2, 5)
    assert versions() == (2, 5)
    for wrong in ("abc", [1], [], {}):
        given: Any = wrong
        refuses(ValueError, "readerVersion", table.upgradeTableProtocol, given, 3)
        refuses(ValueError, "writerVersion", table.upgradeTableProtocol, 1, given)
    refuses(IllegalArgumentException, "writer versions 1 to 7", table.upgradeTableProtocol, 1, 9)


def test_features_are_added(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    table.addFeatureSupport("appendOnly")
    assert table.detail().first().minWriterVersion == 2
    table.addFeatureSupport("deletionvectors")
    table.addFeatureSupport("deletionVectors")
    detail = table.detail().first()
    assert (detail.minReaderVersion, detail.minWriterVersion) == (3, 7)
    assert detail.tableFeatures == ["appendOnly", "deletionVectors", "invariants"]
    assert table.history().count() == 3
    refuses(Py4JJavaError, "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", table.addFeatureSupport, "abc")
    for wrong in (12345, [12345], {}, []):
        given: Any = wrong
        refuses(ValueError, "featureName needs to be a string", table.addFeatureSupport, given)
        refuses(ValueError, "featureName needs to be a string", table.dropFeatureSupport, given)
        refuses(ValueError, "truncateHistory needs to be a boolean", table.dropFeatureSupport, "deletionVectors", given)


def test_features_that_cannot_be_dropped_are_named(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    for name, code in (
        ("__x", "DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE"),
        ("rowTracking", "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"),
        ("appendOnly", "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"),
    ):
        with pytest.raises(Py4JJavaError, match=code) as raised:
            table.dropFeatureSupport(name)
        assert isinstance(raised.value, errors.DeltaSkipError)
    table.addFeatureSupport("checkConstraints")
    with pytest.raises(Py4JJavaError, match="DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED"):
        table.dropFeatureSupport("checkConstraints", True)


def test_conflicts_have_delta_spark_s_classes(path: str) -> None:
    with pytest.raises(ConcurrentAppendException, match="other") as raised, spark_errors():
        raise errors.CommitConflict("other", "append", ("f",))
    assert isinstance(raised.value, errors.CommitConflict)
    assert isinstance(raised.value, PySparkException)
    assert (raised.value.kind, raised.value.paths) == ("append", ("f",))
    assert conflict_class("busy").__name__ == "DeltaConcurrentModificationException"


@pytest.mark.parametrize(
    ("method", "arguments", "kind", "message"),
    [
        ("delete", (1,), TypeError, "must be a Spark SQL Column or a string"),
        ("update", ({"value": "200"},), ValueError, "cannot be None"),
        ("update", ("a",), ValueError, "cannot be None"),
        ("update", (None, 1), TypeError, "must be a dict"),
        ("update", (1, {}), TypeError, "must be a Spark SQL Column or a string"),
        ("update", (None, {"value": 1}), TypeError, "Values of dict in .* must contain only"),
        ("update", (None, {1: ""}), TypeError, "Keys of dict in .* must contain only"),
        ("merge", (1, "key = k"), TypeError, "must be DataFrame"),
        ("merge", (None, "key = k"), ValueError, "cannot be None"),
        ("restoreToTimestamp", (12342323232,), ValueError, "timestamp needs to be a string but got '<class 'int'>'"),
        ("restoreToVersion", ("0",), ValueError, "version needs to be an int but got '<class 'str'>'"),
        ("clone", (1,), ValueError, "target needs to be a string but got '<class 'int'>'"),
        ("clone", ("t", 1), ValueError, "isShallow needs to be a boolean"),
        ("clone", ("t", True, 1), ValueError, "replace needs to be a boolean"),
        ("clone", ("t", True, True, 1), ValueError, "properties needs to be a dict"),
        ("clone", ("t", True, True, {1: ""}), ValueError, "property keys including 1 needs to be a string"),
        ("clone", ("t", True, True, {"a": 1}), ValueError, "property values including 1 needs to be a string"),
        ("cloneAtVersion", ("1", "t"), ValueError, "version needs to be an int"),
        ("cloneAtTimestamp", (1, "t"), ValueError, "timestamp needs to be a string"),
        ("vacuum", ("a",), ValueError, "retentionHours must be a number"),
        ("vacuum", ([1],), TypeError, "retentionHours must be a number"),
        ("alias", (1,), TypeError, "aliasName must be a str"),
        ("vacuum", (-1,), IllegalArgumentException, "must not be negative"),
        ("vacuum", (1,), IllegalArgumentException, "too short .* at least 168 hours"),
        ("generate", ("other",), IllegalArgumentException, "symlink_format_manifest"),
        ("restoreToVersion", (9,), AnalysisException, "9"),
        ("restoreToTimestamp", ("2999-01-01",), AnalysisException, "no version at 2999"),
        ("restoreToTimestamp", ("05/04/1999",), AnalysisException, r"\('05/04/1999'\) cannot be converted to"),
        ("clone", ("t",), IllegalArgumentException, "DELTA_UNSUPPORTED_DEEP_CLONE"),
        ("cloneAtVersion", (9, "/t", True), AnalysisException, "9"),
    ],
)
def test_arguments_are_checked_as_delta_spark_does(
    spark: Any, path: str, method: str, arguments: tuple[Any, ...], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as raised:
        getattr(DeltaTable.forPath(spark, path), method)(*arguments)
    assert isinstance(raised.value, errors.DeltaSkipError)


def test_clauses_of_a_merge_are_checked(spark: Any, path: str) -> None:
    source = spark.createDataFrame([("a", -1)], ["k", "v"])
    table: Any = DeltaTable.forPath(spark, path)
    refuses(TypeError, "must be a Spark SQL Column or a string", table.merge, source, 1)
    builder: Any = table.merge(source, "key = k")
    for method in ("whenMatchedUpdate", "whenNotMatchedInsert", "whenNotMatchedBySourceUpdate"):
        clause = getattr(builder, method)
        for wrong in ({"value": "v"}, 1, "key = 'a'"):
            refuses(ValueError, "cannot be None", clause, wrong)
        for arguments, message in (
            ((1, {"value": "v"}), "must be a Spark SQL Column or a string"),
            (("k = 'a'", 1), "must be a dict"),
            ((None, {"value": 1}), "Values of dict in .* must contain only"),
            ((None, {1: ""}), "Keys of dict in .* must contain only"),
        ):
            refuses(TypeError, message, clause, *arguments)
    for method in ("whenMatchedDelete", "whenMatchedUpdateAll", "whenNotMatchedInsertAll",
                   "whenNotMatchedBySourceDelete"):  # fmt: skip
        with pytest.raises(TypeError, match="must be a Spark SQL Column or a string"):
            getattr(builder, method)(1)


def test_identity_generators_begin_at_one() -> None:
    assert IdentityGenerator() == IdentityGenerator(1, 1) == IdentityGenerator(step=1)


def test_rows_are_deleted(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    ds.DeltaTable(path).append(pa.table({"key": ["c", "d"], "value": [3, 4]}))
    table.delete("key = 'a'")
    assert rows(table.toDF()) == [("b", 2), ("c", 3), ("d", 4)]
    table.delete(F.col("key") == F.lit("b"))
    assert rows(table.toDF()) == [("c", 3), ("d", 4)]
    refuses(AnalysisException, "nope", table.delete, "nope = 1")
    table.delete()
    assert table.toDF().count() == 0


def test_rows_are_updated(spark: Any, tmp_path: Path) -> None:
    where = str(tmp_path / "t")
    properties = {"delta.enableDeletionVectors": "true", "delta.constraints.c": "value < 1000"}
    made = ds.DeltaTable.create(
        where, "key STRING, value BIGINT, twice BIGINT GENERATED ALWAYS AS (value * 2)", properties=properties
    )
    made.append(pa.table({"key": ["a", "b", "c"], "value": [1, 2, 3]}))
    table = DeltaTable.forPath(spark, where)
    table.update("key = 'a' or key = 'b'", {"value": "value + 10"})
    assert rows(table.toDF()) == [("a", 11, 22), ("b", 12, 24), ("c", 3, 6)]
    table.update(F.expr("key = 'c'"), {"VALUE": F.expr("0")})
    assert rows(table.toDF()) == [("a", 11, 22), ("b", 12, 24), ("c", 0, 0)]
    assert table.history(1).first().operation == "UPDATE"
    before = table.history().count()
    table.update("key = 'zzz'", {"value": "1"})
    assert table.history().count() == before
    table.update(set={"value": "200"})
    assert rows(table.toDF()) == [("a", 200, 400), ("b", 200, 400), ("c", 200, 400)]
    refuses(errors.RowViolation, "value < 1000", table.update, set={"value": "2000"})
    refuses(AnalysisException, "nope", table.update, set={"nope": "1"})
    refuses(errors.RowViolation, "generated column", table.update, set={"twice": "1"})
    assert len(rows(table.toDF())) == 3


def test_new_values_are_cast_to_the_columns(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    table.update("key = 'a'", {"value": "'77'"})
    table.update(set={})
    assert rows(table.toDF()) == [("a", 77), ("b", 2)]
    refuses(errors.RowViolation, "The value x does not fit the column value", table.update, set={"value": "'x'"})


def test_spark_evaluates_columns_of_sql_and_a_python_function_without_text_is_named(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    table.delete(F.expr("key = 'none' OR exists(array(value), x -> x = 1)") & (F.col("value") < 5))
    assert rows(table.toDF()) == [("b", 2)]
    table.update(F.expr("current_user() = 'nobody' OR key = 'none' -- remark") | (F.col("key") == "b"), {"value": "3"})
    assert rows(table.toDF()) == [("b", 3)]
    table.delete(F.col("key") == F.current_user())
    with pytest.raises(AnalysisException, match="cannot be written as SQL text"):
        table.alias("t").delete(F.udf(lambda key: True, "boolean")("t.key"))
    assert rows(table.toDF()) == [("b", 3)]


def test_an_alias_stands_before_columns_of_conditions_and_values(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path).alias("T")
    table.update("t.key = 'a' AND 't.x' <> ''", {"t.value": "`T`.value + 10"})
    table.update(F.col("t.key") == "b", {"value": F.col("t.value") * 2})
    assert rows(table.toDF()) == [("a", 11), ("b", 4)]
    table.delete("t . value > 5")
    assert rows(table.toDF()) == [("b", 4)]


def test_parquet_files_are_converted(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("a", 1), ("b", 2)], ["key", "value"])
    frame.write.parquet(str(tmp_path / "plain"))
    converted = DeltaTable.convertToDelta(spark, f"parquet.`{tmp_path}/plain`")
    assert rows(converted.toDF()) == [("a", 1), ("b", 2)]
    for i, schema in enumerate((StructType([StructField("value", IntegerType())]), "value int")):
        frame.write.partitionBy("value").parquet(str(tmp_path / f"p{i}"))
        parted = DeltaTable.convertToDelta(spark, f"parquet.`{tmp_path}/p{i}`", schema)
        assert rows(parted.toDF()) == [("a", 1), ("b", 2)]
        assert type(parted) is type(DeltaTable.forPath(spark, str(tmp_path / f"p{i}")))
    for identifier, message in (
        (f"parquet.`{tmp_path}/none`", "cannot be found"),
        (f"json.`{tmp_path}/plain`", "Only Parquet files"),
        ("no_such_table", "cannot be found"),
    ):
        refuses(AnalysisException, message, DeltaTable.convertToDelta, spark, identifier)


def test_a_stopped_or_missing_session_is_named(path: str) -> None:
    wrong: Any = None
    refuses(TypeError, "spark must be a SparkSession", DeltaTable.forPath, wrong, path)

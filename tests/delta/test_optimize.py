"""DeltaOptimizeBuilder: delta-spark's arguments, metrics, history and errors."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.cli import main
from deltaskip.delta import DeltaTable
from tests.each import refuses

pytestmark = pytest.mark.spark


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Three files of partition a, one of b."""
    table = ds.DeltaTable.create(tmp_path / "t", "key STRING, value BIGINT, x BIGINT", ["key"])
    for key, value in (("a", 1), ("a", 2), ("a", 3), ("b", 1)):
        table.append(pa.table({"key": [key] * 2, "value": [value, value + 1], "x": [value % 2, None]}))
    return str(tmp_path / "t")


def test_compaction_returns_the_metrics_of_delta_spark(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    frame = table.optimize().executeCompaction()
    row = frame.first()
    assert frame.columns == ["path", "metrics"] and row["path"] == f"file:{path}"
    metrics = row["metrics"]
    assert (metrics.numFilesAdded, metrics.numFilesRemoved, metrics.partitionsOptimized) == (1, 3, 1)
    assert (metrics.totalConsideredFiles, metrics.totalFilesSkipped, metrics.numBins) == (4, 1, 1)
    assert metrics.filesRemoved.totalFiles == 3 and metrics.filesAdded.min == metrics.filesAdded.max
    assert metrics.zOrderStats is metrics.clusteringStats is metrics.deletionVectorStats is None
    assert (metrics.numTableColumns, metrics.numTableColumnsWithStats, metrics.numBatches) == (3, 2, 1)
    last = table.history(1).first()
    assert last["operation"] == "OPTIMIZE" and last["operationParameters"]["predicate"] == "[]"
    assert table.toDF().count() == 8
    again = table.optimize().executeCompaction().first()["metrics"]
    assert (again.numFilesAdded, again.numFilesRemoved, again.filesAdded.min) == (0, 0, None)
    assert table.history(1).first()["version"] == last["version"]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("predicates", "shown"),
    [
        (["key = 'a'"], '["(\'key = a)"]'),
        (["key='a' and key <> 'b'"], "[\"(('key = a) AND NOT ('key = b))\"]"),
        (["key = 'a'", "key IS NOT NULL"], '["(\'key = a)","isnotnull(\'key)"]'),
        (["key IN ('a', 'c')"], '["\'key IN (a,c)"]'),
    ],
)
def test_the_history_has_predicates_as_delta_spark_s(spark: Any, path: str, predicates: list[str], shown: str) -> None:
    table = DeltaTable.forPath(spark, path)
    builder = table.optimize()
    for predicate in predicates:
        assert builder.where(predicate) is builder
    metrics = builder.executeCompaction().first()["metrics"]
    assert (metrics.numFilesAdded, metrics.numFilesRemoved, metrics.totalConsideredFiles) == (1, 3, 3)
    assert table.history(1).first()["operationParameters"]["predicate"] == shown


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("columns", [(["value", "x"],), ("value", "x"), (("value",),), ("value",)])
def test_zorder_orders_each_partition(spark: Any, path: str, columns: tuple[Any, ...]) -> None:
    table = DeltaTable.forPath(spark, path)
    metrics = table.optimize().executeZOrderBy(*columns).select("metrics.*").head()
    assert (metrics.numFilesAdded, metrics.numFilesRemoved, metrics.totalFilesSkipped) == (2, 4, 0)
    assert metrics.zOrderStats.strategyName == "all" and metrics.zOrderStats.numOutputCubes == 2
    assert metrics.zOrderStats.mergedFiles.num == metrics.zOrderStats.inputOtherFiles.num == 4
    names = [columns[0]] if isinstance(columns[0], str) else list(columns[0])
    names += columns[1:]
    shown = str(names).replace("'", '"').replace(" ", "")
    assert table.history(1).first()["operationParameters"]["zOrderBy"] == shown
    assert table.toDF().count() == 8


def test_clustered_tables_have_statistics_of_cubes(spark: Any, tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "c", "id BIGINT, k BIGINT", cluster_by=["id", "k"])
    for start in range(3):
        made.append(pa.table({"id": [start, start + 1], "k": [1, 2]}))
    table = DeltaTable.forPath(spark, str(tmp_path / "c"))
    stats = table.optimize().executeCompaction().first()["metrics"].clusteringStats
    assert (stats.inputZCubeFiles.numFiles, stats.inputOtherFiles.numFiles) == (0, 3)
    assert (stats.mergedFiles.numFiles, stats.numOutputZCubes) == (3, 1)
    stats = table.optimize().executeCompaction().first()["metrics"].clusteringStats
    assert (stats.inputZCubeFiles.numFiles, stats.inputNumZCubes, stats.mergedFiles.numFiles) == (1, 1, 0)
    refuses(Exception, r"Please remove ZORDER BY \(id\)", lambda: table.optimize().executeZOrderBy("id"))
    with pytest.raises(Exception, match="Please remove the predicates: id = 3"):
        table.optimize().where("id = 3").executeCompaction()


def test_errors_are_those_of_delta_spark(spark: Any, path: str) -> None:
    from pyspark.errors import AnalysisException

    table = DeltaTable.forPath(spark, path)
    with pytest.raises(AnalysisException, match=r"'value'\. Only the partition columns may be referenced: \[key\]"):
        table.optimize().where("value = 1").executeCompaction()
    with pytest.raises(AnalysisException, match=r"key is a partition column\. Z-Ordering can only be"):
        table.optimize().where("key = 'a'").executeZOrderBy(["key"])
    with pytest.raises(AnalysisException, match="Z-Ordering column nope does not exist in data schema"):
        table.optimize().executeZOrderBy("nope")
    refuses(TypeError, "Z-order column must be str", lambda: table.optimize().executeZOrderBy([1]))
    refuses(TypeError, "Found 3 with type <class 'int'>", lambda: table.optimize().executeZOrderBy("value", 3))
    assert table.optimize().executeZOrderBy().first()["metrics"].zOrderStats is None


@pytest.mark.parametrize("where", ["day >= current_date() - INTERVAL 1 DAY", "day > date_sub(now(), 2)"])
def test_every_door_takes_a_predicate_on_the_present_time(spark: Any, tmp_path: Path, where: str) -> None:
    days = [datetime.date.today(), datetime.date(2020, 1, 1)]
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    doors = {
        "delta": lambda table: DeltaTable.forPath(spark, table.uri).optimize().where(where).executeCompaction(),
        "zorder": lambda table: DeltaTable.forPath(spark, table.uri).optimize().where(where).executeZOrderBy("id"),
        "table": lambda table: table.optimize(where=where, spark=spark),
        "catalog": lambda table: catalog.sql(spark, f"OPTIMIZE db.catalog WHERE {where}"),
        "command": lambda table: main(["optimize", table.uri, "--where", where]),
    }
    for door, optimize in doors.items():
        table = ds.DeltaTable.create(tmp_path / "db" / door, "id BIGINT, day DATE", partition_by=["day"])
        for number in range(2):
            table.append(pa.table({"id": pa.array([number, number], pa.int64()), "day": days}))
        optimize(table)
        files = ds.DeltaTable(table.uri).scan().files()
        assert len(files) == 3, door
        assert sorted(ds.DeltaTable(table.uri).scan().to_arrow()["id"].to_pylist()) == [0, 0, 1, 1], door

"""vacuum, restore, clone and generate of deltaskip.delta: what delta-spark's own tests expect of them."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.spark.session.session_settings import session_settings

pytest.importorskip("pyspark.sql")

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

import deltaskip as ds
from deltaskip.delta import DeltaTable
from tests.each import refuses

pytestmark = pytest.mark.spark

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A table of two rows, whose columns were others in version 1."""
    where = str(tmp_path / "t")
    table = ds.DeltaTable.create(where, "key STRING, value BIGINT")
    table.append(pa.table({"key": ["a", "b"], "value": [1, 2]}))
    table.overwrite(pa.table({"key_new": ["a", "b"], "value_new": [3, 2]}), schema_mode="replace")
    return where


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def test_vacuum_keeps_young_files_unless_the_session_turns_the_check_off(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    orphan = Path(path) / "abc.txt"
    orphan.write_text("abcde")
    before = len(os.listdir(path))
    for hours in (None, 1000, 1000.0, "1000"):
        frame = table.vacuum(hours)
        assert isinstance(frame, DataFrame) and frame.columns == [] and frame.collect() == []
    assert orphan.exists()
    with session_settings(spark, {CHECK: "false"}):
        table.vacuum(0.0)
    assert not orphan.exists() and len(os.listdir(path)) == before - 2
    assert rows(table.toDF()) == [("a", 3), ("b", 2)]
    assert [each.operation for each in table.history(2).collect()] == ["VACUUM END", "VACUUM START"]


def test_restore_to_a_version(spark: Any, path: str) -> None:
    frame = DeltaTable.forPath(spark, path).restoreToVersion(1)
    [row] = frame.collect()
    assert frame.columns == [
        "table_size_after_restore", "num_of_files_after_restore", "num_removed_files", "num_restored_files",
        "removed_files_size", "restored_files_size",
    ]  # fmt: skip
    assert {kind for _, kind in frame.dtypes} == {"bigint"}
    assert (row.num_of_files_after_restore, row.num_removed_files, row.num_restored_files) == (1, 1, 1)
    table = DeltaTable.forPath(spark, path)
    assert table.toDF().columns == ["key", "value"] and rows(table.toDF()) == [("a", 1), ("b", 2)]
    # As in delta-spark: nothing is committed for the version that the table is at.
    assert table.restoreToVersion(3).columns == [] and table.history().count() == 4


def test_restore_to_a_timestamp_of_the_history(spark: Any, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    moment = table.history().where("version = 1").head().timestamp.strftime("%Y-%m-%d %H:%M:%S.%f")
    table.restoreToTimestamp(moment)
    assert rows(DeltaTable.forPath(spark, path).toDF()) == [("a", 1), ("b", 2)]
    refuses(AnalysisException, "cannot be converted to a valid timestamp", table.restoreToTimestamp, "05/04/1999")


def test_clones_of_versions_and_times(spark: Any, path: str, tmp_path: Path) -> None:
    table = DeltaTable.forPath(spark, path)
    copy = table.clone(str(tmp_path / "c"), True)
    assert isinstance(copy, DeltaTable) and rows(copy.toDF()) == [("a", 3), ("b", 2)]
    old = table.cloneAtVersion(1, str(tmp_path / "d"), isShallow=True, properties={"foo": "bar"})
    assert rows(old.toDF()) == [("a", 1), ("b", 2)] and old.detail().head().properties == {"foo": "bar"}
    moment = table.history().where("version = 1").head().timestamp.strftime("%Y-%m-%d %H:%M:%S.%f")
    timed = table.cloneAtTimestamp(moment, f"delta.`{tmp_path / 'e'}`", isShallow=True)
    assert rows(timed.toDF()) == [("a", 1), ("b", 2)]
    refuses(AnalysisException, "A table already exists at", table.clone, str(tmp_path / "d"), isShallow=True)
    replaced = table.clone(str(tmp_path / "d"), isShallow=True, replace=True)
    assert rows(replaced.toDF()) == [("a", 3), ("b", 2)]
    assert replaced.history(1).head().operation == "CLONE"


def test_a_clone_under_a_name_is_in_the_catalog(spark: Any, path: str) -> None:
    try:
        copy = DeltaTable.forPath(spark, path).clone("a_clone", isShallow=True)
        detail = copy.detail().head()
        folder = detail.location.removeprefix("file:")
        assert detail.name == "spark_catalog.default.a_clone"
        assert Path(folder).is_dir()
        assert rows(DeltaTable.forName(spark, "a_clone").toDF()) == [("a", 3), ("b", 2)]
    finally:
        catalog = spark._jsparkSession.sessionState().catalog()
        catalog.dropTable(spark._jsparkSession.sessionState().sqlParser().parseTableIdentifier("a_clone"), True, True)
    # Spark manages the table, so that its files go with it.
    assert not Path(folder).exists()


def test_manifests_are_generated(spark: Any, path: str) -> None:
    assert DeltaTable.forPath(spark, path).generate("SYMLINK_format_manifest") is None
    assert (Path(path) / "_symlink_format_manifest" / "manifest").read_text().startswith(f"file:{path}/part-")


def test_commits_have_the_text_that_the_session_says(spark: Any, path: str, tmp_path: Path) -> None:
    table = DeltaTable.forPath(spark, path)
    source = spark.createDataFrame([("a", 5)], "k string, v bigint")
    with session_settings(spark, {"spark.databricks.delta.commitInfo.userMetadata": "nightly"}):
        table.delete("key_new = 'b'")
        table.update(set={"value_new": "7"})
        table.merge(source, "key_new = k").whenMatchedUpdate(set={"value_new": "v"}).execute()
        table.restoreToVersion(1)
        copy = table.clone(str(tmp_path / "c"), isShallow=True)
    table.delete()
    assert [each.userMetadata for each in table.history(6).collect()] == [None, *["nightly"] * 4, None]
    assert copy.history(1).first().userMetadata == "nightly"

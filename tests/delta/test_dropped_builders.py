"""Builders of deltaskip.delta that are dropped without `execute` warn, once, and others do not."""

import gc
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.delta import DeltaTable
from deltaskip.errors import WriteWarning

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> DeltaTable:
    ds.DeltaTable.create(str(tmp_path / "t"), "id BIGINT").append(pa.table({"id": [1, 2]}))
    return DeltaTable.forPath(spark, str(tmp_path / "t"))


def warned(run: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
        gc.collect()
    # PySpark's own objects may warn when they are collected.
    ours = [each for each in found if each.category is WriteWarning]
    assert {each.filename for each in ours} <= {__file__}
    return [str(each.message) for each in ours]


def test_dropped_builders_warn(spark: Any, table: DeltaTable, tmp_path: Path) -> None:
    source = spark.range(2)

    def several() -> None:
        merge = table.merge(source, "true")
        merge.whenMatchedDelete("false").withSchemaEvolution()
        merge.whenNotMatchedInsertAll()

    def after_one_that_was_executed() -> None:
        merge = table.merge(source, "false").whenMatchedDelete()
        merge.execute()
        merge.whenNotMatchedBySourceDelete("false")

    [merge] = warned(lambda: table.merge(source, "true"))
    assert merge == f"The merge into {table._table.uri} was not run: call execute() after its clauses."
    assert warned(several) == warned(after_one_that_was_executed) == [merge]
    [optimize] = warned(lambda: table.optimize().where("true"))
    assert optimize.startswith(f"The OPTIMIZE of {table._table.uri} was not run: call executeCompaction()")
    [created] = warned(lambda: DeltaTable.create(spark).location(str(tmp_path / "n")).addColumn("a", "INT"))
    assert created.endswith("was not created: call execute() after its columns.")
    assert not (tmp_path / "n").exists()


def test_executed_builders_and_failed_calls_do_not_warn(spark: Any, table: DeltaTable, tmp_path: Path) -> None:
    def executed() -> None:
        table.merge(spark.range(2), "false").whenMatchedDelete().execute()
        table.optimize().where("true").executeCompaction()
        builder = DeltaTable.create(spark).location(str(tmp_path / "n"))
        builder._jbuilder = builder._jbuilder.comment("c")
        builder.addColumn("a", "INT").execute()

    def failed() -> None:
        for call in (
            lambda: table.merge(spark.range(2), "false").whenMatchedUpdate(),
            lambda: table.merge(spark.range(2), "false").whenMatchedDelete(5),
            lambda: table.merge(spark.range(2), "false").execute(),
            lambda: table.optimize().where(5),
            lambda: table.optimize().executeZOrderBy(5),
            lambda: DeltaTable.create(spark).property("a", 5),
        ):
            with pytest.raises((ValueError, TypeError, ds.DeltaSkipError)):
                call()

    assert warned(executed) == warned(failed) == []

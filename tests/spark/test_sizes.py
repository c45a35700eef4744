"""The size that Spark plans with, which decides how it joins: through every door as for Spark's own Parquet tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.spark.planning import planned_files
from tests.each import each

pytestmark = pytest.mark.spark

VECTORS = {"delta.enableDeletionVectors": "true"}
# Partition columns, and the predicate of deleted rows; None for none.
KINDS: dict[str, tuple[list[str], str | None]] = {
    "plain": ([], None),
    "partitions": (["p"], None),
    "few deleted rows": ([], "id % 1000 = 7"),
    "many deleted rows": ([], "id % 3 <> 0"),
    "partitions with deleted rows": (["p"], "id % 1000 = 7"),
    "one file of some with deleted rows": ([], "id < 9"),
}
DOORS: dict[str, Callable[[Any, ds.DeltaTable], Any]] = {
    "to_spark": lambda spark, table: table.scan().to_spark(spark),
    "engine": lambda spark, table: table.scan(engine="spark").to_spark(spark),
    "listing=False": lambda spark, table: table.scan().to_spark(spark, listing=False),
    "deltaskip.delta": lambda spark, table: delta_table(spark, table).toDF(),
    "ds.sql": lambda spark, table: ds.sql(spark, f"SELECT * FROM delta.`{table.snapshot.root}`"),
}


def delta_table(spark: Any, table: ds.DeltaTable) -> Any:
    from deltaskip.delta.tables import DeltaTable

    return DeltaTable.forPath(spark, table.uri)


def size_of(frame: Any) -> int:
    """The size of a DataFrame for Spark's optimizer, in bytes."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_of_a_frame_is_that_of_its_files_and_columns(spark: Any, tmp_path: Path, kind: str) -> None:
    partitions, deleted = KINDS[kind]
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, v DOUBLE, s STRING, p INT", partitions, properties=VECTORS)
    for number in range(3):
        ids = np.arange(number * 2000, (number + 1) * 2000)
        strings = pa.array(ids).cast(pa.string())
        table.append(
            pa.table({"id": ids, "v": ids * 0.5, "s": strings, "p": pa.array(np.full(2000, number), pa.int32())})
        )
    if deleted is not None:
        table.delete(deleted)
    files = sum(table.scan().files()["size"].to_pylist())
    # Spark 4.1, EstimationUtils.getSizePerRow: eight bytes, and the default sizes of the columns.
    one_column = files * (8 + 8) / (8 + 8 + 8 + 20 + 4)

    def check(door: str) -> None:
        frame = DOORS[door](spark, table)
        found = size_of(frame), size_of(frame.select("id"))
        assert found == (pytest.approx(files, rel=0.1), pytest.approx(one_column, rel=0.1)), found
        assert frame.count() == table.scan().count()

    each(DOORS, check)


def test_the_size_of_a_frame_decides_its_join(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_files, "COMMIT_BYTES", 0)
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING")
    for number in range(3):
        ids = np.arange(number * 500, (number + 1) * 500)
        table.append(pa.table({"id": ids, "s": pa.array(ids).cast(pa.string())}))
    files = sum(table.scan().files()["size"].to_pylist())
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    for share, join in ((0.9, "SortMergeJoin"), (1.2, "BroadcastHashJoin")):
        session.conf.set("spark.sql.autoBroadcastJoinThreshold", int(files * share))
        frame = table.scan(engine="spark").to_spark(session)
        assert size_of(frame) == pytest.approx(files, rel=0.1)
        # Only the right side of such a join is broadcast; adaptive plans decide again when the files are known.
        joined = session.range(1600).join(frame, "id", "left")
        assert joined.where("s IS NULL").count() == 100
        joined.collect()
        assert f"{join} [id" in joined._jdf.queryExecution().executedPlan().toString().partition("Initial Plan")[0]

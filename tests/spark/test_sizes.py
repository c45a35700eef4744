"""What Spark's optimizer knows, which decides how it joins: sizes as of Spark's Parquet tables, rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.spark.planning import planned_files
from deltaskip.spark.session.session_settings import session_settings
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
        if door == "to_spark":
            # As of a table of Spark with its column _metadata.
            assert size_of(table.scan().to_spark(spark, metadata=True)) == pytest.approx(files, rel=0.1)
            assert size_of(table.scan("id < 0").to_spark(spark)) <= 1
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


def known(frame: Any) -> dict[str, tuple[Any, ...]]:
    """Numbers of distinct values and of NULLs, and bounds of each column that has any; the number of rows under "*"."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    stats, output = plan.stats(), plan.output()
    found: dict[str, tuple[Any, ...]] = {"*": (int(str(stats.rowCount().get())),)}
    for attribute in map(output.apply, range(output.size())):
        column = stats.attributeStats().get(attribute)
        if column.isDefined():
            of = column.get()
            each = (of.distinctCount(), of.nullCount(), of.min(), of.max())
            found[attribute.name()] = tuple(one.get() if one.isDefined() else None for one in each)
    return found


@pytest.mark.parametrize("kind", [([], {}), (["p"], {}), (["p"], {"delta.columnMapping.mode": "name"})], ids=str)
def test_rows_bounds_and_distinct_values_reach_an_optimizer_that_uses_them(
    spark: Any, tmp_path: Path, kind: tuple[list[str], dict[str, str]]
) -> None:
    partitions, properties = kind
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    ddl = (
        "id BIGINT, v DOUBLE, s STRING, p INT, d DATE, m DECIMAL(10, 2), some INT, b BINARY, k STRING, n TIMESTAMP_NTZ"
    )
    table = catalog.create_table("db.t", ddl, partitions, properties)
    for start in (0, 300, 600):
        ids = np.arange(start, start + 300)
        columns = {"id": ids, "v": ids * 0.5, "s": pa.array(ids).cast(pa.string()), "p": ids % 5, "d": ids % 50}
        columns |= {
            "m": [Decimal(int(each)) / 100 for each in ids],
            "some": [int(i) if i % 3 == 0 else None for i in ids],
        }
        kinds = {"p": pa.int32(), "d": pa.int32(), "m": pa.decimal128(10, 2), "some": pa.int32()}
        rows = pa.table({name: pa.array(values, kinds.get(name)) for name, values in columns.items()})
        rows = rows.set_column(4, "d", rows["d"].cast(pa.date32()))
        rows = rows.append_column("b", rows["s"].cast(pa.binary()))
        rows = rows.append_column("k", pa.array(ids % 6).cast(pa.string()))
        table.append(rows.append_column("n", rows["id"].cast(pa.timestamp("us"))))
    table.refresh()
    expected = {"*": (900,), "id": (900, 0, 0, 899), "p": (5, 0, 0, 4), "d": (50, 0, 0, 49)}
    expected |= {"m": (900, 0, Decimal(0), Decimal("8.99")), "some": (300, 600, 0, 897), "s": (None, 0, None, None)}
    # Of a string only the dictionaries of files have a number.
    expected |= {"k": (6, 0, None, None)}
    # Each has the rows of Spark, whose estimates are those after the comparison.
    estimated = {"id < 300": 300, "p = 1": 180, "d >= DATE'1970-01-26'": 450, "some IS NULL": 600, "n IS NOT NULL": 900}
    estimated |= {"k = '3'": 150}
    doors = {name: door for name, door in DOORS.items() if name not in ("engine", "ds.sql")} | {
        "cat.sql": lambda spark, _: catalog.sql(spark, "SELECT * FROM db.t"),
        "installed": lambda spark, _: spark.table("lake.db.t"),
    }
    with ds.install_catalog(spark, "lake", catalog), session_settings(spark, {"spark.sql.cbo.enabled": "true"}):

        def check(door: str) -> None:
            frame = doors[door](spark, table)
            # Spark computes others from the values of files.
            floats = {"v": (900, 0, 0.0, 449.5)} if door == "installed" else {}
            found = known(frame)
            found = {name: tuple(map(_plain, values)) for name, values in found.items()}
            assert found == expected | floats
            for where, rows in estimated.items():
                part = frame.where(where)
                assert known(part)["*"][0] == pytest.approx(rows, abs=10), where
                assert part.count() == rows, where

        each(doors, check)
    assert size_of(table.scan().to_spark(spark)) == pytest.approx(
        sum(table.scan().files()["size"].to_pylist()), rel=0.1
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | None) else Decimal(str(value))


def test_a_join_leaves_out_partitions_of_few_while_it_runs(spark: Any, tmp_path: Path) -> None:
    """The folders of a table with column mapping do not have its partition values."""
    facts = ds.DeltaTable.create(
        tmp_path / "f", "id INT, p INT", ["p"], properties={"delta.columnMapping.mode": "name"}
    )
    rows = pa.table({"id": pa.array(range(80), pa.int32()), "p": pa.array([i % 8 for i in range(80)], pa.int32())})
    facts.append(rows)
    names = ds.DeltaTable.create(tmp_path / "n", "p INT, name STRING")
    names.append([{"p": i, "name": f"n{i}"} for i in range(8)])

    def check(door: str) -> None:
        left, right = (DOORS[door](spark, each.refresh()) for each in (facts, names))
        joined = left.join(right.where("name = 'n3'"), "p")
        assert joined.count() == 10
        joined.collect()
        leaves = joined._jdf.queryExecution().executedPlan().collectLeaves()
        assert leaves.apply(0).metrics().apply("numOutputRows").value() == 10

    with session_settings(spark, {"spark.sql.adaptive.enabled": "false"}):
        each([door for door in DOORS if door != "engine"], check)

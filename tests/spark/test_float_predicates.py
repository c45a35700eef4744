"""Predicates on floating-point columns, whose bounds in footers say nothing of NaN and whose zeros have two signs.

Spark's Parquet reader skips row groups by them. The oracle is Spark over rows in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import deltaskip as ds
from tests.each import each
from tests.looped import looped

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

GROUPS: list[list[float | None]] = [
    [math.nan, 1.0, -1.0],
    [-0.0] * 3,
    [0.0] * 3,
    [math.nan] * 2,
    [-math.inf, -0.0, None],
    [math.inf, 5.0],
    [2.0, 2.5, None],
]
"""The values of each row group."""

CONDITIONS = (
    "{} > 5", "{} >= 3", "NOT {} < 6", "{} <> 2", "{} = 0", "{} = -0D", "{} >= 0", "{} <= -0D", "{} < 0", "{} <=> 0",
    "{} IN (0, 7, 8)", "{} NOT IN (1, 2)", "{} = double('NaN')", "{} > double('Infinity')", "{} BETWEEN 0 AND 1",
    "{} IS NULL",
)  # fmt: skip
COLUMNS = ("x", "f", "s.x", "s.i.f")
DDL = "id BIGINT, x DOUBLE, f FLOAT, s STRUCT<n: BIGINT, x: DOUBLE, i: STRUCT<f: FLOAT, n: BIGINT>>"


def rows() -> pa.Table:
    """The values in a column and in structs, some of which are NULL."""
    values = [value for group in GROUPS for value in group]
    inner = [None if i % 5 == 4 else {"f": v, "n": i} for i, v in enumerate(values)]
    outer = [None if i % 7 == 6 else {"n": i, "x": v, "i": inner[i]} for i, v in enumerate(values)]
    inner_type = pa.struct([("f", pa.float32()), ("n", pa.int64())])
    return pa.table(
        {
            "id": pa.array(range(len(values)), pa.int64()),
            "x": pa.array(values),
            "f": pa.array(values, pa.float32()),
            "s": pa.array(outer, pa.struct([("n", pa.int64()), ("x", pa.float64()), ("i", inner_type)])),
        }
    )


def write_row_groups(path: Path) -> None:
    with pq.ParquetWriter(path, rows().schema) as writer:
        start = 0
        for group in GROUPS:
            writer.write_table(rows().slice(start, len(group)))
            start += len(group)


@pytest.fixture(scope="module")
def expected(spark: Any) -> dict[str, list[int]]:
    """The ids that each condition selects."""
    frame = spark.createDataFrame([tuple(row.values()) for row in rows().to_pylist()], DDL)
    answers = frame.selectExpr("id", *(f"{text} AS `{at}`" for at, text in enumerate(conditions()))).collect()
    found = {text: [row["id"] for row in answers if row[str(at)]] for at, text in enumerate(conditions())}
    assert found["x > 5"] == [0, 9, 10, 14]
    return found


def conditions() -> list[str]:
    return [text.format(column) for text in CONDITIONS for column in COLUMNS]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ds.DeltaTable]:
    """A file of pyarrow, and files written here with column mapping by name and by id."""
    made = {}
    for mode in ("none", "name", "id"):
        root = tmp_path_factory.mktemp(mode) / "t"
        properties = {"delta.enableChangeDataFeed": "true"}
        if mode != "none":
            properties["delta.columnMapping.mode"] = mode
        table = ds.DeltaTable.create(root, DDL, properties=properties)
        if mode == "none":
            write_row_groups(root / "one.parquet")
            table.add_files("one.parquet")
        else:
            start = 0
            for group in GROUPS:
                table.append(rows().slice(start, len(group)))
                start += len(group)
        made[mode] = table
    return made


def _view(spark: Any, table: ds.DeltaTable) -> Any:
    ds.register_view(spark, "floats", table.uri)
    return spark.table("floats")


def _format(spark: Any, table: ds.DeltaTable) -> Any:
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    spark.dataSource.register(DeltaSkipDataSource)
    return spark.read.format("deltaskip").load(table.uri)


FRAMES: dict[str, Callable[[Any, ds.DeltaTable], Any]] = {
    "scan": lambda spark, table: table.scan().to_spark(spark),
    "files not listed": lambda spark, table: table.scan().to_spark(spark, listing=False),
    "metadata": lambda spark, table: table.scan().to_spark(spark, metadata=True),
    "planned on Spark": lambda spark, table: table.scan(engine="spark").to_spark(spark),
    "view": _view,
    "changes": lambda spark, table: table.changes(0).to_spark(spark),
}
if not pyspark.__version__.startswith("3."):
    FRAMES["format"] = _format


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="refused with Spark 3.5")
def test_an_installed_catalog_finds_nan_and_zeros(spark: Any, tmp_path: Path, expected: dict[str, list[int]]) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path / 'lake'}")
    catalog.create_namespace("db")
    with ds.install_catalog(spark, "lake", catalog):
        spark.sql(f"CREATE TABLE lake.db.floats ({DDL})")
    table = catalog.load_table("db.floats")
    write_row_groups(Path(table.uri.removeprefix("file://")) / "one.parquet")
    table.add_files("one.parquet")

    def check(text: str) -> None:
        found = spark.sql(f"SELECT id FROM lake.db.floats WHERE {text}").collect()
        assert sorted(row.id for row in found) == expected[text]

    with ds.install_catalog(spark, "lake", catalog):
        each(conditions()[::5], check)


@pytest.fixture(autouse=True)
def no_view_stays(spark: Any) -> Iterator[None]:
    yield
    spark.catalog.dropTempView("floats")


@pytest.mark.parametrize("door", FRAMES)
@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_a_filter_of_the_frame_finds_nan_and_both_zeros(
    spark: Any, tables: dict[str, ds.DeltaTable], expected: dict[str, list[int]], door: str, mode: str
) -> None:
    frame = FRAMES[door](spark, tables[mode]).selectExpr("id", "x", "f", "s")

    def check(text: str) -> None:
        assert sorted(row.id for row in frame.where(text).select("id").collect()) == expected[text]

    each(conditions() if (mode, door) == ("none", "scan") else conditions()[::11], check)


@pytest.mark.parametrize("engine", [None, "spark"])
@looped("text", conditions()[::7])
def test_a_predicate_of_the_scan_finds_nan_and_both_zeros(
    spark: Any, tables: dict[str, ds.DeltaTable], expected: dict[str, list[int]], engine: Any, text: str
) -> None:
    frame = tables["none"].scan(text, columns=["id"], engine=engine).to_spark(spark)
    assert sorted(row.id for row in frame.collect()) == expected[text]
    assert sorted(tables["none"].scan(text).to_arrow()["id"].to_pylist()) == expected[text]


def test_the_value_of_a_row_is_the_stored_one(spark: Any, tables: dict[str, ds.DeltaTable]) -> None:
    found = tables["none"].scan().to_spark(spark).orderBy("id").toArrow()
    assert str(found.to_pylist()) == str(rows().to_pylist())


def test_a_query_reads_only_the_fields_that_it_names(spark: Any, tables: dict[str, ds.DeltaTable]) -> None:
    frame = tables["none"].scan().to_spark(spark).where("s.n > 3").select("s.n")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<s:struct<n:bigint>>" in plan
    assert "GreaterThan(s.n,3)" in plan


@pytest.mark.parametrize("text", ["x > 5", "s.x = 0"])
def test_spark_jobs_find_nan_and_zeros(spark: Any, tmp_path: Path, expected: dict[str, list[int]], text: str) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", DDL)
    write_row_groups(tmp_path / "t" / "one.parquet")
    table.add_files("one.parquet")
    ids = set(range(rows().num_rows))
    table.update({"s.n": "-7"}, text, spark=spark)
    changed = {row["id"] for row in table.scan().to_arrow().to_pylist() if row["s"] is not None and row["s"]["n"] == -7}
    assert changed == set(expected[text])
    table.delete(text, spark=spark)
    assert set(table.scan().to_arrow()["id"].to_pylist()) == ids - set(expected[text])

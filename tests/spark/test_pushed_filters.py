"""Filters of a query that Spark passes to the data source: fewer files, and the rows that Spark alone finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyspark
import pytest

import deltaskip as ds
from deltaskip.sparkexpr.text.render import to_sql
from tests.extent import extent

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__.startswith(("3.", "4.0.")), reason="this Spark passes no filters"),
]

_FILES, _ROWS = 12, 20
_SCHEMA = (
    "id BIGINT, n INT, x DOUBLE, r FLOAT, m DECIMAL(9, 2), d DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, s STRING, "
    "b BINARY, ok BOOLEAN, st STRUCT<a: INT, `b.c`: STRING>, c CHAR(3), p STRING"
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """Twelve files in three partitions, whose values rise from file to file, with NULLs, NaN and -0.0."""
    table = ds.DeltaTable.create(tmp_path_factory.mktemp("pushed") / "t", _SCHEMA, ["p"])
    for file in range(_FILES):
        numbers = range(file * _ROWS, file * _ROWS + _ROWS)
        table.append(pa.Table.from_pylist([_row(i) for i in numbers], _arrow_schema()))
    return table


def _row(i: int) -> dict[str, Any]:
    time = datetime(2026, 3, 1) + timedelta(hours=i)
    row = {
        "n": i, "x": i / 4, "r": i / 10, "m": Decimal(i) / 4, "d": time.date(), "ts": time, "ntz": time,
        "s": f"s{i:04}é", "b": bytes([i]), "ok": i % 3 == 0, "st": {"a": i, "b.c": str(i)}, "c": "ab"[: i % 3],
    }  # fmt: skip
    if i % 17 == 0:
        row |= {"x": float("nan"), "r": -0.0}
    if i % 7 == 0:
        row |= dict.fromkeys(("n", "m", "d", "ts", "s", "ok", "st"))
    return {"id": i, **row, "p": (None, "a", "b")[i // _ROWS % 3]}


def _arrow_schema() -> pa.Schema:
    micros = pa.timestamp("us")
    types = {"id": pa.int64(), "n": pa.int32(), "x": pa.float64(), "r": pa.float32(), "m": pa.decimal128(9, 2)}
    types |= {"d": pa.date32(), "ts": pa.timestamp("us", "UTC"), "ntz": micros, "s": pa.string(), "b": pa.binary()}
    struct = pa.struct({"a": pa.int32(), "b.c": pa.string()})
    return pa.schema({**types, "ok": pa.bool_(), "st": struct, "c": pa.string(), "p": pa.string()})


@pytest.fixture
def source(spark: Any) -> Iterator[Any]:
    """The data source in a session that passes filters."""
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    spark.dataSource.register(DeltaSkipDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield spark.read.format("deltaskip")
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.fixture
def pushing(spark: Any, source: Any) -> Any:
    """A reader that takes filters in every version of Spark, which is right for DataFrames with one query."""
    from deltaskip.spark.source.batch_read import FilteringReader
    from deltaskip.spark.source.data_source import DeltaSkipDataSource
    from deltaskip.spark.source.workers import pushes_filters

    class Pushing(DeltaSkipDataSource):
        @classmethod
        def name(cls) -> str:
            return "deltaskip_pushing"

        def reader(self, schema: Any) -> Any:
            return FilteringReader(self._options, self._scan()) if pushes_filters() else super().reader(schema)

    spark.dataSource.register(Pushing)
    return spark.read.format("deltaskip_pushing").option("maxPartitionBytes", "1")


def _files_read(frame: Any) -> int:
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


def _random_predicates(count: int) -> list[str]:
    rng = random.Random(20260104)
    return [" AND ".join(_leaf(rng) for _ in range(rng.randint(1, 3))) for _ in range(count)]


def _leaf(rng: random.Random) -> str:
    i = rng.randrange(_FILES * _ROWS)
    time = datetime(2026, 3, 1) + timedelta(hours=i)
    values = {
        "id": str(i), "n": str(i), "x": rng.choice([f"{i / 4}D", "double('NaN')", "0.0D"]), "r": f"{i / 10}F",
        "m": f"{Decimal(i) / 4:.2f}BD", "d": f"DATE'{time.date()}'", "ts": f"TIMESTAMP'{time}'",
        "ntz": f"TIMESTAMP_NTZ'{time}'", "s": f"'s{i:04}é'", "b": f"X'{i:02X}'", "st.a": str(i),
        "st.`b.c`": f"'{i}'", "c": "'a'", "p": rng.choice(["'a'", "'b'"]),
    }  # fmt: skip
    column = rng.choice(list(values))
    value = values[column]
    found = [f"{column} {op} {value}" for op in ("=", "<=>", "<", "<=", ">", ">=")]
    found += [f"{column} IN ({value}, {rng.choice([value, 'NULL'])})", f"{column} IS NULL", f"{column} IS NOT NULL"]
    found += ["ok", "s LIKE 's00%'", "s LIKE '%4é'", "s LIKE '%01%'", f"id < {i} OR id > {i + 50}", "length(s) = 6"]
    leaf = rng.choice(found)
    return f"NOT ({leaf})" if rng.random() < 0.25 else leaf


@pytest.mark.long
def test_rows_are_those_without_push_down(spark: Any, pushing: Any, table: ds.DeltaTable) -> None:
    predicates = _random_predicates(extent(3, 12))
    every = table.scan().to_spark(spark).selectExpr("id", *predicates).collect()
    fewer = 0
    for number, predicate in enumerate(predicates, 1):
        frame = pushing.load(table.uri).where(predicate).select("id")
        found = sorted(row[0] for row in frame.collect())
        assert found == sorted(row[0] for row in every if row[number]), predicate
        fewer += _files_read(frame) < _FILES
    assert fewer >= extent(1, 6)


def test_filters_add_to_the_option_where_and_skip_files(pushing: Any, table: ds.DeltaTable) -> None:
    frame = pushing.option("where", "id < 100").option("columns", "id,d").load(table.uri)
    frame = frame.where(f"d >= DATE'{date(2026, 3, 4)}'")
    assert sorted(row[0] for row in frame.collect()) == [i for i in range(72, 100) if i % 7]
    assert _files_read(frame) == 2


def test_filters_on_the_change_data_feed(pushing: Any, tmp_path: Path) -> None:
    fed = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableChangeDataFeed": "true"})
    for first in (0, 10, 20):
        fed.append(pa.table({"id": pa.array(range(first, first + 10), pa.int64())}))
    feed = pushing.option("readChangeFeed", "true").option("startingVersion", "0").load(fed.uri)
    feed = feed.where("_commit_version >= 2 AND id > 15 AND _change_type = 'insert'")
    assert sorted(row["id"] for row in feed.collect()) == list(range(16, 30))
    assert _files_read(feed) == 2


def test_every_query_of_one_dataframe_gets_its_rows(source: Any, table: ds.DeltaTable) -> None:
    frame = source.load(table.uri)
    assert frame.where("id = 5").count() == 1
    assert frame.count() == _FILES * _ROWS
    assert frame.where("id < 20").union(frame.where("id >= 220")).count() == 40


def test_filters_are_taken_where_spark_keeps_the_reads_of_a_dataframe_apart(pushing: Any, table: ds.DeltaTable) -> None:
    from deltaskip.spark.source.workers import keeps_reads_apart

    frame = pushing.load(table.uri)
    assert frame.where("id = 5").count() == 1
    assert (frame.count() == _FILES * _ROWS) == keeps_reads_apart()


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("EqualTo", datetime(2026, 3, 29, 2, 30), "TIMESTAMP_NTZ'2026-03-29 02:30:00'"),
        ("EqualTo", [1, 2], "array(1, 2)"),
        ("EqualTo", {1, 2}, None),
        ("In", (1, None), "IN (1, NULL)"),
        ("AnotherFilter", 1, None),
    ],
)
def test_constants_keep_their_type_and_unknown_filters_say_none(kind: str, value: object, text: str | None) -> None:
    from deltaskip.spark.source.batch_read import predicate_of

    found = predicate_of(type(kind, (SimpleNamespace,), {})(attribute=("a.b",), value=value))
    assert (text is None) == (found is None)
    assert found is None or (text in to_sql(found) and "`a.b`" in to_sql(found))

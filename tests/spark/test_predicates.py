"""Predicates through Spark: parameters, the clock, sessions without ANSI mode, and user-defined functions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import BOOLEAN, DATE, LONG, STRING, TIMESTAMP
from tests.builder import TableBuilder, add, bounds
from tests.each import refuses
from tests.spark.session_zone import session_zone

pytestmark = pytest.mark.spark

DAYS = range(-40, 3)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """A file for each day, with two rows, from 40 days ago to the day after tomorrow."""
    folder = tmp_path_factory.mktemp("predicates") / "t"
    builder = TableBuilder(folder, {"id": LONG, "day": DATE, "ts": TIMESTAMP, "name": STRING, "flag": BOOLEAN})
    files = []
    for offset in DAYS:
        times = [datetime.now(UTC).replace(microsecond=0) + timedelta(days=offset, minutes=m) for m in (-30, 30)]
        rows = {
            "id": [offset, offset],
            "day": [time.date() for time in times],
            "ts": times,
            "name": ["it's", "-- x"],
            "flag": [True, False],
        }
        arrays = pa.table(rows, schema=pa.schema(
            [("id", pa.int64()), ("day", pa.date32()), ("ts", pa.timestamp("us", "UTC")), ("name", pa.string()),
             ("flag", pa.bool_())]
        ))  # fmt: skip
        path = f"day{offset}.parquet"
        pq.write_table(arrays, folder / path)
        texts = [time.isoformat(timespec="milliseconds").replace("+00:00", "Z") for time in times]
        statistics = bounds(
            2, id=(offset, offset), day=(str(rows["day"][0]), str(rows["day"][1])), ts=(texts[0], texts[1]),
            name=("-- x", "it's"),
        )  # fmt: skip
        files.append(add(path, statistics, size=(folder / path).stat().st_size))
    builder.commit(*files)
    return ds.DeltaTable(folder)


@pytest.fixture
def without_ansi(spark: Any) -> Iterator[Any]:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", before)


def ids(frame: Any) -> list[tuple[int, str]]:
    return sorted((row["id"], row["name"]) for row in frame.select("id", "name").collect())


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize(
    "where",
    [
        "ts >= now() - INTERVAL 7 DAYS",
        "ts > current_timestamp - INTERVAL '7 01:00:00' DAY TO SECOND AND ts < now()",
        "day >= current_date() - 7", "day = current_date()", "day = 'today' OR day = DATE'yesterday'",
        "datediff(current_date(), day) <= 7", "ts >= date_trunc('day', now())",
        "CAST(day AS STRING) >= date_format(dateadd(DAY, -7, now()), 'yyyy-MM-dd')",
        "unix_timestamp(ts) > unix_timestamp() - 86400", "day < add_months(current_date(), -1)",
        "NOT (day BETWEEN current_date() - INTERVAL 7 DAYS AND current_date())",
    ],
)  # fmt: skip
@pytest.mark.long(gate=4)
def test_rows_near_now_are_those_of_spark(spark: Any, table: ds.DeltaTable, where: str, zone: str) -> None:
    with session_zone(spark, zone):
        scan = table.scan(where, time_zone=zone)
        everything = table.scan().to_spark(spark)
        assert ids(scan.to_spark(spark)) == ids(everything.where(where)) != []
        if "NOT" not in where and "add_months" not in where:
            assert len(scan.files()) <= 14


def test_columns_of_spark_that_read_the_clock_prune(spark: Any, table: ds.DeltaTable) -> None:
    from pyspark.sql import functions as F

    for column in (F.col("day") >= F.date_sub(F.current_date(), 7), F.col("ts") > F.expr("now() - INTERVAL 7 DAYS")):
        scan = table.scan(column)
        assert len(scan.files()) <= 12
        assert ids(scan.to_spark(spark)) == ids(table.scan().to_spark(spark).where(column))
    moved = ds.col("ts") - timedelta(days=1) > datetime.now(UTC)
    assert [number for number, _ in ids(table.scan(moved).to_spark(spark))][-1] == DAYS[-1]


@pytest.mark.long(gate=2)
@pytest.mark.parametrize(
    ("where", "params"),
    [
        ("name = :name", {"name": "it's"}),
        ("name = ?", ["-- x"]),
        ("id IN (:ids) AND flag = :flag", {"ids": np.array([-1, 0, 1]), "flag": np.bool_(True)}),
        ("ts > :since - :span", {"since": datetime.now(UTC), "span": timedelta(days=2)}),
        ("ts > :since", {"since": datetime(2026, 1, 1)}),
        ("day = :day OR id < -:n", {"day": datetime.now(UTC).date(), "n": -39}),
        ("id = :x", {"x": None}),
        ("id + :x > 0", {"x": 0.5}),
    ],
)
@pytest.mark.filterwarnings("ignore::deltaskip.PredicateWarning")
def test_parameters_are_the_same_for_spark(spark: Any, table: ds.DeltaTable, where: str, params: Any) -> None:
    scan = table.scan(where, params=params)
    everything = table.scan().to_spark(spark)
    assert ids(scan.to_spark(spark)) == ids(everything.where(scan.where))


@pytest.mark.long(gate=4)
@pytest.mark.parametrize(
    "where",
    ["id = 'abc'", "day = 'junk'", "id = 1 / 0", "flag = 1", "id <=> '99999999999999999999'", "id = 5 OR flag = 0"],
)
def test_a_session_without_ansi_mode_decides(without_ansi: Any, table: ds.DeltaTable, where: str) -> None:
    everything = table.scan().to_spark(without_ansi)
    assert ids(table.scan(where).to_spark(without_ansi)) == ids(everything.where(where))
    refuses(ds.PredicateError, None, table.scan, where, ansi=True)
    without_ansi.conf.set("spark.sql.ansi.enabled", "true")
    refuses(ds.PredicateError, None, table.scan, where)


def test_a_function_of_the_session_is_not_warned_of(spark: Any, table: ds.DeltaTable) -> None:
    with pytest.warns(ds.PredicateWarning, match="my_very_own is not a built-in function"):
        table.scan("my_very_own(id) = 1")
    spark.udf.register("my_very_own", lambda value: value, "bigint")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [number for number, _ in ids(table.scan("my_very_own(id) = 1").to_spark(spark))] == [1, 1]


def test_a_session_or_a_column_of_a_frame_is_no_predicate(spark: Any, table: ds.DeltaTable) -> None:
    rows = pa.table({"id": [1]})
    for door, says in (
        (lambda: table.delete(spark, "id = 1"),
            r"where of DeltaTable\.delete is .* as in DeltaTable\.delete\(…, spark=spark"),
        (lambda: table.update({"id": "1"}, spark),
            r"where of DeltaTable\.update is .* the session is the argument spark"),
        (lambda: table.update(spark, {"id": "1"}),
            r"set of DeltaTable\.update is .* the session is the argument spark"),
        (lambda: table.merge(spark, rows, "TRUE"),
            r"source of DeltaTable\.merge is .* the session is the argument spark"),
        (lambda: table.merge(rows, spark), r"on of DeltaTable\.merge is .* the session is the argument spark"),
        (partial(table.merge, spark), r"source of DeltaTable\.merge is .* the session is the argument spark"),
        (lambda: table.transaction().delete(spark), "where of TableTransaction.delete is .* is the argument spark"),
        (lambda: table.overwrite(rows, where=spark), r"DeltaTable\.overwrite takes none: leave it out\."),
        (lambda: table.append(spark), r"data of DeltaTable\.append is .* takes none: leave it out\."),
        (lambda: table.scan(spark), "leave it out, or call to_spark"),
        (lambda: table.scan(spark, "id = 1"), "leave it out, or call to_spark"),
        (lambda: ds.DeltaTable(spark, table.uri), "table of DeltaTable is a SparkSession, and DeltaTable takes none"),
    ):  # fmt: skip
        refuses(ds.InvalidArgumentType, says, door)
    if hasattr(spark, "_jsparkSession"):
        with pytest.raises(ds.PredicateError, match=r"write F\.col\('id'\) for df\['id'\]"):
            table.delete(spark.range(3)["id"] == 1)

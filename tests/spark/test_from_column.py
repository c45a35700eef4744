"""Columns of pyspark as nodes, and nodes as columns."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from deltaskip.spark.columns.from_column import column_to_node
from deltaskip.spark.columns.to_column import literal, to_column
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Call, Cast, Column, Literal, Opaque, walk
from tests.cases import cases

pytestmark = pytest.mark.spark

SAME_AS_SQL = cases(__file__, "columns_as_sql.txt")


def evaluated(text: str) -> Any:
    from pyspark.sql import functions as F

    return eval(text, {"F": F})


@pytest.mark.parametrize(("text", "sql"), SAME_AS_SQL)
def test_a_column_means_what_its_sql_means(spark: Any, text: str, sql: str) -> None:
    node = column_to_node(evaluated(text))
    expected = parse_sql(sql)
    if "cast(1.5" in sql:
        # A Python float is a double; the number in SQL a decimal.
        assert isinstance(expected.right, Cast) and node.right == Literal(1.5, t.DOUBLE) and node.left == expected.left  # type: ignore[attr-defined]
    else:
        assert node == expected


def test_dates_times_decimals_and_bytes_keep_their_values(spark: Any) -> None:
    instant = datetime.datetime(2024, 3, 10, 2, 30, 0, 123456, tzinfo=datetime.UTC)
    for value, expected in [
        (datetime.date(1500, 1, 1), Literal((datetime.date(1500, 1, 1) - datetime.date(1970, 1, 1)).days, t.DATE)),
        (instant, Literal(int(instant.timestamp()) * 1_000_000 + 123456, t.TIMESTAMP)),
        (Decimal("1.50"), Literal(Decimal("1.50"), t.DecimalType(3, 2))),
        (b"\x00\xff", Literal(b"\x00\xff", t.BINARY)),
        (None, Literal(None, t.VOID)),
        (True, Literal(True, parse_sql("true").type)),  # type: ignore[attr-defined]
    ]:
        from pyspark.sql import functions as F

        assert column_to_node(F.lit(value)) == expected


def test_times_of_python_before_1900_are_those_that_spark_takes_them_for(spark: Any) -> None:
    """py4j hands over an instant, of which Spark keeps the day and time in the Julian calendar."""
    from pyspark.sql import functions as F

    zone = datetime.timezone(datetime.timedelta(hours=5))
    for year, month, day in (
        (1, 1, 1),
        (1500, 1, 1),
        (1582, 10, 4),
        (1582, 10, 10),
        (1582, 10, 15),
        (1883, 11, 18),
        (1950, 7, 1),
    ):
        for tzinfo in (None, datetime.UTC, zone):
            literal = F.lit(datetime.datetime(year, month, day, 12, 34, 56, 789, tzinfo))
            [[micros]] = spark.range(1).select(F.unix_micros(literal)).collect()
            assert column_to_node(literal) == Literal(micros, t.TIMESTAMP), (year, month, day, tzinfo)
            [node] = [part for part in walk(column_to_node(F.col("ts") > literal)) if isinstance(part, Literal)]
            assert node.value == micros


UNKNOWN = [
    ("F.rand() > F.col('a')", [("a",)]),
    ("F.col('a') > F.monotonically_increasing_id()", [("a",)]),
    ("F.exists('arr', lambda x: x > F.col('a'))", None),
    ("F.udf(lambda x: x, 'int')('a') == 1", None),
    ("F.row_number().over(__import__('pyspark').sql.Window.orderBy('a')) == 1", None),
]


@pytest.mark.parametrize(("text", "columns"), UNKNOWN)
def test_what_cannot_be_known_becomes_opaque(spark: Any, text: str, columns: list[tuple[str, ...]] | None) -> None:
    from deltaskip.sparkexpr.nodes import columns_of, walk

    node = column_to_node(evaluated(text))
    assert any(isinstance(part, Opaque) for part in walk(node))
    if columns is not None:
        assert list(columns_of(node)) == columns


def test_a_column_of_another_frame_is_not_guessed_at(spark: Any) -> None:
    frame = spark.createDataFrame([(1,)], "id int")
    node = column_to_node(frame["id"] > 5)
    assert isinstance(node.left, Column | Opaque)  # type: ignore[attr-defined]


ROUND = [sql for _, sql in SAME_AS_SQL if "collate" not in sql]


@pytest.mark.parametrize("sql", ROUND)
def test_nodes_come_back_from_their_columns(spark: Any, sql: str) -> None:
    node = parse_sql(sql)
    assert _without_casts(column_to_node(to_column(node))) == _without_casts(node)


def _without_casts(node: Any) -> Any:
    """Literals of other types than Spark's own travel as casts of their carriers."""
    from deltaskip.sparkexpr.nodes import transform

    match node:
        case Cast(child, _, _):
            return _without_casts(child)
        case Literal(value, _):
            return Literal(str(value), t.STRING)
        case _:
            return transform(node, _without_casts)


LITERALS: list[tuple[object, t.DataType, Any]] = [
    (None, t.LONG, None),
    (5, t.BYTE, 5),
    (-(2**63), t.LONG, -(2**63)),
    (0.5, t.DOUBLE, 0.5),
    (Decimal("1.50"), t.DecimalType(5, 2), Decimal("1.50")),
    ("it's", t.STRING, "it's"),
    (b"\x00\xff", t.BINARY, bytearray(b"\x00\xff")),
    (-171_497, t.DATE, datetime.date(1500, 6, 17)),
    (1_500_000, t.TIMESTAMP_NTZ, datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)),
    (None, t.VOID, None),
    (7, t.INTEGER, 7),
]


@pytest.mark.parametrize(("value", "kind", "expected"), LITERALS)
def test_literals_have_their_value_and_type(spark: Any, value: object, kind: t.DataType, expected: Any) -> None:
    frame = spark.range(1).select(literal(value, kind).alias("x"))
    assert frame.collect()[0][0] == expected


def test_opaque_sql_goes_to_spark_as_it_is(spark: Any) -> None:
    frame = spark.range(10).where(to_column(Opaque("id % 2 = 1 and id > 5")))
    assert sorted(row[0] for row in frame.collect()) == [7, 9]
    assert isinstance(column_to_node(to_column(Call("bit_count", (Column(("id",)),)))), Call)

"""Nodes as Columns of Spark: Spark accepts every function of the table where it accepts its SQL text."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

from deltaskip.spark.columns.to_column import to_column
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.functions import FUNCTIONS, REPLACED
from deltaskip.sparkexpr.functions.shapes import SHAPES
from deltaskip.sparkexpr.types.data_types import BINARY, DATE, DOUBLE, INTEGER, STRING, TIMESTAMP
from deltaskip.sparkexpr.types.json import simple_string
from tests.sparkexpr.edges import Case, bound, calls

pytestmark = pytest.mark.spark

# SQL text is rewritten where it is parsed, or has no call of this name.
_WITHOUT_TEXT = frozenset(("cast(variant)", "try_cast(variant)", "as_variant()", "padded()"))


def test_spark_accepts_the_column_of_every_function(spark: Any) -> None:
    compared: set[str] = set()
    wrong: list[str] = []
    for type_ in (INTEGER, STRING, DATE, TIMESTAMP, DOUBLE, BINARY):
        frame = spark.sql(f"SELECT CAST(NULL AS {simple_string(type_)}) AS c")
        of_type: list[tuple[str, str]] = []
        for name in (*FUNCTIONS, *REPLACED):
            texts = [text.replace("{c}", "c") for text in calls(name)]
            known = [text for text in texts if bound(Case(type_, text)) is not None]
            if name not in compared and known:
                of_type.append((name, known[len(known) // 2]))
        wrong += refused(frame, of_type, compared)
    assert not wrong, "\n".join(wrong)
    # Spark has functions of shapes by a setting only, or not at all.
    assert set(FUNCTIONS) - compared - set(SHAPES) <= _WITHOUT_TEXT


def refused(frame: Any, wanted: list[tuple[str, str]], compared: set[str]) -> list[str]:
    """The calls whose Column Spark refuses, and not their text."""
    wrong = []
    for name, sql in wanted:
        try:
            frame.selectExpr(f"{sql} AS r")
        except PySparkException:
            continue
        compared.add(name)
        try:
            frame.select(to_column(parse_sql(sql)).alias("r"))
        except PySparkException as error:
            wrong.append(f"{sql}: {error}")
    return wrong

"""The stored answers to the grid of edges against Spark itself; `python -m tests.expr.spark_edges 4.1` renews them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.expr.edges import VERSIONS, answers, cases
from tests.expr.spark_edges import collect, version_of
from tests.extent import extent

pytestmark = pytest.mark.spark

EVERY = 25
"""One case in so many is evaluated again."""


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A small session; whatever session was there before is left as it was."""
    sql = pytest.importorskip("pyspark.sql")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    existing = sql.SparkSession.getActiveSession()
    builder = sql.SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    before = {name: session.conf.get(name) for name in ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")}
    yield session
    for name, value in before.items():
        session.conf.set(name, value)
    if existing is None:
        session.stop()


@pytest.mark.parametrize("part", range(extent(1, 3)))
def test_spark_still_has_the_stored_answers(spark: Any, part: int) -> None:
    version = version_of(spark)
    if version not in VERSIONS:
        pytest.skip(f"no stored answers of Spark {version}")
    some = cases()[part * 7 :: EVERY * extent(60, 3)]
    found, stored = collect(spark, some), answers(version)
    assert found == {case.key: stored[case.key] for case in some if case.key in stored}

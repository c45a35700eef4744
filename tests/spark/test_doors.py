"""Tables of the corpus through every way in: the rows of the reference.

The gate opens each table through one of them, the whole run through all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyspark
import pytest

import deltaskip as ds
from tests import corpus
from tests.corpus_digests import expected_rows
from tests.extent import WHOLE, some
from tests.looped import looped
from tests.spark.test_corpus_rows import rows_and_digest

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

TABLES = corpus.params_with_rows(1)


@pytest.fixture(autouse=True)
def no_view_stays(spark: Any) -> Iterator[None]:
    yield
    spark.catalog.dropTempView("of_the_corpus")


def through_a_view(spark: Any, table: ds.DeltaTable) -> Any:
    ds.register_view(spark, "of_the_corpus", table.uri)
    return spark.table("of_the_corpus")


def through_sql(spark: Any, table: ds.DeltaTable) -> Any:
    ds.register_view(spark, "of_the_corpus", table.uri)
    return ds.sql(spark, "SELECT * FROM of_the_corpus")


def through_the_data_source(spark: Any, table: ds.DeltaTable) -> Any:
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    spark.dataSource.register(DeltaSkipDataSource)
    return spark.read.format("deltaskip").option("versionAsOf", table.version).load(table.uri)


DOORS: dict[str, Callable[[Any, ds.DeltaTable], Any]] = {
    "view": through_a_view,
    "SQL": through_sql,
    "planned on Spark": lambda spark, table: table.scan(engine="spark").to_spark(spark),
    "files not listed": lambda spark, table: table.scan().to_spark(spark, listing=False),
    "names of delta-spark": lambda spark, table: _names().DeltaTable.forPath(spark, table.uri).toDF(),
}
if not pyspark.__version__.startswith("3."):
    DOORS["data source"] = through_the_data_source


def _names() -> Any:
    import deltaskip.delta

    return deltaskip.delta


def opened() -> list[Any]:
    """Tables and doors, so that each door has as many tables."""
    if not corpus.present():
        return corpus.absent(2)
    tables = [table for [table] in (param.values for param in TABLES)]
    names = list(DOORS)
    if WHOLE:
        return [(table, door) for table in tables for door in names]
    return [(table, names[at % len(names)]) for at, table in enumerate(some(tables, len(names)))]


@looped("table, door", opened(), lambda pair: f"{pair[0].name} through {pair[1]}")
def test_rows_are_those_of_the_reference(spark: Any, table: corpus.CorpusTable, door: str) -> None:
    [version, *_] = table.versions
    opened = ds.DeltaTable(table.path)
    if opened.version != version["version"]:
        pytest.skip("the corpus has rows of older versions only")
    [expected] = expected_rows(version)
    frame = DOORS[door](spark, opened)
    assert frame.columns == [name for name, _ in version["columns"]]
    assert rows_and_digest(frame, opened.schema) == (expected["count"], expected["digest"])

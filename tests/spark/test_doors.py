"""Tables of the corpus through every way in: the rows of the reference.

The gate opens each table through one of them, the whole run through all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest

import deltaskip as ds
from tests import corpus
from tests.contracts.doors import connect_session
from tests.corpus_digests import expected_rows
from tests.each import each
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


_WORDS = [("a", "a"), ("A", "A"), ("á", "á"), ("a ", "a "), ("b", "b"), ("", None), (None, None)]
_LONG_AGO, _LATER = datetime(1937, 6, 1, 0, 0, 0, 1), datetime(2500, 7, 1, 1)

# The type of a partition column, and its values with the text that Spark makes of each. Delta stores '' as NULL.
PARTITION_TYPES: dict[str, list[tuple[Any, str | None]]] = {
    "STRING": [*_WORDS, ("x=%/{y}*", "x=%/{y}*")],
    "STRING COLLATE UTF8_LCASE": _WORDS,
    "STRING COLLATE UNICODE_CI": _WORDS,
    "STRING COLLATE UNICODE_CI_AI": [("a", "a"), ("A", "A"), ("b", "b")],
    "STRING COLLATE UNICODE_RTRIM": [("a", "a"), ("b", "b"), ("c", "c")],
    "VARCHAR(4)": [("a", "a"), ("bc", "bc")],
    "CHAR(4)": [("a", "a   "), ("bcde", "bcde")],
    "BOOLEAN": [(True, "true"), (False, "false"), (None, None)],
    "TINYINT": [(-128, "-128"), (127, "127")],
    "SMALLINT": [(-5, "-5"), (7, "7")],
    "INT": [(-5, "-5"), (0, "0"), (None, None)],
    "BIGINT": [(-(2**63), str(-(2**63))), (2**63 - 1, str(2**63 - 1))],
    "FLOAT": [(-0.0, "-0.0"), (0.5, "0.5"), (float("nan"), "NaN"), (float("-inf"), "-Infinity")],
    "DOUBLE": [(-0.0, "-0.0"), (0.1, "0.1"), (float("nan"), "NaN"), (float("inf"), "Infinity")],
    "DECIMAL(38, 18)": [(Decimal("-1.5"), "-1.500000000000000000"), (None, None)],
    "BINARY": [(b"ab", "ab"), (b"c", "c")],
    "DATE": [(date(1, 1, 1), "0001-01-01"), (date(9999, 12, 31), "9999-12-31"), (None, None)],
    "TIMESTAMP": [(_LONG_AGO, "1937-06-01 00:00:00.000001"), (_LATER, "2500-07-01 01:00:00")],
    "TIMESTAMP_NTZ": [(_LONG_AGO, "1937-06-01 00:00:00.000001"), (_LATER, "2500-07-01 01:00:00")],
}


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 has no collations")
def test_every_door_reads_every_type_of_partition_column(spark: Any, tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    tables, expected, same = {}, set(), set()
    # The gate reads those of text, and two of the others.
    types = [each for each in PARTITION_TYPES if WHOLE or "STRING" in each or each in ("DOUBLE", "TIMESTAMP_NTZ")]
    for number, type_ in enumerate(types):
        values = PARTITION_TYPES[type_]
        table = catalog.create_table(f"db.t{number}", f"id INT, c {type_}", ["c"])
        arrow = table.scan().to_arrow().schema.field("c").type
        table.append(pa.table({"id": range(len(values)), "c": pa.array([value for value, _ in values], arrow)}))
        tables[f"db.t{number}"] = table.refresh()
        expected |= {(number, row, text) for row, (_, text) in enumerate(values)}
        if "COLLATE" in type_:
            equal = "aAá" if type_.endswith("_AI") else "aA" if type_[-2:] in ("CI", "SE") else "a"
            same |= {(number, row) for row, (text, _) in enumerate(values) if text and text in equal}

    def check(door: tuple[str, Callable[[str, Any], Any]]) -> None:
        frames = [(number, door[1](name, table)) for number, (name, table) in enumerate(tables.items())]
        texts = [frame.selectExpr(f"{number} AS t", "id", "CAST(c AS STRING) AS c") for number, frame in frames]
        assert set(map(tuple, reduce(lambda one, other: one.union(other), texts).collect())) == expected
        equal = [frame.where("c = 'a'").selectExpr(f"{number} AS t", "id") for number, frame in frames[1:5]]
        assert set(map(tuple, reduce(lambda one, other: one.union(other), equal).collect())) == same

    def view(session: Any) -> Callable[[str, Any], Any]:
        def read(name: str, table: Any) -> Any:
            return session.table(ds.register_view(session, name.replace(".", "_"), table).name)

        return read

    doors = {
        each: (lambda name, table, read=read: read(spark, table)) for each, read in DOORS.items() if each != "view"
    }
    doors |= {
        "to_spark": lambda name, table: table.scan().to_spark(spark),
        "view": view(spark),
        "catalog": lambda name, table: catalog.sql(spark, f"SELECT * FROM {name}"),
        "installed": lambda name, table: spark.table(f"lake.{name}"),
    }
    with ds.install_catalog(spark, "lake", catalog):
        each(doors.items(), check, lambda door: door[0])
    connect = connect_session(spark)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        doors = {
            "to_spark": lambda name, table: table.scan().to_spark(connect),
            "view": view(connect),
            "catalog": lambda name, table: catalog.sql(connect, f"SELECT * FROM {name}"),
        }
        each(doors.items(), check, lambda door: f"{door[0]}, Connect")
    for name in tables:
        spark.catalog.dropTempView(name.replace(".", "_"))

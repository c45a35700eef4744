"""The first rows of an order, and totals, against Spark's own ORDER BY, LIMIT and aggregates over all rows."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.extent import extent, seed
from tests.reading.random_rows import columns_of, keys_at, table_with_files
from tests.reading.test_aggregate import random_aggregates
from tests.skipping.random_predicates import random_predicate

pytestmark = pytest.mark.spark

TABLES = extent(5, 60)
QUESTIONS = 5
WORDS = ["a", "A", "ä", "Ä", "b", "B", "ss", "ß", "z", "Z", "", "aa", "Aa", "éa", "Éb", None]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def values(rows: pa.Table, names: list[str]) -> list[tuple[str, ...]]:
    found = columns_of(rows)
    return keys_at([found[name] for name in names], list(range(len(rows))))


def questions(rng: random.Random, folder: Path) -> Any:
    """Random tables with random predicates, and the rows of each as Spark filters them."""
    for number in range(TABLES):
        made, table = table_with_files(rng, folder / str(number))
        for _ in range(QUESTIONS):
            where = random_predicate(rng, made, depth=1) if rng.random() < 0.5 else None
            try:
                scan = table.scan(where)
                names = sorted(columns_of(scan.to_arrow()))
            except (ds.UnsupportedFeature, ds.PredicateError):
                continue
            yield made, scan, names


def test_the_first_rows_are_those_of_spark(spark: Any, tmp_path: Path) -> None:
    rng, compared = random.Random(seed()), 0
    for _, scan, every in questions(rng, tmp_path):
        names = rng.sample(every, k=min(len(every), rng.choice([1, 1, 2])))
        terms = [f"{name} {rng.choice(['ASC', 'DESC'])} NULLS {rng.choice(['FIRST', 'LAST'])}" for name in names]
        number = rng.choice([1, 2, 3, 5])
        frame = scan.to_spark(spark)
        frame.createOrReplaceTempView("all_rows")
        wanted = spark.sql(f"SELECT * FROM all_rows ORDER BY {', '.join(terms)} LIMIT {number}").toArrow()
        top = scan.top(number, by=", ".join(terms))
        assert values(top.to_arrow(), names) == values(wanted, names), (scan, terms, number)
        assert values(top.to_spark(spark).toArrow(), names) == values(wanted, names), (scan, terms, number)
        compared += 1
    assert compared > TABLES


def test_totals_are_those_of_spark(spark: Any, tmp_path: Path) -> None:
    rng, compared = random.Random(seed()), 0
    for made, scan, every in questions(rng, tmp_path):
        by = list(made.partition_columns) if rng.random() < 0.6 else []
        aggregates = random_aggregates(rng, every)
        asked = ", ".join([*by, *(f"{text} AS {name}" for name, text in aggregates.items())])
        groups = f" GROUP BY {', '.join(by)}" if by else ""
        scan.to_spark(spark).createOrReplaceTempView("all_rows")
        wanted = spark.sql(f"SELECT {asked} FROM all_rows{groups}").toArrow()
        names = [*by, *aggregates]
        found = scan.aggregate(by, **aggregates)
        assert found.column_names == wanted.column_names
        assert sorted(values(found, names)) == sorted(values(wanted, names)), (scan, asked)
        compared += 1
    assert compared > TABLES


@pytest.mark.parametrize("collation", ["UNICODE_CI", "UTF8_LCASE", "de"])
def test_strings_are_sorted_by_their_collation(spark: Any, tmp_path: Path, collation: str) -> None:
    rng = random.Random(3)
    table = ds.DeltaTable.create(tmp_path / "t", f"id INT, s STRING COLLATE {collation}")
    for number in range(5):
        words = [rng.choice(WORDS) for _ in range(6)]
        table.append(pa.table({"id": pa.array(range(number * 6, number * 6 + 6), pa.int32()), "s": words}))
    table = ds.DeltaTable(tmp_path / "t")
    for terms in ("s", "s DESC", "s NULLS LAST, id", "s DESC NULLS FIRST, id DESC", "lower(s), id"):
        for where in (None, "s > 'a'", "s IS NOT NULL AND id < 20"):
            scan = table.scan(where)
            scan.to_spark(spark).createOrReplaceTempView("all_rows")
            wanted = spark.sql(f"SELECT * FROM all_rows ORDER BY {terms} LIMIT 7").toArrow()
            top = scan.top(7, by=terms)
            doors = [top.to_spark(spark).toArrow()]
            if terms.startswith("lower"):
                with pytest.raises(ds.UnsupportedFeature, match="under a collation is left to Spark"):
                    top.to_arrow()
            else:
                doors.append(top.to_arrow())
            for found in doors:
                # Rows that are equal under the collation come in any order without the second term.
                exact = ["id"] if "id" in terms else []
                assert values(found, exact) == values(wanted, exact), (terms, where)
                assert [keys_of(each) for each in found["s"].to_pylist()] == [
                    keys_of(each) for each in wanted["s"].to_pylist()
                ] or collation == "de"


def keys_of(text: str | None) -> str | None:
    return None if text is None else text.lower().replace("ß", "ss")


def test_columns_of_pyspark_say_the_order(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    table = ds.DeltaTable.create(tmp_path / "t", "id INT, x INT")
    for number in range(4):
        ids = pa.array(range(number * 5, number * 5 + 5), pa.int32())
        table.append(pa.table({"id": ids, "x": pa.array([None, 1, 2, 3, number], pa.int32())}))
    scan = ds.DeltaTable(tmp_path / "t").scan()
    frame = scan.to_spark(spark)
    for by in (
        F.desc("id"),
        F.col("id"),
        [F.col("x").desc_nulls_first(), F.asc("id")],
        [F.asc_nulls_last("x"), F.desc("id")],
        (F.col("x") * -1).desc(),
        F.expr("abs(x - 2)").asc_nulls_first(),
    ):
        columns = by if isinstance(by, list) else [by]
        wanted = frame.orderBy(*columns).limit(4).toArrow()
        names = ["id"] if len(columns) == 2 or "id" in str(by) else ["x"]
        for found in (scan.top(4, by).to_arrow(), scan.top(4, by).to_spark(spark).toArrow()):
            shown = [abs(x - 2) if x is not None else None for x in found["x"].to_pylist()]
            spark_s = [abs(x - 2) if x is not None else None for x in wanted["x"].to_pylist()]
            assert shown == spark_s, by
            assert "abs" in str(by) or values(found, names) == values(wanted, names), by


def test_queries_read_only_files_with_first_rows(spark: Any, tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.sql(None, "CREATE TABLE t (id INT, x INT, s STRING)")
    for number in range(6):
        ids = pa.array(range(number * 5, number * 5 + 5), pa.int32())
        catalog.load_table("t").append(pa.table({"id": ids, "x": pa.array([number] * 5, pa.int32()), "s": ["a"] * 5}))
    path = catalog.load_table("t").uri
    ds.register_view(spark, "big", path, where="id < 27")
    for run, name in ((lambda text: catalog.sql(spark, text), "t"), (lambda text: ds.sql(spark, text), "big")):
        every = spark.createDataFrame(catalog.load_table("t").scan("id < 27" if name == "big" else None).to_arrow())
        every.createOrReplaceTempView("all_rows")
        for query in (
            "SELECT id FROM {} ORDER BY id DESC LIMIT 3",
            "SELECT id, x FROM {} AS a WHERE a.x < 4 AND s = 'a' ORDER BY a.x DESC, id LIMIT 3",
            "SELECT * FROM {} ORDER BY id DESC LIMIT 0",
            "SELECT x AS id FROM {} ORDER BY id DESC LIMIT 2",
            "SELECT x FROM {} ORDER BY id % 7, id LIMIT 2",
        ):
            frame = run(query.format(name))
            assert frame.collect() == spark.sql(query.format("all_rows")).collect(), query
        frame = run(f"SELECT id FROM {name} ORDER BY id DESC LIMIT 3")
        assert len(frame.inputFiles()) <= 2

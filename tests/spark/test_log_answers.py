"""The first rows of an order, and totals, against Spark's own ORDER BY, LIMIT and aggregates over all rows."""

from __future__ import annotations

import itertools
import random
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.reading import arrow_rows
from deltaskip.sparkexpr.types import DataType, StructType, arrow_type
from deltaskip.sparkexpr.values.arrow_values import typed_array
from tests.extent import extent, seed
from tests.reading.random_rows import columns_of, keys_at, table_with_files
from tests.reading.test_aggregate import random_aggregates
from tests.skipping.random_predicates import random_predicate
from tests.skipping.random_tables import TYPES

pytestmark = pytest.mark.spark

PAIRS = extent(600, 100_000)
PAIRS_AT_ONCE = 5_000
WORDS = ["a", "A", "ä", "Ä", "b", "B", "ss", "ß", "z", "Z", "", "aa", "Aa", "éa", "Éb", None]
ORDERS = [f"{way}_nulls_{place}" for way in ("asc", "desc") for place in ("first", "last")]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def values(rows: pa.Table, names: list[str]) -> list[tuple[str, ...]]:
    found = columns_of(rows)
    return keys_at([found[name] for name in names], list(range(len(rows))))


class Asked:
    """Rows of many questions as one table of Spark: their numbers, and a column for each type of their values."""

    def __init__(self) -> None:
        self.numbers: list[tuple[int, ...]] = []
        self.cells: dict[tuple[int, int], dict[int, Any]] = {}

    def add(self, numbers: tuple[int, ...], terms: list[tuple[DataType, Any]]) -> None:
        for place, (type_, value) in enumerate(terms):
            self.cells.setdefault((place, TYPES.index(type_)), {})[len(self.numbers)] = value
        self.numbers.append(numbers)

    def frame(self, spark: Any, names: list[str]) -> tuple[Any, list[str]]:
        """The rows, with names of the numbers, and the names of the columns of values."""
        columns = {name: pa.array(column) for name, column in zip(names, zip(*self.numbers, strict=True), strict=True)}
        for (place, type_), cells in sorted(self.cells.items()):
            every = [cells.get(row) for row in range(len(self.numbers))]
            columns[f"v{place}_{type_}"] = typed_array(every, arrow_type(TYPES[type_]))
        return spark.createDataFrame(pa.table(columns)).coalesce(1), list(columns)[len(names) :]


def questions(rng: random.Random, folder: Path, count: int) -> Iterator[Any]:
    """Random tables with random predicates: table, scan, values and types by column. Each has several questions."""
    for number in range(count):
        made, table = table_with_files(rng, folder / str(number))
        types = {}
        for field in made.schema.fields:
            inside = field.type.fields if isinstance(field.type, StructType) else ()
            types |= {f"{field.name}.`{each.name}`": each.type for each in inside} or {field.name: field.type}
        for _ in range(6):
            where = random_predicate(rng, made, depth=1) if rng.random() < 0.5 else None
            try:
                scan = table.scan(where)
                columns = columns_of(scan.to_arrow())
            except (ds.UnsupportedFeature, ds.PredicateError):
                continue
            yield from [(made, scan, columns, types)] * 4
        shutil.rmtree(folder / str(number))


def check_first_rows(spark: Any, rng: random.Random, folder: Path, count: int) -> int:
    """Random orders of random tables, which Spark sorts together; how many were compared."""
    asked, found = Asked(), []
    for _, scan, columns, types in questions(rng, folder, count):
        names = rng.sample(sorted(columns), k=min(len(columns), rng.choice([1, 1, 2])))
        orders = [rng.randrange(4) for _ in names]
        texts = [f"{name} {ORDERS[order].replace('_', ' ')}" for name, order in zip(names, orders, strict=True)]
        number, keys = rng.choice([1, 2, 3, 5, 40]), [columns[name] for name in names]
        got = values(scan.top(number, by=", ".join(texts)).to_arrow(), names)
        for place in range(len(keys[0])):
            terms = [(types[name], column[place]) for name, column in zip(names, keys, strict=True)]
            asked.add((len(found), place, orders[0], orders[-1]), terms)
        found.append((got, keys, number, f"{scan} {texts} {number}"))
    frame, columns = asked.frame(spark, ["pair", "place", "first", "second"])
    sorted_by_spark: dict[int, list[int]] = {}
    for first, second in itertools.product(range(4), repeat=2):
        order = [getattr(frame[name], ORDERS[second if name[1] == "1" else first])() for name in columns]
        chosen = frame.where((frame["first"] == first) & (frame["second"] == second))
        rows = chosen.sortWithinPartitions("pair", *order).select("pair", "place").toArrow()
        for pair, place in zip(rows["pair"].to_pylist(), rows["place"].to_pylist(), strict=True):
            sorted_by_spark.setdefault(pair, []).append(place)
    for pair, (got, keys, number, shown) in enumerate(found):
        assert got == keys_at(keys, sorted_by_spark.get(pair, [])[:number]), shown
    return len(found)


def check_totals(spark: Any, rng: random.Random, folder: Path, count: int) -> int:
    """Random totals of random tables, which Spark computes together; how many were compared."""
    from pyspark.sql import functions as F

    asked, found, keys = Asked(), [], {}
    for made, scan, columns, types in questions(rng, folder, count):
        by = list(made.partition_columns) if rng.random() < 0.6 else []
        aggregates = random_aggregates(rng, sorted(columns))
        answer = scan.aggregate(by, **aggregates)
        places, of_answer = list(range(len(next(iter(columns.values()))))), columns_of(answer)
        groups = keys_at([columns[name] for name in by], places) if by else [()] * len(places)
        for number, text in enumerate(aggregates.values()):
            name = next((each for each in columns if each in text), next(iter(columns)))
            for place in places:
                group = keys.setdefault(groups[place], len(keys))
                asked.add((len(found), number, group), [(types[name], columns[name][place])])
        rows_of_answer = zip(*(of_answer[name] for name in aggregates), strict=True)
        got = dict(zip(values(answer, by) if by else [()], rows_of_answer, strict=True))
        found.append((got, aggregates, by, f"{scan} {aggregates} {by}"))
    frame, columns = asked.frame(spark, ["pair", "number", "key"])
    functions = [f"{function}({name})" for function in ("count", "min", "max") for name in columns]
    rows = frame.groupBy("pair", "number", "key").agg(*map(F.expr, ["count(*)", *functions])).toArrow()
    of_spark, names = columns_of(rows), dict(map(reversed, keys.items()))
    totals: dict[int, dict[Any, dict[int, int]]] = {}
    for row, (pair, number, key) in enumerate(
        zip(*(of_spark[each] for each in ("pair", "number", "key")), strict=True)
    ):
        totals.setdefault(pair, {}).setdefault(names[key], {})[number] = row

    def total(function: str, row: int) -> Any:
        """The value of an aggregate, from the columns of all types, of which at most one has values."""
        given = [of_spark[f"{function}({name})"][row] for name in columns]
        return sum(given) if function == "count" else next((each for each in given if each is not None), None)

    for pair, (got, aggregates, by, shown) in enumerate(found):
        wanted = {}
        for key, of_group in totals.get(pair, {}).items():
            wanted[key] = []
            for number, text in enumerate(aggregates.values()):
                row, function = of_group[number], text.partition("(")[0]
                every = of_spark["count(1)"][row]
                if function in ("min", "max"):
                    wanted[key].append(total(function, row))
                else:
                    some = total("count", row)
                    wanted[key].append(every if text == "count(*)" else every - some if "IS NULL" in text else some)
        if not by and not wanted:
            wanted[()] = [None if text[0] == "m" else 0 for text in aggregates.values()]
        plain = [{key: keys_at([[each] for each in of], [0]) for key, of in each.items()} for each in (got, wanted)]
        assert plain[0] == plain[1], shown
    return len(found)


@pytest.mark.parametrize("check", [check_first_rows, check_totals])
def test_random_answers_are_those_of_spark(
    spark: Any, tmp_path: Path, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, compared = random.Random(seed()), 0
    while compared < PAIRS:
        for little in (0, 1 << 20):
            # Small tables are read as a whole.
            monkeypatch.setattr(arrow_rows, "LITTLE_BYTES", little)
            # A table has up to 24 questions.
            compared += check(spark, rng, tmp_path, min(PAIRS, PAIRS_AT_ONCE) // 48)


def test_the_first_rows_are_those_of_spark(spark: Any, tmp_path: Path) -> None:
    rng, compared = random.Random(seed()), 0
    for _, scan, columns, _ in itertools.islice(questions(rng, tmp_path, 3), 0, None, 4):
        names = rng.sample(sorted(columns), k=min(len(columns), rng.choice([1, 1, 2])))
        terms = [f"{name} {rng.choice(['ASC', 'DESC'])} NULLS {rng.choice(['FIRST', 'LAST'])}" for name in names]
        number = rng.choice([1, 2, 3, 5])
        scan.to_spark(spark).createOrReplaceTempView("all_rows")
        wanted = spark.sql(f"SELECT * FROM all_rows ORDER BY {', '.join(terms)} LIMIT {number}").toArrow()
        top = scan.top(number, by=", ".join(terms))
        assert values(top.to_arrow(), names) == values(wanted, names), (scan, terms, number)
        assert values(top.to_spark(spark).toArrow(), names) == values(wanted, names), (scan, terms, number)
        compared += 1
    assert compared > 5


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

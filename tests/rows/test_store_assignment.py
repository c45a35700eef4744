"""Random values of random types, stored by both evaluators of a plan as Spark's INSERT stores them in ANSI mode.

DELTASKIP_STORE_SEEDS: the number of pairs of types that are tried.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.errors import DeltaSkipError, RowViolation, SchemaError, UnsupportedFeature
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.rows.plan import RowPlan
from deltaskip.rows.store import assignable
from deltaskip.sparkexpr.types.data_types import LONG, STRING, ArrayType, DataType, MapType, StructField, StructType
from deltaskip.sparkexpr.types.ddl import type_text
from tests.reference.rows import digest, plain_rows
from tests.rows.random_values import nullable, random_atom
from tests.rows.tables import nested_array, planned
from tests.rows.test_spark import spark

__all__ = ["spark"]

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::deltaskip.errors.WriteWarning")]

SEEDS = int(os.environ.get("DELTASKIP_STORE_SEEDS", "10"))
ROWS, REFUSED = 24, 2
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "+05:30")


def random_pair(chance: random.Random, depth: int = 2) -> tuple[DataType, DataType]:
    """A type, and one in which its values may be stored."""
    kind = chance.random() if depth else 1.0
    if kind < 0.12:
        pairs = [random_pair(chance, depth - 1) for _ in range(chance.randint(1, 3))]
        given = [StructField(f"f{i}", source) for i, (source, _) in enumerate(pairs)]
        target = [StructField(f"F{i}", kind) for i, (_, kind) in enumerate(pairs)]
        chance.shuffle(given)
        return StructType(tuple(given)), StructType(tuple(target))
    if kind < 0.24:
        source, found = random_pair(chance, depth - 1)
        return ArrayType(source, True), ArrayType(found, True)
    if kind < 0.34:
        keys, values = random_pair(chance, 0), random_pair(chance, depth - 1)
        return MapType(keys[0], values[0], True), MapType(keys[1], values[1], True)
    while True:
        source, found = random_atom(chance), random_atom(chance)
        if source != found and assignable(source, found):
            return source, found


def target_text(chance: random.Random, source: DataType, target: DataType) -> str:
    """DDL of the target, which may have lengths or a collation."""
    if source == STRING:
        return chance.choice(["VARCHAR(3)", "VARCHAR(5)", "STRING COLLATE UTF8_LCASE"])
    if isinstance(source, ArrayType) and source.element == STRING:
        return "ARRAY<VARCHAR(4)>"
    return type_text(target)


class Outcome:
    """The values of a seed that can be stored, as they are stored, and those that cannot."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        source, target = random_pair(chance)
        if chance.random() < 0.1:
            source = target = chance.choice([STRING, ArrayType(STRING, True)])
        self.zone = chance.choice(ZONES)
        self.ddl = target_text(chance, source, target)
        given = StructType((StructField("i", LONG), StructField("c", source)))
        self.plan: RowPlan = planned(f"i BIGINT, c {self.ddl}", given)
        values = [nullable(chance, source) for _ in range(ROWS)]
        rows = pa.table({"i": range(ROWS), "c": nested_array(values, stored_type(source))})
        fitting, self.refused = [], []
        for i in range(ROWS):
            row = rows.slice(i, 1)
            try:
                self.by_arrow(row)
            except UnsupportedFeature:
                # Spark's result depends on its version or that of Java.
                continue
            except RowViolation as error:
                self.refused.append((row, error))
            else:
                fitting.append(i)
        self.fitting = rows.take(pa.array(fitting, pa.int64()))

    def by_arrow(self, rows: pa.Table) -> pa.Table:
        return pa.Table.from_batches([ArrowRows(self.plan, self.zone).convert(rows)])


@pytest.fixture(scope="module")
def corrected(spark: Any) -> Iterator[Any]:
    """The session, which writes dates of any year as they are."""
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_values_are_stored_and_refused_as_insert_does(corrected: Any, tmp_path: Path, seed: int) -> None:
    from deltaskip.spark.write.checked_rows import rows_to_write, violation_of

    if corrected.version < "4":
        pytest.skip("collated columns and toArrow need Spark 4")
    made = Outcome(seed)
    corrected.conf.set("spark.sql.session.timeZone", made.zone)
    corrected.sql("DROP TABLE IF EXISTS store_target")
    corrected.sql(f"CREATE TABLE store_target (i BIGINT, c {made.ddl}) USING parquet LOCATION '{tmp_path / 'target'}'")
    try:
        frame = given_to(corrected, made.fitting, tmp_path)
        corrected.sql("INSERT INTO store_target BY NAME SELECT i, c FROM store_rows")
        expected = digest_of(corrected.table("store_target").toArrow(), made)
        assert digest_of(made.by_arrow(made.fitting), made) == expected, shown(made, corrected)
        assert digest_of(rows_to_write(frame, made.plan).toArrow(), made) == expected, shown(made, corrected)
        for row, error in made.refused[:REFUSED]:
            frame = given_to(corrected, row, tmp_path)
            with pytest.raises(Exception, match=r"OVERFLOW|EXCEED|OUT_OF_RANGE|CAST_INVALID|DUPLICATED_MAP_KEY"):
                corrected.sql("INSERT INTO store_target BY NAME SELECT i, c FROM store_rows")
            with pytest.raises(Exception) as raised:
                rows_to_write(frame, made.plan).collect()
            found = violation_of(raised.value, made.plan)
            assert found is not None or "DUPLICATED_MAP_KEY" in str(raised.value), (made.ddl, row, error)
    finally:
        corrected.sql("DROP TABLE store_target")


def given_to(session: Any, rows: pa.Table, folder: Path) -> Any:
    path = folder / f"{random.getrandbits(60):x}.parquet"
    pq.write_table(rows, path)
    frame = session.read.parquet(str(path))
    frame.createOrReplaceTempView("store_rows")
    return frame


def digest_of(rows: pa.Table, made: Outcome) -> str:
    kind = stored_type(next(f for f in made.plan.schema.fields if f.name == "c").type)
    return digest(plain_rows(pa.table({"i": rows["i"], "c": rows["c"].cast(kind)})))


def shown(made: Outcome, session: Any) -> str:
    """The rows that differ, for the message."""
    spark_rows = {row["i"]: row["c"] for row in plain_rows(session.table("store_target").toArrow())}
    arrow_rows = {row["i"]: row["c"] for row in plain_rows(made.by_arrow(made.fitting))}
    given = {row["i"]: row["c"] for row in plain_rows(made.fitting)}
    wrong = [
        f"{given[i]!r}: {arrow_rows[i]!r} by Arrow, {spark_rows.get(i)!r} by INSERT"
        for i in given
        if repr(arrow_rows[i]) != repr(spark_rows.get(i))
    ]
    return f"{made.fitting.schema.field('c').type} to {made.ddl} in {made.zone}: {wrong[:5]}"


def test_pairs_that_cannot_be_stored_are_refused_by_column() -> None:
    chance = random.Random(1)
    for _ in range(200):
        source, target = random_atom(chance), random_atom(chance)
        if not assignable(source, target):
            with pytest.raises(SchemaError, match="column c"):
                planned(f"c {type_text(target)}", StructType((StructField("c", source),)))


def test_every_seed_makes_values_that_fit_or_not() -> None:
    made = [Outcome(seed) for seed in range(SEEDS)]
    assert sum(len(each.fitting) for each in made) > SEEDS * ROWS // 3
    assert sum(len(each.refused) for each in made) > SEEDS
    assert not any(isinstance(error, UnsupportedFeature) for each in made for _, error in each.refused)
    assert all(isinstance(error, DeltaSkipError) for each in made for _, error in each.refused)

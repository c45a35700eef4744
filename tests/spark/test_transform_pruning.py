"""Pruning of partitions by predicates on the source of each transform, with Spark as oracle.

Spark computes the partition of every value of a dense domain in the zone of a writer, and which values match in the
zone of a reader. A partition with a matching value must be kept, and no other one where the transform and the predicate
leave nothing open: NULL partitions, and TIMESTAMP, whose zone the log does not have, are left out there.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip import transforms as t
from deltaskip.actions import serialize_partition_value
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import (
    DATE,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from deltaskip.sparkexpr.values.arrow_values import domain_values, typed_array
from deltaskip.transforms import Transform
from deltaskip.transforms.generated_columns import partitioned
from tests.builder import TableBuilder, add

pytestmark = pytest.mark.spark

HOUR = 3_600_000_000
FIRST_HOUR = 473_520  # 2024-01-08 in hours
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia")
PREDICATES = 30


@dataclass(frozen=True)
class Case:
    """A type of the source with a dense domain, SQL text of literals, and transforms.

    ordered: whether the domain has both ends of every partition, so that ranges have an ideal.
    """

    type: DataType
    domain: Sequence[Any]
    transforms: Sequence[Transform]
    literal: Any
    ordered: bool = True


def instants() -> list[int]:
    hours = [*range(FIRST_HOUR - 24 * 12, FIRST_HOUR + 24 * 25, 1), *range(FIRST_HOUR + 24 * 60, FIRST_HOUR + 24 * 66)]
    return [h * HOUR + at for h in hours for at in (0, HOUR - 1)]


def time_literal(kind: str) -> Any:
    zone = "Z" if kind == "TIMESTAMP" else ""

    def text(value: int) -> str:
        return f"{kind}'{pa.scalar(value, pa.timestamp('us')).as_py().isoformat(sep=' ')}{zone}'"

    return text


TIMES = [t.year("s"), t.month("s"), t.date("s"), t.datehour("s"), t.bucket("s", 8)]
CASES = [
    Case(TIMESTAMP_NTZ, instants(), TIMES, time_literal("TIMESTAMP_NTZ")),
    Case(TIMESTAMP, instants(), TIMES, time_literal("TIMESTAMP")),
    Case(DATE, range(19_600, 20_200), [t.identity("s"), t.year("s"), t.month("s"), t.date("s"), t.bucket("s", 8)],
        lambda day: f"DATE'{pa.scalar(day, pa.int32()).cast(pa.date32()).as_py()}'"),
    Case(LONG, range(-200, 200), [t.identity("s"), t.bucket("s", 16), t.truncate("s", 7)], str),
    Case(SHORT, range(-200, 200), [t.identity("s"), t.bucket("s", 5), t.truncate("s", 10)], str),
    Case(STRING, ["".join(each) for n in range(4) for each in product("abé😀", repeat=n)],
        [t.identity("s"), t.bucket("s", 16), t.truncate("s", 2)], lambda text: f"'{text}'", ordered=False),
    Case(DecimalType(20, 2), [pa.scalar(n).cast(pa.decimal128(20, 0)).as_py().scaleb(-2) for n in range(-300, 300)],
        [t.bucket("s", 8)], lambda value: f"{value}BD", ordered=False),
]  # fmt: skip


def predicates(case: Case, chance: random.Random) -> list[tuple[str, bool]]:
    """Predicates as SQL text, and whether they are made of points only."""
    literal = case.literal
    found = []
    for _ in range(PREDICATES):
        a, b = sorted(chance.sample(range(len(case.domain)), 2))
        low, high = literal(case.domain[a]), literal(case.domain[b])
        near = literal(case.domain[min(a + chance.randrange(1, 40), len(case.domain) - 1)])
        several = ", ".join(literal(chance.choice(case.domain)) for _ in range(chance.randrange(1, 5)))
        found.append(
            chance.choice(
                [
                    (f"s = {low}", True),
                    (f"s <=> {low}", True),
                    (f"s IN ({several})", True),
                    (f"s IN ({several}, NULL)", True),
                    (f"s = {low} OR s = {high}", True),
                    (f"s < {low}", False),
                    (f"s >= {high}", False),
                    (f"s BETWEEN {low} AND {high}", False),
                    (f"s > {low} AND s <= {near}", False),
                    (f"s >= {low} AND s < {near} OR s = {high}", False),
                    (f"{near} > s AND s IN ({several}, {low})", True),
                    (f"NOT (s < {low} OR s > {near})", False),
                ]
            )
        )
    return found


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.type))
def test_partitions_with_matching_rows_are_kept_alone(spark: Any, tmp_path: Path, case: Case, seed: int) -> None:
    chance = random.Random(f"{case.type} {seed}")
    writer, reader = (chance.choice(ZONES) if case.type == TIMESTAMP or seed else "UTC" for _ in range(2))
    values = typed_array([*case.domain, None], arrow_type(case.type))
    pq.write_table(pa.table({"s": values}), tmp_path / "domain.parquet")
    frame = spark.read.parquet(str(tmp_path / "domain.parquet")).coalesce(1)
    schema = StructType((StructField("s", case.type),))
    fields = [partitioned(schema, [each], "t").schema.fields[-1] for each in case.transforms]
    texts = [str(field.metadata.get("delta.generationExpression", "s")) for field in fields]
    chosen = predicates(case, chance)
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", writer)
        partitions = frame.selectExpr(*[f"{text} AS g{i}" for i, text in enumerate(texts)]).toArrow()
        spark.conf.set("spark.sql.session.timeZone", reader)
        matches = frame.selectExpr(*[f"({text}) <=> TRUE AS p{i}" for i, (text, _) in enumerate(chosen)]).toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    for number, (transform, field) in enumerate(zip(case.transforms, fields, strict=True)):
        of_row = [None if v == "" else v for v in domain_values(partitions[f"g{number}"])]
        if field.name != "s":
            # What an append of Arrow data writes is what Spark writes.
            node = bind_expression(parse_sql(texts[number]), schema, time_zone=writer)
            found = domain_values(Evaluator(node, writer).values({"s": values}, len(values)))
            assert [None if v == "" else v for v in found] == of_row, texts[number]
        distinct = list(dict.fromkeys(of_row))
        table = partitioned_by(tmp_path / f"t{number}", transform, field, schema, distinct)
        for at, (text, points) in enumerate(chosen):
            rows = zip(of_row, values.to_pylist(), matches[f"p{at}"].to_pylist(), strict=True)
            # A partition column has no empty string: the row then contains NULL.
            needed = {value for value, source, matching in rows if matching and (source != "" or field.name != "s")}
            paths = table.scan(text, time_zone=reader).files()["path"].to_pylist()
            kept = {distinct[int(path[1:])] for path in paths}
            what = f"{transform} of {case.type} written in {writer}, read in {reader}: {text}"
            assert needed <= kept, f"{what}: lost {needed - kept}"
            hashes = isinstance(transform, t.Bucket)
            if case.type != TIMESTAMP and (points or (case.ordered and not hashes)):
                assert kept - {None} == needed - {None}, f"{what}: kept {kept - needed}"
            if case.type == TIMESTAMP and hashes and points:
                assert kept - {None} == needed - {None}, f"{what}: kept {kept - needed}"


def partitioned_by(
    path: Path, transform: Transform, field: StructField, schema: StructType, values: Sequence[Any]
) -> DeltaTable:
    """A table of one file for each partition value, without statistics."""
    fields = schema.fields if field.name == "s" else (*schema.fields, field)
    columns = StructType((*fields, StructField("other", LONG)))
    builder = TableBuilder(path, columns, [field.name])
    texts = [None if value is None else serialize_partition_value(value, field.type) for value in values]
    builder.commit(*[add(f"f{i}", partitionValues={field.name: text}) for i, text in enumerate(texts)])
    table = DeltaTable(path)
    assert table.partitioning == (transform,)
    return table

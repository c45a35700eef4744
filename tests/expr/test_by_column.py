"""Evaluation by column against evaluation row by row, over the grid of the edges of types (tests.expr.edges)."""

from __future__ import annotations

import itertools
import random
from itertools import islice
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.collations.registry import SPARK_VERSION
from deltaskip.expr import EvaluationError, bind, bind_expression, evaluate, parse_sql
from deltaskip.expr.by_column import may_be_true, values_by_column
from deltaskip.expr.coerce import type_of
from deltaskip.expr.dates import formatted
from deltaskip.expr.nodes import Case as CaseNode
from deltaskip.expr.nodes import Compare, In, IsNull, Literal, Node, Not
from deltaskip.expr.normalize import FALSE, TRUE
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.calendar import civil_from_days, format_timestamp, instant_of, local_of, zone_of
from deltaskip.schema.json import simple_string
from deltaskip.schema.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType, StructField, StructType
from deltaskip.skipping.partition_texts import PartitionValues
from deltaskip.skipping.proofs.collated import Collations
from tests.each import each
from tests.expr.edge_values import EDGES
from tests.expr.edges import bound, cases
from tests.extent import extent

EACH = extent(7, 1)
BY_COLUMN = frozenset(
    ("string", "integer", "long", "date", "timestamp", "timestamp_ntz", "double", "decimal(38,10)", "boolean")
)


def layout(values: list[Any], type_: DataType) -> pa.Array:
    if type_ in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        array = arrow_array(values, pa.int32() if type_ == DATE else pa.int64()).view(arrow_type(type_))
    else:
        array = arrow_array(values, arrow_type(type_))
    return PartitionValues(array, None).ordered(type_)  # type: ignore[arg-type]


def predicates(node: Node, results: list[Any]) -> list[Node]:
    type_ = type_of(node)
    assert type_ is not None
    known = list({repr(result): result for result in results if result is not None}.values())
    found: list[Node] = [IsNull(node), Not(IsNull(node))]
    for result in islice(known, 3):
        literal = Literal(result, type_)
        found += [Compare(op, node, literal) for op in ("=", "!=", "<", ">=", "<=>")] + [Compare(">", literal, node)]
    found.append(In(node, tuple(Literal(result, type_) for result in [*known[:2], None])))
    found.append(Not(In(node, tuple(Literal(result, type_) for result in known[1:4] or [None]))))
    return [*found, CaseNode(((found[-1], FALSE),), TRUE)]


def test_evaluation_by_column_is_evaluation_row_by_row() -> None:
    def check(type_: DataType) -> None:
        by_column = 0
        values = [*EDGES[type_], None]
        for case in [case for case in cases() if case.type == type_][::EACH]:
            node = bound(case)
            if node is None:
                continue
            columns = layout(values, type_)
            for predicate in predicates(node, [result(node, value, case.zone) for value in values]):
                keep = may_be_true(predicate, lambda _: columns, len(values), case.zone, lambda _: None)  # noqa: B023
                if keep is None:
                    continue
                by_column += 1
                wanted = [result(predicate, value, case.zone, True) is True for value in values]
                assert keep.tolist() == wanted, (case.key, predicate)
        assert by_column * EACH > 20 or simple_string(type_) not in BY_COLUMN

    each(list(EDGES), check, simple_string)


def result(node: Node, value: Any, zone: str, failed: Any = None) -> Any:
    try:
        return evaluate(node, {("c",): value}, zone)
    except EvaluationError:
        return failed


TEXTS = ["", "a", "A", "ab", "aB", "\u00e9", "e\u0301", "\u0130", "v77", "V77", "z\0", "\ud7ff", None]


def test_texts_by_column_are_kept_where_row_by_row_keeps_them() -> None:
    def check(collation: str | None, where: str) -> None:
        metadata = {"__COLLATIONS": {"c": collation}} if collation else {}
        node = bind(parse_sql(where), StructType((StructField("c", STRING, metadata=metadata),)))
        collations = Collations(SPARK_VERSION)
        keep = may_be_true(node, lambda _: arrow_array(TEXTS, pa.string()), len(TEXTS), "UTC", collations.evaluator)
        if keep is None:
            assert collation or "upper" in where
            return
        for text, kept in zip(TEXTS, keep.tolist(), strict=True):
            try:
                assert kept == (evaluate(node, {("c",): text}, order=collations.order) is True), text
            except EvaluationError:
                assert kept, text

    each(
        itertools.product(
            [None, "icu.UNICODE_CI", "spark.UTF8_LCASE"],
            [
                "c = 'V77'",
                "'a' < c",
                "c IN ('A', 'V77', NULL)",
                "c NOT IN ('A', 'b')",
                "c <=> 'AB'",
                "c >= 'a' AND c < 'b' OR c IS NULL",
                "c LIKE 'a%'",
                "c LIKE '%b'",
                "c LIKE '%7%'",
                "c LIKE 'v77'",
                "startswith(c, 'a')",
                "upper(c) = 'V77'",
                "c COLLATE UTF8_BINARY = 'A'",
            ],
        ),
        lambda case: check(*case),
    )


TIME_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Pacific/Kiritimati", "+05:00")


@pytest.mark.parametrize("zone", TIME_ZONES)
def test_local_times_by_column_are_those_of_each_instant(zone: str) -> None:
    chance = random.Random(zone)
    changes = [1_301_187_600, 1_698_541_200, 1_710_054_000, 1_325_239_200, 788_868_000]
    instants = [at * 10**6 + chance.randrange(-(10**11), 10**11) for at in changes for _ in range(300)]
    instants += [chance.randrange(-(6 * 10**16), 2 * 10**17) for _ in range(300)]
    schema = StructType((StructField("ts", TIMESTAMP), StructField("d", DATE)))
    days = sorted({at // 86_400_000_000 for at in instants} | set(range(9129, 9135)) | set(range(15_335, 15_341)))
    columns = {"ts": [*instants, None], "d": [days[i % len(days)] for i in range(len(instants))] + [None]}
    for text, expected in (
        ("CAST(ts AS DATE)", lambda ts, d: local_of(ts, zone_of(zone)) // 86_400_000_000),
        ("year(ts)", lambda ts, d: civil_from_days(local_of(ts, zone_of(zone)) // 86_400_000_000)[0]),
        ("date_format(ts, 'yyyy-MM')", lambda ts, d: formatted(local_of(ts, zone_of(zone)), "yyyy-MM")),
        ("date_format(ts, 'yyyy-MM-dd-HH')", lambda ts, d: formatted(local_of(ts, zone_of(zone)), "yyyy-MM-dd-HH")),
        ("date_format(d, 'yyyy-MM')", lambda ts, d: formatted(midnight(d, zone), "yyyy-MM")),
        ("substring(CAST(ts AS STRING), 1, 13)", lambda ts, d: format_timestamp(local_of(ts, zone_of(zone)))[:13]),
    ):
        node = bind_expression(parse_sql(text), schema, time_zone=zone)
        arrays = {name: arrow_array(values, pa.int64()) for name, values in columns.items()}
        found = values_by_column(node, lambda ref: arrays[ref.logical[0]], len(columns["ts"]), zone)  # noqa: B023
        rows = zip(columns["ts"], columns["d"], strict=True)
        assert found is not None, text
        assert found.to_pylist() == [None if ts is None or d is None else expected(ts, d) for ts, d in rows], text


def midnight(day: int, zone: str) -> int:
    return local_of(instant_of(day * 86_400_000_000, zone_of(zone)), zone_of(zone))

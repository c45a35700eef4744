"""Evaluation by column against evaluation row by row, over the grid of the edges of types (tests.expr.edges)."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.collations.registry import SPARK_VERSION
from deltaskip.expr import EvaluationError, bind, evaluate, parse_sql
from deltaskip.expr.by_column import may_be_true
from deltaskip.expr.coerce import type_of
from deltaskip.expr.nodes import Case as CaseNode
from deltaskip.expr.nodes import Compare, In, IsNull, Literal, Node, Not
from deltaskip.expr.normalize import FALSE, TRUE
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.json import simple_string
from deltaskip.schema.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType, StructField, StructType
from deltaskip.skipping.partition_texts import PartitionValues
from deltaskip.skipping.proofs.collated import Collations
from tests.expr.edges import EDGES, bound, cases

EACH = 1 if os.environ.get("DELTASKIP_ALL_EDGES") else 4
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


@pytest.mark.parametrize("type_", list(EDGES), ids=simple_string)
def test_evaluation_by_column_is_evaluation_row_by_row(type_: DataType) -> None:
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
    assert by_column > 20 or simple_string(type_) not in BY_COLUMN


def result(node: Node, value: Any, zone: str, failed: Any = None) -> Any:
    try:
        return evaluate(node, {("c",): value}, zone)
    except EvaluationError:
        return failed


TEXTS = ["", "a", "A", "ab", "aB", "\u00e9", "e\u0301", "\u0130", "v77", "V77", "z\0", "\ud7ff", None]


@pytest.mark.parametrize("collation", [None, "icu.UNICODE_CI", "spark.UTF8_LCASE"])
@pytest.mark.parametrize(
    "where",
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
)
def test_texts_by_column_are_kept_where_row_by_row_keeps_them(where: str, collation: str | None) -> None:
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

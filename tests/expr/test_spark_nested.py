"""Nested values, JSON and variants: the values and types are Spark's, or only Spark evaluates the expression."""

from __future__ import annotations

import json
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.expr import EvaluationError, bind_expression, parse_sql
from deltaskip.expr.casts import cast_value
from deltaskip.expr.coerce import type_of
from deltaskip.expr.evaluation import left_to_spark
from deltaskip.expr.evaluation.columns import Evaluator
from deltaskip.expr.variant_reading import variant_json
from deltaskip.schema.arrow_values import domain_values
from deltaskip.schema.calendar import zone_of
from deltaskip.schema.json import type_to_json
from deltaskip.schema.types import STRING, VARIANT, StructType
from tests.each import each
from tests.expr.spark_nested import answers, type_text

LEFT = object()


def found(text: str) -> Any:
    """The value as a text, and the type; LEFT if only Spark evaluates it, None if it fails."""
    zone = zone_of("UTC")
    try:
        node = bind_expression(parse_sql(text), StructType(()))
        type_ = type_of(node)
        if left_to_spark(node) is not None or type_ is None:
            return LEFT
        [value] = domain_values(Evaluator(node).values({}, 1))
        if value is not None:
            value = variant_json(value, zone) if type_ == VARIANT else cast_value(value, type_, STRING, zone)
    except EvaluationError as error:
        return None if type(error) is EvaluationError else LEFT
    except PredicateError:
        return None
    return value, type_text(json.loads(type_to_json(type_)))


def test_values_and_types_are_those_of_spark() -> None:
    left: list[str] = []

    def check(case: tuple[str, Any]) -> None:
        text, answer = case
        value = found(text)
        if value is LEFT:
            left.append(text)
        else:
            assert value == answer, (value, answer)

    each(answers().items(), check)
    evaluated = [text for text, answer in answers().items() if answer is not None]
    assert len(set(left) & set(evaluated)) < len(evaluated) / 5

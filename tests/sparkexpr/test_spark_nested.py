"""Nested values, JSON and variants: the values and types are Spark's, or only Spark evaluates the expression."""

import json
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import left_to_spark
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.types.data_types import STRING, VARIANT, StructType
from deltaskip.sparkexpr.types.json import type_to_json
from deltaskip.sparkexpr.values.arrow_values import domain_values
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.sparkexpr.values.casts import cast_value
from deltaskip.sparkexpr.values.variant_reading import variant_json
from tests.each import each
from tests.sparkexpr.spark_nested import answers, type_text

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
            value = variant_json(value) if type_ == VARIANT else cast_value(value, type_, STRING, zone)
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

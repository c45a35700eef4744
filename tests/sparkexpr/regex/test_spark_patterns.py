"""Patterns, formats and URLs at random against Spark's answers."""

from typing import Any

import pyarrow as pa
import pytest

from deltaskip.sparkexpr import EvaluationError, Undecided, parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.types.data_types import INTEGER, STRING, DecimalType, StructField, StructType
from deltaskip.sparkexpr.types.json import simple_string
from tests.each import each
from tests.extent import extent, seed
from tests.sparkexpr.regex.random_patterns import cases
from tests.sparkexpr.regex.spark_patterns import ERROR, PATTERN_CALLS, call_answers, calls, pattern_answers, stored

_TYPES = {"p": STRING, "t": STRING, "g": INTEGER, "r": STRING, "l": INTEGER}
SCHEMA = StructType(tuple(StructField(name, type_) for name, type_ in _TYPES.items()))
NODES = [bind_expression(parse_sql(call), SCHEMA) for call in PATTERN_CALLS]


def differences(rows: list[list[Any]]) -> tuple[list[str], int]:
    """Where values are not those of Spark, and how many are left to it."""
    wrong: list[str] = []
    left = 0
    for *given, answers in rows:
        row = {(name,): value for name, value in zip(_TYPES, given, strict=True)}
        for call, node, answer in zip(PATTERN_CALLS, NODES, answers, strict=True):
            try:
                found = evaluate(node, row)
            except EvaluationError:
                left += 1
                continue
            # An array is a tuple.
            if (list(found) if isinstance(found, tuple) else found) != answer:
                wrong.append(f"{call} of {given}: {found!r}, in Spark {answer!r}")
    return wrong, left


def test_patterns_have_spark_s_answers() -> None:
    rows = stored()["patterns"][:: extent(8, 1)]
    wrong, left = differences(rows)
    assert not wrong, "\n".join(wrong[:20])
    assert left < len(rows) * len(NODES) / 20


def test_patterns_by_column_have_spark_s_answers() -> None:
    rows = stored()["patterns"]

    def check(pattern: str) -> None:
        of_pattern = [row for row in rows if row[0] == pattern]
        texts = pa.array([None, *(row[1] for row in of_pattern)], pa.string())
        schema = StructType((StructField("t", STRING),))
        for at, call in enumerate(("t RLIKE {}", "regexp_count(t, {})", "regexp_instr(t, {})", "regexp_substr(t, {})")):
            literal = "'" + pattern.replace("\\", "\\\\").replace("'", "\\'") + "'"
            node = bind_expression(parse_sql(call.format(literal)), schema)
            try:
                found = Evaluator(node).values({"t": texts}, len(texts)).to_pylist()
            except Undecided:
                continue
            assert found == [None, *(row[5][at] for row in of_pattern)]

    each(list(dict.fromkeys(row[0] for row in rows))[:: extent(10, 1)], check)


def test_calls_have_spark_s_answers() -> None:
    compared = [problem(text, answer) for text, answer in stored()["calls"]]
    wrong = [each for each in compared if each]
    assert not wrong, "\n".join(wrong[:20])


def problem(text: str, answer: Any) -> str:
    """How the value of a call differs from Spark's; "" if it does not, or is left to Spark."""
    node = bind_expression(parse_sql(text), StructType(()))
    type_ = type_of(node)
    if type_ is None:
        return ""
    try:
        value: Any = evaluate(node, {})
    except Undecided:
        return ""
    except EvaluationError:
        value = ERROR
    if isinstance(type_, DecimalType) and value is not None and value != ERROR:
        value = f"{value:f}"
    return "" if value == answer else f"{text}: {value!r} of {simple_string(type_)}, in Spark {answer!r}"


@pytest.fixture(scope="module")
def spark(spark: Any) -> Any:
    if not spark.version.startswith("4.1."):
        pytest.skip("the rules are those of Spark 4.1")
    return spark


@pytest.mark.spark
def test_spark_has_the_same_answers_to_others(spark: Any) -> None:
    chosen = seed()
    given = cases(chosen, extent(60, 20_000))
    rows = [[case.pattern, case.text, case.group, case.replacement, case.limit] for case in given]
    answered = [[*row, answers] for row, answers in zip(rows, pattern_answers(spark, given), strict=True)]
    wrong, _ = differences(answered)
    assert not wrong, (chosen, wrong[:20])
    texts = calls(chosen, extent(2, 200))
    problems = [problem(text, answer) for text, answer in zip(texts, call_answers(spark, texts), strict=True)]
    assert not any(problems), (chosen, [each for each in problems if each][:20])

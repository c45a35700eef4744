"""Functions of text and bytes: what Spark 4.1 answers to calls of constants, and of columns where they are special."""

from typing import Any

import pyarrow as pa
import pytest

from deltaskip.sparkexpr import EvaluationError, Undecided, parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.evaluation import evaluate, left_to_spark
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.types.data_types import StructType
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from tests.each import each, refuses


def test_what_fails_in_spark_fails_with_its_class_of_error() -> None:
    def check(text: str, reason: str) -> None:
        node = bind_expression(parse_sql(text), StructType(()))
        with pytest.raises(EvaluationError, match=reason) as found:
            evaluate(node, {})
        assert found.type is EvaluationError

    each(
        [
            ("elt(0, 'a')", "INVALID_ARRAY_INDEX"),
            ("encode('\u00e9', 'us-ascii')", "MALFORMED_CHARACTER_CODING"),
            ("encode('a', 'latin1')", "INVALID_PARAMETER_VALUE.CHARSET"),
            ("decode(x'd83d', 'utf-16be')", "MALFORMED_CHARACTER_CODING"),
            ("to_binary('6g')", "CONVERSION_INVALID_INPUT"),
            ("to_binary('YQ=', 'base64')", "CONVERSION_INVALID_INPUT"),
            ("unbase64('YQ=')", "base 64"),
            ("unbase64('YQ==x')", "after the padding"),
            ("unbase64('Y')", "too few"),
            ("validate_utf8(x'80')", "INVALID_UTF8_STRING"),
            ("split_part('a', 'b', 0)", "INVALID_INDEX_OF_ZERO"),
        ],
        lambda case: check(*case),
    )


def test_what_depends_on_versions_or_is_odd_is_left_to_spark() -> None:
    def check(text: str) -> None:
        node = bind_expression(parse_sql(text), StructType(()))
        if left_to_spark(node) is None:
            refuses(Undecided, None, evaluate, node, {})

    each(
        [
            "initcap('\u00df')",
            "initcap('\u03a3')",
            "luhn_check('\u0660')",
            "decode(x'0000d800', 'utf-32')",
            "decode(x'fffe', 'utf-16be')",
            "substring_index('aaa', 'a', -2147483648)",
            "split_part('a,b', ',', -2147483648)",
            "to_binary('YQ == ', 'base64')",
            "to_binary('abc', 'x')",
            "overlay(NULL, x'58', 2)",
            "overlay('abc', x'58', 2)",
            "soundex(12)",
            "md5(12)",
            "collation(1)",
            "typeof('a' COLLATE UTF8_LCASE)",
            "elt(1, 'a', CAST(1 / 0 AS STRING))",
            "try_to_binary(CAST(1 / 0 AS STRING))",
            "space(16777217)",
            "jaro_winkler_similarity('a', 'b')",
        ],
        check,
    )


def test_the_start_of_a_search_may_be_a_column_that_is_null() -> None:
    node = bind_expression(parse_sql("locate('a', s, i)"), parse_columns("s STRING, i INT"))
    wanted = [0, 0, 2, 4, 0, None]
    given: list[tuple[Any, Any]] = [(None, None), ("banana", 0), ("banana", 1), ("banana", 3), ("x", 1), (None, 1)]
    assert [evaluate(node, {("s",): s, ("i",): i}) for s, i in given] == wanted
    columns = {
        "s": arrow_array([s for s, _ in given], pa.string()),
        "i": arrow_array([i for _, i in given], pa.int32()),
    }
    assert Evaluator(node).values(columns, len(given)).to_pylist() == wanted


def test_the_start_of_a_search_is_read_as_an_integer_before_anything_is_null() -> None:
    node = bind_expression(parse_sql("locate('a', s, i)"), parse_columns("s STRING, i BIGINT"))
    for text in (None, "banana"):
        refuses(EvaluationError, None, evaluate, node, {("s",): text, ("i",): 2**40})
        columns = {"s": arrow_array([text], pa.string()), "i": arrow_array([2**40], pa.int64())}
        with pytest.raises(EvaluationError):
            Evaluator(node).values(columns, 1)

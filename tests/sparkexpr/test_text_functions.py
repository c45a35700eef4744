"""Functions of text and bytes: what Spark 4.1 answers to calls of constants, and of columns where they are special."""

from typing import Any

import pyarrow as pa
import pytest

from deltaskip.sparkexpr import EvaluationError, Undecided, parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate, left_to_spark
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.types.data_types import INTEGER, LONG, STRING, StructField, StructType
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from tests.each import each

ANSWERS: dict[str, Any] = {
    "trim('SL', 'SSparkSQLS')": "parkSQ",
    "btrim('xyabx', 'xy')": "ab",
    "trim(NULL FROM 'ab')": None,
    "trim(1 FROM 121)": "2",
    "TRIM(LEADING 'SL' FROM 'SSparkSQLS')": "parkSQLS",
    "TRIM(TRAILING FROM ' ab ')": " ab",
    "initcap('a-b c_d')": "A-b C_d",
    "initcap('\\'abc (abc) -x')": "'abc (abc) -x",
    "overlay('Spark SQL' PLACING 'ANSI ' FROM 7 FOR 0)": "Spark ANSI SQL",
    "overlay('abc', 'X', 2147483647)": "abcXab",
    "overlay('abc', 'X', '2')": "aXc",
    "overlay(x'616263', x'58', 3, 2147483647)": bytes.fromhex("616258616263"),
    "overlay(123, 9, 2)": "193",
    "locate('', 'abc', 10)": 1,
    "locate('', 'abc', 0)": 0,
    "locate('a', 'banana', NULL)": 0,
    "locate('b', '\U0001f600b', 3)": 0,
    "position('a', 'banana', 3)": 4,
    "left('abc', 2.5)": "ab",
    "right(x'616263', 2)": "bc",
    "concat(1, x'61')": "1a",
    "find_in_set('', 'a,')": 2,
    "find_in_set('a,b', 'a,b')": 0,
    "elt(1, x'61', 'b')": "a",
    "elt(1, x'61', x'62')": b"a",
    "elt(NULL, 'a')": None,
    "levenshtein('kitten', 'sitting', 2)": -1,
    "levenshtein('a', 'a', -1)": -1,
    "soundex('Ashcraft')": "A261",
    "soundex('bwb bhb bab b b')": "B111",
    "soundex('\u00e9')": "\u00e9",
    "luhn_check('79927398713')": True,
    "luhn_check('')": False,
    "space(1.5)": " ",
    "quote('a\\\\b')": "'a\\b'",
    "encode('a\u00e9', 'utf-16')": bytes.fromhex("feff006100e9"),
    "encode('', 'UTF-16')": b"",
    "decode(x'fffe6100', 'utf-16')": "a",
    "decode(x'0000feff0000feff', 'utf-32')": "\ufeff",
    "decode('abc', 'utf-8')": "abc",
    "unhex('161')": b"\x01a",
    "unhex('6G')": None,
    "unbase64('a-b_')": b"i",
    "unbase64('YQ===')": b"a",
    "unbase64('YR==')": b"a",
    "to_binary('abc', 'HEX')": bytes.fromhex("0abc"),
    "to_binary('abc', NULL)": None,
    "try_to_binary('YQ=', 'base64')": None,
    "is_valid_utf8(x'efbfbe')": True,
    "make_valid_utf8(x'eda080')": "\ufffd" * 3,
    "make_valid_utf8(x'f09f98')": "\ufffd",
    "try_validate_utf8(x'80')": None,
    "hex(1.5)": "1",
    "hex(true)": "74727565",
    "bin(13.3)": "1101",
    "chr(1e10D)": "\0",
    "lpad(x'aabb', 5, x'1122')": bytes.fromhex("112211aabb"),
    "rpad(x'aabb', 5)": bytes.fromhex("aabb000000"),
    "lpad(12, 5, 0)": "00012",
    "contains(x'616263', 'b')": True,
    "replace('abcb', 'b')": "ac",
    "reverse(1.50)": "05.1",
    "typeof(1.5)": "decimal(2,1)",
    "typeof(1 / 0)": "double",
    "collation('a')": "SYSTEM.BUILTIN.UTF8_BINARY",
    "collation('a' COLLATE unicode_ci)": "SYSTEM.BUILTIN.UNICODE_CI",
    "collation('a' COLLATE fr)": "SYSTEM.BUILTIN.fr",
}


def test_the_values_are_spark_s() -> None:
    def check(case: tuple[str, Any]) -> None:
        text, answer = case
        node = bind_expression(parse_sql(text), StructType(()))
        assert type_of(node) is not None, text
        assert evaluate(node, {}) == answer, text

    each(ANSWERS.items(), check)


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
            with pytest.raises(Undecided):
                evaluate(node, {})

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


SCHEMA = StructType((StructField("s", STRING), StructField("i", INTEGER)))


def test_the_start_of_a_search_may_be_a_column_that_is_null() -> None:
    node = bind_expression(parse_sql("locate('a', s, i)"), SCHEMA)
    wanted = [0, 0, 2, 4, 0, None]
    given: list[tuple[Any, Any]] = [(None, None), ("banana", 0), ("banana", 1), ("banana", 3), ("x", 1), (None, 1)]
    assert [evaluate(node, {("s",): s, ("i",): i}) for s, i in given] == wanted
    columns = {
        "s": arrow_array([s for s, _ in given], pa.string()),
        "i": arrow_array([i for _, i in given], pa.int32()),
    }
    assert Evaluator(node).values(columns, len(given)).to_pylist() == wanted


def test_the_start_of_a_search_is_read_as_an_integer_before_anything_is_null() -> None:
    node = bind_expression(
        parse_sql("locate('a', s, i)"), StructType((StructField("s", STRING), StructField("i", LONG)))
    )
    for text in (None, "banana"):
        with pytest.raises(EvaluationError):
            evaluate(node, {("s",): text, ("i",): 2**40})
        columns = {"s": arrow_array([text], pa.string()), "i": arrow_array([2**40], pa.int64())}
        with pytest.raises(EvaluationError):
            Evaluator(node).values(columns, 1)

"""The evaluator's values: measured answers of Spark, orders, laziness, collations, and what it leaves undecided."""

import json
import math
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError, Undecided, parse_sql
from deltaskip.sparkexpr.bind import bind, bind_expression
from deltaskip.sparkexpr.evaluation import deterministic, evaluate
from deltaskip.sparkexpr.nodes import Compare, FieldRef, In, Like, Literal, Not, StartsWith
from deltaskip.sparkexpr.types.data_types import BOOLEAN, DOUBLE, INTEGER, STRING, TIMESTAMP, StructField, StructType
from deltaskip.sparkexpr.values.comparisons import compare_values
from deltaskip.sparkexpr.values.strings import like
from tests.each import each, refuses
from tests.sparkexpr.predicates import SCHEMA

# [SQL, repr of the value or "error"]: constants that Spark 4.1.4 evaluated in ANSI mode, time zone UTC.
SPARK_ANSWERS = json.loads((Path(__file__).parents[1] / "spark_answers.json").read_text(encoding="utf-8"))
EMPTY = StructType()
CI = FieldRef(("c",), ("c",), STRING, collation="icu.UNICODE_CI")
BARE = FieldRef(("e",), ("e",), STRING)


def value(text: str, zone: str = "UTC") -> object:
    return evaluate(bind_expression(parse_sql(text), EMPTY, time_zone=zone), {}, zone)


def test_constants_have_spark_s_values() -> None:
    def check(text: str, answer: str) -> None:
        if answer == "error":
            refuses(EvaluationError, None, value, text)
        else:
            assert repr(value(text)) == answer

    each(SPARK_ANSWERS, lambda case: check(*case))


@pytest.mark.parametrize(
    "text",
    [
        "CAST('1d' AS DOUBLE)", "CAST('\uff15' AS DECIMAL(10,2))", "CAST(1e300 AS STRING)", "ceil(1e300)",
        "floor(-1e300)", "floor(CAST('Infinity' AS DOUBLE))", "ceil(CAST('9223372036854775807' AS DOUBLE))",
        "CAST(1e30D AS DECIMAL(38,2))", "CAST(0.0000000001BD AS STRING)", "CAST(0.1D + 0.2D AS STRING)",
        "upper('\u019b')", "date_format(DATE'2024-01-01', 'F')", "CAST('10:00' AS TIMESTAMP)", "CAST(X'FF' AS STRING)",
        "TRY_CAST('1d' AS DOUBLE)", "rand()", "DATE'today'",
    ],
)  # fmt: skip
def test_answers_that_depend_on_versions_are_left_undecided(text: str) -> None:
    refuses(Undecided, None, value, text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"CAST('{'0' * 5000}7' AS INT)", 7),
        (f"CAST('-{'0' * 5000}7' AS TINYINT)", -7),
        (f"TRY_CAST('{'9' * 5000}' AS BIGINT)", None),
        (f"CAST('{'0' * 5000}7.25{'0' * 5000}' AS DECIMAL(5,1))", Decimal("7.3")),
        (f"CAST('{'9' * 5000}e-5000' AS DOUBLE)", 1.0),
        (f"CAST('0.{'0' * 5000}7e5001' AS FLOAT)", 7.0),
        ("CAST('1e999999999' AS DOUBLE)", math.inf),
        ("CAST('-1e-999999999' AS FLOAT)", -0.0),
        (f"{'0' * 5000}7", 7),
        (f"'{'a' * 5000}' LIKE '{'%a' * 5000}b'", False),
        (f"'{'a' * 5000}b' LIKE '{'%a' * 5000}b'", True),
        (f"'{'a' * 50}' LIKE '%{'_' * 49}b%'", False),
    ],
)
def test_texts_of_any_length_have_their_value(text: str, answer: object) -> None:
    assert repr(value(text)) == repr(answer)


@pytest.mark.parametrize(
    "text",
    [
        "TRY_CAST('1e999999999' AS DECIMAL(38,0))",
        f"replace('{'a' * 10_000}', 'a', '{'b' * 10_000}')",
        f"'a' LIKE '{'a' * 100_000}'",
    ],
)
def test_evaluation_that_would_take_long_is_left_to_spark(text: str) -> None:
    refuses(Undecided, None, value, text)


@given(st.text("ab_%\n\u00e9", max_size=12), st.text("ab\n\u00e9", max_size=12))
def test_like_agrees_with_a_match_by_characters(pattern: str, text: str) -> None:
    def matches(wanted: str, rest: str) -> bool:
        if not wanted:
            return not rest
        if wanted[0] == "%":
            return any(matches(wanted[1:], rest[at:]) for at in range(len(rest) + 1))
        return bool(rest) and wanted[0] in ("_", rest[0]) and matches(wanted[1:], rest[1:])

    assert like(text, pattern, "\\") == matches(pattern, text)


@pytest.mark.parametrize(
    "ascending",
    [
        [-math.inf, -1e300, -0.0, 5e-324, 1.5, math.inf, math.nan],
        [Decimal("-1.5"), Decimal("0.00"), Decimal("1.50"), Decimal("12345678901234567899.00000001")],
        ["", "A", "a", "a\0", "z", "é", "\ue000", "\uffff", "😀"],
        [b"", b"\x00", b"\x00\x01", b"\x7f", b"\x80", b"\xff"],
        [False, True],
        [-(2**63), -1, 0, 2**63 - 1],
    ],
)
def test_values_order_as_in_spark(ascending: list[object]) -> None:
    for low, high in pairwise(ascending):
        assert (compare_values(low, high), compare_values(high, low), compare_values(low, low)) == (-1, 1, 0)


def test_zeros_are_equal_and_so_are_nans() -> None:
    assert compare_values(0.0, -0.0) == 0
    assert compare_values(math.nan, -math.nan) == 0
    assert compare_values(Decimal("1.0"), Decimal("1.00")) == 0


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("false AND 1/0 = 1", False),
        ("true OR 1/0 = 1", True),
        ("CASE WHEN true THEN 1 ELSE 1 div 0 END", 1),
        ("coalesce(1, 1 div 0)", 1),
        ("1 IN (1, 1 div 0)", True),
        ("NULL + 1 div 0", None),
        ("NULL > 1 div 0", None),
        ("(1 div 0) / NULL", None),
    ],
)
def test_operands_that_do_not_matter_are_not_evaluated(text: str, result: object) -> None:
    assert value(text) == result


@pytest.mark.parametrize("text", ["NULL AND 1/0 = 1", "1 IN (2, 1 div 0)", "1 div 0 > NULL", "NULL <=> 1 div 0"])
def test_operands_that_matter_raise(text: str) -> None:
    refuses(EvaluationError, None, value, text)


def test_an_empty_in_is_false_but_null_for_null() -> None:
    assert evaluate(In(Literal(1, INTEGER), ()), {}) is False


def test_rows_give_the_values_of_columns() -> None:
    bound = bind(parse_sql("st.a + i > 3"), SCHEMA)
    assert evaluate(bound, {("st", "a"): 2, ("i",): 2}) is True
    assert evaluate(bound, {("st", "a"): None, ("i",): 2}) is None
    refuses(Undecided, r"st\.a", evaluate, bound, {("i",): 2})


def test_time_zones_decide_fields_of_instants_but_not_of_local_times() -> None:
    row = {("ts",): 1704067199999999, ("n",): 1704067199999999}
    for text, zone, result in [
        ("year(ts)", "UTC", 2023),
        ("year(ts)", "Europe/Berlin", 2024),
        ("hour(ts)", "Asia/Kolkata", 5),
        ("minute(ts)", "Asia/Kolkata", 29),
        ("year(n)", "Europe/Berlin", 2023),
        ("hour(n)", "Asia/Kolkata", 23),
    ]:
        assert evaluate(bind_expression(parse_sql(text), SCHEMA, time_zone=zone), row, zone) == result


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("CAST(ts AS TIMESTAMP_NTZ) <= TIMESTAMP'2024-10-27 02:30:00'", {("ts",): 1729990800000001}),
        ("n <= TIMESTAMP'2024-10-27 02:30:00'", {("n",): 1729994400000000}),
        ("dt < TIMESTAMP'2024-03-31 12:00:00'", {("dt",): 19813}),
    ],
)
def test_local_times_of_columns_near_a_change_of_clocks_are_left_undecided(
    text: str, row: dict[tuple[str, ...], object]
) -> None:
    # Spark compares the column with the constant's cast instead: for the first row it answers FALSE, not TRUE.
    bound = bind(parse_sql(text), SCHEMA, time_zone="Europe/Berlin")
    refuses(Undecided, "clock change", evaluate, bound, row, "Europe/Berlin")
    assert evaluate(bind(parse_sql(text), SCHEMA), row) in (True, False)


def test_a_truncated_time_below_the_first_timestamp_raises() -> None:
    node = bind_expression(parse_sql("date_trunc('day', t)"), StructType((StructField("t", TIMESTAMP),)))
    assert evaluate(node, {("t",): 2**63 - 1}, "UTC") == 9_223_372_022_400_000_000
    refuses(EvaluationError, "out of range", evaluate, node, {("t",): -(2**63)}, "UTC")


def test_constants_near_a_change_of_clocks_are_folded() -> None:
    bound = bind(parse_sql("ts >= DATE'2024-03-31'"), SCHEMA, time_zone="Europe/Berlin")
    assert isinstance(bound, Compare)
    assert bound.right == Literal(1711839600000000, TIMESTAMP)


def ignoring_case(collation: str, left: str, right: str) -> int:
    assert collation == "icu.UNICODE_CI"
    return (left.lower() > right.lower()) - (left.lower() < right.lower())


def test_collated_comparisons_use_the_given_order() -> None:
    lower = Literal("a", STRING)
    row = {("c",): "A", ("e",): "A"}
    assert evaluate(Compare("=", CI, lower), row, order=ignoring_case) is True
    assert evaluate(Compare("<", CI, lower), row, order=ignoring_case) is False
    assert evaluate(In(CI, (Literal("b", STRING), lower)), row, order=ignoring_case) is True
    assert evaluate(Compare("=", BARE, lower), row, order=ignoring_case) is False
    schema = StructType((StructField("c", STRING, metadata={"__COLLATIONS": {"c": "icu.UNICODE_CI"}}),))
    assert evaluate(bind(parse_sql("c COLLATE UTF8_BINARY = 'a'"), schema), row) is False
    assert evaluate(bind(parse_sql("c IS NULL"), schema), row) is False


def not_here(collation: str, left: str, right: str) -> int:
    raise LookupError(collation)


def test_collations_that_are_not_there_leave_the_answer_open() -> None:
    lower = Literal("a", STRING)
    row = {("c",): "A"}
    for order in (None, not_here):
        with pytest.raises(Undecided, match="UNICODE_CI"):
            evaluate(Compare("=", CI, lower), row, order=order)
    for pattern in (Like(CI, lower), StartsWith(CI, lower)):
        refuses(Undecided, None, evaluate, pattern, row, order=ignoring_case)


def test_nan_and_infinities_become_null_decimals() -> None:
    for text in ("NaN", "Infinity", "-Infinity"):
        assert value(f"CAST(CAST('{text}' AS DOUBLE) AS DECIMAL(10,2))") is None


def test_quotients_of_decimals_are_rounded_once() -> None:
    """The value is that of Spark 4.1; rounded to 39 places first, its last digit would be 7."""
    small = "CAST('0.12345678901234567890123456789012345675' AS DECIMAL(38,38))"
    assert value(f"{small} / 4611686018427387905L") == Decimal("2.677042377105394766E-20")


def test_determinism_is_claimed_for_known_functions_only() -> None:
    for text, result in [
        ("upper(s) = 'x' AND i + 1 > 2", True),
        ("rand() > 0.5", False),
        ("my_udf(i) = 1", False),
        ("EXISTS (SELECT 1)", False),
        ("current_date() = dt", False),
    ]:
        assert deterministic(bind(parse_sql(text), SCHEMA)) is result


def test_wrong_escapes_in_patterns_raise() -> None:
    refuses(EvaluationError, None, value, r"'abc' LIKE 'a\\bc'")
    refuses(EvaluationError, None, value, r"'abc' LIKE 'abc\\'")


def test_patterns_with_many_wildcards_take_no_exponential_time() -> None:
    text, pattern = Literal("a" * 2000, STRING), Literal("%a" * 50 + "b", STRING)
    assert evaluate(Like(text, pattern), {}) is False
    assert evaluate(Not(Like(text, pattern)), {}) is True


def test_unbound_columns_cannot_be_evaluated() -> None:
    refuses(Undecided, None, lambda: evaluate(parse_sql("a = 1"), {("a",): 1}))
    refuses(Undecided, None, compare_values, 1, "x")


def test_conflicting_collations_are_refused_while_binding() -> None:
    schema = StructType(
        (StructField("c", STRING, metadata={"__COLLATIONS": {"c": "icu.UNICODE_CI"}}), StructField("d", STRING))
    )
    refuses(PredicateError, None, lambda: bind(parse_sql("c = d"), schema))


def test_folded_constants_keep_their_type() -> None:
    assert bind_expression(parse_sql("1.5D * 2"), EMPTY) == Literal(3.0, DOUBLE)
    assert bind_expression(parse_sql("NULL = 1"), EMPTY) == Literal(None, BOOLEAN)


@pytest.mark.parametrize("type_", ["TIMESTAMP", "TIMESTAMP_NTZ"])
def test_a_zone_that_only_java_may_know_leaves_a_timestamp_undecided(type_: str) -> None:
    refuses(Undecided, "left to Spark", value, f"CAST('2024-01-01 00:00:00 SystemV/PST8' AS {type_})")

"""Preimages of arithmetic that overflows, against every value of a small type: it wraps around as in Java or raises."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from deltaskip.skipping.proofs.leaf_values import leaf_values
from deltaskip.skipping.proofs.preimage.preimage import steps_of
from deltaskip.skipping.proofs.preimage.pull_back import _threshold as threshold
from deltaskip.skipping.proofs.preimage.pull_back import pull_back
from deltaskip.skipping.proofs.preimage.value_sets import ValueSet, holds
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.preimages.ordinals import Domain
from deltaskip.sparkexpr.preimages.steps import Monotone, rising
from tests.looped import looped

BYTES = range(-128, 128)
COMPARISONS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge}
SCHEMA = t.StructType(
    (t.StructField("b", t.BYTE), t.StructField("i", t.INTEGER), t.StructField("l", t.LONG), t.StructField("d", t.DATE))
)

SUMS: dict[str, Callable[[int], int]] = {
    "b + 127Y": lambda x: x + 127,
    "b + -128Y": lambda x: x - 128,
    "100Y + b": lambda x: x + 100,
    "b - 127Y": lambda x: x - 127,
    "-100Y - b": lambda x: -100 - x,
    "b * 2Y": lambda x: x * 2,
    "b * 12Y": lambda x: x * 12,
    "b * -1Y": lambda x: -x,
    "b * -3Y": lambda x: x * -3,
    "-b": lambda x: -x,
    "abs(b)": abs,
    "abs(b - 100Y)": lambda x: abs(wrapped(x - 100)),
    "-(b + 1Y)": lambda x: -wrapped(x + 1),
    "(b + 100Y) * 3Y": lambda x: wrapped(x + 100) * 3,
}
REMAINDERS: dict[str, Callable[[int], int]] = {
    "(b + 1Y) % 5Y": lambda x: java_remainder(wrapped(x + 1), 5),
    "(b - 100Y) % -7Y": lambda x: java_remainder(wrapped(x - 100), 7),
    "pmod(b + 120Y, 7Y)": lambda x: wrapped(x + 120) % 7,
    "pmod((b + 100Y) - 30Y, 16Y)": lambda x: wrapped(wrapped(x + 100) - 30) % 16,
}


def wrapped(x: int) -> int:
    return (x + 128) % 256 - 128


def java_remainder(x: int, by: int) -> int:
    return abs(x) % by if x >= 0 else -(abs(x) % by)


@looped("op", COMPARISONS)
@looped("sql", SUMS)
def test_the_preimage_of_a_sum_or_product_is_exact(sql: str, op: str) -> None:
    for literal in (-128, -127, -36, -1, 0, 1, 24, 127):
        found = leaf_values(bind_expression(parse_sql(f"{sql} {op} CAST({literal} AS TINYINT)"), SCHEMA), "UTC")
        assert found is not None
        expected = [x for x in BYTES if COMPARISONS[op](wrapped(SUMS[sql](x)), literal)]
        assert [x for x in BYTES if holds(found[1], x)] == expected, literal


@looped("op", COMPARISONS)
@looped("sql", REMAINDERS)
def test_the_preimage_of_a_remainder_has_all_values_that_overflow(sql: str, op: str) -> None:
    for literal in range(-6, 7):
        found = leaf_values(bind_expression(parse_sql(f"{sql} {op} CAST({literal} AS TINYINT)"), SCHEMA), "UTC")
        assert found is not None
        for x in BYTES:
            if COMPARISONS[op](REMAINDERS[sql](x), literal):
                assert holds(found[1], x), (x, literal)


@pytest.mark.parametrize(
    ("where", "without"),
    [
        ("(i + 1) % 5 = 3", range(3, 7)),
        ("pmod(i - 10, 100) = 44", range(55, 150)),
        ("month(date_add(d, 5)) = 3", range(100, 400)),
        ("i + 2147483647 = -2147483644", (*range(-100, 5), *range(6, 100), 2**31 - 1, -(2**31))),
        ("l * 12 = 24", (1, 3, 2**62, 2**63 - 1)),
        ("datediff(d, DATE'2024-01-01') = 3", (19_722, 19_724, 2**31 - 1, -(2**31))),
    ],
)
def test_arguments_that_neither_match_nor_overflow_to_a_match_are_outside(where: str, without: Sequence[int]) -> None:
    found = leaf_values(bind_expression(parse_sql(where), SCHEMA), "UTC")
    assert found is not None
    held = [x for x in without if holds(found[1], x)]
    # A month of 2024 has at most 31 days of each 365.
    assert len(held) <= (31 if "month" in where else 0), held


@pytest.mark.parametrize("falling", [False, True])
def test_a_threshold_is_the_same_wherever_its_search_starts(falling: bool) -> None:
    sign = -1 if falling else 1
    step = rising(Domain(-300, 301), lambda x: sign * (x // 7), falling)
    for result in range(-50, 51):
        plain = threshold(step.f, step.pieces[0], result)
        for start in (-(10**9), -300, -299, -1, 0, 1, 77, 300, 301, 10**9, result * 7, result * 7 + 6):
            assert threshold(step.f, step.pieces[0], result, lambda _, at=start: at) == plain, (result, start)


@looped(
    "sql",
    [
        "year(d)", "trunc(d, 'MONTH')", "last_day(d)", "add_months(d, 3)", "CAST(m AS INT)", "CAST(m AS SMALLINT)",
        "CAST(m AS BIGINT)", "unix_timestamp(ts)", "l div 7", "l * -3L", "m + 1.5BD", "m - 1.5BD", "1.5BD - m",
        "m * 2.5BD", "m / -4BD", "m div 3BD", "round(m, 1)", "CAST(x AS INT)", "floor(x)",
    ],
)  # fmt: skip
def test_the_search_for_a_threshold_starts_near_it(sql: str) -> None:
    more = (t.StructField("m", t.DecimalType(20, 2)), t.StructField("x", t.DOUBLE), t.StructField("ts", t.TIMESTAMP))
    node = bind_expression(parse_sql(sql), t.StructType(SCHEMA.fields + more))
    found = steps_of(node, "UTC")
    assert found is not None
    (step,) = found[1]
    assert isinstance(step, Monotone)
    evaluated = 0

    def counted(x: int) -> int:
        nonlocal evaluated
        evaluated += 1
        result: int = step.f(x)
        return result

    pull_back(replace(step, f=counted), ValueSet(((2020, 2021),)))
    assert 0 < evaluated <= 48

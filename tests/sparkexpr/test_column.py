"""Predicates built with Python operators."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from deltaskip.errors import InvalidArgumentType, PredicateError
from deltaskip.sparkexpr import ColumnExpr, col, lit, parse_sql, to_node
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.nodes import Cast, Column, Literal, Or
from tests.each import refuses
from tests.sparkexpr.predicates import SCHEMA


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (col("i") == 5, "i = 5"),
        (col("i") != 5, "i != 5"),
        (col("i") < 5, "i < 5"),
        (col("i") > 5, "i > 5"),
        (col("i") <= 5, "i <= 5"),
        (col("i") >= col("l"), "i >= l"),
        ((col("i") > 5) & ~(col("s") == "x"), "i > 5 AND NOT s = 'x'"),
        ((col("i") > 5) | (col("s") == "x"), "i > 5 OR s = 'x'"),
        (True & (col("i") > 5), "true AND i > 5"),
        (False | (col("i") > 5), "false OR i > 5"),
        (col("i") + 1 == 2, "i + 1 = 2"),
        (1 - col("i") == 2, "1 - i = 2"),
        (2 * col("i") / 3 > 1, "2 * i / 3 > 1"),
        (col("i") % 2 == -col("l"), "i % 2 = -l"),
        (1 + col("i") == 10 % col("i"), "1 + i = 10 % i"),
        (1 / col("d") == col("d") * 2 - 1, "1 / d = d * 2 - 1"),
        (col("i").isin(1, 2), "i IN (1, 2)"),
        (col("i").isin([1, None]), "i IN (1, NULL)"),
        (col("i").between(1, 2), "i BETWEEN 1 AND 2"),
        (col("i").is_null(), "i IS NULL"),
        (col("i").is_not_null(), "i IS NOT NULL"),
        (col("s").like("a!%", "!"), "s LIKE 'a!%' ESCAPE '!'"),
        (col("s").ilike("a%"), "s ILIKE 'a%'"),
        (col("s").startswith("a"), "startswith(s, 'a')"),
        (col("s").endswith("a"), "endswith(s, 'a')"),
        (col("s").contains(col("s")), "contains(s, s)"),
        (col("s").rlike("^a"), "s RLIKE '^a'"),
        (col("i").eq_null_safe(None), "i <=> NULL"),
        (col("i").cast("decimal(10, 2)") == 1, "CAST(i AS decimal(10,2)) = 1"),
        (col("i").cast(t.LONG) == 1, "CAST(i AS bigint) = 1"),
        (col("s").collate("UNICODE") == "a", "s COLLATE UNICODE = 'a'"),
        (col("st.a") == 1, "st.a = 1"),
    ],
)
def test_operators_mean_what_their_sql_means(built: ColumnExpr, text: str) -> None:
    assert bind(built.node, SCHEMA) == bind(parse_sql(text), SCHEMA)


@pytest.mark.parametrize(
    ("value", "literal", "type_"),
    [
        (None, None, t.VOID),
        (True, True, t.BOOLEAN),
        (5, 5, t.INTEGER),
        (2**31, 2**31, t.LONG),
        (2**63, Decimal(2**63), t.DecimalType(19, 0)),
        (1.5, 1.5, t.DOUBLE),
        ("x", "x", t.STRING),
        (b"x", b"x", t.BINARY),
        (bytearray(b"x"), b"x", t.BINARY),
        (Decimal("1.50"), Decimal("1.50"), t.DecimalType(3, 2)),
        (Decimal("1E+3"), Decimal(1000), t.DecimalType(4, 0)),
        (date(1970, 1, 2), 1, t.DATE),
        (datetime(1970, 1, 1, 0, 0, 1, 5, UTC), 1_000_005, t.TIMESTAMP),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 0, t.TIMESTAMP),
        (datetime(1, 1, 1, tzinfo=UTC), -62135596800000000, t.TIMESTAMP),
    ],
)
def test_python_values_become_literals_of_pyspark_s_types(value: object, literal: object, type_: t.DataType) -> None:
    assert lit(value).node == Literal(literal, type_)


def test_a_datetime_without_a_zone_is_read_in_the_session_s() -> None:
    node = to_node(datetime(2024, 1, 15, 10, 11, 12, 500_000))
    assert node == Cast(Literal("2024-01-15 10:11:12.5", t.STRING), t.TIMESTAMP)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("`a.b`.c", ("a.b", "c")),
        ("a.`b``c`", ("a", "b`c")),
        ("with space", ("with space",)),
    ],
)
def test_names_split_at_dots_outside_backquotes(name: str, parts: tuple[str, ...]) -> None:
    assert col(name).node == Column(parts)


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "`a", "a`b`", "`a`b"])
def test_broken_names_are_refused(name: str) -> None:
    refuses(PredicateError, None, col, name)


def test_python_s_and_or_not_are_refused_with_the_cure() -> None:
    refuses(TypeError, "&", lambda: bool(col("i") > 5))
    with pytest.raises(TypeError, match="between"):
        _ = 1 < col("i") < 5
    with pytest.raises(TypeError, match="isin"):
        _ = 1 in col("i")
    refuses(TypeError, None, iter, col("i"))


def test_values_without_a_type_are_refused() -> None:
    refuses(PredicateError, None, lit, Decimal("NaN"))
    refuses(PredicateError, None, lambda: lit(Decimal(10) ** 40))
    refuses(PredicateError, None, lambda: col("i").cast("array<int>"))
    refuses(PredicateError, None, lambda: col("s").like("x", "ab"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: col(5),
        lambda: col(None),
        lambda: lit(object()),
        lambda: lit({1}),
        lambda: col("i") == object(),
        lambda: col("i").isin(object()),
        lambda: col("s").like("x", 5),
        lambda: col("s").cast(5),
        lambda: col("s").collate(5),
        lambda: bool(col("i") > 5),
        lambda: iter(col("i")),
        lambda: 1 in col("i"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(make: Callable[[], object]) -> None:
    refuses(InvalidArgumentType, None, make)


def test_long_chains_stay_flat() -> None:
    chain = col("i") == 0
    for number in range(1, 3000):
        chain = chain | (col("i") == number)
    assert isinstance(chain.node, Or)
    assert len(chain.node.children) == 3000


def test_names_of_other_libraries_are_answered_with_those_of_here() -> None:
    asked = {"is_in": "isin", "isNull": "is_null", "isNotNull": "is_not_null", "eqNullSafe": "eq_null_safe",
             "is_between": "between", "ends_with": "endswith", "notna": "is_not_null"}  # fmt: skip
    for name, method in asked.items():
        refuses(AttributeError, rf"no {name}: use {method}\(", getattr, col("i"), name)
    refuses(AttributeError, "write the predicate as SQL text", lambda: col("i").upper())
    assert not hasattr(col("i"), "__array__")

"""Types and collations in which operands meet, with and without ANSI mode, against Spark itself: row by row."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.collations.lookup import SPARK_VERSION
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.floats import nearest_float
from tests.extent import extent

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("settings_put_back")]

DDL = (
    "id INT, i INT, l BIGINT, f FLOAT, m DECIMAL(12,3), s STRING, u STRING COLLATE UNICODE_CI, "
    "lc STRING COLLATE UTF8_LCASE, dt DATE, ts TIMESTAMP, b BOOLEAN"
)
ROWS: list[tuple[Any, ...]] = [
    (0, 2147483647, 2**53 + 1, 1.5, "1.500", "1", "A", "a", date(2024, 1, 31), datetime(2024, 1, 31, tzinfo=UTC), True),
    (1, 2147483646, 2**53, 0.1, "-0.100", "01", "a", "A", date(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC), False),
    (2, 16777217, 2**63 - 1, 16777216.0, "2.000", "x", "ab ", "AB", None, datetime(1582, 10, 10, tzinfo=UTC), True),
    (3, 1, 16777217, float("nan"), "0.000", "1.0", "ax", "Ab", date(1582, 10, 10), None, None),
    (4, 5, 5, float("inf"), "5.000", "5", "Zz", "ss", date(2024, 1, 1), datetime(2024, 1, 1, 12, tzinfo=UTC), False),
    (5, None, None, None, None, None, None, None, None, None, None),
]
PREDICATES = (
    *("i = 2147483647F", "i <=> 2147483647F", "i > 16777216F", "i IN (16777216F, 1)", "i IN (1, 2147483647F, 5L)"),
    *("i BETWEEN 16777216F AND 16777217F", "l = 9007199254740992F", "l = 9007199254740992D", "l < 16777217F"),
    *("i = f", "l IN (16777216F)", "f = 16777217", "f IN (16777217, 2)", "f > 1e300", "f = 0.1", "f = 0.1F"),
    *("i + 1F = 2", "-i = 1F", "s = 1", "s IN (1, 5)", "i = '1'", "i IN ('1', 'x')", "i IN ('01', 5)"),
    *("m IN ('1.5', 2)", "m = '1.5'", "f = '0.1'", "sign(m) NOT IN ('5', '1', -0.1)"),
    *("dt IN ('2024-01-31', TIMESTAMP'1970-01-01 00:00:00')", "dt = '2024'"),
    *("ts NOT IN ('2024', DATE'2024-01-01')", "dt IN (TIMESTAMP'2024-01-01 00:00:00', DATE'1970-01-01')"),
    *("ts = dt", "date_trunc('MONTH', ts) NOT IN ('1582-10-10', DATE'2024-01-01')", "b = 'true'", "b IN ('true')"),
    *("s > 0", "coalesce(i, 'x') = '5'", "if(b, i, 'x') = '5'", "if(b, i, 2F) = 2147483647F"),
    *("nullif(i, 1F) IS NULL", "CASE WHEN b THEN i WHEN i = 1 THEN s ELSE 'q' END = '2147483647'"),
    *("nvl(dt, 'x') = '2024-01-31'", "s + 1 = 2", "if(b, u, 'a') IN ('ax', 'ab ', 'a')", "if(b, u, 'a') <= 'ab'"),
    *("if(b, 'a', u) = 'A'", "coalesce(u, 'a') = 'A'", "CASE WHEN b THEN lc ELSE 'A' END = 'a'"),
    *("nvl2(s, u, 'q') = 'A'", "CASE lc WHEN 'A' THEN 1 END = 1", "u || lc IS NULL", "u || 'x' = 'AX'"),
    *("concat(u, 'x') IN ('AX')", "concat('x', u, u) > 'XAA'", "concat(u, CAST(i AS STRING)) = 'A1'"),
    *("substring(u, 1, 1) = 'A'", "left(lc, 1) IN ('A')", "reverse(u) = 'A'", "upper(u) = 'a'"),
    *("CASE WHEN b THEN 'a' END = u", "if(b, u, s) = 'a'", "coalesce(u, lc) = 'a'"),
    *("if(b, u, lc COLLATE UNICODE_CI) = 'A'", "length(coalesce(u, lc)) = 1"),
    *("CAST(coalesce(u, lc) AS STRING) = 'A'", "CAST(u AS STRING COLLATE UTF8_LCASE) = 'a'", "u IN ('A', s)"),
    *("s = u", "s = 5BD", "u < 5BD", "CAST(l AS DECIMAL(20, 0)) <=> s", "CAST(l AS DECIMAL(20, 0)) IN (s, '5')"),
    "CAST(i AS DECIMAL(10, 0)) = '4.5'",
)  # fmt: skip


@pytest.mark.parametrize("ansi", [True, False])
def test_operands_meet_as_in_spark(spark: Any, ansi: bool) -> None:
    from pyspark.errors import PySparkException

    spark.conf.set("spark.sql.ansi.enabled", ansi)
    given = [(*row[:4], None if row[4] is None else Decimal(row[4]), *row[5:]) for row in ROWS]
    frame = spark.createDataFrame(given, DDL).coalesce(1)
    decided = 0
    chosen = extent(PREDICATES[ansi::12], PREDICATES)
    for text in chosen:
        ours = answers(text, ansi)
        try:
            theirs = [row[0] for row in frame.selectExpr("id", f"({text}) AS c").orderBy("id").select("c").collect()]
        except PySparkException:
            assert ours is None or "COLLATION" in text.upper() or any(isinstance(v, EvaluationError) for v in ours), (
                text
            )
            continue
        assert ours is not None, f"{text}: refused here"
        wrong = [(here, there) for here, there in zip(ours, theirs, strict=True) if here is not there]
        assert all(isinstance(here, EvaluationError) for here, _ in wrong), f"{text}, ANSI {ansi}: {wrong}"
        decided += not wrong
    assert decided > len(chosen) * 0.6


def answers(text: str, ansi: bool) -> list[Any] | None:
    """The value of the predicate for each row, or its error; None if it is refused."""
    schema = parse_columns(DDL)
    order = Collations(SPARK_VERSION).order
    try:
        bound = bind(parse_sql(text), schema, ansi=ansi)
    except PredicateError:
        return None
    found: list[Any] = []
    for row in ROWS:
        try:
            found.append(evaluate(bound, in_domain(row), "UTC", order))
        except EvaluationError as error:
            found.append(error)
    return found


def in_domain(row: tuple[Any, ...]) -> dict[tuple[str, ...], object]:
    names = [field.split()[0] for field in DDL.split(", ")]
    values = dict(zip(names, row, strict=True))
    for name, value in values.items():
        match value:
            case datetime():
                values[name] = round((value - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
            case date():
                values[name] = (value - date(1970, 1, 1)).days
            case str() if name == "m":
                values[name] = Decimal(value)
            case float() if name == "f":
                values[name] = nearest_float(Decimal(value)) if value == 0.1 else value
    return {(name,): value for name, value in values.items()}

"""Texts, numbers and types of intervals are those of Spark, and what Spark refuses is refused."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import sparkexpr
from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.nodes import Literal
from deltaskip.sparkexpr.text.sql_text import quoted_text
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import refuses
from tests.looped import looped

# Each literal with the text and, if Spark has one, the number to which Spark 4.1 casts it.
VALUES: dict[str, tuple[str, int | None, str | None]] = {
    "INTERVAL '1' YEAR": ("INTERVAL '1' YEAR", 1, "1.000000"),
    "INTERVAL '-13' MONTH": ("INTERVAL '-13' MONTH", -13, "-13.000000"),
    "INTERVAL '-1-2' YEAR TO MONTH": ("INTERVAL '-1-2' YEAR TO MONTH", -14, "-14.000000"),
    "INTERVAL '1' DAY": ("INTERVAL '1' DAY", 1, "1.000000"),
    "INTERVAL '-1 02' DAY TO HOUR": ("INTERVAL '-1 02' DAY TO HOUR", -26, "-26.000000"),
    "INTERVAL '1 02:03' DAY TO MINUTE": ("INTERVAL '1 02:03' DAY TO MINUTE", 1563, "1563.000000"),
    "INTERVAL '-1 02:03:04.000001' DAY TO SECOND": (
        "INTERVAL '-1 02:03:04.000001' DAY TO SECOND", -93784, "-93784.000001",
    ),
    "INTERVAL '5' HOUR": ("INTERVAL '05' HOUR", 5, "5.000000"),
    "INTERVAL '-30' HOUR": ("INTERVAL '-30' HOUR", -30, "-30.000000"),
    "INTERVAL '5:06' HOUR TO MINUTE": ("INTERVAL '05:06' HOUR TO MINUTE", 306, "306.000000"),
    "INTERVAL '-30:06:07' HOUR TO SECOND": ("INTERVAL '-30:06:07' HOUR TO SECOND", -108367, "-108367.000000"),
    "INTERVAL '5' MINUTE": ("INTERVAL '05' MINUTE", 5, "5.000000"),
    "INTERVAL '90:07.25' MINUTE TO SECOND": ("INTERVAL '90:07.25' MINUTE TO SECOND", 5407, "5407.250000"),
    "INTERVAL '-5.75' SECOND": ("INTERVAL '-05.75' SECOND", -5, "-5.750000"),
    "INTERVAL '0' SECOND": ("INTERVAL '00' SECOND", 0, "0.000000"),
    "INTERVAL '0' YEAR": ("INTERVAL '0' YEAR", 0, "0.000000"),
    "INTERVAL 1 WEEK": ("INTERVAL '7' DAY", 7, "7.000000"),
    "INTERVAL 1 YEAR 2 MONTHS": ("INTERVAL '1-2' YEAR TO MONTH", 14, "14.000000"),
    "INTERVAL 1 DAY 2 HOURS": ("INTERVAL '1 02' DAY TO HOUR", 26, "26.000000"),
    "INTERVAL 3 HOURS 4 SECONDS": ("INTERVAL '03:00:04' HOUR TO SECOND", 10804, "10804.000000"),
    "INTERVAL '7 days 2 hours'": ("INTERVAL '7 02' DAY TO HOUR", 170, "170.000000"),
    "INTERVAL 1 MILLISECOND": ("INTERVAL '00.001' SECOND", 0, "0.001000"),
    "INTERVAL '1 week 1 day'": ("INTERVAL '8' DAY", 8, "8.000000"),
    "make_dt_interval(1,2,3,4.5)": ("INTERVAL '1 02:03:04.5' DAY TO SECOND", 93784, "93784.500000"),
    "make_ym_interval(1,2)": ("INTERVAL '1-2' YEAR TO MONTH", 14, "14.000000"),
    "make_interval(1,2,3,4,5,6,7.008)": ("1 years 2 months 25 days 5 hours 6 minutes 7.008 seconds", None, None),
    "make_interval(0,-2,0,-4,0,0,-1.5)": ("-2 months -4 days -1.5 seconds", None, None),
    "make_interval()": ("0 seconds", None, None),
}  # fmt: skip
SCHEMA = parse_columns("s STRING, n BIGINT, d DATE, ts TIMESTAMP, c BOOLEAN")


def value_of(text: str) -> Any:
    node = bind_expression(parse_sql(text), SCHEMA)
    return node.value if isinstance(node, Literal) else node


@looped("literal", VALUES)
def test_the_text_and_the_number_are_those_of_spark(literal: str) -> None:
    text, whole, exact = VALUES[literal]
    for form in ("CAST({} AS STRING)", "TRY_CAST({} AS STRING)", "string({})", "coalesce(CAST({} AS STRING), '')"):
        assert value_of(form.format(literal)) == text
    if whole is None or exact is None:
        refuses(PredicateError, "cannot be cast to BIGINT", value_of, f"CAST({literal} AS BIGINT)")
        return
    assert value_of(f"concat('a', {literal})") == f"a{text}"
    assert value_of(f"CAST(array({literal}) AS STRING)") == f"[{text}]"
    assert value_of(f"CAST(struct({literal} AS x) AS STRING)") == f"{{{text}}}"
    assert value_of(f"CAST(map('a', {literal}) AS STRING)") == f"{{a -> {text}}}"
    assert value_of(f"CAST(CASE WHEN true THEN {literal} END AS STRING)") == text
    assert value_of(f"CAST({literal} AS BIGINT)") == value_of(f"bigint({literal})") == whole
    assert value_of(f"CAST({literal} AS DECIMAL(20,6))") == Decimal(exact)
    assert value_of(f"TRY_CAST({literal} AS TINYINT)") == (whole if -128 <= whole < 128 else None)


@looped("target", ["FLOAT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "BINARY", "VARIANT",
                   "ARRAY<STRING>", "MAP<STRING, STRING>", "STRUCT<a: STRING>"])  # fmt: skip
def test_what_spark_refuses_is_refused_when_it_is_bound(target: str) -> None:
    for literal in ("INTERVAL '5' HOUR", "INTERVAL '1' MONTH", "make_interval(1)"):
        for cast in ("CAST", "TRY_CAST"):
            for ansi in (True, False):
                with pytest.raises(PredicateError, match="cannot be cast"):
                    bind_expression(parse_sql(f"{cast}({literal} AS {target})"), SCHEMA, ansi=ansi)


REFUSED = (
    *("s = INTERVAL '1' DAY", "s IN (INTERVAL '1' DAY)", "s BETWEEN INTERVAL '1' DAY AND INTERVAL '2' DAY"),
    *("INTERVAL 13 MONTHS > INTERVAL '-3' HOUR", "n <=> INTERVAL '1' DAY", "make_interval(1) = s"),
    *("INTERVAL 1 DAY IN (INTERVAL 1 MONTH)", "d < INTERVAL 1 DAY", "make_interval(1) = make_interval()"),
)


@looped("predicate", REFUSED)
def test_comparisons_that_spark_refuses_are_refused_by_a_scan(tmp_path: Path, predicate: str) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "s STRING, n BIGINT, d DATE")
    refuses(PredicateError, "not a valid comparison", lambda: table.scan(predicate).files())


def test_numbers_of_intervals_prune_and_are_written(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "s STRING, n BIGINT")
    table.append(pa.table({"s": ["x"], "n": pa.array([5], pa.int64())}))
    assert table.scan("n = CAST(INTERVAL '5' HOUR AS BIGINT)").to_arrow().num_rows == 1
    table.update({"s": "CAST(INTERVAL '1' DAY AS STRING)", "n": "CAST(INTERVAL '2' DAY AS BIGINT)"})
    assert table.scan().to_arrow().to_pylist() == [{"s": "INTERVAL '1' DAY", "n": 2}]
    assert table.scan("s = CAST(INTERVAL 1 DAY AS STRING)").to_arrow().num_rows == 1


def test_intervals_of_other_units_are_equal_if_they_are_as_long() -> None:
    assert value_of("INTERVAL 1 DAY = INTERVAL 24 HOURS") is True
    assert value_of("INTERVAL 1 YEAR > INTERVAL 11 MONTHS") is True
    assert value_of("typeof(INTERVAL '5:06' HOUR TO MINUTE)") == "interval hour to minute"


@pytest.mark.spark
def test_spark_has_the_same_texts_and_numbers(expression_session: Any) -> None:
    expression_session.conf.set("spark.sql.ansi.enabled", "true")
    forms = [f"CAST({literal} AS STRING)" for literal in VALUES]
    forms += [f"CAST({literal} AS BIGINT)" for literal, value in VALUES.items() if value[1] is not None]
    row = expression_session.sql(f"SELECT {', '.join(forms)}").first()
    assert list(row) == [value_of(form) for form in forms]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("CAST(struct(INTERVAL '1' DAY AS x, n) AS STRING)", "{INTERVAL '1' DAY, 1}"),
        ("CAST(struct(INTERVAL '-3' HOUR AS x, n) AS STRING)", "{INTERVAL '-03' HOUR, 1}"),
        ("CAST(struct(INTERVAL '2-3' YEAR TO MONTH AS x, n) AS STRING)", "{INTERVAL '2-3' YEAR TO MONTH, 1}"),
        (
            "CAST(struct(INTERVAL '106751991 04:00:54.775807' DAY TO SECOND AS x, n) AS STRING)",
            "{INTERVAL '106751991 04:00:54.775807' DAY TO SECOND, 1}",
        ),
        ("CAST(array(struct(INTERVAL '10.25' SECOND AS x, n)) AS STRING)", "[{INTERVAL '10.25' SECOND, 1}]"),
        ("CAST(map(n, INTERVAL '4' YEAR) AS STRING)", "{1 -> INTERVAL '4' YEAR}"),
        ("struct(INTERVAL '1' DAY AS x, n).n", 1),
    ],
)
def test_intervals_beside_columns_in_nested_values(text: str, first: object) -> None:
    """The texts are those of Spark 4.1.4."""
    rows = pa.table({"n": [1, 2]})
    assert sparkexpr.evaluate(text, rows).to_pylist()[0] == first
    literal = str(first) if isinstance(first, int) else quoted_text(str(first))
    assert sparkexpr.filter(f"{text} = {literal}", rows).to_pylist() == [{"n": 1}]

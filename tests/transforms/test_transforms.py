"""Transforms as values, as SQL text, and as the generated columns that contain them."""

from typing import Any

import pytest

from deltaskip import transforms as t
from deltaskip.errors import InvalidArgument, InvalidArgumentType, SchemaError
from deltaskip.schema.user_schema import schema_of
from deltaskip.transforms.generated_columns import partitioned, transform_of
from deltaskip.transforms.parse_transforms import parse_transform, transforms_of
from tests.each import refuses
from tests.looped import looped

SCHEMA = schema_of(
    "id BIGINT, small SMALLINT, ts TIMESTAMP, local TIMESTAMP_NTZ, day DATE, name STRING, price DECIMAL(9,2), "
    "other STRING COLLATE UNICODE_CI, `a.b` STRUCT<`x y`: INT, ts: TIMESTAMP>"
)


@looped(
    "transform, column, expression",
    [
        (t.bucket("id", 16), "id_bucket", "pmod(hash(`id`), 16)"),
        (t.year("ts"), "ts_year", "year(`ts`)"),
        (t.year("day"), "day_year", "year(`day`)"),
        (t.month("ts"), "ts_month", "date_format(`ts`, 'yyyy-MM')"),
        (t.month("local"), "local_month", "substring(CAST(`local` AS STRING), 1, 7)"),
        (t.month("day"), "day_month", "date_format(`day`, 'yyyy-MM')"),
        (t.date("ts"), "ts_day", "CAST(`ts` AS DATE)"),
        (t.date("local"), "local_day", "CAST(`local` AS DATE)"),
        (t.datehour("ts"), "ts_hour", "date_format(`ts`, 'yyyy-MM-dd-HH')"),
        (t.datehour("local"), "local_hour", "substring(CAST(`local` AS STRING), 1, 13)"),
        (t.truncate("name", 3), "name_trunc", "substring(`name`, 0, 3)"),
        (t.truncate("id", 10), "id_trunc", "`id` - pmod(`id`, 10)"),
        (t.truncate("small", 10), "small_trunc", "`small` - pmod(`small`, 10)"),
        (t.identity("`a.b`.`x y`"), "a_b_x_y", "`a.b`.`x y`"),
        (t.date(("a.b", "ts")), "a_b_ts_day", "CAST(`a.b`.`ts` AS DATE)"),
    ],
)
def test_a_transform_is_a_generated_column_and_back(transform: t.Transform, column: str, expression: str) -> None:
    found = partitioned(SCHEMA, [transform], "the table")
    assert (found.partition_columns, found.hidden) == ((column,), (column,))
    field = found.schema.fields[-1]
    assert field.metadata == {"delta.generationExpression": expression}
    assert transform_of(found.schema, field) == transform
    assert partitioned(found.schema, [transform], "the table").hidden == ()


def test_a_column_itself_is_not_generated() -> None:
    found = partitioned(SCHEMA, [t.identity("NAME"), t.date("ts")], "the table")
    assert (found.partition_columns, found.hidden) == (("name", "ts_day"), ("ts_day",))
    assert transform_of(SCHEMA, SCHEMA.fields[5]) == t.identity("name")


def test_a_taken_name_gets_a_number() -> None:
    schema = schema_of("ts TIMESTAMP, TS_DAY STRING, ts_day_2 INT")
    assert partitioned(schema, [t.date("ts")], "the table").partition_columns == ("ts_day_3",)


@looped(
    "sql, transform",
    [
        ("CAST(ts AS DATE)", t.date("ts")),
        ("to_date(ts)", t.date("ts")),
        ("YEAR(ts)", t.year("ts")),
        ('date_format(ts, "yyyy-MM")', t.month("ts")),
        ("substr(name, 1, 4)", t.truncate("name", 4)),
        ("left(name, 4)", t.truncate("name", 4)),
        ("substring(CAST(day AS STRING), 1, 7)", t.month("day")),
        ("`a.b`.`x y`", t.identity(("a.b", "x y"))),
        ("upper(name)", t.Expression(("g",), "upper(name)")),
        ("date_format(ts, 'MM')", t.Expression(("g",), "date_format(ts, 'MM')")),
        ("id - pmod(small, 10)", t.Expression(("g",), "id - pmod(small, 10)")),
        ("not sql (", t.Expression(("g",), "not sql (")),
    ],
)
def test_expressions_of_other_writers_are_transforms(sql: str, transform: t.Transform) -> None:
    schema = schema_of("g STRING")
    field = schema.fields[0]
    generated = type(field)("g", field.type, True, {"delta.generationExpression": sql})
    assert transform_of(SCHEMA, generated) == transform


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (t.datehour("day"), r"partitioned by hours\(day\), because the column is date"),
        (t.year("name"), r"because the column is string"),
        (t.truncate("price", 5), r"because the column is decimal\(9,2\)"),
        (t.truncate("other", 5), r"with the collation .*UNICODE_CI"),
        (t.bucket("other", 5), r"with the collation"),
        (t.bucket("nothing", 5), r"no column nothing"),
        (t.identity("nothing"), r"no column nothing"),
    ],
)
def test_a_column_that_a_transform_does_not_take_is_refused(transform: t.Transform, message: str) -> None:
    refuses(SchemaError, message, partitioned, SCHEMA, [transform], "the table")


def test_a_transform_that_is_given_twice_is_refused() -> None:
    refuses(SchemaError, r"days\(.*\) twice", lambda: partitioned(SCHEMA, [t.date("ts"), t.date("TS")], "the table"))


@looped(
    "sql, transform",
    [
        ("region", t.identity("region")),
        ("identity(region)", t.identity("region")),
        ("days(ts)", t.date("ts")),
        ("date(ts)", t.date("ts")),
        ("day(ts)", t.date("ts")),
        ("`DAY` (st.ts)", t.date("st.ts")),
        ("hour(ts)", t.datehour("ts")),
        ("HOURS(ts)", t.datehour("ts")),
        ("datehour(ts)", t.datehour("ts")),
        ("months(st.ts)", t.month("st.ts")),
        ("years(`a b`)", t.year("`a b`")),
        ("bucket(16, id)", t.bucket("id", 16)),
        ("bucket(id, 16)", t.bucket("id", 16)),
        ("truncate(3, name)", t.truncate("name", 3)),
        ("truncate(name, 3)", t.truncate("name", 3)),
    ],
)
def test_sql_text_of_a_transform(sql: str, transform: t.Transform) -> None:
    assert parse_transform(sql) == transform
    assert parse_transform(str(transform)) == transform


@pytest.mark.parametrize(
    "sql", ["abs(x)", "days(ts) + 1", "dayofmonth(ts)", "bucket(4, a, b)", "bucket(0, a)", "1", "", "days()"]
)
def test_an_expression_that_is_no_transform_is_named(sql: str) -> None:
    refuses(InvalidArgument, r"transform|buckets must be", parse_transform, sql)


def test_the_two_arguments_of_a_transform_are_taken_in_both_orders() -> None:
    assert t.bucket(16, "st.id") == t.bucket("st.id", 16) == t.Bucket(16, "st.id") == t.Bucket("st.id", 16)
    assert t.truncate(3, ("a.b",)) == t.truncate(("a.b",), 3) == t.Truncate(("a.b",), 3)


def test_arguments_are_checked() -> None:
    wrong: list[tuple[Any, type[Exception]]] = [
        (lambda: t.bucket(16, 16), InvalidArgumentType),
        (lambda: t.bucket("id", "name"), InvalidArgumentType),
        (lambda: t.bucket(0, "id"), InvalidArgument),
        (lambda: t.bucket("id", 0), InvalidArgument),
        (lambda: t.bucket("id", True), InvalidArgumentType),
        (lambda: t.year(""), InvalidArgument),
        (lambda: t.year("a,b"), InvalidArgument),
        (lambda: transforms_of(5), InvalidArgumentType),
        (lambda: transforms_of([1]), InvalidArgumentType),
    ]
    for call, error in wrong:
        refuses(error, None, call)
    assert transforms_of(["a", t.date("b")]) == (t.identity(("a",)), t.date("b"))
    assert (transforms_of("a"), transforms_of(t.date("b"))) == ((t.identity(("a",)),), (t.date("b"),))
    assert transforms_of(None) == ()

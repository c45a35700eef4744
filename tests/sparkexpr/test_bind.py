"""Binding: names, Spark's implicit casts, folding, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from deltaskip.errors import InvalidArgumentType, PredicateError
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import TypeMismatch, bind, bind_expression
from deltaskip.sparkexpr.coerce import castable, type_of, wider_type
from deltaskip.sparkexpr.comparison_collation import comparison_collation
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.nodes import (
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Compare,
    FieldRef,
    In,
    Literal,
    Node,
    Opaque,
    columns_of,
    walk,
)
from deltaskip.sparkexpr.types.data_types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.sparkexpr.predicates import SCHEMA


def field(name: str, type_: DataType) -> FieldRef:
    return FieldRef((name,), (name,), type_)


I, L, S, TS = field("i", INTEGER), field("l", LONG), field("s", STRING), field("ts", TIMESTAMP)  # noqa: E741
DEC, DT, X = field("dec", DecimalType(10, 2)), field("dt", DATE), Literal("x", STRING)
WIDE = StructType(
    (
        StructField("Id", LONG, metadata={"delta.columnMapping.physicalName": "col-1"}),
        StructField("p", STRING, nullable=False, metadata={"delta.columnMapping.physicalName": "col-2"}),
        StructField(
            "a.b",
            StructType((StructField("C", INTEGER, False, {"delta.columnMapping.physicalName": "col-4"}),)),
            metadata={"delta.columnMapping.physicalName": "col-3"},
        ),
    )
)
COLLATED = StructType(
    (
        StructField("c", STRING, metadata={"__COLLATIONS": {"c": "icu.UNICODE_CI"}}),
        StructField("d", STRING, metadata={"__COLLATIONS": {"d": "spark.UTF8_LCASE"}}),
        StructField("e", STRING),
        StructField("arr", ArrayType(StructType((StructField("x", INTEGER),)))),
        StructField("m", MapType(STRING, INTEGER)),
    )
)


def bound(text: str, schema: StructType = SCHEMA) -> Node:
    return bind(parse_sql(text), schema)


def test_names_are_found_in_any_letter_case_with_their_physical_path() -> None:
    node = bind(parse_sql("ID = 1L AND `A.B`.c IS NULL AND P = ''"), WIDE, ["P"], "name")
    fields = [part for part in walk(node) if isinstance(part, FieldRef)]
    assert fields == [
        FieldRef(("Id",), ("col-1",), LONG),
        FieldRef(("a.b", "C"), ("col-3", "col-4"), INTEGER, nullable=True),
        FieldRef(("p",), ("col-2",), STRING, nullable=False, partition=True),
    ]


@pytest.mark.parametrize("text", ["x = 1", "`a.b`.z = 1", "Id.x = 1", "a.b.c = 1"])
def test_unknown_names_are_refused(text: str) -> None:
    with pytest.raises(PredicateError):
        bind(parse_sql(text), WIDE)


@pytest.mark.parametrize("text", ["arr.y = arr", "m[arr] = 1", "_metadata.file_path = 'x'", "rand() = 1"])
def test_what_has_no_single_field_or_function_stays_untyped(text: str) -> None:
    node = bound(text, COLLATED)
    assert any(isinstance(p, Opaque) or (isinstance(p, Call) and p.type is None) for p in walk(node))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("i = 4L", Compare("=", Cast(I, LONG), Literal(4, LONG))),
        ("l = 4", Compare("=", L, Literal(4, LONG))),
        ("i = 1.5D", Compare("=", Cast(I, DOUBLE), Literal(1.5, DOUBLE))),
        ("f = 1", Compare("=", Cast(field("f", FLOAT), DOUBLE), Literal(1.0, DOUBLE))),
        ("f = d", Compare("=", Cast(field("f", FLOAT), DOUBLE), field("d", DOUBLE))),
        ("dec = 1", Compare("=", DEC, Literal(Decimal("1.00"), DecimalType(10, 2)))),
        ("dec = 1.5", Compare("=", DEC, Literal(Decimal("1.50"), DecimalType(10, 2)))),
        ("dec = i", Compare("=", Cast(DEC, DecimalType(12, 2)), Cast(I, DecimalType(12, 2)))),
        ("dec = 1.5D", Compare("=", Cast(DEC, DOUBLE), Literal(1.5, DOUBLE))),
        ("i > 1.5", Compare(">", Cast(I, LONG), Literal(1, LONG))),
        ("i >= 1.5", Compare(">=", Cast(I, LONG), Literal(2, LONG))),
        ("1.5 > i", Compare("<", Cast(I, LONG), Literal(2, LONG))),
        ("i = 1.5", Compare("=", Cast(I, DecimalType(11, 1)), Literal(Decimal("1.5"), DecimalType(11, 1)))),
        ("i < 99999999999999999999.5", Literal(True, BOOLEAN)),
        ("99999999999999999999.5 < i", Literal(False, BOOLEAN)),
        ("s = 5", Compare("=", Cast(S, LONG), Literal(5, LONG))),
        ("i = '5'", Compare("=", Cast(I, LONG), Literal(5, LONG))),
        ("dec = '5'", Compare("=", Cast(DEC, DOUBLE), Literal(5.0, DOUBLE))),
        ("dt = '2024'", Compare("=", field("dt", DATE), Literal(19723, DATE))),
        ("ts = '1970-01-01 00:00:01'", Compare("=", TS, Literal(1_000_000, TIMESTAMP))),
        ("ts = dt", Compare("=", TS, Cast(field("dt", DATE), TIMESTAMP))),
        ("ts = n", Compare("=", TS, Cast(field("n", TIMESTAMP_NTZ), TIMESTAMP))),
        ("n = dt", Compare("=", field("n", TIMESTAMP_NTZ), Cast(field("dt", DATE), TIMESTAMP_NTZ))),
        ("bin = 'a'", Compare("=", field("bin", BINARY), Literal(b"a", BINARY))),
        ("b = 'yes'", Compare("=", field("b", BOOLEAN), Literal(True, BOOLEAN))),
        ("i <=> NULL", Compare("<=>", I, Literal(None, INTEGER))),
        ("i IN (1, 5000000000)", In(Cast(I, LONG), (Literal(1, LONG), Literal(5_000_000_000, LONG)))),
        ("i IN ('1', NULL)", In(Cast(I, LONG), (Literal(1, LONG), Literal(None, LONG)))),
        ("s = 'x' || 1", Compare("=", S, Literal("x1", STRING))),
        ("CAST(i AS INT) = 1", Compare("=", I, Literal(1, INTEGER))),
        ("1 + 1 = 2", Literal(True, BOOLEAN)),
        ("year(ts) = 2024", Compare("=", Call("year", (Cast(TS, DATE),), INTEGER), Literal(2024, INTEGER))),
        ("hour(ts) = 1", Compare("=", Call("hour", (TS,), INTEGER), Literal(1, INTEGER))),
        ("i + 1 = 2", Compare("=", Call("+", (I, Literal(1, INTEGER)), INTEGER), Literal(2, INTEGER))),
        ("i / 2 = 1", Compare("=", Call("/", (Cast(I, DOUBLE), Literal(2.0, DOUBLE)), DOUBLE), Literal(1.0, DOUBLE))),
    ],
)  # fmt: skip
def test_operands_meet_in_the_type_that_spark_takes(text: str, node: Node) -> None:
    assert bound(text) == node


@pytest.mark.parametrize(
    ("left", "right", "wider"),
    [
        (BYTE, LONG, LONG),
        (LONG, FLOAT, DOUBLE),
        (FLOAT, FLOAT, FLOAT),
        (FLOAT, DecimalType(10, 2), DOUBLE),
        (LONG, DecimalType(10, 2), DecimalType(22, 2)),
        (DecimalType(38, 30), LONG, DecimalType(38, 18)),
        (DecimalType(20, 10), DecimalType(10, 2), DecimalType(20, 10)),
        (STRING, LONG, LONG),
        (STRING, DecimalType(5, 2), DOUBLE),
        (STRING, BOOLEAN, BOOLEAN),
        (STRING, BINARY, BINARY),
        (DATE, TIMESTAMP_NTZ, TIMESTAMP_NTZ),
        (TIMESTAMP, TIMESTAMP_NTZ, TIMESTAMP),
        (VOID, DATE, DATE),
        (BOOLEAN, INTEGER, None),
        (DATE, INTEGER, None),
        (BINARY, DATE, None),
    ],
)
def test_wider_types_are_spark_s_in_both_orders(left: DataType, right: DataType, wider: DataType | None) -> None:
    assert wider_type(left, right) == wider
    assert wider_type(right, left) == wider


@pytest.mark.parametrize(
    "text",
    [
        "b = 1",
        "dt = 5",
        "ts > 5",
        "bin = 5",
        "i IN (1, true)",
        "i",
        "s",
        "i AND b",
        "NOT i",
        "i + 1",
        "CAST(i AS DATE) = dt",
        "CAST(b AS BINARY) = bin",
        "CASE WHEN i THEN true ELSE false END",
        "NOT 5",
    ],
)
def test_types_that_do_not_meet_are_refused(text: str) -> None:
    with pytest.raises(PredicateError):
        bound(text)


def test_casts_that_ansi_forbids_are_known() -> None:
    assert castable(LONG, TIMESTAMP)
    assert castable(TIMESTAMP, LONG)
    assert not castable(DATE, INTEGER)
    assert not castable(TIMESTAMP, BOOLEAN)
    assert not castable(INTEGER, BINARY)


def test_a_constant_that_raises_stays_for_spark_to_judge() -> None:
    node = bound("CAST('x' AS INT) = i")
    assert node == Compare("=", Cast(Literal("x", STRING), INTEGER), I)


def test_a_null_row_matches_an_inequality_with_a_decimal_beyond_bigint() -> None:
    node = bound("i < 99999999999999999999.5")
    assert evaluate(node, {("i",): None}) is True


@pytest.mark.parametrize(
    ("zone", "micros"),
    [("UTC", 0), ("Europe/Berlin", -3_600_000_000), ("+02:00", -7_200_000_000), ("America/New_York", 18_000_000_000)],
)
def test_timestamps_without_a_zone_are_read_in_the_session_s(zone: str, micros: int) -> None:
    literal = Literal(micros, TIMESTAMP)
    for text in ("ts = '1970-01-01 00:00:00'", "ts = TIMESTAMP'1970-01-01'", "ts = DATE'1970-01-01'"):
        assert bind(parse_sql(text), SCHEMA, time_zone=zone) == Compare("=", TS, literal)


def test_a_predicate_and_a_time_zone_are_text() -> None:
    with pytest.raises(InvalidArgumentType, match="A predicate must be a str"):
        parse_sql(5)
    with pytest.raises(InvalidArgumentType, match="time_zone must be a str"):
        bind(parse_sql("true"), SCHEMA, time_zone=5)


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(PredicateError, match="Mars"):
        bind(parse_sql("b"), SCHEMA, time_zone="Mars/Olympus")


def test_collations_come_from_columns_and_explicit_ones_win() -> None:
    implicit = bound("c = 'x'", COLLATED)
    assert isinstance(implicit, Compare)
    assert comparison_collation(implicit.left, implicit.right) == "icu.UNICODE_CI"
    explicit = bound("c COLLATE utf8_binary = 'x'", COLLATED)
    assert isinstance(explicit, Compare)
    assert comparison_collation(explicit.left, explicit.right) is None
    plain = bound("CAST(c AS STRING) = 'x'", COLLATED)
    assert isinstance(plain, Compare)
    assert isinstance(plain.left, Collate)
    assert comparison_collation(plain.left, plain.right) is None
    derived = bound("upper(c) = 'x'", COLLATED)
    assert isinstance(derived, Compare)
    assert comparison_collation(derived.left, derived.right) == "icu.UNICODE_CI"


@pytest.mark.parametrize("text", ["c = d", "c = e", "c IN (e)", "c COLLATE UNICODE = d COLLATE UTF8_LCASE"])
def test_collations_that_conflict_are_refused(text: str) -> None:
    with pytest.raises(PredicateError, match="COLLATE"):
        bound(text, COLLATED)


def test_expressions_of_any_type_can_be_bound() -> None:
    node = bind_expression(parse_sql("substring(s, 1, 2)"), SCHEMA)
    assert type_of(node) == STRING
    assert columns_of(node) == (("s",),)


def test_a_tree_of_too_many_nodes_is_kept_whole() -> None:
    large: Node = Column(("i",))
    for _ in range(25):
        large = Call("+", (large, large))
    node = bind_expression(large, SCHEMA)
    assert isinstance(node, Opaque)
    assert columns_of(node) == (("i",),)


def test_a_column_named_like_a_function_is_the_column() -> None:
    schema = StructType((StructField("User", STRING), StructField("day", INTEGER)))
    assert bound("user = 'x'", schema) == Compare("=", field("User", STRING), Literal("x", STRING))
    assert bound("day = 1", schema) == Compare("=", field("day", INTEGER), Literal(1, INTEGER))


@pytest.mark.parametrize("name", ["user", "current_user", "CURRENT_DATE", "current_timestamp", "session_user"])
def test_a_name_without_parentheses_is_a_function_where_no_column_has_it(name: str) -> None:
    calls = [part for part in walk(bound(f"s = {name}")) if isinstance(part, Call)]
    assert [call.name for call in calls] == [name.lower()]
    with pytest.raises(PredicateError):
        bound(f"st.{name} = 'x'")


@pytest.mark.parametrize("text", ["l IN (1, 2)", "i IN (1, 5000000000)", "i IN (1S, 2)"])
def test_integers_of_a_list_are_widened_at_once(text: str) -> None:
    node = bound(text)
    assert isinstance(node, In)
    assert len({value.type for value in node.values if isinstance(value, Literal)}) == 1
    assert all(isinstance(value, Literal) for value in node.values)


TYPED = StructType(
    (
        StructField("i", INTEGER),
        StructField("b", BOOLEAN),
        StructField("dt", DATE),
        StructField("ts", TIMESTAMP),
        StructField("d", DOUBLE),
        StructField("s", STRING),
    )
)


@pytest.mark.parametrize(
    "text",
    [
        *("year(i) = 1", "month(b) = 1", "abs(b) = 1", "-b", "abs(dt) = 1", "i + b > 1", "dt * 2 > 1", "ts + 1 > ts"),
        *("i % dt = 1", "d / b > 1", "i = b", "dt > i", "CAST(dt AS INT) = 1", "i IN (1, DATE'2026-01-01')"),
    ],
)
def test_types_that_ansi_mode_refuses_stay_untyped_without_it(text: str) -> None:
    with pytest.raises(TypeMismatch, match=r"DATATYPE_MISMATCH|CAST_WITHOUT_SUGGESTION"):
        bind(parse_sql(text), TYPED)
    assert any(isinstance(part, Opaque) for part in walk(bind(parse_sql(text), TYPED, ansi=False)))


@pytest.mark.parametrize(
    "text",
    [
        *("i + 'x' > 1", "i + NULL > 1", "ts - ts > INTERVAL 1 DAY", "dt + 1 > dt", "1 + dt > dt", "dt - 7 > dt"),
        *("year(s) = 1", "year(ts) = 1", "abs(s) = 1", "coalesce(dt, ts) = ts", "dt + INTERVAL 1 DAY > ts"),
        *("-s = 1", "abs(NULL) = 1"),
    ],
)
def test_types_that_spark_casts_are_accepted(text: str) -> None:
    bind(parse_sql(text), TYPED)


@pytest.mark.parametrize("text", ["i > INTERVAL 1 DAY", "dt IN (INTERVAL 1 DAY)", "i COLLATE UNICODE = 1", "s"])
def test_what_spark_refuses_in_every_mode_is_refused(text: str) -> None:
    for ansi in (True, False):
        with pytest.raises(PredicateError):
            bind(parse_sql(text), TYPED, ansi=ansi)


@pytest.mark.parametrize("op", ["=", "<", ">", "<=>", "!="])
def test_texts_of_integers_beyond_the_type_are_left_to_spark(op: str) -> None:
    """Without ANSI mode they are NULL of the column's type."""
    assert isinstance(bind(parse_sql(f"i {op} '99999999999'"), TYPED), Opaque)
    assert isinstance(bind(parse_sql(f"i {op} '5'"), TYPED), Compare)


NINE = DecimalType(9, 0)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("i = 1.5F", Compare("=", Cast(I, FLOAT), Literal(1.5, FLOAT))),
        ("l <=> 1.5F", Compare("<=>", Cast(L, FLOAT), Literal(1.5, FLOAT))),
        ("f = 16777217", Compare("=", field("f", FLOAT), Literal(16777216.0, FLOAT))),
        ("f = 1.5D", Compare("=", Cast(field("f", FLOAT), DOUBLE), Literal(1.5, DOUBLE))),
        ("i IN (1.5F, 2)", In(Cast(I, FLOAT), (Literal(1.5, FLOAT), Literal(2.0, FLOAT)))),
        ("s = 5", Compare("=", Cast(S, INTEGER), Literal(5, INTEGER))),
        ("i = '5'", Compare("=", I, Literal(5, INTEGER))),
        ("f = '1.5'", Compare("=", field("f", FLOAT), Literal(1.5, FLOAT))),
        ("dec = '5'", Compare("=", Cast(DEC, DOUBLE), Literal(5.0, DOUBLE))),
        ("s = 5BD", Compare("=", Cast(S, DecimalType(1, 0)), Literal(Decimal(5), DecimalType(1, 0)))),
        ("CAST(i AS DECIMAL(9, 0)) = '4.5'", Compare("=", Cast(I, NINE), Literal(Decimal(5), NINE))),
        ("ts = '1970-01-01 00:00:01'", Compare("=", TS, Literal(1_000_000, TIMESTAMP))),
        ("i IN ('1', 'x')", In(Cast(I, STRING), (Literal("1", STRING), Literal("x", STRING)))),
        ("dec IN ('1.5', 2)", In(Cast(DEC, STRING), (Literal("1.5", STRING), Literal("2", STRING)))),
        ("dt IN (DATE'2024-01-01', 'x')", In(Cast(DT, STRING), (Literal("2024-01-01", STRING), X))),
        ("if(b, i, 'x') = '5'", Compare("=", Case(((field("b", BOOLEAN), Cast(I, STRING)),), X), Literal("5", STRING))),
        ("s IN ('a', NULL)", In(S, (Literal("a", STRING), Literal(None, STRING)))),
    ],
)  # fmt: skip
def test_operands_meet_without_ansi_mode_in_the_type_that_spark_takes(text: str, node: Node) -> None:
    assert bind(parse_sql(text), SCHEMA, ansi=False) == node


@pytest.mark.parametrize("text", ["i + 1.5F = 2", "s + 1 = 2", "coalesce(i, 'x') = '5'", "pmod(s, 2) = 1"])
def test_calls_that_meet_in_another_type_without_ansi_mode_are_left_to_spark(text: str) -> None:
    assert all(part.type is None for part in walk(bind(parse_sql(text), SCHEMA, ansi=False)) if isinstance(part, Call))
    assert all(part.type is not None for part in walk(bound(text)) if isinstance(part, Call))


def test_array_join_that_spark_compiles_to_null_is_left_to_it() -> None:
    schema = parse_columns("a ARRAY<STRING>, s STRING NOT NULL, n STRING")
    for text, known in (
        ("array_join(array('a', NULL), '-', n)", False),
        ("array_join(array('a', NULL), s, n)", False),
        ("array_join(array('a', NULL), '-', s)", True),
        ("array_join(array('a', NULL), '-', coalesce(n, ''))", True),
        ("array_join(array('a', NULL), n, n)", True),
        ("array_join(a, '-', n)", True),
    ):
        node = bind_expression(parse_sql(text), schema)
        assert isinstance(node, Call)
        assert (node.type is not None) == known, text


def test_text_of_joined_arrays_in_concat_is_left_to_spark() -> None:
    schema = parse_columns("a ARRAY<INT>, s STRING, b BINARY")
    for text, known in (
        ("concat(s, CAST(concat(a, a) AS STRING))", False),
        ("s || CAST(a || a AS STRING)", False),
        ("concat(s, CAST(a AS STRING))", True),
        ("concat(s, upper(CAST(concat(a, a) AS STRING)))", True),
        ("concat(s, CAST(concat(b, b) AS STRING))", True),
    ):
        node = bind_expression(parse_sql(text), schema)
        assert isinstance(node, Call)
        assert (node.type is not None) == known, text


def test_nanvl_of_a_float_and_another_type_is_left_to_spark() -> None:
    schema = parse_columns("f FLOAT, x DOUBLE, d DECIMAL(9,2), i INT")
    for text, known in (
        ("nanvl(f, d)", False),
        ("nanvl(f, i)", False),
        ("nanvl(f, NULL)", False),
        ("nanvl(f, f)", True),
        ("nanvl(f, x)", True),
        ("nanvl(x, d)", True),
        ("nanvl(x, f)", True),
    ):
        node = bind_expression(parse_sql(text), schema)
        assert isinstance(node, Call)
        assert (node.type is not None) == known, text

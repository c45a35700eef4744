"""Binding: names, Spark's implicit casts, folding, and what is refused."""

from decimal import Decimal

import pytest

from deltaskip.errors import InvalidArgumentType, PredicateError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import TypeMismatch, bind, bind_expression
from deltaskip.sparkexpr.coerce import castable, type_of, wider_type
from deltaskip.sparkexpr.comparison_collation import comparison_collation
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import refuses
from tests.looped import looped
from tests.sparkexpr.predicates import SCHEMA


def field(name: str, type_: t.DataType) -> n.FieldRef:
    return n.FieldRef((name,), (name,), type_)


I, L, S, TS = field("i", t.INTEGER), field("l", t.LONG), field("s", t.STRING), field("ts", t.TIMESTAMP)  # noqa: E741
DEC, DT, X = field("dec", t.DecimalType(10, 2)), field("dt", t.DATE), n.Literal("x", t.STRING)
WIDE = t.StructType(
    (
        t.StructField("Id", t.LONG, metadata={"delta.columnMapping.physicalName": "col-1"}),
        t.StructField("p", t.STRING, nullable=False, metadata={"delta.columnMapping.physicalName": "col-2"}),
        t.StructField(
            "a.b",
            t.StructType((t.StructField("C", t.INTEGER, False, {"delta.columnMapping.physicalName": "col-4"}),)),
            metadata={"delta.columnMapping.physicalName": "col-3"},
        ),
    )
)
COLLATED = parse_columns(
    "c STRING COLLATE UNICODE_CI, d STRING COLLATE UTF8_LCASE, e STRING, arr ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>"
)


def bound(text: str, schema: t.StructType = SCHEMA) -> n.Node:
    return bind(parse_sql(text), schema)


def test_names_are_found_in_any_letter_case_with_their_physical_path() -> None:
    node = bind(parse_sql("ID = 1L AND `A.B`.c IS NULL AND P = ''"), WIDE, ["P"], "name")
    fields = [part for part in n.walk(node) if isinstance(part, n.FieldRef)]
    assert fields == [
        n.FieldRef(("Id",), ("col-1",), t.LONG),
        n.FieldRef(("a.b", "C"), ("col-3", "col-4"), t.INTEGER, nullable=True),
        n.FieldRef(("p",), ("col-2",), t.STRING, nullable=False, partition=True),
    ]


@pytest.mark.parametrize("text", ["x = 1", "`a.b`.z = 1", "Id.x = 1", "a.b.c = 1"])
def test_unknown_names_are_refused(text: str) -> None:
    refuses(PredicateError, None, lambda: bind(parse_sql(text), WIDE))


@pytest.mark.parametrize("text", ["arr.y = arr", "m[arr] = 1", "_metadata.file_path = 'x'", "rand() = 1"])
def test_what_has_no_single_field_or_function_stays_untyped(text: str) -> None:
    node = bound(text, COLLATED)
    assert any(isinstance(p, n.Opaque) or (isinstance(p, n.Call) and p.type is None) for p in n.walk(node))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("i = 4L", n.Compare("=", n.Cast(I, t.LONG), n.Literal(4, t.LONG))),
        ("l = 4", n.Compare("=", L, n.Literal(4, t.LONG))),
        ("i = 1.5D", n.Compare("=", n.Cast(I, t.DOUBLE), n.Literal(1.5, t.DOUBLE))),
        ("f = 1", n.Compare("=", n.Cast(field("f", t.FLOAT), t.DOUBLE), n.Literal(1.0, t.DOUBLE))),
        ("f = d", n.Compare("=", n.Cast(field("f", t.FLOAT), t.DOUBLE), field("d", t.DOUBLE))),
        ("dec = 1", n.Compare("=", DEC, n.Literal(Decimal("1.00"), t.DecimalType(10, 2)))),
        ("dec = 1.5", n.Compare("=", DEC, n.Literal(Decimal("1.50"), t.DecimalType(10, 2)))),
        ("dec = i", n.Compare("=", n.Cast(DEC, t.DecimalType(12, 2)), n.Cast(I, t.DecimalType(12, 2)))),
        ("dec = 1.5D", n.Compare("=", n.Cast(DEC, t.DOUBLE), n.Literal(1.5, t.DOUBLE))),
        ("i > 1.5", n.Compare(">", n.Cast(I, t.LONG), n.Literal(1, t.LONG))),
        ("i >= 1.5", n.Compare(">=", n.Cast(I, t.LONG), n.Literal(2, t.LONG))),
        ("1.5 > i", n.Compare("<", n.Cast(I, t.LONG), n.Literal(2, t.LONG))),
        ("i = 1.5", n.Compare("=", n.Cast(I, t.DecimalType(11, 1)), n.Literal(Decimal("1.5"), t.DecimalType(11, 1)))),
        ("i < 99999999999999999999.5", n.Literal(True, t.BOOLEAN)),
        ("99999999999999999999.5 < i", n.Literal(False, t.BOOLEAN)),
        ("s = 5", n.Compare("=", n.Cast(S, t.LONG), n.Literal(5, t.LONG))),
        ("i = '5'", n.Compare("=", n.Cast(I, t.LONG), n.Literal(5, t.LONG))),
        ("dec = '5'", n.Compare("=", n.Cast(DEC, t.DOUBLE), n.Literal(5.0, t.DOUBLE))),
        ("dt = '2024'", n.Compare("=", field("dt", t.DATE), n.Literal(19723, t.DATE))),
        ("ts = '1970-01-01 00:00:01'", n.Compare("=", TS, n.Literal(1_000_000, t.TIMESTAMP))),
        ("ts = dt", n.Compare("=", TS, n.Cast(field("dt", t.DATE), t.TIMESTAMP))),
        ("ts = n", n.Compare("=", TS, n.Cast(field("n", t.TIMESTAMP_NTZ), t.TIMESTAMP))),
        ("n = dt", n.Compare("=", field("n", t.TIMESTAMP_NTZ), n.Cast(field("dt", t.DATE), t.TIMESTAMP_NTZ))),
        ("bin = 'a'", n.Compare("=", field("bin", t.BINARY), n.Literal(b"a", t.BINARY))),
        ("b = 'yes'", n.Compare("=", field("b", t.BOOLEAN), n.Literal(True, t.BOOLEAN))),
        ("i <=> NULL", n.Compare("<=>", I, n.Literal(None, t.INTEGER))),
        ("i IN (1, 5000000000)", n.In(n.Cast(I, t.LONG), (n.Literal(1, t.LONG), n.Literal(5_000_000_000, t.LONG)))),
        ("i IN ('1', NULL)", n.In(n.Cast(I, t.LONG), (n.Literal(1, t.LONG), n.Literal(None, t.LONG)))),
        ("s = 'x' || 1", n.Compare("=", S, n.Literal("x1", t.STRING))),
        ("CAST(i AS INT) = 1", n.Compare("=", I, n.Literal(1, t.INTEGER))),
        ("1 + 1 = 2", n.Literal(True, t.BOOLEAN)),
        ("year(ts) = 2024", n.Compare("=", n.Call("year", (n.Cast(TS, t.DATE),), t.INTEGER), n.Literal(2024,
            t.INTEGER))),
        ("hour(ts) = 1", n.Compare("=", n.Call("hour", (TS,), t.INTEGER), n.Literal(1, t.INTEGER))),
        ("i + 1 = 2", n.Compare("=", n.Call("+", (I, n.Literal(1, t.INTEGER)), t.INTEGER), n.Literal(2, t.INTEGER))),
        ("i / 2 = 1", n.Compare("=", n.Call("/", (n.Cast(I, t.DOUBLE), n.Literal(2.0, t.DOUBLE)), t.DOUBLE),
            n.Literal(1.0, t.DOUBLE))),
    ],
)  # fmt: skip
def test_operands_meet_in_the_type_that_spark_takes(text: str, node: n.Node) -> None:
    assert bound(text) == node


@pytest.mark.parametrize(
    ("left", "right", "wider"),
    [
        (t.BYTE, t.LONG, t.LONG),
        (t.LONG, t.FLOAT, t.DOUBLE),
        (t.FLOAT, t.FLOAT, t.FLOAT),
        (t.FLOAT, t.DecimalType(10, 2), t.DOUBLE),
        (t.LONG, t.DecimalType(10, 2), t.DecimalType(22, 2)),
        (t.DecimalType(38, 30), t.LONG, t.DecimalType(38, 18)),
        (t.DecimalType(20, 10), t.DecimalType(10, 2), t.DecimalType(20, 10)),
        (t.STRING, t.LONG, t.LONG),
        (t.STRING, t.DecimalType(5, 2), t.DOUBLE),
        (t.STRING, t.BOOLEAN, t.BOOLEAN),
        (t.STRING, t.BINARY, t.BINARY),
        (t.DATE, t.TIMESTAMP_NTZ, t.TIMESTAMP_NTZ),
        (t.TIMESTAMP, t.TIMESTAMP_NTZ, t.TIMESTAMP),
        (t.VOID, t.DATE, t.DATE),
        (t.BOOLEAN, t.INTEGER, None),
        (t.DATE, t.INTEGER, None),
        (t.BINARY, t.DATE, None),
    ],
)
def test_wider_types_are_spark_s_in_both_orders(left: t.DataType, right: t.DataType, wider: t.DataType | None) -> None:
    assert wider_type(left, right) == wider
    assert wider_type(right, left) == wider


@pytest.mark.parametrize(
    "text",
    [
        "b = 1", "dt = 5", "ts > 5", "bin = 5", "i IN (1, true)", "i", "s", "i AND b", "NOT i", "i + 1",
        "CAST(i AS DATE) = dt", "CAST(b AS BINARY) = bin", "CASE WHEN i THEN true ELSE false END", "NOT 5",
    ],
)  # fmt: skip
def test_types_that_do_not_meet_are_refused(text: str) -> None:
    refuses(PredicateError, None, bound, text)


def test_casts_that_ansi_forbids_are_known() -> None:
    assert castable(t.LONG, t.TIMESTAMP)
    assert castable(t.TIMESTAMP, t.LONG)
    assert not castable(t.DATE, t.INTEGER)
    assert not castable(t.TIMESTAMP, t.BOOLEAN)
    assert not castable(t.INTEGER, t.BINARY)


def test_a_constant_that_raises_stays_for_spark_to_judge() -> None:
    node = bound("CAST('x' AS INT) = i")
    assert node == n.Compare("=", n.Cast(n.Literal("x", t.STRING), t.INTEGER), I)


def test_a_null_row_matches_an_inequality_with_a_decimal_beyond_bigint() -> None:
    node = bound("i < 99999999999999999999.5")
    assert evaluate(node, {("i",): None}) is True


@pytest.mark.parametrize(
    ("zone", "micros"),
    [("UTC", 0), ("Europe/Berlin", -3_600_000_000), ("+02:00", -7_200_000_000), ("America/New_York", 18_000_000_000)],
)
def test_timestamps_without_a_zone_are_read_in_the_session_s(zone: str, micros: int) -> None:
    literal = n.Literal(micros, t.TIMESTAMP)
    for text in ("ts = '1970-01-01 00:00:00'", "ts = TIMESTAMP'1970-01-01'", "ts = DATE'1970-01-01'"):
        assert bind(parse_sql(text), SCHEMA, time_zone=zone) == n.Compare("=", TS, literal)


def test_a_predicate_and_a_time_zone_are_text() -> None:
    refuses(InvalidArgumentType, "A predicate must be a str", parse_sql, 5)
    refuses(InvalidArgumentType, "time_zone must be a str", lambda: bind(parse_sql("true"), SCHEMA, time_zone=5))


def test_an_unknown_time_zone_is_refused() -> None:
    refuses(PredicateError, "Mars", lambda: bind(parse_sql("b"), SCHEMA, time_zone="Mars/Olympus"))


def test_collations_come_from_columns_and_explicit_ones_win() -> None:
    for text, collation in (
        ("c = 'x'", "icu.UNICODE_CI"),
        ("c COLLATE utf8_binary = 'x'", None),
        ("CAST(c AS STRING) = 'x'", None),
        ("upper(c) = 'x'", "icu.UNICODE_CI"),
    ):
        node = bound(text, COLLATED)
        assert isinstance(node, n.Compare)
        assert comparison_collation(node.left, node.right) == collation


@pytest.mark.parametrize("text", ["c = d", "c = e", "c IN (e)", "c COLLATE UNICODE = d COLLATE UTF8_LCASE"])
def test_collations_that_conflict_are_refused(text: str) -> None:
    refuses(PredicateError, "COLLATE", bound, text, COLLATED)


def test_expressions_of_any_type_can_be_bound() -> None:
    node = bind_expression(parse_sql("substring(s, 1, 2)"), SCHEMA)
    assert type_of(node) == t.STRING
    assert n.columns_of(node) == (("s",),)


def test_a_tree_of_too_many_nodes_is_kept_whole() -> None:
    large: n.Node = n.Column(("i",))
    for _ in range(25):
        large = n.Call("+", (large, large))
    node = bind_expression(large, SCHEMA)
    assert isinstance(node, n.Opaque)
    assert n.columns_of(node) == (("i",),)


def test_a_column_named_like_a_function_is_the_column() -> None:
    schema = parse_columns("User STRING, day INT")
    assert bound("user = 'x'", schema) == n.Compare("=", field("User", t.STRING), n.Literal("x", t.STRING))
    assert bound("day = 1", schema) == n.Compare("=", field("day", t.INTEGER), n.Literal(1, t.INTEGER))


@pytest.mark.parametrize("name", ["user", "current_user", "CURRENT_DATE", "current_timestamp", "session_user"])
def test_a_name_without_parentheses_is_a_function_where_no_column_has_it(name: str) -> None:
    calls = [part for part in n.walk(bound(f"s = {name}")) if isinstance(part, n.Call)]
    assert [call.name for call in calls] == [name.lower()]
    refuses(PredicateError, None, bound, f"st.{name} = 'x'")


@pytest.mark.parametrize("text", ["l IN (1, 2)", "i IN (1, 5000000000)", "i IN (1S, 2)"])
def test_integers_of_a_list_are_widened_at_once(text: str) -> None:
    node = bound(text)
    assert isinstance(node, n.In)
    assert len({value.type for value in node.values if isinstance(value, n.Literal)}) == 1
    assert all(isinstance(value, n.Literal) for value in node.values)


TYPED = parse_columns("i INT, b BOOLEAN, dt DATE, ts TIMESTAMP, d DOUBLE, s STRING")


@pytest.mark.parametrize(
    "text",
    [
        *("year(i) = 1", "month(b) = 1", "abs(b) = 1", "-b", "abs(dt) = 1", "i + b > 1", "dt * 2 > 1", "ts + 1 > ts"),
        *("i % dt = 1", "d / b > 1", "i = b", "dt > i", "CAST(dt AS INT) = 1", "i IN (1, DATE'2026-01-01')"),
    ],
)
def test_types_that_ansi_mode_refuses_stay_untyped_without_it(text: str) -> None:
    refuses(TypeMismatch, r"DATATYPE_MISMATCH|CAST_WITHOUT_SUGGESTION", lambda: bind(parse_sql(text), TYPED))
    assert any(isinstance(part, n.Opaque) for part in n.walk(bind(parse_sql(text), TYPED, ansi=False)))


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
    assert isinstance(bind(parse_sql(f"i {op} '99999999999'"), TYPED), n.Opaque)
    assert isinstance(bind(parse_sql(f"i {op} '5'"), TYPED), n.Compare)


NINE = t.DecimalType(9, 0)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("i = 1.5F", n.Compare("=", n.Cast(I, t.FLOAT), n.Literal(1.5, t.FLOAT))),
        ("l <=> 1.5F", n.Compare("<=>", n.Cast(L, t.FLOAT), n.Literal(1.5, t.FLOAT))),
        ("f = 16777217", n.Compare("=", field("f", t.FLOAT), n.Literal(16777216.0, t.FLOAT))),
        ("f = 1.5D", n.Compare("=", n.Cast(field("f", t.FLOAT), t.DOUBLE), n.Literal(1.5, t.DOUBLE))),
        ("i IN (1.5F, 2)", n.In(n.Cast(I, t.FLOAT), (n.Literal(1.5, t.FLOAT), n.Literal(2.0, t.FLOAT)))),
        ("s = 5", n.Compare("=", n.Cast(S, t.INTEGER), n.Literal(5, t.INTEGER))),
        ("i = '5'", n.Compare("=", I, n.Literal(5, t.INTEGER))),
        ("f = '1.5'", n.Compare("=", field("f", t.FLOAT), n.Literal(1.5, t.FLOAT))),
        ("dec = '5'", n.Compare("=", n.Cast(DEC, t.DOUBLE), n.Literal(5.0, t.DOUBLE))),
        ("s = 5BD", n.Compare("=", n.Cast(S, t.DecimalType(1, 0)), n.Literal(Decimal(5), t.DecimalType(1, 0)))),
        ("CAST(i AS DECIMAL(9, 0)) = '4.5'", n.Compare("=", n.Cast(I, NINE), n.Literal(Decimal(5), NINE))),
        ("ts = '1970-01-01 00:00:01'", n.Compare("=", TS, n.Literal(1_000_000, t.TIMESTAMP))),
        ("i IN ('1', 'x')", n.In(n.Cast(I, t.STRING), (n.Literal("1", t.STRING), n.Literal("x", t.STRING)))),
        ("dec IN ('1.5', 2)", n.In(n.Cast(DEC, t.STRING), (n.Literal("1.5", t.STRING), n.Literal("2", t.STRING)))),
        ("dt IN (DATE'2024-01-01', 'x')", n.In(n.Cast(DT, t.STRING), (n.Literal("2024-01-01", t.STRING), X))),
        ("if(b, i, 'x') = '5'", n.Compare("=", n.Case(((field("b", t.BOOLEAN), n.Cast(I, t.STRING)),), X),
            n.Literal("5", t.STRING))),
        ("s IN ('a', NULL)", n.In(S, (n.Literal("a", t.STRING), n.Literal(None, t.STRING)))),
    ],
)  # fmt: skip
def test_operands_meet_without_ansi_mode_in_the_type_that_spark_takes(text: str, node: n.Node) -> None:
    assert bind(parse_sql(text), SCHEMA, ansi=False) == node


@pytest.mark.parametrize("text", ["i + 1.5F = 2", "s + 1 = 2", "coalesce(i, 'x') = '5'", "pmod(s, 2) = 1"])
def test_calls_that_meet_in_another_type_without_ansi_mode_are_left_to_spark(text: str) -> None:
    assert all(
        part.type is None for part in n.walk(bind(parse_sql(text), SCHEMA, ansi=False)) if isinstance(part, n.Call)
    )
    assert all(part.type is not None for part in n.walk(bound(text)) if isinstance(part, n.Call))


@looped(
    "text, known",
    [
        # Spark compiles it to NULL.
        ("array_join(array('a', NULL), '-', n)", False),
        ("array_join(array('a', NULL), s, n)", False),
        ("array_join(array('a', NULL), '-', s)", True),
        ("array_join(array('a', NULL), '-', coalesce(n, ''))", True),
        ("array_join(array('a', NULL), n, n)", True),
        ("array_join(a, '-', n)", True),
        # The text of joined arrays.
        ("concat(s, CAST(concat(l, l) AS STRING))", False),
        ("s || CAST(l || l AS STRING)", False),
        ("concat(s, CAST(l AS STRING))", True),
        ("concat(s, upper(CAST(concat(l, l) AS STRING)))", True),
        ("concat(s, CAST(concat(b, b) AS STRING))", True),
        # A float and another type.
        ("nanvl(f, d)", False),
        ("nanvl(f, i)", False),
        ("nanvl(f, NULL)", False),
        ("nanvl(f, f)", True),
        ("nanvl(f, x)", True),
        ("nanvl(x, d)", True),
        ("nanvl(x, f)", True),
    ],
)
def test_calls_of_which_spark_has_another_value_than_documented_are_left_to_it(text: str, known: bool) -> None:
    ddl = (
        "a ARRAY<STRING>, l ARRAY<INT>, s STRING NOT NULL, n STRING, b BINARY, f FLOAT, x DOUBLE, d DECIMAL(9,2), i INT"
    )
    node = bind_expression(parse_sql(text), parse_columns(ddl))
    assert isinstance(node, n.Call)
    assert (node.type is not None) == known

"""Spark SQL text to nodes: precedence, literals, names, what stays opaque, and what is an error."""

import itertools
from decimal import Decimal

import pytest

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions import ALIASES, FUNCTIONS, REPLACED, function_node
from deltaskip.sparkexpr.functions.elements import struct_node
from deltaskip.sparkexpr.functions.spark_functions import ARGUMENT_COUNTS
from deltaskip.sparkexpr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Compare,
    In,
    IsNull,
    Lambda,
    Like,
    Literal,
    Node,
    Not,
    Opaque,
    Or,
    StartsWith,
    Variable,
    columns_of,
    transform,
    walk,
)
from tests.cases import cases
from tests.each import each

A, B, C = Column(("a",)), Column(("b",)), Column(("c",))
ONE, TWO = Literal(1, t.INTEGER), Literal(2, t.INTEGER)
TRUE = Literal(True, t.BOOLEAN)


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("5", 5, t.INTEGER),
        ("-5", -5, t.INTEGER),
        ("- 5", -5, t.INTEGER),
        ("2147483648", 2**31, t.LONG),
        ("-2147483648", -(2**31), t.INTEGER),
        ("-9223372036854775808", -(2**63), t.LONG),
        ("9223372036854775808", Decimal(2**63), t.DecimalType(19, 0)),
        ("4L", 4, t.LONG),
        ("5S", 5, t.SHORT),
        ("3Y", 3, t.BYTE),
        ("1.5", Decimal("1.5"), t.DecimalType(2, 1)),
        (".5", Decimal("0.5"), t.DecimalType(1, 1)),
        ("5.", Decimal(5), t.DecimalType(1, 0)),
        ("0.10", Decimal("0.10"), t.DecimalType(2, 2)),
        ("0.001", Decimal("0.001"), t.DecimalType(3, 3)),
        ("10BD", Decimal(10), t.DecimalType(2, 0)),
        ("1e3BD", Decimal(1000), t.DecimalType(4, 0)),
        ("1e3", 1000.0, t.DOUBLE),
        ("1.5D", 1.5, t.DOUBLE),
        ("2.0F", 2.0, t.FLOAT),
        ("0.1F", 0.10000000149011612, t.FLOAT),
        ("NULL", None, t.VOID),
        ("true", True, t.BOOLEAN),
        ("X'01fF'", b"\x01\xff", t.BINARY),
        ("x '1'", b"\x01", t.BINARY),
        ("DATE'2020-1-5'", 18266, t.DATE),
        ("date '1969-12-31'", -1, t.DATE),
        ("TIMESTAMP'1970-01-01 00:00:01 UTC'", 1_000_000, t.TIMESTAMP),
        ("TIMESTAMP'1970-01-01 02:00:00+02:00'", 0, t.TIMESTAMP),
        ("TIMESTAMP'1970-01-01 00:00:00Z'", 0, t.TIMESTAMP),
        ("timestamp'1969-12-31 19:00:00 America/New_York'", 0, t.TIMESTAMP),
        ("TIMESTAMP_NTZ'1970-01-01 00:00:01'", 1_000_000, t.TIMESTAMP_NTZ),
        ("TIMESTAMP_NTZ'1970-01-01 00:00:01 UTC'", 1_000_000, t.TIMESTAMP_NTZ),
    ],
)
def test_literals_have_the_types_that_spark_gives_them(text: str, value: object, type_: t.DataType) -> None:
    assert parse_sql(f"a = {text}") == Compare("=", A, Literal(value, type_))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'It''s'", "It's"), ('"It\'s"', "It's"), ('"a""b"', 'a"b'), (r"'a\'b'", "a'b"), (r"'\\'", "\\"),
        (r"'\u0041\101\0'", "AA\0"), (r"'\U0001F600'", "😀"), (r"'\uD83D\uDE00'", "😀"), (r"'\%\_\q'", r"\%\_q"),
        (r"'\n\t\r\b\Z'", "\n\t\r\b\x1a"), (r"r'a\n'", r"a\n"), ("'a' 'b'", "ab"), ("'a' \"b\"", "ab"),
    ],
)  # fmt: skip
def test_strings_are_unescaped_as_spark_does(text: str, value: str) -> None:
    assert parse_sql(f"a = {text}") == Compare("=", A, Literal(value, t.STRING))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ("a",)),
        ("st.a", ("st", "a")),
        ("a.b.c.d.e.f", ("a", "b", "c", "d", "e", "f")),
        ("`we.ird`.`a``b`", ("we.ird", "a`b")),
        ("date", ("date",)),
        ("timestamp.year", ("timestamp", "year")),
        ("1abc", ("1abc",)),
        ("`select`", ("select",)),
        ("`größe`", ("größe",)),
        ("interval", ("interval",)),
    ],
)
def test_names_keep_all_their_parts(text: str, parts: tuple[str, ...]) -> None:
    assert parse_sql(f"{text} IS NULL") == IsNull(Column(parts))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a OR b AND c", Or((A, And((B, C))))),
        ("a AND b AND c", And((A, B, C))),
        ("NOT a = 1 AND b", And((Not(Compare("=", A, ONE)), B))),
        ("!a == 1", Not(Compare("=", A, ONE))),
        ("a = b IS NULL", IsNull(Compare("=", A, B))),
        ("a = b = true", Compare("=", Compare("=", A, B), TRUE)),
        ("a < b = true", Compare("=", Compare("<", A, B), TRUE)),
        ("a = b < c", Compare("<", Compare("=", A, B), C)),
        ("a <> 1", Compare("!=", A, ONE)),
        ("a !< 1", Compare(">=", A, ONE)),
        ("a <=> NULL", Compare("<=>", A, Literal(None, t.VOID))),
        ("a IS NOT DISTINCT FROM b", Compare("<=>", A, B)),
        ("a IS DISTINCT FROM b", Not(Compare("<=>", A, B))),
        ("a IS TRUE", Compare("<=>", A, TRUE)),
        ("a IS NOT FALSE", Not(Compare("<=>", A, Literal(False, t.BOOLEAN)))),
        ("a IS UNKNOWN", IsNull(A)),
        ("a BETWEEN 1 AND 2 AND b", And((Between((Compare(">=", A, ONE), Compare("<=", A, TWO))), B))),
        ("a NOT BETWEEN 1 AND 2", Not(Between((Compare(">=", A, ONE), Compare("<=", A, TWO))))),
        ("a IN (1, NULL)", In(A, (ONE, Literal(None, t.VOID)))),
        ("a NOT IN (1)", Not(In(A, (ONE,)))),
        ("a IN (1 + 2, -b)", In(A, (Call("+", (ONE, TWO)), Call("negative", (B,))))),
        ("a LIKE 'x!%' ESCAPE '!'", Like(A, Literal("x!%", t.STRING), "!")),
        ("a NOT ILIKE 'x'", Not(Like(A, Literal("x", t.STRING), "\\", True))),
        ("a RLIKE 'x'", Call("rlike", (A, Literal("x", t.STRING)))),
        ("startswith(a, b)", StartsWith(A, B)),
        ("a + b * c = 1", Compare("=", Call("+", (A, Call("*", (B, C)))), ONE)),
        ("a - b - c = 1", Compare("=", Call("-", (Call("-", (A, B)), C)), ONE)),
        ("a - 1 = 1", Compare("=", Call("-", (A, ONE)), ONE)),
        ("a -1 = 1", Compare("=", Call("-", (A, ONE)), ONE)),
        ("-a % b DIV 2 = 1", Compare("=", Call("div", (Call("%", (Call("negative", (A,)), B)), TWO)), ONE)),
        ("a || b = 'x'", Compare("=", Call("concat", (A, B)), Literal("x", t.STRING))),
        ("CAST(a AS decimal(10, 2)) = b", Compare("=", Cast(A, t.DecimalType(10, 2)), B)),
        ("TRY_CAST(a AS bigint) = b", Compare("=", Cast(A, t.LONG, True), B)),
        ("a::int = 1", Compare("=", Cast(A, t.INTEGER), ONE)),
        ("a COLLATE UTF8_BINARY = 'x'", Compare("=", Collate(A, "UTF8_BINARY"), Literal("x", t.STRING))),
        ("CASE WHEN a THEN b ELSE c END", Case(((A, B),), C)),
        ("CASE a WHEN 1 THEN b END", Case(((Compare("=", A, ONE), B),))),
        ("IF(a, b, c)", Case(((A, B),), C)),
        ("nvl(a, 1) = 2", Compare("=", Call("coalesce", (A, ONE)), TWO)),
        ("extract(YEAR FROM a) = 1", Compare("=", Call("year", (A,)), ONE)),
        ("date_trunc('month', a) = b", Compare("=", Call("date_trunc", (Literal("month", t.STRING), A)), B)),
        ("datediff(a, b) = 1", Compare("=", Call("datediff", (A, B)), ONE)),
        ("to_date(a) = b", Compare("=", Call("to_date", (A,)), B)),
        ("a = 1 -- why\n AND /* not /* nested */ */ b", And((Compare("=", A, ONE), B))),
        ("((a))", A),
        ("extract(YEAR FROM (a)) = 1", Compare("=", Call("year", (A,)), ONE)),
        ("NOT (a) IN (1)", Not(In(A, (ONE,)))),
        ("a LIKE ('x')", Like(A, Literal("x", t.STRING))),
        ("like(a, 'x')", Like(A, Literal("x", t.STRING))),
        ("NOT like(a, 'x')", Not(Like(A, Literal("x", t.STRING)))),
        ("coalesce(all, 1) = 2", Compare("=", Call("coalesce", (Column(("all",)), ONE)), TWO)),
        ("+a = 1", Compare("=", Call("positive", (A,)), ONE)),
        ("-(1) = a", Compare("=", Call("negative", (ONE,)), A)),
        ("a + b || c = 'x'", Compare("=", Call("concat", (Call("+", (A, B)), C)), Literal("x", t.STRING))),
        ("a = b = c = true", Compare("=", Compare("=", Compare("=", A, B), C), TRUE)),
        ("a::int::bigint = 1", Compare("=", Cast(Cast(A, t.INTEGER), t.LONG), ONE)),
    ],
)
def test_the_grammar_is_spark_s(text: str, node: Node) -> None:
    assert parse_sql(text) == node


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a = 1 IN (TRUE)", In(Compare("=", A, ONE), (TRUE,))),
        ("a BETWEEN 1 AND 2 = true", Between((Compare(">=", A, ONE), Compare("<=", A, Compare("=", TWO, TRUE))))),
        ("a LIKE 'x' = true", Like(A, Compare("=", Literal("x", t.STRING), TRUE))),
        ("a = b LIKE 'x'", Like(Compare("=", A, B), Literal("x", t.STRING))),
        ("a <=> b = c", Compare("=", Compare("<=>", A, B), C)),
        ("a IS NOT DISTINCT FROM b = c", Compare("<=>", A, Compare("=", B, C))),
        ("a || b + c = 'x'", Compare("=", Call("+", (Call("concat", (A, B)), C)), Literal("x", t.STRING))),
        ("-2147483648::int = a", Compare("=", Cast(Literal(-(2**31), t.INTEGER), t.INTEGER), A)),
        ("a = 1 -- comment \\\nAND b = 2\n AND c", And((Compare("=", A, ONE), C))),
        ("a | b & c = 1", Compare("=", Call("|", (A, Call("&", (B, C)))), ONE)),
        ("-a ^ 2 = b", Compare("=", Call("^", (Call("negative", (A,)), TWO)), B)),
        ("a > b >> 1", Compare(">", A, Call("shiftright", (B, ONE)))),
        ("a >>> 1 > b", Compare(">", Call("shiftrightunsigned", (A, ONE)), B)),
        ("a[b].c = 1", Compare("=", Call("[]", (Call("[]", (A, B)), Literal("c", t.STRING))), ONE)),
        ("(a | b) * 2 = c", Compare("=", Call("*", (Call("|", (A, B)), TWO)), C)),
        ("(a).b.c = 1", Compare("=", Column(("a", "b", "c")), ONE)),
        ("a LIKE ANY ('x', b)", Or((Like(A, Literal("x", t.STRING)), Like(A, B)))),
        ("a NOT LIKE ALL ('x', b)", And((Not(Like(A, Literal("x", t.STRING))), Not(Like(A, B))))),
        ("position('x' IN a) = 1", Compare("=", Call("position", (Literal("x", t.STRING), A)), ONE)),
        ("substring(a FROM 1 FOR 2) = b", Compare("=", Call("substring", (A, ONE, TWO)), B)),
        ("overlay(a PLACING b FROM 1) = c", Compare("=", Call("overlay", (A, B, ONE)), C)),
        ("CAST(a AS timestamp without time zone) = b", Compare("=", Cast(A, t.TIMESTAMP_NTZ), B)),
        ("a COLLATE system.builtin.UNICODE = b", Compare("=", Collate(A, "UNICODE"), B)),
        ("CASE end WHEN 1 THEN b END", Case(((Compare("=", Column(("end",)), ONE), B),))),
        ("exists(a, X -> x = b)", Call("exists", (A, Lambda(("X",), Compare("=", Variable("x"), B))))),
        ("f(a -> b -> 1, b)", Opaque("f(a -> b -> 1, b)", (("b",),))),
        ("a:b[0].c = 1", Compare("=", Call("variant_get", (A, Literal("$.b[0].c", t.STRING))), ONE)),
        ("a = (b, c AS d)", Compare("=", A, struct_node(B, C, names={1: "d"}))),
        ("CAST(a AS map<int, array<int>>) = b", Compare("=", Cast(A, t.MapType(t.INTEGER, t.ArrayType(t.INTEGER))), B)),
        (
            "CAST(a AS varchar(5)) = 'x'",
            Compare("=", Opaque("CAST(a AS varchar(5))", (("a",),)), Literal("x", t.STRING)),
        ),
    ],
)
def test_operators_bind_as_in_spark(text: str, node: Node) -> None:
    assert parse_sql(text) == node


def takes(name: str, count: int) -> bool:
    least, most = ARGUMENT_COUNTS.get(name, (0, None))
    return least <= count and (most is None or count <= most)


@pytest.mark.parametrize(
    "text",
    [
        *("sum(a) > 5", "count(*) > 1", "COUNT(DISTINCT a) = 1", "max(a) OVER (PARTITION BY b) = 1", "any(a)"),
        *("row_number() OVER (ORDER BY a) = 1", "rank() = 1", "lag(a) = 1", "explode(a) = 1", "a = 1 AND avg(b) > 2"),
        *("first(a) IGNORE NULLS = 1", "sum(a) FILTER (WHERE b) > 5", "upper(max(a)) = 'X'"),
    ],
)
def test_functions_of_several_rows_are_refused_with_their_place(text: str) -> None:
    with pytest.raises(PredicateError, match=r"line 1, column \d+: \w+ is an? \w+ function"):
        parse_sql(text)


@pytest.mark.parametrize(
    "text",
    [
        *("a IN (SELECT max(b) FROM t)", "a = (SELECT count(*) FROM t)", "EXISTS (SELECT sum(b) FROM t)"),
        *("a LIKE ANY ('x', 'y')", "a LIKE SOME ('x')", "sum = 5", "a.max > 1", "`sum`(a) > 5", "my_sum(a, b, c) = 1"),
        *("substring(a FROM 1 FOR 2) = 'x'", "trim(BOTH 'x' FROM a) = 'y'", "position('x' IN a) = 1", "b.sum(a) = 1"),
        "date_add(DAY, 1, a) > b",
        *("exists(a, x -> x = 1)", "overlay(a PLACING 'x' FROM 1) = 'y'", "extract(YEAR FROM a) = 1", "concat() = ''"),
    ],
)
def test_what_has_the_name_of_such_a_function_is_accepted(text: str) -> None:
    parse_sql(text)


def test_calls_keep_their_names_and_arguments() -> None:
    def check(name: str, count: int) -> None:
        args = tuple(Column((part,)) for part in "abcd"[:count])
        if not name.isidentifier():
            return
        text = f"{name}({', '.join('abcd'[:count])})"
        if not takes(name, count):
            with pytest.raises(PredicateError, match=rf"column 1: {name} takes .*, not {count}; in"):
                parse_sql(text)
            return
        node = parse_sql(text)
        if name in ("dateadd", "datediff", "date_add", "date_diff", "timestampadd", "timestampdiff") and count == 3:
            assert isinstance(node, Opaque)
        else:
            assert node == function_node(name, args)

    each(itertools.product(sorted({*FUNCTIONS, *ALIASES, *REPLACED}), range(5)), lambda case: check(*case))


@pytest.mark.parametrize("name", ["if", "nullif", "nvl2", "startswith", "isnull", "to_date", "concat_ws", "equal_null"])
def test_functions_that_are_other_nodes_keep_the_order_of_their_arguments(name: str) -> None:
    for count in filter(lambda count: takes(name, count), range(4)):
        args = tuple(Column((part,)) for part in "abc"[:count])
        assert parse_sql(f"{name.upper()} ({', '.join('abc'[:count])})") == function_node(name, args)


COLUMN_NAMES = """
    user current_user current_date current_timestamp session_user localtimestamp day date timestamp year month
    value key count first left right index order group all any some select where having limit offset comment show table
    view show describe explain set map array struct decimal int bigint string binary boolean interval start end sum
    filter over partition range rows row values with union join on using natural cross inner outer full semi anti
    window qualify desc asc nulls last cube rollup grouping sets exists extract position substring trim overlay cast
    if unknown distinct from to by column columns schema database catalog type types timestamp_ntz x n r b l e
    transform reduce minus except intersect lateral pivot unpivot sort cluster distribute uuid json variant void
    percent zone time hour minute second quarter week options location format format_number replace symmetric both
    ignore respect within begin commit rollback call copy kill load merge update delete insert truncate
"""


def test_columns_may_bear_the_names_of_keywords() -> None:
    def check(name: str) -> None:
        column = Column((name,))
        assert parse_sql(f"{name} = 1") == Compare("=", column, ONE)
        assert parse_sql(f"{name} IS NOT NULL AND a") == And((Not(IsNull(column)), A))
        assert parse_sql(f"1 < {name}") == Compare("<", ONE, column)
        assert parse_sql(f"({name}) IN (1) OR a") == Or((In(column, (ONE,)), A))
        assert parse_sql(f"st.{name} = {name}.a") == Compare("=", Column(("st", name)), Column((name, "a")))

    each(sorted(set(COLUMN_NAMES.split())), check)


def test_a_timestamp_without_a_zone_waits_for_the_session_s() -> None:
    literal = Cast(Literal("2024-01-01 10:00:00", t.STRING), t.TIMESTAMP)
    assert parse_sql("a > TIMESTAMP'2024-01-01 10:00:00'") == Compare(">", A, literal)


@pytest.mark.parametrize(
    "text",
    [
        "EXISTS (SELECT 1 FROM t WHERE z = 1)",
        "b IN (SELECT b FROM t)",
        "b = (SELECT max(b) FROM t)",
        "f(DISTINCT b) = 1",
        "CAST(b AS array<char(3)>) = z",
        "dateadd(DAYS, z, b) > z",
        "b > DATE'today Europe/Berlin'",
        "b > TIMESTAMP'2024-01-01 00:00:00 SystemV/PST8'",
        "b:path.`to`[0] = 1",
    ],
)
def test_what_has_no_node_is_opaque_and_spares_the_other_legs(text: str) -> None:
    node = parse_sql(f"a = 1 AND {text}")
    opaque = [part for part in walk(node) if isinstance(part, Opaque)]
    assert opaque
    assert isinstance(node, And)
    assert node.children[0] == Compare("=", A, ONE)


def test_opaque_sql_still_tells_its_columns() -> None:
    assert columns_of(parse_sql("f(DISTINCT b.c) = 1 AND a = 2")) == (("b", "c"), ("a",))


@pytest.mark.parametrize(("text", "column"), [("  -- nothing", 1), *cases(__file__, "wrong_syntax.txt")])
def test_wrong_syntax_is_named_with_its_place(text: str, column: str) -> None:
    with pytest.raises(PredicateError, match=f"line 1, column {column}:"):
        parse_sql(text)


def test_not_before_no_predicate_is_an_error() -> None:
    with pytest.raises(PredicateError, match=r"line 1, column [37]:"):
        parse_sql("a NOT 5")


def test_errors_count_lines() -> None:
    with pytest.raises(PredicateError, match="line 2, column 7"):
        parse_sql("a = 1\nAND b c")


@pytest.mark.parametrize("quote", ["", "'"])
def test_long_lists_are_read_whole(quote: str) -> None:
    node = parse_sql("a IN (" + ",".join(f"{quote}{n}{quote}" for n in range(100_000)) + ")")
    assert isinstance(node, In)
    assert len(node.values) == 100_000
    assert node.values[-1] == (Literal("99999", t.STRING) if quote else Literal(99_999, t.INTEGER))


@pytest.mark.parametrize(
    "values",
    [
        [str(n * 30_000_000) for n in range(-100, 100)],
        [f"{n}L" if n % 3 else str(n) for n in range(200)],
        [f"'{n} (,) IN (1'" for n in range(100)],
    ],
)
@pytest.mark.parametrize(
    "text", ["a IN ({})", "b = 'x IN (' AND NOT a in( {} ) OR a IN ({}) AND c = 1", "`a IN (1,` IN ({})"]
)
def test_long_lists_mean_what_short_ones_do(values: list[str], text: str) -> None:
    listed = ", ".join(values)
    # A comment turns the short cut off.
    short = parse_sql(text.format(listed + "/**/", listed + "/**/"))
    assert with_tuples(parse_sql(text.format(listed, listed))) == short


def with_tuples(node: Node) -> Node:
    """The node with every list as a tuple of literals."""
    node = In(node.child, tuple(node.values)) if isinstance(node, In) else node
    return transform(node, with_tuples)


def test_a_long_list_inside_of_a_string_stays_there() -> None:
    text = "a IN (" + ", ".join(map(str, range(100))) + ")"
    assert parse_sql(f'a = "{text}" AND b = 1') == And((Compare("=", A, Literal(text, t.STRING)), Compare("=", B, ONE)))


def test_errors_behind_a_long_list_name_their_own_place() -> None:
    text = "a IN (" + ", ".join(map(str, range(100))) + ") b"
    with pytest.raises(PredicateError, match=f"line 1, column {len(text)}:"):
        parse_sql(text)


def test_groups_inside_of_groups_are_read() -> None:
    text = "a IN (0)"
    for n in range(60):
        text = f"({text} OR f(b, c) = {n})"
    node = parse_sql(text)
    assert not any(isinstance(part, Opaque) for part in walk(node))
    assert sum(isinstance(part, Or) for part in walk(node)) == 60


@pytest.mark.parametrize(
    "text", ["NOT " * 3000 + "a", "f(" * 500 + "a" + ")" * 500, "CASE WHEN a THEN " * 500 + "b" + " END" * 500]
)
def test_no_depth_exhausts_the_stack(text: str) -> None:
    assert sum(1 for _ in walk(parse_sql(text))) > 500


def test_deep_nesting_stays_and_long_chains_are_flat() -> None:
    assert parse_sql("(" * 3000 + "a = 1" + ")" * 3000) == Compare("=", A, ONE)
    nested = parse_sql("(a = 1 OR " * 3000 + "a" + ")" * 3000)
    assert sum(isinstance(part, Or) for part in walk(nested)) == 3000
    assert sum(isinstance(part, Call) for part in walk(parse_sql("a = " + " + ".join(["1"] * 3000)))) == 2999
    chain = parse_sql(" OR ".join(f"a = {n}" for n in range(10_000)))
    assert isinstance(chain, Or)
    assert len(chain.children) == 10_000


@pytest.mark.parametrize(("text", "column"), [("i > > 3", 5), ("i < < 3", 5), ("i is 5", 6), ("i IS 'x'", 6)])
def test_slips_that_another_grammar_would_read_are_syntax_errors(text: str, column: int) -> None:
    with pytest.raises(PredicateError, match=f"column {column}:"):
        parse_sql(text)

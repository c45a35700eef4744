"""Spark SQL text to nodes: precedence, literals, names, what stays opaque, and what is an error."""

import itertools

import pytest

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions import ALIASES, FUNCTIONS, REPLACED, function_node
from deltaskip.sparkexpr.functions.elements import struct_node
from deltaskip.sparkexpr.functions.spark_functions import ARGUMENT_COUNTS
from tests.cases import cases
from tests.each import each, refuses

A, B, C = n.Column(("a",)), n.Column(("b",)), n.Column(("c",))
ONE, TWO = n.Literal(1, t.INTEGER), n.Literal(2, t.INTEGER)
TRUE = n.Literal(True, t.BOOLEAN)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a <> 1", n.Compare("!=", A, ONE)),
        ("a BETWEEN 1 AND 2 AND b", n.And((n.Between((n.Compare(">=", A, ONE), n.Compare("<=", A, TWO))), B))),
        ("a NOT BETWEEN 1 AND 2", n.Not(n.Between((n.Compare(">=", A, ONE), n.Compare("<=", A, TWO))))),
        ("a COLLATE system.builtin.UNICODE = b", n.Compare("=", n.Collate(A, "UNICODE"), B)),
        ("f(a -> b -> 1, b)", n.Opaque("f(a -> b -> 1, b)", (("b",),))),
        ("a = (b, c AS d)", n.Compare("=", A, struct_node(B, C, names={1: "d"}))),
        ("CAST(a AS varchar(5)) = c", n.Compare("=", n.Opaque("CAST(a AS varchar(5))", (("a",),)), C)),
    ],
)
def test_nodes_differ_where_the_trees_of_spark_are_one_or_have_no_node(text: str, node: n.Node) -> None:
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
    refuses(PredicateError, r"line 1, column \d+: \w+ is an? \w+ function", parse_sql, text)


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
        args = tuple(n.Column((part,)) for part in "abcd"[:count])
        if not name.isidentifier():
            return
        text = f"{name}({', '.join('abcd'[:count])})"
        if not takes(name, count):
            refuses(PredicateError, rf"column 1: {name} takes .*, not {count}; in", parse_sql, text)
            return
        node = parse_sql(text)
        if name in ("dateadd", "datediff", "date_add", "date_diff", "timestampadd", "timestampdiff") and count == 3:
            assert isinstance(node, n.Opaque)
        else:
            assert node == function_node(name, args)

    each(itertools.product(sorted({*FUNCTIONS, *ALIASES, *REPLACED}), range(5)), lambda case: check(*case))


@pytest.mark.parametrize("name", ["if", "nullif", "nvl2", "startswith", "isnull", "to_date", "concat_ws", "equal_null"])
def test_functions_that_are_other_nodes_keep_the_order_of_their_arguments(name: str) -> None:
    for count in filter(lambda count: takes(name, count), range(4)):
        args = tuple(n.Column((part,)) for part in "abc"[:count])
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
        column = n.Column((name,))
        assert parse_sql(f"{name} = 1") == n.Compare("=", column, ONE)
        assert parse_sql(f"{name} IS NOT NULL AND a") == n.And((n.Not(n.IsNull(column)), A))
        assert parse_sql(f"1 < {name}") == n.Compare("<", ONE, column)
        assert parse_sql(f"({name}) IN (1) OR a") == n.Or((n.In(column, (ONE,)), A))
        assert parse_sql(f"st.{name} = {name}.a") == n.Compare("=", n.Column(("st", name)), n.Column((name, "a")))

    each(sorted(set(COLUMN_NAMES.split())), check)


def test_a_timestamp_without_a_zone_waits_for_the_session_s() -> None:
    literal = n.Cast(n.Literal("2024-01-01 10:00:00", t.STRING), t.TIMESTAMP)
    assert parse_sql("a > TIMESTAMP'2024-01-01 10:00:00'") == n.Compare(">", A, literal)


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
    opaque = [part for part in n.walk(node) if isinstance(part, n.Opaque)]
    assert opaque
    assert isinstance(node, n.And)
    assert node.children[0] == n.Compare("=", A, ONE)


def test_opaque_sql_still_tells_its_columns() -> None:
    assert n.columns_of(parse_sql("f(DISTINCT b.c) = 1 AND a = 2")) == (("b", "c"), ("a",))


@pytest.mark.parametrize(("text", "column"), [("  -- nothing", 1), *cases(__file__, "wrong_syntax.txt")])
def test_wrong_syntax_is_named_with_its_place(text: str, column: str) -> None:
    refuses(PredicateError, f"line 1, column {column}:", parse_sql, text)


def test_not_before_no_predicate_is_an_error() -> None:
    refuses(PredicateError, r"line 1, column [37]:", parse_sql, "a NOT 5")


def test_errors_count_lines() -> None:
    refuses(PredicateError, "line 2, column 7", parse_sql, "a = 1\nAND b c")


@pytest.mark.parametrize("quote", ["", "'"])
def test_long_lists_are_read_whole(quote: str) -> None:
    node = parse_sql("a IN (" + ",".join(f"{quote}{k}{quote}" for k in range(100_000)) + ")")
    assert isinstance(node, n.In)
    assert len(node.values) == 100_000
    assert node.values[-1] == (n.Literal("99999", t.STRING) if quote else n.Literal(99_999, t.INTEGER))


@pytest.mark.parametrize(
    "values",
    [
        [str(k * 30_000_000) for k in range(-100, 100)],
        [f"{k}L" if k % 3 else str(k) for k in range(200)],
        [f"'{k} (,) IN (1'" for k in range(100)],
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


def with_tuples(node: n.Node) -> n.Node:
    """The node with every list as a tuple of literals."""
    node = n.In(node.child, tuple(node.values)) if isinstance(node, n.In) else node
    return n.transform(node, with_tuples)


def test_a_long_list_inside_of_a_string_stays_there() -> None:
    text = "a IN (" + ", ".join(map(str, range(100))) + ")"
    assert parse_sql(f'a = "{text}" AND b = 1') == n.And(
        (n.Compare("=", A, n.Literal(text, t.STRING)), n.Compare("=", B, ONE))
    )


def test_errors_behind_a_long_list_name_their_own_place() -> None:
    text = "a IN (" + ", ".join(map(str, range(100))) + ") b"
    refuses(PredicateError, f"line 1, column {len(text)}:", parse_sql, text)


def test_groups_inside_of_groups_are_read() -> None:
    text = "a IN (0)"
    for k in range(60):
        text = f"({text} OR f(b, c) = {k})"
    node = parse_sql(text)
    assert not any(isinstance(part, n.Opaque) for part in n.walk(node))
    assert sum(isinstance(part, n.Or) for part in n.walk(node)) == 60


@pytest.mark.parametrize(
    "text", ["NOT " * 3000 + "a", "f(" * 500 + "a" + ")" * 500, "CASE WHEN a THEN " * 500 + "b" + " END" * 500]
)
def test_no_depth_exhausts_the_stack(text: str) -> None:
    assert sum(1 for _ in n.walk(parse_sql(text))) > 500


def test_deep_nesting_stays_and_long_chains_are_flat() -> None:
    assert parse_sql("(" * 3000 + "a = 1" + ")" * 3000) == n.Compare("=", A, ONE)
    nested = parse_sql("(a = 1 OR " * 3000 + "a" + ")" * 3000)
    assert sum(isinstance(part, n.Or) for part in n.walk(nested)) == 3000
    assert sum(isinstance(part, n.Call) for part in n.walk(parse_sql("a = " + " + ".join(["1"] * 3000)))) == 2999
    chain = parse_sql(" OR ".join(f"a = {k}" for k in range(10_000)))
    assert isinstance(chain, n.Or)
    assert len(chain.children) == 10_000


@pytest.mark.parametrize(("text", "column"), [("i > > 3", 5), ("i < < 3", 5), ("i is 5", 6), ("i IS 'x'", 6)])
def test_slips_that_another_grammar_would_read_are_syntax_errors(text: str, column: int) -> None:
    refuses(PredicateError, f"column {column}:", parse_sql, text)

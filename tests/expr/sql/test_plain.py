"""Conjunctions that are parsed without sqlglot, held against the parser of all other text."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.errors import PredicateError
from deltaskip.expr import parse_sql
from deltaskip.expr.literal_list import SHORTEST
from deltaskip.expr.sql.parse import parsed
from deltaskip.expr.sql.plain import WORDS, plain_node

BLANKS = st.sampled_from([" ", "  ", "\n", "\t", "\r\n", ""])
NAMES = st.one_of(
    st.sampled_from(["id", "a.b", "`a b`", "`a``b`", "date", "timestamp", "x", "current_date", "day", "any", "all"]),
    st.sampled_from(["table", "select", "values", "with", "map", "group", "over", "s .t", "_1", "1a", "é", "`and`"]),
    st.sampled_from(sorted(WORDS)),
)
LITERALS = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["1.", ".5", "1.5", "1e3", "1e-3", "1E400", "5L", "200Y", "1S", "2.5BD", "1f", "1D", "- 5", "+5"]),
    st.sampled_from(["0x1F", "1_000", "1a", "1.2.3", "5.e", "9" * 39, "NULL", "TRUE", "b", "'a' 'b'", "'a''b'"]),
    st.text(st.characters(codec="utf-8"), max_size=5).map(lambda text: f"'{text}'"),
    st.sampled_from(["date '2020-01-31'", "DATE'2020-02-30'", "Date 'now'", "TIMESTAMP '2020-01-31 10:00:00'"]),
    st.sampled_from(["timestamp '2020-01-31T10:00:00Z'", "TIMESTAMP_NTZ '2020-01-31'", "X'1F'", "x 'zz'", "r'a'"]),
    st.sampled_from(["timestamp '10:00'", 'DATE "2020-01-31"', "date ('2020-01-31')", "a.date '2020-01-31'", "d '1'"]),
)
COMPARISONS = st.sampled_from(["=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>", "!<", "!>", "= =", "> =", "=-"])


@st.composite
def leg(draw: st.DrawFn) -> str:
    """A comparison, or something near one."""
    name, blank = draw(NAMES), draw(BLANKS)
    kind = draw(st.sampled_from(["compare"] * 4 + ["is", "between", "in", "like"]))
    if kind == "compare":
        return f"{name}{blank}{draw(COMPARISONS)}{draw(BLANKS)}{draw(LITERALS)}"
    if kind == "is":
        return f"{name}{blank}{draw(st.sampled_from(['IS NULL', 'is not  null', ' IS TRUE', ' is unknown', ' IS']))}"
    if kind == "between":
        return f"{name}{blank}between {draw(LITERALS)}{draw(BLANKS)}AND {draw(LITERALS)}"
    if kind == "in":
        items = draw(st.lists(LITERALS, max_size=3))
        listed = draw(st.sampled_from([",", " , ", " "])).join(items)
        return f"{name}{blank}IN{draw(BLANKS)}({listed})"
    return f"{name} LIKE {draw(LITERALS)}"


@st.composite
def conjunction(draw: st.DrawFn) -> str:
    """Legs joined by AND, sometimes by something else."""
    text = draw(BLANKS)
    for at, each in enumerate(draw(st.lists(leg(), min_size=1, max_size=4))):
        joint = draw(st.sampled_from(["AND", "and", "AND", "OR", "AND NOT", ","]))
        text += each if at == 0 else f"{draw(BLANKS)}{joint}{draw(BLANKS)}{each}"
    return text + draw(st.sampled_from(["", " ", ";", " -- a", ")"]))


@given(conjunction())
def test_an_accepted_text_has_the_node_that_the_full_parser_makes_of_it(text: str) -> None:
    node = plain_node(text)
    if node is not None:
        assert node == parsed(text)


PLAIN = [
    "id >= 5 AND id<=7",
    "a.b = 'x'AND c is not null",
    "d between date '2020-01-01' and DATE'2021-01-01'",
    "x in (1,2, -3L) and y != 1.50",
    "ts >= TIMESTAMP '2020-01-01' AND `a b`<>1.5e3",
    "b == x'ff' AND i IS NULL",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_conjunctions_are_accepted(text: str) -> None:
    assert plain_node(text) == parsed(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id",
        "id =",
        "id = 5 AND",
        "id = 5 OR id = 6",
        "NOT id = 5",
        "(id = 5)",
        "5 = id",
        "id = 5 -- five",
        "id = b",
        "id = 5;",
        "id = 'a\\n'",
        "f(id) = 5",
        "id + 1 = 5",
        "s.t.u = 5",
        "id <=> 5",
        "case = 5",
        "id = -- 5\n5",
        "id = 'a' COLLATE UNICODE",
        f"id IN ({', '.join(map(str, range(SHORTEST)))})",
        f"id = '{'a' * 65536}'",
    ],
)
def test_all_other_text_is_left_to_the_full_parser(text: str) -> None:
    assert plain_node(text) is None


@pytest.mark.parametrize("text", ["id = DATE '2020-02-30'", "id IN ()", "id = 300Y", "id == = 5"])
def test_errors_are_those_of_the_full_parser(text: str) -> None:
    with pytest.raises(PredicateError) as expected:
        parsed(text)
    with pytest.raises(PredicateError) as caught:
        parse_sql(text)
    assert str(caught.value) == str(expected.value)


def test_plain_conjunctions_do_not_load_sqlglot_and_others_do() -> None:
    code = (
        "import sys; from deltaskip.expr import parse_sql, with_parameters as given; parse_sql(given('id > 5', None)); "
        "print('sqlglot' in sys.modules); parse_sql('id > 5 OR id < 3'); print('sqlglot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]

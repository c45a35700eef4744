"""Predicates that are easily written wrong: the message says what to write."""

from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.diagnosis import unknown_functions
from deltaskip.sparkexpr.nodes import operations
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import refuses

SCHEMA = parse_columns("id INT, customer STRING, day DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, other STRING")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("id = 1 && id = 2", "write AND for &&"),
        ("id == 1 && customer = 'x'", "line 1, column 10: write AND for &&"),
        ("customer = c1", "There is no column c1; .* A text is written in quotes: 'c1'"),
        ("id = 1 AND customer != others", "did you mean other.* A text is written in quotes: 'others'"),
        ("day = 20240131", "DATE = INT is not a valid comparison .* write a time as DATE'2026-01-31', or cast"),
        ("5 < day", "write a time as DATE'2026-01-31'"),
        ("ts = 5", "write a time as TIMESTAMP'2026-01-31 12:00:00'"),
        ("n > 5", "write a time as TIMESTAMP_NTZ'2026-01-31 12:00:00'"),
        ("t.id = 1", "There is no column t.id: write id without the name of the table"),
        ("id => 2", "write >= for =>"),
        ("id =< 2", "comparisons are =, !=, <, <=, >, >= and <=>"),
        ("id ≥ 2", "write >="),
        ("customer = 'it's'", r"a quote in a text is written as \\'"),
        ("id = %s", "parameters as :name or"),
        ("id = {x}", "parameters as :name or"),
        ("customer ~ 'a'", "line 1, column 10: write RLIKE for ~"),
        ("customer !~ 'a'", r"write NOT \(… RLIKE …\) for !~"),
        ("customer = 'a\\'", "a quote is not closed; a backslash before a quote is written twice"),
        ("customer = 'a", "a quote is not closed; in"),
        ("id = true", "BOOLEAN is not a valid comparison .*: cast one side"),
    ],
)
def test_the_message_says_what_to_write(where: str, said: str) -> None:
    refuses(PredicateError, said, lambda: bind(parse_sql(where), SCHEMA))


def test_a_method_of_a_column_is_a_function_of_spark() -> None:
    for written, said in (
        ("customer.contains('a')", "Did you mean contains(customer, 'a')?"),
        ("customer.Upper() = 'A'", "Did you mean Upper(customer)?"),
        ("db.own('a')", ""),
    ):
        assert "".join(sentence for _, sentence in unknown_functions(operations(parse_sql(written)))).endswith(said), (
            written
        )


def test_a_column_on_the_right_needs_no_quotes() -> None:
    assert bind(parse_sql("customer = other"), SCHEMA)
    assert bind(parse_sql("day = current_date"), SCHEMA)
    with pytest.raises(PredicateError, match=r"There is no column c1; the columns are .*\.$"):
        bind(parse_sql("c1 = 'x'"), SCHEMA)


def test_a_double_bar_that_is_no_concatenation_names_or(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, qty INT, name STRING")
    for where in ("id > 1 || qty < 3", "(id > 1) || (qty < 3)", "id = 1 || name = 'x'"):
        for door in (table.scan, table.delete):
            refuses(PredicateError, r"In Spark SQL \|\| joins texts: write OR if that is meant", door, where)
    refuses(PredicateError, r"In Spark SQL \| is the OR of the bits", table.scan, "id > 1 | qty < 3")
    with pytest.raises(PredicateError) as other:
        table.scan("id > true AND name = '||'")
    assert "write OR" not in str(other.value)
    assert table.scan("name || 'x' = 'yx'").count() == 0

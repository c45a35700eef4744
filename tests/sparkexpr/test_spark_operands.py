"""Arguments that Spark does not evaluate, because another one is NULL, are not evaluated here either."""

from typing import Any

import pytest

from tests.each import each
from tests.extent import some
from tests.sparkexpr.random_expressions import ERROR, bound
from tests.sparkexpr.spark_operands import MODES, NULL, SCHEMA, VALUE, ZONE, answers, cases, collect, rows

# Calls that may not be evaluated here, though Spark has a value: it does not look at the pattern for a time.
_LEFT = ("to_timestamp(", "to_date(", "array_join(")


def told(value: object) -> str:
    """A value as the answers have it."""
    return value if isinstance(value, str) else NULL if value == ("None",) else VALUE


def test_an_argument_fails_where_it_does_in_compiled_code() -> None:
    table = rows()

    def check(text: str) -> None:
        node = bound(text, SCHEMA, ZONE, True)
        if node is None:
            assert text.startswith(_LEFT)
            return
        found = [told(of(node, ZONE)[0]) for of in (table.by_column, table.by_row)]
        assert found == [answers()[text][MODES[True]]] * 2, found

    each(some(answers(), 800), check)


def test_every_case_has_an_answer() -> None:
    missing = set(cases()) - set(answers())
    # Spark refuses arguments that are no constants, and patterns of times.
    assert len(missing) < 60, sorted(missing)
    assert {ERROR, NULL, VALUE} == {modes[MODES[True]] for modes in answers().values()}


@pytest.mark.spark
@pytest.mark.long(gate=1)
def test_answers_are_those_of_the_installed_spark(expression_session: Any) -> None:
    sample = tuple(answers())[::40]
    assert collect(expression_session, sample) == {text: answers()[text] for text in sample}

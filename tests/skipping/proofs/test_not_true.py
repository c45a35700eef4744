"""The complement of a predicate is TRUE for every row for which the predicate is FALSE or NULL."""

from itertools import product

import pytest

from deltaskip.skipping.proofs.rewrite import not_true
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.normalize import normalize
from deltaskip.sparkexpr.types.ddl import parse_columns

SCHEMA = parse_columns("a INT, b INT")


@pytest.mark.parametrize("text", ["a <=> b", "a <=> 1", "NOT (a <=> b)", "a <=> b AND a > 0", "a <=> b OR b IS NULL"])
def test_the_complement_holds_wherever_the_predicate_does_not(text: str) -> None:
    node = normalize(bind(parse_sql(text), SCHEMA))
    opposite = not_true(node)
    for a, b in product((None, 0, 1, 2), repeat=2):
        row = {("a",): a, ("b",): b}
        if evaluate(node, row) is not True:
            assert evaluate(opposite, row) is True, (a, b)


def test_the_complement_of_equal_or_both_null_is_exact() -> None:
    node = normalize(bind(parse_sql("a <=> b"), SCHEMA))
    for a, b in product((None, 0, 1), repeat=2):
        row = {("a",): a, ("b",): b}
        assert (evaluate(not_true(node), row) is True) is (a != b)

"""The expression of an invariant is read in one place; what is no text with it is malformed."""

import pytest

from deltaskip.sparkexpr.types.json import invariant_expression


def test_the_expression_is_inside_of_two_objects() -> None:
    assert invariant_expression('{"expression": {"expression": "x > 3"}}') == "x > 3"


@pytest.mark.parametrize("value", [None, 1, {}, {"expression": {"expression": "x"}}, "x > 3", "[1]", "{}", "1"])
def test_other_values_are_malformed(value: object) -> None:
    assert invariant_expression(value) is None

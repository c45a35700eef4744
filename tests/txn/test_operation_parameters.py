"""Parameters of an operation, as logged and back."""

from typing import Any

import pytest

from deltaskip.txn.intent import logged_parameter, parameter_value


@pytest.mark.parametrize("value", ["a", "", "1", 1, 2.5, True, None, ["a", "ü"], {"a": [1]}])
def test_a_logged_parameter_has_its_value(value: Any) -> None:
    assert parameter_value(logged_parameter(value), value) == value


def test_text_that_is_not_json_has_no_value() -> None:
    assert parameter_value("a", 1) is None

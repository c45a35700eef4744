"""Expressions of generated columns: which of them other rows, the time or chance decide."""

from __future__ import annotations

import pytest

from deltaskip.expr import beyond_one_row
from deltaskip.expr.functions import PRESENT
from deltaskip.expr.spark_functions import AGGREGATES, CHANGING, GENERATORS, WINDOWS
from tests.each import each

NAMES = sorted((AGGREGATES | WINDOWS | GENERATORS | CHANGING) | {name.removesuffix("()") for name in PRESENT})


def test_functions_that_are_not_of_one_row_are_found_by_every_number_of_arguments_they_take() -> None:
    def check(name: str) -> None:
        assert any(beyond_one_row(f"1 + {name}({arguments})") for arguments in ("", "x", "x, y"))

    each(NAMES, check)


@pytest.mark.parametrize(
    "text",
    ["current_date", "CURRENT_TIMESTAMP", "current_user", "(SELECT 1)", "sum(x) OVER ()", "year(cast(now() AS DATE))"],
)
def test_functions_without_parentheses_queries_and_windows_are_found(text: str) -> None:
    assert beyond_one_row(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("c LIKE ANY ('a')", "c NOT LIKE ANY ('a')", "c ILIKE ANY ('a')", "c LIKE SOME ('a')", "c LIKE ALL ('a')"),
        *("unix_timestamp(ts, 'yyyy')", "exists(a, x -> x > 1)", "greatest(a, b)", "`max`", "t.user", "left(c, 2)"),
    ],
)
def test_expressions_of_one_row_are_not_found(text: str) -> None:
    assert beyond_one_row(text) is None

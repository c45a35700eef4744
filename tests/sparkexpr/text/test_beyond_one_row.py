"""Expressions of generated columns: which of them other rows, the time or chance decide."""

import pytest

from deltaskip.sparkexpr import beyond_one_row, columns_in
from deltaskip.sparkexpr.functions import PRESENT
from deltaskip.sparkexpr.functions.spark_functions import AGGREGATES, CHANGING, GENERATORS, WINDOWS
from deltaskip.sparkexpr.types.data_types import STRING, StructField, StructType
from tests.each import each

ROW = StructType()
NAMES = sorted((AGGREGATES | WINDOWS | GENERATORS | CHANGING) | {name.removesuffix("()") for name in PRESENT})


def test_functions_that_are_not_of_one_row_are_found_by_every_number_of_arguments_they_take() -> None:
    def check(name: str) -> None:
        assert any(beyond_one_row(f"1 + {name}({arguments})", ROW) for arguments in ("", "x", "x, y"))

    each(NAMES, check)


@pytest.mark.parametrize(
    "text",
    ["current_date", "CURRENT_TIMESTAMP", "current_user", "(SELECT 1)", "sum(x) OVER ()", "year(cast(now() AS DATE))"],
)
def test_functions_without_parentheses_queries_and_windows_are_found(text: str) -> None:
    assert beyond_one_row(text, ROW)


@pytest.mark.parametrize("name", ["current_date", "user", "CURRENT_USER"])
def test_a_column_is_no_function_of_its_name(name: str) -> None:
    table = StructType((StructField(name.lower(), STRING),))
    assert beyond_one_row(f"{name} = 'a'", ROW) == [name]
    assert beyond_one_row(f"{name} = 'a'", table) == []
    assert columns_in(f"{name} = 'a'") == columns_in(f"{name} = 'a'", table) == ((name,),)
    assert columns_in(f"{name} = 'a'", ROW) == ()


@pytest.mark.parametrize(
    "text",
    [
        *("c LIKE ANY ('a')", "c NOT LIKE ANY ('a')", "c ILIKE ANY ('a')", "c LIKE SOME ('a')", "c LIKE ALL ('a')"),
        *("unix_timestamp(ts, 'yyyy')", "exists(a, x -> x > 1)", "greatest(a, b)", "`max`", "t.user", "left(c, 2)"),
    ],
)
def test_expressions_of_one_row_are_not_found(text: str) -> None:
    assert beyond_one_row(text, ROW) == []

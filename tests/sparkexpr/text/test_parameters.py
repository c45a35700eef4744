"""Parameters of SQL text: each value is one literal of the same value and type, whatever it contains."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError
from deltaskip.sparkexpr import parse_sql, with_parameters
from deltaskip.sparkexpr.nodes import Cast, Column, Compare, In, Literal, Node
from deltaskip.sparkexpr.python_values import literal_node

BERLIN = timezone(timedelta(hours=1))
MOMENT = datetime(2026, 1, 31, 12, tzinfo=UTC)

VALUES: list[tuple[Any, Any]] = [
    *((value, value) for value in (None, True, False, 0, -5, 2**40, -(2**63), 10**30, 1.5, -1.5, 1e300, -0.0)),
    *((value, value) for value in (Decimal("1.50"), Decimal("-7"), "it's", "\\", '"', "':x' -- ?", "", b"\x00a")),
    *((value, value) for value in (date(2026, 1, 31), MOMENT, datetime(2026, 1, 31, 12), timedelta(days=-1, hours=2))),
    (datetime(2026, 1, 31, 13, tzinfo=BERLIN), MOMENT),
    (np.int8(5), 5), (np.uint64(2**63), 2**63), (np.float32(0.5), 0.5), (np.float64(0.1), 0.1), (np.bool_(True), True),
    (np.str_("x"), "x"), (np.bytes_(b"x"), b"x"), (np.datetime64("2026-01-31"), date(2026, 1, 31)),
    (np.datetime64("2026-01-31T12:00:00.000001"), datetime(2026, 1, 31, 12, microsecond=1)),
    (np.timedelta64(36, "h"), timedelta(hours=36)), (pd.Timestamp("2026-01-31 12:00", tz="UTC"), MOMENT),
    (pd.Timestamp("2026-01-31"), datetime(2026, 1, 31)), (pd.Timedelta(days=2), timedelta(days=2)),
    (pa.scalar(5), 5), (pa.scalar("x"), "x"), (pa.scalar(date(2026, 1, 31)), date(2026, 1, 31)),
]  # fmt: skip


def only_value(text: str) -> Node:
    node = parse_sql(text)
    assert isinstance(node, Compare), node
    found = node.right
    if isinstance(found, Cast) and isinstance(found.child, Literal) and isinstance(found.child.value, bytes):
        # `sql_string` writes strings with quotes and backslashes so that no setting changes them.
        return Literal(found.child.value.decode(), found.type)
    return found


@pytest.mark.parametrize(("value", "same"), VALUES, ids=lambda value: repr(value)[:30])
def test_a_parameter_is_the_literal_of_its_value(value: Any, same: Any) -> None:
    text = with_parameters("a = :x", {"x": value})
    assert isinstance(text, str)
    if isinstance(same, timedelta):
        assert "INTERVAL" in text
        return
    assert only_value(text) == literal_node(same) == literal_node(value)
    assert with_parameters("a = ?", [value]) == text


@given(st.one_of(st.text(), st.binary(), st.floats(), st.integers(-(10**37), 10**37), st.dates(), st.datetimes()))
def test_no_value_is_read_as_sql(value: Any) -> None:
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        return
    text = with_parameters("a =:x", {"x": value})
    assert isinstance(text, str)
    if isinstance(value, float) and not math.isfinite(value):
        assert text.startswith("a =CAST('")
    else:
        assert only_value(text) == literal_node(value)


def test_a_negative_value_after_a_minus_is_no_comment() -> None:
    assert with_parameters("a = 1 -:x", {"x": -5}) == "a = 1 - -5"
    assert with_parameters("a BETWEEN:x AND:y", {"x": 1, "y": 2}) == "a BETWEEN 1 AND 2"


@pytest.mark.parametrize(
    "values", [[1, 2], (1, 2), np.array([1, 2]), pd.Series([1, 2]), pa.array([1, 2]), range(1, 3), {1: 0, 2: 0}.keys()]
)
def test_a_list_stands_for_the_values_of_in(values: Any) -> None:
    node = parse_sql(str(with_parameters("a IN (:x)", {"x": values})))
    assert isinstance(node, In)
    assert [value.value for value in node.values if isinstance(value, Literal)] == [1, 2]


def test_what_looks_like_a_parameter_is_none_in_strings_comments_names_and_variants() -> None:
    text = "a = ':x' AND b:c.d = 1 AND `:e` = '?' -- :f ?"
    assert with_parameters(text, {}) == text
    assert with_parameters("a = :a OR :b", {"a": 1, "b": True}) == "a = 1 OR TRUE"


@pytest.mark.parametrize(
    ("text", "params", "error", "part"),
    [
        ("a = :x", {}, PredicateError, ":x"),
        ("a = :x AND b = :y", {"z": 1}, PredicateError, ":x, :y"),
        ("a = :x", {"x": 1, "y": 2}, InvalidArgument, ":y"),
        ("a = 1", {"x": 1}, InvalidArgument, ":x"),
        ("a = ?", [], PredicateError, "0 values"),
        ("a = ?", [1, 2], InvalidArgument, "2 values"),
        ("a = ?", {"x": 1}, InvalidArgument, "?"),
        ("a = :x", [1], InvalidArgument, ":x"),
        ("a = :x", {1: 1}, InvalidArgumentType, "key"),
        ("a = :x", 5, InvalidArgumentType, "params"),
        ("a = :x", "x", InvalidArgumentType, "params"),
        ("a = :x", {"x": object()}, InvalidArgumentType, "The value of :x"),
        ("a = ?", [object()], InvalidArgumentType, "Value 1 of params"),
        ("a IN (:x)", {"x": []}, PredicateError, "empty list"),
        ("a IN (:x)", {"x": [{1}]}, InvalidArgumentType, "value of :x"),
        ("a = :x", {"x": [(1, 2)]}, InvalidArgumentType, ":x"),
        ("a = :x", {"x": Decimal("NaN")}, PredicateError, "NaN"),
        ("a = :x", {"x": 10**40}, PredicateError, "38 digits"),
        ("a = :x", {"x": pd.NaT}, PredicateError, "NaT"),
        ("a = :x", {"x": np.datetime64("NaT")}, PredicateError, "NaT"),
        ("a = :x", {"x": pd.Timestamp("2026-01-01T00:00:00.000000001")}, PredicateError, "microseconds"),
        ("a = :x", {"x": np.datetime64("2026-01-01T00:00:00.000000001")}, PredicateError, "microseconds"),
        ("a = :x", {"x": np.datetime64("30000-01-01T00:00")}, PredicateError, "9999"),
        (None, {"x": 1}, InvalidArgument, "params"),
        (5, [1], InvalidArgument, "params"),
    ],
)
def test_wrong_parameters_are_refused_by_name(text: Any, params: Any, error: type[Exception], part: str) -> None:
    with pytest.raises(error) as caught:
        with_parameters(text, params)
    assert type(caught.value) is error
    assert part in str(caught.value)


@pytest.mark.parametrize("text", ["a = :x", "a = ?", ":flag", "a IN (:ids)", "a = 1 AND b LIKE ?"])
def test_a_parameter_without_a_value_is_refused_with_its_place(text: str) -> None:
    at = min(text.find(mark) for mark in ":?" if mark in text) + 1
    with pytest.raises(PredicateError, match=rf"column {at}: the parameter .* has no value: pass params="):
        parse_sql(text)


def test_without_params_the_predicate_stays_as_it_is() -> None:
    assert with_parameters(None, None) is None
    assert with_parameters("a = :x", None) == "a = :x"
    assert parse_sql(str(with_parameters("a", {}))) == Column(("a",))

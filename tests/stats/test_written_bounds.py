"""Where bounds are cut: as delta-spark 4.4 cuts them, and never on the wrong side of what they bound."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.collations.lookup import collation
from deltaskip.sparkexpr.types.data_types import DOUBLE, FLOAT, DataType
from deltaskip.stats.written_bounds import (
    COLLATED_LIMIT,
    bound_text,
    cut_collated_max,
    cut_collated_min,
    cut_max,
    cut_min,
)
from tests.looped import looped
from tests.stats.rowwise import truncated_max

# Made by StatisticsCollection.truncateMaxStringAgg(32, text) of delta-spark 4.4.0.
VECTORS = json.loads((Path(__file__).parent / "truncated_max.json").read_text(encoding="utf-8"))
TEXTS = st.text(st.sampled_from("a~\x7fé￾\uffff😀\U0010ffff"), max_size=80)


@looped("case", range(len(VECTORS)))
def test_maxima_are_those_of_delta_spark(case: int) -> None:
    text, expected = VECTORS[case]
    assert cut_max(text) == expected


@given(TEXTS)
def test_cut_bounds_bound_and_are_short(text: str) -> None:
    low, high = cut_min(text), cut_max(text)
    assert low.encode() <= text.encode() and len(low) <= 32
    assert high == truncated_max(text)
    if high is not None:
        assert high.encode() >= text.encode() and len(high.encode("utf-16-le")) // 2 <= 68


@pytest.mark.parametrize("name", ["icu.UNICODE_CI.77.1", "icu.hu.77.1", "icu.th_AI.77.1", "spark.UTF8_LCASE.77.1"])
@given(st.text(st.sampled_from("dzsaAbßé￾\uffff\u0e40\u0e01\u0301\xad"), max_size=4), st.integers(0, 2))
def test_collated_bounds_bound_in_their_own_order(name: str, piece: str, more: int) -> None:
    order = collation(name)
    text = (piece or "d") * (COLLATED_LIMIT // max(len(piece), 1) + more)
    low, high = cut_collated_min(text, order), cut_collated_max(text, order)
    assert low is None or (order.compare_values(low, text) <= 0 and len(low) <= COLLATED_LIMIT)
    assert high is None or (order.compare_values(high, text) >= 0 and len(high) <= COLLATED_LIMIT + 1)
    if len(text) <= COLLATED_LIMIT:
        assert low == high == text


def test_a_beginning_that_is_above_the_whole_is_no_minimum() -> None:
    order = collation("icu.UNICODE.77.1")
    text = "a" * (COLLATED_LIMIT - 1) + "เก"
    assert order.compare_values(text[:COLLATED_LIMIT], text) > 0
    assert cut_collated_min(text, order) is None


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE])
def test_a_bound_of_zero_includes_both_zeros(type_: DataType) -> None:
    write = bound_text(type_)
    for zero in (0.0, -0.0):
        assert write(zero, "min") == "-0.0"
        assert write(zero, "max") == "0.0"
    assert write(1.5, "min") == write(1.5, "max") == "1.5"

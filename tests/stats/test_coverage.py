"""Coverage and overlap against a plain count over every pair of file and point."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.values.numerals import of_unscaled
from deltaskip.stats.coverage import Advice, ColumnCoverage, advise, overlap, value_overlap


def plain(intervals: list[tuple[Any, Any]]) -> tuple[float, int]:
    points = [low for low, _ in intervals] + [high for _, high in intervals]
    met = sum(low <= point <= high for point in points for low, high in intervals)
    return met / len(points), len(set(points))


def measured(intervals: list[tuple[Any, Any]], type_: pa.DataType, cut: int = 0) -> tuple[float, int] | None:
    parts = [part for part in (intervals[:cut], intervals[cut:]) if part]
    return overlap(
        [pa.array([low for low, _ in part], type_) for part in parts],
        [pa.array([high for _, high in part], type_) for part in parts],
    )


def intervals_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    pair = st.tuples(values, values).map(lambda two: (min(two), max(two)))
    return st.lists(pair, min_size=1, max_size=12)


@given(intervals_of(st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)), st.integers(0, 12))
def test_whole_numbers_overlap_as_counted(intervals: list[tuple[int, int]], cut: int) -> None:
    assert measured(intervals, pa.int64(), cut) == pytest.approx(plain(intervals))


@given(intervals_of(st.floats(allow_nan=False)))
def test_doubles_overlap_as_counted(intervals: list[tuple[float, float]]) -> None:
    assert measured(intervals, pa.float64()) == pytest.approx(plain(intervals))


@given(intervals_of(st.text(max_size=3).map(lambda text: text.encode())), st.integers(0, 12))
def test_strings_overlap_by_their_bytes(intervals: list[tuple[bytes, bytes]], cut: int) -> None:
    assert measured(intervals, pa.large_binary(), cut) == pytest.approx(plain(intervals))


@given(intervals_of(st.integers(-(10**30), 10**30) | st.integers(-9, 9)))
def test_decimals_of_any_size_overlap_as_counted(intervals: list[tuple[int, int]]) -> None:
    decimals = [(of_unscaled(low, 2), of_unscaled(high, 2)) for low, high in intervals]
    assert measured(decimals, pa.decimal128(38, 2)) == pytest.approx(plain(decimals))


def test_nan_is_the_greatest_bound() -> None:
    assert measured([(1.0, float("nan")), (2.0, 3.0)], pa.float64()) == (1.5, 4)


def test_nothing_overlaps_where_nothing_is_bounded() -> None:
    assert overlap([], []) is None
    assert overlap([pa.array([], pa.int64())], [pa.array([], pa.int64())]) is None
    assert value_overlap({}) is None


def test_files_of_one_value_meet_those_of_the_same() -> None:
    assert value_overlap({"a": 3, "b": 1}) == pytest.approx(plain([("a", "a")] * 3 + [("b", "b")]))


def column(name: str, files: int | None, depth: float | None = 1.0, distinct: int | None = 1000) -> ColumnCoverage:
    met = None if depth is None or files is None else depth + 100 - files
    return ColumnCoverage(name, "bigint", False, files, 100, files, 100, depth, met, distinct)


def sentences(found: tuple[Advice, ...]) -> list[str]:
    return [advice.sentence for advice in found]


def test_what_spares_the_most_files_comes_first() -> None:
    found = advise([column("a", 60), column("b", 100, 80.0), column("c", 100, 30.0)], 100, (), [])
    assert [advice.action for advice in found] == ["cluster", "recompute", "cluster"]
    assert [advice.column for advice in found] == ["b", "a", "c"]
    assert found[1].sentence == "recompute statistics of a (missing in 40 of 100 files)"


def test_a_well_clustered_table_needs_nothing() -> None:
    assert advise([column("a", 100), column("b", None, None, None), column("c", 100, 50.0, 2)], 100, (), []) == ()


def test_a_column_that_no_writer_collects_is_to_be_declared() -> None:
    bare = column("z", 0, None, None)
    assert sentences(advise([bare], 100, {"a"}, [])) == [
        "add z to delta.dataSkippingStatsColumns and recompute its statistics (missing in all files)"
    ]
    assert sentences(advise([bare], 100, {"z"}, [])) == ["recompute statistics of z (missing in all files)"]


def test_a_clustered_table_that_is_not_is_to_be_optimized() -> None:
    [found] = advise([column("a", 100, 80.0)], 100, (), ["a"])
    assert found.sentence.startswith("run OPTIMIZE")
    assert advise([], 0, (), []) == ()

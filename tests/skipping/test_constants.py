"""Files of one value a column: any deterministic expression is evaluated, but only where the value is certain."""

from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.skipping import constants
from deltaskip.sparkexpr import types as t
from tests.builder import DELTA_RS, SPARK, TableBuilder, add, bounds
from tests.looped import looped

ALL = {"c": t.STRING, "i": t.INTEGER}


def kept(path: Path, where: str, **options: Any) -> list[str]:
    """Paths that a scan keeps."""
    found: list[str] = ds.DeltaTable(path).scan(where=where, **options).files()["path"].to_pylist()
    return found


def table(tmp_path: Path, type_: t.DataType, *stats: Any, engine: str = SPARK) -> Path:
    """A table with a column `c` and files 0, 1, …"""
    builder = TableBuilder(tmp_path / "t", {"c": type_})
    builder.commit(*[add(str(i), s) for i, s in enumerate(stats)], engine=engine)
    return tmp_path / "t"


@looped(
    "type_, value, true, untrue",
    [
        (t.STRING, "Ab", "upper(c) = 'AB'", "upper(c) = 'XY'"),
        (t.STRING, "Ab", "length(c) = 2", "length(c) > 2"),
        (t.STRING, "Ab", "c LIKE '%b'", "c LIKE '%x'"),
        (t.STRING, "Ab", "c ILIKE 'AB'", "c ILIKE 'AX'"),
        (t.STRING, "Ab", "contains(c, 'b')", "contains(c, 'x')"),
        (t.STRING, "12", "c = 12", "c = 13"),
        (t.STRING, "2020-01-01", "c < DATE'2020-01-02'", "c > DATE'2020-01-02'"),
        (t.INTEGER, 7, "c % 3 = 1", "c % 3 = 2"),
        (t.INTEGER, 7, "c * c = 49", "c * c = 50"),
        (t.DATE, "2020-02-29", "dayofweek(c) = 7", "dayofweek(c) = 1"),
        (t.DOUBLE, 1.5, "c * c = 2.25D", "c * c > 3D"),
        (t.DecimalType(9, 2), 1.5, "c * c = 2.25", "c * c > 3"),
        (t.TIMESTAMP, "2020-02-29T00:00:00.000001Z", "c = c", "c != c"),
    ],
)
def test_the_only_value_is_evaluated(tmp_path: Path, type_: t.DataType, value: Any, true: str, untrue: str) -> None:
    path = table(tmp_path, type_, bounds(c=(value, value)))
    assert kept(path, true) == ["0"]
    assert kept(path, untrue) == []


@pytest.mark.parametrize(
    ("type_", "value", "where", "engine"),
    [
        (t.STRING, "x" * 32, "initcap(c) = 'Y'", SPARK),
        (t.TIMESTAMP, "2020-02-29T00:00:00.000Z", "second(c) + hour(c) = 7 OR c != c", SPARK),
        (t.DOUBLE, 0.0, "CAST(c AS string) = '-0.0'", SPARK),
        (t.DOUBLE, 1.5, "c * c > 3D", DELTA_RS),
        (t.DATE, "1850-01-01", "dayofweek(c) * dayofyear(c) = 0", SPARK),
        (t.DecimalType(38, 8), 1.234567890123457e19, "c * c = 0", DELTA_RS),
    ],
)
def test_inexact_bounds_keep_files(tmp_path: Path, type_: t.DataType, value: Any, where: str, engine: str) -> None:
    assert kept(table(tmp_path, type_, bounds(c=(value, value)), engine=engine), where) == ["0"]


def test_nulls_beside_the_value_are_evaluated_too(tmp_path: Path) -> None:
    path = table(tmp_path, t.INTEGER, bounds(c=(7, 7, 1)), bounds(c=(7, 7)), {"numRecords": 2, "nullCount": {"c": 2}})
    assert kept(path, "isnan(c / 2) OR c % 7 IS NULL") == ["0", "2"]
    assert kept(path, "c % 3 = 2") == []
    assert kept(path, "c % 3 = 1") == ["0", "1"]


def test_an_unknown_null_count_counts_as_some_nulls(tmp_path: Path) -> None:
    stats = {"numRecords": 2, "minValues": {"c": 7}, "maxValues": {"c": 7}}
    assert kept(table(tmp_path, t.INTEGER, stats), "c % 3 IS NULL") == ["0"]
    assert kept(table(tmp_path / "u", t.INTEGER, stats), "c % 3 = 2") == []


def test_several_columns_must_all_be_constant(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", ALL)
    builder.commit(
        add("same", bounds(c=("ab", "ab"), i=(2, 2))),
        add("other", bounds(c=("abc", "abc"), i=(2, 2))),
        add("range", bounds(c=("ab", "ac"), i=(2, 2))),
        add("bare"),
    )
    assert kept(tmp_path / "t", "length(c) = i") == ["same", "range", "bare"]
    assert kept(tmp_path / "t", "concat(c, CAST(i AS string)) = 'abc2'") == ["other", "range", "bare"]


def test_wide_bounds_of_one_value_enclose_every_row(tmp_path: Path) -> None:
    wide = {**bounds(c=(7, 7)), "tightBounds": False}
    assert kept(table(tmp_path, t.INTEGER, wide), "c % 3 = 2") == []


def test_what_cannot_be_evaluated_keeps(tmp_path: Path) -> None:
    path = table(tmp_path, t.INTEGER, bounds(c=(0, 0)))
    assert kept(path, "1 / c = 1") == ["0"]
    assert kept(path, "my_function(c) = 1") == ["0"]
    assert kept(path, "c + rand() > 5") == ["0"]


def test_collated_and_char_columns_are_left_alone(tmp_path: Path) -> None:
    fields = (
        t.StructField("c", t.STRING, True, {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}}),
        t.StructField("p", t.STRING, True, {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}),
    )
    TableBuilder(tmp_path / "t", t.StructType(fields)).commit(add("f", bounds(c=("a", "a"), p=("a", "a"))))
    assert kept(tmp_path / "t", "length(c) = 3") == ["f"]
    assert kept(tmp_path / "t", "length(p) = 4") == ["f"]


def test_a_binary_column_is_constant_where_it_is_null(tmp_path: Path) -> None:
    path = table(tmp_path, t.BINARY, {"numRecords": 2, "nullCount": {"c": 2}}, {"numRecords": 2, "nullCount": {"c": 0}})
    assert kept(path, "coalesce(length(c), 0) > 3") == ["1"]


def test_booleans_are_values_not_numbers(tmp_path: Path) -> None:
    path = table(tmp_path, t.BOOLEAN, bounds(c=(True, True)), bounds(c=(False, False)))
    assert kept(path, "CAST(c AS string) = 'true'") == ["0"]


def test_beyond_the_limit_of_distinct_constants_files_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path, t.INTEGER, bounds(c=(1, 1)), bounds(c=(2, 2)), bounds(c=(3, 3)))
    assert kept(path, "c * c = 4") == ["1"]
    monkeypatch.setattr(constants, "MOST_TUPLES", 2)
    assert kept(path, "c * c = 4") == ["0", "1", "2"]

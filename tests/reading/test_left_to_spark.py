"""Predicates over rows whose values only Spark knows are refused by name, and keep their files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.nodes import columns_of
from deltaskip.sparkexpr.types.data_types import INTEGER, STRING, VARIANT, StructField, StructType
from deltaskip.sparkexpr.types.json import CHAR_VARCHAR_KEY
from tests.builder import TableBuilder, add
from tests.each import refuses

SPARK = r"left to Spark|padded by Spark"


@pytest.fixture
def texts(tmp_path: Path) -> ds.DeltaTable:
    nested = "d STRUCT<x: ARRAY<STRUCT<y: INT>>>, c STRUCT<f: CHAR(3), n: INT>"
    table = ds.DeltaTable.create(tmp_path / "t", f"i INT, s STRING, u STRING COLLATE UNICODE_CI, {nested}")
    rows = pa.table(
        {
            "i": pa.array([5, 2**31 - 1], pa.int32()),
            "s": ["5", "x"],
            "u": ["A", "b"],
            "d": [{"x": [{"y": 8}]}, None],
            "c": [{"f": "x", "n": 1}, None],
        }
    )
    table.append(rows)
    return ds.DeltaTable(tmp_path / "t")


@pytest.mark.filterwarnings("ignore::deltaskip.PredicateWarning")
@pytest.mark.parametrize("where", ["s = 1", "s > 0", "s BETWEEN 0 AND 5", "i + 1 > 5", "to_timestamp(s) IS NULL"])
def test_what_fails_for_a_row_only_in_ansi_mode_is_left_to_spark_without_it(texts: ds.DeltaTable, where: str) -> None:
    refuses(ds.UnsupportedFeature, SPARK, lambda: texts.scan(where, ansi=False).to_arrow())
    refuses(ds.PredicateError, "fails for a row", lambda: texts.scan(where, ansi=True).to_arrow())
    assert texts.scan(where, ansi=False).files().num_rows == 1


@pytest.mark.parametrize(
    "where",
    [
        *("CAST(u AS STRING COLLATE UTF8_LCASE) = 'a'", "u = CAST('a' AS STRING COLLATE UNICODE_CI)"),
        *("size(sentences(c.f)) = 8", "c = c"),
    ],
)
def test_rows_are_refused_and_files_are_kept(texts: ds.DeltaTable, where: str) -> None:
    refuses(ds.UnsupportedFeature, SPARK, lambda: texts.scan(where).to_arrow())
    assert texts.scan(where).files().num_rows == 1


def test_a_field_beside_a_char_is_compared(texts: ds.DeltaTable) -> None:
    for where in (
        "c.n = 1", "c.f = 'x  '", "c = named_struct('f', 'x  ', 'n', 1)", "concat(c.f, 'a') = 'x  a'", "NOT c.f = 'x'",
    ):  # fmt: skip
        assert texts.scan(where, columns=["i"]).to_arrow().to_pydict() == {"i": [5]}, where


def test_the_name_of_a_collation_is_no_column() -> None:
    node = parse_sql("rlike(CAST(a AS STRING COLLATE UNICODE_CI), b COLLATE UTF8_LCASE)")
    assert columns_of(node) == (("a",), ("b",))


def test_the_cast_of_a_variant_can_be_null_where_the_variant_is_not(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"v": VARIANT})
    builder.commit(add("a", {"numRecords": 3, "nullCount": {"v": 0}}))
    table = ds.DeltaTable(tmp_path / "t")
    assert table.scan("CAST(v AS STRING) IS NULL").files().num_rows == 1
    assert table.scan("v IS NULL").files().num_rows == 0


def test_a_padded_field_is_found_by_the_type_of_the_whole_column(tmp_path: Path) -> None:
    inner = StructType((StructField("f", STRING), StructField("n", INTEGER)))
    field = StructField("c", inner, True, {CHAR_VARCHAR_KEY: "struct<f:char(3),n:int>"})
    builder = TableBuilder(tmp_path / "t", StructType((field,)))
    bounds, nulls = {"c": {"f": "x", "n": 1}}, {"c": {"f": 0, "n": 0}}
    builder.commit(add("a", {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": nulls}))
    table = ds.DeltaTable(tmp_path / "t")
    assert table.scan("c.f = 'x  '").files().num_rows == 1
    assert table.scan("c.n = 2").files().num_rows == 0


def test_a_void_field_of_a_struct_is_null(tmp_path: Path) -> None:
    from deltaskip.sparkexpr.evaluation.row_columns import column_at

    stored = pa.array([{"a": 1}, None], pa.struct([("a", pa.int32())]))
    assert column_at({"s": stored}, ("s", "v")).to_pylist() == [None, None]

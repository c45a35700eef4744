"""Struct statistics as JSON text."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.types import LONG, TIMESTAMP, TIMESTAMP_NTZ, StructField, StructType
from deltaskip.stats.parsed_stats import instant_bounds, stats_texts
from tests.looped import looped


def text_of(value: Any, kind: pa.DataType) -> str | None:
    struct = pa.array([{"v": value}], pa.struct([("v", kind)]))
    return json.loads(stats_texts(struct)[0].as_py(), parse_float=str, parse_int=str).get("v")


@looped(
    "value, kind, text",
    [
        (7, pa.int64(), "7"),
        (-(2**63), pa.int64(), str(-(2**63))),
        (Decimal("1.50"), pa.decimal128(10, 2), "1.50"),
        (0.1, pa.float64(), "0.1"),
        (1e300, pa.float64(), "1e+300"),
        (float("nan"), pa.float64(), "NaN"),
        (float("-inf"), pa.float32(), "-Infinity"),
        (date(1582, 10, 4), pa.date32(), "1582-10-04"),
        (datetime(2020, 1, 2, 3, 4, 5, 678901, UTC), pa.timestamp("us", "UTC"), "2020-01-02T03:04:05.678901Z"),
        (datetime(1, 1, 1), pa.timestamp("us"), "0001-01-01T00:00:00.000000"),
        ("a", pa.string(), "a"),
        (b"a", pa.binary(), None),
    ],
)
def test_each_type_has_its_text(value: Any, kind: pa.DataType, text: str | None) -> None:
    assert text_of(value, kind) == text


def test_booleans_are_json_booleans() -> None:
    assert stats_texts(pa.array([{"v": True}])).to_pylist() == ['{"v":true}']


@given(st.lists(st.text(), min_size=1))
def test_strings_survive_any_character(values: list[str]) -> None:
    texts = stats_texts(pa.array([{"v": value} for value in values])).to_pylist()
    assert [json.loads(text)["v"] for text in texts] == values


def test_nulls_are_left_out_and_a_null_struct_has_no_text() -> None:
    kind = pa.struct([("n", pa.int64()), ("min", pa.struct([("a b", pa.string())])), ("max", pa.struct([]))])
    rows = [{"n": 1, "min": {"a b": "x"}, "max": {}}, {"n": None, "min": None}, None, {"n": 2, "min": {"a b": None}}]
    assert stats_texts(pa.array(rows, kind)).to_pylist() == [
        '{"n":1,"min":{"a b":"x"},"max":{}}', "{}", None, '{"n":2,"min":{}}',
    ]  # fmt: skip


def test_a_part_of_an_array_is_rendered_as_that_part() -> None:
    rows = pa.array([{"n": 1}, None, {"n": 3}])
    assert stats_texts(rows.slice(1)).to_pylist() == [None, '{"n":3}']
    assert stats_texts(rows.slice(0, 0)).to_pylist() == []


def test_instants_have_their_zone_though_the_struct_has_none() -> None:
    inner = StructType((StructField("t", TIMESTAMP), StructField("n", TIMESTAMP_NTZ)))
    schema = StructType((StructField("a", TIMESTAMP), StructField("s", inner), StructField("i", LONG)))
    naive = pa.timestamp("us")
    bounds = pa.struct([("a", naive), ("s", pa.struct([("t", naive), ("n", naive)]))])
    type_ = pa.struct([("minValues", bounds), ("nullCount", pa.struct([("a", pa.int64())]))])
    values = [{"minValues": {"a": 0, "s": {"t": 1_500_000, "n": None}}, "nullCount": {"a": 1}}, None]
    texts = stats_texts(pa.array(values, type_), instant_bounds(schema, "none")).to_pylist()
    assert texts[1] is None
    assert json.loads(texts[0]) == {
        "minValues": {"a": "1970-01-01T00:00:00.000000Z", "s": {"t": "1970-01-01T00:00:01.500000Z"}},
        "nullCount": {"a": 1},
    }

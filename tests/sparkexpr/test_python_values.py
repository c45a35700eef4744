"""Constants of Python, numpy, pandas and pyarrow: exact, or refused by name."""

import datetime as dt
from enum import IntFlag
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.sparkexpr.python_values import list_of, literal_node
from tests.each import each, refuses

NS = 1_700_000_000_123_456_789
INSTANT = 1_700_000_000_123_456


def _raw(type_: pa.DataType, value: int) -> pa.Scalar:
    """A scalar that pyarrow makes of no Python value."""
    return pa.Array.from_buffers(type_, 1, [None, pa.py_buffer(np.array([value], np.int64))])[0]


def _within(value: pa.Array) -> list[pa.Scalar]:
    """A value as scalars of types around its type."""
    runs = pa.RunEndEncodedArray.from_arrays([1], value)
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [value])
    return [value[0], value.dictionary_encode()[0], runs[0], union[0]]


def test_times_that_spark_lacks_are_refused_in_every_form() -> None:
    naive, aware = (pa.array([NS], pa.timestamp("ns", zone)) for zone in (None, "Europe/Berlin"))
    wrong: list[Any] = [*_within(naive), *_within(aware), *_within(pa.array([7], pa.duration("ns")))]
    wrong += [_raw(pa.date64(), 86_400_000 + 1), np.datetime64(NS, "ns"), np.timedelta64(1, "ns"), pd.Timestamp(NS)]
    wrong += [pd.Timedelta(1, "ns"), np.array(NS, "datetime64[ns]"), np.timedelta64(1, "M"), np.timedelta64(1)]
    # Beyond the years and the interval of Spark.
    wrong += [pa.scalar(253_402_300_800, pa.timestamp("s")), pa.scalar(2_932_897, pa.date32()), dt.timedelta.max]
    wrong += [pa.scalar(-(2**31), pa.date32()), pa.scalar(2**62, pa.duration("s")), pd.NaT, np.datetime64("NaT")]
    wrong += [pd.Timestamp(np.datetime64("12000-01-01", "s")), np.datetime64("20000-01-01")]

    def refused(value: Any) -> None:
        refuses(ds.PredicateError, None, literal_node, value)
        refuses(ds.PredicateError, None, lambda: ds.col("ts").isin([value]))

    each(wrong, refused)
    for array in (naive, aware, pa.chunked_array([naive])):
        with pytest.raises(ds.PredicateError, match="microseconds: round it first"):
            ds.col("ts").isin(array)


def test_times_that_spark_has_are_what_they_were() -> None:
    for unit, count in (("s", 1_700_000_000), ("ms", 1_700_000_000_123), ("us", INSTANT), ("ns", NS // 1000 * 1000)):
        part = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}[unit]
        [aware] = {literal_node(each) for each in _within(pa.array([count], pa.timestamp(unit, "Asia/Tokyo")))}
        assert aware == ds.lit(dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(0, 0, INSTANT // part * part)).node
        [naive] = {literal_node(each) for each in _within(pa.array([count], pa.timestamp(unit)))}
        assert "2023-11-14 22:13:20" in str(naive)
        assert literal_node(pa.scalar(count, pa.duration(unit))).value == (INSTANT // part * part)  # type: ignore[attr-defined]
    assert literal_node(_raw(pa.date64(), 86_400_000)) == literal_node(dt.date(1970, 1, 2))
    assert literal_node(pa.scalar(None, pa.timestamp("ns"))) == literal_node(None)


def test_scalars_and_arrays_without_a_dimension_are_their_values() -> None:
    for given, value in ((np.array(5), 5), (np.array("x"), "x"), (np.bytes_(b"a\0"), b"a\0"), (np.str_("a\0"), "a\0")):
        assert literal_node(given) == literal_node(value)
    assert list_of(pa.chunked_array([[1], [2]])) == [pa.scalar(1), pa.scalar(2)]
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")]
    )
    refuses(ds.PredicateError, "not UTF-8", literal_node, text[0])


def test_columns_are_nested_to_any_depth(tmp_path: Any) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "l BIGINT")
    table.append(pa.table({"l": [5]}))
    equal = ds.col("l") == 5
    turned, mixed, sums = equal, equal, ds.col("l")
    for _ in range(300):
        turned, mixed, sums = ~turned, ~(mixed & equal), sums + 1
    together = equal
    for _ in range(3000):
        together = together & equal
    assert table.scan(where=together).to_arrow().num_rows == 1
    for deep in (turned, mixed, sums == 305):
        assert repr(deep) == "ColumnExpr(…)"
        assert table.scan(where=deep).to_arrow().num_rows == 1
        assert table.update({"l": "l"}, where=deep).metrics["numUpdatedRows"] == 1
    table.update({"l": sums}, where=mixed)
    assert table.scan().to_arrow()["l"].to_pylist() == [305]
    assert table.delete(sums == 605).metrics["numDeletedRows"] == 1


def test_a_combination_of_flags_is_one_integer_and_no_list_of_flags(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    table.append(pa.table({"id": [1, 4, 5]}))
    both = IntFlag("Mode", ["r", "w", "x"])(5)
    for scan in (
        table.scan("id = :mode", params={"mode": both}), table.scan("id IN (:mode)", params={"mode": both}),
        table.scan("id IN (?)", params=[both]), table.scan(ds.col("id").isin(both)), table.scan(ds.col("id") == both),
    ):  # fmt: skip
        assert scan.to_arrow()["id"].to_pylist() == [5]


def _nested_table(folder: Path) -> ds.DeltaTable:
    ddl = "id INT, m MAP<STRING, INT>, st STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<a: INT>>, o ARRAY<MAP<STRING, INT>>"
    table = ds.DeltaTable.create(folder / "t", ddl)
    row = {"id": 1, "m": [("k", 1)], "st": {"a": 1, "b": "x"}, "l": [{"a": 1}], "o": [[("k", 1)]]}
    table.append(pa.Table.from_pylist([row, {"id": 2}], table.schema.to_arrow()))
    return table


class _Pair(NamedTuple):
    a: int
    b: str


def test_arrays_maps_and_structs_are_constants(tmp_path: Path) -> None:
    table, col = _nested_table(tmp_path), ds.col
    # By name, in any order and letter case; a Row of PySpark, a named tuple and Arrow's scalar have an order.
    structs = [{"b": "x", "A": 1}, _Pair(1, "x"), pa.scalar({"a": 1, "b": "x"})]

    def matches(predicate: Any, params: Any = None) -> None:
        assert table.scan(predicate, params=params).to_arrow()["id"].to_pylist() == [1]

    each([lambda v=value: matches(col("st") == v) for value in structs], lambda check: check())
    each([lambda v=value: matches(col("st").isin([v])) for value in structs], lambda check: check())
    each([lambda v=value: matches("st = :v", {"v": v}) for value in structs[1:]], lambda check: check())
    matches(col("l") == [{"a": 1}])
    matches(col("l") == pa.scalar([{"a": 1}]))
    matches("m['k'] = map_values(:v)[0] AND id = 1", {"v": {"z": 1}})
    matches(col("st") > {"a": 0, "b": "y"})
    with pytest.raises(ds.PredicateError, match=r"keys array\('a', 'c'\), but the struct has the fields a, b"):
        table.scan(col("st") == {"a": 1, "c": 2}).files()
    with pytest.raises(ds.PredicateError, match="microseconds: round it first"):
        table.scan(col("l") == pa.scalar([{"a": pd.Timestamp(NS)}], pa.list_(pa.struct([("a", pa.timestamp("ns"))]))))


@pytest.mark.parametrize("by_merge", [False, True])
def test_new_values_are_arrays_maps_and_structs(tmp_path: Path, by_merge: bool) -> None:
    table = _nested_table(tmp_path)
    types = table.schema.to_arrow()
    new: dict[str, Any] = {"m": {"z": 5, "y": None}, "st": {"b": "q"}, "l": [{"a": 3}, None], "o": [{"q": 2}, {}]}
    stored = {"m": [("z", 5), ("y", None)], "st": {"a": None, "b": "q"}, "l": [{"a": 3}, None], "o": [[("q", 2)], []]}

    def check(values: dict[str, Any]) -> None:
        if by_merge:
            source = pa.table({"id": pa.array([2, 3], pa.int32())})
            merge = table.merge(source, "t.id = s.id", "s", "t").when_matched_update(values)
            merge.when_not_matched_insert({"id": "s.id + 10", **values}).execute()
        else:
            table.update(values, "id = 2")
        found = table.scan(f"id {'>' if by_merge else '='} 2 OR id = 2", columns=list(values)).to_arrow().to_pylist()
        assert all(row == {name: stored[name] for name in values} for row in found)

    check(new)
    check({name: pa.scalar(stored[name], types.field(name).type) for name in new})
    refuses((ds.PredicateError, ds.SchemaError), "but the struct has the fields a, b", table.update, {"st": {"c": 1}})

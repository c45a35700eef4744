"""What a footer proves and what it does not, on footers made by hand: no values stand behind them."""

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.sparkexpr import types as t
from deltaskip.stats import compute
from tests.extent import extent
from tests.kernels.extremes_twin import thrift_struct
from tests.looped import looped
from tests.stats.rowwise import parsed

MR, CPP, RS = "parquet-mr version 1.16.0 (build x)", "parquet-cpp-arrow version 21.0.0", "parquet-rs version 56.0.0"
OLD_MR = "parquet-mr version 1.8.3"
PHOTON = "parquet-mr compatible Photon version 0.2 (build 14.3)"
WRITERS = [MR, CPP, RS, PHOTON, "impala", ""]
PHYSICAL: dict[t.DataType, dict[int, Any]] = {
    t.LONG: {1: 2},
    t.INTEGER: {1: 1},
    t.DOUBLE: {1: 5},
    t.DATE: {1: 1, 6: 6},
    t.STRING: {1: 6, 6: 0},
    t.DecimalType(20, 2): {1: 7, 2: 9, 6: 5, 7: 2, 8: 20},
}


CONTRADICTIONS: list[tuple[t.DataType, Any, Any]] = [
    (t.LONG, 2, 1), (t.STRING, "b", "a"), (t.DOUBLE, 2.5, 1.5), (t.DOUBLE, float("nan"), 1.5),
    (t.DecimalType(20, 2), 2, -1),
]  # fmt: skip


def raw(value: Any, type_: t.DataType) -> bytes:
    match type_, value:
        case t.DecimalType(), int():
            return value.to_bytes(9, "big", signed=True)
        case _, int():
            return struct.pack("<i" if type_ in (t.INTEGER, t.DATE) else "<q", value)
        case _, float():
            return struct.pack("<d", value)
        case _:
            return str(value).encode()


def statistics(type_: t.DataType, low: Any, high: Any, nulls: int | None = 0, **more: Any) -> dict[int, Any]:
    fields = {1: more.get("old_max"), 2: more.get("old_min"), 3: nulls}
    fields |= {5: None if high is None else raw(high, type_), 6: None if low is None else raw(low, type_)}
    fields |= {7: more.get("max_exact"), 8: more.get("min_exact"), 9: more.get("nan_count")}
    return {number: value for number, value in fields.items() if value is not None}


def footer(folder: Path, type_: t.DataType, chunks: list[dict[int, Any]], writer: str = CPP, **more: Any) -> Path:
    """A file of one column `c` with row groups of ten rows, each with these statistics."""
    element = {**more.get("element", PHYSICAL.get(type_, {})), 3: more.get("repetition", 1), 4: b"c"}
    groups = [
        {1: [{2: 4, 3: {1: element[1], 2: [0], 3: [b"c"], 4: 0, 5: 10, 6: 80, 7: 80, 9: 4, 12: chunk}}], 2: 80, 3: 10}
        for chunk in chunks
    ]
    schema = [{4: b"schema", 5: more.get("children", 1)}, dict(sorted(element.items()))]
    fields = {1: 1, 2: schema, 3: more.get("rows", 10 * len(chunks)), 4: groups}
    fields |= {5: [{1: b"key"}], 6: writer.encode()}
    if more.get("orders", True):
        fields[7] = [{1: {}}]
    if "encryption" in more:
        fields[8] = more["encryption"]
    body = thrift_struct(fields)
    path = folder / "made.parquet"
    path.write_bytes(b"PAR1" + body + struct.pack("<I", len(body)) + more.get("magic", b"PAR1"))
    return path


def found(path: Path, type_: t.DataType, **options: Any) -> Any:
    schema = t.StructType((t.StructField("c", type_),))
    stats = parsed(compute([path], schema, **{"mode": "footer", **options})["stats"][0].as_py())
    return tuple(stats.get(group, {}).get("c") for group in ("minValues", "maxValues", "nullCount"))


NAN, NOTHING = float("nan"), (None, None, 0)
CENTS = t.DecimalType(20, 2)
ONE = statistics(t.LONG, 1, 2)
NULLS = statistics(t.LONG, None, None, 10)
DOUBLES = statistics(t.DOUBLE, 1.5, 2.5)
EXACT = {"min_exact": True, "max_exact": True}
# Type, statistics of each row group, writers, what is found; and what else is said of the footer.
PROOFS: dict[str, list[tuple[t.DataType, list[dict[int, Any]], list[str], Any, dict[str, Any]]]] = {
    "integers and dates are proved by every writer": [
        (t.LONG, [statistics(t.LONG, -5, 7, 1), statistics(t.LONG, -9, 3, 2)], WRITERS, (-9, 7, 3), {}),
        (t.DATE, [statistics(t.DATE, 0, 1)], WRITERS, ("1970-01-01", "1970-01-02", 0), {})],
    "old fields and missing column orders prove nothing": [
        (t.LONG, [statistics(t.LONG, None, None, old_min=raw(1, t.LONG), old_max=raw(2, t.LONG))], [CPP], NOTHING, {}),
        (t.LONG, [ONE], [CPP], NOTHING, {"orders": False})],
    "one row group without statistics leaves all unproved": [
        (t.LONG, [ONE, {}], [CPP], (None, None, None), {}),
        (t.LONG, [ONE, statistics(t.LONG, 1, None)], [CPP], NOTHING, {})],
    "a row group of nulls needs no bounds": [
        (t.LONG, [NULLS, ONE], [CPP], (1, 2, 10), {}), (t.LONG, [NULLS, NULLS], [CPP], (None, None, 20), {})],
    "statistics that contradict each other prove nothing": [
        (type_, [statistics(type_, low, high)], [MR], NOTHING, {}) for type_, low, high in CONTRADICTIONS],
    "a null count that is missing or impossible is none": [
        (t.LONG, [statistics(t.LONG, 1, 2, nulls)], [CPP], (1, 2, known), more)
        for nulls in (None, -1, 11) for known, more in ((None, {}), (0, {"repetition": 0}))],
    "only parquet-mr proves that there is no NaN": [
        (t.DOUBLE, [DOUBLES], [MR], (1.5, 2.5, 0), {}), (t.DOUBLE, [DOUBLES], [OLD_MR, PHOTON, CPP, RS], NOTHING, {})],
    "NaN is the maximum of parquet-mr in any row group": [
        (t.DOUBLE, [statistics(t.DOUBLE, *chunk) for chunk in chunks], [MR], (low, "NaN", 0), {})
        for low, *chunks in ((0.5, (1.5, NAN), (0.5, 2.5)), (0.5, (0.5, 2.5), (1.5, NAN)),
                             (0.5, (NAN, NAN), (0.5, 2.5)), ("NaN", (NAN, NAN)))],
    "a writer that counts NaN leaves it out of the bounds": [
        (t.DOUBLE, [statistics(t.DOUBLE, 1.5, 2.5, nan_count=count)], [MR], known, {})
        for count, known in ((0, (1.5, 2.5, 0)), (3, NOTHING))],
    "days before 1582 are known from writers without another calendar": [
        (t.DATE, [statistics(t.DATE, -200_000, 0)], writers, known, {}) for writers, known in (
            ([CPP, RS, "Polars (python) version 2.1.0"], ("1422-06-03", "1970-01-01", 0)), ([MR, ""], NOTHING))],
    "strings are proved by flags or by writers that do not cut": [
        (t.STRING, [statistics(t.STRING, "a", "b", **flags)], writers, known, {}) for flags, writers, known in (
            (EXACT, [MR, CPP, RS, "unknown"], ("a", "b", 0)), ({}, [MR, CPP], ("a", "b", 0)),
            ({}, [RS, "unknown"], NOTHING), ({**EXACT, "max_exact": False}, [MR, CPP, RS, "unknown"], NOTHING),
            ({**EXACT, "min_exact": False}, [MR, CPP, RS, "unknown"], NOTHING))],
    "numbers that are said to be cut prove nothing": [
        (t.LONG, [statistics(t.LONG, 1, 2, min_exact=True, max_exact=False)], [CPP], NOTHING, {})],
    "decimals in bytes are proved by writers that compare numbers": [
        (CENTS, [statistics(CENTS, -350, 125)], writers, known, {}) for writers, known in (
            ([MR, CPP], (-3.5, 1.25, 0)), ([RS, OLD_MR], NOTHING))],
    "INT96, unsigned numbers and bytes prove no bounds": [
        (type_, [{3: 0, 5: b"\x02" + bytes(7), 6: b"\x01" + bytes(7)}], [MR], NOTHING, {"element": element})
        for element, type_ in (({1: 3}, t.TIMESTAMP), ({1: 2, 6: 14}, t.LONG),
                               ({1: 2, 10: {10: {1: 64, 2: False}}}, t.LONG), ({1: 6}, t.STRING))],
    "a bound of the wrong length proves nothing": [(t.LONG, [{3: 0, 5: b"\x02", 6: b"\x01"}], [CPP], NOTHING, {})],
}  # fmt: skip


@looped("proof", PROOFS)
def test_what_a_footer_proves(tmp_path: Path, proof: str) -> None:
    for type_, chunks, writers, known, more in PROOFS[proof]:
        for writer in writers:
            assert found(footer(tmp_path, type_, chunks, writer, **more), type_) == known, (type_, chunks, writer)


@looped("type_, low, high", CONTRADICTIONS)
def test_nulls_with_bounds_are_not_counted(tmp_path: Path, type_: t.DataType, low: Any, high: Any) -> None:
    nulls_with_bounds = [statistics(type_, high, low, 10), statistics(type_, high, low)]
    assert found(footer(tmp_path, type_, nulls_with_bounds, MR), type_)[2] is None


def test_where_no_row_or_every_row_is_null_those_left_are_so_too(tmp_path: Path) -> None:
    """No values stand behind these footers: reading them would fail."""
    gone = [pa.array([2, 5])]
    nulls = footer(tmp_path, t.LONG, [statistics(t.LONG, None, None, 10)])
    assert found(nulls, t.LONG, mode="auto", deletion_vectors=gone) == (None, None, 8)
    whole = footer(tmp_path, t.BINARY, [statistics(t.STRING, "a", "b", 0)], element=PHYSICAL[t.STRING])
    assert found(whole, t.BINARY, mode="auto", deletion_vectors=gone) == (None, None, 0)
    some = footer(tmp_path, t.LONG, [statistics(t.LONG, 1, 2, 4)])
    assert found(some, t.LONG, deletion_vectors=gone) == (None, None, None)
    assert found(some, t.LONG, mode="auto", deletion_vectors=[pa.array(range(10))]) == (None, None, 0)


def test_a_repeated_field_is_no_column_of_values(tmp_path: Path) -> None:
    path = footer(tmp_path, t.LONG, [statistics(t.LONG, 1, 2)], MR, repetition=2)
    assert found(path, t.LONG) == (None, None, None)
    assert found(path, t.ArrayType(t.LONG)) == (None, None, None)


INSIDE = [
    {"s": {"x": 1, "l": [1, None]}, "l": [{"y": 1}], "m": [("a", None)]},
    {"s": {"x": None, "l": None}, "l": [], "m": []},
    {"s": None, "l": None, "m": None},
    {"s": None, "l": [{"y": None}, None], "m": [("a", 1), ("b", None)]},
]
NUMBERS = pa.list_(pa.int32())
INSIDE_SCHEMA = pa.schema(
    {
        "s": pa.struct([("x", pa.int32()), ("l", NUMBERS)]),
        "l": pa.list_(pa.struct([("y", pa.int32())])),
        "m": pa.map_(pa.string(), pa.int32()),
    }
)


@pytest.mark.parametrize("rows_of_a_group", [1, 3, 100])
@pytest.mark.parametrize("bounds", [True, False])
def test_footers_of_pyarrow_count_nulls_of_nested_columns(tmp_path: Path, rows_of_a_group: int, bounds: bool) -> None:
    rows = pa.Table.from_pylist(INSIDE, INSIDE_SCHEMA)
    path = tmp_path / "nested.parquet"
    pq.write_table(rows, path, row_group_size=rows_of_a_group, write_statistics=bounds)
    result = compute([path], INSIDE_SCHEMA, mode="footer")
    assert parsed(result["stats"][0].as_py())["nullCount"] == {"s": {"x": 3, "l": 3}, "l": 1, "m": 1}


LEVELS = {
    "missing": ({}, None),
    "of all rows": ({3: [1, 2, 7]}, 3),
    "of fewer values": ({3: [1, 2, 6]}, None),
    "of fewer levels": ({3: [3, 7]}, None),
    "of other rows": ({2: [9, 1], 3: [1, 2, 7]}, None),
}


@pytest.mark.parametrize(("sizes", "nulls"), LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("writer", [CPP, "parquet-cpp-arrow version 19.0.0", RS, ""])
def test_only_histograms_of_pyarrow_that_fit_their_row_group_are_used(
    tmp_path: Path, sizes: dict[int, list[int]], nulls: int | None, writer: str
) -> None:
    chunk = {1: 2, 2: [0], 3: [b"s", b"c"], 4: 0, 5: 10, 6: 80, 7: 80, 9: 4, 16: sizes}
    schema = [{4: b"schema", 5: 1}, {3: 1, 4: b"s", 5: 1}, {1: 2, 3: 1, 4: b"c"}]
    groups = [{1: [{2: 4, 3: chunk}], 2: 80, 3: 10}]
    body = thrift_struct({1: 1, 2: schema, 3: 10, 4: groups, 6: writer.encode(), 7: [{1: {}}]})
    path = tmp_path / "made.parquet"
    path.write_bytes(b"PAR1" + body + struct.pack("<I", len(body)) + b"PAR1")
    schema = t.StructType((t.StructField("s", t.StructType((t.StructField("c", t.LONG),))),))
    stats = parsed(compute([path], schema, mode="footer")["stats"][0].as_py())
    assert stats["nullCount"]["s"].get("c") == (nulls if writer == CPP else None)


def test_bytes_that_were_changed_give_statistics_or_an_error_of_ours(tmp_path: Path) -> None:
    """Both occur: a footer is not refused because one byte of it is another."""
    outcomes: set[bool] = set()

    @settings(deadline=None, max_examples=extent(60, 400), derandomize=True)
    @given(st.data())
    def damaged(data: st.DataObject) -> None:
        outcomes.add(is_read(tmp_path, data))

    damaged()
    assert outcomes == {True, False}


def is_read(tmp_path: Path, data: st.DataObject) -> bool:
    kinds = [(t.LONG, 1, 2), (t.DOUBLE, 1.5, 2.5), (t.STRING, "a", "b"), (t.DATE, 0, 1), (t.DecimalType(20, 2), 1, 2)]
    type_, low, high = data.draw(st.sampled_from(kinds))
    element = {**PHYSICAL[type_], 10: {8: {2: {2: {}}}}}
    path = footer(tmp_path, type_, [statistics(type_, low, high)], MR, element=element)
    content = bytearray(path.read_bytes())
    for at in data.draw(st.lists(st.integers(4, len(content) - 9), min_size=1, max_size=4)):
        content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        found(path, type_)
    except (StorageError, UnsupportedFeature):
        return False
    return True


def test_damage_is_named(tmp_path: Path) -> None:
    for damage in ({"rows": 11}, {"children": 2}, {"children": 0}):
        with pytest.raises(StorageError, match=r"made\.parquet"):
            found(footer(tmp_path, t.LONG, [statistics(t.LONG, 1, 2)], **damage), t.LONG)
    with pytest.raises(UnsupportedFeature, match="encrypted"):
        found(footer(tmp_path, t.LONG, [statistics(t.LONG, 1, 2)], magic=b"PARE"), t.LONG)
    with pytest.raises(UnsupportedFeature, match=r"Columns of the data file .*made\.parquet are encrypted"):
        found(footer(tmp_path, t.LONG, [statistics(t.LONG, 1, 2)], encryption={1: {}}), t.LONG)

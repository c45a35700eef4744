"""Shredded variants put together again: any value from any shredding schema, at any depth, and what is invalid."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.arrow import VARIANT_STORAGE
from deltaskip.stats.shredded_variants import ShreddingError, unshredded
from tests.each import refuses
from tests.extent import extent
from tests.looped import looped
from tests.sparkexpr.kernels.variant_twin import (
    ARROW,
    COUNTED,
    DECIMAL,
    Atom,
    decode,
    encode,
    keys_in,
    keys_of,
    metadata_of,
    shredded,
    variant_type,
)

# Keys whose order by UTF-8 is not that by UTF-16, and one named as a member.
KEYS = st.sampled_from(["a", "b", "ab", "", "value", "typed_value", "ä", "\uffee", "\U0001d54f", "x" * 70])
LONGS = st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.tuples(
    st.one_of(st.integers(-(10**6), 10**6), st.integers(-(10**38) + 1, 10**38 - 1)), st.sampled_from([0, 2, 3, 10, 38])
)
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-300, 300),
    LONGS,
    st.floats(allow_nan=False),
    st.text("aä", max_size=70),
    st.binary(max_size=20),
    DECIMALS.map(lambda pair: Atom(DECIMAL, pair)),
    st.floats(width=32, allow_nan=False).map(lambda value: Atom("float", value)),
    st.binary(min_size=16, max_size=16).map(lambda value: Atom("uuid", value)),
    st.integers(-(2**31), 2**31 - 1).map(lambda value: Atom("date", value)),
    st.integers(0, 86_400_000_000 - 1).map(lambda value: Atom("time", value)),
    st.tuples(st.sampled_from(sorted(set(COUNTED) - {"date", "time"})), LONGS).map(lambda pair: Atom(*pair)),
)
VALUES = st.recursive(
    ATOMS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)), max_leaves=12
)
TYPES = st.sampled_from(
    [
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float64(),
        pa.string(),
        pa.binary(),
        *ARROW,
        pa.decimal128(5, 2),
        pa.decimal128(18, 3),
        pa.decimal128(38, 10),
        pa.decimal128(38, 38),
        pa.decimal128(38, 0),
    ]
)
SCHEMAS = st.recursive(
    st.one_of(st.none(), TYPES),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=1), st.dictionaries(KEYS, inner, min_size=1, max_size=4)
    ),
    max_leaves=6,
)


@st.composite
def columns(draw: st.DrawFn) -> tuple[Any, list[Any], list[Any]]:
    """A shredding schema, values, and the rows that shredding makes of them."""
    schema = draw(SCHEMAS.filter(lambda schema: schema is not None))
    values = draw(st.lists(VALUES, max_size=6))
    rows = []
    for value in values:
        keys = draw(st.permutations(sorted({*keys_in(value), *draw(st.sets(KEYS, max_size=3))})))
        rows.append({"metadata": metadata_of(keys, draw(st.integers(1, 4))), **shredded(value, schema, keys)})
    return schema, values, rows


def decoded(array: pa.Array) -> list[Any]:
    assert array.type == VARIANT_STORAGE
    array.validate(full=True)
    return [None if each is None else [decode(each["value"], keys_of(each["metadata"]))] for each in array.to_pylist()]


def boxed(values: list[Any]) -> list[Any]:
    return [[value] for value in values]


@settings(max_examples=extent(30, 100))
@given(columns())
def test_values_are_those_that_were_shredded(column: tuple[Any, list[Any], list[Any]]) -> None:
    schema, values, rows = column
    array = pa.array([*rows, None], variant_type(schema))
    assert decoded(unshredded(array, t.VARIANT)) == [*boxed(values), None]
    assert decoded(unshredded(array.slice(1), t.VARIANT)) == [*boxed(values), None][1:]


@settings(max_examples=extent(30, 100))
@given(columns())
def test_variants_are_found_at_any_depth(column: tuple[Any, list[Any], list[Any]]) -> None:
    schema, values, rows = column
    stored = variant_type(schema)
    there = boxed(values)

    def found(data: list[Any], kind: pa.DataType, data_type: t.DataType) -> pa.Array:
        return unshredded(pa.array(data, kind).slice(1), data_type)

    structs = [None, *({"n": 1, "v": row} for row in rows), None]
    kind = pa.struct([pa.field("n", pa.int64()), pa.field("v", stored)])
    struct = found(structs, kind, t.StructType((t.StructField("n", t.LONG), t.StructField("v", t.VARIANT))))
    assert struct.field("n").to_pylist() == [*(1 for _ in rows), None]
    assert struct.is_valid().to_pylist() == [*(True for _ in rows), False]
    assert decoded(struct.flatten()[1]) == [*there, None]
    lists = found([[None], rows, None, [], [None, *rows]], pa.list_(stored), t.ArrayType(t.VARIANT))
    assert lists.value_lengths().to_pylist() == [len(rows), None, 0, len(rows) + 1]
    assert decoded(lists.flatten()) == [*there, None, *there]
    maps = found(
        [None, [("k", row) for row in rows], None, []], pa.map_(pa.string(), stored), t.MapType(t.STRING, t.VARIANT)
    )
    assert maps.is_valid().to_pylist() == [True, False, True]
    assert maps.keys.to_pylist() == ["k"] * len(rows)
    assert decoded(maps.items) == there


def test_large_objects_and_arrays() -> None:
    value = {f"key {i}": ["x" * i, i] for i in range(700)} | {"all": list(range(1000)), "texts": ["y" * 300] * 300}
    keys = sorted(value)
    schema = {f"key {i}": [pa.int64()] for i in range(0, 700, 2)} | {"all": [pa.int16()], "texts": [pa.string()]}
    row = {"metadata": metadata_of(keys), **shredded(value, schema, keys)}
    assert decoded(unshredded(pa.array([row], variant_type(schema)), t.VARIANT)) == [[value]]


def pair(value: bytes | None = None, typed: Any = None) -> dict[str, Any]:
    return {"value": value, "typed_value": typed}


NO_KEYS = metadata_of([])
AB = metadata_of(["a", "b"])
OBJECT = {"a": pa.int64()}


def one(row: dict[str, Any], schema: Any) -> list[Any]:
    return decoded(unshredded(pa.array([row], variant_type(schema)), t.VARIANT))


def test_a_missing_value_is_null() -> None:
    assert one({"metadata": NO_KEYS, **pair()}, pa.int64()) == [[None]]
    assert one({"metadata": NO_KEYS, **pair(None, [pair()])}, [pa.int64()]) == [[[None]]]
    assert one({"metadata": AB, **pair(None, {"a": pair()})}, OBJECT) == [[{}]]
    assert one({"metadata": AB, **pair(None, {"a": pair(b"\0")})}, OBJECT) == [[{"a": None}]]


def test_the_column_value_may_be_absent() -> None:
    kind = pa.struct([pa.field("metadata", pa.binary()), pa.field("typed_value", pa.int64())])
    array = pa.array([{"metadata": NO_KEYS, "typed_value": 7}, None], kind)
    assert decoded(unshredded(array, t.VARIANT)) == [[7], None]


def test_members_that_writers_may_name_in_other_types() -> None:
    row = {"metadata": NO_KEYS, **pair(None, "x")}
    kind = pa.struct(
        [
            pa.field("typed_value", pa.large_string()),
            pa.field("value", pa.large_binary()),
            pa.field("metadata", pa.large_binary()),
        ]
    )
    assert decoded(unshredded(pa.array([row], kind), t.VARIANT)) == [["x"]]


def test_a_variant_that_is_not_shredded_is_returned_as_it_is() -> None:
    array = pa.array([{"metadata": NO_KEYS, "value": b"\0"}], VARIANT_STORAGE)
    assert unshredded(array, t.VARIANT) is array


B_OBJECT = encode({"b": 1}, ["a", "b"])
INVALID: dict[str, tuple[dict[str, Any], Any, str]] = {
    "both of an integer": ({"metadata": NO_KEYS, **pair(b"\0", 1)}, pa.int64(), "both set"),
    "both of a string": ({"metadata": NO_KEYS, **pair(b"\0", "x")}, pa.string(), "both set"),
    "both of a list": ({"metadata": NO_KEYS, **pair(b"\0", [])}, [None], "both set"),
    "no object": ({"metadata": AB, **pair(b"\0", {"a": pair()})}, OBJECT, "is not an object"),
    "no bytes": ({"metadata": AB, **pair(b"", {"a": pair()})}, OBJECT, "no bytes"),
    "element without bytes": ({"metadata": AB, **pair(None, [pair(b"")])}, [None], "no bytes"),
    "field without bytes": ({"metadata": AB, **pair(None, {"a": pair(b"")})}, {"a": None}, "no bytes"),
    "unknown key": ({"metadata": NO_KEYS, **pair(None, {"a": pair(None, 1)})}, OBJECT, "lacks the key"),
    "field in both": ({"metadata": AB, **pair(encode({"a": 1}, ["a", "b"]), {"a": pair(None, 1)})}, OBJECT,
        "a field twice"),
    "missing field in both": ({"metadata": AB, **pair(encode({"a": 1}, ["a", "b"]), {"a": pair()})}, OBJECT,
        "a field twice"),
    "field twice in value": ({"metadata": AB, **pair(bytes([2, 2, 1, 1, 0, 1, 2, 0, 0]), {"a": pair()})}, OBJECT,
        "a field twice"),
    "id out of range": ({"metadata": AB, **pair(bytes([2, 1, 9, 0, 1, 0]), {"a": pair()})}, OBJECT, "outside of the"),
    "offset out of range": ({"metadata": AB, **pair(bytes([2, 1, 1, 1, 1, 0]), {"a": pair()})}, OBJECT,
        "ends before its last field"),
    "cut object": ({"metadata": AB, **pair(B_OBJECT[:-1], {"a": pair()})}, OBJECT, "ends before its last field"),
    "cut header": ({"metadata": AB, **pair(B_OBJECT[:1], {"a": pair()})}, OBJECT, "ends before its last field"),
    "cut metadata": ({"metadata": AB[:3], **pair(None, {"a": pair()})}, OBJECT, "its metadata is missing"),
    "empty metadata": ({"metadata": b"", **pair(None, {"a": pair()})}, OBJECT, "its metadata is missing"),
    "version 2": ({"metadata": b"\x02" + AB[1:], **pair(None, {"a": pair()})}, OBJECT, "version than 1"),
    "cut dictionary": ({"metadata": AB[:-1], **pair(None, {"a": pair()})}, OBJECT, "outside of the dictionary"),
    "no metadata": ({"metadata": None, **pair(None, 1)}, pa.int64(), "metadata of a variant is missing"),
    "unsigned": ({"metadata": NO_KEYS, **pair(None, 1)}, pa.uint8(), "no primitive type"),
    "milliseconds": ({"metadata": NO_KEYS, **pair(None, 1)}, pa.timestamp("ms"), "no primitive type"),
    "wide decimal": ({"metadata": NO_KEYS, **pair(None, 1)}, pa.decimal256(50, 0), "Expected decimal128"),
    "fixed size": ({"metadata": NO_KEYS, **pair(None, b"abc")}, pa.binary(3), "Expected a fixed-width"),
}  # fmt: skip


@looped("case", INVALID)
def test_what_violates_the_specification_is_refused(case: str) -> None:
    row, schema, says = INVALID[case]
    refuses(ShreddingError, says, one, row, schema)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.int64())]), "no metadata"),
        (pa.struct([pa.field("metadata", pa.binary())]), "neither value nor typed_value"),
        (pa.struct([("metadata", pa.binary()), ("value", pa.int64()), ("typed_value", pa.int64())]), "the type int64"),
        (pa.struct([pa.field("metadata", pa.binary()), pa.field("typed_value", pa.struct([("a", pa.int64())]))]),
            "not a struct of value and typed_value"),
        (pa.struct([*variant_type(None), pa.field("typed_value", pa.list_(pa.int64()))]),
            "not a struct of value and typed_value"),
    ],
    ids=str,
)  # fmt: skip
def test_a_type_that_no_shredding_makes_is_refused(kind: pa.DataType, says: str) -> None:
    refuses(ShreddingError, says, lambda: unshredded(pa.nulls(2, kind), t.VARIANT))


def table_of(path: Path, variants: pa.Array) -> ds.DeltaTable:
    """A table whose only file has these shredded variants."""
    table = ds.DeltaTable.create(path, "id LONG, v VARIANT")
    plain = pa.array([{"metadata": NO_KEYS, "value": b"\0"}] * len(variants), VARIANT_STORAGE)
    ids = pa.array(range(len(variants)), pa.int64())
    table.append(pa.table({"id": ids, "v": plain}))
    table = ds.DeltaTable(path)
    [file] = table.scan().files()["path"].to_pylist()
    pq.write_table(pa.table({"id": ids, "v": variants}), path / file)
    return table


def test_rows_of_a_table_are_read_and_rewritten(tmp_path: Path) -> None:
    values: list[Any] = [{"a": 1, "b": "x"}, 5, {"b": None}, [], None]
    schema = {"a": pa.int64()}
    rows = [{"metadata": AB, **shredded(value, schema, ["a", "b"])} for value in values]
    table = table_of(tmp_path / "t", pa.array(rows, variant_type(schema)))
    found = table.scan().to_arrow()
    assert decoded(found["v"].combine_chunks()) == boxed(values)
    assert decoded(table.scan("id > 2", columns=["v"]).to_arrow()["v"].combine_chunks()) == boxed(values[3:])
    table.delete("id = 1")
    table.update({"id": "20"}, "id = 2")
    table.optimize()
    kept = ds.DeltaTable(tmp_path / "t").scan().to_arrow().sort_by("id")
    assert kept["id"].to_pylist() == [0, 3, 4, 20]
    assert decoded(kept["v"].combine_chunks()) == boxed([values[0], values[3], values[4], values[2]])


def test_an_invalid_variant_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", pa.array([{"metadata": NO_KEYS, **pair(b"\0", 1)}], variant_type(pa.int64())))
    [file] = table.scan().files()["path"].to_pylist()
    with pytest.raises(ds.StorageError, match=rf"{file}.* is invalid in the column 'v': value and typed_value"):
        table.scan().to_arrow()
    assert table.scan(columns=["id"]).to_arrow()["id"].to_pylist() == [0]

"""Structs, lists and maps whose leaves the kernels decode are those that pyarrow reads from the same files."""

from __future__ import annotations

import io
import random
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.errors import UnsupportedFeature
from deltaskip.reading import column_chunks
from deltaskip.reading.column_chunks import decode_columns
from deltaskip.stats.parquet_input import ParquetInput

if TYPE_CHECKING:
    import polars as pl
else:
    pl = pytest.importorskip("polars")

TEXT, NUMBER, DECIMAL = pa.string(), pa.int32(), pa.decimal128(12, 2)


def struct(**fields: Any) -> pa.DataType:
    return pa.struct([each if isinstance(each, pa.Field) else pa.field(name, each) for name, each in fields.items()])


def required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


DECODED: dict[str, pa.DataType] = {
    "struct": struct(a=pa.int64(), t=TEXT),
    "struct of one": struct(t=TEXT),
    "deep struct": struct(a=struct(b=struct(c=NUMBER, t=TEXT)), d=pa.bool_()),
    "required in a struct": struct(a=required("a", NUMBER), b=required("b", struct(c=TEXT))),
    "list": pa.list_(NUMBER),
    "list of required": pa.list_(required("element", NUMBER)),
    "list of texts": pa.list_(TEXT),
    "list of structs": pa.list_(struct(a=NUMBER, t=TEXT, s=struct(x=pa.float64()))),
    "struct of lists": struct(a=pa.list_(NUMBER), b=pa.list_(TEXT), c=pa.bool_()),
    "map": pa.map_(TEXT, NUMBER),
    "map of structs": pa.map_(NUMBER, struct(t=TEXT, d=pa.date32())),
    "struct of maps": struct(m=pa.map_(TEXT, TEXT), l=pa.list_(pa.bool_())),
    "decimals": struct(d=DECIMAL, l=pa.list_(DECIMAL)),
    "times": struct(t=pa.timestamp("us", "UTC"), l=pa.list_(pa.timestamp("us"))),
    "bytes": pa.list_(pa.binary()),
    "small numbers": struct(b=pa.int8(), l=pa.list_(pa.int16())),
}
LEFT: dict[str, pa.DataType] = {
    "list of lists": pa.list_(pa.list_(NUMBER)),
    "map of lists": pa.map_(TEXT, pa.list_(NUMBER)),
    "list in a list": pa.list_(struct(a=pa.list_(NUMBER))),
    "large list": pa.large_list(NUMBER),
    "fixed list": pa.list_(NUMBER, 2),
    "unsigned": struct(a=pa.uint8()),
}


def value_of(kind: pa.DataType, chance: random.Random, nullable: bool = True, nulls: float = 0.2) -> Any:
    """A random value of a type."""
    if nullable and chance.random() < nulls:
        return None
    if pa.types.is_struct(kind):
        return {each.name: value_of(each.type, chance, each.nullable, nulls) for each in kind}
    if pa.types.is_map(kind):
        keys = {value_of(kind.key_type, chance, False) for _ in range(chance.choice([0, 0, 1, 2, 5]))}
        return [(key, value_of(kind.item_type, chance, kind.item_field.nullable, nulls)) for key in keys]
    if pa.types.is_nested(kind):
        size = 2 if pa.types.is_fixed_size_list(kind) else chance.choice([0, 0, 1, 2, 5])
        field = kind.value_field
        return [value_of(field.type, chance, field.nullable, nulls) for _ in range(size)]
    if kind == TEXT:
        return chance.choice(["", "a", "twelve bytes", "more than twelve bytes", f"{chance.random()}", "\xe4\xf6"])
    if pa.types.is_binary(kind):
        return bytes(chance.randrange(256) for _ in range(chance.choice([0, 3, 20])))
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    if pa.types.is_decimal(kind):
        return Decimal(chance.randrange(-(10**11), 10**11)).scaleb(-2)
    if pa.types.is_floating(kind):
        return chance.random()
    number = chance.choice([0, 1, 7, 100, chance.randrange(100)])
    return pa.scalar(number, pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind).as_py()


def written(array: pa.Array, **options: Any) -> bytes:
    """A Parquet file of one column."""
    file = io.BytesIO()
    pq.write_table(pa.table({"c": array}), file, **options)
    return file.getvalue()


def decoded(
    data: bytes, paths: tuple[str, ...] = ("c",), views: bool = False, rows: np.ndarray[Any, Any] | range | None = None
) -> pa.Array | None:
    """The column, or some rows of it, as the kernels decode it; None if pyarrow must read it."""
    source = pa.BufferReader(data)
    parquet = ParquetInput(source)
    groups = list(range(parquet.num_row_groups))
    found = decode_columns(
        source,
        parquet.metadata,
        parquet.schema_arrow,
        groups,
        {},
        rows,
        views=["c"] if views else [],
        nested={"c": paths},
    )
    return found.get("c")


def without_views(array: pa.Array) -> list[Any]:
    array.validate(full=True)
    found: list[Any] = array.to_pylist()
    return found


# Nulls among the values of following runs of rows, such as a page without any after one with some.
NULLS = st.lists(st.sampled_from([0.0, 0.2, 0.9, 1.0]), min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(DECODED)), st.integers(0, 10**6), st.sampled_from([1, 2, 7, 9, 300]), NULLS,
    st.booleans(), st.booleans(), st.sampled_from(["1.0", "2.0"]), st.sampled_from(["none", "snappy", "zstd"]),
    st.booleans(),
)  # fmt: skip
def test_columns_are_those_that_pyarrow_reads(
    name: str,
    seed: int,
    rows: int,
    nulls: list[float],
    dictionary: bool,
    views: bool,
    version: str,
    codec: str,
    small: bool,
) -> None:
    chance = random.Random(seed)
    shares = [nulls[row * len(nulls) // rows] for row in range(rows)]
    array = pa.array([value_of(DECODED[name], chance, nulls=share) for share in shares], DECODED[name])
    options: dict[str, Any] = {"data_page_size": 64, "write_batch_size": 16} if small else {}
    data = written(
        array, use_dictionary=dictionary, data_page_version=version, compression=codec,
        row_group_size=max(1, rows // chance.choice([1, 1, 3, len(nulls), 300])), **options,
    )  # fmt: skip
    found = decoded(data, views=views)
    assert found is not None
    assert without_views(found) == pq.read_table(pa.BufferReader(data))["c"].to_pylist() == array.to_pylist()
    if not views:
        assert found.type == pq.read_schema(pa.BufferReader(data)).field("c").type


@pytest.fixture
def by_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are found in chunks of any size."""
    monkeypatch.setattr(column_chunks, "_WHOLE_VALUES", 0)


def in_pages(array: pa.Array, chance: random.Random, **options: Any) -> bytes:
    """A file with pages of a few rows and their index."""
    few: dict[str, Any] = {"data_page_size": 32, "write_batch_size": 32, "write_page_index": True}
    version, codec = chance.choice(["1.0", "2.0"]), chance.choice(["none", "snappy", "zstd"])
    use_dictionary, max_rows = chance.random() < 0.5, chance.choice([3, 20])
    return written(
        array,
        **few,
        **options,
        data_page_version=version,
        compression=codec,
        use_dictionary=use_dictionary,
        max_rows_per_page=max_rows,
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(DECODED)), st.integers(0, 10**6), st.booleans(), NULLS, st.data())
def test_some_rows_are_read_from_their_pages(
    by_pages: None, name: str, seed: int, views: bool, nulls: list[float], data: st.DataObject
) -> None:
    chance, count = random.Random(seed), 120
    values = [value_of(DECODED[name], chance, nulls=nulls[row * len(nulls) // count]) for row in range(count)]
    array = pa.array(values, DECODED[name])
    file = in_pages(array, chance)
    some = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=6)))
    for rows in (np.array(some, np.int64), range(some[0], some[-1] + 1)):
        found = decoded(file, views=views, rows=rows)
        assert found is not None
        assert without_views(found) == [values[row] for row in rows]


@pytest.mark.parametrize("name", DECODED)
def test_few_rows_do_not_read_the_pages_of_others(by_pages: None, name: str) -> None:
    chance = random.Random(3)
    array = pa.array([value_of(DECODED[name], chance, nulls=0) for _ in range(190)], DECODED[name])
    file = bytearray(in_pages(array, chance))
    parquet = pq.ParquetFile(pa.BufferReader(bytes(file)))
    for number in range(parquet.metadata.num_columns):
        chunk = parquet.metadata.row_group(0).column(number)
        end = chunk.data_page_offset + chunk.total_compressed_size
        if chunk.has_dictionary_page:
            end = chunk.dictionary_page_offset + chunk.total_compressed_size
        file[end - 4 : end] = b"\xff" * 4
    assert decoded(bytes(file), rows=range(3)).to_pylist() == array[:3].to_pylist()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.sampled_from(sorted(set(DECODED) - {"decimals"})))
def test_damaged_pages_of_some_rows_are_valid_or_left_to_pyarrow(by_pages: None, seed: int, name: str) -> None:
    chance = random.Random(seed)
    data = bytearray(in_pages(pa.array([value_of(DECODED[name], chance) for _ in range(60)], DECODED[name]), chance))
    length = int.from_bytes(data[-8:-4], "little")
    for _ in range(chance.choice([1, 2, 8])):
        data[chance.randrange(4, len(data) - 8 - length)] = chance.choice([0, 1, 2, 3, 127, 255, chance.randrange(256)])
    found = decoded(bytes(data), rows=range(20, 45))
    if found is not None:
        assert len(found) == 25
        found.validate(full=True)


@pytest.mark.parametrize("rows", [1, 3, 30])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.list_(NUMBER), [[None, 4], [], [5]]),
        (pa.list_(NUMBER), [[None], None, [5, 6], [], [7]]),
        (pa.list_(TEXT), [["x", None], [], ["y"]]),
        (pa.list_(pa.bool_()), [[None], [], [True], None, [False, None], [], [True]]),
        (pa.list_(struct(x=NUMBER)), [[{"x": None}, None], [], [{"x": 1}]]),
        (pa.map_(TEXT, NUMBER), [[("a", None)], None, [("a", 5)], [], [("b", 6)]]),
    ],
)
@pytest.mark.parametrize("views", [False, True])
def test_a_row_group_without_nulls_may_follow_one_without_elements(
    kind: pa.DataType, values: list[Any], rows: int, views: bool
) -> None:
    array = pa.array([value for value in values for _ in range(rows)], kind)
    found = decoded(written(array, row_group_size=rows), views=views)
    assert found is not None and without_views(found) == array.to_pylist()


@pytest.mark.parametrize("name", LEFT)
def test_columns_that_are_left_to_pyarrow(name: str) -> None:
    chance = random.Random(1)
    array = pa.array([value_of(LEFT[name], chance) for _ in range(20)], LEFT[name])
    assert decoded(written(array)) is None


@pytest.mark.parametrize(
    "paths", [("c.a",), ("c.t",), ("c.s.x", "c.t"), ("c.l",), ("c.s",), ("c.s.y", "c.l"), ("c.m", "c.a"), ("c",)]
)
def test_parts_of_structs_are_those_that_pyarrow_reads(paths: tuple[str, ...]) -> None:
    chance = random.Random(2)
    kind = struct(
        a=NUMBER, s=struct(x=pa.float64(), y=TEXT), t=TEXT, l=pa.list_(struct(p=NUMBER, q=TEXT)), m=pa.map_(TEXT, TEXT)
    )
    data = written(pa.array([value_of(kind, chance) for _ in range(50)], kind))
    expected = pq.ParquetFile(pa.BufferReader(data)).read(columns=list(paths))["c"].combine_chunks()
    found = decoded(data, paths)
    assert found is not None
    assert found.type == expected.type
    assert without_views(found) == expected.to_pylist()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(set(DECODED) - {"decimals"})), st.booleans())
def test_damaged_pages_are_valid_or_left_to_pyarrow(seed: int, name: str, views: bool) -> None:
    chance = random.Random(seed)
    array = pa.array([value_of(DECODED[name], chance) for _ in range(40)], DECODED[name])
    data = bytearray(written(array, compression="none", use_dictionary=chance.random() < 0.5))
    length = int.from_bytes(data[-8:-4], "little")
    for _ in range(chance.choice([1, 2, 8])):
        data[chance.randrange(4, len(data) - 8 - length)] = chance.choice([0, 1, 2, 3, 127, 255, chance.randrange(256)])
    found = decoded(bytes(data), views=views)
    if found is not None:
        assert len(found) == 40
        found.validate(full=True)


def test_levels_that_contradict_each_other_are_left_to_pyarrow() -> None:
    """Levels of repetition of the keys or of the values of a map: 0, 1, 0 as a packed group of eight."""
    rows = [[("a", 1), ("b", 2)], [("c", 3)]]
    data = written(pa.array(rows, pa.map_(TEXT, NUMBER)), compression="none", use_dictionary=False)
    levels = b"\2\0\0\0\3\2"
    places = [at for at in range(len(data)) if data.startswith(levels, at)]
    assert len(places) == 2
    for at in places:
        for wrong in (0, 1, 3, 4, 6):
            changed = decoded(data[: at + 5] + bytes([wrong]) + data[at + 6 :])
            if wrong == 4:
                # Only the number of a row's entries differs.
                assert changed is None or changed.to_pylist() == [rows[0][:1], [rows[0][1], rows[1][0]]]
            else:
                assert changed is None
    assert decoded(data).to_pylist() == rows


def test_strings_in_nested_columns_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    for number, kind in enumerate((struct(t=TEXT), pa.list_(TEXT), pa.map_(TEXT, TEXT))):
        rows: Any = [{"t": "good?"}] if number == 0 else [["good?"]] if number == 1 else [[("key", "good?")]]
        data = written(pa.array(rows, kind), compression="none")
        declared = ("STRUCT<t: STRING>", "ARRAY<STRING>", "MAP<STRING, STRING>")[number]
        table = ds.DeltaTable.create(tmp_path / str(number), f"c {declared}")
        (tmp_path / str(number) / "a.parquet").write_bytes(data.replace(b"good?", b"goo\xff?"))
        table.add_files(["a.parquet"])
        with pytest.raises(UnsupportedFeature, match="column 'c' that is not UTF-8"):
            table.scan().to_arrow()


def test_pyarrow_reads_none_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of files with several row groups, with and without a filter and deleted rows."""
    chance = random.Random(5)
    kinds = [kind for name, kind in DECODED.items() if "required" not in name]
    columns = {f"c{number}": kind for number, kind in enumerate(kinds)}
    rows = pa.table(
        {
            "id": np.arange(600),
            **{name: pa.array([value_of(kind, chance) for _ in range(600)], kind) for name, kind in columns.items()},
        }
    )
    nullable = pa.schema([pa.field(field.name, field.type) for field in rows.schema])
    table = ds.DeltaTable.create(tmp_path / "t", nullable, properties={"delta.enableDeletionVectors": "true"})
    table.append(rows)
    table.delete("id % 10 = 3")
    expected = [row for row in rows.to_pylist() if row["id"] % 10 != 3]

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("pyarrow reads columns")

    monkeypatch.setattr("deltaskip.stats.parquet_input.ParquetInput.read_row_groups", refused)
    monkeypatch.setattr("deltaskip.stats.parquet_input.ParquetInput.iter_batches", refused)
    assert table.scan().to_arrow().to_pylist() == expected
    assert table.scan("id < 100").to_arrow().to_pylist() == [row for row in expected if row["id"] < 100]
    frame = pl.from_arrow(table.scan().to_arrow())
    assert isinstance(frame, pl.DataFrame)
    assert table.scan().to_polars().equals(frame)


def test_required_fields_below_null_parents_can_be_converted(tmp_path: Path) -> None:
    """Such as the two fields of a variant in an array of structs."""
    pair = pa.struct([pa.field("value", pa.binary(), False), pa.field("number", pa.int32(), False)])
    inner = pa.struct([pa.field("v", pair), pa.field("w", pa.struct([pa.field("x", pair, False)]))])
    rows = [[{"v": {"value": b"a", "number": 1}, "w": None}], [{"v": None, "w": {"x": {"value": b"b", "number": 2}}}]]
    column = pa.array(rows, pa.list_(pa.field("element", inner, False)))
    pq.write_table(pa.table({"c": column}), tmp_path / "f.parquet")
    table = ds.DeltaTable.create(tmp_path / "t", pa.schema([pa.field("c", pa.list_(_all_nullable(inner)))]))
    table.add_files([str(tmp_path / "f.parquet")])
    assert table.scan().to_arrow()["c"].to_pylist() == rows


def _all_nullable(kind: pa.DataType) -> pa.DataType:
    if not pa.types.is_struct(kind):
        return kind
    return pa.struct([pa.field(each.name, _all_nullable(each.type)) for each in kind])


def test_few_rows_of_a_large_file_are_its_rows(tmp_path: Path) -> None:
    count = 40_000
    ends = pa.array(np.arange(count + 1, dtype=np.int32) * 2)
    numbers = pa.array(np.arange(2 * count))
    columns = {
        "id": pa.array(range(count)),
        "s": pa.StructArray.from_arrays([numbers[:count]], ["a"]),
        "l": pa.ListArray.from_arrays(ends, numbers),
        "m": pa.MapArray.from_arrays(ends, pa.array(["k", "v"] * count), numbers),
    }
    rows = pa.table(columns)
    table = ds.DeltaTable.create(tmp_path / "t", rows.schema, properties={"delta.enableDeletionVectors": "true"})
    table.append(rows)
    nested = ["s", "l", "m"]
    assert table.scan(columns=nested, limit=10).to_arrow().to_pylist() == rows.select(nested)[:10].to_pylist()
    for where, chosen in (("id IN (7, 30000)", [7, 30_000]), ("id BETWEEN 25000 AND 25010", range(25_000, 25_011))):
        found = table.scan(where, columns=nested).to_arrow()
        assert found.to_pylist() == rows.select(nested).take(pa.array(list(chosen))).to_pylist()
    table.delete("id < 5")
    assert table.scan(columns=nested, limit=3).to_arrow().to_pylist() == rows.select(nested)[5:8].to_pylist()

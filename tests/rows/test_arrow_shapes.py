"""Arrow data of every shape: stored as its values are, or refused by name, never with an error of another library."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import decode_path
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, RowViolation, SchemaError
from deltaskip.rows.arrow_layout import _checked
from deltaskip.sparkexpr.types import simple_string
from deltaskip.sparkexpr.types.arrow import VARIANT_STORAGE
from tests.each import each, refuses
from tests.looped import looped

TEXTS = pa.array(["a", None, "b"])
LISTS = [[1, None], None, [3, 4]]
VIEWS = pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.uint8()), pa.array(["a", "b"], pa.string_view()))
VARIANTS = pa.StructArray.from_arrays([pa.array([b"\x01\x00\x00"]), pa.array([b"\x0c\x05"])], ["metadata", "value"])


class VariantType(pa.ExtensionType):
    """arrow.parquet.variant, which this pyarrow may not have."""

    def __init__(self) -> None:
        super().__init__(VARIANTS.type, "arrow.parquet.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> VariantType:
        return cls()


def stored(folder: Path, ddl: str, data: Any, **options: Any) -> tuple[DeltaTable, list[Any]]:
    """The table after an append, and the values of its column c in the files."""
    table = DeltaTable.create(folder / "t", ddl)
    table.append(data, **options)
    files = [decode_path(path) for path in table.snapshot.adds(["path"])["path"].to_pylist()]
    return table, [value for file in files for value in pq.read_table(folder / "t" / file)["c"].to_pylist()]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, lambda each: pa.struct([("l", pa.list_(each))])])
def test_slices_are_checked_without_the_values_of_others(kind: Callable[[pa.DataType], pa.DataType]) -> None:
    entry = pa.struct([("x", pa.string()), ("m", pa.map_(pa.string(), pa.list_(pa.int8())))])
    lists = [[{"x": "a", "m": [("b", [i] * (i % 2))] * (i % 3)}] * (i % 4) if i % 6 else None for i in range(30)]
    array = pa.array(
        [each if each is None or kind in (pa.list_, pa.large_list) else {"l": each} for each in lists], kind(entry)
    )
    for part in (array.slice(start, count) for start in range(31) for count in (0, 1, 7, 30)):
        checked = _checked(part)
        checked.validate(full=True)
        assert checked.equals(part) and checked.type == kind(entry)
    offsets = pa.py_buffer(np.array([0, 1, 3, 2, 4], np.int32))
    broken = pa.Array.from_buffers(pa.list_(pa.null()), 3, [None, offsets], offset=1, children=[pa.nulls(4)])
    refuses(pa.ArrowInvalid, "offsets decrease", _checked, broken)


@looped(
    "array, kind, values",
    [
        (TEXTS.dictionary_encode(), "string", ["a", None, "b"]),
        (VIEWS, "string", ["a", None, "b"]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None])), "string", ["a", None, None]),
        (TEXTS.cast(pa.large_string()), "string", ["a", None, "b"]),
        (TEXTS.cast(pa.string_view()), "string", ["a", None, "b"]),
        (pc.run_end_encode(pa.array(["a", "a", None])), "string", ["a", "a", None]),
        (pa.array([b"ab"], pa.binary(2)), "binary", [b"ab"]),
        (pa.array([2**63], pa.uint64()), "decimal(20,0)", [Decimal(2**63)]),
        (pa.array([1.5], pa.float16()), "float", [1.5]),
        (pa.array([Decimal("1.50")], pa.decimal32(5, 2)), "decimal(5,2)", [Decimal("1.50")]),
        (pa.array([Decimal("1.50")], pa.decimal256(38, 2)), "decimal(38,2)", [Decimal("1.50")]),
        (pa.array([-1], pa.int64()).view(pa.timestamp("ns")), "timestamp_ntz",
            [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)]),
        (pa.array([86_400_000], pa.int64()).view(pa.date64()), "date", [datetime.date(1970, 1, 2)]),
        (pa.array(LISTS, pa.large_list(pa.int32())), "array<int>", LISTS),
        (pa.array(LISTS, pa.list_view(pa.int32())), "array<int>", LISTS),
        (pa.array(LISTS, pa.list_(pa.int32(), 2)), "array<int>", LISTS),
        (pa.array(LISTS, pa.list_(pa.int32(), 2)).slice(1), "array<int>", LISTS[1:]),
        (pa.array([["a"], None], pa.list_(pa.dictionary(pa.int8(), pa.string()))), "array<string>", [["a"], None]),
        (pa.array([{"a": "x"}, None], pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))])), "struct<a:string>",
            [{"a": "x"}, None]),
        (pa.array([[("a", "x")], None], pa.map_(pa.large_string(), pa.string_view())), "map<string,string>",
            [[("a", "x")], None]),
        (pa.array([uuid.UUID(int=5).bytes], pa.uuid()), "binary", [uuid.UUID(int=5).bytes]),
        (pa.array(['{"a":1}'], pa.json_()), "string", ['{"a":1}']),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([7, 0, None], pa.int8())), "boolean", [True, False, None]),
        (pa.ExtensionArray.from_storage(VariantType(), VARIANTS), "variant",
            [{"value": b"\x0c\x05", "metadata": b"\x01\x00\x00"}]),
    ],
)  # fmt: skip
def test_arrays_of_every_encoding_are_stored_and_merged_as_the_type_that_they_stand_for(
    tmp_path: Path, array: pa.Array, kind: str, values: list[Any]
) -> None:
    rows = pa.table({"c": array})
    assert stored(tmp_path / "keep", f"c {kind}", rows)[1] == values
    table, merged = stored(tmp_path / "merge", "x INT", rows, schema_mode="merge")
    assert merged == values
    assert simple_string(table.schema.fields[1].type) == kind


def test_an_extension_type_that_only_metadata_names_is_known_too(tmp_path: Path) -> None:
    metadata = {"ARROW:extension:name": "arrow.parquet.variant", "ARROW:extension:metadata": ""}
    schema = pa.schema([pa.field("c", VARIANTS.type, metadata=metadata)])
    table, _ = stored(tmp_path, "x INT", pa.Table.from_arrays([VARIANTS], schema=schema), schema_mode="merge")
    assert simple_string(table.schema.fields[1].type) == "variant"


def test_a_uuid_is_stored_in_a_text_column_as_text(tmp_path: Path) -> None:
    ids = [uuid.UUID(int=5), None, *(uuid.uuid5(uuid.NAMESPACE_URL, str(n)) for n in range(100))]
    rows = pa.table({"c": pa.array([None if each is None else each.bytes for each in ids], pa.uuid())})
    assert stored(tmp_path, "c STRING", rows.slice(1))[1] == [None, *map(str, ids[2:])]
    assert stored(tmp_path / "all", "c STRING", rows)[1][0] == "00000000-0000-0000-0000-000000000005"


def pandas_frame(values: Any, index: Any = None) -> Any:
    return pytest.importorskip("pandas").DataFrame({"c": values}, index=index)


def failing() -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"c": [1]})
    raise ValueError("the source broke")


def lying() -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"d": [1]})


def failing_lazily() -> Any:
    return pytest.importorskip("polars").LazyFrame({"c": [1]}).select("no_such")


def reader(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(pa.schema([("c", pa.int64())]), batches)


def stream(value: Callable[[], object]) -> Any:
    return type("Stream", (), {"__arrow_c_stream__": lambda _self, _schema=None: value()})()


def test_rows_of_every_library_are_accepted(tmp_path: Path) -> None:
    def checked(tmp_path: Path, data: Callable[[], Any], values: list[Any]) -> None:
        assert stored(tmp_path, "c BIGINT", data())[1] == values

    each(
        [
            (lambda: pa.table({"c": pa.chunked_array([[1], [], [2, 3]])}), [1, 2, 3]),
            (lambda: pa.table({"c": pa.chunked_array([], pa.int64())}), []),
            (lambda: reader(iter(())), []),
            (lambda: pa.table({}), []),
            (lambda: pa.table({"z": [1, 2]}).select([]), [None, None]),
            (lambda: pads.dataset(pa.table({"c": [1]})), [1]),
            (lambda: pads.dataset(pa.table({"c": [1, 2]})).scanner(filter=pads.field("c") > 1), [2]),
            (lambda: pa.array([{"c": 1}]), [1]),
            (lambda: pa.chunked_array([pa.array([{"c": 1}])]), [1]),
            (lambda: pandas_frame([1, 2], ["a", "b"]), [1, 2]),
            (lambda: pandas_frame([1, 2, 3]).query("c > 1"), [2, 3]),
            (lambda: pytest.importorskip("polars").DataFrame({"c": [1, None]}), [1, None]),
            (lambda: pytest.importorskip("polars").LazyFrame({"c": [1, None]}), [1, None]),
            (lambda: pytest.importorskip("duckdb").sql("SELECT 1::BIGINT AS c"), [1]),
        ],
        lambda case: checked(Path(mkdtemp(dir=tmp_path)), *case),
    )


def test_categories_and_enums_of_polars_are_texts(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    for kind in (polars.Categorical, polars.Enum(["a"])):
        rows = polars.DataFrame({"c": ["a", None]}, schema={"c": kind})
        assert stored(tmp_path / str(kind).partition("(")[0], "c STRING", rows)[1] == ["a", None]


def test_python_objects_of_polars_are_refused_by_column_at_every_door(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    rows = polars.DataFrame({"id": [1, 2], "c": polars.Series([object(), None], dtype=polars.Object)})
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    for given in (rows, rows.lazy()):
        for name, act in {
            "data": lambda data: table.append(data, schema_mode="merge"),
            "data ": lambda data: table.overwrite(data, schema_mode="replace"),
            "source": lambda data: table.merge(data, "target.id = source.id", schema_mode="merge"),
        }.items():
            refuses(InvalidArgumentType, rf"^{name.strip()}, .*the column c has Python objects", act, given)
    assert DeltaTable(table.uri).version == 0


def test_a_named_index_of_pandas_is_a_column(tmp_path: Path) -> None:
    frame = pandas_frame([1, 2]).set_index("c")
    assert stored(tmp_path, "c BIGINT", frame)[1] == [1, 2]


@looped(
    "data, error, message",
    [
        (lambda: reader(failing()), InvalidArgument, "rows of data cannot be read: the source broke"),
        (lambda: reader(lying()), InvalidArgument, "a batch has another schema than the stream"),
        (lambda: pandas_frame(["a", 1]), InvalidArgumentType,
            "a DataFrame, cannot be converted to Arrow rows.*column c"),
        (lambda: pandas_frame([1])["c"], InvalidArgumentType, "Series"),
        (lambda: pa.chunked_array([[1]]), InvalidArgumentType, "a ChunkedArray, cannot be converted to Arrow rows"),
        (lambda: pa.array([{"c": 1}, None]), InvalidArgumentType, "a StructArray, cannot be converted to Arrow rows"),
        (lambda: stream(lambda: 5), InvalidArgumentType, "a Stream, cannot be converted to Arrow rows"),
        (lambda: stream(lambda: 1 // 0), InvalidArgumentType, "cannot be converted to Arrow rows.*division"),
        (lambda: b"c", InvalidArgumentType, "data must be a DataFrame of Spark, .*or Arrow data .*not bytes"),
        (lambda: failing_lazily(), InvalidArgument, "The rows of data cannot be computed: .*no_such"),
    ],
)  # fmt: skip
def test_what_is_no_stream_of_rows_is_refused_by_name(
    tmp_path: Path, data: Callable[[], Any], error: type[DeltaSkipError], message: str
) -> None:
    value = data()
    refuses(error, message, stored, tmp_path, "c BIGINT", value)
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["_delta_log"]
    assert DeltaTable(tmp_path / "t").version == 0


def test_a_merge_says_why_its_source_is_refused(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "c BIGINT")
    for source, message in (
        (pandas_frame(["a", 1]), "source, a DataFrame, cannot be converted to Arrow rows.*column c"),
        (pa.chunked_array([[1]]), "source, a ChunkedArray, cannot be converted to Arrow rows"),
        (b"c", "source must be .*not bytes"),
    ):
        refuses(InvalidArgumentType, message, table.merge, source, "target.c = source.c")


def damaged_text() -> pa.Array:
    return pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )


def variant(metadata: bytes | None, value: bytes | None) -> pa.Array:
    members = [pa.array([metadata], pa.binary()), pa.array([value], pa.binary())]
    return pa.StructArray.from_arrays(members, ["metadata", "value"])


def strict_variants(values: list[bytes | None]) -> pa.Array:
    """Variants as files store them: both members are required, also where the variant is null."""
    members = [pa.array([each or b"" for each in values]) for _ in range(2)]
    return pa.StructArray.from_arrays(members, fields=list(VARIANT_STORAGE), mask=pa.array([v is None for v in values]))


@looped(
    "ddl, array, error, message",
    [
        ("c TIMESTAMP", pa.array([2**44], pa.timestamp("s", "UTC")), RowViolation, "17592186044416.* does not fit"),
        ("c BIGINT", pa.array([2**63], pa.uint64()), RowViolation, "9223372036854775808 does not fit"),
        ("c BIGINT", pa.array([None], pa.duration("us")), SchemaError, "INTERVAL DAY TO SECOND cannot be stored"),
        ("c BIGINT", pa.array([None], pa.time64("us")), SchemaError, r"'c'.*time64\[us\] has no counterpart"),
        ("c STRING", damaged_text(), InvalidArgument, "column c of the rows is damaged: Invalid UTF8"),
        ("c VARIANT", variant(None, b"\x0c\x05"), RowViolation, "column c .*which is VARIANT"),
        ("c VARIANT", variant(b"zzz", b"zzz"), RowViolation, "X'7a7a7a'.* does not fit the column c"),
        ("c ARRAY<VARIANT>", pa.ListArray.from_arrays([0, 1], strict_variants([b"zzz"])), RowViolation,
            "X'7a7a7a'.* does not fit the column c.element"),
        ("c VARIANT", pa.array([1]), SchemaError, "BIGINT cannot be stored in the column c"),
        ("c MAP<STRING, INT>", pa.array([[("a", 1), ("b", 2), ("a", 3)]], pa.map_(pa.string(), pa.int32())),
            RowViolation, "the key a twice in the map c"),
        ("c MAP<INT, INT>", pa.array([[(1.2, 1), (1.4, 2)]], pa.map_(pa.float64(), pa.int32())), RowViolation,
            "the key 1 twice in the map c"),
        ("c MAP<STRING, INT>", pa.array([[("a", 1), ("b", 2), ("b", 3)]], pa.map_(pa.string(), pa.int32())),
            RowViolation, "the key b twice in the map c"),
    ],
)  # fmt: skip
def test_values_that_no_reader_could_read_are_refused_by_column(
    tmp_path: Path, ddl: str, array: pa.Array, error: type[DeltaSkipError], message: str
) -> None:
    refuses(error, message, stored, tmp_path, f"x INT, {ddl}", pa.table({"c": array, "x": [1]}))
    assert DeltaTable(tmp_path / "t").version == 0
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["_delta_log"]


def test_maps_may_name_their_keys_in_any_order(tmp_path: Path) -> None:
    maps = [[("a", 1), ("b", 2)], [("b", 1), ("a", 2)], None, [], [("a", 1)], [("a", 3), ("c", 4)]]
    assert (
        stored(tmp_path, "c MAP<STRING, INT>", pa.table({"c": pa.array(maps, pa.map_(pa.string(), pa.int32()))}))[1]
        == maps
    )


def test_variants_of_nulls_alone_are_null(tmp_path: Path) -> None:
    assert stored(tmp_path, "c VARIANT, x INT", pa.table({"c": pa.nulls(2), "x": [1, 2]}))[1] == [None, None]


def test_null_variants_of_required_members_are_null_at_every_depth(tmp_path: Path) -> None:
    nothing = strict_variants([None, None])
    columns = {
        "l": pa.ListArray.from_arrays([0, 1, 2], nothing),
        "m": pa.MapArray.from_arrays([0, 1, 2], pa.array(["j", "k"]), nothing),
        "s": pa.StructArray.from_arrays([nothing], ["v"]),
    }
    table = DeltaTable.create(tmp_path / "t", "l ARRAY<VARIANT>, m MAP<STRING, VARIANT>, s STRUCT<v: VARIANT>")
    table.append(pa.table(columns).slice(1))
    assert table.scan().to_arrow().to_pylist() == [{"l": [None], "m": [("k", None)], "s": {"v": None}}]


def test_a_struct_without_fields_is_refused_also_when_it_is_merged(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="struct without fields"):
        stored(tmp_path, "x INT", pa.table({"c": pa.array([{}], pa.struct([])), "x": [1]}), schema_mode="merge")
    assert DeltaTable(tmp_path / "t").version == 0

"""Files as other writers, or other settings of theirs, make them."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.errors import StorageError
from deltaskip.sparkexpr import types as t
from deltaskip.stats import compute
from deltaskip.stats.parquet_input import ParquetInput, readable_footer
from tests.stats.rowwise import parsed

MODES = ("auto", "scan")


def one(path: Path, schema: Any, **options: Any) -> Any:
    return parsed(compute([path], schema, **options)["stats"][0].as_py())


def written(folder: Path, table: pa.Table, **layout: Any) -> Path:
    path = folder / "written.parquet"
    pq.write_table(table, path, **layout)
    return path


def numbered(name: str, type_: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, type_, metadata={"PARQUET:field_id": str(number)})


def mapped(name: str, type_: t.DataType, number: int) -> t.StructField:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"p{number}"}
    return t.StructField(name, type_, True, metadata)


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("mode", ["auto", "scan", "footer"])
def test_fields_that_share_a_name_are_not_taken_for_each_other(tmp_path: Path, mode: Any, statistics: bool) -> None:
    inner = pa.struct([numbered("b", pa.int64(), 5), numbered("b", pa.int64(), 6)])
    schema = pa.schema(
        [
            *(numbered("a", pa.int64(), 1), numbered("a", pa.int64(), 2)),
            *(numbered("st", inner, 3), numbered("z", pa.int64(), 4)),
        ]
    )
    nested = pa.StructArray.from_arrays([pa.array([3, 4]), pa.array([30, 40])], fields=list(inner))
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([10, 20]), nested, pa.array([100, 200])], schema=schema)
    struct = t.StructType((mapped("y", t.LONG, 5),))
    wanted = t.StructType((mapped("x", t.LONG, 1), mapped("st", struct, 3), mapped("last", t.LONG, 4)))
    found = one(written(tmp_path, table, write_statistics=statistics), wanted, mapping_mode="id", mode=mode)
    bounds = ({"p3": {}, "p4": 100}, {"p3": {}, "p4": 200}, {"p3": {}, "p4": 0})
    if mode == "footer" and not statistics:
        bounds = ({"p3": {}}, {"p3": {}}, {"p3": {}})
    assert (found["minValues"], found["maxValues"], found["nullCount"]) == bounds


VIEWS: list[tuple[pa.Array, t.DataType, Any]] = [
    (pa.array(["b", "c", None, "a"], pa.string_view()), t.STRING, ("b", "c")),
    (pa.array([b"b", b"c", None, b"a"], pa.binary_view()), t.STRING, ("b", "c")),
    (pa.array([b"b", b"c", None, b"a"], pa.binary_view()), t.BINARY, None),
    (pa.array([[1], [2], None, []], pa.list_view(pa.int64())), t.ArrayType(t.LONG), None),
    (pa.array([[1], [2], None, [3]], pa.list_(pa.int64(), 1)), t.ArrayType(t.LONG), None),
    (pa.array([5, 6, None, 1], pa.duration("us")), t.LONG, (5, 6)),
]


@pytest.mark.parametrize(("stored", "type_", "bounds"), VIEWS, ids=lambda v: str(getattr(v, "type", "")))
def test_pyarrow_s_layouts_lose_deleted_rows(tmp_path: Path, stored: pa.Array, type_: t.DataType, bounds: Any) -> None:
    path = written(tmp_path, pa.table({"x": stored}))
    for mode in MODES:
        found = one(path, t.StructType((t.StructField("x", type_),)), mode=mode, deletion_vectors=[pa.array([3])])
        assert found["nullCount"] == {"x": 1} and found["numRecords"] == 4
        if bounds is not None:
            assert (found["minValues"]["x"], found["maxValues"]["x"]) == bounds


def test_a_dictionary_given_up_for_delta_encoding_is_read() -> None:
    """Version 2 pages of parquet-mr: 0 to 3 by a dictionary, then 000 to 1999 by DELTA_BYTE_ARRAY."""
    path = Path(__file__).with_name("dictionary_then_delta.parquet")
    schema = t.StructType((t.StructField("s", t.STRING),))
    assert (
        one(path, schema, mode="scan")
        == one(path, schema)
        == {"numRecords": 4000, "minValues": {"s": "0"}, "maxValues": {"s": "7cf"}, "nullCount": {"s": 0}}
    )
    deleted = pa.array([*range(2000), 3999])
    assert one(path, schema, deletion_vectors=[deleted])["minValues"] == {"s": "000"}
    assert one(path, schema, deletion_vectors=[deleted])["maxValues"] == {"s": "7ce"}


@pytest.mark.parametrize("deleted", [None, pa.array([3, 59_999])])
def test_long_strings_that_recur_are_there_once_only(tmp_path: Path, deleted: Any) -> None:
    """2.4 GB of text in a dictionary of 400 kB; more than 2 GiB of strings in a struct make pyarrow fail."""
    texts = pa.DictionaryArray.from_arrays(
        pa.array([i % 10 for i in range(60_000)], pa.int32()), pa.array([f"{i}" * 40_000 for i in range(10)])
    )
    lists = pa.ListArray.from_arrays(pa.array(range(60_001), pa.int32()), texts)
    table = pa.table({"st": pa.StructArray.from_arrays([texts, lists], ["s", "l"]), "s": texts, "l": lists})
    path = written(tmp_path, table, store_schema=False)
    inner = t.StructType((t.StructField("s", t.STRING), t.StructField("l", t.ArrayType(t.STRING))))
    schema = t.StructType(
        (t.StructField("st", inner), t.StructField("s", t.STRING), t.StructField("l", t.ArrayType(t.STRING)))
    )
    before = pa.default_memory_pool().max_memory()
    found = one(path, schema, mode="scan", deletion_vectors=[deleted])
    assert found["minValues"] == {"st": {"s": "0" * 32}, "s": "0" * 32}
    assert found["maxValues"] == {"st": {"s": "9" * 32 + "\x7f"}, "s": "9" * 32 + "\x7f"}
    assert found["nullCount"] == {"st": {"s": 0, "l": 0}, "s": 0, "l": 0}
    assert pa.default_memory_pool().max_memory() <= max(before, 100 << 20)


@pytest.mark.parametrize("type_", [t.TIMESTAMP, t.TIMESTAMP_NTZ])
def test_bounds_of_nanoseconds_hold_however_a_reader_rounds(tmp_path: Path, type_: t.DataType) -> None:
    """The microsecond above -1 ns is 0, that below -1001 ns is -2."""
    zone = "UTC" if type_ == t.TIMESTAMP else None
    path = written(tmp_path, pa.table({"t": pa.array([-1_000_001, -1], pa.timestamp("ns", zone))}))
    z = "Z" if type_ == t.TIMESTAMP else ""
    for mode in MODES:
        found = one(path, t.StructType((t.StructField("t", type_),)), mode=mode)
        assert found["minValues"] == {"t": f"1969-12-31T23:59:59.998{z}"}
        assert found["maxValues"] == {"t": f"1970-01-01T00:00:00.000{z}"}


def test_a_page_that_cannot_be_read_is_named_with_the_cure(tmp_path: Path) -> None:
    path = written(tmp_path, pa.table({"d": [0.5] * 100}), use_dictionary=False, compression="none")
    page = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[page : page + 40] = bytes(40)
    path.write_bytes(content)
    schema = t.StructType((t.StructField("d", t.DOUBLE),))
    with pytest.raises(StorageError, match=r'written\.parquet cannot be read: .* use mode="footer"'):
        compute([path], schema)
    assert one(path, schema, mode="footer")["nullCount"] == {"d": 0}


@pytest.mark.parametrize("deleted", [None, pa.array([1])])
@pytest.mark.parametrize("mode", MODES)
def test_int96_of_a_writer_that_counted_backwards_has_the_bounds_of_its_instants(mode: Any, deleted: Any) -> None:
    """pyarrow 22 wrote 1969-12-31 23:43:20 as 1000 s before the epoch's day; pyarrow reads the year 2554."""
    path = Path(__file__).with_name("arrow22_int96.parquet")
    found = one(path, t.StructType((t.StructField("t", t.TIMESTAMP),)), mode=mode, deletion_vectors=[deleted])
    assert found["nullCount"] == {"t": 1}
    assert found["minValues"] == {"t": "1969-12-31T23:43:20.000Z"}
    assert found["maxValues"] == {"t": "1969-12-31T23:43:20.000Z" if deleted else "1970-01-02T00:00:00.000Z"}


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_are_all_deleted_leave_nothing(tmp_path: Path, mode: Any) -> None:
    table = pa.table({"x": [1, None, 3], "s": ["a", "b", None], "a": [[1], None, []]})
    found = one(written(tmp_path, table), table.schema, mode=mode, deletion_vectors=[pa.array([0, 1, 2])])
    nulls = {"x": 0, "s": 0, "a": 0}
    assert found == {"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": nulls, "tightBounds": True}


@pytest.mark.parametrize("layout", [{"use_deprecated_int96_timestamps": True}, {}])
@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_columns_that_are_read_in_another_order_than_the_files_keep_their_names(
    tmp_path: Path, mode: Any, statistics: bool, layout: dict[str, Any]
) -> None:
    columns = {
        "t": (pa.array([None, 5, 7], pa.timestamp("us", "UTC")), t.TIMESTAMP),
        "u": (pa.array([1, 2, 3], pa.int64()), t.LONG),
        "s": (pa.array([None, None, "a"]), t.STRING),
        "x": (pa.array([1.5, None, 3.0]), t.DOUBLE),
    }
    for names in (*permutations("tus"), *permutations(columns)):
        path = written(tmp_path, pa.table({name: columns[name][0] for name in columns if name in names}),
                       write_statistics=statistics, **layout)  # fmt: skip
        for asked in (names, names[:2]):
            schema = t.StructType(tuple(t.StructField(name, columns[name][1]) for name in asked))
            found = one(path, schema, mode=mode)
            nulls = {name: columns[name][0].null_count for name in asked}
            assert {name: found["nullCount"].get(name, nulls[name]) for name in asked} == nulls
            assert found["minValues"].get("u", 1) == 1 and found["maxValues"].get("s", "a") == "a"
            read = ParquetInput(pa.OSFile(str(path))).read_row_groups([0], list(asked))
            assert read.column_names == list(asked)
            assert [read[name].null_count for name in asked] == list(nulls.values())


@pytest.mark.parametrize("data", [b"no Parquet", b"x" * 5000, b"\xff" * 64, b""])
def test_a_file_that_is_no_parquet_reserves_no_memory(data: bytes) -> None:
    asked: list[int] = []

    class Source:
        def size(self) -> int:
            return len(data)

        def read_at(self, size: int, offset: int) -> bytes:
            asked.append(size)
            return data[max(0, offset) :][:size]

    assert readable_footer(Source()) is None
    assert sum(asked) < 100

"""One contract for every source of rows: each layout of Arrow is taken by each door, or refused by name."""

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError, InvalidArgument, SchemaError
from tests.each import refuses
from tests.extent import WHOLE, some

TEXT = pa.array(["a", "b", None])
BYTES = pa.array([b"aa", b"bb", None])
LISTS: list[list[int | None] | None] = [[1, None], [], None]
STRUCTS = [{"x": 1, "y": "p"}, {"x": None, "y": "q"}, None]
STRUCT = pa.struct([("x", pa.int32()), ("y", pa.string())])
DECIMALS = [Decimal("1.50"), Decimal("-2.25"), None]


def layouts() -> Iterator[tuple[str, pa.Array]]:
    """A column type, and the same three values of it in each layout: two that are not NULL, and NULL."""
    views = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.uint8()), pa.array(["a", "b"], pa.string_view()))
    for array in (TEXT, TEXT.cast(pa.large_string()), TEXT.cast(pa.string_view()), TEXT.dictionary_encode(),
                  pc.run_end_encode(TEXT), views):  # fmt: skip
        yield "STRING", array
    fixed = pa.array([b"aa", b"bb", None], pa.binary(2))
    for array in (BYTES, BYTES.cast(pa.large_binary()), BYTES.cast(pa.binary_view()), fixed, BYTES.dictionary_encode()):
        yield "BINARY", array
    for unit, scale in (("s", 1), ("ms", 1_000), ("us", 10**6), ("ns", 10**9)):
        seconds = [60 * scale, 120 * scale, None]
        for zone in ("UTC", "Asia/Tokyo", "+05:30"):
            yield "TIMESTAMP", pa.array(seconds, pa.timestamp(unit, zone))
        yield "TIMESTAMP_NTZ", pa.array(seconds, pa.timestamp(unit))
    yield "DATE", pa.array([1, 2, None], pa.date32())
    yield "DATE", pa.array([86_400_000, 2 * 86_400_000, None], pa.date64())
    for kind in (pa.decimal32(5, 2), pa.decimal64(5, 2), pa.decimal128(5, 2), pa.decimal256(5, 2)):
        yield "DECIMAL(5,2)", pa.array(DECIMALS, kind)
    yield "DECIMAL(5,2)", pa.array(DECIMALS, pa.decimal128(5, 2)).dictionary_encode()
    for kind in (pa.int16(), pa.uint8()):
        yield "SMALLINT", pa.array([1, 2, None], kind)
    yield "BIGINT", pa.array([1, 2, None], pa.uint32())
    yield "DECIMAL(20,0)", pa.array([1, 2**64 - 1, None], pa.uint64())
    yield "FLOAT", pa.array([1.5, 2.5, None], pa.float16())
    yield "BOOLEAN", pa.array([True, False, None])
    yield "BOOLEAN", pa.ExtensionArray.from_storage(pa.bool8(), pa.array([5, 0, None], pa.int8()))
    yield "STRING", pa.array(['{"a":1}', "2", None], pa.json_())
    yield "BINARY", pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes, None], pa.uuid())
    for kind in (pa.list_(pa.int32()), pa.large_list(pa.int32()), pa.list_view(pa.int32()),
                 pa.large_list_view(pa.int32())):  # fmt: skip
        yield "ARRAY<INT>", pa.array(LISTS, kind)
    yield "ARRAY<INT>", pa.array([[1, None], [3, 4], None], pa.list_(pa.int32(), 2))
    yield "ARRAY<STRING>", pa.array([["a"], [None], None], pa.list_(pa.dictionary(pa.int8(), pa.string())))
    yield "STRUCT<x: INT, y: STRING>", pa.array(STRUCTS, STRUCT)
    viewed = pa.struct([("x", pa.dictionary(pa.int8(), pa.int32())), ("y", pa.string_view())])
    yield "STRUCT<x: INT, y: STRING>", pa.array(STRUCTS, viewed)
    ends = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array([1, 2], pa.int32()))
    mask = pa.array([False, False, True])
    yield "STRUCT<x: INT>", pa.StructArray.from_arrays([ends], ["x"], mask=mask)
    yield "MAP<STRING, BIGINT>", pa.array([[("k", 1)], [], None], pa.map_(pa.string_view(), pa.uint32()))
    yield "STRING", pa.nulls(3)


LAYOUTS = list(layouts())


def shaped(array: pa.Array, shape: str) -> pa.ChunkedArray:
    """The array as one chunk, as a slice of a longer one, or in several chunks of which one is empty."""
    if shape == "sliced":
        nothing = pa.nulls(0, array.type)
        if pa.types.is_run_end_encoded(array.type) or pa.types.is_list_view(array.type):
            nothing = array.slice(0, 0)
        array = pa.concat_arrays([array.slice(1, 2), array, nothing]).slice(2, 3)
    if shape == "chunked":
        return pa.chunked_array([array.slice(0, 1), array.slice(1, 0), array.slice(1, 2)], array.type)
    return pa.chunked_array([array], array.type)


def rows_of(array: pa.Array, shape: str) -> pa.Table:
    return pa.table({"id": pa.chunked_array([[1, 2, 3]]), "c": shaped(array, shape)})


def values(table: DeltaTable) -> list[Any]:
    rows = DeltaTable(table.uri).scan(columns=["id", "c"]).to_arrow().to_pylist()
    return [row["c"] for row in sorted(rows, key=lambda row: row["id"])]


def appended(table: DeltaTable, rows: pa.Table) -> None:
    table.append(rows)


def overwritten(table: DeltaTable, rows: pa.Table) -> None:
    table.overwrite(rows)


def merged(table: DeltaTable, rows: pa.Table) -> None:
    """Two rows are updated and one is inserted."""
    table.append(pa.table({"id": [1, 2]}))
    merge = table.merge(rows, "target.id = source.id", "source", "target")
    done = merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert (done.metrics["numTargetRowsUpdated"], done.metrics["numTargetRowsInserted"]) == (2, 1)


def merged_by_key(table: DeltaTable, rows: pa.Table) -> None:
    """The column is the key: rows with the same value are found, NULL by <=> too."""
    table.append(rows)
    for op in ("<=>", "="):
        merge = table.merge(rows, f"target.c {op} source.c", "source", "target")
        done = merge.when_matched_update({"c": "source.c"}).execute()
        met = 3 if op == "<=>" else 3 - rows["c"].to_pylist().count(None)
        assert done.metrics["numTargetRowsUpdated"] == met


def transacted(table: DeltaTable, rows: pa.Table) -> None:
    with table.transaction() as txn:
        txn.append(rows.slice(0, 1))
        txn.append(rows.slice(1))


DOORS = [appended, overwritten, merged, merged_by_key, transacted]


@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_every_layout_in_every_shape(tmp_path: Path, door: Callable[..., None]) -> None:
    for number, (kind, array) in enumerate(some(LAYOUTS, 25)):
        if door is merged_by_key and (kind.startswith("MAP") or pa.types.is_null(array.type)):
            continue
        if not WHOLE and number % len(DOORS) != DOORS.index(door):
            continue
        shapes = ("whole", "sliced", "chunked")
        if not WHOLE or door is not appended:
            shapes = (shapes[number % 3],)
        for shape in shapes:
            table = DeltaTable.create(tmp_path / f"{number}-{shape}", f"id BIGINT, c {kind}")
            expected = pa.table({"id": [1, 2, 3], "c": array})
            reference = DeltaTable.create(tmp_path / f"{number}-{shape}-r", f"id BIGINT, c {kind}")
            for row in range(3):
                reference.append(expected.slice(row, 1))
            door(table, rows_of(array, shape))
            assert values(table) == values(reference), (kind, array.type, shape)
            assert sum(each is None for each in values(table)) == array.to_pylist().count(None)


def test_a_catalog_takes_every_layout(tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path / 'wh'}")
    catalog.create_namespace("db")
    for number, (kind, array) in enumerate(LAYOUTS):
        with catalog.stage_create(f"db.t{number}", f"id BIGINT, c {kind}") as staged:  # type: ignore[attr-defined]
            staged.append(rows_of(array, "chunked"))
        assert len(values(catalog.load_table(f"db.t{number}"))) == 3


def own_sources(folder: Path) -> dict[str, Callable[[], Any]]:
    """Objects of each kind that have the rows (1, "NEW"), (3, "NEW")."""
    duckdb, polars, pandas = (pytest.importorskip(name) for name in ("duckdb", "polars", "pandas"))
    rows = pa.table({"id": [1, 3], "c": ["NEW", "NEW"]})
    feed = {"delta.enableChangeDataFeed": "true"}
    other = DeltaTable.create(folder / "other", "id BIGINT, c STRING", properties=feed)
    other.append(rows)

    class Stream:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            return rows.__arrow_c_stream__(schema)

    class Array:
        def __arrow_c_array__(self, schema: object = None) -> object:
            return rows.to_batches()[0].__arrow_c_array__(schema)

    return {
        "table": lambda: rows,
        "batch": lambda: rows.to_batches()[0],
        "reader": lambda: rows.to_reader(1),
        "dataset": lambda: pads.dataset(rows),
        "scanner": lambda: pads.dataset(rows).scanner(),
        "one-pass dataset": lambda: pads.Scanner.from_batches(rows.to_reader(1)),
        "pandas": rows.to_pandas,
        "pandas with Arrow": lambda: rows.to_pandas(types_mapper=pandas.ArrowDtype),
        "polars": lambda: polars.from_arrow(rows),
        "polars, lazy": lambda: polars.from_arrow(rows).lazy().filter(polars.col("id") > 0),
        "duckdb": lambda: duckdb.sql("SELECT unnest([1, 3])::BIGINT AS id, 'NEW' AS c"),
        "table of deltaskip": lambda: other,
        "scan": lambda: other.scan("id > 0"),
        "changes": lambda: other.changes(0).to_arrow().select(["id", "c"]),
        "stream": Stream,
        "array": Array,
    }


def test_every_door_takes_every_kind_of_source(tmp_path: Path) -> None:
    for number, (name, source) in enumerate(own_sources(tmp_path).items()):
        table = DeltaTable.create(tmp_path / str(number), "id BIGINT, c STRING")
        table.append(pa.table({"id": [1, 2], "c": ["old", "old"]}))
        builder = table.merge(source(), "target.id = source.id", "source", "target")
        builder = builder.when_matched_update_all().when_not_matched_insert_all()
        # A dry run reads the source too, and a reader has its rows once.
        builder.execute(dry_run=True)
        builder.execute()
        assert values(table) == ["NEW", "old", "NEW"], name
        table.append(source())
        assert len(values(table)) == 5, name
        table.overwrite(source())
        assert values(table) == ["NEW", "NEW"], name


def test_a_scan_that_fails_raises_its_own_error_and_leaves_nothing(tmp_path: Path) -> None:
    other = DeltaTable.create(tmp_path / "other", "id BIGINT, c STRING")
    other.append(pa.table({"id": [1], "c": ["x"]}))
    for file in (tmp_path / "other").glob("*.parquet"):
        file.unlink()
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, c STRING")
    refuses(ds.errors.DataFileMissing, None, table.append, other)
    with pytest.raises(ds.errors.DataFileMissing):
        table.merge(other.scan(), "target.id = source.id", "source", "target").when_matched_delete().execute()
    assert DeltaTable(table.uri).version == 0
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["_delta_log"]


def refused() -> Iterator[tuple[str, Any]]:
    """Values that Delta has no type for, at every depth, and what the error says."""
    pandas = pytest.importorskip("pandas")
    period = pa.array(pandas.period_range("2020-01", periods=2, freq="M"))
    interval = pa.array(pandas.interval_range(0, 2))
    pairs = pa.array([[1, 2]], pa.list_(pa.int32(), 2))
    tensor = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [2]), pairs)
    opaque = pa.ExtensionArray.from_storage(pa.opaque(pa.int32(), "x", "y"), pa.array([1], pa.int32()))
    for array in (period, interval, tensor, opaque):
        says = array.type.extension_name
        yield says, array
        yield says, pa.StructArray.from_arrays([array], ["x"])
        yield says, pa.ListArray.from_arrays(pa.array([0, len(array)], pa.int32()), array)
        yield says, pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), array)
    named = pa.field("c", pa.int64(), metadata={"ARROW:extension:name": "some.unknown"})
    yield "some.unknown", pa.Table.from_arrays([pa.array([1])], schema=pa.schema([named]))
    yield "some.unknown", pa.StructArray.from_arrays([pa.array([1])], fields=[named])
    for kind in (pa.duration("s"), pa.time32("s"), pa.time64("us"), pa.month_day_nano_interval()):
        # Durations are intervals, which must be declared.
        says = "a duration becomes an interval" if pa.types.is_duration(kind) else str(kind)
        yield says, pa.nulls(1, kind)
        yield says, pa.array([None], pa.list_(kind))
    union = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
    yield "union", union
    yield "decimal", pa.array([1], pa.decimal256(50, 0))


def test_values_without_a_type_of_delta_are_refused_by_name_at_every_door(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    for says, value in refused():
        rows = value if isinstance(value, pa.Table) else pa.table({"c": value})
        for act in (
            lambda rows: table.append(rows, schema_mode="merge"),
            lambda rows: table.overwrite(rows, schema_mode="replace"),
            lambda rows: table.merge(rows, "target.id = 1").when_not_matched_insert_all().execute(),
            lambda rows: DeltaTable.create(tmp_path / "u", rows.schema),
        ):
            refuses(SchemaError, says.replace("[", r"\["), act, rows)
    assert DeltaTable(table.uri).version == 0
    assert not (tmp_path / "u").exists()


HOSTILE = """
import sys
import numpy as np
import pyarrow as pa
from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError

def ints(*values):
    return pa.py_buffer(np.array(values, np.int32))

def broken(values, at, value, build):
    # The buffer changes after pyarrow has looked at it.
    array = build(pa.py_buffer(values))
    values[at] = value
    return array

def texts(offsets):
    return pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])

def lists(offsets):
    return pa.Array.from_buffers(pa.list_(pa.int64()), 2, [None, offsets], children=[pa.array([1, 2])])

def three(dtype=np.int32):
    return np.array([0, 1, 2], dtype)

def no_texts():
    # The C interface gives offsets without bytes the size of one.
    return pa.Array.from_buffers(pa.string(), 0, [None, ints(-7), pa.py_buffer(b"")])

def no_lists():
    return pa.Array.from_buffers(pa.list_(pa.string()), 0, [None, ints(-7)], children=[no_texts()])

def nothing_in(kind, child):
    return pa.Array.from_buffers(kind, 2, [None, ints(0, 0, 0)], children=[child])

def structs(*children):
    return pa.StructArray.from_arrays(children, [f"f{i}" for i in range(len(children))])

text = pa.array(["a"])
empty = pa.Array.from_buffers(pa.map_(pa.string(), pa.string()), 0, [None, pa.py_buffer(b"")], children=[
    pa.StructArray.from_arrays([pa.array([], pa.string())] * 2, fields=[
        pa.field("key", pa.string(), False), pa.field("value", pa.string())])])
inner = pa.StructArray.from_arrays([empty], ["m"])
entries = pa.StructArray.from_arrays([pa.array([], pa.int32()), inner], fields=[
    pa.field("key", pa.int32(), False), pa.field("value", inner.type)])
GOOD = {
    "map without offsets": pa.Array.from_buffers(
        pa.map_(pa.int32(), inner.type), 2, [pa.py_buffer(b"\\0"), ints(0, 0, 0)], children=[entries]),
    "text without offsets": pa.Array.from_buffers(
        pa.list_(pa.string()), 2, [None, ints(0, 0, 0)],
        children=[pa.Array.from_buffers(pa.string(), 0, [None, pa.py_buffer(b""), pa.py_buffer(b"")])]),
    "list without offsets": pa.Array.from_buffers(
        pa.list_(pa.large_list(pa.int64())), 2, [None, ints(0, 0, 0)],
        children=[pa.Array.from_buffers(pa.large_list(pa.int64()), 0, [None, pa.py_buffer(b"")],
                                        children=[pa.array([], pa.int64())])]),
    "no texts in lists": nothing_in(pa.list_(pa.string()), no_texts()),
    "no lists in lists": nothing_in(pa.list_(pa.list_(pa.string())), no_lists()),
    "no lists in a struct in lists": nothing_in(pa.list_(structs(no_lists()).type), structs(no_lists())),
    "no lists in lists in a struct": structs(pa.array([1, 2]), nothing_in(pa.list_(no_lists().type), no_lists())),
    "no texts in lists in a slice": structs(pa.array([1, 2, 3]), pa.Array.from_buffers(
        pa.list_(pa.string()), 3, [None, ints(0, 0, 0, 0)], children=[no_texts()])).slice(1),
    "no lists in maps": nothing_in(pa.map_(pa.string(), no_lists().type), pa.Array.from_buffers(
        pa.struct([pa.field("key", pa.string(), False), pa.field("value", no_lists().type)]), 0, [None],
        children=[no_texts(), no_lists()])),
    "no texts in a dictionary": pa.DictionaryArray.from_arrays(
        pa.array([None, None], pa.int8()), no_texts(), safe=False),
    "no texts in lists of one size": pa.FixedSizeListArray.from_arrays(
        nothing_in(pa.list_(pa.string()), no_texts()), 1),
    "no texts in lists in runs": pa.Array.from_buffers(
        pa.run_end_encoded(pa.int32(), pa.list_(pa.string())), 2, [None],
        children=[pa.array([1, 2], pa.int32()), nothing_in(pa.list_(pa.string()), no_texts())]),
}
VIEW = np.array([99, 0, 0, 0, 99, 0, 0, 0], np.int32)
BAD = {
    "text that is no UTF-8": pa.Array.from_buffers(pa.string(), 2, [None, ints(0, 1, 2), pa.py_buffer(b"\\xff\\xfe")]),
    "negative offsets": broken(three(), 1, -5, texts),
    "offsets beyond": broken(three(), 1, 99, texts),
    "last offset beyond": broken(three(), 2, 1 << 20, texts),
    "large offsets beyond": broken(three(np.int64), 1, 1 << 60, lambda offsets: pa.Array.from_buffers(
        pa.large_string(), 2, [None, offsets, pa.py_buffer(b"ab")])),
    "list offsets that decrease": broken(three(), 1, 5, lists),
    "list offsets beyond": broken(three(), 2, 1000, lists),
    "texts below lists": broken(three(), 1, 99, lambda offsets: pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), texts(offsets))),
    "lists of texts that are not there": broken(np.zeros(3, np.int32), slice(1, None), 1, lambda offsets:
        pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, offsets], children=[no_texts()])),
    "index outside of an empty dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 0]), no_texts(), safe=False),
    "index outside of a dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 9]), text, safe=False),
    "negative index": pa.DictionaryArray.from_arrays(pa.array([0, -3]), text, safe=False),
    "bad text in a dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.Array.from_buffers(
        pa.string(), 1, [None, ints(0, 1), pa.py_buffer(b"\\xff")])),
    "view outside of its buffers": broken(np.zeros(8, np.int32), slice(None), VIEW, lambda views: pa.Array.from_buffers(
        pa.string_view(), 2, [None, views])),
    "runs that end too early": broken(np.array([1, 2], np.int32), 1, 1, lambda ends: pa.RunEndEncodedArray.from_arrays(
        pa.Array.from_buffers(pa.int32(), 2, [None, ends]), pa.array([1, 2]))),
}

class Stream:
    def __init__(self, array):
        self.array = array

    def __arrow_c_stream__(self, schema=None):
        batch = pa.RecordBatch.from_arrays([pa.array([1, 2]), self.array], names=["id", "c"])
        return pa.RecordBatchReader.from_batches(batch.schema, iter([batch])).__arrow_c_stream__(schema)

def tried(kind, name, array, folder):
    table = DeltaTable.create(folder, "id BIGINT")
    doors = {
        "append": lambda: table.append(Stream(array), schema_mode="merge"),
        "overwrite": lambda: table.overwrite(Stream(array), schema_mode="merge"),
        "merge": lambda: table.merge(Stream(array), "target.id = source.id", "source", "target", "merge")
            .when_matched_update_all().when_not_matched_insert_all().execute(),
    }
    for door, act in doors.items():
        before = DeltaTable(folder).version
        try:
            act()
            assert kind == "good", (door, name)
        except DeltaSkipError as error:
            assert kind == "bad", (door, name, error)
            assert DeltaTable(folder).version == before
    if kind == "good":
        assert len(DeltaTable(folder).scan().to_arrow()) == 2

for kind, cases in (("good", GOOD), ("bad", BAD)):
    for number, (name, array) in enumerate(cases.items()):
        print(name, flush=True)
        tried(kind, name, array, f"{sys.argv[1]}/{kind}{number}")
print("end", flush=True)
"""


def test_arrays_that_pyarrow_would_read_beyond_their_ends_never_end_the_process(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", HOSTILE, str(tmp_path)], capture_output=True, text=True)
    last = ran.stdout.strip().splitlines()[-1:]
    assert (ran.returncode, last) == (0, ["end"]), (last, ran.stderr)


def test_a_reader_is_read_once_and_a_source_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": [1]})
        raise ValueError("the source broke")

    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    schema = pa.schema([("id", pa.int64())])
    for act in (
        table.append,
        table.overwrite,
        lambda rows: table.merge(rows, "target.id = source.id", "source", "target").when_matched_delete().execute(),
    ):
        with pytest.raises(InvalidArgument, match="the source broke"):
            act(pa.RecordBatchReader.from_batches(schema, failing()))
    assert issubclass(InvalidArgument, DeltaSkipError)
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["_delta_log"]
    assert DeltaTable(table.uri).version == 0

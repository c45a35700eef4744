"""Statistics out of Parquet against the row-wise oracle: every type, nested, every layout of the file."""

import json
import math
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.errors import DataFileMissing, InvalidArgument, InvalidArgumentType, StorageError
from deltaskip.sparkexpr.types import arrow_schema, parse_schema, schema_to_json
from deltaskip.sparkexpr.types.data_types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)
from deltaskip.stats import compute
from deltaskip.stats.file_facts import Mode
from tests.builder import TableBuilder
from tests.each import refuses
from tests.extent import extent
from tests.looped import looped
from tests.stats.rowwise import parsed, statistics

NESTED = StructType(
    (
        StructField("x", INTEGER),
        StructField("with.dot", STRING),
        StructField("deep", StructType((StructField("y", TIMESTAMP), StructField("flag", BOOLEAN)))),
        StructField("only flags", StructType((StructField("f", BOOLEAN), StructField("raw", BINARY)))),
    )
)
SCHEMA = StructType(
    (
        StructField("b", BYTE),
        StructField("sh", SHORT),
        StructField("i", INTEGER),
        StructField("l", LONG),
        StructField("f", FLOAT),
        StructField("d", DOUBLE),
        StructField("small", DecimalType(5, 2)),
        StructField("wide", DecimalType(38, 8)),
        StructField("bo", BOOLEAN),
        StructField("s", STRING),
        StructField("bin", BINARY),
        StructField("da", DATE),
        StructField("ts", TIMESTAMP),
        StructField("ntz", TIMESTAMP_NTZ),
        StructField("a", ArrayType(STRING)),
        StructField("m", MapType(STRING, INTEGER)),
        StructField("st", NESTED),
    )
)
TEXTS = st.text(st.sampled_from('az~\x7f\x80é￾\uffff😀\U0010ffff"\\\n\x01'), max_size=5) | st.builds(
    lambda start, middle, n: start + middle * n,
    st.sampled_from(["", "é" * 20, "x" * 31, "😀" * 15 + "x"]),
    st.sampled_from(["a", "é", "😀", "\U0010ffff"]),
    st.integers(0, 40),
)
TIMES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999))


def decimals(type_: DecimalType) -> st.SearchStrategy[Decimal]:
    limit = 10**type_.precision - 1
    return st.integers(-limit, limit).map(lambda v: Decimal((int(v < 0), tuple(map(int, str(abs(v)))), -type_.scale)))


def values_of(type_: DataType) -> st.SearchStrategy[Any]:
    match type_:
        case StructType(fields):
            return st.fixed_dictionaries({field.name: optional(field.type) for field in fields})
        case ArrayType(element):
            return st.lists(optional(element), max_size=2)
        case MapType(_, value):
            entries = st.tuples(st.sampled_from(["k", "l"]), optional(value))
            return st.lists(entries, max_size=2, unique_by=lambda entry: entry[0])
        case DecimalType():
            return decimals(type_)
    return _PRIMITIVES[type_]


_PRIMITIVES: dict[DataType, st.SearchStrategy[Any]] = {
    BYTE: st.integers(-128, 127),
    SHORT: st.integers(-(1 << 15), (1 << 15) - 1),
    INTEGER: st.integers(-(1 << 31), (1 << 31) - 1),
    LONG: st.integers(-(1 << 63), (1 << 63) - 1),
    FLOAT: st.floats(width=32),
    DOUBLE: st.floats() | st.sampled_from([math.nan, 0.0, -0.0, 1.0]),
    BOOLEAN: st.booleans(),
    STRING: TEXTS,
    BINARY: st.binary(max_size=3),
    DATE: st.dates(),
    TIMESTAMP: TIMES.map(lambda t: t.replace(tzinfo=UTC)),
    TIMESTAMP_NTZ: TIMES,
}


def optional(type_: DataType) -> st.SearchStrategy[Any]:
    return st.none() | values_of(type_)


@st.composite
def layouts(draw: st.DrawFn) -> dict[str, Any]:
    """Ways to write the same rows."""
    return {
        "row_group_size": draw(st.sampled_from([1, 3, 1000])),
        "use_dictionary": draw(st.booleans()),
        "write_statistics": draw(st.sampled_from([True, True, False, ["i", "s"]])),
        "store_decimal_as_integer": draw(st.booleans()),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
    }


@pytest.fixture(scope="module")
def write() -> Any:
    """Writes a Parquet file in a folder that goes with the module; gives its path."""
    with tempfile.TemporaryDirectory() as folder:
        number = iter(range(1 << 30))

        def written(table: pa.Table, **layout: Any) -> str:
            path = Path(folder) / f"{next(number)}.parquet"
            pq.write_table(table, path, **layout)
            return str(path)

        yield written


def one(path: str, schema: Any, **options: Any) -> Any:
    """The parsed statistics of one file."""
    return parsed(compute([path], schema, **options)["stats"][0].as_py())


def within(part: Any, whole: Any) -> bool:
    """Whether the statistics of `part` are all in `whole`, with the same values."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and within(part[key], whole[key]) for key in part)
    return bool(part == whole)


ROWS = st.integers(0, 12).flatmap(lambda n: st.lists(values_of(SCHEMA), min_size=n, max_size=n))
SETTINGS = settings(max_examples=extent(12, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])


@SETTINGS
@given(ROWS, layouts())
def test_every_type_in_every_layout_is_as_the_rows_say(write: Callable[..., str], rows: list[Any], layout: Any) -> None:
    path = write(pa.Table.from_pylist(rows, arrow_schema(SCHEMA)), **layout)
    expected = statistics(rows, SCHEMA)
    assert one(path, SCHEMA) == expected
    assert one(path, SCHEMA, mode="scan") == expected
    assert within(one(path, SCHEMA, mode="footer"), expected)


@SETTINGS
@given(ROWS, layouts(), st.sets(st.integers(0, 11)))
def test_deleted_rows_count_as_records_only(
    write: Callable[..., str], rows: list[Any], layout: Any, deleted: set[int]
) -> None:
    path = write(pa.Table.from_pylist(rows, arrow_schema(SCHEMA)), **layout)
    vector = sorted(i for i in deleted if i < len(rows))
    expected = {**statistics(rows, SCHEMA, frozenset(vector)), "tightBounds": True}
    assert one(path, SCHEMA, deletion_vectors=[pa.array(vector, pa.int64())]) == expected
    assert within(one(path, SCHEMA, deletion_vectors=[pa.array(vector, pa.int64())], mode="footer"), expected)


FLAT = pa.table(
    {
        "i": pa.array([3, None, -5], pa.int32()),
        "s": ["b", None, "a"],
        "t": pa.array([-1, 1999, None], pa.timestamp("us", "UTC")),
    }
)


def test_the_text_is_that_of_delta_spark(write: Callable[..., str]) -> None:
    result = compute([write(FLAT)], FLAT.schema, tight_bounds=True)
    assert result.schema.names == ["path", "num_records", "stats", "tags"]
    assert result["num_records"].to_pylist() == [3]
    assert result["stats"][0].as_py() == (
        '{"numRecords":3,"minValues":{"i":-5,"s":"a","t":"1969-12-31T23:59:59.999Z"},'
        '"maxValues":{"i":3,"s":"b","t":"1970-01-01T00:00:00.001Z"},"nullCount":{"i":1,"s":1,"t":1},"tightBounds":true}'
    )


def test_the_schema_may_be_json_arrow_or_a_struct(write: Callable[..., str]) -> None:
    path = write(FLAT)
    struct = StructType((StructField("i", INTEGER), StructField("s", STRING), StructField("t", TIMESTAMP)))
    assert one(path, FLAT.schema) == one(path, struct) == one(path, schema_to_json(struct))
    refuses(InvalidArgumentType, "schema must be a StructType", compute, [path], 5)


@pytest.mark.parametrize("mode", ["auto", "scan", "footer"])
def test_a_column_that_the_file_lacks_is_null_in_every_row(write: Callable[..., str], mode: Any) -> None:
    schema = StructType((StructField("i", INTEGER), StructField("new", StructType((StructField("x", LONG),)))))
    found = one(write(FLAT), schema, mode=mode)
    assert found["nullCount"] == {"i": 1, "new": {"x": 3}}
    assert found["minValues"] == {"i": -5, "new": {}}


def test_a_name_in_other_letter_case_is_the_column(write: Callable[..., str]) -> None:
    path = write(FLAT)
    assert one(path, StructType((StructField("I", INTEGER),))) == {
        "numRecords": 3,
        "minValues": {"I": -5},
        "maxValues": {"I": 3},
        "nullCount": {"I": 1},
    }
    twice = write(pa.table({"x": [1], "X": [2]}))
    assert one(twice, StructType((StructField("x", LONG), StructField("X", LONG))))["minValues"] == {"x": 1, "X": 2}
    either = one(write(pa.table({"Xy": [1], "xY": [2]})), StructType((StructField("xy", LONG),)))
    assert either == {"numRecords": 1, "minValues": {}, "maxValues": {}, "nullCount": {}}


def test_a_file_of_another_type_has_null_counts_only(write: Callable[..., str]) -> None:
    for mode in ("auto", "scan", "footer"):
        found = one(write(FLAT), StructType((StructField("s", LONG), StructField("i", STRING))), mode=mode)
        assert found == {"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {"s": 1, "i": 1}}


MIDNIGHT = "T00:00:00.000"
WIDENED: list[tuple[pa.Array, DataType, Any, Any]] = [
    (pa.array([5, -3], pa.int8()), LONG, -3, 5),
    (pa.array([5, -3], pa.int32()), DecimalType(20, 2), Decimal("-3.00"), Decimal("5.00")),
    (pa.array([5, -3], pa.int32()), DOUBLE, Decimal("-3.0"), Decimal("5.0")),
    (pa.array([0.1, -3], pa.float32()), DOUBLE, Decimal("-3.0"), Decimal("0.10000000149011612")),
    (pa.array([Decimal("1.5"), Decimal("-1.5")], pa.decimal128(3, 1)), DecimalType(10, 3), Decimal("-1.500"), 1.5),
    (pa.array([date(2020, 1, 2), date(1960, 1, 1)]), TIMESTAMP_NTZ, f"1960-01-01{MIDNIGHT}", f"2020-01-02{MIDNIGHT}"),
    (pa.array([1, 2], pa.uint32()), LONG, 1, 2),
    (pa.array([-1, 5], pa.timestamp("ns", "UTC")), TIMESTAMP, "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"),
    (pa.array([-1, 5], pa.timestamp("ms", "UTC")), TIMESTAMP, "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.005Z"),
    (pa.array(["b", "a"], pa.large_string()), STRING, "a", "b"),
    (pa.array(["b", "a"]).dictionary_encode(), STRING, "a", "b"),
    (pa.array([b"b", b"a"]), STRING, "a", "b"),
    (pa.array(["b", "a"], pa.string_view()), STRING, "a", "b"),
    (pa.array([5, -3]).dictionary_encode(), LONG, -3, 5),
    (pa.array([date(2020, 1, 2), date(1960, 1, 1)], pa.date64()), DATE, "1960-01-01", "2020-01-02"),
    (pa.array([Decimal("1.5"), Decimal("-1.5")], pa.decimal256(20, 1)), DecimalType(20, 1), Decimal("-1.5"), 1.5),
    (pa.array(["2", "1"], pa.json_()), STRING, "1", "2"),
]


@looped("stored, type_, low, high", WIDENED)
def test_narrower_types_of_the_file_are_widened(
    write: Callable[..., str], stored: pa.Array, type_: DataType, low: Any, high: Any
) -> None:
    path = write(pa.table({"x": stored}))
    schema = StructType((StructField("x", type_),))
    expected = {"numRecords": 2, "minValues": {"x": low}, "maxValues": {"x": high}, "nullCount": {"x": 0}}
    assert one(path, schema) == expected
    assert one(path, schema, mode="scan") == expected
    assert within(one(path, schema, mode="footer"), expected)


def test_a_value_that_the_type_cannot_hold_gives_no_bounds(write: Callable[..., str]) -> None:
    path = write(pa.table({"x": [1, 300]}))
    for mode in ("auto", "scan"):
        assert one(path, StructType((StructField("x", BYTE),)), mode=mode)["minValues"] == {}


OLD = pa.array([datetime(1500, 3, 1, 0, 0, 0, 123_456), datetime(2020, 1, 1)], pa.timestamp("us", "UTC"))


ARROW_23 = pytest.mark.skipif(
    int(pa.__version__.partition(".")[0]) < 23, reason="this pyarrow writes INT96 that it misreads, and has no bounds"
)


@ARROW_23
def test_int96_is_scanned(write: Callable[..., str]) -> None:
    path = write(pa.table({"t": OLD}), use_deprecated_int96_timestamps=True)
    schema = StructType((StructField("t", TIMESTAMP),))
    assert one(path, schema)["minValues"] == {"t": "1500-03-01T00:00:00.123Z"}
    assert one(path, schema, mode="footer") == {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {}}


@pytest.mark.parametrize("int96", [False, pytest.param(True, marks=ARROW_23)])
@pytest.mark.parametrize(
    ("keys", "known"),
    [
        ({}, True),
        ({"org.apache.spark.version": "4.1.4"}, True),
        ({"org.apache.spark.version": "2.4.8"}, False),
        ({"org.apache.spark.version": "3.5.0", "both": ""}, False),
    ],
)
def test_old_dates_of_another_calendar_are_not_known(
    write: Callable[..., str], keys: dict[str, str], known: bool, int96: bool
) -> None:
    if "both" in keys:
        keys = {**keys, "org.apache.spark.legacyDateTime": "", "org.apache.spark.legacyINT96": ""}
    table = pa.table({"t": OLD, "new": OLD.take([1, 1]), "d": OLD.cast(pa.date32(), safe=False)})
    path = write(table.replace_schema_metadata(keys), use_deprecated_int96_timestamps=int96)
    schema = StructType((StructField("t", TIMESTAMP), StructField("new", TIMESTAMP), StructField("d", DATE)))
    for mode in ("auto", "scan"):
        found = one(path, schema, mode=mode)
        assert set(found["minValues"]) == set(found["maxValues"]) == ({"t", "new", "d"} if known else {"new"})
        assert found["nullCount"] == {"t": 0, "new": 0, "d": 0}


def mapped(name: str, type_: DataType, number: int, physical: str) -> StructField:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return StructField(name, type_, True, metadata)


def test_mapped_columns_are_found_by_name_or_by_id(write: Callable[..., str]) -> None:
    schema = StructType((mapped("a", LONG, 1, "p1"), mapped("b", StructType((mapped("c", LONG, 3, "p3"),)), 2, "p2")))
    named = write(pa.table({"p1": [1, 2], "p2": [{"p3": 5}, None]}))
    expected = {
        "numRecords": 2,
        "minValues": {"p1": 1, "p2": {"p3": 5}},
        "maxValues": {"p1": 2, "p2": {"p3": 5}},
        "nullCount": {"p1": 0, "p2": {"p3": 1}},
    }
    assert one(named, schema, mapping_mode="name") == expected

    def with_id(name: str, type_: pa.DataType, number: int) -> pa.Field:
        return pa.field(name, type_, metadata={"PARQUET:field_id": str(number)})

    fields = [with_id("other", pa.int64(), 1), with_id("names", pa.struct([with_id("here", pa.int64(), 3)]), 2)]
    rows = [{"other": 1, "names": {"here": 5}}, {"other": 2, "names": None}]
    numbered = write(pa.Table.from_pylist(rows, pa.schema(fields)))
    for mode in ("auto", "scan"):
        assert one(numbered, schema, mapping_mode="id", mode=mode) == expected
    assert one(named, schema, mapping_mode="id") == {
        "numRecords": 2,
        "minValues": {"p2": {}},
        "maxValues": {"p2": {}},
        "nullCount": {"p2": {}},
    }


def test_strings_that_are_not_utf8_have_no_bounds(write: Callable[..., str]) -> None:
    broken = pa.array([b"a", b"\xff"]).view(pa.string())
    for mode in ("auto", "scan"):
        found = one(write(pa.table({"s": broken})), StructType((StructField("s", STRING),)), mode=mode)
        assert found == {"numRecords": 2, "minValues": {"s": "a"}, "maxValues": {}, "nullCount": {"s": 0}}


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    schema = parse_schema('{"type":"struct","fields":[]}')
    refuses(DataFileMissing, r"gone\.parquet does not exist", compute, [tmp_path / "gone.parquet"], schema)
    whole = tmp_path / "whole.parquet"
    pq.write_table(FLAT, whole)
    for content in (b"", b"PAR1", b"x" * 100, whole.read_bytes()[:-20] + b"\xff\xff\xff\x7fPAR1"):
        broken = tmp_path / "broken.parquet"
        broken.write_bytes(content)
        refuses(StorageError, r"broken\.parquet is not a complete Parquet file", compute, [broken], schema)


def test_names_with_dots_are_not_taken_for_paths(write: Callable[..., str]) -> None:
    inner = pa.struct([("b", pa.int64()), ("c.d", pa.int64())])
    rows = {"a.b": [1, 2], "a": [{"b": 3, "c.d": 4}, None], "a.c.d": [None, 7], "`": [8, 9]}
    table = pa.table({"a.b": rows["a.b"], "a": pa.array(rows["a"], inner), "a.c.d": rows["a.c.d"], "`": rows["`"]})
    schema = StructType(
        (
            StructField("a.b", LONG),
            StructField("a", StructType((StructField("b", LONG), StructField("c.d", LONG)))),
            StructField("a.c.d", LONG),
            StructField("`", LONG),
        )
    )
    for mode in ("auto", "scan"):
        assert one(write(table), schema, mode=mode) == {
            "numRecords": 2,
            "minValues": {"a.b": 1, "a": {"b": 3, "c.d": 4}, "a.c.d": 7, "`": 8},
            "maxValues": {"a.b": 2, "a": {"b": 3, "c.d": 4}, "a.c.d": 7, "`": 9},
            "nullCount": {"a.b": 0, "a": {"b": 1, "c.d": 1}, "a.c.d": 1, "`": 0},
        }


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ([], '{"numRecords":1}'),
        (["b"], '{"numRecords":1,"nullCount":{"b":0}}'),
        (["n"], '{"numRecords":1,"minValues":{},"maxValues":{},"nullCount":{"n":1}}'),
        (["s.y"], '{"numRecords":1,"nullCount":{"s":{"y":0}}}'),
        (["s.x"], '{"numRecords":1,"minValues":{"s":{"x":1}},"maxValues":{"s":{"x":1}},"nullCount":{"s":{"x":0}}}'),
        (["e"], '{"numRecords":1,"minValues":{"e":1E-10},"maxValues":{"e":1E-10},"nullCount":{"e":0}}'),
        (["q"], '{"numRecords":1,"minValues":{"q":ODD},"maxValues":{"q":ODD},"nullCount":{"q":0}}'),
    ],
)
def test_objects_are_there_or_not_as_delta_spark_has_them(write: Callable[..., str], columns: Any, text: str) -> None:
    table = pa.table(
        {
            "b": [True],
            "n": pa.nulls(1, pa.int32()),
            "s": [{"x": 1, "y": [2]}],
            "e": pa.array([Decimal("1e-10")], pa.decimal128(38, 10)),
            "q": ['a"b\\\n\x01\x7f'],
        }
    )
    expected = text.replace("ODD", r'"a\"b\\\n\u0001' + '\x7f"')
    assert compute([write(table)], table.schema, columns=columns)["stats"][0].as_py() == expected


def test_long_rows_are_read_in_short_batches(write: Callable[..., str]) -> None:
    texts = [str(i % 7) * 1_000_000 for i in range(100)]
    path = write(pa.table({"s": texts, "bin": [b"x"] * 100}), use_dictionary=False, compression="zstd")
    found = one(path, StructType((StructField("s", STRING), StructField("bin", BINARY))), mode="scan")
    assert found["minValues"] == {"s": "0" * 32} and found["nullCount"] == {"s": 0, "bin": 0}


@looped(
    "wrong, error, message",
    [
        ({"mode": "fast"}, InvalidArgument, "mode must be auto, footer or scan, not 'fast'"),
        ({"mapping_mode": "names"}, InvalidArgument, "mapping_mode must be none, name or id, not 'names'"),
        ({"files": "a.parquet"}, InvalidArgumentType, r"files must be a list of paths, not a str: use \['a.parquet'\]"),
        ({"files": 5}, InvalidArgumentType, "files must be a list of paths, not int"),
        ({"files": [5]}, InvalidArgumentType, "Each of files must be a path or URI"),
        ({"columns": 1}, InvalidArgumentType, "columns must be a list of str, not int"),
        ({"partition_columns": 1}, InvalidArgumentType, "partition_columns must be a list of str, not int"),
        ({"properties": ["x"]}, InvalidArgumentType, "properties must be a mapping"),
        ({"storage_options": {"key": 5}}, InvalidArgumentType, "must be a str, not int"),
        ({"deletion_vectors": [None, None]}, InvalidArgument, "one element per file: 1, not 2"),
        ({"deletion_vectors": [[0]]}, InvalidArgumentType, "must be an int64 Arrow array or None, not list"),
        ({"deletion_vectors": [pa.array([0], pa.int32())]}, InvalidArgumentType, "must be an int64 Arrow array"),
        ({"deletion_vectors": [pa.array([None], pa.int64())]}, InvalidArgument, "must not contain nulls"),
    ],
)
def test_a_wrong_argument_is_named(
    write: Callable[..., str], wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    refuses(error, message, lambda: compute(**{"files": [write(FLAT)], "schema": FLAT.schema, **wrong}))


@looped("mode", ["auto", "footer", "scan"])
@looped(
    "numbers, message",
    [
        ([0] * 20, "must be strictly ascending"),
        ([19, 0], "must be strictly ascending"),
        ([3, 5, 5], "must be strictly ascending"),
        ([-1], "must not be negative"),
        ([-(2**63), 2**63 - 1], "must not be negative"),
        ([20], "contains row 20, but the file has 20 rows"),
        ([0, 1000], "contains row 1000, but the file has 20 rows"),
    ],
)
def test_a_deletion_vector_that_is_not_a_set_of_rows_of_its_file_is_refused(
    write: Callable[..., str], numbers: list[int], message: str, mode: Mode
) -> None:
    table = pa.table({"i": pa.array([None] * 20, pa.int64())})
    path, other = write(table), write(table)
    vectors = [None, pa.array(numbers, pa.int64())]
    with pytest.raises(InvalidArgument, match=message) as caught:
        compute([other, path], table.schema, deletion_vectors=vectors, mode=mode)
    assert path in str(caught.value)


def test_a_deletion_vector_may_be_a_slice_or_all_rows(write: Callable[..., str]) -> None:
    table = pa.table({"i": pa.array(range(20), pa.int64())})
    path = write(table)
    sliced = pa.array([9, 9, 0, 1, 2, 0], pa.int64())[2:5]
    assert one(path, table.schema, deletion_vectors=[sliced])["minValues"] == {"i": 3}
    assert one(path, table.schema, deletion_vectors=[pa.array(range(20), pa.int64())])["nullCount"] == {"i": 0}
    assert one(path, table.schema, deletion_vectors=[pa.array([], pa.int64())])["nullCount"] == {"i": 0}


def test_partition_columns_of_a_table_s_schema_have_no_statistics(tmp_path: Path) -> None:
    schema = StructType((StructField("id", LONG), StructField("Day", DATE), StructField("p", STRING)))
    table = ds.DeltaTable(TableBuilder(tmp_path / "t", schema, partition_by=["Day", "p"]).commit().path)
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    # Some writers put the partition columns into the file, too.
    pq.write_table(pa.table({"id": [1, 2], "p": ["x", "x"]}), tmp_path / "b.parquet")
    for found in compute([tmp_path / "a.parquet", tmp_path / "b.parquet"], table.schema)["stats"].to_pylist():
        assert json.loads(found) == {
            "numRecords": 2,
            "minValues": {"id": 1},
            "maxValues": {"id": 2},
            "nullCount": {"id": 0},
        }
    [explicit] = compute([tmp_path / "b.parquet"], table.schema, partition_columns=["day"])["stats"].to_pylist()
    assert json.loads(explicit)["nullCount"] == {"id": 0, "p": 0}
    assert table.schema == schema and hash(table.schema) == hash(schema)
    assert table.schema.partition_columns == ("Day", "p")

"""Files that do not fit their table, or have damage that pyarrow does not notice: read right, or named in an error."""

from __future__ import annotations

import decimal
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types import without_views
from deltaskip.sparkexpr.types.data_types import LONG, DecimalType
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.builder import TableBuilder, add
from tests.extent import extent, some
from tests.looped import looped

DDL_TYPES = {
    "BINARY": pa.binary(), "STRING": pa.string(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(),
    "BIGINT": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"), "TIMESTAMP_NTZ": pa.timestamp("us"), "DECIMAL(10,2)": pa.decimal128(10, 2),
    "ARRAY<INT>": pa.list_(pa.int32()), "MAP<STRING, INT>": pa.map_(pa.string(), pa.int32()),
    "STRUCT<x: INT>": pa.struct({"x": pa.int32()}),
}  # fmt: skip
VALUES: dict[str, Any] = {
    "BINARY": b"5", "STRING": "5", "FLOAT": 2.5, "DOUBLE": 2.5, "BOOLEAN": True, "DATE": 5, "TIMESTAMP": 5,
    "TIMESTAMP_NTZ": 5, "DECIMAL(10,2)": decimal.Decimal("5.00"), "ARRAY<INT>": [5], "MAP<STRING, INT>": [("a", 5)],
    "STRUCT<x: INT>": {"x": 5},
}  # fmt: skip
# Files of these types are read as tables of those: the same bytes, or # PROTOCOL, Type Widening.
INTEGERS = ["TINYINT", "SMALLINT", "INT", "BIGINT"]
READ_AS = {
    **{each: {*INTEGERS, "FLOAT", "DOUBLE", "DECIMAL(10,2)"} for each in INTEGERS},
    "BINARY": {"STRING", "BINARY"}, "STRING": {"STRING", "BINARY"}, "FLOAT": {"FLOAT", "DOUBLE"},
    "DOUBLE": {"FLOAT", "DOUBLE"}, "DATE": {"DATE", "TIMESTAMP_NTZ"}, "TIMESTAMP": {"TIMESTAMP", "TIMESTAMP_NTZ"},
    "TIMESTAMP_NTZ": {"TIMESTAMP", "TIMESTAMP_NTZ"},
}  # fmt: skip


def table_of(folder: Path, ddl: str, rows: pa.Table, **options: Any) -> ds.DeltaTable:
    """A table whose only file pyarrow has written."""
    schema = parse_columns(ddl)
    builder = TableBuilder(folder / "t", {field.name: field.type for field in schema.fields})
    pq.write_table(rows, folder / "t" / "f.parquet", **options)
    builder.commit({"add": {**add("f.parquet")["add"], "size": (folder / "t" / "f.parquet").stat().st_size}})
    return ds.DeltaTable(folder / "t")


@looped("stored, declared", some(itertools.product(DDL_TYPES, DDL_TYPES), 90))
def test_values_of_another_kind_are_an_error_of_the_file(tmp_path: Path, stored: str, declared: str) -> None:
    value = VALUES.get(stored, 5)
    rows = pa.table({"c": pa.array([value, None], DDL_TYPES[stored])})
    table = table_of(tmp_path, f"c {declared}", rows)
    if stored == declared or declared in READ_AS.get(stored, ()):
        assert len(table.scan().to_arrow()) == 2
    else:
        with pytest.raises(ds.StorageError, match=r"f\.parquet has values of the Arrow type .* in the column 'c'"):
            table.scan().to_arrow()


def test_a_value_that_does_not_fit_is_an_error_of_the_file(tmp_path: Path) -> None:
    table = table_of(tmp_path, "c INT", pa.table({"c": [1, 1 << 40]}))
    with pytest.raises(ds.StorageError, match=r"f\.parquet has a value in the column 'c' that is not one of its type"):
        table.scan().to_arrow()


def test_a_column_is_found_in_any_case_and_named_if_it_is_there_twice(tmp_path: Path) -> None:
    rows = pa.table({"ID": [1, 2], "other": [3, 4]})
    found = table_of(tmp_path / "a", "id BIGINT, Other BIGINT", rows).scan("id = 2").to_arrow()
    assert found.to_pylist() == [{"id": 2, "Other": 4}]
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
    with pytest.raises(ds.StorageError, match=r"f\.parquet has several columns 'id'"):
        table_of(tmp_path / "b", "id BIGINT", twice).scan().to_arrow()
    either = pa.table({"id": [1], "ID": [2]})
    assert table_of(tmp_path / "c", "id BIGINT", either).scan().to_arrow()["id"].to_pylist() == [1]


def test_no_columns_have_as_many_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", pa.table({"id": range(5)}))
    assert len(table.scan(columns=[]).to_arrow()) == 5
    assert len(table.scan("id > 2", columns=[]).to_arrow()) == 2
    assert sum(batch.num_rows for batch in table.scan(columns=[], limit=3).to_batches()) == 3


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_few_rows_of_views(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array([f"text {i * 7919}" for i in range(40_000)])
    texts = (texts if kind == pa.string_view() else texts.cast(pa.binary())).cast(kind)
    rows = pa.table({"id": range(40_000), "s": texts})
    sql = "STRING" if kind == pa.string_view() else "BINARY"
    table = table_of(tmp_path, f"id BIGINT, s {sql}", rows, row_group_size=20_000)
    [row] = table.scan("id = 5").to_arrow().to_pylist()
    assert row["s"] in ("text 39595", b"text 39595")


def test_rows_of_nested_views_can_be_taken() -> None:
    views = pa.array(["a", None, "b"]).cast(pa.string_view())
    for nested in (
        pa.StructArray.from_arrays([views], ["x"]),
        pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), views),
        pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["k", "l"]), views.slice(0, 2)),
    ):
        column = nested.cast(without_views(nested.type))
        assert column.take(pa.array([1])).to_pylist() == nested.to_pylist()[1:2]


@looped("column", ["id", "c"])
@looped("where", ["id = 15000", "id BETWEEN 15000 AND 15100", "id < 10000", "c = 9", "id IS NOT NULL"])
def test_a_page_that_pyarrow_passes_does_not_pair_rows_with_others(tmp_path: Path, column: str, where: str) -> None:
    rows = pa.table({name: pa.array(range(40_000), pa.int64()) for name in ("id", "c")})
    small = {"use_dictionary": False, "data_page_size": 8000, "write_batch_size": 1000}
    table = table_of(tmp_path, "id BIGINT, c BIGINT", rows, row_group_size=20_000, **small)
    path = tmp_path / "t" / "f.parquet"
    data = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(0).column(("id", "c").index(column)).data_page_offset
    assert data[at : at + 2] == b"\x15\x00"
    data[at + 1] = 2  # an index page, not a data page
    path.write_bytes(data)
    try:
        found = table.scan(where).to_arrow()
    except ds.StorageError as error:
        assert "f.parquet" in str(error)
    else:
        # Values that the damage does not concern.
        assert found["id"].equals(found["c"]) and len(found)


def test_a_damaged_footer_is_an_error_and_does_not_end_the_process(tmp_path: Path) -> None:
    rows = pa.table({name: pa.array(range(40_000), pa.int64()) for name in ("id", "c")})
    table_of(tmp_path, "id BIGINT, c BIGINT", rows, row_group_size=20_000, use_dictionary=False, compression="snappy")
    path = tmp_path / "t" / "f.parquet"
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    code = (
        "import sys, deltaskip as ds\n"
        "whole = open(sys.argv[2], 'rb').read()\n"
        "for at in range(int(sys.argv[3]), len(whole) - 8, int(sys.argv[4])):\n"
        "    for bit in (0, 4):\n"
        "        data = bytearray(whole)\n"
        "        data[at] ^= 1 << bit\n"
        "        open(sys.argv[2], 'wb').write(data)\n"
        "        try:\n"
        "            ds.DeltaTable(sys.argv[1]).scan('id = 5').to_arrow()\n"
        "        except ds.DeltaSkipError:\n"
        "            pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t"), str(path), str(footer), str(extent(25, 1))],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.filterwarnings("ignore:The partition value:deltaskip.ReadWarning")
@looped("door", ["scan", "delete", "update", "optimize", "overwrite"])
def test_negative_decimals_of_delta_rs_are_read_and_rewritten_with_one_sign(tmp_path: Path, door: str) -> None:
    builder = TableBuilder(tmp_path / "t", {"id": LONG, "p": DecimalType(10, 2)}, ["p"])
    adds = []
    for number, text in enumerate(["-1.-50", "0.-1", "2.50", "-1.-50"]):
        name = f"p={text}/{number}.parquet"
        (tmp_path / "t" / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"id": pa.array([number, number + 10], pa.int64())}), tmp_path / "t" / name)
        size = (tmp_path / "t" / name).stat().st_size
        adds.append({"add": {**add(name, partitionValues={"p": text})["add"], "size": size}})
    builder.commit(*adds)
    table = ds.DeltaTable(tmp_path / "t")
    assert sorted(table.scan("p = -1.50").to_arrow()["id"].to_pylist()) == [0, 3, 10, 13]
    assert table.scan("p > -1 AND p < 0", columns=["p"]).to_arrow()["p"].to_pylist() == [decimal.Decimal("-0.01")] * 2
    ids = [0, 1, 2, 3, 10, 11, 12, 13]
    if door == "delete":
        table.delete("id = 0")
        ids.remove(0)
    elif door == "update":
        table.update({"id": "id + 100"}, "p = -1.50 AND id = 0")
        ids = [*ids[1:], 100]
    elif door == "optimize":
        table.optimize()
    elif door == "overwrite":
        table.overwrite(pa.table({"id": pa.array([7], pa.int64()), "p": [decimal.Decimal("-1.50")]}), where="p = -1.50")
        ids = [1, 2, 7, 11, 12]
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == ids
    if door in ("optimize", "overwrite"):
        kept = {path.split("/")[-2] for path in table.scan("p = -1.50").paths()}
        assert kept == {"p=-1.50"}


BROKEN = b"a\xe9b"
STRINGS = pa.string()


def broken(kind: pa.DataType = STRINGS) -> pa.Array:
    """Strings of which the second is not UTF-8."""
    text = pa.Array.from_buffers(pa.string(), 3, pa.array([b"ab", BROKEN, "é".encode()]).buffers())
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays([text], fields=list(kind))
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), text)
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), text, text)
    return text.dictionary_encode() if pa.types.is_dictionary(kind) else text.cast(pa.binary()).cast(kind, safe=False)


READS: dict[str, Callable[[ds.DeltaTable], object]] = {
    "to_arrow": lambda table: table.scan().to_arrow(),
    "limit": lambda table: table.scan(limit=3).to_arrow(),
    "to_pandas": lambda table: table.scan().to_pandas(),
    "to_polars": lambda table: table.scan().to_polars(),
    **{where: lambda table, where=where: table.scan(where).to_arrow() for where in ("length(c) = 3", "c LIKE '___'",
        "hex(c) = '61E962'", "concat(c, 'x') <> 'abx'", "upper(c) = 'AB'")},
    "delete": lambda table: table.delete("substring(c, 1, 1) = 'b'"),
    "update": lambda table: table.update({"c": "concat(c, 'x')"}, where="trim(c) = 'q' OR n = 1"),
}  # fmt: skip


@looped("read", READS)
def test_a_string_that_is_not_utf8_is_refused_by_name_before_anything_reads_it(tmp_path: Path, read: str) -> None:
    pytest.importorskip("polars")
    table = table_of(tmp_path, "c STRING, n BIGINT", pa.table({"c": broken(), "n": [1, 2, 3]}))
    with pytest.raises(
        ds.UnsupportedFeature, match=r"f\.parquet has a value in the column 'c' that is not UTF-8.*Spark"
    ):
        READS[read](table)
    assert table.scan("n = 2", columns=["n"]).to_arrow()["n"].to_pylist() == [2]


NESTED = {
    "STRING": pa.dictionary(pa.int32(), pa.string()),
    "STRUCT<x: STRING>": pa.struct({"x": pa.string()}),
    "ARRAY<STRING>": pa.list_(pa.string()),
    "MAP<STRING, STRING>": pa.map_(pa.string(), pa.string()),
}


@looped("declared", NESTED)
def test_strings_that_are_not_utf8_are_found_at_every_depth(tmp_path: Path, declared: str) -> None:
    table = table_of(tmp_path, f"c {declared}", pa.table({"c": broken(NESTED[declared])}))
    with pytest.raises(ds.UnsupportedFeature, match=r"the column 'c' that is not UTF-8"):
        table.scan().to_arrow()


@looped("where", ["hex(c) = '61E962'", "url_encode(c) = 'a%EF%BF%BDb'", "length(c) = 3", "c LIKE 'a__'", "c > 'b'"])
def test_a_file_with_strings_that_are_not_utf8_is_kept_for_all_that_spark_may_find(tmp_path: Path, where: str) -> None:
    table = table_of(tmp_path, "c STRING, n BIGINT", pa.table({"c": broken(), "n": [1, 2, 3]}))
    table.recompute_stats(mode="scan")
    [commit] = (tmp_path / "t" / "_delta_log").glob("*1.json")
    [stats] = [json.loads(line)["add"]["stats"] for line in commit.read_text().splitlines() if '"add"' in line]
    # The least and the greatest string in the order of bytes, both of which are UTF-8.
    assert json.loads(stats)["minValues"] == {"c": "ab", "n": 1}
    assert json.loads(stats)["maxValues"] == {"c": "é", "n": 3}
    assert len(table.scan(where).files()) == 1

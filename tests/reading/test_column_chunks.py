"""Columns decoded from pages of files that pyarrow wrote, against the rows that pyarrow reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip import DeltaTable
from deltaskip.reading import stored_rows
from deltaskip.reading.column_chunks import decode_columns, decode_parts
from deltaskip.reading.plain_columns import leaf_numbers
from deltaskip.sparkexpr.types import without_views
from deltaskip.stats.footer import OpenSource, read_footer
from tests.extent import extent
from tests.looped import looped

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(max_size=12),
    pa.binary(): st.binary(max_size=12),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(dt.UTC)),
    pa.decimal128(7, 2): st.decimals(-99999, 99999, places=2),
    pa.decimal128(18, 3): st.decimals(-(10**14), 10**14, places=3),
    pa.decimal128(38, 0): st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
    # As strings.
    pa.large_string(): st.text(max_size=3),
}
# Only pyarrow reads these.
LEFT: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.list_(pa.int64()): st.lists(st.integers(0, 9), max_size=3),
    pa.struct([("x", pa.int32())]): st.fixed_dictionaries({"x": st.integers(0, 9)}),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.timestamp("ms"): st.datetimes().map(lambda each: each.replace(microsecond=0)),
    pa.decimal256(50, 0): st.integers(0, 10**49).map(Decimal),
}
OPTIONS = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(["snappy", "zstd", "gzip", "brotli", "none", "lz4"]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "use_dictionary": st.booleans(),
        # With pages of less than 8 bytes, pyarrow 26 does not read the only list of a file that it has written.
        "data_page_size": st.sampled_from([8, 64, 1 << 20]),
        "dictionary_pagesize_limit": st.sampled_from([16, 1 << 20]),
        "write_batch_size": st.sampled_from([1, 7, 1024]),
        "row_group_size": st.sampled_from([40, 1000]),
        "store_decimal_as_integer": st.booleans(),
        "use_deprecated_int96_timestamps": st.booleans(),
        "write_statistics": st.booleans(),
        "write_page_checksum": st.booleans(),
        "write_page_index": st.booleans(),
    }
)


@st.composite
def columns(draw: st.DrawFn, kinds: dict[pa.DataType, st.SearchStrategy[Any]], rows: int) -> tuple[pa.Field, pa.Array]:
    kind = draw(st.sampled_from(list(kinds)))
    nullable = draw(st.booleans())
    few = draw(st.lists(st.none() | kinds[kind] if nullable else kinds[kind], min_size=1, max_size=8))
    picked = np.random.default_rng(draw(st.integers(0, 99))).integers(0, len(few), rows)
    return pa.field("", kind, nullable), pa.array([few[i] for i in picked], kind)


def decoded(column: pa.ChunkedArray) -> pa.Array:
    """A column that pyarrow has read, as the kernels decode it."""
    array = column.combine_chunks()
    return array.cast(pa.string()) if array.type == pa.large_string() else array


def texts(rows: pa.Table) -> set[str]:
    return {field.name for field in rows.schema if field.type == pa.string()}


@settings(max_examples=extent(30, 300))
@given(st.integers(1, 120), OPTIONS, st.data())
def test_the_rows_that_pyarrow_reads(rows: int, options: dict[str, Any], data: st.DataObject) -> None:
    drawn = data.draw(st.lists(columns({**VALUES, **LEFT}, rows), min_size=1, max_size=4))
    schema = pa.schema([field.with_name(f"c{i}") for i, (field, _) in enumerate(drawn)])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays([array for _, array in drawn], schema=schema), sink, **options)
    source = pa.BufferReader(sink.getvalue())
    parquet = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
    group = data.draw(st.integers(0, parquet.num_row_groups - 1))
    expected = parquet.read_row_group(group)
    positions = np.array(sorted(data.draw(st.sets(st.integers(0, len(expected) - 1)))), np.int64)
    leaves = leaf_numbers(parquet.schema_arrow)
    found = decode_columns(source, parquet.metadata, parquet.schema_arrow, [group], leaves, positions)
    taken = {
        field.name for field in schema
        if field.type in VALUES and options["compression"] != "lz4"
        # Version 2.0 encodes booleans as runs.
        and not (field.type == pa.bool_() and options["data_page_version"] == "2.0" and len(positions))
    }  # fmt: skip
    # As INT96, times of every unit are read in microseconds.
    times = options["use_deprecated_int96_timestamps"]
    readable = {field.name for field in schema if field.type in VALUES or (times and pa.types.is_timestamp(field.type))}
    assert taken <= set(found) <= readable
    for name, array in found.items():
        array.validate(full=True)
        assert array.equals(decoded(expected[name].take(pa.array(positions)))), name
    first, end = sorted(data.draw(st.tuples(*[st.integers(0, len(expected) - 1)] * 2)))
    as_views, as_codes = ([name for name in leaves if data.draw(st.booleans())] for _ in range(2))
    given = [group], leaves, range(first, end + 1)
    ranged = decode_columns(
        source, parquet.metadata, parquet.schema_arrow, *given, views=as_views, encoded=set(as_codes) & texts(expected)
    )
    assert taken - {field.name for field in schema if pa.types.is_boolean(field.type)} - {*as_codes} <= set(ranged)
    for name, array in ranged.items():
        array.validate(full=True)
        plain = without_views(array.type) if name in as_views else decoded(expected[name]).type
        assert array.cast(plain).equals(decoded(expected[name].slice(first, end + 1 - first))), name
    groups = data.draw(st.sampled_from([[group], list(range(parquet.num_row_groups))]))
    every = parquet.read_row_groups(groups)
    whole = decode_columns(
        source, parquet.metadata, parquet.schema_arrow, groups, leaves, None, threads=len(groups) > 1
    )
    assert taken - {field.name for field in schema if pa.types.is_boolean(field.type)} <= set(whole) <= readable
    for name, array in whole.items():
        array.validate(full=True)
        assert array.equals(decoded(every[name])), name
    most, views = data.draw(st.integers(1, 50)), data.draw(st.booleans())
    own = read_footer(OpenSource(source), "")
    given_rows = parquet.metadata, parquet.schema_arrow, group, leaves, own, most
    parts = list(decode_parts(source, *given_rows, threads=views, views=leaves if views else ()))
    # Without an offset index, or with a column that only pyarrow reads, there are none.
    assert bool(parts) == bool(options["write_page_index"] and leaves and set(leaves) <= set(whole))
    for name in leaves if parts else ():
        array = pa.chunked_array([chunk for part in parts for chunk in part[name].chunks])
        array.validate(full=True)
        assert array.cast(without_views(array.type)).combine_chunks().equals(decoded(expected[name])), name


ENCODINGS = {"use_dictionary": False, "column_encoding": {"a": "PLAIN", "s": "DELTA_BYTE_ARRAY"}}


@pytest.mark.parametrize(("written", "stop"), [({}, -1), ({}, 2), (ENCODINGS, -1)], ids=str)
def test_parts_end_where_only_pyarrow_reads_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: dict[str, Any], stop: int
) -> None:
    rows = pa.table({"a": range(4000), "s": [f"word {i % 7}" if i % 5 else None for i in range(4000)]})
    table = DeltaTable.create(tmp_path, rows.schema)
    table.append(rows)
    [file] = tmp_path.glob("*.parquet")
    limits: dict[str, Any] = {"data_page_size": 512, "write_batch_size": 50, "write_page_index": True}
    pq.write_table(rows, file, row_group_size=1500, **limits, **written)
    monkeypatch.setattr(stored_rows, "_AT_ONCE_BYTES", 100)
    monkeypatch.setattr(stored_rows, "_PART_BYTES", 3000)
    monkeypatch.setattr(stored_rows, "_BATCH_ROWS", 300)
    read = list[int]()

    def counted(*given: Any, **options: Any) -> Iterator[pa.Table]:
        for part in decode_parts(*given, **options):
            read.append(len(part))
            yield part
            if len(read) == stop:
                return

    monkeypatch.setattr(stored_rows, "decode_parts", counted)
    for where, kept in ((None, rows), ("a % 3 = 0", rows.take(list(range(0, 4000, 3))))):
        assert DeltaTable(tmp_path).scan(where).to_arrow().equals(kept)
        assert DeltaTable(tmp_path).scan(where).to_polars().to_arrow().cast(rows.schema).equals(kept)
    # One of the columns is encoded so that pyarrow reads it.
    assert bool(read) != bool(written)


def test_other_encodings_are_left_to_pyarrow() -> None:
    table = pa.table({"a": range(100), "b": [f"word {i}" for i in range(100)], "c": [float(i) for i in range(100)]})
    sink = pa.BufferOutputStream()
    encodings = {"a": "DELTA_BINARY_PACKED", "b": "DELTA_BYTE_ARRAY", "c": "BYTE_STREAM_SPLIT"}
    pq.write_table(table, sink, use_dictionary=False, column_encoding=encodings)
    source = pa.BufferReader(sink.getvalue())
    parquet = pq.ParquetFile(source)
    leaves = leaf_numbers(parquet.schema_arrow)
    assert decode_columns(source, parquet.metadata, parquet.schema_arrow, [0], leaves, np.array([3, 5], np.int64)) == {}


@looped("seed", range(200))
def test_damaged_pages_are_left_to_pyarrow_or_read(seed: int) -> None:
    table = pa.table({"a": range(200), "b": [f"word {i % 9}" for i in range(200)]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    data = bytearray(sink.getvalue().to_pybytes())
    footer = pq.ParquetFile(pa.BufferReader(bytes(data)))
    rng = np.random.default_rng(seed)
    end = footer.metadata.row_group(0).column(1).data_page_offset + 20
    for at in rng.integers(4, end, 3):
        data[at] = rng.integers(0, 256)
    schema = footer.schema_arrow
    positions = np.array([0, 7, 199], np.int64)
    found = decode_columns(pa.BufferReader(bytes(data)), footer.metadata, schema, [0], leaf_numbers(schema), positions)
    assert all(len(array) == 3 for array in found.values())


def test_numbers_of_columns_count_those_within_others() -> None:
    schema = pa.schema(
        [
            ("s", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.struct([("z", pa.int8()), ("w", pa.int8())])))])),
            ("a", pa.int64()),
            ("m", pa.map_(pa.string(), pa.int64())),
            ("b", pa.string()),
        ]
    )
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    footer = pq.read_metadata(pa.BufferReader(sink.getvalue()))
    found = leaf_numbers(schema)
    assert {name: footer.schema.column(number).path for name, number in found.items()} == {"a": "a", "b": "b"}

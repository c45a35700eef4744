"""Row groups copied into a new file, as other readers read it: values, pages by their indexes, statistics."""

import datetime as dt
import json
import struct
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import AddFile, decode_path
from deltaskip.data_files.copied_row_groups import can_copy, copy_row_groups
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.errors import StorageError
from deltaskip.kernels.thrift_compact import read_fields, write_fields
from deltaskip.sparkexpr.types import StructType, from_arrow
from deltaskip.stats import row_group_copy
from deltaskip.stats.computation import statistics_request
from deltaskip.stats.file_facts import FileReader, stats_json
from deltaskip.stats.footer import read_footer
from deltaskip.stats.stats_columns import indexed_columns
from deltaskip.storage import LocalStorage
from tests.noted import raising

GROUP = 500
LOCAL = LocalStorage()
WRITERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "with page indexes": {"write_page_index": True, "data_page_size": 512, "write_batch_size": 32},
    "without dictionaries": {"use_dictionary": False, "compression": "none"},
    "pages of version 2": {"data_page_version": "2.0", "compression": "zstd", "write_page_index": True},
    "without statistics": {"write_statistics": False, "compression": "gzip"},
    "its schema noted": {"store_schema": True},
}


def rows(count: int) -> pa.Table:
    numbers = range(count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "s": pa.array([None if i % 7 == 0 else f"name-{i % 40}" for i in numbers]),
            "x": pa.array([float("nan") if i == 3 else i / 8 for i in numbers], pa.float64()),
            "d": pa.array([dt.date(2020, 1, 1) + dt.timedelta(i % 300) for i in numbers]),
            "ts": pa.array([1_700_000_000_000_000 + i for i in numbers], pa.timestamp("us", "UTC")),
            "n": pa.array([Decimal(i) / 100 for i in numbers], pa.decimal128(10, 2)),
            "b": pa.array([i % 3 == 0 for i in numbers]),
            "st": pa.array([{"a": i, "l": [str(i)] * (i % 3)} for i in numbers]),
            "m": pa.array([[("k", i)] for i in numbers], pa.map_(pa.string(), pa.int32())),
        }
    )  # fmt: skip


def layout_of(folder: Path, schema: StructType, **more: Any) -> DataFileLayout:
    columns = indexed_columns(schema, partition_columns=(), mapping_mode="none")
    return DataFileLayout(LOCAL, str(folder), schema, (), "none", statistics_request(columns), **more)


def copied(folder: Path, source: Path, numbers: list[int], schema: StructType) -> AddFile:
    layout = layout_of(folder, schema)
    footer = read_footer(LOCAL, str(source))
    assert can_copy(footer, layout)
    add = AddFile(source.name, {}, source.stat().st_size, 0, True)
    made = copy_row_groups(LOCAL, str(source), footer, numbers, layout, add)
    assert made is not None
    return made


def part(table: pa.Table, numbers: list[int]) -> pa.Table:
    return pa.concat_tables([table.slice(number * GROUP, GROUP) for number in numbers])


@pytest.mark.parametrize("numbers", [[0], [3], [1, 2], [0, 2, 3]])
@pytest.mark.parametrize("writer", WRITERS)
def test_other_readers_find_the_rows(tmp_path: Path, writer: str, numbers: list[int]) -> None:
    table = rows(4 * GROUP - 17)
    source = tmp_path / "source.parquet"
    pq.write_table(table, source, row_group_size=GROUP, **{"store_schema": False, **WRITERS[writer]})
    made = copied(tmp_path, source, numbers, from_arrow(table.schema))
    target = tmp_path / decode_path(made.path)
    expected = part(table, numbers)
    found = pq.read_table(target)
    # NaN differs from itself.
    assert str(found.to_pylist()) == str(expected.to_pylist())
    by_duckdb = duckdb.sql(f"SELECT id, s, n, st, m FROM '{target}' WHERE id % 5 = 2").arrow().read_all()
    assert (
        by_duckdb.to_pylist()
        == expected.filter(is_asked_for(expected["id"])).select(["id", "s", "n", "st", "m"]).to_pylist()
    )
    assert made.size == target.stat().st_size
    before, after = pq.ParquetFile(source).metadata, pq.ParquetFile(target).metadata
    assert after.num_rows == len(expected) and after.created_by == before.created_by
    for new, old in enumerate(numbers):
        for leaf in range(before.num_columns):
            was, is_now = before.row_group(old).column(leaf), after.row_group(new).column(leaf)
            assert (is_now.statistics is None) == (was.statistics is None)
            assert (is_now.has_offset_index, is_now.has_column_index) == (was.has_offset_index, was.has_column_index)


def is_asked_for(ids: pa.ChunkedArray) -> pa.Array:
    return pa.array([value % 5 == 2 for value in ids.to_pylist()])


@pytest.mark.parametrize("writer", WRITERS)
def test_the_statistics_are_those_of_its_values(tmp_path: Path, writer: str) -> None:
    table = rows(4 * GROUP)
    schema = from_arrow(table.schema)
    source = tmp_path / "source.parquet"
    pq.write_table(table, source, row_group_size=GROUP, **WRITERS[writer])
    made = copied(tmp_path, source, [0, 2], schema)
    request = statistics_request(layout_of(tmp_path, schema).request.columns, mode="scan")
    facts = FileReader(request).facts(LOCAL, str(tmp_path / decode_path(made.path)))
    assert json.loads(made.stats or "") == json.loads(stats_json(facts, request))


def test_single_rows_are_found_by_the_page_index(tmp_path: Path) -> None:
    data = pa.table({"id": range(4000), "s": [f"text {i:05}" for i in range(4000)]})
    source = tmp_path / "source.parquet"
    paged = {"write_page_index": True, "data_page_size": 256, "write_batch_size": 32, "use_dictionary": False}
    pq.write_table(data, source, row_group_size=1000, **paged)
    table = DeltaTable.create(tmp_path / "t", data.schema)
    made = copied(tmp_path / "t", source, [1, 3], table.schema)
    with table.transaction() as transaction:
        transaction.add(made)
    for number in (0, 999, 1000, 1001, 1777, 2500, 3000, 3999):
        here = 1000 <= number < 2000 or number >= 3000
        assert table.scan(f"id = {number}").to_arrow()["s"].to_pylist() == [f"text {number:05}"] * here


def test_bloom_filters_go_with_their_column_chunks(tmp_path: Path) -> None:
    source, target = tmp_path / "source.parquet", tmp_path / "t"
    duckdb.sql(
        f"COPY (SELECT i AS id, 'v' || (i * 7919 % 4096) AS s FROM range(8192) r(i)) TO '{source}' "
        "(FORMAT parquet, ROW_GROUP_SIZE 2048, DICTIONARY_SIZE_LIMIT 100000)"
    )
    target.mkdir()
    schema = from_arrow(pa.schema({"id": pa.int64(), "s": pa.string()}))
    made = target / decode_path(copied(target, source, [1, 3], schema).path)

    def filters(file: Path) -> list[Any]:
        places = f"SELECT bloom_filter_offset, bloom_filter_length FROM parquet_metadata('{file}')"
        return duckdb.sql(f"{places} WHERE path_in_schema = 's'").fetchall()

    before, after = filters(source), filters(made)
    assert all(offset for offset, _ in before), "DuckDB has written no Bloom filters"
    assert [length for _, length in after] == [before[1][1], before[3][1]]
    old, new = source.read_bytes(), made.read_bytes()
    for (was, length), (is_now, _) in zip([before[1], before[3]], after, strict=True):
        assert new[is_now : is_now + length] == old[was : was + length]
    for value in ("v0", "v77", "nothing"):
        query = "SELECT count(*) FROM '{}' WHERE s = '{}' AND (id BETWEEN 2048 AND 4095 OR id >= 6144)"
        [expected], [found] = (duckdb.sql(query.format(file, value)).fetchone() or () for file in (source, made))
        assert found == expected


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ({"id": pa.int32()}, {"id": pa.int64()}),
        ({"id": pa.int64(), "dropped": pa.int64()}, {"id": pa.int64()}),
        ({"id": pa.timestamp("ns", "UTC")}, {"id": pa.timestamp("us", "UTC")}),
        ({"id": pa.struct({"a": pa.int64(), "b": pa.int64()})}, {"id": pa.struct({"a": pa.int64()})}),
    ],
)
def test_files_that_would_be_written_otherwise_are_not_copied(
    tmp_path: Path, stored: dict[str, pa.DataType], wanted: dict[str, pa.DataType]
) -> None:
    source = tmp_path / "source.parquet"
    pq.write_table(pa.schema(stored).empty_table(), source)
    assert not can_copy(read_footer(LOCAL, str(source)), layout_of(tmp_path, from_arrow(pa.schema(wanted))))
    same = from_arrow(pa.schema({"id": pa.int64(), "added": pa.string()}))
    pq.write_table(pa.schema({"id": pa.int64()}).empty_table(), source)
    footer = read_footer(LOCAL, str(source))
    assert can_copy(footer, layout_of(tmp_path, same))
    assert not can_copy(
        footer, replace(layout_of(tmp_path, same), partition_columns=("added",), keeps_partition_columns=True)
    )
    assert can_copy(footer, replace(layout_of(tmp_path, same), partition_columns=("id",), keeps_partition_columns=True))
    pq.write_table(pa.table([[1], [2]], names=["id", "id"]), source)
    assert not can_copy(read_footer(LOCAL, str(source)), layout_of(tmp_path, same))


@pytest.mark.parametrize(("place", "lacks"), [(4, 5), (6, 7), (7, 6)])
def test_half_of_the_place_of_an_index_is_left_out(tmp_path: Path, place: int, lacks: int) -> None:
    table = rows(2 * GROUP)
    source = tmp_path / "source.parquet"
    pq.write_table(table, source, row_group_size=GROUP, write_page_index=True)
    footer = read_footer(LOCAL, str(source))
    fields = read_fields(footer.data)
    for group in fields[4][1][1]:
        for chunk in group[1][1][1]:
            del chunk[lacks]
    data = write_fields(fields)
    body = source.read_bytes()[: -8 - len(footer.data)]
    source.write_bytes(body + data + struct.pack("<I", len(data)) + b"PAR1")
    made = copied(tmp_path, source, [1], from_arrow(table.schema))
    found = read_fields(read_footer(LOCAL, str(tmp_path / decode_path(made.path))).data)
    [group] = found[4][1][1]
    assert not any({place, lacks} & chunk.keys() for chunk in group[1][1][1])
    assert str(pq.read_table(tmp_path / decode_path(made.path)).to_pylist()) == str(part(table, [1]).to_pylist())


def test_an_index_behind_the_end_of_the_file_leaves_no_file(tmp_path: Path) -> None:
    table = rows(2 * GROUP)
    source = tmp_path / "source.parquet"
    pq.write_table(table, source, row_group_size=GROUP, write_page_index=True)
    footer = read_footer(LOCAL, str(source))
    fields = read_fields(footer.data)
    fields[4][1][1][1][1][1][1][0][6] = 6, source.stat().st_size - 1
    damaged = replace(footer, data=write_fields(fields))
    layout = layout_of(tmp_path, from_arrow(table.schema))
    add = AddFile(source.name, {}, source.stat().st_size, 0, True)
    assert copy_row_groups(LOCAL, str(source), damaged, [1], layout, add) is None
    assert [each.name for each in tmp_path.iterdir()] == ["source.parquet"]


def test_a_file_that_ends_early_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = rows(4 * GROUP)
    source = tmp_path / "source.parquet"
    pq.write_table(table, source, row_group_size=GROUP)
    layout = layout_of(tmp_path, from_arrow(table.schema))
    footer = read_footer(LOCAL, str(source))
    add = AddFile(source.name, {}, source.stat().st_size, 0, True)

    def cut(_: object, ranges: list[tuple[int, int]]) -> list[memoryview]:
        return [memoryview(bytes(size - 1)) for _, size in ranges]

    monkeypatch.setattr(row_group_copy, "read_ranges", cut)
    assert copy_row_groups(LOCAL, str(source), footer, [1], layout, add) is None
    assert [each.name for each in tmp_path.iterdir()] == ["source.parquet"]

    monkeypatch.setattr(row_group_copy, "read_ranges", raising(OSError(5, "Input/output error")))
    with pytest.raises(StorageError, match=r"Cannot read the data file .*source.parquet: .*Input/output error"):
        copy_row_groups(LOCAL, str(source), footer, [1], layout, add)
    assert [each.name for each in tmp_path.iterdir()] == ["source.parquet"]

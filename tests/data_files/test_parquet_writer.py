"""Data files written from Arrow: what pyarrow and DuckDB read back, partitions, column mapping, and failures."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import AddFile, decode_path
from deltaskip.data_files import parquet_writer
from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.errors import StorageError
from deltaskip.schema.mapping import ID_KEY
from deltaskip.sparkexpr.types import VOID, StructField, StructType, from_arrow
from deltaskip.sparkexpr.types.data_types import PHYSICAL_NAME_KEY
from deltaskip.stats.computation import statistics_request
from deltaskip.stats.file_facts import FileReader, stats_json
from deltaskip.stats.stats_columns import indexed_columns
from deltaskip.storage import LocalStorage

ROWS = pa.table(
    {
        "id": pa.array(range(10), pa.int64()),
        "p": ["a", "b", None, "", "a b/%:é", "a", "b", None, "x=y", "a"],
        "st": [{"x": i, "tags": [str(i)]} if i % 3 else None for i in range(10)],
        "d": [1.5, float("nan"), None, *map(float, range(7))],
    }
)


def _layout(folder: Path, schema: StructType, partition_columns: tuple[str, ...] = (), **more: Any) -> DataFileLayout:
    mode = more.pop("mapping_mode", "none")
    columns = indexed_columns(schema, partition_columns=partition_columns, mapping_mode=mode)
    request = statistics_request(columns, mapping_mode=mode)
    return DataFileLayout(LocalStorage(), str(folder), schema, partition_columns, mode, request, **more)


def _files(folder: Path) -> list[str]:
    return [os.path.relpath(os.path.join(top, name), folder) for top, _, names in os.walk(folder) for name in names]


def _read(folder: Path, file: AddFile) -> list[dict[str, Any]]:
    return pq.ParquetFile(folder / decode_path(file.path)).read().to_pylist()


def test_rows_of_an_unpartitioned_table_are_one_file(tmp_path: Path) -> None:
    [file] = write_data_files(ROWS.to_batches(max_chunksize=3), _layout(tmp_path, from_arrow(ROWS.schema))).files
    assert _files(tmp_path) == [file.path]
    assert file.path.startswith("part-00000-")
    assert file.path.endswith(".c000.zstd.parquet")
    assert file.size == os.path.getsize(tmp_path / file.path)
    assert (file.partition_values, file.data_change) == ({}, True)
    table = pa.Table.from_pylist(_read(tmp_path, file), ROWS.schema)
    assert table.drop_columns("d").to_pylist() == ROWS.drop_columns("d").to_pylist()
    stats = json.loads(file.stats or "")
    assert stats["numRecords"] == 10
    assert stats["minValues"] == {"id": 0, "p": "", "st": {"x": 1}, "d": 0.0}
    assert stats["nullCount"] == {"id": 0, "p": 2, "st": {"x": 4, "tags": 4}, "d": 1}
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(f"SELECT count(*), sum(id), sum(st.x) FROM '{tmp_path / file.path}'").fetchone()
    assert found == (10, 45, sum(i for i in range(10) if i % 3))


def _footer_maxima(file: Path) -> dict[str, Any]:
    metadata = pq.ParquetFile(file).metadata
    columns = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
    return {column.path_in_schema: column.statistics and column.statistics.max for column in columns}


def test_footers_have_no_bounds_of_columns_with_nan_since_readers_would_miss_it(tmp_path: Path) -> None:
    nan = float("nan")
    rows = pa.table({"d": [1.0, nan], "e": [1.0, 2.0], "st": [{"x": nan, "y": 1.0}] * 2, "l": [[nan]] * 2})
    [file] = write_data_files(rows.to_batches(), _layout(tmp_path, from_arrow(rows.schema))).files
    found = _footer_maxima(tmp_path / file.path)
    assert (found["d"], found["e"], found["st.x"], found["st.y"]) == (None, 2.0, None, 1.0)
    assert json.loads(file.stats or "")["maxValues"]["d"] == "NaN"


def test_each_leaf_has_a_dictionary_if_its_values_repeat_and_bounds_if_it_is_in_no_array(tmp_path: Path) -> None:
    count = 5000
    each, few = pa.array(range(count), pa.int64()), pa.array([i % 7 for i in range(count)], pa.int64())
    offsets = pa.array(range(count + 1), pa.int32())
    columns = {
        "s": pa.StructArray.from_arrays([each, few, pa.ListArray.from_arrays(offsets, few)], ["a", "b", "l"]),
        "l": pa.ListArray.from_arrays(offsets, each),
        "m": pa.MapArray.from_arrays(offsets, few, each),
    }
    for rows in (pa.table(columns), pa.table(columns).slice(1)):
        folder = tmp_path / str(len(rows))
        [file] = write_data_files(rows.to_batches(), _layout(folder, from_arrow(rows.schema))).files
        group = pq.ParquetFile(folder / decode_path(file.path)).metadata.row_group(0)
        found = [group.column(i) for i in range(group.num_columns)]
        shapes = {leaf.path_in_schema: (leaf.has_dictionary_page, leaf.is_stats_set) for leaf in found}
        assert shapes == {
            "s.a": (False, True),
            "s.b": (True, True),
            "s.l.list.element": (True, False),
            "l.list.element": (False, False),
            "m.key_value.key": (True, False),
            "m.key_value.value": (False, False),
        }
        assert json.loads(file.stats or "")["nullCount"] == {"s": {"a": 0, "b": 0, "l": 0}, "l": 0, "m": 0}


def test_a_first_nan_in_a_later_row_group_begins_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.settings.options.row_group_bytes", 1)
    values = [[1.0], [2.0], [float("nan")], [3.0]]
    batches = [pa.record_batch({"d": each}) for each in values]
    files = write_data_files(batches, _layout(tmp_path, from_arrow(batches[0].schema))).files
    assert [json.loads(file.stats or "")["numRecords"] for file in files] == [2, 2]
    assert [_footer_maxima(tmp_path / file.path)["d"] for file in files] == [1.0, None]


def test_each_partition_is_a_file_in_a_folder_of_hive(tmp_path: Path) -> None:
    schema = from_arrow(ROWS.schema)
    files = write_data_files(ROWS.to_batches(max_chunksize=4), _layout(tmp_path, schema, ("p",))).files
    by_value = {file.partition_values["p"]: file for file in files}
    assert len(files) == len(by_value) == 5  # null and the empty text are one partition
    assert sorted(_files(tmp_path)) == sorted(decode_path(file.path) for file in files)
    assert by_value["a b/%:é"].path.startswith("p=a%20b%252F%2525%253A\u00e9/part-")
    assert by_value[None].path.startswith("p=__HIVE_DEFAULT_PARTITION__/")
    found = {value: [row["id"] for row in _read(tmp_path, file)] for value, file in by_value.items()}
    assert found == {"a": [0, 5, 9], "b": [1, 6], None: [2, 3, 7], "a b/%:é": [4], "x=y": [8]}
    assert "p" not in pq.read_schema(tmp_path / decode_path(by_value["a"].path)).names
    assert "p" not in json.loads(by_value["a"].stats or "")["nullCount"]


def test_partition_columns_are_also_in_the_files_of_tables_that_need_it(tmp_path: Path) -> None:
    layout = _layout(tmp_path, from_arrow(ROWS.schema), ("p",), keeps_partition_columns=True)
    for file in write_data_files(ROWS.to_batches(), layout).files:
        values = {row["p"] or None for row in _read(tmp_path, file)}
        assert values == {file.partition_values["p"]}


def test_several_partition_columns_and_many_values(tmp_path: Path) -> None:
    rows = pa.table({"a": [i % 7 for i in range(1000)], "b": [i % 11 for i in range(1000)], "v": range(1000)})
    layout = _layout(tmp_path, from_arrow(rows.schema), ("b", "a"))
    files = write_data_files(rows.to_batches(max_chunksize=300), layout).files
    assert len(files) == 77
    for file in files:
        a, b = int(file.partition_values["a"] or ""), int(file.partition_values["b"] or "")
        assert file.path.startswith(f"b={b}/a={a}/")
        assert [row["v"] for row in _read(tmp_path, file)] == [i for i in range(1000) if (i % 7, i % 11) == (a, b)]


def test_mapped_tables_use_physical_names_field_ids_and_random_folders(tmp_path: Path) -> None:
    def mapped(field: StructField, number: int, data_type: Any = None) -> StructField:
        metadata = {ID_KEY: number, PHYSICAL_NAME_KEY: f"col-{number}"}
        return StructField(field.name, data_type or field.type, field.nullable, metadata)

    fields = {field.name: field for field in from_arrow(ROWS.schema).fields}
    inner = fields["st"].type
    assert isinstance(inner, StructType)
    struct = StructType(tuple(mapped(field, 10 + i) for i, field in enumerate(inner.fields)))
    schema = StructType(
        (mapped(fields["id"], 1), mapped(fields["p"], 2), mapped(fields["st"], 3, struct), mapped(fields["d"], 4))
    )
    layout = _layout(tmp_path, schema, ("p",), mapping_mode="name", random_prefix=2)
    files = write_data_files(ROWS.to_batches(), layout).files
    assert all(len(file.path.split("/")[0]) == 2 and list(file.partition_values) == ["col-2"] for file in files)
    written = pq.read_schema(tmp_path / files[0].path)
    assert written.names == ["col-1", "col-3", "col-4"]
    ids = [field.metadata[b"PARQUET:field_id"] for field in written]
    assert ids == [b"1", b"3", b"4"]
    inside = written.field("col-3").type
    assert [(inside.field(i).name, inside.field(i).metadata[b"PARQUET:field_id"]) for i in range(2)] == [
        ("col-10", b"10"),
        ("col-11", b"11"),
    ]
    ids_read = sorted(row["col-1"] for file in files for row in _read(tmp_path, file))
    assert ids_read == list(range(10))


def test_void_columns_are_not_in_files(tmp_path: Path) -> None:
    schema = StructType(
        (
            *from_arrow(pa.schema([("id", pa.int64())])).fields,
            StructField("nothing", VOID),
            StructField("st", StructType((StructField("v", VOID), *from_arrow(pa.schema([("x", pa.int32())])).fields))),
        )
    )
    struct = pa.struct([("v", pa.null()), ("x", pa.int32())])
    rows = pa.table({"id": [1, 2, 3], "nothing": pa.nulls(3), "st": pa.array([{"x": 1}, None, {"x": None}], struct)})
    [file] = write_data_files(rows.slice(1).to_batches(), _layout(tmp_path, schema)).files
    assert _read(tmp_path, file) == [{"id": 2, "st": None}, {"id": 3, "st": {"x": None}}]


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", "none"])
def test_codecs_are_in_the_names_and_in_the_files(tmp_path: Path, codec: str) -> None:
    [file] = write_data_files(ROWS.to_batches(), _layout(tmp_path, from_arrow(ROWS.schema), codec=codec)).files
    column = pq.ParquetFile(tmp_path / file.path).metadata.row_group(0).column(0)
    assert column.compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert file.path.endswith(
        {"gzip": ".c000.gz.parquet", "none": ".c000.parquet"}.get(codec, f".c000.{codec}.parquet")
    )


def test_files_end_at_the_target_size_and_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.settings.options.row_group_bytes", 2000)
    monkeypatch.setattr("deltaskip.settings.options.write_waiting_bytes", 5000)
    rows = pa.table({"p": [i % 5 for i in range(5000)], "v": range(5000)})
    layout = _layout(tmp_path, from_arrow(rows.schema), ("p",), target_bytes=1000, codec="snappy")
    files = write_data_files(rows.to_batches(max_chunksize=100), layout).files
    assert len(files) > 10
    assert len({file.path for file in files}) == len(files)
    assert max(file.size for file in files) < 5_000
    values = sorted(row["v"] for file in files for row in _read(tmp_path, file))
    assert values == list(range(5000))


@pytest.mark.parametrize("batch_rows", [100, 10_000])
@pytest.mark.parametrize("target_bytes", [4000, 10**9])
def test_large_data_is_encoded_side_by_side_in_files_of_consecutive_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_rows: int, target_bytes: int
) -> None:
    monkeypatch.setattr("deltaskip.settings.options.row_group_bytes", 20_000)
    monkeypatch.setattr("deltaskip.settings.options.write_waiting_bytes", 80_000)
    monkeypatch.setattr("deltaskip.settings.options.parallel_file_bytes", 5000)
    monkeypatch.setattr(parquet_writer, "processors", lambda: 3)
    rows = pa.table({"v": range(10_000)})
    layout = _layout(tmp_path, from_arrow(rows.schema), target_bytes=target_bytes, codec="snappy")
    files = write_data_files(rows.to_batches(max_chunksize=batch_rows), layout, divided=True).files
    assert len(files) == 3 + (1 if target_bytes == 10**9 else 3), "the last rows are divided among the processors"
    parts = sorted([row["v"] for row in _read(tmp_path, file)] for file in files)
    assert [value for part in parts for value in part] == list(range(10_000))
    assert min(map(len, parts)) > 800


@pytest.mark.parametrize("divided", [False, True])
def test_large_data_of_a_partition_is_as_many_files_as_processors_if_it_may_be_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, divided: bool
) -> None:
    monkeypatch.setattr("deltaskip.settings.options.parallel_file_bytes", 8000)
    monkeypatch.setattr(parquet_writer, "processors", lambda: 2)

    def files_of(rows: int, partitions: int) -> int:
        data = pa.table({"p": [i % partitions for i in range(rows)], "v": range(rows)})
        layout = _layout(tmp_path, from_arrow(data.schema), ("p",))
        return len(write_data_files(data.to_batches(), layout, divided=divided).files)

    assert (files_of(1000, 1), files_of(10_000, 3)) == (1, 3)
    assert files_of(10_000, 1) == (2 if divided else 1)


def test_more_partitions_than_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.settings.options.row_group_bytes", 100)
    monkeypatch.setattr(parquet_writer, "_OPEN_FILES", 3)
    rows = pa.table({"p": [i % 10 for i in range(1000)], "v": range(1000)})
    layout = _layout(tmp_path, from_arrow(rows.schema), ("p",))
    files = write_data_files(rows.to_batches(max_chunksize=50), layout).files
    values = sorted(row["v"] for file in files for row in _read(tmp_path, file))
    assert values == list(range(1000))


def test_no_rows_are_no_files(tmp_path: Path) -> None:
    assert write_data_files(ROWS.slice(0, 0).to_batches(), _layout(tmp_path, from_arrow(ROWS.schema))).files == ()
    assert _files(tmp_path) == []


@pytest.mark.parametrize("partition_columns", [(), ("p",)])
def test_a_failure_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partition_columns: tuple[str, ...]
) -> None:
    monkeypatch.setattr("deltaskip.settings.options.row_group_bytes", 1)

    def batches() -> Any:
        yield from ROWS.to_batches(max_chunksize=2)
        raise StorageError("the source has gone")

    with pytest.raises(StorageError, match="gone"):
        write_data_files(batches(), _layout(tmp_path, from_arrow(ROWS.schema), partition_columns, target_bytes=1))
    assert _files(tmp_path) == []


def test_a_disk_that_fills_up_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = pq.ParquetWriter.write_table, itertools.count()

    def write_table(self: Any, *arguments: Any, **more: Any) -> None:
        if next(written) == 2:
            raise OSError(28, "No space left on device")
        write(self, *arguments, **more)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", write_table)
    with pytest.raises(StorageError, match=r"Cannot write the data file .*parquet: No space left on device\."):
        write_data_files(ROWS.to_batches(), _layout(tmp_path, from_arrow(ROWS.schema), ("p",)))
    assert _files(tmp_path) == []


def test_bounds_of_floats_are_those_of_all_values(tmp_path: Path) -> None:
    values = [[1.5, -0.0], [0.0, -0.0], [float("nan"), 1.0], [float("inf"), None], [None, None], [float("nan")] * 2]
    rows = [{"p": p, "x": x, "st": {"y": x}} for p, pair in enumerate(values) for x in pair]  # type: ignore[attr-defined]
    schema = pa.schema([("p", pa.int32()), ("x", pa.float64()), ("st", pa.struct([("y", pa.float32())]))])
    table = DeltaTable.create(tmp_path / "t", schema, partition_by=["p"])
    table.append(pa.Table.from_pylist(rows, schema))
    request = statistics_request(indexed_columns(table.schema, partition_columns=["p"], properties={}), mode="scan")
    reader = FileReader(request)
    for file in table.snapshot.adds(["path", "stats"]).to_pylist():
        facts = reader.facts(LocalStorage(), str(tmp_path / "t" / decode_path(file["path"])))
        assert json.loads(file["stats"]) == json.loads(stats_json(facts, request)), file["path"]

"""Small files read together, against the rows that pyarrow reads and those of other paths."""

from __future__ import annotations

import itertools
import os
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.errors import DataFileMissing, StorageError, UnsupportedFeature
from deltaskip.reading.arrow_rows import RowReader
from deltaskip.reading.small_files import SmallFiles
from tests.each import each, refuses
from tests.extent import extent
from tests.reading.test_column_chunks import LEFT, OPTIONS, VALUES, columns, decoded


@settings(max_examples=extent(30, 200), deadline=None)
@given(st.lists(st.integers(0, 80), min_size=1, max_size=4), OPTIONS, st.data())
def test_the_rows_that_pyarrow_reads(counts: list[int], options: dict[str, Any], data: st.DataObject) -> None:
    rows = sum(counts)
    drawn = data.draw(st.lists(columns({**VALUES, **LEFT}, rows), min_size=1, max_size=4))
    schema = pa.schema([field.with_name(f"c{i}") for i, (field, _) in enumerate(drawn)])
    every = pa.Table.from_arrays([array for _, array in drawn], schema=schema)
    with TemporaryDirectory() as folder:
        paths = [os.path.join(folder, str(number)) for number in range(len(counts))]
        starts = np.cumsum([0, *counts]).tolist()
        for path, start, count in zip(paths, starts, counts, strict=False):
            pq.write_table(every.slice(start, count), path, **{**options, "row_group_size": 100})
        expected = pa.concat_tables([pq.read_table(path, coerce_int96_timestamp_unit="us") for path in paths])
        found = 0
        for count, opened in SmallFiles.runs(paths):
            if opened is None:
                # pyarrow writes no row group.
                assert counts[found : found + count] == [0] * count
            else:
                first, last = starts[found], starts[found + count]
                assert opened.starts.tolist() == [start - first for start in starts[found : found + count + 1]]
                assert opened.schema.equals(expected.schema)
                check(opened, expected.slice(first, last - first), data, options["compression"] == "lz4")
            found += count
        assert found == len(counts)


def check(opened: SmallFiles, expected: pa.Table, data: st.DataObject, refused: bool) -> None:
    """Columns of files, all rows or some, are those that pyarrow reads."""
    rows = len(expected)
    chosen = data.draw(st.none() | st.sets(st.integers(0, rows - 1)) if rows else st.none())
    wanted = None if chosen is None else np.array(sorted(chosen), np.int64)
    for field in expected.schema:
        found = opened.columns([field.name], wanted)
        if found is None:
            assert field.type not in VALUES or refused
            continue
        assert field.type in VALUES
        found[field.name].validate(full=True)
        column = expected[field.name] if wanted is None else expected[field.name].take(pa.array(wanted))
        assert found[field.name].equals(decoded(column)), field


def table_of(path: Path, files: list[pa.Table], **properties: str) -> ds.DeltaTable:
    """A table of small files of one schema, which pyarrow has written."""
    table = ds.DeltaTable.create(path, files[0].schema, properties=properties)
    for number, rows in enumerate(files):
        pq.write_table(rows, path / f"{number}.parquet")
    table.add_files([f"{number}.parquet" for number in range(len(files))])
    return ds.DeltaTable(path)


def ten_rows(first: int) -> pa.Table:
    ids = range(first, first + 10)
    columns = {"id": pa.array(ids, pa.int64()), "i": pa.array([number % 7 for number in ids], pa.int32())}
    return pa.table({**columns, "s": [None if number % 3 == 0 else f"s{number}" for number in ids]})


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of files that were read together."""
    found: list[int] = []
    read = RowReader._read_together

    def counted(self: RowReader, files: pa.Table, opened: SmallFiles) -> pa.RecordBatch | None:
        batch = read(self, files, opened)
        found.append(0 if batch is None else len(files))
        return batch

    monkeypatch.setattr(RowReader, "_read_together", counted)
    return found


WHERE = [None, "i = 3", "i = 3 AND s > 's2'", "s IS NULL", "id < 0", "i < 6", "pmod(hash(id), 3) = 1 AND i > 2"]


def test_rows_with_deletion_vectors(tmp_path: Path, together: list[int]) -> None:
    files = [ten_rows(first) for first in range(0, 400, 10)]
    table = table_of(tmp_path, files, **{"delta.enableDeletionVectors": "true"})
    table.delete("id % 10 = 4 AND id < 300")

    def check(case: tuple[str | None, list[str] | None]) -> None:
        where, chosen = case
        together.clear()
        found = table.scan(where, columns=chosen).to_arrow()
        assert sum(together) > 0 or not len(found)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SmallFiles, "runs", lambda locations: [(len(locations), None)])
            assert found.equals(table.scan(where, columns=chosen).to_arrow())

    each(itertools.product(WHERE, [None, ["s"], ["id", "s"]]), check)


def test_partition_values_of_several_files(tmp_path: Path, together: list[int]) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table = ds.DeltaTable.create(tmp_path, schema, ["p"])
    for value in ("a", "b", None, "c"):
        for _ in range(3):
            table.append(pa.table({"id": pa.array(range(4), pa.int64()), "p": pa.array([value] * 4, pa.string())}))
    found = table.scan().to_arrow()
    assert sum(together) > 0
    values = sorted(found.to_pylist(), key=lambda row: (row["id"], row["p"] or ""))
    assert values == [{"id": i, "p": p} for i in range(4) for p in (None, *"abc") for _ in range(3)]
    assert table.scan("p = 'b' AND id = 2").to_arrow().to_pylist() == [{"id": 2, "p": "b"}] * 3
    assert table.scan(columns=["p"]).to_arrow()["p"].to_pylist().count("c") == 12


def test_files_of_one_schema_that_follow_each_other_are_read_together(tmp_path: Path, together: list[int]) -> None:
    lacking = ten_rows(20).select(["i", "id"])
    table = table_of(tmp_path, [ten_rows(0), ten_rows(10), lacking, ten_rows(30), ten_rows(40), ten_rows(50)])
    pq.write_table(ten_rows(40), tmp_path / "4.parquet", row_group_size=3)
    without = ten_rows(20).set_column(2, "s", pa.nulls(10, pa.string()))
    found = table.scan().to_arrow().sort_by("id")
    expected = [ten_rows(0), ten_rows(10), without, *(ten_rows(first) for first in (30, 40, 50))]
    assert found.equals(pa.concat_tables(expected))
    # All but the one with several row groups.
    assert sum(together) == 5


def test_files_are_read_together_as_far_as_their_rows_are_few(
    tmp_path: Path, together: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltaskip.reading.small_files._MOST_ROWS", 35)
    files = [ten_rows(first) for first in range(0, 100, 10)]
    files[4] = pa.concat_tables([ten_rows(first) for first in range(40, 80, 10)])
    found = table_of(tmp_path, files[:5] + files[8:]).scan().to_arrow()
    assert found.sort_by("id").equals(pa.concat_tables(files[:5] + files[8:]).combine_chunks())
    # All but the file of forty rows.
    assert (sum(together), max(together)) == (6, 3)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    table = table_of(tmp_path, [ten_rows(first) for first in range(0, 100, 10)])
    (tmp_path / "7.parquet").unlink()
    refuses(DataFileMissing, r"7\.parquet", lambda: table.scan().to_arrow())


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    table = table_of(tmp_path, [ten_rows(first) for first in range(0, 100, 10)])
    path = tmp_path / "7.parquet"
    data = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(0).column(2).dictionary_page_offset
    data[start + 2 : start + 30] = b"\xff" * 28
    path.write_bytes(data)
    refuses(StorageError, r"7\.parquet", lambda: table.scan().to_arrow())


def test_a_schema_that_is_no_list_is_left_to_pyarrow(tmp_path: Path) -> None:
    table = table_of(tmp_path, [ten_rows(first) for first in range(0, 100, 10)])
    path = tmp_path / "7.parquet"
    data = bytearray(path.read_bytes())
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    # The field after the version is a list, whose items a set would have in the same bytes.
    assert data[footer + 2] == 0x19
    data[footer + 2] = 0x1A
    path.write_bytes(data)
    refuses(OSError, None, pq.read_metadata, path)
    refuses(StorageError, r"7\.parquet", lambda: table.scan().to_arrow())


def test_what_is_opened_is_closed(tmp_path: Path, together: list[int]) -> None:
    table = table_of(tmp_path, [ten_rows(first) for first in range(0, 400, 10)])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        assert len(table.scan("i = 1").to_arrow()) == 57
    assert sum(together) > 100
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_a_process_with_another_release_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path, [ten_rows(0)])
    reader = RowReader.of(table.scan(), 1)
    packed = pickle.dumps(reader)
    assert pickle.loads(packed).schema == reader.schema
    monkeypatch.setattr("deltaskip.reading.stored_rows.engine_info", lambda: "deltaskip/0.1")
    with pytest.raises(UnsupportedFeature, match=r"was planned by deltaskip/.*, and this process has deltaskip/0\.1"):
        pickle.loads(packed)

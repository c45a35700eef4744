"""Rows of scans read without Spark: limits, columns, collations, damaged and missing files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import CorruptDeletionVector, DataFileMissing, PredicateError, StorageError, UnsupportedFeature
from deltaskip.reading.stored_rows import StoredRows
from tests.each import refuses


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Ten files of 1,000 rows in two partitions, some of them deleted."""
    table = ds.DeltaTable.create(
        tmp_path / "t", "id BIGINT, p STRING, s STRING COLLATE UNICODE_CI, st STRUCT<a: INT>", ["p"],
        properties={"delta.enableDeletionVectors": "true"},
    )  # fmt: skip
    for first in range(0, 10_000, 1_000):
        ids = range(first, first + 1_000)
        columns = {
            "id": pa.array(ids, pa.int64()),
            "p": pa.array(["ab"[i // 1_000 % 2] for i in ids]),
            "s": pa.array([("Ä", "ä", "b", None)[i % 4] for i in ids]),
            "st": pa.array([{"a": i} if i % 5 else None for i in ids], pa.struct([("a", pa.int32())])),
        }
        table.append(pa.table(columns))
    table.delete("id % 10 = 0")
    return table


def test_batches_hold_the_rows_in_the_order_of_the_log(table: ds.DeltaTable) -> None:
    reader = table.scan("id >= 4500").to_batches()
    assert reader.schema.names == ["id", "p", "s", "st"]
    batches = list(reader)
    assert len(batches) == 6
    found = [i for batch in batches for i in batch.column("id").to_pylist()]
    assert sorted(found) == [i for i in range(4500, 10_000) if i % 10]
    assert found == [i for batch in table.scan("id >= 4500").to_batches() for i in batch.column("id").to_pylist()]


def test_columns_and_limits(table: ds.DeltaTable) -> None:
    scan = table.scan("p = 'b' AND st.a IS NULL", columns=["st", "id"], limit=7)
    found = scan.to_arrow()
    assert found.schema == pa.schema([("st", pa.struct([("a", pa.int32())])), ("id", pa.int64())])
    assert found.num_rows == 7
    assert all(row == {"st": None, "id": row["id"]} and row["id"] % 10 == 5 for row in found.to_pylist())
    assert table.scan(limit=0).to_arrow().num_rows == 0
    assert table.scan(columns=["p"]).to_arrow().num_rows == 9_000
    assert table.scan("false").to_arrow().schema == table.scan().to_arrow().schema


def test_strings_are_compared_under_their_collation(table: ds.DeltaTable) -> None:
    assert table.scan("s = 'Ä'").to_arrow().num_rows == 4_500
    assert table.scan("s COLLATE UTF8_BINARY = 'Ä'").to_arrow().num_rows == 2_000
    assert table.scan("s < 'B' AND NOT (s IN ('x', 'ä') AND id < 5000)").to_arrow().num_rows == 2_250
    assert table.scan("s > 'Ä'").to_arrow().num_rows == 2_000


def test_consumers_of_arrow_streams_take_a_scan(table: ds.DeltaTable) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (test)")
    scan = table.scan("id < 100")
    assert duckdb.sql("SELECT count(*), min(id), max(s) FROM scan").fetchall() == [(90, 1, "ä")]
    assert pa.table(scan).num_rows == 90
    assert list(scan.to_pandas()["id"]) == [i for i in range(100) if i % 10]


def test_what_fails_for_a_row_is_an_error(table: ds.DeltaTable) -> None:
    refuses(PredicateError, "fails for a row", lambda: table.scan("1 / (id - 5) > 0").to_arrow())
    with pytest.raises(UnsupportedFeature, match="to_spark"), pytest.warns(ds.PredicateWarning):
        table.scan("my_function(id) > 0").to_arrow()


def test_a_missing_file_is_named(table: ds.DeltaTable) -> None:
    path = table.scan("id < 100").paths()[0]
    Path(path).unlink()
    refuses(DataFileMissing, Path(path).name, lambda: table.scan("id < 100").to_arrow())
    assert table.scan("id >= 2000").to_arrow().num_rows == 7_200


@pytest.mark.parametrize(("year", "read"), [(1500, False), (1600, True)])
def test_dates_of_the_julian_calendar_are_refused(tmp_path: Path, year: int, read: bool) -> None:
    days = pa.array([-(1970 - year) * 365, None], pa.int32()).cast(pa.date32())
    rows = pa.table({"st": pa.array([{"d": day} for day in days], pa.struct([("d", pa.date32())]))})
    table = ds.DeltaTable.create(tmp_path / "t", "st STRUCT<d: DATE>")
    metadata = {b"org.apache.spark.legacyDateTime": b"", b"org.apache.spark.version": b"3.5.0"}
    pq.write_table(rows.replace_schema_metadata(metadata), tmp_path / "t" / "old.parquet")
    table.add_files("old.parquet")
    if read:
        assert table.scan().to_arrow()["st"].combine_chunks().field("d").to_pylist() == days.to_pylist()
    else:
        refuses(UnsupportedFeature, "Julian", lambda: table.scan().to_arrow())


@pytest.mark.parametrize(("version", "read"), [("3.0.1", False), ("3.1.0", True)])
def test_old_int96_is_of_the_julian_calendar_before_spark_3_1(tmp_path: Path, version: str, read: bool) -> None:
    times = pa.array([datetime(1500, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    rows = pa.table({"t": times}).replace_schema_metadata({b"org.apache.spark.version": version.encode()})
    table = ds.DeltaTable.create(tmp_path / "t", "t TIMESTAMP")
    pq.write_table(rows, tmp_path / "t" / "old.parquet", use_deprecated_int96_timestamps=True)
    table.add_files("old.parquet")
    if read:
        assert table.scan().to_arrow()["t"].to_pylist() == times.to_pylist()
    else:
        refuses(UnsupportedFeature, "Julian", lambda: table.scan().to_arrow())


def test_large_files_are_read_by_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.settings.options.read_piece_bytes", 5_000)
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
    rows = pa.table({"id": pa.array(range(10_000), pa.int64())})
    options = {"row_group_size": 1_000, "compression": "none", "use_dictionary": False}
    pq.write_table(rows, tmp_path / "t" / "large.parquet", **options)
    table.add_files("large.parquet")
    table.delete("id % 3 = 0")
    found = table.scan("id > 100").to_arrow()["id"].to_pylist()
    assert found == [i for i in range(101, 10_000) if i % 3]
    assert len(list(table.scan(columns=["id"]).to_batches())) == 10


def test_a_damaged_file_among_small_ones_is_named(table: ds.DeltaTable) -> None:
    root = Path(table.snapshot.root.removeprefix("file://"))
    files = sorted(path.name for path in root.glob("**/*.parquet"))
    [damaged] = [path for path in root.glob("**/*.parquet") if path.name == files[4]]
    data = bytearray(damaged.read_bytes())
    data[4:-2000] = b"\xff" * len(data[4:-2000])
    damaged.write_bytes(data)
    for where in (None, "id % 10 = 3", "id >= 0 AND st.a IS NULL"):
        with pytest.raises(StorageError, match=files[4]):
            table.scan(where).to_arrow()


@pytest.mark.parametrize("piece_bytes", [1, 1 << 30])
def test_a_limit_reads_no_other_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int) -> None:
    monkeypatch.setattr("deltaskip.settings.options.read_piece_bytes", piece_bytes)
    table = ds.DeltaTable.create(
        tmp_path, "id BIGINT, s STRING, l ARRAY<INT>", properties={"delta.enableDeletionVectors": "true"}
    )
    for first in (0, 1000):
        rows = [{"id": id, "s": f"{id % 7}", "l": [id] * (id % 3)} for id in range(first, first + 1000)]
        table.append(pa.Table.from_pylist(rows, table.schema.to_arrow()))
    for path in tmp_path.glob("*.parquet"):
        pq.write_table(pq.read_table(path), path, row_group_size=400, write_page_index=True, data_page_size=64)
    read = list[int]()
    some = StoredRows._some

    def counted(self: StoredRows, *given: Any) -> Any:
        read.append(len(given[-1]))
        return some(self, *given)

    monkeypatch.setattr(StoredRows, "_some", counted)
    for deleted in ("id < 3", "id % 2 = 1", "id < 900"):
        table.delete(deleted)
        for columns in (None, ["id"], ["l", "s"]):
            every = table.scan(columns=columns).to_arrow()
            read.clear()
            for limit in (1, 7, 250, 600, 1100, 5000):
                assert table.scan(columns=columns, limit=limit).to_arrow().equals(every.slice(0, limit)), limit
            assert deleted != "id < 3" or 0 < min(read) < 20


def test_a_limit_beyond_all_rows_is_none(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    table.append(pa.table({"id": [1, 2]}))
    for limit in (2**31, 2**63 - 1, 2**63, 10**30):
        scan = table.scan("id > 0", limit=limit)
        assert (scan.to_arrow().num_rows, scan.files().num_rows, scan.count()) == (2, 1, 2)
        assert ds.read_pandas(table, limit=limit).shape == (2, 1)
        assert (table.scan().head(limit).shape, len(list(scan.to_batches()))) == ((2, 1), 1)


def test_a_file_that_is_shorter_than_its_deletion_vector_is_neither_read_nor_changed(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "k INT, v STRING", properties={"delta.enableDeletionVectors": "true"})
    table.append([{"k": i, "v": "a"} for i in range(100)])
    table.delete("k % 2 = 0")
    [file] = (tmp_path / "t").glob("*.parquet")
    pq.write_table(pa.table({"k": pa.array(range(10), pa.int32()), "v": ["a"] * 10}), file)
    version = table.version
    doors: list[Callable[[], object]] = [
        lambda: table.scan().to_arrow(),
        lambda: table.scan("k = 3").to_arrow(),
        lambda: list(table.scan().to_batches()),
        lambda: table.delete("k = 3"),
        lambda: table.update({"v": "'z'"}, "k = 1"),
        lambda: table.overwrite([{"k": 3, "v": "n"}], where="k = 3"),
        lambda: table.merge([{"k": 5, "v": "m"}], "k").when_matched_update_all().execute(),
        lambda: table.optimize(),
    ]
    for door in doors:
        refuses(CorruptDeletionVector, "of a file that has 10", door)
    assert table.refresh().version == version

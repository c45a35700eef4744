"""Requests and bytes of reads from an object store that counts them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import deltaskip as ds
from tests.storage.counted import server, stored_at
from tests.storage.slow_s3 import SlowS3

pytest.importorskip("obstore")

__all__ = ["server"]

FILES, ROWS = 3, 100_000


@pytest.fixture(scope="module")
def stored(server: SlowS3) -> ds.DeltaTable:
    """A table of files of some megabytes."""
    chance = np.random.default_rng(1)
    table = ds.DeltaTable.create(server.folder / "bucket" / "t", "id BIGINT, rare INT, a DOUBLE, b DOUBLE, v STRING")
    for number in range(FILES):
        columns = {
            "id": np.arange(ROWS * number, ROWS * (number + 1)),
            "rare": pa.array(chance.integers(0, 10_000, ROWS), pa.int32()),
            "a": chance.random(ROWS),
            "b": chance.random(ROWS),
            "v": pa.array(chance.integers(0, 10**6, ROWS)).cast(pa.string()),
        }
        table.append(pa.table(columns))
    return table


def files_read(server: SlowS3, where: str) -> tuple[pa.Table, list[str], int]:
    """The rows of a predicate, the requests for data files, and all bytes."""
    table = stored_at(server, "t")
    server.begin()
    rows = table.scan(where).to_arrow()
    return rows, [each for each in server.log if "/part-" in each], server.bytes


def test_of_neighbouring_rows_only_their_pages_are_read(server: SlowS3, stored: ds.DeltaTable) -> None:
    where = "id BETWEEN 50000 AND 50999"
    rows, requests, size = files_read(server, where)
    assert rows.sort_by("id") == stored.scan(where).to_arrow().sort_by("id")
    assert len(rows) == 1_000
    # The end of the file with footer and indexes, pages of the predicate, and of four other columns.
    assert len(requests) <= 6
    assert size < 200_000


def test_of_scattered_rows_the_predicate_and_then_pages_are_read(server: SlowS3, stored: ds.DeltaTable) -> None:
    rows, requests, size = files_read(server, "rare = 7")
    assert rows.sort_by("id") == stored.scan("rare = 7").to_arrow().sort_by("id")
    assert 0 < len(rows) < 100
    whole = sum(path.stat().st_size for path in (server.folder / "bucket" / "t").glob("*.parquet"))
    assert size < whole / 2
    # Two for the end and the column of the predicate; each row is in one page of each other column.
    assert len(requests) <= 2 * FILES + 4 * len(rows)


def test_what_matches_nothing_costs_the_end_of_each_file(server: SlowS3, stored: ds.DeltaTable) -> None:
    rows, requests, _ = files_read(server, "id BETWEEN 50000 AND 50999 AND a > 2")
    assert len(rows) == 0
    assert requests == []
    rows, requests, _ = files_read(server, "id * 1 = 50000 AND id < 60000")
    assert len(rows) == 1
    assert len(requests) <= 6


def test_many_rows_are_read_by_column_chunks(server: SlowS3, stored: ds.DeltaTable) -> None:
    rows, requests, _ = files_read(server, "id >= 10")
    assert len(rows) == FILES * ROWS - 10
    assert len(requests) <= 4 * FILES


def narrow(table: ds.DeltaTable, library: str) -> list[tuple[object, ...]]:
    """Two columns of neighbouring rows, by a query of another library."""
    if library == "polars":
        pl = pytest.importorskip("polars")
        frame = table.scan().to_polars(lazy=True)
        return list(frame.filter(pl.col("id").is_between(50_000, 50_999)).select("id", "a").collect().rows())
    connection = pytest.importorskip("duckdb").connect()
    table.scan().to_duckdb(connection, "t")
    return list(connection.sql("SELECT id, a FROM t WHERE id >= 50000 AND id <= 50999").fetchall())


def column(table: ds.DeltaTable, library: str) -> object:
    """The sum of one column, by a query of another library."""
    if library == "polars":
        pl = pytest.importorskip("polars")
        return table.scan().to_polars(lazy=True).select(pl.col("rare").sum()).collect().item()
    connection = pytest.importorskip("duckdb").connect()
    table.scan().to_duckdb(connection, "t")
    return int(connection.sql("SELECT sum(rare) FROM t").fetchall()[0][0])


def some_rows(table: ds.DeltaTable, library: str) -> int:
    """Five rows of one column, by a query of another library."""
    if library == "polars":
        pytest.importorskip("polars")
        return table.scan().to_polars(lazy=True).select("id").head(5).collect().height
    connection = pytest.importorskip("duckdb").connect()
    table.scan(limit=5).to_duckdb(connection, "t")
    return len(connection.sql("SELECT id FROM t LIMIT 5").fetchall())


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_queries_of_other_libraries_read_what_they_need(server: SlowS3, stored: ds.DeltaTable, library: str) -> None:
    files = {path.name: path.stat().st_size for path in (server.folder / "bucket" / "t").glob("*.parquet")}
    whole = sum(files.values())
    remote = stored_at(server, "t")
    expected = stored.scan("id BETWEEN 50000 AND 50999", columns=["id", "a"]).to_arrow()
    narrow(remote, library)  # the log is read once

    server.begin()
    rows = narrow(remote, library)
    assert sorted(rows) == sorted(zip(*expected.to_pydict().values(), strict=True))
    # One file, of which the end and the pages of two columns are read.
    assert (
        len({each.partition("/part-")[2].partition("?")[0].split()[0] for each in server.log if "/part-" in each}) == 1
    )
    assert server.bytes < whole / 20

    server.begin()
    assert column(remote, library) == sum(stored.scan(columns=["rare"]).to_arrow()["rare"].to_pylist())
    # One of five columns, and the least of them.
    assert server.bytes < whole / 5

    server.begin()
    assert some_rows(remote, library) == 5
    assert server.bytes < whole / 5

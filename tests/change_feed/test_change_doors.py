"""The doors of changes: Polars, DuckDB and batches give the rows of to_arrow, and read only what a query needs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import DataFileMissing
from deltaskip.reading.stored_rows import StoredRows
from tests.change_feed.test_change_rows import FEED, VECTORS
from tests.change_feed.test_changes_by_row_id import made, play
from tests.dml.tables import rows

CHOSEN: list[dict[str, Any]] = [{}, {"net": True, "source": "rows"}, {"source": "rows"}, {"snapshot_first": True}]


def keys(found: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((row["id"], row["x"], row["_change_type"], row["_commit_version"]) for row in found)


def played(folder: Path) -> DeltaTable:
    table = made(folder, FEED, VECTORS)
    play(table, 3)
    table.update({"x": "x + 1"}, "id % 2 = 1")
    return table.refresh()


@pytest.mark.parametrize("where", [None, "x % 3 = 1"])
@pytest.mark.parametrize("chosen", CHOSEN, ids=str)
def test_filters_of_polars_and_duckdb_choose_the_rows_that_they_choose_of_all(
    tmp_path: Path, chosen: dict[str, Any], where: str | None
) -> None:
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    table = played(tmp_path / "t")
    scan = table.changes(1, where=where, **chosen)
    every = scan.to_arrow().to_pylist()
    assert keys([row for batch in scan.to_batches() for row in batch.to_pylist()]) == keys(every)
    assert keys(scan.to_pandas(types="arrow").to_dict("records")) == keys(every)
    wanted = keys([row for row in every if row["x"] is not None and row["x"] > 7])
    names = ["id", "x", "_change_type", "_commit_version"]
    lazy = scan.to_polars(lazy=True)
    assert keys(lazy.filter(polars.col("x") > 7).select(names).collect().to_dicts()) == wanted
    assert lazy.select(polars.len()).collect().item() == len(every)
    assert lazy.head(3).collect().height == min(3, len(every))
    connection = duckdb.connect()
    scan.to_duckdb(connection, "changes")
    answer = connection.sql(f"SELECT {', '.join(names)} FROM changes WHERE x > 7").to_arrow_table()
    assert keys(answer.to_pylist()) == wanted
    assert connection.sql("SELECT count(*) FROM changes").fetchone() == (len(every),)
    by_type = connection.sql("SELECT _change_type, count(*) FROM changes GROUP BY 1").fetchall()
    assert dict(by_type) == Counter(row["_change_type"] for row in every)


def test_a_query_reads_the_files_that_its_filter_leaves(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    table = made(tmp_path / "t")
    for first in range(0, 50, 10):
        table.append(rows(range(first, first + 10)))
    table.refresh()
    lazy = table.changes(1).to_polars(lazy=True)
    # A file that is not needed may be gone.
    names = table.changes(1).files()["path"].to_pylist()
    for name in names[:4]:
        (tmp_path / "t" / name).unlink()
    assert sorted(lazy.filter(polars.col("id") >= 40).collect()["id"].to_list()) == list(range(40, 50))
    scan = table.changes(1, where="id >= 40", source="rows", snapshot_first=True)
    assert scan.to_arrow().num_rows == 10


@pytest.mark.parametrize("door", ["where", "polars", "duckdb"])
@pytest.mark.parametrize("chosen", [{"source": "feed"}, {"source": "rows"}, {"net": True}], ids=str)
@pytest.mark.parametrize("properties", [{}, VECTORS], ids=str)
def test_changes_of_one_key_read_values_only_of_files_that_may_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], chosen: dict[str, Any], door: str
) -> None:
    table = made(tmp_path / "t", FEED, properties)
    for start in range(0, 80, 10):
        table.append(rows(range(start, start + 10)))
    first = table.refresh().version + 1
    for key in (35, 55, 31, 75):
        table.update({"x": "x + 1"}, f"id = {key}")
    table.delete("id = 15")
    table.append(rows(range(80, 90)))
    of_values, of_ids = set[str](), set[str]()
    open_one, open_small = StoredRows.open, StoredRows.small_files

    def note(reader: StoredRows, files: pa.Table) -> None:
        (of_values if reader._fields else of_ids).update(files["uri"].to_pylist())

    def one(self: StoredRows, file: pa.Table, *given: Any) -> Any:
        note(self, file)
        return open_one(self, file, *given)

    def small(self: StoredRows, files: pa.Table) -> Any:
        for part, opened in open_small(self, files):
            if opened is not None:
                note(self, part)
            yield part, opened

    monkeypatch.setattr(StoredRows, "open", one)
    monkeypatch.setattr(StoredRows, "small_files", small)
    scan = table.refresh().changes(first, where="id = 35" if door == "where" else None, **chosen)
    if door == "where":
        found = scan.to_arrow().num_rows
    elif door == "polars":
        polars = pytest.importorskip("polars")
        found = scan.to_polars(lazy=True).filter(polars.col("id") == 35).collect().height
    else:
        connection = pytest.importorskip("duckdb").connect()
        scan.to_duckdb(connection, "changes")
        found = len(connection.sql("SELECT id FROM changes WHERE id = 35").fetchall())
    assert found == 2
    if chosen == {"source": "feed"}:
        # The files that the DELETE and the append add or remove are skipped; the log has no statistics of change files.
        deletes = not properties
        assert len(of_values) == 4 + deletes and not of_ids
        assert all("/_change_data/" in uri for uri in of_values)
        return
    # With deletion vectors, an UPDATE adds a file, and two versions have changed rows of the same file.
    assert len(of_values) <= (3 if properties else 4)
    added = {uri for uri in of_ids if uri not in of_values}
    assert len(added) <= 2 if "net" not in chosen else len(added) <= 8


def test_versions_are_compared_as_the_rows_of_the_ones_before_are_read(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(pa, "cpu_count", lambda: 2)  # a few more reads than cores are begun ahead
    monkeypatch.setattr("deltaskip.change_feed.feed_files._ROWS_TOGETHER", 1)  # of one version each
    table = made(tmp_path / "t", VECTORS)
    table.append(rows(range(10)))
    for key in range(10):
        table.update({"x": "1"}, f"id = {key}")
    last = table.refresh().version
    reader = table.changes(1, source="rows").to_batches()
    assert reader.read_next_batch().num_rows == 10
    for name in set(table.changes(last, last).files()["path"].to_pylist()):
        (tmp_path / "t" / name).unlink()
    with pytest.raises(DataFileMissing, match="does not exist"):
        list(reader)

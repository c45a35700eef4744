"""Changes of files with many row groups: those without a changed row are copied, and rows are those of a model."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.data_files import copied_row_groups
from deltaskip.dml import unchanged_row_groups
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.errors import StorageError
from deltaskip.stats import row_group_copy
from deltaskip.storage.range_file import read_ranges
from tests.dml.tables import DDL, files_below, rows, rows_of
from tests.each import refuses

COPIED: list[list[int]] = []
"""The row groups that were copied, for each file."""

FEED = {"delta.enableChangeDataFeed": "true"}
TABLES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "plain": ({}, ()),
    "partitions": ({}, ("p",)),
    "change data feed": (FEED, ()),
    "names": ({"delta.columnMapping.mode": "name"}, ()),
    "ids": ({"delta.columnMapping.mode": "id"}, ("p",)),
    "a property of new files": ({"delta.parquet.compression.codec": "zstd"}, ()),
}


@pytest.fixture(autouse=True)
def _small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.settings.options.row_group_bytes", 300)
    monkeypatch.setattr(unchanged_row_groups, "_LEAST_BYTES", 1)
    COPIED.clear()
    copy = copied_row_groups.copy_row_groups

    def noted(storage: Any, source: str, footer: Any, numbers: list[int], *more: Any) -> Any:
        COPIED.append(numbers)
        return copy(storage, source, footer, numbers, *more)

    monkeypatch.setattr(unchanged_row_groups, "copy_row_groups", noted)


def made(folder: Path, kind: str = "plain", count: int = 60) -> DeltaTable:
    properties, partition_by = TABLES[kind]
    table = DeltaTable.create(folder / "t", DDL, partition_by, properties=properties)
    table.append(rows(range(count)))
    return table


def all_rows(count: int = 60) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows(range(count)).to_pylist()
    return found


def delete(table: DeltaTable) -> list[dict[str, Any]]:
    table.delete("id BETWEEN 20 AND 23")
    return [row for row in all_rows() if not 20 <= row["id"] <= 23]


def update(table: DeltaTable) -> list[dict[str, Any]]:
    table.update({"x": "x + 1000", "st.a": "-1"}, "id IN (20, 21, 23)")
    return [
        {**row, "x": row["x"] and row["x"] + 1000, "st": {**row["st"], "a": -1}} if row["id"] in (20, 21, 23) else row
        for row in all_rows()
    ]


def merge(table: DeltaTable) -> list[dict[str, Any]]:
    source = rows([21, 22, 70])
    merging = table.merge(
        source, "target.id = source.id AND source.id > 20", source_alias="source", target_alias="target"
    )
    merging.when_matched_delete("source.id = 21").when_matched_update(
        {"x": "7"}
    ).when_not_matched_insert_all().execute()
    kept = [{**row, "x": 7} if row["id"] == 22 else row for row in all_rows() if row["id"] != 21]
    return [*kept, *rows([70]).to_pylist()]


def overwrite(table: DeltaTable) -> list[dict[str, Any]]:
    table.overwrite(rows([22]), where="id BETWEEN 20 AND 23")
    return [row for row in all_rows() if not 20 <= row["id"] <= 23 or row["id"] == 22]


@pytest.mark.parametrize("change", [delete, update, merge, overwrite])
@pytest.mark.parametrize("kind", TABLES)
def test_rows_are_those_of_the_model(
    tmp_path: Path, kind: str, change: Callable[[DeltaTable], list[dict[str, Any]]]
) -> None:
    table = made(tmp_path, kind)
    expected = change(table)
    assert COPIED, "no row group was copied"
    assert rows_of(table) == sorted(expected, key=lambda row: row["id"])
    counts = table.scan().files()["num_records"].to_pylist()
    assert sum(counts) == len(expected) and 0 not in counts
    statistics = table.scan("id >= 0").files(stats=True)["stats"].to_pylist()
    table.recompute_stats(mode="scan")
    again = table.scan("id >= 0").files(stats=True)["stats"].to_pylist()
    assert sorted(statistics) == sorted(again)
    if kind == "change data feed":
        changed = {row["id"] for row in table.changes(2, 2).to_arrow().to_pylist()}
        assert changed <= {20, 21, 22, 23, 70} and changed


def test_rows_that_were_deleted_before_stay_deleted(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.alter_sql("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    table.delete("id IN (3, 40)")
    table.alter_sql("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    assert not COPIED
    table.update({"x": "0"}, "id = 21")
    assert COPIED
    left = [{**row, "x": 0} if row["id"] == 21 else row for row in all_rows() if row["id"] not in (3, 40)]
    assert rows_of(table) == left
    assert table.scan().files()["deletion_vector"].null_count == len(table.scan().files())


def test_what_a_rewrite_would_change_is_not_copied(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, properties={"delta.columnMapping.mode": "name"})
    table.append(rows(range(60)))
    table.alter_sql("DROP COLUMN x")
    table.delete("id = 21")
    assert not COPIED
    tracked = DeltaTable.create(tmp_path / "r", DDL, properties={"delta.enableRowTracking": "true"})
    tracked.append(rows(range(60)))
    tracked.delete("id = 21")
    assert not COPIED


def test_where_jobs_copy_rows_no_row_group_passes_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)
    monkeypatch.setattr(ArrowExecution, "copies_here", lambda *_: False)
    expected = delete(table)
    assert not COPIED and rows_of(table) == expected


def test_columns_that_were_added_later_are_null_in_copied_row_groups(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.alter_sql("ADD COLUMN later STRING")
    table.update({"later": "'now'"}, "id = 21")
    assert COPIED
    found = {row["id"]: row["later"] for row in rows_of(table)}
    assert found == {i: "now" if i == 21 else None for i in range(60)}
    assert table.scan("later IS NULL").to_arrow().num_rows == 59


def test_a_shallow_clone_copies_from_the_files_of_its_source(tmp_path: Path) -> None:
    source = made(tmp_path)
    clone = source.clone(tmp_path / "clone")
    clone.delete("id = 21")
    assert COPIED
    assert rows_of(clone) == [row for row in all_rows() if row["id"] != 21]
    assert rows_of(source) == all_rows()


def test_a_write_that_fails_leaves_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, "partitions")
    before = files_below(tmp_path / "t")
    real, calls = read_ranges, []

    def failing(source: Any, ranges: Any) -> Any:
        calls.append(ranges)
        if len(calls) > 4:
            raise OSError(5, "Input/output error")
        return real(source, ranges)

    monkeypatch.setattr(row_group_copy, "read_ranges", failing)
    refuses(StorageError, "Input/output error", table.delete, "id IN (20, 21, 22, 23)")
    assert files_below(tmp_path / "t") == before
    monkeypatch.setattr(row_group_copy, "read_ranges", real)
    monkeypatch.setattr("deltaskip.dml.arrow_execution.write_data_files", lambda *_, **__: 1 / 0)
    refuses(Exception, "division by zero", table.delete, "id IN (20, 21, 22, 23)")
    assert files_below(tmp_path / "t") == before


@pytest.mark.parametrize("seed", range(12))
def test_sequences_of_changes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    kind = list(TABLES)[seed % len(TABLES)]
    table = made(tmp_path, kind, 90)
    model = {row["id"]: row for row in all_rows(90)}
    for step in range(6):
        first = chance.randrange(90)
        chosen = range(first, first + chance.choice([1, 4, 20]))
        where = f"id BETWEEN {chosen.start} AND {chosen.stop - 1}"
        match chance.choice(["delete", "update", "overwrite"]):
            case "delete":
                table.delete(where)
                model = {i: row for i, row in model.items() if i not in chosen}
            case "update":
                table.update({"x": f"{step}"}, where)
                model = {i: {**row, "x": step} if i in chosen else row for i, row in model.items()}
            case _:
                table.overwrite(rows(list(chosen)), where=where)
                model |= {row["id"]: row for row in rows(list(chosen)).to_pylist()}
        assert rows_of(table) == [model[i] for i in sorted(model)]
    assert COPIED


def test_the_files_are_as_large_as_the_log_says(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.delete("id = 21")
    for file in table.scan().files().to_pylist():
        path = tmp_path / "t" / file["uri"].rpartition("/")[2]
        assert pq.read_metadata(path).num_rows == file["num_records"]
        assert path.stat().st_size == file["size"]

"""Estimates for optimizers: distinct values of strings, and what is kept with the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.reading.estimates import Estimates, estimated

ROWS, FILES = 3000, 4


def estimates(table: ds.DeltaTable, where: str | None = None) -> Estimates:
    found = estimated(table.scan(where).compiled)
    assert found is not None
    return found


def written(path: Path, value: Callable[[int], str | None], **properties: str) -> ds.DeltaTable:
    """A table of a string in several files of the same number of rows."""
    table = ds.DeltaTable.create(path, "id BIGINT, s STRING", properties=properties)
    for number in range(FILES):
        ids = range(number * ROWS, (number + 1) * ROWS)
        table.append(pa.table({"id": ids, "s": pa.array([*map(value, ids)], pa.string())}))
    return table.refresh()


@pytest.mark.parametrize(
    ("value", "distinct"),
    [
        (lambda i: f"kind {i % 7}", 7),
        (lambda i: None if i % 3 else f"kind {i % 12 // 3}", 4),
        (lambda i: f"file {i // ROWS}", FILES),
        (lambda i: f"file {i // ROWS}, part {i % 5}", 5 * FILES),
        (lambda i: None, 0),
        # Its files have no dictionary.
        (lambda i: f"{i * 7919 % 100_003:032}", None),
    ],
    ids=["few", "few and NULL", "one in each file", "few in each file", "NULL", "as many as rows"],
)
@pytest.mark.parametrize("mode", ["none", "id"])
def test_distinct_values_of_strings_are_counted_in_the_dictionary_of_a_file(
    tmp_path: Path, value: Callable[[int], str | None], distinct: int | None, mode: str
) -> None:
    found = estimates(written(tmp_path, value, **{"delta.columnMapping.mode": mode})).columns["s"]
    assert found.get("distinctCount") == (None if distinct is None else str(distinct))
    assert int(found["nullCount"]) == sum(value(i) is None for i in range(ROWS * FILES))


def test_a_dictionary_that_is_full_stands_for_as_many_values_as_rows(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path, "s STRING")
    rows = pa.table({"s": [f"{i:0200}" for i in range(9000)]})
    pq.write_table(rows, tmp_path / "f.parquet", dictionary_pagesize_limit=1 << 20)
    table.add_files([tmp_path / "f.parquet"])
    assert estimates(table.refresh()).columns["s"]["distinctCount"] == "9000"


def test_a_file_that_is_missing_or_no_parquet_has_no_distinct_strings(tmp_path: Path) -> None:
    for number, damage in enumerate((Path.unlink, lambda path: path.write_bytes(b"PAR1"))):
        table = written(tmp_path / str(number), lambda i: f"{i % 3}")
        for path in (tmp_path / str(number)).glob("*.parquet"):
            damage(path)
        assert estimates(table).columns["s"] == {"nullCount": "0"}


def test_estimates_of_all_files_are_kept_for_a_version(tmp_path: Path) -> None:
    table = written(tmp_path, lambda i: f"{i % 3}")
    whole = estimates(table)
    assert estimates(table, "id >= 0") is whole
    assert estimates(table, f"id < {ROWS}").rows == ROWS
    table.append(pa.table({"id": [1], "s": ["a"]}))
    assert estimates(table.refresh()).rows == whole.rows + 1
    assert estimates(table).columns["id"]["max"] == str(ROWS * FILES - 1)


def test_a_table_without_a_value_has_no_distinct_values(tmp_path: Path) -> None:
    ddl = "a STRING, b BIGINT, p STRING, q DATE, r DECIMAL(38, 2), s BOOLEAN, t BIGINT"
    columns = list("abpqrst")
    table = ds.DeltaTable.create(tmp_path, ddl, columns[2:])
    for rows in (0, 1):
        if rows:
            table.append(pa.table({name: pa.nulls(1) for name in columns}))
        found = estimates(table.refresh())
        assert found.rows == rows
        assert {found.columns[name]["distinctCount"] for name in columns} == {"0"}

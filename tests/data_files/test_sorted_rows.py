"""Rows of data files in the sort order of their table, against Python's own sort."""

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import decode_path
from deltaskip.data_files.parquet_writer import sorted_rows
from deltaskip.data_files.sort_order import SortColumn
from tests.looped import looped


def key(value: Any, descending: bool, nulls_first: bool) -> tuple[Any, ...]:
    """Sorts as Spark: NaN above all numbers, NULL where asked."""
    if value is None:
        return (0 if nulls_first else 2, 0, 0)
    is_nan = isinstance(value, float) and math.isnan(value)
    number = 0 if is_nan else value
    return (1, -is_nan, -number) if descending else (1, is_nan, number)


@looped("seed", range(20))
def test_rows_are_sorted_as_spark_sorts_them(seed: int) -> None:
    chosen = random.Random(seed)
    values = {
        "i": [chosen.choice([None, *range(5)]) for _ in range(200)],
        "d": [chosen.choice([None, math.nan, math.inf, -math.inf, 0.5, -1.0]) for _ in range(200)],
        "n": list(range(200)),
    }
    columns = [
        SortColumn((name,), (name,), chosen.random() < 0.5, chosen.random() < 0.5)
        for name in chosen.sample(["i", "d"], chosen.choice([1, 2]))
    ]
    arrays = {"i": pa.array(values["i"], pa.int32()), "d": pa.array(values["d"], pa.float64()), "n": values["n"]}
    rows = pa.table(arrays)
    rows = pa.concat_tables([rows.slice(0, 70), rows.slice(70)])
    expected = sorted(
        range(200), key=lambda n: [key(values[c.logical[0]][n], c.descending, c.nulls_first) for c in columns]
    )
    assert sorted_rows(rows, columns)["n"].to_pylist() == expected


def test_nested_columns_and_texts() -> None:
    rows = pa.table({"s": [{"a": "b"}, None, {"a": "Z"}, {"a": "é"}, {"a": None}], "n": range(5)})
    found = sorted_rows(rows, [SortColumn(("s", "a"), ("s", "a"), False, False)])
    assert found["n"].to_pylist() == [2, 0, 3, 1, 4]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("mapped", [False, True])
def test_each_file_is_sorted_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapped: bool) -> None:
    monkeypatch.setattr("deltaskip.settings.options.row_group_bytes", 8_000)
    monkeypatch.setattr("deltaskip.settings.options.write_waiting_bytes", 40_000)
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    assert isinstance(catalog, ds.TransactionalTableCatalog)
    chosen = random.Random(1)
    properties = {"delta.columnMapping.mode": "name"} if mapped else {}
    staged = catalog.stage_create("t", "p INT, x DOUBLE, y STRING", ["p"], ["x DESC NULLS FIRST", "p", "y"], properties)
    parts = pa.array([i % 3 for i in range(10_000)], pa.int32())
    xs = [chosen.choice([None, math.nan, chosen.random()]) for _ in range(10_000)]
    ys = [str(chosen.random()) for _ in range(10_000)]
    with staged:
        batches = pa.table({"p": parts, "x": xs, "y": ys}).to_batches(max_chunksize=500)
        staged.append(pa.Table.from_batches(batches))
    table = catalog.load_table("t")
    paths = table.scan().files(columns=["path"])["path"].to_pylist()
    rows = 0
    for path in paths:
        file = pq.ParquetFile(Path(table.snapshot.root) / decode_path(path)).read()
        found = list(zip(file.column(0).to_pylist(), file.column(1).to_pylist(), strict=True))
        rows += len(found)
        assert found == sorted(found, key=lambda row: (key(row[0], True, True), row[1])) or str(found) == str(
            sorted(found, key=lambda row: (key(row[0], True, True), row[1]))
        )
    assert rows == 10_000 and len(paths) > 10


def test_the_order_follows_changes_of_columns(tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    assert isinstance(catalog, ds.TransactionalTableCatalog)
    properties = {"delta.columnMapping.mode": "name"}
    catalog.stage_create("t", "a INT, b INT, c INT", (), ["a", "b DESC", "c"], properties).commit_staged_changes()
    table = catalog.alter_table("t", ds.RenameColumn("a", "first, column"))
    assert table.sort_order == (ds.SortOrder(("first, column",)), ds.SortOrder("b", True), ds.SortOrder("c"))
    table.append(pa.table({"first, column": pa.array([3, 1, 2], pa.int32())}))
    table = catalog.alter_table("t", ds.DeleteColumn("b"))
    assert table.sort_order == (ds.SortOrder(("first, column",)),)


def test_a_malformed_order_is_refused_by_name(tmp_path: Path) -> None:
    for text in ('["a SIDEWAYS b"]', '[""]'):
        table = ds.DeltaTable.create(tmp_path / str(hash(text)), "id INT", properties={"deltaskip.sortOrder": text})
        with pytest.raises(ds.SchemaError, match="sortOrder"):
            table.append(pa.table({"id": pa.array([1], pa.int32())}))

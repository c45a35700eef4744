"""Bloom filters that are written: which files have them, their size, and that others read the files."""

from collections.abc import Callable
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable, SetProperty, transforms
from deltaskip.errors import InvalidArgument, SchemaError
from deltaskip.features.change_data_feed import CHANGE_FOLDER
from deltaskip.settings import options
from tests.each import refuses

DDL = "id STRING, n BIGINT, s STRUCT<a: INT>, p INT"
BLOOM = {"deltaskip.bloomColumns": "id, s.a"}


def rows(numbers: range) -> pa.Table:
    names = [f"k{(number * 7919) % 104729}" for number in numbers]
    return pa.table(
        {"id": names, "n": list(numbers), "s": [{"a": each} for each in numbers], "p": [n % 2 for n in numbers]}
    )


def filters_of(file: Path) -> set[str]:
    """The columns with a filter in every row group of a file."""
    metadata = pq.read_metadata(file)
    found = []
    for group in range(metadata.num_row_groups):
        chunks = [metadata.row_group(group).column(place).to_dict() for place in range(metadata.num_columns)]
        found.append({chunk["path_in_schema"] for chunk in chunks if chunk["bloom_filter_offset"]})
    return set.intersection(*found)


def paths(table: DeltaTable) -> list[Path]:
    return [Path(uri.removeprefix("file://")) for uri in table.scan().files()["uri"].to_pylist()]


def update(table: DeltaTable) -> None:
    table.update({"n": "n + 1"}, "n < 30")


def merge(table: DeltaTable) -> None:
    table.merge(rows(range(40, 60)), "id").when_matched_update_all().when_not_matched_insert_all().execute()


def delete(table: DeltaTable) -> None:
    table.delete("n % 5 = 0")


def overwrite(table: DeltaTable) -> None:
    table.overwrite(rows(range(5)), where="n < 10")


def optimize(table: DeltaTable) -> None:
    table.append(rows(range(60, 70)))
    table.optimize()


def order(table: DeltaTable) -> None:
    table.optimize(zorder_by="n")


def partition(table: DeltaTable) -> None:
    table.replace_partitioning(transforms.identity("p"))


@pytest.mark.parametrize("act", [update, merge, delete, overwrite, optimize, order, partition])
@pytest.mark.parametrize("mapped", [False, True])
def test_every_door_writes_its_files_filters(tmp_path: Path, act: Callable[[DeltaTable], None], mapped: bool) -> None:
    more = {"delta.columnMapping.mode": "name", "delta.enableChangeDataFeed": "true"} if mapped else {}
    table = DeltaTable.create(tmp_path / "t", DDL, properties={**BLOOM, **more})
    table.append(rows(range(50)))
    old = set(paths(table))
    assert all(len(filters_of(path)) == 2 for path in old)
    act(table)
    assert set(paths(table)) - old
    expected = {"id", "s.a"} if not mapped else None
    for path in paths(table):
        assert len(filters_of(path)) == 2 and expected in (None, filters_of(path))
    for path in (tmp_path / "t").glob(f"{CHANGE_FOLDER}/**/*.parquet"):
        assert not filters_of(path)
    [sample] = table.scan("n = 21").to_arrow().to_pylist()[:1] or [{"id": "none"}]
    assert table.scan(f"id = '{sample['id']}'").count() == int("n" in sample)


@pytest.mark.parametrize("count", [1, 40, 20_000])
def test_a_filter_is_sized_by_the_distinct_values(tmp_path: Path, count: int) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, properties=BLOOM)
    table.append(rows(range(20_000)).append_column("x", pa.nulls(20_000)).drop_columns("x"))
    few = rows(range(20_000)).set_column(0, "id", pa.array([f"v{number % count}" for number in range(20_000)]))
    table.append(few)
    sizes = [
        pq.read_metadata(path).row_group(0).column(0).to_dict()["bloom_filter_length"]
        for path in sorted(paths(table), key=lambda path: path.stat().st_mtime_ns)
    ]
    assert sizes[0] <= 20_000 * 2.2 and sizes[1] <= max(60, count * 2.2 + 32)


def test_a_name_without_a_column_writes_no_filter_and_stops_no_writer(tmp_path: Path) -> None:
    properties = {"deltaskip.bloomColumns": "gone, ID, n, s, p"}
    table = DeltaTable.create(
        tmp_path / "t", "id STRING, n DOUBLE, s STRUCT<a: INT>, p INT", ["p"], properties=properties
    )
    table.append([{"id": "a", "n": 1.0, "p": 1}])
    assert [filters_of(path) for path in paths(table)] == [{"id"}]
    with pytest.raises(InvalidArgument, match="must be names of columns"):
        table.alter(SetProperty("deltaskip.bloomColumns", "a b c"))
    for name in ("n", "p", "s", "gone"):
        refuses(SchemaError, "Bloom filter", table.optimize, bloom=name)
    for combined in ({"purge": True}, {"zorder_by": "id"}, {"target_file_bytes": 5}):
        refuses(InvalidArgument, "leave out", table.optimize, bloom="id", **combined)


def test_optimize_rewrites_each_file_without_a_filter_once(tmp_path: Path) -> None:
    properties = {
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.enableChangeDataFeed": "true",
    }
    table = DeltaTable.create(tmp_path / "t", f"{DDL}, e STRING", properties=properties)
    for start in (0, 100, 200):
        table.append(rows(range(start, start + 100)))
    table.delete("n = 5")
    ids = table.scan().to_arrow().num_rows, table.version
    before = table.scan().to_arrow().sort_by("n")
    assert table.optimize(bloom=["id", "s.a", "e"], dry_run=True).removed.files == 3
    done = table.optimize(bloom=["id", "s.a", "e"])
    assert (done.kind, done.columns, done.added.files, done.deleted_rows) == ("bloom", ("id", "s.a", "e"), 3, 1)
    assert all({"id", "s.a"} <= filters_of(path) for path in paths(table))
    assert (
        table.scan().to_arrow().sort_by("n").equals(before) and table.scan().files()["deletion_vector"].null_count == 3
    )
    assert table.changes(table.version).to_arrow().num_rows == 0 and ids[0] == 299
    assert table.optimize(bloom=["ID", "s.a", "e"]).version is None
    table.append(rows(range(300, 310)))
    assert table.optimize(bloom="id").removed.files == 1
    assert table.history(1)[0].operation_parameters["bloom"] == '["id"]'


def test_other_engines_read_the_files(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, properties=BLOOM)
    table.append(rows(range(5_000)))
    key = rows(range(77, 78))["id"][0].as_py()
    [path] = paths(table)
    assert pq.read_table(path, filters=[("id", "=", key)]).num_rows == 1
    assert duckdb.sql(f"SELECT count(*) FROM '{path}' WHERE id = '{key}'").fetchone() == (1,)
    excluded = f"SELECT bool_or(bloom_filter_excludes) FROM parquet_bloom_probe('{path}', 'id', '{{}}')"
    assert duckdb.sql(excluded.format(key)).fetchone() == (False,)
    assert duckdb.sql(excluded.format("absent")).fetchone() == (True,)
    assert deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table(filters=[("id", "=", key)]).num_rows == 1


def test_row_groups_without_a_value_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "row_group_bytes", 1 << 19)
    table = DeltaTable.create(tmp_path / "t", DDL, properties=BLOOM)
    table.append(rows(range(100_000)))
    scan = table.scan(f"id = '{rows(range(4321, 4322))['id'][0]}'")
    assert scan.to_arrow()["n"].to_pylist() == [4321] and scan.metrics is not None
    assert scan.metrics.row_groups_skipped >= scan.metrics.row_groups


def test_copied_row_groups_have_the_filters_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "row_group_bytes", 1 << 18)
    table = DeltaTable.create(tmp_path / "t", DDL)
    table.append(rows(range(50_000)))
    table.alter(SetProperty("deltaskip.bloomColumns", "id"))
    table.update({"n": "-1"}, "n = 3")
    assert all("id" in filters_of(path) for path in paths(table))
    assert table.scan("n = -1").count() == 1

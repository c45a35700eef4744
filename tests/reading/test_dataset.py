"""Scans as datasets of pyarrow: the rows are those of to_arrow, and what pyarrow would read otherwise is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import DataFileMissing, UnsupportedFeature
from deltaskip.reading import dataset
from tests import corpus
from tests.each import refuses
from tests.extent import some


def same_rows(found: pa.Table, expected: pa.Table) -> bool:
    assert found.schema == expected.schema
    return found.equals(expected) or sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))


@pytest.mark.filterwarnings("ignore")
def test_datasets_of_the_corpus_have_the_rows_of_the_scan_or_are_refused() -> None:
    made = refused = 0
    last = {table.path: (table, version) for table, version in corpus.versions("read")}
    for table, version in some(last.values(), 60):
        scan = ds.DeltaTable(table.path, version["version"]).scan()
        try:
            found = scan.to_dataset()
        except (UnsupportedFeature, DataFileMissing):
            refused += 1
            continue
        made += 1
        assert same_rows(found.to_table(), scan.to_arrow()), corpus.version_name((table, version))
    assert made > refused or not made + refused


@pytest.mark.parametrize("local", [True, False])
def test_fragments_have_the_partition_values(tmp_path: Path, local: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ddl = "id BIGINT, s STRING, d DATE, ts TIMESTAMP, x DOUBLE, n DECIMAL(9,2)"
    table = ds.DeltaTable.create(tmp_path / "t", ddl, ["s", "d", "ts", "x", "n"])
    moment = datetime(2020, 1, 1, 3, tzinfo=UTC)
    schema = table.scan().to_arrow().schema
    for number, s in enumerate(["a b", "", "é%", None]):
        day, time = (None, None) if s is None else (date(2020, 1, 1), moment)
        row = {"id": number, "s": s, "d": day, "ts": time, "x": float("nan"), "n": number}
        table.append(pa.Table.from_pylist([row], schema=schema))
    if not local:
        monkeypatch.setattr(dataset, "is_local", lambda _: False)
    found = table.scan().to_dataset()
    assert isinstance(found, pds.Dataset)
    assert same_rows(found.to_table(), table.scan().to_arrow())
    assert len(list(found.get_fragments(filter=pc.field("s") == "a b"))) == 1
    assert found.to_table(columns=["id"], filter=pc.field("s").is_null())["id"].to_pylist() == [1, 3]
    some = table.scan("n >= 2", columns=["id", "n"]).to_dataset()
    assert some.schema.names == ["id", "n"]
    assert sorted(some.to_table()["id"].to_pylist()) == [2, 3]


def made(folder: Path, **properties: str) -> ds.DeltaTable:
    table = ds.DeltaTable.create(
        folder / "t", "id BIGINT, v STRUCT<a: INT>", properties={"delta." + k: v for k, v in properties.items()}
    )  # fmt: skip
    for first in (0, 10):
        ids = pa.array(range(first, first + 10), pa.int64())
        table.append(pa.table({"id": ids, "v": pa.StructArray.from_arrays([ids.cast(pa.int32())], ["a"])}))
    return table


def test_a_predicate_is_taken_where_it_is_certain_for_every_row(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert sorted(table.scan("id >= 10").to_dataset().to_table()["id"].to_pylist()) == list(range(10, 20))
    refuses(UnsupportedFeature, "to_arrow", lambda: table.scan("id >= 11").to_dataset())
    refuses(UnsupportedFeature, "limit", lambda: table.scan(limit=1).to_dataset())


def test_deletion_vectors_are_refused_in_the_files_of_the_scan(tmp_path: Path) -> None:
    table = made(tmp_path, enableDeletionVectors="true")
    table.delete("id = 3")
    refuses(UnsupportedFeature, "deletion vector", lambda: table.scan().to_dataset())
    assert table.scan("id >= 10").to_dataset().count_rows() == 10


@pytest.mark.parametrize(("mode", "refused"), [("name", "another name"), ("id", "field id")])
def test_mapped_columns_are_refused(tmp_path: Path, mode: str, refused: str) -> None:
    table = made(tmp_path, **{"columnMapping.mode": mode})
    refuses(UnsupportedFeature, refused, lambda: table.scan().to_dataset())


@pytest.mark.parametrize("ddl", ["c CHAR(4)", "c STRUCT<a: CHAR(4)>", "c ARRAY<CHAR(4)>", "c MAP<CHAR(2), INT>"])
def test_padded_strings_are_refused(tmp_path: Path, ddl: str) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", f"id INT, {ddl}")
    refuses(UnsupportedFeature, "strings of its column c, of type CHAR, are padded", lambda: table.scan().to_dataset())
    assert table.scan(columns=["id"]).to_dataset().count_rows() == 0


def test_columns_that_are_renamed_later_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.alter_sql("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert table.scan().to_dataset().count_rows() == 20
    table.alter_sql("RENAME COLUMN v.a TO b")
    refuses(UnsupportedFeature, "column b has another name", lambda: table.scan().to_dataset())
    assert table.scan(columns=["id"]).to_dataset().to_table().num_rows == 20


@pytest.mark.parametrize("column", [pa.array([1, None], pa.int32()), pa.array([1, None], pa.int64()), None])
@pytest.mark.parametrize("int96", [False, True])
def test_columns_are_read_as_the_table_has_them(tmp_path: Path, column: pa.Array | None, int96: bool) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "t", "id BIGINT, w BIGINT, ts TIMESTAMP", properties={"delta.enableTypeWidening": "true"}
    )  # fmt: skip
    rows = {"id": pa.array([1, 2], pa.int64()), "w": column, "ts": pa.array([1, -1], pa.timestamp("us", "UTC"))}
    there = {name: each for name, each in rows.items() if each is not None}
    pq.write_table(pa.table(there), tmp_path / "t" / "f.parquet", use_deprecated_int96_timestamps=int96)
    table.add_files("f.parquet")
    assert same_rows(table.scan().to_dataset().to_table(), table.scan().to_arrow())


@pytest.mark.parametrize("column", [pa.array([b"a"]), pa.array([["a"]])])
def test_other_types_are_refused(tmp_path: Path, column: pa.Array) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING")
    table.append(pa.table({"id": pa.array([1], pa.int64()), "s": ["a"]}))
    [path] = table.scan().paths()
    pq.write_table(pa.table({"id": pa.array([1], pa.int64()), "s": column}), path)
    refuses(UnsupportedFeature, "stores s as", lambda: table.scan().to_dataset())
    assert table.scan(columns=["id"]).to_dataset().count_rows() == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    table = made(tmp_path)
    path = Path(table.scan("id < 10").paths()[0])
    path.unlink()
    refuses(DataFileMissing, path.name, lambda: table.scan().to_dataset())

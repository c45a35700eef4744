"""INT96 of any writer: nanoseconds of the day below zero, day 0, and years that nanoseconds do not reach."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.cli import main
from tests.builder import TableBuilder, add
from tests.int96_files import STORED, micros_of, write_int96
from tests.looped import looped

DDL = (
    "id BIGINT, t TIMESTAMP, st STRUCT<a: TIMESTAMP, n: INT>, l ARRAY<TIMESTAMP>, m MAP<TIMESTAMP, TIMESTAMP>, "
    "deep ARRAY<STRUCT<x: ARRAY<TIMESTAMP>>>, fixed BINARY"
)
KINDS = {"plain": {"use_dictionary": False}, "dictionary": {}, "v2": {"data_page_version": "2.0"}}
WANTED = [micros_of(each) for each in STORED]


def columns(times: pa.Array) -> dict[str, pa.Array]:
    rows = len(times)
    offsets = pa.array(range(rows + 1), pa.int32())
    struct = pa.StructArray.from_arrays([times, pa.array(range(rows), pa.int32())], ["a", "n"])
    present = times.fill_null(pa.scalar(1_600_000_000_000_001, times.type))
    lists = pa.ListArray.from_arrays(offsets, times)
    return {
        "id": pa.array(range(rows), pa.int64()),
        "t": times,
        "st": pa.StructArray.from_arrays(
            [struct.field(0), struct.field(1)], ["a", "n"], mask=pa.array([at == 3 for at in range(rows)])
        ),
        "l": lists,
        "m": pa.MapArray.from_arrays(offsets, present, times),
        "deep": pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([lists], ["x"])),
        # These 12 bytes are no INT96.
        "fixed": pa.array([b"0123456789ab"] * rows, pa.binary(12)),
    }


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_timestamp(kind):
            return pa.int64()
        if pa.types.is_struct(kind):
            return pa.struct([field.with_type(plain(field.type)) for field in kind])
        if pa.types.is_map(kind):
            return pa.map_(plain(kind.key_type), plain(kind.item_type))
        return pa.list_(plain(kind.value_type)) if pa.types.is_list(kind) else kind

    return pa.table({n: table[n].combine_chunks().cast(plain(table[n].type)) for n in table.column_names}).to_pylist()


def expected() -> list[dict[str, Any]]:
    return [
        {
            "id": at, "t": each, "st": None if at == 3 else {"a": each, "n": at}, "l": [each],
            "m": [(WANTED[0] if each is None else each, each)], "deep": [{"x": [each]}], "fixed": b"0123456789ab",
        }
        for at, each in enumerate(WANTED)
    ]  # fmt: skip


def table_of(folder: Path, **options: Any) -> ds.DeltaTable:
    from deltaskip.sparkexpr.types.ddl import parse_columns

    builder = TableBuilder(folder / "t", {field.name: field.type for field in parse_columns(DDL).fields})
    path = folder / "t" / "f.parquet"
    write_int96(path, STORED, columns, **options)
    builder.commit({"add": {**add("f.parquet")["add"], "size": path.stat().st_size}})
    return ds.DeltaTable(folder / "t")


@looped("kind, door", itertools.product(KINDS, ["scan", "update", "optimize", "delete"]))
def test_every_door_reads_and_rewrites_the_instants(tmp_path: Path, kind: str, door: str) -> None:
    table = table_of(tmp_path, **KINDS[kind])
    wanted = expected()
    if door == "update":
        table.update({"id": "id + 0"})
    elif door == "optimize":
        table.append(table.scan("id = 11").to_arrow())
        table.optimize()
        wanted.append(wanted[11])
    elif door == "delete":
        table.delete("t = TIMESTAMP'1969-12-31 23:00:00'")
        wanted = wanted[1:]
    assert sorted(rows_of(table.scan().to_arrow()), key=lambda row: row["id"]) == wanted
    assert list(rows_of(table.scan("year(t) = 9999", columns=["id"]).to_arrow())) == [{"id": 4}]


@looped("expression, ids", [
    ("t < TIMESTAMP'1970-01-01'", [0, 1, 2, 3, 7]), ("st.a = TIMESTAMP'1969-12-31 23:00:00'", [0]),
    ("l[0] < TIMESTAMP'0001-01-01'", [1, 7]), ("t > TIMESTAMP'2500-01-01'", [4, 9, 11]),
    ("element_at(map_values(m), 1) IS NULL", [5]),
])  # fmt: skip
def test_predicates_find_the_rows(tmp_path: Path, expression: str, ids: list[int]) -> None:
    table = table_of(tmp_path)
    table.recompute_stats()
    assert sorted(table.scan(expression, columns=["id"]).to_arrow()["id"].to_pylist()) == ids


@pytest.mark.parametrize("stored", [STORED[:1], STORED[5:6]])
def test_bounds_are_those_of_the_instants(tmp_path: Path, stored: Any) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "t TIMESTAMP, st STRUCT<a: TIMESTAMP>")
    made = {"t": lambda t: t, "st": lambda t: pa.StructArray.from_arrays([t], ["a"])}
    write_int96(tmp_path / "t" / "f.parquet", stored, lambda times: {n: make(times) for n, make in made.items()})
    table.add_files("f.parquet")
    table.recompute_stats()
    stats = json.loads(table.scan().files(columns=["stats"])["stats"][0].as_py())
    if stored[0] is None:
        assert stats["nullCount"] == {"t": 1, "st": {"a": 1}}
    else:
        for bounds in (stats["minValues"], stats["maxValues"]):
            assert bounds == {"t": "1969-12-31T23:00:00.000Z", "st": {"a": "1969-12-31T23:00:00.000Z"}}


def test_a_dataset_of_pyarrow_that_would_misread_is_refused(tmp_path: Path) -> None:
    for number, stored in enumerate([STORED[:1], STORED[1:2], STORED[2:3]]):
        table = ds.DeltaTable.create(tmp_path / f"t{number}", "t TIMESTAMP")
        write_int96(tmp_path / f"t{number}" / "f.parquet", stored, lambda times: {"t": times})
        table.add_files("f.parquet")
        if number < 2:
            with pytest.raises(ds.UnsupportedFeature, match="INT96 in t that pyarrow reads as others"):
                table.scan().to_dataset()
        else:
            assert table.scan().to_dataset().to_table()["t"].cast(pa.int64()).to_pylist() == [micros_of(stored[0])]


def test_the_command_append_reads_the_instants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "t TIMESTAMP")
    write_int96(tmp_path / "f.parquet", STORED, lambda times: {"t": times})
    assert main(["append", str(tmp_path / "t"), str(tmp_path / "f.parquet")]) == 0, capsys.readouterr().err
    table.refresh()
    assert table.scan().to_arrow()["t"].cast(pa.int64()).to_pylist() == WANTED


@pytest.mark.spark
def test_spark_reads_the_same_instants(spark: Any, tmp_path: Path) -> None:
    write_int96(tmp_path / "f.parquet", STORED, columns)
    spark.conf.set("spark.sql.parquet.int96RebaseModeInRead", "CORRECTED")
    for vectorized in ("false", "true"):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        frame = spark.read.parquet(str(tmp_path / "f.parquet")).orderBy("id")
        found = frame.selectExpr("unix_micros(t)", "unix_micros(l[0])", "unix_micros(map_values(m)[0])").collect()
        assert [tuple(row) for row in found] == [(each,) * 3 for each in WANTED]

"""Files whose writer's Arrow schema (ARROW:schema) has types that Parquet lacks: every door has the rows of DuckDB."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.stats.parquet_input import ParquetInput

N = 4
IDS = pa.array(range(N), pa.int64())
LONGS = pa.array([5, None, 7, 8], pa.int64())
TEXTS = pa.array(["a", "b", None, "d"])
EACH = pa.array(range(N + 1), pa.int32())
NAMED = {"ARROW:extension:name": "my.unknown", "ARROW:extension:metadata": ""}


class Marked(pa.ExtensionType):
    """A type of a program, which compares as pyarrow's do, and has no hash."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "my.marked")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Marked:
        return cls(storage)


@pytest.fixture
def registered() -> Iterator[None]:
    pa.register_extension_type(Marked(pa.int64()))
    yield
    pa.unregister_extension_type("my.marked")


def marked(values: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(Marked(values.type), values)


def lists(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(EACH, values)


def view(values: pa.Array) -> pa.Array:
    return pa.ListViewArray.from_arrays(EACH[:-1], pa.array([1] * N, pa.int32()), values)


def struct(values: pa.Array, metadata: dict[str, str] | None = None) -> pa.Array:
    return pa.StructArray.from_arrays([values], fields=[pa.field("x", values.type, metadata=metadata)])


def maps(values: pa.Array) -> pa.Array:
    return pa.MapArray.from_arrays(EACH, pa.array(list("klmn")), values)


def keys(values: pa.Array) -> pa.Array:
    return pa.MapArray.from_arrays(EACH, values, pa.array(list("klmn")))


CODES = pa.array(["a", "b", "a", "b"]).dictionary_encode()
CATEGORIES = pl.DataFrame({"l": [["a"], ["b"], [None], None], "s": [{"x": "a"}, {"x": None}, None, {"x": "b"}]})
KINDS: dict[str, tuple[str, Callable[[], pa.Array | pl.Series]]] = {
    "list view": ("ARRAY<BIGINT>", lambda: view(LONGS)),
    "large list view": ("ARRAY<BIGINT>", lambda: pa.array([[5], None, [], [8, None]], pa.large_list_view(pa.int64()))),
    "null and empty": ("ARRAY<INT>", lambda: pa.array([[1, None], None, [], [2]], pa.list_view(pa.int32()))),
    "list view in a struct": ("STRUCT<x: ARRAY<BIGINT>>", lambda: struct(view(LONGS))),
    "list view in a list": ("ARRAY<ARRAY<BIGINT>>", lambda: lists(view(LONGS))),
    "list view in a map": ("MAP<STRING, ARRAY<BIGINT>>", lambda: maps(view(LONGS))),
    "list view of list views": ("ARRAY<ARRAY<BIGINT>>", lambda: view(view(LONGS))),
    "list view of dictionaries": ("ARRAY<STRING>", lambda: view(TEXTS.dictionary_encode())),
    "dictionary": ("STRING", TEXTS.dictionary_encode),
    "dictionary in a struct": ("STRUCT<x: STRING>", lambda: struct(TEXTS.dictionary_encode())),
    "dictionary in a list": ("ARRAY<STRING>", lambda: lists(TEXTS.dictionary_encode())),
    "dictionary in a map": ("MAP<STRING, STRING>", lambda: maps(TEXTS.dictionary_encode())),
    "dictionary as key": ("MAP<STRING, STRING>", lambda: keys(CODES)),
    "dictionary of longs": ("STRUCT<x: BIGINT>", lambda: struct(LONGS.dictionary_encode())),
    "categorical": ("ARRAY<STRING>", lambda: CATEGORIES["l"].cast(pl.List(pl.Categorical))),
    "enum": ("ARRAY<STRING>", lambda: CATEGORIES["l"].cast(pl.List(pl.Enum(["a", "b"])))),
    "categorical in a struct": ("STRUCT<x: STRING>", lambda: CATEGORIES["s"].cast(pl.Struct({"x": pl.Categorical}))),
    "unknown extension": ("STRUCT<x: BIGINT>", lambda: struct(LONGS, NAMED)),
    "unknown extension in a list": ("ARRAY<STRUCT<x: STRING>>", lambda: lists(struct(TEXTS, NAMED))),
    "extension": ("BIGINT", lambda: marked(LONGS)),
    "extension of text": ("STRING", lambda: marked(TEXTS)),
    "extension in a struct": ("STRUCT<x: BIGINT>", lambda: struct(marked(LONGS))),
    "extension in a list view": ("ARRAY<BIGINT>", lambda: view(marked(LONGS))),
    "extension of a list": ("ARRAY<BIGINT>", lambda: marked(lists(LONGS))),
    "extension of a dictionary": ("STRING", lambda: marked(TEXTS.dictionary_encode())),
    "duration beside a dictionary": (
        "STRUCT<x: STRING, d: BIGINT>",
        lambda: pa.StructArray.from_arrays([TEXTS.dictionary_encode(), LONGS.cast(pa.duration("us"))], ["x", "d"]),
    ),
    "json in a list view": (
        "ARRAY<STRING>",
        lambda: view(pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", "[]", None, "{}"]))),
    ),
}  # fmt: skip


def write(path: Path, column: pa.Array | pl.Series) -> None:
    if isinstance(column, pl.Series):
        pl.DataFrame({"id": list(range(N)), "c": column}).write_parquet(path, row_group_size=2)
    else:
        pq.write_table(pa.table({"id": IDS, "c": column}), path, row_group_size=2)


def rows_of(table: pa.Table) -> list[Any]:
    return [(row["id"], row["c"]) for row in table.sort_by("id").to_pylist()]


def sql(table: ds.DeltaTable) -> list[Any]:
    return rows_of(pa.table(ds.sql(f"SELECT id, c FROM '{table.uri}'")))


def duck(table: ds.DeltaTable) -> list[Any]:
    connection = duckdb.connect()
    table.scan().to_duckdb(connection, "rows")
    return rows_of(connection.sql("SELECT id, c FROM rows").to_arrow_table())


DOORS: dict[str, Callable[[ds.DeltaTable], list[Any]]] = {
    "to_arrow": lambda table: rows_of(table.scan().to_arrow()),
    "to_arrow where": lambda table: rows_of(table.scan("id >= 0").to_arrow()),
    "to_polars": lambda table: rows_of(table.scan().to_polars().to_arrow()),
    "lazy": lambda table: rows_of(table.scan().to_polars(lazy=True).filter(pl.col("id") >= 0).collect().to_arrow()),
    "top": lambda table: rows_of(table.scan("c IS NOT NULL OR id >= 0").top(100, "id").to_arrow()),
    "to_duckdb": duck,
    "sql": sql,
}
CHANGES: dict[str, Callable[[ds.DeltaTable], Any]] = {
    "delete": lambda table: table.delete("id = 3"),
    "optimize": lambda table: table.optimize(),
    "zorder": lambda table: table.optimize(zorder_by=["id"]),
    "recompute_stats": lambda table: table.recompute_stats(mode="scan"),
}


def pairs(rows: list[Any], ddl: str) -> list[Any]:
    """Rows of any door, whose maps are lists of pairs."""
    return [
        (number, [*value.items()] if isinstance(value, dict) and ddl[:3] == "MAP" else value) for number, value in rows
    ]


@pytest.mark.parametrize("with_plain", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_door_has_the_rows_of_duckdb(tmp_path: Path, registered: None, kind: str, with_plain: bool) -> None:
    ddl, column = KINDS[kind]
    table = ds.DeltaTable.create(str(tmp_path / "t"), f"id BIGINT, c {ddl}")
    file = tmp_path / "t" / "odd.parquet"
    write(file, column())
    table.add_files("odd.parquet")
    wanted = rows_of(duckdb.sql(f"SELECT id, c FROM '{file}'").to_arrow_table())
    if with_plain:
        rows = table.scan().to_arrow()
        table.append(rows.set_column(0, "id", pa.array([10, 11, 12, 13])))
        wanted += [(number + 10, value) for number, value in wanted]
    wanted = pairs(wanted, ddl)
    assert ds.verify(table.uri, data=True).findings == ()
    assert table.scan("c IS NOT NULL").count() == sum(value is not None for _, value in wanted)
    for door, read in DOORS.items():
        assert pairs(read(table), ddl) == wanted, door
    for name, change in CHANGES.items():
        changed = ds.DeltaTable(shutil.copytree(tmp_path / "t", tmp_path / name))
        change(changed)
        expected = [row for row in wanted if row[0] != 3] if name == "delete" else wanted
        assert pairs(rows_of(changed.scan().to_arrow()), ddl) == expected, name


def test_field_ids_of_parquet_stay(tmp_path: Path) -> None:
    inner = pa.field("x", pa.list_view(pa.int64()), metadata={"PARQUET:field_id": "2"})
    schema = pa.schema([pa.field("c", pa.struct([inner]), metadata={"PARQUET:field_id": "1", **NAMED})])
    pq.write_table(pa.table({"c": struct(view(LONGS))}).cast(schema), tmp_path / "f")
    found = ParquetInput(str(tmp_path / "f")).schema_arrow.field("c")
    assert found.metadata == {b"PARQUET:field_id": b"1"}
    assert found.type == pa.struct({"x": pa.list_(pa.int64())}) and found.type.field(0).metadata == {
        b"PARQUET:field_id": b"2"
    }


def test_a_checkpoint_with_such_types_is_read(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(str(tmp_path), "id BIGINT, p INT", partition_by=["p"])
    table.append({"id": [1, 2], "p": [1, 2]})
    table.checkpoint()
    [path] = tmp_path.glob("_delta_log/*.checkpoint.parquet")
    rows = pq.read_table(path)
    for name, inner in {"metaData": "partitionColumns", "add": "path"}.items():
        column = rows[name].combine_chunks()
        parts = {field.name: column.field(number) for number, field in enumerate(column.type)}
        if name == "add":
            parts[inner] = parts[inner].dictionary_encode()
        else:
            parts[inner] = pa.array(parts[inner].to_pylist(), pa.list_view(pa.string()))
        fields = [pa.field(part, values.type) for part, values in parts.items()]
        changed = pa.StructArray.from_arrays([*parts.values()], fields=fields, mask=column.is_null())
        rows = rows.set_column(rows.schema.get_field_index(name), name, changed)
    pq.write_table(rows, path, row_group_size=2)
    for each in [*tmp_path.glob("_delta_log/*.json"), *tmp_path.glob("_delta_log/*.crc")]:
        each.unlink()
    (tmp_path / "_delta_log" / "_last_checkpoint").unlink()
    found = ds.DeltaTable(str(tmp_path))
    assert [*found.partition_columns] == ["p"]
    assert sorted(found.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert len(found.scan("p = 2").paths()) == 1

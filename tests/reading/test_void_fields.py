"""Fields of type void inside of columns are there as NULL, in every form in which rows are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.errors import InvalidCommit, SchemaError
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.sparkexpr.types.ddl import parse_type_text
from tests.each import refuses
from tests.looped import looped

DDL = "id BIGINT, s STRUCT<v: VOID, a: INT, t: STRUCT<w: VOID, b: CHAR(2)>>, l ARRAY<STRUCT<a: INT, v: VOID>>, " \
      "m MAP<STRING, STRUCT<v: VOID, a: INT>>, n VOID"  # fmt: skip
ROWS = [
    {"id": 1, "s": {"a": 1, "t": {"b": "x"}}, "l": [{"a": 1}, None], "m": [("k", {"a": 1})]},
    {"id": 2, "s": None, "l": None, "m": None},
    {"id": 3, "s": {"a": None, "t": None}, "l": [], "m": [("k", None)]},
]
READ = [
    {"id": 1, "s": {"v": None, "a": 1, "t": {"w": None, "b": "x "}}, "l": [{"a": 1, "v": None}, None],
     "m": [("k", {"v": None, "a": 1})], "n": None},
    {"id": 2, "s": None, "l": None, "m": None, "n": None},
    {"id": 3, "s": {"v": None, "a": None, "t": None}, "l": [], "m": [("k", None)], "n": None},
]  # fmt: skip
STRUCT = pa.struct([("a", pa.int32()), ("t", pa.struct([("b", pa.string())]))])
GIVEN = pa.schema(
    [("id", pa.int64()), ("s", STRUCT), ("l", pa.list_(pa.struct([("a", pa.int32())]))),
     ("m", pa.map_(pa.string(), pa.struct([("a", pa.int32())])))]
)  # fmt: skip


def test_void_fields_are_read_as_nulls_of_the_type_null_at_every_depth(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, properties={"delta.enableChangeDataFeed": "true"})
    empty = table.scan().to_arrow().schema
    table.append(pa.Table.from_pylist(ROWS, GIVEN))
    read = table.scan().to_arrow()
    assert read.schema == empty
    assert read.to_pylist() == READ
    assert read.schema.field("s").type.field("v").type == pa.null()
    assert read.schema.field("s").type.field("t").type.field("w").type == pa.null()
    assert table.scan("id = 1", columns=["l"]).to_arrow().to_pylist() == [{"l": READ[0]["l"]}]
    assert [row["s"] for row in table.scan("id < 3").to_pandas().to_dict("records")] == [READ[0]["s"], None]
    # Rows that a change or a rewrite reads and writes are as before.
    table.update({"id": "id + 10"}, "id = 1")
    assert table.scan("id = 11").to_arrow().to_pylist() == [{**READ[0], "id": 11}]
    table.optimize()
    table.append(table.scan("id = 11").to_arrow())
    assert len(table.scan("id = 11").to_arrow()) == 2
    feed = table.changes(0).to_arrow()
    assert feed.schema.field("s").type == read.schema.field("s").type
    assert [row["l"] for row in feed.to_pylist() if row["id"] == 2] == [None]


NOTHING = [
    "STRUCT<v: VOID>", "STRUCT<>", "ARRAY<STRUCT<v: VOID>>", "MAP<STRING, STRUCT<v: VOID>>",
    "STRUCT<s: STRUCT<v: VOID>>", "STRUCT<s: STRUCT<v: VOID>, x: INT>",
    "STRUCT<x: INT, a: ARRAY<STRUCT<s: STRUCT<v: VOID>>>>", "ARRAY<VOID>", "MAP<STRING, VOID>", "ARRAY<ARRAY<VOID>>",
]  # fmt: skip
SOMETHING = ["VOID", "STRUCT<v: VOID, x: INT>", "ARRAY<STRUCT<v: VOID, x: INT>>", "MAP<INT, STRUCT<v: VOID, x: INT>>"]


@looped("type_, is_refused", [*((each, True) for each in NOTHING), *((each, False) for each in SOMETHING)])
def test_a_column_that_files_cannot_contain_is_not_added(tmp_path: Path, type_: str, is_refused: bool) -> None:
    """What can be created can be appended to; a struct of void fields alone has no form in Parquet."""
    plain = DeltaTable.create(tmp_path / "plain", "id INT")
    given = pa.table({"id": pa.array([1], pa.int32())})
    column = given.append_column("c", pa.nulls(1, stored_type(parse_type_text(type_))))
    catalog = ds.catalog(f"warehouse:{tmp_path / 'w'}")
    catalog.create_namespace("db")
    doors: list[Callable[[], object]] = [
        lambda: DeltaTable.create(tmp_path / "t", f"id INT, c {type_}"),
        lambda: catalog.create_table("db.t", f"id INT, c {type_}"),
        lambda: plain.alter_sql(f"ADD COLUMN c {type_}"),
        lambda: DeltaTable.create(tmp_path / "plain", f"id INT, c {type_}", mode="replace"),
        lambda: plain.append(column, schema_mode="merge"),
        lambda: plain.overwrite(column, schema_mode="replace"),
    ]
    for door in doors:
        if is_refused:
            refuses((InvalidCommit, SchemaError), r"has no form in files|cannot contain void", door)
            assert DeltaTable(tmp_path / "plain").version == 0
        else:
            door()
            plain = DeltaTable(tmp_path / "plain")
    if not is_refused:
        for table in (DeltaTable(tmp_path / "t"), plain):
            assert len(table.scan().to_arrow()) == table.scan().count()
            table.append(given)
            assert table.scan("id = 1").to_arrow()["c"].to_pylist()[-1] is None


def test_no_field_goes_that_leaves_void_ones_alone(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t", "id INT, c STRUCT<v: VOID, x: INT>", properties={"delta.columnMapping.mode": "name"}
    )
    refuses(InvalidCommit, "struct of no fields but void ones", table.alter_sql, "DROP COLUMN c.x")

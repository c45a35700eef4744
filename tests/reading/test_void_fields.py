"""Fields of type void inside of columns are there as NULL, in every form in which rows are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from deltaskip import DeltaTable

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

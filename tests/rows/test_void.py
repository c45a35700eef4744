"""A void column, which no file has, gets its type at every depth: from the first rows that have one, or from ALTER."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError, SchemaError
from tests.each import refuses

STRUCT = pa.struct([("a", pa.int32()), ("b", pa.null())])
TYPED = pa.struct([("a", pa.int32()), ("b", pa.string())])
MAPS = pa.map_(pa.string(), STRUCT), pa.map_(pa.string(), TYPED)


def rows(number: int, value: object, type_: pa.DataType) -> pa.Table:
    return pa.table({"id": pa.array([number], pa.int32()), "x": pa.array([value], type_)})


def table_of(path: Path, value: object = None, type_: pa.DataType | None = None, mode: str = "none") -> DeltaTable:
    table = DeltaTable.create(path, "id INT", properties={"delta.columnMapping.mode": mode})
    table.append(rows(1, value, pa.null() if type_ is None else type_), schema_mode="merge")
    return table


def found(table: DeltaTable) -> dict[int, Any]:
    read = DeltaTable(table.uri).scan().to_arrow().to_pylist()
    return {row["id"]: row["x"] for row in read}


# Type and value of the first rows, and of the next ones.
CASES: tuple[tuple[pa.DataType, object, pa.DataType, object], ...] = (
    *((pa.null(), None, type_, value) for type_,
        value in ((pa.string(), "a"), (pa.int64(), 5), (pa.bool_(), True), (pa.decimal128(10, 2), None),
        (pa.timestamp("us"), None), (pa.struct([("a", pa.int32())]), {"a": 1}), (pa.list_(pa.string()), ["q"]),
        (pa.map_(pa.string(), pa.int32()), [("a", 1)]))),
    (STRUCT, {"a": 1, "b": None}, TYPED, {"a": 2, "b": "q"}),
    (pa.list_(STRUCT), [{"a": 1, "b": None}], pa.list_(TYPED), [{"a": 2, "b": "q"}]),
    (MAPS[0], [("k", {"a": 1, "b": None})], MAPS[1], [("k", {"a": 2, "b": "q"})]),
)  # fmt: skip


def test_rows_that_are_merged_in_give_a_void_column_its_type(tmp_path: Path) -> None:
    for mode in ("none", "name"):
        for i, (old_type, old, new_type, new) in enumerate(CASES):
            table = table_of(tmp_path / f"{mode}{i}", old, old_type, mode)
            table.append(rows(2, new, new_type), schema_mode="merge")
            table.append(rows(3, None, new_type))
            assert found(table) == {1: old, 2: new, 3: None}
            assert "void" not in str(table.schema)
            nulls = [number for number, x in found(table).items() if x is None]
            assert table.scan("x IS NULL").to_arrow()["id"].to_pylist() == nulls


def written(kind: str, table: DeltaTable) -> None:
    new = rows(2, "q", pa.string())
    if kind == "part":
        table.overwrite(new, where="id = 2", schema_mode="merge")
    elif kind == "merge":
        merge = table.merge(new, "t.id = s.id", source_alias="s", target_alias="t", schema_mode="merge")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
    else:
        table.alter_sql("ALTER COLUMN x TYPE STRING")
        table.append(new)


def test_every_door_that_evolves_gives_it_its_type(tmp_path: Path) -> None:
    for kind in ("part", "merge", "alter"):
        table = table_of(tmp_path / kind)
        written(kind, table)
        assert found(table) == {1: None, 2: "q"}, kind
    # A row that is there is updated with a value of the new type.
    table = table_of(tmp_path / "update")
    new = rows(1, "q", pa.string())
    merge = table.merge(new, "t.id = s.id", source_alias="s", target_alias="t", schema_mode="merge")
    merge.when_matched_update_all().execute()
    assert found(table) == {1: "q"}


def test_alter_gives_any_type_at_any_depth(tmp_path: Path) -> None:
    for i, text in enumerate(("DECIMAL(3, 1)", "VARCHAR(3)", "ARRAY<STRUCT<a: INT>>", "STRING")):
        table = table_of(tmp_path / str(i))
        table.alter_sql(f"ALTER COLUMN x TYPE {text}")
        assert found(table) == {1: None}
    table = table_of(tmp_path / "varchar")
    table.alter_sql("ALTER COLUMN x TYPE VARCHAR(3)")
    refuses(DeltaSkipError, "varchar\\(3\\)", table.append, rows(2, "four", pa.string()))
    table = table_of(tmp_path / "nested", [{"a": 1, "b": None}], pa.list_(STRUCT))
    table.alter_sql("ALTER COLUMN x.element.b TYPE STRING")
    table.append(rows(2, [{"a": 2, "b": "q"}], pa.list_(TYPED)))
    assert found(table) == {1: [{"a": 1, "b": None}], 2: [{"a": 2, "b": "q"}]}


def test_what_has_no_form_in_files_or_no_rows_to_hold_it_stays_refused(tmp_path: Path) -> None:
    refused: tuple[Callable[[DeltaTable], object], ...] = (
        lambda table: table.append(rows(2, "q", pa.string())),
        lambda table: table.alter_sql("ALTER COLUMN x TYPE STRUCT<a: INT NOT NULL>"),
        lambda table: table.alter_sql("ALTER COLUMN x TYPE ARRAY<VOID>"),
    )
    for i, change in enumerate(refused):
        table = table_of(tmp_path / str(i))
        refuses(DeltaSkipError, None, change, table)
        assert DeltaTable(table.uri).version == 1
    # Files that have a column keep its type.
    table = DeltaTable.create(tmp_path / "typed", "id INT, x INT")
    table.append(rows(1, 1, pa.int32()))
    refuses(SchemaError, None, table.alter_sql, "ALTER COLUMN x TYPE STRING")

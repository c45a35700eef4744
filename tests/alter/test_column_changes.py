"""Columns that are added, dropped, renamed, moved, described, made nullable and replaced, at any depth."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, InvalidArgumentType, InvalidCommit, SchemaError
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.types.json import CHAR_VARCHAR_KEY
from tests.dml.tables import info_of
from tests.each import refuses
from tests.looped import looped

COLUMNS = (
    "id BIGINT, name STRING, st STRUCT<a: INT, b: VARCHAR(5)>, arr ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<v: INT>>"
)
MAPPED = {"delta.columnMapping.mode": "name"}


def table_of(folder: Path, columns: str = COLUMNS, **options: Any) -> ds.DeltaTable:
    return ds.DeltaTable.create(folder / "t", columns, **options)


def parameters(table: ds.DeltaTable) -> dict[str, Any]:
    """The operation's parameters with the JSON in them parsed."""
    found = info_of(table)["operationParameters"]
    return {name: json.loads(text) if text.startswith(("[", "{")) else text for name, text in found.items()}


def shape(table: ds.DeltaTable) -> str:
    """The columns as DDL, with comments and NOT NULL."""
    return re.sub(r"\s+", " ", repr(table.schema).removeprefix("root\n"))


@looped(
    "change, after",
    [
        (ds.AddColumn("c", "INT"), f"{COLUMNS}, c INT"),
        (ds.AddColumn("c", "INT", position=ds.FIRST), f"c INT, {COLUMNS}"),
        (
            ds.AddColumn("c", "INT", "a comment", position=ds.After("ID")),
            COLUMNS.replace("id BIGINT", "id BIGINT, c INT COMMENT 'a comment'"),
        ),
        (ds.AddColumn("ST.c", "INT", position=ds.After("a")), COLUMNS.replace("a: INT", "a: INT, c: INT")),
        (ds.AddColumn("arr.element.y", "INT", position=ds.FIRST), COLUMNS.replace("x: INT", "y: INT, x: INT")),
        (ds.AddColumn("m.value.w", "INT"), COLUMNS.replace("v: INT", "v: INT, w: INT")),
        (ds.AddColumn("vc", "VARCHAR(5)"), f"{COLUMNS}, vc VARCHAR(5)"),
        (ds.AddColumn("st.vc", "CHAR(3)", position=ds.FIRST), COLUMNS.replace("a: INT", "vc: CHAR(3), a: INT")),
        (ds.AddColumn("z", "STRUCT<q: INT COMMENT 'x'>"), f"{COLUMNS}, z STRUCT<q: INT COMMENT 'x'>"),
        (ds.AddColumn(("st", "c"), pa.int32()), COLUMNS.replace("VARCHAR(5)", "VARCHAR(5), c: INT")),
        (ds.AddColumn("c", ds.DecimalType(10, 2)), f"{COLUMNS}, c DECIMAL(10,2)"),
        (ds.AddColumn("c", "STRING COLLATE UNICODE_CI"), f"{COLUMNS}, c STRING COLLATE UNICODE_CI"),
        (ds.MoveColumn("name", ds.FIRST), COLUMNS.replace("id BIGINT, name STRING", "name STRING, id BIGINT")),
        (ds.MoveColumn("id", 1), COLUMNS.replace("id BIGINT, name STRING", "name STRING, id BIGINT")),
        (ds.MoveColumn("st.b", ds.FIRST), COLUMNS.replace("a: INT, b: VARCHAR(5)", "b: VARCHAR(5), a: INT")),
        (ds.UpdateColumnComment("id", "x"), COLUMNS.replace("id BIGINT", "id BIGINT COMMENT 'x'")),
        (ds.UpdateColumnComment("arr.element.x", ""), COLUMNS.replace("x: INT", "x: INT COMMENT ''")),
    ],
)
def test_a_change_leads_to_the_same_schema_as_creating_it(tmp_path: Path, change: ds.TableChange, after: str) -> None:
    table = table_of(tmp_path)
    table.append(pa.table({"id": [1]}))
    result = table.alter(change)
    assert (result.version, table.version) == (2, 2)
    assert table.schema == parse_columns(after)


def test_dropping_and_renaming_without_column_mapping_name_the_cure(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    for change in (ds.DeleteColumn("id"), ds.RenameColumn("id", "x"), ds.ReplaceColumns("id BIGINT")):
        with pytest.raises(SchemaError, match=r"first set the property delta.columnMapping.mode of the table to name"):
            table.alter(change)
    assert table.version == 0


def test_rule_55_column_mapping_is_enabled_on_request_in_the_same_commit(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.append(pa.table({"id": [1], "name": ["a"]}))
    result = table.alter(
        ds.SetProperty("delta.columnMapping.mode", "name"),
        ds.RenameColumn("name", "title"),
        ds.RenameColumn("st.b", "bb"),
        ds.DeleteColumn("arr"),
    )
    assert (result.version, result.operation) == (2, "ALTER TABLE")
    assert [step["operation"] for step in parameters(table)["changes"]] == [
        "SET TBLPROPERTIES", "RENAME COLUMN", "RENAME COLUMN", "DROP COLUMNS",
    ]  # fmt: skip
    assert table.schema.names == ("id", "title", "st", "m")
    title, st = table.schema.fields[1], table.schema.fields[2]
    assert title.metadata == {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "name"}
    assert st.metadata[CHAR_VARCHAR_KEY] == "struct<a:int,bb:varchar(5)>"
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (2, 7)
    assert table.properties["delta.columnMapping.maxColumnId"] == "9"
    assert table.scan("title = 'a'").count() == 1


def test_rule_56_a_column_that_comes_back_is_another_column(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, a STRING", properties=MAPPED)
    before = table.schema.fields[1].metadata
    table.alter(ds.DeleteColumn("a"), ds.AddColumn("a", "STRING"))
    after = table.schema.fields[1].metadata
    assert after["delta.columnMapping.id"] == 3
    assert after["delta.columnMapping.physicalName"] != before["delta.columnMapping.physicalName"]
    assert table.properties["delta.columnMapping.maxColumnId"] == "3"


def test_rule_57_statistics_columns_are_renamed_and_dropped_along(tmp_path: Path) -> None:
    listed = "id,st.a,st,`c 1`"
    columns = "id BIGINT, st STRUCT<a: INT, b: INT>, `c 1` INT, d INT"
    table = table_of(tmp_path, columns, properties={**MAPPED, "delta.dataSkippingStatsColumns": listed})
    table.alter(ds.RenameColumn("st", "s t"), ds.RenameColumn("`s t`.a", "aa"), ds.DeleteColumn("id"))
    assert table.properties["delta.dataSkippingStatsColumns"] == "`s t`.aa,`s t`,`c 1`"


@looped(
    "change, why",
    [
        (ds.DeleteColumn("p"), "partition column"),
        (ds.DeleteColumn("q"), "the constraint c uses it"),
        (ds.RenameColumn("q", "qq"), "the constraint c uses it"),
        (ds.RenameColumn("st", "s"), "generationExpression of the column g uses it"),
        (ds.DeleteColumn("st.a"), "generationExpression of the column g uses it"),
        (ds.DeleteColumn("only.one"), "last column of only"),
        (ds.DeleteColumn("nope"), "There is no column nope"),
        (ds.DeleteColumn("q.x"), "q is not a struct"),
        (ds.DeleteColumn("arr.x"), "arr is an array: write arr.element"),
        (ds.DeleteColumn("arr.element"), "part of a type"),
        (ds.RenameColumn("q", "P"), "has the column p: choose another name"),
        (ds.RenameColumn("only.one", "two"), None),
        (ds.RenameColumn("p", "pp"), None),
        (ds.DeleteColumn("g"), None),
    ],
)
def test_rule_57_columns_that_others_depend_on_stay(tmp_path: Path, change: ds.TableChange, why: str | None) -> None:
    columns = (
        "p STRING, q INT, st STRUCT<a: INT, b: INT>, g INT GENERATED ALWAYS AS (st.a + 1), only STRUCT<one: INT>, "
        "arr ARRAY<STRUCT<x: INT>>"
    )
    table = table_of(tmp_path, columns, partition_by=["p"], properties=MAPPED)
    table.alter(ds.AddConstraint("c", "q > 0"))
    if why is None:
        table.alter(change)
        assert table.partition_columns == (("pp",) if "pp" in table.schema.names else ("p",))
        return
    refuses(SchemaError, re.escape(why), table.alter, change)
    assert table.version == 1


@pytest.mark.parametrize("change", [ds.DeleteColumn("c"), ds.DeleteColumn("st"), ds.DeleteColumn("st.a")])
def test_a_clustering_column_and_what_contains_one_stay(tmp_path: Path, change: ds.TableChange) -> None:
    items = "ARRAY<STRUCT<x: INT, y: INT>>"
    columns = f"id BIGINT, c INT, st STRUCT<a: INT, b: INT>, arr {items}, m MAP<INT, STRUCT<x: INT, y: INT>>"
    table = table_of(tmp_path, columns, cluster_by=["c", "st.a"], properties=MAPPED)
    refuses(SchemaError, "clustering column", table.alter, change)
    table.alter(ds.RenameColumn("c", "cc"), *map(ds.DeleteColumn, ("st.b", "arr.element.x", "m.value.x")))


@looped(
    "change, why",
    [
        (ds.AddColumn("ID", "INT"), "has the column id"),
        (ds.AddColumn("c", "INT", nullable=False), "existing rows have NULL"),
        (ds.AddColumn("c", "STRUCT<x: INT NOT NULL>"), "c.x cannot be added"),
        (ds.AddColumn("nope.x", "INT"), "no column nope"),
        (ds.AddColumn("id.x", "INT"), "is not a struct"),
        (ds.AddColumn("c", "INT", position=ds.After("zz")), "cannot be put after zz"),
        (ds.AddColumn("st.c", "INT", position=ds.After("id")), "the columns there are a, b"),
        (ds.AddColumn("c", "INT COMMENT 'x'"), "more than the type"),
        (ds.AddColumn("c", "INT, d INT"), "more than the type"),
        (ds.AddColumn("c", "QUUX"), "not a type of Delta Lake"),
        (ds.AddColumn("ntz", "TIMESTAMP_NTZ"), r"AddFeature\('timestampNtz'\)"),
        (ds.UpdateColumnNullability("id", nullable=False), "cannot be set to NOT NULL"),
        (ds.UpdateColumnComment("arr.element", "x"), "part of a type: describe arr"),
        (ds.MoveColumn("id", 5), "there are 5 columns"),
        (ds.MoveColumn("id", ds.After("a")), "the columns there are name, st, arr, m"),
    ],
)
def test_columns_that_cannot_be_are_refused_by_name(tmp_path: Path, change: ds.TableChange, why: str) -> None:
    table = table_of(tmp_path)
    refuses(SchemaError, why, table.alter, change)
    assert table.version == 0


def test_odd_characters_need_mapped_columns(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    refuses(InvalidCommit, "only mapped columns can have", lambda: table.alter(ds.AddColumn("`a b`", "INT")))
    table.alter(ds.SetProperty("delta.columnMapping.mode", "name"), ds.AddColumn("`a b`", "INT"))
    assert table.schema.names[-1] == "a b"


def test_rule_21_dropping_not_null_changes_only_metadata(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT NOT NULL, s STRUCT<a: INT NOT NULL> NOT NULL, arr ARRAY<INT>")
    table.alter(ds.UpdateColumnNullability("id", nullable=True), ds.UpdateColumnNullability("s.a", nullable=True))
    assert table.schema == parse_columns("id BIGINT, s STRUCT<a: INT> NOT NULL, arr ARRAY<INT>")
    assert info_of(table)["operation"] == "CHANGE COLUMNS"


def test_changes_are_made_in_order_and_all_or_none(tmp_path: Path) -> None:
    table = table_of(tmp_path, "a INT, b INT, c INT")
    table.alter(ds.MoveColumn("c", ds.FIRST), ds.AddColumn("d", "INT", position=ds.After("c")), ds.MoveColumn("b", 0))
    assert table.schema.names == ("b", "c", "d", "a")
    refuses(SchemaError, None, lambda: table.alter(ds.AddColumn("e", "INT"), ds.AddColumn("E", "INT")))
    assert (table.version, table.schema.names) == (1, ("b", "c", "d", "a"))


@looped(
    "changes",
    [
        [ds.DeleteColumn("zz", if_exists=True)],
        [ds.UpdateColumnComment("id", None)],
        [ds.UpdateColumnNullability("id", nullable=True)],
        [ds.MoveColumn("id", ds.FIRST)],
        [ds.UpdateColumn("id", "bigint")],
        [ds.AddFeature("appendOnly")],
        [ds.RemoveProperty("zz", if_exists=True)],
        [ds.DropConstraint("zz", if_exists=True)],
        [ds.ReplaceColumns(COLUMNS)],
        [ds.ClusterBy()],
        [ds.SetComment(None)],
        [ds.DropDefault("id")],
    ],
)
def test_a_change_that_changes_nothing_makes_no_commit(tmp_path: Path, changes: list[ds.TableChange]) -> None:
    table = table_of(tmp_path)
    assert table.alter(*changes).version is None
    assert table.version == 0


def test_replacing_columns_deletes_and_adds_and_never_renames(tmp_path: Path) -> None:
    table = table_of(tmp_path, "a INT, b INT COMMENT 'kept', st STRUCT<x: INT>", properties=MAPPED)
    before = {field.name: dict(field.metadata) for field in table.schema.fields}
    table.alter(ds.ReplaceColumns("st STRUCT<y: STRING, x: INT>, z STRING, b INT"))
    assert table.schema.names == ("st", "z", "b")
    st, z, b = table.schema.fields
    assert (b.metadata, st.metadata) == (before["b"], before["st"])
    assert [f.name for f in getattr(st.type, "fields", ())] == ["y", "x"]
    assert z.metadata["delta.columnMapping.physicalName"].startswith("col-")
    assert info_of(table)["operation"] == "REPLACE COLUMNS"
    refuses(SchemaError, "would become STRING", lambda: table.alter(ds.ReplaceColumns("st STRING")))


def test_all_columns_can_be_replaced(tmp_path: Path) -> None:
    table = table_of(tmp_path, "a INT, b INT", properties=MAPPED)
    table.alter(ds.ReplaceColumns("x INT, y INT"))
    assert table.schema.names == ("x", "y")


def test_operations_have_the_names_and_parameters_of_delta_spark(tmp_path: Path) -> None:
    table = table_of(tmp_path, properties=MAPPED)
    table.alter(ds.AddColumn("st.c", "DECIMAL(4,1)", "cm", position=ds.After("a")), ds.AddColumn("v", "VARCHAR(3)"))
    assert info_of(table)["operation"] == "ADD COLUMNS"
    assert parameters(table) == {
        "columns": [
            {
                "column": {"name": "st.c", "type": "decimal(4,1)", "nullable": True, "metadata": {"comment": "cm"}},
                "position": "AFTER a",
            },
            {"column": {"name": "v", "type": "varchar(3)", "nullable": True, "metadata": {}}},
        ]
    }
    table.alter(ds.RenameColumn("st.c", "d e"))
    assert parameters(table) == {"oldColumnPath": "st.c", "newColumnPath": "st.d e"}
    table.alter(ds.DeleteColumn("name"), ds.DeleteColumn("st.`d e`"))
    assert (info_of(table)["operation"], parameters(table)) == ("DROP COLUMNS", {"columns": ["name", "st.d e"]})
    table.alter(ds.MoveColumn("arr", ds.FIRST))
    info = info_of(table)
    assert (info["operation"], info["operationParameters"]["position"]) == ("CHANGE COLUMN", "FIRST")
    assert parameters(table)["column"]["name"] == "arr"
    assert info["isBlindAppend"] is True


def test_arguments_of_wrong_types_and_values_are_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    for make in (
        lambda: ds.AddColumn(3, "INT"),
        lambda: ds.AddColumn("c", "INT", 5),
        lambda: ds.AddColumn("c", "INT", position="FIRST"),
        lambda: ds.MoveColumn("c", None),
        lambda: ds.SetProperty("a", True),
        lambda: table.alter("ADD COLUMN c INT"),
        lambda: table.alter(ds.AddColumn("c", object())),
    ):
        refuses(InvalidArgumentType, None, make)
    for odd in (lambda: ds.AddColumn("a, b", "INT"), lambda: ds.MoveColumn("a", -1), table.alter):
        refuses(InvalidArgument, None, odd)


def test_rule_57_what_depends_on_a_column_is_not_told_by_its_name(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, q INT", properties=MAPPED)
    table.alter(ds.AddConstraint("limit of the column q", "q > 0"))
    refuses(SchemaError, "the constraint limit of the column q uses it", lambda: table.alter(ds.DeleteColumn("q")))


def test_types_of_pyspark_are_accepted(tmp_path: Path) -> None:
    types = pytest.importorskip("pyspark.sql.types")
    table = table_of(tmp_path, "id BIGINT")
    nested = types.StructType([types.StructField("x", types.StringType("UNICODE_CI"))])
    table.alter(
        ds.AddColumn("n", types.IntegerType()),
        ds.AddColumn("st", nested),
        ds.AddColumn("s", types.StringType("UTF8_LCASE")),
        ds.AddColumn("v", types.VarcharType(5)),
    )
    assert table.schema == parse_columns(
        "id BIGINT, n INT, st STRUCT<x: STRING COLLATE UNICODE_CI>, s STRING COLLATE UTF8_LCASE, v VARCHAR(5)"
    )


@looped(
    "arguments, path, kind, comment",
    [
        (("a", "INT", "where"), ("a",), "INT", "where"),
        (("a", "DATE", "date"), ("a",), "DATE", "date"),
        ((("a", "b"), "DATE", "int"), ("a", "b"), "DATE", "int"),
        ((["a", "b"], "INT", "where"), ("a", "b"), "INT", "where"),
        (("a", pa.int32(), "int"), ("a",), pa.int32(), "int"),
        (("a", "b", "INT"), ("a", "b"), "INT", None),
        (("a.c", "b", "DECIMAL(4, 2)"), ("a", "c", "b"), "DECIMAL(4, 2)", None),
        ((["a"], "date", "INT"), ("a", "date"), "INT", None),
        (([], "b", "INT"), ("b",), "INT", None),
        (((), "date", "INT"), ("date",), "INT", None),
        ((["a"], "date", pa.int32()), ("a", "date"), pa.int32(), None),
        (("a", "b", pa.int32(), "where"), ("a", "b"), pa.int32(), "where"),
    ],
)
def test_the_first_three_arguments_of_the_spip_are_told_from_column_type_and_comment(
    arguments: tuple[Any, ...], path: tuple[str, ...], kind: object, comment: str | None
) -> None:
    change = ds.AddColumn(*arguments)
    assert (change.column, change.type, change.comment) == (path, kind, comment)


@pytest.mark.parametrize(
    "nested",
    ["STRUCT<id: INT, c: INT>", "STRUCT<c: STRUCT<c: INT, id: INT>>", "ARRAY<STRUCT<id: INT>>",
     "MAP<STRING, STRUCT<c: ARRAY<STRUCT<c: INT>>>>"],
)  # fmt: skip
def test_fields_of_one_name_in_several_structs_keep_their_ids(tmp_path: Path, nested: str) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", f"id BIGINT, c {nested}")
    table.append(pa.table({"id": [1]}))
    # The physical names are the names that the columns had, which are not unique at all depths.
    table.alter(ds.SetProperty("delta.columnMapping.mode", "name"))
    table.alter(ds.RenameColumn("id", "key"))
    table.alter(ds.AddColumn("d", "INT"))
    table.alter(ds.DeleteColumn("d"))
    table.append(pa.table({"key": [2], "e": ["x"]}), schema_mode="merge")
    rows = sorted(table.scan(columns=["key", "e"]).to_arrow().to_pylist(), key=lambda row: row["key"])
    assert rows == [{"key": 1, "e": None}, {"key": 2, "e": "x"}]

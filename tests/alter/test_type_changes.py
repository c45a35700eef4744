"""Types that become wider, lengths of texts, and defaults."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import SchemaError
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.types.json import CHAR_VARCHAR_KEY
from tests.alter.test_column_changes import table_of
from tests.dml.tables import info_of
from tests.each import refuses
from tests.looped import looped

WIDENING = {"delta.enableTypeWidening": "true"}
NTZ = {**WIDENING, "delta.feature.timestampNtz": "supported"}
COLUMNS = (
    "b TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DATE, dec DECIMAL(10,2), a ARRAY<INT>, m MAP<INT, INT>, "
    "st STRUCT<x: INT>, aa ARRAY<ARRAY<INT>>, str STRING, ident BIGINT GENERATED ALWAYS AS IDENTITY, "
    "vc VARCHAR(5), ch CHAR(3)"
)
# Each pair that the protocol allows (Type Widening), beside those that it does not.
ALLOWED = {
    "b": ["SMALLINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(10,0)", "DECIMAL(12,2)"],
    "s": ["INT", "BIGINT", "DOUBLE", "DECIMAL(10,0)"],
    "i": ["BIGINT", "DOUBLE", "DECIMAL(10,0)", "DECIMAL(38,28)"],
    "l": ["DECIMAL(20,0)", "DECIMAL(22,2)"],
    "f": ["DOUBLE"],
    "d": ["TIMESTAMP_NTZ"],
    "dec": ["DECIMAL(11,2)", "DECIMAL(12,3)", "DECIMAL(38,2)"],
}
REFUSED = {
    "b": ["FLOAT", "STRING", "DECIMAL(9,0)"],
    "i": ["SMALLINT", "FLOAT", "STRING", "TIMESTAMP", "DECIMAL(10,1)"],
    "l": ["INT", "DOUBLE", "DECIMAL(19,0)"],
    "f": ["DECIMAL(38,10)", "STRING"],
    "d": ["TIMESTAMP", "STRING"],
    "dec": ["DECIMAL(10,3)", "DECIMAL(9,2)", "DECIMAL(12,5)", "DOUBLE"],
    "str": ["INT", "VARCHAR(5)", "CHAR(5)"],
    "vc": ["VARCHAR(4)", "CHAR(9)"],
    "ch": ["CHAR(5)", "CHAR(2)", "VARCHAR(2)"],
}


def changes_of(table: ds.DeltaTable, column: str) -> Any:
    field = next(field for field in table.schema.fields if field.name == column)
    return field.metadata.get("delta.typeChanges")


@looped("column, wider", [(c, t) for c, types in ALLOWED.items() for t in types])
def test_rule_30_every_widening_of_the_protocol_is_recorded(tmp_path: Path, column: str, wider: str) -> None:
    table = table_of(tmp_path, COLUMNS, properties=NTZ)
    before = {field.name: field.type for field in table.schema.fields}
    assert table.alter(ds.UpdateColumn(column, wider)).operation == "CHANGE COLUMN"
    after = next(field for field in table.schema.fields if field.name == column)
    assert after.type == parse_columns(f"c {wider}").fields[0].type
    [change] = changes_of(table, column)
    assert sorted(change) == ["fromType", "toType"]
    assert before[column] != after.type


@looped("column, type_", [(c, t) for c, types in REFUSED.items() for t in types])
def test_rule_30_other_changes_are_refused_by_name(tmp_path: Path, column: str, type_: str) -> None:
    table = table_of(tmp_path, COLUMNS, properties=NTZ)
    with pytest.raises(SchemaError, match=rf"^{column} of .* cannot change its type from .* to .*, because "):
        table.alter(ds.UpdateColumn(column, type_))
    assert table.version == 0


def test_rule_30_nested_types_have_a_field_path_on_the_nearest_field(tmp_path: Path) -> None:
    table = table_of(tmp_path, COLUMNS, properties=WIDENING)
    paths = ("a.element", "m.key", "m.value", "aa.element.element")
    table.alter(*(ds.UpdateColumn(path, "BIGINT") for path in paths), ds.UpdateColumn("st.x", "BIGINT"))
    wide = {"toType": "long", "fromType": "integer"}
    assert changes_of(table, "a") == [{**wide, "fieldPath": "element"}]
    assert changes_of(table, "m") == [{**wide, "fieldPath": "key"}, {**wide, "fieldPath": "value"}]
    assert changes_of(table, "aa") == [{**wide, "fieldPath": "element.element"}]
    [x] = next(field.type for field in table.schema.fields if field.name == "st").fields  # type: ignore[attr-defined]
    assert x.metadata["delta.typeChanges"] == [wide]
    assert changes_of(table, "st") is None
    assert info_of(table)["operation"] == "CHANGE COLUMNS"


def test_rule_30_changes_of_one_column_follow_each_other(tmp_path: Path) -> None:
    table = table_of(tmp_path, COLUMNS, properties=WIDENING)
    table.alter(ds.UpdateColumn("b", "SMALLINT"), ds.UpdateColumn("b", "BIGINT"))
    table.alter(ds.UpdateColumn("b", "DECIMAL(20,0)"))
    steps = [(change["fromType"], change["toType"]) for change in changes_of(table, "b")]
    assert steps == [("byte", "short"), ("short", "long"), ("long", "decimal(20,0)")]


def test_rule_30_widening_needs_its_property_and_date_to_ntz_the_feature(tmp_path: Path) -> None:
    table = table_of(tmp_path, COLUMNS)
    with pytest.raises(SchemaError, match=r"set its property delta\.enableTypeWidening to true before"):
        table.alter(ds.UpdateColumn("i", "BIGINT"))
    table.alter(ds.SetProperty("delta.enableTypeWidening", "true"), ds.UpdateColumn("i", "BIGINT"))
    assert "typeWidening" in (table.protocol.reader_features or ())
    refuses(SchemaError, r"AddFeature\('timestampNtz'\)", lambda: table.alter(ds.UpdateColumn("d", "TIMESTAMP_NTZ")))
    table.alter(ds.AddFeature("timestampNtz"), ds.UpdateColumn("d", "TIMESTAMP_NTZ"))


def test_rule_30_columns_of_expressions_keep_their_type(tmp_path: Path) -> None:
    columns = "b INT, s SMALLINT, g INT GENERATED ALWAYS AS (b + 1), p INT, i BIGINT GENERATED ALWAYS AS IDENTITY"
    table = table_of(tmp_path, columns, partition_by=["p"], properties=WIDENING)
    table.alter(ds.AddConstraint("c", "s > 0"))
    for column, why in (("b", "column g uses it"), ("s", "constraint c uses it"), ("g", "it is generated")):
        with pytest.raises(SchemaError, match=why):
            table.alter(ds.UpdateColumn(column, "BIGINT"))
    with pytest.raises(SchemaError, match="identity column, which must be BIGINT"):
        table.alter(ds.UpdateColumn("i", "DECIMAL(20,0)"))
    table.append(
        pa.table({"p": pa.array([7], pa.int32()), "b": pa.array([1], pa.int32()), "s": pa.array([1], pa.int16())})
    )
    table.alter(ds.UpdateColumn("p", "BIGINT"))
    assert table.scan("p = 7").count() == 1


def test_statistics_of_narrower_files_serve_the_wider_type(tmp_path: Path) -> None:
    table = table_of(tmp_path, "i INT, v DOUBLE", properties=WIDENING)
    table.append(pa.table({"i": pa.array([1, 5], pa.int32())}))
    table.alter(ds.UpdateColumn("i", "BIGINT"))
    table.append(pa.table({"i": [10_000_000_000]}))
    assert table.scan("i > 5").files().num_rows == 1
    assert table.scan("i = 5").files().num_rows == 1
    assert table.scan().max("i") == 10_000_000_000


@pytest.mark.parametrize(
    ("column", "new", "declared"),
    [
        ("vc", "VARCHAR(10)", "varchar(10)"),
        ("vc", "STRING", None),
        ("ch", "VARCHAR(5)", "varchar(5)"),
        ("ch", "STRING", None),
    ],
)
def test_rule_29_lengths_only_grow(tmp_path: Path, column: str, new: str, declared: str | None) -> None:
    table = table_of(tmp_path, COLUMNS)
    table.alter(ds.UpdateColumn(column, new))
    field = next(field for field in table.schema.fields if field.name == column)
    assert field.metadata.get(CHAR_VARCHAR_KEY) == declared
    assert changes_of(table, column) is None


def test_rule_29_lengths_of_a_struct_stay_through_changes_of_its_other_fields(tmp_path: Path) -> None:
    table = table_of(
        tmp_path,
        "st STRUCT<a: VARCHAR(3), b: ARRAY<CHAR(2)>, c: INT>, id INT",
        properties={"delta.columnMapping.mode": "name"},
    )
    table.alter(
        ds.RenameColumn("st.a", "A1"),
        ds.AddColumn("st.n", "INT", position=ds.FIRST),
        ds.DeleteColumn("st.c"),
        ds.UpdateColumn("st.A1", "VARCHAR(4)"),
        ds.MoveColumn("st.b", ds.FIRST),
    )
    assert table.schema.fields[0].metadata[CHAR_VARCHAR_KEY] == "struct<b:array<char(2)>,n:int,A1:varchar(4)>"
    refuses(ds.RowViolation, r"varchar\(4\)", table.append, pa.table({"st": [{"A1": "abcde"}]}))


def test_the_collation_of_a_column_cannot_be_changed(tmp_path: Path) -> None:
    table = table_of(tmp_path, "s STRING, c STRING COLLATE UNICODE_CI, a ARRAY<STRING COLLATE UTF8_LCASE>")
    for column, new in (
        ("s", "STRING COLLATE UNICODE_CI"),
        ("c", "STRING"),
        ("c", "STRING COLLATE UTF8_LCASE"),
        ("a.element", "STRING"),
    ):
        with pytest.raises(SchemaError, match=r"collation of .* cannot be changed"):
            table.alter(ds.UpdateColumn(column, new))
    assert table.alter(ds.UpdateColumn("c", "STRING COLLATE UNICODE_CI")).version is None
    assert table.alter(ds.UpdateColumn("a.element", "STRING COLLATE UTF8_LCASE")).version is None


def test_whole_structs_arrays_and_maps_are_changed_part_by_part(tmp_path: Path) -> None:
    table = table_of(tmp_path, COLUMNS, properties=WIDENING)
    for column, new in (("a", "ARRAY<BIGINT>"), ("st", "STRUCT<x: INT, y: INT>"), ("m", "INT"), ("i", "ARRAY<INT>")):
        with pytest.raises(SchemaError, match="change the fields, elements, keys or values"):
            table.alter(ds.UpdateColumn(column, new))
    assert table.alter(ds.UpdateColumn("a", "ARRAY<INT>")).version is None


def test_rule_28_defaults_are_set_for_rows_to_come(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, s STRING")
    refuses(SchemaError, r"AddFeature\('allowColumnDefaults'\)", lambda: table.alter(ds.SetDefault("s", "'x'")))
    table.append(pa.table({"id": [1]}))
    table.alter(ds.AddFeature("allowColumnDefaults"), ds.SetDefault("s", "concat('a',  'b')"))
    assert table.schema.fields[1].metadata == {"CURRENT_DEFAULT": "concat('a',  'b')"}
    table.append(pa.table({"id": [2]}))
    assert (table.scan("s = 'ab'").files().num_rows, table.scan("s IS NULL").files().num_rows) == (1, 1)
    table.alter(ds.DropDefault("s"))
    assert table.schema.fields[1].metadata == {}


@looped(
    "column, expression, why",
    [
        ("s", "id", "cannot use columns"),
        ("s", "localtimestamp", "cannot use columns"),
        ("s", "uuid()", "uuid() has not"),
        ("id", "if(rand() > 2, 1, 2)", "rand() has not"),
        ("id", "sum(1)", "sum(1) has not"),
        ("id", "'abc'", "BIGINT"),
        ("tiny", "500", "does not fit"),
        ("s", "(SELECT 1)", "cannot contain a query"),
        ("s", "", "not an SQL expression"),
        ("s", "1 +", "not an SQL expression"),
        ("day", "5", "DATE"),
        ("ident", "3", "identity column"),
        ("g", "3", "generated"),
        ("st.x", "3", "only top-level"),
        ("v", "1", "only have the default NULL"),
        ("nope", "3", "no column nope"),
    ],
)
def test_rule_28_defaults_of_no_row_are_refused(tmp_path: Path, column: str, expression: str, why: str) -> None:
    columns = (
        "id BIGINT, s STRING, tiny TINYINT, day DATE, ident BIGINT GENERATED ALWAYS AS IDENTITY, "
        "g BIGINT GENERATED ALWAYS AS (id + 1), st STRUCT<x: INT>, v VARIANT"
    )
    table = table_of(tmp_path, columns, properties={"delta.feature.allowColumnDefaults": "supported"})
    refuses(SchemaError, re.escape(why), lambda: table.alter(ds.SetDefault(column, expression)))


@pytest.mark.parametrize(
    ("column", "expression"),
    [
        *(("day", "current_date()"), ("day", "current_date"), ("n", "NULL"), ("n", "5 * 2")),
        *(("s", "user"), ("s", "current_user()"), ("s", "current_database()"), ("s", "now()")),
    ],
)
def test_rule_28_constants_and_the_clock_are_defaults(tmp_path: Path, column: str, expression: str) -> None:
    supported = {"delta.feature.allowColumnDefaults": "supported"}
    table = table_of(tmp_path, "day DATE, n INT NOT NULL, id INT, s STRING", properties=supported)
    table.alter(ds.SetDefault(column, expression))

"""ALTER TABLE statements as changes."""

from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.alter.alter_sql import parse_alter
from deltaskip.errors import SchemaError
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.dml.tables import info_of
from tests.looped import looped


@looped(
    "statement, changes",
    [
        ("ADD COLUMN c INT", [ds.AddColumn("c", "INT")]),
        ("add columns c int, d string first",
            [ds.AddColumn("c", "int"), ds.AddColumn("d", "string", position=ds.FIRST)]),
        ("ADD COLUMNS (`a b` DECIMAL(10,2) COMMENT 'x, y' AFTER `c d`, st.element.e ARRAY<INT>);",
            [ds.AddColumn("`a b`", "DECIMAL(10,2)", "x, y", position=ds.After("c d")),
            ds.AddColumn("st.element.e", "ARRAY<INT>")]),
        ("ADD COLUMN c INT NOT NULL", [ds.AddColumn("c", "INT", nullable=False)]),
        ("/* now */ ADD -- a comment\nCOLUMN c STRING COLLATE UNICODE_CI",
            [ds.AddColumn("c", "STRING COLLATE UNICODE_CI")]),
        ("RENAME COLUMN a.b TO `c d`", [ds.RenameColumn("a.b", "c d")]),
        ("DROP COLUMN a", [ds.DeleteColumn("a")]),
        ("DROP COLUMNS IF EXISTS (a, b.c)", [ds.DeleteColumn("a", True), ds.DeleteColumn("b.c", True)]),
        ("DROP COLUMNS a, b", [ds.DeleteColumn("a"), ds.DeleteColumn("b")]),
        ("ALTER COLUMN a TYPE DECIMAL(12, 4)", [ds.UpdateColumn("a", "DECIMAL(12, 4)")]),
        ("ALTER a COMMENT 'it''s'", [ds.UpdateColumnComment("a", "it's")]),
        ("CHANGE COLUMN a.b FIRST", [ds.MoveColumn("a.b", ds.FIRST)]),
        ("ALTER COLUMN a AFTER b", [ds.MoveColumn("a", ds.After("b"))]),
        ("ALTER COLUMN a SET NOT NULL", [ds.UpdateColumnNullability("a", nullable=False)]),
        ("ALTER COLUMN a DROP NOT NULL", [ds.UpdateColumnNullability("a", nullable=True)]),
        ("ALTER COLUMN a SET DEFAULT cast( 5 AS INT )", [ds.SetDefault("a", "cast( 5 AS INT )")]),
        ("ALTER COLUMN a DROP DEFAULT", [ds.DropDefault("a")]),
        ("ALTER COLUMN a SYNC IDENTITY", [ds.SyncIdentity("a")]),
        ("ALTER COLUMN a COMMENT 'x', b TYPE INT", [ds.UpdateColumnComment("a", "x"), ds.UpdateColumn("b", "INT")]),
        ("CHANGE COLUMN id ID BIGINT COMMENT 'y' FIRST",
            [ds.UpdateColumn("id", "BIGINT"), ds.UpdateColumnComment("id", "y"), ds.MoveColumn("id", ds.FIRST)]),
        ("REPLACE COLUMNS (a INT, b VARCHAR(5) COMMENT 'c')",
            [ds.ReplaceColumns(parse_columns("a INT, b VARCHAR(5) COMMENT 'c'"))]),
        ("SET TBLPROPERTIES ('delta.appendOnly' = 'true', k = 1, delta.x.y TRUE, 'z' 2.5)",
            [ds.SetProperty("delta.appendOnly", "true"), ds.SetProperty("k", "1"), ds.SetProperty("delta.x.y", "true"),
            ds.SetProperty("z", "2.5")]),
        ("UNSET TBLPROPERTIES IF EXISTS ('a', b.c)", [ds.RemoveProperty("a", True), ds.RemoveProperty("b.c", True)]),
        ("UNSET TBLPROPERTIES ('a')", [ds.RemoveProperty("a", True)]),
        ("ADD CONSTRAINT `we ird` CHECK ( id   >  0 /* x */ AND f(')') )",
            [ds.AddConstraint("we ird", "id   >  0 /* x */ AND f(')')")]),
        ("DROP CONSTRAINT IF EXISTS c", [ds.DropConstraint("c", True)]),
        ("DROP CONSTRAINT c", [ds.DropConstraint("c")]),
        ("CLUSTER BY (a, st.b)", [ds.ClusterBy("a", "st.b")]),
        ("CLUSTER BY NONE", [ds.ClusterBy()]),
        ("DROP FEATURE deletionVectors", [ds.DropFeature("deletionVectors")]),
        ("drop feature typeWidening truncate history", [ds.DropFeature("typeWidening", True)]),
    ],
)  # fmt: skip
def test_a_statement_is_its_changes(statement: str, changes: list[ds.TableChange]) -> None:
    assert parse_alter(statement) == tuple(changes)


@looped(
    "statement, why",
    [
        ("", "statement is empty"),
        (" -- nothing", "statement is empty"),
        ("ALTER TABLE t ADD COLUMN c INT", "without ALTER TABLE"),
        ("ADD COLUMN c", "type is missing"),
        ("ADD COLUMN c INT DEFAULT 5", "SET DEFAULT"),
        ("ADD COLUMN c BIGINT GENERATED ALWAYS AS IDENTITY", "cannot be added"),
        ("ADD COLUMNS (c INT", "is expected"),
        ("ADD COLUMN c INT d INT", "not an option"),
        ("ADD CONSTRAINT c PRIMARY KEY (a)", "only CHECK"),
        ("ADD CONSTRAINT a.b CHECK (id > 0)", "only CHECK"),
        ("ADD CONSTRAINT c CHECK ()", "empty"),
        ("RENAME TO x", "write ADD COLUMN"),
        ("CHANGE COLUMN id id2 BIGINT", "RENAME COLUMN"),
        ("SET TBLPROPERTIES ('x')", "needs a value"),
        ("SET TBLPROPERTIES ()", "expected|name"),
        ("DROP COLUMN a; DROP COLUMN b", "unexpected"),
        ("DROP TABLE", "write DROP COLUMN"),
        ("ALTER COLUMN a SET", "write SET"),
        ("ALTER COLUMN a COMMENT NULL", "string in quotes"),
        ("CLUSTER BY a", "expected"),
        ("DROP FEATURE", "missing"),
        ("ADD COLUMN `c INT", "quote is not closed"),
    ],
)
def test_other_text_is_refused_with_its_place(statement: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        parse_alter(statement)


def test_statements_alter_the_table(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, b INT")
    assert table.alter_sql("ADD COLUMN c INT AFTER id", user_metadata="ticket 5").operation == "ADD COLUMNS"
    assert table.schema.names == ("id", "c", "b")
    assert info_of(table)["userMetadata"] == "ticket 5"


def test_rule_24_expressions_are_stored_as_typed(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, ts TIMESTAMP")
    table.alter_sql("ADD CONSTRAINT Recent CHECK ( cast(ts as date)   > '2020-01-01' /* x */ )")
    assert table.properties == {"delta.constraints.recent": "cast(ts as date)   > '2020-01-01' /* x */"}

"""Schemas that no commit may set, by themselves and after the schema that the table has."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltaskip as ds
from deltaskip.schema.type_widening import is_widening
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.json import simple_string
from tests.looped import looped
from tests.txn.tables import SCHEMA, append, file, gone, make_table
from tests.txn.validation.cases import Case, changed, check, check_each, column, vector

STRUCT = t.StructType((t.StructField("x", t.LONG), t.StructField("y", t.STRING)))


def more(*fields: t.StructField) -> t.StructType:
    """The usual schema with more columns."""
    return t.StructType((*SCHEMA.fields, *fields))


def only(*fields: t.StructField) -> t.StructType:
    """A schema of these columns."""
    return t.StructType(fields)


def collated(**declared: str) -> t.StructType:
    """The usual schema with collations of a column of texts and one of nested ones."""
    nested = t.MapType(t.STRING, t.ArrayType(t.STRING))
    return more(t.StructField("t", t.STRING, True, {"__COLLATIONS": declared}) if "t" in declared else column("t",
        t.STRING),
                t.StructField("m", nested, True,
                    {"__COLLATIONS": declared} if "t" not in declared else {}))  # fmt: skip


COLLATIONS: dict[str, Any] = {"features": ["collations", "domainMetadata"]}
IDENTITIES: dict[str, Any] = {"features": ["identityColumns"]}
CHECKS: dict[str, Any] = {"features": ["checkConstraints"]}
GENERATED: dict[str, Any] = {"features": ["generatedColumns"]}
DEFAULTS: dict[str, Any] = {"features": ["allowColumnDefaults"]}
INVARIANT = '{"expression":{"expression":"id > 0"}}'
IDENTITY: dict[str, Any] = {
    "delta__identity__start": 1,
    "delta__identity__step": 1,
    "delta__identity__allowExplicitInsert": False,
}

SHAPES = {
    "new column": Case(changed(more(column("more")))),
    "no columns": Case(changed(t.StructType(()))),
    "not JSON": Case(changed(schema_string="{"), "schema.json"),
    "empty text": Case(changed(schema_string=""), "schema.json"),
    "no schema": Case(changed(schema_string=None)),
    "no type": Case(changed(schema_string="[]"), "schema.json"),
    "a type that is no struct": Case(changed(schema_string='"long"'), "schema.json"),
    "a decimal too wide": Case(changed(schema_string=json.dumps({"type": "struct", "fields": [
        {"name": "d", "type": "decimal(39,1)", "nullable": True, "metadata": {}}]})), "schema.json"),
    "one column twice": Case(changed(more(column("id"))), "schema.duplicates", "id twice"),
    "one column twice by letter case": Case(changed(more(column("ID"))), "schema.duplicates"),
    "one field twice": Case(changed(more(column("s", only(column("x"), column("X"))))), "schema.duplicates",
        "s.x twice"),
    "one field twice, deep": Case(changed(more(column("s", t.MapType(t.STRING,
        t.ArrayType(only(column("x"), column("x"))))))), "schema.duplicates"),
    "no name": Case(changed(more(column(""))), "schema.names"),
    "blank in a name": Case(changed(more(column("a b"))), "schema.names", "column mapping"),
    "comma in a field's name": Case(changed(more(column("s", only(column("x,y"))))), "schema.names"),
    "dot in a name": Case(changed(more(column("a.b")))),
    "unicode in a name": Case(changed(more(column("größe")))),
    "a name of the feed": Case(changed(more(column("_Change_Type"))), "schema.reserved", "change data feed",
        properties={"delta.enableChangeDataFeed": "true"}, features=["changeDataFeed"]),
    "the feed over a name": Case(changed(properties={"delta.enableChangeDataFeed": "true"}), "schema.reserved",
        schema=only(column("id"), column("_commit_version")), features=["changeDataFeed"]),
    "a name of the feed without feed": Case(changed(more(column("_change_type")))),
    "a name of row tracking": Case(changed(more(column("_ROW"))), "schema.reserved", "row tracking",
        properties={"delta.rowTracking.materializedRowIdColumnName": "_row"}),
    "unknown type": Case(changed(more(column("g", t.UnknownType('"point"')))), "schema.types", "point"),
    "void": Case(changed(more(column("v", t.VOID)))),
    "void in an array": Case(changed(more(column("v", t.ArrayType(t.VOID)))), "schema.types", "void"),
    "void in a map": Case(changed(more(column("v", t.MapType(t.STRING, t.VOID)))), "schema.types", "void"),
    "unknown partition column": Case(changed(partition_by=["nowhere"]), "metadata.partitioning", "unknown column"),
    "partition column in other case": Case(changed(partition_by=["PART"]), "metadata.partitioning"),
    "partition column twice": Case(changed(partition_by=["part", "part"]), "metadata.partitioning", "twice"),
    "all columns partition": Case(changed(partition_by=["id", "name", "part"]), "metadata.partitioning", "all columns"),
    "partition column of an array": Case(changed(more(column("a", t.ArrayType(t.LONG))), ["a"]),
        "metadata.partitioning", "array<bigint>"),
    "partition column of a struct": Case(changed(more(column("a", STRUCT)), ["a"]), "metadata.partitioning"),
    "partition column of void": Case(changed(more(column("a", t.VOID)), ["a"]), "metadata.partitioning"),
    "partition column of a variant": Case(changed(more(column("a", t.VARIANT)), ["a"]), "metadata.partitioning",
        features=["variantType"]),
    "partition columns of an empty table": Case(changed(partition_by=["part"])),
    "another id": Case(changed(id="another"), "metadata.id"),
    "another format": Case(changed(format=ds.actions.Format("orc")), "metadata.format", "orc"),
    "a name that is a number": Case(changed(name=5), "commit.actions"),
    # Collations
    "collation": Case(changed(collated(t="icu.UNICODE_CI")), **COLLATIONS),
    "collation in other letter case": Case(changed(collated(t="ICU.de_CI")), **COLLATIONS),
    "collation of the other provider": Case(changed(collated(t="spark.UNICODE")), **COLLATIONS),
    "collation of a locale that only ICU names": Case(changed(collated(t="ICU.de_DE")), "schema.collations",
        "write icu.de (rule", **COLLATIONS),
    "collation of an unknown provider": Case(changed(collated(t="x.UNICODE")), "schema.collations",
        "provider 'x' no reader knows", **COLLATIONS),
    "unknown collation of ICU": Case(changed(collated(t="icu.nope")), "schema.collations", "Spark does not know",
        **COLLATIONS),
    "unknown collation of Spark": Case(changed(collated(**{"m.value.element": "spark.nope"})), "schema.collations",
        "Spark does not know", **COLLATIONS),
    "collation of a key": Case(changed(collated(**{"m.key": "icu.UNICODE"})), **COLLATIONS),
    "collation of an element": Case(changed(collated(**{"m.value.element": "spark.UTF8_LCASE"})), **COLLATIONS),
    "default collation": Case(changed(collated(t="spark.UTF8_BINARY")), "schema.collations", "default", **COLLATIONS),
    "default collation in lower case": Case(changed(collated(t="SPARK.utf8_binary")), "schema.collations",
        **COLLATIONS),
    "collation with version": Case(changed(collated(t="icu.UNICODE.77.1")), "schema.collations", "version",
        **COLLATIONS),
    "collation without provider": Case(changed(collated(t="UNICODE")), "schema.collations", "provider", **COLLATIONS),
    "empty collation": Case(changed(collated(t="")), "schema.collations", **COLLATIONS),
    "collation of no string": Case(changed(collated(**{"m.value": "icu.UNICODE"})), "schema.json", "only strings",
        **COLLATIONS),
    "collation of nothing": Case(changed(collated(**{"m.element": "icu.UNICODE"})), "schema.collations", "no string",
        **COLLATIONS),
    # Identity
    "identity": Case(changed(more(column("i", **IDENTITY))), **IDENTITIES),
    "identity without step": Case(changed(more(column("i", delta__identity__start=1))), "schema.identity", "step",
        **IDENTITIES),
    "identity with step 0": Case(changed(more(column("i", **{**IDENTITY, "delta__identity__step": 0}))),
        "schema.identity", **IDENTITIES),
    "identity of text": Case(changed(more(column("i", **{**IDENTITY, "delta__identity__start": "1"}))),
        "schema.identity", **IDENTITIES),
    "identity without allowExplicitInsert": Case(changed(more(
        column("i", delta__identity__start=1, delta__identity__step=1))), "schema.identity", **IDENTITIES),
    "identity of int": Case(changed(more(column("i", t.INTEGER, **IDENTITY))), "schema.identity", "bigint",
        **IDENTITIES),
    "identity in a struct": Case(changed(more(column("s", only(column("i", **IDENTITY))))), "schema.identity",
        **IDENTITIES),
    "identity that partitions": Case(changed(more(column("i", **IDENTITY)), ["i"]), "schema.identity", **IDENTITIES),
    "identity with a mark before its start": Case(changed(more(
        column("i", **IDENTITY, delta__identity__highWaterMark=0))), "schema.identity", "before the start",
        **IDENTITIES),
    # Expressions
    "generated": Case(changed(more(column("g", delta__generationExpression="id + 1"))), **GENERATED),
    "generated from nothing": Case(changed(more(column("g", delta__generationExpression="nowhere + 1"))),
        "schema.expressions", "nowhere", **GENERATED),
    "generated from a generated one": Case(changed(more(column("g", delta__generationExpression="id"), column("h",
        delta__generationExpression="G"))), "schema.expressions", "generated column", **GENERATED),
    "generated from itself": Case(changed(more(column("g", delta__generationExpression="g + 1"))), "schema.expressions",
        **GENERATED),
    "generated, half": Case(changed(more(column("g", delta__generationExpression="id +"))), "schema.expressions",
        "parsed", **GENERATED),
    "generated by a number": Case(changed(more(column("g", delta__generationExpression=5))), "schema.expressions",
        **GENERATED),
    "invariant": Case(changed(more(column("g", delta__invariants=INVARIANT))), features=["invariants"]),
    "invariant without JSON": Case(changed(more(column("g", delta__invariants="id > 0"))), "schema.expressions",
        features=["invariants"]),
    "check": Case(changed(properties={"delta.constraints.c": "id > 0 AND name <> ''"}), **CHECKS),
    "check of a field": Case(changed(more(column("s", STRUCT)), properties={"delta.constraints.c": "s.x > 0"}),
        **CHECKS),
    "check of no field": Case(changed(more(column("s", STRUCT)), properties={"delta.constraints.c": "s.z > 0"}),
        "schema.expressions", "s.z", **CHECKS),
    "check, half": Case(changed(properties={"delta.constraints.c": "id > 0)"}), "schema.expressions", **CHECKS),
    "empty check": Case(changed(properties={"delta.constraints.c": ""}), "schema.expressions", **CHECKS),
    "check of nothing": Case(changed(properties={"delta.constraints.c": "idd > 0"}), "schema.expressions", "idd",
        **CHECKS),
    "check without a name": Case(changed(properties={"delta.constraints.": "id > 0"}), "schema.expressions",
        "without a name", **CHECKS),
    "one check twice": Case(changed(properties={"delta.constraints.c": "id > 0", "delta.constraints.C": "id > 1"}),
        "schema.expressions", "twice", **CHECKS),
    "default": Case(changed(more(column("d", CURRENT_DEFAULT="5"))), **DEFAULTS),
    "default, half": Case(changed(more(column("d", CURRENT_DEFAULT="5 +"))), "schema.expressions", **DEFAULTS),
    "default of a column": Case(changed(more(column("d", CURRENT_DEFAULT="id"))), "schema.expressions", "other columns",
        **DEFAULTS),
}  # fmt: skip


def test_a_schema_is_one_that_every_reader_takes(tmp_path: Path) -> None:
    check_each(SHAPES, tmp_path)


def test_what_is_wrong_already_stops_no_other_change(tmp_path: Path) -> None:
    wrong = more(column("ID"), column("a b"), column("t", t.STRING, __COLLATIONS={"t": "UNICODE"}))
    check(Case(changed(properties={"x": "y"}), schema=wrong, **COLLATIONS), tmp_path / "a")
    check(Case(changed(t.StructType((*wrong.fields, column("new")))), schema=wrong, **COLLATIONS), tmp_path / "b")
    again = t.StructType((*wrong.fields, column("Name")))
    check(Case(changed(again), "schema.duplicates", "name", schema=wrong, **COLLATIONS), tmp_path / "c")


WIDENING: dict[str, Any] = {"properties": {"delta.enableTypeWidening": "true"}, "features": ["typeWidening"]}


def widened(old: Any, new: Any, *changes: Any, path: str | None = None) -> dict[str, Any]:
    """A case that changes the type of a column, with these entries of delta.typeChanges."""
    listed = []
    for before, after in changes:
        entry = {"fromType": before, "toType": after}
        listed.append(entry if path is None else {**entry, "fieldPath": path})
    metadata = {"delta__typeChanges": listed} if listed else {}
    return {
        "schema": more(column("c", old)), "files": [file("a")],
        "act": changed(more(column("c", new, **metadata))),
    }  # fmt: skip


INT_LONG = ("integer", "long")
CHANGES = {
    "recorded": Case(**widened(t.INTEGER, t.LONG, INT_LONG), **WIDENING),
    "in two steps": Case(**widened(t.SHORT, t.LONG, ("short", "integer"), INT_LONG), **WIDENING),
    "of an element": Case(**widened(t.ArrayType(t.INTEGER), t.ArrayType(t.LONG), INT_LONG, path="element"), **WIDENING),
    "of a key": Case(**widened(t.MapType(t.INTEGER, t.STRING), t.MapType(t.LONG, t.STRING), INT_LONG, path="key"),
        **WIDENING),
    "not recorded": Case(**widened(t.INTEGER, t.LONG), rule="schema.type-changes", says="leads to integer", **WIDENING),
    "of an element, recorded for the column": Case(**widened(t.ArrayType(t.INTEGER), t.ArrayType(t.LONG), INT_LONG),
        rule="schema.type-changes", **WIDENING),
    "recorded, not made": Case(**widened(t.LONG, t.LONG, INT_LONG), rule="schema.type-changes", says="claims",
        **WIDENING),
    "recorded halfway": Case(**widened(t.SHORT, t.LONG, ("short", "integer")), rule="schema.type-changes",
        says="leads to integer", **WIDENING),
    "recorded from another type": Case(**widened(t.INTEGER, t.LONG, ("short", "long")), rule="schema.type-changes",
        says="its type was integer", **WIDENING),
    "claimed and not allowed": Case(**widened(t.LONG, t.INTEGER, ("long", "integer")), rule="schema.existing-files",
        says="changes the type", **WIDENING),
    "to text, as claimed": Case(**widened(t.INTEGER, t.STRING, ("integer", "string")), rule="schema.existing-files",
        **WIDENING),
    "roundabout": Case(**widened(t.INTEGER, t.LONG, ("integer", "string"), ("string", "long")),
        rule="schema.type-changes", says="not allowed", **WIDENING),
    "not enabled": Case(**widened(t.INTEGER, t.LONG, INT_LONG), rule="schema.existing-files",
        says="delta.enableTypeWidening", features=["typeWidening"]),
    "malformed entries": Case(changed(more(column("c", t.LONG, delta__typeChanges="integer"))), "schema.type-changes",
        "list of objects", schema=more(column("c", t.INTEGER)), files=[file("a")], **WIDENING),
    "of a new column": Case(changed(more(column("c", t.LONG, delta__typeChanges=[{"fromType": "integer",
        "toType": "long"}]))), files=[file("a")], **WIDENING),
    "entries dropped": Case(changed(more(column("c"))), "schema.type-changes", "drops entries", files=[file("a")],
        schema=more(column("c", t.LONG, delta__typeChanges=[{"fromType": "integer", "toType": "long"}])), **WIDENING),
    "entries kept": Case(changed(more(column("c", t.LONG, delta__typeChanges=[{"fromType": "integer",
        "toType": "long"}], comment="x"))), files=[file("a")], schema=more(column("c", t.LONG,
        delta__typeChanges=[{"fromType": "integer", "toType": "long"}])), **WIDENING),
    "in a struct": Case(changed(more(column("s", only(column("x", t.LONG,
        delta__typeChanges=[{"fromType": "integer", "toType": "long"}]))))),
        schema=more(column("s", only(column("x", t.INTEGER)))), files=[file("a")], **WIDENING),
    "in a struct, not recorded": Case(changed(more(column("s", only(column("x", t.LONG))))), "schema.type-changes",
        "s.x", schema=more(column("s", only(column("x", t.INTEGER)))), files=[file("a")], **WIDENING),
    # A column that an expression uses.
    "of a checked column": Case(
        changed(more(column("c", t.LONG, delta__typeChanges=[{"fromType": "integer", "toType": "long"}]))),
        "schema.dependents", "constraint k", schema=more(column("c", t.INTEGER)), files=[file("a")],
        properties={**WIDENING["properties"], "delta.constraints.k": "c > 0"},
        features=["typeWidening", "checkConstraints"],
    ),
    "of a checked column's other field": Case(
        changed(more(column("s", only(
            column("x"), column("y", t.LONG, delta__typeChanges=[{"fromType": "integer", "toType": "long"}]))))),
        schema=more(column("s", only(column("x"), column("y", t.INTEGER)))), files=[file("a")],
        properties={**WIDENING["properties"], "delta.constraints.k": "s.x > 0"},
        features=["typeWidening", "checkConstraints"],
    ),
    "drop of a checked column": Case(changed(SCHEMA), "schema.expressions", "no such column", schema=more(column("c")),
        properties={"delta.constraints.k": "c > 0"}, **CHECKS),
    "drop of a generated column's source": Case(changed(only(*SCHEMA.fields,
        column("g", delta__generationExpression="c"))), "schema.expressions",
        schema=more(column("c"), column("g", delta__generationExpression="c")), **GENERATED),
    # Rules that old rows may violate.
    "not null": Case(changed(only(column("id", t.LONG, False))), "schema.existing-files", schema=only(column("id")),
                     files=[file("a")]),
    "not null of a field": Case(changed(only(column("s", only(column("x", t.LONG, False))))), "schema.existing-files",
        "s.x", schema=only(column("s", only(column("x")))), files=[file("a")]),
    "not null of elements": Case(changed(only(column("a", t.ArrayType(t.LONG, False)))), "schema.existing-files",
        "elements", schema=only(column("a", t.ArrayType(t.LONG))), files=[file("a")]),
    "not null of values": Case(changed(only(column("a", t.MapType(t.LONG, t.LONG, False)))), "schema.existing-files",
        "values", schema=only(column("a", t.MapType(t.LONG, t.LONG))), files=[file("a")]),
    "nullable": Case(changed(only(column("id"), column("a", t.ArrayType(t.LONG)))), files=[file("a")],
        schema=only(column("id", t.LONG, False), column("a", t.ArrayType(t.LONG, False)))),
    "shorter varchar": Case(changed(only(column("t", t.STRING, __CHAR_VARCHAR_TYPE_STRING="varchar(3)"))),
        "schema.existing-files", "varchar(3)", schema=only(column("t", t.STRING,
        __CHAR_VARCHAR_TYPE_STRING="varchar(5)")), files=[file("a")]),
    "longer varchar": Case(changed(only(column("t", t.STRING, __CHAR_VARCHAR_TYPE_STRING="varchar(9)"))),
        schema=only(column("t", t.STRING, __CHAR_VARCHAR_TYPE_STRING="varchar(5)")), files=[file("a")]),
    "longer char": Case(changed(only(column("t", t.STRING, __CHAR_VARCHAR_TYPE_STRING="char(9)"))),
        "schema.existing-files", "char(9)", schema=only(column("t", t.STRING, __CHAR_VARCHAR_TYPE_STRING="char(5)")),
        files=[file("a")]),
    "varchar of char": Case(changed(only(column("t", t.STRING, __CHAR_VARCHAR_TYPE_STRING="varchar( 5 )"))),
        schema=only(column("t", t.STRING, __CHAR_VARCHAR_TYPE_STRING="CHAR(5)")), files=[file("a")]),
    "varchar of text": Case(changed(only(column("t", t.STRING, __CHAR_VARCHAR_TYPE_STRING="varchar(9)"))),
        "schema.existing-files", schema=only(column("t", t.STRING)), files=[file("a")]),
    "check of a file that is added again": Case(lambda txn: (changed(properties={"delta.constraints.c": "id > 0"})(txn),
        txn.remove(gone("a", deletion_vector=vector(2), data_change=False)), txn.add(file("a",
        deletion_vector=vector(2, "2"), data_change=False))), "schema.existing-files", "constraint c",
        files=[file("a", deletion_vector=vector(2))], features=["deletionVectors", "checkConstraints"],
        properties={"delta.enableDeletionVectors": "true"}),
    # Identity
    "mark forward": Case(changed(only(column("i", **IDENTITY, delta__identity__highWaterMark=9))), **IDENTITIES,
        schema=only(column("i", **IDENTITY, delta__identity__highWaterMark=5)), files=[file("a")]),
    "mark back": Case(changed(only(column("i", **IDENTITY, delta__identity__highWaterMark=4))), "schema.identity",
        "back from 5 to 4", **IDENTITIES, schema=only(column("i", **IDENTITY, delta__identity__highWaterMark=5)),
        files=[file("a")]),
    "mark removed": Case(changed(only(column("i", **IDENTITY))), "schema.identity", "back", **IDENTITIES,
        schema=only(column("i", **IDENTITY, delta__identity__highWaterMark=5)), files=[file("a")]),
    "mark of a descending column": Case(changed(only(column("i", **{**IDENTITY, "delta__identity__step": -1},
        delta__identity__highWaterMark=-4))), "schema.identity", "back", **IDENTITIES, files=[file("a")],
        schema=only(column("i", **{**IDENTITY, "delta__identity__step": -1}, delta__identity__highWaterMark=-5))),
    "another step": Case(changed(only(column("i", **{**IDENTITY, "delta__identity__step": 2}))),
        "schema.existing-files", "step", **IDENTITIES, schema=only(column("i", **IDENTITY)), files=[file("a")]),
}  # fmt: skip


def test_a_schema_keeps_old_files_valid(tmp_path: Path) -> None:
    check_each(CHANGES, tmp_path)


TYPES = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.FLOAT, t.DOUBLE, t.DATE, t.TIMESTAMP_NTZ, t.STRING, t.DecimalType(10,
    2), t.DecimalType(12, 4),
         t.DecimalType(10, 0), t.DecimalType(12, 3), t.DecimalType(20, 0), t.DecimalType(38, 0))  # fmt: skip
# PROTOCOL, Type Widening: by name, from each type to the types that it may become.
ALLOWED = {
    "tinyint": {"smallint", "int", "bigint", "double", "decimal(10,0)", "decimal(20,0)", "decimal(38,0)"},
    "smallint": {"int", "bigint", "double", "decimal(10,0)", "decimal(20,0)", "decimal(38,0)"},
    "int": {"bigint", "double", "decimal(10,0)", "decimal(20,0)", "decimal(38,0)"},
    "bigint": {"decimal(20,0)", "decimal(38,0)"},
    "float": {"double"},
    "date": {"timestamp_ntz"},
    "decimal(10,2)": {"decimal(12,4)", "decimal(12,3)"},
    "decimal(10,0)": {"decimal(20,0)", "decimal(38,0)"},
    "decimal(20,0)": {"decimal(38,0)"},
}


@looped("old", TYPES, simple_string)
def test_types_become_what_type_widening_allows(old: Any) -> None:
    found = {simple_string(new) for new in TYPES if is_widening(old, new)}
    assert found == ALLOWED.get(simple_string(old), set())


def test_a_table_without_files_takes_any_type(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"))
    txn = table.refresh().transaction()
    changed(t.StructType((column("id", t.STRING),)))(txn)
    txn.remove(gone("a"))
    assert txn.commit() == 2


def test_a_schema_without_collations_keeps_those_of_the_table(tmp_path: Path) -> None:
    schema = more(column("t", t.STRING, __COLLATIONS={"t": "icu.UNICODE_CI"}))
    table = make_table(tmp_path / "t", schema=schema, **COLLATIONS)
    txn = table.transaction()
    changed(more(column("t", t.STRING), column("u", t.STRING)))(txn)
    txn.commit()
    fields = {each.name: dict(each.metadata) for each in table.refresh().schema.fields}
    assert (fields["t"], fields["u"]) == ({"__COLLATIONS": {"t": "icu.UNICODE_CI"}}, {})
    last = table.transaction()
    bare = json.loads(table.metadata.schema_string or "")
    bare["fields"][3]["metadata"] = {}
    last.set_metadata(replace(table.metadata, schema_string=json.dumps(bare)), keep_collations=False)
    last.commit()
    assert all(not each.metadata for each in table.refresh().schema.fields)

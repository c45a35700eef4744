"""Collations in schemas: as Spark writes and reads them, through renames and other changes of the schema."""

import json

import pytest

from deltaskip.errors import SchemaError
from deltaskip.schema import physical_schema
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.types.data_types import BINARY, COLLATIONS_KEY, DataType
from tests import corpus
from tests.each import refuses
from tests.looped import looped

UNICODE = CollationId.parse("icu.UNICODE")


def schema_cases(*keys: str) -> list:  # type: ignore[type-arg]
    """Rows of schema_json.jsonl that have one of the keys; one skipped row where the file is absent."""
    if not corpus.present():
        return corpus.absent()
    lines = (corpus.SHARED / "collation" / "schema_json.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return [
        pytest.param(row, id=row.get("ddl") or str(row["json_in"]["fields"][0]["metadata"]))
        for row in rows
        if any(key in row for key in keys)
    ]


def field(data_type: DataType = t.STRING, name: str = "a", **declared: str) -> t.StructField:
    return t.StructField(name, data_type, True, {COLLATIONS_KEY: declared} if declared else {})


def fields_of(data_type: DataType) -> list[t.StructField]:
    """Every field of a schema, at any depth."""
    match data_type:
        case t.StructType(fields):
            return [found for f in fields for found in (f, *fields_of(f.type))]
        case t.ArrayType(element):
            return fields_of(element)
        case t.MapType(key, value):
            return fields_of(key) + fields_of(value)
    return []


@looped("case", schema_cases("spark_json"))
def test_what_spark_writes_is_declared_for_strings_and_written_back_by_us(case):
    parsed = t.parse_schema(json.dumps(case["spark_json"]))
    assert json.loads(t.schema_to_json(parsed)) == case["spark_json"]
    for f in fields_of(parsed):
        declared = f.metadata.get(COLLATIONS_KEY, {})
        assert set(declared) <= set(t.string_paths(f))
        assert {path: t.declared_collation(f, path) for path in declared} == declared


@pytest.mark.parametrize("case", schema_cases("pyspark_parsed", "jvm_parsed"))
def test_what_spark_reads_is_read_and_kept_as_it_is(case):
    parsed = t.parse_schema(json.dumps(case["json_in"]))
    assert json.loads(t.schema_to_json(parsed)) == case["json_in"]
    assert t.simple_string(parsed) == case["pyspark_parsed"]


@pytest.mark.parametrize("case", schema_cases("jvm_error", "pyspark_error"))
def test_what_spark_refuses_is_refused_only_where_it_is_no_string(case):
    text = json.dumps(case["json_in"])
    if "INVALID_JSON_DATA_TYPE_FOR_COLLATIONS" in case["jvm_error"]:
        refuses(SchemaError, "'a' of type integer", t.parse_schema, text)
    else:
        parsed = t.parse_schema(text)
        assert json.loads(t.schema_to_json(parsed)) == case["json_in"]
        assert [t.collation_of(leaf) for leaf in t.leaves(parsed)] == list(
            case["json_in"]["fields"][0]["metadata"][COLLATIONS_KEY].values()
        )


@pytest.mark.parametrize(
    ("data_type", "path", "kind"),
    [
        (t.ArrayType(t.STRING), "a", "array"),
        (t.MapType(t.STRING, t.STRING), "a", "map"),
        (t.StructType((t.StructField("x", t.STRING),)), "a", "struct"),
        (t.ArrayType(t.INTEGER), "a.element", "integer"),
        (t.ArrayType(t.ArrayType(t.STRING)), "a.element", "array"),
        (t.ArrayType(t.StructType((t.StructField("x", t.STRING),))), "a.element", "struct"),
        (BINARY, "a", "binary"),
    ],
)
def test_a_collation_of_what_is_no_string_is_refused_as_spark_does(data_type, path, kind):
    written = t.schema_to_json(t.StructType((field(data_type, **{path: "icu.UNICODE"}),)))
    refuses(SchemaError, f"{path!r} of type {kind}", t.parse_schema, written)


@pytest.mark.parametrize(
    ("data_type", "path"),
    [
        (t.ArrayType(t.StructType((t.StructField("x", t.STRING),))), "a.element.x"),
        (t.StructType((t.StructField("x", t.STRING),)), "a.x"),
        (t.STRING, "A"),
        (t.STRING, "a.element"),
    ],
)
def test_a_path_that_leads_nowhere_is_kept_and_means_nothing(data_type, path):
    schema = t.StructType((field(data_type, **{path: "icu.UNICODE"}),))
    assert t.parse_schema(t.schema_to_json(schema)) == schema
    assert "collate" not in t.simple_string(schema)
    assert all(t.declared_collation(f, p) is None for f in fields_of(schema) for p in t.string_paths(f))


def test_names_with_dots_are_never_split():
    inner = t.MapType(t.STRING, t.ArrayType(t.STRING))
    assert t.string_paths(field(inner, "m.key")) == ["m.key.key", "m.key.value.element"]
    declared = field(inner, "m.key", **{"m.key.value.element": "icu.UNICODE"})
    assert t.declared_collation(declared, "m.key.value.element") == "icu.UNICODE"
    assert t.declared_collation(declared, "m.key.key") is None


def test_a_renamed_field_keeps_its_collations_and_its_other_metadata():
    metadata = {"comment": "x", COLLATIONS_KEY: {"m.key": "icu.de", "m.value.element": "ICU.Fr", "else": "icu.it"}}
    before = t.StructField("m", t.MapType(t.STRING, t.ArrayType(t.STRING)), False, metadata)
    after = t.renamed(before, "n.o")
    assert (after.name, after.type, after.nullable) == ("n.o", before.type, False)
    moved = {"n.o.key": "icu.de", "n.o.value.element": "ICU.Fr", "else": "icu.it"}
    assert dict(after.metadata) == {"comment": "x", COLLATIONS_KEY: moved}
    assert t.renamed(after, "m") == before


def test_physical_names_carry_the_collations_of_a_mapped_table():
    mapped = {"delta.columnMapping.physicalName": "col-1", COLLATIONS_KEY: {"a.element": "icu.UNICODE_CI"}}
    physical = physical_schema(t.StructType((t.StructField("a", t.ArrayType(t.STRING), True, mapped),)), "name").fields[
        0
    ]
    assert t.declared_collation(physical, "col-1.element") == "icu.UNICODE_CI"


@looped("case", schema_cases("spark_json"))
def test_a_schema_that_lost_its_collations_gets_them_back(case):
    schema = t.parse_schema(json.dumps(case["spark_json"]))
    bare = t.from_arrow(t.arrow_schema(schema))
    assert not any(COLLATIONS_KEY in f.metadata for f in fields_of(bare))
    carried = t.carry_collations(schema, bare)
    assert [(f.name, dict(f.metadata)) for f in fields_of(carried)] == [
        (f.name, dict(f.metadata)) for f in fields_of(schema)
    ]


def test_a_change_of_the_schema_carries_only_what_is_still_there():
    old = t.StructType(
        (field(a="icu.de"), field(t.ArrayType(t.STRING), "b", **{"b.element": "icu.fr"}), field(name="c", c="icu.it"))
    )
    new = t.StructType(
        (field(t.INTEGER), field(t.ArrayType(t.STRING), "b"), field(name="c", c="icu.sv"), field(name="d"))
    )
    assert [dict(f.metadata) for f in t.carry_collations(old, new).fields] == [
        {},
        {COLLATIONS_KEY: {"b.element": "icu.fr"}},
        {COLLATIONS_KEY: {"c": "icu.sv"}},
        {},
    ]


def test_a_renamed_column_keeps_the_collation_that_its_physical_name_had():
    physical = {"delta.columnMapping.physicalName": "col-1"}
    old = t.StructType(
        (t.StructField("a", t.STRING, True, {**physical, COLLATIONS_KEY: {"a": "icu.de"}}), field(name="b"))
    )
    new = t.StructType((t.StructField("b", t.STRING, True, physical), t.StructField("a", t.STRING)))
    carried = t.carry_collations(t.StructType((old.fields[0],)), t.StructType((new.fields[0],)))
    assert dict(carried.fields[0].metadata) == {**physical, COLLATIONS_KEY: {"b": "icu.de"}}

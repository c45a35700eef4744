"""Collations in schemas: as Spark writes and reads them, through renames and other changes of the schema."""

import json

import pytest

from deltaskip.errors import SchemaError
from deltaskip.schema import physical_schema
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.types import (
    INTEGER,
    STRING,
    ArrayType,
    MapType,
    StructField,
    StructType,
    arrow_schema,
    carry_collations,
    collation_of,
    declared_collation,
    from_arrow,
    leaves,
    parse_schema,
    renamed,
    schema_to_json,
    simple_string,
    string_paths,
)
from deltaskip.sparkexpr.types.data_types import BINARY, COLLATIONS_KEY, DataType
from tests import corpus
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


def field(data_type: DataType = STRING, name: str = "a", **declared: str) -> StructField:
    return StructField(name, data_type, True, {COLLATIONS_KEY: declared} if declared else {})


def fields_of(data_type: DataType) -> list[StructField]:
    """Every field of a schema, at any depth."""
    match data_type:
        case StructType(fields):
            return [found for f in fields for found in (f, *fields_of(f.type))]
        case ArrayType(element):
            return fields_of(element)
        case MapType(key, value):
            return fields_of(key) + fields_of(value)
    return []


@looped("case", schema_cases("spark_json"))
def test_what_spark_writes_is_declared_for_strings_and_written_back_by_us(case):
    parsed = parse_schema(json.dumps(case["spark_json"]))
    assert json.loads(schema_to_json(parsed)) == case["spark_json"]
    for f in fields_of(parsed):
        declared = f.metadata.get(COLLATIONS_KEY, {})
        assert set(declared) <= set(string_paths(f))
        assert {path: declared_collation(f, path) for path in declared} == declared


@pytest.mark.parametrize("case", schema_cases("pyspark_parsed", "jvm_parsed"))
def test_what_spark_reads_is_read_and_kept_as_it_is(case):
    parsed = parse_schema(json.dumps(case["json_in"]))
    assert json.loads(schema_to_json(parsed)) == case["json_in"]
    assert simple_string(parsed) == case["pyspark_parsed"]


@pytest.mark.parametrize("case", schema_cases("jvm_error", "pyspark_error"))
def test_what_spark_refuses_is_refused_only_where_it_is_no_string(case):
    text = json.dumps(case["json_in"])
    if "INVALID_JSON_DATA_TYPE_FOR_COLLATIONS" in case["jvm_error"]:
        with pytest.raises(SchemaError, match="'a' of type integer"):
            parse_schema(text)
    else:
        parsed = parse_schema(text)
        assert json.loads(schema_to_json(parsed)) == case["json_in"]
        assert [collation_of(leaf) for leaf in leaves(parsed)] == list(
            case["json_in"]["fields"][0]["metadata"][COLLATIONS_KEY].values()
        )


@pytest.mark.parametrize(
    ("data_type", "path", "kind"),
    [
        (ArrayType(STRING), "a", "array"),
        (MapType(STRING, STRING), "a", "map"),
        (StructType((StructField("x", STRING),)), "a", "struct"),
        (ArrayType(INTEGER), "a.element", "integer"),
        (ArrayType(ArrayType(STRING)), "a.element", "array"),
        (ArrayType(StructType((StructField("x", STRING),))), "a.element", "struct"),
        (BINARY, "a", "binary"),
    ],
)
def test_a_collation_of_what_is_no_string_is_refused_as_spark_does(data_type, path, kind):
    written = schema_to_json(StructType((field(data_type, **{path: "icu.UNICODE"}),)))
    with pytest.raises(SchemaError, match=f"{path!r} of type {kind}"):
        parse_schema(written)


@pytest.mark.parametrize(
    ("data_type", "path"),
    [
        (ArrayType(StructType((StructField("x", STRING),))), "a.element.x"),
        (StructType((StructField("x", STRING),)), "a.x"),
        (STRING, "A"),
        (STRING, "a.element"),
    ],
)
def test_a_path_that_leads_nowhere_is_kept_and_means_nothing(data_type, path):
    schema = StructType((field(data_type, **{path: "icu.UNICODE"}),))
    assert parse_schema(schema_to_json(schema)) == schema
    assert "collate" not in simple_string(schema)
    assert all(declared_collation(f, p) is None for f in fields_of(schema) for p in string_paths(f))


def test_names_with_dots_are_never_split():
    inner = MapType(STRING, ArrayType(STRING))
    assert string_paths(field(inner, "m.key")) == ["m.key.key", "m.key.value.element"]
    declared = field(inner, "m.key", **{"m.key.value.element": "icu.UNICODE"})
    assert declared_collation(declared, "m.key.value.element") == "icu.UNICODE"
    assert declared_collation(declared, "m.key.key") is None


def test_a_renamed_field_keeps_its_collations_and_its_other_metadata():
    metadata = {"comment": "x", COLLATIONS_KEY: {"m.key": "icu.de", "m.value.element": "ICU.Fr", "else": "icu.it"}}
    before = StructField("m", MapType(STRING, ArrayType(STRING)), False, metadata)
    after = renamed(before, "n.o")
    assert (after.name, after.type, after.nullable) == ("n.o", before.type, False)
    moved = {"n.o.key": "icu.de", "n.o.value.element": "ICU.Fr", "else": "icu.it"}
    assert dict(after.metadata) == {"comment": "x", COLLATIONS_KEY: moved}
    assert renamed(after, "m") == before


def test_physical_names_carry_the_collations_of_a_mapped_table():
    mapped = {"delta.columnMapping.physicalName": "col-1", COLLATIONS_KEY: {"a.element": "icu.UNICODE_CI"}}
    physical = physical_schema(StructType((StructField("a", ArrayType(STRING), True, mapped),)), "name").fields[0]
    assert declared_collation(physical, "col-1.element") == "icu.UNICODE_CI"


@looped("case", schema_cases("spark_json"))
def test_a_schema_that_lost_its_collations_gets_them_back(case):
    schema = parse_schema(json.dumps(case["spark_json"]))
    bare = from_arrow(arrow_schema(schema))
    assert not any(COLLATIONS_KEY in f.metadata for f in fields_of(bare))
    carried = carry_collations(schema, bare)
    assert [(f.name, dict(f.metadata)) for f in fields_of(carried)] == [
        (f.name, dict(f.metadata)) for f in fields_of(schema)
    ]


def test_a_change_of_the_schema_carries_only_what_is_still_there():
    old = StructType(
        (field(a="icu.de"), field(ArrayType(STRING), "b", **{"b.element": "icu.fr"}), field(name="c", c="icu.it"))
    )
    new = StructType((field(INTEGER), field(ArrayType(STRING), "b"), field(name="c", c="icu.sv"), field(name="d")))
    assert [dict(f.metadata) for f in carry_collations(old, new).fields] == [
        {},
        {COLLATIONS_KEY: {"b.element": "icu.fr"}},
        {COLLATIONS_KEY: {"c": "icu.sv"}},
        {},
    ]


def test_a_renamed_column_keeps_the_collation_that_its_physical_name_had():
    physical = {"delta.columnMapping.physicalName": "col-1"}
    old = StructType((StructField("a", STRING, True, {**physical, COLLATIONS_KEY: {"a": "icu.de"}}), field(name="b")))
    new = StructType((StructField("b", STRING, True, physical), StructField("a", STRING)))
    carried = carry_collations(StructType((old.fields[0],)), StructType((new.fields[0],)))
    assert dict(carried.fields[0].metadata) == {**physical, COLLATIONS_KEY: {"b": "icu.de"}}

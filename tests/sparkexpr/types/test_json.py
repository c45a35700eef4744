import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr import types as t
from tests import corpus
from tests.extent import extent
from tests.looped import looped


def struct_json(*fields):
    return json.dumps({"type": "struct", "fields": list(fields)})


def field_json(name="a", type="string", nullable=True, **metadata):
    return {"name": name, "type": type, "nullable": nullable, "metadata": metadata}


@corpus.each_version()
def test_schemas_of_the_corpus_round_trip_through_json(table, version):
    if version["schema"] is None:
        assert t.parse_schema(None) == t.StructType()
        return
    parsed = t.parse_schema(json.dumps(version["schema"]))
    written = t.schema_to_json(parsed)
    assert json.loads(written) == version["schema"]
    assert t.parse_schema(written) == parsed


@corpus.each_version(where=lambda version: "columns" in version)
def test_simple_string_reproduces_the_column_types_that_spark_shows(table, version):
    text = None if version["schema"] is None else json.dumps(version["schema"])
    assert [[f.name, t.simple_string(f.type, f)] for f in t.parse_schema(text).fields] == version["columns"]


def test_collations_are_shown_for_elements_keys_and_values_by_the_built_path():
    declared = {"m.x.key": "icu.UNICODE", "m.x.value.element": "spark.UTF8_LCASE"}
    field = t.StructField("m.x", t.MapType(t.STRING, t.ArrayType(t.STRING)), metadata={"__COLLATIONS": declared})
    assert t.simple_string(field.type, field) == "map<string collate UNICODE,array<string collate UTF8_LCASE>>"


def test_an_unknown_type_name_is_kept_and_written_back():
    parsed = t.parse_schema(struct_json(field_json(type="point(2)")))
    assert parsed.fields[0].type == t.UnknownType('"point(2)"')
    assert t.simple_string(parsed.fields[0].type) == "point(2)"
    assert t.parse_schema(t.schema_to_json(parsed)) == parsed


def test_an_unknown_type_object_is_kept_and_written_back():
    udt = {"type": "udt", "class": "org.apache.spark.ml.linalg.VectorUDT", "sqlType": "string"}
    parsed = t.parse_schema(struct_json(field_json(type=udt)))
    assert t.simple_string(parsed.fields[0].type) == "udt"
    assert json.loads(t.schema_to_json(parsed))["fields"][0]["type"] == udt


def test_char_and_varchar_become_string_with_sparks_metadata():
    array = {"type": "array", "elementType": "varchar(7)", "containsNull": True}
    parsed = t.parse_schema(struct_json(field_json("c", "char(3)"), field_json("v", array, note=1)))
    assert [f.type for f in parsed.fields] == [t.STRING, t.ArrayType(t.STRING)]
    assert dict(parsed.fields[0].metadata) == {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    assert dict(parsed.fields[1].metadata) == {"__CHAR_VARCHAR_TYPE_STRING": "array<varchar(7)>", "note": 1}


@pytest.mark.parametrize(
    ("name", "expected"), [("null", t.VOID), ("timestamp_ltz", t.TIMESTAMP), ("decimal", t.DecimalType(10, 0))]
)
def test_names_that_spark_still_reads_are_read(name, expected):
    assert t.parse_type(json.dumps(name)) == expected


def test_decimals_reach_38_digits():
    assert t.parse_type('"decimal(38,38)"') == t.DecimalType(38, 38)


@looped(
    "text, message",
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('"long"', "must be a struct"),
        ("null", "neither a name nor an object"),
        ('{"type":"struct"}', "no list of fields"),
        ('{"type":"struct","fields":[7]}', "not a JSON object: 7"),
        (struct_json({"type": "long", "nullable": True}), "no 'name'"),
        (struct_json({"name": "a", "nullable": True}), "Column a has no 'type'"),
        (struct_json({"name": "a", "type": "long"}), "Column a has no 'nullable'"),
        (struct_json(field_json(nullable="yes")), "'nullable' of column a"),
        (struct_json(field_json(type={"type": "array", "elementType": "long"})), "containsNull"),
        (struct_json(field_json(type={"type": "map", "keyType": "long"})), "valueType"),
        (struct_json(field_json(type={"kind": "array"})), "column a is neither"),
        (struct_json(field_json(type="decimal(39,2)")), "At column a: decimal"),
        (struct_json(field_json(type="decimal(5,6)")), "At column a: decimal"),
        (struct_json({**field_json(), "metadata": [1]}), "metadata of column a"),
        (struct_json(field_json(__COLLATIONS="icu.UNICODE")), "__COLLATIONS"),
        (struct_json(field_json(__COLLATIONS={"a": 3})), "__COLLATIONS"),
    ],
)
def test_damaged_schemas_are_refused_with_the_place(text, message):
    with pytest.raises(SchemaError, match=message):
        t.parse_schema(text)


def test_missing_metadata_reads_as_empty():
    assert t.parse_schema(
        '{"type":"struct","fields":[{"name":"a","type":"integer","nullable":false}]}'
    ) == t.StructType((t.StructField("a", t.INTEGER, False),))


PRIMITIVE = st.sampled_from(list(t.PRIMITIVES.values()))
DECIMAL = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: t.DecimalType(p, s)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
METADATA = st.dictionaries(st.text(max_size=5), JSON, max_size=2)


def structs(inner):
    field = st.builds(t.StructField, st.text(max_size=5), inner, st.booleans(), METADATA)
    return st.lists(field, max_size=3).map(lambda fields: t.StructType(tuple(fields)))


TYPES = st.recursive(
    PRIMITIVE | DECIMAL,
    lambda inner: (
        st.builds(t.ArrayType, inner, st.booleans())
        | st.builds(t.MapType, inner, inner, st.booleans())
        | structs(inner)
    ),
    max_leaves=6,
)


@settings(max_examples=extent(30, 100))
@given(TYPES)
def test_any_type_survives_its_json(data_type):
    assert t.parse_type(t.type_to_json(data_type)) == data_type

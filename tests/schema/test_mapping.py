import json

import pytest

from deltaskip.actions import Protocol
from deltaskip.errors import SchemaError
from deltaskip.schema import field_id, mapping_mode, physical_schema
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import types as t
from tests import corpus

NAME = {"delta.columnMapping.mode": "name"}


def mapped(name, type, physical, **metadata):
    return t.StructField(name, type, metadata={"delta.columnMapping.physicalName": physical, **metadata})


@pytest.mark.parametrize(
    ("protocol", "mode"),
    [
        (Protocol(2, 5), "name"),
        (Protocol(2, 7, None, ("columnMapping",)), "name"),
        (Protocol(3, 7, ("columnMapping",), ("columnMapping",)), "name"),
        (Protocol(3, 7, ("deletionVectors",), ("columnMapping",)), "name"),
        (Protocol(3, 7, (), ("columnMapping",)), "name"),
        (Protocol(3, 7, ("deletionVectors",), ("deletionVectors",)), "none"),
        (Protocol(1, 7, None, ("columnMapping",)), "none"),
        (Protocol(1, 2), "none"),
    ],
)
def test_the_mode_is_honoured_only_where_the_protocol_has_the_feature(protocol, mode):
    assert mapping_mode(protocol, TableProperties(NAME)) == mode


def test_without_the_property_there_is_no_mapping():
    assert mapping_mode(Protocol(2, 5), TableProperties({})) == "none"


def test_an_unknown_mode_is_refused():
    with pytest.raises(SchemaError, match=r"delta\.columnMapping\.mode is 'both'"):
        mapping_mode(Protocol(2, 5), TableProperties({"delta.columnMapping.mode": "both"}))


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("metadata", [{}, {"delta.columnMapping.physicalName": ""}])
def test_a_missing_physical_name_is_refused_with_the_column(mode, metadata):
    with pytest.raises(SchemaError, match="'amount'"):
        t.physical_name(t.StructField("amount", t.STRING, metadata=metadata), mode)


def test_without_mapping_the_physical_name_in_the_metadata_is_ignored():
    assert t.physical_name(mapped("a", t.STRING, "col-1"), "none") == "a"


def test_field_ids_are_integers_or_absent():
    assert field_id(t.StructField("a", t.STRING, metadata={"delta.columnMapping.id": 4})) == 4
    assert field_id(t.StructField("a", t.STRING)) is None
    with pytest.raises(SchemaError, match="'a'"):
        field_id(t.StructField("a", t.STRING, metadata={"delta.columnMapping.id": "4"}))


def test_the_physical_schema_renames_at_every_depth_and_rekeys_collations():
    inner = t.StructType((mapped("x", t.STRING, "col-x", __COLLATIONS={"x": "icu.UNICODE"}),))
    schema = t.StructType(
        (
            mapped("m", t.MapType(t.STRING, t.ArrayType(inner)), "col-m", __COLLATIONS={"m.key": "icu.de"}),
            mapped("s", inner, "col-s"),
        )
    )
    physical = physical_schema(schema, "name")
    assert t.simple_string(physical) == (
        "struct<col-m:map<string collate de,array<struct<col-x:string collate UNICODE>>>,"
        "col-s:struct<col-x:string collate UNICODE>>"
    )
    assert physical_schema(schema, "none") is schema


def test_a_collation_survives_the_physical_schema():
    schema = t.StructType((mapped("a", t.STRING, "col-1", __COLLATIONS={"a": "icu.UNICODE_CI"}),))
    assert t.collation_of(t.resolve(physical_schema(schema, "name"), ["col-1"])) == "icu.UNICODE_CI"


@corpus.each_version(where=lambda version: version["schema"] is not None)
def test_partition_values_of_the_corpus_are_keyed_by_physical_names(table, version):
    schema = t.parse_schema(json.dumps(version["schema"]))
    mode = mapping_mode(Protocol.from_json(version["protocol"]), TableProperties(version["properties"]))
    expected = {t.resolve(schema, [name], mode).physical[0] for name in version["partition_columns"]}
    assert all(set(file["partition_values"]) == expected for file in version["files"])
    physical = physical_schema(schema, mode)
    assert [leaf.logical for leaf in t.leaves(physical)] == [leaf.physical for leaf in t.leaves(schema, mode)]

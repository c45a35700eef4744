import json

import pyarrow as pa
import pytest

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr.types import (
    BINARY,
    DATE,
    FLOAT,
    INTEGER,
    LONG,
    PRIMITIVES,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    ArrayType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    UnknownType,
    arrow_schema,
    arrow_type,
    from_arrow,
    from_arrow_type,
    parse_schema,
)
from tests import corpus
from tests.looped import looped


def without_metadata(data_type):
    match data_type:
        case StructType(fields):
            return StructType(tuple(StructField(f.name, without_metadata(f.type), f.nullable) for f in fields))
        case ArrayType(element, contains_null):
            return ArrayType(without_metadata(element), contains_null)
        case MapType(key, value, value_contains_null):
            return MapType(without_metadata(key), without_metadata(value), value_contains_null)
        case _ if data_type == VARIANT:
            return StructType((StructField("value", BINARY, False), StructField("metadata", BINARY, False)))
        case _:
            return data_type


@corpus.each_version(where=lambda version: version["schema"] is not None)
def test_schemas_of_the_corpus_survive_arrow_but_for_metadata_and_variant(table, version):
    schema = parse_schema(json.dumps(version["schema"]))
    assert from_arrow(arrow_schema(schema)) == without_metadata(schema)


@looped("name", sorted(PRIMITIVES))
def test_every_primitive_type_has_an_arrow_type_and_comes_back(name):
    delta = PRIMITIVES[name]
    assert from_arrow_type(arrow_type(delta)) == without_metadata(delta)


def test_instants_have_a_zone_and_local_times_have_none():
    assert arrow_type(TIMESTAMP) == pa.timestamp("us", tz="UTC")
    assert arrow_type(TIMESTAMP_NTZ) == pa.timestamp("us")
    assert arrow_type(VOID) == pa.null()


@looped(
    "arrow, delta",
    [
        (pa.timestamp("ns", tz="Europe/Berlin"), TIMESTAMP),
        (pa.timestamp("s"), TIMESTAMP_NTZ),
        (pa.dictionary(pa.int32(), pa.string()), STRING),
        (pa.large_string(), STRING),
        (pa.binary(16), BINARY),
        (pa.date64(), DATE),
        (pa.uint8(), SHORT),
        (pa.uint16(), INTEGER),
        (pa.uint32(), LONG),
        (pa.uint64(), DecimalType(20, 0)),
        (pa.float16(), FLOAT),
        (pa.decimal256(30, 3), DecimalType(30, 3)),
        (pa.large_list(pa.field("item", pa.int32(), nullable=False)), ArrayType(INTEGER, False)),
        (pa.list_(pa.int32(), 3), ArrayType(INTEGER)),
        (pa.map_(pa.string(), pa.int64()), MapType(STRING, LONG)),
    ],
)
def test_other_arrow_types_go_to_the_delta_type_that_holds_their_values(arrow, delta):
    assert from_arrow_type(arrow) == delta


def test_arrow_types_without_a_place_in_delta_are_refused_with_the_column():
    with pytest.raises(SchemaError, match="'t'"):
        from_arrow(pa.schema([pa.field("t", pa.time64("us"))]))


def test_types_that_are_not_known_here_are_refused_with_the_column():
    schema = StructType((StructField("s", StructType((StructField("g", UnknownType('"geometry"')),))),))
    with pytest.raises(SchemaError, match=r"'s'.*'g'.*geometry"):
        arrow_schema(schema)

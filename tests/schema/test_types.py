import copy
import pickle

import pytest

from deltaskip.errors import SchemaError
from deltaskip.schema import (
    DATE,
    INTEGER,
    LONG,
    PRIMITIVES,
    STRING,
    ArrayType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)
from deltaskip.schema.types import nested_types

SCHEMA = StructType((StructField("a", ArrayType(STRING), metadata={"k": {"n": [1]}}), StructField("b", INTEGER, False)))


def test_schemas_pickle_and_copy():
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert copy.deepcopy(SCHEMA) == SCHEMA


def test_types_are_hashable_and_metadata_counts_for_equality_only():
    plain = StructField("a", STRING)
    noted = StructField("a", STRING, metadata={"k": 1})
    assert hash(plain) == hash(noted)
    assert plain != noted
    assert hash(SCHEMA) == hash(copy.deepcopy(SCHEMA))


def test_metadata_is_read_only_and_apart_from_the_callers_mapping():
    given = {"k": 1}
    field = StructField("a", STRING, metadata=given)
    given["k"] = 2
    assert field.metadata["k"] == 1
    with pytest.raises(TypeError):
        field.metadata["k"] = 3


def test_the_default_metadata_is_not_shared_and_empty():
    assert StructField("a", STRING).metadata == {}


def test_an_unknown_primitive_name_is_refused():
    assert PRIMITIVES["long"] == PrimitiveType("long")
    with pytest.raises(SchemaError, match="bigint"):
        PrimitiveType("bigint")


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_impossible_decimals_are_refused(precision, scale):
    with pytest.raises(SchemaError, match="decimal"):
        DecimalType(precision, scale)


def test_nested_types_are_found_at_every_depth():
    inner = StructType((StructField("b", LONG),))
    schema = StructType((StructField("a", ArrayType(inner)), StructField("m", MapType(STRING, DATE))))
    assert list(nested_types(schema)) == [schema, ArrayType(inner), inner, LONG, MapType(STRING, DATE), STRING, DATE]
    assert list(nested_types(ArrayType(inner), into_structs=False)) == [ArrayType(inner), inner]

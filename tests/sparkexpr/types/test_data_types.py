import copy
import json
import pickle

import pytest

from deltaskip.errors import InvalidArgumentType, SchemaError
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.data_types import nested_types
from tests import corpus
from tests.each import refuses
from tests.looped import looped

SCHEMA = t.StructType(
    (t.StructField("a", t.ArrayType(t.STRING), metadata={"k": {"n": [1]}}), t.StructField("b", t.INTEGER, False))
)


def test_schemas_pickle_and_copy():
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert copy.deepcopy(SCHEMA) == SCHEMA


def test_types_are_hashable_and_metadata_counts_for_equality_only():
    plain = t.StructField("a", t.STRING)
    noted = t.StructField("a", t.STRING, metadata={"k": 1})
    assert hash(plain) == hash(noted)
    assert plain != noted
    assert hash(SCHEMA) == hash(copy.deepcopy(SCHEMA))


def test_metadata_is_read_only_and_apart_from_the_callers_mapping():
    given = {"k": 1}
    field = t.StructField("a", t.STRING, metadata=given)
    given["k"] = 2
    assert field.metadata["k"] == 1
    with pytest.raises(TypeError):
        field.metadata["k"] = 3


def test_the_default_metadata_is_not_shared_and_empty():
    assert t.StructField("a", t.STRING).metadata == {}


def test_an_unknown_primitive_name_is_refused():
    assert t.PRIMITIVES["long"] == t.PrimitiveType("long")
    refuses(SchemaError, "bigint", t.PrimitiveType, "bigint")


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_impossible_decimals_are_refused(precision, scale):
    refuses(SchemaError, "decimal", t.DecimalType, precision, scale)


def test_nested_types_are_found_at_every_depth():
    inner = t.StructType((t.StructField("b", t.LONG),))
    schema = t.StructType((t.StructField("a", t.ArrayType(inner)), t.StructField("m", t.MapType(t.STRING, t.DATE))))
    assert list(nested_types(schema)) == [
        schema,
        t.ArrayType(inner),
        inner,
        t.LONG,
        t.MapType(t.STRING, t.DATE),
        t.STRING,
        t.DATE,
    ]
    assert list(nested_types(t.ArrayType(inner), into_structs=False)) == [t.ArrayType(inner), inner]


@looped(
    "make",
    [
        lambda: t.PrimitiveType(5),
        lambda: t.UnknownType(5),
        lambda: t.DecimalType("10", 2),
        lambda: t.DecimalType(10, True),
        lambda: t.ArrayType("string"),
        lambda: t.MapType(t.STRING, None),
        lambda: t.MapType("string", t.STRING),
        lambda: t.StructField(5, t.STRING),
        lambda: t.StructField("a", "string"),
        lambda: t.StructField("a", t.STRING, True, "comment"),
        lambda: t.StructType(5),
        lambda: t.StructType(("a", t.STRING)),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(make):
    refuses(InvalidArgumentType, r"must be an? [A-Za-z]+, not ", make)


NESTED = t.StructType(
    (
        t.StructField("id", t.LONG, False, {"comment": "the key"}),
        t.StructField("name", t.STRING, metadata={"__COLLATIONS": {"name": "icu.UNICODE_CI"}, "comment": "long " * 40}),
        t.StructField(
            "m",
            t.MapType(t.STRING, t.ArrayType(t.StructType((t.StructField("x", t.DecimalType(10, 2)),)), False)),
            metadata={"__COLLATIONS": {"m.key": "spark.UTF8_LCASE"}},
        ),
        t.StructField("shape\n", t.UnknownType('"geometry"'), metadata={"__COLLATIONS": 5}),
        t.StructField("<b>", t.STRING, metadata={"__COLLATIONS": 5, "comment": 7}),
    )
)


def test_the_repr_of_a_schema_is_a_tree():
    assert repr(NESTED).splitlines() == [
        "root",
        " |-- id: long (nullable = false, comment = the key)",
        " |-- name: string collate UNICODE_CI (nullable = true, comment = " + "long " * 11 + "…)",
        " |-- m: map (nullable = true)",
        " |    |-- key: string collate UTF8_LCASE",
        " |    |-- value: array (valueContainsNull = true)",
        " |    |    |-- element: struct (containsNull = false)",
        " |    |    |    |-- x: decimal(10,2) (nullable = true)",
        " |-- shape\\n: geometry (nullable = true)",
        " |-- <b>: string (nullable = true)",
    ]
    assert repr(t.StructType()) == "root"


def test_the_html_of_a_schema_is_its_tree_escaped():
    shown = NESTED._repr_html_()
    assert shown.startswith("<pre>root\n") and shown.endswith("</pre>")
    assert "&lt;b&gt;: string" in shown and "<b>" not in shown


@corpus.each_version(where=lambda version: version["schema"] is not None)
def test_trees_of_the_corpus_are_those_of_pyspark_but_for_comments_and_collations(table, version):
    types = pytest.importorskip("pyspark.sql.types")
    plain = without_metadata(t.parse_schema(json.dumps(version["schema"])))
    try:
        expected = types.StructType.fromJson(json.loads(t.schema_to_json(plain))).treeString()
    except Exception:  # a type that this PySpark does not know
        assert "geometry" in repr(plain) or "interval" in repr(plain)
        return
    assert repr(plain) + "\n" == expected


def without_metadata(data_type: t.DataType, variant: t.DataType = t.VARIANT) -> t.DataType:
    """A type without metadata, and with another type for VARIANT."""
    match data_type:
        case t.StructType(fields):
            return t.StructType(
                tuple(t.StructField(f.name, without_metadata(f.type, variant), f.nullable) for f in fields)
            )
        case t.ArrayType(element, contains_null):
            return t.ArrayType(without_metadata(element, variant), contains_null)
        case t.MapType(key, value, contains_null):
            return t.MapType(without_metadata(key, variant), without_metadata(value, variant), contains_null)
    return variant if data_type == t.VARIANT else data_type

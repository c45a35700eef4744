import json

import pyarrow as pa

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr import types as t
from tests import corpus
from tests.each import refuses
from tests.looped import looped
from tests.sparkexpr.types.test_data_types import without_metadata

ARROW_VARIANT = t.StructType((t.StructField("value", t.BINARY, False), t.StructField("metadata", t.BINARY, False)))


@corpus.each_version(where=lambda version: version["schema"] is not None)
def test_schemas_of_the_corpus_survive_arrow_but_for_metadata_and_variant(table, version):
    schema = t.parse_schema(json.dumps(version["schema"]))
    assert t.from_arrow(t.arrow_schema(schema)) == without_metadata(schema, ARROW_VARIANT)


@looped("name", sorted(t.PRIMITIVES))
def test_every_primitive_type_has_an_arrow_type_and_comes_back(name):
    delta = t.PRIMITIVES[name]
    assert t.from_arrow_type(t.arrow_type(delta)) == without_metadata(delta, ARROW_VARIANT)


def test_instants_have_a_zone_and_local_times_have_none():
    assert t.arrow_type(t.TIMESTAMP) == pa.timestamp("us", tz="UTC")
    assert t.arrow_type(t.TIMESTAMP_NTZ) == pa.timestamp("us")
    assert t.arrow_type(t.VOID) == pa.null()


@looped(
    "arrow, delta",
    [
        (pa.timestamp("ns", tz="Europe/Berlin"), t.TIMESTAMP),
        (pa.timestamp("s"), t.TIMESTAMP_NTZ),
        (pa.dictionary(pa.int32(), pa.string()), t.STRING),
        (pa.large_string(), t.STRING),
        (pa.binary(16), t.BINARY),
        (pa.date64(), t.DATE),
        (pa.uint8(), t.SHORT),
        (pa.uint16(), t.INTEGER),
        (pa.uint32(), t.LONG),
        (pa.uint64(), t.DecimalType(20, 0)),
        (pa.float16(), t.FLOAT),
        (pa.decimal256(30, 3), t.DecimalType(30, 3)),
        (pa.large_list(pa.field("item", pa.int32(), nullable=False)), t.ArrayType(t.INTEGER, False)),
        (pa.list_(pa.int32(), 3), t.ArrayType(t.INTEGER)),
        (pa.map_(pa.string(), pa.int64()), t.MapType(t.STRING, t.LONG)),
    ],
)
def test_other_arrow_types_go_to_the_delta_type_that_holds_their_values(arrow, delta):
    assert t.from_arrow_type(arrow) == delta


def test_arrow_types_without_a_place_in_delta_are_refused_with_the_column():
    refuses(SchemaError, "'t'", lambda: t.from_arrow(pa.schema([pa.field("t", pa.time64("us"))])))


def test_types_that_are_not_known_here_are_refused_with_the_column():
    schema = t.StructType((t.StructField("s", t.StructType((t.StructField("g", t.UnknownType('"geometry"')),))),))
    refuses(SchemaError, r"'s'.*'g'.*geometry", t.arrow_schema, schema)


def test_a_variant_of_spark_is_known_by_its_mark() -> None:
    marked = pa.field("metadata", pa.binary(), False, {"variant": "true"})
    plain = pa.field("metadata", pa.binary(), False)
    for other in (pa.binary(), pa.large_binary()):
        for last, wanted in ((marked, t.VARIANT), (plain, None)):
            found = t.from_arrow_type(pa.struct([pa.field("value", other, False), last]))
            assert found == wanted if wanted is not None else isinstance(found, t.StructType)
    assert isinstance(t.from_arrow_type(pa.struct([pa.field("value", pa.string()), marked])), t.StructType)
    assert t.from_arrow_type(pa.list_(pa.struct([pa.field("value", pa.binary()), marked]))) == t.ArrayType(
        t.VARIANT, True
    )

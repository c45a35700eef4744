"""Names of geospatial types in schemas, SQL text and the metadata of GeoArrow."""

import json

import pyarrow as pa
import pytest

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.ddl import parse_columns, parse_type_text
from tests.each import refuses

# Names in schemas, the type, and its SQL text. # Spark 4.2: DataType.fromJson and DataType.sql
NAMES = {
    "geometry(OGC:CRS84)": (t.GeometryType(), "geometry(4326)"),
    "geometry": (t.GeometryType(), "geometry(4326)"),
    "geometry(EPSG:3857)": (t.GeometryType("EPSG:3857"), "geometry(3857)"),
    "geometry(SRID:0)": (t.GeometryType("SRID:0"), "geometry(0)"),
    "geometry( EPSG:25832 )": (t.GeometryType("EPSG:25832"), "geometry(25832)"),
    "geometry(projjson:site)": (t.GeometryType("projjson:site"), "geometry(projjson:site)"),
    "geography": (t.GeographyType(), "geography(4326)"),
    "geography(OGC:CRS84, SPHERICAL)": (t.GeographyType(), "geography(4326)"),
    "geography(karney)": (t.GeographyType("OGC:CRS84", "karney"), "geography(4326, karney)"),
    "geography(EPSG:4258, thomas)": (t.GeographyType("EPSG:4258", "thomas"), "geography(4258, thomas)"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_in_schemas_are_types(name: str) -> None:
    expected, sql = NAMES[name]
    assert t.parse_type(json.dumps(name)) == expected
    assert t.simple_string(expected) == sql
    assert t.parse_type(t.type_to_json(expected)) == expected


@pytest.mark.parametrize(
    "name", ["geometry(4326)", "geometry(ANY)", "geometry(OGC:CRS84, spherical)", "geography(OGC:CRS84, cubic)"]
)
def test_other_names_stay_unknown(name: str) -> None:
    assert isinstance(t.parse_type(json.dumps(name)), t.UnknownType)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GEOMETRY(4326)", t.GeometryType()),
        ("geometry(0)", t.GeometryType("SRID:0")),
        ("GEOMETRY(EPSG:3857)", t.GeometryType("EPSG:3857")),
        ("GEOGRAPHY('OGC:CRS84')", t.GeographyType()),
        ("GEOGRAPHY(4326, karney)", t.GeographyType("OGC:CRS84", "karney")),
        ("GEOGRAPHY('EPSG:4258', 'thomas')", t.GeographyType("EPSG:4258", "thomas")),
        ("ARRAY<GEOMETRY(3857)>", t.ArrayType(t.GeometryType("EPSG:3857"))),
    ],
)
def test_types_of_sql_text(text: str, expected: t.DataType) -> None:
    assert parse_type_text(text) == expected


@pytest.mark.parametrize("text", ["g GEOMETRY", "g GEOMETRY(ANY)", "g GEOMETRY(x)"])
def test_a_column_needs_a_coordinate_reference_system(text: str) -> None:
    refuses(SchemaError, r"such as GEO\w+\(4326\)", parse_columns, text)


@pytest.mark.parametrize("crs", ["", "a b", 'x"', "EPSG:1)", 4326])
def test_a_name_of_a_crs_has_no_punctuation(crs: object) -> None:
    refuses((SchemaError, TypeError), None, t.GeometryType, crs)


def test_fields_of_arrow_name_the_extension_type_at_every_depth() -> None:
    struct = t.StructType((t.StructField("g", t.GeographyType()), t.StructField("l", t.ArrayType(t.GeometryType()))))
    fields = t.arrow_schema(t.StructType((*struct.fields, t.StructField("s", struct))))
    found = [fields.field("g"), fields.field("l").type.value_field, fields.field("s").type.field("g")]
    assert [each.metadata[b"ARROW:extension:name"] for each in found] == [b"geoarrow.wkb"] * 3
    given = [json.loads(each.metadata[b"ARROW:extension:metadata"]) for each in found]
    assert [each.get("edges") for each in given] == ["spherical", None, "spherical"]
    assert t.from_arrow(fields) == t.StructType((*struct.fields, t.StructField("s", struct)))


PROJJSON = {"type": "GeographicCRS", "name": "WGS 84", "id": {"authority": "EPSG", "code": 4326}}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("", t.GeometryType("SRID:0")),
        ("{}", t.GeometryType("SRID:0")),
        (json.dumps({"crs": PROJJSON}), t.GeometryType()),
        (json.dumps({"crs": json.dumps(PROJJSON)}), t.GeometryType()),
        (
            json.dumps({"crs": "EPSG:3857", "crs_type": "authority_code", "edges": "planar"}),
            t.GeometryType("EPSG:3857"),
        ),
        (json.dumps({"crs": "5070", "crs_type": "srid"}), t.GeometryType("EPSG:5070")),
        (json.dumps({"crs": "OGC:CRS84", "edges": "vincenty"}), t.GeographyType("OGC:CRS84", "vincenty")),
    ],
)
def test_metadata_of_geoarrow(metadata: str, expected: t.DataType) -> None:
    field = pa.field("g", pa.large_binary(), metadata={
        "ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": metadata,
    })  # fmt: skip
    assert t.from_arrow(pa.schema([field])).fields[0].type == expected


@pytest.mark.parametrize("metadata", ["[", '{"crs": {"name": "mine"}}', '{"edges": "cubic"}', '{"crs": "WGS84"}'])
def test_metadata_without_an_authority_and_a_code_are_refused(metadata: str) -> None:
    field = pa.field("g", pa.binary(), metadata={
        "ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": metadata,
    })  # fmt: skip
    refuses(SchemaError, r"'g': The metadata of geoarrow\.wkb cannot be read", t.from_arrow, pa.schema([field]))


def test_other_layouts_of_geoarrow_are_refused_with_what_to_do() -> None:
    layout = pa.struct([("x", pa.float64()), ("y", pa.float64())])
    field = pa.field("g", layout, metadata={"ARROW:extension:name": "geoarrow.point"})
    refuses(SchemaError, r"geoarrow.pyarrow.as_wkb", t.from_arrow, pa.schema([field]))

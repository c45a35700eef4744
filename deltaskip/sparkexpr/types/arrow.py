"""Conversion between Delta types and Arrow types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import pyarrow as pa

from deltaskip.errors import SchemaError
from deltaskip.json_text import parse_json
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.geospatial import WKB_EXTENSION, crs_of_srid, geoarrow_metadata, of_geoarrow

_EXTENSION_NAME, _EXTENSION_METADATA = "ARROW:extension:name", "ARROW:extension:metadata"
# Metadata of an Arrow field: the collations of its strings by their places below it, where "" is the field itself.
_COLLATIONS = "deltaskip:collations"
# The names of Arrow's canonical extension types.
VARIANT_EXTENSION = "arrow.parquet.variant"
BOOL8_EXTENSION = "arrow.bool8"
UUID_EXTENSION = "arrow.uuid"
JSON_EXTENSION = "arrow.json"
SPARK_SRID, SPARK_WKB = "srid", "wkb"
_SPARK_SHAPES: dict[str, type[t.GeometryType | t.GeographyType]] = {
    "geometry": t.GeometryType,
    "geography": t.GeographyType,
}
_CURES = {
    "pandas.period": "convert it with Series.dt.to_timestamp(), or to text",
    "geoarrow": "convert the shapes to WKB, as geoarrow.pyarrow.as_wkb does",
    "pandas.interval": "give the ends as two columns, Series.array.left and Series.array.right, or text",
}

# PROTOCOL, Variant Data Type: both members are required.
VARIANT_STORAGE = pa.struct(
    [pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)]
)

_ARROW: dict[t.DataType, pa.DataType] = {
    t.STRING: pa.string(),
    t.LONG: pa.int64(),
    t.INTEGER: pa.int32(),
    t.SHORT: pa.int16(),
    t.BYTE: pa.int8(),
    t.FLOAT: pa.float32(),
    t.DOUBLE: pa.float64(),
    t.BOOLEAN: pa.bool_(),
    t.BINARY: pa.binary(),
    t.DATE: pa.date32(),
    t.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    t.TIMESTAMP_NTZ: pa.timestamp("us"),
    t.VOID: pa.null(),
    t.VARIANT: VARIANT_STORAGE,
    t.YEAR_MONTH: pa.int32(),
    t.DAY_TIME: pa.duration("us"),
    t.NANOS: pa.timestamp("ns", tz="UTC"),
    t.NANOS_NTZ: pa.timestamp("ns"),
}

# Unsigned integers become the narrowest signed type that holds all their values.
_DELTA: dict[pa.DataType, t.DataType] = {
    **{arrow: delta for delta, arrow in _ARROW.items() if delta not in (t.VARIANT, t.YEAR_MONTH, *t.NANOSECONDS)},
    pa.uint8(): t.SHORT,
    pa.uint16(): t.INTEGER,
    pa.uint32(): t.LONG,
    pa.uint64(): t.DecimalType(20, 0),
    pa.float16(): t.FLOAT,
    pa.large_string(): t.STRING,
    pa.string_view(): t.STRING,
    pa.large_binary(): t.BINARY,
    pa.binary_view(): t.BINARY,
    pa.date64(): t.DATE,
}

# Extension types that are read as their storage.
_PLAIN_EXTENSIONS: dict[str, t.DataType] = {UUID_EXTENSION: t.BINARY, JSON_EXTENSION: t.STRING}


def arrow_type(data_type: t.DataType) -> pa.DataType:
    """Return the Arrow type for a Delta type. Timestamps are timestamp[us, UTC], a variant is a struct of two binaries.

    Intervals of years and months are int32, a count of months, which is also the type of integers. Shapes are binary,
    their WKB; `arrow_field` names the extension type in the metadata of the field.

    Raises SchemaError for an unsupported type.
    """
    if isinstance(data_type, t.PrimitiveType) or data_type in t.NAMED_TYPES:
        return _ARROW[data_type]
    match data_type:
        case t.DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case t.StructType(fields):
            return pa.struct([arrow_field(f) for f in fields])
        case t.ArrayType(element, contains_null):
            return pa.list_(_field("element", element, contains_null))
        case t.MapType(key, value, value_contains_null):
            return pa.map_(_field("key", key, False), _field("value", value, value_contains_null))
        case t.GeometryType() | t.GeographyType():
            return pa.binary()
        case _:
            raise SchemaError(f"The type {getattr(data_type, 'name', data_type)} is not supported.")


def arrow_field(field: t.StructField) -> pa.Field:
    """Return `field` as an Arrow field, without metadata, except the extension type geoarrow.wkb of shapes."""
    try:
        return _field(field.name, field.type, field.nullable)
    except SchemaError as error:
        raise SchemaError(f"Column {field.name!r}: {error}") from error


def _field(name: str, type_: t.DataType, nullable: bool) -> pa.Field:
    # Arrow's null type must be nullable.
    return pa.field(name, arrow_type(type_), nullable or type_ == t.VOID, extension_metadata(type_))


def spark_shapes_type(type_: t.GeometryType | t.GeographyType, srid: int) -> pa.DataType:
    """Return the Arrow type of shapes with an SRID that Spark takes from Python, and gives to it."""
    name = next(name for name, kind in _SPARK_SHAPES.items() if isinstance(type_, kind))
    said = {name: "true", SPARK_SRID: str(srid)}
    return pa.struct([pa.field(SPARK_SRID, pa.int32(), False), pa.field(SPARK_WKB, pa.binary(), False, said)])


def extension_metadata(type_: t.DataType) -> dict[str, str] | None:
    """Return the metadata of an Arrow field that names the extension type of a column; None for other types."""
    if not isinstance(type_, t.GEOSPATIAL):
        return None
    return {_EXTENSION_NAME: WKB_EXTENSION, _EXTENSION_METADATA: geoarrow_metadata(type_)}


def arrow_schema(struct: t.StructType) -> pa.Schema:
    """Return the Arrow schema for rows of `struct`. Raises SchemaError that names a column of unsupported type."""
    return pa.schema([arrow_field(f) for f in struct.fields])


def with_collations(schema: pa.Schema, columns: Iterable[t.StructField]) -> pa.Schema:
    """Return an Arrow schema with the collations that columns of these names declare, which `from_arrow` reads."""
    declared = {field.name: field for field in columns}
    return pa.schema([_with_collations(f, declared[f.name]) if f.name in declared else f for f in schema])


def _with_collations(arrow: pa.Field, field: t.StructField) -> pa.Field:
    declared = field.metadata.get(t.COLLATIONS_KEY)
    if declared:
        places = {path.removeprefix(field.name): collation for path, collation in declared.items()}
        arrow = arrow.with_metadata({**(arrow.metadata or {}), _COLLATIONS: json.dumps(places)})
    return arrow.with_type(_with_inner_collations(arrow.type, field.type))


def _with_inner_collations(arrow: pa.DataType, type_: t.DataType) -> pa.DataType:
    match type_:
        case t.StructType(fields):
            return pa.struct([_with_collations(each, field) for each, field in zip(arrow, fields, strict=True)])
        case t.ArrayType(element):
            return with_inner(arrow, lambda field: field.with_type(_with_inner_collations(field.type, element)))
        case t.MapType(key, value):
            inner = zip((arrow.key_field, arrow.item_field), (key, value), strict=True)
            return pa.map_(*(field.with_type(_with_inner_collations(field.type, kind)) for field, kind in inner))
        case _:
            return arrow


def from_arrow(schema: pa.Schema) -> t.StructType:
    """Return the Delta schema for rows of an Arrow schema. Arrow metadata is dropped, except of `with_collations`.

    A timestamp with a time zone becomes timestamp, and a timestamp without a time zone becomes timestamp_ntz, for every
    unit: a column of nanoseconds must be declared. The extension type arrow.parquet.variant becomes variant,
    arrow.bool8 boolean, arrow.uuid binary of 16 bytes and arrow.json string, with unchanged values. geoarrow.wkb
    becomes geometry, or geography if its edges are not planar. A struct of two binaries stays a struct, because it
    cannot be distinguished from a variant, unless it has the mark of Spark's `toArrow`.

    A duration becomes an interval from days to seconds.

    Raises SchemaError for a type without a counterpart in Delta: time of day, intervals of months, unions, and every
    other extension type, because its storage does not define the meaning of its values.
    """
    return t.StructType(tuple(_from_field(f) for f in schema))


def extension_name(field: pa.Field) -> str | None:
    """Return the name of a field's extension type; None for other fields.

    If pyarrow does not know the type, the field's metadata has the name.
    """
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    name = (field.metadata or {}).get(_EXTENSION_NAME.encode())
    return None if name is None else name.decode(errors="replace")


def from_arrow_type(arrow: pa.DataType) -> t.DataType:
    """Return the Delta type for values of an Arrow type. Raises SchemaError like from_arrow."""
    if isinstance(arrow, pa.BaseExtensionType):
        return _field_type(pa.field("", arrow))
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return from_arrow_type(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return t.TIMESTAMP if arrow.tz is not None else t.TIMESTAMP_NTZ
    if pa.types.is_duration(arrow):
        return t.DAY_TIME
    if pa.types.is_decimal(arrow):
        return t.DecimalType(arrow.precision, arrow.scale)
    if pa.types.is_fixed_size_binary(arrow):
        return t.BINARY
    if arrow in _DELTA:
        return _DELTA[arrow]
    if pa.types.is_struct(arrow):
        if (shapes := _shapes_of_spark(arrow)) is not None:
            return shapes
        if _is_variant_of_spark(arrow):
            return t.VARIANT
        return t.StructType(tuple(_from_field(arrow.field(i)) for i in range(arrow.num_fields)))
    if pa.types.is_map(arrow):
        key, value = _field_type(arrow.key_field), _field_type(arrow.item_field)
        return t.MapType(key, value, arrow.item_field.nullable)
    if is_list(arrow):
        return t.ArrayType(_field_type(arrow.value_field), arrow.value_field.nullable)
    raise SchemaError(
        f"The Arrow type {arrow} has no counterpart in Delta: cast the column, such as to text or a number."
    )


def storage_type(arrow: pa.DataType) -> pa.DataType:
    """Return the type with every extension type, at any depth, replaced by its storage type.

    Spark ignores extension types when it reads Parquet files.
    """
    if isinstance(arrow, pa.BaseExtensionType):
        return storage_type(arrow.storage_type)
    return with_inner(arrow, lambda field: field.with_type(storage_type(field.type)).remove_metadata())


def without_views(arrow: pa.DataType) -> pa.DataType:
    """Return the type with string and binary instead of their view types, of which Arrow takes and filters no rows."""
    if pa.types.is_dictionary(arrow):
        return pa.dictionary(arrow.index_type, without_views(arrow.value_type), arrow.ordered)
    if pa.types.is_string_view(arrow):
        return pa.string()
    if pa.types.is_binary_view(arrow):
        return pa.binary()
    return with_inner(arrow, lambda field: field.with_type(without_views(field.type)))


def with_inner(arrow: pa.DataType, change: Callable[[pa.Field], pa.Field]) -> pa.DataType:
    """Return a nested type whose fields, elements, keys and values are changed; another type as it is."""
    if pa.types.is_struct(arrow):
        return pa.struct([change(field) for field in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(change(arrow.key_field), change(arrow.item_field))
    if pa.types.is_list(arrow):
        return pa.list_(change(arrow.value_field))
    if pa.types.is_large_list(arrow):
        return pa.large_list(change(arrow.value_field))
    if pa.types.is_fixed_size_list(arrow):
        return pa.list_(change(arrow.value_field), arrow.list_size)
    return arrow


def _from_field(field: pa.Field) -> t.StructField:
    declared = (field.metadata or {}).get(_COLLATIONS.encode())
    places = {} if declared is None else parse_json(declared)
    collations = {f"{field.name}{place}": collation for place, collation in places.items()}
    try:
        return t.StructField(
            field.name, _field_type(field), field.nullable, {t.COLLATIONS_KEY: collations} if collations else {}
        )
    except SchemaError as error:
        raise SchemaError(f"Column {field.name!r}: {error}") from error


def _field_type(field: pa.Field) -> t.DataType:
    name = extension_name(field)
    storage = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    if name == WKB_EXTENSION and from_arrow_type(storage) == t.BINARY:
        return of_geoarrow(_extension_metadata_of(field))
    return from_arrow_type(storage) if name is None else _from_extension(name, storage)


def _extension_metadata_of(field: pa.Field) -> str:
    if isinstance(field.type, pa.ExtensionType):
        return str(field.type.__arrow_ext_serialize__().decode())
    return str((field.metadata or {}).get(_EXTENSION_METADATA.encode(), b"").decode(errors="replace"))


def _is_variant_of_spark(arrow: pa.StructType) -> bool:
    """Whether a struct is a variant of `DataFrame.toArrow`, as the metadata of its field `metadata` says.

    # Spark 4.1, ArrowUtils.isVariantField
    """
    if {f.name for f in arrow} != {f.name for f in VARIANT_STORAGE}:
        return False
    marked = (arrow.field("metadata").metadata or {}).get(b"variant") == b"true"
    return marked and all(pa.types.is_binary(f.type) or pa.types.is_large_binary(f.type) for f in arrow)


def _shapes_of_spark(arrow: pa.StructType) -> t.DataType | None:
    """The type of shapes that Spark gives Python; None for another struct.

    # PySpark 4.2, sql.pandas.types.to_arrow_type: a struct of srid and wkb, whose metadata say what it is
    """
    if [each.name for each in arrow] != [SPARK_SRID, SPARK_WKB]:
        return None
    said = arrow.field(SPARK_WKB).metadata or {}
    kind = next((kind for name, kind in _SPARK_SHAPES.items() if said.get(name.encode()) == b"true"), None)
    return None if kind is None else kind(crs_of_srid(int(said[SPARK_SRID.encode()])))


def _from_extension(name: str, storage: pa.DataType) -> t.DataType:
    if name == VARIANT_EXTENSION:
        if not pa.types.is_struct(storage) or {f.name for f in storage} != {f.name for f in VARIANT_STORAGE}:
            raise SchemaError(f"The Arrow type {name} is supported only with the members metadata and value.")
        return t.VARIANT
    if name == BOOL8_EXTENSION and pa.types.is_int8(storage):
        return t.BOOLEAN
    if name in _PLAIN_EXTENSIONS and from_arrow_type(storage) == _PLAIN_EXTENSIONS[name]:
        return _PLAIN_EXTENSIONS[name]
    cure = f"cast the column to a type that Delta has, such as its storage type, {storage}"
    cure = _CURES.get("geoarrow" if name.startswith("geoarrow.") else name, cure)
    raise SchemaError(f"The Arrow extension type {name} has no counterpart in Delta: {cure}.")


def is_list(arrow: pa.DataType) -> bool:
    """Whether a type is one of Arrow's five kinds of lists."""
    kinds = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(getattr(pa.types, f"is_{kind}")(arrow) for kind in kinds)

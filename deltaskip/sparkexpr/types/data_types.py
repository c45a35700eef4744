"""Delta's data types as immutable values.

# PROTOCOL, Schema Serialization Format
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from deltaskip.doors import NotCalled
from deltaskip.errors import InvalidArgumentType, SchemaError
from deltaskip.json_text import parse_json
from deltaskip.printable import printable
from deltaskip.records import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DECIMAL_PRECISION = 38
DEEPEST = 100
"""The greatest depth of a schema. A deeper schema would exhaust Python's stack in recursive functions over types."""

COLLATIONS_KEY = "__COLLATIONS"
# PROTOCOL, Column Mapping
PHYSICAL_NAME_KEY = "delta.columnMapping.physicalName"

# Keys of a field's metadata; the last key is a prefix.
INVARIANTS_KEY = "delta.invariants"
GENERATION_KEY = "delta.generationExpression"
DEFAULT_KEY = "CURRENT_DEFAULT"
IDENTITY_PREFIX = "delta.identity."
COMMENT_KEY = "comment"
_COMMENT_WIDTH = 60

_PRIMITIVE_NAMES = frozenset(
    (
        *("string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date", "timestamp"),
        *("timestamp_ntz", "void", "variant"),
    )
)


# Defined before the classes, because the constants below use it while the module loads.
def _require(value: object, kind: type, what: str) -> None:
    """Raise InvalidArgumentType unless `value` is a `kind`."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        article = "an" if kind.__name__[0] in "aeiI" else "a"
        raise InvalidArgumentType.of(what, f"{article} {kind.__name__}", value)


_PRIMITIVES: dict[str, PrimitiveType] = {}


class DataType:
    """Base class of all data types."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class PrimitiveType(DataType):
    """A type without parameters, such as long or timestamp.

    Attributes:
        name: The type's name in the protocol: string, long, integer, short, byte, float, double, boolean, binary, date,
            timestamp, timestamp_ntz, void or variant.
    """

    name: str

    def __new__(cls, name: str) -> PrimitiveType:
        """Return the single object for the name, so that the frequent comparisons of types are fast."""
        _require(name, str, "The name of a PrimitiveType")
        if name not in _PRIMITIVE_NAMES:
            raise SchemaError(f"{name!r} is not a primitive type of the protocol; use UnknownType to keep it.")
        found = _PRIMITIVES.get(name)
        return _PRIMITIVES.setdefault(name, object.__new__(cls)) if found is None else found

    def __reduce__(self) -> tuple[type[PrimitiveType], tuple[str]]:
        return PrimitiveType, (self.name,)


STRING = PrimitiveType("string")
LONG = PrimitiveType("long")
INTEGER = PrimitiveType("integer")
SHORT = PrimitiveType("short")
BYTE = PrimitiveType("byte")
FLOAT = PrimitiveType("float")
DOUBLE = PrimitiveType("double")
BOOLEAN = PrimitiveType("boolean")
BINARY = PrimitiveType("binary")
DATE = PrimitiveType("date")
TIMESTAMP = PrimitiveType("timestamp")
TIMESTAMP_NTZ = PrimitiveType("timestamp_ntz")
VOID = PrimitiveType("void")
VARIANT = PrimitiveType("variant")

INTEGRAL_BITS: dict[DataType, int] = {BYTE: 8, SHORT: 16, INTEGER: 32, LONG: 64}
"""The integral types, the narrowest first, and their numbers of bits."""
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
FLOATING: tuple[DataType, ...] = (FLOAT, DOUBLE)
DATETIMES: tuple[DataType, ...] = (DATE, TIMESTAMP, TIMESTAMP_NTZ)

PRIMITIVES: Mapping[str, PrimitiveType] = MappingProxyType({n: PrimitiveType(n) for n in sorted(_PRIMITIVE_NAMES)})

BOOLEAN_TEXTS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
"""Booleans by the strings, in lower case, that CAST accepts."""


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """An exact decimal.

    Attributes:
        precision: Number of digits, from 1 to 38.
        scale: Number of digits after the decimal point, from 0 to the precision.
    """

    precision: int
    scale: int

    def __post_init__(self) -> None:
        _require(self.precision, int, "The precision of a DecimalType")
        _require(self.scale, int, "The scale of a DecimalType")
        if max(self.precision.bit_length(), self.scale.bit_length()) > 64:  # Python refuses to show very long ones
            raise SchemaError(f"The precision and scale of a DecimalType are at most {MAX_DECIMAL_PRECISION}.")
        if not (1 <= self.precision <= MAX_DECIMAL_PRECISION and 0 <= self.scale <= self.precision):
            raise SchemaError(
                f"decimal({self.precision},{self.scale}) is not a type of the protocol: the precision must be 1 to "
                f"{MAX_DECIMAL_PRECISION} and the scale 0 to the precision."
            )


@dataclass(frozen=True, slots=True)
class ArrayType(DataType):
    """An array.

    Attributes:
        element: Type of the elements.
        contains_null: Whether elements can be null.
    """

    element: DataType
    contains_null: bool = True

    def __post_init__(self) -> None:
        _require(self.element, DataType, "The element of an ArrayType")


@dataclass(frozen=True, slots=True)
class MapType(DataType):
    """A map. Keys are never null.

    Attributes:
        key: Type of the keys.
        value: Type of the values.
        value_contains_null: Whether values can be null.
    """

    key: DataType
    value: DataType
    value_contains_null: bool = True

    def __post_init__(self) -> None:
        _require(self.key, DataType, "The key of a MapType")
        _require(self.value, DataType, "The value of a MapType")


DEFAULT_CRS = "OGC:CRS84"
ALGORITHMS = ("spherical", "vincenty", "thomas", "andoyer", "karney")


@dataclass(frozen=True, slots=True)
class GeometryType(DataType):
    """Shapes as well-known binary (WKB), whose edges are straight lines.

    # Apache Parquet, Geospatial Definitions; delta-spark 4.4, GeometryType of Spark 4.2

    Attributes:
        crs: The coordinate reference system, such as OGC:CRS84 (longitude and latitude) or EPSG:3857. x is the
            easting or longitude, whatever the order of axes in the system is.
    """

    crs: str = DEFAULT_CRS

    def __post_init__(self) -> None:
        _require_crs(self.crs, type(self).__name__)

    @property
    def name(self) -> str:
        """The type's name in the schema."""
        return f"geometry({self.crs})"


@dataclass(frozen=True, slots=True)
class GeographyType(DataType):
    """Shapes on the Earth as well-known binary (WKB), whose edges are the shortest lines on a sphere or an ellipsoid.

    Attributes:
        crs: The coordinate reference system. x is the longitude, and y the latitude, in degrees.
        algorithm: How points between the ends of an edge are computed: spherical, vincenty, thomas, andoyer or karney.
    """

    crs: str = DEFAULT_CRS
    algorithm: str = "spherical"

    def __post_init__(self) -> None:
        _require_crs(self.crs, type(self).__name__)
        _require(self.algorithm, str, "The algorithm of a GeographyType")
        if self.algorithm not in ALGORITHMS:
            raise SchemaError(f"{self.algorithm!r} is no algorithm of edges: it is one of {', '.join(ALGORITHMS)}.")

    @property
    def name(self) -> str:
        """The type's name in the schema."""
        return f"geography({self.crs}, {self.algorithm})"


GEOSPATIAL = (GeometryType, GeographyType)


def _require_crs(crs: object, kind: str) -> None:
    _require(crs, str, f"The crs of a {kind}")
    if not isinstance(crs, str) or not crs or not frozenset('(), "').isdisjoint(crs):
        raise SchemaError(f"{crs!r} is no coordinate reference system, such as OGC:CRS84 or EPSG:3857.")


@dataclass(frozen=True, slots=True)
class UnknownType(DataType):
    """A type that is named by its JSON text: of NAMED_TYPES, and of what deltaskip does not support.

    Attributes:
        json: The type's JSON text in the schema, unchanged.
    """

    json: str

    def __post_init__(self) -> None:
        _require(self.json, str, "The json of an UnknownType")

    @property
    def name(self) -> str:
        """The type's name in messages."""
        value = parse_json(self.json)
        return value if isinstance(value, str) else str(value.get("type", self.json))


YEAR_MONTH = UnknownType('"interval year to month"')
DAY_TIME = UnknownType('"interval day to second"')
NANOS = UnknownType('"timestamp_nanos"')
NANOS_NTZ = UnknownType('"timestamp_nanos_ntz"')
NANOSECONDS: tuple[DataType, ...] = (NANOS, NANOS_NTZ)
"""The types of instants and local times with nanoseconds, by the names of delta-kernel-rs."""
COLUMN_INTERVALS: tuple[DataType, ...] = (YEAR_MONTH, DAY_TIME)
"""The types of interval columns: counts of months and of microseconds. # RFC Interval Types"""


def is_ordered(type_: DataType | None) -> bool:
    """Return whether this package compares values of the type as greater and less: numbers, times, strings, bytes."""
    if isinstance(type_, PrimitiveType):
        return type_ not in (VARIANT, VOID)
    return isinstance(type_, DecimalType) or type_ in NANOSECONDS


NAMED_TYPES: tuple[DataType, ...] = (*COLUMN_INTERVALS, *NANOSECONDS)
"""The types that UnknownType names and columns may have."""


@dataclass(frozen=True, slots=True)
class StructField:
    """A column of a table, or a field of a struct.

    Attributes:
        name: The logical name.
        type: The data type.
        nullable: Whether values can be null.
        metadata: The field's JSON object in the schema, read-only.
    """

    name: str
    type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _require(self.name, str, "The name of a StructField")
        _require(self.type, DataType, "The type of a StructField")
        if type(self.metadata) is not MappingProxyType:
            _require(self.metadata, Mapping, "The metadata of a StructField")
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled, and fields are sent to Spark tasks.
        return StructField, (self.name, self.type, self.nullable, dict(self.metadata))


@dataclass(frozen=True, slots=True, repr=False)
class StructType(DataType, NotCalled):
    """An ordered list of fields: a nested struct or the schema of a table.

    Its `repr` is a tree like PySpark's `printSchema()`, with collations and comments.

    Attributes:
        fields: The fields, in order.
        partition_columns: Names of the partition columns, if it is the schema of a table: see `DeltaTable.schema`.
            They are not part of the type and are not compared.
    """

    example: ClassVar[str] = ", as in schema.to_arrow()"
    fields: tuple[StructField, ...] = ()
    partition_columns: tuple[str, ...] = field(default=(), kw_only=True, compare=False)

    def __post_init__(self) -> None:
        if type(self.fields) is not tuple:
            _require(self.fields, Iterable, "The fields of a StructType")
            object.__setattr__(self, "fields", tuple(self.fields))
        for each in self.fields:
            if not isinstance(each, StructField):
                _require(each, StructField, "Each field of a StructType")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the direct fields, in order."""
        return tuple([f.name for f in self.fields])

    def to_arrow(self) -> pa.Schema:
        """Return the Arrow schema for rows of the fields. Raises SchemaError for a type that Arrow does not have."""
        from deltaskip.sparkexpr.types.arrow import arrow_schema

        return arrow_schema(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            cure = f": write {_OF_SCHEMAS[name]}." if name in _OF_SCHEMAS else "."
            raise AttributeError(f"A StructType has no {name}{cure}", name=name)

    def __repr__(self) -> str:
        return "\n".join(["root", *_struct_lines(self, " ")])

    def _repr_html_(self) -> str:
        from deltaskip.shown import escaped

        return f"<pre>{escaped(repr(self))}</pre>"


_OF_SCHEMAS = {
    "to_pyarrow": "schema.to_arrow()",
    "to_json": "repr(schema) to read it, and schema.to_arrow() to convert it",
    "json": "repr(schema) to read it, and schema.to_arrow() to convert it",
    "columns": "schema.names",
    "fieldNames": "schema.names",
    "simpleString": "repr(schema)",
    "treeString": "repr(schema)",
    "printTreeString": "print(schema)",
}
"""Names of the schemas of other libraries, and what to write."""


def nested_types(type_: DataType, into_structs: bool = True) -> Iterator[DataType]:
    """Yield the type and every nested type, outer types first; without the types of fields if not `into_structs`."""
    yield type_
    inner: tuple[DataType, ...] = ()
    match type_:
        case StructType(fields) if into_structs:
            inner = tuple(each.type for each in fields)
        case ArrayType(element):
            inner = (element,)
        case MapType(key, value):
            inner = (key, value)
    for each in inner:
        yield from nested_types(each, into_structs)


def nested_fields(type_: DataType) -> Iterator[StructField]:
    """Yield the fields of the type and of every nested type, outer fields first."""
    return (field for each in nested_types(type_) if isinstance(each, StructType) for field in each.fields)


def declared_collation(field: StructField, path: str) -> str | None:
    """The collation identifier that `field` declares for the string at `path`, as written, or None for binary order.

    `path` starts with the field's name and continues with `element`, `key` and `value`. Raises SchemaError if the
    declaration is not an object of strings: pruning by binary order would be wrong.
    """
    declared = field.metadata.get(COLLATIONS_KEY)
    if declared is None:
        return None
    if not isinstance(declared, Mapping):
        raise SchemaError(f"The metadata {COLLATIONS_KEY} of field {field.name!r} is not a JSON object.")
    identifier = declared.get(path)
    if identifier is not None and not isinstance(identifier, str):
        raise SchemaError(f"The collation of {path!r} in {COLLATIONS_KEY} of field {field.name!r} is not a string.")
    return identifier


def collation_name(identifier: str) -> str:
    """The name in provider.name[.version], which Spark writes in the text of a type."""
    parts = identifier.split(".", 2)
    return parts[1] if len(parts) > 1 else identifier


# Spark 4.1, StructType.treeString


def _struct_lines(struct: StructType, indent: str) -> Iterator[str]:
    for each in struct.fields:
        comment = each.metadata.get(COMMENT_KEY)
        notes = [f"nullable = {_flag(each.nullable)}"]
        if isinstance(comment, str) and comment:
            notes.append(f"comment = {printable(textwrap.shorten(comment, _COMMENT_WIDTH, placeholder=' …'))}")
        yield f"{indent}|-- {printable(each.name)}: {_tree_name(each.type, each, each.name)} ({', '.join(notes)})"
        yield from _content_lines(each.type, each, each.name, f"{indent}|    ")


def _content_lines(data_type: DataType, field: StructField, path: str, indent: str) -> Iterator[str]:
    """The lines of the types nested in a type. `field`, the nearest field, declares collations by `path`."""
    match data_type:
        case StructType():
            yield from _struct_lines(data_type, indent)
        case ArrayType(element, contains_null):
            inner = f"{path}.element"
            yield f"{indent}|-- element: {_tree_name(element, field, inner)} (containsNull = {_flag(contains_null)})"
            yield from _content_lines(element, field, inner, f"{indent}|    ")
        case MapType(key, value, contains_null):
            yield f"{indent}|-- key: {_tree_name(key, field, f'{path}.key')}"
            yield from _content_lines(key, field, f"{path}.key", f"{indent}|    ")
            name = _tree_name(value, field, f"{path}.value")
            yield f"{indent}|-- value: {name} (valueContainsNull = {_flag(contains_null)})"
            yield from _content_lines(value, field, f"{path}.value", f"{indent}|    ")


def _tree_name(data_type: DataType, field: StructField, path: str) -> str:
    match data_type:
        case PrimitiveType("string"):
            declared = field.metadata.get(COLLATIONS_KEY)
            identifier = declared.get(path) if isinstance(declared, Mapping) else None
            if not isinstance(identifier, str):
                return "string"
            return f"string collate {printable(collation_name(identifier))}"
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case PrimitiveType() | UnknownType() | GeometryType() | GeographyType():
            return printable(data_type.name)
        case _:
            return type(data_type).__name__.removesuffix("Type").lower()


def _flag(value: bool) -> str:
    return "true" if value else "false"

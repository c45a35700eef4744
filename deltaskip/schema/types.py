"""Delta's data types as frozen values.

# PROTOCOL, Schema Serialization Format
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from deltaskip.errors import SchemaError

__all__ = [
    "BINARY",
    "BOOLEAN",
    "BYTE",
    "COLLATIONS_KEY",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INTEGER",
    "LONG",
    "MAX_DECIMAL_PRECISION",
    "PRIMITIVES",
    "SHORT",
    "STRING",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "VARIANT",
    "VOID",
    "ArrayType",
    "DataType",
    "DecimalType",
    "MapType",
    "PrimitiveType",
    "StructField",
    "StructType",
    "UnknownType",
    "declared_collation",
    "nested_types",
]

MAX_DECIMAL_PRECISION = 38
COLLATIONS_KEY = "__COLLATIONS"

_PRIMITIVE_NAMES = frozenset(
    (
        "string",
        "long",
        "integer",
        "short",
        "byte",
        "float",
        "double",
        "boolean",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "void",
        "variant",
    )
)


class DataType:
    """Base of every type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class PrimitiveType(DataType):
    """A type that its name says wholly; use the constants of this module."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in _PRIMITIVE_NAMES:
            raise SchemaError(f"{self.name!r} is not a primitive type of the protocol; use UnknownType to keep it.")


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

PRIMITIVES: Mapping[str, PrimitiveType] = MappingProxyType({n: PrimitiveType(n) for n in sorted(_PRIMITIVE_NAMES)})


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """An exact decimal with 1 to 38 digits, `scale` of them behind the point."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= MAX_DECIMAL_PRECISION and 0 <= self.scale <= self.precision):
            raise SchemaError(
                f"decimal({self.precision},{self.scale}) is not a type of the protocol: the precision must be 1 to "
                f"{MAX_DECIMAL_PRECISION} and the scale 0 to the precision."
            )


@dataclass(frozen=True, slots=True)
class ArrayType(DataType):
    """A list of `element`s."""

    element: DataType
    contains_null: bool = True


@dataclass(frozen=True, slots=True)
class MapType(DataType):
    """A map; keys are never null."""

    key: DataType
    value: DataType
    value_contains_null: bool = True


@dataclass(frozen=True, slots=True)
class UnknownType(DataType):
    """A type that this package does not know (geometry, intervals …): `json` is its JSON text, kept and never read."""

    json: str

    @property
    def name(self) -> str:
        """What to call the type in a message."""
        value = json.loads(self.json)
        return value if isinstance(value, str) else str(value.get("type", self.json))


@dataclass(frozen=True, slots=True)
class StructField:
    """A column or nested field. `metadata` is the JSON object of the schema, untouched and read-only."""

    name: str
    type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy does not pickle, and fields travel to Spark tasks.
        return StructField, (self.name, self.type, self.nullable, dict(self.metadata))


@dataclass(frozen=True, slots=True)
class StructType(DataType):
    """An ordered list of fields: a nested struct or the schema of a table."""

    fields: tuple[StructField, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the direct fields, in order."""
        return tuple(f.name for f in self.fields)


def nested_types(type_: DataType, into_structs: bool = True) -> Iterator[DataType]:
    """Yield the type and every type nested in it, outer types first; with into_structs=False, not the fields' types."""
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


def declared_collation(field: StructField, path: str) -> str | None:
    """The collation identifier that `field` declares for the string at `path`, as written, or None for binary order.

    `path` starts with the field's own name and goes through `element`, `key` and `value`. Raises SchemaError where
    the declaration is not an object of strings: reading it as binary order would prune wrongly.
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

"""Ordinals: the order-preserving map from the values of a type to integers, or to UTF-8 bytes for strings.

Every type with min and max statistics has ordinals.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any, TypeAlias

from deltaskip.records import dataclass
from deltaskip.sparkexpr.types.data_types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATING,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)
from deltaskip.sparkexpr.values.numerals import EXACT

Spans: TypeAlias = tuple[tuple[Any, Any], ...]
"""Half-open spans of ordinals, ascending and disjoint."""

INFINITY = 0x7FF0_0000_0000_0000
"""Ordinal of positive infinity. Ordinals of negative doubles are negated: -0.0 and 0.0 have the same ordinal."""

NAN = INFINITY + 1
"""Ordinal of NaN, Spark's greatest number."""


@dataclass(frozen=True, slots=True)
class Domain:
    """Ordinals [low, stop) of a type's values."""

    low: Any
    stop: Any

    @property
    def all(self) -> Spans:
        """The whole domain as spans."""
        return ((self.low, self.stop),)


_DOUBLES = Domain(-INFINITY, NAN + 1)
_TEXTS = Domain(b"", b"\xff")
LOCAL = Domain(-(1 << 63) - (1 << 40), (1 << 63) + (1 << 40))
"""The local microseconds of all instants in all time zones."""

_DOMAINS: dict[DataType, Domain] = {
    BOOLEAN: Domain(0, 2),
    **{t: Domain(-(1 << bits), 1 << bits) for t, bits in ((BYTE, 7), (SHORT, 15), (INTEGER, 31), (LONG, 63))},
    DATE: Domain(-(1 << 31), 1 << 31),
    TIMESTAMP: Domain(-(1 << 63), 1 << 63),
    TIMESTAMP_NTZ: Domain(-(1 << 63), 1 << 63),
    FLOAT: _DOUBLES,
    DOUBLE: _DOUBLES,
    STRING: _TEXTS,
}


def domain_of(type_: DataType | None) -> Domain | None:
    """Return the domain of a type; None for types without bounds."""
    if isinstance(type_, DecimalType):
        limit: int = 10**type_.precision
        return Domain(1 - limit, limit)
    return None if type_ is None else _DOMAINS.get(type_)


def ordinal_of(type_: DataType, value: Any) -> Any:
    """Return the ordinal of a value that is not NULL; None if the value is not of the type."""
    match value:
        case bool():
            return int(value) if type_ == BOOLEAN else None
        case int() if type_ not in FLOATING:
            return value
        case float() | int():
            return _float_ordinal(float(value))
        case str():
            return value.encode() if type_ == STRING else None
        case Decimal() if isinstance(type_, DecimalType):
            scaled = value.scaleb(type_.scale, EXACT)
            return int(scaled) if scaled == scaled.to_integral_value(context=EXACT) else None
    return None


def value_at(type_: DataType, ordinal: Any) -> Any:
    """Return the value of an ordinal, in the value domain."""
    if type_ in FLOATING:
        return _float_at(ordinal)
    if isinstance(type_, DecimalType):
        return Decimal((int(ordinal < 0), tuple(int(d) for d in str(abs(ordinal))), -type_.scale))
    if type_ == BOOLEAN:
        return bool(ordinal)
    return ordinal.decode() if type_ == STRING else ordinal


def following(ordinal: Any) -> Any:
    """Return the next ordinal. For bytes, it is the bytes followed by NUL."""
    return ordinal + b"\0" if isinstance(ordinal, bytes) else ordinal + 1


def span_of_prefix(text: bytes) -> tuple[bytes, bytes]:
    """Return the span of the strings that start with a prefix, in UTF-8."""
    return text, text[:-1] + bytes([text[-1] + 1]) if text else b"\xff"


def _float_ordinal(value: float) -> int:
    if math.isnan(value):
        return NAN
    bits: int = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    return -bits if value < 0 else bits


def _float_at(ordinal: int) -> float:
    if ordinal >= NAN:
        return math.nan
    value: float = struct.unpack("<d", struct.pack("<q", abs(ordinal)))[0]
    return -value if ordinal < 0 else value

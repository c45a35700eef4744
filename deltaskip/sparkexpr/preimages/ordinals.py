"""Ordinals: the order-preserving map from the values of a type to integers, or to UTF-8 bytes for strings.

Every type with min and max statistics has ordinals.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any, TypeAlias

from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import data_types
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

_DOMAINS: dict[data_types.DataType, Domain] = {
    data_types.BOOLEAN: Domain(0, 2),
    **{
        t: Domain(-(1 << bits), 1 << bits)
        for t, bits in ((data_types.BYTE, 7), (data_types.SHORT, 15), (data_types.INTEGER, 31), (data_types.LONG, 63))
    },
    data_types.DATE: Domain(-(1 << 31), 1 << 31),
    data_types.TIMESTAMP: Domain(-(1 << 63), 1 << 63),
    data_types.TIMESTAMP_NTZ: Domain(-(1 << 63), 1 << 63),
    **dict.fromkeys(data_types.NANOSECONDS, Domain(-(1 << 63), 1 << 63)),
    data_types.FLOAT: _DOUBLES,
    data_types.DOUBLE: _DOUBLES,
    data_types.STRING: _TEXTS,
}


def domain_of(type_: data_types.DataType | None) -> Domain | None:
    """Return the domain of a type; None for types without bounds."""
    if isinstance(type_, data_types.DecimalType):
        limit: int = 10**type_.precision
        return Domain(1 - limit, limit)
    return None if type_ is None else _DOMAINS.get(type_)


def ordinal_of(type_: data_types.DataType, value: Any) -> Any:
    """Return the ordinal of a value that is not NULL; None if the value is not of the type."""
    match value:
        case bool():
            return int(value) if type_ == data_types.BOOLEAN else None
        case int() if type_ not in data_types.FLOATING:
            return value
        case float() | int():
            return _float_ordinal(float(value))
        case str():
            return value.encode() if type_ == data_types.STRING else None
        case Decimal() if isinstance(type_, data_types.DecimalType):
            scaled = value.scaleb(type_.scale, EXACT)
            return int(scaled) if scaled == scaled.to_integral_value(context=EXACT) else None
    return None


def value_at(type_: data_types.DataType, ordinal: Any) -> Any:
    """Return the value of an ordinal, in the value domain."""
    if type_ in data_types.FLOATING:
        return _float_at(ordinal)
    if isinstance(type_, data_types.DecimalType):
        return Decimal((int(ordinal < 0), tuple(int(d) for d in str(abs(ordinal))), -type_.scale))
    if type_ == data_types.BOOLEAN:
        return bool(ordinal)
    return ordinal.decode() if type_ == data_types.STRING else ordinal


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

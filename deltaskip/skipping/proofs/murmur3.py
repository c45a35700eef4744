"""Bucket numbers: Spark's hash function and Iceberg's, both Murmur3 for x86 with 32 bits.

Spark seeds with 42, hashes integers of up to 32 bits as four bytes, and each byte that remains after groups of four as
an integer of its own. Iceberg seeds with 0, hashes every integer as eight bytes, and follows the algorithm for bytes.

# Spark 4.1, Murmur3_x86_32.java, HashExpression; Iceberg specification, Appendix B
"""

from __future__ import annotations

import math
import struct
from decimal import Context, Decimal
from typing import Any

from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)

__all__ = ["ICEBERG_TYPES", "SPARK_TYPES", "iceberg_bucket", "spark_hash"]

SPARK_SEED = 42
_MASK = 0xFFFF_FFFF
_LONGS = (LONG, TIMESTAMP, TIMESTAMP_NTZ)
_INTS = (BOOLEAN, BYTE, SHORT, INTEGER, DATE)
_LONG_DIGITS = 18
_EXACT = Context(prec=60)

SPARK_TYPES = (*_INTS, *_LONGS, FLOAT, DOUBLE, STRING, BINARY)
ICEBERG_TYPES = (BYTE, SHORT, INTEGER, DATE, *_LONGS, STRING, BINARY)


def spark_hash(value: Any, type_: DataType) -> int | None:
    """Return Spark's `hash(value)` as a signed 32-bit integer; None for unsupported types. NULL hashes to the seed."""
    if value is None:
        return SPARK_SEED
    if type_ in _INTS:
        return _signed(_of_words(_words(int(value), 4), 4))
    if type_ in _LONGS:
        return _signed(_of_words(_words(value, 8), 8))
    if type_ in (FLOAT, DOUBLE):
        return _signed(_of_floating(value, type_))
    if isinstance(type_, DecimalType):
        unscaled = int(Decimal(value).scaleb(type_.scale, _EXACT))
        if type_.precision <= _LONG_DIGITS:
            return _signed(_of_words(_words(unscaled, 8), 8))
        return _signed(_spark_bytes(_big_endian(unscaled)))
    if type_ in (STRING, BINARY):
        return _signed(_spark_bytes(value.encode() if isinstance(value, str) else value))
    return None


def iceberg_bucket(value: Any, type_: DataType, count: int) -> int | None:
    """Return Iceberg's `bucket[count]` of a value that is not NULL; None for unsupported types."""
    if isinstance(type_, DecimalType):
        data = _big_endian(int(Decimal(value).scaleb(type_.scale, _EXACT)))
    elif type_ in (STRING, BINARY):
        data = value.encode() if isinstance(value, str) else value
    elif type_ in ICEBERG_TYPES:
        data = struct.pack("<q", value)
    else:
        return None
    return (_standard(data) & 0x7FFF_FFFF) % count


def _of_floating(value: float, type_: DataType) -> int:
    value = 0.0 if value == 0 else math.nan if math.isnan(value) else value
    if type_ == FLOAT:
        bits: int = struct.unpack("<i", struct.pack("<f", value))[0]
        return _of_words(_words(bits, 4), 4)
    wide: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return _of_words(_words(wide, 8), 8)


def _words(value: int, size: int) -> list[int]:
    unsigned = value & ((1 << (8 * size)) - 1)
    return [unsigned >> shift & _MASK for shift in range(0, 8 * size, 32)]


def _of_words(words: list[int], length: int) -> int:
    hashed = SPARK_SEED
    for word in words:
        hashed = _mixed(hashed, word)
    return _finished(hashed, length)


def _spark_bytes(data: bytes) -> int:
    whole = len(data) // 4 * 4
    hashed = SPARK_SEED
    for word in struct.unpack(f"<{whole // 4}I", data[:whole]):
        hashed = _mixed(hashed, word)
    for byte in data[whole:]:
        hashed = _mixed(hashed, (byte - 256 if byte > 127 else byte) & _MASK)
    return _finished(hashed, len(data))


def _standard(data: bytes) -> int:
    whole = len(data) // 4 * 4
    hashed = 0
    for word in struct.unpack(f"<{whole // 4}I", data[:whole]):
        hashed = _mixed(hashed, word)
    if data[whole:]:
        hashed ^= _scrambled(int.from_bytes(data[whole:], "little"))
    return _finished(hashed, len(data))


def _scrambled(word: int) -> int:
    return _rotated(word * 0xCC9E_2D51 & _MASK, 15) * 0x1B87_3593 & _MASK


def _mixed(hashed: int, word: int) -> int:
    return (_rotated(hashed ^ _scrambled(word), 13) * 5 + 0xE654_6B64) & _MASK


def _finished(hashed: int, length: int) -> int:
    hashed ^= length
    hashed = (hashed ^ hashed >> 16) * 0x85EB_CA6B & _MASK
    hashed = (hashed ^ hashed >> 13) * 0xC2B2_AE35 & _MASK
    return hashed ^ hashed >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & _MASK


def _big_endian(value: int) -> bytes:
    """Two's complement in the fewest bytes, as Java's BigInteger.toByteArray returns it."""
    magnitude = value if value >= 0 else ~value
    return value.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word

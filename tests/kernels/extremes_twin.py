"""Slow twins of kernels/extremes.pyx and kernels/thrift_compact.pyx."""

import math
import struct
from typing import Any

from tests.kernels.parquet_pages_twin import varint


def number_extremes(values: list[Any]) -> tuple[Any, Any] | None:
    """The least and the greatest that is not None; the first of equal ones."""
    there = [value for value in values if value is not None]
    return (min(there), max(there)) if there else None


def float_extremes(values: list[float | None]) -> tuple[float, float] | None:
    """NaN is the greatest; zeros of both signs are equal, the first is given."""
    there = [value for value in values if value is not None]
    if not there:
        return None
    ordered = sorted(there, key=lambda value: (math.isnan(value), 0 if math.isnan(value) else value))
    least, greatest = ordered[0], ordered[-1]
    zeros = [value for value in there if value == 0]
    return (zeros[0] if least == 0 else least), (zeros[0] if greatest == 0 else greatest)


def binary_extremes(values: list[bytes | None]) -> tuple[int, int] | None:
    """Positions of the first least and the first greatest."""
    there = [(value, i) for i, value in enumerate(values) if value is not None]
    if not there:
        return None
    least, greatest = min(v for v, _ in there), max(v for v, _ in there)
    return next(i for v, i in there if v == least), next(i for v, i in there if v == greatest)


class Int32(int):
    """A number that Thrift has as i32."""


def thrift_struct(fields: dict[int, Any]) -> bytes:
    """A struct in the compact protocol: bool, int (i64), Int32, float, bytes, list of one kind, dict (struct)."""
    out = bytearray()
    last = 0
    for number, value in fields.items():
        kind = (1 if value else 2) if isinstance(value, bool) else _kind(value)
        if 0 < number - last < 16:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            out += varint(number << 1 if number >= 0 else ((-number) << 1) - 1)
        last = number
        if not isinstance(value, bool):
            out += _value(value)
    return bytes(out) + b"\0"


def _kind(value: Any) -> int:
    match value:
        case bool():
            return 1
        case Int32():
            return 5
        case int():
            return 6
        case float():
            return 7
        case bytes():
            return 8
        case list():
            return 9
        case _:
            return 12


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return b"\1" if value else b"\2"
        case int():
            return varint(value << 1 if value >= 0 else ((-value) << 1) - 1)
        case float():
            return struct.pack("<d", value)
        case bytes():
            return varint(len(value)) + value
        case list():
            kind = _kind(value[0]) if value else 6
            head = bytes([len(value) << 4 | kind]) if len(value) < 15 else bytes([0xF0 | kind]) + varint(len(value))
            return head + b"".join(map(_value, value))
        case _:
            return thrift_struct(value)

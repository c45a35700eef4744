"""Conversion of bounds from a data file's stored values to values of the table's type.

A bound is an int (integers, days, microseconds, unscaled decimals at the table's scale), a float, or UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND

Bound = int | float | bytes
Convert = Callable[[Bound], Bound | None]

_LIMITS: dict[t.DataType, int] = {t.BYTE: 1 << 7, t.SHORT: 1 << 15, t.INTEGER: 1 << 31, t.LONG: 1 << 63}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EXACT_DOUBLE = 1 << 53


@dataclass(frozen=True, slots=True)
class StoredType:
    """The stored type of a data file: `unit` is that of timestamps, `scale` that of decimals."""

    kind: Literal["integer", "float", "double", "decimal", "date", "timestamp", "string"]
    scale: int = 0
    unit: str = "us"


def converters(source: StoredType, wanted: t.DataType) -> tuple[Convert, Convert] | None:
    """Return the functions that convert the least and the greatest stored value to bounds of the table's type.

    None if such a file cannot be read as that type. The functions are monotonic, so they apply to extremes, and return
    None for a value that the type cannot represent.
    # PROTOCOL, Type Widening: files keep the narrower type that they were written with.
    """
    if source.kind == "timestamp" and source.unit == "ns" and wanted in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        # Some readers round to microseconds downwards, some towards zero.
        return partial(_micros, per_second=10**9), lambda value: -(-int(value) // 1000)
    convert = _converter(source, wanted)
    return None if convert is None else (convert, convert)


def _converter(source: StoredType, wanted: t.DataType) -> Convert | None:
    match source.kind, wanted:
        case "integer", _ if wanted in _LIMITS:
            return partial(_in_range, limit=_LIMITS[wanted])
        case "integer", t.DecimalType(precision, scale):
            return partial(_rescaled, factor=10**scale, limit=10**precision)
        case "decimal", t.DecimalType(precision, scale) if scale >= source.scale:
            return partial(_rescaled, factor=10 ** (scale - source.scale), limit=10**precision)
        case "integer", _ if wanted == t.DOUBLE:
            return _exact_double
        case (("float" | "double"), _) if wanted == t.DOUBLE or (wanted == t.FLOAT and source.kind == "float"):
            return _same
        case "date", _ if wanted == t.DATE:
            return _same
        case "date", _ if wanted == t.TIMESTAMP_NTZ:
            return partial(_rescaled, factor=MICROS_PER_DAY, limit=1 << 63)
        case "timestamp", _ if wanted in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
            return partial(_micros, per_second=_PER_SECOND[source.unit])
        case "timestamp", _ if wanted in t.NANOSECONDS:
            return partial(_rescaled, factor=10**9 // _PER_SECOND[source.unit], limit=1 << 63)
        case "string", _ if wanted == t.STRING:
            return _same
        case _:
            return None


def _same(value: Bound) -> Bound | None:
    return value


def _in_range(value: Bound, limit: int) -> Bound | None:
    return value if -limit <= int(value) < limit else None


def _rescaled(value: Bound, factor: int, limit: int) -> Bound | None:
    scaled = int(value) * factor
    return scaled if -limit < scaled < limit else None


def _micros(value: Bound, per_second: int) -> Bound | None:
    micros = int(value) * MICROS_PER_SECOND // per_second
    return micros if -(1 << 63) <= micros < 1 << 63 else None


def _exact_double(value: Bound) -> Bound | None:
    return float(value) if -_EXACT_DOUBLE <= int(value) <= _EXACT_DOUBLE else None

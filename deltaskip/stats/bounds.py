"""Conversion of bounds from a data file's stored values to values of the table's type and to JSON text.

A bound is an int (integers, days, microseconds, unscaled decimals at the table's scale), a float, or UTF-8 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from deltaskip.collations.collation import Collation
from deltaskip.records import dataclass
from deltaskip.schema.calendar import MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, format_date, format_timestamp
from deltaskip.schema.floats import java_text
from deltaskip.schema.numerals import of_unscaled
from deltaskip.schema.types import (
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
from deltaskip.stats.layout import Side

Bound = int | float | bytes
Convert = Callable[[Bound], Bound | None]
BoundText = Callable[[Any, Side], str | None]

_LIMITS: dict[DataType, int] = {BYTE: 1 << 7, SHORT: 1 << 15, INTEGER: 1 << 31, LONG: 1 << 63}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EXACT_DOUBLE = 1 << 53
_FIRST_DAY, _LAST_DAY = days_from_civil(1, 1, 1), days_from_civil(9999, 12, 31)
_PREFIX_LENGTH = 32
"""delta-spark's spark.databricks.delta.stats.string.prefix.length."""

COLLATED_LIMIT = 256
"""The length of the longest collated bound that is not truncated, in code points."""

_ASCII_MAX = "\x7f"
_LAST = "\U0010ffff"
# The greatest character in most ICU orders; each truncated bound is verified to be above the text.
_COLLATED_LAST = "\uffff"


@dataclass(frozen=True, slots=True)
class StoredType:
    """The stored type of a data file: `unit` of timestamps, `scale` of decimals."""

    kind: Literal["integer", "float", "double", "decimal", "date", "timestamp", "string"]
    scale: int = 0
    unit: str = "us"


def converters(source: StoredType, wanted: DataType) -> tuple[Convert, Convert] | None:
    """Return the functions that convert the least and the greatest stored value to bounds of the table's type.

    None if such a file cannot be read as that type. The functions are monotonic, so they apply to extremes, and return
    None for a value that the type cannot represent.
    # PROTOCOL, Type Widening: files keep the narrower type that they were written with.
    """
    if source.kind == "timestamp" and source.unit == "ns" and wanted in (TIMESTAMP, TIMESTAMP_NTZ):
        # Some readers round to microseconds downwards, some towards zero.
        return partial(_micros, per_second=10**9), lambda value: -(-int(value) // 1000)
    convert = _converter(source, wanted)
    return None if convert is None else (convert, convert)


def bound_text(type_: DataType) -> BoundText:
    """Return the function that writes bounds of a type as JSON text, as delta-spark writes them in UTC.

    # PROTOCOL, Per-file Statistics: "Timestamp columns are truncated down to milliseconds."
    Strings are truncated (`cut_min`, `cut_max`). For years outside 1 to 9999, and bytes that are not UTF-8, the
    function returns None.
    """
    match type_:
        case DecimalType(_, scale):
            return lambda bound, side: str(of_unscaled(bound, scale))
        case _ if type_ == STRING:
            return _string_text
        case _ if type_ in (FLOAT, DOUBLE):
            return partial(_float_text, single=type_ == FLOAT)
        case _ if type_ == DATE:
            return _date_text
        case _ if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
            return partial(_timestamp_text, zone="Z" if type_ == TIMESTAMP else "")
        case _:
            return lambda bound, side: str(bound)


def json_string(text: str) -> str:
    """Return the text as a JSON string. Letters outside ASCII are not escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + text.translate(_ESCAPES) + '"'


_ESCAPES = {i: f"\\u{i:04X}" for i in range(0x20)} | {
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    8: "\\b",
    9: "\\t",
    10: "\\n",
    12: "\\f",
    13: "\\r",
}


def _converter(source: StoredType, wanted: DataType) -> Convert | None:
    match source.kind, wanted:
        case "integer", _ if wanted in _LIMITS:
            return partial(_in_range, limit=_LIMITS[wanted])
        case "integer", DecimalType(precision, scale):
            return partial(_rescaled, factor=10**scale, limit=10**precision)
        case "decimal", DecimalType(precision, scale) if scale >= source.scale:
            return partial(_rescaled, factor=10 ** (scale - source.scale), limit=10**precision)
        case "integer", _ if wanted == DOUBLE:
            return _exact_double
        case (("float" | "double"), _) if wanted == DOUBLE or (wanted == FLOAT and source.kind == "float"):
            return _same
        case "date", _ if wanted == DATE:
            return _same
        case "date", _ if wanted == TIMESTAMP_NTZ:
            return partial(_rescaled, factor=MICROS_PER_DAY, limit=1 << 63)
        case "timestamp", _ if wanted in (TIMESTAMP, TIMESTAMP_NTZ):
            return partial(_micros, per_second=_PER_SECOND[source.unit])
        case "string", _ if wanted == STRING:
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


def _string_text(bound: bytes, side: Side) -> str | None:
    try:
        text = bound.decode()
    except UnicodeDecodeError:
        return None
    cut = cut_min(text) if side == "min" else cut_max(text)
    return None if cut is None else json_string(cut)


def _date_text(days: int, side: Side) -> str | None:
    return f'"{format_date(days)}"' if _FIRST_DAY <= days <= _LAST_DAY else None


def _timestamp_text(micros: int, side: Side, zone: str) -> str | None:
    if not _FIRST_DAY <= micros // MICROS_PER_DAY <= _LAST_DAY:
        return None
    return f'"{format_timestamp(micros, "T", 3)}{zone}"'


def _float_text(value: float, side: Side, single: bool) -> str:
    text = java_text(value, single)
    return text if math.isfinite(value) else f'"{text}"'


def cut_min(text: str) -> str:
    """Return a lower bound of `text` of at most 32 code points."""
    return text[:_PREFIX_LENGTH]


def cut_max(text: str) -> str | None:
    """Return an upper bound of `text` in the order of UTF-8 bytes, or None if none is short enough.

    The first 32 UTF-16 units, 33 where the last character needs two, and a character above the one that follows them.
    No character is above U+10FFFF: the prefix grows over such characters, up to 64 units.
    """
    if len(text) <= _PREFIX_LENGTH // 2 or _units(text) <= _PREFIX_LENGTH:
        return text
    end = _whole(text)
    units = _units(text[:end])
    while units <= 2 * _PREFIX_LENGTH:
        if end >= len(text):
            return text
        if text[end] == _LAST:
            end, units = end + 1, units + 2
        else:
            return text[:end] + (_ASCII_MAX if text[end] < _ASCII_MAX else _LAST)
    return None


def cut_collated_min(text: str, order: Collation) -> str | None:
    """Return a lower bound of `text` in `order` of at most COLLATED_LIMIT code points, or None if none was found.

    Under ICU a prefix of a string may be above it (contractions, reordered vowels), so the result is compared.
    """
    if len(text) <= COLLATED_LIMIT:
        return text
    cut = text[:COLLATED_LIMIT]
    return cut if order.compare_values(cut, text) <= 0 else None


def cut_collated_max(text: str, order: Collation) -> str | None:
    """Return an upper bound of `text` in `order` of at most COLLATED_LIMIT + 1 code points, or None."""
    if len(text) <= COLLATED_LIMIT:
        return text
    raised = (text[:COLLATED_LIMIT] + last for last in (_COLLATED_LAST, _LAST))
    return next((bound for bound in raised if order.compare_values(bound, text) >= 0), None)


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _whole(text: str) -> int:
    """The length of the prefix in characters."""
    units = 0
    for i, character in enumerate(text):
        if units >= _PREFIX_LENGTH:
            return i
        units += 1 if character <= "\uffff" else 2
    return len(text)

"""Bounds as JSON text, as they are written to the log: truncated strings and timestamps.

A bound is an int (integers, days, microseconds, unscaled decimals at the table's scale), a float, or UTF-8 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from deltaskip.kernels.z85 import z85_encode
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import Collation
from deltaskip.sparkexpr.functions import variant_object
from deltaskip.sparkexpr.values import EXACT, format_nanos, java_text, of_unscaled
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, days_from_civil, format_date, format_timestamp
from deltaskip.stats.boxes import point_text
from deltaskip.stats.facts import PathExtremes
from deltaskip.stats.layout import Side

BoundText = Callable[[Any, Side], str | None]

_FIRST_DAY, _LAST_DAY = days_from_civil(1, 1, 1), days_from_civil(9999, 12, 31)
_PREFIX_LENGTH = 32
"""delta-spark's spark.databricks.delta.stats.string.prefix.length."""

COLLATED_LIMIT = 256
"""The length of the longest collated bound that is not truncated, in code points."""

_LONG_DIGITS = 18
_ASCII_MAX = "\x7f"
_LAST = "\U0010ffff"
# The greatest character in most ICU orders; each truncated bound is verified to be above the text.
_COLLATED_LAST = "\uffff"


def bound_text(type_: t.DataType) -> BoundText:
    """Return the function that writes bounds of a type as JSON text, as delta-spark writes them in UTC.

    # PROTOCOL, Per-file Statistics: "Timestamp columns are truncated down to milliseconds."
    Strings are truncated (`cut_min`, `cut_max`). For years outside 1 to 9999, and bytes that are not UTF-8, the
    function returns None.
    """
    match type_:
        case t.DecimalType(_, scale):
            return lambda bound, side: EXACT.to_sci_string(of_unscaled(bound, scale))
        case _ if type_ == t.STRING:
            return _string_text
        case _ if type_ == t.VARIANT:
            return _variant_text
        case t.GeometryType() | t.GeographyType():
            return point_text
        case _ if type_ in t.NANOSECONDS:
            # A reader that knows the type reads all digits, and truncated maxima would be widened.
            return lambda bound, side: f'"{format_nanos(bound, type_, "T")}"'
        case _ if type_ in (t.FLOAT, t.DOUBLE):
            return partial(_float_text, single=type_ == t.FLOAT)
        case _ if type_ == t.DATE:
            return _date_text
        case _ if type_ in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
            return partial(_timestamp_text, zone="Z" if type_ == t.TIMESTAMP else "")
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


def _string_text(bound: bytes, side: Side) -> str | None:
    try:
        text = bound.decode()
    except UnicodeDecodeError:
        return None
    cut = cut_min(text) if side == "min" else cut_max(text)
    return None if cut is None else json_string(cut)


def _variant_text(extremes: PathExtremes, side: Side) -> str:
    """# PROTOCOL, Statistics for Variant Columns: an object of normalized paths, as Z85 of its metadata and value"""
    bounds = {}
    for path, (found, low, high) in extremes.by_path.items():
        bound, type_ = low if side == "min" else high, found
        if isinstance(type_, t.DecimalType):
            # Both bounds are of one type.
            scale = max(0, *(-int(each.normalize(EXACT).as_tuple().exponent) for each in (low, high)))
            type_ = t.DecimalType(_LONG_DIGITS, scale)
            if max(abs(low), abs(high)).scaleb(scale, EXACT) >= 10**_LONG_DIGITS:
                continue
        if type_ == t.STRING:
            bound = cut_min(bound) if side == "min" else cut_max(bound)
        elif type_ == t.DOUBLE and not bound:
            bound = -0.0 if side == "min" else 0.0
        bounds[path] = None if bound is None else (type_, bound)
    value, metadata = variant_object({path: bound for path, bound in bounds.items() if bound is not None})
    data = metadata + value
    return json_string(z85_encode(data + b"\0" * (-len(data) % 4)))


def _date_text(days: int, side: Side) -> str | None:
    return f'"{format_date(days)}"' if _FIRST_DAY <= days <= _LAST_DAY else None


def _timestamp_text(micros: int, side: Side, zone: str) -> str | None:
    if not _FIRST_DAY <= micros // MICROS_PER_DAY <= _LAST_DAY:
        return None
    return f'"{format_timestamp(micros, "T", 3)}{zone}"'


def _float_text(value: float, side: Side, single: bool) -> str:
    # Apache Parquet, parquet.thrift, ColumnOrder: readers may order -0.0 below 0.0, so the bounds include both zeros.
    if not value:
        value = -0.0 if side == "min" else 0.0
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
    end = _prefix_end(text)
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


def _prefix_end(text: str) -> int:
    """The length of the prefix in characters."""
    units = 0
    for i, character in enumerate(text):
        if units >= _PREFIX_LENGTH:
            return i
        units += 1 if character <= "\uffff" else 2
    return len(text)

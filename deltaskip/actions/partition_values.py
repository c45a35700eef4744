"""Converts partition values between the strings of the log and typed values.

# PROTOCOL, Partition Value Serialization
Like delta-spark, the module reads text with Spark's cast without ANSI mode, which accepts surrounding blanks, a plus
sign, `1` and `yes` for true, and rounds a decimal to its scale. But where the cast returns NULL for text that it cannot
read, the module raises, because a NULL that no writer wrote would match wrong predicates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from deltaskip.errors import PredicateError, ReadWarning, shown
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr import nodes, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values import (
    SPECIAL_FLOATS,
    calendar,
    context,
    decimal_of,
    format_nanos,
    integer_of,
    interval_text,
    java_text,
    nearest_float,
    of_unscaled,
    parse_nanos,
    to_float,
)
from deltaskip.sparkexpr.values.arrow_values import arrow_array, domain_values, one_chunk, typed_array
from deltaskip.warning import warn

_INTEGER = regex(r"([+-]?)([0-9]*)(\.[0-9]*)?", re.ASCII)
_DECIMAL = regex(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)
_TWO_SIGNS = regex(r"(0|-[1-9][0-9]*)\.(0*(-[1-9][0-9]*))", re.ASCII)
_HEXADECIMAL = regex(r"[+-]?0[xX][0-9A-Fa-f]*+\.?[0-9A-Fa-f]*+[pP][+-]?[0-9]{1,9}", re.ASCII)
# Enough digits to round any decimal exactly once.
_EXACT = context(4096, ROUND_HALF_UP, 10**9)


class PartitionValueError(ValueError):
    """A partition value is not valid for the type of its column. The caller adds table, file and column."""


@dataclass(frozen=True, slots=True)
class TimestampRange:
    """The possible instants of a timestamp without a time zone, in microseconds since the epoch; both ends included."""

    low: int
    high: int


Value = bool | int | float | Decimal | str | bytes | TimestampRange | None


def parse_partition_value(text: str | None, data_type: t.DataType, time_zone: str | None = "UTC") -> Value:
    """Parse a partition value: int days for date, int microseconds for timestamps, widened floats.

    None is null. "" is null for every type except string: the protocol defines null and delta-spark reads "", so this
    function returns "", and skipping must allow for both. Binary is the UTF-8 of the text, as in delta-spark; other
    writers escape bytes differently, so binary values must not prune. A timestamp without a time zone is local time in
    `time_zone`; if `time_zone` is None because the writer's time zone is unknown, the result is a TimestampRange of 18
    hours on both sides. Raises PartitionValueError for other text and for types that cannot partition a table.
    """
    if text is None:
        return None
    if data_type == t.STRING:
        return text
    if text == "":
        return None
    if data_type == t.BINARY:
        return _utf8(text)
    return _parser(data_type, time_zone)(text.strip(calendar.TRIM_ALL))


def partition_column(
    values: pa.Array | pa.ChunkedArray, data_type: t.DataType, time_zone: str | None = "UTC"
) -> pa.Array:
    """Apply parse_partition_value to a string array, once for each distinct value; returns arrow_type(data_type).

    If `time_zone` is None, a timestamp column becomes struct<low: timestamp, high: timestamp>. Raises like
    parse_partition_value.
    """
    values = one_chunk(values)
    if data_type == t.STRING:
        return values.cast(pa.string())
    encoded = values.dictionary_encode()
    distinct = [parse_partition_value(text, data_type, time_zone) for text in encoded.dictionary.to_pylist()]
    if data_type == t.TIMESTAMP and time_zone is None:
        typed = _range_array(distinct)
    else:
        typed = typed_array(distinct, t.arrow_type(data_type))
    return typed.take(encoded.indices)


def serialize_partition_value(value: Value, data_type: t.DataType) -> str | None:
    """Return the string of a partition value in the log; None for null and for an empty string or empty bytes.

    # PROTOCOL (today), Partition Value Serialization: timestamps as ISO-8601 in UTC.
    Raises PartitionValueError for a value that is not valid for the type or that the log cannot represent.
    """
    if value is None or (isinstance(value, str | bytes) and not value):
        return None
    match data_type, value:
        case _, str() if data_type == t.STRING:
            return value
        case _, bool() if data_type == t.BOOLEAN:
            return "true" if value else "false"
        case _, int() if data_type in t.INTEGRAL_BITS and not isinstance(value, bool):
            return str(_in_width(value, data_type))
        case _, float() if data_type in t.FLOATING:
            return _java_float(value, data_type)
        case t.DecimalType(), Decimal():
            return format(_scaled(value, data_type, str(value)), "f")
        case _, bytes() if data_type == t.BINARY:
            return _text_of(value)
        case _, int() if data_type == t.DATE:
            return calendar.format_date(value)
        case _, int() if data_type == t.TIMESTAMP:
            return calendar.format_timestamp(value, "T", 6) + "Z"
        case _, int() if data_type in t.NANOSECONDS:
            return format_nanos(value, data_type, "T" if data_type == t.NANOS else " ")
        case _, int() if data_type in t.COLUMN_INTERVALS:
            return interval_text(nodes.Literal(value, data_type))
        case _, int() if data_type == t.TIMESTAMP_NTZ:
            return calendar.format_timestamp(value, " ", 6).removesuffix(".000000")
        case _:
            raise PartitionValueError(f"{value!r} is not a partition value of type {t.simple_string(data_type)}")


def partition_texts(values: pa.Array | pa.ChunkedArray, data_type: t.DataType) -> pa.Array:
    """Return the string of each partition value in the log; null for null and for an empty string.

    Args:
        values: The values, of arrow_type(data_type).
        data_type: The type of the partition column.

    Raises:
        PartitionValueError: The log cannot represent a value, or the type cannot partition a table.
    """
    encoded = one_chunk(values).dictionary_encode()
    texts = [serialize_partition_value(value, data_type) for value in domain_values(encoded.dictionary)]
    return arrow_array(texts, pa.string()).take(encoded.indices)


def _parser(data_type: t.DataType, time_zone: str | None) -> Callable[[str], Value]:
    if data_type in t.INTEGRAL_BITS:
        return lambda text: _integer(text, data_type)
    if data_type in t.FLOATING:
        return lambda text: _float(text, data_type)
    if isinstance(data_type, t.DecimalType):
        return lambda text: _decimal(text, data_type)
    if data_type == t.BOOLEAN:
        return _boolean
    if data_type == t.DATE:
        return _date
    if data_type == t.TIMESTAMP:
        return lambda text: _timestamp(text, time_zone)
    if data_type == t.TIMESTAMP_NTZ:
        return _local_timestamp
    if data_type in t.COLUMN_INTERVALS:
        return lambda text: _interval(text, data_type)
    if data_type in t.NANOSECONDS:
        return lambda text: _nanoseconds(text, data_type, time_zone)
    raise PartitionValueError(f"{t.simple_string(data_type)} is not a valid type of a partition column")


def _nanoseconds(text: str, data_type: t.DataType, time_zone: str | None) -> int:
    found = parse_nanos(text, data_type, time_zone)
    if found is None:
        raise _malformed(text, data_type)
    return found


def _interval(text: str, data_type: t.DataType) -> int:
    """The months or microseconds of an interval literal. # RFC Interval Types, Partition Value Serialization"""
    try:
        found = parse_sql(text)
    except PredicateError as error:
        raise _malformed(text, data_type) from error
    if not isinstance(found, nodes.Literal) or not isinstance(found.value, int) or found.type != data_type:
        raise _malformed(text, data_type)
    return found.value


def _integer(text: str, data_type: t.DataType) -> int:
    found = _INTEGER.fullmatch(text)
    # Spark truncates decimals: "7.9" is 7.
    if found is None or not (found[2] or len(found[3] or "") > 1):
        raise _malformed(text, data_type)
    magnitude = integer_of(found[2] or "0")
    return _in_width(-magnitude if found[1] == "-" else magnitude, data_type)


def _float(text: str, data_type: t.DataType) -> float:
    special = SPECIAL_FLOATS.get(text.lower())
    if special is not None:
        return special
    # Java accepts the suffixes of its literals.
    number = text[:-1] if text[-1:] in ("d", "D", "f", "F") and len(text) > 1 else text
    if _HEXADECIMAL.fullmatch(number):
        value = _hexadecimal(number, text, data_type)
    elif _DECIMAL.fullmatch(number):
        value = float(number)
    else:
        raise _malformed(text, data_type)
    return _nearest_float32(value, number) if data_type == t.FLOAT else value


def _hexadecimal(number: str, text: str, data_type: t.DataType) -> float:
    try:
        return float.fromhex(number)
    except OverflowError:
        return -math.inf if number.startswith("-") else math.inf
    except ValueError as error:
        raise _malformed(text, data_type) from error


def _nearest_float32(value: float, number: str) -> float:
    """Round the number to a float once. Rounding to a double first could round a tie in the wrong direction."""
    if math.isinf(value) or _DECIMAL.fullmatch(number) is None:
        return to_float(value)
    return nearest_float(decimal_of(number))


def _decimal(text: str, data_type: t.DecimalType) -> Decimal:
    text = _with_one_sign(text, data_type.scale)
    if _DECIMAL.fullmatch(text) is None:
        raise _malformed(text, data_type)
    return _scaled(decimal_of(text), data_type, text)


def _with_one_sign(text: str, scale: int) -> str:
    """The text -1.50 for -1.-50, and others unchanged.

    delta-rs writes the quotient and the remainder of the unscaled value, each with its sign, the latter padded to the
    digits of the scale. Each such text has one value.
    # delta-kernel-rs, Scalar::serialize of a decimal
    """
    found = _TWO_SIGNS.fullmatch(text)
    if found is None or found[2] != found[3].rjust(scale, "0") or len(found[3]) > scale + 1:
        return text
    plain = f"-{found[1].lstrip('-')}.{found[3][1:].rjust(scale, '0')}"
    warn(
        f"The partition value {text!r}, as delta-rs writes negative decimals, is read as {plain}. Other readers "
        f"fail or read NULL until the files are rewritten, as by an update of their rows.",
        ReadWarning,
    )
    return plain


def _scaled(value: Decimal, data_type: t.DecimalType, text: str) -> Decimal:
    try:
        if value.adjusted() >= data_type.precision and value:
            raise _malformed(text, data_type)
        scaled = value.quantize(of_unscaled(1, data_type.scale), context=_EXACT)
    except InvalidOperation as error:
        raise _malformed(text, data_type) from error
    if len(scaled.as_tuple().digits) > data_type.precision and scaled:
        raise _malformed(text, data_type)
    # A decimal has no negative zero.
    return scaled if scaled else scaled.copy_abs()


def _boolean(text: str) -> bool:
    value = t.BOOLEAN_TEXTS.get(text.lower())
    if value is None:
        raise _malformed(text, t.BOOLEAN)
    return value


def _timestamp(text: str, time_zone: str | None) -> int | TimestampRange:
    parsed = _parsed(text)
    zone = time_zone if parsed.zone is None else parsed.zone
    if zone is None:
        local = _instant(parsed.local_micros, text, t.TIMESTAMP)
        return TimestampRange(
            max(local - calendar.GREATEST_OFFSET_MICROS, calendar.INSTANT_MIN),
            min(local + calendar.GREATEST_OFFSET_MICROS, calendar.INSTANT_MAX),
        )
    try:
        return _instant(calendar.instant_of(parsed.local_micros, calendar.zone_of(zone)), text, t.TIMESTAMP)
    except LookupError as error:
        raise PartitionValueError(f"{shown(text)} is not a timestamp: {error}") from error


def _local_timestamp(text: str) -> int:
    try:
        micros = calendar.parse_timestamp_ntz(text)
    except LookupError as error:
        raise PartitionValueError(f"{shown(text)} is not a timestamp: {error}") from error
    if micros is None:
        raise _malformed(text, t.TIMESTAMP_NTZ)
    return micros


def _parsed(text: str) -> calendar.TimestampText:
    parsed = calendar.read_timestamp(text)
    if parsed is None:
        raise _malformed(text, t.TIMESTAMP)
    return parsed


def _instant(micros: int, text: str, data_type: t.DataType) -> int:
    if not calendar.INSTANT_MIN <= micros <= calendar.INSTANT_MAX:
        raise _malformed(text, data_type)
    return micros


def _date(text: str) -> int:
    days = calendar.parse_date(text)
    if days is None:
        raise _malformed(text, t.DATE)
    return days


def _in_width(value: int, data_type: t.DataType) -> int:
    half = 1 << (t.INTEGRAL_BITS[data_type] - 1)
    if not -half <= value < half:
        raise PartitionValueError(f"{value} is beyond the range of {t.simple_string(data_type)}")
    return value


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise PartitionValueError(f"{shown(text)} is not valid Unicode text") from error


def _text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise PartitionValueError(
            f"{value!r} is not UTF-8, and the log has no form of such bytes that every reader agrees on"
        ) from error


def _malformed(text: str, data_type: t.DataType) -> PartitionValueError:
    return PartitionValueError(f"{shown(text)} is not a value of type {t.simple_string(data_type)}")


def _java_float(value: float, data_type: t.DataType) -> str:
    if data_type == t.FLOAT and math.isfinite(value) and to_float(value) != value:
        raise PartitionValueError(f"{value!r} is not a 32-bit float")
    return java_text(value, data_type == t.FLOAT)


def _range_array(values: list[Any]) -> pa.Array:
    instant = t.arrow_type(t.TIMESTAMP)
    known = [v if isinstance(v, TimestampRange) or v is None else TimestampRange(v, v) for v in values]
    lows = arrow_array([None if v is None else v.low for v in known], pa.int64()).view(instant)
    highs = arrow_array([None if v is None else v.high for v in known], pa.int64()).view(instant)
    nulls = arrow_array([v is None for v in known], pa.bool_())
    fields = [pa.field("low", instant), pa.field("high", instant)]
    return pa.StructArray.from_arrays([lows, highs], fields=fields, mask=nulls)

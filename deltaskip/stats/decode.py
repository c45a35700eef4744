"""Decoding of bounds from JSON text or struct columns to the kernels' layouts, widened by what a writer may have lost.

`stats.believed_bounds` has the precision that each form may have lost. A value that cannot be read as the column's type
is a missing statistic (null), never an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.kernels import stats_json
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.types import BOOLEAN, DATE, NANOSECONDS, TIMESTAMP, TIMESTAMP_NTZ, DataType, DecimalType
from deltaskip.sparkexpr.values import JSON_FLOATS, calendar, parse_nanos
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar
from deltaskip.stats import believed_bounds
from deltaskip.stats.layout import BoundKind, Side, StatField

_INT64 = pa.int64()
# The full forms that writers produce. Spark also reads shorter forms, which may be truncated bounds.
_DATE = regex(r"[+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = regex(
    rf"{_DATE.pattern}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]{{1,9}})?"
    r"(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}(?::?[0-9]{2})?)?"
)
_MOST_DAYS = (1 << 63) // calendar.MICROS_PER_DAY
_FULL_TIMESTAMP = len("2020-01-02T10:11:12")


def from_text(text: pa.Array, kind: pa.Array, field: StatField, side: Side) -> pa.Array:
    """Convert JSON values, as text with their kinds (kernels.stats_json), to bounds of `field`; null if unusable."""
    return believed_bounds.believed(_read_text(text, kind, field, side), field, side, believed_bounds.BoundForm.TEXT)


def _read_text(text: pa.Array, kind: pa.Array, field: StatField, side: Side) -> pa.Array:
    match field.kind:
        case BoundKind.TEXT:
            return only(text, kind, stats_json.STRING)
        case BoundKind.DECIMAL:
            return _decimals(only(text, kind, stats_json.NUMBER), field, side)
        case BoundKind.DOUBLE:
            return _special_doubles(text, kind)
        case BoundKind.INT64:
            pass
        case _:
            return pa.nulls(len(text), pa.int64())
    if field.type == BOOLEAN:
        return pc.cast(pc.equal(only(text, kind, stats_json.BOOLEAN), arrow_scalar("true", text.type)), pa.int64())
    if field.type == DATE:
        return date_texts(only(text, kind, stats_json.STRING))
    if field.type == TIMESTAMP:
        return instant_texts(only(text, kind, stats_json.STRING), side)
    if field.type == TIMESTAMP_NTZ:
        return local_texts(only(text, kind, stats_json.STRING), "date" in field.widened_from)
    if field.type in NANOSECONDS:
        return nanos_texts(only(text, kind, stats_json.STRING), field.type)
    return _by_value(only(text, kind, stats_json.NUMBER), believed_bounds.whole_number)


def from_struct(
    values: pa.Array, field: StatField, side: Side, form: believed_bounds.BoundForm = believed_bounds.BoundForm.STRUCT
) -> pa.Array:
    """Convert a leaf of `stats_parsed` to a bound of `field`: cast from a narrower type, null for another type."""
    return believed_bounds.believed(_read_struct(values, field, side), field, side, form)


def _read_struct(values: pa.Array, field: StatField, side: Side) -> pa.Array:
    type_ = values.type
    nothing = pa.nulls(len(values), pa.int64())
    match field.kind:
        case BoundKind.TEXT:
            is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_)
            return values if is_text else pa.nulls(len(values), pa.string())
        case BoundKind.DECIMAL:
            return _struct_decimals(values, field)
        case BoundKind.DOUBLE:
            if pa.types.is_floating(type_) or pa.types.is_integer(type_):
                return pc.cast(values, pa.float64(), safe=False)
            return pa.nulls(len(values), pa.float64())
        case BoundKind.INT64:
            pass
        case _:
            return nothing
    if field.type == BOOLEAN:
        return pc.cast(values, pa.int64()) if pa.types.is_boolean(type_) else nothing
    if field.type == DATE:
        return pc.cast(pc.cast(values, pa.int32()), pa.int64()) if pa.types.is_date32(type_) else nothing
    if field.type in (TIMESTAMP, TIMESTAMP_NTZ):
        if pa.types.is_date32(type_) and field.type == TIMESTAMP_NTZ:
            days = pc.cast(pc.cast(values, pa.int32()), pa.int64())
            far = pc.greater(pc.abs(days), arrow_scalar(_MOST_DAYS, pa.int64()))
            days = pc.if_else(far, arrow_scalar(None, pa.int64()), days)
            return pc.multiply(days, arrow_scalar(calendar.MICROS_PER_DAY, pa.int64()))
        return _micros(values, side) if pa.types.is_timestamp(type_) else nothing
    if field.type in NANOSECONDS:
        return _nanos(values, nothing)
    if pa.types.is_uint64(type_):
        return nothing
    return pc.cast(values, pa.int64()) if pa.types.is_integer(type_) else nothing


def only(text: pa.Array, kind: pa.Array, wanted: int) -> pa.Array:
    """Return the JSON values of one kind, as text; null for other kinds."""
    same = pc.equal(kind, arrow_scalar(wanted, pa.uint8()))
    return text if pc.all(same).as_py() else pc.if_else(same, text, arrow_scalar(None, text.type))


def _by_value(text: pa.Array, parse: Callable[[str], Any], type_: pa.DataType = _INT64) -> pa.Array:
    """Apply a Python parser to distinct strings only."""
    encoded = text.dictionary_encode()
    return arrow_array([parse(value) for value in encoded.dictionary.to_pylist()], type_).take(encoded.indices)


def _special_doubles(text: pa.Array, kind: pa.Array) -> pa.Array:
    """Numbers, and the strings that JSON writers use for values that are not JSON numbers."""
    usable = pc.or_(
        pc.equal(kind, arrow_scalar(stats_json.NUMBER, pa.uint8())),
        pc.and_(
            pc.equal(kind, arrow_scalar(stats_json.STRING, pa.uint8())),
            pc.is_in(text, value_set=arrow_array(list(JSON_FLOATS), text.type)),
        ),
    )
    return _by_value(pc.if_else(usable, text, arrow_scalar(None, text.type)), _double, pa.float64())


def _double(text: str) -> float | None:
    try:
        value = float(text)
    except (ValueError, OverflowError):
        return None
    # A number beyond the range is not a double: nothing is known about the values.
    return value if math.isfinite(value) or text.lstrip("-")[:1] in ("N", "I") else None


def date_texts(text: pa.Array) -> pa.Array:
    """Strings as days; null for strings of another form."""
    return _by_value(text, _date_days)


def _date_days(text: str) -> int | None:
    return calendar.parse_date(text) if _DATE.fullmatch(text) else None


def _timestamp_text(text: str) -> calendar.TimestampText | None:
    return calendar.read_timestamp(text) if _TIMESTAMP.fullmatch(text) else None


def _instant(text: str, side: Side | None) -> int | None:
    """Instant in microseconds. Offsets before 1900 may lack their seconds (local mean time): up to 59 s either way."""
    found = _timestamp_text(text)
    if found is None or found.zone is None:
        return None
    try:
        micros = calendar.instant_of(found.local_micros, calendar.zone_of(found.zone))
    except LookupError:
        return None
    if found.zone not in ("Z", "UTC", "GMT") and micros < believed_bounds.BEFORE_1900:
        if side is None:
            # So a struct's instant is written as text (`parsed_stats.stats_texts`), and a struct's is always doubted.
            return micros if found.zone == "+00:00" else None
        micros += believed_bounds.OFFSET_SECONDS_LOST if side == "max" else -believed_bounds.OFFSET_SECONDS_LOST
    return micros if calendar.INSTANT_MIN <= micros <= calendar.INSTANT_MAX else None


def instant_texts(text: pa.Array, side: Side | None) -> pa.Array:
    """Strings as instants in microseconds; null for others. side: None leaves out strings that an offset shifts."""
    if _all_full(text, "Z"):
        try:
            return pc.cast(pc.cast(text, pa.timestamp("us", "UTC")), pa.int64())
        except pa.ArrowInvalid:
            pass  # some value has another form; they are parsed one by one
    return _by_value(text, lambda value: _instant(value, side))


def _all_full(text: pa.Array, end: str) -> bool:
    """Whether every string ends so, and none lacks its seconds, which Arrow would read as 0."""
    full = pc.greater_equal(pc.binary_length(text), arrow_scalar(_FULL_TIMESTAMP + len(end), pa.int64()))
    return bool(pc.all(pc.and_(full, pc.ends_with(text, end)), min_count=0).as_py())


def local_texts(text: pa.Array, or_date: bool) -> pa.Array:
    """Strings as local times in microseconds; null for others. or_date: Whether a date is read as its midnight."""

    def parse(value: str) -> int | None:
        found = _timestamp_text(value)
        if found is not None:
            in_range = calendar.INSTANT_MIN <= found.local_micros <= calendar.INSTANT_MAX
            return found.local_micros if in_range and found.zone is None else None
        days = _date_days(value) if or_date else None
        return None if days is None or abs(days) > _MOST_DAYS else days * calendar.MICROS_PER_DAY

    if _all_full(text, ""):
        try:
            return pc.cast(pc.cast(text, pa.timestamp("us")), _INT64)
        except pa.ArrowInvalid:
            pass  # some value has another form; they are parsed one by one
    return _by_value(text, parse)


def nanos_texts(text: pa.Array, type_: DataType) -> pa.Array:
    """Strings as nanoseconds; null for others. Instants must have a time zone."""
    return _by_value(text, lambda value: parse_nanos(value, type_, None) if _TIMESTAMP.fullmatch(value) else None)


def _nanos(values: pa.Array, nothing: pa.Array) -> pa.Array:
    """Any timestamp unit to nanoseconds; unknown if some value is out of range."""
    if not pa.types.is_timestamp(values.type):
        return nothing
    try:
        return pc.cast(pc.cast(values, pa.timestamp("ns", values.type.tz)), _INT64)
    except pa.ArrowInvalid:
        return nothing


def _micros(values: pa.Array, side: Side) -> pa.Array:
    """Any timestamp unit to microseconds: minima floored, maxima ceiled."""
    if values.type.unit in ("us", "ms", "s"):
        try:
            return pc.cast(pc.cast(values, pa.timestamp("us", values.type.tz)), pa.int64())
        except pa.ArrowInvalid:
            return pa.nulls(len(values), pa.int64())  # beyond 64 bits
    nanos = pc.cast(values, pa.int64())
    thousand = arrow_scalar(1000, pa.int64())
    micros = pc.divide(nanos, thousand)
    back = pc.multiply(micros, thousand)
    below = pc.less(nanos, back)
    floor = pc.subtract(micros, pc.cast(below, pa.int64()))
    if side == "min":
        return floor
    return pc.add(floor, pc.cast(pc.not_equal(pc.multiply(floor, thousand), nanos), pa.int64()))


def _decimals(text: pa.Array, field: StatField, side: Side) -> pa.Array:
    type_ = field.type
    assert isinstance(type_, DecimalType)
    arrow = pa.decimal128(type_.precision, type_.scale)
    short = _short_decimals(text, type_)
    if short is not None:
        values = pc.cast(pc.if_else(short, text, arrow_scalar(None, text.type)), arrow)
        if values.null_count == text.null_count:
            return values
        text = pc.if_else(short, arrow_scalar(None, text.type), text)
    encoded = text.dictionary_encode()
    bounds = [believed_bounds.decimal_bound(value, type_, side) for value in encoded.dictionary.to_pylist()]
    odd = arrow_array(bounds, arrow).take(encoded.indices)
    return odd if short is None else pc.coalesce(values, odd)


def _short_decimals(text: pa.Array, type_: DecimalType) -> pa.BooleanArray | None:
    """The strings that are exact bounds: at most 15 digits, counting all of the scale; None if none can be.

    Such a string with e + 1 digits before the point denotes a multiple of 10^-scale, and what decimal_bound adds is
    less than 10^(e - 14) <= 10^-scale, so that no other multiple comes within reach.
    """
    whole = min(believed_bounds.PRINTED_DIGITS, type_.precision) - type_.scale
    if whole < 1:
        return None
    fraction = rf"(\.[0-9]{{1,{type_.scale}}})?" if type_.scale else ""
    return pc.match_substring_regex(text, rf"^-?[0-9]{{1,{whole}}}{fraction}$")


def _struct_decimals(values: pa.Array, field: StatField) -> pa.Array:
    type_ = field.type
    assert isinstance(type_, DecimalType)
    arrow = pa.decimal128(type_.precision, type_.scale)
    if pa.types.is_decimal(values.type) or pa.types.is_integer(values.type):
        try:
            return pc.cast(values, arrow)
        except pa.ArrowInvalid:
            pass  # a bound that the column's own type cannot hold proves nothing
    return pa.nulls(len(values), arrow)

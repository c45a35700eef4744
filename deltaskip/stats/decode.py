"""Decoding of bounds from JSON text or struct columns to the kernels' layouts, widened by what a writer may have lost.

A value that cannot be read as the column's type is a missing statistic (null), never an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.schema.arrow_values import FALSE, arrow_array, arrow_scalar
from deltaskip.schema.calendar import (
    INSTANT_MAX,
    INSTANT_MIN,
    MICROS_PER_DAY,
    TimestampText,
    days_from_civil,
    instant_of,
    parse_date,
    read_timestamp,
    zone_of,
)
from deltaskip.schema.types import BOOLEAN, DATE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, DecimalType
from deltaskip.stats.layout import CUT_FROM, BoundKind, Side, StatField

__all__ = ["from_double", "from_struct", "from_text", "only_strings", "widen_timestamps"]

STRING_KIND, NUMBER_KIND, BOOLEAN_KIND = 2, 3, 4

_INT64 = pa.int64()
_BEFORE_1900 = days_from_civil(1900, 1, 1) * MICROS_PER_DAY
_OFFSET_SECONDS_LOST = 59_000_000
# The full forms that writers produce. Spark also reads shorter ones, which may be bounds that were cut.
_DATE = re.compile(r"[+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    rf"{_DATE.pattern}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]{{1,9}})?"
    r"(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}(?::?[0-9]{2})?)?"
)
_DOUBLE_DIGITS = 17
_PRINTED_DIGITS = 15


def from_double(values: pa.Array, field: StatField, side: Side) -> pa.Array:
    """Convert JSON numbers to bounds of a float or double column.

    A float's text is the shortest that identifies the float, so it is rounded to a float before it is widened. A double
    that was a float once (`delta.typeChanges`) may have either text, and the bound includes both
    (docs/pages/soundness.md, trap 14).
    """
    if field.type != FLOAT and "float" not in field.widened_from:
        return values
    as_float = pc.cast(pc.cast(values, pa.float32(), safe=False), pa.float64())
    if field.type == FLOAT:
        return as_float
    return pc.min_element_wise(values, as_float) if side == "min" else pc.max_element_wise(values, as_float)


def from_text(text: pa.Array, kind: pa.Array, field: StatField, side: Side) -> pa.Array:
    """Convert JSON values, as text with their kinds (kernels.stats_json), to bounds of `field`; null if unusable."""
    match field.kind:
        case BoundKind.TEXT:
            return _without_weak_tie_breaker(_only(text, kind, STRING_KIND), side)
        case BoundKind.DECIMAL:
            return _decimals(_only(text, kind, NUMBER_KIND), field, side)
        case BoundKind.DOUBLE:
            return from_double(_special_doubles(text, kind), field, side)
        case BoundKind.INT64:
            pass
        case _:
            return pa.nulls(len(text), pa.int64())
    if field.type == BOOLEAN:
        return pc.cast(pc.equal(_only(text, kind, BOOLEAN_KIND), arrow_scalar("true", text.type)), pa.int64())
    if field.type == DATE:
        return _by_value(_only(text, kind, STRING_KIND), _date_days)
    if field.type == TIMESTAMP:
        return _instants(_only(text, kind, STRING_KIND), side)
    if field.type == TIMESTAMP_NTZ:
        return _local_timestamps(_only(text, kind, STRING_KIND), field, side)
    return _by_value(_only(text, kind, NUMBER_KIND), _integer)


def only_strings(text: pa.Array, kind: pa.Array) -> pa.Array:
    """Return the strings of JSON values, as text with their kinds; null for other kinds."""
    return _only(text, kind, STRING_KIND)


def from_struct(values: pa.Array, field: StatField, side: Side) -> pa.Array:
    """Convert a leaf of `stats_parsed` to a bound of `field`: cast from a narrower type, null for another type."""
    type_ = values.type
    nothing = pa.nulls(len(values), pa.int64())
    match field.kind:
        case BoundKind.TEXT:
            is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_)
            return _without_weak_tie_breaker(values, side) if is_text else pa.nulls(len(values), pa.string())
        case BoundKind.DECIMAL:
            return _struct_decimals(values, field, side)
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
            return pc.multiply(days, arrow_scalar(MICROS_PER_DAY, pa.int64()))
        return widen_timestamps(_micros(values, side), side) if pa.types.is_timestamp(type_) else nothing
    return pc.cast(values, pa.int64()) if pa.types.is_integer(type_) else nothing


def _without_weak_tie_breaker(values: pa.Array, side: Side) -> pa.Array:
    """Remove the U+FFFD with which old writers ended a truncated maximum; it sorts below supplementary characters.

    Without it the bound is a prefix that compares as one (CUT_FROM), which includes every string that it may be the
    prefix of (docs/pages/soundness.md, trap 5).
    These writers truncated UTF-16 units: half of a supplementary character at the end became "?". There the greatest
    character replaces it.
    Shorter strings were not truncated: there U+FFFD is the string's own last character.
    """
    if side == "min":
        return values
    long = pc.greater_equal(pc.binary_length(values), arrow_scalar(CUT_FROM + 3, pa.int32()))
    weak = pc.and_(pc.ends_with(values, "\ufffd"), long)
    if not pc.any(weak).as_py():
        return values
    whole = pc.if_else(weak, pc.utf8_slice_codeunits(values, 0, -1), values)
    halved = pc.and_(weak, pc.ends_with(values, "?\ufffd"))
    if not pc.any(halved).as_py():
        return whole
    beginnings = pc.utf8_slice_codeunits(values, 0, -2)
    raised = pc.binary_join_element_wise(
        beginnings, arrow_scalar("\U0010ffff", values.type), arrow_scalar("", values.type)
    )
    return pc.if_else(halved, raised, whole)


def widen_timestamps(micros: pa.Array, side: Side) -> pa.Array:
    """Add 999 microseconds, saturating, to maxima on a whole millisecond, which may have been truncated (trap 3).

    Minima were truncated downwards, which is sound. A maximum with digits below the millisecond was not truncated.
    """
    if side == "min" or len(micros) == micros.null_count:
        return micros
    limit = (1 << 63) - 1 - 999
    thousand = arrow_scalar(1000, pa.int64())
    whole = pc.equal(pc.multiply(pc.divide(micros, thousand), thousand), micros)
    room = pc.less_equal(micros, arrow_scalar(limit, pa.int64()))
    lifted = pc.add(pc.min_element_wise(micros, arrow_scalar(limit, pa.int64())), arrow_scalar(999, pa.int64()))
    saturated = pc.if_else(room, lifted, arrow_scalar((1 << 63) - 1, pa.int64()))
    return pc.if_else(whole, saturated, micros)


def _only(text: pa.Array, kind: pa.Array, wanted: int) -> pa.Array:
    same = pc.equal(kind, arrow_scalar(wanted, pa.uint8()))
    return text if pc.all(same).as_py() else pc.if_else(same, text, arrow_scalar(None, text.type))


def _by_value(text: pa.Array, parse: Callable[[str], Any], type_: pa.DataType = _INT64) -> pa.Array:
    """Apply a Python parser to the distinct texts only."""
    encoded = text.dictionary_encode()
    return arrow_array([parse(value) for value in encoded.dictionary.to_pylist()], type_).take(encoded.indices)


def _integer(text: str) -> int | None:
    try:
        value = Decimal(text)
        whole = int(value) if value == value.to_integral_value() else None
    except (InvalidOperation, OverflowError, ValueError):
        return None
    return whole if whole is not None and -(1 << 63) <= whole < 1 << 63 else None


def _special_doubles(text: pa.Array, kind: pa.Array) -> pa.Array:
    """Numbers, and the strings that JSON writers use for values that are not JSON numbers."""
    usable = pc.or_(
        pc.equal(kind, arrow_scalar(NUMBER_KIND, pa.uint8())),
        pc.and_(
            pc.equal(kind, arrow_scalar(STRING_KIND, pa.uint8())),
            pc.is_in(text, value_set=arrow_array(["NaN", "Infinity", "-Infinity"], text.type)),
        ),
    )
    return _by_value(pc.if_else(usable, text, arrow_scalar(None, text.type)), _double, pa.float64())


def _double(text: str) -> float | None:
    try:
        return float(text)
    except (ValueError, OverflowError):
        return None


def _date_days(text: str) -> int | None:
    return parse_date(text) if _DATE.fullmatch(text) else None


def _timestamp_text(text: str) -> TimestampText | None:
    return read_timestamp(text) if _TIMESTAMP.fullmatch(text) else None


def _instant(text: str, side: Side) -> int | None:
    """Instant in microseconds. Offsets before 1900 may lack their seconds (local mean time): up to 59 s either way."""
    found = _timestamp_text(text)
    if found is None or found.zone is None:
        return None
    try:
        micros = instant_of(found.local_micros, zone_of(found.zone))
    except LookupError:
        return None
    if found.zone not in ("Z", "UTC", "GMT") and micros < _BEFORE_1900:
        micros += _OFFSET_SECONDS_LOST if side == "max" else -_OFFSET_SECONDS_LOST
    return micros if INSTANT_MIN <= micros <= INSTANT_MAX else None


def _instants(text: pa.Array, side: Side) -> pa.Array:
    if _all_zulu(text):
        try:
            return widen_timestamps(pc.cast(pc.cast(text, pa.timestamp("us", "UTC")), pa.int64()), side)
        except pa.ArrowInvalid:
            pass  # some value has another form; they are parsed one by one
    return widen_timestamps(_by_value(text, lambda value: _instant(value, side)), side)


def _all_zulu(text: pa.Array) -> bool:
    return bool(pc.all(pc.ends_with(text, "Z"), min_count=0).as_py())


def _local_timestamps(text: pa.Array, field: StatField, side: Side) -> pa.Array:
    def parse(value: str) -> int | None:
        found = _timestamp_text(value)
        if found is not None:
            in_range = INSTANT_MIN <= found.local_micros <= INSTANT_MAX
            return found.local_micros if in_range and found.zone is None else None
        days = _date_days(value) if "date" in field.widened_from else None
        return None if days is None else days * MICROS_PER_DAY

    if _has_time(text):
        try:
            return widen_timestamps(pc.cast(pc.cast(text, pa.timestamp("us")), _INT64), side)
        except pa.ArrowInvalid:
            pass  # some value has another form; they are parsed one by one
    return widen_timestamps(_by_value(text, parse), side)


def _has_time(text: pa.Array) -> bool:
    return bool(pc.all(pc.match_substring(text, "T"), min_count=0).as_py())


def _micros(values: pa.Array, side: Side) -> pa.Array:
    """Any timestamp unit to microseconds: minima floored, maxima ceiled."""
    if values.type.unit in ("us", "ms", "s"):
        return pc.cast(pc.cast(values, pa.timestamp("us", values.type.tz)), pa.int64())
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
    bounds = [_decimal_bound(value, type_, side) for value in encoded.dictionary.to_pylist()]
    odd = _without_saturated(arrow_array(bounds, arrow), side).take(encoded.indices)
    return odd if short is None else pc.coalesce(values, odd)


def _short_decimals(text: pa.Array, type_: DecimalType) -> pa.BooleanArray | None:
    """Which texts are bounds as written: at most 15 digits, counting all of the scale; None if none can be.

    Such a text with e + 1 digits before the point denotes a multiple of 10^-scale, and what _decimal_bound adds is
    less than 10^(e - 14) <= 10^-scale, so that no other multiple comes within reach.
    """
    whole = min(_PRINTED_DIGITS, type_.precision) - type_.scale
    if whole < 1:
        return None
    fraction = rf"(\.[0-9]{{1,{type_.scale}}})?" if type_.scale else ""
    return pc.match_substring_regex(text, rf"^-?[0-9]{{1,{whole}}}{fraction}$")


def _decimal_bound(text: str, type_: DecimalType, side: Side) -> Decimal | None:
    """Parse a decimal from JSON. A text that a double may have printed is widened by the possible loss.

    The true bound is a multiple of 10^-scale that rounds to a double whose first 15 digits are these, so it lies within
    one unit in the double's last place and half a unit of the 15th digit: take the outermost such multiple
    (docs/pages/soundness.md, trap 2).
    """
    with localcontext(Context(prec=120)) as context:
        try:
            value = Decimal(text)
            if not value.is_finite():
                return None
            quantum = Decimal(1).scaleb(-type_.scale)
            slack = Decimal(0)
            if value and not _only_a_decimal_prints(text, type_.scale):
                slack = Decimal(math.ulp(float(value))) + Decimal(5).scaleb(value.adjusted() - _PRINTED_DIGITS)
            if side == "min":
                bound = _clip((value - slack).quantize(quantum, ROUND_CEILING), value, quantum, side)
            else:
                bound = _clip((value + slack).quantize(quantum, ROUND_FLOOR), value, quantum, side)
        except (InvalidOperation, OverflowError, ValueError):
            return None
        return bound if bound.copy_abs() < context.scaleb(Decimal(1), type_.precision - type_.scale) else None


def _without_saturated(values: pa.Array, side: Side) -> pa.Array:
    """delta-rs stores decimals of scale 0 in 64 bits: a bound at the end of that range may mean any value beyond it."""
    type_ = values.type
    if type_.scale or type_.precision < 19:
        return values
    end = arrow_scalar(Decimal(-(1 << 63) if side == "min" else (1 << 63) - 1), type_)
    return pc.if_else(pc.equal(values, end), arrow_scalar(None, type_), values)


def _only_a_decimal_prints(text: str, scale: int) -> bool:
    """Whether no double prints like this: more digits than a double has, or zeros that fill up the column's scale."""
    if "e" in text or "E" in text:
        return False
    whole, _, fraction = text.lstrip("+-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if len(fraction) > 1:
        return len(digits) > _DOUBLE_DIGITS or (len(fraction) == scale and fraction.endswith("0"))
    return len(digits.rstrip("0")) > _DOUBLE_DIGITS


def _clip(bound: Decimal, value: Decimal, quantum: Decimal, side: Side) -> Decimal:
    """Round a text finer than the scale outwards, so the result is never inside `value`; another writer wrote it."""
    if side == "min":
        return min(bound, value.quantize(quantum, ROUND_FLOOR))
    return max(bound, value.quantize(quantum, ROUND_CEILING))


def _widened_decimals(values: pa.Array, type_: DecimalType, side: Side) -> pa.Array:
    """Widen decimals of a struct that may come from a text that a double printed, as that text is widened.

    Up to 15 digits nothing is lost; beyond, only a decimal has more than 17 significant ones.
    """
    if type_.precision <= _PRINTED_DIGITS or len(values) == values.null_count:
        return values
    limit = Decimal(10) ** (_PRINTED_DIGITS - type_.scale)
    high, low = arrow_scalar(limit, values.type), arrow_scalar(-limit, values.type)
    long = pc.fill_null(pc.or_(pc.greater_equal(values, high), pc.less_equal(values, low)), FALSE)
    if not pc.any(long).as_py():
        return values
    odd = values.filter(long)
    bounds = [_decimal_bound(f"{value:e}", type_, side) for value in odd.to_pylist() if value is not None]
    exact = [len(value.as_tuple().digits) - _trailing_zeros(value) > _DOUBLE_DIGITS for value in odd.to_pylist()]
    kept = [v if is_exact else bound for v, bound, is_exact in zip(odd.to_pylist(), bounds, exact, strict=True)]
    return pc.replace_with_mask(values, long, arrow_array(kept, values.type))


def _trailing_zeros(value: Decimal) -> int:
    digits = value.as_tuple().digits
    return next((i for i, digit in enumerate(reversed(digits)) if digit), len(digits))


def _struct_decimals(values: pa.Array, field: StatField, side: Side) -> pa.Array:
    type_ = field.type
    assert isinstance(type_, DecimalType)
    arrow = pa.decimal128(type_.precision, type_.scale)
    if pa.types.is_decimal(values.type) or pa.types.is_integer(values.type):
        try:
            return _widened_decimals(_without_saturated(pc.cast(values, arrow), side), type_, side)
        except pa.ArrowInvalid:
            pass  # a bound that the column's own type cannot hold proves nothing
    return pa.nulls(len(values), arrow)

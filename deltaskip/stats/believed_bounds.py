"""The precision that a bound may have lost: one rule for each type and each form in which bounds are stored.

A bound is trusted only as far as its form can represent the value. A bound is widened by the precision that its form
may have lost; a bound that cannot be widened is unknown (null), which keeps the file. Everything that reads bounds goes
through these rules: `stats.decode` for the first three forms, `stats.footer` for the last.

             JSON text of add.stats        leaf of stats_parsed          row group of a checkpoint    footer, row group
             (TEXT)                        (STRUCT)                      (GROUP)                      of a data file
integers     of the column's range; more   of the column's range         as STRUCT                    as STRUCT, signed
             than 15 digits with a point
             or an exponent: unknown
float        rounded to a float; beyond    as TEXT                       unknown, as NaN is left out  exact, by writers
             the range: unknown                                                                       that order NaN
double       once a float: as either type  as TEXT                       unknown, as NaN is left out  exact, as float
decimal      widened by what a double of   as TEXT, by its digits        unknown from 15 digits on    exact, by writers
             its digits may have lost                                                                 that order numbers
string       a weak tie-breaker at the     as TEXT                       raised above its prefix      exact, or unknown
             end is removed
date         as written                    Gregorian, or unknown         all Gregorian, or unknown    as STRUCT
timestamp    maximum: 999 us more on a     as TEXT; before 1900 59 s     as STRUCT, every maximum     as STRUCT, exact,
             whole ms; before 1900 59 s    either way; Gregorian, or                                  never INT96
             either way with an offset     unknown
timestamp    as timestamp, without 59 s    as timestamp, without 59 s    as timestamp                 as timestamp
without zone
boolean      as written                    as written                    unknown                      none

Bounds of pages in a page index are trusted like those of the footer, but only to skip pages: a string may be cut, and
a maximum of CUT_FROM bytes or more also covers every string that it may be a prefix of, as in the first forms.

A struct was once parsed from JSON by some writer, so it has lost what the JSON had lost. The string of a partition
value and `partitionValues_parsed` (EXACT) are the values of the rows themselves and are not widened.
The least of many bounds need not widen to the least result, which is why the rules of a row group are wider.

Bounds of a type that the column had before (PROTOCOL, Type Widening) are read as that type and then converted:
integers, decimals and dates exactly, floats as above.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import Enum
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values import EXACT, exactly, of_unscaled
from deltaskip.sparkexpr.values.arrow_values import FALSE, arrow_array, arrow_scalar, is_true
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, days_from_civil
from deltaskip.stats.layout import CUT_FROM, BoundKind, Side, StatField


class BoundForm(Enum):
    """The form in which a bound is stored; see the table."""

    TEXT = "JSON text"
    STRUCT = "stats_parsed"
    GROUP = "row group of a checkpoint"
    EXACT = "partition value"


PRINTED_DIGITS = 15
"""Number of significant digits of a decimal number that survive the conversion to a double and back."""

SPARK_VERSION_KEY = b"org.apache.spark.version"
"""Key of the version of Spark in the footers of files that Spark wrote."""

CALENDAR_OF_NEW_FILES = {SPARK_VERSION_KEY: b"3.1.0"}
"""Key-value metadata of Parquet files that this process writes: dates and times are in the Gregorian calendar.

Without it, the settings of a session decide which calendar Spark reads, and it may shift dates before 1582. The value
is the first version whose files Spark never shifts; the writer is named by `created_by`.
# Spark 4.1, DataSourceUtils.datetimeRebaseSpec and int96RebaseSpec
"""

GREGORIAN_FROM: dict[t.DataType, int] = {
    t.DATE: -141_427,
    t.TIMESTAMP: -2_208_988_800_000_000,
    t.TIMESTAMP_NTZ: -2_208_988_800_000_000,
}
"""Days and microseconds from which the calendar of old writers and ours agree, in every time zone.

# Spark 4.1, RebaseDateTime
"""

BEFORE_1900 = days_from_civil(1900, 1, 1) * MICROS_PER_DAY
OFFSET_SECONDS_LOST = 59_000_000
"""Offsets of local mean time have seconds, which are not written: their maximum in microseconds, either way."""

_LIMITS: dict[t.DataType, int] = {t.BYTE: 1 << 7, t.SHORT: 1 << 15, t.INTEGER: 1 << 31}
_DOUBLE_DIGITS = 17
_GREGORIAN_WRITERS = (b"parquet-cpp", b"parquet-rs", b"delta-rs", b"DuckDB", b"Polars")


def believed(values: pa.Array, field: StatField, side: Side, form: BoundForm) -> pa.Array:
    """Return the bounds in the layout of `field.kind`, widened by what the form may have lost; null if unusable.

    Decimals in JSON are widened by `decimal_bound` when their text is read.
    """
    if form is BoundForm.EXACT:
        return values
    match field.kind:
        case BoundKind.DOUBLE:
            return _doubles(values, field, side)
        case BoundKind.DECIMAL:
            return values if form is BoundForm.TEXT else _decimals(values, field.type, side, form)
        case BoundKind.TEXT:
            return _without_weak_tie_breaker(values, side)
        case BoundKind.INT64 if field.type in _LIMITS:
            return in_range(values, _LIMITS[field.type])
        case BoundKind.INT64 if field.type in t.NANOSECONDS:
            return _past_the_truncation(values) if side == "max" and form is not BoundForm.GROUP else values
        case BoundKind.INT64 if field.type in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
            return _timestamps(values, field.type, side, form)
        case _:
            return values


def hybrid_calendar(created_by: bytes, key_values: Mapping[bytes, bytes]) -> tuple[bool, bool]:
    """Whether old dates and timestamps, and old INT96, of a Parquet file may be in the calendar of Spark 2 and Hive.

    # Spark 4.1, DataSourceUtils: files of Spark before 3.0 (INT96: 3.1) and files with the legacy keys are rebased.
    """
    spark = key_values.get(SPARK_VERSION_KEY)
    if spark is None:
        other = not created_by.startswith(_GREGORIAN_WRITERS)
        return other, other
    version = _version(spark)
    return (
        version < (3, 0) or b"org.apache.spark.legacyDateTime" in key_values,
        version < (3, 1) or b"org.apache.spark.legacyINT96" in key_values,
    )


@lru_cache(1 << 6)
def _version(text: bytes) -> tuple[int, ...]:
    return tuple([int(part) for part in re.findall(rb"\d+", text)[:2]])


def in_our_calendar(values: pa.Array) -> pa.Array:
    """Dates and timestamps of a file with a hybrid calendar: null where the calendars differ. Other values stay."""
    if pa.types.is_date32(values.type):
        numbers, first = values.view(pa.int32()), GREGORIAN_FROM[t.DATE]
    elif pa.types.is_timestamp(values.type):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
        numbers, first = values.view(pa.int64()), GREGORIAN_FROM[t.TIMESTAMP] // 10**6 * per_second
    else:
        return values
    old = pc.less(numbers, arrow_scalar(first, numbers.type))
    return pc.if_else(old, arrow_scalar(None, values.type), values) if pc.any(old).as_py() else values


def whole_number(text: str) -> int | None:
    """The 64-bit integer of a JSON number, in any notation that lost no digit; None if there is none."""
    try:
        value = exactly(text)
        whole = int(value) if value == value.to_integral_value(context=EXACT) else None
    except (ArithmeticError, ValueError):
        return None
    if whole is None or not t.LONG_MIN <= whole <= t.LONG_MAX:
        return None
    # The text of a double: it may stand for any integer nearby.
    return None if abs(whole) >= 10**PRINTED_DIGITS and re.search("[.eE]", text) else whole


def in_range(values: pa.Array, limit: int) -> pa.Array:
    """Return integers from -limit to below the limit; null for others: a bound outside the type proves nothing."""
    extremes = pc.min_max(values)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    if low is None or (low >= -limit and high < limit):
        return values
    inside = pc.and_(
        pc.greater_equal(values, arrow_scalar(-limit, values.type)), pc.less(values, arrow_scalar(limit, values.type))
    )
    return pc.if_else(inside, values, arrow_scalar(None, values.type))


def _doubles(values: pa.Array, field: StatField, side: Side) -> pa.Array:
    """Bounds of a float or double column.

    A float's text is the shortest that identifies the float, so it is rounded to a float before it is widened. A double
    that was once a float (`delta.typeChanges`) may have either text, whatever has parsed it since, and the bound
    includes both (docs/pages/soundness.md, trap 14).
    """
    if field.type == t.FLOAT:
        return as_floats(values)
    if "float" not in field.widened_from:
        return values
    as_float = _rounded(values)
    return pc.min_element_wise(values, as_float) if side == "min" else pc.max_element_wise(values, as_float)


def as_floats(values: pa.Array) -> pa.Array:
    """Doubles rounded to floats; null for a number beyond the range of floats."""
    rounded = _rounded(values)
    lost = pc.and_(pc.is_inf(rounded), pc.is_finite(values))
    return pc.if_else(lost, arrow_scalar(None, pa.float64()), rounded) if pc.any(lost).as_py() else rounded


def _rounded(values: pa.Array) -> pa.Array:
    return pc.cast(pc.cast(values, pa.float32(), safe=False), pa.float64())


def of_either_type(values: pa.Array) -> pa.Array:
    """Bounds of a double that was once a float, if they are the same number in both types; null for the others."""
    same = pc.or_(pc.equal(_rounded(values), values), pc.is_nan(values))
    return pc.if_else(same, values, arrow_scalar(None, pa.float64()))


def _without_weak_tie_breaker(values: pa.Array, side: Side) -> pa.Array:
    """Remove the U+FFFD with which old writers ended a truncated maximum; it sorts below supplementary characters.

    Without it the bound is a prefix that compares as one (CUT_FROM), which covers every string that it may be the
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


def _timestamps(micros: pa.Array, type_: t.DataType, side: Side, form: BoundForm) -> pa.Array:
    if len(micros) == micros.null_count:
        return micros
    if side == "max":
        micros = _past_the_millisecond(micros, every=form is BoundForm.GROUP)
    return micros if form is BoundForm.TEXT or type_ != t.TIMESTAMP else _with_lost_seconds(micros, side, form)


def _past_the_truncation(nanos: pa.Array) -> pa.Array:
    """Add what was lost, saturating, to maxima on a whole millisecond or microsecond, which may have been truncated."""
    micro, milli = (arrow_scalar(unit, pa.int64()) for unit in (10**3, 10**6))
    on_micro, on_milli = (pc.equal(pc.multiply(pc.divide(nanos, unit), unit), nanos) for unit in (micro, milli))
    lost = pc.if_else(on_milli, arrow_scalar(10**6 - 1, pa.int64()), arrow_scalar(10**3 - 1, pa.int64()))
    limit = arrow_scalar(t.LONG_MAX - 10**6, pa.int64())
    lifted = pc.add(pc.min_element_wise(nanos, limit), lost)
    lifted = pc.if_else(pc.greater(nanos, limit), arrow_scalar(t.LONG_MAX, pa.int64()), lifted)
    return pc.if_else(on_micro, lifted, nanos)


def _past_the_millisecond(micros: pa.Array, every: bool) -> pa.Array:
    """Add 999 microseconds, saturating, to maxima on a whole millisecond, which may have been truncated (trap 3).

    Minima were truncated downwards, which is sound. A maximum with digits below the millisecond was not truncated; the
    greatest of several says nothing about the others.
    """
    limit = t.LONG_MAX - 999
    room = pc.less_equal(micros, arrow_scalar(limit, pa.int64()))
    lifted = pc.add(pc.min_element_wise(micros, arrow_scalar(limit, pa.int64())), arrow_scalar(999, pa.int64()))
    saturated = pc.if_else(room, lifted, arrow_scalar(t.LONG_MAX, pa.int64()))
    if every:
        return saturated
    thousand = arrow_scalar(1000, pa.int64())
    whole = pc.equal(pc.multiply(pc.divide(micros, thousand), thousand), micros)
    return pc.if_else(whole, saturated, micros)


def _with_lost_seconds(micros: pa.Array, side: Side, form: BoundForm) -> pa.Array:
    """Instants before 1900, widened because the offset of the text may have lacked its seconds (trap 4)."""
    # The greatest of several may be after 1900, although an earlier one is widened beyond it.
    until = BEFORE_1900 + (OFFSET_SECONDS_LOST + 999 if form is BoundForm.GROUP else 0)
    old = pc.less(micros, arrow_scalar(until, pa.int64()))
    if not pc.any(old).as_py():
        return micros
    if side == "max":
        return pc.if_else(old, pc.add(micros, arrow_scalar(OFFSET_SECONDS_LOST, pa.int64())), micros)
    floor = arrow_scalar(t.LONG_MIN + OFFSET_SECONDS_LOST, pa.int64())
    moved = pc.subtract(pc.max_element_wise(micros, floor), arrow_scalar(OFFSET_SECONDS_LOST, pa.int64()))
    return pc.if_else(old, moved, micros)


def decimal_bound(text: str, type_: t.DecimalType, side: Side) -> Decimal | None:
    """Parse a decimal from JSON. A text that a double may have printed is widened by the possible loss.

    The true bound is a multiple of 10^-scale that rounds to a double whose first 15 digits are these, so it lies within
    one unit in the double's last place and half a unit of the 15th digit: take the outermost such multiple
    (docs/pages/soundness.md, trap 2). If there is none, the text is not a value of the type, and the bound is unknown.
    """
    try:
        value = exactly(text)
        if not value.is_finite():
            return None
        slack = Decimal(0)
        if value and not _only_a_decimal_prints(text, type_.scale):
            printed = of_unscaled(5, PRINTED_DIGITS - value.adjusted())
            slack = EXACT.add(exactly(math.ulp(float(value))), printed)
        unit = of_unscaled(1, type_.scale)
        if side == "min":
            bound = EXACT.subtract(value, slack).quantize(unit, ROUND_CEILING, EXACT)
        else:
            bound = EXACT.add(value, slack).quantize(unit, ROUND_FLOOR, EXACT)
        if EXACT.subtract(bound, value).copy_abs() > slack:
            return None
    except (ArithmeticError, ValueError):
        return None
    if bound.copy_abs() >= of_unscaled(1, type_.scale - type_.precision):
        return None
    return None if _is_saturated(bound, type_, side) else bound


def is_long_decimal(values: pa.Array, digits: int = PRINTED_DIGITS) -> pa.BooleanArray:
    """Where decimals have more than this number of digits, including all digits of the scale; false for null."""
    type_ = values.type
    if type_.precision <= digits:
        return pa.repeat(FALSE, len(values))
    limit = of_unscaled(1, type_.scale - digits)
    high, low = arrow_scalar(limit, values.type), arrow_scalar(limit.copy_negate(), values.type)
    return is_true(pc.or_(pc.greater_equal(values, high), pc.less_equal(values, low)))


def _is_saturated(bound: Decimal, type_: t.DecimalType, side: Side) -> bool:
    """delta-rs stores decimals of scale 0 in 64 bits: a bound at the end of that range may mean any value beyond it."""
    if type_.scale or type_.precision < 19:
        return False
    return bound == (t.LONG_MIN if side == "min" else t.LONG_MAX)


def _only_a_decimal_prints(text: str, scale: int) -> bool:
    """Whether no double prints like this: more digits than a double has, or zeros that fill up the column's scale."""
    if "e" in text or "E" in text:
        return False
    whole, _, fraction = text.lstrip("+-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if len(fraction) > 1:
        return len(digits) > _DOUBLE_DIGITS or (len(fraction) == scale and fraction.endswith("0"))
    return len(digits.rstrip("0")) > _DOUBLE_DIGITS


def _decimals(values: pa.Array, type_: t.DataType, side: Side, form: BoundForm) -> pa.Array:
    """Decimals that were parsed from a text that a double may have printed, widened as that text is widened.

    Up to 15 digits nothing is lost; beyond, only a decimal has more than 17 significant ones. Which of several bounds
    is the outermost after widening is unknown if one has more digits.
    """
    assert isinstance(type_, t.DecimalType)
    if form is BoundForm.GROUP:
        # One digit less, since a bound beyond the limit may be widened across it.
        long = is_long_decimal(values, PRINTED_DIGITS - 1)
        return pc.if_else(long, arrow_scalar(None, values.type), values) if pc.any(long).as_py() else values
    long = is_long_decimal(values)
    if not pc.any(long).as_py():
        return values
    bounds = [_struct_decimal(value, type_, side) for value in values.filter(long).to_pylist()]
    return pc.replace_with_mask(values, long, arrow_array(bounds, values.type))


def _struct_decimal(value: Decimal, type_: t.DecimalType, side: Side) -> Decimal | None:
    digits = "".join(map(str, value.as_tuple().digits)).rstrip("0")
    if len(digits) > _DOUBLE_DIGITS:
        return None if _is_saturated(value, type_, side) else value
    return decimal_bound(f"{value:e}", type_, side)

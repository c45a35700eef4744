"""Floating point numbers with Java's semantics: rounding to 32 bits, order with NaN, and conversion to strings.

For columns, a double or float is converted to the decimal that Java writes for it. The string of x reads back as x, and
the string of a decimal t reads back as the double nearest to t. If x is not the nearest double, x and its string are on
the same side of t. If x is the nearest double and t has few digits, x and t have the same string: all versions of Java
write the same string for up to 15 digits between 10⁻³ and 10⁷.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.sparkexpr.values.numerals import EXACT, context, exactly
from deltaskip.sparkexpr.values.vectors import numbers, valid

SPECIAL_FLOATS = {
    "nan": math.nan,
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
}
"""Special values by the strings, in lower case, that CAST accepts."""

JSON_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Values that JSON numbers cannot represent, by the strings that Java writes."""

_FLOAT_MAX = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
_HALF_OF_LEAST = 2.0**-150
# Enough digits for the midpoint of any two doubles.
_MIDPOINTS = context(1200)


def to_float(value: float) -> float:
    """`value` rounded to 32 bits and widened again; infinite beyond the range of a float."""
    with np.errstate(all="ignore"):
        return float(np.float32(value))


def nearest_float(value: Decimal | int) -> float:
    """The float nearest to an exact value (ties to even), widened, without double rounding."""
    double = nearest_double(value)
    if abs(double) < _HALF_OF_LEAST:
        # Exact arithmetic is slow for a large exponent.
        return math.copysign(0.0, double)
    if abs(double) >= _FLOAT_MAX:
        # Values from half a unit above the greatest float round to infinity.
        infinite = math.isinf(double) or abs(Fraction(value)) >= 2**128 - 2**103
        return math.copysign(math.inf if infinite else _FLOAT_MAX, double)
    guess = np.float32(double)
    exact = Fraction(value)
    with np.errstate(all="ignore"):
        around = (guess, np.nextafter(guess, np.float32(-np.inf)), np.nextafter(guess, np.float32(np.inf)))
    finite = [c for c in around if np.isfinite(c)]
    best = min(finite, key=lambda c: (abs(Fraction(float(c)) - exact), int(c.view(np.int32)) & 1))
    return math.copysign(float(best), double)


def nearest_double(value: Decimal | int) -> float:
    """The double nearest to an exact value, infinite beyond the range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def compare_floats(left: float, right: float) -> int:
    """-1, 0 or 1 in Spark's order: -0.0 = 0.0, and NaN = NaN is above all other numbers."""
    if math.isnan(left) or math.isnan(right):
        return int(math.isnan(left)) - int(math.isnan(right))
    return (left > right) - (left < right)


def float_text(value: float, single: bool) -> str | None:
    """The string of CAST(value AS STRING); None if it depends on the version of Java.

    Java before 19 sometimes writes more digits than needed (JDK-4511638). Strings with few digits near 1 do not vary.
    """
    if math.isfinite(value) and value != 0:
        shortest = _shortest(value, single)
        if not Decimal("0.001") <= shortest.copy_abs() < 10**7 or len(shortest.as_tuple().digits) > (
            6 if single else 15
        ):
            return None
    return java_text(value, single)


def double_text_range(value: float) -> tuple[Decimal, Decimal]:
    """The exact midpoints to the neighbors of a finite double. They enclose every string that reads back as it."""
    exact, half = exactly(value), _MIDPOINTS.divide(exactly(math.ulp(value)), Decimal(2))
    return _MIDPOINTS.subtract(exact, half), _MIDPOINTS.add(exact, half)


def java_text(value: float, single: bool) -> str:
    """The string that Double.toString, or Float.toString if `single`, returns since Java 19.

    It has the fewest digits that distinguish the number, and an exponent for magnitudes outside 10⁻³ to 10⁷.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    if not single and 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, figures, exponent = _shortest(value, single).as_tuple()
    if len(figures) == 1:
        # Java writes at least two digits. With two digits, it writes the nearest number.
        nearest = f"{value:.1e}"
        if (to_float(float(nearest)) if single else float(nearest)) == value:
            sign, figures, exponent = exactly(nearest).normalize(EXACT).as_tuple()
    digits = "".join(map(str, figures))
    point = len(digits) + int(exponent)
    if -3 < point <= 7:
        whole, part = (digits[:point], digits[point:]) if point > 0 else ("", "0" * -point + digits)
        text = f"{whole.ljust(max(point, 0), '0') or '0'}.{part or '0'}"
    else:
        text = f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"
    return "-" + text if sign else text


def _shortest(value: float, single: bool) -> Decimal:
    """The decimal with the fewest digits that rounds to a finite value."""
    if not single:
        return exactly(repr(value)).normalize(EXACT)
    # Unlike the text of a scalar, these digits do not depend on numpy's print options.
    return exactly(np.format_float_scientific(np.float32(value))).normalize(EXACT)


EXACT_POWER = 22
"""The greatest power of ten that a double represents exactly."""

_EXACT = 2.0**53
_SURE_DIGITS = 1e15
_SURE_FROM, _SURE_TO = 0.001, 1e7
# The digits up to which the string of a float is certain, and the digits after its point.
_SINGLE_DIGITS = 1e6
_SINGLE_PLACES, _PLACES = 9, 15


def units_of(size: Any, scale: int, to_even: bool = False) -> tuple[Any, Any]:
    """Return magnitudes in units of 10^-scale, rounded as their strings, and a mask of the rows where this is certain.

    scale: From -21 to 21. to_even: Whether a half is rounded to the even number, not up.
    """
    unit = 10.0 ** abs(scale)
    fraction = scale >= 0

    def result(units: Any) -> Any:
        return units / unit if fraction else units * unit

    with np.errstate(all="ignore"):
        units = np.floor(size * unit if fraction else size / unit)
        units = np.where(result(units) > size, units - 1, units)
        units = np.where(result(units + 1) <= size, units + 1, units)
        middle = (2 * units + 1) * 5 / (unit * 10) if fraction else units * unit + unit / 2
        tie = size == middle
        few = (middle * unit * 10 if fraction else middle) < _SURE_DIGITS
        sure = ~tie | (few & (middle >= _SURE_FROM) & (middle < _SURE_TO))
        units = units + ((size > middle) | (tie & ((units % 2 == 1) if to_even else True)))
        sure &= ((units if fraction else units * unit) + 1) * 10 < _EXACT
    return units, sure


def decimals_of(given: Any, known: Any, precision: int, scale: int) -> tuple[pa.Array, Any]:
    """Return doubles as decimals, and a mask of the finite doubles that must be converted one by one.

    A decimal is null if its double is missing, not finite or must be converted alone. known: A mask of the rows that
    have a double; None for all rows.
    """
    finite = np.isfinite(given) if known is None else np.isfinite(given) & known
    size = np.abs(np.where(finite, given, 0.0))
    if scale >= EXACT_POWER:
        return pa.nulls(len(given), pa.decimal128(precision, scale)), finite
    units, sure = units_of(size, scale)
    done = finite & sure & (units < 10.0 ** min(precision, 15))
    whole = np.where(done, np.copysign(units, given), 0.0).astype(np.int64)
    return _decimals(whole, precision, scale, done), finite & ~done


def float_texts(values: pa.Array) -> tuple[pa.Array, Any]:
    """Return doubles or floats as strings, and a mask of the rows that must be converted one by one."""
    single = values.type == pa.float32()
    given, rows = numbers(values), valid(values)
    size = np.abs(given)
    open_ = (size >= _SURE_FROM) & (size < _SURE_TO)
    if rows is not None:
        open_ &= rows
    parts: list[pa.Array] = []
    places: list[Any] = []
    for scale in range(1, (_SINGLE_PLACES if single else _PLACES) + 1):
        at = np.flatnonzero(open_)
        if not len(at):
            break
        unit = given.dtype.type(10.0**scale)
        here = size[at]
        units = np.rint(here.astype(np.float64) * unit)
        same = (units < (_SINGLE_DIGITS if single else _SURE_DIGITS)) & (units.astype(given.dtype) / unit == here)
        found = at[same]
        if len(found):
            whole = np.copysign(units[same], given[found]).astype(np.int64)
            parts.append(_decimals(whole, 38, scale).cast(pa.string()))
            places.append(found)
            open_[found] = False
    done = np.concatenate(places) if places else np.zeros(0, np.int64)
    rest = np.ones(len(given), np.bool_) if rows is None else rows.copy()
    rest[done] = False
    indices = np.full(len(given), -1, np.int64)
    indices[done] = np.arange(len(done))
    taken = pa.array(indices, mask=indices < 0)
    return pa.concat_arrays([*parts, pa.array([], pa.string())]).take(taken), rest


def _decimals(units: Any, precision: int, scale: int, known: Any = None) -> pa.Array:
    halves = np.empty(2 * len(units), np.int64)
    halves[::2], halves[1::2] = units, units >> 63
    bits = None if known is None or known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(units), [bits, pa.py_buffer(halves)])

"""Floating point numbers with Java's semantics: rounding to 32 bits, order with NaN, and conversion to strings."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np

from deltaskip.sparkexpr.values.numerals import EXACT, context, exactly

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

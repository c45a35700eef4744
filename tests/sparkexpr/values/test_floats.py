"""Texts and rounding of doubles and floats, with Java's semantics."""

import math
from decimal import Context, Decimal, localcontext

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.values.floats import float_text, java_text, nearest_float, to_float
from tests.looped import looped


# Double.toString and Float.toString of Java 19 and newer.
@looped(
    "value, single, text",
    [
        (0.0, False, "0.0"),
        (-0.0, False, "-0.0"),
        (math.nan, False, "NaN"),
        (math.inf, True, "Infinity"),
        (-math.inf, False, "-Infinity"),
        (1.0, False, "1.0"),
        (-1.25, False, "-1.25"),
        (0.001, False, "0.001"),
        (0.00099, False, "9.9E-4"),
        (9999999.0, False, "9999999.0"),
        (1e7, False, "1.0E7"),
        (1e300, False, "1.0E300"),
        (123456789012.5, False, "1.234567890125E11"),
        (5e-324, False, "4.9E-324"),
        (2e23, False, "2.0E23"),
        (1.100000023841858, True, "1.1"),
        (float(np.float32(1.4e-45)), True, "1.4E-45"),
        (float(np.float32(3.4028235e38)), True, "3.4028235E38"),
    ],
)
def test_doubles_and_floats_have_java_s_text(value: float, single: bool, text: str) -> None:
    assert java_text(value, single) == text


@given(st.floats(allow_nan=False), st.booleans())
def test_texts_are_read_back(value: float, single: bool) -> None:
    value = to_float(value) if single else value
    text = java_text(value, single)
    back = float(text.replace("Infinity", "inf"))
    assert (to_float(back) if single else back) == value
    assert float_text(value, single) in (None, text)


@given(st.integers(0, 2**24), st.integers(-149, 100), st.sampled_from([-1, 0, 1]))
def test_decimals_between_two_floats_are_rounded_once(mantissa: int, exponent: int, aside: int) -> None:
    # So near the middle between two floats that the nearest double is the middle itself.
    low = np.float32(math.ldexp(mantissa, exponent))
    high = np.nextafter(low, np.float32(math.inf))
    with localcontext(Context(prec=500)):
        ends = Decimal(float(low)), Decimal(float(high))
        middle = (ends[0] + ends[1]) / 2 + (ends[1] - ends[0]) * aside * Decimal("1e-40")
    tie = low if int(low.view(np.int32)) % 2 == 0 else high
    assert nearest_float(middle) == float({-1: low, 0: tie, 1: high}[aside])

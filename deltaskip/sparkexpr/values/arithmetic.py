"""`+ - * / % div`, negation and rounding with ANSI overflow errors, on values of the domain.

# Spark 4.1, arithmetic.scala, Decimal.scala
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from deltaskip.sparkexpr.coerce import adjusted_decimal
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.text.type_names import sql_name
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.floats import double_text_range, float_text, nearest_double, nearest_float, to_float
from deltaskip.sparkexpr.values.numerals import EXACT, context, exactly, of_unscaled

# The context of scala.BigDecimal, which Spark uses for some arithmetic.
_SCALA = context(34)
# Enough digits for every double, rounded to this number of decimal places.
_DOUBLES = context(1600)
MOST_PLACES = 400
# Every version of Java writes all digits, at most 15, of a half below this value.
FEW_DIGITS = 1e14

BY_ZERO = "Division by zero: use try_divide or nullif for NULL."
"""The message of the error that a division by zero raises."""

ROUNDINGS: Mapping[str, tuple[str, str]] = {
    "round": ("half up", ROUND_HALF_UP),
    "bround": ("half even", ROUND_HALF_EVEN),
}
"""Rounding of each function, as `kernels.decimals.rescale` and as `decimal` name it."""


def arithmetic_type(op: str, left: t.DataType, right: t.DataType) -> t.DataType | None:
    """The result type of `left op right` after coercion; None if the operation does not exist."""
    if op == "div":
        fits = (left == right == t.LONG) or (isinstance(left, t.DecimalType) and isinstance(right, t.DecimalType))
        return t.LONG if fits else None
    if isinstance(left, t.DecimalType) and isinstance(right, t.DecimalType):
        return _decimal_type(op, left, right)
    if left != right or not (left in t.INTEGRAL_BITS or left in t.FLOATING):
        return None
    return left if op != "/" or left == t.DOUBLE else None


def arithmetic(op: str, left: object, right: object, type_: t.DataType | None) -> object:
    """The value of `left op right` of result type `type_`, neither NULL. Raises EvaluationError as in ANSI mode."""
    if op in ("/", "%", "div") and right == 0:
        raise EvaluationError(BY_ZERO)
    match left, right:
        case (Decimal(), Decimal()):
            return _decimal(op, left, right, type_)
        case (float(), float()):
            value = _floating(op, left, right)
            return to_float(value) if type_ == t.FLOAT else value
        case (int(), int()):
            return checked_integral(_integral(op, left, right), type_)
    raise EvaluationError(f"No arithmetic for {left!r} {op} {right!r}.")


def negated(value: object, type_: t.DataType | None) -> object:
    """`-value`."""
    match value:
        case int():
            return checked_integral(-value, type_)
        case Decimal():
            return _rounded_to_34(value.copy_negate()) if value else value
        case float():
            return -value
    raise EvaluationError(f"No negative of {value!r}.")


def absolute(value: object, type_: t.DataType | None) -> object:
    """`abs(value)`."""
    match value:
        case int():
            return checked_integral(abs(value), type_)
        case Decimal():
            return _rounded_to_34(value.copy_abs())
        case float():
            return math.fabs(value)
    raise EvaluationError(f"No absolute value of {value!r}.")


def _rounded_to_34(value: Decimal) -> Decimal:
    """`value`, whose sign was changed. Raises Undecided if Spark's rounding to 34 digits changes it."""
    if _SCALA.plus(value) != value:
        raise Undecided(f"The sign of {value}, which has more than 34 digits, is left to Spark.")
    return value


def whole(value: object, up: bool, type_: t.DataType | None, scale: int = 0) -> object:
    """`floor(value, scale)`, or `ceil` if `up`.

    Raises Undecided for a double beyond BIGINT: Spark 4.1 returns the limit, and Spark 4.3 fails in ANSI mode.
    """
    match value:
        case int():
            return value
        case Decimal():
            rounding = ROUND_CEILING if up else ROUND_FLOOR
            return to_decimal(value if scale >= 0 else _at_places(value, scale, rounding), type_, rounding)
        case float():
            if math.isnan(value):
                return 0
            if not -(2.0**63) <= value < 2.0**63:
                raise Undecided(f"{'ceil' if up else 'floor'} of {value!r} depends on the version of Spark.")
            return math.ceil(value) if up else math.floor(value)
    raise EvaluationError(f"No whole number for {value!r}.")


def rounded(value: object, scale: int, type_: t.DataType | None, rounding: str = ROUND_HALF_UP) -> object:
    """`round(value, scale)`, rounded half up or as `rounding` says."""
    match value:
        case int():
            if scale >= 0:
                return value
            return checked_integral(int(_at_places(exactly(value), scale, rounding)), type_)
        case Decimal():
            return to_decimal(_at_places(value, scale, rounding), type_)
        case float():
            return _rounded_float(value, scale, type_ == t.FLOAT, rounding)
    raise EvaluationError(f"No rounded number for {value!r}.")


def _at_places(value: Decimal, scale: int, rounding: str) -> Decimal:
    """A decimal of at most 38 digits, rounded to `scale` decimal places, which may be negative."""
    return value.quantize(of_unscaled(1, max(-40, min(scale, 40))), rounding, EXACT)


def _rounded_float(value: float, scale: int, single: bool, rounding: str) -> float:
    """A double or float rounded as the decimal that Java writes for it as a double.

    Java before 19 does not always write the shortest string, but a number between the midpoints to the neighboring
    doubles. This matters only if the two midpoints round to different results.
    """
    if not math.isfinite(value) or value == 0:
        return value + 0.0
    if abs(scale) > MOST_PLACES:
        raise Undecided(f"A number rounded to {scale} places is left to Spark.")
    if scale >= 0 and value.is_integer():
        # Every version of Java writes a whole number that reads back as this value.
        return value

    found = _rounded_text(exactly(repr(value)), scale, single, rounding)
    if scale == 0 and abs(value) < FEW_DIGITS and (2 * value).is_integer():
        return found
    ends = double_text_range(value) if float_text(value, False) is None else ()
    if any(_rounded_text(end, scale, single, rounding) != found for end in ends):
        raise Undecided(f"{value!r} rounded to {scale} places depends on the Java version.")
    return found


def rounded_double_range(value: float, scale: int, rounding: str) -> tuple[float, float]:
    """The least and the greatest double that some version of Java rounds a double to, for up to MOST_PLACES places."""
    if not math.isfinite(value) or value == 0 or (scale >= 0 and value.is_integer()):
        return value + 0.0, value + 0.0
    low, high = double_text_range(value)
    return _rounded_text(low, scale, False, rounding), _rounded_text(high, scale, False, rounding)


def _rounded_text(text: Decimal, scale: int, single: bool, rounding: str) -> float:
    """The double or float nearest to a rounded decimal."""
    found = text.quantize(of_unscaled(1, scale), rounding, _DOUBLES)
    return (nearest_float(found) if single else nearest_double(found)) + 0.0


def to_decimal(value: Decimal, type_: t.DataType | None, rounding: str = ROUND_HALF_UP) -> Decimal:
    """`value` at the scale of `type_`. Raises EvaluationError if it has too many digits."""
    if not isinstance(type_, t.DecimalType):
        raise EvaluationError(f"{sql_name(type_)} is not a decimal type.")
    try:
        moved = value.quantize(of_unscaled(1, type_.scale), rounding, EXACT)
    except InvalidOperation as error:
        raise EvaluationError(f"{value} is out of the range of decimal({type_.precision},{type_.scale}).") from error
    if moved and moved.adjusted() + 1 > type_.precision - type_.scale:
        raise EvaluationError(f"{value} is out of the range of decimal({type_.precision},{type_.scale}).")
    return moved if moved else moved.copy_abs()


def checked_integral(value: int, type_: t.DataType | None) -> int:
    """`value` if it fits the integral type. Raises EvaluationError otherwise."""
    bits = None if type_ is None else t.INTEGRAL_BITS.get(type_)
    if bits is None or not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise EvaluationError(f"{value} is out of the range of {sql_name(type_)}.")
    return value


def _decimal_type(op: str, left: t.DecimalType, right: t.DecimalType) -> t.DecimalType | None:
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match op:
        case "+" | "-":
            scale = max(s1, s2)
            return adjusted_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return adjusted_decimal(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return adjusted_decimal(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return adjusted_decimal(min(p1 - s1, p2 - s2) + scale, scale)
    return None


_OF_DECIMALS = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide, "%": EXACT.remainder}
_OF_INTEGERS: Mapping[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_OF_FLOATS = {**_OF_INTEGERS, "/": operator.truediv}


def _decimal(op: str, left: Decimal, right: Decimal, type_: t.DataType | None) -> object:
    if op in _OF_DECIMALS:
        return to_decimal(_OF_DECIMALS[op](left, right), type_)
    quotient = to_decimal(EXACT.divide_int(left, right).to_integral_value(ROUND_DOWN, EXACT), t.DecimalType(38, 0))
    # Decimal.toLong keeps the lower 64 bits, also in ANSI mode.
    return (int(quotient) + (1 << 63)) % (1 << 64) - (1 << 63)


def _floating(op: str, left: float, right: float) -> float:
    if op in _OF_FLOATS:
        return float(_OF_FLOATS[op](left, right))
    if math.isinf(left) or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.fmod(left, right)


def _integral(op: str, left: int, right: int) -> int:
    if op in _OF_INTEGERS:
        return int(_OF_INTEGERS[op](left, right))
    # Java truncates towards zero; the remainder takes the sign of the dividend.
    quotient = abs(left) // abs(right)
    quotient = quotient if (left < 0) == (right < 0) else -quotient
    return quotient if op == "div" else left - quotient * right

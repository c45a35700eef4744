"""Steps of numbers (see steps): casts between numbers and to strings, arithmetic with a constant, rounding.

* A cast between integer types is f(x) = x. If x does not fit, Spark raises, and x has no result.
* A cast of an integer or decimal to a decimal multiplies by a power of ten, or divides by it and rounds half up. Both
  are non-decreasing.
* A cast to double or float gives the nearest value and is non-decreasing. A cast of a double to an integer rounds
  towards zero, and raises for NaN and values that do not fit. A cast of a double to a decimal rounds the string of the
  double half up. Java 17 does not always write the shortest string, but a number between the midpoints to the
  neighboring doubles; NaN and the infinities become NULL.
* x + c, x - c, c - x, x * c, x div c, x / c are monotone in x for each sign of c in exact arithmetic, and also after
  rounding, because rounding is monotone. Overflow raises for integers and decimals. Doubles have infinities and NaN,
  which stays NaN and is a separate piece if the function is falling.
* x % n is congruent to x modulo |n| and has the sign of x: each residue class has one of two results (Periodic).
* A cast of a number to a string is injective. A string that no number is written as matches no number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any

import numpy as np

from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages import steps
from deltaskip.sparkexpr.preimages.monotone import monotone, truth
from deltaskip.sparkexpr.preimages.ordinals import INFINITY, NAN, Domain, domain_of, ordinal_of, value_at
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.arithmetic import MOST_PLACES, ROUNDINGS, arithmetic, rounded_double_range
from deltaskip.sparkexpr.values.calendar import MICROS_PER_SECOND
from deltaskip.sparkexpr.values.dates import towards_zero
from deltaskip.sparkexpr.values.floats import compare_floats, nearest_float, to_float
from deltaskip.sparkexpr.values.numerals import EXACT, context, exactly

_BEYOND = 10**400
"""An ordinal above all numbers: the result of an extension on overflow."""

_PLAIN_SCALE = 6
"""Without ANSI mode, decimals of a larger scale may be written with an exponent."""

_MOST_RESIDUES = 4096
_INVERSE = {"+": operator.sub, "-": operator.add, "*": operator.truediv, "/": operator.mul}


def number_cast(source: t.DataType, target: t.DataType) -> steps.Step | None:
    """Return the step of a CAST between numbers and booleans, or of a number to a string or timestamp, or None."""
    domain = domain_of(source)
    if domain is None:
        return None
    if source in t.INTEGRAL_BITS or source == t.BOOLEAN:
        return _from_integral(source, domain, target)
    if isinstance(source, t.DecimalType):
        return _from_decimal(source, domain, target)
    if source in t.FLOATING:
        return _from_floating(domain, target)
    if source == t.TIMESTAMP and target in t.INTEGRAL_BITS:
        return steps.Floor(domain, MICROS_PER_SECOND)
    if source == t.TIMESTAMP and target in t.FLOATING:
        single = to_float if target == t.FLOAT else float
        return steps.rising(domain, lambda x: ordinal_of(t.DOUBLE, single(float(x) / MICROS_PER_SECOND)))
    return None


def double_of_float(source: t.DataType | None) -> steps.Step | None:
    """Return the step of CAST(CAST(x AS FLOAT) AS DOUBLE) of an integer; None for other types.

    Spark's optimizer removes the inner cast if it can (SimplifyCasts).
    """
    domain = domain_of(source)
    if domain is None or source not in t.INTEGRAL_BITS:
        return None
    return steps.rising(
        domain,
        lambda x: ordinal_of(t.DOUBLE, min(float(x), nearest_float(x))),
        most=lambda x: ordinal_of(t.DOUBLE, max(float(x), nearest_float(x))),
    )


def arithmetic_with(op: str) -> steps.Preimage:
    """Return the preimage of `x op constant` and `constant op x` for numbers."""

    def inverted(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
        match call.args:
            case (operand, Literal(constant)) if constant is not None:
                step = _with_constant(op, call, operand, constant)
            case (Literal(constant), operand) if constant is not None and op in ("+", "-", "*"):
                step = _constant_first(op, call, operand, constant)
            case _:
                return None
        return None if step is None else (operand, (step,))

    return inverted


def of_one(step_of: Callable[[t.DataType, Domain], steps.Step | None]) -> steps.Preimage:
    """Return the preimage of a function of one number, whose step depends on the number's type."""

    def inverted(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
        type_ = type_of(call.args[0]) if len(call.args) == 1 else None
        domain = domain_of(type_)
        step = None if type_ is None or domain is None else step_of(type_, domain)
        return None if step is None else (call.args[0], (step,))

    return inverted


def _is_not_zero(domain: Domain) -> steps.Step:
    pieces = (steps.MonotonePiece(domain.low, 0), steps.MonotonePiece(0, 1), steps.MonotonePiece(1, domain.stop))
    return steps.Monotone(domain, lambda x: int(x != 0), pieces)


def _from_integral(source: t.DataType, domain: Domain, target: t.DataType) -> steps.Step | None:
    if target == t.BOOLEAN:
        return _is_not_zero(domain)
    if target == t.STRING and source == t.BOOLEAN:
        return steps.rising(domain, lambda x: b"true" if x else b"false")
    if target == t.STRING:
        return _to_text(source, domain)
    if target in t.INTEGRAL_BITS:
        return steps.identity_step(domain)
    if isinstance(target, t.DecimalType):
        return steps.Times(domain, 10**target.scale)
    if target == t.TIMESTAMP and source != t.BOOLEAN:
        # Seconds beyond the range of timestamps saturate.
        last = (1 << 63) - 1
        return steps.rising(domain, lambda x: max(-last - 1, min(last, x * MICROS_PER_SECOND)))
    if target == t.DOUBLE:
        return steps.rising(domain, lambda x: ordinal_of(t.DOUBLE, float(x)))
    return steps.rising(domain, lambda x: ordinal_of(t.FLOAT, nearest_float(x))) if target == t.FLOAT else None


def _from_decimal(source: t.DecimalType, domain: Domain, target: t.DataType) -> steps.Step | None:
    if target == t.STRING:
        return _to_text(source, domain)
    if target == t.BOOLEAN:
        return _is_not_zero(domain)
    if isinstance(target, t.DecimalType):
        if target.scale >= source.scale:
            return steps.Times(domain, 10 ** (target.scale - source.scale))
        unit = 10 ** (source.scale - target.scale)
        return steps.rising(domain, lambda x: _half_up(x, unit), near=lambda r: r * unit)
    if target in t.INTEGRAL_BITS:
        return _to_integral(source, domain, target)
    if target in t.FLOATING:
        nearest: Callable[[Any], float] = nearest_float if target == t.FLOAT else float
        return steps.rising(domain, lambda x: ordinal_of(t.DOUBLE, nearest(value_at(source, x))))
    return None


def _to_integral(source: t.DecimalType, domain: Domain, target: t.DataType) -> steps.Step:
    """The step of a cast to an integer: towards zero; more than 18 digits through a double, except to bigint."""
    unit = 10**source.scale

    def exact(x: int) -> int:
        return towards_zero(x, unit)

    if target == t.LONG:
        return steps.rising(domain, exact, near=lambda r: r * unit)

    def through_double(x: int) -> int:
        nearest: float = x / unit
        return math.trunc(nearest)

    return steps.rising(
        domain,
        lambda x: min(exact(x), through_double(x)),
        most=lambda x: max(exact(x), through_double(x)),
        near=lambda r: r * unit,
    )


def _from_floating(domain: Domain, target: t.DataType) -> steps.Step | None:
    if target == t.DOUBLE:
        return steps.identity_step(domain)
    if target == t.FLOAT:
        return steps.rising(domain, lambda x: ordinal_of(t.FLOAT, to_float(value_at(t.DOUBLE, x))))
    if target in t.INTEGRAL_BITS:
        return steps.Monotone(
            domain,
            lambda x: _truncated(value_at(t.DOUBLE, x), target),
            (steps.MonotonePiece(domain.low, NAN),),
            unsure=((NAN, NAN + 1),),
            near=_of_whole,
        )
    if isinstance(target, t.DecimalType):
        infinite = ((-INFINITY, -INFINITY + 1), (INFINITY, NAN + 1))
        places = target.scale
        return steps.Monotone(
            domain,
            lambda x: _of_text(value_at(t.DOUBLE, x), -1, places),
            (steps.MonotonePiece(-INFINITY + 1, INFINITY),),
            infinite,
            most=lambda x: _of_text(value_at(t.DOUBLE, x), 1, places),
        )
    return None


def _truncated(value: float, target: t.DataType) -> int:
    if math.isinf(value):
        return _BEYOND if value > 0 else -_BEYOND
    whole = math.trunc(value)
    # Java compares with 2^63 - 1 as a double, which is 2^63, and saturates.
    return whole - 1 if target == t.LONG and whole == 1 << 63 else whole


def _of_text(value: float, side: int, places: int) -> int:
    """The unscaled decimal of the midpoint between a double and its neighbor: no string of the double is beyond it."""
    numerator, denominator = value.as_integer_ratio()
    unit, of = math.ulp(value).as_integer_ratio()
    # value + side * ulp / 2, over a common denominator
    return _half_up((2 * numerator * of + side * unit * denominator) * 10**places, 2 * denominator * of)


def _half_up(x: int, unit: int) -> int:
    magnitude = (2 * abs(x) + unit) // (2 * unit)
    return magnitude if x >= 0 else -magnitude


def _to_text(source: t.DataType, domain: Domain) -> steps.Step | None:
    if isinstance(source, t.DecimalType) and source.scale > _PLAIN_SCALE:
        return None
    texts = domain_of(t.STRING)
    assert texts is not None

    def inverse(text: bytes) -> int | None:
        try:
            number = exactly(text.decode())
            if not number.is_finite():
                return None
            found = ordinal_of(source, number if isinstance(source, t.DecimalType) else int(number))
        except (InvalidOperation, UnicodeDecodeError, ValueError):
            return None
        return found if found is not None and _printed(source, found) == text else None

    return steps.Invertible(domain, texts, inverse)


def _printed(source: t.DataType, ordinal: int) -> bytes:
    value = value_at(source, ordinal)
    return (format(value, "f") if isinstance(value, Decimal) else str(value)).encode()


def _with_constant(op: str, call: Call, operand: Node, constant: Any) -> steps.Step | None:
    type_ = type_of(operand)
    domain = domain_of(type_)
    if type_ is None or domain is None:
        return None
    match constant:
        case bool():
            return None
        case int() if type_ in t.INTEGRAL_BITS:
            return _integral(op, constant, domain)
        case float() if type_ in t.FLOATING and math.isfinite(constant) and op in ("+", "-", "*", "/"):
            if op in ("*", "/") and constant == 0:
                return None
            falls = op in ("*", "/") and constant < 0
            inverse = _INVERSE[op]
            return _floating(
                domain, lambda v: arithmetic(op, v, constant, call.type), falls, lambda r: inverse(r, constant)
            )
        case Decimal() if isinstance(type_, t.DecimalType) and op in ("+", "-", "*", "/", "div"):
            if op in ("/", "div") and constant == 0:
                return None
            whole_digits = type_.precision - type_.scale
            if op == "div" and 10**whole_digits >= EXACT.multiply(constant.copy_abs(), 2**63):
                # Spark keeps the lower 64 bits of a quotient with more bits.
                return None
            falls = op in ("*", "/", "div") and constant < 0
            return _decimal(op, call, type_, lambda v: (v, constant), falls)
    return None


def _constant_first(op: str, call: Call, operand: Node, constant: Any) -> steps.Step | None:
    if op != "-":
        return _with_constant(op, call, operand, constant)
    type_ = type_of(operand)
    domain = domain_of(type_)
    if type_ is None or domain is None:
        return None
    match constant:
        case bool():
            return None
        case int() if type_ in t.INTEGRAL_BITS:
            return steps.rising(domain, lambda x: constant - x, falling=True, near=lambda r: constant - r)
        case float() if type_ in t.FLOATING and math.isfinite(constant):
            return _floating(domain, lambda v: arithmetic("-", constant, v, call.type), True, lambda r: constant - r)
        case Decimal() if isinstance(type_, t.DecimalType):
            return _decimal(op, call, type_, lambda v: (constant, v), True)
    return None


def _integral(op: str, constant: int, domain: Domain) -> steps.Step | None:
    match op:
        case "+":
            return steps.Shift(domain, constant)
        case "-":
            return steps.Shift(domain, -constant)
        case "*" if constant > 0:
            return steps.Times(domain, constant)
        case "*":
            return steps.rising(domain, lambda x: x * constant, True, near=lambda r: r // constant if constant else 0)
        case "div" if constant != 0:
            return steps.rising(domain, lambda x: towards_zero(x, constant), constant < 0, near=lambda r: r * constant)
        case "%" if 0 < abs(constant) <= _MOST_RESIDUES:
            residues = np.arange(abs(constant), dtype=np.int64)
            return steps.Periodic(domain, 1, residues, np.where(residues > 0, residues - abs(constant), 0))
        case "pmod" if 0 < constant <= _MOST_RESIDUES:
            return steps.Periodic(domain, 1, np.arange(constant, dtype=np.int64))
    return None


def _floating(domain: Domain, f: Callable[[float], Any], falls: bool, inverse: Callable[[float], float]) -> steps.Step:
    """The step of a function of floating-point numbers. inverse: Returns an argument for a result, up to rounding."""
    pieces = (steps.MonotonePiece(domain.low, NAN, not falls), steps.MonotonePiece(NAN, NAN + 1))

    def near(result: int) -> int:
        found: int = ordinal_of(t.DOUBLE, inverse(value_at(t.DOUBLE, max(domain.low, min(result, NAN)))))
        return found

    return steps.Monotone(domain, lambda x: ordinal_of(t.DOUBLE, f(value_at(t.DOUBLE, x))), pieces, near=near)


def _decimal(
    op: str, call: Call, type_: t.DecimalType, operands: Callable[[Decimal], tuple[Decimal, Decimal]], falls: bool
) -> steps.Step:
    domain = domain_of(type_)
    assert domain is not None and call.type is not None
    result = call.type

    def f(x: int) -> int:
        left, right = operands(value_at(type_, x))
        try:
            found: int = ordinal_of(result, arithmetic(op, left, right, result))
        except EvaluationError:
            return _BEYOND if _is_positive(op, left, right) else -_BEYOND
        return found

    left, right = operands(Decimal(0))
    over, under = (left or right).as_integer_ratio()
    unit, unit_of_result = _unit(type_), _unit(result)

    def near(r: int) -> int:
        match op:
            case "*" if over:
                return r * unit * under // (unit_of_result * over)
            case "/" | "div":
                return r * unit * over // (unit_of_result * under)
        found, shift = r * unit // unit_of_result, over * unit // under
        return shift - found if falls else found - shift if op == "+" else found + shift

    return steps.rising(domain, f, falls, near=near)


def _unit(type_: t.DataType) -> int:
    """The ordinal of 1."""
    one: int = 10**type_.scale if isinstance(type_, t.DecimalType) else 1
    return one


def _is_positive(op: str, left: Decimal, right: Decimal) -> bool:
    match op:
        case "+":
            return left > right.copy_negate()
        case "-":
            return left > right
    return (left > 0) == (right > 0)


def same(type_: t.DataType, domain: Domain) -> steps.Step:
    """Return the step of `+x`."""
    return steps.identity_step(domain)


def negative(type_: t.DataType, domain: Domain) -> steps.Step:
    """Return the step of `-x`."""
    if type_ in t.FLOATING:
        return _floating(domain, lambda v: -v, True, lambda r: -r)
    if not _is_long(type_):
        return steps.rising(domain, lambda x: -x, falling=True, near=lambda r: -r)
    return steps.rising(domain, lambda x: _rounded(-x, ROUND_FLOOR), True, lambda x: _rounded(-x, ROUND_CEILING))


def absolute_step(type_: t.DataType, domain: Domain) -> steps.Step:
    """Return the step of `abs(x)`."""
    pieces = (steps.MonotonePiece(domain.low, 0, False), steps.MonotonePiece(0, domain.stop))
    if not _is_long(type_):
        return steps.Monotone(domain, abs, pieces)
    return steps.Monotone(
        domain, lambda x: _rounded(abs(x), ROUND_FLOOR), pieces, most=lambda x: _rounded(abs(x), ROUND_CEILING)
    )


def sign(type_: t.DataType, domain: Domain) -> steps.Step:
    """Return the step of `sign(x)`."""
    return steps.rising(
        domain, lambda x: x if x == NAN else ordinal_of(t.DOUBLE, float(compare_floats(value_at(t.DOUBLE, x), 0.0)))
    )


def bits_turned(type_: t.DataType, domain: Domain) -> steps.Step:
    """Return the step of `~x`, which is -1 - x."""
    return steps.rising(domain, lambda x: -1 - x, falling=True, near=lambda r: -1 - r)


def shifted_left(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `shiftleft(x, constant)`, a product."""
    match call.args:
        case (operand, Literal(int() as count)) if (domain := domain_of(type_of(operand))) is not None:
            return operand, (steps.Times(domain, 1 << (count & (63 if type_of(operand) == t.LONG else 31))),)
    return None


def is_nan(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `isnan(x)`."""
    domain = domain_of(type_of(call.args[0]))
    return None if domain is None else (call.args[0], (truth(domain, ((NAN, NAN + 1),), exact=True),))


def rounded_to_whole(up: bool) -> steps.Preimage:
    """Return the preimage of `ceil` if `up`, else of `floor`, with or without a number of digits."""
    without_digits = of_one(lambda type_, domain: _whole(type_, domain, up))
    with_digits = monotone()
    return lambda call, compute, zone: (without_digits if len(call.args) == 1 else with_digits)(call, compute, zone)


def _is_long(type_: t.DataType) -> bool:
    return isinstance(type_, t.DecimalType) and type_.precision > 34


def _rounded(x: int, rounding: str) -> int:
    """`x` rounded to 34 digits, as Spark rounds a decimal when it changes the sign."""
    return x if abs(x) < 10**34 else int(context(34, rounding).create_decimal(x))


def _whole(type_: t.DataType, domain: Domain, up: bool) -> steps.Step | None:
    if type_ == t.LONG:
        return steps.identity_step(domain)
    if isinstance(type_, t.DecimalType):
        unit = 10**type_.scale
        return steps.rising(domain, lambda x: -(-x // unit)) if up else steps.Floor(domain, unit)
    if type_ != t.DOUBLE:
        return None
    limit = 1 << 63

    def f(x: int) -> int:
        value: float = value_at(t.DOUBLE, x)
        if abs(value) >= limit:
            return limit - 1 if value > 0 else -limit
        return math.ceil(value) if up else math.floor(value)

    # Java casts NaN to 0.
    pieces = (steps.MonotonePiece(domain.low, NAN), steps.MonotonePiece(NAN, NAN + 1))
    return steps.Monotone(domain, lambda x: 0 if x == NAN else f(x), pieces, near=_of_whole)


def _of_whole(result: int) -> int:
    """The ordinal of the double nearest to an integer."""
    limit = 1 << 64
    found: int = ordinal_of(t.DOUBLE, float(max(-limit, min(limit, result))))
    return found


def half_rounded(call: Call, compute: Callable[..., Any], time_zone: str) -> steps.Inverted:
    """Return the preimage of `round` and `bround`.

    Spark rounds the string of a double. Java 17 does not always write the shortest string, but a number between the
    midpoints to the neighboring doubles: the result is between the results of the midpoints.
    """
    match call.args:
        case (operand, Literal(int() as places)):
            type_, result = type_of(operand), call.type
        case _:
            return None
    domain = domain_of(type_)
    if type_ is None or result is None or domain is None:
        return None

    def f(x: int) -> int:
        try:
            found: int = ordinal_of(result, compute((value_at(type_, x), places), call, None))
        except EvaluationError:
            return _BEYOND if x > 0 else -_BEYOND
        return found

    def of_double(x: int, end: int) -> int:
        ends = rounded_double_range(value_at(t.DOUBLE, x), places, ROUNDINGS[call.name][1])
        found: int = ordinal_of(t.DOUBLE, ends[end])
        return found

    if type_ not in t.FLOATING:
        return operand, (steps.rising(domain, f, near=lambda r: r * _unit(type_) // _unit(result)),)
    if type_ == t.FLOAT or abs(places) > MOST_PLACES:
        return None
    return operand, (
        steps.Monotone(
            domain,
            lambda x: of_double(x, 0),
            (steps.MonotonePiece(domain.low, INFINITY + 1), steps.MonotonePiece(NAN, NAN + 1)),
            most=lambda x: of_double(x, 1),
        ),
    )

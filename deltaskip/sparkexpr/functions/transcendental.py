"""Exponentials, logarithms, powers, roots and trigonometric functions with exactly the results of the JVM.

Most are functions of StrictMath. For sin, cos, tan, tanh and cbrt Spark calls Math, whose results differ between
processors and versions of Java: a result is returned if all of them agree, and otherwise left to Spark.

# Spark 4.1, mathExpressions.scala
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Replaced, by_row, takes
from deltaskip.sparkexpr.kernels.agreed_math import agreed
from deltaskip.sparkexpr.kernels.strict_math import binary, binary_value, unary, unary_value
from deltaskip.sparkexpr.nodes import Call, Literal
from deltaskip.sparkexpr.preimages.monotone import monotone
from deltaskip.sparkexpr.preimages.steps import Inverted, Preimage
from deltaskip.sparkexpr.types.data_types import DOUBLE
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.sparkexpr.values.calendar import Zone

_DEGREES, _RADIANS = 57.29577951308232, 0.017453292519943295
"""Java 17, Math.toDegrees and toRadians."""
_LN2 = unary_value("log", 2.0)
# More than twice the error of these functions, as a number of adjacent doubles.
_SLACK = 8
# From the square root of the greatest double on, older versions of Spark return infinity.
_SQUARE_IS_INFINITE = 1.3407807929942596e154


def double(
    compute: Callable[[float], float], by_column: Callable[[Any], Any], preimage: Preimage | None = None
) -> Function:
    """A function of a double whose result is defined to the last bit."""
    return Function(
        takes(DOUBLE, DOUBLE),
        by_row(compute),
        by_column=lambda args, call, zone: v.made(by_column(v.numbers(v.column(args[0]))), pa.float64(), args[0]),
        preimage=preimage,
    )


def quiet(compute: Callable[..., Any], *values: Any) -> Any:
    """Compute without numpy's warnings of invalid arguments and overflow."""
    with np.errstate(all="ignore"):
        return compute(*values)


def _strict(name: str, preimage: Preimage) -> Function:
    """A function of StrictMath."""
    return Function(
        takes(DOUBLE, DOUBLE),
        by_row(partial(unary_value, name)),
        by_column=lambda args, call, zone: unary(name, v.column(args[0])),
        preimage=preimage,
    )


def _of_numpy(name: str, values: Any) -> Any:
    return unary(name, arrow_array(np.ascontiguousarray(values))).to_numpy()


def _pair(name: str, moved: float = -0.0, aliases: tuple[str, ...] = (), preimage: Preimage | None = None) -> Function:
    """A function of StrictMath of two doubles. Spark first adds the zero `moved` to both."""

    def by_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
        left, right = (v.made(v.numbers(each) + moved, pa.float64()) for each in v.expanded(args))
        found = binary(name, left, right)
        return v.made(found.to_numpy(), pa.float64(), *args)

    return Function(
        takes(DOUBLE, DOUBLE, DOUBLE),
        by_row(lambda left, right: binary_value(name, left + moved, right + moved)),
        by_column=by_column,
        aliases=aliases,
        preimage=preimage,
    )


def _logarithm(name: str, least: float = 0.0, divisor: float = 1.0) -> Function:
    """A logarithm, which is NULL for arguments up to `least`."""

    def by_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
        values = v.column(args[0])
        found = unary(name, values).to_numpy(zero_copy_only=False)
        return _known(found if divisor == 1.0 else found / divisor, ~(v.numbers(values) <= least), values)

    return Function(
        takes(DOUBLE, DOUBLE),
        by_row(lambda number: None if number <= least else unary_value(name, number) / divisor),
        by_column=by_column,
        preimage=monotone(1, 1, cuts=(math.nextafter(least, 1),), slack=_SLACK),
    )


def _known(found: Any, known: Any, *given: v.Values) -> pa.Array:
    """An array of doubles, null where the value is not known."""
    array = v.made(found, pa.float64(), *given)
    return array if known.all() else pc.if_else(arrow_array(known), array, v.none_of(pa.float64()))


def _log(*numbers: float) -> float | None:
    """`log(number)`, or `log(base, number)`; NULL for numbers up to zero."""
    if any(each <= 0 for each in numbers):
        return None
    found = unary_value("log", numbers[-1])
    return found if len(numbers) == 1 else _quotient(found, unary_value("log", numbers[0]))


def _log_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    given = [np.asarray(v.numbers(each)) for each in v.expanded(args)]
    found = _of_numpy("log", given[-1])
    if len(given) > 1:
        found = quiet(np.divide, found, _of_numpy("log", given[0]))
    known = np.ones(len(found), np.bool_)
    for each in given:
        known &= ~(each <= 0)
    return _known(found, known, *args)


def _quotient(dividend: float, divisor: float) -> float:
    return float(quiet(np.divide, np.float64(dividend), np.float64(divisor)))


def _agreed(name: str, inverse: bool = False, preimage: Preimage | None = None) -> Function:
    """A function of Math, or its reciprocal if `inverse`, for arguments on which all versions of the JVM agree."""

    def compute(number: float) -> object:
        found, doubtful = agreed(name, arrow_array([number], pa.float64()))
        if doubtful[0].as_py():
            raise Undecided(f"The last bit of {name}({number!r}) depends on the processor and the Java version.")
        value = found[0].as_py()
        return _quotient(1.0, value) if inverse else value

    def by_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
        found, doubtful = agreed(name, v.column(args[0]))
        if inverse:
            found = v.made(quiet(np.divide, 1.0, v.numbers(found)), pa.float64(), args[0])
        return v.partly(found, numpy_values(doubtful).astype(np.bool_))

    return Function(takes(DOUBLE, DOUBLE), by_row(compute), by_column=by_column, preimage=preimage)


def _area(inner: Callable[[Any], Any], least: float, preimage: Preimage) -> Function:
    """`acosh` or `asinh`, computed as the logarithm of a sum."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        value = args[0]
        if value < least:
            return math.nan
        if _SQUARE_IS_INFINITE <= abs(value) < math.inf:
            raise Undecided(f"{call.name}({value!r}) depends on the version of Spark.")
        return value if math.isinf(value) else unary_value("log", float(quiet(inner, np.float64(value))))

    def by_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
        values = v.numbers(v.column(args[0]))
        found = _of_numpy("log", quiet(inner, values))
        found = np.where(np.isinf(values), values, found)
        found = v.made(np.where(values < least, np.nan, found), pa.float64(), args[0])
        return v.partly(found, (np.abs(values) >= _SQUARE_IS_INFINITE) & ~np.isinf(values))

    return Function(takes(DOUBLE, DOUBLE), compute, by_column=by_column, preimage=preimage)


def _log_preimage(call: Call, compute: Callable[..., object], time_zone: str) -> Inverted:
    """The preimage of a logarithm of a positive number, which rises, or falls for a base below 1."""
    positive = (math.nextafter(0, 1),)
    match call.args:
        case (Literal(float() as base), _) if base > 0 and base != 1:
            rises = 1 if base > 1 else -1
            return monotone(1, rises, at=1, cuts=positive, slack=_SLACK)(call, compute, time_zone)
        case (_,):
            return monotone(1, 1, cuts=positive, slack=_SLACK)(call, compute, time_zone)
    return None


def _power_preimage(call: Call, compute: Callable[..., object], time_zone: str) -> Inverted:
    """The preimage of a power. It is monotone for a constant base, and below 0 and above 0 for a positive exponent."""
    match call.args:
        case (Literal(float() as base), _) if base > 0 and base != 1 and math.isfinite(base):
            return monotone(1 if base > 1 else -1, at=1, slack=_SLACK)(call, compute, time_zone)
        case (_, Literal(float() as exponent)) if exponent > 0 and math.isfinite(exponent):
            below = 0 if exponent % 1 else 1 if exponent % 2 else -1
            return monotone(below, 1, cuts=(0.0,), slack=_SLACK)(call, compute, time_zone)
    return None


def _atanh(value: float) -> float:
    return 0.5 * (unary_value("log1p", value) - unary_value("log1p", -value))


def _atanh_column(values: Any) -> Any:
    return quiet(lambda: 0.5 * (_of_numpy("log1p", values) - _of_numpy("log1p", -values)))


def _root(value: float) -> float:
    return math.sqrt(value) if value >= 0 or value != value else math.nan


def _whole_double(value: float) -> float:
    return math.copysign(float(round(value)), value) if math.isfinite(value) else value


_ONES = (-1.0, math.nextafter(1, 2))

TRANSCENDENTAL: Mapping[str, FunctionRow] = {
    "e": Replaced(lambda: Literal(math.e, DOUBLE), 0),
    "pi": Replaced(lambda: Literal(math.pi, DOUBLE), 0),
    **{name: _strict(name, monotone(slack=_SLACK)) for name in ("atan", "exp", "expm1", "sinh")},
    # The result is NaN beyond 1.
    "acos": _strict("acos", monotone(1, -1, 1, cuts=_ONES, slack=_SLACK)),
    "asin": _strict("asin", monotone(1, 1, 1, cuts=_ONES, slack=_SLACK)),
    "cosh": _strict("cosh", monotone(-1, 1, cuts=(0.0,), slack=_SLACK)),
    "cbrt": _agreed("cbrt", preimage=monotone(slack=_SLACK, f=math.cbrt)),
    "tanh": _agreed("tanh", preimage=monotone(slack=_SLACK, f=math.tanh)),
    **{name: _agreed(name) for name in ("cos", "sin", "tan")},
    "cot": _agreed("tan", inverse=True),
    "csc": _agreed("sin", inverse=True),
    "sec": _agreed("cos", inverse=True),
    "acosh": _area(
        lambda x: x + np.sqrt(x * x - 1.0), 1.0, monotone(1, 1, 0, cuts=(1.0, _SQUARE_IS_INFINITE), slack=_SLACK)
    ),
    # The sum of a negative number and the root loses digits.
    "asinh": _area(
        lambda x: x + np.sqrt(x * x + 1.0), -math.inf, monotone(0, 1, 0, cuts=(0.0, _SQUARE_IS_INFINITE), slack=_SLACK)
    ),
    "atanh": double(_atanh, _atanh_column, monotone(1, 1, 1, cuts=_ONES, slack=_SLACK)),
    "ln": _logarithm("log"),
    "log10": _logarithm("log10"),
    "log1p": _logarithm("log1p", least=-1.0),
    "log2": _logarithm("log", divisor=_LN2),
    "log": Function(
        takes(DOUBLE, DOUBLE, DOUBLE, optional=1), by_row(_log), by_column=_log_column, preimage=_log_preimage
    ),
    "atan2": _pair("atan2", moved=0.0),
    "hypot": _pair("hypot", preimage=monotone(-1, 1, cuts=(0.0,), slack=_SLACK)),
    "power": _pair("pow", aliases=("pow",), preimage=_power_preimage),
    # The result is NaN below 0.
    "sqrt": double(_root, partial(quiet, np.sqrt), monotone(1, 1, cuts=(0.0,))),
    "rint": double(_whole_double, np.rint, monotone()),
    "degrees": double(lambda value: value * _DEGREES, lambda values: quiet(np.multiply, values, _DEGREES), monotone()),
    "radians": double(lambda value: value * _RADIANS, lambda values: quiet(np.multiply, values, _RADIANS), monotone()),
}

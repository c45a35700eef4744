"""Exponentials, logarithms, powers, roots and angles, to the last bit as the JVM computes them.

Most are those of StrictMath. For sin, cos, tan, tanh and cbrt Spark calls Math, which processors and versions of Java
compute differently: they have a value here where all of them give the same one, and are left to Spark elsewhere.

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

from deltaskip.expr.failures import Undecided
from deltaskip.expr.functions.function import Function, Replaced, Row, Typed, takes
from deltaskip.expr.nodes import Call, Literal, Node
from deltaskip.expr.vectors import Partly, Values, column, made, none_of, numbers, repeated
from deltaskip.kernels.agreed_math import agreed
from deltaskip.kernels.strict_math import binary, binary_value, unary, unary_value
from deltaskip.schema.arrow_values import arrow_array, numpy_values
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import DOUBLE

__all__ = ["TRANSCENDENTAL"]

_DEGREES, _RADIANS = 57.29577951308232, 0.017453292519943295
"""Java 17, Math.toDegrees and toRadians."""
_LN2 = unary_value("log", 2.0)
# From the root of the greatest double on, older versions of Spark give infinity.
_SQUARE_IS_INFINITE = 1.3407807929942596e154


def double(compute: Callable[[float], float], by_column: Callable[[Any], Any]) -> Function:
    """A function of a double that is defined to the last bit."""
    return Function(
        takes(DOUBLE, DOUBLE),
        lambda args, call, zone: compute(args[0]),
        by_column=lambda args, call, zone: made(by_column(numbers(column(args[0]))), pa.float64(), args[0]),
    )


def quiet(compute: Callable[..., Any], *values: Any) -> Any:
    """Without numpy's warnings of numbers that have no result, or a result beyond the range."""
    with np.errstate(all="ignore"):
        return compute(*values)


def _strict(name: str) -> Function:
    """A function of StrictMath."""
    return Function(
        takes(DOUBLE, DOUBLE),
        lambda args, call, zone: unary_value(name, args[0]),
        by_column=lambda args, call, zone: unary(name, column(args[0])),
    )


def _of_numpy(name: str, values: Any) -> Any:
    return unary(name, arrow_array(np.ascontiguousarray(values))).to_numpy()


def _pair(name: str, moved: float = -0.0, aliases: tuple[str, ...] = ()) -> Function:
    """A function of StrictMath of two doubles, to which Spark adds a zero first."""

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
        rows = next(len(each) for each in args if isinstance(each, pa.Array))
        left, right = (made(numbers(repeated(each, rows)) + moved, pa.float64()) for each in args)
        found = binary(name, left, right)
        return made(found.to_numpy(), pa.float64(), *args)

    return Function(
        takes(DOUBLE, DOUBLE, DOUBLE),
        lambda args, call, zone: binary_value(name, args[0] + moved, args[1] + moved),
        by_column=by_column,
        aliases=aliases,
    )


def _logarithm(name: str, least: float = 0.0, divisor: float = 1.0) -> Function:
    """A logarithm, which is NULL up to a number."""

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
        values = column(args[0])
        found = unary(name, values).to_numpy(zero_copy_only=False)
        return _known(found if divisor == 1.0 else found / divisor, ~(numbers(values) <= least), values)

    return Function(
        takes(DOUBLE, DOUBLE),
        lambda args, call, zone: None if args[0] <= least else unary_value(name, args[0]) / divisor,
        by_column=by_column,
    )


def _known(found: Any, known: Any, *given: Values) -> pa.Array:
    """An array of doubles, null where the value is not known."""
    array = made(found, pa.float64(), *given)
    return array if known.all() else pc.if_else(arrow_array(known), array, none_of(pa.float64()))


def _log_signature(args: tuple[Node, ...]) -> Typed:
    return takes(DOUBLE, *[DOUBLE] * len(args))(args) if len(args) in (1, 2) else None


def _log(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`log(number)`, or `log(base, number)`; NULL for numbers up to zero."""
    if any(each <= 0 for each in args):
        return None
    found = unary_value("log", args[-1])
    return found if len(args) == 1 else _quotient(found, unary_value("log", args[0]))


def _log_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    rows = next(len(each) for each in args if isinstance(each, pa.Array))
    given = [np.asarray(numbers(repeated(each, rows))) for each in args]
    found = _of_numpy("log", given[-1])
    if len(given) > 1:
        found = quiet(np.divide, found, _of_numpy("log", given[0]))
    known = np.ones(rows, np.bool_)
    for each in given:
        known &= ~(each <= 0)
    return _known(found, known, *args)


def _quotient(dividend: float, divisor: float) -> float:
    return float(quiet(np.divide, np.float64(dividend), np.float64(divisor)))


def _agreed(name: str, inverse: bool = False) -> Function:
    """A function of Math, or 1 through it, where the versions of the JVM agree."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        found, doubtful = agreed(name, arrow_array([args[0]], pa.float64()))
        if doubtful[0].as_py():
            raise Undecided(f"The last bit of {name}({args[0]!r}) depends on the processor and the Java version.")
        value = found[0].as_py()
        return _quotient(1.0, value) if inverse else value

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
        found, doubtful = agreed(name, column(args[0]))
        if inverse:
            found = made(quiet(np.divide, 1.0, numbers(found)), pa.float64(), args[0])
        rest = numpy_values(doubtful).astype(np.bool_)
        return Partly(found, rest) if rest.any() else found

    return Function(takes(DOUBLE, DOUBLE), compute, by_column=by_column)


def _area(inner: Callable[[Any], Any], least: float) -> Function:
    """`acosh` or `asinh`, as the logarithm of a sum."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        value = args[0]
        if value < least:
            return math.nan
        if _SQUARE_IS_INFINITE <= abs(value) < math.inf:
            raise Undecided(f"{call.name}({value!r}) depends on the version of Spark.")
        return value if math.isinf(value) else unary_value("log", float(quiet(inner, np.float64(value))))

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
        values = numbers(column(args[0]))
        found = _of_numpy("log", quiet(inner, values))
        found = np.where(np.isinf(values), values, found)
        found = made(np.where(values < least, np.nan, found), pa.float64(), args[0])
        rest = (np.abs(values) >= _SQUARE_IS_INFINITE) & ~np.isinf(values)
        return Partly(found, rest) if rest.any() else found

    return Function(takes(DOUBLE, DOUBLE), compute, by_column=by_column)


def _atanh(value: float) -> float:
    return 0.5 * (unary_value("log1p", value) - unary_value("log1p", -value))


def _atanh_column(values: Any) -> Any:
    return quiet(lambda: 0.5 * (_of_numpy("log1p", values) - _of_numpy("log1p", -values)))


def _root(value: float) -> float:
    return math.sqrt(value) if value >= 0 or value != value else math.nan


def _whole_double(value: float) -> float:
    return math.copysign(float(round(value)), value) if math.isfinite(value) else value


TRANSCENDENTAL: Mapping[str, Row] = {
    "e": Replaced(lambda: Literal(math.e, DOUBLE), 0),
    "pi": Replaced(lambda: Literal(math.pi, DOUBLE), 0),
    **{name: _strict(name) for name in ("acos", "asin", "atan", "cosh", "exp", "expm1", "sinh")},
    **{name: _agreed(name) for name in ("cbrt", "cos", "sin", "tan", "tanh")},
    "cot": _agreed("tan", inverse=True),
    "csc": _agreed("sin", inverse=True),
    "sec": _agreed("cos", inverse=True),
    "acosh": _area(lambda x: x + np.sqrt(x * x - 1.0), 1.0),
    "asinh": _area(lambda x: x + np.sqrt(x * x + 1.0), -math.inf),
    "atanh": double(_atanh, _atanh_column),
    "ln": _logarithm("log"),
    "log10": _logarithm("log10"),
    "log1p": _logarithm("log1p", least=-1.0),
    "log2": _logarithm("log", divisor=_LN2),
    "log": Function(_log_signature, _log, by_column=_log_column),
    "atan2": _pair("atan2", moved=0.0),
    "hypot": _pair("hypot"),
    "power": _pair("pow", aliases=("pow",)),
    "sqrt": double(_root, partial(quiet, np.sqrt)),
    "rint": double(_whole_double, np.rint),
    "degrees": double(lambda value: value * _DEGREES, lambda values: quiet(np.multiply, values, _DEGREES)),
    "radians": double(lambda value: value * _RADIANS, lambda values: quiet(np.multiply, values, _RADIANS)),
}

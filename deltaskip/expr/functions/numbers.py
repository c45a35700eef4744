"""Arithmetic and functions of numbers by column, with ANSI overflow errors.

# Spark 4.1, arithmetic.scala, Decimal.scala, mathExpressions.scala
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.coerce import INTEGRAL_BITS, type_of
from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.nodes import Call
from deltaskip.expr.type_names import sql_name
from deltaskip.expr.vectors import (
    NotByColumn,
    Partly,
    Values,
    any_of,
    constant,
    decimals,
    is_constant,
    made,
    numbers,
    repeated,
    rescaled,
)
from deltaskip.kernels.decimals import compute
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import FALSE, numpy_values
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import DATE, DOUBLE, FLOAT, LONG, DecimalType

__all__ = [
    "absolute_column",
    "arithmetic_column",
    "ceil_column",
    "floor_column",
    "is_nan_column",
    "negative_column",
    "pmod_column",
    "round_column",
    "same_column",
    "sign_column",
]

_FLOATING = (FLOAT, DOUBLE)
_CHECKED: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "div": pc.divide_checked,
}
_FLOATS: Mapping[str, Callable[[Any, Any], Any]] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}
# Spark rounds a decimal to 34 digits where it changes its sign.
_SIGN_DIGITS = 34
# The state of a kernel's row.
_BY_ZERO = 2


def arithmetic_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """`left op right` for `+ - * / % div`."""
    left, right = args
    types = [type_of(arg) for arg in call.args]
    if call.type == DATE:
        return _moved_dates(call.name, left, right, types[0] == DATE)
    if isinstance(types[0], DecimalType) and isinstance(types[1], DecimalType):
        return _decimals(call, left, right, types[0], types[1])
    if call.name in ("/", "%", "div"):
        _check_divisor(left, right)
    if call.type in _FLOATING:
        return _FLOATS[call.name](left, right) if call.name != "%" else _remainder(left, right, call)
    if call.type not in INTEGRAL_BITS or call.type is None:
        raise NotByColumn
    if call.name == "%":
        return _remainder(left, right, call)
    try:
        return _CHECKED[call.name](left, right)
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"A number is out of the range of {sql_name(call.type)}.") from error


def negative_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`-number`."""
    return _signed(pc.negate_checked, args[0], call)


def absolute_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`abs(number)`."""
    return _signed(pc.abs_checked, args[0], call)


def same_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`positive(number)`."""
    return args[0]


def is_nan_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`isnan(number)`; FALSE for NULL."""
    return pc.fill_null(pc.is_nan(args[0]), FALSE)


def sign_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`sign(number)`; a zero keeps its own."""
    values = numbers(args[0])
    return made(np.where(values == 0, values, np.sign(values)), pa.float64(), args[0])


def floor_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """`floor(number)`."""
    return _whole(np.floor, args[0], call)


def ceil_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """`ceil(number)`."""
    return _whole(np.ceil, args[0], call)


def round_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
    """`round(number, scale)`, half up."""
    scale = constant(args[1])
    if call.type in INTEGRAL_BITS and scale >= 0:
        return args[0]
    if not isinstance(call.type, DecimalType):
        raise NotByColumn
    if scale < 0:
        raise NotByColumn
    return rescaled(_array(args[0]), call.type.precision, call.type.scale)


def pmod_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`pmod(number, divisor)` of integers. Java adds bytes and shorts as ints; ints and longs wrap around."""
    left, right = args
    _check_divisor(left, right)
    if call.type is None or call.type not in INTEGRAL_BITS:
        raise NotByColumn
    width = np.int64 if call.type == LONG else np.int32
    dividend, divisor = np.asarray(numbers(left), width), _no_trap(np.asarray(numbers(right), width))
    rest = np.fmod(dividend, divisor)
    with np.errstate(over="ignore"):
        moved = np.fmod(rest + divisor, divisor)
    return made(np.where(rest < 0, moved, rest), arrow_type(call.type), left, right)


def _array(values: Values) -> Any:
    if is_constant(values):
        raise NotByColumn
    return values


def _moved_dates(op: str, left: Values, right: Values, date_first: bool) -> Values:
    """Java adds days in 32 bits, without an error."""
    days, count = (left, right) if date_first else (right, left)
    with np.errstate(over="ignore"):
        first, second = np.asarray(numbers(days), np.int32), np.asarray(numbers(count), np.int32)
        return made(first + second if op == "+" else first - second, pa.date32(), left, right)


def _check_divisor(left: Values, right: Values) -> None:
    """Raise for a number over zero."""
    if is_constant(right):
        if constant(right) == 0 and (is_constant(left) or left.null_count < len(left)):
            raise EvaluationError("Division by zero.")
    elif any_of(np.asarray(numbers(right) == 0), left, right):
        raise EvaluationError("Division by zero.")


def _no_trap(divisor: np.ndarray) -> np.ndarray:
    """The divisors with 1 for 0 (where there is no value) and for -1 (whose remainder is 0, too)."""
    return np.where((divisor == 0) | (divisor == -1), divisor.dtype.type(1), divisor)


def _remainder(left: Values, right: Values, call: Call) -> Values:
    dividend, divisor = np.asarray(numbers(left)), np.asarray(numbers(right))
    if call.type in _FLOATING:
        with np.errstate(invalid="ignore"):
            found = np.fmod(dividend, divisor)
        return made(found, arrow_type(call.type or DOUBLE), left, right)
    return made(np.fmod(dividend, _no_trap(divisor)), arrow_type(call.type or LONG), left, right)


def _signed(change: Callable[[Any], Any], values: Values, call: Call) -> Values:
    if isinstance(call.type, DecimalType) and call.type.precision > _SIGN_DIGITS:
        raise NotByColumn
    try:
        return change(values)
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"A number is out of the range of {sql_name(call.type)}.") from error


def _whole(change: Callable[[Any], Any], values: Values, call: Call) -> Values | Partly:
    own = type_of(call.args[0])
    if own == LONG:
        return values
    if isinstance(own, DecimalType) and isinstance(call.type, DecimalType):
        rounding = "floor" if change is np.floor else "ceiling"
        return rescaled(_array(values), call.type.precision, call.type.scale, rounding)
    if own != DOUBLE:
        raise NotByColumn
    whole = change(numbers(_array(values)))
    # A double saturates at the limits of bigint, as Java casts do.
    inside = (whole >= -(2.0**63)) & (whole < 2.0**63)
    found = np.where(inside, whole, 0).astype(np.int64)
    found[whole >= 2.0**63] = 2**63 - 1
    found[whole < -(2.0**63)] = -(2**63)
    return made(found, pa.int64(), values)


def _decimals(call: Call, left: Values, right: Values, one: DecimalType, other: DecimalType) -> Values | Partly:
    rows = len(left) if isinstance(left, pa.Array) else len(right)
    precision, scale = (call.type.precision, call.type.scale) if isinstance(call.type, DecimalType) else (38, 0)
    operands = repeated(left, rows), repeated(right, rows)
    found, states = compute(*operands, one.scale, other.scale, call.name, precision, scale)
    if (numpy_values(states) == _BY_ZERO).any():
        raise EvaluationError("Division by zero.")
    values = decimals(found, states, precision)
    if call.type != LONG:
        return values
    whole = values.values if isinstance(values, Partly) else values
    try:
        longs = pc.cast(whole, pa.int64())
    except pa.ArrowInvalid as error:
        raise EvaluationError("A number is out of the range of BIGINT.") from error
    return Partly(longs, values.rest) if isinstance(values, Partly) else longs

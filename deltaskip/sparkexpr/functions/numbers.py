"""Functions of numbers: arithmetic with ANSI overflow errors, and rounding.

# Spark 4.1, arithmetic.scala, Decimal.scala, mathExpressions.scala
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.recursion import deep
from deltaskip.sparkexpr import coerce
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import adjusted_decimal, cast_to, decimal_type_of, implicit_cast, type_of
from deltaskip.sparkexpr.failures import EvaluationError, value_or_null
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.function import Function, Typed
from deltaskip.sparkexpr.functions.time_sums import interval_sum, interval_sum_column
from deltaskip.sparkexpr.kernels.decimals import compute
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages import number_steps as preimages
from deltaskip.sparkexpr.preimages.number_steps import arithmetic_with, half_rounded, of_one, rounded_to_whole
from deltaskip.sparkexpr.preimages.time_steps import days_added
from deltaskip.sparkexpr.text.type_names import sql_name
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import dates
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arithmetic import (
    BY_ZERO,
    FEW_DIGITS,
    ROUNDINGS,
    absolute,
    arithmetic,
    arithmetic_type,
    negated,
    rounded,
    whole,
)
from deltaskip.sparkexpr.values.arrow_values import is_true, numpy_values
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.floats import EXACT_POWER, units_of
from deltaskip.sparkexpr.values.intervals import sum_with_interval

_CHECKED: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "div": pc.divide_checked,
}
_FLOATS: Mapping[str, Callable[[Any, Any], Any]] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}
# Spark rounds a decimal to 34 digits when it changes the sign.
_SIGN_DIGITS = 34
# The kernel's state of a row with a division by zero.
_BY_ZERO = 2


def _arithmetic_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values | v.Partly:
    """`left op right` for `+ - * / % div`."""
    left, right = args
    types = [coerce.type_of(arg) for arg in call.args]
    if call.type == t.DATE:
        return _moved_dates(call.name, left, right, types[0] == t.DATE)
    if isinstance(types[0], t.DecimalType) and isinstance(types[1], t.DecimalType):
        return _decimals(call, left, right, types[0], types[1])
    if call.name in ("/", "%", "div"):
        _check_divisor(left, right)
    if call.type in t.FLOATING:
        return _FLOATS[call.name](left, right) if call.name != "%" else _remainder(left, right, call)
    if call.type not in t.INTEGRAL_BITS or call.type is None:
        raise v.NotByColumn
    if call.name == "%":
        return _remainder(left, right, call)
    try:
        return _CHECKED[call.name](left, right)
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"A number is out of the range of {sql_name(call.type)}.") from error


def _sign_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`sign(number)`; a zero keeps its sign."""
    values = v.numbers(args[0])
    return v.made(np.where(values == 0, values, np.sign(values)), pa.float64(), args[0])


def _pmod_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`pmod(number, divisor)` for integers. Java adds bytes and shorts as ints; ints and longs wrap around."""
    left, right = args
    _check_divisor(left, right)
    if call.type is None or call.type not in t.INTEGRAL_BITS:
        raise v.NotByColumn
    width = np.int64 if call.type == t.LONG else np.int32
    dividend, divisor = np.asarray(v.numbers(left), width), _no_trap(np.asarray(v.numbers(right), width))
    rest = np.fmod(dividend, divisor)
    with np.errstate(over="ignore"):
        moved = np.fmod(rest + divisor, divisor)
    return v.made(np.where(rest < 0, moved, rest), arrow_type(call.type), left, right)


def _moved_dates(op: str, left: v.Values, right: v.Values, date_first: bool) -> v.Values:
    """A date plus or minus days. Java adds in 32 bits, without an error."""
    days, count = (left, right) if date_first else (right, left)
    with np.errstate(over="ignore"):
        first, second = np.asarray(v.numbers(days), np.int32), np.asarray(v.numbers(count), np.int32)
        return v.made(first + second if op == "+" else first - second, pa.date32(), left, right)


def _check_divisor(left: v.Values, right: v.Values) -> None:
    """Raise EvaluationError for a division by zero."""
    if v.is_constant(right):
        if v.constant(right) == 0 and (v.is_constant(left) or left.null_count < len(left)):
            raise EvaluationError(BY_ZERO)
    elif v.any_set(np.asarray(v.numbers(right) == 0), left, right):
        raise EvaluationError(BY_ZERO)


def _no_trap(divisor: np.ndarray) -> np.ndarray:
    """The divisors, with 1 in place of 0, which has no result, and in place of -1, whose remainder is also 0."""
    return np.where((divisor == 0) | (divisor == -1), divisor.dtype.type(1), divisor)


def _remainder(left: v.Values, right: v.Values, call: n.Call) -> v.Values:
    dividend, divisor = np.asarray(v.numbers(left)), np.asarray(v.numbers(right))
    if call.type in t.FLOATING:
        with np.errstate(invalid="ignore"):
            found = np.fmod(dividend, divisor)
        return v.made(found, arrow_type(call.type or t.DOUBLE), left, right)
    return v.made(np.fmod(dividend, _no_trap(divisor)), arrow_type(call.type or t.LONG), left, right)


def _signed(change: Callable[[Any], Any], args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    if isinstance(call.type, t.DecimalType) and call.type.precision > _SIGN_DIGITS:
        raise v.NotByColumn
    try:
        return change(args[0])
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"A number is out of the range of {sql_name(call.type)}.") from error


def _decimals(
    call: n.Call, left: v.Values, right: v.Values, one: t.DecimalType, other: t.DecimalType
) -> v.Values | v.Partly:
    precision, scale = (call.type.precision, call.type.scale) if isinstance(call.type, t.DecimalType) else (38, 0)
    operands = v.as_array(left, 1), v.as_array(right, 1)
    found, states = compute(*operands, one.scale, other.scale, call.name, precision, scale)
    if (numpy_values(states) == _BY_ZERO).any():
        raise EvaluationError(BY_ZERO)
    values = v.decimals(found, states, precision)
    if call.type != t.LONG:
        return values
    whole = values.values if isinstance(values, v.Partly) else values
    # If a quotient has more than 64 bits, pyarrow raises, and all rows are computed one by one.
    longs = pc.cast(whole, pa.int64())
    return v.Partly(longs, values.rest) if isinstance(values, v.Partly) else longs


def _arithmetic_signature(op: str) -> function.Signature:
    def signature(args: tuple[n.Node, ...]) -> function.Typed:
        if len(args) != 2:
            return None
        coerced = _arithmetic_operands(op, *args)
        if coerced is None:
            return None
        left, right = (coerce.type_of(operand) for operand in coerced)
        result = None if left is None or right is None else arithmetic_type(op, left, right)
        return None if result is None else (coerced, result)

    return signature


def _arithmetic_operands(op: str, left: n.Node, right: n.Node) -> tuple[n.Node, n.Node] | None:
    types = (coerce.type_of(left), coerce.type_of(right))
    if types[0] is None or types[1] is None or types == (t.STRING, t.STRING) or types == (t.VOID, t.VOID):
        return None
    if t.STRING in types:
        met = coerce.wider_type(types[0], types[1])
    elif op == "/" and types[0] == t.VOID:
        # Spark 4.1, Divide: NULL becomes a double before the types of decimals are adjusted.
        met = t.DOUBLE
    elif isinstance(types[0], t.DecimalType) or isinstance(types[1], t.DecimalType):
        return _decimal_operands(left, right)
    else:
        met = coerce.wider_type(types[0], types[1])
    if met is None or not coerce.is_numeric(met):
        return None
    if op == "/" and not isinstance(met, t.DecimalType):
        met = t.DOUBLE
    if op == "div" and met in t.INTEGRAL_BITS:
        met = t.LONG
    if t.STRING in types:
        # Spark reads a string beside an integer as a bigint, also in a division.
        read = coerce.wider_type(types[0], types[1]) or met
        left, right = coerce.cast_to(left, read), coerce.cast_to(right, read)
    return coerce.cast_to(left, met), coerce.cast_to(right, met)


def _decimal_operands(left: n.Node, right: n.Node) -> tuple[n.Node, n.Node] | None:
    """The operands if one is a decimal: each keeps its precision, or both become double. None if Spark refuses them."""
    types = (coerce.type_of(left), coerce.type_of(right))
    if t.FLOAT in types or t.DOUBLE in types:
        return coerce.cast_to(left, t.DOUBLE), coerce.cast_to(right, t.DOUBLE)
    operands = []
    for operand, type_, other in ((left, types[0], types[1]), (right, types[1], types[0])):
        if isinstance(operand, n.Literal) and isinstance(operand.value, int) and type_ in t.INTEGRAL_BITS:
            target: t.DataType | None = coerce.literal_decimal(operand.value, type_)
        else:
            target = other if type_ == t.VOID else None if type_ is None else coerce.decimal_type_of(type_)
        if target is None:
            return None
        operands.append(coerce.cast_to(operand, target))
    return operands[0], operands[1]


def _additive_signature(op: str) -> function.Signature:
    """Accept two numbers, or a date and days, for `+` or `-`."""
    plain = _arithmetic_signature(op)

    def signature(args: tuple[n.Node, ...]) -> function.Typed:
        types = [coerce.type_of(arg) for arg in args]
        small = (t.BYTE, t.SHORT, t.INTEGER)
        if types[0] == t.DATE and types[1] in small:
            return (args[0], coerce.cast_to(args[1], t.INTEGER)), t.DATE
        if op == "+" and types[1] == t.DATE and types[0] in small:
            return (coerce.cast_to(args[0], t.INTEGER), args[1]), t.DATE
        return plain(args)

    return signature


def _compute_arithmetic(op: str, args: tuple[Any, ...], call: n.Call, zone: Zone) -> object:
    if call.type == t.DATE:
        days, count = args if coerce.type_of(call.args[0]) == t.DATE else reversed(args)
        return dates.add_days(days, count if op == "+" else -count)
    return arithmetic(op, args[0], args[1], call.type)


def _same_number(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept one number; the result has the same type. A string becomes a double."""
    if len(args) != 1:
        return None
    type_ = coerce.type_of(args[0])
    if type_ in (t.STRING, t.VOID):
        return (coerce.cast_to(args[0], t.DOUBLE),), t.DOUBLE
    return (args, type_) if type_ is not None and coerce.is_numeric(type_) else None


def _pmod_signature(args: tuple[n.Node, ...]) -> function.Typed:
    found = _arithmetic_signature("%")(args)
    return found if found is not None and found[1] in t.INTEGRAL_BITS else None


def _pmod(args: tuple[Any, ...], call: n.Call, zone: Zone) -> object:
    remainder: Any = arithmetic("%", args[0], args[1], call.type)
    if remainder >= 0:
        return remainder
    # Java adds bytes and shorts as ints; ints and longs wrap around.
    bits = max(32, t.INTEGRAL_BITS[call.type] if call.type is not None else 64)
    moved = (remainder + args[1] + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return arithmetic("%", moved, args[1], call.type)


@deep
def _safe(node: n.Node) -> n.Node:
    """The node with its outer casts replaced by TRY_CAST."""
    return replace(node, child=_safe(node.child), safe=True) if isinstance(node, n.Cast) else node


def _tried(op: str) -> function.Function:
    """`try_add` and similar functions, which return NULL if the operator fails."""
    numbers_only = arithmetic_with(op)

    def compute(args: tuple[Any, ...], call: n.Call, zone: Zone) -> object:
        if len(moved := _moved_by(op, call.args)) == 2:
            return value_or_null(interval_sum, args, n.Call("add_interval", moved, call.type), zone)
        return value_or_null(_compute_arithmetic, op, args, call, zone)

    def by_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values | v.Partly:
        try:
            if len(moved := _moved_by(op, call.args)) == 2:
                return interval_sum_column(args, n.Call("add_interval", moved, call.type), zone)
            return _arithmetic_column(args, n.Call(op, call.args, call.type), zone)
        except EvaluationError as error:
            # Row-by-row evaluation finds the rows that fail.
            raise v.NotByColumn from error

    def signature(args: tuple[n.Node, ...]) -> function.Typed:
        if len(moved := _moved_by(op, args)) == 2:
            time, of = moved[0], coerce.type_of(moved[0])
            return ((_safe(time), args[1]), of) if of is not None and _is_plain_time(time) else None
        found = (_additive_signature if op in "+-" else _arithmetic_signature)(op)(args)
        if found is None or all(coerce.is_numeric(coerce.type_of(arg)) for arg in args):
            return found
        # If operands are not numbers, Spark also catches errors of the operands (TryEval), such as a failing cast.
        if not all(isinstance(arg, n.FieldRef | n.Literal) for arg in args):
            return None
        return tuple(map(_safe, found[0])), found[1]

    return function.Function(
        signature,
        compute,
        widens=True,
        by_column=by_column,
        preimage=lambda call, *others: None if call.type in t.DATETIMES else numbers_only(call, *others),
        zoned=op in "+-",
        order=_order(op),
        zero_decides=op in ("/", "%"),
    )


def _moved_by(op: str, args: tuple[n.Node, ...]) -> tuple[n.Node, ...]:
    """The time and the interval of a sum; () for other operands."""
    found = sum_with_interval(n.Call(op, args)) if op in "+-" and isinstance(args[-1], n.Literal) else None
    return found.args if isinstance(found, n.Call) else ()


def _is_plain_time(node: n.Node) -> bool:
    """Whether a time is a column or a constant, or a cast of either: only the cast can fail."""
    return isinstance(node.child if isinstance(node, n.Cast) else node, n.FieldRef | n.Literal)


def _order(op: str) -> function.EvaluationOrder | None:
    """The order of evaluation. Spark evaluates a divisor first."""
    return function.backwards if op in ("/", "%", "div") else None


_PREIMAGES = {"+": days_added(1, arithmetic_with("+")), "-": days_added(-1, arithmetic_with("-"))}

NUMBERS: Mapping[str, function.Function] = {
    "try_add": _tried("+"),
    "try_subtract": _tried("-"),
    "try_multiply": _tried("*"),
    "try_divide": _tried("/"),
    "try_mod": _tried("%"),
    **{
        op: function.Function(
            (_additive_signature if op in "+-" else _arithmetic_signature)(op),
            partial(_compute_arithmetic, op),
            widens=True,
            by_column=_arithmetic_column,
            aliases=("mod",) if op == "%" else (),
            preimage=_PREIMAGES.get(op) or arithmetic_with(op),
            wraps=True,
            directions={"+": (1, 1), "-": (1, -1)}.get(op, ()),
            order=_order(op),
        )
        for op in n.ARITHMETIC
    },
    "negative": function.Function(
        _same_number,
        lambda args, call, zone: negated(args[0], call.type),
        by_column=partial(_signed, pc.negate_checked),
        preimage=of_one(preimages.negative),
        wraps=True,
        directions=(-1,),
    ),
    "positive": function.Function(
        _same_number,
        function.by_row(lambda number: number),
        by_column=lambda args, call, zone: args[0],
        preimage=of_one(preimages.same),
    ),
    "abs": function.Function(
        _same_number,
        lambda args, call, zone: absolute(args[0], call.type),
        by_column=partial(_signed, pc.abs_checked),
        preimage=of_one(preimages.absolute_step),
        wraps=True,
    ),
    "pmod": function.Function(
        _pmod_signature,
        _pmod,
        widens=True,
        by_column=_pmod_column,
        preimage=arithmetic_with("pmod"),
        order=function.backwards,
    ),
    **{
        name: function.Function(
            function.takes(t.DOUBLE, t.DOUBLE),
            # A zero keeps its sign.
            function.by_row(lambda number: math.copysign(1.0, number) if number and number == number else number),
            by_column=_sign_column,
            preimage=of_one(preimages.sign),
        )
        for name in ("sign", "signum")
    },
    "isnan": function.Function(
        function.takes(t.BOOLEAN, t.DOUBLE),
        function.by_row(lambda number: number is not None and number != number),
        False,
        by_column=lambda args, call, zone: is_true(pc.is_nan(args[0])),
        preimage=preimages.is_nan,
    ),
}


# The decimal types to which floor and ceil with a scale cast other types.
_AS_DECIMAL: Mapping[t.DataType, t.DecimalType] = {
    t.FLOAT: t.DecimalType(14, 7),
    t.DOUBLE: t.DecimalType(30, 15),
    t.STRING: t.DecimalType(38, 18),
    t.VOID: t.DecimalType(38, 18),
}
_MOST_DIGITS = 38
# Integers up to these values are exact as doubles and as floats.
_EXACT_DOUBLE, _EXACT_FLOAT = 2.0**53, 2.0**24
# The greatest power of ten that a float represents exactly.
_EXACT_FLOAT_POWER = 10


def _whole_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    """`floor` and `ceil`, with or without a scale."""
    own = type_of(call.args[0])
    if own == t.LONG:
        return args[0]
    rounding = "floor" if call.name == "floor" else "ceiling"
    if isinstance(own, t.DecimalType) and isinstance(call.type, t.DecimalType):
        scale = v.constant(args[1]) if len(args) > 1 else 0
        return _rounded_decimals(v.column(args[0]), own, call.type, scale, rounding)
    if own != t.DOUBLE:
        raise v.NotByColumn
    values = v.numbers(v.column(args[0]))
    found = np.floor(values) if rounding == "floor" else np.ceil(values)
    if len(found) and found.min() >= -(2.0**63) and found.max() < 2.0**63:
        return v.made(found.astype(np.int64), pa.int64(), args[0])
    inside = (found >= -(2.0**63)) & (found < 2.0**63)
    longs = v.made(np.where(inside, found, 0).astype(np.int64), pa.int64(), args[0])
    # NaN becomes 0.
    return v.partly(longs, ~inside & ~np.isnan(found) & numpy_values(v.column(args[0]).is_valid()))


def _round_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    """`round(number, scale)`, half up, and `bround(number, scale)`, half to even."""
    scale = v.constant(args[1])
    values = v.column(args[0])
    rounding = ROUNDINGS[call.name][0]
    if call.type in t.INTEGRAL_BITS and call.type is not None:
        return values if scale >= 0 else _integers(values, call.type, -scale, rounding)
    if isinstance(call.type, t.DecimalType):
        own = type_of(call.args[0])
        assert isinstance(own, t.DecimalType)
        return _rounded_decimals(values, own, call.type, scale, rounding)
    return _floats(values, scale, rounding)


def _rounded_decimals(
    values: pa.Array, own: t.DecimalType, result: t.DecimalType, scale: int, rounding: str
) -> v.Values | v.Partly:
    if scale >= 0:
        return v.rescaled(values, result.precision, result.scale, rounding)
    if own.scale - scale > _MOST_DIGITS:
        raise v.NotByColumn
    return v.rescaled(values, result.precision, 0, rounding, -scale)


def _integers(values: pa.Array, type_: t.DataType, zeros: int, rounding: str) -> v.Values:
    """Integers rounded to a multiple of 10^zeros."""
    # No integer has more than 19 digits, and half of 10^20 is greater than every integer.
    if zeros > 19:
        return v.made(np.zeros(len(values), np.int64), arrow_type(type_), values)
    found = np.asarray(v.numbers(values), np.int64)
    unit = np.uint64(10**zeros)
    # The magnitude of the least bigint needs an unsigned integer.
    size = np.abs(found).view(np.uint64)
    units, rest = size // unit, size % unit
    other = unit - rest
    up = (rest > other) | ((rest == other) & ((units % np.uint64(2) == 1) if rounding == "half even" else True))
    units += up
    if v.any_set(units * unit > np.uint64(2**63 - 1), values):
        raise _out_of_range(type_)
    moved = (units * unit).view(np.int64) * np.where(found < 0, -1, 1)
    limit = 1 << (t.INTEGRAL_BITS[type_] - 1)
    if v.any_set((moved < -limit) | (moved > limit - 1), values):
        raise _out_of_range(type_)
    return v.made(moved, pa.int64(), values).cast(arrow_type(type_), safe=False)


def _out_of_range(type_: t.DataType) -> EvaluationError:
    return EvaluationError(f"A number is out of the range of {sql_name(type_)}.")


def _floats(values: pa.Array, scale: int, rounding: str) -> v.Values | v.Partly:
    """Doubles or floats, rounded as the decimals that Java writes for them as doubles."""
    single = values.type == pa.float32()
    given = v.numbers(values)
    if scale == 0:
        return _whole_floats(values, given, rounding)
    size = np.abs(given.astype(np.float64))
    if abs(scale) >= (_EXACT_FLOAT_POWER if single else EXACT_POWER):
        raise v.NotByColumn
    unit = 10.0 ** abs(scale)
    units, known = units_of(size, scale, rounding == "half even")
    with np.errstate(all="ignore"):
        operand = units if scale >= 0 else units * unit
        if single:
            known &= operand < _EXACT_FLOAT
        # Infinities, NaN and whole numbers below _EXACT_DOUBLE stay unchanged.
        kept = ~np.isfinite(size) | ((scale >= 0) & (np.floor(size) == size) & (size < _EXACT_DOUBLE))
        found = operand.astype(given.dtype)
        if scale >= 0:
            found = found / given.dtype.type(unit)
        found = np.where(kept, np.abs(given), found)
        # A zero of Java's BigDecimal has no sign.
        found = np.where((given < 0) & (found != 0), -found, found)
    array = v.made(np.where(np.isnan(given), given, found), values.type, values)
    return v.partly(array, ~(known | kept), values)


def _whole_floats(values: pa.Array, given: np.ndarray, rounding: str) -> v.Values | v.Partly:
    """Doubles or floats rounded to whole numbers: a number and its string are on the same side of a half.

    Halves with so many digits that some versions of Java write a different number are left over.
    """
    large = len(given) > 0 and not (np.fmin.reduce(given) > -FEW_DIGITS and np.fmax.reduce(given) < FEW_DIGITS)
    halves = None
    if large:
        with np.errstate(invalid="ignore"):
            halves = (np.abs(given) >= FEW_DIGITS) & (np.abs(given - np.trunc(given)) == 0.5)
    if rounding == "half even":
        found = np.rint(given)
    else:
        # Add the greatest number below a half: adding a half would round up the number just below it.
        found = np.trunc(given + np.copysign(np.nextafter(given.dtype.type(0.5), given.dtype.type(0)), given))
    # A zero of Java's BigDecimal has no sign.
    found += 0
    array = v.made(found, values.type, values)
    return array if halves is None or not v.any_set(halves, values) else v.Partly(array, halves)


def _whole_signature(args: tuple[Node, ...]) -> Typed:
    """Accept a number and an optional constant scale. The result is a bigint, or a decimal of the scale."""
    if len(args) == 2:
        return _scaled_signature(args)
    type_ = type_of(args[0]) if len(args) == 1 else None
    if type_ == t.LONG:
        return args, t.LONG
    if isinstance(type_, t.DecimalType):
        return args, adjusted_decimal(type_.precision - type_.scale + 1, 0) if type_.scale else type_
    cast = None if type_ is None else implicit_cast(args[0], t.DOUBLE)
    return None if cast is None else ((cast,), t.LONG)


def _scaled_signature(args: tuple[Node, ...]) -> Typed:
    scale, type_ = args[1], type_of(args[0])
    if not isinstance(scale, Literal) or scale.type != t.INTEGER or not isinstance(scale.value, int) or type_ is None:
        return None
    read = _AS_DECIMAL.get(type_) or decimal_type_of(type_)
    return None if read is None else ((cast_to(args[0], read), scale), _rounded_decimal(read, scale.value))


def _rounded_decimal(own: t.DecimalType, scale: int) -> t.DecimalType:
    """The type of a rounded decimal."""
    digits = own.precision - own.scale + 1
    if scale < 0:
        return t.DecimalType(min(max(digits, -scale + 1), _MOST_DIGITS), 0)
    return t.DecimalType(min(digits + min(own.scale, scale), _MOST_DIGITS), min(own.scale, scale))


def _round_signature(args: tuple[Node, ...]) -> Typed:
    if len(args) not in (1, 2) or (len(args) == 2 and type_of(args[1]) not in t.INTEGRAL_BITS):
        return None
    scale = args[1].value if len(args) == 2 and isinstance(args[1], Literal) else 0 if len(args) == 1 else None
    if not isinstance(scale, int):
        return None
    places = Literal(scale, t.INTEGER)
    match type_of(args[0]):
        case t.DecimalType() as own:
            return (args[0], places), _rounded_decimal(own, scale)
        case type_ if type_ is not None and (type_ in t.INTEGRAL_BITS or type_ in t.FLOATING):
            return (args[0], places), type_
        case type_ if type_ in (t.STRING, t.VOID):
            return (cast_to(args[0], t.DOUBLE), places), t.DOUBLE
    return None


def _round(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return rounded(args[0], args[1], call.type, ROUNDINGS[call.name][1])


def _whole(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return whole(args[0], call.name == "ceil", call.type, args[1] if len(args) > 1 else 0)


ROUNDING: Mapping[str, Function] = {
    "floor": Function(
        _whole_signature, _whole, by_column=_whole_column, preimage=rounded_to_whole(up=False), directions=(1,)
    ),
    "ceil": Function(
        _whole_signature,
        _whole,
        by_column=_whole_column,
        aliases=("ceiling",),
        preimage=rounded_to_whole(up=True),
        directions=(1,),
    ),
    "round": Function(_round_signature, _round, by_column=_round_column, preimage=half_rounded),
    "bround": Function(_round_signature, _round, by_column=_round_column, preimage=half_rounded),
}

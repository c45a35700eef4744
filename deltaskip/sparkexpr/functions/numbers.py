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
from deltaskip.sparkexpr.failures import EvaluationError, value_or_null
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.time_sums import interval_sum, interval_sum_column
from deltaskip.sparkexpr.kernels.decimals import compute
from deltaskip.sparkexpr.preimages import number_steps as preimages
from deltaskip.sparkexpr.preimages.number_steps import arithmetic_with, of_one
from deltaskip.sparkexpr.preimages.time_steps import days_added
from deltaskip.sparkexpr.text.type_names import sql_name
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import dates
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arithmetic import BY_ZERO, absolute, arithmetic, arithmetic_type, negated
from deltaskip.sparkexpr.values.arrow_values import is_true, numpy_values
from deltaskip.sparkexpr.values.calendar import Zone
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

"""`round`, `bround`, `floor` and `ceil`.

# Spark 4.1, RoundBase, RoundCeil and RoundFloor of mathExpressions.scala
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.sparkexpr.coerce import adjusted_decimal, cast_to, decimal_type_of, implicit_cast, type_of
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.functions.function import Function, Typed
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages.number_steps import half_rounded, rounded_to_whole
from deltaskip.sparkexpr.text.type_names import sql_name
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arithmetic import FEW_DIGITS, ROUNDINGS, rounded, whole
from deltaskip.sparkexpr.values.arrow_values import numpy_values
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.floats import EXACT_POWER, units_of

# The decimal types to which floor and ceil with a scale cast other types.
_AS_DECIMAL: Mapping[t.DataType, t.DecimalType] = {
    t.FLOAT: t.DecimalType(14, 7),
    t.DOUBLE: t.DecimalType(30, 15),
    t.STRING: t.DecimalType(38, 18),
    t.VOID: t.DecimalType(38, 18),
}
_MOST_DIGITS = 38
# Integers up to these values are exact as doubles and as floats.
_EXACT, _EXACT_FLOAT = 2.0**53, 2.0**24
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
        return _decimals(v.column(args[0]), own, call.type, scale, rounding)
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
        return _decimals(values, own, call.type, scale, rounding)
    return _floats(values, scale, rounding)


def _decimals(
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
        # Infinities, NaN and whole numbers below _EXACT stay unchanged.
        kept = ~np.isfinite(size) | ((scale >= 0) & (np.floor(size) == size) & (size < _EXACT))
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

"""Functions of integers: bits, number bases, and positions in histograms and bitmaps.

# Spark 4.1, bitwiseExpressions.scala, bitmapExpressions.scala, mathExpressions.scala, NumberConverter.scala
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.coerce import cast_to, implicit_cast, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.function import Function, Typed, by_row, exactly, takes, value_function
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages.monotone import monotone
from deltaskip.sparkexpr.preimages.number_steps import bits_turned, of_one, shifted_left
from deltaskip.sparkexpr.preimages.steps import Inverted
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.calendar import Zone

_BITMAP = 32_768
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BASES = range(2, 37)
_UNSIGNED = 1 << 64
_FACTORIALS = np.array([math.factorial(n) for n in range(21)], np.int64)


def _bits_signature(args: tuple[Node, ...]) -> Typed:
    type_ = type_of(args[0]) if len(args) == 1 else None
    return (args, t.INTEGER) if type_ in t.INTEGRAL_BITS or type_ == t.BOOLEAN else None


def _bit_count_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    found = np.asarray(v.numbers(v.column(args[0]))).astype(np.int64).view(np.uint64)
    return v.made(np.bitwise_count(found).astype(np.int32), pa.int32(), args[0])


def _bitwise_signature(args: tuple[Node, ...]) -> Typed:
    """Accept integers, cast to the widest of their types."""
    types = [type_of(arg) for arg in args]
    if not all(type_ in t.INTEGRAL_BITS for type_ in types):
        return None
    met = max((type_ for type_ in types if type_ is not None), key=t.INTEGRAL_BITS.__getitem__)
    return tuple(cast_to(arg, met) for arg in args), met


def _bitwise(compute: Callable[[Any, Any], Any], by_column: Callable[[Any, Any], Any]) -> Function:
    return Function(
        lambda args: _bitwise_signature(args) if len(args) == 2 else None,
        by_row(compute),
        by_column=lambda args, call, zone: by_column(*args),
    )


def _shift_signature(args: tuple[Node, ...]) -> Typed:
    """Accept an integer, as int or bigint, and a number of bits."""
    types = [type_of(arg) for arg in args]
    if len(args) != 2 or types[0] not in t.INTEGRAL_BITS or types[1] not in (t.BYTE, t.SHORT, t.INTEGER):
        return None
    shifted = t.LONG if types[0] == t.LONG else t.INTEGER
    return (cast_to(args[0], shifted), cast_to(args[1], t.INTEGER)), shifted


def _shifted(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """Shift as in Java: the count is modulo the width of the type."""
    bits = 64 if call.type == t.LONG else 32
    value, count = args[0], args[1] & (bits - 1)
    if call.name == "shiftleft":
        value = value << count
    else:
        value = (value & ((1 << bits) - 1) if call.name == "shiftrightunsigned" else value) >> count
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def _shifted_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    type_ = arrow_type(call.type or t.LONG)
    signed, unsigned, bits = (np.int64, np.uint64, 64) if call.type == t.LONG else (np.int32, np.uint32, 32)
    values, counts = np.asarray(v.numbers(args[0]), signed), np.asarray(v.numbers(args[1]), np.int32) & (bits - 1)
    if call.name == "shiftright":
        return v.made(np.right_shift(values, counts.astype(signed)), type_, *args)
    shift = np.left_shift if call.name == "shiftleft" else np.right_shift
    return v.made(shift(values.view(unsigned), counts.astype(unsigned)).view(signed), type_, *args)


def _bit_signature(args: tuple[Node, ...]) -> Typed:
    """Accept an integer and the position of a bit."""
    if len(args) != 2 or type_of(args[0]) not in t.INTEGRAL_BITS:
        return None
    place = implicit_cast(args[1], t.INTEGER)
    return None if place is None else ((args[0], place), t.BYTE)


def _bit(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`bit_get(integer, position)`. Position 0 is the lowest bit."""
    if not 0 <= args[1] < _width(call):
        raise EvaluationError(
            f"{call.name} has no bit {args[1]} of an integer of {_width(call)} bits (INVALID_PARAMETER_VALUE)."
        )
    return args[0] >> args[1] & 1


def _width(call: Call) -> int:
    type_ = type_of(call.args[0])
    return 64 if type_ is None else t.INTEGRAL_BITS[type_]


def _converted(text: str, source: int, target: int) -> str | None:
    """`conv(digits, from_base, to_base)`: a 64-bit integer in another base. A negative `to_base` writes a sign."""
    text = text.strip(" ")
    if source not in _BASES or abs(target) not in _BASES or not text:
        return None
    negative = text.startswith("-")
    allowed = _DIGITS[:source]
    value = 0
    for digit in _ascii_start(text[negative:]).upper():
        if digit not in allowed:
            break
        value = value * source + allowed.index(digit)
        if value >= _UNSIGNED:
            raise EvaluationError("A number is beyond 64 bits in conv (ARITHMETIC_OVERFLOW).")
    if negative and target > 0:
        value = _UNSIGNED - 1 if value >= _UNSIGNED // 2 else -value % _UNSIGNED
    if target < 0 and value >= _UNSIGNED // 2:
        value, negative = _UNSIGNED - value, True
    digits = ""
    while value:
        value, rest = divmod(value, abs(target))
        digits = _DIGITS[rest] + digits
    return ("-" if negative and target < 0 else "") + (digits or "0")


def _ascii_start(text: str) -> str:
    """The text before the first character beyond ASCII, which is not a digit."""
    return text[: next(at for at, each in enumerate(text + "\x80") if not each.isascii())]


def _bitmap_place(number: int) -> int:
    """`bitmap_bit_position(number)`. In Java, the negated least bigint is the least bigint."""
    return (number - 1 if number > 0 else -number) % _BITMAP


def _bitmap_bucket(number: int) -> int:
    """`bitmap_bucket_number(number)`."""
    return 1 + (number - 1) // _BITMAP if number > 0 else -(-number // _BITMAP)


def _bucket(value: float, least: float, most: float, buckets: int) -> int | None:
    """`width_bucket(number, least, most, buckets)`."""
    if not 0 < buckets < 2**63 - 1 or math.isnan(value) or least == most:
        return None
    if not (math.isfinite(least) and math.isfinite(most)):
        return None
    down = least > most
    if value > least if down else value < least:
        return 0
    if value <= most if down else value >= most:
        return buckets + 1
    part = float(buckets) * ((least - value) if down else (value - least)) / abs(most - least)
    if not part < 2.0**62:
        raise Undecided(f"The bucket of {value!r} between {least!r} and {most!r} is left to Spark.")
    return int(part) + 1


def _bucket_preimage(call: Call, compute: Callable[..., object], time_zone: str) -> Inverted:
    match call.args[1:]:
        case (Literal(float() as least), Literal(float() as most), Literal(int() as buckets)) if buckets < 2**60:
            return monotone(1 if least < most else -1)(call, compute, time_zone)
    return None


BITS: Mapping[str, Function] = {
    "&": _bitwise(operator.and_, pc.bit_wise_and),
    "|": _bitwise(operator.or_, pc.bit_wise_or),
    "^": _bitwise(operator.xor, pc.bit_wise_xor),
    "~": Function(
        lambda args: _bitwise_signature(args) if len(args) == 1 else None,
        by_row(operator.invert),
        by_column=lambda args, call, zone: pc.bit_wise_not(args[0]),
        preimage=of_one(bits_turned),
    ),
    "shiftleft": Function(_shift_signature, _shifted, by_column=_shifted_column, preimage=shifted_left, wraps=True),
    "shiftright": Function(_shift_signature, _shifted, by_column=_shifted_column, preimage=monotone()),
    "shiftrightunsigned": Function(
        _shift_signature, _shifted, by_column=_shifted_column, preimage=monotone(1, 1, cuts=(0,))
    ),
    "bit_count": Function(
        _bits_signature, by_row(lambda number: (int(number) % _UNSIGNED).bit_count()), by_column=_bit_count_column
    ),
    "bit_get": Function(_bit_signature, _bit, aliases=("getbit",)),
    "conv": value_function(takes(t.STRING, t.STRING, t.INTEGER, t.INTEGER), _converted),
    "factorial": value_function(
        takes(t.LONG, t.INTEGER),
        lambda number: math.factorial(number) if 0 <= number <= 20 else None,
        preimage=monotone(inside=0),
    ),
    "width_bucket": value_function(
        takes(t.LONG, t.DOUBLE, t.DOUBLE, t.DOUBLE, t.LONG), _bucket, preimage=_bucket_preimage
    ),
    "bitmap_bit_position": value_function(takes(t.LONG, t.LONG), _bitmap_place),
    "bitmap_bucket_number": value_function(takes(t.LONG, t.LONG), _bitmap_bucket, preimage=monotone()),
    "bitmap_count": value_function(
        exactly(t.LONG, t.BINARY), lambda bitmap: int.from_bytes(bitmap, "little").bit_count()
    ),
}

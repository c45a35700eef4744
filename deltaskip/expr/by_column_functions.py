"""Casts and functions that Arrow computes as Spark does, on columns in the layout of `expr.by_column`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.coerce import DATETIMES, INTEGRAL_BITS, type_of
from deltaskip.expr.nodes import Call
from deltaskip.schema.arrow_values import arrow_array, arrow_scalar, numpy_values
from deltaskip.schema.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)

__all__ = [
    "FLOATING",
    "UnsupportedByColumn",
    "call",
    "cast",
    "from_layout",
    "in_layout",
    "layout_of",
    "ordered_floats",
    "plain_floats",
]

FLOATING: tuple[DataType, ...] = (FLOAT, DOUBLE)

_PLAIN: dict[DataType, pa.DataType] = {STRING: pa.string(), BINARY: pa.binary(), BOOLEAN: pa.bool_()}
_MAGNITUDE = np.int64((1 << 63) - 1)
_INFINITY = np.float64(np.inf).view(np.int64)
_NAN = 0x7FF0_0000_0000_0001
_DATES_FROM, _DATES_TO = -719_162, 2_932_896
"""The years 1 to 9999, in which Arrow's calendar functions are used."""

_NUMBER_OPS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}
_DATE_FIELDS: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "year": pc.year,
    "month": pc.month,
    "quarter": pc.quarter,
    "dayofmonth": pc.day,
    "dayofyear": pc.day_of_year,
    "weekday": pc.day_of_week,
}
_SECONDS = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}


class UnsupportedByColumn(Exception):
    """The expression must be evaluated row by row."""


def layout_of(type_: DataType) -> pa.DataType:
    """The Arrow type in which the values of a type are compared; floating point numbers are int64."""
    if type_ in INTEGRAL_BITS or type_ in DATETIMES or type_ in FLOATING:
        return pa.int64()
    if isinstance(type_, DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if type_ in _PLAIN:
        return _PLAIN[type_]
    raise UnsupportedByColumn


def ordered_floats(values: pa.Array) -> pa.Array:
    """Doubles as int64 in Spark's order: -0.0 = 0.0, NaN = NaN and above every other number. Nulls stay null."""
    known = pc.fill_null(values, arrow_scalar(0.0, pa.float64())) if values.null_count else values
    bits = numpy_values(known).view(np.int64)
    sign = bits >> 63
    ordered = bits & _MAGNITUDE
    nan = ordered > _INFINITY
    # The magnitude, negated where the sign bit is set.
    ordered ^= sign
    ordered -= sign
    if nan.any():
        ordered[nan] = _NAN
    found = arrow_array(ordered)
    return found if not values.null_count else pc.if_else(values.is_valid(), found, arrow_scalar(None, pa.int64()))


def plain_floats(ordered: np.ndarray) -> np.ndarray:
    """The doubles of `ordered_floats`, with 0.0 for both zeros and one NaN."""
    bits = np.where(ordered < 0, -ordered | np.int64(-(1 << 63)), ordered)
    return np.where(ordered == _NAN, np.nan, bits.view(np.float64))


def in_layout(type_: DataType, stored: pa.Array) -> pa.Array:
    """The values of a column, as files have them, in the layout. Raises UnsupportedByColumn for other types."""
    layout = layout_of(type_)
    if type_ in FLOATING:
        return ordered_floats(stored.cast(pa.float64()))
    if type_ == DATE:
        return stored.view(pa.int32()).cast(pa.int64())
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        return stored.view(pa.int64())
    return stored if stored.type == layout else stored.cast(layout)


def from_layout(type_: DataType, stored: pa.DataType, values: pa.Array) -> pa.Array:
    """The inverse of `in_layout`, except for floating point numbers, for which it raises UnsupportedByColumn."""
    if type_ in FLOATING:
        raise UnsupportedByColumn
    if type_ == DATE:
        return values.cast(pa.int32()).view(stored)
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        return values.view(stored)
    return values if values.type == stored else values.cast(stored)


def cast(values: Any, source: DataType, target: DataType, time_zone: str) -> Any:
    """CAST of values that cannot fail. Raises UnsupportedByColumn for any other."""
    if source == target:
        return values
    local = time_zone == "UTC" or TIMESTAMP not in (source, target)
    if source in INTEGRAL_BITS and INTEGRAL_BITS.get(target, 0) >= INTEGRAL_BITS[source]:
        return values
    if source in INTEGRAL_BITS and target == STRING:
        return pc.cast(values, pa.string())
    if source in INTEGRAL_BITS and target == DOUBLE and not isinstance(values, pa.Scalar):
        return ordered_floats(pc.cast(values, pa.float64(), safe=False))
    if (source, target) == (FLOAT, DOUBLE):
        return values
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        whole = target.precision - target.scale
        if target.scale >= source.scale and whole >= source.precision - source.scale:
            return pc.cast(values, pa.decimal128(target.precision, target.scale))
    if source == DATE and target in (TIMESTAMP, TIMESTAMP_NTZ) and local:
        return pc.multiply_checked(values, arrow_scalar(MICROS_PER_DAY, pa.int64()))
    if source in (TIMESTAMP, TIMESTAMP_NTZ) and target == DATE and local and not isinstance(values, pa.Scalar):
        return _each(lambda micros: micros // MICROS_PER_DAY, values)
    raise UnsupportedByColumn


def call(node: Call, args: list[Any], time_zone: str) -> Any:
    """The values of a typed call. Raises UnsupportedByColumn, or ArrowInvalid for an overflow."""
    types = [type_of(arg) for arg in node.args]
    name, type_ = node.name, node.type
    if all(isinstance(arg, pa.Scalar) for arg in args):
        raise UnsupportedByColumn
    if name in _NUMBER_OPS and type_ in INTEGRAL_BITS and types == [type_, type_]:
        return _in_range(_NUMBER_OPS[name](*args), INTEGRAL_BITS[type_])
    if type_ == DATE and name in ("+", "-", "date_add", "date_sub"):
        op = "+" if name in ("+", "date_add") else "-"
        return _in_range(_NUMBER_OPS[op](*args), 32)
    if name in ("%", "pmod") and type_ in INTEGRAL_BITS and not isinstance(args[0], pa.Scalar):
        return _remainder(name, *args)
    if name in _DATE_FIELDS and types == [DATE]:
        return _date_field(name, args[0])
    if name in _SECONDS and (types == [TIMESTAMP_NTZ] or (types == [TIMESTAMP] and time_zone == "UTC")):
        unit, count = _SECONDS[name]
        return _each(lambda micros: micros // (unit * MICROS_PER_SECOND) % count, args[0])
    if name == "coalesce":
        return pc.coalesce(*args)
    if types[:1] == [STRING] or (name == "concat" and set(types) == {STRING}):
        return _text(name, args)
    raise UnsupportedByColumn


def _text(name: str, args: list[Any]) -> Any:
    text, rest = args[0], args[1:]
    constants = [arg.as_py() for arg in rest if isinstance(arg, pa.Scalar)]
    match name:
        case "length":
            return pc.cast(pc.utf8_length(text), pa.int64())
        case "upper" | "lower" if _is_ascii(text):
            return (pc.ascii_upper if name == "upper" else pc.ascii_lower)(text)
        case "trim" | "btrim":
            return pc.utf8_trim(text, " ")
        case "ltrim":
            return pc.utf8_ltrim(text, " ")
        case "rtrim":
            return pc.utf8_rtrim(text, " ")
        case "concat":
            return pc.binary_join_element_wise(*args, arrow_scalar("", pa.string()))
        case _ if len(constants) < len(rest) or None in constants or isinstance(text, pa.Scalar):
            raise UnsupportedByColumn
        case "contains":
            return pc.match_substring(text, constants[0])
        case "endswith":
            return pc.ends_with(text, constants[0])
        case "substring" if constants[0] >= 0 and (len(constants) == 1 or constants[1] >= 0):
            start = max(constants[0] - 1, 0)
            stop = None if len(constants) == 1 else min(start + constants[1], 2**31 - 1)
            return pc.utf8_slice_codeunits(text, start, stop)
        case "left" if constants[0] >= 0:
            return pc.utf8_slice_codeunits(text, 0, constants[0])
    raise UnsupportedByColumn


def _is_ascii(text: Any) -> bool:
    if isinstance(text, pa.Scalar):
        return False
    return pc.all(pc.string_is_ascii(text)).as_py() is not False


def _in_range(values: Any, bits: int) -> Any:
    """`values`; raises UnsupportedByColumn if one of them does not fit, as Spark raises there or wraps around."""
    if bits < 64:
        extremes = pc.min_max(values)
        low, high = extremes["min"].as_py(), extremes["max"].as_py()
        if low is not None and not -(1 << (bits - 1)) <= low <= high < 1 << (bits - 1):
            raise UnsupportedByColumn
    return values


def _remainder(name: str, values: pa.Array, divisor: Any) -> pa.Array:
    by = divisor.as_py() if isinstance(divisor, pa.Scalar) else None
    if by is None or by in (0, -1) or (name == "pmod" and by < 0):
        raise UnsupportedByColumn

    def compute(numbers: np.ndarray) -> np.ndarray:
        rest: np.ndarray = np.fmod(numbers, by)
        return np.where(rest < 0, rest + by, rest) if name == "pmod" else rest

    return _each(compute, values)


def _date_field(name: str, days: Any) -> pa.Array:
    if isinstance(days, pa.Scalar):
        raise UnsupportedByColumn
    extremes = pc.min_max(days)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    if low is not None and not _DATES_FROM <= low <= high <= _DATES_TO:
        raise UnsupportedByColumn
    return pc.cast(_DATE_FIELDS[name](pc.cast(days, pa.int32()).view(pa.date32())), pa.int64())


def _each(compute: Callable[[np.ndarray], np.ndarray], values: Any) -> pa.Array:
    """An integral function of every value that is not null."""
    if isinstance(values, pa.Scalar):
        raise UnsupportedByColumn
    filled = numpy_values(pc.fill_null(values, arrow_scalar(0, pa.int64())))
    found = arrow_array(compute(filled).astype(np.int64))
    return found if not values.null_count else pc.if_else(values.is_valid(), found, arrow_scalar(None, pa.int64()))

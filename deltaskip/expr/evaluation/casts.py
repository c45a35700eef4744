"""CAST between primitive types by column, under Spark's ANSI rules.

# Spark 4.1, Cast.scala with EvalMode.ANSI
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.coerce import INTEGRAL_BITS
from deltaskip.expr.functions.time_columns import DATES_FROM, DATES_TO, time_texts
from deltaskip.expr.vectors import NotByColumn, Partly, constant_of, filled, made, none_of, numbers, rescaled, valid
from deltaskip.expr.zones import instants, local_times, near_limits
from deltaskip.records import dataclass
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import FALSE, numpy_values
from deltaskip.schema.calendar import INSTANT_MAX, MICROS_PER_DAY, MICROS_PER_SECOND, Zone
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)

__all__ = ["Converted", "cast_column"]

_FLOATING = (FLOAT, DOUBLE)
_TIMES = (TIMESTAMP, TIMESTAMP_NTZ)
_BITS_OF_DOUBLE = 53
# Powers of ten that a double holds exactly.
_EXACT_SCALE = 22
# The greatest power of ten that int64 holds.
_LONG_SCALE = 18
# Smaller decimals may have an exponent in their text.
_PLAIN_SCALE = 6
_MOST_SECONDS = (2**63 - 1) // MICROS_PER_SECOND
_DATE = "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_USUAL = {
    "integer": r"^[+-]?[0-9]{1,18}$",
    "number": r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$",
    "date": f"^{_DATE}$",
    "time": rf"^{_DATE}[ T][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{{1,6}})?$",
}


@dataclass(frozen=True, slots=True)
class Converted:
    """What a cast gives.

    failed: The rows for which the cast fails, if there are any; they need not have a value.
    rest: The rows that must be cast one by one, if there are any.
    """

    values: pa.Array
    failed: np.ndarray | None = None
    rest: np.ndarray | None = None


def cast_column(values: pa.Array, source: DataType, target: DataType, zone: Zone) -> Converted:
    """Return the values cast from one type to another. Raises NotByColumn or pyarrow.ArrowException
    where they must be cast one by one.

    Args:
        values: The values, an array of the source's Arrow type.
        source: Their type.
        target: The type that they get.
        zone: The time zone of local times.
    """
    if source == target:
        return Converted(values)
    if source == STRING:
        return _from_text(values, target, zone)
    if target == STRING:
        return _to_text(values, source, zone)
    if source in INTEGRAL_BITS or source == BOOLEAN:
        return _from_integer(values, source, target)
    if source in _FLOATING:
        return _from_float(values, source, target)
    if isinstance(source, DecimalType):
        return _from_decimal(values, source, target)
    if source == DATE or source in _TIMES:
        return _from_time(values, source, target, zone)
    raise NotByColumn


def _from_integer(values: pa.Array, source: DataType, target: DataType) -> Converted:
    if source == BOOLEAN:
        if target == TIMESTAMP:
            return Converted(values.cast(pa.int64()).view(arrow_type(TIMESTAMP)))
        values = values.cast(pa.int8())
    if target in INTEGRAL_BITS:
        found = numbers(values)
        wanted = arrow_type(target)
        limit = 1 << (INTEGRAL_BITS[target] - 1)
        if INTEGRAL_BITS.get(source, 8) <= INTEGRAL_BITS[target]:
            return Converted(values.cast(wanted))
        failed = (found < -limit) | (found >= limit)
        return Converted(values.cast(wanted, safe=False), failed if failed.any() else None)
    if target in _FLOATING:
        return Converted(values.cast(arrow_type(target), safe=False))
    if isinstance(target, DecimalType):
        return _rescaled(values.cast(pa.decimal128(20, 0)), target)
    if target == BOOLEAN:
        return Converted(pc.not_equal(values, constant_of(0, values.type)))
    if target == TIMESTAMP:
        # TimeUnit.SECONDS.toMicros saturates.
        seconds = numbers(values).astype(np.int64)
        found = np.where(np.abs(seconds) <= _MOST_SECONDS, seconds, 0) * MICROS_PER_SECOND
        found[seconds > _MOST_SECONDS] = 2**63 - 1
        found[seconds < -_MOST_SECONDS] = -(2**63)
        return Converted(made(found, arrow_type(TIMESTAMP), values))
    raise NotByColumn


def _from_float(values: pa.Array, source: DataType, target: DataType) -> Converted:
    if target in _FLOATING:
        return Converted(values.cast(arrow_type(target), safe=False))
    found = numbers(values).astype(np.float64)
    if target == BOOLEAN:
        return Converted(made(found != 0, pa.bool_(), values))
    if target not in INTEGRAL_BITS:
        raise NotByColumn
    with np.errstate(invalid="ignore"):
        if target == LONG:
            # Java compares with 2^63 - 1 as a double, which is 2^63, and saturates.
            inside = (np.ceil(found) >= -(2.0**63)) & (np.floor(found) <= 2.0**63)
            above = inside & (np.floor(found) >= 2.0**63)
            whole = np.where(inside & ~above, found, 0).astype(np.int64)
            whole[above] = 2**63 - 1
        else:
            limit = 1 << (INTEGRAL_BITS[target] - 1)
            inside = (np.ceil(found) >= -limit) & (np.floor(found) <= limit - 1)
            whole = np.where(inside, found, 0).astype(np.int64)
    array = made(whole, pa.int64(), values).cast(arrow_type(target))
    return Converted(array, None if inside.all() else ~inside)


def _from_decimal(values: pa.Array, source: DecimalType, target: DataType) -> Converted:
    if isinstance(target, DecimalType):
        return _rescaled(values, target)
    if target == BOOLEAN:
        return Converted(pc.not_equal(values, constant_of(Decimal(0), values.type)))
    unscaled = _unscaled(values)
    if target in _FLOATING:
        if target == FLOAT or source.scale > _EXACT_SCALE or (np.abs(unscaled) >> _BITS_OF_DOUBLE).any():
            raise NotByColumn
        return Converted(made(unscaled / 10.0**source.scale, pa.float64(), values))
    if target in INTEGRAL_BITS and source.scale <= _LONG_SCALE:
        unit = 10**source.scale
        whole = np.where(unscaled >= 0, unscaled // unit, -(-unscaled // unit))
        limit = 1 << (INTEGRAL_BITS[target] - 1)
        if target != LONG:
            # Spark goes through a double there.
            through = np.trunc(unscaled / 10.0**source.scale)
            if (np.abs(unscaled) >> _BITS_OF_DOUBLE).any() or (through != whole).any():
                raise NotByColumn
        failed = (whole < -limit) | (whole > limit - 1)
        array = made(whole, pa.int64(), values).cast(arrow_type(target), safe=False)
        return Converted(array, failed if failed.any() else None)
    raise NotByColumn


def _from_time(values: pa.Array, source: DataType, target: DataType, zone: Zone) -> Converted:
    given = filled(values)
    if source == DATE:
        if target not in _TIMES:
            raise NotByColumn
        days = given.astype(np.int64)
        # Half of what 64 bits hold, so that a zone's offset fits, too.
        inside = np.abs(days) < INSTANT_MAX // 2 // MICROS_PER_DAY
        local = np.where(inside, days, 0) * MICROS_PER_DAY
        found = instants(local, zone) if target == TIMESTAMP else local
        return Converted(made(found, arrow_type(target), values), rest=None if inside.all() else ~inside)
    if target == DATE:
        local = local_times(given, zone) if source == TIMESTAMP else given
        return Converted(made((local // MICROS_PER_DAY).astype(np.int32), pa.date32(), values), rest=near_limits(given))
    if target in _TIMES:
        found = local_times(given, zone) if source == TIMESTAMP else instants(given, zone)
        return Converted(made(found, arrow_type(target), values), rest=near_limits(given))
    if source == TIMESTAMP and target in INTEGRAL_BITS:
        seconds = given // MICROS_PER_SECOND
        limit = 1 << (INTEGRAL_BITS[target] - 1)
        failed = (seconds < -limit) | (seconds > limit - 1)
        array = made(seconds, pa.int64(), values).cast(arrow_type(target), safe=False)
        return Converted(array, failed if failed.any() else None)
    if source == TIMESTAMP and target == DOUBLE:
        # Two roundings: the long to a double, and the quotient.
        return Converted(made(given.astype(np.float64) / MICROS_PER_SECOND, pa.float64(), values))
    raise NotByColumn


def _to_text(values: pa.Array, source: DataType, zone: Zone) -> Converted:
    if source in INTEGRAL_BITS or source == BOOLEAN:
        return Converted(values.cast(pa.string()))
    if source == DATE:
        days = numbers(values)
        usual = (days >= DATES_FROM) & (days <= DATES_TO)
        shown = made(np.where(usual, days, 0).astype(np.int32), pa.date32(), values)
        return Converted(shown.cast(pa.string()), rest=None if usual.all() else ~usual)
    if source in _TIMES:
        given = filled(values)
        # Years of more than four digits are left over, and so are times near the limits of 64 bits.
        texts = time_texts(local_times(given, zone) if source == TIMESTAMP else given, values)
        return Converted(texts.values, rest=texts.rest) if isinstance(texts, Partly) else Converted(texts)
    if isinstance(source, DecimalType) and source.scale <= _PLAIN_SCALE:
        return Converted(values.cast(pa.string()))
    if source == BINARY:
        return Converted(values.cast(pa.string()))
    raise NotByColumn


def _from_text(texts: pa.Array, target: DataType, zone: Zone) -> Converted:
    if target == BINARY:
        return Converted(texts.cast(pa.binary()))
    if target in INTEGRAL_BITS:
        limit = 1 << (INTEGRAL_BITS[target] - 1)
        read = _usual(texts, "integer", lambda usual: _plain_sign(usual).cast(pa.int64()))
        values = numbers(read.values)
        failed = (values < -limit) | (values > limit - 1)
        rows = valid(read.values)
        failed = failed if rows is None else failed & rows
        if failed.any():
            return Converted(read.values.cast(arrow_type(target), safe=False), failed, read.rest)
        return Converted(read.values.cast(arrow_type(target)), rest=read.rest)
    if target in _FLOATING:
        return _usual(texts, "number", lambda usual: usual.cast(arrow_type(target)))
    if target == DATE:
        return _usual(texts, "date", lambda usual: usual.cast(pa.date32()))
    if target in _TIMES:
        read = _usual(texts, "time", lambda usual: usual.cast(pa.timestamp("us")))
        if target == TIMESTAMP:
            return Converted(
                made(instants(filled(read.values), zone), arrow_type(TIMESTAMP), read.values), rest=read.rest
            )
        return read
    raise NotByColumn


def _usual(texts: pa.Array, kind: str, read: Callable[[pa.Array], pa.Array]) -> Converted:
    """The values of the texts in the usual form; the others are left over."""
    usual = pc.match_substring_regex(texts, _USUAL[kind])
    others = pc.fill_null(pc.invert(usual), FALSE)
    rest = numpy_values(others)
    some = pc.if_else(usual, texts, none_of(pa.string())) if rest.any() else texts
    # Arrow raises for February 30 and its like, and then all are cast one by one.
    return Converted(read(some), rest=rest if rest.any() else None)


def _plain_sign(texts: pa.Array) -> pa.Array:
    """The texts of numbers without a plus."""
    signed = pc.starts_with(texts, "+")
    return pc.utf8_ltrim(texts, "+") if pc.any(signed).as_py() else texts


def _rescaled(values: pa.Array, target: DecimalType) -> Converted:
    """Decimals at the scale of a type, rounded half up."""
    found = rescaled(values, target.precision, target.scale)
    return Converted(found.values, rest=found.rest) if isinstance(found, Partly) else Converted(found)


def _unscaled(values: pa.Array) -> np.ndarray:
    """The unscaled integers of decimals, 0 where they are null. Raises NotByColumn if one has more than 64 bits."""
    data = values.buffers()[1]
    if data is None:
        return np.zeros(len(values), np.int64)
    halves = np.frombuffer(data, np.int64)[2 * values.offset : 2 * (values.offset + len(values))]
    low, high, rows = halves[::2], halves[1::2], valid(values)
    if rows is not None:
        low, high = np.where(rows, low, 0), np.where(rows, high, 0)
    if (high != low >> 63).any():
        raise NotByColumn
    return low

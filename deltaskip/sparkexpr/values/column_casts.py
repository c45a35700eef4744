"""CAST between types on whole columns, under Spark's ANSI rules.

# Spark 4.1, Cast.scala with EvalMode.ANSI
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.sparkexpr.coerce import is_nested
from deltaskip.sparkexpr.kernels.text_rows import whole_numbers
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_nested import changed_inside, conformed
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values, true_rows
from deltaskip.sparkexpr.values.calendar import INSTANT_MAX, MICROS_PER_DAY, MICROS_PER_SECOND, Zone
from deltaskip.sparkexpr.values.floats import decimals_of, float_texts
from deltaskip.sparkexpr.values.zones import DATES_FROM, DATES_TO, instants, local_times, near_limits, time_texts

_TIMES = (t.TIMESTAMP, t.TIMESTAMP_NTZ)
_BITS_OF_DOUBLE = 53
# Powers of ten that a double represents exactly.
_EXACT_SCALE = 22
_MOST_DIGITS = 38
# Decimals of a larger scale may be written with an exponent.
_PLAIN_SCALE = 6
_LEAST_PLAIN, _PLAIN = Decimal("0.000001"), pa.decimal128(7, 6)
_MOST_SECONDS = (2**63 - 1) // MICROS_PER_SECOND
# The most digits before and after the point of a string that is read as a decimal.
_DECIMAL_DIGITS = 18
_DATE_LENGTH = len("2024-01-01")
_DATE = "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_USUAL = {
    "integer": r"^[+-]?[0-9]{1,18}$",
    "number": r"^-?[0-9]{1,25}(\.[0-9]{1,25})?$",
    "decimal": rf"^-?[0-9]{{1,{_DECIMAL_DIGITS}}}(\.[0-9]{{1,{_DECIMAL_DIGITS}}})?$",
    "date": f"^{_DATE}([ T][0-9:.]*)?$",
    "time": rf"^{_DATE}([ T][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{{1,6}})?)?$",
}
# Strings that no cast accepts, such as names: their letters are no exponent, suffix, NaN or infinity.
_NEVER = {
    "integer": "^[ -~]*[A-Za-z][ -~]*$",
    "number": "^([A-Za-z][ -~]*)?[GHJ-MOQRSUVWZghj-moqrsuvwz][ -~]*$",
    "decimal": "^[ -~]*[A-DF-Za-df-z][ -~]*$",
    # Words other than epoch, now, today, tomorrow and yesterday.
    "date": "^([A-DF-MO-SU-XZa-df-mo-su-xz]|[Ee][^Pp]|[Nn][^Oo]|[Tt][^Oo]|[Yy][^Ee])[ -~]*$",
    "time": "^([A-DF-MO-SU-XZa-df-mo-su-xz]|[Ee][^Pp]|[Nn][^Oo]|[Yy][^Ee])[ -~]*$",
}
# Characters that pyarrow reads as Spark does, or refuses.
_DIGITS = b"0123456789-."
_MOST_DIGITS_OF_TEXT = 25
_TRUTH = {
    shown: truth
    for word, truth in t.BOOLEAN_TEXTS.items()
    for shown in dict.fromkeys((word, word.upper(), word.capitalize()))
}


@dataclass(frozen=True, slots=True)
class Converted:
    """The result of a cast.

    failed: A mask of the rows for which the cast fails; their values are undefined. None if no row fails.
    rest: A mask of the rows that must be cast one by one; None for no rows.
    """

    values: pa.Array
    failed: np.ndarray | None = None
    rest: np.ndarray | None = None


def cast_column(values: pa.Array, source: t.DataType, target: t.DataType, zone: Zone) -> Converted:
    """Return the values cast to a type. Raises NotByColumn or ArrowException if they must be cast one by one."""
    if source == target:
        return Converted(values)
    if is_nested(source) and is_nested(target):
        return _inside(values, source, target, zone)
    if source == t.STRING:
        return _from_text(values, target, zone)
    if target == t.STRING and not is_nested(source):
        return _to_text(values, source, zone)
    if source in t.INTEGRAL_BITS or source == t.BOOLEAN:
        return _from_integer(values, source, target)
    if source in t.FLOATING:
        return _from_float(values, target)
    if isinstance(source, t.DecimalType):
        return _from_decimal(values, source, target)
    if source == t.DATE or source in _TIMES:
        return _from_time(values, source, target, zone)
    raise v.NotByColumn


def _inside(values: pa.Array, source: t.DataType, target: t.DataType, zone: Zone) -> Converted:
    """Cast nested values. Raises NotByColumn if an inner type has no cast by column."""
    types = dict(zip(_types_in(source), _types_in(target), strict=True))

    def change(inner: pa.Array, type_: t.DataType) -> pa.Array:
        found = cast_column(inner, type_, types[type_], zone)
        if found.failed is not None or found.rest is not None:
            raise v.NotByColumn
        return found.values

    if len(types) < len(_types_in(source)):
        # Two members of one type become different members.
        raise v.NotByColumn
    return Converted(conformed(_renamed(changed_inside(values, source, change), target), arrow_type(target)))


def _types_in(type_: t.DataType) -> tuple[t.DataType, ...]:
    match type_:
        case t.ArrayType(element):
            return (element,)
        case t.MapType(key, value):
            return (key, value)
        case t.StructType(fields):
            return tuple(field.type for field in fields)
    raise v.NotByColumn


def _renamed(values: pa.Array, target: t.DataType) -> pa.Array:
    """Structs with the field names of the target type; other values unchanged."""
    if not isinstance(target, t.StructType):
        return values
    members = [values.field(at) for at in range(values.type.num_fields)]
    fields = [pa.field(field.name, member.type) for field, member in zip(target.fields, members, strict=True)]
    return pa.StructArray.from_arrays(members, fields=fields, mask=values.is_null() if values.null_count else None)


def _from_integer(values: pa.Array, source: t.DataType, target: t.DataType) -> Converted:
    if source == t.BOOLEAN:
        if target == t.TIMESTAMP:
            return Converted(values.cast(pa.int64()).view(arrow_type(t.TIMESTAMP)))
        values = values.cast(pa.int8())
    if target in t.INTEGRAL_BITS:
        found = v.numbers(values)
        wanted = arrow_type(target)
        limit = 1 << (t.INTEGRAL_BITS[target] - 1)
        if t.INTEGRAL_BITS.get(source, 8) <= t.INTEGRAL_BITS[target]:
            return Converted(values.cast(wanted))
        failed = (found < -limit) | (found >= limit)
        return Converted(values.cast(wanted, safe=False), failed if failed.any() else None)
    if target in t.FLOATING:
        return Converted(values.cast(arrow_type(target), safe=False))
    if isinstance(target, t.DecimalType):
        return _rescaled(values.cast(pa.decimal128(20, 0)), target)
    if target == t.BOOLEAN:
        return Converted(pc.not_equal(values, v.constant_of(0, values.type)))
    if target == t.TIMESTAMP:
        # TimeUnit.SECONDS.toMicros saturates.
        seconds = v.numbers(values).astype(np.int64)
        found = np.where(np.abs(seconds) <= _MOST_SECONDS, seconds, 0) * MICROS_PER_SECOND
        found[seconds > _MOST_SECONDS] = 2**63 - 1
        found[seconds < -_MOST_SECONDS] = -(2**63)
        return Converted(v.made(found, arrow_type(t.TIMESTAMP), values))
    raise v.NotByColumn


def _from_float(values: pa.Array, target: t.DataType) -> Converted:
    if target in t.FLOATING:
        return Converted(values.cast(arrow_type(target), safe=False))
    found = v.numbers(values).astype(np.float64)
    if target == t.BOOLEAN:
        return Converted(v.made(found != 0, pa.bool_(), values))
    if isinstance(target, t.DecimalType):
        return _decimal_of_doubles(found, values, target)
    if target not in t.INTEGRAL_BITS:
        raise v.NotByColumn
    limit = 1 << (t.INTEGRAL_BITS[target] - 1)
    if len(found) and -limit <= found.min() and found.max() < (limit if target == t.LONG else limit - 1):
        return Converted(v.made(found.astype(arrow_type(target).to_pandas_dtype()), arrow_type(target), values))
    with np.errstate(invalid="ignore"):
        if target == t.LONG:
            # Java compares with 2^63 - 1 as a double, which is 2^63, and saturates.
            inside = (np.ceil(found) >= -(2.0**63)) & (np.floor(found) <= 2.0**63)
            above = inside & (np.floor(found) >= 2.0**63)
            whole = np.where(inside & ~above, found, 0).astype(np.int64)
            whole[above] = 2**63 - 1
        else:
            inside = (np.ceil(found) >= -limit) & (np.floor(found) <= limit - 1)
            whole = np.where(inside, found, 0).astype(np.int64)
    array = v.made(whole, pa.int64(), values).cast(arrow_type(target))
    return Converted(array, None if inside.all() else ~inside)


def _decimal_of_doubles(found: np.ndarray, values: pa.Array, target: t.DecimalType) -> Converted:
    """Doubles as decimals. NaN and infinities become NULL."""
    array, rest = decimals_of(found, v.valid(values), target.precision, target.scale)
    return Converted(array, rest=rest if rest.any() else None)


def _from_decimal(values: pa.Array, source: t.DecimalType, target: t.DataType) -> Converted:
    if isinstance(target, t.DecimalType):
        return _rescaled(values, target)
    if target == t.BOOLEAN:
        return Converted(pc.not_equal(values, v.constant_of(Decimal(0), values.type)))
    if target in t.FLOATING:
        unscaled = None if source.scale > _EXACT_SCALE or target == t.FLOAT else _unscaled(values)
        if unscaled is not None and not (np.abs(unscaled) >> _BITS_OF_DOUBLE).any():
            return Converted(v.made(unscaled / 10.0**source.scale, pa.float64(), values))
        # A string is read as the nearest number.
        return Converted(values.cast(pa.string()).cast(arrow_type(target)))
    if target not in t.INTEGRAL_BITS:
        raise v.NotByColumn
    moved = v.rescaled(values, _MOST_DIGITS, 0, "towards zero")
    assert isinstance(moved, pa.Array)
    limit = 1 << (t.INTEGRAL_BITS[target] - 1)
    whole = _unscaled(moved)
    if whole is None:
        raise v.NotByColumn
    rest = None
    if target != t.LONG:
        # Spark converts these through a double.
        unscaled = _unscaled(values)
        if unscaled is None:
            raise v.NotByColumn
        odd = (np.abs(unscaled) >> _BITS_OF_DOUBLE != 0) | (np.trunc(unscaled / 10.0**source.scale) != whole)
        rest = odd if odd.any() else None
    failed = (whole < -limit) | (whole > limit - 1)
    if rest is not None:
        failed &= ~rest
    array = v.made(whole, pa.int64(), values).cast(arrow_type(target), safe=False)
    return Converted(array, failed if failed.any() else None, rest)


def _from_time(values: pa.Array, source: t.DataType, target: t.DataType, zone: Zone) -> Converted:
    given = v.filled(values)
    if source == t.DATE:
        if target not in _TIMES:
            raise v.NotByColumn
        days = given.astype(np.int64)
        # Half of the range of 64 bits leaves room for the offset of a time zone.
        inside = np.abs(days) < INSTANT_MAX // 2 // MICROS_PER_DAY
        local = np.where(inside, days, 0) * MICROS_PER_DAY
        found = instants(local, zone) if target == t.TIMESTAMP else local
        return Converted(v.made(found, arrow_type(target), values), rest=None if inside.all() else ~inside)
    if target == t.DATE:
        local = local_times(given, zone) if source == t.TIMESTAMP else given
        return Converted(
            v.made((local // MICROS_PER_DAY).astype(np.int32), pa.date32(), values), rest=near_limits(given)
        )
    if target in _TIMES:
        found = local_times(given, zone) if source == t.TIMESTAMP else instants(given, zone)
        return Converted(v.made(found, arrow_type(target), values), rest=near_limits(given))
    if source == t.TIMESTAMP and target in t.INTEGRAL_BITS:
        seconds = given // MICROS_PER_SECOND
        limit = 1 << (t.INTEGRAL_BITS[target] - 1)
        failed = (seconds < -limit) | (seconds > limit - 1)
        array = v.made(seconds, pa.int64(), values).cast(arrow_type(target), safe=False)
        return Converted(array, failed if failed.any() else None)
    if source == t.TIMESTAMP and (target in t.FLOATING or isinstance(target, t.DecimalType)):
        # Two roundings: the long to a double, and the quotient.
        found = given.astype(np.float64) / MICROS_PER_SECOND
        if isinstance(target, t.DecimalType):
            return _decimal_of_doubles(found, values, target)
        return Converted(v.made(found, pa.float64(), values).cast(arrow_type(target), safe=False))
    raise v.NotByColumn


def _to_text(values: pa.Array, source: t.DataType, zone: Zone) -> Converted:
    if source in t.INTEGRAL_BITS or source == t.BOOLEAN:
        return Converted(values.cast(pa.string()))
    if source == t.DATE:
        days = v.numbers(values)
        usual = (days >= DATES_FROM) & (days <= DATES_TO)
        shown = v.made(np.where(usual, days, 0).astype(np.int32), pa.date32(), values)
        return Converted(shown.cast(pa.string()), rest=None if usual.all() else ~usual)
    if source in _TIMES:
        given = v.filled(values)
        # Years of more than four digits and times near the limits of 64 bits are cast one by one.
        texts = time_texts(local_times(given, zone) if source == t.TIMESTAMP else given, values)
        return Converted(texts.values, rest=texts.rest) if isinstance(texts, v.Partly) else Converted(texts)
    if source in t.FLOATING:
        texts, rest = float_texts(values)
        return Converted(texts, rest=rest if rest.any() else None)
    if isinstance(source, t.DecimalType):
        shown = values.cast(pa.string())
        if source.scale <= _PLAIN_SCALE:
            return Converted(shown)
        small = true_rows(pc.less(pc.abs(values), v.constant_of(_LEAST_PLAIN, _PLAIN)))
        return Converted(shown, rest=small if small.any() else None)
    if source == t.BINARY:
        return Converted(values.cast(pa.string()))
    raise v.NotByColumn


def _text(text: str) -> pa.Scalar:
    return v.constant_of(text, pa.string())


def _from_text(texts: pa.Array, target: t.DataType, zone: Zone) -> Converted:
    if target == t.BINARY:
        return Converted(texts.cast(pa.binary()))
    if target in t.INTEGRAL_BITS:
        limit = 1 << (t.INTEGRAL_BITS[target] - 1)
        found, is_read = whole_numbers(texts)
        read = Converted(found)
        if not np.frombuffer(is_read, np.bool_).all():
            read = _usual(texts, "integer", lambda usual: _plain_sign(usual).cast(pa.int64()))
        values = v.numbers(read.values)
        failed = (values < -limit) | (values > limit - 1)
        rows = v.valid(read.values)
        failed = failed if rows is None else failed & rows
        failed = failed if read.failed is None else failed | read.failed
        return Converted(read.values.cast(arrow_type(target), safe=False), failed if failed.any() else None, read.rest)
    if target == t.BOOLEAN:
        return _truth(texts)
    if isinstance(target, t.DecimalType):
        read = _usual(texts, "decimal", lambda usual: usual.cast(pa.decimal128(2 * _DECIMAL_DIGITS, _DECIMAL_DIGITS)))
        found = _rescaled(read.values, target)
        rests = [each for each in (read.rest, found.rest) if each is not None]
        return Converted(found.values, read.failed, np.logical_or.reduce(rests) if rests else None)
    if target in t.FLOATING:
        return _usual(texts, "number", lambda usual: usual.cast(arrow_type(target)))
    if target == t.DATE:
        return _usual(texts, "date", lambda usual: pc.utf8_slice_codeunits(usual, 0, _DATE_LENGTH).cast(pa.date32()))
    if target in _TIMES:
        read = _usual(texts, "time", lambda usual: usual.cast(pa.timestamp("us")))
        if target == t.TIMESTAMP:
            found = v.made(instants(v.filled(read.values), zone), arrow_type(t.TIMESTAMP), read.values)
            return Converted(found, read.failed, read.rest)
        return read
    raise v.NotByColumn


def _usual(texts: pa.Array, kind: str, read: Callable[[pa.Array], pa.Array]) -> Converted:
    """Cast strings that match `_USUAL[kind]`. Strings that no cast accepts fail; other strings are cast one by one."""
    if kind == "number" and _are_digits(texts):
        try:
            return Converted(read(texts))
        except pa.ArrowInvalid:
            # A string may be malformed, such as a minus sign without digits.
            pass
    usual = pc.match_substring_regex(texts, _USUAL[kind])
    rest = true_rows(pc.invert(usual))
    if not rest.any():
        return Converted(read(texts))
    # pyarrow raises for dates such as February 30; then all strings are cast one by one.
    found = read(pc.if_else(usual, texts, v.none_of(pa.string())))
    failed = true_rows(pc.match_substring_regex(texts, _NEVER[kind]))
    left = rest & ~failed
    return Converted(found, failed if failed.any() else None, left if left.any() else None)


def _are_digits(texts: pa.Array) -> bool:
    """Whether all strings are short and contain only _DIGITS."""
    if not len(texts) or (pc.max(pc.binary_length(texts)).as_py() or 0) > _MOST_DIGITS_OF_TEXT:
        return False
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    return data is not None and not bytes(data[int(offsets[0]) : int(offsets[-1])]).translate(None, _DIGITS)


def _truth(texts: pa.Array) -> Converted:
    """Strings as booleans. Strings that are not in _TRUTH are cast one by one."""
    places = pc.index_in(texts, value_set=arrow_array(list(_TRUTH), pa.string()))
    rest = numpy_values(pc.and_(places.is_null(), texts.is_valid()))
    return Converted(arrow_array(list(_TRUTH.values()), pa.bool_()).take(places), rest=rest if rest.any() else None)


def _plain_sign(texts: pa.Array) -> pa.Array:
    """Numbers as strings without a plus sign."""
    signed = pc.starts_with(texts, "+")
    return pc.utf8_ltrim(texts, "+") if pc.any(signed).as_py() else texts


def _rescaled(values: pa.Array, target: t.DecimalType) -> Converted:
    """Decimals at the scale of a type, rounded half up."""
    found = v.rescaled(values, target.precision, target.scale)
    return Converted(found.values, rest=found.rest) if isinstance(found, v.Partly) else Converted(found)


def _unscaled(values: pa.Array) -> np.ndarray | None:
    """The unscaled integers of decimals, 0 for nulls; None if an integer needs more than 64 bits."""
    data = values.buffers()[1]
    if data is None:
        return np.zeros(len(values), np.int64)
    halves = np.frombuffer(data, np.int64)[2 * values.offset : 2 * (values.offset + len(values))]
    low, high, rows = halves[::2], halves[1::2], v.valid(values)
    if rows is not None:
        low, high = np.where(rows, low, 0), np.where(rows, high, 0)
    return None if (high != low >> 63).any() else low

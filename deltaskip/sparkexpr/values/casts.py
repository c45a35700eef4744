"""CAST on values of the domain, under Spark's ANSI rules.

# Spark 4.1, Cast.scala with EvalMode.ANSI
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.failures import EvaluationError, Undecided, value_or_null
from deltaskip.sparkexpr.text.type_names import sql_name
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import calendar, floats
from deltaskip.sparkexpr.values.arithmetic import checked_integral, to_decimal
from deltaskip.sparkexpr.values.dates import checked_micros
from deltaskip.sparkexpr.values.interval_types import INTERVALS, interval_castable, interval_number, interval_words
from deltaskip.sparkexpr.values.numerals import decimal_of, exactly, integer_of

_INTEGER = regex(r"[+-]?[0-9]+")
_FLOATING = regex(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_LONG_LIMIT = 2.0**63
_SCALES = 5_000


def cast_value(value: object, source: t.DataType, target: t.DataType, zone: calendar.Zone) -> object:
    """Cast `value` from `source` to `target` in the session's time zone. NULL stays NULL.

    Raises EvaluationError if Spark raises in ANSI mode, and if the result depends on the version of Java.
    """
    if value is None or source == target:
        return value
    if source in INTERVALS:
        return _from_interval(value, source, target)
    if target == t.STRING:
        return _to_string(value, source, zone)
    if isinstance(value, tuple):
        return _cast_inside(value, source, target, lambda each, one, other: cast_value(each, one, other, zone))
    if source == t.STRING and isinstance(value, str):
        return _from_string(value, target, zone)
    if target == t.BOOLEAN:
        return value != 0
    if target in t.INTEGRAL_BITS:
        return _to_integral(value, source, target)
    if target in t.FLOATING:
        return _to_floating(value, source, target)
    if isinstance(target, t.DecimalType):
        return _to_decimal(value, source, target)
    return _to_datetime(value, source, target, zone)


def try_cast_value(value: object, source: t.DataType, target: t.DataType, zone: calendar.Zone) -> object:
    """Like cast_value, but a value that cannot be cast, also inside a nested value, becomes NULL."""
    if isinstance(value, tuple) and target != t.STRING:
        return _cast_inside(value, source, target, lambda each, one, other: try_cast_value(each, one, other, zone))
    return value_or_null(cast_value, value, source, target, zone)


def _cast_inside(
    value: tuple[Any, ...],
    source: t.DataType,
    target: t.DataType,
    cast: Callable[[object, t.DataType, t.DataType], object],
) -> object:
    """An array, map or struct with its inner values cast."""
    match source, target:
        case t.ArrayType(one), t.ArrayType(other, nullable):
            return tuple([_checked(cast(each, one, other), nullable) for each in value])
        case t.MapType(key, item), t.MapType(other_key, other_item, nullable):
            return tuple(
                [
                    (_checked(cast(each, key, other_key), False), _checked(cast(found, item, other_item), nullable))
                    for each, found in value
                ]
            )
        case t.StructType(fields), t.StructType(others):
            return tuple(
                [
                    _checked(cast(each, field.type, other.type), other.nullable)
                    for each, field, other in zip(value, fields, others, strict=True)
                ]
            )
    raise Undecided("Such a cast of a nested value is left to Spark.")


def _checked(value: object, nullable: bool) -> object:
    if value is None and not nullable:
        raise Undecided("A NULL in a type that does not allow NULL is left to Spark.")
    return value


def _to_string(value: object, source: t.DataType, zone: calendar.Zone) -> str:
    match value:
        case tuple():
            return _nested_text(value, source, zone)
        case bool():
            return "true" if value else "false"
        case int() if source == t.DATE:
            return calendar.format_date(value)
        case int() if source == t.TIMESTAMP:
            return calendar.format_timestamp(calendar.local_of(value, zone))
        case int() if source == t.TIMESTAMP_NTZ:
            return calendar.format_timestamp(value)
        case int():
            return str(value)
        case Decimal():
            if value.adjusted() < -6:
                raise Undecided(f"The text of {value:f} has an exponent without ANSI mode.")
            return format(value, "f")
        case float():
            text = floats.float_text(value, source == t.FLOAT)
            if text is None:
                raise Undecided(f"The text of {value!r} depends on the Java version.")
            return text
        case bytes():
            try:
                return value.decode("utf-8")
            except UnicodeDecodeError as error:
                raise Undecided("The binary value is not UTF-8.") from error
    raise EvaluationError(f"No text for {value!r}.")


def _from_interval(value: object, source: t.DataType, target: t.DataType) -> object:
    if target == t.STRING:
        return interval_words(value, source)
    if not isinstance(value, int) or not interval_castable(source, target):
        raise Undecided("Such a cast of an interval is left to Spark.")
    number = interval_number(value, source)
    if isinstance(target, t.DecimalType):
        return to_decimal(number, target)
    # A type with the units of both holds the same value.
    return checked_integral(int(number), target) if target in t.INTEGRAL_BITS else value


def _nested_text(value: tuple[Any, ...], source: t.DataType, zone: calendar.Zone) -> str:
    def text(each: object, type_: t.DataType) -> str:
        return "null" if each is None else str(cast_value(each, type_, t.STRING, zone))

    match source:
        case t.ArrayType(element):
            return f"[{', '.join([text(each, element) for each in value])}]"
        case t.MapType(key, item):
            return f"{{{', '.join([f'{text(each, key)} -> {text(found, item)}' for each, found in value])}}}"
        case t.StructType(fields):
            pairs = zip(value, fields, strict=True)
            return f"{{{', '.join([text(each, field.type) for each, field in pairs])}}}"
    raise Undecided("The text of such a value is left to Spark.")


def _from_string(text: str, target: t.DataType, zone: calendar.Zone) -> object:
    value: object = None
    if target in t.DATETIMES and calendar.is_special_date(text):
        raise Undecided(f"Spark reads {text!r} as a time in a constant, but not in a column.")
    if target == t.BINARY:
        return text.encode("utf-8")
    if target == t.BOOLEAN:
        word = text.strip(calendar.TRIM_ALL).lower()
        value = t.BOOLEAN_TEXTS.get(word)
    elif target in t.INTEGRAL_BITS:
        digits = text.strip(calendar.TRIM_ALL)
        value = checked_integral(integer_of(digits), target) if _INTEGER.fullmatch(digits) else None
    elif target in t.FLOATING:
        value = _parse_floating(text, target)
    elif isinstance(target, t.DecimalType):
        value = _parse_decimal(text.strip(calendar.TRIM_ALL), target)
    elif target == t.DATE:
        value = calendar.parse_date(text)
    elif target in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        try:
            value = (
                calendar.parse_timestamp(text, zone) if target == t.TIMESTAMP else calendar.parse_timestamp_ntz(text)
            )
        except LookupError as error:
            raise Undecided(f"{shown(text)} as a timestamp is left to Spark: {error}") from error
    if value is None:
        raise EvaluationError(f"{shown(text)} cannot be cast to {sql_name(target)}.")
    return value


def _parse_floating(text: str, target: t.DataType) -> float | None:
    trimmed = text.strip(calendar.JAVA_TRIM)
    special = floats.SPECIAL_FLOATS.get(trimmed.lower())
    if special is not None:
        return special
    if not _FLOATING.fullmatch(trimmed.rstrip("fFdD") if trimmed[-1:] in "fFdD" else trimmed):
        # Hexadecimal floating point and the suffixes f and d are syntax of Java.
        # A NaN with a sign is syntax of Java, too.
        signed_nan = trimmed.lower() in ("-nan", "+nan")
        if signed_nan or (re.match(r"[+-]?\.?[0-9]", trimmed) and re.search(r"[xXdDfF]", trimmed)):
            raise Undecided(f"{shown(text)} as a number is left to Spark.")
        return None
    if trimmed[-1] in "fFdD":
        raise Undecided(f"{shown(text)} as a number is left to Spark.")
    exact = decimal_of(trimmed)
    value = floats.nearest_float(exact) if target == t.FLOAT else floats.nearest_double(exact)
    return math.copysign(value, -1.0) if trimmed.startswith("-") else value


def _parse_decimal(text: str, target: t.DecimalType) -> Decimal | None:
    if not text.isascii():
        raise Undecided(f"{shown(text)} as a number is left to Spark, which reads the digits of every script.")
    if not _FLOATING.fullmatch(text):
        return None
    _, _, exponent = text.lower().partition("e")
    if exponent and abs(integer_of(exponent)) > _SCALES:
        # Java refuses some of these exponents, and computes with others.
        raise Undecided(f"{shown(text)} as a decimal is left to Spark.")
    return to_decimal(decimal_of(text), target)


def _to_integral(value: object, source: t.DataType, target: t.DataType) -> int:
    match value:
        case bool():
            return int(value)
        case int() if source == t.TIMESTAMP:
            return checked_integral(value // calendar.MICROS_PER_SECOND, target)
        case int():
            return checked_integral(value, target)
        case Decimal():
            whole = int(value)
            if target != t.LONG and whole != math.trunc(float(value)):
                raise Undecided(f"{value} as {sql_name(target)} goes through a double in Spark above 18 digits.")
            return checked_integral(whole, target)
        case float():
            return _truncated(value, target)
    raise EvaluationError(f"{value!r} cannot be cast to {sql_name(target)}.")


def _truncated(value: float, target: t.DataType) -> int:
    if math.isnan(value) or math.isinf(value):
        raise EvaluationError(f"{value!r} is out of the range of {sql_name(target)}.")
    if target == t.LONG and math.floor(value) == _LONG_LIMIT:
        # Java compares with 2^63 - 1 as a double, which is 2^63, and saturates.
        return 2**63 - 1
    limit = 1 << (t.INTEGRAL_BITS[target] - 1)
    if not (math.floor(value) <= limit - 1 and math.ceil(value) >= -limit):
        raise EvaluationError(f"{value!r} is out of the range of {sql_name(target)}.")
    return math.trunc(value)


def _to_floating(value: object, source: t.DataType, target: t.DataType) -> float:
    match value:
        case bool():
            return float(value)
        case int() if source == t.TIMESTAMP:
            # Two roundings: the long to a double, and the quotient.
            seconds = float(value) / calendar.MICROS_PER_SECOND
            return floats.to_float(seconds) if target == t.FLOAT else seconds
        case int() | Decimal():
            return floats.nearest_float(value) if target == t.FLOAT else float(value)
        case float():
            return floats.to_float(value) if target == t.FLOAT else value
    raise EvaluationError(f"{value!r} cannot be cast to {sql_name(target)}.")


def _to_decimal(value: object, source: t.DataType, target: t.DecimalType) -> Decimal | None:
    match value:
        case int() if source == t.TIMESTAMP:
            # Spark converts through a double here.
            return _decimal_of_double(float(value) / calendar.MICROS_PER_SECOND, target)
        case bool() | int():
            return to_decimal(exactly(int(value)), target)
        case Decimal():
            return to_decimal(value, target)
        case float():
            # NaN and the infinities become NULL, even in ANSI mode.
            return _decimal_of_double(value, target) if math.isfinite(value) else None
    raise EvaluationError(f"{value!r} cannot be cast to {sql_name(target)}.")


def _decimal_of_double(value: float, target: t.DecimalType) -> Decimal:
    """The decimal that Java writes for a double, rounded to the type.

    Java before 19 does not always write the shortest string, but a number between the midpoints to the neighboring
    doubles. This matters only if the two midpoints round to different results.
    """
    found = to_decimal(exactly(repr(value)), target)
    if floats.float_text(value, False) is None:
        for end in floats.double_text_range(value):
            try:
                same = to_decimal(end, target) == found
            except EvaluationError:
                same = False
            if not same:
                raise Undecided(f"{value!r} as {sql_name(target)} depends on the Java version.")
    return found


def _to_datetime(value: object, source: t.DataType, target: t.DataType, zone: calendar.Zone) -> int | None:
    if target == t.TIMESTAMP and source not in (t.DATE, t.TIMESTAMP_NTZ):
        return _timestamp_of_number(value)
    if not isinstance(value, int):
        raise EvaluationError(f"{value!r} cannot be cast to {sql_name(target)}.")
    if source == t.DATE:
        local = value * calendar.MICROS_PER_DAY
        return checked_micros(calendar.instant_of(local, zone) if target == t.TIMESTAMP else local)
    if source == t.TIMESTAMP:
        local = calendar.local_of(value, zone)
        return local // calendar.MICROS_PER_DAY if target == t.DATE else checked_micros(local)
    return value // calendar.MICROS_PER_DAY if target == t.DATE else checked_micros(calendar.instant_of(value, zone))


def _timestamp_of_number(value: object) -> int:
    match value:
        case bool():
            return int(value)
        case int():
            # TimeUnit.SECONDS.toMicros saturates.
            return max(-(2**63), min(2**63 - 1, value * calendar.MICROS_PER_SECOND))
    raise Undecided(f"{value!r} as a timestamp is left to Spark.")

"""Parses Spark's string, numeric and typed literals, and makes the error for text that Spark cannot parse.

# Spark 4.1, SqlBaseLexer.g4 and SparkParserUtils.unescapeSQLString
"""

from __future__ import annotations

import math
import re

from deltaskip.errors import PredicateError, SchemaError, shown
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.clock import special_time
from deltaskip.sparkexpr.nodes import Cast, Literal, Node, Opaque
from deltaskip.sparkexpr.text.sql_text import line_and_column
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.data_types import DATE, TIMESTAMP, TIMESTAMP_NTZ
from deltaskip.sparkexpr.values import calendar
from deltaskip.sparkexpr.values.floats import nearest_float
from deltaskip.sparkexpr.values.numerals import decimal_of, exactly, integer_of

# Words that begin a typed literal, before a string.
TYPED_LITERALS = frozenset(("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "X"))

_NUMBER = regex(
    r"([0-9]+(?=[LSY])|(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?)(BD|[LSYFD])?", re.IGNORECASE | re.ASCII
)
_GREATEST_FLOAT = 3.4028234663852886e38
_INTEGRAL: dict[str, tuple[t.DataType, int]] = {"L": (t.LONG, 63), "S": (t.SHORT, 15), "Y": (t.BYTE, 7)}


def predicate_error(text: str, at: int, reason: str) -> PredicateError:
    """The error for SQL that Spark cannot parse, with reason, line, column, and the text."""
    line, column = line_and_column(text, at)
    first = max(0, at - 150)
    shown = ("… " if first else "") + text[first : at + 150] + (" …" if len(text) > at + 150 else "")
    return PredicateError(f"Cannot parse the predicate at line {line}, column {column}: {reason}; in: {shown}")


def number_literal(source: str, negative: bool = False) -> Literal:
    """The literal of a number. Its notation and suffix determine the type int, bigint, decimal or double, as in Spark.

    Raises ValueError if the number is out of the range of the type.
    """
    match = _NUMBER.fullmatch(source)
    if match is None:
        raise ValueError(f"{source} is not a number")
    digits, suffix = match.group(1), (match.group(2) or "").upper()
    signed = "-" + digits if negative else digits
    if suffix in _INTEGRAL:
        type_, bits = _INTEGRAL[suffix]
        return Literal(_bounded(signed, bits), type_)
    if suffix in ("D", "F") or (not suffix and "e" in digits.lower()):
        return _floating(signed, t.FLOAT if suffix == "F" else t.DOUBLE)
    if suffix == "BD" or "." in digits:
        return _decimal(signed)
    value = integer_of(signed)
    if -(2**31) <= value < 2**31:
        return Literal(value, t.INTEGER)
    return Literal(value, t.LONG) if -(2**63) <= value < 2**63 else _decimal(signed)


def typed_literal(word: str, text: str) -> Node:
    """The typed literal of `word`, an element of TYPED_LITERALS, and a string.

    A TIMESTAMP without a time zone becomes a cast. A literal of unknown value, such as a time without a date, becomes
    Opaque. Raises ValueError if the string is not valid for the type.
    """
    if word == "X":
        digits = text if len(text) % 2 == 0 else "0" + text
        if not all(c in "0123456789abcdefABCDEF" for c in digits):
            raise ValueError("X'…' must contain hexadecimal digits only")
        return Literal(bytes.fromhex(digits), t.BINARY)
    unknown = Opaque(f"{word}'{text}'")
    if calendar.is_special_date(text):
        type_ = {"DATE": DATE, "TIMESTAMP_NTZ": TIMESTAMP_NTZ}.get(word, TIMESTAMP)
        return special_time(text, type_) or unknown
    try:
        node = _datetime_literal(word, text)
    except LookupError:
        return unknown
    if node is None:
        raise ValueError(f"{shown(text)} is not a {word}")
    return node


def _datetime_literal(word: str, text: str) -> Node | None:
    """The literal DATE'…' or TIMESTAMP…'…'; None for invalid strings. Raises LookupError like parse_timestamp."""
    match word:
        case "DATE":
            days = calendar.parse_date(text)
            return None if days is None else Literal(days, DATE)
        case "TIMESTAMP_NTZ":
            local = calendar.parse_timestamp_ntz(text)
            return None if local is None else Literal(local, TIMESTAMP_NTZ)
    micros = calendar.parse_timestamp(text, calendar.zone_of("UTC"))
    if micros is None:
        return None
    return Literal(micros, TIMESTAMP) if calendar.has_zone(text) else Cast(Literal(text, t.STRING), TIMESTAMP)


def _bounded(text: str, bits: int) -> int:
    value = integer_of(text)
    if not -(2**bits) <= value < 2**bits:
        raise ValueError(f"{_number(text)} is out of the range of {bits + 1} bits")
    return value


def _floating(text: str, type_: t.DataType) -> Literal:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{_number(text)} is too large for a double")
    if type_ == t.FLOAT:
        narrow = nearest_float(decimal_of(text))
        if math.isinf(narrow) or abs(value) > _GREATEST_FLOAT:
            raise ValueError(f"{_number(text)} is too large for a float")
        return Literal(narrow, t.FLOAT)
    return Literal(value, t.DOUBLE)


def _decimal(text: str) -> Literal:
    try:
        value = decimal_of(text)
        _, digits, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        type_ = t.DecimalType(max(len(digits) + max(0, int(exponent)), scale), scale)
        return Literal(value if int(exponent) <= 0 else exactly(int(value)), type_)
    except SchemaError as error:
        raise ValueError(f"{_number(text)} has more than the 38 digits of a decimal") from error


def _number(text: str) -> str:
    """The text of a number for a message."""
    return shown(text).replace("'", "")

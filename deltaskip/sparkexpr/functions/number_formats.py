"""Functions that format numbers as strings, and read them back.

# Spark 4.1, numberFormatExpressions.scala, FormatNumber; Java 17, DecimalFormat
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.coerce import cast_to, decimal_type_of, implicit_cast, is_numeric, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided, value_or_null
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.function import by_value, value_function
from deltaskip.sparkexpr.functions.time_formats import TIME_FORMATS
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.floats import float_text
from deltaskip.sparkexpr.values.number_format import NumberFormat, number_format
from deltaskip.sparkexpr.values.numerals import context, exactly

_DECIMALS: dict[t.DataType, t.DecimalType] = {
    t.FLOAT: t.DecimalType(14, 7),
    t.DOUBLE: t.DecimalType(30, 15),
    t.STRING: t.DecimalType(38, 18),
}
_OF_BYTES = ("base64", "hex", "utf-8")
_MOST_PLACES = 300
_PATTERN = regex(r"([#,]*)([0,]*)(?:(\.)(0*)(#*))?")
_EXACT = context(2000)
_DATE_FORMAT = TIME_FORMATS["date_format"]


def _format_of(node: Node) -> NumberFormat | None:
    """The format of a literal; None for other nodes and unsupported formats."""
    return number_format(node.value) if isinstance(node, Literal) and isinstance(node.value, str) else None


def _char_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept a number, a time or binary, and a format. The format must be constant for numbers and binary."""
    if len(args) != 2:
        return None
    type_ = type_of(args[0])
    if type_ in t.DATETIMES:
        return _DATE_FORMAT.signature(args) if isinstance(_DATE_FORMAT, function.Function) else None
    if type_ == t.BINARY:
        known = isinstance(args[1], Literal) and isinstance(args[1].value, str)
        return (args, t.STRING) if known and _bytes_format(args[1]) in _OF_BYTES else None
    if type_ is None or not (is_numeric(type_) or type_ == t.STRING) or _format_of(args[1]) is None:
        return None
    return (cast_to(args[0], decimal_type_of(type_) or _DECIMALS[type_]), args[1]), t.STRING


def _bytes_format(node: Node) -> str:
    return str(node.value).lower().strip() if isinstance(node, Literal) else ""


def _char(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`to_char(value, format)`."""
    if isinstance(args[0], Decimal):
        return _known_format(args[1]).written(args[0])
    if isinstance(args[0], bytes):
        return _bytes_text(args[0], args[1].lower().strip())
    assert isinstance(_DATE_FORMAT, function.Function)
    return _DATE_FORMAT.compute(args, call, zone)


def _bytes_text(value: bytes, format_: str) -> str:
    match format_:
        case "hex":
            return value.hex().upper()
        case "base64":
            return base64.b64encode(value).decode("ascii")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise EvaluationError("Binary is no text in UTF-8 (MALFORMED_CHARACTER_CODING).") from error


def _known_format(text: str) -> NumberFormat:
    found = number_format(text)
    assert found is not None
    return found


def _number_signature(args: tuple[Node, ...]) -> function.Typed:
    text = implicit_cast(args[0], t.STRING) if len(args) == 2 else None
    found = _format_of(args[1]) if text is not None else None
    return None if text is None or found is None else ((text, args[1]), found.type)


def _number(text: str, format_: str) -> Decimal:
    """`to_number(text, format)`."""
    found = _known_format(format_).read(text)
    if found is None:
        raise EvaluationError(
            f"{shown(text)} does not have the format {shown(format_)} (INVALID_FORMAT.MISMATCH_INPUT)."
        )
    return found


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern of DecimalFormat.

    whole: The least number of digits before the point.
    least, most: The least and the greatest number of digits after the point.
    group: The number of digits between commas; 0 without commas.
    """

    whole: int
    least: int
    most: int
    group: int


@lru_cache(maxsize=256)
def _pattern(text: str) -> _Pattern:
    """Parse a pattern. Raises Undecided for characters other than `#`, `0`, `,` and `.`."""
    found = _PATTERN.fullmatch(text or "#,###,###,###,###,###,##0")
    before = found[1] + found[2] if found else ","
    if found is None or before[:1] == "," or before[-1:] == ",":
        raise Undecided(f"The format {shown(text)} of numbers is left to Spark.")
    zeros, places = before.count("0"), found[4] or ""
    least, most = len(places), len(places) + len(found[5] or "")
    digits = len(before.replace(",", ""))
    if zeros == 0 and least == 0 and found[3]:
        # Java writes a zero even if the pattern has none.
        zeros, least = (1, 0) if digits else (0, min(most, 1))
    if digits + most == 0 or max(most, zeros) > _MOST_PLACES or (found[3] and most == 0):
        raise Undecided(f"The format {shown(text)} of numbers is left to Spark.")
    group = len(before) - 1 - before.rindex(",") if "," in before else 0
    return _Pattern(zeros, least, most, group)


def _format_signature(args: tuple[Node, ...]) -> function.Typed:
    known = len(args) == 2 and is_numeric(type_of(args[0])) and type_of(args[1]) in (t.INTEGER, t.STRING)
    return (args, t.STRING) if known else None


def _format(number: int | float | Decimal, given: int | str) -> str | None:
    """`format_number(number, places)` or `format_number(number, pattern)`."""
    if isinstance(given, int):
        if given < 0:
            return None
        if given > _MOST_PLACES:
            raise Undecided(f"A number with {given:,} places is left to Spark.")
        return _formatted(number, _Pattern(1, given, given, 3))
    return _formatted(number, _pattern(given))


def _formatted(number: int | float | Decimal, pattern: _Pattern) -> str:
    negative = math.copysign(1, number) < 0 if isinstance(number, float) else number < 0
    if isinstance(number, float) and not math.isfinite(number):
        return "NaN" if math.isnan(number) else "-∞" if negative else "∞"
    before, _, after = f"{_rounded(number, pattern.most):f}".lstrip("-").partition(".")
    before, after = before.lstrip("0").rjust(pattern.whole, "0"), after.rstrip("0").ljust(pattern.least, "0")
    if not before and not after:
        before = "0"
    if pattern.group:
        head = len(before) % pattern.group
        parts = [before[at : at + pattern.group] for at in range(head, len(before), pattern.group)]
        before = ",".join([before[:head], *parts] if head else parts)
    return ("-" if negative else "") + before + ("." + after if after else "")


def _rounded(number: int | float | Decimal, places: int) -> Decimal:
    """A finite number with at most this many decimal places, rounded half to even."""
    unit = Decimal((0, (1,), -places))
    if not isinstance(number, float):
        exact = exactly(number)
        return exact if -int(exact.as_tuple().exponent) <= places else exact.quantize(unit, context=_EXACT)
    shortest = exactly(repr(number))
    if -int(shortest.as_tuple().exponent) > places:
        # The omitted digits decide the rounding; at a midpoint, the exact value of the number decides.
        return exactly(number).quantize(unit, context=_EXACT)
    if float_text(number, False) is None and not (number.is_integer() and abs(number) < 2**53):
        raise Undecided(f"The digits of {number!r} depend on the version of Java.")
    return shortest


NUMBER_FORMATS: Mapping[str, function.FunctionRow] = {
    "to_char": function.Function(
        _char_signature, _char, by_column=by_value(_char), aliases=("to_varchar",), zoned=True
    ),
    "to_number": value_function(_number_signature, _number),
    "try_to_number": value_function(_number_signature, partial(value_or_null, _number)),
    "format_number": value_function(_format_signature, _format),
}

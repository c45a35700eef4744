"""Functions that format numbers as strings, and read them back.

# Spark 4.1, numberFormatExpressions.scala, FormatNumber; Java 17, DecimalFormat
"""

from __future__ import annotations

import base64
import math
import re
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
from deltaskip.sparkexpr.types.data_types import DecimalType
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.floats import float_text
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


_TOKENS = regex(r"[09]+|[.D]|[,G]|\$|S|MI|PR", re.DOTALL)
_MOST_DIGITS = 38
# The ASCII characters that are white space in Java.
_SPACES = r"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
_BLANK = regex(f"[{_SPACES}]+")
_GROUPED = regex(f"[0-9,{_SPACES}]*")


@dataclass(frozen=True, slots=True)
class _Digits:
    """Up to `count` digits, or exactly `count` digits."""

    count: int
    exact: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """Digits and the separators (None) between them."""

    tokens: tuple[_Digits | None, ...]

    @property
    def digits(self) -> list[_Digits]:
        return [token for token in self.tokens if token is not None]

    @property
    def count(self) -> int:
        """The number of digits."""
        return sum(token.count for token in self.digits)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A number format. Its tokens are groups of digits, and ".", "$", "S", "MI", "<" and ">"."""

    tokens: tuple[_Group | str, ...]
    whole: int
    scale: int

    @property
    def type(self) -> DecimalType:
        """The type of the numbers that are read."""
        return DecimalType(self.whole + self.scale, self.scale)

    def read(self, text: str) -> Decimal | None:
        """The number that a string in this format represents; None if the string does not match the format."""
        if not text.isascii():
            raise Undecided(f"The number in {shown(text)} is left to Spark: it is not ASCII.")
        reading = _NumberText(text)
        for token in self.tokens:
            if not (reading.group(token) if isinstance(token, _Group) else reading.sign(token)):
                return None
        if reading.at < len(text) or reading.opened != reading.closed or not (reading.whole or reading.part):
            return None
        if len(reading.whole.lstrip("0")) > self.whole:
            raise Undecided(f"The number in {shown(text)} is left to Spark: it has more digits than its type.")
        figures = (reading.whole + reading.part.ljust(self.scale, "0")).lstrip("0") or "0"
        return Decimal((int(reading.negative and figures != "0"), tuple(map(int, figures)), -self.scale))

    def written(self, number: Decimal) -> str:
        """The number as a string. If the format has too few digits, every digit becomes `#`."""
        before, _, after = f"{number.copy_abs():f}".partition(".")
        before, after = before.lstrip("0"), after.rstrip("0")
        if len(before) > self.whole or len(after) > self.scale:
            before, after = "#" * self.whole, "#" * self.scale
        writing = _Writing(number < 0, before.rjust(self.whole), after.ljust(self.scale, "0"))
        for token in self.tokens:
            if isinstance(token, _Group):
                writing.group(token)
            else:
                writing.sign(token)
        writing.strip_point()
        text = "".join(writing.found)
        return text if text not in ("", "+", "-") else "0"


class _NumberText:
    """Reads a string by the tokens of a format."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.whole = self.part = ""
        self.negative = self.pointed = self.opened = self.closed = False

    def sign(self, token: str) -> bool:
        """Read a token other than digits; return whether the string matches the format up to this token."""
        character = self.text[self.at : self.at + 1]
        wanted = {".": ".", "$": "$", "S": "+-", "MI": "-", "<": "<", ">": ">"}[token]
        if not character or character not in wanted:
            # Only the dollar sign is required, unless the string has ended.
            return token != "$" or not character
        self.at += 1
        match token:
            case ".":
                self.pointed = True
            case "S" | "MI":
                self.negative ^= character == "-"
            case "<":
                self.opened = True
            case ">":
                if not self.opened:
                    return False
                self.closed = True
                self.negative = not self.negative
        return True

    def group(self, group: _Group) -> bool:
        """Read a group of digits; return whether the digits between the separators fit the format."""
        found = _GROUPED.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        figures = [_BLANK.sub("", each) for each in found[0].split(",")]
        if self.pointed:
            self.part += "".join(figures)
        else:
            self.whole += "".join(figures)
        sizes = [len(each) for each in figures]
        wanted = group.digits[::-1]
        sizes.reverse()
        if len(sizes) > len(wanted):
            return False
        sizes += [0] * (len(wanted) - len(sizes))
        return all(
            size == digits.count if digits.exact else size <= digits.count
            for size, digits in zip(sizes, wanted, strict=True)
        )


class _Writing:
    """Writes a number by the tokens of a format."""

    def __init__(self, negative: bool, before: str, after: str) -> None:
        self.negative = negative
        self.found: list[str] = []
        self.before = iter(before)
        self.after = iter(after)
        self.pointed = False

    def sign(self, token: str) -> None:
        """Write a token other than digits."""
        match token:
            case ".":
                if self.found and self.found[-1] == " ":
                    self.found[-1] = "0"
                self.found.append(".")
                self.pointed = True
            case "$":
                self.found.append("$")
            case "S":
                self.strip_point()
                self.before_spaces("-" if self.negative else "+")
            case "MI" if self.negative:
                self.strip_point()
                self.before_spaces("-")
            case "MI":
                self.found.append(" ")
            case "<":
                self.found += ["<"] if self.negative else []
            case _:
                self.strip_point()
                if self.negative:
                    self.before_spaces(">")
                else:
                    self.found += "  "

    def group(self, group: _Group) -> None:
        for token in group.tokens:
            if token is None:
                if self.found and self.found[-1].isdigit():
                    self.found.append(",")
                else:
                    self.space()
                continue
            for _ in range(token.count):
                character = next(self.after if self.pointed else self.before)
                if character != " ":
                    self.found.append(character)
                elif token.exact:
                    self.found.append("0")
                else:
                    self.space()

    def before_spaces(self, character: str) -> None:
        """Write a character before the spaces at the end."""
        at = len(self.found)
        while at and self.found[at - 1] == " ":
            at -= 1
        self.found.insert(at, character)

    def space(self) -> None:
        """Write a space before the signs at the end."""
        at = len(self.found)
        while at and self.found[at - 1] in "+-<":
            at -= 1
        self.found.insert(at, " ")

    def strip_point(self) -> None:
        """Replace a decimal point without digits after it by a space."""
        if "." in self.found:
            at = self.found.index(".")
            if self.found[at + 1 : at + 2] in ([], [" "]):
                self.found[at] = " "


@lru_cache(maxsize=256)
def number_format(text: str) -> NumberFormat | None:
    """The parsed format; None if Spark refuses it, or only Spark can use it."""
    if not text.isascii():
        return None
    upper = text.upper()
    raw = _TOKENS.findall(upper)
    if "".join(raw) != upper:
        return None
    tokens: list[_Group | str] = []
    group: list[_Digits | None] = []
    pointed = False
    for token in raw:
        if token[0] in "09":
            group.append(_Digits(len(token), token[0] == "0" and not pointed))
        elif token in ",G":
            group.append(None)
        else:
            tokens += [_Group(tuple(group))] if group else []
            group = []
            pointed |= token in ".D"
            if token == "PR":
                tokens.insert(0, "<")
            tokens.append(">" if token == "PR" else "." if token == "D" else token)
    tokens += [_Group(tuple(group))] if group else []
    return _checked(tuple(tokens))


def _checked(tokens: tuple[_Group | str, ...]) -> NumberFormat | None:
    order = "".join("9" if isinstance(token, _Group) else token[0] for token in tokens)
    if not re.fullmatch(r"<?[SM]?\$?9?\.?9?\$?[SM>]?", order) or "9" not in order:
        return None
    if any(order.count(sign) > 1 for sign in ".SM$") or "$" in order[order.index("9") :]:
        return None
    point = order.find(".")
    if "$" in order and 0 <= point < order.index("$"):
        return None
    whole = scale = 0
    for at, token in enumerate(tokens):
        if not isinstance(token, _Group):
            continue
        after = 0 <= point < at
        pairs = zip((None, *token.tokens), (*token.tokens, None), strict=True)
        if (after and None in token.tokens) or (None, None) in pairs:
            return None
        whole, scale = (whole, scale + token.count) if after else (whole + token.count, scale)
    return NumberFormat(tokens, whole, scale) if whole + scale <= _MOST_DIGITS else None


NUMBER_FORMATS: Mapping[str, function.FunctionRow] = {
    "to_char": function.Function(
        _char_signature, _char, by_column=by_value(_char), aliases=("to_varchar",), zoned=True
    ),
    "to_number": value_function(_number_signature, _number),
    "try_to_number": value_function(_number_signature, partial(value_or_null, _number)),
    "format_number": value_function(_format_signature, _format),
}

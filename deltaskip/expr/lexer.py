"""Tokens of Spark SQL expressions, and the values of its string and number literals.

# Spark 4.1, SqlBaseLexer.g4 and SparkParserUtils.unescapeSQLString
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.expr.floats import nearest_float
from deltaskip.expr.nodes import Literal
from deltaskip.schema.types import BYTE, DOUBLE, FLOAT, INTEGER, LONG, SHORT, DataType, DecimalType

__all__ = ["Token", "number_literal", "predicate_error", "string_value", "tokenize"]


class Token(NamedTuple):
    """A token: its kind ("name", "quoted", "string", "number", "op" or "end"), its text, and where it stands."""

    kind: str
    text: str
    start: int
    end: int


# Numbers come before names; one that runs on into letters is a name, as Spark's longest match has it.
_TOKEN = re.compile(
    r"""
      (?P<blank>(?:\s|--[^\r\n]*)+)
    | (?P<comment>/\*)
    | (?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<number>(?:[0-9]+[LSY]|(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?(?:BD|[FD])?)(?!\w))
    | (?P<name>\w+)
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<op><=>|>>>|<=|>=|<>|!=|==|!<|!>|\|\||<<|>>|->|=>|::|[-+*/%=<>!~&|^()\[\],.:;?@{}\#$])
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-1][0-7]{2})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}

_NUMBER = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)(BD|[LSYFD])?", re.IGNORECASE)
_INTEGRAL: dict[str, tuple[DataType, int]] = {"L": (LONG, 63), "S": (SHORT, 15), "Y": (BYTE, 7)}


def tokenize(text: str) -> list[Token]:
    """Tokens of `text`, the last one of kind "end". Raises PredicateError where no token of Spark SQL begins."""
    tokens: list[Token] = []
    at = 0
    match_at = _TOKEN.match
    while at < len(text):
        match = match_at(text, at)
        if match is None:
            raise predicate_error(text, at, "no token of Spark SQL begins here")
        kind = match.lastgroup
        end = match.end()
        if kind == "comment":
            end = _comment_end(text, at)
        elif kind != "blank":
            tokens.append(Token(str(kind), match.group(), at, end))
        at = end
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens


def predicate_error(text: str, at: int, reason: str) -> PredicateError:
    """The error for SQL that Spark cannot parse: what, where (line and column), and the text."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    first = max(0, at - 150)
    shown = ("… " if first else "") + text[first : at + 150] + (" …" if len(text) > at + 150 else "")
    return PredicateError(f"Cannot parse the predicate at line {line}, column {column}: {reason}; in: {shown}")


def string_value(token_text: str) -> str:
    """The string that a quoted literal means: escapes as Spark's, doubled quotes, raw strings."""
    if token_text[0] in "rR":
        return token_text[2:-1]
    quote, body = token_text[0], token_text[1:-1]
    body = body.replace(quote * 2, quote) if "\\" not in body else _undouble(body, quote)
    if "\\" not in body:
        return body
    decoded = _ESCAPE.sub(_unescape, body)
    # A pair of \u escapes is one character outside the basic plane.
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def number_literal(text: str, negative: bool = False) -> Literal:
    """The literal that a number means: int, bigint, decimal or double by its form and suffix, as Spark types it.

    Raises ValueError where the number does not fit its type.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a number")
    digits, suffix = match.group(1), (match.group(2) or "").upper()
    signed = "-" + digits if negative else digits
    if suffix in _INTEGRAL:
        type_, bits = _INTEGRAL[suffix]
        return Literal(_bounded(signed, bits), type_)
    if suffix in ("D", "F") or (not suffix and "e" in digits.lower()):
        return _floating(signed, FLOAT if suffix == "F" else DOUBLE)
    if suffix == "BD" or "." in digits:
        return _decimal(signed)
    value = int(signed)
    if -(2**31) <= value < 2**31:
        return Literal(value, INTEGER)
    return Literal(value, LONG) if -(2**63) <= value < 2**63 else _decimal(signed)


def _comment_end(text: str, start: int) -> int:
    """End of a bracketed comment; they nest."""
    depth, at = 1, start + 2
    while depth:
        opened, closed = text.find("/*", at), text.find("*/", at)
        if closed < 0:
            raise predicate_error(text, start, "the comment is not closed")
        if 0 <= opened < closed:
            depth, at = depth + 1, opened + 2
        else:
            depth, at = depth - 1, closed + 2
    return at


def _undouble(body: str, quote: str) -> str:
    return re.sub(r"(\\.)|" + quote * 2, lambda m: m.group(1) or quote, body, flags=re.DOTALL)


def _unescape(match: re.Match[str]) -> str:
    short, long, octal, other = match.groups()
    if short is not None:
        return chr(int(short, 16))
    if long is not None:
        code = int(long, 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"
    if octal is not None:
        return chr(int(octal, 8))
    return _SIMPLE_ESCAPES.get(other, other)


def _bounded(text: str, bits: int) -> int:
    value = int(text)
    if not -(2**bits) <= value < 2**bits:
        raise ValueError(f"{text} does not fit {bits + 1} bits")
    return value


def _floating(text: str, type_: DataType) -> Literal:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large for a double")
    if type_ == FLOAT:
        return Literal(nearest_float(Decimal(text)), FLOAT)
    return Literal(value, DOUBLE)


def _decimal(text: str) -> Literal:
    try:
        value = Decimal(text)
        _, digits, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        precision = max(len(digits) + max(0, int(exponent)), scale)
        return Literal(value if int(exponent) <= 0 else Decimal(int(value)), DecimalType(precision, scale))
    except (InvalidOperation, SchemaError) as error:
        raise ValueError(f"{text} has more digits than a decimal holds") from error

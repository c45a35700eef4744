"""Interval literals among the tokens of a predicate: each becomes one token with its value.

# Spark 4.1, SqlBaseParser.g4: interval
"""

from __future__ import annotations

from deltaskip.expr.intervals import interval_between, interval_in, interval_of
from deltaskip.expr.nodes import Literal
from deltaskip.expr.sql.dialect import Token, TokenType
from deltaskip.expr.sql.lexer import Source
from deltaskip.expr.sql.literals import predicate_error

__all__ = ["with_intervals"]

_UNITS = frozenset(("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"))
_SIGNS = {TokenType.DASH: "-", TokenType.PLUS: "+"}


def with_intervals(source: Source, tokens: list[Token]) -> list[Token]:
    """Return the tokens with each interval literal as one. INTERVAL of other expressions stays as it is."""
    if not any(token.token_type == TokenType.INTERVAL for token in tokens):
        return tokens
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        read = _interval(source, tokens, at + 1) if tokens[at].token_type == TokenType.INTERVAL else None
        if read is None:
            found.append(tokens[at])
            at += 1
        else:
            value, last = read
            found.append(source.aside(value, tokens[at], tokens[last]))
            at = last + 1
    return found


def _interval(source: Source, tokens: list[Token], at: int) -> tuple[Literal, int] | None:
    """The literal whose first value is at `at`, and the index of its last token; None for other expressions.

    Raises PredicateError for a literal that Spark refuses.
    """
    parts: list[tuple[str, str]] = []
    last = at
    while (value := _value(tokens, last)) is not None:
        text, end = value
        unit = _word(tokens, end + 1)
        if not unit or (parts and unit.upper().removesuffix("S") not in _UNITS):
            break
        if not parts and _word(tokens, end + 2).upper() == "TO":
            between = interval_between(text, unit, _word(tokens, end + 3))
            return _read(source, tokens, at, between, end + 3)
        parts.append((text, unit))
        last = end + 2
    if parts:
        return _read(source, tokens, at, interval_of(parts), last - 1)
    first = tokens[at] if at < len(tokens) else None
    if first is None or first.token_type != TokenType.STRING:
        return None
    return _read(source, tokens, at, interval_in(first.text), at)


def _read(source: Source, tokens: list[Token], at: int, found: Literal | None, last: int) -> tuple[Literal, int]:
    if found is None:
        piece = source.piece(tokens[at - 1], tokens[min(last, len(tokens) - 1)])
        forms = "INTERVAL 7 DAYS or INTERVAL '1 02:03:04' DAY TO SECOND"
        raise predicate_error(source.text, tokens[at].start, f"{piece} is not an interval, such as {forms}")
    return found, last


def _value(tokens: list[Token], at: int) -> tuple[str, int] | None:
    """A number or string with an optional sign, and the index of its last token."""
    sign = _SIGNS.get(tokens[at].token_type, "") if at < len(tokens) else ""
    end = at + 1 if sign else at
    if end >= len(tokens) or tokens[end].token_type not in (TokenType.NUMBER, TokenType.STRING):
        return None
    text = tokens[end].text
    return None if sign and text.strip()[:1] in ("+", "-") else (sign + text.lstrip(), end)


def _word(tokens: list[Token], at: int) -> str:
    return tokens[at].text if at < len(tokens) and tokens[at].token_type == TokenType.VAR else ""

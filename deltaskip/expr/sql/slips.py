"""Slips and words of other dialects that sqlglot reads, and Spark refuses."""

from __future__ import annotations

from itertools import pairwise

from deltaskip.expr.sql.dialect import Token, TokenType
from deltaskip.expr.sql.literals import predicate_error
from deltaskip.expr.sql.tokens import BEFORE_GROUP, GROUP

__all__ = ["refuse_slips"]

_AFTER_IS = frozenset(("NOT", "NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT"))
# Operators of other dialects. After an operand, Spark reads a word as the name of the result, or not at all.
_FOREIGN_WORDS = frozenset(("GLOB", "SIMILAR", "ISNULL", "NOTNULL", "OVERLAPS", "MATCH", "MATCHES", "SOUNDS"))
_QUANTIFIERS = frozenset(("ANY", "ALL", "SOME"))
_OPERANDS = (
    *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN, TokenType.R_BRACKET),
    *(TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.END),
)


def refuse_slips(text: str, tokens: list[Token]) -> None:
    """Raise PredicateError for a slip, with its place.

    Args:
        text: The predicate.
        tokens: Its tokens, with marked groups.
    """
    before: Token | None = None
    for token, after in pairwise([*tokens, None]):
        reason = _slip(before, token, after)
        if reason:
            at = after if after is not None and reason.startswith(("an operand", "IS is", "a value")) else token
            raise predicate_error(text, at.start, reason)
        before = token


def _slip(before: Token | None, token: Token | None, after: Token | None) -> str:
    """What is wrong at `token`; "" if nothing is."""
    if token is None:
        return ""
    kind, following = token.token_type, None if after is None else after.token_type
    starts = before is None or before.token_type in BEFORE_GROUP
    if after is not None and kind == following and kind in (TokenType.GT, TokenType.LT):
        return "an operand is missing" if token.end + 1 < after.start else ""
    if kind == TokenType.IS and (after is None or after.text.upper() not in _AFTER_IS):
        return "IS is followed by NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"
    # A name may follow in position('x' IN name).
    if kind == TokenType.IN and following not in (TokenType.L_PAREN, TokenType.VAR, TokenType.IDENTIFIER):
        return "IN needs a list in parentheses, such as IN (1, 2)"
    if kind in (TokenType.COMMA, TokenType.L_PAREN) and following == TokenType.COMMA:
        return "a value is missing"
    if kind == TokenType.COMMA and following in (TokenType.R_PAREN, TokenType.R_BRACKET):
        return "a value is missing"
    if kind == TokenType.L_PAREN and following == TokenType.R_PAREN and before is not None:
        grouping = before.token_type == TokenType.VAR and before.text == GROUP
        if grouping or before.text.upper() in _QUANTIFIERS:
            return "a value is missing"
    if kind == TokenType.L_BRACKET and starts:
        return "Spark writes arrays as array(…), and names with special characters as `name`"
    if kind == TokenType.STAR and (starts or (before is not None and before.token_type == TokenType.DOT)):
        return "a star is not a value"
    if kind == TokenType.PARAMETER:
        return "Spark writes parameters as :name or ?, with values in params"
    if kind == TokenType.VAR and before is not None and before.token_type in _OPERANDS:
        foreign = before.text != GROUP and token.text.upper() in _FOREIGN_WORDS and following != TokenType.L_PAREN
        return f"Spark has no operator {token.text.upper()}" if foreign else ""
    return ""

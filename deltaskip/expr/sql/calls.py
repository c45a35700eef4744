"""Calls that Spark refuses in WHERE: aggregates, windows and generators, and wrong numbers of arguments."""

from __future__ import annotations

from deltaskip.expr.spark_functions import AGGREGATES, ARGUMENT_COUNTS, GENERATORS, WINDOWS
from deltaskip.expr.sql.dialect import Token, TokenType
from deltaskip.expr.sql.lexer import CLOSING, OPENING, Source
from deltaskip.expr.sql.literals import predicate_error

__all__ = ["check_call"]

# Before these words, ANY, SOME and ALL are quantifiers, not functions.
_QUANTIFIED = (TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE, TokenType.EQ, TokenType.NEQ)
# Arguments that are separated by words: substring(s FROM 1 FOR 2), count(DISTINCT c), trim(BOTH 'x' FROM s).
_WORDS = frozenset(("FROM", "FOR", "PLACING", "IN", "AS", "DISTINCT", "ALL", "BOTH", "LEADING", "TRAILING", "USING"))


def check_call(source: Source, tokens: list[Token], at: int) -> None:
    """Raise PredicateError if the name at `at` begins a call that Spark refuses. Other functions may be the user's."""
    name = tokens[at].text.lower()
    qualified = at > 0 and tokens[at - 1].token_type == TokenType.DOT
    if qualified or at + 1 >= len(tokens) or tokens[at + 1].token_type != TokenType.L_PAREN:
        return
    if at and tokens[at - 1].token_type in _QUANTIFIED and name in ("any", "some", "all"):
        return
    for names, kind in ((AGGREGATES, "an aggregate"), (WINDOWS, "a window"), (GENERATORS, "a generator")):
        if name in names:
            reason = f"{name} is {kind} function, which a predicate of rows cannot call"
            raise predicate_error(source.text, tokens[at].start, reason)
    if name in ARGUMENT_COUNTS:
        least, most = ARGUMENT_COUNTS[name]
        count = _arguments(tokens, at + 1)
        if count is not None and (count < least or (most is not None and count > most)):
            takes = str(least) if least == most else f"{least} or {'more' if most is None else most}"
            if most is not None and most > least + 1:
                takes = f"{least} to {most}"
            arguments = "argument" if takes == "1" else "arguments"
            raise predicate_error(source.text, tokens[at].start, f"{name} takes {takes} {arguments}, not {count}")


def _arguments(tokens: list[Token], at: int) -> int | None:
    """The number of arguments in the parentheses that open at `at`; None if words separate or qualify them."""
    depth = count = 0
    for index in range(at, len(tokens)):
        token = tokens[index]
        kind = token.token_type
        if kind in OPENING:
            depth += 1
        elif kind in CLOSING:
            depth -= 1
            if depth == 0:
                return 0 if index == at + 1 else count + 1
        elif depth == 1:
            if kind == TokenType.COMMA:
                count += 1
            elif kind in (TokenType.STAR, TokenType.ALIAS, TokenType.FARROW) or token.text.upper() in _WORDS:
                return None
    return None

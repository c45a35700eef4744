"""Conjunctions of plain comparisons, the most frequent predicates, parsed without sqlglot, which takes long to import.

    name op literal | name IS [NOT] NULL | name BETWEEN literal AND literal | name IN (literal, …)     joined by AND

Soundness: an accepted text has the node that `parse.py` makes of it. All other text is left to `parse.py`, and with it
every error: text with an escape, a comment, a parenthesis other than that of IN, or a word of the grammar as a name.

# Spark 4.1, SqlBaseParser.g4: booleanExpression, predicate, constant
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deltaskip.expr.literal_list import SHORTEST
from deltaskip.expr.nodes import And, Column, Compare, In, IsNull, Literal, Node, Not, Opaque
from deltaskip.expr.sql.literals import TYPED_LITERALS, is_number, number_literal, typed_literal
from deltaskip.schema.types import STRING

__all__ = ["WORDS", "plain_node"]

WORDS = frozenset(
    (
        *("AND", "OR", "NOT", "IS", "NULL", "TRUE", "FALSE", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP"),
        *("ESCAPE", "CASE", "WHEN", "THEN", "ELSE", "END", "AS", "FROM", "COLLATE", "DIV", "INTERVAL"),
    )
)
"""Words of expressions, in upper case. Every other word is a name, so that columns and functions may have it."""

_MOST_CHARACTERS = 1 << 16
"""So that no tree is too large for its passes (expr.nodes, MAX_NODES)."""
_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<word>[A-Za-z_][A-Za-z0-9_]*)|`(?P<quoted>[^`]+)`|'(?P<string>[^'\\]*)'"
    r"|(?P<number>-?[0-9][0-9A-Za-z_.]*)|(?P<sign><=|>=|==|!=|<>|[=<>(),.]))",
    re.ASCII,
)
_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

_Token = tuple[str, str]
"""Kind (a group of _TOKEN) and text; of a word of the grammar, "sign" and the word in upper case."""


class _Other(Exception):
    """The text is not a plain conjunction."""


def plain_node(text: str) -> Node | None:
    """Return the node of a plain conjunction; None for all other text, whether or not it is a predicate."""
    if len(text) > _MOST_CHARACTERS:
        return None
    try:
        tokens = _tokens(text)
        legs = [_leg(tokens)]
        while (following := next(tokens)) == ("sign", "AND"):
            legs.append(_leg(tokens))
        if following != _END:
            return None
    except (_Other, StopIteration, ValueError):
        return None
    return legs[0] if len(legs) == 1 else And(tuple(legs))


_END = ("sign", "")


def _tokens(text: str) -> Iterator[_Token]:
    stop = len(text.rstrip(" \t\r\n"))
    at = 0
    while at < stop:
        match = _TOKEN.match(text, at, stop)
        if match is None:
            raise _Other
        kind, found = match.lastgroup or "", match[match.lastgroup or 0]
        upper = found.upper()
        yield ("sign", upper) if kind == "word" and upper in WORDS else (kind, found)
        at = match.end()
    yield _END


def _leg(tokens: Iterator[_Token]) -> Node:
    parts = [_name(next(tokens))]
    kind, sign = next(tokens)
    if sign == ".":
        parts.append(_name(next(tokens)))
        kind, sign = next(tokens)
    if kind != "sign":
        raise _Other
    column = Column(tuple(parts))
    if sign in _COMPARISONS:
        return Compare(_COMPARISONS[sign], column, _literal(tokens))
    match sign:
        case "IS":
            word = next(tokens)
            if word == ("sign", "NOT"):
                _expect(tokens, "NULL")
                return Not(IsNull(column))
            if word == ("sign", "NULL"):
                return IsNull(column)
            raise _Other
        case "BETWEEN":
            low = _literal(tokens)
            _expect(tokens, "AND")
            return And((Compare(">=", column, low), Compare("<=", column, _literal(tokens))))
        case "IN":
            _expect(tokens, "(")
            values = [_literal(tokens)]
            while (following := next(tokens)) == ("sign", ","):
                values.append(_literal(tokens))
            if following != ("sign", ")") or len(values) >= SHORTEST:
                raise _Other
            return In(column, tuple(values))
        case _:
            raise _Other


def _name(token: _Token) -> str:
    if token[0] not in ("word", "quoted"):
        raise _Other
    return token[1]


def _literal(tokens: Iterator[_Token]) -> Node:
    kind, text = next(tokens)
    if kind == "string":
        return Literal(text, STRING)
    if kind == "number" and is_number(text.removeprefix("-")):
        return number_literal(text.removeprefix("-"), text.startswith("-"))
    if kind == "word" and text.upper() in TYPED_LITERALS:
        kind, value = next(tokens)
        node = typed_literal(text.upper(), value) if kind == "string" else None
        if node is not None and not isinstance(node, Opaque):
            return node
    raise _Other


def _expect(tokens: Iterator[_Token], sign: str) -> None:
    if next(tokens) != ("sign", sign):
        raise _Other

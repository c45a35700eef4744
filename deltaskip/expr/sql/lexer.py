"""Names, numbers and strings of a predicate, each as one token, with the text between tokens checked.

The extent and value of literals follow Spark: sqlglot's escapes and suffixes are those of many dialects.

# Spark 4.1, SqlBaseLexer.g4
"""

from __future__ import annotations

import re
from dataclasses import field

from deltaskip.expr.literal_list import LiteralList
from deltaskip.expr.nodes import Literal, Node
from deltaskip.expr.sql.dialect import SqlglotError, Token, TokenType, new_token, tokenize
from deltaskip.expr.sql.in_lists import STUB, LongList, cut_long_lists
from deltaskip.expr.sql.literals import (
    TYPED_LITERALS,
    is_number,
    is_string,
    predicate_error,
    string_value,
    typed_literal,
)
from deltaskip.expr.sql.parameters import parameters_in
from deltaskip.records import dataclass
from deltaskip.schema.types import STRING

__all__ = ["CLOSING", "NAMES", "OPENING", "PREFIXES", "STRINGS", "Source", "Unreadable", "spelled"]

OPENING, CLOSING = (TokenType.L_PAREN, TokenType.L_BRACKET), (TokenType.R_PAREN, TokenType.R_BRACKET)
NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
PREFIXES = (TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE)
STRINGS = (TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING)
_WORD = re.compile(r"\w+")
_LINE_END = re.compile(r"[\r\n]")
_CLOSED = re.compile(r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|`[^`]*`|[^'"`/]+|/(?!\*)|/\*.*?\*/""", re.DOTALL)
# After these a string may not be a plain string literal.
_BEFORE_STRING = (TokenType.VAR, TokenType.INTERVAL, TokenType.ESCAPE, *PREFIXES)
_BEFORE_DOT = (*NAMES, *CLOSING, TokenType.NUMBER)
_FOREIGN = (TokenType.L_BRACE, TokenType.R_BRACE, TokenType.HASH, TokenType.BACKSLASH)


class Unreadable(Exception):
    """Spark reads the text differently from sqlglot: its meaning is not known."""


@dataclass(slots=True)
class Source:
    """A predicate's text, and the nodes of the pieces that were parsed separately, by their source."""

    text: str
    meaning: dict[str, Node | tuple[Literal, ...] | LiteralList] = field(default_factory=dict)

    def piece(self, first: Token, last: Token) -> str:
        """The text from the first token to the end of the last."""
        return self.text[first.start : last.end + 1]

    def aside(self, node: Node | tuple[Literal, ...] | LiteralList, first: Token, last: Token) -> Token:
        """A token that represents `node`."""
        piece = self.piece(first, last)
        self.meaning[piece] = node
        return new_token(TokenType.NUMBER, piece, first, last)


def spelled(source: Source) -> list[Token]:
    """Tokens with complete literals. Raises PredicateError for text that is no token of Spark SQL, and Unreadable."""
    tokens = _placed(source)
    for start, stop, name in parameters_in(tokens):
        given = "params=[…]" if name is None else f"params={{{name!r}: …}}"
        reason = f"the parameter {source.text[start:stop]} has no value: pass {given}, or write the value as a literal"
        raise predicate_error(source.text, start, reason)
    return _whole_literals(source, tokens)


def _placed(source: Source) -> list[Token]:
    """sqlglot's tokens at their places in the complete text, with each long list as one token."""
    text = source.text
    short, lists = cut_long_lists(text)
    try:
        tokens = tokenize(short)
    except SqlglotError:
        raise predicate_error(text, _unclosed(text), "a quote or a comment is not closed") from None
    if lists:
        _place_lists(source, tokens, lists)
    end = 0
    for token in tokens:
        if token.start > end and not text[end : token.start].isspace():
            _check_gap(text, end, token.start)
        end = token.end + 1
    _check_gap(text, end, len(text))
    return tokens


def _place_lists(source: Source, tokens: list[Token], lists: list[LongList]) -> None:
    pending, moved = iter(lists), 0
    start, end, values = next(pending)
    for token in tokens:
        token.start += moved
        token.end += moved
        if token.start == start:
            moved += end - start - len(STUB)
            token.end = end - 1
            token.text = source.text[start:end]
            source.meaning[token.text] = values
            start, end, values = next(pending, (-1, -1, ()))


def _check_gap(text: str, start: int, end: int) -> None:
    """Raise unless there are only blanks and comments between two tokens."""
    at = start
    while at < end:
        if text[at].isspace():
            at += 1
        elif text.startswith("--", at):
            stop = _LINE_END.search(text, at)
            at = stop.start() if stop is not None else end
            # A backslash extends the comment to the next line.
            if text[at - 1] == "\\":
                raise Unreadable
        elif text.startswith("/*", at):
            at = _comment_end(text, at)
        else:
            raise predicate_error(text, at, "this is not a token of Spark SQL")


def _comment_end(text: str, start: int) -> int:
    """End of a bracketed comment. They can be nested."""
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


def _unclosed(text: str) -> int:
    at = 0
    while match := _CLOSED.match(text, at):
        at = match.end()
    return at


def _whole_literals(source: Source, tokens: list[Token]) -> list[Token]:
    """Tokens with each string, number and typed literal as one token, and names without quotes."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        kind = token.token_type
        last = at
        if kind == TokenType.VAR or kind == TokenType.NUMBER or kind == TokenType.DOT:
            last = _append_word(source, tokens, at, found)
        elif kind == TokenType.STRING or kind == TokenType.RAW_STRING or kind == TokenType.NATIONAL_STRING:
            last = _append_string(source, tokens, at, found)
        elif kind == TokenType.IDENTIFIER:
            token.text = source.piece(token, token)[1:-1].replace("``", "`")
            found.append(token)
        elif kind == TokenType.SEMICOLON:
            raise predicate_error(source.text, token.start, "a predicate is one expression, without a semicolon")
        elif kind in _FOREIGN:
            raise predicate_error(source.text, token.start, "this is not a token of Spark SQL")
        else:
            found.append(token)
        at = last + 1
    return found


def _append_word(source: Source, tokens: list[Token], at: int, found: list[Token]) -> int:
    """Append the name, number or dot at `at`; return the index of its last token."""
    token, last = tokens[at], at
    behind_name = bool(found) and found[-1].end + 1 == token.start and found[-1].token_type in _BEFORE_DOT
    after_dot = bool(found) and found[-1].token_type == TokenType.DOT
    if token.token_type != TokenType.DOT or not behind_name:
        while (
            last + 1 < len(tokens)
            and tokens[last + 1].token_type in (TokenType.VAR, TokenType.NUMBER)
            and (tokens[last + 1].start == tokens[last].end + 1)
        ):
            last += 1
    piece = source.piece(token, tokens[last])
    if piece in source.meaning:
        found.append(token)
    elif not after_dot and is_number(piece):
        found.append(new_token(TokenType.NUMBER, piece, token, tokens[last]))
    elif token.token_type == TokenType.DOT:
        found.append(token)
        return at
    elif _WORD.fullmatch(piece):
        found.append(
            token
            if last == at and token.token_type == TokenType.VAR
            else new_token(TokenType.VAR, piece, token, tokens[last])
        )
    else:
        raise predicate_error(source.text, token.start, f"{piece} is neither a name nor a number")
    return last


def _append_string(source: Source, tokens: list[Token], at: int, found: list[Token]) -> int:
    """Append the literal of the strings from `at` on, with the word before them; return the index of its last token."""
    pieces: list[str] = []
    last = at - 1
    while last + 1 < len(tokens) and tokens[last + 1].token_type in STRINGS:
        last = first = last + 1
        quote = source.text[tokens[first].start]
        # sqlglot reads a doubled quote as two strings.
        while (
            last + 1 < len(tokens)
            and tokens[last + 1].token_type == TokenType.STRING
            and tokens[last + 1].start == tokens[last].end + 1
            and source.text[tokens[last + 1].start] == quote
        ):
            last += 1
        pieces.append(source.piece(tokens[first], tokens[last]))
        if not is_string(pieces[-1]):
            raise predicate_error(source.text, tokens[first].start, "this is not a token of Spark SQL")
    value = "".join(map(string_value, pieces))
    found.append(_string_token(source, tokens[at], tokens[last], value, found))
    return last


def _string_token(source: Source, first: Token, last: Token, value: str, found: list[Token]) -> Token:
    before = found[-1] if found else None
    qualified = len(found) > 1 and found[-2].token_type == TokenType.DOT
    if before is None or before.token_type not in _BEFORE_STRING:
        return source.aside(Literal(value, STRING), first, last)
    word = before.text.upper()
    if before.token_type == TokenType.VAR and word in TYPED_LITERALS and not qualified:
        found.pop()
        try:
            return source.aside(typed_literal(word, value), before, last)
        except ValueError as error:
            raise predicate_error(source.text, first.start, str(error)) from error
    if before.token_type in PREFIXES and not (len(found) > 1 and found[-2].token_type == TokenType.INTERVAL):
        return source.aside(Literal(value, STRING), first, last)
    if before.token_type == TokenType.ESCAPE and len(value) != 1:
        raise predicate_error(source.text, first.start, "ESCAPE requires a string of one character")
    return new_token(TokenType.STRING, value, first, last)

"""Tokens of a predicate for sqlglot's parser: complete literals, marked groups, queries folded.

A NUMBER token represents each literal and each piece that was parsed separately. Its text is its source, and
`Source.meaning` has its node unless it is a plain number or string.
"""

from __future__ import annotations

from deltaskip.errors import PredicateError
from deltaskip.expr.nodes import MAX_DEPTH, Opaque
from deltaskip.expr.sql.calls import check_call
from deltaskip.expr.sql.dialect import Token, TokenType, columns_in, new_token
from deltaskip.expr.sql.interval_literals import with_intervals
from deltaskip.expr.sql.lexer import CLOSING, NAMES, OPENING, PREFIXES, STRINGS, Source, Unreadable, spelled
from deltaskip.expr.sql.literals import predicate_error
from deltaskip.expr.type_names import DECIMAL_NAMES, TYPE_NAMES, type_named
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
)

__all__ = ["BEFORE_GROUP", "GROUP", "enclosing_call", "fold", "read_tokens"]

# Name of the function that replaces a parenthesis around an expression. sqlglot adds parentheses of its own, which must
# be distinguished from those in the text.
GROUP = ""

_QUERY_WORDS = frozenset(("SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"))
_AFTER_CALL = frozenset(("OVER", "FILTER", "WITHIN", "IGNORE", "RESPECT"))
# After these a parenthesis groups an expression.
BEFORE_GROUP = frozenset(
    (
        *(TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.BETWEEN, TokenType.CASE, TokenType.WHEN),
        *(TokenType.THEN, TokenType.ELSE, TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.COMMA, TokenType.EQ),
        *(TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ),
        *(TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD, TokenType.DIV),
        *(TokenType.DPIPE, TokenType.AMP, TokenType.PIPE, TokenType.CARET, TokenType.TILDE, TokenType.LIKE),
        *(TokenType.ILIKE, TokenType.RLIKE, TokenType.FROM),
    )
)
_FUNCTION_WORDS = (TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE, TokenType.DIV, TokenType.BETWEEN)
_KEYWORDS = frozenset(
    (
        *(*_FUNCTION_WORDS, TokenType.AND, TokenType.OR, TokenType.IS, TokenType.NULL, TokenType.TRUE),
        *(TokenType.FALSE, TokenType.IN, TokenType.ESCAPE, TokenType.CASE, TokenType.WHEN),
        *(TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.ALIAS, TokenType.FROM, TokenType.COLLATE),
        *(TokenType.INTERVAL,),
    )
)
# Casts to types that are not listed here are folded.
_TOKEN_OF_TYPE = {
    BOOLEAN: TokenType.BOOLEAN,
    BYTE: TokenType.TINYINT,
    SHORT: TokenType.SMALLINT,
    INTEGER: TokenType.INT,
    LONG: TokenType.BIGINT,
    FLOAT: TokenType.FLOAT,
    DOUBLE: TokenType.DOUBLE,
    DATE: TokenType.DATE,
    TIMESTAMP: TokenType.TIMESTAMPTZ,
    TIMESTAMP_NTZ: TokenType.TIMESTAMPNTZ,
    STRING: TokenType.TEXT,
    BINARY: TokenType.BINARY,
}
# Types that casts are folded for.
_OTHER_TYPES = frozenset(("interval", "time", "char", "character", "varchar", "array", "map", "struct", "geometry"))
_TYPE_KINDS = {
    **dict.fromkeys(DECIMAL_NAMES, TokenType.DECIMAL),
    **{name: _TOKEN_OF_TYPE[type_] for name, type_ in TYPE_NAMES.items() if type_ in _TOKEN_OF_TYPE},
}


def read_tokens(source: Source) -> list[Token]:
    """Tokens for sqlglot's parser. Raises PredicateError for text that is not a token of Spark SQL, and Unreadable."""
    return _marked(source, with_intervals(source, spelled(source)))


def fold(source: Source, tokens: list[Token], first: int, last: int) -> list[Token]:
    """`tokens` with those from `first` to `last` folded into one opaque piece."""
    return [*tokens[:first], _opaque(source, tokens[first], tokens[last]), *tokens[last + 1 :]]


def enclosing_call(tokens: list[Token], at: int) -> tuple[int, int] | None:
    """First and last token of the innermost call, group or list around token `at`; None if there is none."""
    closing = _closing(tokens)
    around = [(first, last) for first, last in closing.items() if first < at <= last]
    if not around:
        return None
    first, last = max(around)
    if first == 0 or tokens[first - 1].token_type == TokenType.IN:
        return (first + 1, last - 1) if last - first > 1 and first else None
    return (_name_start(tokens, first - 1), last) if tokens[first - 1].token_type in NAMES else (first, last)


def _marked(source: Source, tokens: list[Token]) -> list[Token]:
    """Tokens with GROUP before each grouping parenthesis; queries, windows and unusual types are folded."""
    closing = _closing(tokens)
    found: list[Token] = []
    opened: list[int] = []
    cases = prefixes = at = 0
    while at < len(tokens):
        token = _retagged(source, tokens, at, found)
        kind = token.token_type
        cases += (kind == TokenType.CASE) - (kind == TokenType.END)
        prefixes = prefixes + 1 if kind in PREFIXES else 0
        if len(opened) + max(cases, 0) > MAX_DEPTH or prefixes > MAX_DEPTH // 2:
            raise Unreadable
        if kind in OPENING:
            last = closing.get(at, at)
            if found and found[-1].token_type == TokenType.IN and last == at + 1:
                raise predicate_error(source.text, tokens[last].start, "the list of IN is empty")
            if _begins_query(tokens, at) and last > at + 1:
                at = _append_query(source, tokens, at, last, found)
                continue
            grouping = not found or found[-1].token_type in BEFORE_GROUP
            arrow = last + 1 < len(tokens) and tokens[last + 1].token_type == TokenType.ARROW
            if kind == TokenType.L_PAREN and grouping and not arrow:
                found.append(new_token(TokenType.VAR, GROUP, token, token))
            opened.append(len(found))
        elif kind == TokenType.VAR and not (at + 1 < len(tokens) and _begins_query(tokens, at + 1)):
            check_call(source, tokens, at)
        elif kind in (TokenType.ALIAS, TokenType.DCOLON):
            at = _append_type(source, tokens, at, found, opened)
            continue
        elif kind == TokenType.COLON and found and found[-1].token_type not in BEFORE_GROUP:
            at = _append_path(source, tokens, at, closing, found)
            continue
        elif kind in CLOSING and opened:
            first = opened.pop()
            called = kind == TokenType.R_PAREN and first > 0 and found[first - 1].token_type in NAMES
            if called and found[first - 1].text and _word(tokens, at + 1) in _AFTER_CALL:
                at = _append_window(source, tokens, at, first, found)
                continue
        found.append(token)
        at += 1
    return found


def _retagged(source: Source, tokens: list[Token], at: int, found: list[Token]) -> Token:
    """The token at `at`, as a name if its word is not a keyword there."""
    token = tokens[at]
    kind = token.token_type
    if kind not in _KEYWORDS:
        return token
    before = found[-1].token_type if found else None
    after = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    named = before == TokenType.DOT or (after == TokenType.DOT and kind != TokenType.END)
    if kind == TokenType.FROM:
        words = [t.text.upper() for t in found[-3:]]
        named = named or not (words[-1:] == ["DISTINCT"] or words[:2] == ["EXTRACT", "("])
    elif kind == TokenType.ALIAS:
        named = named or after not in NAMES
    elif kind in _FUNCTION_WORDS and after == TokenType.L_PAREN:
        ahead = found[-2].token_type if before == TokenType.NOT and len(found) > 1 else before
        named = (
            named
            or before is None
            or (ahead in BEFORE_GROUP and before != TokenType.NOT)
            or (before == TokenType.NOT and (len(found) < 2 or ahead in BEFORE_GROUP))
        )
    return new_token(TokenType.VAR, source.piece(token, token), token, token) if named else token


def _append_type(source: Source, tokens: list[Token], at: int, found: list[Token], opened: list[int]) -> int:
    """Append AS or `::` and the primitive type after it, or fold the CAST around it; return the index after."""
    last = _type_end(source, tokens, at + 1)
    token = tokens[at]
    after = tokens[last + 1].token_type if last is not None and last + 1 < len(tokens) else None
    if token.token_type == TokenType.DCOLON:
        if last is None or after in (*NAMES, TokenType.L_BRACKET, TokenType.COLLATE):
            raise Unreadable
    elif last is None or after != TokenType.R_PAREN:
        _check_type_name(source, tokens, at + 1, opened, found)
        if not opened or found[opened[-1] - 1].token_type != TokenType.VAR:
            raise Unreadable
        first = opened.pop() - 1
        close = next((close for open_, close in _closing(tokens).items() if tokens[open_] is found[first + 1]), None)
        if close is None:
            raise Unreadable
        found[first:] = [_opaque(source, found[first], tokens[close])]
        return close + 1
    name = tokens[at + 1]
    kind = _TYPE_KINDS[name.text.lower()]
    found += token, new_token(kind, name.text.upper(), name, name), *tokens[at + 2 : last + 1]
    return last + 1


def _check_type_name(source: Source, tokens: list[Token], at: int, opened: list[int], found: list[Token]) -> None:
    """Raise for a name after AS in CAST that no type of Spark has."""
    if at + 1 >= len(tokens) or not opened or opened[-1] < 1 or tokens[at + 1].token_type != TokenType.R_PAREN:
        return
    cast, name = found[opened[-1] - 1], tokens[at]
    known = name.text.lower() in (*TYPE_NAMES, *_OTHER_TYPES, *DECIMAL_NAMES)
    if cast.text.upper() in ("CAST", "TRY_CAST") and name.token_type == TokenType.VAR and not known:
        raise predicate_error(source.text, name.start, f"{name.text} is not a type of Spark SQL")


def _type_end(source: Source, tokens: list[Token], at: int) -> int | None:
    """Index of the last token of the primitive type at `at`; None for other types."""
    kinds = [token.token_type for token in tokens[at : at + 6]]
    name = tokens[at].text.lower() if kinds and kinds[0] == TokenType.VAR else ""
    if name not in _TYPE_KINDS or kinds[1:2] == [TokenType.LT]:
        return None
    if kinds[1:2] != [TokenType.L_PAREN]:
        return at
    one = [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN]
    two = [*one[:2], TokenType.COMMA, *one[1:]]
    if name not in DECIMAL_NAMES or not (kinds[1:4] == one or kinds[1:6] == two):
        return None
    last = at + 3 if kinds[1:4] == one else at + 5
    try:
        type_named(source.piece(tokens[at], tokens[last]))
    except PredicateError as error:
        raise predicate_error(source.text, tokens[at].start, str(error).rstrip(".")) from error
    return last


def _append_path(source: Source, tokens: list[Token], at: int, closing: dict[int, int], found: list[Token]) -> int:
    """Fold a path into a variant, `v:a.b[0]`, whose colon is at `at`; return the index after."""
    if found[-1].token_type not in NAMES or _path_step(tokens, at + 1, closing) == at:
        raise predicate_error(source.text, tokens[at].start, "the colon does not follow a variant")
    last = _path_step(tokens, at + 1, closing)
    while last + 1 < len(tokens) and (
        tokens[last + 1].token_type == TokenType.DOT or tokens[last + 1].token_type == TokenType.L_BRACKET
    ):
        step = _path_step(tokens, last + 1 + (tokens[last + 1].token_type == TokenType.DOT), closing)
        if step <= last + 1 and tokens[last + 1].token_type == TokenType.DOT:
            break
        last = step
    start = _name_start(found, len(found) - 1)
    found[start:] = [_opaque(source, found[start], tokens[last])]
    return last + 1


def _path_step(tokens: list[Token], at: int, closing: dict[int, int]) -> int:
    """Index of the last token of the name or subscript at `at`; the one before if there is none."""
    if at < len(tokens) and tokens[at].token_type in NAMES:
        return at
    return closing.get(at, at - 1) if at < len(tokens) and tokens[at].token_type == TokenType.L_BRACKET else at - 1


def _begins_query(tokens: list[Token], at: int) -> bool:
    """Whether the parenthesis at `at` contains a query."""
    word = _word(tokens, at + 1)
    if word not in _QUERY_WORDS or tokens[at].token_type != TokenType.L_PAREN or at + 2 >= len(tokens):
        return False
    after = tokens[at + 2].token_type
    if word == "SELECT":
        return after not in (TokenType.COMMA, TokenType.R_PAREN, TokenType.DOT, TokenType.EQ)
    return after in (*NAMES, *STRINGS, TokenType.NUMBER) or (word == "VALUES" and after == TokenType.L_PAREN)


def _append_query(source: Source, tokens: list[Token], at: int, last: int, found: list[Token]) -> int:
    if found and found[-1].token_type == TokenType.IN:
        found += tokens[at], _opaque(source, tokens[at + 1], tokens[last - 1]), tokens[last]
    elif found and found[-1].token_type in NAMES:
        first = _name_start(found, len(found) - 1)
        found[first:] = [_opaque(source, found[first], tokens[last])]
    else:
        found.append(_opaque(source, tokens[at], tokens[last]))
    return last + 1


def _append_window(source: Source, tokens: list[Token], at: int, first: int, found: list[Token]) -> int:
    """Fold the call that closes at `at` with its FILTER, IGNORE NULLS and OVER; return the index after."""
    closing = _closing(tokens)
    last = at
    while _word(tokens, last + 1) in _AFTER_CALL:
        last += 2
        while _word(tokens, last) == "GROUP":
            last += 1
        last = min(closing.get(last, last), len(tokens) - 1)
    start = _name_start(found, first - 1)
    found[start:] = [_opaque(source, found[start], tokens[last])]
    return last + 1


def _opaque(source: Source, first: Token, last: Token) -> Token:
    piece = source.piece(first, last)
    return source.aside(Opaque(piece, columns_in(piece)), first, last)


def _closing(tokens: list[Token]) -> dict[int, int]:
    """Index of each closing parenthesis or bracket by that of its opening one."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.token_type in OPENING:
            opened.append(index)
        elif token.token_type in CLOSING and opened:
            found[opened.pop()] = index
    return found


def _name_start(tokens: list[Token], at: int) -> int:
    while at > 1 and tokens[at - 1].token_type == TokenType.DOT and tokens[at - 2].token_type in NAMES:
        at -= 2
    return at


def _word(tokens: list[Token], at: int) -> str:
    """The unquoted word at `at` in upper case; empty if there is none."""
    found = at < len(tokens) and tokens[at].token_type in (TokenType.VAR, TokenType.FROM)
    return tokens[at].text.upper() if found else ""

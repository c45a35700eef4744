"""Tokenizes SQL text of expressions, columns, ALTER TABLE and statements, with Spark's quotes and escapes.

# Spark 4.1, SqlBaseLexer.g4 and SparkParserUtils.unescapeSQLString
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from deltaskip.errors import SchemaError
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass

HINT = "/*+"
"""The symbol that begins a hint. A hint is a comment in statements and is not part of an expression."""
# The longest token wins, as in Spark. If a letter, a digit or `_` follows a number with a dot, the dot is a token: 1.5x
# is 1 . 5x.
_TOKEN = regex(
    r"""(?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+")
    |(?P<number>(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[bB][dD]|[fFdD])?(?![A-Za-z0-9_])
        |[0-9]+[eE][+-][0-9]+(?:[bB][dD]|[fFdD])?))
    |(?P<word>\w+)
    |(?P<name>`(?:[^`]++|``)*+`)
    |(?P<symbol><=>|<=|>=|!=|<>|==|!<|!>|\|\||\|>|->|=>|::|<<|/\*\+|[^'"`])""",
    re.DOTALL | re.VERBOSE,
)
_WHOLE_NUMBER = regex(r"[0-9]+(?:[LSYlsy]|(?:[eE][0-9]+)?(?:[bB][dD]|[fFdD])?)")
_ESCAPE = regex(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-1][0-7]{2})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_BLANKS = (
    " \t\n\f\r\v\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u202f\u205f\u3000"
)
_BLANK = regex(rf"(?:[{_BLANKS}]++|--(?:\\\n|[^\r\n])*+)++")
_BLANK_STARTS = frozenset(_BLANKS + "-/")
_EXCERPT = 150
# The tokens of texts that are not longer are kept: a query is read for its tables, joins, order and predicates.
_SHORT = 1 << 12


@dataclass(slots=True)
class SqlToken:
    """A token of SQL text: a `word`, a quoted `name`, a `string`, a `number`, or an operator or sign as a `symbol`.

    The shifts `>>` and `>>>` are adjacent symbols `>`, because nested types also end in `>>`.

    Attributes:
        kind: word, name, string, number or symbol.
        text: The word, number or symbol as written, the name without quotes, or the string's value.
        start: The offset of its first character.
        end: The offset after its last character.
    """

    kind: str
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether this is one of the words, given in upper case. A quoted name is not a word."""
        return self.kind == "word" and self.text.upper() in words

    def is_symbol(self, symbol: str) -> bool:
        """Whether this is the symbol."""
        return self.kind == "symbol" and self.text == symbol


class Unclosed(Exception):
    """A quote or a bracketed comment that is not closed."""

    def __init__(self, at: int, reason: str) -> None:
        self.at = at
        self.reason = reason


def sql_tokens(text: str) -> list[SqlToken]:
    """Return the tokens of `text`, without blanks, comments and hints.

    Raises SchemaError for a quote or a bracketed comment that is not closed.
    """
    return list((_tokens if len(text) <= _SHORT else _tokens.__wrapped__)(text))


@lru_cache(1 << 6)
def _tokens(text: str) -> tuple[SqlToken, ...]:
    found: list[SqlToken] = []
    at = 0
    try:
        while (token := sql_token(text, at)) is not None:
            if token.is_symbol(HINT):
                at = comment_end(text, token.start)
                continue
            found.append(token)
            at = token.end
    except Unclosed as error:
        raise sql_error(text, error.at, error.reason) from None
    return tuple(found)


def sql_token(text: str, at: int) -> SqlToken | None:
    """Return the first token from `at` on, after blanks and comments; None at the end. Raises Unclosed."""
    at = _skipped(text, at)
    if at >= len(text):
        return None
    match = _TOKEN.match(text, at)
    if match is None:
        escaped = "; a backslash before a quote is written twice" if f"\\{text[at]}" in text[at:] else ""
        raise Unclosed(at, f"a quote is not closed{escaped}")
    kind, source, end = match.lastgroup or "", match[0], match.end()
    match kind:
        case "string":
            source = _string_value(source)
        case "name":
            source = source[1:-1].replace("``", "`")
        case "word" if source[0].isdigit() and _WHOLE_NUMBER.fullmatch(source):
            kind = "number"
    return SqlToken(kind, source, at, end)


def comment_end(text: str, start: int) -> int:
    """Return the end of the bracketed comment at `start`, which may contain other comments. Raises Unclosed."""
    depth, at = 1, start + 2
    while depth:
        opened, closed = text.find("/*", at), text.find("*/", at)
        if closed < 0:
            raise Unclosed(start, "the comment is not closed")
        depth, at = (depth + 1, opened + 2) if 0 <= opened < closed else (depth - 1, closed + 2)
    return at


def quoted_name(name: str) -> str:
    """Return a name in backticks, which SQL accepts for any characters."""
    return "`" + name.replace("`", "``") + "`"


def quoted_path(parts: tuple[str, ...]) -> str:
    """Return the path of a nested field with each part in backticks."""
    return ".".join(map(quoted_name, parts))


def quoted_text(text: str) -> str:
    """Return a string as an SQL literal, with backslash escapes, to be shown; see `sql_string`."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def sql_string(text: str) -> str:
    """Return a string as an SQL expression that means the same under every setting of a session's parser.

    # Spark 4.1, ParserUtils.string, VariableSubstitution: settings decide whether a backslash is an escape, whether two
    # quotes are one, and whether ${…} is a variable. A binary literal has none of these characters.
    """
    if text.isprintable() and not any(each in text for each in "'\\$"):
        return f"'{text}'"
    return f"CAST(X'{text.encode('utf-8', 'surrogatepass').hex()}' AS STRING)"


def with_names(text: str, replaced: Callable[[tuple[str, ...]], tuple[int, str]]) -> str:
    """Return an expression with the first parts of names replaced, such as `t` of `t.id`. Invalid SQL is unchanged.

    replaced: Returns, for the parts of a name, the number of leading parts to replace, and the replacing SQL text with
    its dot. The last part is `*` for all columns.
    """
    try:
        tokens = sql_tokens(text)
    except SchemaError:
        # The parser refuses the text later, with its position.
        return text
    kept: list[str] = []
    end = at = 0
    while at < len(tokens):
        if tokens[at].kind not in ("word", "name"):
            at += 1
            continue
        first, at = at, at + 1
        while at + 1 < len(tokens) and tokens[at].is_symbol(".") and _follows_dot(tokens[at + 1]):
            at += 2
        named = tokens[first:at:2]
        if len(named) == 1 or (first and tokens[first - 1].is_symbol(".")):
            continue
        count, instead = replaced(tuple(token.text for token in named))
        if count:
            kept += text[end : named[0].start], instead
            end = tokens[first + 2 * count - 1].end
    return "".join([*kept, text[end:]])


def sql_error(text: str, at: int, reason: str) -> SchemaError:
    """Return the error for SQL text that cannot be parsed, with reason, line, column, and the text."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    first = max(0, at - _EXCERPT)
    shown = f"{'… ' if first else ''}{text[first : at + _EXCERPT]}{' …' if len(text) > at + _EXCERPT else ''}"
    return SchemaError(f"Cannot parse the SQL text at line {line}, column {column}: {reason}; in: {shown}")


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Line and column of an offset in a text, both counted from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _follows_dot(token: SqlToken) -> bool:
    return token.kind in ("word", "name") or token.is_symbol("*")


def _skipped(text: str, at: int) -> int:
    """The end of the blanks and comments at `at`."""
    while at < len(text) and text[at] in _BLANK_STARTS:
        blank = _BLANK.match(text, at)
        if blank is not None:
            at = blank.end()
        elif text.startswith("/*", at) and not text.startswith(HINT, at):
            at = comment_end(text, at)
        else:
            break
    return at


def _string_value(source: str) -> str:
    """The value of a string literal, with Spark's escapes, doubled quotes and raw strings."""
    if source[0] in "rR":
        return source[2:-1]
    quote, body = source[0], source[1:-1]
    body = body.replace(quote * 2, quote) if "\\" not in body else _undouble(body, quote)
    if "\\" not in body:
        return body
    decoded = _ESCAPE.sub(_unescape, body)
    # A surrogate pair of \u escapes is one character.
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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

"""Words, names and strings of SQL text, with Spark's quotes and escapes.

# Spark 4.1, SqlBaseLexer.g4 and SparkParserUtils.unescapeSQLString
"""

from __future__ import annotations

import re
from collections.abc import Callable

from deltaskip.errors import SchemaError
from deltaskip.records import dataclass

__all__ = [
    "SqlToken",
    "is_string",
    "quoted_name",
    "quoted_path",
    "sql_error",
    "sql_tokens",
    "string_value",
    "with_names",
]

_STRING = re.compile(r"""[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-1][0-7]{2})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_QUOTED_NAME = re.compile(r"`(?:[^`]|``)*`")
_BLANK = re.compile(r"(?:\s+|--(?:\\\r?\n|[^\r\n])*)+")
_WORD = re.compile(r"\w+")
_EXCERPT = 150


@dataclass(frozen=True, slots=True)
class SqlToken:
    """A piece of SQL text: a `word`, a quoted `name`, a `string`, or one other character as a `symbol`.

    Attributes:
        kind: word, name, string or symbol.
        text: The word or symbol as written, the name without quotes, or the string's value.
        start: Where it begins in the text.
        end: Where the text after it begins.
    """

    kind: str
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether this is one of the words, which are in upper case. A quoted name is never one."""
        return self.kind == "word" and self.text.upper() in words

    def is_symbol(self, symbol: str) -> bool:
        """Whether this is the symbol."""
        return self.kind == "symbol" and self.text == symbol


def sql_tokens(text: str) -> list[SqlToken]:
    """Return the tokens of `text`, without blanks and comments.

    Raises SchemaError for a quote or a bracketed comment that is not closed.
    """
    found: list[SqlToken] = []
    at = _skipped(text, 0)
    while at < len(text):
        token = _token(text, at)
        found.append(token)
        at = _skipped(text, token.end)
    return found


def is_string(source: str) -> bool:
    """Whether `source` is one string literal in Spark."""
    return _STRING.fullmatch(source) is not None


def string_value(source: str) -> str:
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


def quoted_name(name: str) -> str:
    """Return a name in backticks, as SQL reads it whatever its characters are."""
    return "`" + name.replace("`", "``") + "`"


def quoted_path(parts: tuple[str, ...]) -> str:
    """Return the path of a nested field with each part in backticks."""
    return ".".join(map(quoted_name, parts))


def with_names(text: str, replaced: Callable[[tuple[str, ...]], tuple[int, str]]) -> str:
    """Return an expression in which the first parts of names, such as `t` of `t.id`, are replaced.

    Args:
        text: The expression. Text that is no SQL is returned as it is.
        replaced: Returns, for the parts of a name, how many of the first ones are replaced, and the SQL text that takes
            their place, with its dot. The last part is `*` where all columns are meant.
    """
    try:
        tokens = sql_tokens(text)
    except SchemaError:
        # The parser refuses the text, and says where.
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
    """Return the error for SQL text that cannot be parsed: the reason, line, column, and the text."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    first = max(0, at - _EXCERPT)
    shown = f"{'… ' if first else ''}{text[first : at + _EXCERPT]}{' …' if len(text) > at + _EXCERPT else ''}"
    return SchemaError(f"Cannot parse the SQL text at line {line}, column {column}: {reason}; in: {shown}")


def _follows_dot(token: SqlToken) -> bool:
    return token.kind in ("word", "name") or token.is_symbol("*")


def _skipped(text: str, at: int) -> int:
    """The end of the blanks and comments at `at`."""
    while at < len(text):
        blank = _BLANK.match(text, at)
        if blank is not None:
            at = blank.end()
        elif text.startswith("/*", at):
            at = _comment_end(text, at)
        else:
            break
    return at


def _comment_end(text: str, start: int) -> int:
    """End of a bracketed comment. They can be nested."""
    depth, at = 1, start + 2
    while depth:
        opened, closed = text.find("/*", at), text.find("*/", at)
        if closed < 0:
            raise sql_error(text, start, "the comment is not closed")
        depth, at = (depth + 1, opened + 2) if 0 <= opened < closed else (depth - 1, closed + 2)
    return at


def _token(text: str, at: int) -> SqlToken:
    string = _STRING.match(text, at)
    if string is not None:
        return SqlToken("string", string_value(string[0]), at, string.end())
    name = _QUOTED_NAME.match(text, at)
    if name is not None:
        return SqlToken("name", name[0][1:-1].replace("``", "`"), at, name.end())
    word = _WORD.match(text, at)
    if word is not None:
        return SqlToken("word", word[0], at, word.end())
    if text[at] in "'\"`":
        raise sql_error(text, at, "a quote is not closed")
    return SqlToken("symbol", text[at], at, at + 1)


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

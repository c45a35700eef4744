"""The tokens of one expression, read on demand, and the errors at their positions."""

from __future__ import annotations

from collections import deque

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr.text.literals import predicate_error
from deltaskip.sparkexpr.text.sql_text import HINT, SqlToken, Unclosed, sql_token

NAMES = ("word", "name")
VALUES = (*NAMES, "string", "number")
_CURES = {
    ";": "a predicate is one expression, without a semicolon",
    "@": "Spark writes parameters as :name or ?, with values in params",
    "$": "Spark writes parameters as :name or ?, with values in params",
    "[": "Spark writes arrays as array(…), and names with special characters as `name`",
    "*": "a star is not a value",
    HINT: "an expression has no hints",
    "!": "write NOT",
    "=>": "write >= for =>",
    "~": "write RLIKE for ~",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write !=",
    "%": "Spark writes parameters as :name or ?, with values in params",
    "{": "Spark writes parameters as :name or ?, with values in params",
    **dict.fromkeys("}#\\", "this is not a token of Spark SQL"),
}
# Operators of other dialects. After an operand, Spark reads such a word as an alias, or refuses it.
_FOREIGN_WORDS = frozenset(("GLOB", "SIMILAR", "ISNULL", "NOTNULL", "OVERLAPS", "MATCH", "MATCHES", "SOUNDS"))


class Tokens:
    """The next token and the tokens after it. A long list is never split into tokens.

    Attributes:
        text: The expression.
        token: The next token; at the end of the text, a token of the kind `end`.
        key: The word of the next token in upper case, or its symbol; "" for other tokens.
        end: The offset after the last token that was read.
    """

    __slots__ = ("_ahead", "end", "key", "text", "token")

    def __init__(self, text: str) -> None:
        self.text = text
        self._ahead: deque[SqlToken] = deque()
        self.jump(0)

    def jump(self, place: int) -> None:
        """Continue with the first token at or after an offset in the text."""
        self._ahead.clear()
        self.end = place
        self._stand(self._next(place))

    def advance(self) -> SqlToken:
        """Read the next token and return it."""
        token = self.token
        self.end = token.end
        self._stand(self._ahead.popleft() if self._ahead else self._next(token.end))
        return token

    def peek(self, count: int = 1) -> SqlToken:
        """The token `count` tokens after the next token."""
        while len(self._ahead) < count:
            self._ahead.append(self._next((self._ahead[-1] if self._ahead else self.token).end))
        return self._ahead[count - 1]

    def take(self, key: str) -> bool:
        """Read the next token if it is this word or symbol; return whether it was."""
        if self.key != key:
            return False
        self.advance()
        return True

    def expect(self, key: str, reason: str = "") -> None:
        """Read this word or symbol. Raises PredicateError if the next token is different."""
        if self.key != key:
            raise self.error(reason) if reason and self.token.kind == "end" else self.unexpected(key)
        self.advance()

    def error(self, reason: str, at: int | None = None) -> PredicateError:
        """The error at an offset; by default, at the next token."""
        return predicate_error(self.text, self.token.start if at is None else at, reason)

    def unexpected(self, wanted: str = "") -> PredicateError:
        """The error for a token that cannot follow an operand."""
        if self.token.kind == "end":
            return self.error(f"{wanted} is missing" if wanted else "the text ends too early")
        if self.token.kind == "word" and self.key in _FOREIGN_WORDS:
            return self.error(f"Spark has no operator {self.key}")
        if self.token.kind == "word" and self.text[self.token.start - 1] == "'":
            return self.error("this is unexpected; a quote in a text is written as \\'")
        if self.text.split(maxsplit=1)[0].upper() in ("SELECT", "WHERE"):
            return self.error("a predicate is what stands after WHERE, without SELECT, FROM and WHERE")
        if self.key == "!" and self.text.startswith("~", self.token.end):
            return self.error("write NOT (… RLIKE …) for !~")
        if self.key in ("[", "*", "!"):
            return self.error("this is unexpected")
        if self.token.kind == "number":
            return self.error("this number is unexpected; a time is TIMESTAMP'2026-01-31 12:00:00'")
        return self.error(_CURES.get(self.key, "this is unexpected"))

    def no_operand(self) -> PredicateError:
        """The error for a token that cannot begin an operand."""
        if self.key in (")", "]", ","):
            return self.error("a value is missing")
        if self.key == "&":
            return self.error("write AND for &&, and a value after &")
        if self.key in ("<", ">", "=") and self.text[: self.token.start].rstrip().endswith(("=", "<", ">", "!")):
            return self.error("an operand is missing; comparisons are =, !=, <, <=, >, >= and <=>")
        return self.error(_CURES.get(self.key, "an operand is missing"))

    def _next(self, place: int) -> SqlToken:
        try:
            return sql_token(self.text, place) or SqlToken("end", "", len(self.text), len(self.text))
        except Unclosed as error:
            raise predicate_error(self.text, error.at, error.reason) from None

    def _stand(self, token: SqlToken) -> None:
        self.token = token
        kind = token.kind
        self.key = token.text.upper() if kind == "word" else token.text if kind == "symbol" else ""

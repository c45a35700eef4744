"""A cursor over the tokens of one predicate."""

from __future__ import annotations

from deltaskip.expr.lexer import Token, string_value
from deltaskip.expr.nodes import Opaque
from deltaskip.expr.opaque import opaque

__all__ = ["Cursor", "Unknown"]


class Unknown(Exception):
    """The grammar here goes no further at `token`."""

    def __init__(self, token: Token, reason: str) -> None:
        self.token = token
        self.reason = reason


class Cursor:
    """Where the parser stands: `at` indexes `tokens` of `text`."""

    __slots__ = ("at", "text", "tokens")

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0

    def skip_past_close(self) -> None:
        """To behind the parenthesis that closes the innermost one open."""
        depth = 1
        while depth:
            token = self.advance()
            if token.kind == "end":
                raise Unknown(token, "a parenthesis is not closed")
            if token.kind == "op":
                depth += (token.text == "(") - (token.text == ")")

    def opaque_from(self, start: int) -> Opaque:
        """The text from token `start` to the cursor as a node that proves nothing."""
        return opaque(self.text[self.tokens[start].start : self.tokens[self.at - 1].end])

    def strings(self) -> str:
        """String literals side by side are one string."""
        parts = [string_value(self.expect_kind("string"))]
        while self.tokens[self.at].kind == "string":
            parts.append(string_value(self.expect_kind("string")))
        return "".join(parts)

    def identifier(self) -> str:
        """A name, with or without backquotes."""
        token = self.advance()
        if token.kind == "quoted":
            return token.text[1:-1].replace("``", "`")
        if token.kind != "name":
            raise Unknown(token, "a name is missing")
        return token.text

    def word(self) -> str:
        """The unquoted word here in upper case, or nothing."""
        token = self.tokens[self.at]
        return token.text.upper() if token.kind == "name" else ""

    def peek(self, ahead: int) -> Token:
        """The token some places ahead."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """The token here; the cursor moves behind it."""
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def take(self, op: str) -> bool:
        """Whether the operator is here; if so the cursor moves behind it."""
        token = self.tokens[self.at]
        found = token.text == op and token.kind == "op"
        self.at += found
        return found

    def take_word(self, word: str) -> bool:
        """Whether the keyword is here; if so the cursor moves behind it."""
        found = self.word() == word
        self.at += found
        return found

    def expect(self, op: str) -> None:
        """Past the operator. Raises Unknown where it is not here."""
        if not self.take(op):
            raise self.unknown(f"{op!r} is missing")

    def expect_word(self, word: str) -> None:
        """Past the keyword. Raises Unknown where it is not here."""
        if not self.take_word(word):
            raise self.unknown(f"{word} is missing")

    def expect_kind(self, kind: str) -> str:
        """Text of a token of that kind. Raises Unknown where there is another."""
        if self.tokens[self.at].kind != kind:
            raise self.unknown(f"a {kind} is missing")
        return self.advance().text

    def unknown(self, reason: str) -> Unknown:
        """The error for a token that fits no rule."""
        return Unknown(self.tokens[self.at], reason)

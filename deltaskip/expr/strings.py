"""Functions on strings: in code points as in Spark, compared by bytes.

# Spark 4.1, UTF8String, StringUtils.escapeLikeRegex, stringExpressions.scala
"""

from __future__ import annotations

import unicodedata

from deltaskip.expr.failures import EvaluationError, Undecided

__all__ = [
    "cased",
    "compare_strings",
    "left",
    "like",
    "like_tokens",
    "locate",
    "right",
    "substring",
    "trimmed",
]

ANY_STRING = "%"
ANY_CHARACTER = "_"


def compare_strings(one: str, other: str) -> int:
    """-1, 0 or 1 in UTF8_BINARY order. Code points have the order of their UTF-8 bytes."""
    return (one > other) - (one < other)


def like_tokens(pattern: str, escape: str) -> tuple[tuple[bool, str], ...]:
    """A LIKE pattern as tokens: (True, "%") and (True, "_") for wildcards, (False, character) for other characters.

    Raises EvaluationError for an escape character before an ordinary character or at the end, as Spark does.
    """
    tokens: list[tuple[bool, str]] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None or escaped not in (ANY_CHARACTER, ANY_STRING, escape):
                raise EvaluationError(f"The escape character in the pattern {pattern!r} escapes no wildcard.")
            tokens.append((False, escaped))
        else:
            tokens.append((character in (ANY_CHARACTER, ANY_STRING), character))
    return tuple(tokens)


def like(text: str, pattern: str, escape: str) -> bool:
    """`text LIKE pattern ESCAPE escape`: `_` is one code point, `%` any number, line ends included."""
    tokens = like_tokens(pattern, escape)
    at = token = 0
    star, resume = -1, 0
    while at < len(text):
        if token < len(tokens) and tokens[token] == (True, ANY_STRING):
            star, resume = token, at
            token += 1
        elif token < len(tokens) and (tokens[token][0] or tokens[token][1] == text[at]):
            at, token = at + 1, token + 1
        elif star >= 0:
            resume += 1
            at, token = resume, star + 1
        else:
            return False
    return all(t == (True, ANY_STRING) for t in tokens[token:])


def cased(text: str, upper: bool) -> str:
    """`upper(text)` or `lower(text)`.

    Raises EvaluationError for letters whose case differs between the Unicode versions of Python, Java and ICU.
    """
    if not text.isascii() and any(_case_may_differ(c) for c in text if c > "\x7f"):
        raise Undecided(f"The letter case of {text!r} depends on the version of Unicode.")
    return text.upper() if upper else text.lower()


def substring(text: str | bytes, position: int, length: int) -> str | bytes:
    """`substring(text, position, length)`: from 1, from the end if negative, and 0 means 1."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = max(-(2**31), min(2**31 - 1, start + length))
    return text[max(0, start) : max(0, end)] if end > start else text[:0]


def left(text: str | bytes, length: int) -> str | bytes:
    """`left(text, length)`."""
    return substring(text, 1, length)


def right(text: str, length: int) -> str:
    """`right(text, length)`."""
    return text[-length:] if length > 0 else ""


def trimmed(text: str, characters: str, at_start: bool, at_end: bool) -> str:
    """`text` without leading and trailing `characters`."""
    text = text.lstrip(characters) if at_start and characters else text
    return text.rstrip(characters) if at_end and characters else text


def locate(needle: str, text: str) -> int:
    """`instr(text, needle)`: starting from 1; 0 if it does not occur."""
    return text.find(needle) + 1


def _case_may_differ(character: str) -> bool:
    """Whether a later Unicode version may change the case: unassigned, or a cased letter without a counterpart."""
    match unicodedata.category(character):
        case "Cn":
            return True
        case "Ll":
            return character.upper() == character
        case "Lu":
            return character.lower() == character
    return False

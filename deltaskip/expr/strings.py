"""Functions on strings: in code points as in Spark, compared by bytes.

Results that are longer than _MOST_CHARACTERS, and patterns that would take long, are left to Spark.

# Spark 4.1, UTF8String, StringUtils.escapeLikeRegex, stringExpressions.scala
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from deltaskip.errors import shown
from deltaskip.expr.failures import EvaluationError, Undecided

__all__ = [
    "before_delimiter",
    "cased",
    "check_length",
    "compare_strings",
    "joined",
    "left",
    "like",
    "like_tokens",
    "locate",
    "padded",
    "repeated",
    "replaced",
    "right",
    "substring",
    "translated",
    "trimmed",
]

ANY_STRING = "%"
ANY_CHARACTER = "_"

_MOST_CHARACTERS = 1 << 24
_LONGEST_PATTERN = 1 << 16
_MOST_COMPARISONS = 1 << 28
"""Characters compared to find a part of a pattern with `_` in a text; without `_`, the search is linear."""


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
                raise EvaluationError(f"The escape character in the pattern {shown(pattern)} escapes no wildcard.")
            tokens.append((False, escaped))
        else:
            tokens.append((character in (ANY_CHARACTER, ANY_STRING), character))
    return tuple(tokens)


def like(text: str, pattern: str, escape: str) -> bool:
    """`text LIKE pattern ESCAPE escape`: `_` is one code point, `%` any number, line ends included."""
    first, *others = _parts(pattern, escape)
    if not others:
        return len(first) == len(text) and first.matches(text, 0)
    *middle, last = others
    if len(first) + sum(map(len, others)) > len(text) or not first.matches(text, 0):
        return False
    at = len(first)
    for part in middle:
        # The leftmost place leaves most of the text for the parts after it.
        at = part.find(text, at)
        if at < 0:
            return False
        at += len(part)
    end = len(text) - len(last)
    return at <= end and last.matches(text, end)


def cased(text: str, upper: bool) -> str:
    """`upper(text)` or `lower(text)`.

    Raises EvaluationError for letters whose case differs between the Unicode versions of Python, Java and ICU.
    """
    if not text.isascii() and any(_case_may_differ(c) for c in text if c > "\x7f"):
        raise Undecided(f"The letter case of {shown(text)} depends on the version of Unicode.")
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


def replaced(text: str, old: str, new: str) -> str:
    """`replace(text, old, new)`."""
    if not old:
        return text
    check_length(len(text) + max(0, len(new) - len(old)) * (len(text) // len(old)))
    return text.replace(old, new)


def repeated(text: str, count: int) -> str:
    """`repeat(text, count)`."""
    check_length(len(text) * max(count, 0))
    return text * count


def padded(text: str, length: int, pad: str, left: bool) -> str:
    """`lpad(text, length, pad)`, or `rpad`: longer texts are cut off, and an empty pad adds nothing."""
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[: max(length, 0)]
    check_length(length)
    filling = (pad * (missing // len(pad) + 1))[:missing]
    return filling + text if left else text + filling


def translated(text: str, characters: str, others: str) -> str:
    """`translate(text, characters, others)`: characters without a counterpart are removed."""
    table: dict[int, str | None] = {}
    for at, character in enumerate(characters):
        table.setdefault(ord(character), others[at] if at < len(others) else None)
    return text.translate(table)


def before_delimiter(text: str, delimiter: str, count: int) -> str:
    """`substring_index(text, delimiter, count)`: before that delimiter, or after it if it is counted from the end."""
    if not delimiter or count == 0:
        return ""
    if count > 0:
        at = -1
        for _ in range(count):
            at = text.find(delimiter, at + 1)
            if at < 0:
                return text
        return text[:at]
    at = len(text) - len(delimiter) + 1
    for _ in range(-count):
        at = text.rfind(delimiter, 0, max(at - 1 + len(delimiter), 0)) if at > 0 else -1
        if at < 0:
            return text
    return text[at + len(delimiter) :]


def joined(parts: Iterable[str] | Iterable[bytes], empty: str | bytes) -> str | bytes:
    """`concat(parts)`."""
    found = list(parts)
    check_length(sum(map(len, found)))
    return empty.join(found)  # type: ignore[arg-type]


def check_length(characters: int) -> None:
    """Leave a result to Spark that may be too long."""
    if characters > _MOST_CHARACTERS:
        raise Undecided(f"A string of up to {characters:,} characters is left to Spark.")


class _Part:
    """A part of a LIKE pattern between two `%`: characters, and None for `_`."""

    __slots__ = ("_length", "_pattern", "_text")

    def __init__(self, characters: list[str | None]) -> None:
        self._length = len(characters)
        self._text = None if None in characters else "".join(map(str, characters))
        source = "".join("." if character is None else re.escape(character) for character in characters)
        self._pattern = None if self._text is not None else re.compile(source, re.DOTALL)

    def __len__(self) -> int:
        return self._length

    def matches(self, text: str, at: int) -> bool:
        """Whether the part is at a place of the text."""
        if self._pattern is None:
            return text.startswith(self._text or "", at)
        return self._pattern.match(text, at) is not None

    def find(self, text: str, start: int) -> int:
        """The first place of the part in the text from `start` on; -1 without one."""
        if self._pattern is None:
            return text.find(self._text or "", start)
        if (len(text) - start) * self._length > _MOST_COMPARISONS:
            raise Undecided(f"A pattern of {self._length:,} characters in a long text is left to Spark.")
        found = self._pattern.search(text, start)
        return -1 if found is None else found.start()


@lru_cache(maxsize=64)
def _parts(pattern: str, escape: str) -> tuple[_Part, ...]:
    """The parts of a pattern between its `%`, one more than it has of them."""
    if len(pattern) > _LONGEST_PATTERN:
        raise Undecided(f"A pattern of {len(pattern):,} characters is left to Spark.")
    parts: list[list[str | None]] = [[]]
    for wild, character in like_tokens(pattern, escape):
        if (wild, character) == (True, ANY_STRING):
            parts.append([])
        else:
            parts[-1].append(None if wild else character)
    return tuple(map(_Part, parts))


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
